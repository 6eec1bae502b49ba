"""FMUs whose functions return what is no status of FMI, or crash: the error says who, what and when."""

from __future__ import annotations

import os
from typing import Any

import pytest

from blocks import Constant
from blocks.errors import PlantloopError
from cosim import FMU, Diagram, simulate
from cosim.fmi.fmi_errors import FMUCallError
from tests.helpers.fmus import build_fmu, needs_compiler

pytestmark = needs_compiler
ENGINES = pytest.mark.parametrize("engine", ["reference", "native"])
posix = pytest.mark.skipif(os.name != "posix", reason="isolation needs a POSIX system")
ALONE = ["2.0 SetTime", "3.0 SetContinuousStates", "2.0 GetDerivatives", "3.0 GetContinuousStateDerivatives",
         "2.0 GetEventIndicators", "3.0 GetFloat64", "2.0 CompletedIntegratorStep", "3.0 EnterEventMode",
         "2.0 NewDiscreteStates", "3.0 UpdateDiscreteStates", "2.0 EnterContinuousTimeMode",
         "3.0 GetContinuousStates"]  # fmt: skip
DRIVEN = ["2.0 me SetReal", "3.0 me SetFloat64", "2.0 cs SetReal", "3.0 cs SetFloat64", "2.0 cs DoStep",
          "3.0 cs DoStep", "2.0 cs GetReal", "3.0 cs GetFloat64"]  # fmt: skip
FIRST = ["2.0 me SetupExperiment", "3.0 me EnterInitializationMode", "2.0 cs ExitInitializationMode"]


def said(version: str, function: str, status: Any, unit: str) -> str:
    return (
        rf"{unit}\.fmu'.*fmi{version[0]}{function} returned the unknown status {status}( \(for .*\))? at t="
    )


def run(fmu: FMU, engine: str, driven: bool = False) -> None:
    d = Diagram("d")
    d.add("m", fmu)
    if driven:
        d.connect(d.add("c", Constant(1.0))["y"], "m.u")
    simulate(d, 1.0, engine=engine, log_every=0.1)


@ENGINES
@pytest.mark.parametrize("call", ALONE)
def test_in_model_exchange(call: str, engine: str) -> None:
    """A status below 0 went on as OK."""
    version, function = call.split()
    path = build_fmu("wild", version=version, odd=(function, -1, 0.2))
    with pytest.raises(PlantloopError, match=said(version, function, -1, "wild")):
        run(FMU(path, kind="me"), engine)


@ENGINES
@pytest.mark.parametrize("call", [*DRIVEN, *FIRST])
def test_where_inputs_are_set_and_steps_are_made(call: str, engine: str) -> None:
    version, kind, function = call.split()
    status = -7 if version == "2.0" else 17
    path = build_fmu("lag", version=version, odd=(function, status, 0.0 if call in FIRST else 0.45))
    with pytest.raises(PlantloopError, match=said(version, function, status, "lag")):
        run(FMU(path, kind=kind, sample=0.1 if kind == "cs" else None), engine, driven=True)


@ENGINES
@pytest.mark.parametrize("function", ["EnterEventMode", "UpdateDiscreteStates", "EnterStepMode", "DoStep"])
def test_in_event_mode(function: str, engine: str) -> None:
    path = build_fmu("counter", version="3.0", odd=(function, -1, 0.2))
    with pytest.raises(PlantloopError, match=said("3.0", function, -1, "counter")):
        run(FMU(path, kind="cs", sample=0.1, event_mode=True), engine, driven=True)


@pytest.mark.parametrize("isolate", [False, pytest.param(True, marks=posix)])
@pytest.mark.parametrize("call", ["2.0 DoStep", "3.0 DoStep", "2.0 GetReal", "3.0 SetFloat64"])
def test_by_hand(call: str, isolate: bool) -> None:
    """After it the FMU is reset or freed, as after an error; it is not terminated."""
    version, function = call.split()
    path = build_fmu("lag", version=version, odd=(function, -1, 0.15))
    with FMU(path, kind="cs", isolate=isolate).open() as m:
        m.initialize()
        with pytest.raises(FMUCallError, match=said(version, function, -1, "lag")):
            for _ in range(5):
                m.step(0.1)
                m.set("u", 1.0)
                m.get("y")
        if function == "DoStep":
            with pytest.raises(PlantloopError, match="has failed"):
                m.step(0.1)


def test_pending_is_none_of_version_3() -> None:
    with FMU(build_fmu("lag", version="3.0", odd=("DoStep", 5, 0.0)), kind="cs").open() as m:
        m.initialize()
        with pytest.raises(FMUCallError, match="fmi3DoStep returned the unknown status 5"):
            m.step(0.1)


@ENGINES
def test_a_step_that_is_refused_where_it_is_accepted(engine: str) -> None:
    """The error was about a value of nothing: "nan in block ''"."""
    path = build_fmu("wild", odd=("CompletedIntegratorStep", 3, 0.2))
    with pytest.raises(
        PlantloopError, match=r"block 'm': .*wild\.fmu'.*fmi2CompletedIntegratorStep returned error at t=0\.2"
    ):
        run(FMU(path, kind="me"), engine)


@posix
@pytest.mark.parametrize(
    ("version", "function", "doing"),
    [("2.0", "GetDerivatives", "derivatives"), ("3.0", "GetFloat64", "a getter"),
     ("3.0", "UpdateDiscreteStates", "update_once"), ("2.0", "CompletedIntegratorStep", "completed_step")],
)  # fmt: skip
def test_a_crash_in_model_exchange_tells_the_signal(version: str, function: str, doing: str) -> None:
    path = build_fmu("wild", version=version, odd=(function, "(abort(), 0)", 0.2))
    with pytest.raises(
        PlantloopError, match=rf"block 'm': .*its process crashed \(SIGABRT\) in {doing} at t=0\."
    ):
        run(FMU(path, kind="me", isolate=True), "reference")
