"""Parameters of subsystems, given values that make no sense: as `test_bad_values_api` walks all others."""

import pytest

from blocks import Gain
from cosim import Enabled, For, ForEach, FunctionCall, If, Resettable, SwitchCase, Triggered, Variant, While
from tests.errors.test_bad_values_api import (
    NOTHING,
    NUMBERS,
    POSITIVE,
    SWITCH,
    TIMES,
    Case,
    of_parameter,
    parameters,
)

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
            "sample": POSITIVE,
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
        "While",
        While,
        {"inner": Gain(1.0), "sample": 0.5},
        {"sample": POSITIVE, "offset": TIMES, "limit": frozenset({"1", "200"})},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_values_without_sense_are_refused(case):
    wrong = [text for name in parameters(case) for text in of_parameter(case, name)]
    assert not wrong, "\n".join(wrong)
