"""Loops of sampled diagrams at one signal: stability under factors and delays, exactly, at any rates.

The signal takes a new value at N ticks of the common period, so what is added to it is a vector of N numbers
per period, and its sensitivity S(z) is N by N. A factor g on the signal, real or complex, is g I there: the
closed loop with it has the poles of A + B a (I - a D)^-1 C, a = (g - 1) / g. A delay puts what was there back
later: the model of the loop opened at the signal, with that echo, is exact also for parts of a period.

Source: Bittanti and Colaneri, Periodic Systems, sections 6.2 and 9.3 (lifted models and their stability).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from cosim.analysis.free_modes import without_free
from cosim.analysis.lifted import Echo, LiftedModel
from cosim.analysis.peaks import highest

FACTORS = np.geomspace(1.0, 1e4, 241)[1:]  # at which stability is looked at, upwards and downwards
ANGLES = np.linspace(0.0, np.pi, 181)[1:]  # rad
DELAYS = 12  # looked at up to twice the one the phase margin suggests
ROUNDS = 50  # of bisection
FINE = 20  # for delays, each of which takes a walk through the period
LONGEST = 20.0  # periods of a delay that is looked at where the phase margin suggests none
FAR = 200.0  # periods of a delay that is looked at; parts of one count little in longer ones


@dataclass(frozen=True)
class PeriodicLoop:
    """Sensitivity of a signal to what is added to it, one row and column per tick in the period.

    times : (N,) s, of the ticks; period : s
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    times: np.ndarray
    period: float

    @staticmethod
    def of(model: LiftedModel, component: int, size: int) -> PeriodicLoop:
        """Of one component of a signal, from what happens to all of it if something is added."""
        own = np.arange(len(model.times)) * size + component
        times = np.array([float(t) for t in model.times])
        return PeriodicLoop(
            model.A, model.B[:, own], model.C[own], model.D[np.ix_(own, own)], times, float(model.period)
        )

    @property
    def exists(self) -> bool:
        """Does anything come back?"""
        free = np.abs(self.D - np.eye(len(self.D))).max(initial=0.0)
        far = 1.7 * (1 + np.abs(self.A).sum()) * np.eye(len(self.A))
        back = self.C @ np.linalg.solve(far - self.A, self.B)
        return bool(free > 1e-12 or np.abs(back).max(initial=0.0) > 1e-14)

    def without_free(self) -> tuple[PeriodicLoop, np.ndarray]:
        """The loop without modes that have no part in it, and their poles (k,); see `free_modes`."""
        A, B, C, free = without_free(self.A, self.B, self.C, sampled=True)
        return replace(self, A=A, B=B, C=C), free

    def closed(self, g: complex) -> tuple[np.ndarray, np.ndarray]:
        """A of the loop with a factor on the signal, and the matrix that gives the signal at the ticks."""
        signal = _solved((g - 1.0) * (np.eye(len(self.D)) - self.D), self.C)
        return self.A + (g - 1.0) * self.B @ signal, g * signal

    def radius(self, g: complex) -> float:
        """Largest modulus of the poles; infinite where a period makes more of them than numbers can hold."""
        with np.errstate(all="ignore"):
            A = self.closed(g)[0]
        return float(np.abs(np.linalg.eigvals(A)).max(initial=0.0)) if np.isfinite(A).all() else np.inf

    def frequency(self, g: complex) -> float:
        """[rad/s] of the slowest decaying oscillation with a factor: the alias that the ticks show."""
        A, signal = self.closed(g)
        values, vectors = np.linalg.eig(A)
        k = int(np.argmax(np.abs(values)))
        shown, theta = signal @ vectors[:, k], float(np.angle(values[k]))
        n = len(self.times)
        w = (theta + 2 * np.pi * np.arange(-n, n + 1)) / self.period
        match = np.abs(np.exp(-1j * np.outer(w, self.times)) @ shown)
        good = w[match > match.max() * (1 - 1e-9)]
        return float(np.abs(good).min())

    def frequencies(self, points: int) -> np.ndarray:
        """Frequencies [rad/s] to examine, up to half the rate of the ticks, more near resonances."""
        top = np.pi * len(self.times) / self.period
        found = [np.geomspace(1e-4 * top, top, points)]
        for pole in np.linalg.eigvals(self.A):
            w = abs(np.angle(pole)) / self.period  # S is that of +-w + 2 pi k / period, too
            width = abs(np.log(abs(pole))) / self.period if pole else np.inf
            if width < 0.1 * w:
                found.append(w + max(width, 1e-6 * w) * np.linspace(-3.0, 3.0, 14))
        every = np.concatenate(found)
        return np.unique(every[(every > 0.0) & (every <= top)])

    def sensitivity(self, w: np.ndarray) -> np.ndarray:
        """S (n, N, N) at frequencies (n,) [rad/s]."""
        z = np.exp(1j * w * self.period)
        eye = np.eye(len(self.A))
        return np.array([self.D + self.C @ np.linalg.solve(s * eye - self.A, self.B) for s in z])

    def first_harmonic(self, w: np.ndarray, S: np.ndarray) -> np.ndarray:
        """L (n,) as a sine at w sees it: what of the answer to it has its own frequency."""
        wave = np.exp(1j * np.outer(w, self.times))
        L = np.linalg.inv(S) - np.eye(len(self.D))
        return np.asarray(np.einsum("ni,nij,nj->n", wave.conj(), L, wave) / len(self.times))

    # --- margins --------------------------------------------------------------------------------------
    def gains(self) -> tuple[float, float, float]:
        """Factors below and above one at which stability changes, and the frequency at the nearer one."""
        inside = self.radius(1.0) < 1.0
        change = lambda g: (self.radius(g) < 1.0) != inside
        above = first_change(change, FACTORS, 1.0)
        below = first_change(change, 1.0 / FACTORS, 1.0)
        known = [g for g in (above, below) if g is not None]
        nearest = min(known, key=lambda g: abs(np.log(g)), default=None)
        return below or 0.0, above or np.inf, np.nan if nearest is None else self.frequency(nearest)

    def phase(self) -> tuple[float, float]:
        """Angle [deg] by which the signal may be turned, and the frequency there; inf and nan if by any."""
        inside = self.radius(1.0) < 1.0
        angle = first_change(lambda f: (self.radius(np.exp(-1j * f)) < 1.0) != inside, ANGLES, 0.0)
        if angle is None:
            return np.inf, np.nan
        return float(np.degrees(angle)), self.frequency(np.exp(-1j * angle))

    def largest(self, w: np.ndarray, S: np.ndarray) -> float:
        """Largest |S|, known as S (n, N, N) at frequencies (n,), between them too."""
        norm = lambda s: np.linalg.norm(s, 2, axis=(1, 2))
        return highest(lambda x: float(norm(self.sensitivity(np.ravel(x)))[0]), w, norm(S))

    def disk(self, w: np.ndarray, S: np.ndarray) -> float:
        """Disk margin: 2 / max of the spectral radius of S - T, T = I - S, as in `largest`."""
        radius = lambda s: np.abs(np.linalg.eigvals(2 * s - np.eye(len(self.D)))).max(axis=1)
        return 2 / highest(lambda x: float(radius(self.sensitivity(np.ravel(x)))[0]), w, radius(S))


def _solved(back: np.ndarray, C: np.ndarray) -> np.ndarray:
    """(1 + back)^-1 C, of what comes back in a period; nan where there is no solution.

    What is added at a tick comes back at later ones, unless a loop is solved at the tick: pivots, which large
    factors make singular, are not needed.
    """
    from scipy.linalg import solve_triangular  # slow to import

    if not np.triu(back).any():
        return np.asarray(solve_triangular(back, C, lower=True, unit_diagonal=True, check_finite=False))
    try:
        return np.linalg.solve(np.eye(len(back)) + back, C)
    except np.linalg.LinAlgError:
        return np.full(C.shape, np.nan)


def first_change(
    test: Callable[[float], bool], looked: np.ndarray, start: float, rounds: int = ROUNDS
) -> float | None:
    """Where along `looked` a test that is False at `start` is True first, by bisection; None: nowhere."""
    before = start
    for value in looked:
        if test(float(value)):
            a, b = before, float(value)
            for _ in range(rounds):
                middle = 0.5 * (a + b)
                a, b = (a, middle) if test(middle) else (middle, b)
            return b
        before = float(value)
    return None


def delay_margin(
    with_echo: Callable[[Echo], np.ndarray], echo: Callable[[Fraction], Echo], suggested: float, period: float
) -> float:
    """Least delay [s] of a held signal at which a stable loop is stable no more; inf if none is found.

    One beyond `FAR` periods is as suggested: of whole periods that is exact.

    with_echo : poles of the loop that is opened at the signal and closed by an echo
    suggested : s, what the phase margin suggests
    """
    longest = min(2.0 * suggested, FAR * period) if np.isfinite(suggested) else LONGEST * period

    def unstable(seconds: float) -> bool:
        return bool(np.abs(with_echo(echo(Fraction(seconds)))).max(initial=0.0) >= 1.0)

    found = first_change(unstable, np.linspace(0.0, longest, DELAYS + 1)[1:], 0.0, FINE)
    if found is None:
        return suggested if suggested > longest else np.inf
    return found
