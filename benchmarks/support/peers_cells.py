"""The cells of `benchmarks.cells` in other libraries.

Every function builds once for so many cells and returns a call ``run(until) -> states of the integrators``;
an entry of `PEERS` is the package it needs, the function, and how many blocks it is asked for at most.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable

import numpy as np

from benchmarks.cells_model import RATES, STEP, is_filter


def pathsim(count: int) -> Callable[[float], np.ndarray]:
    from pathsim import Connection, Simulation
    from pathsim.blocks import Adder, Amplifier, Integrator, Source
    from pathsim.blocks import DiscreteStateSpace as Filter
    from pathsim.blocks.math import Clip
    from pathsim.solvers import RK4

    blocks, wires, ends, states = [Source(np.sin)], [], [], []
    for i in range(count):
        total, state, gain = Adder("++-" if i >= 7 else "+-"), Integrator(0.0), Amplifier(1.5)
        matrices = [[0.8]], [[0.2]], [[0.8]], [[0.2]]
        last = Filter(*matrices, T=float(RATES[i % 3])) if is_filter(i) else Clip(-1.0, 1.0)
        blocks += [total, state, gain, last]
        wires.append(Connection(ends[-1] if i else blocks[0], total[0]))
        if i >= 7:
            wires.append(Connection(ends[-7], total[1]))
        wires += [Connection(total, state), Connection(gain, last)]
        wires.append(Connection(state, gain, total[2 if i >= 7 else 1]))
        ends.append(last)
        states.append(state)
    whole = Simulation(blocks, wires, dt=STEP, Solver=RK4, log=False)

    def run(until: float) -> np.ndarray:
        whole.run(until, reset=True, adaptive=False)
        return np.array([float(np.ravel(s.engine.state)[0]) for s in states])

    return run


def drake(count: int) -> Callable[[float], np.ndarray]:
    from pydrake.all import (
        Adder,
        DiagramBuilder,
        Gain,
        Integrator,
        LinearSystem,
        ResetIntegratorFromFlags,
        Saturation,
        Simulator,
        Sine,
    )

    b = DiagramBuilder()
    ends = [b.AddSystem(Sine(amplitude=1.0, frequency=1.0, phase=0.0, size=1))]
    for i in range(count):
        total, state = b.AddSystem(Adder(3 if i >= 7 else 2, 1)), b.AddSystem(Integrator(1))
        gain, minus = b.AddSystem(Gain(1.5, 1)), b.AddSystem(Gain(-1.0, 1))
        if is_filter(i):  # its output is the state after the update
            matrices = {"A": [[0.8]], "B": [[0.2]], "C": [[1.0]], "D": [[0.0]]}
            last = b.AddSystem(LinearSystem(**matrices, time_period=float(RATES[i % 3])))
        else:
            last = b.AddSystem(Saturation([-1.0], [1.0]))
        into = [(ends[-1], 0), *([(ends[-7], 1)] if i >= 7 else []), (minus, 2 if i >= 7 else 1)]
        for source, place in into:
            b.Connect(source.get_output_port(0), total.get_input_port(place))
        for source, target in ((total, state), (state, gain), (state, minus), (gain, last)):
            b.Connect(source.get_output_port(0), target.get_input_port(0))
        ends.append(last)
    simulator = Simulator(b.Build())
    ResetIntegratorFromFlags(simulator, "runge_kutta3", STEP)
    simulator.get_mutable_integrator().set_fixed_step_mode(True)

    def run(until: float) -> np.ndarray:
        context = simulator.get_mutable_context()
        context.SetTime(0.0)
        context.SetContinuousState(np.zeros(count))
        for k in range(context.num_discrete_state_groups()):
            context.SetDiscreteState(k, [0.0])
        simulator.Initialize()
        simulator.AdvanceTo(until)
        return np.array(context.get_continuous_state_vector().CopyToVector())

    return run


def jaxonomy(count: int) -> Callable[[float], np.ndarray]:
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax

    jax.config.update("jax_enable_x64", True)
    import jaxonomy as package
    from jaxonomy.library import Adder, FeedthroughBlock, Gain, Integrator, LTISystemDiscrete, Sine

    jnp, b = jax.numpy, package.DiagramBuilder()
    ends, states = [b.add(Sine(amplitude=1.0, frequency=1.0, name="start"))], []
    for i in range(count):
        signs = "++-" if i >= 7 else "+-"
        total = b.add(Adder(len(signs), operators=signs, name=f"sum{i}"))
        state = b.add(Integrator(initial_state=jnp.array(0.0), name=f"state{i}"))
        gain = b.add(Gain(1.5, name=f"gain{i}"))
        if is_filter(i):
            matrices = [[0.8]], [[0.2]], [[0.8]], [[0.2]]
            last = b.add(LTISystemDiscrete(*matrices, dt=float(RATES[i % 3]), name=f"filter{i}"))
        else:
            last = b.add(FeedthroughBlock(lambda u: jnp.clip(u, -1.0, 1.0), name=f"limit{i}"))
        into = [(ends[-1], 0), *([(ends[-7], 1)] if i >= 7 else []), (state, len(signs) - 1)]
        for source, place in into:
            b.connect(source.output_ports[0], total.input_ports[place])
        for source, target in ((total, state), (state, gain), (gain, last)):
            b.connect(source.output_ports[0], target.input_ports[0])
        ends.append(last)
        states.append(state)
    d = b.build()
    context = d.create_context()
    options = package.SimulatorOptions(
        ode_solver_method="rk4", max_minor_step_size=STEP, save_time_series=False, max_major_steps=3000
    )
    advance = jax.jit(package.Simulator(d, options=options).advance_to)

    def run(until: float) -> np.ndarray:
        found = jax.block_until_ready(advance(until, context).context)
        return np.array([float(np.asarray(found[s.system_id].continuous_state)) for s in states])

    return run


def bdsim(count: int) -> Callable[[float], np.ndarray]:
    """It has no fixed steps; RK45 with loose tolerances and steps of 1 ms at most comes nearest."""
    import bdsim as package

    with contextlib.redirect_stdout(io.StringIO()):
        whole = package.BDSim(graphics=False, progress=False, sysargs=False, banner=False, quiet=True)
        d = whole.blockdiagram()
        clocks = [d.clock(float(rate), unit="s") for rate in RATES]
        start = d.FUNCTION(lambda t: float(np.sin(t)), nin=1, nout=1, name="start")
        d.connect(d.TIME(), start)
        ends = [start]
        for i in range(count):
            total = d.SUM("++-" if i >= 7 else "+-", name=f"sum{i}")
            state, gain = d.INTEGRATOR(x0=0.0, name=f"state{i}"), d.GAIN(1.5, name=f"gain{i}")
            if is_filter(i):
                last = d.LTI_SISO_S(clocks[i % 3], N=[0.2], D=[1, -0.8], name=f"filter{i}")
            else:
                last = d.CLIP(-1.0, 1.0, name=f"limit{i}")
            d.connect(ends[-1], total[0])
            if i >= 7:
                d.connect(ends[-7], total[1])
            d.connect(state, total[2 if i >= 7 else 1])
            for source, target in ((total, state), (state, gain), (gain, last)):
                d.connect(source, target)
            ends.append(last)
        d.compile(report=False)

    def run(until: float) -> np.ndarray:
        loose = {"rtol": 1.0, "atol": 1.0}
        with contextlib.redirect_stdout(io.StringIO()):
            found = whole.run(d, T=until, max_step=STEP, solver="RK45", solver_args=loose)
        return np.array(found.x[-1][:count])

    return run


PEERS: dict[str, tuple[str, Callable[[int], Callable[[float], np.ndarray]], int]] = {
    "PathSim, RK4": ("pathsim", pathsim, 1000),
    "Drake, RK3": ("drake", drake, 10_000),
    "Jaxonomy, rk4": ("jaxonomy", jaxonomy, 1000),
    "bdsim, RK45, steps of 1 ms": ("bdsim", bdsim, 1000),
}
