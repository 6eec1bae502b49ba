"""What the calls of `Equations` take and refuse, at the limits."""

import math
from fractions import Fraction

import numpy as np
import pytest

from blocks import BlockError
from blocks.contract.declaration_checks import (
    count_of,
    functions_of,
    labels_of,
    name_of,
    not_negative,
    positive,
    text_of,
    texts_of,
)
from blocks.contract.declared import PortHold


@pytest.mark.parametrize(
    ("check", "taken"),
    [
        (lambda v: name_of(v, "an input"), ["a"]),
        (lambda v: count_of(v, "a"), [0, 1, 3, np.int64(2)]),
        (lambda v: labels_of(v, "a", 2), [(), ("b", "c")]),
        (lambda v: labels_of(v, "a", None), [(), ("b",), ("b", "c", "d")]),
        (lambda v: texts_of(v, "aliases"), [(), ("b", "")]),
        (lambda v: text_of(v, "part"), ["", "a"]),
        (lambda v: positive(v, "nominal"), [5e-324, 0.5, 1, 1.7e308]),
        (lambda v: not_negative(v, "shortest"), [0.0, 1e-300, 2, math.inf]),
    ],
)
def test_what_is_taken_comes_back(check, taken):
    assert [check(value) for value in taken] == taken
    assert check(list(taken[-1]) if isinstance(taken[-1], tuple) else taken[-1]) == taken[-1]


@pytest.mark.parametrize(
    ("check", "refused", "said"),
    [
        (lambda v: name_of(v, "an input"), ["", 1, None], "the name of an input is .*a text"),
        (lambda v: count_of(v, "a"), [-1, 0.5, math.inf, math.nan, True, "1"], "the size of 'a' is .*zero"),
        (lambda v: labels_of(v, "a", 2), ["bc", ["b", 1]], "labels of 'a' are .*list of texts"),
        (lambda v: labels_of(v, "a", 2), [["b"], ["b"] * 3], "'a' has [13] labels for 2 components"),
        (lambda v: texts_of(v, "aliases"), ["b", ["b", 1], None, {"b"}], "aliases is .*list of texts"),
        (lambda v: text_of(v, "part"), [None, 1, ["a"]], "part is .*a text"),
        (lambda v: positive(v, "nominal"), [0, -1e-300, math.inf, math.nan, "1"], "nominal is .*above 0"),
        (lambda v: not_negative(v, "shortest"), [-1e-300, math.nan, "1"], "shortest is .*0 or more"),
    ],
)  # fmt: skip
def test_what_is_refused(check, refused, said):
    for value in refused:
        with pytest.raises(BlockError, match=said) as error:
            check(value)
        assert error.value.value is value


def test_each_function_is_looked_at():
    functions_of("f", function=math.sin, jacobian=None, make=dict)
    for wrong in ({"function": 1}, {"function": math.sin, "jacobian": None, "make": 1}):
        with pytest.raises(BlockError, match=f"{list(wrong)[-1]} of 'f' is 1, expected a function"):
            functions_of("f", **wrong)


def test_a_hold_that_says_nothing_leaves_the_rate_to_what_drives_it_and_holds():
    assert PortHold() == PortHold(Fraction(0), Fraction(0), 0, "default")
