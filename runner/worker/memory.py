"""What this process uses and what it may still take, as the system tells it. No mlx here: any thread may ask.

Files that are not there, or say something else than expected, mean that the system does not tell; nothing here raises.
"""

import ctypes
import os
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

_UNLIMITED = 1 << 60
"""A cgroup v1 without a limit holds a number near 2**63."""

_CGROUPS = Path("/sys/fs/cgroup")


def resident() -> int:
    """Bytes of this process in memory; 0 if the system does not tell."""
    if sys.platform == "darwin":
        return _resident_on_macos()
    fields = _read(Path("/proc/self/statm")).split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") if len(fields) > 1 else 0


def headroom() -> int | None:
    """Bytes that this process may still take: the smallest of what the machine, its cgroups and its own limit leave.

    ``None`` where none of them can be read, as on macOS, where the device's own numbers have to do.
    """
    left = [*_left_on_the_machine(), *_left_in_cgroups(), *_left_in_address_space()]
    return max(0, min(left)) if left else None


def _left_on_the_machine() -> Iterator[int]:
    for line in _read(Path("/proc/meminfo")).splitlines():
        if line.startswith("MemAvailable:"):
            yield int(line.split()[1]) * 1024


def _left_in_address_space() -> Iterator[int]:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and (size := address_space()):
        yield limit - size


def address_space() -> int:
    """Bytes of address space that this process has mapped (``VmSize``); 0 if the system does not tell."""
    fields = _read(Path("/proc/self/statm")).split()
    return int(fields[0]) * os.sysconf("SC_PAGE_SIZE") if fields else 0


def _left_in_cgroups() -> Iterator[int]:
    """What each cgroup leaves, from this process's own up to the root: the narrowest one counts."""
    for line in _read(Path("/proc/self/cgroup")).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            yield from left_up(_CGROUPS, path, "memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            yield from left_up(
                _CGROUPS / "memory", path, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
            )


def left_up(root: Path, path: str, limit_file: str, usage_file: str, reclaimable: str) -> Iterator[int]:
    """Give what each limited group leaves, from ``path`` up to ``root``, given the names of the kernel's files."""
    group = root / path.lstrip("/")
    while group.is_relative_to(root):
        limit, usage = _number(group / limit_file), _number(group / usage_file)
        if limit is not None and usage is not None and limit < _UNLIMITED:
            # Cached file pages that nobody used lately are given back before anybody is killed.
            yield limit - usage + _field(group / "memory.stat", reclaimable)
        if group == root:
            return
        group = group.parent


def _field(path: Path, name: str) -> int:
    for line in _read(path).splitlines():
        key, _, value = line.partition(" ")
        if key == name:
            return int(value)
    return 0


def _number(path: Path) -> int | None:
    text = _read(path).strip()
    return int(text) if text.isdigit() else None


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _resident_on_macos() -> int:
    """Ask ``proc_pid_rusage`` (libproc.h, flavour 2): 16 bytes of UUID, then 64-bit numbers; the seventh is resident."""
    record = (ctypes.c_uint64 * 32)()
    if ctypes.CDLL(None).proc_pid_rusage(os.getpid(), 2, ctypes.byref(record)) != 0:
        return 0
    return record[2 + 6]
