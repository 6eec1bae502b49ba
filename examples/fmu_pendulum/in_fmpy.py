"""The FMUs of `export_units.py` in FMPy: this script needs nothing else.

    python examples/fmu_pendulum/in_fmpy.py

Plant and controller are stepped in turn, plant first: when the controller's tick comes, at the end of its
step, it sees the angle of that instant, and the force it gives is held until its next one. That is what the
loop as one unit does, and the numbers are the same.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import fmpy
from fmpy.fmi2 import FMU2Slave

STEP = 0.01  # s, so that samples at 0.01 s + k 0.05 s are communication points
THETA_REFERENCE = -0.051226955940  # rad at 0.5 s: Lagrange's equations, restarted at every sample


class Unit:
    """A co-simulation unit with variables by name."""

    def __init__(self, path: Path) -> None:
        description = fmpy.read_model_description(str(path))
        self.refs = {v.name: v.valueReference for v in description.modelVariables}
        self.fmu = FMU2Slave(
            guid=description.guid, unzipDirectory=fmpy.extract(str(path), str(path.with_suffix(""))),
            instanceName=path.stem,
            modelIdentifier=description.coSimulation.modelIdentifier,
        )  # fmt: skip
        self.fmu.instantiate()
        self.fmu.setupExperiment(startTime=0.0)
        self.fmu.enterInitializationMode()

    def get(self, *names: str) -> list[float]:
        return self.fmu.getReal([self.refs[n] for n in names])

    def put(self, names: list[str], values: list[float]) -> None:
        self.fmu.setReal([self.refs[n] for n in names], values)

    def close(self) -> None:
        self.fmu.terminate()
        self.fmu.freeInstance()


def coupled(folder: Path) -> list[float]:
    """theta [rad] of the two units at multiples of 0.01 s."""
    plant, controller = Unit(folder / "plant.fmu"), Unit(folder / "controller.fmu")
    measured = ["pendulum[1]", "pendulum[2]", "slider[1]", "slider[2]"]
    inputs = [f"x[{k}]" for k in range(1, 5)]
    for unit in (plant, controller):
        unit.fmu.exitInitializationMode()
    theta = plant.get("pendulum[1]")
    for k in range(100):
        plant.put(["control_force"], controller.get("u"))
        plant.fmu.doStep(k * STEP, STEP)
        controller.put(inputs, plant.get(*measured))
        controller.fmu.doStep(k * STEP, STEP)
        theta += plant.get("pendulum[1]")
    plant.close()
    controller.close()
    return theta


def main() -> list[float]:
    """Run the pair and the loop, and compare them."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(__file__).with_name("export_units.py")
        subprocess.run([sys.executable, script, folder], check=True, capture_output=True)
        pair = coupled(Path(folder))
        one = fmpy.simulate_fmu(f"{folder}/loop.fmu", stop_time=1.0, output_interval=STEP)["pendulum[1]"]
    print(f"theta at 0.5 s: {pair[50]:.12f} rad as two units, {one[50]:.12f} rad as one,")
    print(
        f"known answer {THETA_REFERENCE:.12f} rad; the two differ by {abs(one - pair).max():.1e} rad at most"
    )
    return pair


if __name__ == "__main__":
    main()
