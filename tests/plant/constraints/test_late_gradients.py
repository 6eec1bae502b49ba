"""Constraints whose gradients lack a coordinate where they start: a ramp further on, an angle of TIME.

The conditions act along the whole gradient, whichever part of it is zero near the start or at TIME 0.
"""

from __future__ import annotations

import numpy as np
import pytest

from cosim import Diagram, simulate
from plant import Plant

G, V0, H = 9.81, 4.0, 0.5
RAMP = f"STEP(DX(20), 1, 0, 2, {H})"
SPLINE = """<Reference_Spline id="1" num_xy_pair="10">
    -1 0  0 0  0.9 0  1 0  1.5 0.25  2 0.5  2.1 0.5  2.2 0.5  3 0.5  9 0.5</Reference_Spline>"""


def run(elements: str, times, coordinates: str, engine: str = "reference", start: str = f'v_ic_x="{V0}"'):
    """VX, VY, DX, DY of a mass point at the times."""
    deck = f"""<M><Model><Force_Gravity grav_y="-{G}"/><Body_Rigid id="1" isground="TRUE"/>
    <Reference_Marker id="10" body_id="1"/>
    <Body_Rigid id="2" cg_id="20" mass="2" inertia_xx="1" inertia_yy="1" inertia_zz="1" {start}/>
    <Reference_Marker id="20" body_id="2"/>{elements}
    <Reference_Variable id="1" expr="VX(20)"/><Reference_Variable id="2" expr="VY(20)"/>
    <Reference_Variable id="3" expr="DX(20)"/><Reference_Variable id="4" expr="DY(20)"/>
    <Control_PlantOutput id="1" label="y" variable_id_list="1 2 3 4"/></Model></M>"""
    d = Diagram("bead")
    d.add("plant", Plant.read(deck.encode(), coordinates=coordinates))
    r = simulate(d, times[-1], log_at=times, engine=engine, rtol=1e-9, atol=1e-11)
    return r["plant.y"].T


@pytest.mark.filterwarnings("ignore:equations jump")
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize(
    "held",
    [
        f'<Constraint_General id="1" expr="DY(20) - {RAMP}"/>',
        f'<Reference_Variable id="9" is_implicit="TRUE" expr="DY(20) - {RAMP}"/>',
        f"""<Motion_Marker id="1" i_marker_id="20" j_marker_id="10" direction="Y" val_type="D"
            expr="{RAMP}"/>""",
        f'{SPLINE}<Constraint_General id="1" expr="DY(20) - AKISPL(DX(20), 0, 1)"/>',
    ],
    ids=["general", "variable", "motion", "spline"],
)
def test_a_ramp_further_on_slows_the_bead_that_climbs_it(held, coordinates):
    """Energy: on top m v^2 / 2 is less by m g h."""
    vx, vy, x, y = run(held, [0.0, 0.2, 1.0], coordinates)
    assert (vx[:2], y[:2]) == (pytest.approx(V0), pytest.approx(0.0, abs=1e-9))
    assert x[2] > 2.2 and y[2] == pytest.approx(H, abs=1e-8) and vy[2] == pytest.approx(0.0, abs=1e-7)
    assert vx[2] == pytest.approx(np.sqrt(V0**2 - 2 * G * H), abs=1e-5)


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_direction_that_turns_with_time_acts_across_the_velocity(coordinates, engine):
    """y' = t x' gives (1 + t^2) x'' = -t (x' + g), so x' + g = (v0 + g) / sqrt(1 + t^2)."""
    times = np.array([0.0, 0.4, 1.5])
    vx, vy, *_ = run('<Constraint_General id="1" expr="VY(20) - TIME*VX(20)"/>', times, coordinates, engine)
    expected = (V0 + G) / np.sqrt(1 + times**2) - G
    assert vx == pytest.approx(expected, abs=1e-7) and vy == pytest.approx(times * expected, abs=1e-7)


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_bead_on_a_rod_that_starts_to_turn_is_thrown_outwards(coordinates):
    """From y = tan(w t) x across gravity: r'' = w^2 r."""
    w, times = 1.3, np.array([0.0, 0.5, 1.0])
    rod = f"""<Force_Vector_OneBody id="1" type="FORCEONLY" marker_id="20" ref_marker_id="10"
        fy_expression="2*{G}"/>
    <Constraint_General id="1" expr="DY(20) - TAN({w}*TIME)*DX(20)"/>"""
    _, _, x, y = run(rod, times, coordinates)
    r = V0 * np.sinh(w * times) / w  # from the middle
    assert (x, y) == (
        pytest.approx(r * np.cos(w * times), abs=1e-7),
        pytest.approx(r * np.sin(w * times), abs=1e-7),
    )
