"""How far a loop is from instability: gain, phase, delay and disk margins at one signal of a diagram.

The loop is cut in thought at a signal: what is added to it comes back as -L times the signal. `linearize`
gives the exact model of the closed loop, sampled or continuous, holds and delays of sampling included; from
the sensitivity S = 1 / (1 + L) of the signal to what is added to it follows L = 1 / S - 1. A loop of several
rates is one of N signals, those at the ticks of one common period: see `cosim.analysis.periodic_loop`.

Source: Åström & Murray, Feedback Systems, 2nd ed., section 10.3; disk margin: Seiler, Packard, Gahinet,
An introduction to disk margins, IEEE Control Systems 40 (2020), with skew 0: alpha = 1 / max |S + (T - S)/2|
= 2 / max |S - T|.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import casadi as ca
import networkx as nx
import numpy as np

from blocks.contract.block import Block
from blocks.contract.user_lines import warn_user
from blocks.errors import PlantloopError
from blocks.figure_file import save_figure
from cosim.analysis.common_period import CommonPeriod, common
from cosim.analysis.free_modes import without, without_free
from cosim.analysis.lifted import Echo
from cosim.analysis.linear import basis_of, every_tick, linear_model, walk_of
from cosim.analysis.loop_pictures import LoopShown, pictures, step_response
from cosim.analysis.operating import OperatingPoint, model_of
from cosim.analysis.pade import order
from cosim.analysis.peaks import highest
from cosim.analysis.periodic_loop import PeriodicLoop, delay_margin
from cosim.analysis.rounded import mention_rounded_loop
from cosim.block_alone import system_of
from cosim.built_for import built_for
from cosim.columns import pick
from cosim.diagram import Diagram
from cosim.names import text
from cosim.run.context import Context
from cosim.system import System

HARMONICS = 400  # frequencies at which a loop of several rates is looked at
POINTS = 4000  # frequencies at which crossings are looked for
ROUNDS = 80  # of bisection; the bracket is a few thousandths wide at its start


@dataclass(frozen=True)
class Margins:
    """Margins of a loop at one signal.

    stable : bool                is the closed loop stable? If not, margins say where poles come to the
                                 border; of several rates, where the loop becomes stable
    gain : (low, high)           factors on the loop between which it stays stable; 0, inf: none
    phase : float                [deg] lag, and lead, the loop bears; inf where |L| never is one
    delay : float                [s] the loop bears besides those it has; exact where the signal is held
                                 between ticks, up to 200 periods, else that with the phase margin's lag
    disk : float                 disk margin alpha: gain and phase change together
    crossover, phase_crossover : [rad/s] where |L| = 1 with the least phase, where L is real and negative with
                                 the least gain margin; nan where there is none
    sensitivity : float          largest |S|
    outside : (k,) complex       poles that neither decay nor grow and have no part in this loop, such as of a
                                 shaft that turns freely: `stable` does not ask for them
    poles : (n,) complex         of the closed loop without those: 1/s, or of z with the period dt [s]; 0 of a
                                 continuous loop
    step : (n, 2) float          time [s] and what comes back of a step of 1 added to the signal: L / (1 + L)
    frequency : (n,) rad/s; loop : (n,) complex, L at them; of several rates what of the answer to a sine has
        its own frequency
    """

    at: str
    stable: bool
    gain: tuple[float, float]
    phase: float
    delay: float
    disk: float
    crossover: float
    phase_crossover: float
    sensitivity: float
    frequency: np.ndarray
    loop: np.ndarray
    outside: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=complex))
    poles: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=complex))
    dt: float = 0.0
    step: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)))

    @property
    def gain_db(self) -> float:
        """The upper gain margin in dB."""
        return float(20 * np.log10(self.gain[1]))

    def __repr__(self) -> str:
        state = "stable" if self.stable else "UNSTABLE"
        if n := len(self.outside):
            state += f"; {n} free mode{'s' if n > 1 else ''} outside the loop"
        gain = f"gain {self.gain[0]:.4g} to {self.gain[1]:.4g}"
        phase = f"phase {self.phase:.4g} deg at {self.crossover:.4g} rad/s, delay {self.delay:.4g} s"
        if not np.isfinite(self.phase):
            phase = "any phase" if np.isinf(self.delay) else f"any phase, delay {self.delay:.4g} s"
        rest = f"disk {self.disk:.4g}, max |S| {self.sensitivity:.4g}"
        return f"<Margins at '{self.at}' ({state}): {gain}, {phase}, {rest}>"

    def plot(self, path: Any = None) -> Any:
        """Bode, Nyquist, step and poles of the loop as a matplotlib figure; written to `path` if given."""

        figure = pictures(LoopShown(**{f.name: getattr(self, f.name) for f in fields(LoopShown)}))
        if path is not None:
            save_figure(figure, path)
        return figure


def margins(
    system: Block | Diagram,
    at: str,
    point: OperatingPoint | Context | Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    pade: int | None = None,
) -> Margins:
    """Gain, phase, delay and disk margins of the loop through one signal.

    Parameters
    ----------
    system : Diagram        with the loop closed
    at : str                an output of a block in the loop, of one component: "controller.u", "y.out[1]"
    point                   operating point, as ``at`` of `linearize`
    parameters : dict       parameter values by name
    pade : int              states that stand for each delay, as in `linearize`

    In a sampled diagram, the perturbation added to a signal that is not held is held from tick to tick,
    which is exact if only sampled blocks read the signal.

    Warns
    -----
    HeldLoopWarning         continuous equations read a signal that is not held
    RoundedLoopWarning      something in the loop rounds, as an `Encoder` does: its slope is 0

    Raises
    ------
    PlantloopError          no such signal, several components, no loop through it, or what `linearize` raises

    >>> margins(d, at="controller.u").phase
    """
    system, parameters = built_for(system, parameters)
    if isinstance(system, Diagram):
        mention_rounded_loop(system, _one_component(system_of(system), at)[0])
    return margins_of(system, at, point, parameters, order(pade))


def margins_of(
    system: Block | Diagram,
    at: str,
    point: OperatingPoint | Context | Mapping[str, Any] | None,
    parameters: Mapping[str, Any] | None,
    pade: int | None,
    rough: bool = False,
) -> Margins:
    """As `margins`; `rough` takes the delay that the phase margin suggests, which is quicker."""
    flat = system_of(system)
    whole, k = _one_component(flat, at)
    sampled = _Sampled(system, flat, whole, k, point, parameters, pade, rough)
    if flat.rates:
        sampled.mention_hold(at)
    if len(flat.rates) > 1:
        return sampled.margins(at)
    closed = linear_model(model_of(system, [whole], [whole], point, parameters), approximants=pade)
    dt = float(closed.dt or 0.0)
    A, B, C, outside = without_free(closed.A, closed.B[:, k : k + 1], closed.C[k : k + 1], bool(dt))
    poles = np.linalg.eigvals(A)
    stable = bool((np.abs(poles) < 1).all() if dt else (poles.real < 0).all())
    model = _Loop(A, B, C, closed.D[k : k + 1, k : k + 1], dt)
    w = model.frequencies(poles)
    loop = model.at(w)
    if not np.abs(loop).max(initial=0.0) > 1e-12:
        raise _no_loop(system, at)
    low, high, phase_crossover = _gain_margins(model, w, loop)
    phase, delay, crossover = _phase_margins(model, w, loop)
    if flat.rates and stable:
        delay = sampled.delay(delay, outside)
    size = lambda x: np.abs(model.sensitivity(np.ravel(x)))
    spread = lambda x: np.abs((s := model.sensitivity(np.ravel(x))) + (s - 1))  # S - T
    return Margins(
        at,
        stable,
        (low, high),
        phase,
        delay,
        2 / highest(lambda x: float(spread(x)[0]), w, spread(w)),
        crossover,
        phase_crossover,
        highest(lambda x: float(size(x)[0]), w, size(w)),
        w,
        loop,
        outside,
        poles,
        dt,
        step_response(A, B[:, :1], C[:1], model.D, dt, np.zeros(1)),
    )


def _one_component(flat: System, at: str) -> tuple[str, int]:
    """The signal that `at` names, and which of its components."""
    if flat.names("signal").find(text(at, "at")) is None and (driver := flat.driver(at)) is not None:
        raise PlantloopError(
            f"'{at}' is an input, and a loop is cut at an output.",
            path=at,
            value=at,
            hint=f"Write at='{driver}', which drives it.",
        )
    whole, component = flat.locate(at)
    size = flat.signal(whole).size
    if component is None and size != 1:
        raise PlantloopError(
            f"'{at}' has {size} components, and margins are those of one.",
            path=at,
            value=at,
            hint=f"Name one: '{at}[0]'; the others stay closed.",
        )
    return whole, component or 0


def _no_loop(system: Any, at: str) -> PlantloopError:
    """The error where nothing comes back to a signal: there is no loop, or its slope is 0."""
    what, hint = f"no loop goes through '{at}': nothing comes back to it.", None
    node = at.split(".")[0].split("/")[0]
    graph = system.graph if isinstance(system, Diagram) else nx.DiGraph()
    if node in graph and any(nx.has_path(graph, reader, node) for reader in graph.successors(node)):
        what = f"the loop that is drawn through '{at}' passes no small changes at this point."
        hint = (
            "A switch (a relay, a comparison) and a limit that is reached have the slope 0, and so has what "
            "an FMU for model exchange changes at its own ticks: look at another point=, at the loop "
            "without them, or with blocks of ours in the place of the FMU."
        )
    return PlantloopError(what, path=at, value=at, hint=hint)


class HeldLoopWarning(UserWarning):
    """Margins of a sampled diagram at a signal that continuous equations read between ticks."""


@dataclass(frozen=True)
class _Sampled:
    """A component of a signal in a sampled diagram, with the loop closed."""

    system: Block | Diagram
    flat: System
    whole: str
    component: int
    point: OperatingPoint | Context | Mapping[str, Any] | None
    parameters: Mapping[str, Any] | None
    pade: int | None
    rough: bool

    def margins(self, at: str) -> Margins:
        """At any rates."""
        model = model_of(self.system, [self.whole], [self.whole], self.point, self.parameters)
        with model.looking():
            basis = basis_of(model, "minimal")
            lifted = walk_of(model, self.pade, self._ticks).model(basis.z, basis.t)
        loop = PeriodicLoop.of(lifted, self.component, self.flat.signal(self.whole).size)
        if not loop.exists:
            raise _no_loop(self.system, at)
        loop, outside = loop.without_free()
        stable = loop.radius(1.0) < 1.0
        low, high, phase_crossover = loop.gains()
        phase, crossover = loop.phase()
        delay = np.radians(phase) / crossover if np.isfinite(phase) else np.inf
        w = loop.frequencies(HARMONICS)
        S = loop.sensitivity(w)
        return Margins(
            at, stable, (low, high), phase, self.delay(delay, outside) if stable else delay, loop.disk(w, S),
            crossover, phase_crossover, loop.largest(w, S), w, loop.first_harmonic(w, S), outside,
            np.linalg.eigvals(loop.A), loop.period,
            step_response(loop.A, loop.B, loop.C, loop.D, loop.period, loop.times),
        )  # fmt: skip

    def mention_hold(self, at: str) -> None:
        """Warn where a signal changes between ticks, and something continuous reads it."""
        s = model_of(self.system, [self.whole], [self.whole], self.point, self.parameters).system
        signal = s.signal(self.whole).expression[self.component]
        added = pick(s.h, s.perturbed[self.whole].index[self.component : self.component + 1])
        if ca.depends_on(signal, ca.vertcat(s.t, s.x, s.w)) and ca.depends_on(
            ca.vertcat(s.derivative, s.residual, *[d.signal for d in s.delays]), added
        ):
            warn_user(
                f"the margins at '{at}' are those of its loop with a hold there: the signal changes between "
                "ticks and something continuous reads it, but in a sampled diagram what is added to a signal "
                "is held from tick to tick, which lags. Ask at a signal that is sampled, such as "
                "the output of the controller.",
                HeldLoopWarning,
            )

    def _ticks(self, period: CommonPeriod) -> list[int]:
        """Instants at which the signal may change."""
        ticks = self.flat.signal(self.whole).ticks
        if ticks is None:
            return list(every_tick(period))
        own = self.flat.rates.index(ticks)
        return [k for k, rates in enumerate(period.rates) if own in rates]

    def delay(self, suggested: float, outside: np.ndarray) -> float:
        """Delay margin [s]: exact where the signal is held between ticks, else what is suggested.

        outside : (k,) poles that have no part in the loop
        """
        if self.rough:
            return suggested
        model = model_of(self.system, [], [self.whole], self.point, self.parameters, opened=[self.whole])
        s = model.system
        signal = s.signal(self.whole).expression[self.component]
        if any(ca.which_depends(signal, ca.vertcat(s.t, s.x, s.w), 1, True)):
            return suggested
        rows = ca.jacobian_sparsity(signal, s.h).get_triplet()[1]
        places = s.perturbed[self.whole].index
        others = [k for k in range(len(places)) if k != self.component]
        if others:
            return suggested
        with model.looking():
            basis = basis_of(model, "minimal")
            echo = lambda seconds: Echo(self.whole, signal, places, seconds, frozenset(rows))
            closed = lambda e: walk_of(model, self.pade, None, [e]).model(basis.z, basis.t).A
            poles = lambda e: without(np.linalg.eigvals(closed(e)), outside)
            return delay_margin(poles, echo, suggested, float(common(r.period for r in s.rates)))


@dataclass(frozen=True)
class _Loop:
    """The sensitivity of a signal as a state space."""

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    dt: float

    def at(self, w: np.ndarray) -> np.ndarray:
        """L (n,) at frequencies (n,) [rad/s]."""
        S = self.sensitivity(w)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(np.isinf(S), -1.0, 1 / S - 1)

    def sensitivity(self, w: np.ndarray) -> np.ndarray:
        """S (n,) at frequencies (n,) [rad/s]; infinite at poles of the closed loop."""
        s = np.exp(1j * w * self.dt) if self.dt else 1j * w
        n = len(self.A)
        S = np.full(len(w), complex(self.D[0, 0]))
        if n:
            values, vectors = np.linalg.eig(self.A)
            if np.linalg.cond(vectors) < 1e8:
                left = np.linalg.solve(vectors, self.B[:, 0])
                away = s[:, None] - values
                on = (away == 0.0).any(axis=1)
                S = S + ((self.C @ vectors)[0] * left / np.where(away == 0.0, 1.0, away)).sum(axis=1)
                S[on] = np.inf
            else:
                S = S + np.array([self._beside_feedthrough(z) for z in s])
        return np.asarray(S)

    def _beside_feedthrough(self, z: complex) -> complex:
        """C (z - A)^-1 B; infinite at a pole."""
        try:
            return complex((self.C @ np.linalg.solve(z * np.eye(len(self.A)) - self.A, self.B))[0, 0])
        except np.linalg.LinAlgError:
            return complex(np.inf)

    def one(self, w: float) -> complex:
        """L at one frequency."""
        return complex(self.at(np.array([w]))[0])

    def frequencies(self, poles: np.ndarray) -> np.ndarray:
        """Frequencies to examine: from far below the slowest pole to Nyquist's, or far above the fastest."""
        with np.errstate(divide="ignore"):
            rates = np.abs(np.log(poles.astype(complex)) / self.dt) if self.dt else np.abs(poles)
        rates = rates[np.isfinite(rates) & (rates > 1e-12)]
        top = np.pi / self.dt if self.dt else 1e3 * float(rates.max(initial=1.0))
        low = 1e-3 * min(float(rates.min(initial=1.0)), top)
        near = [r * np.linspace(0.9, 1.1, 41) for r in rates]  # resonances are narrow
        found = np.concatenate([np.geomspace(low, top, POINTS), *near])
        return np.unique(found[found <= top])


def _gain_margins(model: _Loop, w: np.ndarray, loop: np.ndarray) -> tuple[float, float, float]:
    """Factors below and above one at which L passes -1, and where the one nearest to one is."""
    found: list[tuple[float, float]] = []
    for k in np.flatnonzero((np.sign(loop.imag[1:]) != np.sign(loop.imag[:-1])) & (loop.imag[:-1] != 0)):
        x = _root(lambda x: model.one(x).imag, w[k], w[k + 1])
        value = model.one(x)
        if value.real < 0 and abs(value.imag) < 1e-3 * abs(value):
            found.append((-1 / value.real, x))
    for x in (w[0], w[-1], 0.0):  # L is real at zero frequency and at the Nyquist frequency
        with np.errstate(divide="ignore", invalid="ignore"):
            value = model.one(x)
        if not abs(value) < 1e9:  # it integrates
            continue
        if value.real < 0 and abs(value.imag) < 1e-6 * abs(value):
            found.append((-1 / value.real, x))
    above = min((g for g, _ in found if g > 1), default=np.inf)
    below = max((g for g, _ in found if g < 1), default=0.0)
    nearest = min(found, key=lambda item: abs(np.log(item[0])), default=(np.nan, np.nan))
    return float(below), float(above), float(nearest[1])


def _phase_margins(model: _Loop, w: np.ndarray, loop: np.ndarray) -> tuple[float, float, float]:
    """Least phase [deg], least delay [s], and the frequency of the least phase."""
    size = np.log(np.abs(loop))
    found = []
    for k in np.flatnonzero(np.sign(size[1:]) != np.sign(size[:-1])):
        x = _root(lambda x: np.log(abs(model.one(x))), w[k], w[k + 1])
        angle = np.angle(-model.one(x))  # how far L is from -1, lag positive
        found.append((abs(np.degrees(angle)), (angle % (2 * np.pi)) / x, x))
    if not found:
        return float("inf"), float("inf"), float("nan")
    phase, _, crossover = min(found)
    return float(phase), float(min(delay for _, delay, _ in found)), float(crossover)


def _root(f: Any, a: float, b: float) -> float:
    """Bisection between two ends of different signs."""
    low = f(a)
    for _ in range(ROUNDS):
        middle = 0.5 * (a + b)
        value = f(middle)
        if (value < 0) == (low < 0):
            a, low = middle, value
        else:
            b = middle
    return 0.5 * (a + b)
