"""What a master knows of a system: which inputs of units depend on whom, and in which order units step."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from blocks import Gain, Integrator, UnitDelay
from blocks.contract.driven import UnitPort
from blocks.errors import PlantloopError
from cosim import Coupling, Diagram, Simulation
from cosim.fmi.coupling.coupled_system import OURS, CoupledSystem
from tests.helpers.units import LinearUnit


def unit(inputs: str = "", outputs: str = "y", **more: object) -> LinearUnit:
    """A unit with these inputs and outputs, one letter each; x' = -x + the sum of its inputs."""
    n, m = len(inputs), len(outputs)
    return LinearUnit(
        -np.eye(1), np.ones((1, n)), np.ones((m, 1)), np.zeros(1), "1/10", inputs=tuple(inputs),
        outputs=tuple(outputs), **more,
    )  # fmt: skip


def coupled(d: Diagram, coupling: Coupling | None = None) -> CoupledSystem:
    with Simulation(d, engine="reference", coupling="jacobi") as sim:
        return CoupledSystem(sim.system, coupling or Coupling(order="gauss-seidel"))


def chain() -> Diagram:
    """a (y, z) -> b (u), a.z -> integrator -> gain -> b (v); a (u) is fed by b (y) through a delay."""
    d = Diagram("chain")
    d.add("a", unit("u", "yz"))
    d.add("b", unit("uv"))
    d.add("i", Integrator())
    d.add("g", Gain(2.0))
    d.add("late", UnitDelay(sample="1/10"))
    for one, other in (("a.y", "b.u"), ("a.z", "i.u"), ("i.y", "g.u"), ("g.y", "b.v"), ("b.y", "late.u"),
                       ("late.y", "a.u")):  # fmt: skip
        d.connect(one, other)
    return d


def test_who_reads_whom():
    """Rows: a.u, b.u, b.v. Columns: outputs of a, of b, and our own states."""
    c = coupled(chain())
    assert c.names == ["a.u", "b.u", "b.v"]
    assert c.reads.astype(int).tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 1]]
    a, b = c.units
    assert [u.smooth_inputs.tolist() for u in (a, b)] == [[False], [True, True]]  # sampled ones are stairs
    assert [u.smooth_outputs.tolist() for u in (a, b)] == [[True, True], [True]]
    assert (a.late_inputs.tolist(), b.late_inputs.tolist()) == ([False], [False, True])
    assert c.follows([a.y[:1]]).tolist() == [False, True, False]
    assert c.follows([a.y[1:], b.y]).tolist() == [False, False, False]
    assert not c.single


@pytest.mark.parametrize(("ours", "expected"), [(False, [1, 1, 0, 1]), (True, [1, 1, 1, 1])])
def test_signals_that_units_assume(ours, expected):
    """Outputs and inputs, of a and of b: b.y is read by nobody, unless a state of ours may pass it on."""
    d = Diagram("d")
    d.add("a", unit("u"))
    d.add("b", unit("u"))
    d.connect("a.y", "b.u")
    if ours:
        d.add("i", Integrator())
        d.connect("b.y", "i.u")
        d.connect("i.y", "a.u")
    else:
        d.ground("a.u")
        expected = [1, 1, 0, 1]
    assert coupled(d).assumed_signals().astype(int).tolist() == expected


@pytest.mark.parametrize("first", ["a", "b"])
def test_units_step_behind_what_they_read(first):
    """Whichever was added first; our own blocks stand between a unit they read and one that reads them."""
    d = Diagram("d")
    for name in (first, *{"a", "b"} - {first}):
        d.add(name, unit("u"))
    d.add("i", Integrator())
    d.connect("a.y", "i.u")
    d.connect("i.y", "b.u")
    d.ground("a.u")
    c = coupled(d)
    names = [c.units[n].path if n != OURS else "ours" for n in c.order]
    assert names == ["a", "ours", "b"] and c.cut == []
    assert c.shown_order() == "'a' -> our own blocks -> 'b'"
    assert c.waits  # our state uses what a delivers at the end of its step
    for other in (Coupling(), Coupling(order="gauss-seidel", rtol=1e-3)):
        assert not coupled(d, other).waits
    assert coupled(d, Coupling(iterate=True)).waits


def ring(n: int, double: int = -1) -> Diagram:
    """n units in a ring, each fed by the one before; the one numbered `double` over two inputs."""
    d = Diagram("ring")
    for k in range(n):
        d.add(f"r{k}", unit("uv" if k == double else "u"))
    for k in range(n):
        d.connect(f"r{k}.y", f"r{(k + 1) % n}.u")
    if double >= 0:
        d.connect(f"r{(double - 1) % n}.y", f"r{double}.v")
    return d


def test_a_cycle_is_cut_where_fewest_inputs_get_old():
    assert (coupled(ring(3)).order, coupled(ring(3)).cut) == ([0, 1, 2], ["r0.u"])
    c = coupled(ring(3, double=0))
    assert (c.order, c.cut) == ([1, 2, 0], ["r1.u"])
    assert c.shown_order() == "'r1' -> 'r2' -> 'r0'; old values at r1.u"


def test_a_cut_is_where_the_user_says():
    c = coupled(ring(3), Coupling(order="gauss-seidel", cut=("r2.u",)))
    assert (c.order, c.cut, c.idle_cuts) == ([2, 0, 1], ["r2.u"], [])
    every = Coupling(order="gauss-seidel", cut=("r0.u", "r1.u", "r2.u"))
    c = coupled(ring(3), every)
    assert (c.order, c.cut, c.idle_cuts) == ([0, 1, 2], ["r0.u"], ["r1.u", "r2.u"])
    assert coupled(ring(3), Coupling(cut=("r2.u",))).idle_cuts == ["r2.u"]
    with pytest.raises(PlantloopError, match=r"cut names 'r2.v', no input of a unit; did you mean 'r2.u'"):
        coupled(ring(3), Coupling(order="gauss-seidel", cut=("r2.v",)))


def test_what_a_cycle_waits_for_steps_before_it():
    """A ring that is fed by another one, which is added behind it, and one that waits for it alone."""
    d = Diagram("rings")
    for name, inputs in (("a0", "uv"), ("a1", "u"), ("z", "u"), ("b0", "u"), ("b1", "u")):
        d.add(name, unit(inputs))
    for one, other in (("a1.y", "a0.u"), ("a0.y", "a1.u"), ("b1.y", "b0.u"), ("b0.y", "b1.u"),
                       ("b1.y", "a0.v"), ("a0.y", "z.u")):  # fmt: skip
        d.connect(one, other)
    c = coupled(d)
    assert [c.units[n].path for n in c.order] == ["b0", "b1", "a0", "a1", "z"]
    assert c.cut == ["a0.u", "b0.u"]
    assert c.numbers_of("b0.u", "cut") == [c.names.index("b0.u")]


@dataclass(frozen=True, eq=False)
class Wide(LinearUnit):
    """An input of two numbers."""

    def driven(self):
        return replace(super().driven(), inputs=(UnitPort("u", 2),))


def test_inputs_of_several_numbers_are_named_one_by_one():
    d = Diagram("d")
    d.add("w", Wide(-np.eye(1), np.ones((1, 2)), np.ones((1, 1)), np.zeros(1), "1/10", inputs=("u", "u2")))
    d.ground("w.u")
    c = coupled(d)
    assert c.names == ["w.u[0]", "w.u[1]"]
    assert c.numbers_of("w.u", "cut") == [0, 1] and c.numbers_of("w.u[1]", "cut") == [1]
