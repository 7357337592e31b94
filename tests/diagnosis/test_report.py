"""What the worker reports before it ends becomes a cause."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsm.failure import Certainty, Kind, OomScope, Phase, Source
from runner.diagnosis.evidence import Need
from runner.diagnosis.report import diagnose_report


@pytest.mark.parametrize(
    ("exception", "message", "kind"),
    [
        ("FileNotFoundError", "No safetensors found in /m", Kind.MODEL_MISSING),
        ("FileNotFoundError", "[Errno 2] No such file or directory: '/m/config.json'", Kind.MODEL_MISSING),
        ("ImportError", "libmlx.so: undefined symbol: foo", Kind.IMPORT_ERROR),
        ("ModuleNotFoundError", "No module named 'mlx_lm'", Kind.IMPORT_ERROR),
        ("ValueError", "Model type foo not supported.", Kind.MODEL_INVALID),
        ("ValueError", "Missing 3 parameters: \nlm_head.weight.", Kind.MODEL_INVALID),
        ("RuntimeError", "[load_safetensors] Invalid json header length /m/model.safetensors", Kind.MODEL_INVALID),
        ("RuntimeError", "[read] Unable to read 8 bytes from file.", Kind.MODEL_INVALID),
        ("RuntimeError", "[metal::malloc] Resource limit (499000) exceeded.", Kind.RESOURCE_LIMIT),
        ("RuntimeError", "[metal::malloc] Unable to allocate 9 bytes.", Kind.OOM),
        ("MemoryError", "", Kind.OOM),
        ("numpy._core._exceptions._ArrayMemoryError", "Unable to allocate 9.0 GiB for an array", Kind.OOM),
        ("OSError", "[Errno 12] Cannot allocate memory", Kind.OOM),
        ("OSError", "[Errno 28] No space left on device", Kind.DISK_FULL),
        ("OSError", "[Errno 24] Too many open files: '/m'", Kind.RESOURCE_LIMIT),
        ("RuntimeError", "can't start new thread", Kind.RESOURCE_LIMIT),
        (
            "RuntimeError",
            "[METAL] Command buffer execution failed: Caused GPU Timeout Error "
            "(00000002:kIOGPUCommandBufferCallbackErrorTimeout)",
            Kind.GPU_TIMEOUT,
        ),
        ("RuntimeError", "[ring] Receiving from socket 5 failed with errno 54", Kind.TRANSPORT),
        ("huggingface_hub.errors.GatedRepoError", "403 Client Error.", Kind.AUTH),
        ("AssertionError", "", Kind.ASSERTION),
        ("KeyError", "'x'", Kind.PYTHON_EXCEPTION),
        ("RuntimeError", "There is no Stream(gpu, 5) in current thread.", Kind.PYTHON_EXCEPTION),
    ],
)
def test_class_and_message_name_the_kind(exception: str, message: str, kind: Kind) -> None:
    cause = diagnose_report(exception, message, (), Phase.LOAD)
    assert cause.kind is kind
    assert cause.source is Source.REPORT
    assert cause.phase is Phase.LOAD
    assert cause.evidence


def test_the_first_of_chained_exceptions_is_the_root() -> None:
    trace = (
        "Traceback (most recent call last):",
        '  File "a.py", line 3, in f',
        "    raise RuntimeError('disk full')",
        "RuntimeError: [metal::malloc] Unable to allocate 9 bytes.",
        "",
        "During handling of the above exception, another exception occurred:",
        "",
        "Traceback (most recent call last):",
        "pydantic_core._pydantic_core.ValidationError: 1 validation error",
    )
    cause = diagnose_report("pydantic_core._pydantic_core.ValidationError", "1 validation error", trace, Phase.LOAD)
    assert cause.kind is Kind.OOM
    assert cause.evidence[0] == trace[3]


def test_source_code_in_a_traceback_proves_nothing() -> None:
    trace = (
        "Traceback (most recent call last):",
        '  File "a.py", line 3, in f',
        "    raise MemoryError('CUDA out of memory')  # if it is",
        "TypeError: 'NoneType' object is not callable",
    )
    assert diagnose_report("TypeError", "'NoneType' object is not callable", trace, Phase.DECODE).kind is (
        Kind.PYTHON_EXCEPTION
    )


def test_a_need_beyond_the_headroom_lifts_the_mask() -> None:
    cause = diagnose_report(
        "RuntimeError", "[read] Unable to read 8 bytes from file.", (), Phase.LOAD, need=Need("weights", 9, 4)
    )
    assert (cause.kind, cause.certainty) == (Kind.OOM, Certainty.PROBABLE)


def test_memory_error_is_the_hosts() -> None:
    assert diagnose_report("MemoryError", "", (), Phase.PREFILL).scope is OomScope.HOST


@given(st.text(), st.text(), st.lists(st.text()), st.sampled_from(Phase))
def test_no_report_raises(exception: str, message: str, trace: list[str], phase: Phase) -> None:
    assert diagnose_report(exception, message, trace, phase).sentence
