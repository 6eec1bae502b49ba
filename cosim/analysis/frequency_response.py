"""Frequency responses of a diagram, from its linear model or measured in a simulation with sines.

What is added at the input is a sine, what comes out at the output has a part of its frequency; their ratio is
the response. Of a sampled diagram both live at the ticks of one rate: the sine takes a new value there, and
the output is read there, so that the measured and the linear response mean the same. Delays are exact in the
linear response of a continuous diagram: w = exp(-i w T) v in the frequency domain.

Source: Ljung, System Identification, 2nd ed., sections 6.2 and 6.3 (correlation with sines); Schroeder, IEEE
Trans. Information Theory 16 (1970) 85-89, for phases that keep a sum of sines small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import casadi as ca
import numpy as np

from blocks.arguments import choice, number
from blocks.contract.block import Block, Equations
from blocks.contract.rate import Ticks
from blocks.errors import PlantloopError, shown
from blocks.figure_file import save_figure
from cosim.analysis.common_period import common
from cosim.analysis.linear import basis_of, linear_model, walk_of
from cosim.analysis.operating import OperatingPoint, SystemAtPoint, diagram_of, model_of
from cosim.analysis.pade import order
from cosim.analysis.periodic_loop import PeriodicLoop
from cosim.analysis.tangent import Delays, Tangent
from cosim.built_for import built_for
from cosim.compile.additions import Additions
from cosim.compile.flatten import flatten
from cosim.diagram import Diagram
from cosim.names import text
from cosim.settings import Keywords
from cosim.simulation import simulate
from cosim.system import System

SETTLED = 16.0  # time constants of the slowest pole before it is measured: exp(-16) = 1e-7
PER_PERIOD = 48  # values taken per period of the fastest sine
WORST = 1e5  # condition number of the sines in the time measured: errors of a run grow so much
NEAR = 0.01  # of a frequency asked for is one that is measured in a sampled diagram, if it can be
METHODS = ("linear", "sine", "multisine")
NAME = "excitation"


@dataclass(frozen=True)
class FrequencyResponse:
    """Response of one output to one input.

    frequency : (n,) rad/s, as used: measured in a sampled diagram, with whole periods in the time measured
    response : (n,) complex, unit of the output per unit of the input
    """

    input: str
    output: str
    method: str
    frequency: np.ndarray
    response: np.ndarray

    @property
    def gain_db(self) -> np.ndarray:
        """20 log10 of its size, (n,)."""
        return np.asarray(20 * np.log10(np.abs(self.response)))

    @property
    def phase(self) -> np.ndarray:
        """[deg], without jumps, (n,)."""
        return np.asarray(np.degrees(np.unwrap(np.angle(self.response))))

    def plot(self, *others: FrequencyResponse, path: Any = None) -> Any:
        """Bode plot as a matplotlib figure, together with other responses; written to `path` if given."""
        from matplotlib.figure import Figure

        for one in others:
            if not isinstance(one, FrequencyResponse):
                expected = "expected a FrequencyResponse"
                raise PlantloopError(
                    f"plot({shown(one)}): {expected}.", value=one, hint="Write path= for a file."
                )

        figure = Figure(figsize=(7, 5), dpi=110, layout="constrained")
        size, angle = figure.subplots(2, 1, sharex=True)
        for k, one in enumerate((self, *others)):
            style = {"linestyle": "-"} if one.method == "linear" else {"marker": "o", "linestyle": "none"}
            size.semilogx(one.frequency, one.gain_db, color=f"C{k}", label=one.method, **style)
            angle.semilogx(one.frequency, one.phase, color=f"C{k}", **style)
        size.set_ylabel("gain [dB]")
        angle.set(ylabel="phase [deg]", xlabel="frequency [rad/s]")
        for axes in (size, angle):
            axes.grid(True, color="#DDDDDD")
        size.legend()
        figure.suptitle(f"{self.input} to {self.output}")
        if path is not None:
            save_figure(figure, path)
        return figure


def frequency_response(
    system: Block | Diagram,
    input: str,
    output: str,
    frequencies: Sequence[float] | np.ndarray,
    method: str = "linear",
    amplitude: float = 1.0,
    periods: float = 4.0,
    settle: float | None = None,
    at: OperatingPoint | Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    pade: int | None = None,
    **settings: Unpack[Keywords],
) -> FrequencyResponse:
    """Frequency response of an output to a perturbation of an input.

    Parameters
    ----------
    input, output : str      an input of the diagram or an output of a block; a signal; of one component each
    frequencies : (n,)       rad/s, above 0; in a sampled diagram below half the rate of the input
    method : "linear"        from the linear model at the operating point
             "sine"          simulated with one sine after the other;  "multisine": with all of them at once,
                             which in a diagram of several rates must not differ by 2 pi / common period
    amplitude : float        of each sine, in units of the input
    periods : float          of the slowest sine that are measured, 1 or more; in a sampled diagram up to
                             twice as many, so that frequencies with whole periods are near those asked for
    settle : s               before that; default 16 time constants of the slowest pole of the linear model
    at, parameters           operating point and parameters, as in `linearize`
    pade : int               of linear models of sampled diagrams, see `linearize`; a continuous one has exact
                             delays
    **settings               of the simulation: solver, step, rtol, ...

    Raises
    ------
    PlantloopError           a name, a frequency, an unstable system to measure, or what `linearize` raises

    >>> linear = frequency_response(d, "force.y", "plant.theta", np.geomspace(1, 100, 50))
    >>> frequency_response(d, "force.y", "plant.theta", [1, 10], method="sine").plot(linear)
    """
    choice(method, "method", METHODS)
    amplitude = number(amplitude, "amplitude", "a positive number", above=0.0)
    periods = number(periods, "periods", "1 or more", least=1.0)
    if settle is not None:
        settle = number(settle, "settle", "zero or more seconds", least=0.0)
    w, approximants = _frequencies(frequencies), order(pade)
    diagram, parameters = built_for(diagram_of(system), parameters)
    model = model_of(diagram, [text(input, "input")], [text(output, "output")], at, parameters)
    if len(model.input_index) != 1 or model.output.numel() != 1:
        raise PlantloopError(
            f"'{input}' and '{output}' have {len(model.input_index)} and {model.output.numel()} components, "
            "expected one each.",
            path=input,
            hint="Name one component of each, as 'plant.y[0]'.",
        )
    ticks = _ticks(diagram.system(), input)
    if ticks is not None and not w.max() < np.pi / float(ticks.period):
        raise PlantloopError(
            f"frequency {w.max():g} rad/s is not below half the rate of '{input}' ({ticks}).", value=w.max()
        )
    if method == "linear":
        with model.looking():
            found = _sampled(model, w, approximants, ticks) if ticks is not None else _continuous(model, w)
        return FrequencyResponse(input, output, method, w, found)
    if settle is None:
        settle = _settling(diagram, input, output, at, parameters, pade)
    measured = _Measured(diagram, input, output, ticks, amplitude, periods, settle, at, parameters, settings)
    if method == "multisine":
        once, places = np.unique(w, return_inverse=True)  # one that is there twice is one sine
        used, found = measured.response(once)
        one_each = len(used) == len(once) and ticks is None
        return FrequencyResponse(
            input, output, method, used[places] if one_each else used, found[places] if one_each else found
        )
    pairs = [measured.response(w[k : k + 1]) for k in range(len(w))]
    return FrequencyResponse(
        input, output, method, np.concatenate([f for f, _ in pairs]), np.concatenate([r for _, r in pairs])
    )


def _frequencies(values: Any) -> np.ndarray:
    try:
        raw = np.atleast_1d(np.asarray(values))
        w = raw.astype(float) if raw.dtype.kind in "iuf" else np.zeros(0)
    except (TypeError, ValueError, OverflowError):
        w = np.zeros(0)
    if w.ndim != 1 or not w.size or not (np.isfinite(w) & (w > 0)).all():
        raise PlantloopError(
            f"frequencies are {values!r}, expected positive finite numbers [rad/s].", value=values
        )
    return w


def _ticks(system: System, name: str) -> Ticks | None:
    """At which ticks things happen: those of the input, else of the fastest rate; None: continuous."""
    if not system.rates:
        return None
    found = system.names("signal").find(name)
    own = system.signal(found[0]).ticks if found is not None else None
    return own or min(system.rates, key=lambda r: r.period)


# --- linear -----------------------------------------------------------------------------------------------
def _continuous(model: SystemAtPoint, w: np.ndarray) -> np.ndarray:
    """With exact delays: one set of equations in (x, w) per frequency."""
    s, c = model.system, model.context
    if not s.delays:
        A, B, C, D = model.continuous()
        return np.array([(C @ np.linalg.solve(1j * f * np.eye(len(A)) - A, B) + D).item() for f in w])
    delays = Delays(s, c, 1, sampled=False)  # which seconds each has; its approximation is not used
    tangent = Tangent(s, c, delays)
    tangent.bring_to_rest()
    n, nw, m = len(s.x0), len(c.w), tangent.unknown

    def dense(key: Any, e: ca.SX) -> list[np.ndarray]:
        j = tangent.at(key, lambda: e)
        return [a.toarray() for a in (j.x, j.w, j.h)]

    Fx, Fw, Fh = dense("derivative", s.derivative)
    Ox, Ow, Oh = dense(("output", (*model.input_names, None, *model.output_names)), model.output)
    Rx, Rw, Rh = dense("residual", s.residual)
    late = [dense(("delayed", k), d.signal) for k, d in enumerate(s.delays)]
    u, found = model.input_index, []
    for f in w:
        left, right = np.zeros((n + nw, n + nw), complex), np.zeros((n + nw, len(u)), complex)
        left[:n, :n], left[:n, n:], right[:n] = 1j * f * np.eye(n) - Fx, -Fw, Fh[:, u]
        left[n : n + m, :n], left[n : n + m, n:], right[n : n + m] = Rx, Rw, -Rh[:, u]
        for (Vx, Vw, Vh), d, r in zip(late, s.delays, delays.rational, strict=True):
            turn = np.exp(-1j * f * r.seconds)
            left[n + d.places, :n] = -turn * Vx
            left[n + d.places, n:] = np.eye(nw)[d.places] - turn * Vw
            right[n + d.places] = turn * Vh[:, u]
        both = np.linalg.solve(left, right)
        found.append((Ox @ both[:n] + Ow @ both[n:] + Oh[:, u]).item())
    return np.array(found)


def _sampled(model: SystemAtPoint, w: np.ndarray, pade: int | None, ticks: Ticks) -> np.ndarray:
    """The part of the response to a sampled sine that has its frequency, at the same ticks."""
    own = model.system.rates.index(ticks)
    when = lambda period: [k for k, rates in enumerate(period.rates) if own in rates]
    basis = basis_of(model, "minimal")
    lifted = walk_of(model, pade, when).model(basis.z, basis.t)
    loop = PeriodicLoop.of(lifted, 0, 1)
    G = loop.sensitivity(w)
    wave = np.exp(1j * np.outer(w, loop.times))
    return np.asarray(np.einsum("ni,nij,nj->n", wave.conj(), G, wave) / len(loop.times))


def _settling(
    diagram: Diagram, input: str, output: str, at: Any, parameters: Mapping[str, Any] | None, pade: int | None
) -> float:
    model = linear_model(model_of(diagram, [input], [output], at, parameters), approximants=pade or 4)
    poles, dt = model.poles(), float(model.dt or 0.0)
    poles = poles[np.abs(poles) > 1e-12] if dt else poles
    rates = np.log(np.abs(poles)) / dt if dt else poles.real
    slowest = float(rates.max(initial=-np.inf))
    if not slowest < -1e-9:
        raise PlantloopError(
            f"'{diagram.name}' is not stable (a pole with real part {slowest:.3g} 1/s): it has no steady "
            "answer to a sine.",
            value=slowest,
            hint="Measure in a closed loop, or give settle= for a system that settles all the same.",
        )
    return SETTLED / -slowest if np.isfinite(slowest) else 0.0


# --- measured ---------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Excitation(Block):
    """Adds sines to one component of a signal.

    Output: y = u + sum of a_k cos(w_k t + phase_k), the sum continuous, or with `ticks` taken there and held.
    Direct feedthrough: u to y.

    amplitude : unit of u; frequency, phase : (n,) rad/s, rad; ticks : of the signal; component; structural

    Use: `frequency_response` puts it behind the output that is its input.
    """

    amplitude: float
    frequency: tuple[float, ...]
    phase: tuple[float, ...]
    ticks: Ticks | None = None
    component: int = 0

    def define(self, b: Equations) -> None:
        """Declare ports and the sines."""
        u = b.input("u")
        terms = zip(self.frequency, self.phase, strict=True)
        wave = sum(self.amplitude * np.cos(w * b.time + phase) for w, phase in terms)
        added = wave if self.ticks is None else b.sampled(wave, self.ticks)[0]
        b.output("y", u + added * np.eye(u.size)[self.component])


def _distinct(w: np.ndarray, seconds: float, repeats: int) -> bool:
    """Whether no sine becomes another, or its own mirror image, in a system that repeats so often.

    Such a system answers to w at every +-w + 2 pi j repeats / seconds, j whole.
    """
    turns = np.unique(np.round(w * seconds / (2 * np.pi)).astype(int))
    both = np.concatenate([turns, -turns]) % repeats
    return len(np.unique(both)) == len(both)


@dataclass(frozen=True)
class _Measured:
    diagram: Diagram
    input: str
    output: str
    ticks: Ticks | None
    amplitude: float
    periods: float
    settle: float
    at: OperatingPoint | Mapping[str, Any] | None
    parameters: Mapping[str, Any] | None
    settings: Keywords

    def response(self, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Frequencies (m,) used and the response (m,) at them, all sines at once."""
        w, times = self._grid(wanted)
        m = len(w)
        phase = -np.pi * np.arange(m) * (np.arange(m) + 1) / m
        whole, component = self.diagram.system().locate(self.input)
        which = component or 0
        wave = Excitation(self.amplitude, tuple(w.tolist()), tuple(phase.tolist()), self.ticks, which)
        source = self._port()
        added = Additions(blocks={NAME: wave}, outputs={source: ((NAME, "y"),)})
        system = flatten(self.diagram.netlist(), added=added)
        start, inputs = self._start(system)
        read, part = self.diagram.system().locate(self.output)
        logged = self.output
        if read == whole:
            logged = f"{NAME}.y" if part is None else f"{NAME}.y[{part}]"
        run = simulate(
            system, float(times[-1]), initial=start, inputs=inputs, parameters=self.parameters,
            log_at=times.tolist(), signals=[logged], **self.settings,
        )  # fmt: skip
        y = np.ravel(run[logged])
        columns = [np.ones(len(times)), *np.cos(np.outer(w, times)), *np.sin(np.outer(w, times))]
        fit, _, _, sizes = np.linalg.lstsq(np.array(columns).T, y, rcond=None)
        if sizes[-1] * WORST < sizes[0]:
            raise PlantloopError(
                f"sines of {shown(w.tolist())} rad/s at '{self.input}' cannot be told apart in the "
                f"{times[-1] - times[0]:.3g} s that are measured: two are too near each other.",
                value=w.tolist(), hint='Measure with method="sine", or more periods.',
            )  # fmt: skip
        fit = fit[1:]
        return w, (fit[:m] - 1j * fit[m:]) / (self.amplitude * np.exp(1j * phase))

    def _grid(self, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Frequencies with whole periods in an interval of time, and the instants evaluated in it."""
        stretch = self.periods * 2 * np.pi / wanted.min()
        system = self.diagram.system()
        if self.ticks is None:
            count = int(np.ceil(PER_PERIOD * stretch * wanted.max() / (2 * np.pi)))
            return wanted, self.settle + np.arange(count) * (stretch / count)
        length = common(r.period for r in system.rates)
        least = int(np.ceil(stretch / float(length)))

        def used(n: int) -> np.ndarray:  # whole periods in n common ones, of less than half the ticks' rate
            most = (int(n * length / self.ticks.period) - 1) // 2  # type: ignore[union-attr]
            turns = np.clip(np.round(wanted * n * float(length) / (2 * np.pi)), 1, most)
            return np.asarray(2 * np.pi * turns / (n * float(length)))

        apart = lambda n: float(np.abs(used(n) / wanted - 1.0).max())
        counts = range(least, 2 * least + 1)
        distinct = (
            n for n in counts if length == self.ticks.period or _distinct(used(n), n * float(length), n)
        )
        n, nearest = 0, np.inf
        for k in distinct:
            if (far := apart(k)) < nearest:
                n, nearest = k, far
            if nearest <= NEAR:
                break
        if not n:
            raise PlantloopError(
                f"sines of {shown(wanted.tolist())} rad/s at '{self.input}' cannot be told apart: the rates "
                f"repeat after {length} s, which turns w into +-w + k {2 * np.pi / float(length):.6g} rad/s.",
                value=wanted.tolist(),
                hint='Measure with method="sine", or take other frequencies.',
            )
        whole, w = n * length, used(n)
        first = int(np.ceil(self.settle / float(self.ticks.period))) + 1
        count = int(whole / self.ticks.period)
        exact = [self.ticks.offset + (first + k) * self.ticks.period for k in range(count)]
        return np.unique(w), np.array([float(t) for t in exact])

    def _port(self) -> tuple[str, str]:
        """The output of a block that is the input of the response."""
        name, system = self.diagram.system().locate(self.input)[0], self.diagram.system()
        if name in system.inputs:
            return name, "out"
        path = system.signals[name].path
        return path, name.removeprefix(f"{path}.")

    def _start(self, system: System) -> tuple[dict[str, Any], dict[str, Any]]:
        """Initial values and inputs of the run."""
        if self.at is None:
            return {}, {}
        given: Mapping[str, Any] = self.at  # type: ignore[assignment]
        if isinstance(self.at, OperatingPoint):
            given = {**self.at.initial, **self.at.inputs}
        inputs = system.names("input")
        return (
            {n: v for n, v in given.items() if inputs.find(n) is None},
            {n: v for n, v in given.items() if inputs.find(n) is not None},
        )
