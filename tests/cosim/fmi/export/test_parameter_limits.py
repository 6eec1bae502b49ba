"""What a tool may set parameters of an exported unit to: limits of its blocks, in XML and in C."""

import dataclasses
import math
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from fmpy.fmi1 import FMICallException
from fmpy.validation import validate_fmu

import blocks as B
from blocks import Block
from blocks.contract import checks
from blocks.errors import BlockError
from cosim import Diagram, Simulation, export_fmu
from cosim.fmi.export.parameter_limits import Limit, Limits, _beyond, _moved, _neighbours, limits_of
from plant import Plant
from tests.helpers.exported import MODELS
from tests.helpers.fmus import needs_compiler
from tests.helpers.opened_fmu import Opened


@dataclasses.dataclass(frozen=True)
class Narrow(Block):
    """y = share + part[1] + low + high: limits of all kinds, and two that go together."""

    share: float = 0.25
    part: tuple = (1.0, 2.0)
    low: float = -1.0
    high: float = 1.0
    odd: float = 1.5
    most: float = -2.0

    def __post_init__(self):
        checks.assign(self, part=checks.numbers(self, "part"))
        if not (0.0 <= self.share < 1.0 and self.odd >= 1.2345 and (np.asarray(self.part) > -3.0).all()):
            raise BlockError("Narrow: it is beyond its limits.")
        if self.odd > 1e20:
            warnings.warn("that is a lot", stacklevel=2)
            _ = 1.0 / (float(self.odd) - 1e30)
        if not (self.low < self.high and self.most < 0.0):
            raise BlockError("Narrow: low is not below high.")

    def define(self, b):
        share, part, low, high, odd, _ = b.parameters(
            share=self.share, part=self.part, low=self.low, high=self.high, odd=self.odd, most=self.most
        )
        b.output("y", share + part[1] + low + high + odd)


def narrow() -> Diagram:
    d = Diagram("narrow")
    d.outport("y", d.add("n", Narrow())["y"])
    d.outport("free", d.add("gain", B.Gain(2.0))["y"])
    d.connect(d.inport("u"), "gain.u")
    return d


def found(model) -> dict[str, str]:
    """Limits in words, by the names of numbers."""
    with Simulation(model) as sim:
        limits = limits_of(sim.system, sim._engine.context)
        places = [(slot.place(int(k)), int(k)) for slot in sim.system.parameters.values() for k in slot.index]
        return {str(place): limits[k].text for place, k in places if k in limits}


def test_limits_of_single_numbers_are_found():
    """Not of what goes together with others, nor where there is none."""
    known = {
        "n.share": "at least 0 and below 1", "n.part[0]": "above -3", "n.part[1]": "above -3",
        "n.odd": "at least 1.2345", "n.most": "below 0",
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert found(narrow()) == known
    saturated = Diagram("saturated")
    saturated.ground(saturated.add("s", B.Saturation(-1.0, 1.0))["u"])
    saturated.ground(saturated.add("r", B.RateLimiter(rising=2.0, falling=3.0))["u"])
    assert found(saturated) == {"r.rising": "above 0", "r.falling": "above 0"}


def test_limits_of_a_plant_are_those_of_its_elements():
    limits = found(Plant.read(MODELS / "bead_on_catenary" / "bead_on_catenary.xml"))
    assert {name.split(".")[-1]: text for name, text in limits.items()} == {
        "mass": "above 0", "penalty": "above 0", "penalty1": "at least 0"
    }  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Asserted(Block):
    """y = k: it checks k by an `assert`, which is no word of a block about limits."""

    k: float = 1.0

    def __post_init__(self):
        assert self.k > 0.0

    def define(self, b):
        b.output("y", b.parameter("k", self.k))


def test_errors_of_other_kinds_in_a_block_are_no_limits_and_end_no_export():
    d = Diagram("d")
    d.add("a", Asserted())
    assert found(d) == {}


@dataclasses.dataclass(frozen=True)
class Whole(Block):
    """y = n + m: n is a whole number from 1 to 7, m from 0.5 to 2 or from -2 to -0.5."""

    n: float = 3.0
    m: float = 1.0

    def __post_init__(self):
        if self.n != round(self.n) or not 1.0 <= self.n <= 7.0 or not 0.5 <= abs(self.m) <= 2.0:
            raise BlockError("Whole: it is beyond its limits.")

    def define(self, b):
        n, m = b.parameters(n=self.n, m=self.m)
        b.output("y", n + m)


def test_where_a_block_takes_numbers_behind_others_that_it_refuses_there_is_no_limit():
    """The start value 3 of a whole number was said to be its least and its largest."""
    d = Diagram("d")
    d.add("w", Whole())
    assert found(d) == {"w.m": "at most 2"}


@pytest.mark.slow
@pytest.mark.parametrize("entries", [64, 65])
def test_arrays_of_up_to_64_numbers_are_asked_about(entries):
    d = Diagram("d")
    d.add("n", Narrow(part=tuple(range(entries))))
    d.outport("y", "n.y")
    limits = [name for name in found(d) if name.startswith("n.part")]
    assert len(limits) == (entries if entries == 64 else 0)


@pytest.mark.parametrize(
    ("takes", "last", "far", "calls"),
    [
        (lambda v: v > 0.0, 5e-324, -1e30, 3),  # neighbours of 0 are asked about first
        (lambda v: v >= 0.0, 0.0, -1e30, 3),
        (lambda v: v >= -5e-324, -5e-324, -1e30, 64),
        (lambda v: v < 4.0, math.nextafter(4.0, 0.0), 1e30, 64),
        (lambda v: v <= 1e20, 1e20, 1e30, 64),
        (lambda v: v >= -2.5, -2.5, -1e30, 64 + 3),
        (lambda v: v > 1e-300, math.nextafter(1e-300, 1.0), -1e30, 64 + 3),
    ],
)
def test_a_limit_lies_between_neighbouring_floats(takes, last, far, calls):
    """Found by halves: of the 2^64 floats after 64 questions at most."""
    asked: list[float] = []
    found = _neighbours(lambda v: (asked.append(v), takes(v))[1], 3.0, far)
    assert found == (last, math.nextafter(last, far))
    assert len(asked) <= calls


def test_numbers_behind_a_limit_that_are_tried():
    """The next whole ones, from the limit on, and some of all sizes."""
    large = [1.0, 1e3, 1e6, 1e9, 1e12, 1e15, 1e18]
    assert list(_beyond(0.5, 1e30)) == [1.0, 2.0, 3.0, 4.0, *large]
    assert list(_beyond(-0.5, -1e30)) == [-1.0, -2.0, -3.0, -4.0, *(-v for v in large)]
    up = list(_beyond(-2e-4, 1e30))
    assert up == [0.0, 1.0, 2.0, 3.0, pytest.approx(-1e-6), pytest.approx(1e-6), pytest.approx(1e-3), *large]
    assert list(_beyond(1.0, -1e30))[:4] == [1.0, 0.0, -1.0, -2.0]


def test_the_nearest_other_numbers_of_a_block_are_moved_a_tenth():
    """Both ways, one at a time: up to sixteen of them."""
    slots = {"a": SimpleNamespace(index=range(12)), "b": SimpleNamespace(index=range(12, 30))}
    p = np.arange(30.0) - 15.0
    moved = list(_moved(SimpleNamespace(slots=slots), p, 11))
    assert len(moved) == 2 * 16
    for k, (name, numbers) in enumerate(moved):
        (place,) = np.flatnonzero(numbers != p)
        assert name == ("a" if place < 12 else "b")
        step = 0.1 * (1.0 + abs(p[place]))
        assert numbers[place] - p[place] == pytest.approx(-step if k % 2 else step)
    places = {int(np.flatnonzero(numbers != p)[0]) for _, numbers in moved}
    assert places == set(range(3, 20)) - {11}


def test_words():
    assert Limits(Limit(0.0, True), Limit(1.0, False)).text == "above 0 and at most 1"
    assert Limits(None, Limit(-2.5, True)).text == "below -2.5"


@needs_compiler
@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_a_unit_refuses_what_the_block_refuses(version, tmp_path):
    """At the start and on the way; the old value stays. Both limits, and the description has them."""
    path = export_fmu(narrow(), tmp_path / "narrow.fmu", version=version, kinds=("cs",))
    assert validate_fmu(str(path)) == []
    part = "n.part[1]" if version == "2.0" else "n.part"
    with Opened(path, initialise=False) as m:
        limits = {n: (v.min, v.max) for n, v in m.variables.items() if v.causality == "parameter"}
        assert [float(x) for x in limits["n.share"]] == [0.0, 1.0]
        assert (float(limits[part][0]), limits[part][1]) == (-3.0, None)
        assert limits["n.low"] == limits["gain.k"] == (None, None)
        assert (limits["n.most"][0], float(limits["n.most"][1])) == (None, 0.0)
        m.initialise({"n.share": 0.5, "n.low": 5.0, "n.high": 7.0})
        m.step(0.1)
        assert m.get("y") == 0.5 + 2.0 + 5.0 + 7.0 + 1.5
        for name, value, text in (
            ("n.share", -1e-300, "'n.share' is set to -1e-300; it has to be at least 0 and below 1."),
            ("n.share", 1.0, "'n.share' is set to 1; it has to be at least 0 and below 1."),
            ("n.odd", 1.2, "'n.odd' is set to 1.2; it has to be at least 1.2345."),
        ):
            with pytest.raises(FMICallException, match="error"):
                m.set(name, value)
            assert m.log[-1] == f"narrow: parameter {text}"
            assert m.get("n.share") == 0.5
        with pytest.raises(FMICallException, match="error"):
            m.set("n.most", 0.0)
        assert m.log[-1].endswith("'n.most' is set to 0; it has to be below 0.")
        m.set("n.most", -1e99)
        m.set("n.share", 0.0)
        assert m.get("n.share") == 0.0
        with pytest.raises(FMICallException, match="error"):
            m.set(part, -3.0 if version == "2.0" else [1.0, -3.0])
        assert "n.part[" in m.log[-1] and "above -3" in m.log[-1]
