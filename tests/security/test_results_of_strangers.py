"""Results that somebody else has changed: an error of ours, or a result that can be looked at and saved."""

import json
import struct
import zipfile

import numpy as np
import pytest

from blocks import Gain, Integrator, PlantloopError, Sine
from cosim import Result, simulate
from cosim.result.drawing import KeptDrawing
from tests.helpers.made import chain


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Files of one result by suffix, and the arrays of the .npz."""
    r = simulate(chain(Sine(), Gain(2.0), Integrator()), 1.0, engine="reference", log_every=0.5)
    folder = tmp_path_factory.mktemp("kept")
    for suffix in (".npz", ".nc"):
        r.save(folder / f"r{suffix}")
    with np.load(folder / "r.npz") as file:
        return folder, {name: file[name] for name in file.files}


HEADERS = {
    "statistics of a list": {"statistics": "[1, 2]"},
    "statistics of a number": {"statistics": "1e308"},
    "statistics of nothing": {"statistics": "null"},
    "settings of a list": {"settings": "[]"},
    "rates of a text": {"rates": '"x"'},
    "aliases of flags": {"aliases": "true"},
    "half a letter as name": {"name": "\ud800"},
    "half a letter as message": {"message": "\udfff"},
    "half a letter in settings": {"settings": '{"\\ud800": {"value": 1, "origin": "x"}}'},
}


@pytest.mark.parametrize("case", HEADERS)
def test_changed_headers_are_refused(kept, tmp_path, case):
    header = json.loads(kept[1]["header"].item()) | HEADERS[case]
    np.savez(tmp_path / "r.npz", **{**kept[1], "header": np.array(json.dumps(header))})
    with pytest.raises(PlantloopError, match="is damaged or not a plantloop result"):
        Result.load(tmp_path / "r.npz")


@pytest.mark.parametrize("kind", [bool, np.float64, complex, "U4", "S4", np.int64])
def test_numbers_of_a_drawing_are_single_precision(kept, tmp_path, kind):
    drawn = np.zeros(3, kind)
    np.savez(tmp_path / "r.npz", **{**kept[1], "plantloop drawing.numbers": drawn})
    with pytest.raises(PlantloopError, match="the drawing kept with this result is damaged"):
        Result.load(tmp_path / "r.npz")
    with pytest.raises(PlantloopError, match="one row of float32"):
        KeptDrawing(b"", np.zeros((1, 2), np.float32))


def test_an_unreadable_head_of_an_array(kept, tmp_path):
    """NumPy's own reader of old heads raises an error of Python's tokenizer."""
    head = b"{'descr': '<f8', 'fortran_order': (False, 'shape': (3,)\n"
    with zipfile.ZipFile(tmp_path / "r.npz", "w") as file:
        for name, values in kept[1].items():
            whole = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head
            if name == "time":
                file.writestr("time.npy", whole)
            else:
                with file.open(f"{name}.npy", "w") as member:
                    np.save(member, values)
    with pytest.raises(PlantloopError, match="is damaged or not a plantloop result"):
        Result.load(tmp_path / "r.npz")


def test_files_that_grow_when_they_are_read(kept, tmp_path, monkeypatch):
    """Refused before they are unpacked, by the sizes they say."""
    netcdf = pytest.importorskip("netCDF4")
    monkeypatch.setattr("cosim.run.memory.installed", lambda: 2.0**26)
    with zipfile.ZipFile(tmp_path / "r.npz", "w", zipfile.ZIP_DEFLATED) as file:
        for name in kept[1]:
            with file.open(f"{name}.npy", "w") as member:
                np.save(member, kept[1][name])
        with file.open("more.npy", "w") as member:
            for _ in range(60):
                member.write(bytes(2**20))
    assert (tmp_path / "r.npz").stat().st_size < 2**18
    (tmp_path / "r.nc").write_bytes((kept[0] / "r.nc").read_bytes())
    with netcdf.Dataset(tmp_path / "r.nc", "a") as file:
        file.createDimension("long", 10**11)
        file.createVariable("more", "f8", ("long",), chunksizes=(10**4,))
    for name, size in (("r.npz", "0.0586"), ("r.nc", "745")):
        with pytest.raises(PlantloopError, match=f"needs {size}.* GB of memory, more than the 0.0469 GB"):
            Result.load(tmp_path / name)
