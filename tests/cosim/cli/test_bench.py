"""`cosim bench`: which scripts there are, what it says when it cannot run one, and that one runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from blocks.errors import PlantloopError
from cosim.cli.bench import run_scripts, scripts
from cosim.cli.cli import app

ROOT = Path(__file__).parents[3]
PEERS = {"bdsim", "drake", "exudyn", "jaxonomy", "mujoco", "numba", "pathsim", "pin", "simupy"}


def test_every_script_is_found_from_any_folder_of_the_checkout():
    found = scripts(ROOT / "tests" / "cosim")
    assert found == scripts(ROOT)
    assert {"cartpole", "chain", "four_bars", "memory"} <= set(found)
    assert not {name for name in found if name.endswith("_model") or name == "support"}


def test_every_script_is_in_the_readme():
    text = (ROOT / "benchmarks" / "README.md").read_text()
    assert [name for name in scripts(ROOT) if f"`{name}`" not in text] == []


def test_outside_of_a_checkout(tmp_path):
    with pytest.raises(PlantloopError, match="no checkout of plantloop.*Run cosim bench inside a checkout"):
        scripts(tmp_path)


def test_unknown_name(monkeypatch):
    monkeypatch.chdir(ROOT)
    done = CliRunner().invoke(app, ["bench", "cartpol", "--smoke"])
    assert done.exit_code == 1
    assert "no benchmark 'cartpol'; did you mean 'cartpole'?" in done.output


@pytest.mark.slow
def test_smoke_of_a_script_leaves_nothing_behind(capfd, monkeypatch, tmp_path):
    before = {f: f.stat().st_mtime_ns for f in (ROOT / "benchmarks").rglob("*.py")}
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    run_scripts(ROOT, ["snapshot"], smoke=True)
    out, err = capfd.readouterr()
    assert "20 + 20 discrete, native" in out and err == ""
    assert os.listdir(tmp_path) == []
    assert {f: f.stat().st_mtime_ns for f in (ROOT / "benchmarks").rglob("*.py")} == before


def test_a_script_that_fails_is_named(capfd, monkeypatch, tmp_path):
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "cosim" / "cli").mkdir(parents=True)
    (tmp_path / "cosim" / "cli" / "bench.py").write_text("")
    (tmp_path / "benchmarks" / "cartpole_model.py").write_text("")
    (tmp_path / "benchmarks" / "good.py").write_text("print('well')")
    (tmp_path / "benchmarks" / "bad.py").write_text("raise SystemExit(3)")
    with pytest.raises(PlantloopError, match="benchmarks that failed: bad"):
        run_scripts(tmp_path, [], smoke=True)
    assert "well" in capfd.readouterr().out


def test_no_script_imports_a_peer_before_it_is_asked_for():
    """Peers are optional: their imports stand inside the functions that need them."""
    for path in (ROOT / "benchmarks").rglob("*.py"):
        top = {
            line.split()[1].split(".")[0]
            for line in path.read_text().splitlines()
            if line.startswith(("import ", "from "))
        }
        assert not top & (PEERS | {"pydrake", "pinocchio", "jax"}), path
