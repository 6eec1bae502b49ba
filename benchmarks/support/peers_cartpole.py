"""The sampled cart-pole in other libraries, each as it would be written there.

Every function builds once and returns a call ``run(until) -> state`` from the start; an entry of `PEERS` is
the package it needs, what is integrated how, and the function.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import warnings
from collections.abc import Callable

import numpy as np

from benchmarks.cartpole_model import GAIN, START

Run = Callable[[float], np.ndarray]
SAMPLE, STEP = 0.01, 1e-3
M, m, l, k, c, g = 1.0, 0.1, 0.5, 10.0, 1.0, 9.81
INERTIA = m * (2 * l) ** 2 / 12  # about the centre


def slope(x, u, m=m):
    """State's rate with plain floats."""
    s, theta, v, omega = x
    coupling, sine = m * l * math.cos(theta), math.sin(theta)
    on_cart = u - k * s - c * v + m * l * sine * omega * omega
    on_pole, about_pin = m * l * g * sine, m * (2 * l) ** 2 / 12 + m * l * l
    det = (M + m) * about_pin - coupling * coupling
    return (
        v,
        omega,
        (about_pin * on_cart - coupling * on_pole) / det,
        ((M + m) * on_pole - coupling * on_cart) / det,
    )


def slope_array(x, u):
    return np.array(slope(x.tolist(), float(u)))


def rk4(x, u):
    """One hold interval in steps of 1 ms."""
    for _ in range(round(SAMPLE / STEP)):
        k1 = slope_array(x, u)
        k2 = slope_array(x + STEP / 2 * k1, u)
        k3 = slope_array(x + STEP / 2 * k2, u)
        k4 = slope_array(x + STEP * k3, u)
        x = x + STEP / 6 * (k1 + 2 * (k2 + k3) + k4)
    return x


def numba_loop() -> Callable[[np.ndarray, float, int], np.ndarray]:
    """Compiled loop (start, mass of the pole, samples) -> state at the end."""
    import numba

    slope_of, gain = numba.njit(slope), GAIN

    @numba.njit
    def loop(x, m, samples):
        h = STEP
        a = (x[0], x[1], x[2], x[3])
        for _ in range(samples):
            u = -(gain[0] * a[0] + gain[1] * a[1] + gain[2] * a[2] + gain[3] * a[3])
            for _ in range(10):
                p = slope_of(a, u, m)
                y = (a[0] + h / 2 * p[0], a[1] + h / 2 * p[1], a[2] + h / 2 * p[2], a[3] + h / 2 * p[3])
                q = slope_of(y, u, m)
                y = (a[0] + h / 2 * q[0], a[1] + h / 2 * q[1], a[2] + h / 2 * q[2], a[3] + h / 2 * q[3])
                r = slope_of(y, u, m)
                y = (a[0] + h * r[0], a[1] + h * r[1], a[2] + h * r[2], a[3] + h * r[3])
                s = slope_of(y, u, m)
                a = (
                    a[0] + h / 6 * (p[0] + 2 * (q[0] + r[0]) + s[0]),
                    a[1] + h / 6 * (p[1] + 2 * (q[1] + r[1]) + s[1]),
                    a[2] + h / 6 * (p[2] + 2 * (q[2] + r[2]) + s[2]),
                    a[3] + h / 6 * (p[3] + 2 * (q[3] + r[3]) + s[3]),
                )
        return np.array(a)

    return loop


def numba_by_hand() -> Run:
    loop = numba_loop()
    return lambda until: loop(np.array(START), m, round(until / SAMPLE))


def drake_plant():
    """The cart-pole as a continuous MultibodyPlant in C++."""
    from pydrake.all import (
        MultibodyPlant,
        PrismaticJoint,
        PrismaticSpring,
        RevoluteJoint,
        RotationalInertia,
        SpatialInertia,
        UnitInertia,
    )

    plant = MultibodyPlant(0.0)
    plant.mutable_gravity_field().set_gravity_vector([0, 0, -g])
    cart = plant.AddRigidBody("cart", SpatialInertia(M, [0, 0, 0], UnitInertia(1, 1, 1)))
    tensor = RotationalInertia(INERTIA, INERTIA, 1e-6)
    pole = plant.AddRigidBody("pole", SpatialInertia.MakeFromCentralInertia(m, [0, 0, l], tensor))
    slider = PrismaticJoint("s", plant.world_frame(), cart.body_frame(), [1, 0, 0], damping=c)
    slider = plant.AddJoint(slider)
    plant.AddJoint(RevoluteJoint("theta", cart.body_frame(), pole.body_frame(), [0, 1, 0], damping=0.0))
    plant.AddForceElement(PrismaticSpring(slider, 0.0, k))
    plant.AddJointActuator("u", slider)
    plant.Finalize()
    return plant


def drake(method: str, adaptive: bool) -> Run:
    from pydrake.all import DiagramBuilder, MatrixGain, ResetIntegratorFromFlags, Simulator, ZeroOrderHold

    builder = DiagramBuilder()
    plant = builder.AddSystem(drake_plant())
    gain = builder.AddSystem(MatrixGain(D=-np.array([GAIN])))
    hold = builder.AddSystem(ZeroOrderHold(SAMPLE, 1))
    builder.Connect(plant.get_state_output_port(), gain.get_input_port())
    builder.Connect(gain.get_output_port(), hold.get_input_port())
    builder.Connect(hold.get_output_port(), plant.get_actuation_input_port())
    simulator = Simulator(builder.Build())
    ResetIntegratorFromFlags(simulator, method, STEP)
    integrator = simulator.get_mutable_integrator()
    if adaptive:
        integrator.set_maximum_step_size(SAMPLE)
        integrator.set_target_accuracy(1e-8)
    else:
        integrator.set_fixed_step_mode(True)

    def run(until: float) -> np.ndarray:
        context = simulator.get_mutable_context()
        context.SetTime(0.0)
        context.SetContinuousState(np.array(START))
        simulator.Initialize()
        simulator.AdvanceTo(until)
        return np.array(context.get_continuous_state_vector().CopyToVector())

    return run


def mujoco_model(step: float = STEP, integrator: str = "RK4"):
    import mujoco

    return mujoco.MjModel.from_xml_string(f"""<mujoco>
        <option timestep="{step}" integrator="{integrator}" gravity="0 0 -{g}">
            <flag contact="disable" warmstart="disable"/></option>
        <worldbody><body>
            <joint type="slide" name="s" axis="1 0 0" stiffness="{k}" damping="{c}"/>
            <inertial pos="0 0 0" mass="{M}" diaginertia="1 1 1"/>
            <body><joint type="hinge" axis="0 1 0"/>
                <inertial pos="0 0 {l}" mass="{m}" diaginertia="{INERTIA} {INERTIA} 1e-6"/></body>
        </body></worldbody>
        <actuator><motor joint="s"/></actuator></mujoco>""")


def mujoco() -> Run:
    import mujoco

    model = mujoco_model()

    def run(until: float) -> np.ndarray:
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:] = START[:2], START[2:]
        q, v, u = data.qpos, data.qvel, data.ctrl
        k0, k1, k2, k3 = GAIN
        for _ in range(round(until / SAMPLE)):
            u[0] = -(k0 * q[0] + k1 * q[1] + k2 * v[0] + k3 * v[1])
            mujoco.mj_step(model, data, 10)
        return np.concatenate([q, v])

    return run


def pathsim(adaptive: bool) -> Run:
    from pathsim import Connection, Simulation
    from pathsim.blocks import ODE, Function, SampleHold
    from pathsim.solvers import RK4, RKDP54

    k0, k1, k2, k3 = GAIN
    more = {"tolerance_lte_rel": 1e-8, "tolerance_lte_abs": 1e-10} if adaptive else {}

    def run(until: float) -> np.ndarray:
        plant = ODE(lambda x, u, t: slope_array(x, u[0]), np.array(START))
        control = Function(lambda s, theta, v, omega: -(k0 * s + k1 * theta + k2 * v + k3 * omega))
        hold = SampleHold(T=SAMPLE, tau=0.0)
        wires = [Connection(plant[i], control[i]) for i in range(4)]
        wires += [Connection(control[0], hold[0]), Connection(hold[0], plant[0])]
        solver = RKDP54 if adaptive else RK4
        whole = Simulation([plant, control, hold], wires, dt=STEP, Solver=solver, log=False, **more)
        whole.run(until, adaptive=adaptive)
        return np.array(plant.engine.state)

    return run


def python_control() -> Run:
    """All discrete: it connects no continuous with sampled systems, so RK4 is the plant's own business."""
    import control

    plant = control.nlsys(
        lambda t, x, u, p: rk4(x, u[0]),
        None,
        states=4,
        inputs=["u"],
        outputs=["s", "theta", "v", "omega"],
        name="plant",
        dt=SAMPLE,
    )
    gain = np.array(GAIN)
    feedback = control.nlsys(
        None,
        lambda t, x, u, p: [-(gain @ u)],
        inputs=["s", "theta", "v", "omega"],
        outputs=["u"],
        name="feedback",
        dt=SAMPLE,
    )
    loop = control.interconnect([plant, feedback], inputs=None, outputs=["s", "theta", "v", "omega"])

    def run(until: float) -> np.ndarray:
        times = np.arange(round(until / SAMPLE) + 1) * SAMPLE
        return np.array(control.input_output_response(loop, times, 0, list(START)).states[:, -1])

    return run


def bdsim() -> Run:
    import bdsim as package

    gain = np.array(GAIN)
    with contextlib.redirect_stdout(io.StringIO()):
        whole = package.BDSim(graphics=False, progress=False, sysargs=False, banner=False, quiet=True)
        d = whole.blockdiagram()
        plant = d.INTEGRATOR(x0=list(START), name="plant")
        rate = d.FUNCTION(lambda x, u: slope_array(x, np.ravel(u)[0]), nin=2, nout=1, name="rate")
        control = d.FUNCTION(lambda x: -float(gain @ x), nin=1, nout=1, name="control")
        hold = d.ZOH(d.clock(SAMPLE, unit="s"), x0=-float(gain @ np.array(START)), name="hold")
        for start, end in ((plant, rate[0]), (hold, rate[1]), (rate, plant), (plant, control)):
            d.connect(start, end)
        d.connect(control, hold)
        d.compile(report=False)

    def run(until: float) -> np.ndarray:
        tolerances = {"rtol": 1e-8, "atol": 1e-10}
        with contextlib.redirect_stdout(io.StringIO()):
            return np.array(whole.run(d, T=until, solver="RK45", solver_args=tolerances).x[-1])

    return run


def jaxonomy(method: str) -> Run:
    """Compiled at the first call, which is not timed."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax

    jax.config.update("jax_enable_x64", True)
    import jaxonomy as package
    from jaxonomy.library import FeedthroughBlock, ZeroOrderHold

    jnp = jax.numpy

    class Plant(package.LeafSystem):
        def __init__(self) -> None:
            super().__init__(name="plant")
            self.declare_input_port(name="u")
            self.declare_continuous_state(default_value=jnp.array(START), ode=self.rate)
            self.declare_continuous_state_output(name="x")

        def rate(self, t, state, *inputs, **parameters):
            s, theta, v, omega = state.continuous_state
            coupling, sine = m * l * jnp.cos(theta), jnp.sin(theta)
            on_cart = jnp.reshape(inputs[0], ()) - k * s - c * v + m * l * sine * omega * omega
            on_pole, about_pin = m * l * g * sine, INERTIA + m * l * l
            det = (M + m) * about_pin - coupling * coupling
            rates = about_pin * on_cart - coupling * on_pole, (M + m) * on_pole - coupling * on_cart
            return jnp.array([v, omega, rates[0] / det, rates[1] / det])

    gain, b = jnp.array(GAIN), package.DiagramBuilder()
    plant = b.add(Plant())
    control = b.add(FeedthroughBlock(lambda x: -jnp.dot(gain, x), name="control"))
    hold = b.add(ZeroOrderHold(dt=SAMPLE, name="hold"))
    for start, end in ((plant, control), (control, hold), (hold, plant)):
        b.connect(start.output_ports[0], end.input_ports[0])
    d = b.build()
    context = d.create_context()
    more = {"max_minor_step_size": STEP} if method == "rk4" else {"rtol": 1e-8, "atol": 1e-10}
    options = package.SimulatorOptions(
        ode_solver_method=method, save_time_series=False, max_major_steps=2000, **more
    )
    advance = jax.jit(package.Simulator(d, options=options).advance_to)

    def run(until: float) -> np.ndarray:
        found = jax.block_until_ready(advance(until, context).context)
        return np.array(found[plant.system_id].continuous_state)

    return run


def simupy() -> Run:
    for name, now in {"float_": np.float64, "Inf": np.inf}.items():  # it was written for NumPy 1
        setattr(np, name, now)
    from simupy.block_diagram import BlockDiagram
    from simupy.systems import DynamicalSystem, SystemFromCallable

    gain = np.array(GAIN)
    rate = lambda t, x, u: slope_array(x, u[0])
    settings = {"name": "dopri5", "rtol": 1e-8, "atol": 1e-10, "nsteps": 500, "max_step": 0.0}

    def run(until: float) -> np.ndarray:
        sizes = {"dim_state": 4, "dim_input": 1, "dim_output": 4}
        plant = DynamicalSystem(state_equation_function=rate, initial_condition=np.array(START), **sizes)
        control = SystemFromCallable(lambda t, x: np.array([-(gain @ x)]), 4, 1, dt=SAMPLE)
        d = BlockDiagram(plant, control)
        d.connect(plant, control)
        d.connect(control, plant)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.array(d.simulate(until, integrator_options=settings).x[-1])

    return run


PEERS: dict[str, tuple[str, Callable[[], Run]]] = {
    "numba by hand, RK4 1 ms": ("numba", numba_by_hand),
    "MuJoCo, RK4 1 ms": ("mujoco", mujoco),
    "Drake, C++ plant, RK3 1 ms": ("drake", lambda: drake("runge_kutta3", False)),
    "Drake, C++ plant, RK3(2) 1e-8": ("drake", lambda: drake("runge_kutta3", True)),
    "Drake, C++ plant, RK5(4) 1e-8": ("drake", lambda: drake("runge_kutta5", True)),
    "python-control, own RK4 1 ms inside": ("control", python_control),
    "PathSim, RK4 1 ms": ("pathsim", lambda: pathsim(False)),
    "PathSim, RKDP54 1e-8": ("pathsim", lambda: pathsim(True)),
    "bdsim, RK45 1e-8": ("bdsim", bdsim),
    "Jaxonomy, rk4 1 ms": ("jaxonomy", lambda: jaxonomy("rk4")),
    "Jaxonomy, dopri5 1e-8": ("jaxonomy", lambda: jaxonomy("dopri5")),
    "SimuPy, dopri5 1e-8": ("simupy", simupy),
}
