"""Folders of results that somebody else has changed: manifest, table, signals, what is no file."""

import json
import os
import shutil

import numpy as np
import pandas as pd
import pytest

from blocks.errors import PlantloopError
from cosim import Study, open_study
from cosim.study.manifest_check import EXPECTED
from cosim.study.stored_rows import read_rows
from cosim.viewer.study_data import of_study

STUDY = """
[blocks.s]
type = "Sine"
[blocks.i]
type = "Integrator"
[wiring]
connect = ["s.y -> i.u"]
[run]
until = 1.0
log_every = 0.5
engine = "reference"
[sweep]
"s.amplitude" = [1.0, 2.0]
[metrics]
peak = "max(i.y)"
[[requirements]]
name = "low"
always = "i.y < 0.5"
[store]
keep = "all"
signals = ["i.y"]
"""


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """The folder of a small study that ran; tests put back what they change."""
    folder = tmp_path_factory.mktemp("kept")
    (folder / "study.toml").write_text(STUDY)
    Study(folder / "study.toml").run(folder / "out", executor="threads", workers=1)
    return folder / "out"


@pytest.fixture
def changed(kept):
    """A function that changes one file for the time of a test."""
    before = {}

    def change(name, content):
        before.setdefault(name, (kept / name).read_bytes())
        (kept / name).write_bytes(content)
        return kept

    yield change
    for name, content in before.items():
        (kept / name).write_bytes(content)


ODD = [
    None, -1, 0.5, True, "x", 10**400, [], [1], [10**400], {"a": 1}, [[]], float("nan"), "\ud800",
]  # fmt: skip
OF = {  # entries that some odd values are right for
    "name": ["x"], "keep": ["x"], "study_file": ["x"], "design": ["x"], "stored": [],
    **{key: [[]] for key in ("variants", "parameters", "metrics", "requirements")},
    **{key: [[]] for key in ("sampled", "spans", "times")},
}  # fmt: skip


@pytest.mark.parametrize("name", EXPECTED)
def test_every_entry_of_the_manifest_is_checked(kept, changed, name):
    whole = json.loads((kept / "study.json").read_text())
    for value in ODD:
        if value in OF.get(name, []) or (name == "times" and value == [1]):
            continue
        folder = changed("study.json", json.dumps({**whole, name: value}).encode())
        with pytest.raises(PlantloopError, match=r"study\.json' is damaged|more than the .* GB"):
            open_study(folder)
        changed("study.json", json.dumps(whole).encode())
    if name in ("name", "count", "chunk", "variants", "stored", "times", "fingerprints"):
        del whole[name]
        with pytest.raises(PlantloopError, match=r"study\.json' is damaged"):
            open_study(changed("study.json", json.dumps(whole).encode()))


@pytest.mark.parametrize("content", [b"", b"[]", b"3", b'"x"', b"[" * 100_000, b"\xff\xfe", b'{"format": 1}'])
def test_a_manifest_that_is_none(changed, content):
    with pytest.raises(PlantloopError, match=r"study\.json' is damaged"):
        open_study(changed("study.json", content))


ROWS = {
    "no metric": lambda f: f.drop(columns="peak"),
    "no requirement": lambda f: f.drop(columns="low"),
    "no margin": lambda f: f.drop(columns="low.robustness"),
    "no status": lambda f: f.drop(columns="status"),
    "a metric of texts": lambda f: f.assign(peak="</script>"),
    "a requirement of texts": lambda f: f.assign(low="no"),
    "a status of numbers": lambda f: f.assign(status=1.0),
    "messages that are none": lambda f: f.assign(message=None),
    "cases twice": lambda f: pd.concat([f, f]),
    "cases of other files": lambda f: f.assign(case=1 - f["case"]),
    "cases below 0": lambda f: f.assign(case=-1),
    "cases the study has not": lambda f: f.assign(case=10**12),
    "cases of texts": lambda f: f.assign(case="0"),
    "cases of fractions": lambda f: f.assign(case=0.5),
    "no cases": lambda f: f.drop(columns="case"),
}


@pytest.mark.parametrize("case", ROWS)
def test_changed_rows_are_refused(kept, changed, case):
    name = sorted(p.name for p in (kept / "table").iterdir())[0]
    made = ROWS[case](pd.read_parquet(kept / "table" / name)).to_parquet(index=False)
    s = open_study(changed(f"table/{name}", made))
    for look in (lambda: s.table, lambda: s.passed, lambda: s.view(show=False)):
        with pytest.raises(PlantloopError, match=r"table.* is damaged.*--resume does its cases again"):
            look()


def test_more_rows_than_cases_are_not_read():
    """A column of one value takes no room in the file, and all the memory when it is read."""
    many = pd.DataFrame({"case": np.zeros(10**6, np.int64)}).to_parquet(index=False)
    assert len(many) < 10_000
    with pytest.raises(ValueError, match="it has 1000000 rows, and the study 2 cases"):
        read_rows(many, pd.DataFrame({"case": [0]}), 2)


def entry(path, name, value):
    return json.dumps({**json.loads(path.read_text()), name: value}).encode()


@pytest.mark.parametrize(
    ("array", "name", "value"),
    [
        ("i.y", "shape", [10**9, 3]), ("i.y", "shape", [2, 10**9]), ("i.y", "data_type", "int64"),
        ("i.y", "dimension_names", [[1]]), ("i.y", "codecs", []), ("case", "zarr_format", 10**9),
        ("time", "node_type", "x"), (".", "node_type", "x"),
    ],
)  # fmt: skip
def test_changed_signals_are_refused(kept, changed, array, name, value):
    file = f"signals.zarr/{array}/zarr.json"
    s = open_study(changed(file, entry(kept / file, name, value)))
    with pytest.raises(PlantloopError, match=r"signals\.zarr' is damaged"):
        s.plot("i.y")
    assert len(s.table) == 2  # which can be read


@pytest.mark.slow
def test_damaged_numbers_of_signals(kept, changed):
    name = next(p for p in (kept / "signals.zarr" / "i.y").rglob("0") if p.is_file()).relative_to(kept)
    s = open_study(changed(name, b"\xff" * 60))
    for look in (lambda: s.plot("i.y"), lambda: s.report(kept.parent / "r.html"), lambda: s.view(show=False)):
        with pytest.raises(PlantloopError, match=r"signals\.zarr' is damaged"):
            look()


@pytest.mark.parametrize("place", ["study.json", "table/more.parquet", "signals.zarr/i.y/c/0"])
@pytest.mark.parametrize("kind", ["pipe", "link", "device", "folder"])
def test_links_pipes_and_devices_are_refused(kept, tmp_path, place, kind):
    """Before anything is read from them, which may never end, or written through them."""
    folder, away = tmp_path / "out", tmp_path / "away"
    shutil.copytree(kept, folder)
    name = folder / place
    if name.is_dir():
        shutil.rmtree(name)
    name.unlink(missing_ok=True)
    away.mkdir()
    if kind == "pipe":
        os.mkfifo(name)
    else:
        name.symlink_to({"link": kept / "study.json", "device": "/dev/zero", "folder": away}[kind])
    with pytest.raises(PlantloopError, match="in the results of a study is (a link|neither a file nor)"):
        open_study(folder)
    with pytest.raises(PlantloopError, match="in the results of a study is (a link|neither a file nor)"):
        Study(kept.parent / "study.toml").run(folder, resume=True, executor="threads")
    assert not list(away.iterdir())


def test_a_command_to_copy_is_one_command(kept, changed):
    """The page shows a command with the name of the study's file, for a user to paste into a shell."""
    whole = json.loads((kept / "study.json").read_text()) | {"study_file": "x.toml; rm -rf ~"}
    s = open_study(changed("study.json", json.dumps(whole).encode()))
    command = "cosim run 'x.toml; rm -rf ~' --case "
    assert s.store.manifest.command(3, s.store.folder.url) == f"{command}3"
    assert of_study(s).content["study"]["command"] == [command, ""]
