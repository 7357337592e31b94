"""The parts of a worker that need neither a process nor a model."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsm.failure import Phase
from fsm.states import RequestErrorKind
from runner.faults import FaultKind
from runner.worker import memory
from runner.worker.device_errors import device_is_lost, ran_out_of_memory
from runner.worker.faults import KINDS
from runner.worker.kv_cache import KvCost, Layer
from runner.worker.stop_strings import StopStrings

letters = st.text(alphabet="ab", max_size=30)
stops = st.lists(st.text(alphabet="ab", min_size=1, max_size=4), max_size=3)


@given(pieces=st.lists(letters, max_size=10), stops=stops)
def test_however_an_answer_is_cut_it_ends_before_the_first_stop_string(pieces: list[str], stops: list[str]) -> None:
    whole, filter_ = "".join(pieces), StopStrings(stops)
    shown = "".join(filter_.push(piece) for piece in pieces) + filter_.flush()
    # A stop string ends the answer as soon as it is complete, so of two that overlap the one that ends first counts.
    ends = [whole.index(stop) + len(stop) for stop in stops if stop in whole]
    assert filter_.found == bool(ends)
    if not ends:
        assert shown == whole
    else:
        assert whole.startswith(shown)
        assert not any(stop in shown for stop in stops)
        assert any(whole.startswith(stop, len(shown)) for stop in stops)


@given(pieces=st.lists(letters, max_size=10), stops=stops)
def test_no_more_is_held_back_than_could_begin_a_stop_string(pieces: list[str], stops: list[str]) -> None:
    filter_, shown, taken = StopStrings(stops), "", ""
    for piece in pieces:
        shown, taken = shown + filter_.push(piece), taken + piece
        held = taken[len(shown) :]
        assert filter_.found or not held or any(stop.startswith(held) for stop in stops)


@pytest.mark.parametrize(
    "text",
    [
        "[metal::malloc] Attempting to allocate 9 bytes which is greater than the maximum allowed buffer size of 8 bytes.",
        "[metal::malloc] Resource limit (499000) exceeded.",
        "[malloc] Unable to allocate 5 bytes.",
        "[malloc_or_wait] Unable to allocate 5 bytes.",
        "[METAL] Command buffer execution failed: Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)",
        "cudaMallocAsync(&data, size, stream) failed: out of memory",
        "std::bad_alloc",
    ],
)
def test_an_out_of_memory_is_known_by_its_text(text: str) -> None:
    assert ran_out_of_memory(RuntimeError(text))
    assert device_is_lost(RuntimeError(text))


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("The prompt 'my gpu is out of memory' is not allowed."),
        RuntimeError("bloom is not supported"),
        ValueError("[malloc] Unable to allocate 5 bytes."),
        RuntimeError("[matmul] Last dimension of first input must match"),
    ],
)
def test_other_errors_end_their_request_alone(error: Exception) -> None:
    assert not ran_out_of_memory(error)
    assert not device_is_lost(error)


def test_a_broken_command_buffer_loses_the_device_without_being_an_out_of_memory() -> None:
    error = RuntimeError("[METAL] Command buffer execution failed: Caused GPU Timeout Error (00000002:kIOGPU...)")
    assert device_is_lost(error)
    assert not ran_out_of_memory(error)
    assert ran_out_of_memory(MemoryError())


def test_the_cost_of_a_cache_grows_in_steps_and_a_window_bounds_it() -> None:
    assert Layer(per_token=10).bytes(1) == Layer(per_token=10).bytes(256) == 2560
    assert Layer(per_token=10).bytes(257) == 5120
    assert Layer(per_token=10, window=512).bytes(100_000) == 5120
    assert KvCost((Layer(fixed=7), Layer(per_token=1))).bytes(1) == 7 + 256


def test_the_narrowest_cgroup_on_the_way_up_decides(tmp_path: Path) -> None:
    own = tmp_path / "a" / "b"
    own.mkdir(parents=True)
    for group, limit, usage in ((tmp_path, "max", "900"), (tmp_path / "a", "1000", "900"), (own, "5000", "100")):
        (group / "memory.max").write_text(limit + "\n")
        (group / "memory.current").write_text(usage + "\n")
    (tmp_path / "a" / "memory.stat").write_text("anon 800\ninactive_file 50\n")
    left = memory.left_up(tmp_path, "/a/b", "memory.max", "memory.current", "inactive_file")
    assert sorted(left) == [150, 4900]


def test_what_may_still_be_taken_is_positive_and_within_the_machine() -> None:
    left = memory.headroom()
    assert left is None or left > 0
    assert memory.resident() > 1_000_000


def test_the_words_of_worker_and_lifecycle_are_the_same() -> None:
    assert KINDS.keys() == {kind.value for kind in FaultKind}
    assert {"start", "idle", "load", "warmup", "prefill", "decode", "unload", "shutdown"} < {p.value for p in Phase}
    assert {"context_limit", "does_not_fit", "bad_request", "exception"} < {k.value for k in RequestErrorKind}
