"""N four-bar loops in other libraries: ``run(n, step, until) -> Outcome`` for each.

Settings that did best of what was tried: Pinocchio's proximal constraint dynamics, rk4 around it in Python,
MuJoCo's rk4 with stiff connections, Exudyn's generalised-alpha with a spectral radius of 0.9.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

G = 9.81
LOOK = 0.05  # s between two looks at the energy


@dataclass(frozen=True)
class Outcome:
    """Wall time of the whole call [s], largest drift of the energy [J], place of the first tip (2,) [m].

    inside : s      of it, what an engine that says so spent integrating
    """

    seconds: float
    drift: float
    tip: np.ndarray
    inside: float | None = None


def pinocchio(n: int, step: float, until: float) -> Outcome:
    import pinocchio as pin

    m = pin.Model()
    m.gravity.linear = np.array([0, 0, -G])
    cranks, couplers = [], []
    upright = pin.Inertia(1.0, np.array([0, 0, 0.5]), np.diag([1 / 12, 1 / 12, 1e-6]))
    lying = pin.Inertia(1.0, np.array([0.5, 0, 0]), np.diag([1e-6, 1 / 12, 1 / 12]))
    at = lambda *place: pin.SE3(np.eye(3), np.array(place, float))
    for k in range(n + 1):
        cranks.append(m.addJoint(0, pin.JointModelRY(), at(k, 0, 0), f"crank {k}"))
        m.appendBodyToJoint(cranks[-1], upright, pin.SE3.Identity())
        if k < n:
            couplers.append(m.addJoint(cranks[-1], pin.JointModelRY(), at(0, 0, 1), f"coupler {k}"))
            m.appendBodyToJoint(couplers[-1], lying, pin.SE3.Identity())
    loops, rooms = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for k in range(n):
        place, target = at(1, 0, 0), at(0, 0, 1)
        loop = pin.RigidConstraintModel(
            pin.ContactType.CONTACT_3D, m, couplers[k], place, cranks[k + 1], target
        )
        gains = loop.m_baumgarte_parameters
        gains.Kp, gains.Kd = 400.0, 40.0
        loop.setBaumgarteCorrectorParameters(gains)
        loops.append(loop)
        rooms.append(loop.createData())
    data, settings = m.createData(), pin.ProximalSettings(1e-12, 1e-8, 20)
    pin.initConstraintDynamics(m, data, loops, rooms)
    q, v, torque = np.zeros(m.nv), np.zeros(m.nv), np.zeros(m.nv)
    v[[m.joints[j].idx_v for j in cranks]] = 1.0
    v[[m.joints[j].idx_v for j in couplers]] = -1.0

    def a(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return pin.constraintDynamics(m, data, q, v, torque, loops, rooms, settings)

    def energy() -> float:
        return float(pin.computeKineticEnergy(m, data, q, v) + pin.computePotentialEnergy(m, data, q))

    start, drift, every, h = energy(), 0.0, max(1, round(LOOK / step)), step
    began = time.perf_counter()
    for k in range(round(until / h)):
        a1 = a(q, v)
        v2 = v + h / 2 * a1
        a2 = a(q + h / 2 * v, v2)
        v3 = v + h / 2 * a2
        a3 = a(q + h / 2 * v2, v3)
        v4 = v + h * a3
        a4 = a(q + h * v3, v4)
        q = q + h / 6 * (v + 2 * (v2 + v3) + v4)
        v = v + h / 6 * (a1 + 2 * (a2 + a3) + a4)
        if (k + 1) % every == 0:
            drift = max(drift, abs(energy() - start))
            if not drift < 1e6:
                break
    angle = q[m.joints[cranks[0]].idx_q]
    return Outcome(time.perf_counter() - began, drift, np.array([np.sin(angle), np.cos(angle)]))


def mujoco(n: int, step: float, until: float) -> Outcome:
    import mujoco as package

    package.set_mju_user_warning(lambda text: None)  # a step too large is a row without that step
    s = package.MjSpec()
    s.option.timestep, s.option.gravity = step, [0, 0, -G]
    s.option.integrator = package.mjtIntegrator.mjINT_RK4
    s.option.solver = package.mjtSolver.mjSOL_NEWTON
    s.option.iterations, s.option.tolerance = 50, 1e-14
    s.option.enableflags = int(package.mjtEnableBit.mjENBL_ENERGY)
    s.option.disableflags = int(package.mjtDisableBit.mjDSBL_CONTACT)
    hinge = {"type": package.mjtJoint.mjJNT_HINGE, "axis": [0, 1, 0]}
    cranks = []
    for k in range(n + 1):
        crank = s.worldbody.add_body(
            name=f"crank{k}", pos=[k, 0, 0], mass=1, ipos=[0, 0, 0.5], inertia=[1 / 12, 1 / 12, 1e-6],
            explicitinertial=True,
        )  # fmt: skip
        crank.add_joint(name=f"crank{k}", **hinge)
        cranks.append(crank)
    for k in range(n):
        coupler = cranks[k].add_body(
            name=f"coupler{k}", pos=[0, 0, 1], mass=1, ipos=[0.5, 0, 0], inertia=[1e-6, 1 / 12, 1 / 12],
            explicitinertial=True,
        )  # fmt: skip
        coupler.add_joint(name=f"coupler{k}", **hinge)
        loop = s.add_equality(
            type=package.mjtEq.mjEQ_CONNECT, objtype=package.mjtObj.mjOBJ_BODY, name1=f"coupler{k}",
            name2=f"crank{k + 1}",
        )  # fmt: skip
        loop.data[:3] = [1, 0, 0]
        loop.solref[:], loop.solimp[:] = [2 * step, 1.0], [0.9999, 0.9999, 0.001, 0.5, 2]
    model = s.compile()
    data = package.MjData(model)
    for k in range(n + 1):
        data.joint(f"crank{k}").qvel[0] = 1.0
    for k in range(n):
        data.joint(f"coupler{k}").qvel[0] = -1.0
    package.mj_forward(model, data)
    start, drift, every = float(data.energy.sum()), 0.0, max(1, round(LOOK / step))
    began = time.perf_counter()
    for _ in range(round(until / step) // every):
        package.mj_step(model, data, every)
        drift = max(drift, abs(float(data.energy.sum()) - start))
    seconds = time.perf_counter() - began
    angle = float(data.joint("crank0").qpos[0])
    return Outcome(seconds, drift, np.array([np.sin(angle), np.cos(angle)]))


def exudyn(n: int, step: float, until: float) -> Outcome:
    """Timed without the function that looks at the energy, which is Python called at every step."""
    watched = _exudyn(n, step, until, look=True)
    if not watched.drift < 0.1:
        return watched
    return Outcome(_exudyn(n, step, until, look=False).seconds, watched.drift, watched.tip)


def _exudyn(n: int, step: float, until: float, look: bool) -> Outcome:
    import exudyn as package
    from exudyn import itemInterface as item

    container = package.SystemContainer()
    system = container.AddSystem()
    ground = system.AddObject(item.ObjectGround())

    def marker(body, place):
        return system.AddMarker(item.MarkerBodyPosition(bodyNumber=body, localPosition=place))

    def rod(x, y, angle, speed):
        node = system.AddNode(
            item.NodeRigidBody2D(referenceCoordinates=[x, y, angle], initialVelocities=speed)
        )
        body = system.AddObject(item.ObjectRigidBody2D(mass=1.0, inertia=1 / 12, nodeNumber=node))
        mass = system.AddMarker(item.MarkerBodyMass(bodyNumber=body))
        system.AddLoad(item.LoadMassProportional(markerNumber=mass, loadVector=[0, -G, 0]))
        return marker(body, [-0.5, 0, 0]), marker(body, [0.5, 0, 0])

    def pin(first, second):
        system.AddObject(item.ObjectJointRevolute2D(markerNumbers=[first, second]))

    tops = []
    for k in range(n + 1):
        foot, top = rod(k, 0.5, np.pi / 2, [0.5, 0, -1.0])
        pin(marker(ground, [k, 0, 0]), foot)
        tops.append(top)
    for k in range(n):
        left, right = rod(k + 0.5, 1.0, 0.0, [1.0, 0, 0])
        pin(tops[k], left)
        pin(tops[k + 1], right)
    system.Assemble()
    s = package.SimulationSettings()
    s.timeIntegration.numberOfSteps, s.timeIntegration.endTime = round(until / step), until
    s.timeIntegration.verboseMode, s.solution.file.write = 0, False
    if n > 3:
        s.linearSolver.solverType = package.LinearSolverType.EigenSparse
    s.timeIntegration.newton.useModifiedNewton = True
    s.timeIntegration.generalizedAlpha.spectralRadius = 0.9
    reference = system.systemData.GetODE2Coordinates(configuration=package.ConfigurationType.Reference)

    def energy() -> float:
        q = (system.systemData.GetODE2Coordinates() + reference).reshape(-1, 3)
        v = system.systemData.GetODE2Coordinates_t().reshape(-1, 3)
        return float(0.5 * (v[:, :2] ** 2).sum() + (v[:, 2] ** 2).sum() / 24 + G * q[:, 1].sum())

    start = (n + 1) / 6 + n / 2 + G * ((n + 1) / 2 + n)  # from the formula: nothing is set before the run
    count, every, drift = 0, max(1, round(LOOK / step)), 0.0

    def watch(_system, _t):
        nonlocal count, drift
        count += 1
        if count % every == 0:
            drift = max(drift, abs(energy() - start))
        return True

    if look:
        system.SetPreStepUserFunction(watch)
    began = time.perf_counter()
    try:
        system.SolveDynamic(s, solverType=package.DynamicSolverType.GeneralizedAlpha)
    except (SystemError, ValueError, RuntimeError):  # Newton failed
        return Outcome(time.perf_counter() - began, np.inf, np.full(2, np.nan))
    seconds = time.perf_counter() - began
    angle = -float(system.systemData.GetODE2Coordinates()[2])
    return Outcome(seconds, max(drift, abs(energy() - start)), np.array([np.sin(angle), np.cos(angle)]))


PEERS: dict[str, tuple[str, Callable[[int, float, float], Outcome]]] = {
    "Pinocchio, constraintDynamics + rk4": ("pin", pinocchio),
    "MuJoCo, RK4": ("mujoco", mujoco),
    "Exudyn, generalised-alpha": ("exudyn", exudyn),
}
