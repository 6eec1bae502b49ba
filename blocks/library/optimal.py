"""Controllers whose gains are optimal for a linear model: LQR, with integral action, with a Kalman filter."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.rate import Rate
from blocks.library.designed import Around, DesignedForPlants, as_seen, check_around, followed, place, spread
from blocks.library.designed import around as around_of
from blocks.library.linear_models import (
    check_model,
    continuous_only,
    gain,
    model_of,
    riccati,
    sampled_model,
    sampled_noise,
    weight,
)
from blocks.library.state_sizes import state_sizes

__all__ = ["LQG", "LQI", "LQR"]


@dataclass(frozen=True)
class LQR(DesignedForPlants, Block):
    """Linear-quadratic regulator: state feedback with the gain that is best for a model.

    Output: u = u0 - K (x - x0), K minimising the integral of x'Qx + u'Ru of the differences, or with a sample
    time the sum of it over the ticks for the model behind a zero-order hold; then taken at ticks and held, u0
    before the first one.
    Direct feedthrough: x to u.

    system : python-control system, as ``linearize(plant)`` gives one, or matrices (A, B); structural
    Q : (n, n), (n,) diagonal or a number, weights of x, positive semidefinite; structural
    R : (m, m), (m,) or a number, weights of u, positive definite; structural
    sample, offset : s; None means continuous; structural
    around : (x0, u0, y0) about which the model holds, numbers or vectors; None: zeros; structural

    ``LQR.of(plant, Q, R)`` makes x of the outputs of a plant: as many as it has independent states.

    Use::

        balance = d.add("balance", LQR(([[0, 1], [9.81, 0]], [[0], [1]]), Q=[1, 1], R=1))
        d.connect(source["y"], balance["x"])

    Source: Åström & Murray, Feedback Systems, 2nd ed., sec. 7.5.
    """

    system: Any
    Q: ArrayLike = 1.0
    R: ArrayLike = 1.0
    sample: Rate | None = None
    offset: Rate = 0
    around: Around | None = field(default=None, kw_only=True)

    @classmethod
    def _designed(cls, point: Any, *weights: Any, **more: Any) -> Self:
        system, around = as_seen(point, cls)
        return cls(system, *weights, around=around, **more)

    def __post_init__(self) -> None:
        checks.rate(self, optional=True)
        check_model(self)
        check_around(self)
        continuous_only(self)
        weight(self, "Q", len(self.system[0]))
        weight(self, "R", np.shape(self.system[1])[1], definite=True)
        self.gain()

    def gain(self) -> np.ndarray:
        """K, (m, n)."""
        A, B, *_ = model_of(self) if self.sample is None else sampled_model(self)
        return gain(self, A, B, np.array(self.Q), np.array(self.R))

    def define(self, b: Equations) -> None:
        """Declare ports and the product."""
        K, (x0, u0, _) = self.gain(), place(self)
        u = u0 - K @ (b.input("x", size=K.shape[1]) - x0)
        b.output("u", u, self.sample, self.offset, initial=0.0 if self.sample is None else u0)


@dataclass(frozen=True)
class LQI(DesignedForPlants, Block):
    """Linear-quadratic regulator with integral action: outputs of the model follow a reference without error.

    Output: u = u0 - K (x - x0) - Ki z, [K Ki] minimising the integral of x'Qx + z'Qi z + u'Ru of the
    differences (with a sample time the sum).
    Derivative: z' = C (x - x0) + y0 - r, with a sample time z_k+1 = z_k + T z'_k.  Initial value: z = 0.
    Direct feedthrough: x to u.

    system : python-control system, or matrices: (A, B, C, D) of a continuous model,
        (A, B, C, D, dt) of a sampled one, dt in s; D = 0; structural
    Q : weights of x, Qi : of z, R : of u: matrices, diagonals or numbers; structural
    sample, offset : s; None means continuous; structural
    around : (x0, u0, y0) about which the model holds, numbers or vectors; None: zeros; structural

    ``LQI.of(plant, Q, Qi, R, follow=names)`` makes x of the outputs of a plant: as many as it has independent
    states; `follow` names those that follow r, default all.

    Use::

        servo = d.add("servo", LQI(([[0, 1], [0, -1]], [[0], [1]], [[1, 0]], [[0]]), Q=1, Qi=10, R=1))
        d.connect(source["y"], servo["r"])

    Source: Åström & Murray, Feedback Systems, 2nd ed., sec. 7.4 and 7.5.
    """

    system: Any
    Q: ArrayLike = 1.0
    Qi: ArrayLike = 1.0
    R: ArrayLike = 1.0
    sample: Rate | None = None
    offset: Rate = 0
    around: Around | None = field(default=None, kw_only=True)

    @classmethod
    def _designed(cls, point: Any, *weights: Any, follow: Any = None, **more: Any) -> Self:
        system, around = followed(point, follow, cls)
        return cls(system, *weights, around=around, **more)

    def __post_init__(self) -> None:
        checks.rate(self, optional=True)
        check_model(self)
        check_around(self)
        continuous_only(self)
        if np.any(np.asarray(self.system[3])):
            raise checks.fault(
                self, "system", "has D other than 0", "D = 0", "Put the input's delay in the model."
            )
        weight(self, "Q", len(self.system[0]))
        weight(self, "Qi", len(self.system[2]))
        weight(self, "R", np.shape(self.system[1])[1], definite=True)
        self.gain()

    def gain(self) -> np.ndarray:
        """[K Ki], (m, n + p)."""
        A, B, C, _, T = model_of(self) if self.sample is None else sampled_model(self)
        n, p = len(A), len(C)
        corner, step = (np.zeros((p, p)), 1.0) if self.sample is None else (np.eye(p), T)
        whole = np.block([[A, np.zeros((n, p))], [step * C, corner]])
        Q = np.block([[np.array(self.Q), np.zeros((n, p))], [np.zeros((p, n)), np.array(self.Qi)]])
        return gain(self, whole, np.vstack([B, np.zeros((p, B.shape[1]))]), Q, np.array(self.R))

    def define(self, b: Equations) -> None:
        """Declare ports, the integral and the product."""
        K, C, (x0, u0, y0) = self.gain(), np.array(self.system[2]), place(self)
        x, error = b.input("x", size=C.shape[1]) - x0, y0 - b.input("r", size=len(C))
        if self.sample is None:
            z = b.continuous("z", 0.0, size=len(C))
            b.derivative(z, C @ x + error)
        else:
            z = b.discrete("z", 0.0, self.sample, self.offset, size=len(C))
            b.update(z, z + checks.period(self) * (C @ x + error))
        n = C.shape[1]
        u = u0 - K[:, :n] @ x - K[:, n:] @ z
        b.output("u", u, self.sample, self.offset, initial=0.0 if self.sample is None else u0)


@dataclass(frozen=True)
class LQG(DesignedForPlants, Block):
    """Linear-quadratic-Gaussian regulator: a Kalman filter and the best feedback of what it estimates.

    Continuous: x' = A x + B u + L (y - C x), x the estimate.  Output: u = -K x.  With a sample time at tick k
    xf = x_k + M (y_k - C x_k), u_k = -K xf.  Update: x_k+1 = A xf + B u_k.  Initial value: x = 0.  Where
    `around` is given, x, u and y are what they differ by from it here.
    Direct feedthrough: y to u at ticks with a sample time, else none.

    system : python-control system, or matrices: (A, B, C, D) of a continuous model,
        (A, B, C, D, dt) of a sampled one, dt in s; D = 0; structural
    Q, R : weights of x and u as in `LQR`; structural
    Qn, Rn : spectral densities (of a discrete model covariances) of the noise on x' and on y, Rn definite;
        with a sample time Rn is the covariance of a sample; structural
    sample, offset : s; None means continuous; structural
    around : (x0, u0, y0) about which the model holds, numbers or vectors; None: zeros; structural

    ``LQG.of(plant, Q, R, Qn, Rn)`` makes u and y of the ports of a plant: Q weighs its outputs, Qn is the
    density of disturbances at its inputs (of a sampled diagram their covariance, held from tick to tick).

    Use::

        hover = d.add("hover", LQG(([[0, 1], [0, 0]], [[0], [1]], [[1, 0]], [[0]]), Q=1, R=1, Qn=1, Rn=0.1))
        d.connect(source["y"], hover["y"])

    Source: Åström & Murray, Feedback Systems, 2nd ed., sec. 8.4 and 8.5.
    """

    system: Any
    Q: ArrayLike = 1.0
    R: ArrayLike = 1.0
    Qn: ArrayLike = 1.0
    Rn: ArrayLike = 1.0
    sample: Rate | None = field(default=None, kw_only=True)
    offset: Rate = field(default=0, kw_only=True)
    around: Around | None = field(default=None, kw_only=True)

    @classmethod
    def _designed(
        cls,
        point: Any,
        Q: ArrayLike = 1.0,
        R: ArrayLike = 1.0,
        Qn: ArrayLike = 1.0,
        Rn: ArrayLike = 1.0,
        **more: Any,
    ) -> Self:
        _, B, C, _ = point.matrices
        Q = C.T @ spread(Q, len(C), "Q", cls, "outputs") @ C
        Qn = B @ spread(Qn, B.shape[1], "Qn", cls, "inputs") @ B.T
        return cls(point.model, Q, R, Qn, Rn, around=around_of(point.x0, point.u0, point.y0), **more)

    def __post_init__(self) -> None:
        checks.rate(self, optional=True)
        check_model(self)
        check_around(self)
        continuous_only(self)
        if np.any(np.asarray(self.system[3])):
            raise checks.fault(self, "system", "has D other than 0", "D = 0", "Filter the output.")
        n, m, p = len(self.system[0]), np.shape(self.system[1])[1], len(self.system[2])
        weight(self, "Q", n)
        weight(self, "R", m, definite=True)
        weight(self, "Qn", n)
        weight(self, "Rn", p, definite=True)
        self.gains()

    def gains(self) -> tuple[np.ndarray, np.ndarray]:
        """K (m, n) and L or M (n, p)."""
        A, B, C, _, _ = model_of(self) if self.sample is None else sampled_model(self)
        K = gain(self, A, B, np.array(self.Q), np.array(self.R))
        Qn, Rn = np.array(self.Qn), np.array(self.Rn)
        if self.sample is None:
            return K, riccati(self, False, A.T, C.T, Qn, Rn) @ C.T @ np.linalg.inv(Rn)
        P = riccati(self, True, A.T, C.T, sampled_noise(self, Qn), Rn)
        return K, P @ C.T @ np.linalg.inv(C @ P @ C.T + Rn)

    def define(self, b: Equations) -> None:
        """Declare ports, the estimate and the product."""
        K, L = self.gains()
        A, B, C, _, _ = model_of(self) if self.sample is None else sampled_model(self)
        _, u0, y0 = place(self)
        y = b.input("y", size=len(C)) - y0
        if self.sample is None:
            sizes = state_sizes(A - B @ K - L @ C, L, -K, np.zeros((len(K), len(C))))
            x = b.continuous("x", 0.0, size=len(A), nominal=sizes)
            u = -(K @ x)
            b.derivative(x, A @ x + B @ u + L @ (y - C @ x))
            b.output("u", u0 + u)
            return
        x = b.discrete("x", 0.0, self.sample, self.offset, size=len(A))
        filtered = x + L @ (y - C @ x)
        u = -(K @ filtered)
        b.update(x, A @ filtered + B @ u)
        b.output("u", u0 + u, self.sample, self.offset, initial=u0)
