"""FMUs called through other tools: the same numbers as through our own interface, or one clear error."""

from __future__ import annotations

import importlib.util

import pytest

from blocks import Clock
from cosim import FMU, Diagram, simulate
from cosim.fmi.fmi_errors import FMUCallError, FMUError
from tests.helpers.fmus import build_fmu

HAS_PYFMI = importlib.util.find_spec("pyfmi") is not None
needs_pyfmi = pytest.mark.skipif(not HAS_PYFMI, reason="PyFMI is not installed (conda has it)")


def ramp(fmu: FMU) -> Diagram:
    d = Diagram("ramp")
    d.add("ramp", Clock())
    d.add("lag", fmu)
    d.connect("ramp.y", "lag.u")
    return d


def same_as_native(importer: str, version: str, kind: str) -> None:
    path, runs = build_fmu("lag", version=version), []
    for name in ("native", importer):
        fmu = FMU(path, kind=kind, sample=0.1 if kind == "cs" else None, importer=name, start={"T": 0.5})
        runs.append(simulate(ramp(fmu), until=1.0, solver="rk4", step=0.05, engine="reference"))
    assert runs[0]["lag.y"].tobytes() == runs[1]["lag.y"].tobytes()
    path = build_fmu("stair", version=version)
    for name in ("native", importer):
        fmu = FMU(path, kind=kind, sample=0.2 if kind == "cs" else None, importer=name)
        d = Diagram("stair")
        d.add("stair", fmu)
        r = simulate(d, until=50.0, engine="reference", log_every=1.0, max_step=0.1)
        assert "terminateSimulation" in r.message and r["stair.counter"][-1, 0] == 10


@pytest.mark.slow
@pytest.mark.parametrize("version", ["2.0", "3.0"])
@pytest.mark.parametrize("kind", ["cs", "me"])
def test_fmpy(version: str, kind: str) -> None:
    same_as_native("fmpy", version, kind)


def test_fmpy_by_hand() -> None:
    with FMU(build_fmu("feedthrough", version="3.0"), kind="cs", importer="fmpy").open() as m:
        m.initialize()
        values = {"Float64": 0.5, "Int32": -7, "String": "hello", "Binary": b"\x01", "Boolean": True}
        for kind, value in values.items():
            m.set(f"{kind}_input", value)
        m.step(0.1)
        assert {kind: m.get(f"{kind}_output") for kind in values} == values
        s = m.save()
        m.step(0.1)
        m.load(s)
        assert m.time == pytest.approx(0.1)


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_what_an_fmu_logs_goes_to_logging_through_fmpy_too(
    version: str, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    path = build_fmu("lag", version=version, change=lambda text: text.replace("{lag-1.0}", "{other}"))
    with pytest.raises(FMUCallError, match=r"(?s)FMPy's instantiate failed.*is \{other\}, expected"):
        FMU(path, sample=0.1, importer="fmpy").open()
    assert "expected {lag-1.0}" in caplog.text and capfd.readouterr() == ("", "")


@needs_pyfmi
@pytest.mark.parametrize("kind", ["cs", "me"])
def test_pyfmi(kind: str) -> None:
    same_as_native("pyfmi", "2.0", kind)


@pytest.mark.skipif(HAS_PYFMI, reason="PyFMI is installed")
def test_without_pyfmi_one_error_says_how_to_get_it() -> None:
    with pytest.raises(FMUError, match=r"needs PyFMI.*conda.*importer='native'"):
        FMU(build_fmu("lag"), importer="pyfmi")


def test_isolation_is_of_our_own_interface() -> None:
    with pytest.raises(FMUError, match="exclude each other"):
        FMU(build_fmu("lag"), importer="fmpy", isolate=True)
