"""Memory, and what the kernel of this machine could tell about a death."""

import errno
import os
import select
import sys
from pathlib import Path

from runner.command.doctor.checkup import Problem, Section
from runner.process.cgroup import CgroupError, ChildGroup, MemoryTree, machine_oom_kills, oom_kills, shared_oom_kills

LITTLE = 2 * 10**9  # bytes; the smallest useful model with mlx and mlx-lm takes about one


def memory() -> Section:
    """Memory of the machine, in bytes."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    available = _available()
    problems: tuple[Problem, ...] = ()
    if available is not None and available < LITTLE:
        problems = (Problem("Little memory is free.", "End other programs, or use a small model.", fatal=False),)
    return Section("memory", {"total": total, "available": available}, problems)


def _available() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)


def make_group(tree: MemoryTree | None) -> tuple[ChildGroup | None, str]:
    """Try to make a memory cgroup for a child; give it, or why there can be none. Whoever gets it removes it."""
    try:
        return ChildGroup.make(tree), ""
    except CgroupError as error:
        return None, str(error)


def evidence(tree: MemoryTree | None, *, own: int | None, enters: bool, why_not: str) -> Section:
    """What could be told about an out-of-memory.

    Args:
        tree: where this process stands.
        own: what the counter of a cgroup made for a child says; ``None`` if there was none, or it says nothing.
        enters: whether a child could be put in it.
        why_not: why no cgroup could be made.
    """
    counts = own is not None and enters
    shared = shared_oom_kills(tree)
    facts: dict[str, object] = {
        "cgroup": None if tree is None else f"version {tree.version}",
        "cgroup_of_the_child": "yes"
        if counts
        else f"no. {why_not or 'A child can not be put in it, or it counts nothing.'}",
        "memory_limit": "yes" if counts else "no",
        "counter_of_our_cgroup": None if tree is None else oom_kills(tree.version, tree.own),
        "counter_of_the_machine": machine_oom_kills(),
        "oom_by_the_kernel": _verdict(counts=counts, shared=shared is not None),
    }
    if counts or sys.platform != "linux":
        return Section("evidence", facts)
    remedy = "Run in a delegated cgroup, for example `systemd-run --user --scope -p Delegate=yes runner ...`."
    return Section("evidence", facts, (Problem("A child can't have a memory cgroup of its own.", remedy, fatal=False),))


def _verdict(*, counts: bool, shared: bool) -> str:
    if counts:
        return "certain: the child's own cgroup counts it"
    if shared:
        return "probable: a counter that other processes share counts it"
    return "probable in load and warm-up: no counter can be read"


def watch() -> Section:
    """How the death of a child is noticed."""
    if sys.platform == "linux":
        try:
            os.close(os.pidfd_open(os.getpid()))
        except OSError as error:
            return Section(
                "watch", {"death": f"a thread in waitid; pidfd: {errno.errorcode.get(error.errno or 0, error)}"}
            )
        return Section("watch", {"death": "pidfd"})
    return Section("watch", {"death": "kqueue" if hasattr(select, "kqueue") else "a thread in waitid"})
