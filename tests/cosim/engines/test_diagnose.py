"""A run that meets a value that is not finite: what is named, and what is kept until there."""

from dataclasses import dataclass

import numpy as np
import pytest

from blocks import Block, Clock, Constant, Function, Gain, Hold, Integrator, Product, Sum
from tests.helpers.failures import fails
from tests.helpers.runs import build

CURE = "Look there for a division by zero, a root of a negative number, or too long a step."


FIXED = {"solver": "rk4", "step": 0.01}


@pytest.mark.parametrize("options", [{}, FIXED, {"solver": "euler", "step": 0.01}], ids=str)
def test_a_division_by_zero_names_block_signal_and_time(options):
    blocks = {
        "c": Clock(),
        "h": Hold(sample="1/20"),
        "b": Constant(0.55),
        "s": Sum("+-"),
        "one": Constant(1.0),
        "ratio": Product("*/"),
        "x": Integrator(),
    }
    d = build("c.y>h.u b.y>s.in1 h.y>s.in2 one.y>ratio.in1 s.y>ratio.in2 ratio.y>x.u", **blocks)
    error = fails(d, "non-finite signal 'ratio.y' = inf in block 'ratio' at t=0.55 s", **options)
    assert error.path == "ratio.y" and error.time == pytest.approx(0.55) and str(error).endswith(CURE)
    np.testing.assert_allclose(error.result.time, np.arange(6) / 10)


@pytest.mark.parametrize("options", [{}, FIXED], ids=str)
def test_a_root_of_a_negative_number_names_the_first_signal_not_what_reads_it(options):
    blocks = {"x": Integrator(), "c": Clock(), "root": Function(lambda t: np.sqrt(0.35 - t)), "g": Gain(2.0)}
    error = fails(
        build("c.y>root.t root.y>g.u g.y>x.u", **blocks), "signal 'root.y' = nan in block 'root'", **options
    )
    np.testing.assert_allclose(error.result.time, np.arange(4) / 10)
    assert error.time == pytest.approx(0.35, abs=0.011)


def test_the_last_good_time_is_told():
    d = build("c.y>f.t f.y>x.u", c=Clock(), f=Function(lambda t: np.sqrt(0.36 - t)), x=Integrator())
    fails(d, r"at t=0.375 s \(last finite t=0.35 s\)", solver="rk4", step=0.05)


def test_a_non_finite_value_that_nothing_reads_stops_the_run_where_it_is_logged():
    d = build("c.y>f.t", c=Clock(), f=Function(lambda t: 1.0 / (0.5 - t)))
    error = fails(d, "signal 'f.y' = inf in block 'f' at t=0.5 s")
    np.testing.assert_allclose(error.result.time, np.arange(5) / 10)


def test_the_component_is_named():
    d = build(
        "c.y>f.t f.y>x.u",
        c=Clock(),
        f=Function(lambda t: np.stack([t[0], 1.0 / (t[0] - 0.5)])),
        x=Integrator(),
    )
    fails(d, r"signal 'f.y\[1\]' = inf in block 'f'", solver="euler", step=0.1)


def test_the_block_is_named_by_its_path():
    inner = build("", f=Function(lambda u: 1.0 / u))
    inner.connect(inner.inport("u"), "f.u")
    d = build("", c=Constant(0.0))
    d.connect("c.y", d.add("part", inner)["u"])
    fails(d, "signal 'part/f.y' = inf in block 'part/f' at t=0 s")


def test_a_sampled_chain_names_the_block_at_fault_not_its_segment():
    blocks = {
        "c": Clock(),
        "before": Hold(sample=0.1),
        "wrong": Function(lambda u: 1.0 / (u - 0.3), sample=0.1),
        "after": Hold(sample=0.1),
        "between": Function(lambda u: u * 2.0),
        "last": Hold(sample=0.1),
    }
    d = build("c.y>before.u before.y>wrong.u wrong.y>after.u after.y>between.u between.y>last.u", **blocks)
    fails(d, "non-finite signal 'wrong.y' = inf in block 'wrong' at t=0.3 s")


def test_a_continuous_block_between_sampled_ones_is_named():
    blocks = {
        "c": Clock(),
        "h": Hold(sample=0.1),
        "f": Function(lambda u: np.log(0.3 - u)),
        "k": Hold(sample=0.1),
    }
    fails(build("c.y>h.u h.y>f.u f.y>k.u", **blocks), "signal 'f.y' = -inf in block 'f' at t=0.3 s")


def test_a_next_state_that_is_not_finite_is_named():
    @dataclass(frozen=True)
    class Explodes(Block):
        def define(self, b):
            x = b.discrete("x", 1.0, sample=0.1)
            b.update(x, 1.0 / (b.time - 0.2))
            b.output("y", x)

    fails(build("", e=Explodes()), "non-finite value of 'e.x' = inf in block 'e' at t=0.2 s")


def test_a_derivative_that_is_not_finite_is_named():
    @dataclass(frozen=True)
    class Explodes(Block):
        def define(self, b):
            x = b.continuous("x", 1.0)
            b.derivative(x, 1.0 / (b.time - 0.25))
            b.output("y", x)

    fails(
        build("", e=Explodes()),
        "non-finite derivative of 'e.x' = inf in block 'e' at t=0.25 s",
        solver="rk4",
        step=0.05,
    )


def test_a_named_term_of_the_equations_is_told():
    @dataclass(frozen=True)
    class Plant(Block):
        def define(self, b):
            x = b.continuous("x", 1.0)
            distance = 0.5 - b.time
            b.term("Force id=10, SQRT(...) in expr, column 14", np.sqrt(distance))
            b.derivative(x, np.sqrt(distance))
            b.output("y", x)

    error = fails(build("", p=Plant()), "non-finite derivative of 'p.x'", solver="rk4", step=0.1)
    assert "First non-finite term: p: Force id=10, SQRT(...) in expr, column 14 = nan." in str(error)
