"""FMUs that end at once, give no numbers, chatter, or move the process to another folder."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blocks.errors import PlantloopError
from cosim import FMU, Diagram, Simulation, linearize, simulate
from cosim.fmi.fmi_errors import FMUError
from cosim.fmi.interface.working_folder import same_folder
from tests.helpers.fmus import build_fmu, needs_compiler

pytestmark = needs_compiler

FAULTS = ["nothing", "ends", "time", "rate", "indicator", "output", "state", "chatters", "moves"]
ENGINES = pytest.mark.parametrize("engine", ["reference", "native"])
VERSIONS = pytest.mark.parametrize("version", ["2.0", "3.0"])
CALLERS: list[dict[str, Any]] = [{}, {"importer": "fmpy"}, {"isolate": True}]


def wild(fault: str, version: str, **given: Any) -> FMU:
    return FMU(build_fmu("wild", version=version), start={"fault": FAULTS.index(fault)}, **given)


def run(fmu: FMU, engine: str, until: float = 1.0) -> Any:
    d = Diagram("d")
    d.add("m", fmu)
    return simulate(d, until, engine=engine, log_every=0.125)


@ENGINES
@VERSIONS
def test_an_end_in_the_first_event_ends_the_run_at_its_start(version: str, engine: str) -> None:
    """`terminateSimulation` where the run begins: it went on with the slopes of the start for good."""
    ways: list[dict[str, Any]] = [{"kind": "me"}]
    if version == "3.0":
        ways.append({"kind": "cs", "sample": "1/8", "event_mode": True})
    for how in ways:
        r = run(wild("ends", version, **how), engine)
        assert r.time.tolist() == [0.0]
        assert r["m.y"].tolist() == [[1.0]]
        assert "terminateSimulation" in r.message


@ENGINES
@VERSIONS
def test_numbers_that_are_none_are_named(version: str, engine: str) -> None:
    """The FMU, its function, the variable and the time, where a run only knew the block."""
    new = version == "3.0"
    said = {
        "time": "UpdateDiscreteStates" if new else "NewDiscreteStates",
        "rate": f"Get{'ContinuousState' if new else ''}Derivatives returned inf for 'der_x'",
        "output": f"Get{'Float64' if new else 'Real'} returned nan for 'y'",
        "state": r"Get\w+ returned nan for '[xy]'",
        "indicator": "GetEventIndicators returned nan for " + ("'z0_z'" if new else "number 0"),
    }
    for fault, what in said.items():
        with pytest.raises(
            PlantloopError, match=rf"wild\.fmu', instance 'wild': fmi\d{what}.* at t=0\."
        ) as e:
            run(wild(fault, version, kind="me"), engine)
        assert "ask its maker" in str(e.value)


@pytest.mark.parametrize("how", CALLERS)
def test_a_time_of_the_next_event_that_is_none(how: dict[str, Any]) -> None:
    """Stepped by hand it was taken for no event at all."""
    for version, kind in (("2.0", "me"), ("3.0", "me"), ("3.0", "cs")):
        events = {"event_mode": True} if kind == "cs" else {}
        with wild("time", version, kind=kind, **events, **how).open() as m:
            m.initialize()
            with pytest.raises(FMUError, match=r"announced its next event for t=nan at t=0\.25 s"):
                m.step(0.5)


@ENGINES
def test_a_time_of_the_next_event_that_is_none_in_event_mode(engine: str) -> None:
    with pytest.raises(PlantloopError, match=r"block 'm': .*announced its next event for t=nan at t=0\.25 s"):
        run(wild("time", "3.0", kind="cs", event_mode=True, sample="1/8"), engine)


@VERSIONS
def test_chattering_stepped_by_hand_is_an_error(version: str) -> None:
    """x slides along 0.75 in steps of the last bit: this went on for hours."""
    with wild("chatters", version, kind="me").open() as m:
        m.initialize()
        with pytest.raises(
            FMUError, match=r"'wild': its events follow .* t=0\.25 s .*indicators are \[.*hysteresis"
        ):
            m.step(1.0)


@VERSIONS
@pytest.mark.parametrize("kind", ["me", "cs"])
@pytest.mark.parametrize("how", CALLERS)
def test_the_working_folder_stays(
    version: str, kind: str, how: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An FMU that goes to another folder: results with relative names went there."""
    monkeypatch.chdir(tmp_path)
    with wild("moves", version, kind=kind, **how).open() as m:
        m.initialize()
        m.step(0.5)
        assert m.get("y") == pytest.approx(np.exp(-0.5), rel=1e-6)
        assert Path(os.getcwd()) == tmp_path


def test_the_working_folder_stays_where_one_call_is_inside_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An FMU that moves it where it is terminated and then is freed: once for both."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()
    for _ in range(2):
        with same_folder():
            with same_folder():
                os.chdir("other")
            os.chdir(tmp_path / "other")
        assert Path(os.getcwd()) == tmp_path


def test_the_working_folder_stays_where_fmus_begin_in_several_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One call begins while another has moved it, and ends after that: it went back to the wrong one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()
    moved, entered, left = threading.Event(), threading.Event(), threading.Event()

    def mover() -> None:
        with same_folder():
            os.chdir("other")
            moved.set()
            entered.wait(5.0)
        assert Path(os.getcwd()) == tmp_path
        left.set()

    thread = threading.Thread(target=mover)
    thread.start()
    moved.wait(5.0)
    with same_folder():
        entered.set()
        assert left.wait(5.0)
    thread.join(5.0)
    assert Path(os.getcwd()) == tmp_path


@VERSIONS
def test_derivatives_that_its_values_contradict_are_not_taken(version: str) -> None:
    """It says that x' and y do not depend on x: `linearize` gave zeros for -1 and 1."""
    path = build_fmu("wild", version=version, directional=True)
    d = Diagram("d")
    d.add("m", FMU(path, kind="me"))
    d.outport("y", "m.y")
    said = (
        r"wild\.fmu': fmi.GetDirectionalDerivative gives 0 for the derivative of '\w+' by 'x' at t=0 s, its "
    )
    with pytest.warns(UserWarning, match=said):
        model = linearize(d)
    np.testing.assert_allclose(model.A, [[-1.0]], atol=1e-8)
    np.testing.assert_allclose(model.C, [[1.0]], atol=1e-8)


def test_what_cannot_be_set_says_what_can() -> None:
    """Another name of a state in FMI 2.0, and a fixed parameter in a run: the cure, and the time."""
    more = '<ScalarVariable name="height" valueReference="13"><Real/></ScalarVariable></ModelVariables>'
    path = build_fmu("ball", change=lambda text: text.replace("</ModelVariables>", more))
    with pytest.raises(FMUError, match=r"'height': it is a local and .* another name of 'h': give that one"):
        FMU(path, kind="cs", start={"height": 2.0}).open()
    d = Diagram("d")
    d.add("m", FMU(path, kind="cs", sample="1/4"))
    with Simulation(d) as sim:
        sim.advance(0.5)
        sim.set_parameter("m.g", -1.62)
        with pytest.raises(
            PlantloopError, match=r"'g' is fixed and was changed in a run, at t=0\.\d+ s, to \["
        ):
            sim.advance(1.0)


@ENGINES
@pytest.mark.parametrize("coupling", [None, "gauss-seidel"])
def test_an_output_of_co_simulation_that_is_no_number_names_the_fmu(
    engine: str, coupling: str | None
) -> None:
    d = Diagram("d")
    d.add("m", wild("output", "2.0", kind="cs", sample="1/8"))
    said = r"'m\.y' = nan in block 'm' at t=0\.625 s .* by FMU '.*wild\.fmu': look at its inputs"
    with pytest.raises(PlantloopError, match=said):
        simulate(d, 1.0, engine=engine, coupling=coupling)
