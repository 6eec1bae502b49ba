"""Plants with opaque user subroutines on the native engine: the same bits as on the reference engine."""

import numpy as np
import pytest

from blocks.errors import SimulationError
from cosim import Diagram, Simulation, simulate
from cosim.engines.native import compiler
from plant.elements import Force_Vector_OneBody, Reference_Variable
from plant.reporting import PlantWarning
from tests.helpers.slider import OUT, PUSH, slider, variable, written
from tests.plant.routines.test_libraries import library
from tests.plant.routines.test_subroutines import BRANCHING, SAMPLED

try:
    compiler.find()
except compiler.CompilerError as missing:  # pragma: no cover
    pytest.skip(f"no C compiler: {missing}", allow_module_level=True)

__all__ = ["library"]  # a fixture

WRENCH = {"id": 1, "type": "FORCEANDTORQUE", "marker_id": 20, "ref_marker_id": 0}
FIXED = {"solver": "rk4", "step": 0.025}


def diagram(plant) -> Diagram:
    d = Diagram("subroutine")
    d.add("plant", plant)
    return d


def branching(tmp_path, library):
    return slider(written(tmp_path, BRANCHING), variable(str(tmp_path / "s.py")), PUSH, OUT)


def keeping(tmp_path, library):
    """What the script keeps is looked at after every accepted step."""
    script = written(tmp_path, SAMPLED)
    return slider(script, variable(script, par="USER(20, 0.1)"), PUSH, OUT, v=1.0)


def compiled(tmp_path, library):
    force = Force_Vector_OneBody(**WRENCH, usrsub_dll_name=library, usrsub_param_string="USER(3)")
    energy = Reference_Variable(
        id=1, type="USERSUB", usrsub_dll_name=library, usrsub_param_string="USER(20, 4, 0.006, 0.005, 0.004)"
    )
    return slider("", energy, force, OUT, v=1.5)


@pytest.mark.parametrize("solver", [FIXED, {"solver": "euler", "step": 0.01}])
@pytest.mark.parametrize("make", [branching, keeping, compiled])
def test_fixed_steps_give_the_same_bits(tmp_path, library, make, solver):
    with pytest.warns(PlantWarning):
        d = diagram(make(tmp_path, library))
        d.system()
    found = {}
    for engine in ("reference", "auto", "reference"):
        r = simulate(d, 1.0, log_every=0.025, engine=engine, **solver)
        found.setdefault(r.settings["engine"].value, set()).add(
            (r["plant.y"].tobytes(), r.statistics["steps"], tuple(r["plant.y"][-1]))
        )
        assert list(r.statistics["time in Python [s]"]) == ["plant"]
    assert list(found) == ["reference", "native"]
    assert len(found["reference"] | found["native"]) == 1
    assert len(np.unique(np.frombuffer(next(iter(found["native"]))[0]))) > 5  # something moves


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["dopri5", "rodas4"])
@pytest.mark.parametrize("make", [branching, compiled])
def test_adaptive_steps_agree(tmp_path, library, make, solver):
    with pytest.warns(PlantWarning):
        d = diagram(make(tmp_path, library))
        runs = [simulate(d, 1.0, solver=solver, log_at=[1.0], engine=e) for e in ("reference", "auto")]
    assert runs[1].settings["engine"].value == "native"
    assert runs[1]["plant.y"] == pytest.approx(runs[0]["plant.y"], rel=1e-7)


def test_what_a_script_raises_stops_the_run_and_is_the_cause(tmp_path):
    script = written(
        tmp_path,
        "def VARSUB(id, time, par, npar, dflag, iflag):\n"
        "    [x, err] = py_sysfnc('DX', par)\n"
        "    if time > 0.33: raise ZeroDivisionError('no more steel')\n"
        "    return -x\n",
    )
    with pytest.warns(PlantWarning):
        d = diagram(slider(script, variable(script), PUSH, OUT))
        d.system()
    told = []
    for engine in ("reference", "auto"):
        with pytest.raises(
            SimulationError, match=r"(?s)Reference_Variable id=1, VARSUB.*no more steel"
        ) as caught:
            simulate(d, 1.0, engine=engine, log_every=0.05, **FIXED)
        assert isinstance(caught.value.__cause__, ZeroDivisionError)
        assert len(caught.value.result.time) == 7
        told.append(str(caught.value))
    assert told[0] == told[1]


def test_a_snapshot_of_one_engine_goes_on_in_the_other(tmp_path, library):
    with pytest.warns(PlantWarning):
        d = diagram(branching(tmp_path, library))
        sims = [Simulation(d, engine=engine, **FIXED) for engine in ("auto", "reference")]
    sims[0].advance(0.5)
    sims[1].restore(sims[0].snapshot())
    for sim in sims:
        sim.advance(1.0)
    assert sims[0].value("plant.y").tobytes() == sims[1].value("plant.y").tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["reference", "auto"])
def test_what_a_script_keeps_belongs_to_a_run(tmp_path, library, engine):
    """Runs of one plant side by side, a second one, a replay, and two plants of one kind in a diagram."""

    def by_itself(*stops):
        sim = Simulation(diagram(keeping(tmp_path, library)), engine=engine, **FIXED)
        for t in stops:
            sim.advance(t)
        return sim.value("plant.y")

    twentieths, fortieths = ([k / n for k in range(1, 21)] for n in (20, 40))
    with pytest.warns(PlantWarning):
        plant = keeping(tmp_path, library)
        d = diagram(plant)
        first, second = (Simulation(d, engine=engine, **FIXED) for _ in range(2))
        for here, there in zip(twentieths, fortieths, strict=True):
            first.advance(here)
            second.advance(there)
        assert first.value("plant.y") == by_itself(*twentieths)
        assert second.value("plant.y") == by_itself(*fortieths)
        before = second.snapshot()
        expected = by_itself(*fortieths, 1.0)
        second.advance(0.9)
        for sim in (second, first):
            sim.restore(before)
            sim.advance(1.0)
            assert sim.value("plant.y") == expected
        both = Diagram("both")
        for name in ("one", "other"):
            both.add(name, plant)
        r = simulate(both, 1.0, engine=engine, log_at=[1.0], **FIXED)
        assert r["one.y"][0] == r["other.y"][0] == by_itself(1.0)
