"""Why a parameter cannot be changed, and what to do: one answer for each kind."""

from types import SimpleNamespace

import pytest

from cosim.run.unchangeable import structural_error

SYSTEM = SimpleNamespace(
    name="d",
    parameters={"g.k": None},
    fields={"x.initial": "x.x", "m.n": "", "g.k": ""},
    refused={
        "m.a": SimpleNamespace(why="it is used up", cure="", follows=False),
        "m.b": SimpleNamespace(why="it follows from m.a", cure="", follows=True),
        "m.c": SimpleNamespace(why="it is text", cure="Write a number.", follows=True),
    },
)


@pytest.mark.parametrize(
    ("name", "why", "hint", "anew"),
    [
        ("m.a", "cannot be set: it is used up", "Use with_parameters", "In [base]."),
        ("m.b", "cannot be set: it follows from m.a", "Set that one.", "Set that one."),
        ("m.c", "cannot be set: it is text", "Write a number.", "Write a number."),
        ("x.initial", "is an initial value", "Write initial={'x.x': ...}.", "Write initial={'x.x': ...}."),
        (
            "m.n",
            "is structural: a field of the block",
            "parameters={'m.n': ...}: it is built anew",
            "In [base].",
        ),
        ("g.k", "is structural (a zero of a matrix", "Build the block anew", "Build the block anew"),
        ("g.z", "is structural (a zero of a matrix", "Build the block anew", "Build the block anew"),
    ],
)
def test_every_kind_has_its_reason_and_its_cure(name, why, hint, anew):
    error = structural_error(SYSTEM, name)
    assert why in str(error) and f"'{name}' in 'd'" in str(error) and error.path == name
    assert hint in error.hint
    assert anew in structural_error(SYSTEM, name, "In [base].").hint
