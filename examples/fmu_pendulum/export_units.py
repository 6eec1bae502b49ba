"""The inverted pendulum as FMUs: the plant, its controller, and the loop of both.

    python examples/fmu_pendulum/export_units.py [FOLDER]

Each runs in any FMI 2.0 tool, without Python; `in_fmpy.py` puts plant and controller together there.
"""

import argparse
import tempfile
from pathlib import Path

from blocks import Mux, StateFeedback
from cosim import Diagram, export_fmu, simulate
from plant import Plant

MODEL = Path(__file__).parents[1] / "inverted_pendulum" / "inverted_pendulum.xml"
K = [[62.98932179, 15.32317969, -20.01157546, -11.25238119]]  # N per rad, rad/s, m and m/s, for 20 Hz
SAMPLE, OFFSET = 0.05, 0.01  # s
START = {"plant.hinge.q": -0.1}  # rad
THETA_REFERENCE = -0.051226955940  # rad at 0.5 s: Lagrange's equations, restarted at every sample


def loop() -> Diagram:
    """The plant with its sampled feedback; the force is held between samples."""
    d = Diagram("loop")
    p = d.add("plant", Plant.read(MODEL).with_port("control_force", hold_order=0))
    y = d.add("y", Mux(2))  # theta, omega, x, v
    c = d.add("controller", StateFeedback(K, sample=SAMPLE, offset=OFFSET))
    d.connect(p["pendulum"], y["in1"])
    d.connect(p["slider"], y["in2"])
    d.connect(y["out"], c["x"])
    d.connect(c["u"], p["control_force"])
    d.connect(d.inport("push"), p["disturbance_force"])
    d.outport("pendulum", p["pendulum"])
    d.outport("force", c["u"])
    return d


def write(folder: Path) -> list[Path]:
    """Write plant.fmu, controller.fmu and loop.fmu."""
    plant, how = Plant.read(MODEL), {"version": "2.0", "solver": "rk4", "step": 1e-3}
    controller = StateFeedback(K, sample=SAMPLE, offset=OFFSET)
    return [
        export_fmu(plant, folder / "plant.fmu", initial={"hinge.q": -0.1}, **how),
        export_fmu(controller, folder / "controller.fmu", version="2.0"),
        export_fmu(loop(), folder / "loop.fmu", initial=START, stop=1.0, **how),
    ]


def main() -> list[str]:
    """Write them to a folder that goes again, and run the loop here; the names of the files."""
    with tempfile.TemporaryDirectory() as folder:
        written = {path.name: path.stat().st_size for path in write(Path(folder))}
    print(", ".join(f"{name}: {size / 1024:.0f} kB" for name, size in written.items()))
    r = simulate(loop(), until=0.5, initial=START, solver="rk4", step=1e-3, log_every=0.01)
    theta = float(r.at(0.5, "plant.pendulum[0]"))
    print(f"theta at 0.5 s: {theta:.12f} rad here, known answer {THETA_REFERENCE:.12f} rad")
    return list(written)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, help="where to write the FMUs")
    chosen = parser.parse_args().folder
    main() if chosen is None else write(chosen)
