"""Parameters of subsystems, schedules and replays, given values that make no sense."""

import numpy as np
import pytest

from blocks import BlockError, Gain, Integrator, State, StateChart
from cosim import (
    Enabled,
    For,
    ForEach,
    FunctionCall,
    If,
    OperatingPoint,
    Resettable,
    Simulation,
    SwitchCase,
    Triggered,
    Variant,
    While,
    gain_schedule,
    replay,
)
from tests.helpers.bad_values import (
    NO_VALUES,
    NOTHING,
    NUMBERS,
    POSITIVE,
    SWITCH,
    TIMES,
    Case,
    Made,
    of_parameter,
    parameters,
)


def resting(point):
    """Of an integrator, at any value."""
    return OperatingPoint({"x": np.array([point])}, {"u": np.zeros(1)}, {"y": np.array([point])})


def one(model):
    """A gain for it."""
    return [[1.0]]


FIRST = NOTHING | NUMBERS | {"{}", "dict"}
CASES = [
    Case("Enabled", Enabled, {"inner": Gain(1.0)}, {"reset": SWITCH, "initial": FIRST}),
    Case("Triggered", Triggered, {"inner": Gain(1.0)}, {"initial": FIRST}),
    Case("FunctionCall", FunctionCall, {"inner": Gain(1.0)}, {"initial": FIRST}),
    Case("Resettable", Resettable, {"inner": Gain(1.0)}, {}),
    Case(
        "If",
        If,
        {"then": Gain(1.0)},
        {"otherwise": NOTHING, "elifs": frozenset({"[]", "()"}), "reset": SWITCH},
    ),
    Case("SwitchCase", SwitchCase, {"cases": {1: Gain(1.0)}}, {"default": NOTHING, "reset": SWITCH}),
    Case("Variant", Variant, {"choices": {"a": Gain(1.0)}, "chosen": "a"}, {}),
    Case(
        "For",
        For,
        {"inner": Gain(1.0), "sample": 0.5},
        {
            "count": NOTHING | {"0", "1", "200"},
            "sample": NOTHING | POSITIVE,
            "offset": TIMES,
        },
    ),
    Case(
        "ForEach",
        ForEach,
        {"inner": Gain(1.0), "n": 2},
        {"n": frozenset({"1", "200"}), "shared": frozenset({"[]", "()"}), "parameters": NOTHING | {"{}"}},
    ),
    Case(
        "gain_schedule",
        gain_schedule,
        {
            "system": Integrator(),
            "points": [0.0, 1.0],
            "at": resting,
            "design": one,
            "inputs": ["u"],
            "outputs": ["y"],
        },
        {
            "points": frozenset({"[1]", "[-1]"}),
            "parameters": NO_VALUES,
            "sample": NOTHING | POSITIVE,
            "offset": frozenset({"0"}),  # without a sample time
        },
    ),
    Case(
        "replay",
        replay,
        {
            "diagram": Integrator(),
            "before": Made(lambda: Simulation(Integrator()).snapshot()),
            "failure": 1.0,
        },
        {"failure": TIMES, "settings": NOTHING, "steps": frozenset({"1", "200"})},
    ),
    Case(
        "While",
        While,
        {"inner": Gain(1.0), "sample": 0.5},
        {"sample": NOTHING | POSITIVE, "offset": TIMES, "limit": frozenset({"1", "200"})},
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_values_without_sense_are_refused(case):
    wrong = [text for name in parameters(case) for text in of_parameter(case, name)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("huge", [10**30, 10**400])
def test_whole_numbers_that_numpy_cannot_hold_are_numbers_or_refused(huge):
    """They ended in TypeError of NumPy, and as initial values in OverflowError."""
    off = [State("off")]
    made = [
        lambda: SwitchCase({huge: Gain(1.0)}, default=Gain(1.0)),
        lambda: StateChart(states=off, data={"n": huge}),
        lambda: Enabled(Gain(1.0), initial=huge),
        lambda: Triggered(Gain(1.0), initial={"y": huge}),
    ]
    for make in made:
        if huge < 10**300:
            make()
        else:
            with pytest.raises(BlockError):
                make()
