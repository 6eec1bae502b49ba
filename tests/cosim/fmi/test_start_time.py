"""FMUs whose clock shows another time than 0 when a run begins.

The unit `calendar` shows its clock, integrates it (x = (t^2 - s^2) / 2 from s on), and has time events at the
multiples of 0.1 s, which it counts from 0 on; it takes no instant for reached that is not.
"""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from blocks.errors import BlockError, PlantloopError
from cosim import FMU, Diagram, Simulation, export_ssp, import_ssp, simulate
from cosim.cli.cli import app
from cosim.fmi.fmi_errors import FMUError
from cosim.fmi.interface.outcomes import StepOutcome
from cosim.fmi.ssp.ssd_reader import read_ssp
from cosim.fmi.ssp.ssp_errors import SSPError
from cosim.fmi.ssp.structure import DefaultExperiment
from cosim.fmi.steps import rest_of_step
from cosim.fmi.unit_clock import UnitClock
from cosim.result.result import Result
from cosim.scenario import load_scenario
from tests.helpers.fmus import build_fmu

STARTS = (0.0, 2.0, 0.1, -1.35, 1e5)
HOW: dict[str, dict[str, Any]] = {"cs": {"sample": "1/4"}, "me": {}}


def diagram(path: Path, kind: str, start: float, **how: Any) -> Diagram:
    d = Diagram("d")
    d.add("unit", FMU(path, kind=kind, start_time=start, **HOW[kind], **how))
    return d


def days(t: np.ndarray) -> np.ndarray:
    """The number of positive multiples of 0.1 s up to t, none of which is near one."""
    return np.maximum(np.floor(t / 0.1), 0.0)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("kind", ["cs", "me"])
@pytest.mark.parametrize("version", ["2.0", "3.0"])
@pytest.mark.parametrize("engine", ["reference", "native"])
def test_closed_forms(version: str, kind: str, start: float, engine: str) -> None:
    path = build_fmu("calendar", version=version)
    r = simulate(diagram(path, kind, start), 2.2, log_every="1/20", engine=engine)
    own = start + (r.time if kind == "me" else np.floor(r.time * 4 + 1e-9) / 4)
    assert r["unit.now"][:, 0] == pytest.approx(own, abs=1e-12 * max(1.0, abs(start)))
    assert r["unit.x"][:, 0] == pytest.approx((own**2 - start**2) / 2, rel=1e-8, abs=1e-8)
    inside = np.abs(own / 0.1 - np.round(own / 0.1)) > 1e-6
    assert (r["unit.days"][inside, 0] == days(own[inside])).all()


@pytest.mark.parametrize("kind", ["cs", "me"])
@pytest.mark.parametrize("how", [{"isolate": True}, {"importer": "fmpy"}], ids=["isolated", "fmpy"])
def test_other_callers_give_the_same_bits(kind: str, how: dict[str, Any]) -> None:
    path = build_fmu("calendar", version="3.0")
    one, other = (simulate(diagram(path, kind, 2.0, **h), 1.0, log_every=0.25) for h in ({}, how))
    for name in ("unit.x", "unit.now", "unit.days"):
        assert (one[name] == other[name]).all()


@pytest.mark.parametrize("version", ["2.0", "3.0"])
@pytest.mark.parametrize("kind", ["cs", "me"])
def test_both_engines_and_couplings_give_the_same_bits(version: str, kind: str) -> None:
    path = build_fmu("calendar", version=version)
    d = diagram(path, kind, 0.1)
    found = [
        simulate(d, 1.7, log_every=0.25, engine=engine, coupling=coupling)
        for coupling in ((None, "jacobi", "gauss-seidel") if kind == "cs" else (None,))
        for engine in ("reference", "native")
    ]
    for name in ("unit.x", "unit.now", "unit.days"):
        for r in found[1:]:
            assert (r[name] == found[0][name]).all()


@pytest.mark.parametrize("kind", ["cs", "me"])
def test_an_opened_fmu_begins_there(kind: str) -> None:
    fmu = FMU(build_fmu("calendar"), kind=kind, start_time=2.0, **HOW[kind])
    with fmu.open() as m:
        m.initialize()
        assert m.time == 2.0 and m.get("days") == 20
        m.step(0.25)
        assert m.get("now") == 2.25 and m.get("days") == 22
        m.reset()
        m.initialize(start_time=0.0)
        assert m.time == 0.0 and m.get("days") == 0
        m.reset()
        m.initialize()
        assert m.time == 2.0


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize("kind", ["cs", "me"])
def test_snapshots(kind: str, engine: str, tmp_path: Path) -> None:
    path = build_fmu("calendar", version="3.0")
    whole = simulate(diagram(path, kind, 2.0), 1.5, log_every=0.25, engine=engine)
    with Simulation(diagram(path, kind, 2.0), engine=engine) as sim:
        sim.advance(0.5)
        sim.save(tmp_path / "there.npz")
        sim.advance(1.0)
    with Simulation(diagram(path, kind, 2.0), engine=engine) as again:
        again.load(tmp_path / "there.npz")
        again.advance(1.5)
        for name in ("unit.x", "unit.now", "unit.days"):
            assert again.value(name) == whole[name][-1]
    with (
        Simulation(diagram(path, kind, 3.0), engine=engine) as other,
        pytest.raises(BlockError, match=r"start_time=2 s, and here it is 3 s"),
    ):
        other.load(tmp_path / "there.npz")


def test_periodic_clocks_begin_there() -> None:
    """A clock of an interval ticks at its start + k interval: as often as from 0."""
    path = build_fmu("clockwork", version="3.0")
    counts = []
    for start in (0.0, 7.0):
        d = Diagram("d")
        d.add("unit", FMU(path, kind="cs", sample="1/10", start_time=start))
        for port in ("u", "w", "press"):
            d.ground(f"unit.{port}")
        counts.append(simulate(d, 2.0, log_every=0.1))
    for name in counts[0]:
        moved = 7.0 if name == "unit.when" else 0.0  # the time of the newest tick
        assert counts[1][name] - moved == pytest.approx(counts[0][name], abs=1e-12), name


def test_derivatives_by_time_know_the_clock() -> None:
    """rodas4 needs d rates / d t = 1, which differences find between two events: x = 2 t + t^2 / 2."""
    d = diagram(build_fmu("calendar"), "me", 2.0)
    r = simulate(d, 1.0, solver="rodas4", log_every=0.25)
    assert r["unit.x"][:, 0] == pytest.approx(2 * r.time + r.time**2 / 2, rel=1e-9)


def test_times_of_a_run_have_known_digits_only() -> None:
    """Decimals come back as they are; others within what `near` takes for one instant."""
    rng = np.random.default_rng(1)
    for start, k in zip(rng.integers(-100, 10**5, 200) / 10, rng.integers(1, 10**4, 200), strict=True):
        clock = UnitClock(float(start))
        assert clock.run_time(float(start + k / 100)) == k / 100
        shown = float(start + k / 7)
        assert abs(clock.at(clock.run_time(shown)) - shown) <= clock.near(shown) / 5


def test_what_is_one_instant_does_not_grow_with_the_clock() -> None:
    """Seconds since 1970 are known to 2.4e-7 s; 1.7 ms would be 1e-12 of them."""
    assert UnitClock().near(0.5) == 1e-12 and UnitClock().near(1e4) == 1e-8
    assert UnitClock(-1e4).near(-1e4 + 5.0) == pytest.approx(5e-10)
    assert 1e-6 < UnitClock(1.7e9).near(1.7e9 + 0.5) < 1e-4


@pytest.mark.parametrize("begin", [0.0, 1e6, 1.7e9])
def test_the_rest_of_a_step_is_made_whatever_the_clock_shows(begin: float) -> None:
    """Parts of 0.3 ms of a step of 1 ms: four calls."""
    made: list[float] = []

    class Parts:
        interface = SimpleNamespace(variable_step=True)

        def step(self, t: float, h: float, no_way_back: bool = False) -> StepOutcome:
            made.append(h)
            return StepOutcome(t + min(h, 3e-4), early=h > 3.001e-4)

    unit: Any = Parts()
    outcome = rest_of_step(unit, unit.step(begin, 1e-3), begin, begin + 1e-3)
    assert len(made) == 4 and outcome.time == pytest.approx(begin + 1e-3, abs=1e-6, rel=0)


@pytest.mark.parametrize("wrong", ["2", math.inf, None, True])
def test_a_start_time_is_a_number(wrong: Any) -> None:
    with pytest.raises(PlantloopError, match="start_time is"):
        FMU(build_fmu("calendar"), start_time=wrong)


def test_it_begins_before_it_stops() -> None:
    with pytest.raises(FMUError, match=r"stop_time=2 .* start_time=3"):
        FMU(build_fmu("calendar"), start_time=3.0, stop_time=2.0)


# --- packages ---------------------------------------------------------------------------------------------
def two(path: Path, one: float, other: float) -> Diagram:
    inner = Diagram("inner")
    inner.add("b", FMU(path, kind="me", start_time=other))
    d = Diagram("two")
    d.add("a", FMU(path, kind="cs", sample="1/4", start_time=one))
    d.add("in", inner)
    return d


def test_a_package_keeps_the_start(tmp_path: Path) -> None:
    file = export_ssp(two(build_fmu("calendar"), 2.0, 2.0), tmp_path / "two.ssp", stop=3.0)
    assert read_ssp(file).experiment == DefaultExperiment(2.0, 3.0)
    code = CliRunner().invoke(app, ["run", str(file), "--trust", "--out", str(tmp_path)])
    assert code.exit_code == 0, code.output
    r = Result.load(tmp_path / "result.nc")
    assert r.time[0] == 2.0 and r.time[-1] == 3.0
    assert r["in/b.now"][:, 0] == pytest.approx(r.time, abs=1e-12)
    assert r["a.x"][-1, 0] == pytest.approx((9 - 4) / 2, rel=1e-9)
    plain = simulate(import_ssp(file), 1.0)
    assert plain["a.now"][-1, 0] == 1.0 and plain.time[-1] == 1.0
    later = simulate(import_ssp(file, start_time=2.0), 1.0)
    assert later["a.now"][-1, 0] == 3.0 and later.time[-1] == 1.0


@pytest.mark.parametrize(
    ("one", "other", "start", "said"),
    [
        (2.0, 0.0, None, r"begin at different times: 'a' at 2 s, 'in\.b' at 0 s"),
        (2.0, 2.0, 1.0, r"start=1, but the FMUs begin at 2 s"),
    ],
)
def test_a_package_has_one_start(
    one: float, other: float, start: float | None, said: str, tmp_path: Path
) -> None:
    with pytest.raises(SSPError, match=said):
        export_ssp(two(build_fmu("calendar"), one, other), tmp_path / "two.ssp", start=start)


def test_a_scenario_takes_a_start_time(tmp_path: Path) -> None:
    build_fmu("calendar", tmp_path)
    (tmp_path / "s.toml").write_text(
        '[fmus.unit]\nfile = "calendar.fmu"\nkind = "cs"\nsample = 0.25\nstart_time = 2.0\n'
        "[run]\nuntil = 0.5\n"
    )
    assert load_scenario(tmp_path / "s.toml", trust=True).run()["unit.now"][-1, 0] == 2.5


@pytest.mark.parametrize("start", [0.0, 2.0, -1.7e308])
@pytest.mark.parametrize("shown", [np.nan, np.inf, -np.inf, 1.7e308])
def test_what_is_no_time_is_none_in_a_run(start, shown):
    found = UnitClock(start).run_time(shown)
    assert found == shown - start or (np.isnan(shown - start) and np.isnan(found))
