"""Selection, names, buses, tables and schedules, against NumPy and SciPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose as close
from scipy.interpolate import Akima1DInterpolator, CubicSpline, RegularGridInterpolator

from blocks import (
    BlockError,
    BusCreator,
    BusSelector,
    Constant,
    DataStore,
    DirectLookup,
    DynamicLookup,
    From,
    Gain,
    Goto,
    IndexVector,
    Integrator,
    InterpolationUsingPrelookup,
    LookupTable1D,
    LookupTableND,
    ManualSwitch,
    Merge,
    MultiportSwitch,
    Prelookup,
    Ramp,
    ScheduledGain,
    ScheduledPID,
    ScheduledStateSpace,
    Sine,
    TimeTable,
    WiringError,
)
from cosim import Diagram, simulate
from tests.blocks.library.test_logic import fed, sampled
from tests.helpers.solo import Solo

ENGINES = pytest.mark.parametrize("engine", ["reference", "native"])


@ENGINES
def test_one_of_several_signals(engine):
    t = np.array([0.4, 0.6, 1.4, 1.6, 2.6, 3.9])
    sources = {"control": Ramp(1.0), "in1": Constant(10.0), "in2": Sine(), "in3": Constant(30.0)}
    r = simulate(fed(MultiportSwitch(3), sources), 4.0, log_at=t, engine=engine)
    close(r["it.y"][:, 0], [10, 10, 10, np.sin(1.6), 30, 30])
    assert r["area.y"][-1, 0] == pytest.approx(15 + np.cos(1.5) - np.cos(2.5) + 30 * 1.4, abs=1e-7)
    r = simulate(
        fed(IndexVector(), {"control": Ramp(1.0), "u": Constant([1.0, 2.0, 3.0])}),
        4.0,
        log_at=t,
        engine=engine,
    )
    close(r["it.y"][:, 0], [1, 2, 2, 3, 3, 3])
    d = fed(ManualSwitch(), {"in1": Constant(1.0), "in2": Constant(2.0)})
    assert simulate(d, 1.0, engine=engine)["it.y"][-1, 0] == 1
    assert simulate(d, 1.0, engine=engine, parameters={"it.position": 2})["it.y"][-1, 0] == 2


def test_what_is_kept_and_what_changed_last():
    y = sampled(DataStore(0.1, initial=9.0), u=[1, 2, 3, 4, 5], write=[0, 1, 0, 1, 0])["y"][:, 0]
    assert y.tolist() == [9, 9, 2, 2, 4]
    y = sampled(Merge(2, sample=0.1), in1=[0, 1, 1, 1, 2], in2=[0, 0, 5, 5, 6])["y"][:, 0]
    assert y.tolist() == [0, 1, 5, 5, 2]


@ENGINES
def test_names_reach_into_subsystems_and_the_nearest_counts(engine):
    inner = Diagram("inner")
    inner.connect(inner.add("from", From("speed"))["y"], inner.add("double", Gain(2.0))["u"])
    inner.outport("y", inner["double"]["y"])
    d = Diagram("d")
    d.connect(d.add("wave", Sine())["y"], d.add("tag", Goto("speed"))["u"])
    sub = d.add("sub", inner)
    d.connect(sub["y"], d.add("area", Integrator())["u"])
    r = simulate(d, 2.0, engine=engine)
    assert r["area.y"][-1, 0] == pytest.approx(2 * (1 - np.cos(2.0)), abs=1e-8)
    d = Diagram("d")
    d.add("lost", From("sped"))
    with pytest.raises(WiringError, match="'lost' looks for the Goto 'sped'"):
        simulate(d, 1.0)


def test_a_bus_has_names():
    members = {"speed": 1, "pose": {"place": 2, "angle": 1}}
    d = Diagram("d")
    bus, part = d.add("bus", BusCreator(members)), d.add("part", BusSelector(members, ["pose.angle", "pose"]))
    d.connect(d.add("a", Constant(1.0))["y"], bus["speed"])
    d.connect(d.add("b", Constant([2.0, 3.0]))["y"], bus["pose.place"])
    d.connect(d.add("c", Constant(4.0))["y"], bus["pose.angle"])
    d.connect(bus["bus"], part["bus"])
    r = simulate(d, 0.1)
    assert r["part.pose.angle"][-1].tolist() == [4]
    assert r["part.pose"][-1].tolist() == [2, 3, 4]
    assert r["bus.bus"][-1].tolist() == [1, 2, 3, 4]
    with pytest.raises(BlockError, match="pose.angel"):
        BusSelector(members, ["pose.angel"])


def gridded(grid, values, method, points):
    """SciPy's answer; its own cubic on grids is solved to 1e-6 only, so splines axis by axis."""
    if method == "linear":
        return RegularGridInterpolator(grid, values)(points)
    found = []
    for point in points:
        table = values
        for axis, u in zip(grid, point, strict=True):
            table = CubicSpline(axis, table, axis=0)(u)
        found.append(float(table))
    return np.array(found)


@pytest.mark.parametrize("method", ["linear", "cubic"])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_tables_on_grids_are_scipys(method, axes):
    rng = np.random.default_rng(axes)
    grid = [np.sort(rng.uniform(-2, 2, n)) for n in (5, 6, 4)[:axes]]
    values = rng.normal(size=[len(g) for g in grid])
    u = np.array([[rng.uniform(g[0], g[-1]) for g in grid] for _ in range(20)])
    wanted = gridded(grid, values, method, u)
    block = LookupTableND([g.tolist() for g in grid], values.tolist(), method)
    solo = Solo(block, {f"u{k}": 1 for k in range(1, axes + 1)})
    close([solo.outputs([v[k : k + 1] for k in range(axes)])["y"][0] for v in u], wanted, atol=1e-10)
    beyond = [np.array([g[-1] + 1.0]) for g in grid]
    close(solo.outputs(beyond)["y"], values[(-1,) * axes], atol=1e-10)


def test_extrapolation_goes_on_with_the_outer_cells():
    block = LookupTableND([[0, 1], [0, 2]], [[0, 2], [3, 5]], outside="extrapolate")
    solo = Solo(block, {"u1": 1, "u2": 1})
    assert solo.outputs([np.array([2.0]), np.array([-1.0])])["y"][0] == pytest.approx(2 * 3 - 1)


@ENGINES
def test_a_compiled_table_runs(engine):
    grid = np.linspace(-2, 2, 9)
    values = np.sin(grid)[:, None] * np.cos(grid)[None, :]
    for method in ("linear", "cubic"):
        block = LookupTableND([grid, grid], values, method)
        r = simulate(fed(block, {"u1": Sine(1.9), "u2": Sine(1.5, 2.0)}), 3.0, log_every=0.25, engine=engine)
        u = np.stack([1.9 * np.sin(r.time), 1.5 * np.sin(2 * r.time)], axis=1)
        close(r["it.y"][:, 0], gridded([grid, grid], values, method, u), atol=1e-10)


def test_makima_is_scipys():
    x, y = np.array([0.0, 1.0, 1.5, 4.0, 5.0, 6.0]), np.array([0.0, 0.0, 2.0, 2.0, 2.0, -1.0])
    u = np.linspace(0.05, 5.9, 30)
    got = Solo(LookupTable1D(x, y, "makima"), {"u": u.size}).outputs([u])["y"]
    close(got, Akima1DInterpolator(x, y, method="makima")(u), atol=1e-12)


@pytest.mark.parametrize("n", [5, 60])
def test_two_stages_are_one(n):
    points = np.linspace(-1, 3, n) ** 3
    values = np.cos(points)
    for u in (-5.0, *np.linspace(-0.9, 26.0, 13), 40.0):
        k, f = Solo(Prelookup(points), {"u": 1}).outputs([np.array([u])]).values()
        y = Solo(InterpolationUsingPrelookup(values), {"k1": 1, "f1": 1}).outputs([k, f])["y"]
        assert y[0] == pytest.approx(np.interp(u, points, values), abs=1e-12)


def test_rows_by_number_and_points_that_are_signals():
    for u, row in ((-3.0, [1, 2]), (0.4, [1, 2]), (0.6, [3, 4]), (9.0, [3, 4])):
        d = fed(DirectLookup([[1.0, 2.0], [3.0, 4.0]]), {"u": Constant(u)})
        assert simulate(d, 0.1, engine="reference")["it.y"].tolist()[-1] == row
    x, v = np.array([0.0, 1.0, 3.0]), np.array([2.0, 0.0, 5.0])
    solo = Solo(DynamicLookup(3), {"u": 1, "x": 3, "values": 3})
    for u in (-1.0, 0.0, 0.3, 1.0, 2.5, 3.0, 9.0):
        assert solo.outputs([np.array([u]), x, v])["y"][0] == pytest.approx(np.interp(u, x, v), abs=1e-15)


def test_schedules_are_straight_between_points():
    solo = Solo(ScheduledGain([0.0, 1.0, 3.0], [3.0, 1.0, 2.0]), {"p": 1, "u": 1})
    for p in (-1.0, 0.0, 0.4, 1.0, 2.0, 5.0):
        y = solo.outputs([np.array([p]), np.array([2.0])])["y"][0]
        assert y == pytest.approx(2 * np.interp(p, [0, 1, 3], [3, 1, 2]))


@ENGINES
def test_scheduled_dynamics(engine):
    """x' = -(1 + p) x with p = t: x = exp(-t - t^2/2)."""
    block = ScheduledStateSpace(
        [0, 2], [[[-1.0]], [[-3.0]]], [[[0.0]], [[0.0]]], [[[1.0]], [[1.0]]], initial=1.0
    )
    t = np.linspace(0.1, 2, 9)
    r = simulate(fed(block, {"p": Ramp(1.0), "u": Constant(0.0)}), 2.0, log_at=t, engine=engine)
    close(r["it.y"][:, 0], np.exp(-t - t**2 / 2), atol=1e-8)
    p = TimeTable([0.0, 1.0], [0.0, 1.0], "previous")
    block = ScheduledPID([0.0, 1.0], [2.0, 1.0], [1.0, 3.0], [0.0, 0.0])
    r = simulate(fed(block, {"p": p, "e": Constant(1.0)}, "u"), 2.0, log_at=t, engine=engine)
    close(r["it.u"][:, 0], np.where(t < 1, 2 + t, 1 + 1 + 3 * (t - 1)), atol=1e-8)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: MultiportSwitch(0), "n is 0"),
        (lambda: ManualSwitch(3), "position is 3.0"),
        (lambda: Goto(""), "tag is ''"),
        (lambda: BusCreator({}), "members is {}"),
        (lambda: BusSelector({"a": 1}, []), "names is []"),
        (lambda: BusSelector({"a": 1}, ["a", 3]), "names is ['a', 3]"),
        (lambda: LookupTableND([[0, 1]], [1, 2, 3]), "finite numbers of shape (2,)"),
        (lambda: LookupTableND([[1, 0]], [1, 2]), "finite, increasing points"),
        (lambda: LookupTableND([[0, 1, 2]], [1, 2, 3], "cubic"), "of 4 points or more"),
        (lambda: Prelookup([1]), "has 1 points"),
        (lambda: ScheduledGain([0, 1], [1, 2, 3]), "gains has shape (3,)"),
        (lambda: ScheduledStateSpace([0], [[[1, 2]]], [[[1]]], [[[1]]]), "A has shape (1, 1, 2)"),
    ],
)
def test_wrong_fields(make, text):
    with pytest.raises(BlockError) as caught:
        make()
    assert text in str(caught.value)


@ENGINES
def test_a_merge_without_ticks_shows_the_newest_that_is_on(engine):
    sources = {"in1": Sine(), "in2": Constant(5.0), "on1": Sine(1.0, np.pi), "on2": Sine(1.0, 0.5 * np.pi)}
    d = fed(Merge(2, initial=-1.0), sources)
    t = np.array([0.5, 1.5, 2.5, 3.5, 4.5, 5.5])
    r = simulate(d, 6.0, log_at=t, engine=engine)
    # on1 in (0, 1), (2, 3), (4, 5); on2 in (0, 2), (4, 6): from 3 to 4 nothing is on
    close(r["it.y"][:, 0], [np.sin(0.5), 5, np.sin(2.5), np.sin(3.0), np.sin(4.5), 5], atol=1e-9)
    area = 1 - np.cos(1.0) + 5 + np.cos(2.0) - np.cos(3.0) + np.sin(3.0) + np.cos(4.0) - np.cos(5.0) + 2.5
    assert r["area.y"][-1, 0] == pytest.approx(area, abs=1e-7)
    before = simulate(
        fed(Merge(1, initial=-1.0), {"in1": Sine(), "on1": Ramp(1.0, 2.0)}), 3.0, log_at=[1.0, 3.0]
    )
    close(before["it.y"][:, 0], [-1.0, np.sin(3.0)])


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (5, 4, 3, 2)])
def test_direct_look_up_by_several_numbers_is_numpys_indexing(shape):
    rng = np.random.default_rng(41)
    table = rng.normal(size=shape)
    times = np.arange(20.0)
    for indices in range(1, len(shape) + 1):
        names = ["u"] if indices == 1 else [f"u{k + 1}" for k in range(indices)]
        u = rng.uniform(-2, 6, size=(20, indices))
        sources = {n: TimeTable(times, u[:, k], "previous") for k, n in enumerate(names)}
        r = simulate(fed(DirectLookup(table, indices), sources), 20.0, log_at=times + 0.5, engine="reference")
        at = np.clip(np.floor(u + 0.5), 0, np.array(shape[:indices]) - 1).astype(int)
        close(r["it.y"], table[tuple(at.T)].reshape(20, -1), rtol=0)


def test_a_direct_look_up_of_more_axes_than_there_are_is_refused():
    with pytest.raises(BlockError, match="indices is 2, expected at most the 1 axes of table"):
        DirectLookup([1.0, 2.0], 2)


@ENGINES
def test_a_direct_look_up_of_continuous_signals_changes_by_events(engine):
    d = fed(DirectLookup([[1.0, 2.0], [3.0, 5.0]], 2), {"u1": Ramp(1.0), "u2": Sine(1.0, np.pi)})
    r = simulate(d, 3.0, log_at=[0.1, 0.3, 0.9, 2.5, 3.0], engine=engine)
    # u1 is 0 until t = 0.5; u2 is 1 for t in (1/6, 5/6) and (13/6, 17/6)
    close(r["it.y"][:, 0], [1.0, 2.0, 3.0, 5.0, 3.0])
    area = 1 / 6 + 2 / 3 + 5 / 3 + 3 * (13 / 6 - 5 / 6) + 5 * 2 / 3 + 3 / 6
    assert r["area.y"][-1, 0] == pytest.approx(area, abs=1e-8)


@pytest.mark.parametrize("rows", [4, 40])
@pytest.mark.parametrize("outside", ["hold", "extrapolate"])
def test_a_place_among_points_is_that_of_searchsorted(rows, outside):
    """At a point the interval that begins there, at the last one the end of the last."""
    points = np.cumsum(np.random.default_rng(2).uniform(0.1, 2.0, rows)) - 1.0
    solo = Solo(Prelookup(points, outside), {"u": 1})
    middles = 0.5 * (points[1:] + points[:-1])
    for u in (*points, *middles, points[0] - 0.3, points[-1] + 0.3):
        k = np.clip(np.searchsorted(points, u, side="right") - 1, 0, rows - 2)
        f = (u - points[k]) / (points[k + 1] - points[k])
        found = solo.outputs([np.array([u])])
        assert found["k"] == k
        assert found["f"] == pytest.approx(np.clip(f, 0, 1) if outside == "hold" else f, abs=1e-15)
    found = solo.outputs([np.array([np.nan])])
    assert np.isnan(found["k"]) and np.isnan(found["f"])
