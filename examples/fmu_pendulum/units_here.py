"""The plant as an FMU with its controller here, and the controller as an FMU with the plant here.

    python examples/fmu_pendulum/units_here.py

For model exchange the states of the FMU join those of the diagram and its ticks are ticks: nothing is lost.
For co-simulation the plant steps by itself with the force held in between, as it is held anyway.
"""

import tempfile
from pathlib import Path

import numpy as np

from blocks import Mux, StateFeedback
from blocks.contract.block import Block
from cosim import FMU, Diagram, Result, export_fmu, simulate
from plant import Plant

MODEL = Path(__file__).parents[1] / "inverted_pendulum" / "inverted_pendulum.xml"
K = [[62.98932179, 15.32317969, -20.01157546, -11.25238119]]  # N per rad, rad/s, m and m/s, for 20 Hz
CONTROLLER = StateFeedback(K, sample=0.05, offset=0.01)  # u = -K y
HINGE = -0.1  # rad at the start
THETA_REFERENCE = -0.051226955940  # rad at 0.5 s: Lagrange's equations, restarted at every sample


def loop(plant: Block, controller: Block, initial: dict[str, float]) -> Result:
    """Half a second of the loop."""
    d = Diagram("loop")
    p, y, c = d.add("plant", plant), d.add("y", Mux(2)), d.add("controller", controller)
    d.connect(p["pendulum"], y["in1"])
    d.connect(p["slider"], y["in2"])
    d.connect(y["out"], c["x"])
    d.connect(c["u"], p["control_force"])
    d.ground(p["disturbance_force"])
    return simulate(d, until=0.5, initial=initial, log_every=0.01, rtol=1e-10, atol=1e-12)


def main() -> dict[str, float]:
    """theta [rad] at 0.5 s, as one and in parts."""
    plant, start = Plant.read(MODEL), {"plant.hinge.q": HINGE}
    held = plant.with_port("control_force", hold_order=0)
    runs = {"all here": loop(held, CONTROLLER, start)}
    with tempfile.TemporaryDirectory() as folder:
        body = export_fmu(
            plant, Path(folder) / "plant.fmu", initial={"hinge.q": HINGE}, solver="rk4", step=1e-3
        )
        brain = export_fmu(CONTROLLER, Path(folder) / "controller.fmu")
        runs["plant as FMU, model exchange"] = loop(FMU(body, kind="me"), CONTROLLER, {})
        runs["plant as FMU, co-simulation"] = loop(FMU(body, kind="cs", sample="1/100"), CONTROLLER, {})
        runs["controller as FMU"] = loop(held, FMU(brain, kind="me"), start)
    theta = {name: float(r.at(0.5, "plant.pendulum")[0]) for name, r in runs.items()}
    for name, value in theta.items():
        print(f"{name:28}: theta at 0.5 s = {value:.12f} rad")
    print(f"{'known answer':28}: theta at 0.5 s = {THETA_REFERENCE:.12f} rad")
    assert np.allclose(list(theta.values()), THETA_REFERENCE, atol=1e-9)
    return theta


if __name__ == "__main__":
    main()
