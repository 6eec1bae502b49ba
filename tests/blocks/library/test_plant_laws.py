"""Estimators of a plant itself, against estimators of its equations written by hand."""

from pathlib import Path

import numpy as np
import pytest

from blocks import EKF, ODE, UKF, Constant, FirstOrder, Integrator, Mux, Relay, Sine, UnitDelay
from blocks.errors import BlockError
from cosim import Diagram, simulate
from plant import Plant

PENDULUM = Path(__file__).parents[3] / "examples" / "inverted_pendulum" / "inverted_pendulum.xml"
ENGINES = pytest.mark.parametrize("engine", ["reference", "native"])
KINDS = pytest.mark.parametrize("kind", [EKF, UKF])


def falling(t, x, u):
    return [x[1], np.sin(x[0]) - 0.2 * x[1] + u[0]]


def seen(t, x, u):
    return [x[0] + 0.1 * x[0] ** 3]


@ENGINES
@KINDS
def test_of_a_block_it_is_that_of_its_equations(kind, engine):
    plant = ODE(falling, [0.3, 0.0], seen, inputs=1)
    more = {"sample": 0.1, "steps": 2, "P0": 0.1}
    d = Diagram("both")
    d.add("plant", plant)
    d.add("u", Sine(0.5, 2.0))
    d.add("own", kind.of(plant, 1e-3, 1e-2, **more))
    d.add("written", kind(falling, seen, 1e-3, [1e-2], [0.3, 0.0], inputs=1, **more))
    d.connect("u.y -> plant.u, own.u, written.u", "plant.y -> own.y, written.y")
    r = simulate(d, until=3.0, engine=engine, log_every=0.1)
    assert r["own.x"] == pytest.approx(r["written.x"], abs=1e-12)
    assert np.ptp(r["own.x"][:, 0]) > 0.1


@pytest.mark.slow
@ENGINES
@KINDS
def test_of_a_mechanism_it_finds_its_state(kind, engine):
    """From a wrong start; the estimate is of the coordinates and rates of the joints."""
    plant = Plant.read(PENDULUM)
    estimator = kind.of(
        plant, 1e-8, [1e-3] * 4, inputs=["control_force"], outputs=["pendulum", "slider"], sample=0.01,
        initial=[0.05, 0.0, 0.1, 0.0], P0=0.1, steps=2,
    )  # fmt: skip
    d = Diagram("pendulum")
    d.add("plant", plant)
    d.add("push", Constant(1.0))
    d.add("y", Mux(2))
    d.add("state", estimator)
    d.connect("push.y -> plant.control_force, state.u")
    d.connect("plant.pendulum -> y.in1", "plant.slider -> y.in2", "y.out -> state.y")
    d.ground("plant.disturbance_force")
    names = list(d.states)[:4]
    r = simulate(d, until=0.5, engine=engine, log_every=0.01, signals=[*names, "state.x"])
    exact = np.concatenate([r[name] for name in names if name.startswith("plant.")], axis=1)
    assert r["state.x"].shape == exact.shape
    assert np.abs(r["state.x"][1] - exact[1]).max() > 1e-4
    assert r["state.x"][-1] == pytest.approx(exact[-1], abs=2.5e-4)


def steered(t, x, u):
    return [x[1], -x[0] + u[1], u[0] - x[2]]


@KINDS
def test_components_of_ports_can_be_named(kind):
    """y is components 1 and 0 of the output, u is the second input; the first one is 0."""
    plant = ODE(steered, [0.3, 0.0, 0.2], inputs=2)
    more = {"sample": 0.1, "P0": 0.1}
    d = Diagram("both")
    d.add("u", Sine(0.5, 2.0))
    d.add("y", Mux(2))
    d.add("own", kind.of(plant, 1e-3, [1e-2, 3e-2], inputs=["u[1]"], outputs=["y[1]", "y[0]"], **more))
    written = kind(
        lambda t, x, u: [x[1], -x[0] + u[0], -x[2]], lambda t, x, u: [x[1], x[0]],
        1e-3, [1e-2, 3e-2], [0.3, 0.0, 0.2], inputs=1, **more,
    )  # fmt: skip
    d.add("written", written)
    d.add("v", Sine(0.2, 3.0))
    d.connect("v.y -> y.in1", "u.y -> y.in2", "u.y -> own.u, written.u", "y.out -> own.y, written.y")
    r = simulate(d, until=2.0, log_every=0.1)
    assert r["own.x"] == pytest.approx(r["written.x"], abs=1e-12)
    assert np.ptp(r["own.x"][:, 0]) > 0.05
    with pytest.raises(BlockError, match=r"outputs: no component 3 in 'y': it has 3, counted from 0"):
        kind.of(plant, 1e-3, 1e-2, outputs=["y[3]"], **more)
    with pytest.raises(BlockError, match=r"inputs: no 'v\[0\]'; there is 'u'"):
        kind.of(plant, 1e-3, 1e-2, inputs=["v[0]"], **more)


def test_what_has_more_than_continuous_states_is_refused():
    with pytest.raises(BlockError, match="no continuous states"):
        EKF.of(Relay(), 1.0, 1.0, sample=0.1)
    with pytest.raises(BlockError, match="no continuous states"):
        EKF.of(UnitDelay(sample=0.1), 1.0, 1.0, sample=0.1)
    with pytest.raises(BlockError, match="continuous states alone; these depend on"):
        EKF.of(Integrator(low=0.0, high=1.0), 1.0, 1.0, sample=0.1)
    with pytest.raises(BlockError, match="outputs: no 'z'; there is 'y'"):
        UKF.of(FirstOrder(), 1.0, 1.0, outputs=["z"], sample=0.1)
    with pytest.raises(BlockError, match="expected a block with continuous states"):
        EKF.of(falling, 1.0, 1.0, sample=0.1)
