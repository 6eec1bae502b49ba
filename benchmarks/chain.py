"""Serial chain of n equal pin-jointed rods: one evaluation of its forward dynamics.

    python -m benchmarks.chain [--smoke] [10 100 1000]

Rods of 1 m and 1 kg, uniform, hinged about the global y axis, at rest along x when all angles are zero. The
error is relative to a dense mass matrix in absolute angles, written by hand. The build covers everything from
the text of the deck to machine code, with nothing taken from a cache.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.support.compiled import CompiledFunction, derivative
from benchmarks.support.table import (
    Row,
    built,
    heading,
    in_turn,
    installed,
    numbers,
    private_cache,
    repeated,
    show,
    smoke,
)
from cosim import Diagram, Simulation
from plant import Plant

PIN = 'a00="1" a10="0" a20="0" a01="0" a11="0" a21="-1" a02="0" a12="1" a22="0"'


def deck(n: int) -> bytes:
    """XML deck of the chain; joint k is labelled ``pin k``, output ``tip`` is the free end (x, z)."""
    lines = [
        '<MotionSolve><Model><Force_Gravity grav_z="-9.81"/>',
        '<Body_Rigid id="1" label="Ground" isground="TRUE"/>',
    ]
    for k in range(1, n + 1):
        lines.append(
            f'<Body_Rigid id="{k + 1}" label="rod {k}" cg_id="{10 * k}" mass="1" '
            'inertia_xx="0.001" inertia_yy="0.08333333333333333" inertia_zz="0.08333333333333333"/>'
            f'<Reference_Marker id="{10 * k}" body_id="{k + 1}" pos_x="{k - 0.5}"/>'
            f'<Reference_Marker id="{10 * k + 1}" body_id="{k + 1}" pos_x="{k - 1}" {PIN}/>'
            f'<Reference_Marker id="{10 * k + 2}" body_id="{k}" pos_x="{k - 1}" {PIN}/>'
            f'<Constraint_Joint id="{k}" label="pin {k}" type="REVOLUTE" i_marker_id="{10 * k + 1}" '
            f'j_marker_id="{10 * k + 2}"/>'
        )
    tip = 10 * n + 3
    lines.append(
        f'<Reference_Marker id="{tip}" body_id="{n + 1}" pos_x="{n}"/>'
        f'<Reference_Variable id="1" label="x" type="EXPRESSION" expr="DX({tip})"/>'
        f'<Reference_Variable id="2" label="z" type="EXPRESSION" expr="DZ({tip})"/>'
        '<Control_PlantOutput id="1" label="tip" variable_id_list="1 2"/></Model></MotionSolve>'
    )
    return "\n".join(lines).encode()


def exact(q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """Accelerations of the joints (n,) from the dense mass matrix in absolute angles."""
    n, g = len(q), 9.81
    phi, w = np.cumsum(q), np.cumsum(qd)
    beyond = n - 1.0 - np.arange(n)  # rods further out
    mass = np.minimum.outer(beyond + 0.5, beyond + 0.5)
    np.fill_diagonal(mass, beyond + 1 / 3)
    angle = np.subtract.outer(phi, phi)
    right = -(mass * np.sin(angle)) @ w**2 + g * (beyond + 0.5) * np.cos(phi)
    return np.diff(np.linalg.solve(mass * np.cos(angle), right), prepend=0.0)


def pose(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Angles [rad] and rates [rad/s] of the joints."""
    draw = np.random.default_rng(7)
    return draw.uniform(-0.5, 0.5, n), draw.uniform(-0.5, 0.5, n)


def at_pose(d: Diagram, **options: Any) -> Simulation:
    """A simulation of a diagram of one chain, its states those of the pose."""
    simulation = Simulation(d, engine="native", **options)
    state = simulation.snapshot()
    state.x[:] = np.concatenate(pose(len(state.x) // 2))
    simulation.restore(state)
    return simulation


def compiled(n: int) -> tuple[CompiledFunction, str]:
    """The derivative at the pose, and the time to read, flatten, generate and compile it."""
    d = Diagram("chain")

    def build() -> None:
        d.add("plant", Plant.read(deck(n)))
        Simulation(d, engine="native", solver="rk4")

    with tempfile.TemporaryDirectory() as folder, private_cache(folder):
        took = built(build)
        return derivative(at_pose(d, solver="rk4")), took


def pinocchio(n: int) -> tuple[Callable[[], object], Callable[[], np.ndarray]] | None:
    """`aba` and what it found; room for its data grows with the cube of n, so no more than 200 links."""
    if n > 200 or not installed("pin"):
        return None
    import pinocchio as pin

    model = pin.Model()
    model.gravity.linear = np.array([0, 0, -9.81])
    joint = 0
    rod = pin.Inertia(1.0, np.array([0.5, 0, 0]), np.diag([1e-3, 1 / 12, 1 / 12]))
    for k in range(n):
        place = pin.SE3(np.eye(3), np.array([1.0 if k else 0.0, 0, 0]))
        joint = model.addJoint(joint, pin.JointModelRY(), place, f"pin {k}")
        model.appendBodyToJoint(joint, rod, pin.SE3.Identity())
    data, (q, qd), torque = model.createData(), pose(n), np.zeros(n)
    return lambda: pin.aba(model, data, q, qd, torque), lambda: np.array(data.ddq)


def mujoco(n: int) -> tuple[Callable[[], object], Callable[[], np.ndarray]] | None:
    """`mj_forward` without contacts and constraints, and what it found."""
    if not installed("mujoco"):
        return None
    import mujoco as package

    spec = package.MjSpec()
    spec.option.gravity = [0, 0, -9.81]
    off = package.mjtDisableBit
    spec.option.disableflags = int(off.mjDSBL_CONSTRAINT) | int(off.mjDSBL_CONTACT)
    body = spec.worldbody
    for k in range(n):
        body = body.add_body(
            pos=[1.0 if k else 0.0, 0, 0], mass=1.0, ipos=[0.5, 0, 0], inertia=[1e-3, 1 / 12, 1 / 12],
            explicitinertial=True,
        )  # fmt: skip
        body.add_joint(type=package.mjtJoint.mjJNT_HINGE, axis=[0, 1, 0])
    try:
        model = spec.compile()
    except ValueError:  # a tree so deep is too much for it
        return None
    data = package.MjData(model)
    data.qpos[:], data.qvel[:] = pose(n)
    return lambda: package.mj_forward(model, data), lambda: np.array(data.qacc)


def measure(n: int, short: bool) -> Iterator[Row]:
    """Lines of the table for n links."""
    (ours, build), known = compiled(n), exact(*pose(n))
    scale = np.abs(known).max()
    ours.from_python()
    errors = {"ours": float(np.abs(ours.out[n:] - known).max() / scale)}
    times = max(1, 20_000 // n)
    calls: dict[str, Callable[[], object]] = {"in C": lambda: ours.in_c(times)}
    calls["from Python"], count = repeated(ours.from_python)
    often = {"in C": times, "from Python": count}
    for name, peer in (("Pinocchio aba", pinocchio(n)), ("MuJoCo mj_forward", mujoco(n))):
        if peer is not None:
            call, result = peer
            calls[name], often[name] = repeated(call)
            errors[name] = float(np.abs(result() - known).max() / scale)
    best = in_turn(calls, 2 if short else 50, 2.0)
    took = {name: 1e6 * t / often[name] for name, t in best.items()}
    yield Row(f"n = {n}: compiled, in a loop in C", (f"{took['in C']:.3g}", build), errors["ours"])
    yield Row(f"n = {n}: compiled, called from Python", (f"{took['from Python']:.3g}", build), errors["ours"])
    for name in ("Pinocchio aba", "MuJoCo mj_forward"):
        if name in took:
            yield Row(f"n = {n}: {name}, called from Python", (f"{took[name]:.3g}", "-"), errors[name])
        elif installed("pin" if "aba" in name else "mujoco"):
            yield Row(f"n = {n}: {name}", ("left out", "-"))


def main(sizes: list[int], short: bool = False) -> None:
    """Print a table for every size."""
    heading("forward dynamics of a serial chain", "pin", "mujoco")
    for n in sizes:
        show(("", "us", "build [s] (cpu)", "rel. error"), measure(n, short))


if __name__ == "__main__":
    main(numbers([1, 10, 100, 1000], [1, 10]), smoke())
