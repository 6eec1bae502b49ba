"""The command line: what it prints, what it writes, and its exit codes."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cosim import Result, __version__
from cosim.cli.cli import app
from tests.helpers.decks import deck, simulate, slider

PENDULUM = Path(__file__).parents[3] / "examples/inverted_pendulum/inverted_pendulum.xml"

RAMP = """\
[scenario]
name = "ramp"
description = "a straight line, sampled"

[blocks.ramp]
type = "Ramp"
slope = 2.0

[blocks.sampler]
type = "Hold"
sample = 0.25

[wiring]
connect = ["ramp.y -> sampler.u"]

[run]
until = 1.0
log_every = 0.5
"""

CHECKED = RAMP + '[checks.final]\n"ramp.y" = {{ value = {}, tolerance = 1e-9 }}\n'

DIVIDE = """\
[blocks.clock]
type = "Clock"

[blocks.one]
type = "Constant"
value = 1.0

[blocks.rest]
type = "Sum"
signs = "+-"

[blocks.inverse]
type = "Product"
operations = "/"

[blocks.sampler]
type = "Hold"
sample = 0.25

[wiring]
connect = [
    "one.y -> rest.in1",
    "clock.y -> rest.in2",
    "rest.y -> inverse.in1",
    "inverse.y -> sampler.u",
]

[run]
until = 2.0
log_every = 0.25
"""


@pytest.fixture
def cosim(tmp_path, monkeypatch):
    """Run the command in a folder of its own, on a terminal wide enough not to break lines."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments, scenario=RAMP):
        (tmp_path / "ramp.toml").write_text(scenario)
        return CliRunner().invoke(app, list(arguments))

    return call


def test_run_prints_a_table_and_writes_the_result(cosim, tmp_path):
    done = cosim("run", "ramp.toml")
    assert done.exit_code == 0, done.stderr
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert lines[:2] == ["ramp a straight line, sampled", "rates 4 Hz"]
    assert lines[2].startswith("engine ")
    assert lines[3] == "solver dopri5, rtol 1e-08, atol 1e-10"
    assert "final ramp.y = 2" in lines
    assert lines[-1] == "written results/ramp/result.nc"
    assert Result.load(tmp_path / "results/ramp/result.nc")["ramp.y"].ravel().tolist() == [0.0, 1.0, 2.0]


def test_a_table_that_is_piped_has_no_trailing_blanks_no_minus_zero_and_a_heading_for_all(cosim):
    done = cosim("run", "ramp.toml", scenario=RAMP.replace("slope = 2.0", "slope = -0.0"))
    lines = done.stdout.splitlines()
    assert all(line == line.rstrip() for line in lines)
    assert "final    ramp.y = 0" in lines
    assert "= -0" not in done.stdout
    assert all(line == line.rstrip() for line in cosim("info", "ramp.toml").stdout.splitlines())


def test_info_shows_a_warning_once(cosim, tmp_path):
    text = PENDULUM.read_text()
    head, end, rest = text.rpartition("</Model>")
    (tmp_path / "odd.xml").write_text(f'{head}<Post_Nothing id="9"/>{end}{rest}')
    ports = ("control_force", "disturbance_force")
    grounded = ", ".join(f'"plant.{port}"' for port in ports)
    (tmp_path / "odd.toml").write_text(
        f'[model]\nfile = "odd.xml"\n[wiring]\nground = [{grounded}]\n[run]\nuntil = 1.0\n'
    )
    for file in ("odd.xml", "odd.toml"):
        done = cosim("info", file)
        assert done.exit_code == 0, done.stderr
        assert done.stderr == ""
        assert done.stdout.count("Post_Nothing id=9") == 1


def test_run_writes_pictures_where_it_is_told_to(cosim, tmp_path):
    done = cosim("run", "ramp.toml", "--out", "there", "--plot")
    assert done.exit_code == 0, done.stderr
    assert sorted(file.name for file in (tmp_path / "there").iterdir()) == ["ramp.png", "result.nc"]


def test_a_check_that_passes(cosim):
    done = cosim("run", "ramp.toml", scenario=CHECKED.format(2.0))
    assert done.exit_code == 0, done.stderr
    assert "final ramp.y = 2, expected 2 +- 1e-09 ok" in " ".join(done.stdout.split())


def test_a_check_that_fails_is_a_failure(cosim):
    done = cosim("run", "ramp.toml", scenario=CHECKED.format(3.0))
    assert done.exit_code == 1
    assert "FAILED" in done.stdout
    assert done.stderr == "1 of 1 checks failed: final ramp.y.\n"


def test_a_run_that_stops_keeps_what_was_computed(cosim, tmp_path):
    done = cosim("run", "ramp.toml", scenario=DIVIDE)
    message, kept, replay = done.stderr.splitlines()
    assert done.exit_code == 1
    assert message.startswith("non-finite signal 'inverse.y' = inf in block 'inverse' at t=1")
    assert kept == "partial result written: results/ramp/result.nc"
    assert replay == "look at the last steps: cosim replay results/ramp/failure.json"
    result = Result.load(tmp_path / "results/ramp/result.nc")
    assert not result.complete
    assert result.time.tolist() == [0.0, 0.25, 0.5, 0.75]


def test_ctrl_c_keeps_what_was_computed(cosim, tmp_path, monkeypatch):
    from cosim.simulation import Simulation

    advance = Simulation.advance

    def interrupted(self, until, progress=None):
        advance(self, 0.5, progress)
        raise KeyboardInterrupt

    monkeypatch.setattr(Simulation, "advance", interrupted)
    done = cosim("run", "ramp.toml")
    assert done.exit_code == 130
    assert done.stderr.splitlines() == [
        "interrupted at t=0.5 s",
        "partial result written: results/ramp/result.nc",
    ]
    assert Result.load(tmp_path / "results/ramp/result.nc").time.tolist() == [0.0, 0.5]


def test_info_of_a_scenario(cosim):
    done = cosim("info", "ramp.toml")
    assert done.exit_code == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "ramp a straight line, sampled blocks ramp: Ramp sampler: Hold" in text
    assert "signals ramp.y [1] sampler.y [1]" in text
    assert "rates 4 Hz" in text
    assert "order of execution at a tick output 4 Hz: sampler" in text


def test_info_draws_the_diagram_of_a_scenario(cosim, tmp_path):
    done = cosim("info", "ramp.toml", "--draw", "loop.svg")
    assert done.exit_code == 0, done.stderr
    assert "<svg" in (tmp_path / "loop.svg").read_text()
    assert "unknown" in cosim("info", "ramp.toml", "--draw", "loop.xyz").stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "rmp.toml"], "no file 'rmp.toml' in folder '.'; did you mean 'ramp.toml'?"),
        (["run", "m.txt"], "cosim run takes a .toml or .xml or .fmu or .ssp file, got 'm.txt'."),
        (["info", "ramp.txt"], "cosim info takes a .toml or .xml or .fmu or .ssp file, got 'ramp.txt'."),
        (["info", "there/m.xml"], "no file 'there/m.xml': there is no folder 'there'."),
        (
            ["run", "ramp.toml", "--engine", "fast"],
            "no engine 'fast'; there is 'auto', 'native', 'reference'.",
        ),
        (
            ["run", "broken.toml"],
            "broken.toml: there is nothing to run: give [model], [blocks], [fmus], or a [diagram] factory.",
        ),
    ],
)
def test_a_mistake_is_one_message(arguments, message, cosim, tmp_path):
    (tmp_path / "broken.toml").write_text("[run]\nuntil = 1\n")
    done = cosim(*arguments)
    assert done.exit_code == 1
    assert done.stdout == "" or done.stdout.startswith("ramp")
    assert done.stderr == message + "\n"


def test_python_code_is_not_run_without_trust(cosim, tmp_path):
    (tmp_path / "loops.py").write_text(
        "from blocks import Clock\nfrom cosim import Diagram\n"
        "def make():\n    d = Diagram()\n    d.add('clock', Clock())\n    return d\n"
    )
    text = '[diagram]\nfactory = "loops:make"\n[run]\nuntil = 1.0\nlog_every = 1.0\n'
    refused = cosim("run", "ramp.toml", scenario=text)
    assert refused.exit_code == 1
    assert "loops.py'. If you trust it, allow that with --trust" in refused.stderr
    assert cosim("run", "ramp.toml", "--trust", scenario=text).exit_code == 0


def test_the_version(cosim):
    assert cosim("--version").stdout == f"plantloop {__version__}\n"


def test_no_command_shows_the_help(cosim):
    assert "Usage:" in cosim().output


def test_the_module_is_the_command():
    command = [sys.executable, "-m", "cosim", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, f"plantloop {__version__}\n")


@pytest.mark.slow
def test_only_the_command_imports_its_libraries():
    """Nor do workers of a study, or scenarios without a plant, import those of plants."""
    code = "import sys, cosim.study.work; from cosim.scenario import load_scenario\n"
    code += "print({'typer', 'rich', 'matplotlib', 'xarray', 'plant'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "set()\n", done.stderr


def test_a_terminal_shows_how_far_a_run_is(cosim, monkeypatch):
    assert "simulated" not in cosim("run", "ramp.toml").stderr
    monkeypatch.setenv("FORCE_COLOR", "1")  # what rich takes for a terminal
    assert "1.00 of 1 s simulated" in cosim("run", "ramp.toml").stderr


def test_info_of_a_model(cosim):
    done = cosim("info", str(PENDULUM))
    assert done.exit_code == 0, done.stderr
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "model inverted_pendulum (joint coordinates)" in lines
    assert "hinge: revolute, angle [rad]" in lines
    assert "degrees of freedom 2" in lines
    assert (
        "inputs control_force [1]: Fc [N]; id 303010, variable 11; at the rate of what drives it, "
        "hold order 0 (file)" in lines
    )
    assert (
        "outputs pendulum [2]: theta [rad], omega [rad/s]; id 303001, variables 12, 13; continuous" in lines
    )
    assert lines[-1] == "warnings none"
    assert next(line for line in lines if line.startswith("elements")).startswith("elements 33: 1 Param_Unit")


def test_info_of_a_scenario_with_a_model(cosim):
    done = cosim("info", str(PENDULUM.with_name("scenario.toml")))
    assert done.exit_code == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "port rates plant.control_force: 100 Hz, zero-order hold (scenario.toml)" in text
    assert "plant.disturbance_force: grounded" in text


@pytest.mark.parametrize(
    "text",
    [
        "<Model><Body_Rigid id='1' mass='heavy'/></Model>",
        "<Model><Body_Rigid",
        "no XML at all",
        "",
    ],
)
def test_a_bad_model_is_one_message(text, cosim, tmp_path):
    (tmp_path / "bad.xml").write_text(text)
    done = cosim("info", "bad.xml")
    assert done.exit_code == 1
    assert done.stdout == ""
    assert done.stderr.count("bad.xml") >= 1
    assert "Traceback" not in done.stderr


# --- decks ----------------------------------------------------------------------------------------------
def test_a_deck_is_run_as_it_stands(cosim, tmp_path):
    (tmp_path / "spring.xml").write_bytes(
        deck(slider(), simulate("Static") + simulate("Linear") + simulate("Transient", end_time=0.2))
    )
    done = cosim("run", "spring.xml", "--out", "there", "--engine", "reference", "--plot")
    assert done.exit_code == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "static equilibrium at t=0 s" in text
    assert "linear model at t=0 s: 2 states" in text and "0.795775" in text  # 5 rad/s
    assert "simulated from 0 to 0.2 s" in text
    assert "final plant.request_mass = -1.3924, " in text and ", 19.62" in text
    names = {file.name for file in (tmp_path / "there").iterdir()}
    assert {"result.nc", "spring.png", "spring.a", "spring.eig"} <= names
    assert Result.load(tmp_path / "there/result.nc").time[-1] == 0.2


def test_a_deck_that_fails_keeps_what_it_had(cosim, tmp_path):
    force = '<Force_Vector_OneBody id="1" type="FORCEONLY" marker_id="20" fz_expression="SQRT(1-TIME)"/>'
    (tmp_path / "bad.xml").write_bytes(deck(slider() + force, simulate("Transient", end_time=2)))
    done = cosim("run", "bad.xml", "--engine", "reference", "--coordinates", "absolute")
    assert done.exit_code == 1
    assert "partial result written: results/bad/result.nc" in done.stderr
    assert "bad.xml:1: Simulate: " in done.stderr and "SQRT" in done.stderr
    assert Result.load(tmp_path / "results/bad/result.nc").time[-1] <= 1.0


def test_coordinates_are_for_decks(cosim):
    done = cosim("run", "ramp.toml", "--coordinates", "absolute")
    assert done.exit_code == 1 and "--coordinates belongs to decks" in done.stderr


JUMPING = """\
import numpy as np
from blocks import Function, Integrator
from cosim import Diagram


def make():
    d = Diagram("jumping")
    f = d.add("f", Function(lambda x, v: np.where(x + v > 1.0, -1.0, 1.0)))
    v, x = d.add("v", Integrator()), d.add("x", Integrator())
    f["y"] >> v["u"]
    v["y"] >> x["u"]
    x["y"] >> f["x"]
    v["y"] >> f["v"]
    return d
"""


def test_check_names_what_jumps_and_fails(cosim, tmp_path):
    (tmp_path / "jumping.py").write_text(JUMPING)
    scenario = '[diagram]\nfactory = "jumping:make"\n\n[run]\nuntil = 1.0\n'
    done = cosim("check", "ramp.toml", "--trust", scenario=scenario)
    assert done.exit_code == 1 and not done.stderr
    assert "'f' (Function): output 'y' jumps by 2 at a switch (a comparison)" in done.stdout
    assert "b.where_event(condition, a, b)" in done.stdout


@pytest.mark.parametrize("file", ["ramp.toml", str(PENDULUM)])
def test_check_of_what_does_not_jump(cosim, file):
    done = cosim("check", file)
    assert done.exit_code == 0, done.stderr
    assert "none found" in done.stdout


CHECKABLE = """
[blocks.a]
type = "Constant"
value = 1.0
[blocks.b]
type = "Gain"
k = 1.0
[wiring]
connect = ["a.y -> b.u"]
{}
[run]
until = 1.0
"""


def test_check_lists_unit_faults_and_notes(cosim):
    units = '[units]\n"a.y" = "mm"\n"b.u" = "m"'
    done = cosim("check", "ramp.toml", scenario=CHECKABLE.format(units))
    assert done.exit_code == 1
    assert "'a.y' is in mm but input 'b.u' expects m" in done.stdout and "1 mm = 0.001 m" in done.stdout
    assert "output y of 'b': nobody reads it" in done.stdout


def test_check_names_the_lines_of_wiring_problems(cosim):
    """As `cosim run` does, in the words of the file."""
    scenario = (
        '[blocks.lag]\ntype = "FirstOrder"\n[blocks.k]\ntype = "Gain"\nk = 2.0\n'
        '[wiring]\nconnect = [\n  "lag.x -> lag.u",\n]\n[run]\nuntil = 1.0\n'
    )
    said = [cosim(command, "ramp.toml", scenario=scenario).output for command in ("check", "run")]
    assert "ramp.toml:8: [wiring] connect: 'lag' has no output 'x'; there is 'y'" in said[0]
    assert said[0].strip() in said[1] and 'ground = ["k.u"]' in said[0]


def test_check_fails_for_notes_where_asked(cosim):
    scenario = CHECKABLE.format("")
    assert cosim("check", "ramp.toml", scenario=scenario).exit_code == 0
    assert cosim("check", "--strict", "ramp.toml", scenario=scenario).exit_code == 1


def test_lines_of_the_help_are_whole():
    """Ten of fourteen ended in "..."; what a command is there for stands in the first words."""
    for words in ([], ["cache"]):
        shown = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "80"}).output
        assert "..." not in shown.replace("[ARGS]...", "")


def test_the_folder_of_a_search_is_that_of_the_help():
    for command in ("falsify", "optimise"):
        shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"}).output
        assert "(results/<name>_search)" in shown


def test_a_page_of_a_folder_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = CliRunner().invoke(app, ["view", "results", "--out", "x.html"])
    assert shown.exit_code == 1 and "there is no file or folder 'results'." in shown.output
