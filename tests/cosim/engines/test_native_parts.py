"""What the native engine keeps and hands over, part by part, without compiled code."""

import math
from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest

from blocks import Constant
from blocks.contract.derived import Derived
from cosim import Diagram
from cosim.engines import starts
from cosim.engines.codegen.plan import NumberColumn, PlaceColumn, Shape
from cosim.engines.codegen.system_functions import expressions, whole
from cosim.engines.native import bindings
from cosim.engines.native.event_log import EventLog
from cosim.engines.native.host_calls import _on_casadi
from cosim.engines.native.methods import _longest_unwatched
from cosim.engines.native.native import STOPS, NativeEngine
from cosim.engines.native.tables import tables_of
from cosim.settings import RunSettings
from cosim.system_parts import SystemEvent
from tests.helpers.made import alone


def test_states_of_a_run_are_told_apart_and_leave_room_for_reasons():
    """0 is done, as in C; reasons to come back are above it."""
    others = {starts.WAITING, starts.RUNNING, starts.FAILED}
    assert starts.DONE == 0 and len(others) == 3 and max(others) < 0


def event(name, *resets):
    places = tuple((vector, np.array(at), ca.SX(len(at), 1)) for vector, at in resets)
    targets = tuple(f"t{k}" for k in range(len(resets)))
    return SystemEvent(name, name, ca.SX(0), 1, places, targets, np.zeros(0, int))


def test_events_are_read_as_they_were_written():
    """Time, number, all values before, all values after; one event without resets between two others."""
    log = bindings.new("pl_event_log")
    two = [event("none"), event("two", ("x", [0, 1]), ("h", [4]))]
    system = SimpleNamespace(events=two, derived=Derived())
    events = EventLog(system, log)
    written = [0.5, 1, 10, 11, 12, 20, 21, 22, 0.75, 0, 1.5, 1, 30, 31, 32, 40, 41, 42]
    events._values[: len(written)] = written
    log.used = len(written)
    found = [(e.time, e.name, e.before, e.after) for e in events.kept()()]
    assert found == [
        (0.5, "two", {"t0": (10.0, 11.0), "t1": (12.0,)}, {"t0": (20.0, 21.0), "t1": (22.0,)}),
        (0.75, "none", {}, {}),
        (1.5, "two", {"t0": (30.0, 31.0), "t1": (32.0,)}, {"t0": (40.0, 41.0), "t1": (42.0,)}),
    ]
    events.grow()
    assert log.capacity == 2048 and len(events.kept()()) == 3


def test_a_function_with_python_inside_is_given_its_arguments_in_a_row():
    x, y = ca.SX.sym("x", 2), ca.SX.sym("y", 3)
    answer = _on_casadi(ca.Function("f", [x, y], [10 * y, x[0] - x[1]]))
    row = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 0.0, 0.0, 0.0, 0.0, 99.0])
    answer(row)
    assert row.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 30.0, 40.0, 50.0, -1.0, 99.0]


def test_places_of_resets_tell_states_from_what_is_held():
    """A state k is -1 - k, something held is its own place."""

    def equations(b):
        x, m = b.continuous("x", [1.0, 2.0]), b.mode("m", 0.0)
        b.derivative(x, -x)
        b.when(x[0] - 0.5, [(x, x + 1.0), (m, 1.0)], "falling", "low")
        b.output("y", x + m)

    system = alone(equations).system()
    _, arrays = tables_of(system)
    (held,) = system.held["it.m"].index
    assert arrays["reset_places"].tolist() == [-1, -2, held]
    assert arrays["reset_start"].tolist() == [0, 3]


def test_without_states_somebody_has_to_look_at_what_depends_on_time():
    """Events in time, and memories refreshed at accepted steps; not those of what is held."""

    def in_time(b):
        m = b.mode("m", 0.0)
        b.when(b.time - 0.5, [(m, 1.0)], "rising", "half")
        b.output("y", m)

    def refreshed(b):
        b.output("y", b.accepted("last", lambda old: old + b.time, 0.0))

    settings = RunSettings.of(max_step=0.125)
    for equations in (in_time, refreshed):
        assert _longest_unwatched(alone(equations).system(), settings) == 0.125
    alone_constant = Diagram("constant")
    alone_constant.add("c", Constant(1.0))
    assert _longest_unwatched(alone_constant.system(), settings) == math.inf


def test_the_residual_stands_before_its_jacobian():
    """Two unknowns: z0 + 2 z1 = 3 and z0 z1 = 1."""

    def equations(b):
        z = b.algebraic("z", [1.0, 1.0])
        b.residual(np.array([z[0] + 2 * z[1] - 3, z[0] * z[1] - 1]))
        b.output("y", z)

    system = alone(equations).system()
    found = ca.Function("f", [system.w[:2]], [expressions(system)["residual"]])
    assert np.array(found([0.5, 4.0])).ravel().tolist() == [5.5, 1.0, 1.0, 4.0, 2.0, 0.5]
    names, function = whole(system)
    assert function.n_out() == len(names) + 1 and function.numel_out(len(names)) == 0  # no values of blocks


def test_columns_of_a_shape_are_those_it_reads_and_stores():
    place, number = PlaceColumn("x", 2), NumberColumn(1)
    assert Shape(0, (("add", (place, number)),), ((0, "v"), (0, "out"))).columns == 5
    only_numbers = Shape(0, (("same", (number,)),), ((0, "v"),))
    assert (only_numbers.columns, only_numbers.number_columns) == (1, 2)


@pytest.mark.parametrize("pending", [3, STOPS, 5 * STOPS])
def test_there_is_room_for_more_delayed_jumps_than_are_on_their_way(pending):
    stops = np.arange(float(pending))
    engine = SimpleNamespace(
        context=SimpleNamespace(stops=stops, histories={}), system=SimpleNamespace(delays=()),
        _state=bindings.new("pl_context"), _histories=(), _stops=np.zeros(STOPS + 8),
    )  # fmt: skip
    before = engine._stops
    NativeEngine._enter_delays(engine)
    assert engine._stops[:pending].tolist() == stops.tolist()
    assert engine._state.n_stops == pending
    assert len(engine._stops) == engine._state.stops_capacity >= pending + STOPS
    assert (engine._stops is before) == (pending == 3)
