"""The engine, tried in a child as a worker would: does mlx import, and on which device?"""

import importlib.metadata
import subprocess
import sys

import msgspec

from runner.command.doctor.checkup import Problem, Section
from runner.process.cgroup import CgroupError, ChildGroup

IMPORT_S = 120.0  # a first import from a cold, slow disk

_PROGRAM = """
import importlib.util, json, pathlib
def place(name):
    spec = importlib.util.find_spec(name)
    origin = pathlib.Path(spec.origin).resolve() if spec and spec.origin else None
    return None if origin is None else str(origin.parent if origin.name == "__init__.py" else origin)
found = {name: place(name) for name in ("fsm", "runner", "mlx_lm")}
import mlx.core as mx
mx.eval(mx.ones(4) + 1)
device = "gpu" if mx.default_device().type == mx.DeviceType.gpu else "cpu"
print(json.dumps({"places": found, "device": device, "info": mx.device_info()}, default=str))
"""
"""-P keeps the directory in which it is started from being searched, as with a worker."""


class Found(msgspec.Struct, frozen=True):
    """What the child told."""

    places: dict[str, str | None]
    device: str
    info: dict[str, object] = {}


class Trial(msgspec.Struct, frozen=True):
    """What came of it."""

    section: Section
    places: dict[str, str | None] = {}
    enters_group: bool = False
    """Whether the child could be put in the cgroup that was given."""


def engine(group: ChildGroup | None) -> Trial:
    """Import mlx in a child and compute with it once, the child in ``group`` if there is one."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", _PROGRAM], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    enters = False
    try:
        if group is not None:
            enters = _enter(group, process.pid)
        output, errors = process.communicate(timeout=IMPORT_S)
    except subprocess.TimeoutExpired:
        return Trial(_broken(f"The import of mlx took longer than {IMPORT_S:g} s.", {}), {}, enters)
    finally:
        process.kill()
        process.wait()
    try:
        found = msgspec.json.decode(output, type=Found)
    except msgspec.DecodeError:
        lines = errors.decode(errors="replace").strip().splitlines()
        why = lines[-1] if lines else f"it ended with {process.returncode}, without a word"
        return Trial(_broken(f"mlx can't be used: {why}", {"stderr": lines}), {}, enters)
    facts: dict[str, object] = {"device": found.device, **found.info}
    if found.places.get("mlx_lm") is None:
        return Trial(_broken("mlx-lm can't be found by a worker.", facts), found.places, enters)
    return Trial(Section("engine", facts), found.places, enters)


def _enter(group: ChildGroup, pid: int) -> bool:
    try:
        group.add(pid)
    except CgroupError:
        return False
    return True


def _broken(what: str, facts: dict[str, object]) -> Section:
    return Section("engine", facts, (Problem(what, _remedy(), fatal=True),))


def _remedy() -> str:
    try:
        importlib.metadata.version("mlx")
    except importlib.metadata.PackageNotFoundError:
        return "Install runner-fsm with its dependencies."
    if sys.platform == "linux":
        return "Reinstall mlx for this machine: `pip install --force-reinstall 'mlx[cpu]' mlx-lm`."
    return "Reinstall mlx for this Python: `pip install --force-reinstall mlx mlx-lm`. It needs Apple silicon."
