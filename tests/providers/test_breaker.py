"""The circuit breaker as values: any order of calls, reports and time."""

from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from app.providers.breaker import (
    Admitted,
    BreakerPolicy,
    Closed,
    HalfOpen,
    Open,
    Refused,
    State,
    abandoned,
    admit,
    failed,
    succeeded,
)
from tests.by_turns import examples

POLICY = BreakerPolicy(failures=3, open_seconds=30)


@dataclass
class Call:
    admitted: Admitted


class Breaker(RuleBasedStateMachine):
    """Calls come and are reported in any order, while time passes.

    The model is a count of failures in a row and the time until which nobody may pass.
    """

    def __init__(self) -> None:
        super().__init__()
        self.state: State = Closed()
        self.now = 0.0
        self.under_way: list[Admitted] = []
        self.failures = 0
        self.shut_until: float | None = None

    @rule()
    def call(self) -> None:
        probing = any(call.probe for call in self.under_way)
        self.state, answer = admit(self.state, self.now, POLICY)
        if self.shut_until is None:
            assert answer == Admitted(probe=False)
        elif probing or self.now < self.shut_until:
            assert isinstance(answer, Refused)
            assert 0 < answer.seconds <= POLICY.open_seconds
        else:
            assert answer == Admitted(probe=True)
        if isinstance(answer, Admitted):
            self.under_way.append(answer)

    @rule(seconds=st.sampled_from([0.5, 10.0, 29.5, 30.0, 1000.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @precondition(lambda self: self.under_way)
    @rule(data=st.data())
    def succeed(self, data: st.DataObject) -> None:
        call = self._taken(data)
        self.state = succeeded(self.state, call)
        if call.probe or self.shut_until is None:
            self.failures, self.shut_until = 0, None

    @precondition(lambda self: self.under_way)
    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        call = self._taken(data)
        self.state = failed(self.state, call, self.now, POLICY)
        if self.shut_until is None:
            self.failures += 1
        if call.probe or (self.shut_until is None and self.failures >= POLICY.failures):
            self.shut_until = self.now + POLICY.open_seconds

    @precondition(lambda self: self.under_way)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        call = self._taken(data)
        self.state = abandoned(self.state, call, self.now)

    @invariant()
    def never_two_probes(self) -> None:
        assert sum(call.probe for call in self.under_way) == isinstance(self.state, HalfOpen)

    @invariant()
    def shut_exactly_when_it_should_be(self) -> None:
        assert isinstance(self.state, Closed) == (self.shut_until is None)

    def _taken(self, data: st.DataObject) -> Admitted:
        return self.under_way.pop(data.draw(st.integers(0, len(self.under_way) - 1)))


TestBreaker = Breaker.TestCase
TestBreaker.settings = settings(max_examples=examples(150), stateful_step_count=40)


def test_a_recovered_provider_is_used_after_one_probe() -> None:
    state: State = Closed(2)
    state = failed(state, Admitted(probe=False), 100, POLICY)
    assert state == Open(130)
    assert admit(state, 110, POLICY) == (state, Refused(20))
    state, probe = admit(state, 130, POLICY)
    assert (state, probe) == (HalfOpen(), Admitted(probe=True))
    assert admit(state, 131, POLICY) == (HalfOpen(), Refused(30))
    assert succeeded(state, Admitted(probe=True)) == Closed()


def test_a_call_from_before_says_nothing_about_the_time_after() -> None:
    assert succeeded(Open(130), Admitted(probe=False)) == Open(130)
    assert failed(HalfOpen(), Admitted(probe=False), 140, POLICY) == HalfOpen()
