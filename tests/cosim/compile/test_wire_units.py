"""Units on wires: refused, converted, followed through blocks, carried to results."""

import copy
import pickle
from dataclasses import dataclass

import numpy as np
import pytest

from blocks import (
    Block,
    Constant,
    Demux,
    Derivative,
    DiscreteIntegrator,
    Equations,
    Function,
    Gain,
    Hold,
    Integrator,
    Mux,
    PlantloopError,
    Product,
    Sine,
    Sum,
    UnitConversion,
    UnitDelay,
    WiringError,
)  # fmt: skip
from cosim import Diagram, Enabled, Result, Simulation, linearize, simulate

ENGINES = ("reference", "native")


@dataclass(frozen=True)
class Motor(Block):
    """J w' = k u: volts in, radians per second out."""

    J: float = 0.5
    k: float = 2.0

    def define(self, b: Equations) -> None:
        """Declare ports with units, and the equation."""
        u = b.input("u", unit="V")
        J = b.parameter("J", self.J, unit="kg*m^2")
        k = b.parameter("k", self.k, unit="N*m/V")
        w = b.continuous("w", 0.0, size=1)
        b.derivative(w, k * u / J)
        b.output("w", w, unit="rad/s")


def drive(unit, convert=False, value=3.0):
    d = Diagram("drive")
    d.add("supply", Constant(value), units={"y": unit})
    d.add("motor", Motor())
    d.connect("supply.y -> motor.u", convert=convert)
    return d


@pytest.mark.parametrize("engine", ENGINES)
def test_a_wire_is_converted_where_asked(engine):
    """w = k u t / J with u = 3 kV."""
    r = simulate(drive("kV", True), 2.0, engine=engine)
    assert r["motor.w"][-1] == pytest.approx(2.0 * 3000.0 * 2.0 / 0.5, rel=1e-9)
    assert "motor.u#unit" not in r.tree and "motor.u" not in r.tree


def test_another_scale_is_refused_with_the_conversion():
    with pytest.raises(
        WiringError, match=r"'supply\.y' is in mV but input 'motor\.u' expects V: 1 mV = 0\.001 V"
    ):
        drive("mV").system()


def test_another_dimension_is_refused_whether_or_not_it_is_to_be_converted():
    for convert in (False, True):
        with pytest.raises(
            WiringError, match=r"'supply\.y' is in m but input 'motor\.u' expects V.*different"
        ):
            drive("m", convert).system()


def test_the_same_unit_in_other_words_is_accepted():
    for unit in ("V", "volt", "W/A", "kg*m^2/s^3/A"):
        drive(unit).system()


def test_without_units_nothing_is_checked():
    d = Diagram()
    d.add("one", Constant(1.0))
    d.add("motor", Motor())
    d.connect("one.y -> motor.u")
    assert simulate(d, 1.0)["motor.w"][-1] == pytest.approx(4.0)


def test_a_conversion_of_what_has_no_unit_is_refused():
    d = Diagram()
    d.add("one", Constant(1.0))
    d.add("motor", Motor())
    d.connect("one.y -> motor.u", convert=True)
    with pytest.raises(WiringError, match=r"unit of 'one\.y' is not known.*units="):
        d.system()
    e = Diagram()
    e.add("one", Constant(1.0), units={"y": "m"})
    e.add("gain", Gain(1.0))
    e.connect("one.y -> gain.u", convert=True)
    with pytest.raises(WiringError, match=r"unit of 'gain\.u' is not known"):
        e.system()


def test_all_faults_are_told_together_with_their_cures():
    d = drive("m")
    d.add("scope", Gain(1.0), units={"u": "Hz", "foo": "m", "y": "zork"})
    d.connect("motor.w -> scope.u")
    d.add("length", Constant(1.0), units={"y": "m"})
    d.add("time", Constant(1.0), units={"y": "s"})
    d.add("sum", Sum("++"))
    d.connect("length.y -> sum.in1", "time.y -> sum.in2")
    with pytest.raises(WiringError) as caught:
        d.system()
    text = str(caught.value)
    for part in ("'supply.y' is in m", "no port or parameter 'foo'", "'zork' is no unit",
                 "cycles, the other radians", "block 'sum' adds or compares m and s"):  # fmt: skip
        assert part in text


def test_units_pass_through_blocks():
    """Rates, products, sums, delays, vectors: the results say what comes out."""
    d = drive("V")
    d.add("angle", Integrator())
    d.add("acceleration", Derivative(100.0))
    d.add("torque", Gain(0.1), units={"k": "N*m*s/rad"})
    d.add("power", Product(2))
    d.add("both", Mux(2))
    d.add("apart", Demux(2))
    d.add("old", UnitDelay(sample=0.1))
    d.add("free", Gain(2.0))
    for target in ("angle.u", "torque.u", "power.in1", "both.in2", "free.u"):
        d.connect("motor.w", target)
    d.connect("motor.w -> acceleration.u")
    d.connect("torque.y -> power.in2", "angle.y -> both.in1", "both.out -> apart.in", "apart.out1 -> old.u")
    tree = simulate(d, 0.5).tree
    unit = lambda name: tree[name].unit(0)
    assert unit("angle.y") == "rad" and unit("apart.out1") == "rad" and unit("old.y") == "rad"
    assert unit("torque.y") == "N*m" and unit("free.y") == ""
    assert unit("power.y") in ("rad*N*m/s", "N*m*rad/s")
    assert tree["both.out"].units == ("rad", "rad/s")


def test_a_matrix_of_gains_in_one_unit_adds_what_fits():
    """N/m of a length is a force, of a time it is not."""
    d = Diagram("d")
    both = d.add("both", Mux(2))
    d.connect(d.add("length", Constant(1.0), units={"y": "m"})["y"], both["in1"])
    d.connect(d.add("time", Constant(1.0), units={"y": "s"})["y"], both["in2"])
    both >> d.add("stiff", Gain([[1.0, 1.0]]), units={"k": "N/m"})
    with pytest.raises(WiringError, match=r"block 'stiff' adds or compares N and N\*s/m"):
        d.system()


@pytest.mark.parametrize(
    ("law", "unit"),
    [
        (np.sqrt, "m"), (np.square, "m^4"), (lambda u: 1.0 / u, "1/m^2"), (lambda u: u**1.5, "m^3"),
        (lambda u: u * u / np.sqrt(u), "m^3"), (lambda u: np.where(u > 1.0, u, -u), "m^2"),
    ],
)  # fmt: skip
def test_units_follow_powers(law, unit):
    """Of an area."""
    d = Diagram("d")
    d.add("s", Constant(4.0), units={"y": "m^2"}) >> d.add("f", Function(law))
    assert simulate(d, 0.0, log_at=[0.0]).tree["f.y"].units == (unit,)


@pytest.mark.parametrize(
    ("law", "refused"),
    [
        (lambda a, b: np.where(a > 1.0, a, b), True), (lambda a, b: np.maximum(a, b), True),
        (lambda a, b: -a, True), (lambda a, b: a + b, False), (lambda a, b: a - b, False),
        (lambda a, b: np.hypot(a, b), False),
    ],
)  # fmt: skip
def test_a_choice_is_of_its_unit_and_a_sum_in_equations_of_ones_own_only_perhaps(law, refused):
    """Numbers without a name may hide in a sum, so that it refuses no wire."""
    d = Diagram("d")
    d.add("f", Function(law))
    for port in "ab":
        d.add(f"s{port}", Constant(4.0), units={"y": "m"})
        d.connect(f"s{port}.y", f"f.{port}")
    d.add("g", Gain(1.0), units={"u": "s"})
    d.connect("f.y", "g.u")
    if refused:
        with pytest.raises(PlantloopError, match="f.y"):
            d.system()
    else:
        d.system()


def test_a_state_feedback_of_mixed_states_stays_free():
    """Gains without units: what they give has none."""
    d = Diagram()
    d.add("x", Constant([1.0, 2.0]), units={"y": ["m", "rad"]})
    d.add("K", Gain([[3.0, 4.0]]))
    d.connect("x.y -> K.u")
    assert simulate(d, 0.1).tree["K.y"].unit(0) == ""


def test_components_have_units_of_their_own():
    d = Diagram()
    d.add("x", Constant([1.0, 2.0]), units={"y": ["mm", "deg"]})
    d.add("g", Gain(1.0), units={"u": ["m", "rad"], "k": "1"})
    d.connect("x.y -> g.u", convert=True)
    r = simulate(d, 0.1)
    assert r["g.y"][-1] == pytest.approx([1e-3, np.deg2rad(2.0)], rel=1e-12)
    assert r.tree["g.y"].units == ("m", "rad")
    with pytest.raises(WiringError, match="3 units for 2 components"):
        d.replace("g", Gain(1.0), units={"u": ["m", "m", "m"]})
        d.system()


def test_borders_of_subsystems_have_units():
    """mm outside, m at the border, cm inside: converted at both, in one multiplication."""
    inner = Diagram("inner")
    u = inner.inport("u", unit="m")
    inner.add("g", Gain(1.0), units={"u": "cm", "k": "1"})
    inner.connect(u, inner["g"]["u"], convert=True)
    inner.outport("y", inner["g"]["y"])
    d = Diagram()
    d.add("x", Constant(250.0), units={"y": "mm"})
    d.add("part", inner)
    d.connect("x.y -> part.u", convert=True)
    r = simulate(d, 0.1)
    assert r["part/g.y"][-1] == pytest.approx(25.0, rel=1e-12)
    assert r.tree["part/g.y"].unit(0) == "cm"
    e = Diagram()
    e.add("x", Constant(250.0), units={"y": "mm"})
    e.add("part", inner)
    e.connect("x.y -> part.u")
    with pytest.raises(WiringError, match=r"'x\.y' is in mm but input 'part\.u' expects m"):
        e.system()


def test_a_border_says_its_unit_of_blocks_that_say_none():
    inner = Diagram("inner")
    u = inner.inport("u", unit="m")
    inner.add("i", Integrator())
    inner.connect(u, inner["i"]["u"])
    inner.outport("y", inner["i"]["x"] if "x" in inner["i"].ports.outputs else inner["i"]["y"])
    d = Diagram()
    d.add("x", Constant(1.0))
    d.add("part", inner)
    d.connect("x.y -> part.u")
    d.add("sink", Gain(1.0), units={"u": "m"})
    d.connect("part.y -> sink.u")
    with pytest.raises(WiringError, match=r"is in m\*s but input 'sink\.u' expects m"):
        d.system()


def test_in_a_conditional_part():
    d = Diagram()
    d.add("x", Sine(1.0, 1.0), units={"y": "mm"})
    d.add("part", Enabled(Gain(1.0)), units={"u": "m"})
    d.add("on", Constant(1.0))
    d.connect("on.y -> part.enable")
    d.connect("x.y -> part.u", convert=True)
    r = simulate(d, 1.0)
    assert r["part/inner.y"][-1] == pytest.approx(1e-3 * np.sin(1.0), rel=1e-9)


def test_inputs_of_the_whole_have_units():
    d = Diagram()
    u = d.inport("u", unit="mV")
    d.add("motor", Motor())
    d.connect(u, d["motor"]["u"], convert=True)
    sim = Simulation(d)
    sim.set_input("u", 5000.0)
    sim.advance(1.0)
    assert sim.result()["motor.w"][-1] == pytest.approx(2.0 * 5.0 / 0.5)
    assert sim.result().tree["u"].unit(0) == "mV"
    with pytest.raises(PlantloopError, match="zork"):
        Diagram().inport("u", unit="zork")


def test_snapshots_copies_and_second_runs():
    d = drive("kV", True)
    first = simulate(d, 1.0)["motor.w"]
    for other in (copy.deepcopy(d), pickle.loads(pickle.dumps(d)), d):
        assert np.array_equal(simulate(other, 1.0)["motor.w"], first)
    sim = Simulation(d)
    sim.advance(0.4)
    kept = sim.snapshot()
    sim.advance(1.0)
    end = sim.result()["motor.w"][-1]
    sim.restore(kept)
    sim.advance(1.0)
    assert np.array_equal(sim.result()["motor.w"][-1], end)


def test_a_linear_model_knows_of_the_conversion():
    d = Diagram()
    u = d.inport("u", unit="kV")
    d.add("motor", Motor())
    d.connect(u, d["motor"]["u"], convert=True)
    d.outport("w", d["motor"]["w"])
    ss = linearize(d)
    assert ss.B[0, 0] * ss.C[0, 0] == pytest.approx(1000.0 * 2.0 / 0.5, rel=1e-12)


def test_what_blocks_say_is_not_said_otherwise():
    d = Diagram()
    d.add("motor", Motor(), units={"w": "deg/s"})
    d.ground("motor.u")
    with pytest.raises(WiringError, match=r"'motor\.w' is in rad/s by its block, units= says deg/s"):
        d.system()


def test_replaced_and_disconnected_blocks_forget_their_units():
    d = drive("m")
    d.replace("supply", Constant(1.0))
    d.system()
    d = drive("kV", True)
    d.disconnect("motor.u")
    d.connect("supply.y -> motor.u")
    with pytest.raises(WiringError, match="1 kV = 1000 V"):
        d.system()


def test_results_carry_units_to_xarray_and_files(tmp_path):
    r = simulate(drive("V"), 0.5, signals=["motor.w", "motor.J"])
    assert r.to_xarray()["motor.w"].attrs["units"] == "rad/s"
    assert r.to_xarray()["motor.J"].attrs["units"] == "kg*m^2"
    r.save(tmp_path / "r.nc")

    again = Result.load(tmp_path / "r.nc")
    assert again.tree["motor.w"].units == ("rad/s",)


def test_wires_in_a_circle_come_to_an_end():
    """x' = x + m: the state is in m s, which is added to m/s around the circle."""
    d = Diagram()
    d.add("i", Integrator(1.0))
    d.add("sum", Sum("++"))
    d.add("m", Constant(0.0), units={"y": "m/s"})
    d.connect("i.y -> sum.in1", "m.y -> sum.in2", "sum.y -> i.u")
    with pytest.raises(WiringError, match="adds or compares"):  # m and m/s
        d.system()


@dataclass(frozen=True)
class Lag(Block):
    """x' = u - x: a time constant of 1 s that is not written."""

    def define(self, b: Equations) -> None:
        """Declare ports and the state."""
        u = b.input("u")
        x = b.continuous("x", 0.0, size=1)
        b.derivative(x, u - x)
        b.output("x", x)


@pytest.mark.parametrize("block", [Lag(), Hold(order=1, sample=1.0), DiscreteIntegrator(sample=1.0)])
def test_numbers_that_are_not_written_do_not_mislead(block):
    """A period or time constant of 1 s: nothing false is found behind them."""
    port = {"Lag": "x", "Hold": "y", "DiscreteIntegrator": "y"}[type(block).__name__]
    for unit in ("m", "m*s"):
        d = Diagram()
        d.add("u", Sine(1.0, 1.0), units={"y": "m"})
        d.add("block", block)
        d.connect("u.y -> block.u")
        if type(block).__name__ != "Hold" or unit == "m":
            d.add("g", Gain(1.0), units={"u": unit})
            d.connect(f"block.{port} -> g.u")
        assert not [f for f in d.check() if f.fault]
        d.system()


def test_an_output_that_its_inputs_do_not_give_is_a_note():
    d = Diagram()
    d.add("i", Integrator(1.0), units={"y": "m"})
    d.add("g", Gain(-1.0), units={"u": "mm", "k": "1/s"})
    d.connect("i.y -> g.u", convert=True)
    d.connect("g.y -> i.u")
    (found,) = (f for f in d.check() if f.kind == "units")
    assert found.place == "i.y" and not found.fault and "'i.y' is in m, but by its inputs mm" in found.text


def test_components_without_units_stay_as_they_are_on_converted_wires():
    d = Diagram()
    d.add("a", Constant([1.0, 2.0, 3.0]), units={"y": ["mm", "", "deg"]})
    d.add("b", Gain(1.0), units={"u": ["m", "", "rad"]})
    d.connect("a.y -> b.u", convert=True)
    assert simulate(d, 0.1)["b.y"][-1] == pytest.approx([1e-3, 2.0, np.deg2rad(3.0)], rel=1e-12)
    d.replace("b", Gain(1.0), units={"u": ["m", "m", "rad"]})
    with pytest.raises(WiringError, match=r"unit of 'a\.y' is not known"):
        d.system()


def test_the_block_of_a_conversion():
    d = Diagram()
    d.add("u", Constant(np.pi))
    d.add("deg", UnitConversion("rad", "deg"))
    d.connect("u.y -> deg.u")
    r = simulate(d, 0.1)
    assert r["deg.y"][-1] == pytest.approx(180.0, rel=1e-14) and r.tree["deg.y"].unit(0) == "deg"


def test_a_number_that_hides_in_equations_of_ones_own_refuses_nothing():
    """A damper of 1 N s/m and a spring of 1 N/m are not written: the sum is a force all the same."""
    for law in (
        lambda x, v: 80 * x + 1.0 * v,
        lambda x, v: x + v,
        lambda x, v: 2 * x - 3 * v,
        lambda x, v: x * v,
    ):
        d = Diagram()
        d.add("x", Constant(0.5), units={"y": "m"})
        d.add("v", Constant(-2.0), units={"y": "m/s"})
        d.add("law", Function(law))
        d.add("cart", Gain(1.0), units={"u": "N"})
        d.connect("x.y -> law.x", "v.y -> law.v", "law.y -> cart.u")
        assert simulate(d, 0.1)["cart.y"][-1] == law(0.5, -2.0)


def test_the_sum_of_a_known_and_an_unknown_product_has_no_unit():
    d = Diagram()
    d.add("v", Constant(-2.0), units={"y": "m/s"})
    d.add("law", Function(lambda v, w: 80 * w + v))
    d.add("w", Constant(1.0))
    d.connect("v.y -> law.v", "w.y -> law.w")
    assert simulate(d, 0.1).tree["law.y"].unit(0) == ""
