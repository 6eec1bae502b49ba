"""Whatever is given for a parameter of a block: a block that can be traced, or an error of our own."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest

from blocks import Gain, PlantloopError, UnitDelay
from blocks.contract.rate import Ticks, rational
from blocks.contract.trace import trace
from tests.blocks.examples_table import EXAMPLES


class Odd:
    """Neither a number nor anything else."""

    def __repr__(self) -> str:
        return "<odd>"


BAD = {
    "None": None,
    "text": "x",
    "empty text": "",
    "number as text": "1.5",
    "nan": float("nan"),
    "inf": float("inf"),
    "-inf": -float("inf"),
    "zero": 0,
    "minus one": -1.0,
    "True": True,
    "numpy True": np.True_,
    "huge": 10**400,
    "tiny": 1e-320,
    "complex": 1j,
    "empty list": [],
    "nested empty": [[]],
    "ragged": [[1.0, 2.0], [3.0]],
    "list of text": ["a", "b"],
    "list with None": [1.0, None],
    "list with nan": [1.0, float("nan")],
    "list with inf": [1.0, float("inf")],
    "three axes": np.zeros((2, 2, 2)),
    "no rows": np.zeros((0, 3)),
    "text array": np.array(["a"]),
    "object array": np.array([None, {}], dtype=object),
    "dict": {"a": 1},
    "set": {1.0},
    "object": Odd(),
    "function": len,
    "class": Odd,
    "float32": np.float32(0.5),
    "long": list(range(60)),
    "int8": np.int8(3),
    "bytes": b"1",
    "masked": np.ma.array([1.0, 2.0], mask=[False, True]),
    "masked number": np.ma.masked,
    "date": np.datetime64("2020-01-01"),
    "no date": np.datetime64("NaT"),
    "length of time": np.timedelta64(3, "ms"),
    "records": np.zeros(3, dtype=[("a", float)]),
    "complex array": np.array([1.0, 2.0]) + 1e-3j,
    "generator": (v for v in ()),
}
WITHOUT_MEANING = ("masked number", "date", "no date", "length of time", "records", "complex array")
CASES = [
    pytest.param(block, field.name, id=f"{cls.__name__}.{field.name}")
    for cls, examples in EXAMPLES.items()
    for block, _ in examples[:1]
    for field in dataclasses.fields(cls)
]


@pytest.mark.slow
@pytest.mark.parametrize(("block", "field"), CASES)
def test_a_bad_value_of_a_parameter_is_refused_by_an_error_of_our_own(block, field):
    raw = []
    for name, value in BAD.items():
        try:
            changed = dataclasses.replace(block, **{field: value})
            roots = name == "complex array" and field in ("poles", "zeros")
            if (
                name in WITHOUT_MEANING
                and not roots
                and isinstance(getattr(changed, field), (float, int, tuple))
            ):
                raw.append((name, f"taken as {getattr(changed, field)!r:.60}"))
            trace(changed, {}, guess=1)
            repr(changed)
            hash(changed)
        except PlantloopError as error:
            if "\n" in str(error) or len(str(error)) > 2000:
                raw.append((name, f"a message of {len(str(error))} characters"))
        except Exception as error:
            raw.append((name, f"{type(error).__name__}: {error}"))
    assert not raw


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (5e-7, Fraction(1, 2_000_000)),
        (2.5e-6, Fraction(1, 400_000)),
        (np.float32(0.01), Fraction(1, 100)),
        (np.float32(1 / 60), Fraction("0.016666668")),
        (np.int32(2), Fraction(2)),
        (0.1 + 0.2, Fraction(3, 10)),
        (np.float64(1 / 3), Fraction(1, 3)),
        ("1/60", Fraction(1, 60)),
    ],
)
def test_a_sample_time_is_the_number_that_was_written(written, meant):
    assert rational(written) == meant
    assert Ticks.of(written).period == meant


@pytest.mark.parametrize("value", [True, np.True_, None, [0.1], 1j, np.pi / 100, 1e-13, "x", float("nan")])
def test_what_is_no_sample_time_is_refused(value):
    with pytest.raises(PlantloopError, match=r"sample|UnitDelay"):
        UnitDelay(value)


def test_a_gain_is_finite():
    with pytest.raises(PlantloopError, match="Gain: k is inf, expected finite numbers"):
        Gain(float("inf"))


def test_ticks_of_plain_numbers_are_exact():
    assert Ticks(0.05, 0.01) == Ticks(Fraction(1, 20), Fraction(1, 100))
    assert hash(Ticks(0.05)) == hash(Ticks.of("1/20"))
