"""What the kernel tells of one process, read from ``/proc``. Each answer is ``None`` where that does not exist, as on macOS."""

import os
from pathlib import Path

_PROC = Path("/proc")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")


def _stat_fields(pid: int) -> list[str] | None:
    """The fields of ``/proc/PID/stat`` after the name, which may hold blanks and brackets: field 3 of proc(5) is the first."""
    try:
        # Bytes: a program's name is whatever its author liked.
        content = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    return content.rpartition(b")")[2].decode("ascii").split()


def state(pid: int) -> str | None:
    """The state letter: R, S, D, T, Z."""
    fields = _stat_fields(pid)
    return fields[0] if fields else None


def cpu_seconds(pid: int) -> float | None:
    """CPU time used, of user and kernel together."""
    fields = _stat_fields(pid)
    return (int(fields[11]) + int(fields[12])) / _TICKS if fields else None


def resident(pid: int) -> int | None:
    """Resident size in bytes."""
    fields = _stat_fields(pid)
    return int(fields[21]) * _PAGE if fields else None


def catches(pid: int, number: int) -> bool:
    """Whether a process has a handler for a signal; ``False`` where the system does not tell."""
    try:
        lines = (_PROC / str(pid) / "status").read_bytes().splitlines()
    except OSError:
        return False
    mask = next((line.split()[1] for line in lines if line.startswith(b"SigCgt:")), b"0")
    return bool(int(mask, 16) & 1 << (number - 1))


def members(session: int) -> list[int] | None:
    """Processes of a session or group that have not ended (zombies do not count): what a child left behind.

    ``None`` where the system does not tell, which is not the same as nobody.
    """
    if not (_PROC / "self" / "stat").exists():
        return None
    found: list[int] = []
    for entry in _PROC.glob("[0-9]*"):
        fields = _stat_fields(int(entry.name))
        if fields and fields[0] not in "ZX" and session in (int(fields[2]), int(fields[3])):
            found.append(int(entry.name))
    return sorted(found)
