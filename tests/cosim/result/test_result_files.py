"""Results on disk give back every bit; damaged, foreign and unwritable files are told."""

import errno
import os
import sys

import numpy as np
import pytest
import xarray as xr

from blocks.errors import PlantloopError
from cosim.result.result import Result
from cosim.result.result_layout import FORMAT, file_name_of

# -- looking at it
from tests.helpers.results import assert_same, awkward, pendulum


@pytest.mark.parametrize("suffix", [".nc", ".npz"])
@pytest.mark.parametrize(
    "make",
    [
        pendulum,
        awkward,
        lambda: Result("nothing", [], {}),
        lambda: Result(
            "no instants", [], {"a.b": np.empty((0, 2))}, complete=False, message="cancelled at t=0"
        ),
    ],
    ids=["pendulum", "awkward", "nothing", "no instants"],
)
def test_a_file_gives_back_every_bit(tmp_path, make, suffix):
    r, path = make(), tmp_path / f"run{suffix}"
    r.save(path)
    assert_same(r, Result.load(path))
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_netcdf_is_readable_by_xarray_alone(tmp_path):
    pendulum().save(tmp_path / "run.nc")
    with xr.open_dataset(tmp_path / "run.nc") as ds:
        assert ds["plant.pendulum"].sel({"plant.pendulum.component": "theta"}).values.tolist() == [0, 2, 4, 6]
        assert ds["controller.u"].attrs["units"] == "N"
        assert ds["event_name"].values.tolist() == ["wall.hit"]


def test_npz_is_readable_by_numpy_alone(tmp_path):
    pendulum().save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as arrays:
        assert arrays["plant.pendulum"].shape == (4, 2)
        assert arrays["controller.u@time"].tolist() == [0.0, 0.2]


def test_csv_numbers_read_back_exactly(tmp_path):
    awkward().save(tmp_path / "run.csv")
    table = np.genfromtxt(
        tmp_path / "run.csv", delimiter=",", skip_header=1, missing_values="", filling_values=np.nan
    )
    r = awkward()
    np.testing.assert_array_equal(table, np.column_stack([r.time, r.to_pandas().to_numpy()]))


def test_names_in_files_are_ascii_and_start_well():
    assert file_name_of("plant.pendulum[0]") == "plant.pendulum[0]"
    assert file_name_of("sub/gain.y") == "sub%2Fgain.y"
    assert file_name_of(".x") == "_.x"


def test_saving_makes_folders_replaces_the_file_and_reads_any_case(tmp_path):
    path = tmp_path / "new" / "folder" / "run.NC"
    for name in ("first", "second"):
        Result(name, [0.0], {}).save(str(path))
    assert Result.load(str(path)).name == "second"


def test_an_unknown_suffix_lists_the_known_ones(tmp_path):
    for path in (tmp_path / "run.mat", tmp_path / "run"):
        with pytest.raises(PlantloopError, match=r"suffix '.*' is unknown. Use one of .nc, .npz, .csv."):
            pendulum().save(path)
    with pytest.raises(PlantloopError, match=r"only .nc and .npz hold a whole result"):
        Result.load(tmp_path / "run.mat")


@pytest.mark.parametrize("suffix", [".nc", ".npz", ".csv"])
def test_a_folder_that_cannot_be_written_is_named(tmp_path, suffix):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(PlantloopError, match=r"cannot write '.*run.*Check that there is space") as error:
        pendulum().save(tmp_path / "file" / f"run{suffix}")
    assert error.value.path == str(tmp_path / "file" / f"run{suffix}")


@pytest.mark.skipif(sys.platform == "win32", reason="file size limits are a POSIX facility")
@pytest.mark.parametrize("suffix", [".nc", ".npz", ".csv"])
def test_a_full_disk_keeps_the_older_file(tmp_path, suffix):
    import resource

    path = tmp_path / f"run{suffix}"
    path.write_text("older")
    long = Result("long", np.arange(10_000.0), {"a.b": np.arange(10_000.0)})
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        with pytest.raises(PlantloopError, match="cannot write"):
            long.save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_text() == "older"
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_an_interrupted_save_keeps_the_older_file(tmp_path, monkeypatch):
    path = tmp_path / "run.npz"
    pendulum().save(path)

    def no_space(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", no_space)
    with pytest.raises(PlantloopError, match="No space left on device"):
        pendulum(name="newer").save(path)
    monkeypatch.undo()
    assert Result.load(path).name == "inverted_pendulum"
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(PlantloopError, match=r"no result file '.*run.nc'"):
        Result.load(tmp_path / "run.nc")


@pytest.mark.parametrize("suffix", [".nc", ".npz"])
def test_a_foreign_or_damaged_file_is_refused(tmp_path, suffix):
    path = tmp_path / f"run{suffix}"
    path.write_bytes(b"something else")
    with pytest.raises(PlantloopError, match="damaged or not a plantloop result"):
        Result.load(path)
    pendulum().save(path)
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(PlantloopError, match="damaged or not a plantloop result"):
        Result.load(path)


def test_a_file_of_another_program_or_version_is_refused(tmp_path):
    xr.Dataset({"x": ("t", [1.0])}).to_netcdf(tmp_path / "other.nc", engine="netcdf4")
    np.savez(tmp_path / "other.npz", x=np.ones(1))
    pendulum().to_xarray().assign_attrs(format="plantloop result 99").to_netcdf(tmp_path / "newer.nc")
    newer = f"is not a result .*got format 'plantloop result 99', expected '{FORMAT}'"
    for name, text in (("other.nc", "is no result"), ("other.npz", "is no result"), ("newer.nc", newer)):
        with pytest.raises(PlantloopError, match=rf"{name}' {text}"):
            Result.load(tmp_path / name)
