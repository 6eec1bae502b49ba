"""Where runs of FMUs for model exchange begin and end: in compiled code, otherwise, with nothing left."""

import gc
import math
import weakref

import pytest

from blocks import Constant, PlantloopError
from cosim import FMU, Diagram, Simulation, simulate
from tests.helpers.fmus import build_fmu, needs_compiler

pytestmark = needs_compiler
versions = pytest.mark.parametrize("version", ["2.0", "3.0"])
both = pytest.mark.parametrize("engine", ["reference", "native"])


def alone(fmu: FMU) -> Diagram:
    d = Diagram("d")
    d.add("unit", fmu)
    return d


def picky(version: str, u: float) -> Diagram:
    """An FMU whose description is of a start with u = 0 and which begins its run with another input."""
    d = Diagram("d")
    d.add("m", FMU(build_fmu("picky", version=version), kind="me"))
    d.connect(d.add("u", Constant(u))["y"], "m.u")
    return d


@versions
@both
@pytest.mark.parametrize(
    ("u", "said"),
    [
        (9.0, r"ExitInitializationMode returned error at t=0 s\. Its last log lines:\n.*9 is too much"),
        (7.0, r"its discrete states still change after 100 rounds at t=0 s"),
        (6.0, r"GetContinuousStates returned nan for 'x' at t=0 s"),
        (5.0, r"announced its next event for t=nan at t=0 s"),
    ],
)
def test_what_fails_where_a_run_begins_is_said_once(version: str, engine: str, u: float, said: str) -> None:
    """Inputs that it is begun with are not those with which its start was found."""
    for _ in range(2):
        with pytest.raises(PlantloopError, match=said) as e:
            simulate(picky(version, u), until=1.0, engine=engine)
        assert str(e.value).count("too much") == (u == 9.0)


@versions
@both
def test_a_run_begins_where_its_inputs_lead_at_the_start(version: str, engine: str) -> None:
    """Two runs of one diagram and steps by turns: nothing stays of the one that began otherwise."""
    d = picky(version, 0.0)
    for u, x in ((2.0, 0.0), (4.0, 0.5), (2.0, 0.0)):
        with Simulation(d, engine=engine, parameters={"u.value": u}) as sim:
            sim.advance(0.25)
            assert sim.value("m.x") == pytest.approx(x + 0.25 * u)
            sim.advance(1.0)
            assert sim.value("m.x") == pytest.approx(x + u)
    r = simulate(d, until=1.0, engine=engine, parameters={"u.value": 8.0}, log_every=0.5)
    assert r.time.tolist() == [0.0]
    assert "terminateSimulation" in r.message


@versions
def test_an_fmu_that_is_begun_by_compiled_code_goes_on_in_python(version: str) -> None:
    """A snapshot asks for its state, and a restored run goes on as the other one did."""
    d = alone(FMU(build_fmu("ball", version=version), kind="me"))
    with Simulation(d, engine="native") as sim:
        first = sim.snapshot_of_start()
        sim.advance(0.3)
        middle = sim.snapshot()
        sim.advance(1.0)
        end = sim.value("unit.h")
        for where in (middle, first, middle):
            sim.restore(where)
            if where is first:
                sim.advance(0.3)
            sim.advance(1.0)
            assert sim.value("unit.h").tobytes() == end.tobytes()
    bounce, since = math.sqrt(2 / 9.81), 1.0 - math.sqrt(2 / 9.81)
    assert end[0] == pytest.approx(0.7 * 9.81 * bounce * since - 9.81 / 2 * since**2)


@versions
@both
def test_a_run_that_is_over_leaves_nothing(version: str, engine: str) -> None:
    """No instance, no callback and no engine waits for Python to look for cycles; the binary stays loaded."""
    d = alone(FMU(build_fmu("ball", version=version), kind="me"))
    simulate(d, until=0.5, engine=engine)
    gc.collect()
    gc.disable()
    try:
        with Simulation(d, engine=engine) as sim:
            sim.advance(0.5)
            parts = sim._engine.instances.made("unit.opaque_derivatives"), sim._engine
            component, engine_of = (weakref.ref(part) for part in (parts[0].component, parts[1]))
            library = weakref.ref(component().call.library)
            del parts
        del sim
        assert component() is engine_of() is None
        assert library() is not None
    finally:
        gc.enable()
    with Simulation(d, engine=engine) as again:
        assert again._engine.instances.made("unit.opaque_derivatives").component.call.library is library()


@versions
def test_a_binary_of_one_instance_at_a_time_is_unloaded_after_it(version: str) -> None:
    """It may keep something in variables of its own; another is unloaded with its folder."""
    once = lambda text: text.replace(
        "modelIdentifier=", 'canBeInstantiatedOnlyOncePerProcess="true" modelIdentifier=', 1
    )
    for change, stays in ((None, True), (once, False)):
        fmu = FMU(build_fmu("ball", version=version, kinds=("me",), change=change), kind="me")
        with fmu.open() as m:
            library = weakref.ref(m.component.call.library)
        del m
        gc.collect()  # what is stepped by hand keeps itself
        assert (library() is not None) == stays
        del fmu
        gc.collect()
        assert library() is None


def test_the_equations_of_an_fmu_are_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where two blocks are one FMU each is found once more: each has an instance of its own."""
    found, define = [], FMU.define
    monkeypatch.setattr(FMU, "define", lambda self, b: (found.append(self), define(self, b))[1])
    fmu = FMU(build_fmu("ball"), kind="me")
    alone(fmu).system()
    assert len(found) == 1
    d = Diagram("two")
    d.add("a", fmu)
    d.add("b", fmu)
    assert len({id(call.make) for call in d.system().calls}) == 2
    assert len(found) == 3
    r = simulate(d, until=1.0, initial={"a.h": 2.0}, engine="native")
    assert r["b.h"][-1] == pytest.approx(simulate(alone(fmu), until=1.0)["unit.h"][-1])
    assert r["a.h"][-1, 0] == pytest.approx(ball_from_2_m(1.0))


def ball_from_2_m(t: float) -> float:
    """Height after its first bounce."""
    bounce = math.sqrt(4 / 9.81)
    return 0.7 * 9.81 * bounce * (t - bounce) - 9.81 / 2 * (t - bounce) ** 2
