"""A Result is read-only data that is looked at, converted, kept on disk and drawn."""

import copy
import errno
import json
import os
import pickle
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
import xarray as xr
from matplotlib import rcParams
from matplotlib.figure import Figure

from blocks.errors import PlantloopError
from cosim.result import Event, Result, Setting, Ticks, plain
from cosim.result_files import FORMAT, file_name_of

NASTY = (
    np.nan,
    -np.nan,
    -0.0,
    np.inf,
    -np.inf,
    5e-324,  # smallest denormal number
    np.nextafter(1.0, 2.0),
    0.1 + 0.2,
)


def pendulum(**changes) -> Result:
    """A small result with everything in it: (4, 2), scalar and sampled signals, events, settings."""
    fields = {
        "name": "inverted_pendulum",
        "time": np.arange(4) / 10,
        "signals": {
            "plant.pendulum": np.arange(8.0).reshape(4, 2),
            "controller.u": np.array([1.0, 1.0, 2.0, 2.0]),
            "plant.slider": np.array([[0.0, 1.0], [0.1, 1.1], [0.2, 1.2], [0.3, 1.3]]),
        },
        "units": {"plant.pendulum": ("rad", "rad/s"), "controller.u": ("N",)},
        "labels": {"plant.pendulum": ("theta", "omega")},
        "ticks_of": {"controller.u": Ticks(np.array([0.0, 0.2]), np.array([[1.0], [2.0]]))},
        "events": (Event(0.15, "wall.hit", before={"ball.v": -1.0}, after={"ball.v": 0.8}),),
        "settings": {"solver": Setting("dopri5", "default"), "rtol": Setting(1e-8, "simulate()")},
        "statistics": {"steps": 17, "ticks": {"1/5 s": 2}, "wall_time": 0.25, "limited_by": None},
    }
    return Result(**(fields | changes))


def awkward() -> Result:
    """Names no file format likes, empty signals, and numbers that printing would change."""
    names = (
        "sub/gain.y",
        "sub%2Fgain.y",
        "a.b",
        "a.b.npy",
        "a.b[0]",
        "time",
        "event_time",
        "header",
        "file",
        ".hidden",
        "ends with space ",
        "winkel.θ",
        "e\u0301 against é",
        'quote"back\\slash',
        "a.b@ticks",
        "a.b.component",
        "",
    )
    n = len(NASTY)
    nasty = np.array(NASTY)
    signals = {name: nasty + i if i else nasty for i, name in enumerate(names)}
    signals |= {"wide.y": np.outer(nasty, [1.0, -1.0, 3.0]), "none.y": np.empty((n, 0))}
    return Result(
        name="größe / \n 1",
        time=np.arange(n) * 0.1,
        signals=signals,
        units={"wide.y": ("m", "", "days since yesterday"), "a.b": ("seconds",), "none.y": ()},
        labels={"wide.y": ("same", "same", "")},
        ticks_of={
            "a.b": Ticks(np.array([0.0, 0.1]), np.array([-0.0, np.nan])),
            "wide.y": Ticks(np.array([0.3]), np.array([[1.0, 2.0, 3.0]])),
            "sub/never.y": Ticks(np.empty(0), np.empty((0, 2))),
            "none.y": Ticks(np.array([1.0]), np.empty((1, 0))),
        },
        events=(Event(0.1 + 0.2, "größe", -0.0, (np.inf, 1e-310)), Event(0.3, "", None, {"x": (1.0,)})),
        settings={"long": Setting("x" * 100_000, "test"), "limits": Setting((-np.inf, 0.1), "test")},
        statistics={"ratio": 0.1 + 0.2, "never": np.inf, "big": 2**70},
        complete=False,
        message="stopped: 'größe' is not finite\nsecond line",
    )


def assert_same_bits(a, b):
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    assert (a.shape, a.dtype) == (b.shape, b.dtype)
    assert a.tobytes() == b.tobytes()


def assert_same(a: Result, b: Result):
    """Equal to the last bit, in the same order."""
    assert list(a.signals) == list(b.signals)
    assert list(a.ticks_of) == list(b.ticks_of)
    assert_same_bits(a.time, b.time)
    for name in a.signals:
        assert_same_bits(a.signals[name], b.signals[name])
    for name in a.ticks_of:
        assert_same_bits(a.ticks_of[name].time, b.ticks_of[name].time)
        assert_same_bits(a.ticks_of[name].values, b.ticks_of[name].values)
    for field in ("name", "units", "labels", "events", "settings", "statistics", "complete", "message"):
        assert repr(getattr(a, field)) == repr(getattr(b, field)), field  # repr tells -0.0 from 0.0


# -- looking at it


def test_a_signal_is_found_by_name_component_and_label():
    r = pendulum()
    assert r["plant.pendulum"].shape == (4, 2)
    assert r["controller.u"].shape == (4, 1)
    np.testing.assert_array_equal(r["plant.pendulum[1]"], [1, 3, 5, 7])
    np.testing.assert_array_equal(r["plant.pendulum.omega"], r["plant.pendulum[1]"])
    assert list(r) == list(r.keys()) == ["plant.pendulum", "controller.u", "plant.slider"]
    for name, there in {"plant.pendulum": True, "plant.pendulum[1]": True, "plant.pendulum.theta": True,
                        "plant.pendulum[2]": False, "plant": False, 3: False}.items():  # fmt: skip
        assert (name in r) is there


def test_an_exact_name_wins_over_a_component():
    time = np.zeros(1)
    r = Result("r", time, {"a.b": [[1.0, 2.0]], "a.b[0]": [3.0], "a.b.x": [4.0]}, labels={"a.b": ("x", "y")})
    assert r["a.b[0]"].tolist() == [[3.0]]
    assert r["a.b.x"].tolist() == [[4.0]]
    assert r["a.b.y"].tolist() == [2.0]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "plant.pendulm",
            "no signal 'plant.pendulm' in result 'inverted_pendulum'; did you mean 'plant.pendulum'?",
        ),
        ("plant.pendulum.thetta", "did you mean 'plant.pendulum.theta'?"),
        ("plant.pendulum[2]", "no component 2 in 'plant.pendulum': it has 2, counted from 0."),
        ("plant.pendulum[-1]", "no signal"),
    ],
)
def test_an_unknown_name_offers_the_near_miss(name, text):
    with pytest.raises(PlantloopError) as error:
        pendulum()[name]
    assert text in str(error.value)
    assert isinstance(error.value, KeyError)


def test_a_label_two_components_share_is_ambiguous():
    r = Result("r", np.zeros(1), {"a.b": [[1.0, 2.0]]}, labels={"a.b": ("x", "x")})
    with pytest.raises(PlantloopError, match=r"'a.b.x' is ambiguous. Use one of 'a.b\[0\]', 'a.b\[1\]'"):
        r["a.b.x"]
    assert "a.b.x" not in r


def test_at_gives_the_value_of_a_logged_instant_only():
    r = pendulum()
    assert r.at(0.2, "plant.pendulum").tolist() == [4.0, 5.0]
    assert r.at(3 * 0.1, "plant.pendulum.omega") == 7.0  # 0.30000000000000004
    with pytest.raises(
        PlantloopError, match=r"not logged at t=0.25 s; the nearest instants are 0.2, 0.3"
    ) as error:
        r.at(0.25, "plant.pendulum")
    assert error.value.time == 0.25
    for t in (-1.0, 0.4, np.nan):
        with pytest.raises(PlantloopError, match="not logged"):
            r.at(t, "plant.pendulum")
    with pytest.raises(PlantloopError, match="the log is empty"):
        Result("r", [], {"a.b": np.empty((0, 1))}).at(0.0, "a.b")


@pytest.mark.parametrize("t", ["plant.pendulum", None, [0.1, 0.2], 1j])
def test_at_wants_the_time_first(t):
    with pytest.raises(PlantloopError, match=r"expected a time \[s\].*the time comes first"):
        pendulum().at(t, "plant.pendulum")


def test_at_is_right_continuous_where_an_instant_was_logged_twice():
    assert Result("r", [0.0, 1.0, 1.0], {"a.b": [0.0, 1.0, 2.0]}).at(1.0, "a.b").tolist() == [2.0]


def test_ticks_unpack_into_times_and_values():
    r = pendulum()
    t, u = r.ticks("controller.u")
    assert (t.tolist(), u.tolist()) == ([0.0, 0.2], [[1.0], [2.0]])
    assert r.ticks("controller.u[0]").values.tolist() == [1.0, 2.0]


def test_ticks_of_a_continuous_or_unknown_signal_are_refused():
    with pytest.raises(PlantloopError, match=r"'plant.slider' has no ticks.*Sampled ones: 'controller.u'"):
        pendulum().ticks("plant.slider[0]")
    with pytest.raises(PlantloopError, match=r"no sampled signal 'controler.u'.*did you mean 'controller.u'"):
        pendulum().ticks("controler.u")


def test_nothing_in_a_result_can_be_written():
    r = pendulum()
    for array in (r.time, r["plant.pendulum"], r["plant.pendulum[0]"], *r.ticks("controller.u")):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    for mapping in (r.signals, r.settings, r.statistics, r.ticks_of):
        with pytest.raises(TypeError):
            mapping["x"] = 1
    with pytest.raises(AttributeError):
        r.name = "other"


def test_a_result_does_not_copy_the_log_nor_lock_its_owner():
    log = np.zeros((4, 2))
    r = pendulum(signals={"a.b": log}, units={}, labels={}, ticks_of={})
    assert np.shares_memory(r["a.b"], log)
    log[0, 0] = 1.0


def test_shapes_that_do_not_fit_are_refused_by_name():
    for changes, text in (
        ({"signals": {"a.b": np.zeros(3)}}, r"'a.b' do not match its 4 instants: got shape \(3,\)"),
        ({"signals": {"a.b": np.zeros((4, 1, 1))}}, r"got shape \(4, 1, 1\)"),
        ({"time": [0.0, 0.2, 0.1, 0.3]}, "times of result 'inverted_pendulum'"),
        ({"ticks_of": {"controller.u": Ticks(np.array([0.2, 0.1]), np.zeros(2))}}, "ticks of 'controller.u'"),
        ({"labels": {"plant.pendulum": ("theta",)}}, "expected 2 texts"),
        ({"units": {"plant.slider": "mm"}}, "expected 2 texts"),
        ({"units": {"plant.slidr": ("m", "m/s")}}, "did you mean 'plant.slider'"),
    ):
        with pytest.raises(PlantloopError, match=text):
            pendulum(**changes)


def test_settings_and_statistics_are_reduced_to_what_json_holds():
    given = {
        "steps": np.int64(3), "ok": np.bool_(True), "x": np.float32(0.5), "a": np.arange(2),
        "rate": Fraction(1, 100), "nested": [{1: {"b", "a"}}], "kind": int,
    }  # fmt: skip
    reduced = plain(given)
    assert reduced == {
        "steps": 3, "ok": True, "x": 0.5, "a": (0, 1),
        "rate": "1/100", "nested": ({"1": ("a", "b")},), "kind": "<class 'int'>",
    }  # fmt: skip
    json.dumps(reduced)
    assert pendulum(statistics=given).statistics == reduced


def test_repr_says_what_it_is():
    assert repr(pendulum()) == (
        "<Result 'inverted_pendulum': 4 instants, t = 0 .. 0.3 s, 3 signals (1 sampled), 1 events>"
    )
    empty = Result("r", [], {}, complete=False, message="cancelled")
    assert repr(empty) == "<Result 'r': 0 instants, 0 signals (0 sampled), 0 events, partial: cancelled>"


@pytest.mark.parametrize("make", [pendulum, awkward])
def test_copies_and_pickles_are_the_same_result(make):
    r = make()
    for other in (pickle.loads(pickle.dumps(r)), copy.deepcopy(r), copy.copy(r)):
        assert_same(r, other)
        assert not other.time.flags.writeable


def test_heavy_libraries_are_imported_on_first_use_only():
    code = """if True:
        import sys
        from cosim.result import Result
        r = Result("r", [0.0], {"a.b": [1.0]})
        assert r.at(0.0, "a.b") == 1.0
        assert not {"xarray", "pandas", "matplotlib", "netCDF4"} & set(sys.modules)
        r.plot()
        assert "matplotlib.pyplot" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", code], check=True)


# -- other shapes


def test_xarray_has_named_arrays_with_units_labels_and_the_rest():
    ds = pendulum().to_xarray()
    assert ds["plant.pendulum"].dims == ("time", "plant.pendulum.component")
    assert ds["plant.pendulum"].sel({"time": 0.2, "plant.pendulum.component": "omega"}) == 5.0
    assert ds["controller.u"].dims == ("time",)
    assert ds["controller.u"].attrs["units"] == "N"
    assert "units" not in ds["plant.pendulum"].attrs
    assert ds["controller.u@ticks"].dims == ("controller.u@time",)
    assert ds["controller.u@ticks"].sel({"controller.u@time": 0.2}) == 2.0
    assert ds["event_time"].values.tolist() == [0.15]
    assert json.loads(ds["event_after"].values[0]) == {"ball.v": 0.8}
    assert json.loads(ds.attrs["settings"])["solver"] == {"value": "dopri5", "origin": "default"}
    assert json.loads(ds.attrs["statistics"])["steps"] == 17


def test_xarray_keeps_every_name_it_can():
    ds = awkward().to_xarray()
    assert {"sub/gain.y", "winkel.θ", "time_", "event_time_"} <= set(ds.data_vars)
    assert ds["time_"].attrs["signal"] == "time"


def test_pandas_has_one_column_per_component():
    table = pendulum().to_pandas()
    assert list(table.columns) == [
        "plant.pendulum[0]", "plant.pendulum[1]", "controller.u", "plant.slider[0]", "plant.slider[1]",
    ]  # fmt: skip
    assert table.index.name == "time"
    assert table.loc[0.2, "plant.pendulum[1]"] == 5.0
    assert Result("r", [0.0, 1.0], {}).to_pandas().shape == (2, 0)


# -- files


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


# -- pictures


def test_plot_stacks_axes_and_saves_a_png(tmp_path):
    before = dict(rcParams)
    figure = pendulum().plot("plant.pendulum", "controller.u", path=tmp_path / "pictures" / "run.png")
    assert isinstance(figure, Figure)
    assert (tmp_path / "pictures" / "run.png").read_bytes().startswith(b"\x89PNG")
    assert dict(rcParams) == before
    top, bottom = figure.axes
    assert [line.get_label() for line in top.lines] == ["theta [rad]", "omega [rad/s]"]
    assert [text.get_text() for text in top.get_legend().get_texts()] == ["theta [rad]", "omega [rad/s]"]
    assert bottom.get_xlabel() == "time [s]"
    assert [axes.get_title(loc="left") for axes in (top, bottom)] == ["plant.pendulum", "controller.u [N]"]
    assert bottom.get_legend() is None
    assert figure.get_suptitle() == "inverted_pendulum"


def test_sampled_signals_are_drawn_as_steps_from_their_ticks():
    (axes,) = pendulum().plot("controller.u").axes
    (line,) = axes.lines
    assert line.get_drawstyle() == "steps-post"
    assert line.get_xydata().tolist() == [[0.0, 1.0], [0.2, 2.0], [0.3, 2.0]]  # held to the end of the log
    (continuous,) = pendulum().plot("plant.slider[0]").axes[0].lines
    assert continuous.get_drawstyle() == "default"


def test_plot_without_names_draws_everything_even_awkward_or_empty(tmp_path):
    assert len(pendulum().plot().axes) == 3
    assert len(awkward().plot(path=tmp_path / "awkward.png").axes) == len(awkward().keys())
    Result("r", [], {"a.b": np.empty((0, 2))}).plot(path=tmp_path / "empty.png")


def test_a_partial_result_says_so_in_the_title():
    figure = pendulum(complete=False).plot("plant.slider", title="run 7")
    assert figure.get_suptitle() == "run 7 (stopped at t = 0.3 s)"


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("plant.pendulum[0]", "plant.pendulum[0], theta [rad]"),
        ("plant.pendulum.theta", "plant.pendulum.theta [rad]"),
        ("plant.pendulum.theta [rad]", "plant.pendulum.theta [rad]"),
        ("mass.v", "mass.v [m/s]"),
        ("bare", "bare"),
    ],
)
def test_one_line_has_no_legend_but_its_label_in_the_title(name, title):
    one = Result(
        name="one",
        time=np.arange(2.0),
        signals={"plant.pendulum": np.zeros((2, 2)), "mass.v": np.zeros(2), "bare": np.zeros(2)},
        labels={"plant.pendulum": ("theta [rad]", "omega [rad/s]")},
        units={"mass.v": ("m/s",)},
    )
    (axes,) = one.plot(name).axes
    assert axes.get_legend() is None
    assert axes.get_title(loc="left") == title


def test_a_wide_signal_has_a_short_legend():
    r = Result("r", [0.0, 1.0], {"wide.y": np.zeros((2, 30))})
    (axes,) = r.plot().axes
    assert len(axes.lines) == 30
    assert len(axes.get_legend().get_texts()) == 10
    assert axes.get_legend().get_title().get_text() == "and 20 more"


def test_plot_errors_name_the_cure(tmp_path):
    with pytest.raises(PlantloopError, match="did you mean 'plant.slider'"):
        pendulum().plot("plant.slidr")
    with pytest.raises(PlantloopError, match="nothing to draw"):
        Result("r", [0.0], {}).plot()
    with pytest.raises(PlantloopError, match="100 signals do not fit one picture.*Name up to 60"):
        Result("r", [0.0], {f"b{i}.y": [0.0] for i in range(100)}).plot()
    with pytest.raises(PlantloopError, match=r"suffix '.xyz' is unknown. Use .png"):
        pendulum().plot(path=tmp_path / "run.xyz")
