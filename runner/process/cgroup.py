"""A memory cgroup for one child, where this process may make one: a limit that hits the child alone, and a count that is its own.

Version 2 (one hierarchy, ``memory.events``) and version 1 (a hierarchy for memory, ``memory.oom_control``) are spoken. Where no
group can be made, ``CgroupError`` says why; the counters of the groups above can be read all the same.
"""

import contextlib
import itertools
import os
import signal
from pathlib import Path

import msgspec
from loguru import logger

_numbers = itertools.count(1)
_PREFIX = "runner-fsm-"


class MemoryTree(msgspec.Struct, frozen=True):
    """Where this process stands in the memory hierarchy."""

    version: int
    """1 or 2."""
    mount: Path
    own: Path
    """The group of this process."""


class CgroupError(Exception):
    """A group can't be made, limited or entered. The text says why."""


def find_tree() -> MemoryTree | None:
    """The memory hierarchy, or ``None`` on a system without one."""
    try:
        mounts = [line.split() for line in _mounts("mounts")]
        groups = [line.split(":", 2) for line in _mounts("cgroup")]
    except OSError:
        return None
    for fields in mounts:
        mount = Path(fields[1])
        if fields[2] == "cgroup" and "memory" in fields[3].split(","):
            path = next((path for _, controllers, path in groups if "memory" in controllers.split(",")), None)
            if path is not None:
                return _tree(1, mount, path)
    for fields in mounts:
        mount = Path(fields[1])
        if fields[2] == "cgroup2":
            path = next((path for number, controllers, path in groups if number == "0" and not controllers), None)
            if path is not None and "memory" in _read(mount / "cgroup.controllers").split():
                return _tree(2, mount, path)
    return None


def _mounts(name: str) -> list[str]:
    """Lines of a file about this process. Paths in it need not be text."""
    return Path("/proc/self", name).read_text("utf-8", "surrogateescape").splitlines()


def _tree(version: int, mount: Path, path: str) -> MemoryTree:
    own = mount / path.lstrip("/")
    # Inside a container the path is the host's, and what is mounted here is already our group.
    return MemoryTree(version, mount, own if own.is_dir() else mount)


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def oom_kills(version: int, group: Path) -> int | None:
    """Processes that the kernel killed in this group for want of memory."""
    name, field = ("memory.events", "oom_kill") if version == 2 else ("memory.oom_control", "oom_kill")
    return _field(group / name, field)


def machine_oom_kills() -> int | None:
    """Processes that the kernel killed for want of memory, on the whole machine."""
    return _field(Path("/proc/vmstat"), "oom_kill")


def _field(path: Path, name: str) -> int | None:
    for line in _read(path).splitlines():
        key, _, value = line.partition(" ")
        if key == name:
            return int(value)
    return None


def shared_oom_kills(tree: MemoryTree | None) -> int | None:
    """The counts that others share: this process's group, those above it, and the machine's, added up; a rise is a rise."""
    counts = [machine_oom_kills()]
    if tree is not None:
        group = tree.own
        while group.is_relative_to(tree.mount):
            counts.append(oom_kills(tree.version, group))
            if group == tree.mount:
                break
            group = group.parent
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


class ChildGroup:
    """A memory cgroup that holds one child and its descendants."""

    def __init__(self, tree: MemoryTree, path: Path) -> None:
        self._tree = tree
        self.path = path

    @classmethod
    def make(cls, tree: MemoryTree | None, limit: int | None = None) -> "ChildGroup":
        """Make a group below this process's own.

        Args:
            tree: from ``find_tree``.
            limit: bytes, swap included; ``None`` sets none.

        Raises:
            CgroupError: if that is not permitted, or not possible. Nothing is left.
        """
        if tree is None:
            raise CgroupError("This system has no memory cgroups.")
        _remove_stale(tree)
        path = tree.own / f"{_PREFIX}{os.getpid()}-{next(_numbers)}"
        try:
            path.mkdir()
        except OSError as error:
            raise CgroupError(f"A memory cgroup can't be made here: {error.strerror} ({path}).") from error
        group = cls(tree, path)
        try:
            if not group._has_memory():
                raise CgroupError(
                    f"The memory controller is not handed down to the groups below {tree.own}; "
                    "run in a delegated group, for example with `systemd-run --user --scope -p Delegate=yes`."
                )
            if limit is not None:
                group._limit(limit)
        except (CgroupError, OSError) as error:
            group.remove()
            raise (
                error if isinstance(error, CgroupError) else CgroupError(f"The limit can't be set: {error}.")
            ) from error
        return group

    def _has_memory(self) -> bool:
        return (self.path / ("memory.max" if self._tree.version == 2 else "memory.limit_in_bytes")).exists()

    def _limit(self, limit: int) -> None:
        if self._tree.version == 2:
            (self.path / "memory.max").write_text(str(limit))
            swap = self.path / "memory.swap.max"
            if swap.exists():
                swap.write_text("0")
        else:
            (self.path / "memory.limit_in_bytes").write_text(str(limit))
            both = self.path / "memory.memsw.limit_in_bytes"
            if both.exists():
                both.write_text(str(limit))

    def add(self, pid: int) -> None:
        """Put a process in it.

        Raises:
            CgroupError: if that is not permitted.
        """
        try:
            (self.path / "cgroup.procs").write_text(str(pid))
        except OSError as error:
            raise CgroupError(f"The child can't be put in its memory cgroup: {error}.") from error

    def oom_kills(self) -> int | None:
        """Processes that the kernel killed in it for want of memory."""
        return oom_kills(self._tree.version, self.path)

    def kill(self) -> None:
        """Kill everything in it, whatever session or process group it went to."""
        at_once = self.path / "cgroup.kill"
        # What can't be killed stays, and that is told by whoever waits for this group to be empty.
        with contextlib.suppress(OSError):
            # The file exists in version 2 since Linux 5.14.
            if at_once.exists():
                at_once.write_text("1")
                return
        for pid in _read(self.path / "cgroup.procs").split():
            with contextlib.suppress(OSError):
                os.kill(int(pid), signal.SIGKILL)

    def remove(self) -> bool:
        """Remove it; tells whether it is gone. It is not while a process is in it."""
        try:
            self.path.rmdir()
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True


def _remove_stale(tree: MemoryTree) -> None:
    """Remove what supervisors that were killed left behind: groups of our name, empty, whose maker is gone."""
    try:
        entries = list(tree.own.glob(f"{_PREFIX}*"))
    except OSError:
        return
    for path in entries:
        maker = path.name.removeprefix(_PREFIX).partition("-")[0]
        if maker.isdigit() and not Path(f"/proc/{maker}").exists() and ChildGroup(tree, path).remove():
            logger.debug("Removed the memory cgroup {}, left by a supervisor that is gone.", path.name)
