"""Which exceptions inside a request mean that the device can't be trusted any more. Then the worker ends.

The supervisor's diagnosis names the cause; here only the question "may this worker go on?" is decided.
"""

import re

_OUT_OF_MEMORY = re.compile(
    r"""
    ^(?:
        \[metal::malloc\]\ (?:Attempting\ to\ allocate|Resource\ limit)   # one buffer too large; too many buffers
      | \[(?:malloc|malloc_or_wait)\]\ Unable\ to\ allocate
      | \[METAL\]\ Command\ buffer\ execution\ failed:.*kIOGPUCommandBufferCallbackErrorOutOfMemory
      | (?:\[[\w:]+\]\ )?cu\w+\(.*\)\ failed:\ .*\bout\ of\ memory\b      # as MLX words an error of CUDA's
      | CUDA\ out\ of\ memory
      | std::bad_alloc
    )
    """,
    re.VERBOSE | re.DOTALL,
)
"""Texts of MLX and its backends. Anchored at the start: a prompt that is quoted in an error proves nothing."""

_COMMAND_FAILED = re.compile(
    r"^(?:\[METAL\] Command buffer execution failed|(?:\[[\w:]+\] )?cu\w+\(.*\) failed: )", re.DOTALL
)
"""The device broke off work that it had accepted, for whatever reason."""


def ran_out_of_memory(error: BaseException) -> bool:
    """Whether ``error`` says that memory ran out, the host's or the device's."""
    if isinstance(error, MemoryError):
        return True
    return isinstance(error, RuntimeError) and _OUT_OF_MEMORY.match(str(error)) is not None


def device_is_lost(error: BaseException) -> bool:
    """Whether the device may be poisoned, so that nothing computed after ``error`` can be trusted."""
    if ran_out_of_memory(error):
        return True
    return isinstance(error, RuntimeError) and _COMMAND_FAILED.match(str(error)) is not None
