"""Eigenvalues and modes of a linear model: frequencies, damping ratios and shapes, as a table.

>>> from cosim import linearize
>>> from cosim.analysis.modes import modes_of
>>> print(modes_of(linearize(plant)).table())
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from blocks.errors import PlantloopError, shown

if TYPE_CHECKING:
    import control

REAL = 1e-12  # of the largest eigenvalue: a smaller imaginary part is rounding


@dataclass(frozen=True, eq=False)
class Mode:
    """One real eigenvalue, or a conjugate pair, given by the one with the positive imaginary part.

    eigenvalue : complex     [1/s]
    shape : (n,) complex     what every state does, relative to the one that moves most
    """

    eigenvalue: complex
    shape: np.ndarray

    @property
    def frequency(self) -> float:
        """Undamped natural frequency |s| / 2 pi [Hz]; 0 of a mode that does not swing."""
        return abs(self.eigenvalue) / (2 * math.pi) if self.oscillates else 0.0

    @property
    def damping(self) -> float:
        """Damping ratio -Re s / |s|: 0 swings for ever, 1 does not swing, negative grows."""
        size = abs(self.eigenvalue)
        return -self.eigenvalue.real / size + 0.0 if size else 0.0  # + 0.0 makes -0 plain 0

    @property
    def oscillates(self) -> bool:
        """Whether it is a pair."""
        return self.eigenvalue.imag != 0.0


@dataclass(frozen=True, eq=False)
class Modes:
    """All modes of a linear model, slowest first.

    states : tuple of n names;  modes : tuple of Mode
    """

    states: tuple[str, ...]
    modes: tuple[Mode, ...]

    @property
    def eigenvalues(self) -> np.ndarray:
        """(n,) complex: all of them, pairs with both members [1/s]."""
        every = [e for m in self.modes for e in _members(m)]
        return np.array(every, dtype=complex)

    @property
    def stable(self) -> bool:
        """Whether every mode decays."""
        return all(m.eigenvalue.real < 0 for m in self.modes)

    def table(self) -> str:
        """One line per mode: eigenvalue, frequency, damping ratio."""
        lines = [f"{'mode':>4}  {'real [1/s]':>14}  {'imag [1/s]':>14}  {'freq [Hz]':>12}  {'damping':>10}"]
        for k, m in enumerate(self.modes, start=1):
            s = m.eigenvalue
            lines.append(
                f"{k:>4}  {s.real:>14.6e}  {s.imag:>14.6e}  {m.frequency:>12.6g}  {m.damping:>10.6f}"
            )
        return "\n".join(lines)

    def shapes(self) -> str:
        """What every state does in every mode, magnitude and phase [deg] relative to the largest."""
        width = max((len(name) for name in self.states), default=0)
        lines = []
        for k, m in enumerate(self.modes, start=1):
            lines.append(f"mode {k}: {m.frequency:.6g} Hz, damping {m.damping:.6f}")
            for name, value in zip(self.states, m.shape, strict=True):
                angle = math.degrees(np.angle(value)) if value else 0.0
                lines.append(f"  {name:<{width}}  {abs(value):>12.6e}  {angle:>9.3f}")
        return "\n".join(lines)


def modes_of(model: control.StateSpace) -> Modes:
    """Modes of a continuous linear model.

    Raises
    ------
    PlantloopError      a sampled model, or no model
    """
    import control  # slow to import

    if not isinstance(model, control.StateSpace):
        raise PlantloopError(
            f"modes_of got {shown(model)}, expected a linear model, a control.StateSpace.",
            value=model,
            hint="Write modes_of(linearize(diagram)).",
        )
    if model.dt:
        raise PlantloopError(
            f"modes of a sampled model (dt={model.dt} s) were asked for.",
            hint="Linearise the plant without its sampled controller.",
        )
    A = np.asarray(model.A, dtype=float)
    values, vectors = np.linalg.eig(A) if len(A) else (np.zeros(0), np.zeros((0, 0)))
    largest = float(np.abs(values).max(initial=0.0))
    found = []
    for value, shape in zip(values.astype(complex), vectors.T.astype(complex), strict=True):
        if abs(value.imag) <= REAL * largest:
            value = complex(value.real, 0.0)
        if value.imag >= 0:
            found.append(Mode(value, shape / shape[int(np.argmax(np.abs(shape)))]))
    found.sort(key=lambda m: (abs(m.eigenvalue), m.eigenvalue.real))
    return Modes(tuple(model.state_labels), tuple(found))


def _members(mode: Mode) -> list[complex]:
    s = mode.eigenvalue
    return [s, s.conjugate()] if mode.oscillates else [s]
