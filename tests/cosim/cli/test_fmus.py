"""FMUs on the command line and in scenarios."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from blocks.errors import ScenarioError
from cosim.cli.cli import app
from cosim.result.result import Result
from cosim.scenario import load_scenario
from tests.helpers.fmus import build_fmu

SCENARIO = """
[fmus.lag]
file = "lag.fmu"
kind = "cs"
sample = 0.1
start = { T = 0.5 }

[blocks.one]
type = "Constant"
value = 1.0

[wiring]
connect = ["one.y -> lag.u"]

[run]
until = 1.0
log_every = 0.1

[checks.final."lag.y"]
value = 0.8646647
tolerance = 1e-6
"""


def ask(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, list(words))
    return done.exit_code, done.output


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_info(version: str) -> None:
    code, text = ask("info", str(build_fmu("mass", version=version)))
    assert code == 0
    for part in (f"FMI {version}", "co-simulation", "model exchange", "f = 0.0 N", "a m/s2", "directional"):
        assert part in text
    assert "depends on f, x, v" in text


def test_run(tmp_path: Path) -> None:
    code, text = ask("run", str(build_fmu("dahlquist")), "--out", str(tmp_path))
    assert code == 0 and "10 s" in text
    r = Result.load(tmp_path / "result.nc")
    assert r["plant.x"][-1, 0] == pytest.approx(math.exp(-10.0), rel=1e-4)
    code, text = ask("run", str(build_fmu("stair")), "--out", str(tmp_path))
    assert code == 0 and "terminateSimulation" in text
    code, text = ask("run", str(build_fmu("faulty", start={"fault": 4})), "--out", str(tmp_path))
    assert code == 1 and "oil pressure" in text and "partial result written" in text


def test_an_experiment_that_begins_later(tmp_path: Path) -> None:
    """x = exp(-(t - 2)) over the 0.5 s from 2 to 2.5 s."""
    later = lambda text: re.sub('startTime="0" stopTime="[^"]*"', 'startTime="2" stopTime="2.5"', text)
    code, text = ask("run", str(build_fmu("dahlquist", change=later)), "--out", str(tmp_path))
    assert code == 0 and "from 2 to 2.5 s" in text and "warning:" not in text
    r = Result.load(tmp_path / "result.nc")
    assert r.time[0] == 2.0 and r.time[-1] == 2.5
    assert r["plant.x"][-1, 0] == pytest.approx(math.exp(-0.5), rel=1e-4)


@pytest.mark.parametrize("kind", ["cs", "me"])
def test_results_have_the_time_of_the_fmu(kind: str, tmp_path: Path) -> None:
    """now = t, x = (t^2 - 4) / 2 from t = 2 on; with samples and events at the same times."""
    later = lambda text: text.replace('startTime="0"', 'startTime="2"')
    path = build_fmu("calendar", kinds=(kind,), change=later)
    code, text = ask("run", str(path), "--out", str(tmp_path))
    assert code == 0, text
    r = Result.load(tmp_path / "result.nc")
    assert r.time.tolist() == [2.0 + 0.25 * k for k in range(9)]
    assert r["plant.now"][:, 0] == pytest.approx(r.time, abs=1e-12)
    assert r["plant.x"][:, 0] == pytest.approx((r.time**2 - 4) / 2, rel=1e-8, abs=1e-12)
    if kind == "cs":
        sampled = r.ticks("plant.now")
        assert sampled.time == pytest.approx(sampled.values[:, 0], abs=1e-12)
    else:
        times = [e.time for e in r.events if e.name.endswith("time event") and e.time > 2.0]
        assert times == pytest.approx([0.1 * k for k in range(21, 41)], abs=1e-12)


def test_a_failure_after_a_late_start_keeps_the_time_of_the_fmu(tmp_path: Path) -> None:
    later = lambda text: re.sub('startTime="0" stopTime="[^"]*"', 'startTime="3" stopTime="5"', text)
    path = build_fmu("faulty", start={"fault": 4}, change=later)
    code, text = ask("run", str(path), "--out", str(tmp_path))
    assert code == 1 and "partial result written" in text
    assert "counted from the start at t=3 s" in " ".join(text.split())
    assert Result.load(tmp_path / "result.nc").time[0] == 3.0


def test_validate(tmp_path: Path) -> None:
    assert ask("validate", str(build_fmu("lag", version="3.0")))[0] == 0
    broken = build_fmu("lag", change=lambda text: text.replace('<Real start="0.0"/>', "<Real/>"))
    code, text = ask("validate", str(broken))
    assert code == 1 and "start value" in text
    (tmp_path / "none.fmu").write_text("no zip")
    code, text = ask("validate", str(tmp_path / "none.fmu"))
    assert code == 1 and "damaged" in text and "Traceback" not in text


def test_a_finding_about_a_name_is_one_sentence(tmp_path):
    """CasADi names a variable __assign__der(x)__, and calls its names structured."""

    def change(text):
        return text.replace('name="T"', 'name="__assign__der(x)__"').replace(
            " generationTool", ' variableNamingConvention="structured" generationTool'
        )

    path = build_fmu("lag", version="3.0", change=change)
    code, text = ask("validate", str(path))
    said = " ".join(text.split())
    assert code == 1 and said.endswith('for naming convention "structured". It goes wrong at character 14.')
    assert said.count("__assign__der(x)__") == 1 and "__ANON" not in text


def test_a_scenario_runs_fmus_with_trust_only(tmp_path: Path) -> None:
    build_fmu("lag", tmp_path)
    file = tmp_path / "scenario.toml"
    file.write_text(SCENARIO)
    with pytest.raises(ScenarioError, match=r"(?s)\[fmus\.lag\] file.*--trust"):
        load_scenario(file)
    code, text = ask("run", str(file), "--trust", "--out", str(tmp_path / "out"))
    assert code == 0, text
    assert "expected 0.864665 +- 1e-06  ok" in text


def test_scenarios_take_event_mode_and_scheduled_execution(tmp_path: Path) -> None:
    build_fmu("lag", tmp_path)
    build_fmu("counter", tmp_path, version="3.0")
    build_fmu("partitions", tmp_path, version="3.0", kinds=("se",))
    file = tmp_path / "scenario.toml"
    more = '[fmus.counter]\nfile = "counter.fmu"\nkind = "cs"\nevent_mode = true\n'
    more += '[fmus.parts]\nfile = "partitions.fmu"\nkind = "se"\n'
    ground = 'ground = ["counter.u", "parts.u", "parts.press"]'
    file.write_text(more + SCENARIO.replace("[run]", f"{ground}\n\n[run]"))
    fmus = load_scenario(file, trust=True).diagram().blocks
    assert fmus["counter"].event_mode is True and fmus["parts"].kind == "se"
    code, text = ask("info", str(file), "--trust")
    assert code == 0 and "lag: lag.fmu" in text and "counter: counter.fmu" in text


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('file = "lag.fmu"', 'file = "log.fmu"', r"lag\.fmu"),
        ("T = 0.5", "t = 0.5", "did you mean 'T'"),
        ('kind = "cs"', 'kind = "ce"', r"\[fmus\.lag\] kind"),
        ("sample = 0.1", "simple = 0.1", "did you mean 'sample'"),
        ("lag.u", "lug.u", "no block 'lug'; did you mean 'lag'"),
        ("[fmus.lag]", "[fmus.one]", "'one' is another block"),
    ],
)
def test_mistakes_in_scenarios(tmp_path: Path, old: str, new: str, said: str) -> None:
    build_fmu("lag", tmp_path)
    file = tmp_path / "scenario.toml"
    file.write_text(SCENARIO.replace(old, new, 1))
    with pytest.raises(ScenarioError, match=rf"(?s){said}"):
        load_scenario(file, trust=True).system()
