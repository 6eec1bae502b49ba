"""FMUs that are odd but sound, and FMUs whose description tells lies about their binary."""

from __future__ import annotations

import math
import re
import shutil
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blocks import Constant
from blocks.errors import PlantloopError
from cosim import FMU, Diagram, Simulation, linearize, simulate
from cosim.fmi.fmi_errors import FMUError
from cosim.fmi.package import Package
from tests.helpers.fmus import build_fmu, needs_compiler

pytestmark = needs_compiler


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_a_description_with_a_state_too_few(version: str) -> None:
    def change(text: str) -> str:
        lines = re.findall(r"<ContinuousStateDerivative.*?/>", text)
        if lines:
            return text.replace(lines[-1], "")
        return re.sub(r'(<Derivatives>.*)<Unknown index="\d+"/>(</Derivatives>)', r"\1\2", text)

    path = build_fmu("mass", version=version, change=change)
    said = "has 1 states, its binary 2" if version == "3.0" else "fmi2GetContinuousStates returned error"
    for use in (lambda f: f.open().initialize(), around_alone):
        with pytest.raises(PlantloopError, match=said), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it is not quite valid
            use(FMU(path, kind="me"))


def around_alone(fmu: FMU) -> None:
    d = Diagram("alone")
    d.add("unit", fmu)
    d.connect(d.add("none", Constant(0.0))["y"], "unit.f")
    d.system()


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_indicators_that_are_not_there(version: str) -> None:
    changes = {
        "2.0": ('numberOfEventIndicators="1"', 'numberOfEventIndicators="3"'),
        "3.0": ("</ModelStructure>", '<EventIndicator valueReference="13"/></ModelStructure>'),
    }
    path = build_fmu("ball", version=version, change=lambda text: text.replace(*changes[version]))
    said = "has 2 event indicators, its binary 1" if version == "3.0" else "for 3 numbers, as its description"
    with pytest.raises(PlantloopError, match=said), FMU(path, kind="me").open() as m:
        m.initialize()


def test_windows_separators_upper_case_and_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    """An archive that names its entries as Windows does, called LAG.FMU, where nobody may write."""
    folder = tmp_path / "read only ü %20 #"
    folder.mkdir()
    file = folder / "LAG.FMU"
    with zipfile.ZipFile(build_fmu("lag")) as source, zipfile.ZipFile(file, "w") as target:
        for name in source.namelist():
            entry = zipfile.ZipInfo("entry")
            entry.filename = name.replace("/", "\\")
            target.writestr(entry, source.read(name))
    folder.chmod(0o555)
    try:
        with FMU(file, sample=0.1).open() as m:
            m.initialize()
            m.set("u", 1.0)
            m.step(1.0)
            assert m.get("y") == pytest.approx(1 - math.exp(-1), abs=1e-12)
    finally:
        folder.chmod(0o755)


def test_empty_folders_are_there(tmp_path: Path) -> None:
    """FMUs of JModelica refuse to start where the folder of resources, which is empty, was not made."""
    for entries, folders in (
        ([], ["resources"]),
        (["./", "resources/", "resources/a/b/"], ["resources/a/b"]),
    ):
        file = tmp_path / f"{len(entries)}.fmu"
        shutil.copy(build_fmu("lag"), file)
        with zipfile.ZipFile(file, "a") as archive:
            for name in entries:
                archive.writestr(name, b"")
        unpacked = Package(file).unpacked()
        assert all((unpacked.folder / name).is_dir() for name in folders)
        unpacked.close()
        assert not unpacked.folder.exists()
        with FMU(file, sample=0.1).open() as m:
            m.initialize()


@pytest.mark.parametrize("version", ["2.0", "3.0"])
@pytest.mark.parametrize("how", [{"kind": "me"}, {"kind": "cs"}, {"kind": "cs", "isolate": True}])
def test_the_time_is_known_without_a_call(version: str, how: dict[str, Any]) -> None:
    """FMUs of CasADi crash when asked for the independent variable: here it has another reference."""
    reference = 4294967295

    def change(text: str) -> str:
        return re.sub(r'(name="time" valueReference=)"\d+"', rf'\1"{reference}"', text)

    path = build_fmu("lag", version=version, change=change)
    with zipfile.ZipFile(path) as archive:
        assert str(reference) in archive.read("modelDescription.xml").decode()
    with FMU(path, start_time=2.0, **how).open() as m:
        m.initialize()
        assert m.get("time") == 2.0
        m.step(0.25)
        assert m.get("time") == 2.25


@pytest.mark.parametrize("version", ["2.0", "3.0"])
@pytest.mark.parametrize("kind", ["cs", "me"])
def test_names_with_odd_characters(version: str, kind: str) -> None:
    odd, period = "in put[1,2].&quot;x&quot; = 3 % ü", "T'a.b'"
    change = lambda text: text.replace('name="u"', f'name="{odd}"').replace('name="T"', f'name="{period}"')
    sample = {"sample": 0.1} if kind == "cs" else {}
    d = Diagram("odd")
    d.add("unit", FMU(build_fmu("lag", version=version, change=change), kind=kind, **sample))
    d.connect(d.add("one", Constant(1.0))["y"], "unit." + odd.replace("&quot;", '"'))
    r = simulate(d, until=1.0, parameters={f"unit.{period}": 0.5})
    assert r["unit.y"][-1, 0] == pytest.approx(1 - math.exp(-1 / 0.5), abs=1e-7)


@pytest.mark.parametrize("kind", ["cs", "me"])
@pytest.mark.parametrize("name", ["motor.voltage", "u[1]"])
def test_names_with_dots_and_brackets_of_an_fmu_alone(name: str, kind: str) -> None:
    """As Modelica tools write them: y = 1 - exp(-t) from a constant, a course and a function of time."""

    def change(text: str) -> str:
        return text.replace('name="u"', f'name="{name}"').replace('name="y"', 'name="motor.y[2]"')

    fmu = FMU(build_fmu("lag", change=change), kind=kind, sample=0.1 if kind == "cs" else None)
    courses = [([0.0, 1.0], [1.0, 1.0]), lambda t: 1.0 + 0.0 * t] if kind == "cs" else []
    for value in (1.0, *courses):
        r = simulate(fmu, until=1.0, inputs={name: value}, engine="reference")
        assert r["plant.motor.y[2]"][-1, 0] == pytest.approx(1 - math.exp(-1), abs=1e-7)
    if kind == "me" and name == "u[1]":
        assert linearize(fmu).B.tolist() == [[1.0]]


@pytest.mark.parametrize("kind", ["cs", "me"])
def test_names_with_slashes_of_an_fmu_alone(kind: str) -> None:
    """A constant, a course and `set_input`: y = 2 (1 - exp(-t / T))."""
    change = lambda text: text.replace('name="u"', 'name="in/u"').replace('name="y"', 'name="out/y"')
    fmu = FMU(build_fmu("lag", change=change), kind=kind, sample=0.1 if kind == "cs" else None)
    expected = pytest.approx(2 * (1 - math.exp(-1)), abs=1e-7)
    for value in (2.0, ([0.0, 1.0], [2.0, 2.0])):
        r = simulate(fmu, until=1.0, inputs={"in/u": value}, engine="reference")
        assert r["out/y"][-1, 0] == expected
    sim = Simulation(fmu, engine="reference")
    sim.set_input("in/u", 2.0)
    sim.advance(1.0)
    assert sim.result()["plant.out/y"][-1, 0] == expected
    if kind == "me":
        assert linearize(fmu, inputs=["in/u"]).B.tolist() == [[1.0]]


@pytest.mark.slow
def test_start_values_follow_parameters_of_diagrams() -> None:
    """In a subsystem, through `with_parameters` and in a run alike: y(1) = 1 - exp(-1 / T)."""
    change = lambda text: text.replace('name="T"', 'name="filter/T.s[1]"')
    path = build_fmu("lag", change=change)

    def filtered() -> Diagram:
        d = Diagram("filter")
        start = {"filter/T.s[1]": d.parameter("T", 0.5), "u": 0.0}
        d.add("lag", FMU(path, kind="cs", start=start, sample=0.1))
        d.connect(d.add("one", Constant(1.0))["y"], "lag.u")
        return d

    end = lambda r, name: float(r[name][-1, 0])
    run = lambda d, **more: simulate(d, until=1.0, engine="reference", **more)
    after = lambda T: pytest.approx(1 - math.exp(-1 / T), abs=1e-7)
    both = Diagram("both")
    both.add("a", filtered())
    both.add("b", filtered(), parameters={"T": 2.0})
    r = run(both)
    assert (end(r, "a/lag.y"), end(r, "b/lag.y")) == (after(0.5), after(2.0))
    assert end(run(filtered().with_parameters(T=2.0)), "lag.y") == after(2.0)
    assert end(run(filtered(), parameters={"T": 2.0}), "lag.y") == after(2.0)
    own = run(filtered().with_parameters(**{"lag.filter/T.s[1]": 3.0}))
    assert end(own, "lag.y") == after(3.0)
    r = run(both.with_parameters(**{"b/lag.filter/T.s[1]": 3.0}))
    assert (end(r, "a/lag.y"), end(r, "b/lag.y")) == (after(0.5), after(3.0))
    kept = filtered().with_parameters(**{"lag.u": 0.5})  # what is made of T stays so
    assert end(run(kept.with_parameters(T=2.0)), "lag.y") == after(2.0)
    with pytest.raises(PlantloopError, match=r"has no 'lag.filter/T.s'; did you mean 'filter/T\.s\[1\]'"):
        run(filtered().with_parameters(**{"lag.filter/T.s": 3.0}))


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_derivatives_that_it_says_it_gives_but_refuses(version: str) -> None:
    """Differences are taken then, with a warning."""
    flag = "providesDirectionalDerivative" + ("" if version == "2.0" else "s")

    def change(text: str) -> str:
        return text.replace(f'{flag}="false"', f'{flag}="true"')

    d = Diagram("lies")
    d.add("unit", FMU(build_fmu("mass", version=version, directional=False, change=change), kind="me"))
    d.connect(d.add("force", Constant(0.0))["y"], "unit.f")
    with pytest.warns(UserWarning, match="says that it gives directional derivatives, but refuses"):
        model = linearize(d)
    np.testing.assert_allclose(model.A, [[0.0, 1.0], [-100.0, -0.5]], atol=1e-6)


PARTS: list[tuple[str, dict[str, Any]]] = [
    ("partial", {}), ("partial", {"isolate": True}), ("partial", {"importer": "fmpy"}),
    ("background", {}), ("background", {"importer": "fmpy"}),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("unit", "how"), PARTS, ids=str)
def test_steps_that_are_discarded_in_part_are_gone_on_with(unit: str, how: dict[str, Any]) -> None:
    """Of a step over 0.1 s it makes 0.03 s at a time: four calls, by hand and in runs, awaited or not."""
    path = build_fmu(unit)
    with FMU(path, **how).open() as m:
        m.initialize(start_time=2.0)
        assert m.step(0.1) == pytest.approx(2.1, abs=1e-12) and m.get("calls") == 4
        assert m.get("y") == pytest.approx(2.1, abs=1e-12)
    for coupling in (None, "gauss-seidel"):
        for engine in ("reference", "native"):
            d = Diagram("partial")
            d.add("unit", FMU(path, sample=0.1, **how))
            d.ground("unit.u")
            r = simulate(d, 0.5, engine=engine, coupling=coupling)
            assert r["unit.calls"].ravel()[-1] == 20
            assert r["unit.y"].ravel()[-1] == pytest.approx(0.5, abs=1e-12)
    rigid = build_fmu(unit, variable_step=False)
    d = Diagram("rigid")
    d.add("unit", FMU(rigid, sample=0.1, **how))
    d.ground("unit.u")
    with pytest.raises(
        PlantloopError, match=r"discarded the step from t=0 s over 0\.1 s, and got to t=0\.03 s"
    ):
        simulate(d, 0.5)


def test_a_step_in_the_background_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends with its own status, which is not that it goes on."""
    with FMU(build_fmu("background"), importer="fmpy").open() as m:
        m.initialize()
        monkeypatch.setattr(m.component._fmu, "getStatus", lambda kind: 3)
        with pytest.raises(FMUError, match="doStep failed .*in the background and ended with status 3"):
            m.step(0.1)


@pytest.mark.slow
@pytest.mark.parametrize("isolate", [False, True])
def test_many_variables_are_read_once(isolate: bool) -> None:
    """Ten thousand parameters that nobody sets are no burden to a run."""
    parameters = "".join(
        f'<Float64 name="p[{k}]" valueReference="{5000 + k}" causality="parameter" start="{k}"/>'
        for k in range(10_000)
    )
    change = lambda text: text.replace("</ModelVariables>", parameters + "</ModelVariables>")
    fmu = FMU(build_fmu("lag", version="3.0", change=change), sample=0.1, isolate=isolate)
    assert len(fmu.description.parameters) == 10_001
    with fmu.open() as m:
        m.initialize()
        m.set("u", 1.0)
        m.step(1.0)
        assert m.get("y") == pytest.approx(1 - math.exp(-1), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("version", "how"), [("2.0", {}), ("3.0", {}), ("3.0", {"isolate": True})], ids=str)
def test_derivatives_that_are_discarded_ask_for_a_shorter_step(version: str, how: dict[str, Any]) -> None:
    """By hand and in a run, where steps try states beyond an event; x falls from 1 to 0 again and again."""
    fmu = FMU(build_fmu("falling", version=version), **how)
    with fmu.open() as m:
        m.initialize()
        m.step(0.4)
        m.step(1.5)
        assert m.get("x") == pytest.approx(0.1, abs=1e-9)
    d = Diagram("falling")
    d.add("unit", fmu)
    r = simulate(d, until=1.9, engine="reference")
    assert r["unit.x"][-1, 0] == pytest.approx(0.1, abs=1e-9)


def test_derivatives_that_are_never_given_end_the_run() -> None:
    with FMU(build_fmu("falling", version="3.0", start={"x": -1.0})).open() as m:
        m.initialize()
        with pytest.raises(PlantloopError, match="GetContinuousStateDerivatives returned discard"):
            m.step(0.4)


@pytest.mark.parametrize("version", ["2.0", "3.0"])
@pytest.mark.parametrize("engine", ["reference", "native"])
def test_a_next_event_in_the_past_is_named(version: str, engine: str) -> None:
    """`nextEventTime` is that of the event that has just been, for good, though nothing changes any more."""
    stuck = build_fmu("stuck", version=version)
    d = Diagram("d")
    d.add("m", FMU(stuck, kind="me"))
    said = r"at t=0\.5 s it announces its next event for t=0\.25 s, 100 times"
    with pytest.raises(PlantloopError, match=said):
        simulate(d, 1.0, engine=engine)
