"""Steps in time of an FMU by their rules alone: rests of steps, events that follow each other, crossings.

The FMU is a script: what its calls return.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cosim.engines.methods.steppers import AcceptedStep
from cosim.fmi.co_simulation import CoSimulationUnit
from cosim.fmi.fmi_errors import FMUCallError
from cosim.fmi.interface.outcomes import StepOutcome
from cosim.fmi.model_exchange_steps import ModelExchangeSteps
from cosim.fmi.steps import CoSimulationSteps, rest_of_step


class Instance:
    """It stops where the script says, then at the end."""

    def __init__(self, *outcomes: StepOutcome, variable_step: bool = True) -> None:
        self.outcomes, self.asked = list(outcomes), []
        self.interface = SimpleNamespace(variable_step=variable_step, needs_completed_step=False)
        self.description = SimpleNamespace(file="unit.fmu")
        self.name, self.log = "unit", SimpleNamespace(shown=lambda: "It said nothing.")
        self.call = SimpleNamespace(time=None)

    def step(self, t, h, no_way_back=True):
        assert not no_way_back
        self.asked.append((t, h))
        return self.outcomes.pop(0) if self.outcomes else StepOutcome(t + h)


def early(t: float, **more: bool) -> StepOutcome:
    return StepOutcome(t, early=True, **more)


def test_the_rest_of_a_step_is_asked_for_as_often_as_it_gets_on():
    unit = Instance(early(0.25), early(0.75))
    assert CoSimulationSteps(unit).step(0.0, 1.0) == StepOutcome(1.0)
    assert unit.asked == [(0.0, 1.0), (0.25, 0.75), (0.75, 0.25)]


@pytest.mark.parametrize(
    ("first", "variable"),
    [
        (StepOutcome(0.5, terminate=True, early=True), True), (early(0.5, event=True), True),
        (StepOutcome(0.5), True), (early(0.5), False), (early(0.0), True), (early(-0.5), True),
    ],
)  # fmt: skip
def test_where_nothing_is_asked_for(first, variable):
    """It ends, waits for event mode, is there, takes steps of one size, or does not get on."""
    unit = Instance(variable_step=variable)
    assert rest_of_step(unit, first, 0.0, 1.0) is first and unit.asked == []


@pytest.mark.parametrize(
    ("t", "end", "short", "there"),
    [
        (0.0, 1.0, 0.9e-12, True),
        (0.0, 1.0, 1.2e-12, False),
        (999.0, 1e3, 0.9e-9, True),  # relative to the time
        (999.0, 1e3, 1.2e-9, False),
        (1.0, 1.0 + 1e-10, 0.9e-13, True),  # and at most a thousandth of the step
        (1.0, 1.0 + 1e-10, 1.2e-13, False),
    ],
)
def test_an_end_that_is_missed_by_rounding_is_reached(t, end, short, there):
    unit = Instance()
    assert rest_of_step(unit, early(end - short), t, end) == StepOutcome(end)
    assert len(unit.asked) == (not there)


def test_an_fmu_that_steps_itself_takes_values_at_once():
    done: list[str] = []
    steps = CoSimulationSteps(Instance())
    steps.give(None, lambda: done.append("given"))  # type: ignore[arg-type]
    assert steps.arrive(1.0, lambda: done.append("put")) is False
    assert steps.arrive(1.0) is steps.begin(0.0) is False
    assert done == ["given", "put"] and steps.kept() is None


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (
            StepOutcome(0.5, early=True, discarded=True),
            "it discarded the step from t=0 s over 1 s, and got to t=0.5",
        ),
        (StepOutcome(1.0, discarded=True), "it discarded the step"),
        (early(0.5), "it came back early from the step from t=0 s over 1 s, and got to t=0.5 s"),
        (early(1.0), None),
        (StepOutcome(1.0), None),
    ],
)
def test_a_step_that_is_not_made(outcome, said):
    unit: Any = SimpleNamespace(
        _time=0.0, _intermediate=None, _ended=False, _description=SimpleNamespace(file="unit.fmu"),
        _component=Instance(),
    )  # fmt: skip
    if said is None:
        assert CoSimulationUnit._after(unit, outcome, 1.0) == 1.0 and not unit._ended
    else:
        with pytest.raises(FMUCallError, match=said) as found:
            CoSimulationUnit._after(unit, outcome, 1.0)
        assert found.value.time == outcome.time
    assert CoSimulationUnit._after(unit, StepOutcome(0.25, terminate=True), 1.0) == 0.25 and unit._ended


# --- model exchange -------------------------------------------------------------------------------
def exchange(*stretches: float, ended: bool = False) -> Any:
    """Steps that come to an event after each of these times [s], then to the end; and how many events."""
    rounds = SimpleNamespace(values={}, counts={}, next_tick=math.inf)
    made: Any = ModelExchangeSteps(Instance(), lambda: (1, 1), lambda: None, rounds)  # type: ignore[arg-type]
    left, made.events = list(stretches), []

    def stretch(t, stop):
        return (t + left.pop(0), True, False) if left else (stop, False, False)

    made._stretch, made._event = stretch, lambda t: (made.events.append(t), ended)[1]
    return made


def test_events_that_follow_each_other_at_one_time_have_an_end():
    """250 of them within 1e-9 of what is to go, counted afresh where time goes on."""
    made = exchange(0.5, *[0.0] * 250)
    assert made.step(0.0, 1.0) == StepOutcome(1.0) and len(made.events) == 251
    made = exchange(0.5, *[0.0] * 100, 0.25, *[1e-12] * 250)
    assert made.step(0.0, 1.0) == StepOutcome(1.0)
    for stretches in ([0.0] * 251, [0.5, *[0.0] * 251], [1e-12] * 251):
        made = exchange(*stretches)
        with pytest.raises(FMUCallError, match="its events follow each other without end"):
            made.step(0.0, 1.0)
    made = exchange(*[3e-10] * 1000)  # four in each such time, which is measured from the first of them
    assert made.step(0.0, 1.0) == StepOutcome(1.0)
    assert exchange(0.5, ended=True).step(0.0, 1.0) == StepOutcome(0.5, terminate=True)


def test_events_that_are_announced_are_where_steps_end():
    """At the very time that was announced, even if that is the end but for rounding."""
    made = exchange()
    made._next = 0.25
    made._event = lambda t: (made.events.append(t), setattr(made, "_next", 1.0 + 1e-13))[0]
    assert made.step(0.0, 1.0) == StepOutcome(1.0 + 1e-13)
    assert made.events == [0.25, 1.0 + 1e-13]


def crossing(*roots: float, at: float = 0.0, to: float = 1.0, falling: bool = False) -> float | None:
    """The first of the times at which indicators t - root change their side in a step."""
    made: Any = exchange()
    sign = -1.0 if falling else 1.0
    made._at = lambda step, t: sign * np.array([t - r for r in roots])
    made._z = sign * np.array([at - r for r in roots])
    found = made._crossing(AcceptedStep(at, to, np.zeros(1), np.zeros(1), lambda t: np.zeros(1)))
    return None if found is None else float(found)


@pytest.mark.parametrize("falling", [False, True])
def test_crossings_are_found_just_behind_them(falling):
    for roots, first in (((0.3,), 0.3), ((0.8, 0.6), 0.6), ((0.999,), 0.999), ((2.0, 0.1), 0.1)):
        found = crossing(*roots, falling=falling)
        assert found is not None and first <= found <= first + 2e-15
    assert crossing(1.5, -0.5, falling=falling) is None
    assert crossing(falling=falling) is None


def test_zero_is_the_side_below():
    """An indicator that is 0 has not risen; one that falls to it has fallen."""
    assert crossing(1.0) is None and crossing(0.0) == pytest.approx(0.0, abs=1e-14)
    assert crossing(1.0, falling=True) == 1.0 and crossing(0.0, falling=True) is None
    assert crossing(0.25) == pytest.approx(math.nextafter(0.25, 1.0), abs=1e-15)
