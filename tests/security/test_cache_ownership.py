"""Machine code is loaded only if this user wrote it; `clear` removes only what the cache wrote."""

import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

from blocks import Gain, Sine
from cosim import simulate
from cosim.cli.cli import app
from cosim.engines.native import cache, ownership
from tests.helpers.made import chain

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners and modes are those of POSIX"),
    pytest.mark.timeout(120),
]
ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
NOBODY = 65534
as_root = pytest.mark.skipif(not ROOT, reason="only root may give files away")


@pytest.fixture
def home(monkeypatch, tmp_path):
    """An empty place for a cache; temporary ones of this process are forgotten."""
    monkeypatch.setenv("PLANTLOOP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_temporary", [])
    return tmp_path / "cache"


def make(folder):
    (folder / cache.LIBRARY).write_bytes(b"made here")
    (folder / "model.c").write_text("int x;")
    (folder / "model.o").write_text("object")
    return {"made": "here"}


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o077])
def test_folders_are_closed_to_others_whatever_the_umask(home, umask):
    before = os.umask(umask)
    try:
        entry = cache.get("k", make)
    finally:
        os.umask(before)
    assert mode(home) == mode(home / "k") == 0o700
    assert mode(entry.library) == mode(home / "k" / cache.NOTE) == 0o600
    assert cache.get("k", lambda folder: pytest.fail("it was there")).library == entry.library


def test_a_run_under_an_open_umask_finds_its_code_again(home):
    before = os.umask(0)
    try:
        simulate(chain(Sine(), Gain(2.0)), 0.01, engine="native")
    finally:
        os.umask(before)
    assert mode(home) == 0o700
    for place in home.iterdir():
        assert cache._read(place) is not None


def forged(place):
    """An entry with its checksum, as somebody else would leave it."""
    place.mkdir(parents=True)
    (place / cache.LIBRARY).write_bytes(b"evil")
    checksum = hashlib.sha256(b"evil").hexdigest()
    (place / cache.NOTE).write_text(json.dumps({"checksum": checksum, "note": {}}))


def given_away(place):
    for path in (place, *place.rglob("*")):
        os.chown(path, NOBODY, NOBODY)


@as_root
@pytest.mark.parametrize("part", ["all", cache.LIBRARY, cache.NOTE])
def test_an_entry_of_another_user_is_not_loaded(home, part):
    cache.get("other", make)
    forged(home / "k")
    if part == "all":
        given_away(home / "k")
    else:
        os.chown(home / "k" / part, NOBODY, NOBODY)
    assert cache.find("k") is None
    assert cache.get("k", make).library.read_bytes() == b"made here"


@pytest.mark.parametrize("part", ["", cache.LIBRARY, cache.NOTE])
def test_an_entry_that_others_may_write_is_not_loaded(home, part):
    cache.get("other", make)
    forged(home / "k")
    (home / "k" / part).chmod(0o777)
    assert cache.find("k") is None
    assert cache.get("k", make).library.read_bytes() == b"made here"


@pytest.mark.parametrize("part", ["", cache.LIBRARY, cache.NOTE])
def test_an_entry_behind_a_link_is_not_loaded(home, tmp_path, part):
    cache.get("other", make)
    forged(tmp_path / "elsewhere")
    if part:
        forged(home / "k")
        (home / "k" / part).unlink()
        (home / "k" / part).symlink_to(tmp_path / "elsewhere" / part)
    else:
        (home / "k").symlink_to(tmp_path / "elsewhere")
    assert cache.find("k") is None
    assert cache.get("k", make).library.read_bytes() == b"made here"
    assert (tmp_path / "elsewhere" / cache.LIBRARY).read_bytes() == b"evil"


@as_root
def test_a_folder_of_another_user_is_not_used(home):
    forged(home / "k")
    given_away(home)
    with pytest.warns(UserWarning, match=r"is not used: it belongs to user 65534.*PLANTLOOP_CACHE"):
        entry = cache.get("k", make)
    assert entry.library.read_bytes() == b"made here" and home not in entry.library.parents
    assert mode(entry.library.parents[1]) == 0o700
    assert (home / "k" / cache.LIBRARY).read_bytes() == b"evil"
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # said once
        assert cache.find("k").library == entry.library


def test_a_folder_others_may_write_is_closed_or_not_used(home):
    """One that holds nothing but compiled code is closed; one with other things in it is left alone."""
    cache.get("k", make)
    home.chmod(0o777)
    assert cache.find("k") is not None and mode(home) == 0o700
    home.chmod(0o777)
    (home / "thesis.tex").write_text("x")
    with pytest.warns(UserWarning, match=r"is not used: others may write to it \(mode 777\)"):
        assert cache.find("k") is None
    assert mode(home) == 0o777


def test_a_folder_of_ones_own_is_left_as_it_is(home):
    home.mkdir(mode=0o755)
    (home / "thesis.tex").write_text("x")
    cache.get("k", make)
    assert mode(home) == 0o755 and cache.find("k") is not None


def tree(place):
    return sorted(str(p.relative_to(place)) for p in place.rglob("*"))


def test_clear_removes_what_the_cache_wrote_and_follows_no_link(home, tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    for name in ("main.c", "main.o", "lib.so", "data.json", cache.NOTE, cache.LIBRARY):
        (work / name).write_text("{}")
    cache.get("k", make)
    (home / "k" / "mine.c").write_text("mine")
    (home / "k2").symlink_to(work)
    (home / f"{cache.MAKING}1-00000000").symlink_to(work)
    (home / cache.FAILED).symlink_to(work)
    (home / "project").mkdir()
    (home / "project" / "main.c").write_text("mine")
    before = tree(work)
    assert CliRunner().invoke(app, ["cache", "clear"]).exit_code == 0
    assert tree(work) == before
    left = {"k", "k/mine.c", "k2", f"{cache.MAKING}1-00000000", cache.FAILED, "project", "project/main.c"}
    assert set(tree(home)) - {f"k2/{n}" for n in before} == left


def test_a_folder_behind_a_link_of_ones_own_is_used(home, tmp_path):
    """As where a cache lies on another disk."""
    (tmp_path / "disk").mkdir()
    home.symlink_to(tmp_path / "disk")
    cache.get("k", make)
    assert (tmp_path / "disk" / "k" / cache.LIBRARY).exists() and cache.find("k") is not None
    assert cache.clear().entries == 1 and not (tmp_path / "disk" / "k").exists()


@pytest.mark.parametrize("how", ["no HOME", "no user", "HOME is a file", "no folder at all"])
def test_without_a_home_a_run_says_so_and_goes_on(tmp_path, how):
    """In another process, where nothing is compiled yet."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("XDG", "PLANTLOOP", "HOME"))}
    if how == "HOME is a file":
        (tmp_path / "home").write_text("")
        environment["HOME"] = str(tmp_path / "home")
    code = "import os, pwd, sys\n"
    if how in ("no user", "no folder at all"):
        code += "def none(*_): raise KeyError('no such user')\npwd.getpwuid = pwd.getpwnam = none\n"
    if how == "no folder at all":
        code += "import tempfile\ntempfile.tempdir = '/nowhere'\n"
    code += "from blocks import PlantloopError\nfrom cosim.engines.native import cache\n"
    code += "try:\n    print(cache._writable(cache._home()))\nexcept PlantloopError as e: print('ERROR', e)\n"
    environment |= {"PYTHONPATH": os.getcwd(), "TMPDIR": str(tmp_path)}
    if how == "no HOME":
        code = code.replace("cache._writable(cache._home())", "cache._home()")
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command,
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    assert not (tmp_path / "~").exists()
    if how == "no HOME":
        assert Path(done.stdout.strip()).is_absolute()
    elif how == "no folder at all":
        assert "ERROR" in done.stdout and "no temporary folder" in done.stdout
    else:
        assert "kept for this process only" in done.stderr and "plantloop-" in done.stdout
    shutil.rmtree(tmp_path / "plantloop", ignore_errors=True)


@pytest.mark.parametrize(("mode", "closed"), [(0o755, True), (0o711, True), (0o775, False), (0o702, False)])
def test_others_may_read_but_not_write(tmp_path, mode, closed):
    tmp_path.chmod(mode)
    assert (ownership.fault_of_folder(tmp_path) == "") == closed


def test_only_what_the_cache_makes_is_its_own(tmp_path):
    """Entries have a note; folders under way and that of a failed compilation have their names."""
    for name in (f"{cache.MAKING}1", cache.FAILED, "entry"):
        (tmp_path / name).mkdir()
    (tmp_path / "entry" / cache.NOTE).write_text("{}")
    assert cache._all_ours(tmp_path)
    (tmp_path / "letters").mkdir()
    assert not cache._all_ours(tmp_path)
