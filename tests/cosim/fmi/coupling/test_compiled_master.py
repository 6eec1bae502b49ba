"""What the compiled coupling is told of a system: wires, points, room; and when it is used."""

from __future__ import annotations

import math
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

import blocks as B
from cosim import FMU, Coupling, Diagram, Simulation, Triggered
from cosim.engines.native import bindings as b
from cosim.fmi.coupling import compiled_master
from cosim.fmi.coupling.compiled_master import CompiledMaster
from cosim.fmi.coupling.unit_run import KEPT
from tests.helpers.fmus import build_fmu, needs_compiler
from tests.helpers.made import Made


def lag(sample="1/4", offset=0, **more):
    return FMU(build_fmu("lag", version="2.0"), kind="cs", sample=sample, offset=offset, **more)


def pair(**second):
    """Two lags in a row, one of which reads the other."""
    d = Diagram("pair")
    d.add("a", lag())
    d.add("b", lag(**second))
    d.connect("a.y", "b.u")
    return d


def grounded(d):
    d.ground("a.u")
    return d


@contextmanager
def coupled(d, coupling=None, until=0.0):
    """The compiled coupling of a run."""
    with Simulation(
        d, engine="native", coupling=coupling or Coupling(extrapolation=0), solver="rk4", step=0.01
    ) as s:
        s.advance(until)
        yield s._engine._compiled()


# --- communication points and samples -----------------------------------------------------------------------
@needs_compiler
def test_communication_points_are_whole_numbers_of_a_grid():
    with coupled(grounded(pair(sample="1/3", offset="1/10"))) as m:
        assert m._table.grid == math.lcm(4, 3, 10)
        assert [(u.table.first, u.table.period) for u in m.units] == [(0, 15), (6, 20)]
        assert (m._table.n_units, m._table.n_inputs, m._table.n_outputs) == (2, 2, 2)
        assert [u.table.start for u in m.units] == [0, 1]
    with coupled(grounded(pair())) as m:
        assert m._table.grid == 4 and [(u.table.first, u.table.period) for u in m.units] == [(0, 1), (0, 1)]


@needs_compiler
@pytest.mark.parametrize(
    ("coupling", "samples", "back"),
    [
        (Coupling(extrapolation=0), 1, False),
        (Coupling(extrapolation=1), 2, False),
        (Coupling(extrapolation=2), KEPT, True),  # its first steps have no past, and are iterated
        (Coupling(extrapolation=0, iterate=True), KEPT, True),
        (Coupling(rtol=1e-3), KEPT, True),
    ],
)
def test_samples_are_as_many_as_a_curve_goes_through(coupling, samples, back):
    """And all of them where a step is repeated."""
    with coupled(grounded(pair()), coupling) as m:
        for u in m.units:
            assert u.table.u.most == u.table.out.most == samples and bool(u.table.goes_back) is back
        assert bool(m._table.goes_back) is back and m._table.order == m.macro.order
        assert bool(m._table.controlled) is (coupling.rtol is not None)
        if m._table.controlled:
            assert m._table.rtol == coupling.rtol and m._table.atol == m._control.atol


@needs_compiler
@pytest.mark.parametrize("order", ["jacobi", "gauss-seidel"])
@pytest.mark.parametrize(("iterate", "number"), [(False, 0), (True, 1), ("newton", 2)])
def test_units_step_in_their_order_and_ours_with_them(order, iterate, number):
    """Jacobi: as they stand, ours (-1) last; Gauss-Seidel: a unit after what it reads."""
    d = Diagram("backwards")
    for name in "ba":
        d.add(name, lag())
    d.connect("a.y", "b.u")
    d.ground("a.u")
    with coupled(d, Coupling(order=order, iterate=iterate, extrapolation=0)) as m:
        sequence = m._arrays["sequence"].tolist()
        assert sequence == ([0, 1, -1] if order == "jacobi" else list(m.macro.sequence))
        if order != "jacobi":
            assert sequence.index(1) < sequence.index(0)
        assert (m._table.n_sequence, m._table.newest, m._table.iterate) == (
            3,
            order == "gauss-seidel",
            number,
        )


@needs_compiler
def test_room_has_the_sizes_that_the_runtime_says():
    """Of vectors of all outputs, n = 2, and inputs; Newton's method has two matrices."""
    d = grounded(pair())
    d.connect("a.y", d.add("x", B.Integrator([0.0]))["u"])
    with coupled(d) as m:
        assert {name: len(a) for name, a in m._arrays.items()} == {"sequence": 3, "inputs": 2 + 3 + 1}
    for iterate, matrices in ((True, 0), ("newton", 8)):
        with coupled(d, Coupling(iterate=iterate, extrapolation=0)) as m:
            sizes = {name: len(a) for name, a in m._arrays.items()}
            assert (sizes["iterated"], sizes["tried"]) == (16 + matrices + 1, 6 * 4 + 1)
            s = m.engine.system
            known = len(s.x0) + 2 * len(s.h0) + len(s.w0) + len(s.events) + s.residual.numel() + len(s.rates)
            for values, logged in m._levels:
                assert (len(values), len(logged)) == (
                    known + len(m.engine.context.instants) + 1,
                    len(s.rates) + 1,
                )


# --- wires --------------------------------------------------------------------------------------------------
@needs_compiler
def test_wires_are_places_of_what_units_read():
    """An output and a held number: a place in h; a constant's parameter: behind it; what is grounded is 0."""
    d = Diagram("wires")
    names = ("of_unit", "of_hold", "of_constant", "grounded")
    for name in names:
        d.add(name, lag())
    d.add("hold", B.Hold(sample="1/4", initial=2.5))
    d.add("three", B.Constant(3.0))
    d.ground("grounded.u")
    d.connect("grounded.y -> of_unit.u", "grounded.y -> hold", "hold -> of_hold.u", "three -> of_constant.u")
    with coupled(d) as m:
        s = m.engine.system
        places, adds = m._wires
        order = [u.places.path for u in m.units]
        found = {name: (int(places[order.index(name)]), float(adds[order.index(name)])) for name in names}
        (unit,), (hold,) = s.held["grounded.y"].index, s.held["hold.hold_now"].index
        (three,) = s.parameters["three.value"].index
        assert found["of_unit"] == (unit, 0.0) and math.copysign(1.0, found["of_unit"][1]) == 1.0
        for name, place in (("of_hold", hold), ("of_constant", len(s.h0) + three)):
            assert found[name] == (place, 0.0) and math.copysign(1.0, found[name][1]) == -1.0
        assert found["grounded"] == (-1, 0.0)
        assert m._table.wires[order.index("of_unit")] == unit and m._table.wired != b.ffi().NULL


@needs_compiler
@pytest.mark.parametrize("why", ["computed", "extrapolated", "looped"])
def test_without_wires_inputs_are_computed(why):
    d = Diagram("computed")
    d.add("a", lag())
    d.add("b", lag())
    if why == "computed":
        d.connect("b.y", d.add("g", B.Gain(0.5))["u"])
        d.connect("g.y", "a.u")
    elif why == "looped":
        d.connect("b.y", d.add("past", B.TransportDelay(0.5))["u"])
        d.connect("past.y", "a.u")
    else:
        d.connect("b.y", "a.u")
    d.connect("a.y", "b.u")
    with coupled(d, Coupling(extrapolation=int(why == "extrapolated"))) as m:
        assert m._wires is None and m._table.wires == b.ffi().NULL


# --- when our own blocks have nothing to do -----------------------------------------------------------------
BUSY = {
    "nothing": (None, True, True),
    "a hold at their points": (B.Hold(sample="1/4"), True, False),
    "a hold at other points": (B.Hold(sample="1/8"), True, False),
    "a state": (B.Integrator(), False, False),
    "an event": (B.Relay(on_point=0.5, off_point=-0.5), False, False),
    "a delay": (B.TransportDelay(0.5), False, False),
}


@needs_compiler
@pytest.mark.parametrize("what", BUSY)
def test_blocks_of_ours_are_idle_where_they_change_at_ticks_only(what):
    block, idle, counts = BUSY[what]
    d = grounded(pair())
    if block is not None:
        d.connect("b.y", d.add("own", block)["u"])
    with coupled(d) as m:
        assert (bool(m._table.idle), bool(m._table.only_counts)) == (idle, counts)


@needs_compiler
@pytest.mark.parametrize("two_rates", [True, False])
def test_ticks_are_those_of_any_rate_but_not_of_every_instant(two_rates):
    """What a trigger calls may be called at any instant."""
    d = grounded(pair())
    if two_rates:
        for k, sample in enumerate(("1/4", "1/8")):
            d.connect("b.y", d.add(f"hold{k}", B.Hold(sample=sample))["u"])
    else:
        d.connect("b.y", d.add("part", Triggered(B.Gain(2.0)))["u"])
        d.connect(d.add("when", B.Step(time=0.3))["y"], "part.trigger")
    with coupled(d) as m:
        assert bool(m._table.idle) is two_rates


@needs_compiler
def test_parameters_that_changed_are_given_before_compiled_code_goes_on():
    with coupled(grounded(pair()), until=1.0) as m:
        assert m.can_run and any(len(m.macro.exchange.parameters(k)) for k in range(2))
        for k in range(2):
            place = m.macro.coupled.units[k].parameters[-1]
            m.engine.context.p[place] += 1.0
            assert not m.can_run
            m.macro.runs[k].tune(m.macro.exchange.parameters(k))
            assert m.can_run


@needs_compiler
def test_counts_alone_need_one_rate_for_all():
    for how, counts in (({}, True), ({"sample": "1/8"}, False), ({"offset": "1/8"}, False)):
        with coupled(grounded(pair(**how))) as m:
            assert bool(m._table.only_counts) is counts and bool(m._table.idle)


@needs_compiler
def test_ticks_that_a_unit_reads_are_more_than_counts():
    d = pair()
    d.connect(d.add("count", Made(lambda b: b.output("y", b.tick_count("1/4"))))["y"], "a.u")
    with coupled(d) as m:
        assert m._table.idle and not m._table.only_counts


# --- whether it can be used at all --------------------------------------------------------------------------
OWN = {
    "equations": (B.Integrator(), True),
    "a delay": (B.TransportDelay(0.5), False),
    "Python at ticks": (B.PythonFunction(lambda t, u: u, sample="1/4"), False),
}


@needs_compiler
@pytest.mark.parametrize("what", OWN)
def test_steps_that_begin_again_need_blocks_of_ours_that_go_back(what):
    block, goes_back = OWN[what]
    d = grounded(pair())
    d.connect("b.y", d.add("own", block)["u"])
    for coupling, possible in (
        (Coupling(extrapolation=0), True),
        (Coupling(order="gauss-seidel", extrapolation=0), goes_back),
        (Coupling(iterate=True, extrapolation=0), goes_back),
        (Coupling(rtol=1e-2), goes_back),
    ):
        with Simulation(d, engine="auto" if "Python" in what else "native", coupling=coupling) as s:
            assert CompiledMaster.possible(s._engine._macro) is possible, coupling
            assert compiled_master._can_go_back(s._engine._macro) is goes_back
            assert (s._engine._compiled() is not None) is possible


# --- numbers without a copy ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("kind", "places", "count", "in_place"),
    [
        ("PL_FMU_DOUBLE", [0, 1, 2], 1, True),
        ("PL_FMU_DOUBLE", [0, 2, 1], 1, False),
        ("PL_FMU_DOUBLE", [1, 2, 3], 1, False),
        ("PL_FMU_DOUBLE", [0, 1, 2], 2, False),
        ("PL_FMU_FLOAT", [0, 1, 2], 1, False),
    ],
)
def test_doubles_one_after_the_other_are_given_as_they_lie(kind, places, count, in_place):
    batches, row = b.new("pl_fmu_batch", 2), np.zeros(3)
    at = np.array(places, np.int32)
    batches[0].kind, batches[0].total, batches[0].places = b.constant(kind), 3, b.pointer(at)
    batches[0].values = b.ffi().NULL
    compiled_master._put_in_place(batches, count, b.pointer(row))
    assert batches[0].kind == b.constant("PL_FMU_IN_PLACE" if in_place else kind)
    assert (batches[0].values != b.ffi().NULL) is in_place


# --- what compiled code asks for ----------------------------------------------------------------------------
class Asked:
    """A compiled master whose parts note what it asks of them."""

    def __init__(self, message=""):
        self.story = story = []
        note = lambda name, found=None: lambda *given: (story.append((name, *given)), found)[1]
        self._table = SimpleNamespace(unit=1, t1=2.5)
        unit = SimpleNamespace(
            renew_rows=note("renewed", "rows"), arrays={"fresh": np.zeros(3)},
            table=SimpleNamespace(has_fresh=0), places=SimpleNamespace(block=SimpleNamespace(n_outputs=2)),
        )  # fmt: skip
        self.units = [None, unit]
        stands = [
            SimpleNamespace(standing=SimpleNamespace(ended=e), path="u", unit=None) for e in ("", "why")
        ]
        stands[1].unit = SimpleNamespace(outputs=lambda: np.array([4.0, 5.0]))
        self.macro = SimpleNamespace(
            runs=stands, log=SimpleNamespace(add_rows=note("rows")), end=note("end", "it ended"),
            exchange=SimpleNamespace(inputs=note("inputs")),
        )  # fmt: skip
        self._leave, self._enter = note("leave"), note("enter")
        self.by_hand = note("by hand", message)
        self._visit, self._step = note("visit"), note("step")
        self._ended_by_unit, self._message = note("ended by unit", True), ""

    _ends = CompiledMaster._ends

    def serve(self, reason):
        return CompiledMaster._serve(self, b.constant(reason), 7.0)


@pytest.mark.parametrize(
    ("reason", "ends", "story"),
    [
        ("PL_UNITS_HOST", False, [("leave",), ("by hand", 7.0), ("enter",)]),
        ("PL_UNITS_FULL", False, [("renewed",), ("rows", 1, "rows")]),
        ("PL_UNITS_NOT_FINITE", False, [("inputs", 2.5)]),
        ("PL_UNITS_ENDED", True, [("ended by unit",)]),
        ("PL_UNITS_LEFT", True, [("leave",), ("end", "why")]),
    ],
)
def test_what_compiled_code_asks_for_is_done(reason, ends, story):
    asked = Asked()
    assert asked.serve(reason) is ends and asked.story == story
    assert asked._message == ("it ended" if reason == "PL_UNITS_LEFT" else "")


def test_what_compiled_code_asks_of_a_unit_is_done():
    asked = Asked()
    unit, run = asked.units[1], asked.macro.runs[1]
    for reason in ("PL_UNIT_VISIT", "PL_UNIT_STEP", "PL_UNIT_STEPPED"):
        assert asked.serve(reason) is False
    assert asked.story == [("visit", unit, run), ("step", unit, run, False), ("step", unit, run, True)]
    assert asked.serve("PL_UNIT_GET") is False and unit.table.has_fresh == 1
    assert unit.arrays["fresh"].tolist() == [4.0, 5.0, 0.0]


def test_a_step_by_hand_may_end_the_run():
    asked = Asked("enough")
    assert asked.serve("PL_UNITS_HOST") is True and asked._message == "enough"
    assert asked.story[-1] == ("enter",)
