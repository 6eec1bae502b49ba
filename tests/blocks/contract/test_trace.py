"""Blocks of one shape are traced once: within a diagram, and those of the library once per process."""

import threading
from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest

from blocks import Block, Constant, Function, Gain, Integrator, LookupTable1D, Mux
from blocks.contract import trace as tracing
from blocks.contract.shape import LONG, frozen, says_all, shape
from blocks.contract.trace import TraceCache
from blocks.errors import PlantloopError
from cosim import Diagram, simulate

FACTOR = 2.0


@dataclass(frozen=True)
class ReadsItsModule(Block):
    """y = FACTOR u: a variable of the module that may change between two diagrams."""

    def define(self, b):
        b.output("y", FACTOR * b.input("u"))


@pytest.fixture
def traced(monkeypatch):
    """Classes of the blocks that are traced from here on."""
    found = []
    original = tracing.trace

    def noting(block, sizes, guess=None):
        found.append(type(block).__name__)
        return original(block, sizes, guess)

    monkeypatch.setattr(tracing, "trace", noting)
    return found


def loop(gain, start):
    d = Diagram()
    k, x = d.add("k", Gain(gain)), d.add("x", Integrator(start))
    k["y"] >> x["u"]
    x["y"] >> k["u"]
    return d


def test_a_diagram_of_shapes_seen_before_traces_nothing(traced):
    simulate(loop(-1.0, 1.0), 1.0, engine="reference")
    before = len(traced)
    result = simulate(loop(-2.0, 3.0), 1.0, engine="reference")
    assert len(traced) == before
    assert result["x.y"][-1] == pytest.approx(3.0 * np.exp(-2.0), rel=1e-7)


def test_a_size_that_was_guessed_right_is_not_traced_again(traced):
    d = Diagram()
    d.add("one", Constant(1.0))["y"] >> d.add("f", ReadsItsModule())["u"]
    before = len(traced)
    d.system()
    assert traced[before:] == ["ReadsItsModule"]


@dataclass(frozen=True)
class Labelled(Block):
    """y = u with two labels, whatever the size of u."""

    def define(self, b):
        b.output("y", b.input("u"), labels=["a", "b"])


@pytest.mark.parametrize("size", [1, 2])
def test_labels_are_counted_once_sizes_are_known(size):
    d = Diagram()
    d.add("x", Constant(np.ones(size)))["y"] >> d.add("f", Labelled())["u"]
    if size == 2:
        assert d.system().signals["f.y"].labels == ("a", "b")
    else:
        with pytest.raises(PlantloopError, match="'y' has 2 labels for 1 components"):
            d.system()


def test_numbers_that_are_part_of_a_shape_tell_shapes_apart(traced):
    library = TraceCache(10)
    one, two, again = (library.get(Mux(n), {}, 1) for n in (2, 3, 2))
    assert one is again and one is not two
    assert len(two.declared.inputs) == 3


def test_a_library_keeps_the_shapes_used_last():
    library = TraceCache(4)
    for n in range(1, 20):
        library.get(Mux(n), {}, 1)
        library.get(Gain(1.0), {"u": 1})
        assert len(library) <= 4
    kept = library.get(Gain(1.0), {"u": 1})
    assert kept is library.get(Gain(2.0), {"u": 1})


def test_blocks_of_a_user_are_traced_in_every_diagram(monkeypatch):
    def value():
        d = Diagram()
        d.add("x", Integrator(1.0))["y"] >> d.add("f", ReadsItsModule())["u"]
        d.ground("x.u")
        return simulate(d, 1.0, engine="reference")["f.y"][-1, 0]

    assert value() == 2.0
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    assert value() == 5.0


def test_functions_in_fields_are_not_shared_between_diagrams():
    assert says_all(Gain(1.0)) and says_all(LookupTable1D([0.0, 1.0], [0.0, 2.0]))
    assert not says_all(Function(np.sin))
    assert not says_all(ReadsItsModule())
    scale = [1.0]

    def scaled(u):
        return scale[0] * u

    def value():
        d = Diagram()
        d.add("x", Integrator(1.0))["y"] >> d.add("f", Function(scaled))["u"]
        d.ground("x.u")
        return simulate(d, 1.0, engine="reference")["f.y"][-1, 0]

    assert value() == 1.0
    scale[0] = 7.0
    assert value() == 7.0


def test_long_tables_are_not_kept_for_diagrams_to_come():
    assert says_all(Gain(np.ones(LONG))) and not says_all(Gain(np.ones(LONG + 1)))


def test_matrices_with_zeros_in_other_places_have_other_equations():
    def of(numbers):
        return shape(Gain(np.array(numbers)), {"u": 2}, {"k": "parameter"})

    assert of([[1.0, 0.0], [2.0, 3.0]]) == of([[-1.0, 0.0], [4.0, 5.0]])
    assert of([[1.0, 0.0], [2.0, 3.0]]) != of([[1.0, 2.0], [0.0, 3.0]])


def test_equal_numbers_that_behave_differently_are_different():
    assert frozen(0.0) != frozen(-0.0)
    assert frozen(1) != frozen(1.0) != frozen(True)
    assert frozen(float("nan")) == frozen(float("nan"))
    assert frozen([1.0, 2.0]) != frozen((1.0, 2.0))
    assert frozen(np.array([1.0, 2.0])) != frozen(np.array([[1.0, 2.0]]))


def test_threads_share_a_library():
    library, found = TraceCache(50), []

    def look():
        for k in range(200):
            found.append((k % 7, library.get(Mux(1 + k % 7), {}, 1)))

    threads = [threading.Thread(target=look) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(len(traced.declared.inputs) == 1 + n for n, traced in found)
    assert len(found) == 800


@dataclass(frozen=True)
class Wide(Block):
    """Three inputs and two states of two numbers, of which the output reads one each."""

    def define(self, b):
        _, u, _ = (b.input(name, size=2) for name in ("a", "u", "c"))
        k = b.parameter("k", np.array([2.0, 5.0]))
        x, v = b.continuous("x", initial=[0.0, 0.0]), b.continuous("v", initial=[1.0, 1.0])
        b.derivative(x, v)
        b.derivative(v, -x)
        b.output("y", u[1] + k[1] * v[0] + b.time)


def test_a_part_is_a_function_of_what_it_reads_alone():
    traced = TraceCache().get(Wide(), {})
    part = traced.part("y:y", traced.declared.outputs[0].expression)
    assert (part.own, part.p, part.inputs) == ([2], [1], [1])
    assert part.function.nnz_in() == 5  # time, v[0], k[1], u
    values = part(ca.SX(7.0), ca.SX([0, 0, 3, 0]), ca.SX([0, 5]), ca.SX(0, 1), lambda k: ca.SX([0, 10 * k]))
    assert float(values) == 10 + 5 * 3 + 7
