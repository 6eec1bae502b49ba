"""A body of 2 kg on a rail along x, with elements that user subroutines give."""

from __future__ import annotations

from pathlib import Path

from cosim import Diagram, simulate
from plant import Plant
from plant.elements import (
    Body_Rigid,
    Constraint_Joint,
    Control_PlantOutput,
    Element,
    Force_Scalar_TwoBody,
    Model,
    Reference_Marker,
    Reference_Variable,
)

# z of a marker along x
ALONG = {"a00": 0, "a10": 0, "a20": -1, "a01": 0, "a11": 1, "a21": 0, "a02": 1, "a12": 0, "a22": 0}
SUB = {"type": "USERSUB", "interpreter": "PYTHON"}
OUT = Control_PlantOutput(id=1, label="y", variable_id_list=(1,))
PUSH = Force_Scalar_TwoBody(  # variable 1, along the rail
    id=1, type="FORCE", i_marker_id=20, j_marker_id=10, is_action_only=True, val_expression="VARVAL(1)"
)


def on_rail(*elements: Element, x: float = 0.5, v: float | None = 0.0, mass: float = 2.0) -> Model:
    """A mass [kg], marker 20 at its centre, on a rail along x: at x [m] with speed v [m/s]; None: free."""
    return Model.build(
        [
            Body_Rigid(id=1, isground=True),
            Reference_Marker(id=10, body_id=1, **ALONG),
            Body_Rigid(id=2, cg_id=20, mass=mass, inertia_xx=1, inertia_yy=1, inertia_zz=1, v_ic_x=v),
            Reference_Marker(id=20, body_id=2, pos_x=x, **ALONG),
            Constraint_Joint(id=1, label="rail", type="TRANSLATIONAL", i_marker_id=20, j_marker_id=10),
            *elements,
        ]
    )


def slider(script: Path | str, *elements: Element, v: float = 0.0, trust: bool = True) -> Plant:
    """A mass of 2 kg on a rail along x at x = 0.5; `script` is the file that elements call s.py."""
    return Plant.from_model(on_rail(*elements, v=v), trust=trust)


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "s.py"
    path.write_text(text)
    return str(path)


def variable(script: str, name: str = "VARSUB", par: str = "USER(20)", **more) -> Reference_Variable:
    return Reference_Variable(
        id=1, script_name=script, usrsub_fnc_name=name, usrsub_param_string=par, **SUB, **more
    )


def run(plant: Plant, times, **options):
    d = Diagram("subroutine")
    d.add("plant", plant)
    options = {"rtol": 1e-9, "atol": 1e-11} | options
    return simulate(d, until=times[-1], log_at=times, engine="reference", **options)
