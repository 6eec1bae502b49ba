"""What the hold order does: the pendulum balanced at only 20 Hz, the first sample taken at 0.01 s.

Between samples the control force stays (order 0), goes on along a line (1) or along a parabola (2) through
the newest samples. Extrapolating removes delay but also magnifies changes of a signal that is sampled slowly.

    python examples/inverted_pendulum/holds.py [PICTURE.png]
"""

import sys
from pathlib import Path

from matplotlib.figure import Figure

from blocks import Mux, StateFeedback
from cosim import Diagram, Result, simulate
from plant import Plant

MODEL = Path(__file__).with_name("inverted_pendulum.xml")
K = [[62.98932179, 15.32317969, -20.01157546, -11.25238119]]  # N per rad, rad/s, m and m/s, for 20 Hz
SAMPLE, OFFSET = 0.05, 0.01  # s
ORDERS = {0: "order 0: hold", 1: "order 1: line", 2: "order 2: parabola"}
THETA_REFERENCE = {  # rad at 0.5 s: Lagrange's equations in two coordinates, restarted at every sample
    0: -0.051226955940,
    1: -0.050921047965,
    2: -0.052837430344,
}


def balanced(hold_order: int) -> Result:
    """One second of the loop from theta = 0.1 rad with one kind of hold at the control force."""
    d = Diagram(f"hold order {hold_order}")
    p = d.add("plant", Plant.read(MODEL).with_port("control_force", hold_order=hold_order))
    y = d.add("y", Mux(2))  # theta, omega, x, v
    c = d.add("controller", StateFeedback(K, sample=SAMPLE, offset=OFFSET))
    d.connect(p["pendulum"], y["in1"])
    d.connect(p["slider"], y["in2"])
    d.connect(y["out"], c["x"])
    d.connect(c["u"], p["control_force"])
    d.ground(p["disturbance_force"])
    return simulate(d, until=1.0, initial={"plant.hinge.q": -0.1}, log_every=0.001, rtol=1e-10, atol=1e-12)


def draw(results: dict[int, Result], picture: str) -> None:
    """The force the plant sees and the angle, for every order, over the first samples."""
    figure = Figure(figsize=(8.0, 6.0), dpi=120, layout="constrained")
    force, angle = figure.subplots(2, 1, sharex=True)
    for order, r in results.items():
        (line,) = force.plot(r.time, r["plant.control_force"], label=ORDERS[order])
        force.plot(*r.ticks("controller.u"), "o", color=line.get_color(), markersize=4)
        angle.plot(r.time, r["plant.pendulum[0]"], color=line.get_color())
    force.set(ylabel="control force [N]", xlim=(0.0, 0.5), title="The same 20 Hz feedback behind three holds")
    force.legend(frameon=False)
    angle.set(ylabel="angle of the rod [rad]", xlabel="time [s]")
    for axes in (force, angle):
        axes.grid(True, color="#DDDDDD")
    figure.savefig(picture)


def main(picture: str | None = None) -> dict[int, Result]:
    """Run all three, compare the angles at 0.5 s with the known ones."""
    results = {order: balanced(order) for order in ORDERS}
    for order, r in results.items():
        theta = float(r.at(0.5, "plant.pendulum[0]"))
        print(f"{ORDERS[order]:20} theta(0.5 s) = {theta:.9f} rad, known {THETA_REFERENCE[order]:.9f} rad")
    if picture is not None:
        draw(results, picture)
    return results


if __name__ == "__main__":
    main(*sys.argv[1:])
