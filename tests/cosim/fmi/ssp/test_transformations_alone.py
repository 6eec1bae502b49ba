"""Transformations of system structures, function by function (SSP 1.0, section 5.3.3)."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from cosim import Diagram, export_ssp
from cosim.fmi.ssp.ssp_errors import SSPError
from cosim.fmi.ssp.structure import Transformation
from cosim.fmi.ssp.to_diagram import Drawing, _in_a_row
from cosim.fmi.ssp.wires import LinearConnection, MappedConnection

TABLE = Transformation(table={1: 3, 2: 5})


@pytest.mark.parametrize("wrong", [5, None, "", b"a.ssp"])
def test_a_package_is_written_into_a_file_that_has_a_name(wrong):
    with pytest.raises(SSPError, match="expected the name of an .ssp file"):
        export_ssp(Diagram("d"), wrong)


def test_transformations_into_a_dictionary_and_out_of_it():
    """z = 3 y + 1 of y = 2 x + 5 is 6 x + 16; a table stands alone."""
    c = SimpleNamespace(start=("bus", "s"), line=7)
    first, second = Transformation(2.0, 5.0), Transformation(3.0, 1.0)
    assert _in_a_row(first, second, c, "f") == Transformation(6.0, 16.0)
    for one in (first, TABLE):
        assert _in_a_row(one, None, c, "f") is _in_a_row(None, one, c, "f") is one
    assert _in_a_row(None, None, c, "f") is None
    for both in ((TABLE, second), (first, TABLE), (TABLE, TABLE)):
        with pytest.raises(
            SSPError, match="'s' is transformed into a dictionary and out of it, once by a table"
        ):
            _in_a_row(*both, c, "f")


def test_a_table_has_numbers_in_the_place_of_items():
    structure = SimpleNamespace(file="f", enumerations={"a": {"slow": 1}, "b": {"fast": 4, "off": 0}})
    drawing = Drawing.__new__(Drawing)
    drawing.structure = structure
    c = SimpleNamespace(line=7)
    assert drawing._changing(Transformation(2.0, 1.0), c, {}, {}) == LinearConnection(2.0, 1.0)
    found = drawing._changing(Transformation(table={"slow": "off", 2: "fast", 3.0: 7}), c, {}, {})
    assert found == MappedConnection(((1.0, 0.0), (2.0, 4.0), (3.0, 7.0)))
    with pytest.raises(SSPError, match="names 'none', which is an item of no enumeration"):
        drawing._changing(Transformation(table={"slow": "none"}), c, {}, {})


def test_items_of_one_name_are_those_of_either_end():
    drawing = Drawing.__new__(Drawing)
    drawing.structure = SimpleNamespace(file="f", enumerations={"a": {"off": 0}, "b": {"off": 1}})
    c, same = SimpleNamespace(line=7), Transformation(table={"off": "off"})
    assert drawing._changing(same, c, {"off": 1}, {"off": 0}) == MappedConnection(((1.0, 0.0),))
    with pytest.raises(SSPError, match="names the item 'off', which is 0 in 'a', 1 in 'b'"):
        drawing._changing(same, c, {"off": 1}, {})
