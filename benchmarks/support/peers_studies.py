"""Many runs of the cart-pole as other libraries do them, to stand beside a study.

Every function takes starts (runs, 4) and masses of the pole (runs,) and returns the angles [rad] after 1 s,
(runs,); an entry of `PEERS` is the packages it needs, how many runs are enough to time it, and the function.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.cartpole_model import GAIN, closed_loop
from benchmarks.support.peers_cartpole import SAMPLE, STEP, drake, slope
from cosim import simulate

Many = Callable[[np.ndarray, np.ndarray], np.ndarray]
WORKERS = 2


def one_simulation(start: np.ndarray, mass: float) -> float:
    """Our own `simulate`, called for one run as anybody would."""
    r = simulate(
        closed_loop(SAMPLE),
        1.0,
        parameters={"plant.m": mass},
        initial={"plant.x": start},
        log_at=[1.0],
        signals=["plant.state"],
        solver="rk4",
        step=STEP,
        engine="native",
    )
    return float(r["plant.state"][-1, 1])


def dask_bag(starts: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """A plain bag around `simulate`, in threads of this process."""
    import dask.bag

    bag = dask.bag.from_sequence(zip(starts, masses, strict=True), npartitions=8 * WORKERS)
    return np.array(bag.starmap(one_simulation).compute(scheduler="threads", num_workers=WORKERS))


def one_pathsim(start: np.ndarray, mass: float) -> float:
    """PathSim's cart-pole from a start of its own."""
    from pathsim import Connection, Simulation
    from pathsim.blocks import ODE, Function, SampleHold
    from pathsim.solvers import RK4

    k0, k1, k2, k3 = GAIN
    plant = ODE(lambda x, u, t: np.array(slope(x.tolist(), float(u[0]), mass)), start)
    control = Function(lambda s, theta, v, omega: -(k0 * s + k1 * theta + k2 * v + k3 * omega))
    hold = SampleHold(T=SAMPLE, tau=0.0)
    wires = [Connection(plant[i], control[i]) for i in range(4)]
    wires += [Connection(control[0], hold[0]), Connection(hold[0], plant[0])]
    Simulation([plant, control, hold], wires, dt=STEP, Solver=RK4, log=False).run(1.0, adaptive=False)
    return float(plant.engine.state[1])


def joblib_pathsim(starts: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """joblib's processes, each with PathSim."""
    from joblib import Parallel, delayed

    found = Parallel(n_jobs=WORKERS)(
        delayed(one_pathsim)(start, mass) for start, mass in zip(starts, masses, strict=True)
    )
    return np.array(found)


def drake_in_turn(starts: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """Drake's simulator of one diagram again and again; all runs begin alike, so that nan comes out."""
    run = drake("runge_kutta3", False)
    for _ in starts:
        run(1.0)
    return np.full(len(starts), np.nan)


PEERS: dict[str, tuple[tuple[str, ...], int, Many]] = {
    "plain Dask bag around simulate": (("dask",), 200, dask_bag),
    "joblib with PathSim, RK4 1 ms": (("joblib", "pathsim"), 8, joblib_pathsim),
    "Drake, RK3 1 ms, one by one": (("drake",), 20, drake_in_turn),
}
