"""A Result is read-only data that is looked at and converted."""

import copy
import json
import pickle
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from blocks.errors import PlantloopError
from cosim.result.checked_values import plain
from cosim.result.record import TickSeries
from cosim.result.result import Result

# -- looking at it
from tests.helpers.results import assert_same, awkward, made, pendulum


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
    r = made(
        name="r", time=time, signals={"a.b": [[1.0, 2.0]], "a.b[0]": [3.0], "a.b.x": [4.0]},
        labels={"a.b": ("x", "y")},
    )  # fmt: skip
    assert r["a.b[0]"].tolist() == [[3.0]]
    assert r["a.b.x"].tolist() == [[4.0]]
    assert r["a.b.y"].tolist() == [2.0]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "plant.pendulm",
            "result 'inverted_pendulum' has no signal 'plant.pendulm'; did you mean 'plant.pendulum'?",
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
    r = made(name="r", time=np.zeros(1), signals={"a.b": [[1.0, 2.0]]}, labels={"a.b": ("x", "x")})
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
        (
            {"signals": {"a.b": np.zeros(3)}, "labels": {}, "units": {}},
            r"'a.b' do not match its 4 instants: got shape \(3,\)",
        ),
        ({"signals": {"a.b": np.zeros((4, 1, 1))}, "labels": {}, "units": {}}, r"got shape \(4, 1, 1\)"),
        ({"time": [0.0, 0.2, 0.1, 0.3]}, "times of result 'inverted_pendulum'"),
        (
            {"ticks_of": {"controller.u": TickSeries(np.array([0.2, 0.1]), np.zeros(2))}},
            "ticks of 'controller.u'",
        ),
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


def test_events_are_printed_a_dozen_at_most_and_stay_a_tuple():
    events = tuple((0.1 * k, f"bounce {k}", None, None) for k in range(1000))
    found = pendulum(events=events).events
    assert isinstance(found, tuple) and found == events and found[3].name == "bounce 3"
    lines = repr(found).splitlines()
    assert lines[0] == "1000 events" and len(lines) == 13
    assert lines[1] == "  0 s  bounce 0" and lines[9] == "  ... 989 more" and "bounce 999" in lines[-1]
    assert repr(pendulum(events=events[1:2]).events) == "1 event\n  0.1 s  bounce 1"
    assert pickle.loads(pickle.dumps(found)) == found


@pytest.mark.parametrize("make", [pendulum, awkward])
def test_copies_and_pickles_are_the_same_result(make):
    r = make()
    for other in (pickle.loads(pickle.dumps(r)), copy.deepcopy(r), copy.copy(r)):
        assert_same(r, other)
        assert not other.time.flags.writeable


@pytest.mark.slow
def test_heavy_libraries_are_imported_on_first_use_only():
    code = """if True:
        import sys
        from cosim.result.result import Result
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
