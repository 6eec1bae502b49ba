"""Crossings as functions of x = t, looked at by the C runtime's functions alone and by those in Python."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np

from blocks.errors import SimulationError
from cosim.engines.reference.crossings import Crossings

CODE = "void(const pl_args *, double *)"  # of generated functions

# with a threshold of 0.5: value, rate, direction, eager, stored sign; is its event due, and the new sign
DUE = [
    (-1.0, 0.0, 0, 0, 1.0, True, -1.0), (-1.0, 0.0, 1, 0, 1.0, False, -1.0),
    (1.0, 0.0, 1, 0, -1.0, True, 1.0), (-1.0, 0.0, -1, 0, 1.0, True, -1.0),
    (1.0, 0.0, 0, 0, 1.0, False, 1.0), (0.5, 2.0, 0, 0, 0.0, True, 1.0),
    (-1.0, 0.0, 0, 0, 0.0, False, -1.0), (-1.0, 0.0, 0, 1, 0.0, True, -1.0),
    (0.5, 0.0, 0, 0, 0.0, False, 1.0), (-1.0, 0.0, 1, 1, 0.0, False, -1.0),
    (0.5, -2.0, 0, 0, 0.0, True, -1.0), (0.25, -2.0, 0, 0, 0.0, True, -1.0),
    (0.75, -2.0, 0, 0, 0.0, False, 1.0), (-1.0, 0.0, 0, 0, 2.0, False, -1.0),
    (1.0, 0.0, 0, 1, 2.0, False, 1.0),
]  # fmt: skip


class InC:
    """Crossings g (functions of x) with their rates, directions and thresholds; those of `held` never change.

    at : where each event has its crossing, if not in its own place; visited : x at which they were looked at
    """

    def __init__(
        self, runtime, g, rates=None, signs=None, direction=None, threshold=None, rest=None, in_time=0,
        held=0, at=None, pieces=False,
    ):  # fmt: skip
        self.visited, self.rated, self.g, self.runtime = [], [], g, runtime
        self.rates = rates or [lambda x: 0.0] * len(g)
        at = at or list(range(len(g)))
        n, places = len(at), len(g)
        ints = lambda values: runtime.array(values, "int32_t")
        doubles = lambda size: runtime.array([0.0] * size)
        events = [[e for e in range(n) if at[e] == p] for p in range(places)]
        starts = np.cumsum([0, *map(len, events)]).tolist()
        lasting = runtime.new(
            "pl_lasting", n_pieces=1 if held else 0,
            pieces=self.functions([lambda a, out: self.values(a, out, 0, held)]),
            needs_start=ints([0, 1]), needs=ints([0]), runs_start=ints([0, 1]), runs=ints([0, held]),
            readers_start=ints([0, 1]), readers=ints([0]), restless=ints([0]), n_runs=1,
        )  # fmt: skip
        self.crossings = runtime.new(
            "pl_parts", all=runtime.function(CODE, lambda a, out: self.values(a, out, 0, places)),
            states=ints([0, 1] * places), piece_of=ints(at),
        )  # fmt: skip
        if pieces:
            self.crossings.n_pieces = places
            self.crossings.pieces = self.functions(
                [lambda a, out, p=p: self.values(a, out, p, p + 1) for p in range(places)]
            )
            self.crossings.needs_start, self.crossings.needs = ints(range(places + 1)), ints(range(places))
        slopes = runtime.new("pl_parts", all=runtime.function(CODE, lambda a, out: self.slopes(a, out, n)))
        self.context = runtime.new(
            "pl_context", x=doubles(1), h=doubles(1), signs=runtime.array(signs or [1.0] * n)
        )
        self.r = runtime.run(
            {
                "nx": 1, "crossings": self.crossings, "held_crossings": lasting, "crossing_rates": slopes,
                "accepted": runtime.new("pl_lasting"), "n_places": places, "n_held_places": held,
                "moving_crossings": runtime.function(CODE, lambda a, out: self.values(a, out, held, places)),
                "place_of": ints(at), "event_start": ints(starts),
                "event_at": ints([e for some in events for e in some]),
            },
            {
                "n_events": n, "direction": ints(direction or [0] * n), "rest": ints(rest or [1] * n),
                "threshold": runtime.array(threshold or [0.0] * n),
            },
            context=self.context, settings=runtime.new("pl_settings", in_time=in_time), located=-1,
            g=doubles(places), g_rates=doubles(n), side=doubles(places), limit=doubles(places),
            reached=doubles(places), farthest=doubles(n), missed=doubles(n), new_signs=doubles(n),
            out=doubles(17 * n), scratch=doubles(1), unprojected=doubles(1), special=ints([0] * n),
            loud=ints([0] * n), wanted=ints([0] * places), looked_at=ints([0] * 2 * (places + 1)),
            stale_crossings=ints([0] * places), fired=ints([0] * n), candidate=ints([0] * n),
        )  # fmt: skip

    def functions(self, some):
        return self.runtime.array([self.runtime.function(CODE, one) for one in some], "pl_function")

    def values(self, a, out, first, last):
        self.visited.append(a.x[0])
        for p in range(first, last):
            out[p] = float(self.g[p](a.x[0]))

    def slopes(self, a, out, n):
        self.rated.append(a.x[0])
        for e in range(n):
            out[e] = float(self.rates[e](a.x[0]))

    def root(self, k, side, low, high):
        return self.runtime.c.find_root(self.r, k, side, low, high)

    def turn(self, k, side, low, high):
        return self.runtime.c.find_turn(self.r, k, side, low, high)

    def resolved(self, low, high):
        self.r.t1 = math.inf
        return bool(self.runtime.c.is_resolved(self.r, low, high))

    def locate(self, low, high):
        """Time and event of the first, or None."""
        r = self.r
        r.t0, r.t1, r.x1, r.located, r.arrived = low, high, self.runtime.array([high]), -1, 0
        r.integrated1 = r.x1
        reason = self.runtime.c.pl_locate_crossing(r)
        if reason:
            return reason
        return (r.t1, r.located) if r.located >= 0 else None

    def signs(self):
        return list(self.context.signs[0 : self.r.system.n_events])


class InPython:
    """The same of the reference engine."""

    def __init__(self, g, rates=None, signs=None, direction=None, threshold=None, rest=None, in_time=0):
        n = len(g)
        self.visited, self.g, self.x = [], g, 0.0
        self.rates = rates or [lambda x: 0.0] * n
        c = self.crossings = object.__new__(Crossings)
        c.invariants = SimpleNamespace(restored=lambda t, x: x)
        context = SimpleNamespace(t=0.0, x=np.zeros(1), signs=np.array(signs or [1.0] * n))
        failed = lambda t, place, in_reset=False: SimulationError("no number", path=place, time=t)
        c.workspace = SimpleNamespace(put=self.put, context=context, non_finite=failed)
        c.unknowns = SimpleNamespace(refresh=lambda: None, count=0)
        c.events = [SimpleNamespace(direction=d, place="it") for d in direction or [0] * n]
        c.threshold = np.array(threshold or [0.0] * n)
        c._g, c._rate, c.in_time = self.values, lambda: np.array([f(self.x) for f in self.rates]), in_time
        c._now, c._largest, c._missed, c.farthest = (np.zeros(n) for _ in range(4))
        c._rest = np.array(rest or [1] * n, dtype=float)

    def put(self, t, x):
        self.x = x[0]

    def values(self):
        self.visited.append(self.x)
        return np.array([float(f(self.x)) for f in self.g])

    def step(self, low, high):
        return SimpleNamespace(t0=low, t1=high, x1=[high], inside=lambda t: [t])

    def root(self, k, side, low, high):
        return self.crossings._root(self.step(low, high), k, side, low, high)

    def turn(self, k, side, low, high):
        return self.crossings._turn(self.step(low, high), k, side, low, high)

    def resolved(self, low, high):
        step = self.step(low, high)
        return bool(self.crossings._resolved(step, low, high, self.crossings._known(step, low, high)))

    def locate(self, low, high):
        return self.crossings.locate(self.step(low, high))

    def signs(self):
        return self.crossings.workspace.context.signs.tolist()
