"""Reference problems of trees, read from XML and run through the engine."""

from __future__ import annotations

import numpy as np
import pytest

from blocks import Constant, DiscreteStateSpace, Gain, Selector, StateFeedback
from cosim import Diagram, simulate
from plant import Plant
from tests.helpers.checked import closed_form, independent
from tests.helpers.plants import deck, reference

TIGHT = {"solver": "dopri5", "rtol": 1e-11, "atol": 1e-13}


def run(name: str, times, **options):
    d = Diagram(name)
    d.add("plant", Plant.read(deck(f"{name}.xml")))
    return simulate(d, until=float(times[-1]), log_at=times, **{**TIGHT, **options})


def test_simple_pendulum(checked):
    """A01: closed form with elliptic functions, checked against the official file."""
    problem = reference("A01_simple_pendulum")
    rows = np.array(problem["reference"]["rows"])
    r = run("simple_pendulum", rows[:, 0])
    bob, accept, name = r["plant.bob"], problem["accept"], "simple pendulum (IFToMM A01)"
    checked(
        bob[:, :2],
        rows[:, 1:],
        name,
        "position",
        closed_form("elliptic functions"),
        atol=accept["position_m"],
    )
    checked(bob[:, 2], bob[0, 2], name, "energy", closed_form("constant"), atol=accept["energy_J"])


@pytest.mark.parametrize(("name", "case"), [("points", "point_masses"), ("rods", "uniform_rods")])
def test_double_pendulum(checked, name, case):
    problem = reference("double_pendulum")
    rows = np.array(problem["cases"][case]["rows"])
    r = run(f"double_pendulum_{name}", rows[:, 0])
    links = r["plant.links"]
    early = rows[:, 0] <= 2.0
    accept, subject = problem["accept"], f"double pendulum of {case.replace('_', ' ')}"
    other = independent("DOP853 and Radau of SciPy")
    checked(
        links[early, :4],
        rows[early, 1:],
        subject,
        "angles and rates to 2 s",
        other,
        atol=accept["t_le_2_abs"],
    )
    checked(links[:, 4], links[0, 4], subject, "energy", closed_form("constant"), atol=accept["energy"])


def test_free_body_flips(checked):
    """Dzhanibekov: Jacobi elliptic closed form; energy and momentum over 50 s."""
    problem = reference("free_body_dzhanibekov")
    rows = np.array(problem["reference"]["rows"])
    r = run("dzhanibekov", rows[:, 0])
    spin = r["plant.spin"]
    accept, name = problem["accept"], "free body (Dzhanibekov)"
    jacobi, constant = closed_form("Jacobi's elliptic functions"), closed_form("constant")
    checked(spin[:, :3], rows[:, 1:4], name, "angular velocity", jacobi, atol=accept["omega"])
    checked(spin[:, 3], spin[0, 3], name, "energy over 50 s", constant, rtol=accept["energy_rel"])
    momentum = np.linalg.norm(spin[:, :3] * problem["parameters"]["I"], axis=1)
    checked(momentum, momentum[0], name, "angular momentum over 50 s", constant, rtol=accept["L_rel"])


CARTPOLE = reference("cartpole_lqr_100Hz")


def cartpole(controller: str, hold_order: int) -> Diagram:
    """The cart-pole with the state feedback of the reference, or its LQG controller."""
    d = Diagram("cartpole")
    p = d.add("plant", Plant.read(deck("cartpole.xml")).with_port("u", hold_order=hold_order))
    if controller == "lqr":
        c = d.add("controller", StateFeedback(CARTPOLE["lqr"]["K"], sample=0.01))
        p["z"] >> c["x"]
        c["u"] >> p["u"]
        return d
    if controller == "delay":
        c = d.add("controller", StateFeedback(CARTPOLE["lqr"]["K"], sample=0.01))
        one = d.add("one", DiscreteStateSpace([[0.0]], [[1.0]], [[1.0]], [[0.0]], sample=0.01))
        p["z"] >> c["x"]
        c["u"] >> one["u"]
        one["y"] >> p["u"]
        return d
    if controller == "none":
        d.ground("plant.u")
        return d
    if controller == "pd":
        k = [0.0, -CARTPOLE["pd"]["kp"], 0.0, -CARTPOLE["pd"]["kd"]]
        c = d.add("controller", StateFeedback(k, sample=0.01))
        p["z"] >> c["x"]
        c["u"] >> p["u"]
        return d
    linear, gain = CARTPOLE["linear"], np.array([CARTPOLE["lqr"]["K"]])
    a, b = np.array(linear["Ad"]), np.array(linear["Bd"])[:, None]
    c_matrix, observer = np.eye(4)[[1, 3]], np.array(CARTPOLE["lqg"]["L"])
    s = d.add("measured", Selector([1, 3]))
    predictor = DiscreteStateSpace(
        a - b @ gain - observer @ c_matrix, observer, -gain, np.zeros((1, 2)), sample=0.01
    )
    e = d.add("controller", predictor)
    p["z"] >> s["in"]
    s["out"] >> e["u"]
    e["y"] >> p["u"]
    return d


REFERENCES = {
    "lqr_zoh": ("lqr", 0, "lqr"),
    "lqr_zoh_one_sample_delay": ("delay", 0, "lqr"),
    "lqr_foh_extrapolation": ("lqr", 1, "lqr"),
    "pd_theta_omega_zoh_unstable": ("pd", 0, "pd"),
    "pd_theta_omega_foh_unstable": ("pd", 1, "pd"),
    "lqg_theta_omega_zoh": ("lqg", 0, "lqg"),
    "uncontrolled_theta0_0p05": ("none", 0, "lqg"),
}


@pytest.mark.parametrize("name", list(CARTPOLE["reference"]))
def test_cartpole_with_sampled_control(checked, name):
    controller, order, start = REFERENCES[name]
    table = CARTPOLE["reference"][name]
    rows = np.array(table["rows"])
    begin = CARTPOLE["initial_state"]["lqr"] if start == "lqr" else CARTPOLE[start]["initial"]
    d = cartpole(controller, order)
    r = simulate(
        d, until=float(rows[-1, 0]), log_at=rows[:, 0], **TIGHT,
        initial={"plant.hinge.q": begin[1], "plant.slider.q": begin[0]},
    )  # fmt: skip
    error = np.abs(r["plant.z"] - rows[:, 1:5])
    other = independent("equations of motion by hand, DOP853 restarted at every sample")
    checked(
        error,
        np.zeros_like(error),
        f"cart-pole, {name.replace('_', ' ')}",
        "states",
        other,
        atol=CARTPOLE["accept"]["state_abs"],
    )


def test_gain_between_sampled_blocks_keeps_the_rate():
    """A port behind a Gain of a sampled signal extrapolates at that signal's rate."""
    d = Diagram("gain")
    p = d.add("plant", Plant.read(deck("cartpole.xml")).with_port("u", hold_order=1))
    c = d.add("controller", StateFeedback(CARTPOLE["lqr"]["K"], sample=0.01))
    g = d.add("gain", Gain(2.0))
    p["z"] >> c["x"]
    c["u"] >> g["u"]
    g["y"] >> p["u"]
    assert d.system().port_rates["plant.u"].startswith("100 Hz, first-order extrapolation")
    d = Diagram("constant")
    p = d.add("plant", Plant.read(deck("cartpole.xml")))
    d.add("zero", Constant(0.0))["y"] >> p["u"]
    assert d.system().port_rates["plant.u"].startswith("continuous")
