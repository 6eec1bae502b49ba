"""Snapshot and restore of a diagram with a thousand states: time and size.

    python -m benchmarks.snapshot [--smoke]

Pairs of integrators that swing at frequencies of their own; in the second diagram every pair is followed by
two sampled lags, so that half of the states are discrete. Bytes are those of the pickled snapshot, which is
what another process is sent; the parameters in it, which a run may change, are counted apart. The difference
is that between two runs on from one snapshot, of which the second starts in another simulation from the
pickled bytes: every bit should be the same.
"""

from __future__ import annotations

import pickle

import numpy as np

from benchmarks.support.table import Row, heading, in_turn, repeated, show, smoke
from blocks import DiscreteStateSpace, Gain, Integrator
from blocks.contract.memories import DiscreteState
from cosim import Diagram, Simulation


def swings(pairs: int, lags: int) -> Diagram:
    """x'' = -w^2 x, pair by pair, each followed by so many sampled lags in a row."""
    d = Diagram(f"{pairs} swings")
    for k in range(pairs):
        speed, place = d.add(f"speed{k}", Integrator(0.0)), d.add(f"place{k}", Integrator(1.0))
        pull = d.add(f"pull{k}", Gain(-1.0 - k / pairs))
        speed["y"] >> place["u"]
        place["y"] >> pull["u"]
        pull["y"] >> speed["u"]
        last = place
        for i in range(lags):
            lag = d.add(f"lag{k}_{i}", DiscreteStateSpace(0.8, 0.2, 1.0, sample="0.01"))
            last["y"] >> lag["u"]
            last = lag
    return d


def states(simulation: Simulation) -> np.ndarray:
    """Every state, continuous and discrete."""
    kept = simulation.snapshot()
    places = [s.index for s in simulation.system.held_of(DiscreteState).values()]
    return np.concatenate([kept.x, *(kept.h[p] for p in places)])


def measure(name: str, d: Diagram, engine: str, short: bool) -> Row:
    """A line of the table."""

    def fresh() -> Simulation:
        return Simulation(d, solver="rk4", step=1e-3, engine=engine, signals=["place0.y"])

    simulation = fresh()
    simulation.advance(0.0123)
    kept = simulation.snapshot()
    sent = pickle.dumps(kept)
    ends = []
    for going_on, start in ((simulation, kept), (fresh(), pickle.loads(sent))):
        going_on.restore(start)
        going_on.advance(0.05)
        ends.append(states(going_on))
    simulation.restore(kept)
    call, often = repeated(lambda: simulation.restore(simulation.snapshot()))
    took = 1e3 * in_turn({"both": call}, 2 if short else 30)["both"] / often
    state, parameters = ends[0].nbytes, kept.p.nbytes
    sizes = (
        f"{state}",
        f"{len(sent) - parameters}",
        f"{(len(sent) - parameters) / state:.2f}",
        f"{parameters}",
    )
    return Row(f"{name}, {engine}", (f"{took:.4f}", *sizes), float(np.abs(ends[0] - ends[1]).max()))


def main(short: bool = False) -> None:
    """Print the table."""
    heading("snapshot and restore, 1000 states")
    many = 20 if short else 500
    diagrams = {f"{2 * many} continuous": swings(many, 0), f"{many} + {many} discrete": swings(many // 2, 2)}
    rows = [measure(n, d, e, short) for n, d in diagrams.items() for e in ("native", "reference")]
    show(("", "ms", "state bytes", "bytes", "x state", "parameters", "difference"), rows)


if __name__ == "__main__":
    main(smoke())
