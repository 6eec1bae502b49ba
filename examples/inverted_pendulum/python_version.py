"""The loop of scenario.toml wired in Python: release the rod at 0.1 rad, balance it with a sampled feedback.

python examples/inverted_pendulum/python_version.py [PICTURE.png]
"""

import sys
from pathlib import Path

from blocks import Mux, StateFeedback
from cosim import Diagram, Result, simulate
from plant import Plant

MODEL = Path(__file__).with_name("inverted_pendulum.xml")
K = [[76.42764284, 18.41168527, -23.1954329, -13.96660046]]  # N per rad, rad/s, m and m/s; see design.py
THETA_REFERENCE = -0.0480505306587  # rad at 0.5 s: Lagrange's equations in two coordinates, rtol 1e-12


def main(picture: str | None = None) -> Result:
    """Run the loop for 10 s and compare the angle at 0.5 s with the known one."""
    d = Diagram("inverted_pendulum")
    p = d.add("plant", Plant.read(MODEL))
    y = d.add("y", Mux(2))  # theta, omega, x, v
    c = d.add("controller", StateFeedback(K, sample=0.01))  # u = -K y at 100 Hz, held in between
    d.connect(p["pendulum"], y["in1"])
    d.connect(p["slider"], y["in2"])
    d.connect(y["out"], c["x"])
    d.connect(c["u"], p["control_force"])
    d.ground(p["disturbance_force"])
    r = simulate(d, until=10.0, initial={"plant.hinge.q": -0.1}, log_every=0.01)  # theta = 0.1 rad

    theta = float(r.at(0.5, "plant.pendulum[0]"))
    print(f"theta at 0.5 s: {theta:.12f} rad, known answer {THETA_REFERENCE:.12f} rad")
    if picture is not None:
        r.plot("plant.pendulum[0]", "plant.slider[0]", "controller.u", path=picture)
    return r


if __name__ == "__main__":
    main(*sys.argv[1:])
