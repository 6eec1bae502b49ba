"""Cruise control on a hill: a PI controller with a saturating throttle.

Reference: data/reference/cruise_control.json, integrated piecewise with DOP853 at 1e-13; the steady state was
found by root finding.
"""

import numpy as np
import pytest

from blocks import Constant, Function, Gain, Integrator, Saturation, Sum, TimeTable
from cosim import Diagram, simulate
from tests.helpers.checked import independent
from tests.helpers.plants import reference

KNOWN = reference("cruise_control")
P, START = KNOWN["parameters"], KNOWN["initial_state"]
ALPHA = P["alpha"][P["gear"] - 1]
ROWS = np.array(KNOWN["reference"]["rows"])


PIECEWISE = independent("DOP853 of SciPy at 1e-13, piece by piece")


def acceleration(u, theta, v):
    """v' of the car [m/s^2] from throttle u (0 to 1), slope theta [rad] and speed v [m/s]."""
    torque = P["Tm"] * np.maximum(1 - P["beta"] * (ALPHA * v / P["omega_m"] - 1) ** 2, 0.0)
    drag = P["rho"] * P["Cd"] * P["A"] / 2 * v * np.abs(v)
    weight = P["m"] * P["g"] * (np.sin(theta) + P["Cr"] * np.sign(v))
    return (ALPHA * u * torque - weight - drag) / P["m"]


def cruise() -> Diagram:
    d = Diagram("cruise")
    wanted = d.add("wanted", Constant(P["vref"]))
    hill = d.add("hill", TimeTable([0, 5, 6], [0, 0, np.deg2rad(4)]))
    error, z = d.add("error", Sum("+-")), d.add("z", Integrator(START["z"]))
    kp, ki = d.add("kp", Gain(P["kp"])), d.add("ki", Gain(P["ki"]))
    pi, throttle = d.add("pi", Sum("++")), d.add("throttle", Saturation(0.0, 1.0))
    car, v = d.add("car", Function(acceleration)), d.add("v", Integrator(START["v"]))
    d.connect(wanted["y"], error["in1"])
    d.connect(v["y"], error["in2"])
    d.connect(error["y"], kp["u"])
    d.connect(error["y"], z["u"])
    d.connect(z["y"], ki["u"])
    d.connect(kp["y"], pi["in1"])
    d.connect(ki["y"], pi["in2"])
    d.connect(pi["y"], throttle["u"])
    d.connect(throttle["y"], car["u"])
    d.connect(hill["y"], car["theta"])
    d.connect(v["y"], car["v"])
    d.connect(car["y"], v["u"])
    return d


@pytest.mark.parametrize("settings", [{}, {"solver": "rk4", "step": 0.01}, {"solver": "LSODA", "rtol": 1e-9}])
def test_reference_rows(checked, settings):
    r = simulate(cruise(), until=40.0, log_at=ROWS[:, 0], engine="reference", **settings)
    for column, name, key in ((1, "v.y", "v"), (2, "z.y", "v"), (3, "throttle.y", "u")):
        checked(r[name][:, 0], ROWS[:, column], "cruise control", name, PIECEWISE, atol=KNOWN["accept"][key])


def test_lowest_speed_on_the_hill(checked):
    r = simulate(
        cruise(), until=10.0, log_at=8.3 + 1e-4 * np.arange(1500), signals=["v.y"], engine="reference"
    )
    lowest = int(np.argmin(r["v.y"]))
    checked(
        r["v.y"][lowest, 0],
        KNOWN["minimum_speed"]["v"],
        "cruise control",
        "lowest speed",
        PIECEWISE,
        atol=1e-6,
    )
    assert r.time[lowest] == pytest.approx(KNOWN["minimum_speed"]["t"], abs=2e-4)


def test_steady_throttle_on_the_flat_and_on_the_hill(checked):
    r = simulate(cruise(), until=200.0, log_at=[0.0, 200.0], engine="reference")
    flat, hill = r["throttle.y"][:, 0]
    known, root = KNOWN["equilibrium"], independent("root of the steady equations")
    checked(flat, known["u_flat"], "cruise control", "throttle on the flat", root, atol=1e-9)
    checked(hill, known["u_hill"], "cruise control", "throttle on the hill", root, atol=1e-6)
