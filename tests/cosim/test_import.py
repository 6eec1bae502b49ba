"""Importing cosim is light: what takes long to import is imported where it is used."""

import pathlib
import subprocess
import sys

import pytest

import cosim

HEAVY = (
    "control",
    "matplotlib",
    "pandas",
    "xarray",
    "netCDF4",
    "scipy",
    "typer",
    "rich",
    "lxml",
    "lark",
    "plant",
)
ROOT = pathlib.Path(cosim.__file__).parents[1]


def loaded(code):
    """Which of the heavy packages are imported after some code has run."""
    return in_a_child(f"import sys\n{code}\nprint(*[m for m in {HEAVY} if m in sys.modules])")


def in_a_child(code):
    """The words of the last line some code prints in a new process."""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].split()


RUN = """
from blocks import Integrator
import cosim
d = cosim.Diagram()
d.add("x", Integrator())
d.ground("x.u")
cosim.simulate(d, 1.0, engine="reference")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        "import cosim",
        "import cosim\ncosim.Diagram, cosim.Simulation, cosim.simulate, cosim.linearize, cosim.trim",
        RUN,
    ],
    ids=["import", "names", "run"],
)
def test_nothing_heavy_is_imported(code):
    assert loaded(code) == []


def test_the_command_line_loads_no_models_before_it_is_asked_to():
    found = in_a_child("import sys\nimport cosim.cli.cli\nprint(*sys.modules)")
    assert not {"casadi", "cosim.scenario", "cosim.result", "cosim.fmi"}.intersection(found)


COMMAND = """
from cosim.cli.cli import app
app(["run", "examples/inverted_pendulum/scenario.toml", "--out", {!r}], standalone_mode=False)
"""


@pytest.mark.slow
def test_the_command_imports_what_it_uses(tmp_path):
    """A run from the command line, its result file included, waits for no library it can do without."""
    found = loaded(COMMAND.format(str(tmp_path)))
    assert (tmp_path / "result.nc").is_file()
    assert sorted(found) == ["lark", "lxml", "netCDF4", "plant", "typer"]


@pytest.mark.slow
def test_the_command_imports_only_the_parts_its_scenario_has(tmp_path, monkeypatch):
    """A second run of a model has its code, and this one has no FMU, robot or hardware."""
    code = COMMAND.format(str(tmp_path))
    monkeypatch.chdir(ROOT)
    exec(code, {})  # the first
    unused = ("cosim.engines.codegen.plan", "cosim.fmi.coupling.unit_run", "cosim.hardware_in_loop")
    unused += ("plant.gamma_q.robot_plant", "cosim.fmi.coupling.quality")
    code += f"\nimport sys; print(*[m for m in {unused} if m in sys.modules])\n"
    assert in_a_child(code) == []


def test_import_cosim_alone_imports_no_numerics_at_all():
    code = "import sys, cosim; print(*[m for m in ('numpy', 'casadi', 'networkx') if m in sys.modules])"
    assert in_a_child(code) == []


def test_public_names_can_be_imported_in_any_order():
    for name in cosim.__all__:
        assert getattr(cosim, name) is getattr(cosim, name)
    assert callable(cosim.trim) and callable(cosim.simulate)
    from cosim import trim

    assert callable(trim)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'cosim' has no attribute 'simulatte'"):
        cosim.simulatte  # noqa: B018
