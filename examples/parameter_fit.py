"""Length and friction of a pendulum from measured angles: SciPy's optimiser on a diagram's own equations.

The system is asked for x' = f(t, x, u, p) and its exact Jacobians; sensitivities S = dx/dp are integrated
beside the states, S' = f_x S + f_p, so that the optimiser gets an exact gradient instead of differences of
whole runs.
"""

from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import OptimizeResult, least_squares

from blocks import Block, Equations
from cosim import simulate, system_of

LENGTH, FRICTION = 0.8, 0.15  # m, 1/s: what is looked for
GUESS = (0.9, 0.02)
NOISE = 0.01  # rad, standard deviation of a measurement
TIMES = np.linspace(0.1, 6.0, 60)  # s


@dataclass(frozen=True)
class Pendulum(Block):
    """q' = w, w' = -(g/length) sin q - friction w.

    Output: q [rad].  No inputs.
    """

    length: float = 1.0  # m
    friction: float = 0.0  # 1/s
    g: float = 9.81  # m/s^2

    def define(self, b: Equations) -> None:
        """Declare the states and their rates."""
        length, friction, g = b.parameters(length=self.length, friction=self.friction, g=self.g)
        q, w = b.continuous("q", 1.0), b.continuous("w", 0.0)
        b.derivative(q, w)
        b.derivative(w, -g / length * np.sin(q) - friction * w)
        b.output("q", q)


def measured() -> np.ndarray:
    """Angles of the true pendulum with noise, (60,) rad."""
    true = {"length": LENGTH, "friction": FRICTION}
    angles = simulate(Pendulum(), 6.0, parameters=true, log_at=TIMES)["plant.q[0]"]
    return angles + NOISE * np.random.default_rng(4).standard_normal(len(TIMES))


def main() -> OptimizeResult:
    """Fit both numbers and compare them with the true ones."""
    f, data = system_of(Pendulum()).derivatives, measured()
    wanted = [f.columns["p"].index(f"plant.{name}") for name in ("length", "friction")]
    q, n = f.rows.index("plant.q"), len(f.rows)

    def both(t: float, z: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Rates of the states and of their sensitivities."""
        x, s = z[:n], z[n:].reshape(n, 2)
        s_rate = f.by_x(t, x, None, p) @ s + f.by_p(t, x, None, p)[:, wanted]
        return np.concatenate([f(t, x, None, p), s_rate.ravel()])

    def run(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Angles (60,) and their derivatives by both numbers (60, 2)."""
        p = f.p0
        p[wanted] = numbers
        start = np.concatenate([f.x0, np.zeros(2 * n)])
        found = solve_ivp(both, (0.0, 6.0), start, args=(p,), t_eval=TIMES, rtol=1e-8, atol=1e-10)
        return found.y[q], found.y[n + 2 * q : n + 2 * q + 2].T

    fit = least_squares(lambda v: run(v)[0] - data, GUESS, jac=lambda v: run(v)[1], x_scale=(1.0, 0.1))
    spread = NOISE * np.sqrt(np.diag(np.linalg.inv(fit.jac.T @ fit.jac)))
    for name, found, known, s in zip(("length", "friction"), fit.x, (LENGTH, FRICTION), spread, strict=True):
        print(f"{name:8} {found:.4f} +- {s:.4f}, known {known}")
    print(f"{fit.nfev} runs for the values, {fit.njev} for the gradients")
    return fit


if __name__ == "__main__":
    main()
