"""Adaptive steps end at corners of the right-hand side: closed forms, both engines, and where is none."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from blocks import Block, Equations, Gain, Integrator, Saturation, Sine, TransportDelay
from cosim import Diagram, simulate
from cosim.engines.methods.corners import corners_of, first_corner


@dataclass(frozen=True)
class Law(Block):
    """x' = rate(b, x)."""

    rate: Callable[..., Any]
    x0: float = 0.0

    def define(self, b: Equations) -> None:
        x = b.continuous("x", self.x0)
        b.derivative(x, self.rate(b, x))
        b.output("y", x)


def law(rate, x0=0.0) -> Diagram:
    d = Diagram("law")
    d.add("law", Law(rate, x0))
    return d


def run(d, until, engine="reference", **options):
    return simulate(d, until, engine=engine, **({"log_every": "step"} | options))


def clipped(t):
    """The integral of clip(2 sin 3t, -1, 1)."""
    third = np.pi / 3
    turn, rise = third / 6, 2 / 3 * (1 - np.cos(np.pi / 6))
    n, s = np.divmod(t, third)
    low = np.where(s < turn, 2 / 3 * (1 - np.cos(3 * s)), rise + s - turn)
    whole = 2 * rise + third - 2 * turn
    half = np.where(s <= third - turn, low, whole - 2 / 3 * (1 - np.cos(3 * (third - s))))
    return np.where(n % 2 == 0, half, whole - half)


@pytest.mark.parametrize("solver", ["dopri5", "rodas4"])
def test_a_limited_sine_is_integrated_as_a_smooth_one_and_steps_end_at_its_corners(solver):
    d = Diagram("limited")
    wave, x = d.add("wave", Sine(2.0, 3.0)), d.add("x", Integrator(0))
    limit = d.add("limit", Saturation(-1, 1))
    wave["y"] >> limit["u"]
    limit["y"] >> x["u"]
    r, native = (run(d, 4.0, engine, solver=solver) for engine in ("reference", "native"))
    assert r["x.y"][:, 0] == pytest.approx(clipped(r.time), abs=5e-8)  # without: 1e-5
    turns = np.array([n * np.pi / 3 + s * np.pi / 18 for n in range(4) for s in (1, 5)])
    nearest = np.abs(r.time[:, None] - turns[turns < 4.0]).min(axis=0)
    assert nearest.max() < 1e-7
    if solver == "dopri5":
        assert native.time.tolist() == r.time.tolist() and native["x.y"].tolist() == r["x.y"].tolist()
    else:
        assert native["x.y"][:, 0] == pytest.approx(clipped(native.time), abs=5e-8)


def test_fixed_steps_are_what_they_were():
    steps = run(law(lambda b, x: np.abs(np.sin(b.time))), 5.0, solver="rk4", step=0.3).time
    assert np.diff(steps) == pytest.approx(5.0 / 17)


def test_each_comparison_is_looked_at_once_and_only_those_that_move():
    def rate(b, x):
        k = b.parameter("k", 2.0)
        moving = np.where(x < 1, 1 - x, 0) + np.where(x <= 1, 1 - x, 0) + np.maximum(x, 1) + np.abs(x[0] - 3)
        return moving + np.maximum(k, 1) * np.abs(k) + np.abs(1 / (2 + x)) + np.abs(x**2)

    found = corners_of(law(rate).system())
    assert found.numel() == 2  # x - 1, x - 3


def test_delayed_signals_are_left_to_error_control():
    d = Diagram("delayed")
    x, late = d.add("x", Integrator(1.0)), d.add("late", TransportDelay(0.5))
    size, back = d.add("size", Saturation(-0.5, 0.5)), d.add("back", Gain(-1.0))
    x["y"] >> late["u"]
    late["y"] >> size["u"]
    size["y"] >> back["u"]
    back["y"] >> x["u"]
    assert corners_of(d.system()).numel() == 0


def test_a_corner_that_draws_solutions_in_costs_a_few_steps_only():
    """x' = 1 - 1e4 max(x, 0) and the like: x comes to rest at a corner, or beside it, and stays."""
    for rest in (0.0, 1e-9, -1e-9):
        r = run(law(lambda b, x, rest=rest: -1e3 * np.abs(x) * np.sign(x) + 1e3 * rest, x0=-1.0), 1.0)
        assert r["law.y"][-1, 0] == pytest.approx(rest, abs=1e-9)
        assert r.statistics["evaluations"] < 6000


def test_many_corners_within_a_step_end():
    """Thousands of corners on the way: each step is made shorter a few times at most."""
    r = run(law(lambda b, x: 1.0 + 1e-13 * np.abs(np.sin(1e4 * b.time))), 1.0)
    assert r["law.y"][-1, 0] == pytest.approx(1.0, abs=1e-9) and r.statistics["steps"] < 7000


def test_the_first_of_several_corners_is_found_just_behind_it():
    places = np.array([0.7, 0.31, 0.6])
    found = first_corner(lambda t, x: x - places, 0.0, 1.0, lambda t: np.full(3, t))
    assert 0.31 <= found <= 0.31 + 1e-7
    curved = first_corner(lambda t, x: np.array([np.exp(9 * x) - 2.0]), 2.0, 1.0, lambda t: t - 2.0)
    assert 2.0 + np.log(2) / 9 <= curved <= 2.0 + np.log(2) / 9 + 1e-7


@pytest.mark.parametrize(
    "values",
    [
        lambda t: [],
        lambda t: [1.0 + t],
        lambda t: [0.0],
        lambda t: [np.nan],
        lambda t: [t - 1e-7],
        lambda t: [t - 1 + 1e-7],
        lambda t: [max(t - 0.5, 0.0)],
    ],
)
def test_nothing_is_found_where_no_sign_changes_within_the_step(values):
    assert first_corner(lambda t, x: np.array(values(t)), 0.0, 1.0, lambda t: t) == np.inf


def test_a_step_at_the_last_digits_of_time_is_not_made_shorter():
    late = 1e6
    h = 4 * np.spacing(late)
    found = first_corner(lambda t, x: np.array([t - late - 1e-12]), late, h, lambda t: t)
    assert found == np.inf or late < found <= late + h
