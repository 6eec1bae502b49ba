"""Values of parameters that a block refuses where it is made are refused for runs, studies and models too."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from blocks import FirstOrder, PlantloopError, Saturation, Sine, StateSpace
from cosim import Diagram, Simulation, linearize, simulate, simulate_many, trim
from cosim.run.parameter_checks import AskedBlock, RunChecks
from plant import Plant, PlantWarning
from plant.elements import Body_Rigid, Constraint_Joint, Force_Gravity, Model, Reference_Marker
from tests.helpers.decks import deck, slider


def driven(block) -> Diagram:
    d = Diagram("driven")
    d.connect(d.add("s", Sine(3.0, 2.0))["y"], d.add("b", block).the("input"))
    return d


NEGATIVE = {"b.time_constant": -1.0}
REFUSED = r"block 'b': FirstOrder: time_constant is -1\.0 s, expected more than 0 s"


@pytest.mark.parametrize(
    "use",
    [
        lambda d: simulate(d, 0.1, parameters=NEGATIVE, engine="reference"),
        lambda d: simulate_many(d, 1, 0.1, parameters=NEGATIVE, engine="reference"),
        lambda d: simulate_many(d, {"parameters": {"b.time_constant": [1.0, -1.0]}}, 0.1, engine="reference"),
        lambda d: linearize(d, parameters=NEGATIVE),
        lambda d: trim(d, parameters=NEGATIVE),
    ],
)
def test_a_run_and_a_model_refuse_what_the_block_refuses(use):
    """A lag with a negative time constant ran away without a word."""
    with pytest.raises(PlantloopError, match=REFUSED):
        use(driven(FirstOrder(2.0)))


def test_numbers_that_belong_together_are_looked_at_together():
    d = driven(Saturation(-1.0, 1.0))
    r = simulate(d, 1.0, parameters={"b.low": 2.0, "b.high": 2.5}, engine="reference")
    assert r["b.y"].min() == 2.0 and r["b.y"].max() == 2.5
    with pytest.raises(PlantloopError, match=r"block 'b': Saturation: low is 2\.0, expected at most high"):
        simulate(d, 1.0, parameters={"b.low": 2.0}, engine="reference")


def test_on_the_way_they_are_looked_at_when_the_run_goes_on():
    sim = Simulation(driven(Saturation(-1.0, 1.0)), engine="reference")
    sim.advance(0.5)
    sim.set_parameter("b.low", 2.0)
    with pytest.raises(PlantloopError, match="Exchange them"):
        sim.advance(1.0)
    assert sim.time == 0.5
    sim.set_parameter("b.high", 2.5)
    sim.advance(1.0)
    assert sim.value("b.y") == pytest.approx([2.5])  # 3 sin 2 = 2.73


def test_of_many_runs_the_one_that_is_wrong_is_named():
    d = driven(Saturation(-1.0, 1.0))
    highs = np.linspace(2.0, 5.0, 7)
    lows = np.where(np.arange(7) == 3, 4.0, -1.0)  # above 3.5, and below the other ends
    found = simulate_many(d, {"parameters": {"b.high": highs}}, 1.0, parameters={"b.low": 1.5})
    assert not found.errors
    with pytest.raises(PlantloopError, match=r"run 3: block 'b': Saturation: low is 4\.0"):
        simulate_many(d, {"parameters": {"b.high": highs, "b.low": lows}}, 1.0)
    with pytest.raises(PlantloopError, match=r"run 2: block 'b': Saturation: low is -1\.0"):
        simulate_many(d, {"parameters": {"b.high": [2.0, 3.0, -2.0, 4.0]}}, 1.0)


def test_arrays_and_blocks_inside_subsystems():
    inner = Diagram("inner")
    x = inner.add("x", StateSpace([[-1.0, 0.0], [0.0, -2.0]], [[1.0], [1.0]], [[1.0, 1.0]]))
    inner.connect(inner.inport("u"), x["u"])
    lag = inner.add("lag", FirstOrder(1.0))
    inner.connect(x["y"], lag["u"])
    d = Diagram("outer")
    d.connect(d.add("s", Sine(1.0, 1.0))["y"], d.add("part", inner)["u"])
    changed = {"part.x.A" if "part.x.A" in d.system().parameters else "part/x.A": np.diag([-3.0, -4.0])}
    assert simulate(d, 0.1, parameters=changed, engine="reference").time[-1] == 0.1
    with pytest.raises(PlantloopError, match="part/lag': FirstOrder: time_constant is 0.0 s"):
        simulate(d, 0.1, parameters={"part/lag.time_constant": 0.0}, engine="reference")


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("Body_Rigid/2.mass", -1.0, "Body_Rigid id=2.* mass=-1 is not positive"),
        ("mass.mass", -1.0, "Body_Rigid id=2.* mass=-1 is not positive"),
        ("Force_SpringDamper/1.stiffness", -5.0, r"Force_SpringDamper id=1: stiffness=-5\.0 is too small"),
        ("Body_Rigid/2.mass", np.inf, "mass=inf is not finite"),
    ],
)
def test_elements_of_a_plant_refuse_them_as_in_a_file(coordinates, name, value, said):
    """A mass of -1 kg on a spring went to -5.28 m in joint and -0.67 m in absolute coordinates."""
    d = Diagram("slider")
    d.add("p", Plant.read(deck(slider()), coordinates=coordinates))
    with pytest.raises(PlantloopError, match=said):
        simulate(d, 0.5, parameters={f"p.{name}": value}, engine="reference")


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("name", ["arm.mass", "arm.inertia_yy"])
def test_moments_about_a_marker_that_leave_none_at_the_centre_of_mass(coordinates, name):
    """A rod about its end, 12 kg m^2 of it: what is over 3 kg at 2 m is nobody's."""
    arm = Body_Rigid(
        id=2, label="arm", cg_id=20, im_id=21, mass=3.0, inertia_xx=0.1, inertia_yy=16.0, inertia_zz=16.0
    )
    places = [Reference_Marker(id=20, body_id=2, pos_x=2.0), Reference_Marker(id=21, body_id=2)]
    pin = Constraint_Joint(id=1, type="REVOLUTE", i_marker_id=21, j_marker_id=10)
    ground = [Body_Rigid(id=1, isground=True), Reference_Marker(id=10, body_id=1)]

    def plant(**changed):
        parts = [*ground, replace(arm, **changed), *places, pin, Force_Gravity(grav_y=-9.81)]
        return Plant.from_model(Model.build(parts), coordinates=coordinates)

    said = (
        r"Body_Rigid id=2 .arm.: its moments .* im_id=21, 2 away .* leaves -4 of them\. Give them about im_id"
    )
    attribute, wrong = name.removeprefix("arm."), {"arm.mass": 5.0, "arm.inertia_yy": 8.0}[name]
    with pytest.warns(PlantWarning, match=said):
        read = plant(**{attribute: wrong})
    as_read = Diagram("as read")
    as_read.add("p", read)
    assert simulate(as_read, 0.1, parameters={f"p.{name}": wrong * 1.01}).complete  # it is said already
    d = Diagram("arm")
    d.add("p", plant())
    assert simulate(d, 0.1, parameters={f"p.{name}": 3.9 if name == "arm.mass" else 12.1}).complete
    with pytest.raises(PlantloopError, match=said):
        simulate(d, 0.1, parameters={f"p.{name}": wrong})
    sim = Simulation(d, engine="reference")
    sim.advance(0.1)
    sim.set_parameter(f"p.{name}", wrong)
    with pytest.raises(PlantloopError, match=said):
        sim.advance(0.2)
    values = [{"arm.mass": 3.0, "arm.inertia_yy": 16.0}[name], wrong]
    with pytest.raises(PlantloopError, match=f"run 1: .*{said}"):
        simulate_many(d, {"parameters": {f"p.{name}": values}}, 0.1)


def slot(places, mask, shape):
    return SimpleNamespace(index=np.array(places), mask=np.array(mask), shape=shape)


def part(check):
    """Numbers 1 and 2 of p are those of a vector whose middle is structural, number 0 is `gain`."""
    slots = {"gain": slot([0], True, ()), "vector": slot([2, 1], [True, False, True], (3,))}
    return AskedBlock("there/it", SimpleNamespace(check_parameters=check), slots)


def test_a_block_is_asked_about_its_own_numbers_in_their_shape():
    seen = []
    part(seen.append).check(np.array([5.0, 6.0, 7.0]))
    assert seen[0]["gain"] == 5.0 and isinstance(seen[0]["gain"], float)
    assert seen[0]["vector"].tolist() == [7.0, 0.0, 6.0]

    def refuse(values):
        raise PlantloopError("gain is bad")

    with pytest.raises(PlantloopError, match="gain is bad"):
        part(refuse).check(np.zeros(3))


def test_of_many_runs_just_those_are_refused_that_the_block_refuses():
    """A gain above 0 and a vector that rises; in other runs, and in all."""

    def check(values):
        first, _, last = values["vector"]
        if values["gain"] <= 0 or first >= last:
            raise PlantloopError("it is bad")

    checks = RunChecks((part(check),))
    p = np.array([[2.0, 5.0, 1.0]] * 6)
    assert checks.refused(p) == {}
    p[:, 0] = [3.0, 7.0, 0.5, 9.0, 2.0, 1.0]
    assert checks.refused(p) == {}
    p[3, 0], p[4, 2] = 0.0, 5.0
    assert sorted(checks.refused(p)) == [3, 4]
    assert sorted(checks.refused(p[:3] * [-1.0, 1.0, 1.0])) == [0, 1, 2]


def test_only_blocks_that_may_refuse_numbers_between_two_ends_are_asked_again():
    def check(values):
        if values["gain"] <= 0:
            raise PlantloopError("it is bad")

    checks, p = RunChecks((part(check),)), np.array([2.0, 1.0, 1.0])
    assert checks.beyond(p, {0: (1.0, 9.0), 1: (-5.0, 5.0)}).parts == ()
    assert checks.beyond(p, {0: (-1.0, 9.0)}).parts == checks.parts
