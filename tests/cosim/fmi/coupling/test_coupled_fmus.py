"""FMUs under the co-simulation master: built from C, FMI 2.0 and 3.0, against published and exact numbers."""

import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from blocks import (
    Block,
    Constant,
    Equations,
    Function,
    Gain,
    Hold,
    Integrator,
    PlantloopError,
    SecondOrderIntegrator,
    UnitDelay,
)
from cosim import Coupling, Diagram, Simulation, simulate
from cosim.fmi import FMU
from cosim.fmi.coupling.macro_step import MacroStep
from tests.helpers.fmus import build_fmu, needs_compiler

pytestmark = needs_compiler
REFERENCE = json.loads((Path(__file__).parents[3] / "data/reference/cosim_two_mass.json").read_text())
P = REFERENCE["parameters"]
NAMES = ("one.x", "two.x", "one.v", "two.v")
VERSIONS = ["2.0", "3.0"]


@pytest.fixture(scope="module")
def fmu(tmp_path_factory):
    """Builds each unit once per description."""
    built = {}

    def make(name, **how):
        key = (name, json.dumps(how, sort_keys=True))
        if key not in built:
            built[key] = build_fmu(name, tmp_path_factory.mktemp("fmus"), **how)
        return built[key]

    return make


@dataclass(frozen=True)
class BouncingBall(Block):
    """Falls from a height [m], pushed a little, and bounces."""

    height: float = 1.0

    def define(self, b: Equations) -> None:
        push = b.input("push", size=1)
        x = b.continuous("x", [self.height, 0.0], size=2)
        b.derivative(x, [x[1], -9.81 + push[0]])
        b.when(x[0], [(x, [0.0, -0.7 * x[1]])], direction="falling")
        b.output("h", x[0])


def two_masses(fmu, step, first=None, **how):
    d = Diagram("two masses")
    d.add("one", FMU(fmu("mass", **how, **(first or {})), sample=step))
    d.add("two", FMU(fmu("coupled", **how), sample=step))
    d.add("f", Function(lambda x1, v1, x2, v2: P["kc"] * (x2 - x1) + P["cc"] * (v2 - v1)))
    wires = "one.x f.x1, one.v f.v1, two.x f.x2, two.v f.v2, f.y one.f, one.x two.x1, one.v two.v1"
    for wire in wires.split(", "):
        d.connect(*wire.split())
    return d


def at_end(r):
    return np.array([r[name].ravel()[-1] for name in NAMES])


def exact_at(t):
    return np.array(next(row[1:] for row in REFERENCE["exact"]["rows"] if row[0] == t))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("scheme", [k for k in REFERENCE["cosim"] if k.endswith("H0.01")])
def test_published_maps(fmu, scheme, version):
    """Slopes go in as input derivatives in FMI 2.0, by intermediate update in FMI 3.0."""
    order = "jacobi" if scheme.startswith("jacobi") else "gauss-seidel"
    coupling = Coupling(order=order, extrapolation=int("linear" in scheme))
    r = simulate(two_masses(fmu, 0.01, version=version), 1.0, coupling=coupling, log_at=[1.0])
    np.testing.assert_allclose(at_end(r), REFERENCE["cosim"][scheme][0][1:], rtol=0, atol=1e-12)


def in_order(signals):
    return np.concatenate([np.ravel(v) for v in signals])


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("order", ["jacobi", "gauss-seidel"])
@pytest.mark.parametrize("extrapolation", [0, 1, 2])
@pytest.mark.parametrize("interpolates", [True, False])
def test_compiled_code_makes_the_steps_of_python(fmu, version, order, extrapolation, interpolates):
    """Signals and quality of the coupling bit for bit; different steps, offsets, and a run in two parts."""
    found = []
    for engine in ("reference", "native"):
        d = Diagram("two masses")
        d.add("one", FMU(fmu("mass", version=version, interpolates=interpolates), sample="3/100"))
        d.add(
            "two",
            FMU(fmu("coupled", version=version, interpolates=interpolates), sample="1/50", offset="1/50"),
        )
        for wire in ("two.f one.f", "one.x two.x1", "one.v two.v1"):
            d.connect(*wire.split())
        coupling = Coupling(order=order, extrapolation=extrapolation)
        with Simulation(d, coupling=coupling, engine=engine) as sim:
            sim.log(np.linspace(0, 1, 37))
            sim.advance(0.305)
            sim.advance(1.0)
            r = sim.result()
        found.append(
            [*(r[name] for name in NAMES), *(v for c in r.coupling.values() for v in (c.time, c.residual))]
        )
        assert r.coupling.macro_steps > 60
    assert in_order(found[0]).tobytes() == in_order(found[1]).tobytes()


@pytest.mark.parametrize("order", ["jacobi", "gauss-seidel"])
@pytest.mark.parametrize("extrapolation", [0, 1, 2])
def test_compiled_code_couples_our_own_blocks_alike(fmu, order, extrapolation):
    """A plant of ours that bounces, a controller that ticks, and an FMU that is pushed by the former."""
    found = []
    for engine in ("reference", "native"):
        d = Diagram("pushed")
        d.add("one", FMU(fmu("mass"), sample="1/40"))
        d.add("ball", BouncingBall())
        d.add("sum", Function(lambda h, c: 10 * h - c))
        d.add("controller", UnitDelay(sample="1/30"))
        for wire in ("ball.h sum.h", "one.x controller.u", "controller.y sum.c", "sum.y one.f"):
            d.connect(*wire.split())
        d.connect("one.v", "ball.push")
        coupling = Coupling(order=order, extrapolation=extrapolation)
        r = simulate(d, 1.5, coupling=coupling, engine=engine, solver="rk4", step=0.004, log_every=0.01)
        assert len(r.events) >= 2
        found.append(
            [
                *(r[name] for name in ("one.x", "one.v", "ball.h", "controller.y")),
                r.coupling["one.f"].residual,
            ]
        )
    assert in_order(found[0]).tobytes() == in_order(found[1]).tobytes()


@pytest.mark.parametrize("extrapolation", [0, 1, 2])
def test_who_steps_before_our_own_blocks_takes_what_their_past_promises(fmu, extrapolation):
    """The wire from our plant to the FMU is cut: it is off by less the more of the past it follows."""
    found, off = [], []
    for engine in ("reference", "native"):
        d = Diagram("pulled")
        d.add("one", FMU(fmu("mass"), sample="1/40"))
        plant = d.add("plant", SecondOrderIntegrator(initial=1.0, initial_rate=0.5))
        d.connect(plant["x"], d.add("gain", Gain(-3.0))["u"])
        d.connect("gain.y", "one.f")
        d.connect("one.v", "plant.u")
        coupling = Coupling(order="gauss-seidel", extrapolation=extrapolation, cut=("one.f",))
        r = simulate(d, 1.5, coupling=coupling, engine=engine, solver="rk4", step=0.005, log_every=0.01)
        found.append([r["one.x"], r["plant.x"], r.coupling["one.f"].residual])
        off.append(np.abs(r.coupling["one.f"].residual[5:]).max())
    assert in_order(found[0]).tobytes() == in_order(found[1]).tobytes()
    assert off[0] < [0.1, 1e-2, 1e-3][extrapolation]


@pytest.mark.parametrize("fault", ["TERMINATE", "WARN", "NOT_A_NUMBER", "RETURN_ERROR"])
def test_steps_that_are_all_alike_stop_where_something_happens(fmu, fault):
    """Two units that hold their inputs and nothing beside them: the same outcome in compiled code."""
    number = {"RETURN_ERROR": 4, "NOT_A_NUMBER": 7, "TERMINATE": 8, "WARN": 10}[fault]
    found = []
    for engine in ("reference", "native"):
        d = Diagram("alike")
        d.add("one", FMU(fmu("faulty"), sample=0.1, start={"fault": number, "when": 1.25}))
        d.add("two", FMU(fmu("lag"), sample=0.1))
        d.connect("two.y", "one.u")
        d.connect("one.y", "two.u")
        with Simulation(d, coupling="jacobi", engine=engine) as sim:
            sim.log([0.0, 0.3, 1.1, 1.25, 1.7])
            try:
                sim.advance(0.35)
                sim.advance(2.0)
                said = ""
            except PlantloopError as error:
                said = str(error)
            r = sim.result()
        rows = [r["one.y"], r["two.y"], r.coupling["two.u"].residual, r.coupling["two.u"].time]
        found.append((said, r.message, in_order(rows).tobytes()))
    assert found[0] == found[1]
    assert bool(found[0][0]) == (fault in ("NOT_A_NUMBER", "RETURN_ERROR"))


REPEATED = [
    Coupling(iterate=True),
    Coupling(order="gauss-seidel", iterate=True, extrapolation=2),
    Coupling(iterate="newton", extrapolation=1),
    Coupling(order="gauss-seidel", iterate="newton"),
    Coupling(extrapolation=2, rtol=1e-2),
    Coupling(order="gauss-seidel", extrapolation=2, rtol=1e-2),
    Coupling(order="gauss-seidel", extrapolation=1, iterate="newton", rtol=0.1),
]


def repeated(fmu, engine, coupling, version):
    """A plant that bounces, a controller that ticks and two FMUs, logged in and between steps."""
    d = Diagram("pushed")
    d.add("one", FMU(fmu("mass", version=version), sample="1/40"))
    d.add("two", FMU(fmu("coupled", version=version), sample="1/40" if coupling.rtol else "1/60"))
    d.add("ball", BouncingBall(0.05))
    d.add("sum", Function(lambda h, c, f: f + h - 0.1 * c))
    d.add("controller", UnitDelay(sample="1/30"))
    wires = "ball.h sum.h, one.x controller.u, controller.y sum.c, two.f sum.f, sum.y one.f, one.v ball.push"
    for wire in (wires + ", one.x two.x1, one.v two.v1").split(", "):
        d.connect(*wire.split())
    with Simulation(d, coupling=coupling, engine=engine, solver="rk4", step=0.004) as sim:
        sim.log(np.linspace(0.0, 0.14, 15))
        sim.advance(0.06)
        there = sim.snapshot()
        sim.advance(0.08)
        sim.restore(there)
        sim.advance(0.14)
        r = sim.result()
    assert len(r.events) >= 1
    names = (*NAMES, "ball.h", "controller.y")
    counts = (r.coupling.macro_steps, r.coupling.rounds, r.coupling.rejected)
    return [*(r[n] for n in names), *(v for c in r.coupling.values() for v in (c.time, c.residual))], counts


@pytest.mark.slow
@pytest.mark.parametrize(("version", "coupling"), [*zip(VERSIONS * 4, REPEATED, strict=False)], ids=str)
def test_compiled_code_repeats_steps_alike(fmu, coupling, version, monkeypatch):
    """Iterated and error-controlled steps bit for bit, and as many of them; none is left to Python."""
    expected, counts = repeated(fmu, "reference", coupling, version)
    monkeypatch.setattr(MacroStep, "make", None)  # Python makes no step
    found, counted = repeated(fmu, "native", coupling, version)
    assert in_order(found).tobytes() == in_order(expected).tobytes()
    assert counted == counts and max(counts[1:]) > 0


@pytest.mark.parametrize("version", VERSIONS)
def test_quadratic_extrapolation_is_of_third_order(fmu, version):
    errors = []
    for step in ("1/100", "1/200"):
        r = simulate(
            two_masses(fmu, step, version=version), 1.0, coupling=Coupling(extrapolation=2), log_at=[1.0]
        )
        errors.append(np.max(np.abs(at_end(r) - exact_at(1.0))))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(3.0, abs=0.25)


@pytest.mark.parametrize("version", VERSIONS)
def test_without_input_derivatives_the_mean_is_held(fmu, version):
    """Of second order as well, since the mean over a step is what a slow unit feels of a line."""
    errors = []
    for step in ("1/100", "1/200"):
        d = two_masses(fmu, step, version=version, interpolates=False)
        r = simulate(d, 1.0, coupling=Coupling(extrapolation=1), log_at=[1.0])
        errors.append(np.max(np.abs(at_end(r) - exact_at(1.0))))
    assert np.log2(errors[0] / errors[1]) > 1.5


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("iterate", [True, "newton"])
def test_iterated_steps(fmu, version, iterate):
    coupling = Coupling(iterate=iterate, extrapolation=2)
    r = simulate(two_masses(fmu, 0.01, version=version), 1.0, coupling=coupling, log_at=[1.0])
    assert np.max(np.abs(at_end(r) - exact_at(1.0))) < 5e-4
    assert all(c.worst < 1e-6 for c in r.coupling.values())


def test_error_control(fmu):
    d = two_masses(fmu, 0.01)
    r = simulate(d, 0.5, coupling=Coupling(extrapolation=2, rtol=1e-3), log_at=[0.5])
    assert np.max(np.abs(at_end(r) - exact_at(0.5)) / [0.1, 0.1, 1.4, 1.2]) < 3e-3


@pytest.mark.slow
@pytest.mark.parametrize("order", ["jacobi", "gauss-seidel"])
def test_error_control_of_held_signals(fmu, order):
    """The acceleration follows the force at once, which is held: its error is of first order in the step."""
    d = two_masses(fmu, 0.01)
    r = simulate(d, 0.5, coupling=Coupling(order=order, rtol=1e-2), log_at=[0.5], engine="native")
    assert np.max(np.abs(at_end(r) - exact_at(0.5)) / [0.1, 0.1, 1.4, 1.2]) < 3e-2


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["RETURN_ERROR", "RETURN_DISCARD", "NOT_A_NUMBER", "TERMINATE", "WARN"])
@pytest.mark.parametrize(
    "coupling", [Coupling(iterate=True), Coupling(order="gauss-seidel", extrapolation=2, rtol=3e-2)], ids=str
)
def test_what_happens_in_a_step_that_is_repeated(fmu, coupling, fault):
    """A unit fails, ends the run or warns: the same words and rows, whoever makes the steps."""
    number = {"RETURN_ERROR": 4, "RETURN_DISCARD": 6, "NOT_A_NUMBER": 7, "TERMINATE": 8, "WARN": 10}[fault]
    found = []
    for engine in ("reference", "native"):
        d = two_masses(fmu, 0.1)
        d.add("third", FMU(fmu("faulty"), sample=0.1, start={"fault": number, "when": 0.45}))
        d.connect("one.x", "third.u")
        d.connect(d.add("i", Integrator())["y"], "i.u")
        with Simulation(d, coupling=coupling, engine=engine, solver="rk4", step=0.01) as sim:
            sim.log([0.0, 0.3, 0.47, 0.6])
            try:
                sim.advance(0.6)
                said = ""
            except PlantloopError as error:
                said = str(error)
            r = sim.result()
        said = said.split("Its last log lines")[0]  # a step tried twice is logged twice
        kept = 2 if said else None  # of a step that fails Python has logged what it tried
        rows = [r.time[:kept], *(r[name][:kept] for name in NAMES)]
        found.append((said, r.message, in_order(rows).tobytes()))
    assert found[0] == found[1]


def test_a_step_that_does_not_settle_is_explained_by_python(fmu):
    """A loop with gain above one: what compiled code gives up stands where it began."""
    found = []
    for engine in ("reference", "native"):
        d = two_masses(fmu, 0.3)
        with pytest.raises(PlantloopError, match=r"does not settle in 100 rounds") as caught:
            simulate(d, 3.0, coupling=Coupling(iterate=True), engine=engine)
        found.append(str(caught.value))
    assert found[0] == found[1]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"rollback": False}, "unit 'one' .* cannot be rolled back"),
        ({"lying": True}, "unit 'one' .* says that it can be rolled back"),
    ],
)
def test_units_that_cannot_go_back(fmu, version, how, said):
    d = two_masses(fmu, 0.01, how, version=version)
    with pytest.raises(PlantloopError, match=said):
        simulate(d, 1.0, coupling=Coupling(iterate=True))
    simulate(d, 0.02, coupling="gauss-seidel")  # they can be coupled all the same


def test_a_unit_of_one_step_size_is_named(fmu):
    d = two_masses(fmu, 0.01, {"variable_step": False})
    with pytest.raises(PlantloopError, match=r"unit 'one' .* steps of one size only"):
        simulate(d, 1.0, coupling=Coupling(rtol=1e-3))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("order", ["jacobi", "gauss-seidel"])
def test_a_unit_ends_the_run(fmu, version, order):
    d = Diagram("stair")
    d.add("stair", FMU(fmu("stair", version=version), sample=0.4))
    r = simulate(d, 20.0, coupling=order, log_every=1)
    assert r.time[-1] == pytest.approx(9.0) and "terminateSimulation" in r.message and r.complete
    assert r["stair.counter"].ravel()[-1] == 10


@pytest.mark.parametrize("order", ["jacobi", "gauss-seidel"])
def test_our_own_blocks_end_where_a_unit_does(fmu, order):
    """In order they have gone on when the unit says so, and go back."""
    found = []
    for engine in ("reference", "native"):
        d = Diagram("stair")
        d.add("stair", FMU(fmu("mass"), sample=0.4))
        d.add("end", FMU(fmu("stair"), sample=0.4))
        d.add("sum", Integrator(initial=0.5))
        d.connect("end.counter", "sum.u")
        d.connect("sum.y", "stair.f")
        r = simulate(d, 20.0, coupling=order, log_every=0.5, engine=engine, solver="rk4", step=0.05)
        assert r.time[-1] == pytest.approx(9.0) and "terminateSimulation" in r.message
        found.append([r["sum.y"], r["stair.x"]])
    assert in_order(found[0]).tobytes() == in_order(found[1]).tobytes()


@pytest.mark.parametrize("version", VERSIONS)
def test_parameters_of_units_are_parameters_of_the_run(fmu, version):
    d = Diagram("free")
    d.add("m", FMU(fmu("mass", version=version), sample=0.1, start={"c": 0.0, "x": 0.5}))
    d.connect(d.add("none", Constant(0.0))["y"], "m.f")
    with Simulation(d, coupling="jacobi", parameters={"m.k": 4.0}) as sim:
        sim.advance(1.0)
        assert sim.value("m.x")[0] == pytest.approx(0.5 * math.cos(2.0), abs=1e-12)
        sim.set_parameter("m.k", 0.0)
        x, v = sim.value("m.x")[0], sim.value("m.v")[0]
        sim.advance(1.5)
        assert sim.value("m.x")[0] == pytest.approx(x + 0.5 * v, abs=1e-12)


@pytest.mark.parametrize("version", VERSIONS)
def test_snapshots(fmu, version, tmp_path):
    d = two_masses(fmu, "1/50", version=version)
    coupling = Coupling(order="gauss-seidel", extrapolation=1)
    with Simulation(d, coupling=coupling) as sim:
        sim.advance(0.2)
        sim.save(tmp_path / "there.npz")
        sim.advance(0.4)
        expected = np.concatenate([sim.value(name) for name in NAMES])
    with Simulation(d, coupling=coupling) as sim:
        sim.load(tmp_path / "there.npz")
        sim.advance(0.4)
        assert np.concatenate([sim.value(name) for name in NAMES]).tobytes() == expected.tobytes()


def test_a_loop_of_feedthrough_starts_consistent(fmu):
    """The force that the second unit gives at the start depends on where the first one is."""
    d = Diagram("direct")
    d.add("one", FMU(fmu("mass"), sample=0.01, start={"x": 0.3}))
    d.add("two", FMU(fmu("coupled"), sample=0.01))
    for wire in ("two.f one.f", "one.x two.x1", "one.v two.v1"):
        d.connect(*wire.split())
    r = simulate(d, 0.01, coupling="jacobi", log_at=[0.0])
    assert r["two.f"][0, 0] == pytest.approx(P["kc"] * (-0.05 - 0.3) + P["cc"] * 1.0, rel=1e-12)
    assert r["one.a"][0, 0] == pytest.approx(-100 * 0.3 + r["two.f"][0, 0], rel=1e-12)


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize("version", VERSIONS)
def test_without_coupling_it_is_jacobi_with_held_inputs(fmu, version, engine):
    """The published map, the quality, and a start that agrees over all units."""
    r = simulate(two_masses(fmu, 0.01, version=version), 1.0, log_at=[0.0, 1.0], engine=engine)
    published = REFERENCE["cosim"]["jacobi_zoh_H0.01"][0][1:]
    np.testing.assert_allclose(at_end(r), published, rtol=0, atol=1e-12)
    again = simulate(two_masses(fmu, 0.01, version=version), 1.0, log_at=[1.0], coupling="jacobi")
    assert r.coupling["one.f"].residual.tobytes() == again.coupling["one.f"].residual.tobytes()
    assert r.ticks_of["one.x"].time.tolist() == [k / 100 for k in range(101)]
    d = Diagram("direct")
    d.add("one", FMU(fmu("mass"), sample=0.01, start={"x": 0.3}))
    d.add("two", FMU(fmu("coupled"), sample=0.01))
    for wire in ("two.f one.f", "one.x two.x1", "one.v two.v1"):
        d.connect(*wire.split())
    r = simulate(d, 0.01, log_at=[0.0], engine=engine)
    assert r["two.f"][0, 0] == pytest.approx(P["kc"] * (-0.05 - 0.3) + P["cc"] * 1.0, rel=1e-12)
    assert r["one.a"][0, 0] == pytest.approx(-100 * 0.3 + r["two.f"][0, 0], rel=1e-12)


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_without_coupling_ports_hold_what_units_deliver(fmu, engine):
    """A port that extrapolates, inside a subsystem, in two parts and once more: exact lines through y_k."""
    inner = Diagram("inside")
    inner.add("m", FMU(fmu("mass"), sample="1/10", start={"k": 0.0, "c": 0.0, "v": 1.0, "x": 0.0}))
    inner.add("line", Hold(order=1, sample="1/10"))
    inner.connect(inner.add("none", Constant(0.0))["y"], "m.f")
    inner.connect("m.x", "line.u")
    inner.outport("y", "line.y")
    d = Diagram("outside")
    d.add("part", inner)
    found = []
    for _ in range(2):
        with Simulation(d, engine=engine) as sim:
            sim.log([0.05, 0.15, 0.25, 0.37])
            sim.advance(0.31)
            before = sim.snapshot()
            sim.advance(0.4)
            sim.restore(before)
            sim.advance(0.4)
            found.append(sim.result()["part.y"].ravel())
    np.testing.assert_allclose(found[0], [0.0, 0.15, 0.25, 0.37], atol=1e-12)  # x = t, but for its first step
    assert found[0].tobytes() == found[1].tobytes()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_unit_that_fails_is_named_with_its_last_words(fmu, version):
    d = Diagram("faulty")
    d.add("pump", FMU(fmu("faulty", version=version), sample=0.1, start={"fault": 4, "when": 0.3}))
    d.connect(d.add("none", Constant(0.0))["y"], "pump.u")
    with pytest.raises(
        PlantloopError, match=r"(?s)DoStep returned error.*oil pressure is 0\.25 bar"
    ) as caught:
        simulate(d, 1.0, coupling="jacobi")
    assert caught.value.result.time[-1] == pytest.approx(0.2, abs=1e-3)


def test_whole_numbers_are_held(fmu):
    d = Diagram("count")
    d.add("counter", FMU(fmu("counter", version="3.0"), sample=0.1))
    d.add("twice", FMU(fmu("counter", version="3.0"), sample=0.1))
    d.connect("counter.count", "twice.u")
    d.connect(d.add("none", Constant(0.0))["y"], "counter.u")
    r = simulate(d, 1.0, coupling=Coupling(extrapolation=1), log_every=0.05)
    assert set(np.unique(r["counter.count"])) <= {0.0, 1.0, 2.0, 3.0, 4.0}


def test_error_control_of_a_unit_with_arrays_as_parameters(fmu):
    """x' = x + u, y = x + u from x = 0: the trial before the first step takes the parameters of the run."""
    d = Diagram("arrays")
    d.add("s", FMU(fmu("statespace", version="3.0"), kind="cs", sample="1/20"))
    d.ground("s.u")
    r = simulate(d, 0.5, coupling=Coupling(rtol=1e-3), engine="reference", log_at=[0.5])
    np.testing.assert_allclose(r["s.y"][-1], np.array([1.0, 2.0, 3.0]) * math.exp(0.5), rtol=1e-3)
