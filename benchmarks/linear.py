"""Linear model of the cart-pole plant at its upright equilibrium, once everything is warm.

    python -m benchmarks.linear [--smoke]

The error is that of A and B against the formulas written by hand.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from benchmarks.cartpole_model import CartPole
from benchmarks.support.peers_cartpole import INERTIA, M, c, drake_plant, g, k, l, m, slope_array
from benchmarks.support.table import Row, heading, in_turn, installed, repeated, show, smoke
from cosim import linearize

Matrices = tuple[np.ndarray, np.ndarray]


def exact() -> Matrices:
    """A (4, 4) and B (4, 1)."""
    mass = np.array([[M + m, m * l], [m * l, INERTIA + m * l * l]])
    a, b = np.zeros((4, 4)), np.zeros((4, 1))
    a[0, 2] = a[1, 3] = 1.0
    a[2:] = np.linalg.solve(mass, np.array([[-k, 0.0, -c, 0.0], [0.0, m * g * l, 0.0, 0.0]]))
    b[2:] = np.linalg.solve(mass, np.array([[1.0], [0.0]]))
    return a, b


def ours() -> Callable[[], Matrices]:
    block = CartPole(initial=(0.0, 0.0, 0.0, 0.0))

    def run() -> Matrices:
        found = linearize(block)
        return found.A, found.B

    return run


def drake() -> Callable[[], Matrices]:
    from pydrake.all import FirstOrderTaylorApproximation

    plant = drake_plant()
    context = plant.CreateDefaultContext()
    plant.get_actuation_input_port().FixValue(context, [0.0])
    ports = plant.get_actuation_input_port().get_index(), plant.get_state_output_port().get_index()

    def run() -> Matrices:
        found = FirstOrderTaylorApproximation(plant, context, *ports)
        return found.A(), found.B()

    return run


def python_control() -> Callable[[], Matrices]:
    import control

    plant = control.nlsys(lambda t, x, u, p: slope_array(x, u[0]), None, states=4, inputs=1, outputs=4)

    def run() -> Matrices:
        found = control.linearize(plant, np.zeros(4), np.zeros(1))
        return found.A, found.B

    return run


def pinocchio() -> Callable[[], Matrices]:
    """Analytic derivatives of `aba`; spring and damper by hand."""
    import pinocchio as pin

    model = pin.Model()
    model.gravity.linear = np.array([0, 0, -g])
    slider = model.addJoint(0, pin.JointModelPX(), pin.SE3.Identity(), "s")
    model.appendBodyToJoint(slider, pin.Inertia(M, np.zeros(3), np.eye(3)), pin.SE3.Identity())
    hinge = model.addJoint(slider, pin.JointModelRY(), pin.SE3.Identity(), "theta")
    pole = pin.Inertia(m, np.array([0, 0, l]), np.diag([INERTIA, INERTIA, 1e-9]))
    model.appendBodyToJoint(hinge, pole, pin.SE3.Identity())
    data, zero = model.createData(), np.zeros(2)
    stiffness, damping = np.diag([k, 0.0]), np.diag([c, 0.0])

    def run() -> Matrices:
        pin.computeABADerivatives(model, data, zero, zero, zero)
        upper = np.triu(data.Minv)
        inverse = upper + upper.T - np.diag(np.diag(upper))
        a, b = np.zeros((4, 4)), np.zeros((4, 1))
        a[:2, 2:] = np.eye(2)
        a[2:, :2], a[2:, 2:] = data.ddq_dq - inverse @ stiffness, data.ddq_dv - inverse @ damping
        b[2:, 0] = inverse[:, 0]
        return a, b

    return run


OTHERS: dict[str, tuple[str, Callable[[], Callable[[], Matrices]]]] = {
    "Pinocchio, computeABADerivatives": ("pin", pinocchio),
    "Drake, FirstOrderTaylorApproximation": ("drake", drake),
    "python-control, linearize (differences)": ("control", python_control),
}


def main(short: bool = False) -> dict[str, float]:
    """Print the table; returns ms by row."""
    heading("linear model of the cart-pole plant", *(package for package, _ in OTHERS.values()))
    warnings.simplefilter("ignore")
    there = {"linearize": ours()}
    there |= {name: build() for name, (package, build) in OTHERS.items() if installed(package)}
    known, errors, calls, often = exact(), {}, {}, {}
    for name, call in there.items():
        errors[name] = max(float(np.abs(x - y).max()) for x, y in zip(call(), known, strict=True))
        calls[name], often[name] = repeated(call)
    best = in_turn(calls, 2 if short else 30)
    took = {name: 1e3 * t / often[name] for name, t in best.items()}
    show(("", "ms", "error"), [Row(name, (f"{t:.4f}",), errors[name]) for name, t in took.items()], 1e-9)
    return took


if __name__ == "__main__":
    main(smoke())
