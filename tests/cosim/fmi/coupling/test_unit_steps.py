"""What a unit is given over a step: its inputs as far as it takes them, in one step or in two."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from blocks.contract.driven import Reached
from cosim.fmi.coupling.curves import Curve
from cosim.fmi.coupling.unit_run import UnitRun

END = 0.3


class Told:
    """A unit that keeps what it is told; `comes` are its answers, by the number of the step."""

    def __init__(self, slopes: int, **comes: Reached) -> None:
        self.slopes, self.comes, self.told = slopes, comes, []

    def begin(self, t: float, u: np.ndarray, p: np.ndarray) -> None:
        self.told.clear()

    def start(self) -> np.ndarray:
        return self.outputs()

    def outputs(self) -> np.ndarray:
        return np.array([float(len(self.told))])

    def step(self, now: float, h: float, *curve: np.ndarray) -> Reached:
        self.told.append((now, h, *(float(part[0]) for part in curve)))
        return self.comes.get(f"step{len(self.told)}", Reached(now + h))


def stepped(unit: Told, slope: float, curvature: float, inner: float = 0.0, **how: Any) -> UnitRun:
    """From 0 to 0.3 s with 1 + slope t + curvature t^2 / 2."""
    block = SimpleNamespace(make=lambda: unit, n_inputs=1, inner_step=inner, smooth_outputs=np.array([True]))
    run = UnitRun(block)  # type: ignore[arg-type]
    run.begin(0.0, np.ones(1), np.zeros(0))
    run.start()
    run.step(END, Curve(0.0, np.ones(1), np.array([slope]), np.array([curvature])), **how)
    return run


TAKEN = {
    "the end of a line": (0, 2.0, 0.0, {"held_at_end": True}, [(0, 0.3, 1.6, 0, 0)]),
    "its mean": (0, 2.0, 0.0, {"held_at_end": False}, [(0, 0.3, 1.3, 0, 0)]),
    "a constant": (0, 0.0, 0.0, {"held_at_end": True, "in_pieces": True}, [(0, 0.3, 1, 0, 0)]),
    "a line in pieces": (  # 0.2 s of 1.15 and 0.1 s of 1.6 are 0.3 s of 1.3
        0, 2.0, 0.0, {"held_at_end": False, "in_pieces": True}, [(0, 0.2, 1.15, 0, 0), (0.2, 0.1, 1.6, 0, 0)],
    ),
    "a bend alone in pieces": (  # the mean of t^2 is 0.03, its end 0.09
        0, 0.0, 2.0, {"held_at_end": True, "in_pieces": True}, [(0, 0.2, 1.0, 0, 0), (0.2, 0.1, 1.09, 0, 0)],
    ),
    "pieces as long as its own steps": (
        0, 2.0, 0.0, {"held_at_end": True, "in_pieces": True, "inner": END / 3},
        [(0, 0.2, 1.15, 0, 0), (0.2, 0.1, 1.6, 0, 0)],
    ),
    "pieces that are too short": (
        0, 2.0, 0.0, {"held_at_end": True, "in_pieces": True, "inner": 0.11}, [(0, 0.3, 1.6, 0, 0)],
    ),
    "a slope": (1, 2.0, 0.0, {"held_at_end": True, "in_pieces": True}, [(0, 0.3, 1, 2, 0)]),
    "a slope for a bend": (1, 2.0, 2.0, {"held_at_end": False, "in_pieces": True}, [(0, 0.3, 1, 2.3, 0)]),
    "a bend": (2, 2.0, 2.0, {"held_at_end": True, "in_pieces": True}, [(0, 0.3, 1, 2, 2)]),
}  # fmt: skip


@pytest.mark.parametrize("name", TAKEN)
def test_a_unit_gets_what_it_takes_of_a_curve(name):
    slopes, slope, curvature, how, wanted = TAKEN[name]
    unit = Told(slopes)
    run = stepped(unit, slope, curvature, **how)
    np.testing.assert_allclose(unit.told, wanted, rtol=0, atol=1e-15)
    assert run.standing.time == pytest.approx(END, abs=1e-15) and run.standing.points == 2


@pytest.mark.parametrize(("where", "jumped"), [("step1", True), ("step2", True), ("", False)])
def test_a_jump_in_either_piece_is_one_of_the_step(where, jumped):
    comes = {where: Reached({"step1": 0.2, "step2": END}[where], jumped=True)} if where else {}
    run = stepped(Told(0, **comes), 2.0, 0.0, held_at_end=True, in_pieces=True)
    assert run.jumped == jumped and len(run.standing.y) == (1 if jumped else 2)


def test_a_unit_that_ends_the_run_in_the_first_piece_makes_no_other():
    unit = Told(0, step1=Reached(0.15, ended="enough"))
    run = stepped(unit, 2.0, 0.0, held_at_end=True, in_pieces=True)
    assert len(unit.told) == 1 and (run.standing.time, run.standing.ended) == (0.15, "enough")
