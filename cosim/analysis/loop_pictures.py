"""The step response of a closed loop at a signal, and its pictures: Bode, Nyquist, step and poles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import expm

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LONG = 8.0  # time constants of the slowest mode that are shown
FEWEST, MOST = 20, 2000  # instants


@dataclass(frozen=True)
class LoopShown:
    """The data of a loop's pictures; the fields are those of `cosim.analysis.margins.Margins`."""

    at: str
    crossover: float
    phase_crossover: float
    frequency: np.ndarray
    loop: np.ndarray
    outside: np.ndarray
    poles: np.ndarray
    dt: float
    step: np.ndarray


def step_response(
    A: np.ndarray, B: np.ndarray, C: np.ndarray, D: np.ndarray, dt: float, times: np.ndarray
) -> np.ndarray:
    """T = 1 - S of a step: (n, 2) of time [s] and what comes back of a 1 that is added to the signal.

    A, B, C, D : sensitivity S from what is added at the instants `times` (N,) s of a period `dt` [s] to the
        signal at them; dt = 0: continuous, N = 1
    """
    growth = (
        np.log(np.maximum(np.abs(np.linalg.eigvals(A)), 1e-300)) / dt if dt else np.linalg.eigvals(A).real
    )
    rates = np.abs(growth[growth > 0] if (growth > 1e-9).any() else growth)
    slowest = float(rates[rates > 1e-9].min(initial=np.inf))
    end = LONG / slowest if np.isfinite(slowest) else FEWEST * (dt or 1.0)
    if not dt:
        dt, n = end / 500, len(A)
        both = expm(dt * np.block([[A, B], [np.zeros((1, n + 1))]]))
        A, B = both[:n, :n], both[:n, n:]
    x, one, rows = np.zeros(len(A)), np.ones(B.shape[1]), []
    for k in range(int(np.clip(np.ceil(end / dt), FEWEST, MOST)) + 1):
        rows.append(np.column_stack([k * dt + times, 1.0 - (C @ x + D @ one)]))
        x = A @ x + B @ one
    return np.concatenate(rows)


def pictures(m: LoopShown) -> Figure:
    """Bode, Nyquist, step and poles of a loop, as a matplotlib figure."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 6), dpi=110, layout="constrained")
    grid = figure.add_gridspec(2, 3)
    _bode(m, figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[1, 0]))
    _nyquist(m, figure.add_subplot(grid[:, 1]))
    step, poles = figure.add_subplot(grid[0, 2]), figure.add_subplot(grid[1, 2])
    step.plot(*m.step.T, drawstyle="steps-post" if m.dt else "default")
    step.set(xlabel="time [s]", ylabel="answer to a step")
    poles.plot(m.poles.real, m.poles.imag, "x", color="#0072B2")
    poles.plot(m.outside.real, m.outside.imag, "o", fillstyle="none", color="#888888")
    circle = np.exp(1j * np.linspace(0, 2 * np.pi, 200))
    poles.plot(*((circle.real, circle.imag) if m.dt else ([0, 0], poles.get_ylim())), color="#888888", lw=0.8)
    unit = f"z, period {m.dt:g} s" if m.dt else "s [1/s]"
    poles.set(xlabel=f"poles of the closed loop, {unit}", aspect="equal" if m.dt else "auto")
    for axes in (step, poles):
        axes.grid(True, color="#DDDDDD")
    figure.suptitle(f"loop at {m.at}")
    return figure


def _bode(m: LoopShown, size: Any, angle: Any) -> None:
    size.loglog(m.frequency, np.abs(m.loop))
    angle.semilogx(m.frequency, np.degrees(np.unwrap(np.angle(m.loop))))
    for axes, label in ((size, "|L|"), (angle, "phase of L [deg]")):
        axes.set_ylabel(label)
        axes.grid(True, color="#DDDDDD")
        for w in (m.crossover, m.phase_crossover):
            if np.isfinite(w):
                axes.axvline(w, color="#D55E00", linewidth=0.8, linestyle="--")
    angle.set_xlabel("frequency [rad/s]")


def _nyquist(m: LoopShown, axes: Any) -> None:
    axes.plot(m.loop.real, m.loop.imag)
    axes.plot(m.loop.real, -m.loop.imag, linestyle="--", color="#888888")
    axes.plot(-1, 0, "+", color="#D55E00", markersize=12)
    axes.set(xlim=(-3, 2), ylim=(-2.5, 2.5), xlabel="Re L", ylabel="Im L", aspect="equal")
    axes.grid(True, color="#DDDDDD")
