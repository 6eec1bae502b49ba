"""Faults of attributes and of expressions are told together, when a deck is read."""

import pytest

from plant import Plant
from plant.reporting import ModelProblems

DECK = """<MDS><Model>
<Body_Rigid id="1" isground="TRUE"/>
<Reference_Marker id="10" body_id="1"/>
<Body_Rigid id="2" cg_id="20" mass="{mass}" inertia_xx="1" inertia_yy="1" inertia_zz="1"/>
<Reference_Marker id="20" body_id="2"/>
<Reference_Variable id="1" expr="{first}"/>
<Reference_Variable id="2" expr="{second}" {more}/>
<Reference_Variable id="3" is_active="FALSE" expr="SIN("/>
</Model></MDS>"""


def faults(mass="1", first="1", second="2", more=""):
    with pytest.raises(ModelProblems) as caught:
        Plant.read(DECK.format(mass=mass, first=first, second=second, more=more).encode())
    return caught.value.problems


def test_a_bad_expression_is_told_beside_a_bad_attribute():
    told = faults("-1", "DX(20", "SINN(TIME) + DX(99)")
    assert len(told) == 3
    assert "mass=-1 is not positive" in told[0]
    assert "'(' is never closed" in told[1] and "Reference_Variable id=1" in told[1]
    assert "unknown function 'SINN'" in told[2] and "Reference_Variable id=2" in told[2]


def test_an_element_with_a_bad_attribute_has_its_expression_read_as_well():
    told = faults(second="DX(99)", more='is_implicit="perhaps"')
    assert len(told) == 2 and "is_implicit" in told[0] and "99 names no Reference_Marker" in told[1]


def test_what_refers_to_an_element_with_problems_is_no_further_problem():
    told = faults(first="VARVAL(2) + 1", second="3", more='dot_form="perhaps"')
    assert len(told) == 1 and "dot_form" in told[0]


def test_expressions_alone_are_told_once():
    told = faults(first="DX(20", second="DX(99)")
    assert len(told) == 2
