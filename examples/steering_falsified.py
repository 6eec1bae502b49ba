"""Is the scheduled car back in its lane from any heading and at any speed? A search for where it is worst.

The gains of `scheduled_steering.py` are exact at three speeds and interpolated between them. A requirement
says how far from the lane the car may be after 3 s; CMA-ES looks for the speed and the heading that come
nearest to breaking it. The linear model answers the same by brute force: x' = (A - B K) x on a fine grid, by
the matrix exponential.

    python examples/steering_falsified.py
"""

import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scheduled_steering import BASE, LAW, REAR, SPEEDS, START, Car
from scipy.linalg import expm

from blocks import Constant, Mux
from cosim import Diagram, Study

HEADING = 0.002  # rad, at the start, to both sides
LIMIT, AFTER, UNTIL, EVERY = 0.008, 3.0, 6.0, 0.05  # m, s
STUDY = {
    "until": UNTIL,
    "sampling": {
        "method": "corners",
        "parameters": {
            "v.value": {"low": SPEEDS[0], "high": SPEEDS[-1]},
            "car.theta": {"low": -HEADING, "high": HEADING},
        },
    },
    "requirements": [{"name": "back in the lane", "always": f"abs(car.y) < {LIMIT}", "after": AFTER}],
    "store": {"keep": "summary", "every": EVERY},
}


class Worst(NamedTuple):
    """Where a search and a fine grid find the car worst: least margin [m], speed [m/s], heading [rad]."""

    margin: float
    speed: float
    heading: float
    grid_margin: float
    grid_speed: float
    grid_heading: float


def lane() -> Diagram:
    """The car, and gains that follow its speed."""
    d = Diagram("lane")
    d.add("v", Constant(SPEEDS[-1]))
    d.add("car", Car())
    d.add("x", Mux(2))
    d.add("law", LAW)
    d.connect("v.y -> car.v", "v.y -> law.p", "car.y -> x.in1", "car.theta -> x.in2")
    d.connect("x.out -> law.x", "law.u -> car.delta")
    return d


def brute_force(speeds: int = 201) -> tuple[float, float, float]:
    """Least margin of the linear model on a grid; y is linear in the heading, so its ends are enough."""
    first, last = round(AFTER / EVERY), round(UNTIL / EVERY)
    found = []
    for v in np.linspace(SPEEDS[0], SPEEDS[-1], speeds):
        gain = np.array([np.interp(v, SPEEDS, np.array(LAW.K)[:, 0, k]) for k in range(2)])
        closed = np.array([[0.0, v], [0.0, 0.0]]) - np.outer([v * REAR / BASE, v / BASE], gain)
        step = expm(closed * EVERY)
        x = np.linalg.matrix_power(step, first) @ [[START, START], [-HEADING, HEADING]]
        largest = np.abs(x[0])
        for _ in range(first, last):
            x = step @ x
            largest = np.maximum(largest, np.abs(x[0]))
        for y, heading in zip(largest, (-HEADING, HEADING), strict=True):
            found.append((LIMIT - float(y), float(v), heading))
    return min(found)


def main() -> Worst:
    """Search, and compare with the grid."""
    with tempfile.TemporaryDirectory() as place:
        found = Study(lane(), **STUDY).falsify(Path(place) / "falsified", runs=160, seed=2)
    best = found.best
    margin = float(best["back in the lane.robustness"])
    worst = Worst(margin, float(best["v.value"]), float(best["car.theta"]), *brute_force())
    for name, speed, heading, margin in (
        ("searched", worst.speed, worst.heading, worst.margin),
        ("known answer, by brute force", worst.grid_speed, worst.grid_heading, worst.grid_margin),
    ):
        print(f"{name}: margin {1e3 * margin:.4f} mm at {speed:.3f} m/s, heading {1e3 * heading:.3f} mrad")
    return worst


if __name__ == "__main__":
    main()
