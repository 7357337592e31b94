"""What a policy promises, whatever fails and whenever."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsm import Kind
from fsm.failure import INCURABLE, Source, cause
from runner import RestartPolicy, SettingsError
from runner.restart.decision import CLEAN, Due, GiveUp, History, decide

policies = st.builds(
    RestartPolicy,
    when=st.sampled_from(["on_failure", "always"]),
    limit=st.none() | st.integers(1, 8),
    window=st.floats(1, 1000),
    backoff=st.floats(0.01, 10),
    factor=st.floats(1, 10),
    longest=st.floats(10, 100),
    jitter=st.floats(0, 1),
)
draws = st.floats(0, 1, exclude_max=True)
kinds = st.sampled_from(Kind)
mendable = st.sampled_from(sorted(set(Kind) - set(INCURABLE) - CLEAN))


def failure(kind: Kind) -> Any:
    return cause(kind, "It failed.", source=Source.TRIGGER)


@given(policies, st.lists(st.tuples(mendable, draws, st.floats(0, 100)), max_size=40))
def test_there_are_never_more_restarts_in_a_window_than_the_limit(
    policy: RestartPolicy, failures: list[tuple[Kind, float, float]]
) -> None:
    now, history, begun = 0.0, History(), list[float]()
    for kind, draw, lived in failures:
        now += lived
        match decide(policy, history, failure(kind), now=now, draw=draw):
            case Due(wait=wait, attempt=attempt):
                assert attempt == len(begun) + 1
                now += wait
                begun.append(now)
                history = history.with_one(now, policy.window)
            case GiveUp(sentence=sentence):
                assert kind.value in sentence
                assert str(policy.limit) in sentence
                assert policy.limit == sum(time > now - policy.window for time in begun)
                break
            case None:
                raise AssertionError("each of these is followed by a restart")
    if policy.limit is not None:
        for last in begun:
            # The decision is made at the failure, a wait before the restart.
            since = last - policy.window + policy.longest
            assert sum(since < time <= last for time in begun) <= policy.limit


@given(policies, st.integers(1, 10_000), draws)
def test_a_wait_is_never_longer_than_the_longest_nor_further_from_its_length_than_the_jitter(
    policy: RestartPolicy, attempt: int, draw: float
) -> None:
    wait = policy.wait(attempt, draw)
    middle = policy.wait(attempt, 0.5)
    assert 0 <= wait <= policy.longest
    assert middle * (1 - policy.jitter) * 0.999 <= wait <= middle * (1 + policy.jitter) * 1.001
    assert policy.wait(attempt + 1, 0.5) >= middle * 0.999


@given(policies, kinds, draws)
def test_what_a_restart_cannot_mend_is_given_up_in_words_and_at_once(
    policy: RestartPolicy, kind: Kind, draw: float
) -> None:
    decision = decide(policy, History(), failure(kind), now=0, draw=draw)
    if kind in INCURABLE:
        assert isinstance(decision, GiveUp)
        assert kind.value in decision.sentence
        assert INCURABLE[kind] in decision.sentence
    elif kind in CLEAN and policy.when == "on_failure":
        assert decision is None
    else:
        assert isinstance(decision, Due)


@given(kinds, draws)
def test_never_is_never(kind: Kind, draw: float) -> None:
    assert decide(RestartPolicy(), History(), failure(kind), now=0, draw=draw) is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("when", "sometimes"),
        ("limit", 0),
        ("limit", 1.5),
        ("limit", True),
        ("window", 0),
        ("backoff", -1),
        ("longest", math.inf),
        ("longest", 0.1),
        ("factor", 0.5),
        ("factor", math.nan),
        ("jitter", 1.1),
        ("healthy_after", "soon"),
        ("quarantine_after", 0),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused_by_name(field: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=field):
        RestartPolicy(**{field: value})
