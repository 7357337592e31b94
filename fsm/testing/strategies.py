"""Every event as a Hypothesis strategy, with any content, in any order, whether it fits or not."""

from typing import Any

from hypothesis import strategies as st

import fsm
from fsm.failure import cause

AT = st.floats(0, 1000, allow_nan=False)
EXITS = st.one_of(
    st.builds(fsm.Exit, code=st.sampled_from([0, 1, 137])),
    st.builds(fsm.Exit, signal=st.sampled_from([6, 9, 11, 15])),
    st.just(fsm.Exit()),
)
CERTAINTY = st.sampled_from(fsm.Certainty)
OTHER_KINDS = [kind for kind in fsm.Kind if kind is not fsm.Kind.OOM]


def _report(kind: fsm.Kind, certainty: fsm.Certainty) -> fsm.FailureCause:
    return cause(kind, "It said so.", source=fsm.Source.REPORT, certainty=certainty)


def _finding(kind: fsm.Kind, certainty: fsm.Certainty) -> fsm.FailureCause:
    return cause(kind, "It looks so.", source=fsm.Source.EXIT, certainty=certainty)


REPORTS = st.builds(_report, st.sampled_from(OTHER_KINDS), CERTAINTY)
FINDINGS = st.builds(_finding, st.sampled_from(list(fsm.Kind)), CERTAINTY)


def events(incarnation: int | st.SearchStrategy[int] = 1, requests: int = 3) -> st.SearchStrategy[Any]:
    """Any event, for the bare machine.

    Args:
        incarnation: the one that it is about, or a strategy for it.
        requests: ids of requests are drawn from 1 to this.
    """
    number = st.just(incarnation) if isinstance(incarnation, int) else incarnation
    common = {"incarnation": number, "at": AT}
    request = st.integers(1, requests)

    def build(event: Any, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.builds(event, **common, **fields)

    return st.one_of(
        build(fsm.Start),
        build(fsm.Load),
        build(fsm.Unload),
        build(fsm.Shutdown),
        build(fsm.Restart),
        build(fsm.Submit, request=request),
        build(fsm.Cancel, request=request),
        build(fsm.Spawned, pid=st.just(100)),
        build(fsm.SpawnFailed, error=st.just("no")),
        build(fsm.Hello, protocol_ok=st.sampled_from([True, True, True, False])),
        build(fsm.LoadProgress, step=st.sampled_from(["importing", "weights", "warm-up", "?"])),
        build(fsm.Loaded),
        build(fsm.Unloaded),
        build(fsm.OutOfMemory, certainty=CERTAINTY),
        build(fsm.WorkerFailed, cause=REPORTS),
        build(fsm.ProtocolBroken, detail=st.just("garbage")),
        build(fsm.Exited, exit=EXITS, ours=st.booleans()),
        build(fsm.Settled, exit=EXITS, cause=st.none() | FINDINGS, unkillable=st.booleans()),
        build(fsm.Hung, silent_s=st.just(10.0), stopped=st.booleans()),
        build(fsm.SupervisorLate, late_s=st.just(5.0)),
        build(fsm.DeadlineExpired, deadline=st.sampled_from(fsm.Deadline), after_s=st.just(1.0)),
        build(fsm.Bye),
        build(fsm.RequestStarted, request=request),
        build(fsm.RequestProgress, request=request),
        build(fsm.FirstToken, request=request),
        build(fsm.RequestDone, request=request),
        build(fsm.RequestEnded, request=request),
        build(fsm.RequestErred, request=request, kind=st.sampled_from(fsm.RequestErrorKind), message=st.just("no")),
    )
