"""Starts at singular poses: a parallelogram (bars 1, 2, 1) with all its bars in line."""

from __future__ import annotations

import warnings
from dataclasses import fields

import numpy as np
import pytest
from typer.testing import CliRunner

from blocks.errors import ModelError
from cosim import Diagram, simulate
from cosim.cli.cli import app
from plant import Plant, PlantWarning
from plant.assembly.branches import _size, _starts, branches
from plant.elements import (
    Body_Rigid,
    Constraint_Joint,
    Control_PlantOutput,
    Element,
    Model,
    Reference_Marker,
    Reference_Variable,
)
from plant.energy import ledger

COORDINATES = pytest.mark.parametrize("coordinates", ["joint", "absolute"])
ENGINES = pytest.mark.parametrize("engine", ["native", "reference"])
OMEGA = 3.0


def bar(id: int, a: float, b: float, w: float | None) -> list[Element]:
    """A slender bar from x = a to x = b of mass 1 per length, with its rate about z where it is given."""
    m = abs(b - a)
    return [
        Body_Rigid(
            id=id,
            cg_id=10 * id,
            mass=m,
            inertia_xx=1e-3,
            inertia_yy=m**3 / 12,
            inertia_zz=m**3 / 12,
            w_ic_z=w,
        ),
        Reference_Marker(id=10 * id, body_id=id, pos_x=(a + b) / 2),
        Reference_Marker(id=10 * id + 1, body_id=id, pos_x=a),
        Reference_Marker(id=10 * id + 2, body_id=id, pos_x=b),
    ]


def parallelogram(
    coordinates: str, crank: float | None = OMEGA, coupler: float | None = None, rocker: float | None = None
) -> Plant:
    pairs = ((21, 10), (31, 22), (32, 42), (41, 11))
    rates = [Reference_Variable(id=k, expr=f"WZ({10 * k})") for k in (2, 3, 4)]
    return Plant.from_model(
        Model.build(
            [
                Body_Rigid(id=1, isground=True),
                Reference_Marker(id=10, body_id=1),
                Reference_Marker(id=11, body_id=1, pos_x=2.0),
                *bar(2, 0, 1, crank),
                *bar(3, 1, 3, coupler),
                *bar(4, 2, 3, rocker),
                *[
                    Constraint_Joint(id=k, type="REVOLUTE", i_marker_id=i, j_marker_id=j)
                    for k, (i, j) in enumerate(pairs, start=1)
                ],
                *rates,
                Control_PlantOutput(id=1, label="w", variable_id_list=(2, 3, 4)),
            ]
        ),
        coordinates=coordinates,
    )


def run(plant: Plant, engine: str):
    d = Diagram("in_line")
    d.add("plant", plant.audited())
    return simulate(d, 1.5, log_every=0.25, engine=engine, rtol=1e-9, atol=1e-11)


@COORDINATES
@ENGINES
def test_least_energy_is_taken_on_a_branch_and_said(coordinates, engine):
    """Of w = (3, 0, 3), 12 J, and (3, -6, -9), 36 J, the first; rates of no motion have less."""
    with pytest.warns(
        PlantWarning, match="singular pose.*least kinetic energy is taken.*another one has"
    ) as told:
        plant = parallelogram(coordinates)
    (text,) = [str(w.message) for w in told if "singular" in str(w.message)]
    assert all(f"Constraint_Joint {k}" in text for k in (1, 2, 3, 4)) and text.count("another one has") == 1
    chosen = plant.info()["rates of least kinetic energy"]
    assert OMEGA in [pytest.approx(value) for value in chosen.values()]
    found = run(plant, engine)
    assert found["plant.w"] == pytest.approx(np.tile([OMEGA, 0.0, OMEGA], (7, 1)), abs=1e-6)
    np.testing.assert_allclose(ledger(found).KE, 12.0, rtol=1e-8)


@COORDINATES
@pytest.mark.parametrize("given", [{"rocker": -9.0}, {"coupler": -6.0}])
def test_given_rates_choose_the_crossed_branch(given, coordinates):
    """The crossed bars start with ratio -(2 + 1)/(2 - 1) and keep 36 J."""
    with pytest.warns(PlantWarning, match="the given rates choose one"):
        plant = parallelogram(coordinates, **given)
    assert plant.info()["rates of least kinetic energy"] == {}
    found = run(plant, "native")
    assert found["plant.w"][0] == pytest.approx([3.0, -6.0, -9.0], abs=1e-9)
    np.testing.assert_allclose(ledger(found).KE, 36.0, rtol=1e-5)
    assert found["plant.w"][1:, 1].max() > 1.0  # the coupler turns


@COORDINATES
@pytest.mark.parametrize("given", [{"rocker": -3.0}, {"coupler": 1.0}])
def test_rates_of_no_motion_are_refused(given, coordinates):
    with pytest.raises(ModelError, match="Constraint_Joint 4.*no motion goes on.*Start beside this pose"):
        parallelogram(coordinates, **given)


@COORDINATES
def test_at_rest_it_is_said_that_nothing_decides(coordinates):
    with pytest.warns(PlantWarning, match="singular pose.*at rest rounding decides"):
        plant = parallelogram(coordinates, crank=None)
    assert plant.info()["rates of least kinetic energy"] == {}


@COORDINATES
def test_rates_that_assembly_chose_are_in_its_report(coordinates):
    """Two of the three joints of a chain with one given rate are free: they are named with their values."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlantWarning)
        plant = parallelogram(coordinates)
    chosen = plant.info()["rates of least kinetic energy"]
    assert set(chosen) == {
        f"{link.name}.qd ({name})" for link in plant.mechanism.links for name in link.joint.rates
    }


def test_branches_of_two_crossing_lines():
    """gamma = a^2 - 4 b^2 with rates (a, b) and a = 2 given: b = 1 and b = -1; b = 0 belongs to no motion."""
    W = np.array([[1.0]])
    found = branches(
        lambda x: np.array([x[0] ** 2 - 4 * x[1] ** 2]), W, np.array([2.0, 0.0]), np.array([[0.0], [1.0]])
    )
    assert not found.kept
    assert sorted(x[1] for x in found.x) == pytest.approx([-1.0, 1.0], rel=1e-12)


def test_no_branch_where_the_quadratic_has_no_root():
    found = branches(
        lambda x: np.array([x[0] ** 2 + x[1] ** 2]),
        np.array([[1.0]]),
        np.array([2.0, 0.0]),
        np.array([[0.0], [1.0]]),
    )
    assert found.x == []


def test_cosim_info_prints_what_assembly_chose(tmp_path):
    """The rates the deck leaves open, and what is to be said of the start."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlantWarning)
        model = parallelogram("joint").model
    elements = [element for same in model.elements.values() for element in same.values()]
    text = "".join(written(element) for element in elements)
    (tmp_path / "in_line.xml").write_text(f"<MDS><Model>{text}</Model></MDS>")
    done = CliRunner().invoke(app, ["info", str(tmp_path / "in_line.xml")])
    assert done.exit_code == 0, done.output
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    head = "assembly chose the model leaves these rates open; those of least kinetic energy were taken:"
    at = lines.index(head)
    values = [float(line.partition(" = ")[2]) for line in lines[at + 1 : at + 4]]
    assert OMEGA in [pytest.approx(value, abs=1e-5) for value in values]
    assert any(line.startswith("singular start") for line in lines)


def written(element: Element) -> str:
    """An element in XML, with all that is not left at its default."""
    given = [(f.name, getattr(element, f.name)) for f in fields(element) if f.name != "source"]
    told = [
        f'{name}="{" ".join(map(str, v)) if isinstance(v, tuple) else str(v).upper()}"'
        for name, v in given
        if v not in (None, (), False)
    ]
    return f"<{element.tag} {' '.join(told)}/>"


def test_what_has_no_rates_has_a_size_all_the_same():
    """|W|^T |gamma| with gamma = (3, -4), whatever the rates; no division by their length, 0."""
    with np.errstate(all="raise"):
        size = _size(lambda rates: np.array([3.0, -4.0]), np.array([[1.0], [-2.0]]), np.zeros(0))
    assert size.tolist() == [3.0 + 8.0]


@pytest.mark.parametrize("length", [0.02, 50.0])
@pytest.mark.parametrize("k", [1, 3])
def test_newtons_method_begins_at_distances_like_the_length_of_the_rates(k, length):
    """1/64, 1/16, ... 16 times it, four starts each; along one direction both ways alike."""
    found = np.array(list(_starts(np.array([0.0, length]), np.zeros((2, k)))))
    distances = np.linalg.norm(found, axis=1) / length
    assert sorted(distances) == pytest.approx(np.repeat(4.0 ** np.arange(-3, 3), 4))
    if k == 1:
        assert np.sum(found, axis=0) == pytest.approx(0.0, abs=1e-12 * length)
    assert not list(_starts(np.array([length]), np.zeros((1, 0))))


def test_from_rest_newtons_method_begins_at_rest():
    first, *others = _starts(np.zeros(2), np.zeros((2, 1)))
    assert first.tolist() == [0.0] and len(others) == 24 and min(map(abs, others)) > 0.0
