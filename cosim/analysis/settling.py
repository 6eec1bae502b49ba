"""Near a stable rest: where a system settles to that is let go, what is sampled along with the rest.

What is sampled follows what its ticks ask for as a lag of its period would: h' = (f(h) - h) / T. Where the
sampled system settles, all its poles z within the unit circle, this does, too: Re (z - 1) / T < 0.
"""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np

from cosim.analysis.followed_branches import FollowedBranches
from cosim.analysis.operating import SystemAtPoint, static_of
from cosim.analysis.relaxation import Descent, relaxed
from cosim.analysis.tangent import Delays, Tangent
from cosim.columns import pick
from cosim.segments import Segment
from cosim.system import System

CORRECTIONS = 4  # steps back onto the invariants after each one downhill


def settled(
    model: SystemAtPoint,
    x_index: np.ndarray,
    h_index: np.ndarray,
    limits: tuple[np.ndarray, np.ndarray],
    branches: FollowedBranches,
) -> np.ndarray:
    """(x, h, w) of a system that is let go from where it stands: states x, what is sampled h, unknowns w.

    x_index, h_index : places of what may move; limits : bounds of all of (x, h, w); branches : go along
    """
    s, c, nx, nh = model.system, model.context, len(x_index), len(h_index)
    still = np.concatenate(
        [np.zeros(0, int), *[o.index for o in s.states.values() if static_of(o) == "zero"]]
    )
    free = np.concatenate([x_index, still])
    time = np.zeros(1)
    correction = model.bound(s.function("correction", lambda: [s.correction]), time)
    tangent = Tangent(s, c, Delays(s, c, 0, sampled=False))  # what is delayed is as late as it likes at rest

    def put(x: np.ndarray) -> None:
        c.x[free], c.h[h_index], time[0] = x[: len(free)], x[len(free) :], c.t
        model.choose_branches()
        tangent.bring_to_rest() if s.delays else model.find_unknowns()

    def at(of: Callable[[], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
        def there(x: np.ndarray) -> np.ndarray:
            put(x)
            return of()

        return there

    def arrived(x: np.ndarray) -> None:
        put(x)
        branches.go_on()

    rates, slopes = _flow(model, tangent, free, h_index, time)

    def corrected(x: np.ndarray) -> np.ndarray:
        for _ in range(CORRECTIONS if s.invariants.numel() else 0):
            put(x)
            x = x + np.concatenate([correction()[free], np.zeros(nh)])
        return x

    whole = np.full(len(still), np.inf)
    low, high = (
        np.concatenate([of[:nx], side * whole, of[nx : nx + nh]])
        for of, side in zip(limits, (-1.0, 1.0), strict=True)
    )
    resting = (np.arange(len(low)) >= nx) & (np.arange(len(low)) < len(free))
    motion = Descent(at(rates), at(slopes), corrected, resting, low, high, arrived)
    found = relaxed(motion, np.concatenate([c.x[free], c.h[h_index]]))
    put(np.where(resting, 0.0, found))
    return np.concatenate([c.x[x_index], c.h[h_index], c.w])


def _flow(
    model: SystemAtPoint, tangent: Tangent, free: np.ndarray, h_index: np.ndarray, time: np.ndarray
) -> tuple[Callable[[], np.ndarray], Callable[[], np.ndarray]]:
    """Rates of change (n,) of the places that are free, and their slopes (n, n), where the context stands."""
    s = model.system
    if not len(h_index):
        derivative = model.bound(s.function("derivative", lambda: [s.derivative]), time)
        own = lambda: tangent.rates().own if s.delays else model.continuous()[0]
        return (
            lambda: derivative()[free],
            lambda: np.asarray(own()[np.ix_(free, free)]),
        )
    last = {int(place): (segment, k) for segment in s.schedule for k, place in enumerate(segment.writes)}

    def lag(place: int) -> ca.SX:
        segment, k = last[place]
        return (segment.expression[k] - s.h[place]) / _period(s, segment)

    def made() -> list[ca.SX]:
        rates = ca.vertcat(pick(s.derivative, free), *[lag(int(place)) for place in h_index])
        late = [pick(s.w, d.places) - d.signal for d in s.delays]
        missed, moving = ca.vertcat(s.residual, *late), ca.vertcat(pick(s.x, free), pick(s.h, h_index))
        jacobians = [ca.jacobian(e, v) for e in (rates, missed) for v in (moving, s.w)]
        return [ca.densify(e) for e in (rates, *jacobians)]

    function = model.bound(s.function(f"settling:{free.tolist()}:{h_index.tolist()}", made), time)
    n, unknown = len(free) + len(h_index), len(model.context.w)

    def slopes() -> np.ndarray:
        function()
        shapes = ((n, n), (n, unknown), (unknown, n), (unknown, unknown))
        own, by_w, of_w, w = (
            e.reshape(shape, order="F") for e, shape in zip(function.outputs[1:], shapes, strict=True)
        )
        return np.asarray(own - by_w @ np.linalg.solve(w, of_w) if w.size else own.copy())

    return lambda: function().copy(), slopes


def _period(s: System, segment: Segment) -> float:
    """The shortest time [s] between two of its calls."""
    return float(min(r.period for k, r in enumerate(s.rates) if segment.activation.due({k})))
