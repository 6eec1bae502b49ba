"""How many components every signal has, also round loops."""

from dataclasses import dataclass

import numpy as np
import pytest

from blocks import (
    Block,
    Constant,
    Demux,
    Function,
    Gain,
    Integrator,
    Mux,
    Product,
    Saturation,
    StateSpace,
    Sum,
    UnitDelay,
    WiringError,
)
from cosim import Diagram
from tests.helpers.runs import build, simulate

THREE = [1.0, 2.0, 3.0]


def sizes(d):
    return {name: signal.size for name, signal in d.system().signals.items()}


def problems(d):
    with pytest.raises(WiringError) as caught:
        d.system()
    return caught.value.problems


# --- inheriting
def test_a_size_goes_down_a_chain_whatever_the_order_of_adding():
    d = build("c.y>g.u g.y>i.u i.y>s.u", s=Saturation(-1, 1), i=Integrator(), g=Gain(2.0), c=Constant(THREE))
    assert sizes(d) == {"s.y": 3, "i.y": 3, "g.y": 3, "c.y": 3}


def test_mux_and_demux_add_up():
    blocks = {"a": Constant(THREE), "b": Constant(1.0), "m": Mux(2), "x": Demux([1, 3])}
    d = build("a.y>m.in1 b.y>m.in2 m.out>x.in", **blocks)
    assert sizes(d) == {"a.y": 3, "b.y": 1, "m.out": 4, "x.out1": 1, "x.out2": 3}


def test_a_scalar_expands_in_sum_product_gain_saturation_and_initial_values():
    blocks = {
        "v": Constant(THREE),
        "c": Constant(10.0),
        "s": Sum("+-"),
        "p": Product("**"),
        "g": Gain([1.0, 0.0, -1.0]),
        "l": Saturation([0.0, 0.0, 0.0], 5.0),
        "i": Integrator(initial=7.0),
    }
    d = build("v.y>s.in1 c.y>s.in2 v.y>p.in1 c.y>p.in2 c.y>g.u c.y>l.u v.y>i.u", **blocks)
    r = simulate(d, 0.0, log_at=[0.0])
    assert r["s.y"][0].tolist() == [-9.0, -8.0, -7.0]
    assert r["p.y"][0].tolist() == [10.0, 20.0, 30.0]
    assert r["g.y"][0].tolist() == [10.0, 0.0, -10.0]
    assert r["l.y"][0].tolist() == [5.0, 5.0, 5.0]
    assert r["i.y"][0].tolist() == [7.0, 7.0, 7.0]


def test_a_scalar_does_not_expand_anywhere_else():
    d = build("c.y>p.u", c=Constant(1.0), p=StateSpace(-np.eye(2), np.eye(2), np.eye(2)))
    assert problems(d) == [
        "'c.y' has 1 component but input 'p.u' expects 2; use a Mux, Demux, Selector or Gain in between."
    ]
    d = build("c.y>i.u", c=Constant(1.0), i=Integrator(initial=[0.0, 0.0]))
    assert "'c.y' has 1 component but input 'i.u' expects 2" in problems(d)[0]


# --- loops
def test_a_vector_initial_value_sizes_a_loop():
    d = build("i.y>g.u g.y>i.u", g=Gain(-1.0), i=Integrator(initial=THREE))
    assert sizes(d) == {"g.y": 3, "i.y": 3}


def test_a_matrix_gain_sizes_a_loop_of_blocks_that_know_nothing():
    d = build("i.y>g.u g.y>s.u s.y>i.u", i=Integrator(), g=Gain(-np.eye(4)), s=Saturation(-1, 1))
    assert set(sizes(d).values()) == {4}


def test_a_vector_that_joins_a_loop_in_a_sum_sizes_it():
    blocks = {"c": Constant(THREE), "s": Sum("+-"), "i": Integrator(), "d": UnitDelay(0.1)}
    d = build("c.y>s.in1 d.y>s.in2 s.y>i.u i.y>d.u", **blocks)
    assert sizes(d) == {"c.y": 3, "s.y": 3, "i.y": 3, "d.y": 3}


def test_a_loop_nothing_is_known_of_takes_one():
    d = build("i.y>g.u g.y>i.u", i=Integrator(initial=1.0), g=Gain(-1.0))
    assert sizes(d) == {"i.y": 1, "g.y": 1}


def test_two_loops_that_share_a_block():
    blocks = {"s": Sum("--"), "i": Integrator(), "j": Integrator(), "g": Gain([1.0, 1.0])}
    d = build("s.y>i.u i.y>j.u i.y>s.in1 j.y>g.u g.y>s.in2", **blocks)
    assert set(sizes(d).values()) == {2}


def test_a_long_loop_in_the_worst_order_of_adding():
    n = 120
    blocks = {f"g{k}": UnitDelay(0.1) for k in reversed(range(n))}
    wires = [f"g{k}.y>g{k + 1}.u" for k in range(n - 1)] + [f"g{n - 1}.y>s.in2 s.y>g0.u c.y>s.in1"]
    d = build(" ".join(wires), **blocks, s=Sum("++"), c=Constant(THREE))
    assert set(sizes(d).values()) == {3}


@dataclass(frozen=True)
class Widen(Block):
    """Twice as wide as its input, but never wider than four."""

    def define(self, b):
        u = b.input("u")
        b.output("y", np.concatenate([u, u]) if u.size < 4 else u)


def test_a_loop_first_taken_as_one_is_run_again_until_all_agree():
    n = 80  # more blocks than rounds, each only after the one that was added behind it
    blocks = {f"g{k}": UnitDelay(0.1) for k in reversed(range(n))} | {"w": Widen()}
    wires = " ".join(f"g{k}.y>g{k + 1}.u" for k in range(n - 1))
    assert set(sizes(build(wires + f" g{n - 1}.y>w.u w.y>g0.u", **blocks)).values()) == {4}


@dataclass(frozen=True)
class Longer(Block):
    """One component more than its input, but never more than `most`."""

    most: int

    def define(self, b):
        u = b.input("u")
        b.output("y", np.concatenate([u, u[:1]]) if u.size < self.most else u)


def test_a_loop_is_run_again_fifty_times():
    """Taken as 1, the block is run again with 2, 3, ... up to its most."""
    wires = "w.y>g.u g.y>w.u"
    assert sizes(build(wires, w=Longer(51), g=UnitDelay(0.1))) == {"w.y": 51, "g.y": 51}
    (text,) = problems(build(wires, w=Longer(52), g=UnitDelay(0.1)))
    assert "have no fixed point" in text


def test_a_loop_may_grow_to_forty_beside_what_is_wide():
    d = build("w.y>g.u g.y>w.u", w=Longer(40), g=UnitDelay(0.1), c=Constant(np.ones(100)))
    assert sizes(d) == {"w.y": 40, "g.y": 40, "c.y": 100}


# --- mistakes
def test_sizes_that_grow_round_and_round_are_an_error_with_the_loop_and_its_sizes():
    d = build("m.out>g.u g.y>m.in1 c.y>m.in2", m=Mux(2), g=UnitDelay(0.1), c=Constant(1.0))
    (text,) = problems(d)
    assert text.startswith("the sizes of these blocks have no fixed point, each makes the next one wider: ")
    assert "m {'in1': " in text and "g {'u': " in text
    assert text.endswith("Give one of them a size of its own (a vector initial value, a matrix gain).")


@pytest.mark.parametrize("copies", [2, 3, 10])
def test_sizes_that_multiply_do_not_take_the_memory_of_the_machine(copies):
    wires = " ".join(f"g.y>m.in{k + 1}" for k in range(copies))
    d = build(wires + " m.out>g.u", m=Mux(copies), g=UnitDelay(0.1))
    (text,) = problems(d)
    assert "have no fixed point" in text


def test_a_mismatch_names_both_ends_and_both_sizes():
    d = build("c.y>p.u", c=Constant(THREE), p=StateSpace(-1.0, 1.0, 1.0))
    assert problems(d) == [
        "'c.y' has 3 components but input 'p.u' expects 1; use a Mux, Demux, Selector or Gain in between."
    ]


def test_a_mismatch_across_subsystem_borders_names_the_blocks_inside():
    inner = Diagram("inner")
    inner.connect(inner.inport("u"), inner.add("x", Demux(2))["in"])
    d = Diagram("d")
    d.connect(d.add("c", Constant(THREE))["y"], d.add("part", inner)["u"])
    assert "'c.y' has 3 components but input 'part/x.in' expects 2" in problems(d)[0]


def test_inputs_of_different_sizes_are_told_with_the_block_and_its_sizes():
    d = build("a.y>s.in1 b.y>s.in2", a=Constant(THREE), b=Constant([1.0, 2.0]), s=Sum("++"))
    (text,) = problems(d)
    assert text.startswith("block 's': Sum: sizes differ: in1 has 3, in2 has 2.")


def test_all_size_mistakes_come_together_and_one_does_not_cause_others():
    blocks = {
        "a": Constant(THREE),
        "b": Constant([1.0, 2.0]),
        "s": Sum("++"),
        "g": Gain(1.0),
        "after": Gain(np.eye(3)),
        "p": StateSpace(-1.0, 1.0, 1.0),
    }
    d = build("a.y>s.in1 b.y>s.in2 s.y>g.u g.y>after.u a.y>p.u", **blocks)
    found = problems(d)
    assert len(found) == 2, found
    assert "sizes differ" in found[0] and "'a.y' has 3 components but input 'p.u' expects 1" in found[1]


def test_a_block_that_cannot_work_at_its_size_says_so_with_that_size():
    @dataclass(frozen=True)
    class Pairs(Block):
        def define(self, b):
            b.output("y", np.reshape(b.input("u"), (2, -1))[0])

    d = build("c.y>p.u", c=Constant(THREE), p=Pairs())
    (text,) = problems(d)
    assert text.startswith("block 'p': the equations of Pairs cannot be traced")
    assert text.endswith("(its input 'u' has 3)")


def test_blocks_that_know_one_of_their_inputs_are_taken_first():
    """Each loop has a block that cannot work at size 1; taken first, it would take 1 and be refused."""
    turned = Function(lambda u: u[::-1] + 0.0 * u[2])
    wires = "".join(f" c.y>s{k}.in1 t{k}.y>s{k}.in2 s{k}.y>i{k}.u i{k}.y>t{k}.u" for k in range(3))
    blocks = {f"t{k}": turned for k in range(3)}
    blocks |= {f"i{k}": Saturation(-1, 1) for k in range(3)}
    blocks |= {f"s{k}": Sum("++") for k in range(3)}
    d = build(wires, **blocks, c=Constant(THREE))
    s = d.system(solve_loops=True)
    assert {s.signals[f"{name}{k}.y"].size for name in "tis" for k in range(3)} == {3}


def test_blocks_that_know_one_input_are_taken_before_others_of_their_loop():
    """A Mux knows its size with the other input alone; what reads the fourth of it cannot work at 1."""
    fourth = Function(lambda u: 2.0 * u[3])
    wires = "".join(f" c.y>m{k}.in1 t{k}.y>m{k}.in2 m{k}.out>g{k}.u g{k}.y>t{k}.u" for k in range(3))
    blocks = {f"t{k}": fourth for k in range(3)} | {f"g{k}": UnitDelay(0.1) for k in range(3)}
    blocks |= {f"m{k}": Mux(2) for k in range(3)}
    found = sizes(build(wires, **blocks, c=Constant(THREE)))
    for k in range(3):
        assert (found[f"m{k}.out"], found[f"g{k}.y"], found[f"t{k}.y"]) == (4, 4, 1)


def broken(u):
    return u[7]


def split(kind):
    """A block of the given kind whose function fails, and what reads parts of its output."""
    d = Diagram("loop")
    c, f = d.add("c", Constant(1.0)), d.add("f", Function(kind))
    d.connect(c["y"], f["u"])
    f["y"][1] >> d.add("first", Gain(2.0))
    f["y"][2:4] >> d.add("m", Gain(np.eye(2)))
    late = d.add("late", Function(lambda v: v[5] + v[6]))
    d.connect(f["y"], late["v"])
    return d


def test_one_function_that_fails_is_one_problem_though_others_read_its_components():
    (text,) = problems(split(broken))
    assert text.startswith("block 'f': ")
    assert "beyond" not in text


def test_what_is_wrong_behind_it_at_any_size_is_said_too():
    d = split(broken)
    d.add("own", Function(lambda v: v * {}))
    d.connect("m.y", "own.v")
    d.add("beside", Function(lambda w: w[1]))
    d.connect("c.y", "beside.w")
    assert sorted(text.split("'")[1] for text in problems(d)) == ["beside", "f", "own"]


@pytest.mark.parametrize("kind", [lambda u: u, lambda u: np.append(u, u)])
def test_a_component_beyond_what_a_working_function_gives_is_said(kind):
    assert any("is beyond the" in text for text in problems(split(kind)))
