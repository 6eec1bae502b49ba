"""One unit in one run: the unit itself, its time, and the part of its past that the coupling needs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from blocks.contract.driven import DrivenBlock, Reached, SteppingUnit
from blocks.errors import naming_block
from cosim.fmi.coupling.curves import Curve, Sample

KEPT = 3  # samples needed by a quadratic
LAST = 3.0  # parts of a step, in the last of which a unit that takes no slopes has the values at its end
THERE = 1e-9  # relative; a unit this near an instant stands there


@dataclass(frozen=True)
class UnitStanding:
    """The state of a unit between two of its steps.

    points : communication points that it has reached, 0 before it begins
    u, y : newest samples of its inputs and outputs, the newest first
    """

    points: int = 0
    time: float = 0.0
    u: tuple[Sample, ...] = ()
    y: tuple[Sample, ...] = ()
    ended: str = ""

    def arrived(self, reached: Reached, y: np.ndarray) -> UnitStanding:
        """The standing after a step."""
        newest = ((reached.time, y), *(() if reached.jumped else self.y))[:KEPT]
        return replace(self, points=self.points + 1, time=reached.time, y=newest, ended=reached.ended)

    def given(self, u: np.ndarray, jumped: bool = False) -> UnitStanding:
        """The standing with sampled inputs; after a jump their past is dropped."""
        older = () if jumped else tuple(s for s in self.u if s[0] < self.time)
        return replace(self, u=((self.time, u), *older)[:KEPT])

    def visited(self, y: np.ndarray, jumped: bool, ended: str) -> UnitStanding:
        """The standing after a visit; the past of outputs is dropped where a continuous one has `jumped`."""
        return replace(self, y=((self.time, y), *(() if jumped else self.y[1:])), ended=ended)

    def forgetful(self) -> UnitStanding:
        """Without a past of its outputs: extrapolation starts afresh."""
        return replace(self, y=self.y[:1])


class UnitRun:
    """An instance as a run makes, saves, loads and closes it.

    in_loop : is it in a loop at one instant, through what it is given in visits?
    """

    def __init__(self, block: DrivenBlock, path: str = "", in_loop: bool = False) -> None:
        self.block, self.path, self.in_loop = block, path, in_loop
        self.unit = self._made()
        self.standing = UnitStanding()
        self.begun = 0.0  # s; where it was initialised
        self.parameters = np.zeros(0)  # parameters as last given
        self.jumped = False  # did its outputs jump in its newest step, or the visit behind it?
        self._smooth = block.smooth_outputs

    def _made(self) -> SteppingUnit:
        unit = self.block.make()
        if self.in_loop:
            unit.meet_in_loop()
        return unit

    def begin(self, t: float, u: np.ndarray, p: np.ndarray) -> None:
        """Enter initialisation at t [s]."""
        with naming_block(self.path):
            self.unit.begin(t, u, p)
        self.parameters, self.begun = p.copy(), t
        self.standing = replace(UnitStanding(), time=t)

    def exchange(self, u: np.ndarray) -> np.ndarray:
        """During initialisation: outputs (m,) for these inputs."""
        with naming_block(self.path):
            return self.unit.exchange(u)

    def start(self) -> np.ndarray:
        """Leave initialisation; outputs (m,)."""
        with naming_block(self.path):
            y = self.unit.start().copy()
        self.standing = replace(self.standing, points=1, y=((self.standing.time, y),))
        return y

    def tune(self, p: np.ndarray) -> None:
        """Give it the parameters of the run, (np,), if they changed."""
        if (p != self.parameters).any():
            with naming_block(self.path):
                self.unit.tune(p)
            self.parameters = p.copy()

    def step(self, t: float, inputs: Curve, held_at_end: bool, in_pieces: bool = False) -> np.ndarray:
        """Step to t [s]; returns the outputs there, (m,).

        inputs : about where it stands
        held_at_end : a unit that takes no slopes gets the curve's value at t, else its mean
        in_pieces : such a unit steps twice, see `_step_in_pieces`, if its own steps are short enough
        """
        now, n = self.standing.time, self.block.n_inputs
        slope, curvature, value = inputs.slope, inputs.curvature, inputs.value
        if self.unit.slopes < 1 and (slope.any() or curvature.any()):
            if in_pieces and (t - now) / LAST >= self.block.inner_step:
                return self._step_in_pieces(t, inputs)
            value = inputs.at(t) if held_at_end else inputs.mean(t)
            slope = curvature = np.zeros(n)
        elif self.unit.slopes < 2 and curvature.any():
            slope, curvature = (inputs.at(t) - value) / (t - now), np.zeros(n)
        return self._arrived(self._stepped(now, t, value, slope, curvature))

    def _step_in_pieces(self, t: float, inputs: Curve) -> np.ndarray:
        """Step to t [s] with constants that stand for a curve: its end over the last third, and before it

            v = end + 3/2 (mean - end),

        which has its mean, and of a line the first moment too. States are wrong by the fourth power of the
        step only, and outputs that follow inputs at once see these as they are at the end.
        """
        now, end, none = self.standing.time, inputs.at(t), np.zeros(self.block.n_inputs)
        between = now + (t - now) * ((LAST - 1.0) / LAST)
        before = end + (inputs.mean(t) - end) * (LAST / (LAST - 1.0))
        first = self._stepped(now, between, before, none, none)
        if first.ended:
            return self._arrived(first)
        second = self._stepped(between, t, end, none, none)
        return self._arrived(replace(second, jumped=first.jumped or second.jumped))

    def _stepped(
        self, now: float, t: float, value: np.ndarray, slope: np.ndarray, curvature: np.ndarray
    ) -> Reached:
        with naming_block(self.path):
            return self.unit.step(now, t - now, value, slope, curvature)

    def _arrived(self, reached: Reached) -> np.ndarray:
        with naming_block(self.path):
            y = self.unit.outputs().copy()
        self.standing, self.jumped = self.standing.arrived(reached, y), reached.jumped
        return y

    # --- an `Instance` of a run -------------------------------------------------------------------
    def call(self, t: float, u: np.ndarray) -> np.ndarray:
        """Visit it in the tick at t [s], unless the run ends before it got there; see `Instance.call`."""
        before = self.standing.y[0][1]
        if abs(t - self.standing.time) > THERE * max(1.0, abs(t)):
            return before
        ended = self.unit.visit(u)
        y = self.unit.outputs().copy()
        jumped = bool((y != before)[self._smooth].any())
        self.jumped |= jumped
        self.standing = self.standing.visited(y, jumped, ended)
        return y

    def save(self) -> bytes:
        """See `Instance.save`."""
        s = self.standing
        samples = lambda found: [[t, v.tolist()] for t, v in found]
        facts = {"points": s.points, "time": s.time, "u": samples(s.u), "y": samples(s.y), "ended": s.ended}
        facts["parameters"], facts["begun"] = self.parameters.tolist(), self.begun
        state = self.unit.save() if s.points else b""
        return json.dumps(facts).encode() + b"\n" + state

    def load(self, state: bytes) -> None:
        """See `Instance.load`."""
        head, _, rest = state.partition(b"\n")
        facts = json.loads(head)
        if not facts["points"]:
            if self.standing.points:
                self.unit.close()
                self.unit = self._made()
            self.standing = UnitStanding()
            return
        samples = lambda found: tuple((float(t), np.array(v, dtype=float)) for t, v in found)
        now, p = float(facts["time"]), np.array(facts["parameters"], dtype=float)
        u, y = samples(facts["u"]), samples(facts["y"])
        if not self.standing.points:
            self.begin(float(facts.get("begun", 0.0)), u[0][1] if u else self.block.start, p)
            self.unit.start()
        self.unit.load(rest)
        self.parameters = p
        self.standing = UnitStanding(int(facts["points"]), now, u, y, facts["ended"])

    def close(self) -> None:
        """See `Instance.close`."""
        self.unit.close()


@dataclass(frozen=True)
class KeptUnits:
    """All units, saved at one instant."""

    states: Sequence[Any]
    standings: Sequence[UnitStanding]

    def only(self, place: int) -> KeptUnits:
        """The one at a place among them."""
        return KeptUnits([self.states[place]], [self.standings[place]])


def kept(units: Sequence[UnitRun]) -> KeptUnits:
    """Save the states of some units."""
    return KeptUnits([u.unit.keep() for u in units], [u.standing for u in units])


def restored(units: Sequence[UnitRun], there: KeptUnits) -> None:
    """Restore all of them."""
    for unit, state, standing in zip(units, there.states, there.standings, strict=True):
        unit.unit.restore(state)
        unit.standing = standing


__all__ = ["KeptUnits", "UnitRun", "UnitStanding", "kept", "restored"]
