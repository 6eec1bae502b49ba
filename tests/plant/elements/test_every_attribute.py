"""Every attribute of every element: another value changes the plant, is refused, or is warned about by name."""

from __future__ import annotations

import dataclasses
import hashlib
import re
import warnings
from collections.abc import Iterator
from typing import Any

import casadi as ca
import numpy as np
import pytest

from blocks.errors import PlantloopError
from cosim import Diagram
from plant import Plant
from plant.elements import ELEMENTS, Element, Model
from plant.elements.element import Attribute, attributes_of
from plant.elements.kinds import (
    ExpressionText,
    Flag,
    IdOf,
    IdsOf,
    Integer,
    Keyword,
    Number,
    NumberOrExpression,
    Numbers,
    Text,
)
from plant.formats.motionsolve.reader import read_model
from plant.scene import scene_of

SIDE = 'a00="0" a10="0" a20="-1" a01="0" a11="1" a21="0" a02="1" a12="0" a22="0"'  # z along X

# A carriage on a rail along X and a loose body.
BASE = f"""
<Force_Gravity grav_x="0.3" grav_y="0.2" grav_z="-9.81"/>
<Body_Rigid id="1" isground="TRUE"/>
<Reference_Marker id="10" body_id="1" {SIDE}/>
<Reference_Marker id="11" body_id="1" pos_y="0.4"/>
<Reference_Marker id="12" body_id="1" pos_z="0.7" psi="0.3" theta="0.4" phi="0.1"/>
<Body_Rigid id="2" cg_id="20" mass="2" inertia_xx="1" inertia_yy="1.1" inertia_zz="1.2" v_ic_x="0.1"/>
<Reference_Marker id="20" body_id="2" pos_x="0.5" {SIDE}/>
<Reference_Marker id="21" body_id="2" pos_x="0.5" psi="0" theta="1.5707963267948966" phi="0"/>
<Reference_Marker id="22" body_id="2" pos_x="0.6" pos_z="0.1"/>
<Body_Rigid id="4" cg_id="40" mass="3" inertia_xx="0.5" inertia_yy="0.6" inertia_zz="0.7"/>
<Reference_Marker id="40" body_id="4" pos_x="2"/>
<Reference_Marker id="41" body_id="4" pos_x="2.1" pos_y="0.1" pos_z="0.2" psi="0.2" theta="0.5"/>
<Constraint_Joint id="1" label="rail" type="TRANSLATIONAL" i_marker_id="20" j_marker_id="10"/>
"""
# What some of the tried elements refer to besides, and by which words.  A rod that swings on the carriage about Y.
ROD = (
    r"\b3[012]\b|joint\d?_id",
    """
<Body_Rigid id="3" cg_id="30" mass="1" inertia_xx="0.2" inertia_yy="0.21" inertia_zz="0.1" w_ic_y="0.2"/>
<Reference_Marker id="30" body_id="3" pos_x="0.5" pos_z="-0.6"/>
<Reference_Marker id="31" body_id="3" pos_x="0.5" psi="0" theta="1.5707963267948966" phi="0"/>
<Reference_Marker id="32" body_id="3" pos_x="0.55" pos_y="0.1" pos_z="-0.8"/>
<Constraint_Joint id="2" label="hinge" type="REVOLUTE" i_marker_id="31" j_marker_id="21"/>
""",
)
# A shaft that turns and slides.
SHAFT = (
    r"\b5[01]\b|joint\d?_id",
    """
<Body_Rigid id="5" cg_id="50" mass="1.5" inertia_xx="0.3" inertia_yy="0.3" inertia_zz="0.4"/>
<Reference_Marker id="50" body_id="5" pos_y="1"/>
<Reference_Marker id="51" body_id="1" pos_y="1"/>
<Constraint_Joint id="3" label="shaft" type="CYLINDRICAL" i_marker_id="50" j_marker_id="51"/>
""",
)
# Variables, of whose numbers units change the forces: two displacements, an input, an equation, an integral.
VARIABLES = (
    r"variable_id|Reference_Variable|Control_Plant|Param_Unit",
    """
<Reference_Variable id="1" expr="DX(20)"/>
<Reference_Variable id="2" expr="DY(41)"/>
<Reference_Variable id="3" expr="0"/>
<Reference_Variable id="4" expr="VARVAL(4)+0.1*VARVAL(4)**3-DX(40)" is_implicit="TRUE"/>
<Reference_Variable id="5" expr="DX(41)-VARVAL(5)" dot_form="TRUE" ic="0.2"/>
<Force_Vector_OneBody id="90" type="FORCEONLY" marker_id="20" ref_marker_id="0"
 fx_expression="VARVAL(1)+2*VARVAL(2)+3*VARVAL(3)+4*VARVAL(4)+5*VARVAL(5)"/>
<Control_PlantInput id="9" variable_id_list="3"/>
""",
)

# What is tried, by element: the element under test comes last, what it needs before it.
TRIED: dict[str, list[str]] = {
    "Param_Unit": ['<Param_Unit mass_mult_factor="2"/>',
                   '<Param_Unit mass_unit="GRAM" length_unit="METER" time_unit="SECOND" force_unit="NEWTON"/>'],
    "Force_Gravity": ['<Force_Gravity grav_x="0.3" grav_y="0.2" grav_z="-9.81"/>'],
    "Body_Rigid": [
        '<Reference_Marker id="60" body_id="6" pos_z="3"/><Reference_Marker id="61" body_id="6" pos_z="3.1"/>'
        '<Force_Vector_OneBody id="91" type="FORCEONLY" marker_id="61" ref_marker_id="0" fx_expression="TIME"/>'
        '<Body_Rigid id="6" cg_id="60" mass="2" inertia_xx="1" inertia_yy="1.1" inertia_zz="1.2" '
        'inertia_xy="0.01" v_ic_x="1" w_ic_z="2"/>',
        '<Body_Rigid id="1" isground="TRUE"/>',
    ],
    "Body_Point": ['<Reference_Marker id="70" body_id="7" body_type="POINTBODY" pos_z="2"/>'
                   '<Reference_Marker id="71" body_id="7" body_type="POINTBODY" pos_z="2.2"/>'
                   '<Force_Vector_OneBody id="91" type="FORCEONLY" marker_id="70" ref_marker_id="0" '
                   'fx_expression="TIME"/><Body_Point id="7" cg_id="70" mass="2" v_ic_x="1"/>'],
    "Reference_Marker": ['<Force_Vector_OneBody id="91" type="FORCEANDTORQUE" marker_id="80" ref_marker_id="80" '
                         'fx_expression="3" fy_expression="1" tz_expression="DX(80,10,12)+WX(80,10,80)"/>'
                         '<Reference_Marker id="80" body_id="4" rm_id="41" pos_x="0.1" pos_y="0.2" psi="0.3" '
                         'theta="0.2" phi="0.1"/>'],
    "Constraint_Joint": ['<Constraint_Joint id="4" type="INPLANE" i_marker_id="41" j_marker_id="12"/>',
                         '<Constraint_Joint id="4" type="SCREW" pitch="0.3" i_marker_id="50" j_marker_id="51"/>',
                         '<Constraint_Joint id="4" type="RACK_PINION" pitch_diameter="0.3" i_marker_id="50" '
                         'j_marker_id="10"/>'],
    "Constraint_Coupler": ['<Constraint_Coupler id="1" joint1_id="1" joint2_id="2" joint3_id="3" freedom_3="R" '
                           'coefficients="1,2,3"/>',
                           '<Constraint_Coupler id="1" joint1_id="1" joint2_id="3" freedom_2="T" '
                           'coefficients="1,2"/>'],
    "Constraint_General": ['<Constraint_General id="1" expr="DX(20)-0.5+0.1*AZ(31,21)"/>'],
    "Motion_Joint": ['<Motion_Joint id="1" joint_id="1" expr="0.5+0.1*TIME"/>',
                     '<Motion_Joint id="1" joint_id="3" joint_type="T" val_type="V" expr="0.1*TIME" '
                     'ic_disp="0.2"/>',
                     '<Motion_Joint id="1" joint_id="2" joint_type="R" val_type="A" expr="0.1+TIME" ic_disp="0.2" '
                     'ic_vel="0.1"/>'],
    "Motion_Marker": ['<Motion_Marker id="1" i_marker_id="40" j_marker_id="10" direction="X" expr="0.1*TIME"/>',
                      '<Motion_Marker id="1" i_marker_id="40" j_marker_id="10" direction="Y" val_type="A" '
                      'expr="0.1+TIME" ic_disp="0.2" ic_vel="0.3"/>'],
    "Force_Bushing": ['<Force_Bushing id="1" i_marker_id="41" j_marker_id="12" kx="1" ky="2" kz="3" ktx="4" '
                      'kty="5" ktz="6" cx="1" cy="2" cz="3" ctx="4" cty="5" ctz="6" preload_x="1"/>'],
    "Force_Field": ['<Force_Field id="1" type="LINEAR" i_marker_id="41" j_marker_id="12" '
                    'k_matrix="1 2 3 4 5 6" c_matrix="1 1 1 1 1 1"/>'],
    "Force_Penalty": ['<Force_Penalty id="1" expr="DX(20)-0.9+0.1*TIME" penalty="10" penalty1="2"/>',
                      '<Force_Penalty id="1" expr="DX(20)-0.3" penalty="10" penalty1="2" unilateral="TRUE" '
                      'smoothing_factor="0.7"/>'],
    "Force_Scalar_TwoBody": ['<Force_Scalar_TwoBody id="1" type="FORCE" i_marker_id="41" j_marker_id="22" '
                             'val="3"/>',
                             '<Force_Scalar_TwoBody id="1" type="TORQUE" i_marker_id="41" j_marker_id="31" '
                             'val_expression="3+TIME"/>'],
    "Force_SpringDamper": ['<Force_SpringDamper id="1" type="TRANSLATIONAL" i_marker_id="41" j_marker_id="22" '
                           'stiffness="3" damping="2" length="1" preload="0.4"/>',
                           '<Force_SpringDamper id="1" type="ROTATIONAL" i_marker_id="31" j_marker_id="21" '
                           'stiffness="3" damping="2" length="0.1" preload="0.4"/>'],
    "Force_Vector_OneBody": ['<Force_Vector_OneBody id="1" type="FORCEANDTORQUE" marker_id="41" ref_marker_id="12" '
                             'fx_expression="1+TIME" tz_expression="2"/>',
                             '<Force_Vector_OneBody id="1" type="FORCEONLY" marker_id="41" ref_marker_id="12" '
                             'fx_expression="1+TIME"/>'],
    "Force_Vector_TwoBody": ['<Force_Vector_TwoBody id="1" type="FORCEANDTORQUE" i_marker_id="41" '
                             'j_floating_marker_id="22" ref_marker_id="12" fx_expression="1+TIME" '
                             'tz_expression="2"/>'],
    "Inertia_Wheel": ['<Inertia_Wheel id="1" marker_id="41" inertia="0.3" torque_expression="TIME" w_ic="2"/>'],
    "Reference_Variable": [
        '<Force_Vector_OneBody id="91" type="FORCEONLY" marker_id="41" ref_marker_id="0" fx_expression="VARVAL(7)"/>'
        + variable
        for variable in (
            '<Reference_Variable id="7" expr="DX(20)+TIME"/>',
            '<Reference_Variable id="7" expr="VARVAL(7)-DX(20)" is_implicit="TRUE"/>',
            '<Reference_Variable id="7" expr="DX(20)-0.5" is_implicit="TRUE"/>',
            '<Reference_Variable id="7" expr="DX(20)-0.5" is_implicit="TRUE" autobalance="PENALTY" penalty="3" '
            'penalty1="2"/>',
            '<Reference_Variable id="7" expr="DX(20)-0.5" dot_form="TRUE" ic="0.3"/>',
        )
    ],
    "Reference_Array": ['<Reference_Array id="1" type="X" num_element="1"/><Reference_Array id="2" type="Y" '
                        'num_element="1"/><Control_SISO id="1" x_array_id="1" y_array_id="2" u_array_id="3" '
                        'ic_array_id="4" numerator_coef="1" denominator_coef="2 1"/>'
                        '<Reference_Array id="4" type="IC" num_element="1">0.4</Reference_Array>'
                        '<Force_Vector_OneBody id="91" type="FORCEONLY" marker_id="41" ref_marker_id="0" '
                        'fx_expression="ARYVAL(2,1)"/><Reference_Array id="3" type="U" num_element="1" '
                        'variable_id="1"/>'],
    "Reference_Matrix": ['<Reference_Array id="1" type="X" num_element="2"/><Reference_Array id="2" type="Y" '
                         'num_element="1"/><Reference_Array id="3" type="U" variable_id="1"/>'
                         '<Reference_Matrix id="2" num_row="2" num_col="1">1 2</Reference_Matrix>'
                         '<Reference_Matrix id="3" num_row="1" num_col="2">1 2</Reference_Matrix>'
                         '<Control_StateEqn id="1" type="LINEAR" x_array_id="1" y_array_id="2" u_array_id="3" '
                         'num_state="2" num_output="1" a_matrix_id="1" b_matrix_id="2" c_matrix_id="3"/>'
                         '<Force_Vector_OneBody id="91" type="FORCEONLY" marker_id="41" ref_marker_id="0" '
                         'fx_expression="ARYVAL(2,1)"/>'
                         '<Reference_Matrix id="1" num_row="2" num_col="2">-1 2 -3 -4</Reference_Matrix>'],
    "Reference_Spline": ['<Force_Vector_OneBody id="91" type="FORCEONLY" marker_id="41" ref_marker_id="0" '
                         'fx_expression="CUBSPL(9+DX(20),0,1)"/><Reference_Spline id="1" num_xy_pair="4">'
                         '0 1 1 2 2 4 3 9</Reference_Spline>'],
    "Reference_String": ['<Reference_String id="1" string="a"/>'],
    "Reference_PlantState": ['<Reference_PlantState id="1" num_element="1" variable_id_list="1"/>'],
    "Control_Diff": ['<Force_Vector_OneBody id="91" type="FORCEONLY" marker_id="41" ref_marker_id="0" '
                     'fx_expression="DIF(1)"/>' + diff
                     for diff in ('<Control_Diff id="1" expr="DX(20)-DIF(1)" ic="0.2"/>',
                                  '<Control_Diff id="1" expr="DIF1(1)+DIF1(1)**3-DX(20)" is_implicit="TRUE" '
                                  'ic="0.2" ic_dot="0.3"/>')],
    "Control_PlantInput": ['<Reference_Variable id="7" expr="0"/><Control_PlantInput id="1" num_element="1" '
                           'variable_id_list="7" hold_order="1" sampling_period="0.1" offset_time="0.05"/>'],
    "Control_PlantOutput": ['<Control_PlantOutput id="1" num_element="2" variable_id_list="1,2" hold_order="1" '
                            'sampling_period="0.1" offset_time="0.05"/>'],
    "Control_SISO": ['<Reference_Array id="1" type="X" num_element="1"/><Reference_Array id="2" type="Y" '
                     'num_element="1"/><Reference_Array id="3" type="U" variable_id="1"/>'
                     '<Reference_Array id="4" type="IC">0.4</Reference_Array>'
                     '<Force_Vector_OneBody id="91" type="FORCEONLY" marker_id="41" ref_marker_id="0" '
                     'fx_expression="ARYVAL(2,1)"/><Control_SISO id="1" x_array_id="1" y_array_id="2" '
                     'u_array_id="3" ic_array_id="4" num_numerator_coef="1" numerator_coef="1" '
                     'num_denominator_coef="2" denominator_coef="2 1"/>'],
    "Control_StateEqn": ['<Reference_Array id="1" type="X" num_element="1"/><Reference_Array id="2" type="Y" '
                         'num_element="1"/><Reference_Array id="3" type="U" variable_id="1"/>'
                         '<Reference_Array id="4" type="IC">0.4</Reference_Array>'
                         '<Reference_Matrix id="1">-1</Reference_Matrix><Reference_Matrix id="2">2'
                         '</Reference_Matrix><Force_Vector_OneBody id="91" type="FORCEONLY" marker_id="41" '
                         'ref_marker_id="0" fx_expression="ARYVAL(2,1)"/><Control_StateEqn id="1" type="LINEAR" '
                         'x_array_id="1" y_array_id="2" u_array_id="3" ic_array_id="4" num_state="1" '
                         'num_output="1" a_matrix_id="1" b_matrix_id="2" c_matrix_id="2"/>'],
    "Post_Request": ['<Post_Request id="1" type="EXPRESSION" expr1="DX(20)" expr2="TIME"/>',
                     '<Post_Request id="1" type="MARKER_DISPLACEMENT" i_marker_id="41" j_marker_id="22" '
                     'ref_marker_id="12"/>',
                     '<Force_SpringDamper id="1" type="TRANSLATIONAL" i_marker_id="41" j_marker_id="22" '
                     'stiffness="3" length="1"/><Post_Request id="1" type="ELEMENTAL_FORCE" elem_type="SPDP" '
                     'elem_id="1" jflag="0" ref_marker_id="12"/>'],
    "Post_Graphic": ['<Post_Graphic id="1" type="Cylinder" center_marker_id="41" radius="0.1" length="0.5" '
                     'color="9:99:199"/>',
                     '<Post_Graphic id="1" type="Frustum" center_marker_id="41" top_radius="0.1" '
                     'bottom_radius="0.2" length="0.5" ends_type="OPEN"/>',
                     '<Post_Graphic id="1" type="BoxDefinedFromCorner" corner_marker_id="41" length_x="0.1" '
                     'length_y="0.2" length_z="0.3"/>',
                     '<Post_Graphic id="1" type="Sphere" center_marker_id="41" radius="0.1"/>'],
    "Sensor_Evaluate": ['<Sensor_Event id="1" expr="DX(20)" value="0.4" evaluate_id="1"/>'
                        '<Force_Vector_OneBody id="91" type="FORCEONLY" marker_id="41" ref_marker_id="0" '
                        'fx_expression="SENVAL(1)"/><Sensor_Evaluate id="1" expr="TIME+1"/>'],
    "Sensor_Event": ['<Sensor_Evaluate id="1" expr="TIME+1"/><Force_Vector_OneBody id="91" type="FORCEONLY" '
                     'marker_id="41" ref_marker_id="0" fx_expression="SENVAL(1)"/>'
                     '<Control_PlantOutput id="1" variable_id_list="1"/>'
                     '<Sensor_Event id="1" expr="DX(20)" value="0.4" compare="GE" print="TRUE"/>'],
}  # fmt: skip

NAMES = {"id", "label", "comment"}  # names and texts: where they show is tested with ports and results
CHECKED = {"body1_id", "body2_id"}  # the body of a marker, repeated: refused where it is another
IMPLIED = {  # values that say what holds anyway, by element and attribute
    ("Body_Rigid", "v_ic_x_flag"): (True,), ("Body_Rigid", "w_ic_z_flag"): (True,),
    ("Body_Point", "v_ic_x_flag"): (True,),
    ("Constraint_Coupler", "freedom_1"): ("T",), ("Constraint_Coupler", "freedom_2"): ("R",),
    ("Motion_Joint", "joint_type"): ("R", "T"),  # of a joint with one coordinate
    ("Reference_Variable", "autobalance"): ("DEFAULT", "CONDITIONAL", "UNCONDITIONAL"),  # differ in GTCMAT only
    ("Sensor_Event", "restart"): (True,), ("Sensor_Event", "verbose"): (True,),  # printing makes it an event
    ("Sensor_Event", "compare"): ("GE", "GT", "LE", "LT"),  # pairs differ where the value is met exactly
    ("Force_Vector_OneBody", "type"): ("FORCEANDTORQUE",),  # where no torque is written
    ("Reference_PlantState", "variable_id_list"): ((2,),),  # for the linear analyses of a deck that is run
    ("Body_Rigid", "cg_id"): (12, 41), ("Body_Rigid", "im_id"): (12, 41), ("Body_Rigid", "lprf_id"): (12, 41),
}  # fmt: skip
OTHER_IDS = {"Reference_Marker": (41, 12), "Constraint_Joint": (3, 2, 1), "Reference_Variable": (2, 1),
             "Reference_Array": (4, 3), "Sensor_Evaluate": (99,)}  # fmt: skip


def parsed(xml: str) -> tuple[list[Element], Element]:
    """Elements of the base with some more, and the last of those."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = read_model(f"<Deck><Model>{base(xml)}{xml}</Model></Deck>".encode())
    elements = [e for same in model.elements.values() for e in same.values()]
    last = re.findall(r"<(\w+)([^>]*)", xml)[-1]
    number = re.search(r'\bid="(\d+)"', last[1])
    return elements, next(
        e for e in elements if e.tag == last[0] and e.id == (int(number[1]) if number else 0)
    )


def base(xml: str) -> str:
    """The base without what the tried text writes itself, with what it refers to."""
    lines = BASE.splitlines()
    for words, part in (ROD, SHAFT, VARIABLES):
        if re.search(words, xml):
            lines += part.splitlines()
    if "<Force_Gravity" in xml:
        lines = [line for line in lines if "<Force_Gravity" not in line]
    if 'isground="TRUE"' in xml:
        lines = [line for line in lines if 'isground="TRUE"' not in line]
    return "\n".join(lines)


def numbers(model: Model) -> tuple[str, str]:
    """Digest of everything a plant of the model computes, and what was warned about."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plant = Plant.from_model(model, trust=True)
        d = Diagram("one")
        node = d.add("plant", plant)
        for port in plant.inputs:
            d.connect(d.inport(port, plant.inputs[port].size), node[port])
        system = d.system()
    rng = np.random.default_rng(5)
    events = [part for e in system.events for part in (e.crossing, *(v for _, _, v in e.resets))]
    signals = [s.expression for s in (*system.signals.values(), *system.schedule)]
    parts = [system.derivative, *signals, system.residual, system.accepted[0], system.invariants, *events]
    function = system.function("everything", lambda: [ca.vertcat(ca.SX(0, 1), *parts)])
    found = b""
    for width in (0.01, 0.1, 0.5):
        near = [v + width * rng.standard_normal(v.shape) for v in (system.x0, system.h0, system.w0)]
        found += np.asarray(function(0.3, *near, system.p0)).tobytes()
    kinds = [(n, s.memory.static, s.initial.tolist()) for n, s in system.states.items()]
    held = [(n, s.initial.tolist()) for n, s in system.held.items()]
    happens = [(e.name, e.direction, e.stop, e.rest) for e in system.events]
    drawn = [vars(s) for s in scene_of(plant).solids]
    text = repr(
        (
            kinds,
            held,
            happens,
            system.rates,
            system.x0.tolist(),
            [*system.signals],
            dict(plant.initial),
            drawn,
        )
    )
    return hashlib.sha256(found + text.encode()).hexdigest(), "\n".join(str(w.message) for w in caught)


def others(element: Element, attribute: Attribute) -> Iterator[Any]:
    """Other values of an attribute."""
    value, kind = getattr(element, attribute.name), attribute.kind
    if isinstance(kind, Flag):
        yield not value
    elif isinstance(kind, Keyword):
        yield from (word for word in kind.words if word != value)
    elif isinstance(kind, IdOf):
        yield from (id for id in OTHER_IDS[kind.tags[0]] if id != value)
    elif isinstance(kind, IdsOf):
        yield tuple(reversed(value)) if len(value) > 1 else (2 if value == (1,) else 1,)
    elif isinstance(kind, Integer):
        yield 1 if value is None else value + 1
    elif isinstance(kind, Number):
        yield 0.37 if value is None else value * 1.3 + 0.07
    elif isinstance(kind, NumberOrExpression):
        yield 0.41
        yield "0.1*TIME"
    elif isinstance(kind, Numbers):
        yield tuple(1.3 * v + 0.1 for v in value) if value else (0.3,)
    elif isinstance(kind, ExpressionText):
        yield "0.3" if value is None else f"1.3*({value})+0.02*TIME"
    elif isinstance(kind, Text):
        yield "other"
    else:  # unit names
        yield {"mass": "SLUG", "length": "FOOT", "time": "HOUR", "force": "DYNE"}[kind.quantity]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tag", "xml"),
    [pytest.param(t, xml, id=f"{t}-{k}") for t, tried in TRIED.items() for k, xml in enumerate(tried)],
)
def test_another_value_shows_or_is_told(tag, xml):
    elements, element = parsed(xml)
    assert element.tag == tag
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before, told_before = numbers(Model.build(elements))
    silent = []
    for name, attribute in attributes_of(type(element)).items():
        if name in NAMES | CHECKED:
            continue
        for value in others(element, attribute):
            if value in IMPLIED.get((tag, name), ()):
                continue
            try:
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    changed = dataclasses.replace(element, **{name: value})
                    model = Model.build([changed if e is element else e for e in elements])
                after, told = numbers(model)
            except PlantloopError:
                continue  # refused
            told += "\n".join(str(w.message) for w in caught)
            whole = element.where in told + told_before and "not supported" in told + told_before
            if after == before and not (whole or (name in told and told != told_before)):
                silent.append(f"{name}={value!r}")
    assert not silent


def test_every_element_of_a_model_is_tried():
    commands = {tag for tag, element in ELEMENTS.items() if element.block != "model"}
    assert set(TRIED) | commands >= set(ELEMENTS)
