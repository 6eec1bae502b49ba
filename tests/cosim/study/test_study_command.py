"""`cosim sweep` on study files."""

import shlex

import pytest
from typer.testing import CliRunner

from cosim import Study, open_study
from cosim.cli.cli import app

TABLES = """
[sweep]
"k.k" = { from = 1.0, to = 9.0, count = 3 }
[[sweep.zip]]
"lag.x" = [0.0, 0.1]
"step.after" = [1.0, 1.5]
[metrics]
peak = "max(lag.y)"
settle = { settling = "lag.y", band = 0.05, value = "final" }
[[requirements]]
name = "low"
always = "lag.y < 1.3"
[store]
signals = ["lag.*"]
every = 0.1
"""


def cosim(*words):
    return CliRunner().invoke(app, [str(w) for w in words])


@pytest.mark.slow
def test_sweep_writes_shows_and_says_by_its_code_whether_all_is_well(study_file, tmp_path):
    path = study_file(TABLES)
    done = cosim("sweep", path, "--out", tmp_path / "out", "--workers", 1)
    assert done.exit_code == 1, done.output  # a requirement is not met
    assert "6 done" in done.output
    s = open_study(tmp_path / "out")
    assert [tuple(v) for v in s.table[["k.k", "lag.x", "step.after"]].to_numpy()] == [
        (1, 0, 1), (1, 0.1, 1.5), (5, 0, 1), (5, 0.1, 1.5), (9, 0, 1), (9, 0.1, 1.5)
    ]  # fmt: skip
    assert s.table.loc[2, "peak"] == pytest.approx(5 / 6, rel=1e-4)
    assert list(s.table["low"]) == [True, True, True, True, True, False]
    again = cosim("sweep", path, "--out", tmp_path / "out")
    assert again.exit_code == 1
    assert "--resume" in again.output
    assert cosim("sweep", path, "--out", tmp_path / "out", "--only", "failed").exit_code == 1
    # the files go with the results: a case can be run again where they are
    assert s.case(4).result["lag.y"].shape == (21, 1)
    path.write_text(path.read_text().replace("1.3", "2.0"))
    assert "requirements changed" in cosim("sweep", path, "--out", tmp_path / "out", "--resume").output
    assert cosim("sweep", path, "--out", tmp_path / "out2").exit_code == 0


def test_a_dry_run_writes_nothing(study_file, tmp_path):
    path = study_file(TABLES)
    shown = cosim("sweep", path, "--dry-run", "--out", tmp_path / "out")
    assert shown.exit_code == 0, shown.output
    assert "case 5  k.k = 9, lag.x = 0.1, step.after = 1.5" in shown.output
    assert "s per case" in shown.output
    assert not (tmp_path / "out").exists()
    some = cosim("sweep", path, "--dry-run", "--only", "1,5", "--limit", 1).output
    assert "1 of them to run" in some and "case 1" in some and "case 5" not in some and "case 0" not in some
    none = cosim("sweep", path, "--out", tmp_path / "out", "--only", "failed")  # of nothing
    assert "none done, 6 missing" in none.output and "nan" not in none.output
    cosim("sweep", path, "--out", tmp_path / "out", "--only", "0,2", "--workers", 1)
    rest = cosim("sweep", path, "--dry-run", "--out", tmp_path / "out", "--resume").output
    assert "4 of them to run" in rest and "case 1" in rest and "case 2" not in rest


def test_without_its_tables_it_runs_as_one_case(study_file, tmp_path):
    shown = cosim("run", study_file(TABLES), "--out", tmp_path / "out")
    assert shown.exit_code == 0, shown.output


def test_variants_are_models_of_their_own(study_file, tmp_path):
    text = """
[[variants]]
name = "slow"
[[variants]]
name = "fast"
blocks.lag.den = [0.1, 1.0]
[metrics]
end = "final(lag.y)"
at = "time_of_max(k.y)"
rise = { rise = "lag.y" }
"""
    assert cosim("sweep", study_file(text), "--out", tmp_path / "out").exit_code == 0
    table = open_study(tmp_path / "out").table
    assert list(table["variant"]) == ["slow", "fast"]
    assert table.loc[0, "rise"] == pytest.approx(0.3 / 6 * 2.197, abs=0.02)
    assert table.loc[1, "rise"] < table.loc[0, "rise"]


def test_cases_of_a_file(study_file, tmp_path):
    (tmp_path / "cases.csv").write_text("k.k,seed,lag.x\n2,11,0\n3,12,0.5\n")
    path = study_file(
        '[sampling]\nmethod = "file"\nfile = "cases.csv"\n[metrics]\nfirst = "initial(lag.y)"\n'
    )
    assert cosim("sweep", path, "--out", tmp_path / "out").exit_code == 0
    table = open_study(tmp_path / "out").table
    assert list(table["seed"]) == [11, 12]
    assert list(table["k.k"]) == [2.0, 3.0]


def test_a_pace_of_nothing_is_refused(study_file, tmp_path):
    """It ran at the pace of the clock."""
    said = cosim("run", study_file(TABLES), "--pace", 0, "--out", tmp_path / "out")
    assert said.exit_code == 1
    assert "pace is 0, expected a number above 0" in said.output
    assert not (tmp_path / "out").exists()


def test_a_metric_that_no_case_has_is_said(study_file, tmp_path):
    text = """
[sweep]
"k.k" = [1.0, 9.0]
[metrics]
never = { settling = "lag.y", band = 0.02, value = 9.0 }
sometimes = { settling = "lag.y", band = 0.02, value = 0.9 }
"""
    said = cosim("sweep", study_file(text), "--out", tmp_path / "out", "--workers", 1)
    assert "never: no case has a value" in said.output
    assert "largest), 1 without a value" in said.output


def test_an_interrupted_command_says_how_to_go_on_as_a_shell_takes_it(study_file, monkeypatch, tmp_path):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    for name in ("run", "falsify"):
        monkeypatch.setattr(Study, name, interrupted)
    text = '[sweep]\n"k.k" = [1, 2]\n[[requirements]]\nname = "r"\nalways = "lag.y < 1"\n'
    path, out = study_file(text, name="my study.toml"), str(tmp_path / "the results")
    shown = CliRunner().invoke(app, ["sweep", str(path), "--out", out])
    assert shown.exit_code == 130
    words = shlex.split(shown.output.partition("go on with ")[2])
    assert words == ["cosim", "sweep", str(path), "--out", out, "--resume"]
    shown = CliRunner().invoke(app, ["falsify", str(path), "--out", out])
    assert shlex.split(shown.output.partition("go on with ")[2]) == ["--out", out, "--resume"]
