"""Exact discrete model of a diagram of one rate, from just before one tick to just before the next.

At the tick the schedule is a linear map; between ticks the states follow x' = A x + B(s) h + ..., with s the
time since the tick and B(s) a polynomial (extrapolating holds), which one matrix exponential solves exactly:
with h_k = s^k/k! h the pair (x, h_0, h_1, ...) obeys a constant linear system.
Source: Van Loan, IEEE Trans. Automatic Control 23 (1978) 395-404, for the block exponential.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from blocks.errors import PlantloopError
from cosim.run.context import Context
from cosim.segments import Segment
from cosim.system import System, pick

TICKS_DONE = 8  # in steady running: more than an extrapolation of degree `DEGREE` waits for
DEGREE = 4  # highest power of the time since the tick that a hold may use


@dataclass(frozen=True)
class Discrete:
    """Jacobians of the tick and of the flow; `kept` are the places in h whose value before a tick matters."""

    kept: list[int]
    tick_h: np.ndarray  # (nh, nx + nk + m): h after the tick from x, kept h and inputs before it
    tick_next: np.ndarray  # (nk, nx + nk + m): kept h before the next tick
    flow_x: np.ndarray  # (nx, nx)
    flow_h: np.ndarray  # (nx, nh)
    out_x: np.ndarray  # (p, nx), at the tick, after its output phase
    out_h: np.ndarray  # (p, nh)

    def matrices(self, z: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """A, B, C, D in the reduced states (y, kept h), x = z y."""
        nx, nk = len(self.flow_x), len(self.kept)
        lift = np.zeros((nx + nk, z.shape[1] + nk))
        lift[:nx, : z.shape[1]] = z
        lift[nx:, z.shape[1] :] = np.eye(nk)
        state, inputs = self.tick_h[:, : nx + nk] @ lift, self.tick_h[:, nx + nk :]
        a = np.vstack([
            t @ (self.flow_x @ lift[:nx] + self.flow_h @ state),
            self.tick_next[:, : nx + nk] @ lift,
        ])  # fmt: skip
        b = np.vstack([t @ (self.flow_h @ inputs), self.tick_next[:, nx + nk :]])
        return a, b, self.out_x @ lift[:nx] + self.out_h @ state, self.out_h @ inputs


def tick_model(system: System, context: Context, inputs: np.ndarray, output: ca.SX) -> Discrete:
    """Linearise the tick and the flow after it at the operating point in `context`.

    Raises
    ------
    PlantloopError     several rates, or an opaque block
    """
    if len(system.rates) > 1:
        listed = ", ".join(str(r) for r in system.rates)
        raise PlantloopError(
            f"'{system.name}' has {len(system.rates)} rates ({listed}); an exact discrete model needs one.",
            hint="Linearise a part of the diagram, or resample the parts to one rate.",
        )
    refuse_delays(system)
    if system.residual.numel():
        raise PlantloopError(
            f"'{system.name}' is sampled and has algebraic unknowns; an exact discrete model of it is not "
            "available.",
            hint="Linearise the continuous part alone.",
        )
    for segment in system.schedule:
        if segment.external is not None:
            raise PlantloopError(
                f"block '{segment.path}' is an opaque Python function and has no derivative.",
                hint="Replace it by blocks with equations, or linearise around it.",
            )
    before, after, following = _tick_symbols(system)
    kept = _kept(system, before, after, following)
    at = _operating_point(system, context)
    arguments = [system.t, system.x, before, system.w, system.p]
    if not context.started:  # a snapshot has its own history
        _fill_holds(system, ca.Function("tick", arguments, [after]), at)
    h_after = np.array(ca.Function("h", arguments, [after])(*at)).ravel()
    free = ca.vertcat(system.x, pick(before, kept), pick(before, inputs))
    results = [after, pick(following, kept)]
    jacobian = ca.Function("j", arguments, [ca.densify(ca.jacobian(r, free)) for r in results])
    tick_h, tick_next = (np.array(m, dtype=float) for m in jacobian(*at))
    held_at = [at[0], at[1], ca.DM(h_after), at[3], at[4]]
    pairs = [(f, v) for f in (system.derivative, output) for v in (system.x, system.h)]
    whole = [system.t, system.x, system.h, system.w, system.p]
    looks = ca.Function("looks", whole, [ca.densify(ca.jacobian(f, v)) for f, v in pairs])
    nx, nh, n_out = len(system.x0), len(system.h0), output.numel()
    _, _, out_x, out_h = (np.array(m, dtype=float) for m in looks(*held_at))
    flow_x, flow_h = _flow(system, looks, held_at, float(system.rates[0].period))
    width = nx + len(kept) + len(inputs)
    return Discrete(
        kept, tick_h.reshape(nh, width), tick_next.reshape(len(kept), width), flow_x, flow_h,
        out_x.reshape(n_out, nx), out_h.reshape(n_out, nh),
    )  # fmt: skip


def refuse_delays(system: System) -> None:
    """A delay has infinitely many states."""
    if system.delays:
        raise PlantloopError(
            f"'{system.delays[0].name}' is a delay, which has no linear model with finitely many states.",
            path=system.delays[0].name,
            hint="Put a rational (Padé) TransferFunction in its place, or UnitDelays in a sampled diagram.",
        )


def _tick_symbols(system: System) -> tuple[ca.SX, ca.SX, ca.SX]:
    """h before a tick (next already moved to current), after its output phase, and before the next one."""
    before = ca.SX.sym("h", len(system.h0))
    after = ca.SX(before)
    for segment in system.schedule:
        if segment.refreshes and not segment.writes_next:
            after = _write(system, segment, after, after)
    following = ca.SX(after)
    for segment in system.schedule:
        if segment.writes_next:
            following = _write(system, segment, after, following)
    return before, after, following


def _write(system: System, segment: Segment, reads: ca.SX, target: ca.SX) -> ca.SX:
    arguments = [system.t, system.x, system.h, system.w, system.p]
    function = ca.Function("segment", arguments, [segment.expression])
    value = function.call([system.t, system.x, reads, system.w, system.p], True, False)[0]
    written = ca.SX(target)
    written[segment.writes.tolist()] = value
    return written


def _kept(system: System, before: ca.SX, after: ca.SX, following: ca.SX) -> list[int]:
    """Places in h that ticks change and whose value before a tick is still seen after it."""
    changed = sorted({int(k) for s in system.schedule for k in s.writes})
    if not changed:
        return []
    seen = ca.which_depends(ca.vertcat(after, following), before[changed], 1, False)
    return [k for k, used in zip(changed, seen, strict=True) if used]


def _operating_point(system: System, context: Context) -> list[ca.DM]:
    """Arguments at a tick in steady running: full history, time since the tick zero."""
    h = context.h.copy()
    for time_place, count_place, fresh_place in system.tick_slots:
        h[time_place] = context.t
        h[[count_place, fresh_place]] = TICKS_DONE
    for samples in system.histories:
        h[samples.count] = max(h[samples.count], len(samples.older) + 1)
    return [ca.DM(context.t), ca.DM(context.x), ca.DM(h), ca.DM(context.w), ca.DM(context.p)]


def _fill_holds(system: System, tick: ca.Function, at: list[ca.DM]) -> None:
    """Give the older samples of holds the value they have had for long: what the tick itself samples."""
    for _ in system.histories:  # one may sample what another gives
        after = tick(*at)
        for samples in system.histories:
            for older in samples.older:
                at[2][older.tolist()] = after[samples.newest.tolist()]


def _flow(
    system: System, looks: ca.Function, at: list[ca.DM], period: float
) -> tuple[np.ndarray, np.ndarray]:
    """Sensitivity of x at the end of a period to x and h at its start."""
    from scipy.linalg import expm

    nx, nh = len(system.x0), len(system.h0)
    nodes = period * np.linspace(0.0, 1.0, DEGREE + 1)
    a, parts = np.zeros((nx, nx)), []
    for s in nodes:
        a_s, b_s, _, _ = looks(float(at[0]) + s, *at[1:])
        a = np.array(a_s, dtype=float).reshape(nx, nx)
        parts.append(np.array(b_s, dtype=float).reshape(nx, nh))
    b = _polynomial(parts, nodes / period, period)
    size = nx + nh * len(b)
    generator = np.zeros((size, size))
    generator[:nx, :nx] = a
    for k, bk in enumerate(b):
        here = nx + k * nh
        generator[:nx, here : here + nh] = bk
        if k:
            generator[here : here + nh, here - nh : here] = np.eye(nh)
    flow = expm(generator * period)
    return flow[:nx, :nx], flow[:nx, nx : nx + nh]


def _polynomial(values: list[np.ndarray], nodes: np.ndarray, period: float) -> list[np.ndarray]:
    """Matrices B_k with B(s) = sum B_k s^k/k!; trailing ones that are rounding are dropped."""
    vandermonde = np.vander(nodes, increasing=True)
    coefficients = np.linalg.solve(vandermonde, np.array(values).reshape(len(nodes), -1))
    scale = max(1.0, float(np.abs(coefficients).max(initial=0.0)))
    sizes = np.abs(coefficients).max(axis=1, initial=0.0)
    last = int(np.flatnonzero(sizes > 1e-10 * scale).max(initial=0))
    factorial = 1.0
    found = []
    for k in range(last + 1):
        factorial *= max(k, 1)
        found.append((coefficients[k] * factorial / period**k).reshape(values[0].shape))
    return found
