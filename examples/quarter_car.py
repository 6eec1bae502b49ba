"""A quarter car on a wavy road: a passive damper, one hung on the sky, and a damper that can be adjusted.

m_s z_s'' = -k_s (z_s - z_u) - F,  m_u z_u'' = k_s (z_s - z_u) + F - k_t (z_u - z_r). The passive damper gives
F = c (z_s' - z_u'); the skyhook F = c z_s', as if it were fixed to the sky; the adjustable one comes
as near to that as a damper can, whose force opposes its own motion: F = d (z_s' - z_u') with d between 0
and a largest value. On a sine road the first two have transfer functions in closed form; the third lies in
between.

python examples/quarter_car.py
"""

from typing import NamedTuple

import numpy as np

from blocks import Demux, Function, Mux, Sine, StateSpace
from blocks.contract.symbols import Array
from cosim import Diagram, simulate

BODY, WHEEL = 300.0, 40.0  # kg
SPRING, TYRE = 16e3, 160e3  # N/m
DAMPER, MOST = 1500.0, 6000.0  # N s/m
ROAD, OMEGA = 0.02, np.sqrt(SPRING / BODY)  # m, rad/s: the body's resonance
A = np.array(  # of z_s, v_s, z_u, v_u
    [
        [0, 1, 0, 0],
        [-SPRING / BODY, 0, SPRING / BODY, 0],
        [0, 0, 0, 1],
        [SPRING / WHEEL, 0, -(SPRING + TYRE) / WHEEL, 0],
    ]
)
INPUTS = np.array([[0, 0], [0, -1 / BODY], [0, 0], [TYRE / WHEEL, 1 / WHEEL]])  # of z_r, F
DAMPERS = ("passive", "skyhook", "adjustable")


class Heights(NamedTuple):
    """How far the body moves [m], by kind of damper, and closed forms of the first two."""

    found: dict[str, float]
    known: dict[str, float]


def adjustable(body: Array, relative: Array) -> Array:
    """The force nearest to the skyhook's that opposes the relative motion with at most MOST."""
    force = np.sign(relative) * np.minimum(DAMPER * np.abs(body), MOST * np.abs(relative))
    return np.where(body * relative > 0, force, 0.0)


def car(kind: str) -> Diagram:
    """The quarter car with one of the dampers."""
    d = Diagram(kind)
    d.add("road", Sine(amplitude=ROAD, frequency=OMEGA))
    d.add("car", StateSpace(A, INPUTS, np.eye(4)))
    d.add("state", Demux(4))  # z_s, v_s, z_u, v_u
    body, wheel = d["state"]["out2"], d["state"]["out4"]
    relative = body - wheel
    if kind == "passive":
        force = DAMPER * relative
    elif kind == "skyhook":
        force = DAMPER * body
    else:
        d.add("damper", Function(adjustable))
        d.connect(body, d["damper"]["body"])
        d.connect(relative, d["damper"]["relative"])
        force = d["damper"]["y"]
    d.add("both", Mux(2))
    d.connect("car.y -> state.in", "road.y -> both.in1", "both.out -> car.u")
    d.connect(force, d["both"]["in2"])
    return d


def amplitude(kind: str) -> float:
    """|Z_s| at the frequency of the road: (j w - A - B_F c_row)^-1 B_r, first component."""
    row = {"passive": [0, DAMPER, 0, -DAMPER], "skyhook": [0, DAMPER, 0, 0]}[kind]
    closed = A + np.outer(INPUTS[:, 1], row)
    return float(abs(np.linalg.solve(1j * OMEGA * np.eye(4) - closed, INPUTS[:, 0] * ROAD)[0]))


def main(until: float = 30.0) -> Heights:
    """Drive until the motion is periodic, and fit the wave of the road to the last ten seconds of it."""
    found, known = {}, {kind: amplitude(kind) for kind in DAMPERS[:2]}
    for kind in DAMPERS:
        r = simulate(car(kind), until=until, log_every=0.005)
        last = r.time > until - 10.0
        waves = np.exp(1j * OMEGA * r.time[last])
        fit = np.linalg.lstsq(np.stack([waves.real, waves.imag], 1), r["state.out1"][last, 0], rcond=None)[0]
        found[kind] = float(np.hypot(*fit))
        text = f", known answer {1e3 * known[kind]:.4f} mm" if kind in known else ""
        print(f"{kind}: the body moves by {1e3 * found[kind]:.4f} mm{text}")
    return Heights(found, known)


if __name__ == "__main__":
    main()
