"""A steering gear whose ratio depends on the angle of the wheel, and the torque it makes.

Source: reference page of Reference_Variable, example 5.

    python examples/reference_variable/steering.py [PICTURE.png]
"""

import sys
from pathlib import Path

from matplotlib.figure import Figure

from cosim import Diagram, Result, simulate
from plant import Plant

MODEL = Path(__file__).with_name("steering.xml")
ANGLE, RATIO, RATE = 0, 1, 2  # numbers of the output "steering": degrees, -, rad/s
MIDDLE = 1250.0  # at 125 degrees, half way up the STEP
TORQUE, INERTIA = 1e-3, 2.0  # N m of the driver, kg m^2 of the road wheel
RATE_KNOWN = TORQUE / INERTIA * (1000 * 1.0 + MIDDLE * 0.5 + 1500 * 0.5)  # rad/s at 2 s


def draw(r: Result, picture: str) -> None:
    """The ratio over the angle, as on the reference page, and what it does to the road wheel."""
    figure = Figure(figsize=(9.0, 3.8), dpi=120, layout="constrained")
    gear, wheel = figure.subplots(1, 2)
    angle, ratio, rate = r["plant.steering"].T
    gear.plot(angle, ratio, color="#0072B2")
    gear.set(xlabel="angle of the steering wheel [deg]", ylabel="steering gear ratio", xlim=(0.0, angle[-1]))
    wheel.plot(r.time, rate, color="#D55E00")
    wheel.set(xlabel="time [s]", ylabel="rate of the road wheel [rad/s]", xlim=(0.0, r.time[-1]))
    for axes in (gear, wheel):
        axes.grid(True, color="#DDDDDD")
    figure.savefig(picture)


def main(picture: str | None = None) -> Result:
    """Turn the wheel for 2 s; compare the ratio half way and the rate at the end with the known ones."""
    plant = Plant.read(MODEL)
    d = Diagram("steering")
    d.add("plant", plant)
    r = simulate(d, until=2.0, log_every=0.01)

    middle, rate = r.at(1.25, "plant.steering"), r["plant.steering"][-1, RATE]
    print(f"ratio at {middle[ANGLE]:.6f} degrees: {middle[RATIO]:.6f}, known answer {MIDDLE:.6f}")
    print(f"rate of the road wheel at 2 s: {rate:.9f} rad/s, known answer {RATE_KNOWN:.9f} rad/s")
    if picture is not None:
        draw(r, picture)
    return r


if __name__ == "__main__":
    main(*sys.argv[1:])
