"""Two masses coupled by a spring: solved as one system, and co-simulated over macro steps.

Reference: data/reference/cosim_two_mass.json, matrix exponentials. Of its schemes the scheduler makes the
Jacobi ones, in which all that crosses over is held from the last common instant. The Gauss-Seidel ones hand
one subsystem values of the other's *future*, which no port of a system with one time can do: there a master
advances two simulations in turn.
"""

import numpy as np
import pytest

from blocks import Hold, Mux, Selector, StateSpace
from cosim import Diagram, Simulation, simulate
from tests.helpers.checked import closed_form
from tests.helpers.made import Made
from tests.helpers.plants import reference

KNOWN = reference("cosim_two_mass")
P, START = KNOWN["parameters"], KNOWN["initial_state"]

TWO, EXPONENTIAL = "two coupled masses", closed_form("matrix exponentials")

FIRST = StateSpace(  # m1 x1'' = -k1 x1 - c1 v1 + f
    [[0, 1], [-P["k1"] / P["m1"], -P["c1"] / P["m1"]]],
    [[0], [1 / P["m1"]]],
    np.eye(2),
    initial=[START["x1"], START["v1"]],
)
SECOND = StateSpace(  # m2 x2'' = -k2 x2 - c2 v2 - f, f = kc (x2 - x1) + cc (v2 - v1); outputs x2, v2, f
    [[0, 1], [-(P["k2"] + P["kc"]) / P["m2"], -(P["c2"] + P["cc"]) / P["m2"]]],
    [[0, 0], [P["kc"] / P["m2"], P["cc"] / P["m2"]]],
    [[1, 0], [0, 1], [P["kc"], P["cc"]]],
    [[0, 0], [0, 0], [-P["kc"], -P["cc"]]],
    initial=[START["x2"], START["v2"]],
)


def two_mass(order: int | None = None, H: float = 0.02) -> Diagram:
    d = Diagram("two masses")
    first, second, f = d.add("first", FIRST), d.add("second", SECOND), d.add("f", Selector([2]))
    d.connect(second["y"], f["in"])
    to_first, to_second = f["out"], first["y"]
    if order is not None:
        force = d.add("force", Hold(order, sample=H))
        motion = d.add("motion", Hold(order, sample=H))
        d.connect(to_first, force["u"])
        d.connect(to_second, motion["u"])
        to_first, to_second = force["y"], motion["y"]
    d.connect(to_first, first["u"])
    d.connect(to_second, second["u"])
    both = d.add("both", Mux(2))
    d.connect(first["y"], both["in1"])
    d.connect(second["y"], both["in2"])
    return d


def states(r):
    """x1, x2, v1, v2 of the reference tables."""
    return r["both.out"][:, [0, 2, 1, 3]]


@pytest.mark.slow
def test_as_one_system(checked):
    rows = np.array(KNOWN["exact"]["rows"])
    r = simulate(two_mass(), until=10.0, rtol=1e-11, atol=1e-13, log_at=rows[:, 0], engine="reference")
    checked(states(r), rows[:, 1:], TWO, "states of the whole", EXPONENTIAL, atol=KNOWN["accept"]["exact"])


@pytest.mark.parametrize("scheme", ["jacobi_zoh", "jacobi_linear"])
@pytest.mark.parametrize("H", [0.02, 0.01, 0.001])
def test_macro_steps(checked, scheme, H):
    rows = np.array(KNOWN["cosim"][f"{scheme}_H{H:g}"])
    d = two_mass(order=0 if scheme == "jacobi_zoh" else 1, H=H)
    settings = {"solver": "rk4", "step": 1e-3} if H == 0.001 else {"rtol": 1e-11, "atol": 1e-13}
    if H == 0.001:  # rk4 over a macro step of 1 ms is exact to 1e-13, and one row is enough
        rows = rows[:1]
    r = simulate(
        d, until=rows[-1, 0], log_at=rows[:, 0], signals=["both.out"], engine="reference", **settings
    )
    checked(
        states(r),
        rows[:, 1:],
        TWO,
        f"{scheme}, H = {H:g} s",
        EXPONENTIAL,
        atol=KNOWN["accept"]["scheme_values"],
    )


@pytest.mark.parametrize(("order", "scheme"), [(0, "jacobi_zoh"), (1, "jacobi_linear")])
def test_order_of_the_coupling_error(checked, order, scheme):
    exact = np.array(KNOWN["exact"]["rows"])[2, 1:]  # t = 1 s
    errors = []
    for H in (0.005, 0.0025):
        r = simulate(two_mass(order, H), until=1.0, log_at=[1.0], engine="reference", rtol=1e-9)
        errors.append(np.linalg.norm(states(r)[0] - exact))
    known = KNOWN["observed_order_at_t1"][scheme]
    checked(np.log2(errors[0] / errors[1]), known, TWO, f"{scheme}, order", EXPONENTIAL, atol=0.1)


def ramped(model: StateSpace, size: int) -> Simulation:
    """A subsystem alone whose input runs along a straight line: inputs `value`, `slope` and `since` [s]."""
    d = Diagram("subsystem")

    def line(b):
        value, slope, since = b.input("value", size), b.input("slope", size), b.input("since", 1)
        b.output("u", value + slope * (b.time - since[0]))

    ramp, system = d.add("line", Made(line)), d.add("system", model)
    d.connect(ramp["u"], system["u"])
    for name, width in (("value", size), ("slope", size), ("since", 1)):
        d.connect(d.inport(f"{name}_", width), ramp[name])
    return Simulation(d, engine="reference", rtol=1e-11, atol=1e-13)


def moved(sim: Simulation, until: float, value: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """Output y after a macro step with this input."""
    for name, numbers in (("value_", value), ("slope_", slope), ("since_", [sim.time])):
        sim.set_input(name, numbers)
    sim.advance(until)
    return sim.value("system.y")


def gauss_seidel(order: int, H: float, until: float) -> np.ndarray:
    """x1, x2, v1, v2 at the end: first, with the force known so far, then second, with where first went."""
    first, second = ramped(FIRST, 1), ramped(SECOND, 2)
    motion, state = np.array([START["x1"], START["v1"]]), np.array([START["x2"], START["v2"]])
    coupling = np.array([P["kc"], P["cc"]])
    forces: list[np.ndarray] = []
    for n in range(1, round(until / H) + 1):
        forces = [*forces, coupling @ (state - motion)[:, None]][-2:]
        slope = (forces[-1] - forces[0]) / H if order else np.zeros(1)
        new = moved(first, n * H, forces[-1], slope)
        start, rise = (motion, (new - motion) / H) if order else (new, np.zeros(2))
        state, motion = moved(second, n * H, start, rise)[:2], new
    return np.array([motion[0], state[0], motion[1], state[1]])


@pytest.mark.parametrize(("order", "scheme"), [(0, "gauss_seidel_zoh"), (1, "gauss_seidel_linear")])
@pytest.mark.parametrize("H", [0.02, 0.01, 0.001])
def test_macro_steps_in_turn(checked, order, scheme, H):
    t, *known = KNOWN["cosim"][f"{scheme}_H{H:g}"][0]
    limit = KNOWN["accept"]["scheme_values"]
    checked(gauss_seidel(order, H, t), known, TWO, f"{scheme}, H = {H:g} s", EXPONENTIAL, atol=limit)


@pytest.mark.slow
@pytest.mark.parametrize(("order", "scheme"), [(0, "gauss_seidel_zoh"), (1, "gauss_seidel_linear")])
def test_order_of_the_coupling_error_in_turn(order, scheme):
    exact = np.array(KNOWN["exact"]["rows"])[2, 1:]  # t = 1 s
    errors = [np.linalg.norm(gauss_seidel(order, H, 1.0) - exact) for H in (0.005, 0.0025)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(KNOWN["observed_order_at_t1"][scheme], abs=0.1)
