"""Sources: exact edges, corners and jumps; nothing that depends on comparing time with a number."""

from fractions import Fraction

import numpy as np
import pytest

from blocks import BlockError, Clock, Constant, Integrator, Pulse, Ramp, Sine, Step, TimeTable
from cosim import Diagram, simulate
from tests.helpers.solo import Solo


def run(block, at):
    return Solo(block).run(at)["y"]


def reads_time(block):
    traced = Solo(block).traced
    return bool(traced.depends("y", traced.declared.outputs[0].expression)[3].any())


def test_constant_and_clock():
    np.testing.assert_array_equal(run(Constant([1, 2]), [0, 5]), [[1, 2], [1, 2]])
    np.testing.assert_array_equal(run(Clock(), [0, "1/3"]), [[0], [1 / 3]])


def test_step_jumps_at_its_instant_and_is_right_continuous():
    y = run(Step(0.3, before=[1, 2], after=5), [0, 0.2999, 0.3, 1])
    np.testing.assert_array_equal(y, [[1, 2], [1, 2], [5, 5], [5, 5]])


@pytest.mark.parametrize("time", [0, -1.0])
def test_step_at_or_before_the_start_has_happened(time):
    np.testing.assert_array_equal(run(Step(time), [0, 1]), [[1], [1]])


@pytest.mark.parametrize(
    "block", [Step(), Pulse(), TimeTable([0, 1], [1, 2], "previous")], ids=lambda b: type(b).__name__
)
def test_staircases_do_not_look_at_time(block):
    assert not reads_time(block)


def test_instants_are_exact():
    assert Solo(Step("1/3")).times == {"instants0": (Fraction(1, 3),)}
    assert Solo(Step(0.1 + 0.2)).times == {"instants0": (Fraction(3, 10),)}
    assert Solo(TimeTable([0, 1.02], [0, 1])).times == {"instants0": (0, Fraction(51, 50))}


def test_ramp_starts_at_its_corner():
    y = run(Ramp(slope=[2, -1], start=0.1, initial=3), [0, 0.1, 0.6])
    np.testing.assert_allclose(y, [[3, 3], [3, 3], [4, 2.5]], rtol=1e-15)


def test_sine_in_continuous_time_and_at_ticks():
    t = np.arange(11) / 10
    y = run(Sine(2, 3, 0.4, 1), t.tolist())
    np.testing.assert_array_equal(y[:, 0], 1 + 2 * np.sin(3 * t + 0.4))
    held = run(Sine(2, 3, sample=0.25, offset=0.05), [0, 0.05, 0.2, 0.3])[:, 0]
    first, second = 2 * np.sin(3 * 0.05), 2 * np.sin(3 * 0.3)
    np.testing.assert_array_equal(held, [0, first, first, second])


def test_pulse_edges_are_ticks_of_exact_rates():
    pulse = Pulse(5, period=1, width="1/3", delay=0.1)
    at = [0, 0.1, 0.4, Fraction(13, 30), 1.0, 1.1, 1.4, Fraction(43, 30)]
    np.testing.assert_array_equal(run(pulse, at)[:, 0], [0, 5, 5, 0, 0, 5, 5, 0])
    assert [t.offset for t in Solo(pulse).declared.ticks] == [Fraction(1, 10), Fraction(13, 30)]


@pytest.mark.parametrize(("width", "level"), [(0, 0.0), (1, 2.0)])
def test_pulse_that_is_never_or_always_on(width, level):
    np.testing.assert_array_equal(run(Pulse(2.0, 1, width), [0, 0.5, 1, 1.5, 2])[:, 0], [level] * 5)


def test_staircase_table_holds_before_between_and_after():
    table = TimeTable([0, 1.0, 1.02], [0, 1.0, 0], interpolation="previous")
    np.testing.assert_array_equal(run(table, [0, 0.99, 1, 1.01, 1.02, 9])[:, 0], [0, 0, 1, 1, 0, 0])
    late = TimeTable([1, 2], [[3, 4], [5, 6]], "previous")
    np.testing.assert_array_equal(run(late, [0, 1, 2, 3]), [[3, 4], [3, 4], [5, 6], [5, 6]])


def test_linear_table_has_corners_jumps_and_held_ends():
    table = TimeTable([1, 2, 2, 3], [[0, 1], [1, 2], [5, 0], [7, 8]])
    y = run(table, [0, 1, 1.5, 1.75, 2, 2.5, 3, 4])
    first = [0, 0, 0.5, 0.75, 5, 6, 7, 7]
    second = [1, 1, 1.5, 1.75, 0, 4, 8, 8]
    np.testing.assert_array_equal(y, np.transpose([first, second]))


def test_a_table_of_one_row_is_a_constant():
    np.testing.assert_array_equal(run(TimeTable([1], [3]), [0, 1, 2])[:, 0], [3, 3, 3])


@pytest.mark.parametrize("interpolation", ["previous", "linear"])
@pytest.mark.parametrize("rows", [5, 32, 33, 200])
def test_short_and_long_tables_are_exact_at_their_times(rows, interpolation):
    times = np.arange(rows) / 10 + 0.3
    values = np.random.default_rng(0).normal(size=(rows, 2))
    np.testing.assert_array_equal(run(TimeTable(times, values, interpolation), times.tolist()), values)


@pytest.mark.parametrize("given", [list, np.ndarray.tolist, lambda t: [0, *t[1:].tolist()]])
def test_times_mean_the_same_however_they_are_listed(given):
    """NumPy's numbers in a list, Python's, and whole numbers among them, as an array of them."""
    times = np.concatenate([[0.0, 1e-7, 1 / 3], np.random.default_rng(1).random(50) + 1]).cumsum()
    assert TimeTable(given(times), times).times == TimeTable(times, times).times


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_a_long_table_drives_a_stiff_run(engine):
    """Its derivative by time, which rodas4 asks for, was nan: no step was possible."""
    d = Diagram("stiff")
    wave, lag = d.add("wave", TimeTable(np.arange(40), np.arange(40.0) ** 2)), d.add("lag", Integrator())
    d.connect(wave["y"], lag["u"])
    r = simulate(d, 10.0, solver="rodas4", log_at=[10.0], engine=engine)
    assert r["lag.y"][-1] == pytest.approx(np.trapezoid(np.arange(11.0) ** 2), rel=1e-12)


def test_long_tables_are_looked_up_not_compared():
    times = np.arange(1000) / 10
    traced = Solo(TimeTable(times, times)).traced
    f = traced.function("y", traced.declared.outputs[0].expression)
    assert f.n_instructions() < 100


def test_a_linear_table_may_begin_and_end_with_a_jump():
    table = TimeTable([0, 0, 2, 2], [1, 3, 7, 0])
    np.testing.assert_array_equal(run(table, [0, 0.5, 1.5, 2, 3])[:, 0], [3, 4, 6, 0, 0])
    assert run(TimeTable([1, 1, 2], [1, 3, 7]), [0, 0.5, 1, 1.5]).ravel().tolist() == [1, 1, 3, 5]


@pytest.mark.parametrize("times", [[0, 0, 0, 1], [0, 1, 1, 1], [0, 1, 0.5, 2]])
def test_three_equal_times_are_no_jump(times):
    with pytest.raises(BlockError, match="^TimeTable: times goes from"):
        TimeTable(times, [1, 2, 3, 4])
