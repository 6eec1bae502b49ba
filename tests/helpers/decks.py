"""Small decks with a Command block, written where a test needs them."""

from __future__ import annotations

from typing import Any

import numpy as np

from cosim.deck import DeckRun, run_deck

GROUND = '<Body_Rigid id="1" isground="TRUE"/>'
ALONG_Y = 'a00="1" a10="0" a20="0" a01="0" a11="0" a21="1" a02="0" a12="-1" a22="0"'  # z = -Y
ALONG_X = 'a00="0" a10="1" a20="0" a01="0" a11="0" a21="1" a02="1" a12="0" a22="0"'  # z = X
TIGHT = '<Param_Transient integr_tol="1e-11"/>'
OMEGA = 5.0  # of the slider: sqrt(50 / 2)


def deck(model: str, commands: str = "", gravity: float = -9.81) -> bytes:
    """A deck with a ground and gravity along Z."""
    return (
        f'<Deck><Model><Force_Gravity grav_z="{gravity!r}"/>{GROUND}{model}</Model>'
        f"<Command>{commands}</Command></Deck>"
    ).encode()


def simulate(kind: str, **attributes: object) -> str:
    """One Simulate command."""
    written = " ".join(f'{name}="{value}"' for name, value in attributes.items())
    return f'<Simulate analysis_type="{kind}" {written}/>'


def off(kind: str, id: int) -> str:
    """One Deactivate command."""
    return f'<Deactivate element_type="{kind}" element_id="{id}"/>'


def ran(model: str, commands: str, gravity: float = -9.81, **options: Any) -> DeckRun:
    """A deck that was run, with small errors and on the reference engine by default."""
    return run_deck(deck(model, commands, gravity), **({"rtol": 1e-11, "engine": "reference"} | options))


def marker(id: int, body: int, x: float = 0.0, y: float = 0.0, z: float = 0.0, axes: str = "") -> str:
    """A marker at a place."""
    return f'<Reference_Marker id="{id}" body_id="{body}" pos_x="{x!r}" pos_y="{y!r}" pos_z="{z!r}" {axes}/>'


def body(
    id: int, mass: float, inertia: float, x: float, y: float, z: float, name: str = "", **ic: float
) -> str:
    """A body with its centre of mass, marker 10 id, at a place."""
    label = f'label="{name}"' if name else ""
    more = " ".join(f'{key}="{value!r}"' for key, value in ic.items())
    return (
        f'<Body_Rigid id="{id}" {label} cg_id="{id}0" mass="{mass!r}" inertia_xx="{inertia!r}" '
        f'inertia_yy="{inertia!r}" inertia_zz="{inertia!r}" {more}/>' + marker(10 * id, id, x, y, z)
    )


def joint(id: int, type: str, i: int, j: int, name: str = "") -> str:
    """A joint between two markers."""
    label = f'label="{name}"' if name else ""
    return f'<Constraint_Joint id="{id}" {label} type="{type}" i_marker_id="{i}" j_marker_id="{j}"/>'


def pendulum(angle: float, length: float = 0.5, mass: float = 2.0, inertia: float = 0.1) -> str:
    """A rod on a hinge along Y at the origin, `angle` [rad] from hanging towards +X."""
    x, z = length * float(np.sin(angle)), -length * float(np.cos(angle))
    return (
        marker(11, 1, axes=ALONG_Y) + body(2, mass, inertia, x, 0.0, z, "rod") + marker(21, 2, axes=ALONG_Y)
        + joint(1, "REVOLUTE", 21, 11, "hinge")
        + '<Post_Request id="1" label="rod" type="EXPRESSION" expr1="DX(20)" expr2="DZ(20)" expr3="WY(20)"/>'
    )  # fmt: skip


def slider(mass: float = 2.0, stiffness: float = 50.0, damping: float = 0.0, length: float = 1.0) -> str:
    """A mass on a vertical guide below a spring of free length 1, at rest at Z = -1."""
    return (
        marker(11, 1) + body(2, mass, 0.1, 0.0, 0.0, -1.0, "mass") + marker(21, 2, z=-1.0)
        + joint(1, "TRANSLATIONAL", 21, 11, "guide")
        + f'<Force_SpringDamper id="1" type="TRANSLATIONAL" i_marker_id="21" j_marker_id="11" '
        f'stiffness="{stiffness!r}" damping="{damping!r}" length="{length!r}"/>'
        + '<Post_Request id="1" label="mass" type="EXPRESSION" expr1="DZ(20)" expr2="VZ(20)" '
        'expr3="SPDP(1,0,4,0)"/>'
    )  # fmt: skip


def mass(run: DeckRun) -> np.ndarray:
    """DZ, VZ, force of the slider at every time."""
    return run.result["plant.request_mass"].T
