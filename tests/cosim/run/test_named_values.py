"""Values given to a run: numbers in any wrapping, and nothing that a float would take the meaning from."""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from blocks import FromData, Gain, Integrator
from blocks.errors import PlantloopError
from cosim import Diagram, Simulation, simulate


def drawn() -> Diagram:
    d = Diagram("given")
    gain = d.add("gain", Gain([2.0, 3.0]))
    total = d.add("total", Integrator([0.0, 0.0]))
    d.connect(gain["y"], total["u"])
    d.connect(d.inport("u", size=2), gain["u"])
    return d


def end(**given) -> np.ndarray:
    return simulate(drawn(), 0.5, log_at=[0.0, 0.5], engine="reference", **given)["total.y"][-1]


@pytest.mark.parametrize("value", [pd.Series([4.0, 5.0]), [Decimal(4), Fraction(5)], range(4, 6)])
def test_numbers_in_other_wrappings(value):
    found = end(inputs={"u": [1.0, 1.0]}, parameters={"gain.k": value})
    assert found == pytest.approx([2.0, 2.5])


def test_one_component_alone_is_set():
    """Of an input during a run, and of a state before it; the others stay."""
    sim = Simulation(drawn(), engine="reference", initial={"total.x[1]": 7.0})
    sim.set_input("u", [1.0, 10.0])
    sim.advance(0.5)
    sim.set_input("u[1]", 4.0)
    sim.advance(1.0)
    assert sim.value("total.y") == pytest.approx([2.0, 7.0 + 3.0 * (0.5 * 10.0 + 0.5 * 4.0)])


def test_a_component_in_the_middle_is_no_slice_up_to_the_end():
    d = Diagram("three")
    d.connect(d.inport("u", size=3), d.add("total", Integrator([1.0, 2.0, 3.0]))["u"])
    sim = Simulation(d, engine="reference", initial={"total.x[1]": 7.0})
    sim.set_input("u", [0.5, 0.25, 0.125])
    assert sim.value("total.y").tolist() == [1.0, 7.0, 3.0]
    sim.set_input("u[0]", 2.0)
    sim.advance(1.0)
    assert sim.value("total.y") == pytest.approx([3.0, 7.25, 3.125])


@dataclass(frozen=True)
class OfNumbers(Gain):
    """A gain that takes no booleans."""

    numbers_only = frozenset({"k"})


@pytest.mark.parametrize("value", [[True, False], [True, 2.0], np.array([True, False])])
def test_a_block_that_takes_numbers_only_is_given_no_booleans(value):
    """On the way; the numbers of such a block may still change, and another gain takes True for 1."""
    d = drawn()
    d.add("strict", OfNumbers([2.0, 3.0]))
    d.connect("u -> strict.u")
    sim = Simulation(d, engine="reference")
    with pytest.raises(PlantloopError, match="'strict.k' takes numbers; got"):
        sim.set_parameter("strict.k", value)
    sim.set_parameter("gain.k", value)
    sim.set_parameter("strict.k", np.array([5, 6]))
    sim.set_input("u", 1.0)
    assert sim.value("strict.y").tolist() == [5.0, 6.0]
    assert sim.value("gain.y").tolist() == [float(v) for v in value]


LOST = {
    "masked": np.ma.array([1.0, 2.0], mask=[False, True]),
    "masked number": np.ma.masked,
    "date": np.datetime64("2020-01-01"),
    "length of time": np.timedelta64(3, "ms"),
    "records": np.zeros(2, dtype=[("a", float)]),
    "complex": np.array([1.0, 2.0]) + 1e-3j,
    "texts": ["1", "2"],
}


@pytest.mark.parametrize("name", LOST)
def test_what_loses_its_meaning_as_a_float_is_refused(name):
    value = LOST[name]
    for given in ({"parameters": {"gain.k": value}}, {"initial": {"total.x": value}}):
        with pytest.raises(PlantloopError, match=r"gain\.k|total\.x") as caught:
            end(inputs={"u": [1.0, 1.0]}, **given)
        assert "\n" not in str(caught.value)
    sim = Simulation(drawn(), engine="reference")
    with pytest.raises(PlantloopError, match="'u'"):
        sim.set_input("u", value)


def test_masked_instants_are_no_instants_to_log():
    sim = Simulation(drawn(), engine="reference")
    with pytest.raises(PlantloopError, match="expected a list of times"):
        sim.log(np.ma.array([0.0, 1.0], mask=[False, True]))


def test_signals_to_perturb_are_names_in_any_list():
    """A list was a TypeError of Python's: unhashable."""
    d = drawn()
    (slot,) = d.system(perturb=["gain.y"]).perturbed.values()
    assert slot.size == 2
    added = [0.0, 0.25]  # to what the port says, and nothing else
    s = d.system(perturb=["gain.y"])
    h = s.h0.copy()
    h[s.inputs["u"].index], h[s.perturbed["gain.y"].index] = [1.0, 2.0], added
    function = s.function("derivative", lambda: [s.derivative])
    found = function(0.0, s.x0, h, s.w0, s.p0)
    assert np.array(found).ravel() == pytest.approx([2.0, 6.25])
    assert d.system(perturb="gain.y") is d.system(perturb=("gain.y",))
    for wrong in ([3], [["gain.y"]]):
        with pytest.raises(PlantloopError, match="perturb contains .* expected names"):
            d.system(perturb=wrong)


def test_dates_are_no_times():
    dates = pd.DataFrame({"u": [1.0, 2.0]}, index=pd.to_datetime(["2020-01-01", "2020-01-02"]))
    with pytest.raises(PlantloopError, match="total_seconds"):
        FromData(dates)
    with pytest.raises(PlantloopError, match="input 'u'"):
        end(inputs=dates)
