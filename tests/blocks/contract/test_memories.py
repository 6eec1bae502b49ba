"""Kinds of memories: what every call of the contract leaves behind, and what each kind answers."""

import casadi as ca
import numpy as np
import pytest

from blocks import BlockError
from blocks.contract.block import Equations
from blocks.contract.event_memories import Branch, ModeMemory
from blocks.contract.memories import (
    AcceptedMemory,
    AlgebraicUnknown,
    Conditional,
    ContinuousState,
    CountedInstants,
    DelayedSignal,
    DiscreteState,
    Evolving,
    ExternalOutput,
    RandomDraw,
    Refreshed,
    SampledMemory,
    Slope,
)
from blocks.contract.rate import Ticks
from blocks.contract.symbols import tracing
from blocks.contract.trace import trace
from cosim import Diagram, Simulation, simulate
from tests.helpers.made import Made

RATE = Ticks.of("1/10")


class Constantly:
    """Opaque and without a memory."""

    def call(self, t, u):
        return u

    def save(self):
        return b""

    def load(self, state):
        pass

    def close(self):
        pass


def all_kinds(b):
    x, k = b.continuous("x", 0.5), b.discrete("k", 0.25, "1/10")
    b.derivative(x, -x)
    b.update(k, k + 1)
    b.output("s", x, sample="1/10")
    b.external("e", Constantly, x, 1, "1/10")
    b.mode("m", 0.75)
    b.where_event(x[0] - 0.1, 1.0, 2.0, name="branch")
    b.event_at("t", 0.5, lambda due: {due: due + 0.5}, "clock")
    b.accepted("a", x, 0.0)
    z = b.algebraic("z", 0.0)
    b.residual(z - x)
    b.delayed(x, 0.1, name="d")
    b.slope(x, name="slope")
    b.random("1/10", name="r")
    b.instants([0.05], name="i")
    b.output("y", z)


KINDS = {
    "x": ContinuousState,
    "k": DiscreteState,
    "s@sampled": SampledMemory,
    "e": ExternalOutput,
    "m": ModeMemory,
    "t": ModeMemory,
    "branch": Branch,
    "a": AcceptedMemory,
    "z": AlgebraicUnknown,
    "d": DelayedSignal,
    "slope": Slope,
    "r": RandomDraw,
    "i": CountedInstants,
}


@pytest.fixture(scope="module")
def declared():
    return trace(Made(all_kinds), {}).declared


def names_where(declared, question):
    return {m.name for m in declared.memories if question(m)}


def test_every_call_leaves_its_kind_behind(declared):
    assert {m.name: type(m) for m in declared.memories} == KINDS
    for kind in KINDS.values():
        assert {m.name for m in declared.memories_of(kind)} == {n for n, k in KINDS.items() if k is kind}


def test_what_the_kinds_answer(declared):
    assert names_where(declared, lambda m: m.vector == "x") == {"x"}
    assert names_where(declared, lambda m: m.vector == "w") == {"z", "d"}
    assert names_where(declared, lambda m: not m.vector) == {"slope"}
    assert names_where(declared, lambda m: m.moves) == {"x", "z", "d"}
    assert names_where(declared, lambda m: m.rate == RATE) == {"k", "s@sampled", "e", "r"}
    assert names_where(declared, lambda m: m.rate is None) == set(KINDS) - {"k", "s@sampled", "e", "r"}
    assert names_where(declared, lambda m: m.has_next) == {"k"}
    assert names_where(declared, lambda m: m.settable) == {"x", "k", "m", "t", "s@sampled"}
    assert names_where(declared, lambda m: m.resettable) == {"x", "k", "m", "t", "branch"}
    assert names_where(declared, lambda m: m.carried_over) == {"m", "t", "branch", "a"}
    assert {m.name for m in declared.memories_of(Refreshed)} == {"s@sampled", "e", "branch"}
    assert [m.name for m in declared.memories_of(Refreshed) if m.external] == ["e"]
    assert [m.at_rest for m in declared.memories_of(Refreshed)] == [None, None, 1.0]
    assert {m.reads.shape for m in declared.memories if not isinstance(m, Evolving)} <= {(0, 1), (1, 1)}
    assert next(m for m in declared.memories if m.name == "m").reads.shape == (0, 1)
    assert [m.name for m in declared.memories_of(Refreshed) if m.may_keep] == ["branch"]
    assert {m.name for m in declared.memories_of(Evolving) if m.uses_slopes} == {"x", "z"}
    without = {"e", "m", "t", "r", "i"}
    assert {m.name for m in declared.memories_of(Evolving)} == set(KINDS) - without


def test_what_is_not_given_is_what_the_calls_say(declared):
    """Nothing before the first tick, no offset (RATE has none, see above), one component, no limits."""
    by_name = {m.name: m for m in declared.memories}
    assert {m.size for m in declared.memories} == {1}
    begins = {name: m.initial.tolist() for name, m in by_name.items() if m.initial.any()}
    assert begins == {"x": [0.5], "k": [0.25], "m": [0.75], "t": [0.5], "branch": [1.0]}
    x, d, draws, slope = (by_name[name] for name in ("x", "d", "r", "slope"))
    assert (x.static, list(np.ravel(x.nominal)), x.part, x.labels) == ("solve", [1.0], "", ())
    assert (d.shortest, d.longest, draws.distribution) == (0.0, 0.0, "normal")
    assert (slope.assuming, slope.exact) == ((), False)
    assert not any(m.private for m in declared.memories)
    assert [o.auxiliary for o in declared.outputs] == [False, False]
    assert not declared.states_logged and declared.rounding == 0.0


def test_a_memory_of_a_conditional_part_is_refreshed_at_its_ticks_or_again_and_again():
    more = {"symbol": ca.SX.sym("m"), "initial": np.zeros(1), "expression": ca.SX(1)}
    ticked, always = Conditional("m", **more, ticks=RATE), Conditional("m", **more)
    assert [(m.rate, m.again, m.carried_over) for m in (ticked, always)] == [
        (RATE, False, True),
        (None, True, True),
    ]


def test_states_are_in_the_log_where_a_block_asks_for_it():
    """Of that block, and of a run that chooses no signals."""

    def seen(asks, **chosen):
        def equations(b):
            x = b.continuous("x", 1.0)
            b.derivative(x, -x)
            b.output("y", 2 * x)
            if asks:
                b.log_states()

        d = Diagram("d")
        d.add("it", Made(equations))
        d.add("other", Made(lambda b: b.derivative(b.continuous("z", 1.0), [0.0])))
        return set(simulate(d, 0.1, engine="reference", **chosen).signals)

    assert seen(False) == {"it.y"} and seen(True) == {"it.y", "it.x"}
    assert seen(True, signals=["it.y"]) == {"it.y"}


def test_what_calls_leave_open_is_named_by_a_number():
    """How many memories there were; a memory is known by its name."""

    def without_names(b):
        x = b.continuous("x", 0.0)
        b.derivative(x, -x)
        b.sampled(x, "1/10")
        b.delayed(x, 0.1)
        b.slope(x)
        b.random("1/10")
        b.instants([0.05])
        b.output("y", b.where_event(x[0], 1.0, 2.0))

    found = [m.name for m in trace(Made(without_names), {}).declared.memories]
    assert found == ["x", "sampled1", "delayed2", "slope3", "random4", "instants5", "branch6"]


def test_a_memory_goes_on_from_one_of_its_kind_and_size(declared):
    by_name = {m.name: m for m in declared.memories}
    assert by_name["m"].continues(by_name["m"]) and by_name["a"].continues(by_name["a"])
    assert not by_name["m"].continues(by_name["a"])
    assert not by_name["k"].continues(by_name["k"])
    wider = trace(Made(lambda b: b.mode("m", [1.0, 2.0])), {}).declared.memories[0]
    assert not wider.continues(by_name["m"]) and not by_name["m"].continues(wider)


def test_they_are_where_they_say_in_a_flat_system():
    d = Diagram("all")
    d.add("b", Made(all_kinds))
    system = d.system()
    assert set(system.states) == {"b.x"} and set(system.solved) == {"b.z", "b.d"}
    for name, kind in KINDS.items():
        if kind not in (ContinuousState, AlgebraicUnknown, DelayedSignal, Slope):
            slot = system.held_of(kind)[f"b.{name}"]
            assert (slot.name, slot.path, slot.size) == (f"b.{name}", "b", 1)
    assert "b.slope" not in system.held
    assert system.h0[system.held["b.k"].index] == [0.25] and system.h0[system.held["b.m"].index] == [0.75]
    assert str(system.held["b.s@sampled"].place(system.held["b.s@sampled"].index[0])) == "b.s"


@pytest.mark.parametrize("engine", ["reference", "auto"])
def test_an_initial_value_of_a_discrete_state_is_that_of_its_first_tick(engine):
    d = Diagram("all")
    d.add("b", Made(all_kinds))
    sim = Simulation(d, engine=engine, initial={"b.k": 7.0, "b.m": 3.0})
    places = [int(sim.system.held[name].index[0]) for name in ("b.k", "b.m")]
    sim.advance(0.35)  # ticks at 0, 0.1, 0.2, 0.3
    np.testing.assert_array_equal(sim.snapshot().h[places], [10.0, 3.0])


@pytest.mark.parametrize(
    ("declare", "text"),
    [
        (lambda b: b.derivative(b.discrete("k", 0.0, 1), 1.0), "'k', which is a discrete state, not a cont"),
        (lambda b: b.update(b.accepted("a", 1.0, 0.0), 1.0), "'a', which is an accepted memory, not a disc"),
        (lambda b: b.continuous("x", 0.0), r"'x' has no equation.*\n?.*b\.derivative\("),
        (lambda b: b.discrete("k", 0.0, 1), r"'k' has no equation.*\n?.*b\.update\("),
    ],
)
def test_an_equation_of_another_kind_is_refused(declare, text):
    with pytest.raises(BlockError, match=text):
        trace(Made(declare), {})


def test_instants_are_counted_from_none():
    probe = trace(Made(lambda b: b.output("y", b.instants([1.0, 2.0]))), {})
    (counted,) = probe.declared.memories_of(CountedInstants)
    assert counted.initial.tolist() == [0.0]


def test_which_listed_instants_have_passed():
    """Also those before the start; one that is now has."""
    with tracing():
        b = Equations({})
        b.instants([0.5, -1.0, 0.0, 2.0])
        (count,) = b.declared().memories
        for time, passed in ((-2.0, 0.0), (-1.0, 1.0), (0.0, 2.0), (0.4, 2.0), (0.5, 3.0), (9.0, 4.0)):
            assert count.passed(time).tolist() == [passed]
            assert [value.tolist() for _, value in b.known(time=time)] == [[passed]]
        assert [value.tolist() for _, value in b.known()] == [[2.0]]


def sized_by_its_input(b):
    u = b.input("u")
    x = b.continuous("x", [1.0, 2.0, 3.0], size=u.size)
    b.derivative(x, u)
    b.output("y", x)


def test_numbers_of_a_state_and_of_its_input_fit():
    """While the size of the input is guessed only, nothing is refused, and the numbers have the last word."""
    known = trace(Made(sized_by_its_input), {"u": 3})
    assert (known.guessed, known.lenient, [m.size for m in known.declared.memories]) == (False, False, [3])
    guess = trace(Made(sized_by_its_input), {}, guess=2)
    assert (guess.guessed, guess.lenient, guess.partial) == (True, True, False)
    assert [m.size for m in guess.declared.memories] == [3] and guess.declared.outputs[
        0
    ].expression.numel() == 3
    with pytest.raises(BlockError, match=r"initial value of 'x' has 3 components, expected 2 \(or one\)"):
        trace(Made(sized_by_its_input), {"u": 2})


@pytest.mark.parametrize(
    "sizes", [(7, 6), (3, 3), (7, 7), (6, 6), (7, 3), (3, 6), (4, 3), (3, 4), (2, 2), (8, 6)]
)
def test_places_and_velocities_of_a_body_are_those_of_space_or_of_a_plane(sizes):
    def body(b):
        q = b.continuous("q", 0.0, size=sizes[0])
        qd = b.continuous("qd", 0.0, size=sizes[1], velocity_of=q)
        b.derivative(q, 0.0 * q), b.derivative(qd, 0.0 * qd)
        b.output("y", qd)

    if sizes in ((7, 6), (3, 3)):
        assert [m.size for m in trace(Made(body), {}).declared.memories] == list(sizes)
    else:
        with pytest.raises(
            BlockError, match=f"'qd' of size {sizes[1]} is given as velocity_of 'q', .* of size {sizes[0]}"
        ):
            trace(Made(body), {})
