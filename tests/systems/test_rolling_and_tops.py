"""Rolling without slip, knife edges, heavy tops and gravitating points: plants against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from cosim import simulate
from plant import Plant
from tests.helpers.checked import closed_form, independent, published
from tests.helpers.decks import body, deck, joint, marker

G = 9.81


def condition(id: int, text: str) -> str:
    """A constraint given by an expression."""
    return f'<Constraint_General id="{id}" expr="{text}"/>'


def outputs(*texts: str) -> str:
    """One output port y."""
    ids = [901 + k for k in range(len(texts))]
    values = [
        f'<Reference_Variable id="{id}" type="EXPRESSION" expr="{text}"/>'
        for id, text in zip(ids, texts, strict=True)
    ]
    listed = ",".join(map(str, ids))
    return "".join(values) + f'<Control_PlantOutput id="1" label="y" variable_id_list="{listed}"/>'


def round_body(m: float, inertia: tuple[float, float], at: np.ndarray, axes: np.ndarray, **start) -> str:
    """Body 2 with the moments (across, along) its z-axis; columns of axes: its x, y and z.

    start : v, w (3,) velocities
    """
    across, along = map(float, inertia)
    rows = {f"a{i}{k}": float(axes[i, k]) for i in range(3) for k in range(3)}
    numbers = {
        f"{name}_ic_{x}": float(v) for name, vs in start.items() for x, v in zip("xyz", vs, strict=True)
    }
    text = lambda given: " ".join(f'{key}="{value!r}"' for key, value in given.items())
    return (
        f'<Body_Rigid id="2" label="body" cg_id="20" mass="{m!r}" inertia_xx="{across!r}" '
        f'inertia_yy="{across!r}" inertia_zz="{along!r}" {text(numbers)}/>'
        + marker(20, 2, *map(float, at), axes=text(rows))
    )


def motion(model: str, until: float, coordinates: str, gravity: float = -G, **options):
    """Times (21,) and outputs (21, n)."""
    options = {"rtol": 1e-9, "atol": 1e-11, "log_at": np.linspace(0, until, 21)} | options
    r = simulate(Plant.read(deck(model, gravity=gravity), coordinates=coordinates), until, **options)
    return r.time, r["y"]


BOTH = pytest.mark.parametrize("coordinates", ["joint", "absolute"])


def test_a_ball_on_a_turntable_goes_round_at_two_sevenths(checked):
    """A homogeneous ball that rolls on a table turning at W moves on a circle at 2/7 W."""
    R, W, m, x, y = 0.1, 2.0, 1.3, 0.5, 0.1
    v = np.array([0.2, -0.3])
    ball = body(
        2, m, 0.4 * m * R**2, x, y, R, v_ic_x=0.2, v_ic_y=-0.3,
        w_ic_x=(W * x + 0.3) / R, w_ic_y=(0.2 + W * y) / R,
    )  # fmt: skip
    rolls = condition(2, f"VX(20)-{R}*WY(20)+{W}*DY(20)") + condition(3, f"VY(20)+{R}*WX(20)-{W}*DX(20)")
    model = ball + condition(1, f"DZ(20)-{R}") + rolls + outputs("DX(20)", "DY(20)")
    t, found = motion(model, 3.0, "absolute", engine="reference")
    w = 2 / 7 * W
    s, c = np.sin(w * t), np.cos(w * t)
    exact = np.array([x + (v[0] * s + v[1] * (c - 1)) / w, y + (v[0] * (1 - c) + v[1] * s) / w]).T
    oracle = closed_form("a circle at 2/7 of the table's rate")
    checked(found, exact, "ball on a turntable", "place", oracle, atol=1e-8)


@BOTH
def test_a_sleigh_on_a_knife_edge(checked, coordinates):
    """u' = a w^2, (J + m a^2) w' = -m a u w, u along the edge: it comes to a straight line."""
    m, a, J, heading, u, w = 2.0, 0.3, 0.15, 0.4, 0.7, 2.5
    c, s = np.cos(heading), np.sin(heading)
    axes = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    v = u * axes[:, 0] + a * w * axes[:, 1]
    edge = " ".join(f'a{i}{k}="{float(axes[i, k])!r}"' for i in range(3) for k in range(3))
    model = (
        marker(11, 1) + round_body(m, (1.0, J), a * axes[:, 0], axes, v=v, w=(0.0, 0.0, w))
        + marker(21, 2, axes=edge) + joint(1, "PLANAR", 20, 11) + condition(1, "VY(21,11,21)")
        + outputs("DX(21)", "DY(21)", "WZ(20)")
    )  # fmt: skip
    t, found = motion(model, 5.0, coordinates, engine="reference")

    def by_hand(_, z):
        u, w = z[3:]
        return [u * np.cos(z[2]), u * np.sin(z[2]), w, a * w * w, -m * a * u * w / (J + m * a * a)]

    z = solve_ivp(by_hand, (0, 5), [0, 0, heading, u, w], "DOP853", t, rtol=1e-13, atol=1e-14).y
    oracle = independent("its two equations, DOP853 of SciPy")
    checked(found, z[[0, 1, 4]].T, "Chaplygin's sleigh", "place and rate", oracle, atol=1e-8)


@BOTH
def test_a_disk_rolls_steadily_round_a_circle(checked, coordinates):
    """(C + m R^2) w2 W cos q = A W^2 sin q cos q - m g R sin q, q its lean, W its way round (Routh)."""
    R, m, q, W = 0.4, 3.0, 0.3, 1.7
    C = m * R**2 / 2
    s, c = np.sin(q), np.cos(q)
    w2 = (C / 2 * W**2 * s * c - m * G * R * s) / ((C + m * R**2) * W * c)  # about its axle
    axle, up = np.array([0.0, c, s]), np.array([0.0, -s, c])
    axes = np.array([[1.0, 0.0, 0.0], -up, axle]).T
    disk = round_body(m, (C / 2, C), R * up, axes, v=(R * w2, 0.0, 0.0), w=w2 * axle + W * c * up)
    disk += marker(21, 2, *map(float, R * up + axle))  # 1 m along the axle
    n = [f"D{x}(21,20)" for x in "XYZ"]
    flat = f"SQRT(1-{n[2]}**2)"
    x, y, z = (
        f"({R}*{n[0]}*{n[2]}/{flat})",
        f"({R}*{n[1]}*{n[2]}/{flat})",
        f"(-{R}*{flat})",
    )  # to the ground
    rolls = condition(2, f"VX(20)+WY(20)*{z}-WZ(20)*{y}") + condition(3, f"VY(20)+WZ(20)*{x}-WX(20)*{z}")
    model = disk + condition(1, f"DZ(20)+{z}") + rolls + outputs("DX(20)", "DY(20)", "DZ(20)")
    t, found = motion(model, 2.0, coordinates, engine="reference")
    radius = R * w2 / W
    exact = np.array([radius * np.sin(W * t), R * up[1] + radius * (1 - np.cos(W * t)), R * c + 0 * t]).T
    oracle = closed_form("Routh's condition of steady rolling")
    checked(found, exact, "rolling disk", "place", oracle, atol=1e-8)


@pytest.mark.parametrize(("coordinates", "rate"), [("absolute", 1.3), ("joint", 9.0)])
def test_a_heavy_top_precesses_steadily(checked, coordinates, rate):
    """A p^2 cos q - C w3 p + m g l = 0: slowly and fast, in turn."""
    m, l, A, C, q = 1.2, 0.25, 0.02, 0.03, 0.5
    s, c = np.sin(q), np.cos(q)
    spin = ((A + m * l**2) * rate**2 * c + m * G * l) / (C * rate)
    axes = np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
    w = np.array([0.0, 0.0, rate]) + (spin - rate * c) * axes[:, 2]
    top = round_body(m, (A, C), l * axes[:, 2], axes, v=np.cross(w, l * axes[:, 2]), w=w)
    model = top + marker(21, 2) + marker(11, 1) + joint(1, "SPHERICAL", 21, 11)
    model += outputs("DX(20)", "DY(20)", "DZ(20)")
    t, found = motion(model, 0.4, coordinates, engine="reference")
    exact = l * np.array([s * np.cos(rate * t), s * np.sin(rate * t), c + 0 * t]).T
    oracle = closed_form("roots of A p^2 cos q - C w3 p + m g l")
    checked(found, exact, "heavy top", "place in steady precession", oracle, atol=1e-7)


PLEIADES = {  # x, y and velocities of the masses 1 to 7, and where they are at 3
    "start": [(3, 3, 0, 0), (3, -3, 0, 0), (-1, 2, 0, 0), (-3, 0, 0, -1.25), (2, 0, 0, 1), (-2, -4, 1.75, 0),
              (2, 4, -1.5, 0)],
    "x": [0.3706139143970502, 3.237284092057233, -3.222559032418324, 0.6597091455775310, 0.3425581707156584,
          1.562172101400631, -0.7003092922212495],
    "y": [-3.943437585517392, -3.271380973972550, 5.225081843456543, -2.590612434977470, 1.198213693392275,
          -0.2429682344935824, 1.091449240428980],
}  # fmt: skip


@pytest.mark.slow
def test_the_pleiades(checked):
    """Seven free bodies that pull at each other by expressions, with close encounters."""
    model = ""
    for k, (x, y, vx, vy) in enumerate(PLEIADES["start"]):
        own = 10 * (k + 2)
        pull = "+".join(
            f"{(k + 1) * (j + 1)}*DX({10 * (j + 2)},{own})/DM({10 * (j + 2)},{own})**3"
            for j in range(7)
            if j != k
        )
        model += body(k + 2, k + 1.0, 1.0, float(x), float(y), 0.0, v_ic_x=float(vx), v_ic_y=float(vy))
        model += (
            f'<Force_Vector_OneBody id="{k + 1}" type="FORCEONLY" marker_id="{own}" ref_marker_id="0" '
            f'fx_expression="{pull}" fy_expression="{pull.replace("DX", "DY")}"/>'
        )
    model += outputs(*(f"{d}({10 * (k + 2)})" for d in ("DX", "DY") for k in range(7)))
    _, found = motion(model, 3.0, "joint", gravity=0.0, engine="reference", rtol=1e-10, log_at=[3.0])
    oracle = published("Test Set for IVP Solvers, Pleiades")
    checked(found[-1], PLEIADES["x"] + PLEIADES["y"], "Pleiades", "places at 3", oracle, atol=1e-7)
