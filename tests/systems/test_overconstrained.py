"""Mechanisms that move although a count of their conditions says they cannot.

Reference: the same motion from nothing but positions and the closure of a few angles (`tests.helpers.
overconstrained`); for Bricard's linkage the closure is the published one, cos A + cos B + cos A cos B = 0.
"""

from __future__ import annotations

import functools
import re

import numpy as np
import pytest

from cosim import Diagram, simulate
from plant import Plant, PlantWarning
from plant.elements import Body_Rigid, Constraint_Joint, Control_PlantOutput, Model, Reference_Variable
from tests.helpers import overconstrained
from tests.helpers.loops import n_four_bar
from tests.helpers.plants import deck
from tests.helpers.trees import marker

TIMES = np.linspace(0.0, 5.0, 51)
KINDS = {
    "bricard": (overconstrained.bricard, overconstrained.bricard_curve),
    "leaning_four_bar": (overconstrained.four_bar, overconstrained.four_bar_curve),
    "parallelogram": (overconstrained.parallelogram, overconstrained.parallelogram_curve),
}
quiet = pytest.mark.filterwarnings("ignore::plant.PlantWarning")
both = pytest.mark.parametrize("coordinates", ["joint", "absolute"])
every = pytest.mark.parametrize("name", list(KINDS))


@functools.cache
def known(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Places of the joints at TIMES, and the angles of the curve."""
    return KINDS[name][1]().at(TIMES)


def run(plant: Plant, engine: str = "reference", **options):
    d = Diagram("overconstrained")
    d.add("plant", plant)
    return simulate(d, until=TIMES[-1], engine=engine, **{"rtol": 1e-10, "atol": 1e-12, **options})


@functools.cache
def run_of_deck(name: str, coordinates: str, engine: str):
    """The plant of a deck and its run, logged at TIMES."""
    plant = Plant.read(deck(f"{name}.xml"), coordinates=coordinates)
    return plant, run(plant, engine, log_at=TIMES)


@pytest.mark.slow
@quiet
@every
@pytest.mark.parametrize(
    ("coordinates", "engine"), [("joint", "reference"), ("absolute", "reference"), ("joint", "native")]
)
def test_motion_from_a_deck(name, coordinates, engine):
    """Without any special setting; steps as long as those of an ordinary mechanism.

    `test_parity.py` compares the engines in absolute coordinates too, `test_residuals.py` sees to the gaps.
    """
    plant, r = run_of_deck(name, coordinates, engine)
    assert plant.info()["dof"] == 1
    assert np.abs(r["plant.points"] - known(name)[0]).max() < 2e-9
    energy = r["plant.energy"]
    assert np.ptp(energy) < 2e-8  # of about 10 J at rtol 1e-10
    assert r.statistics["steps"] < 2000


@pytest.mark.slow
@quiet
@every
def test_model_in_python_is_the_deck(name):
    r = run(Plant.from_model(KINDS[name][0]()), log_at=TIMES)
    assert np.abs(r["plant.points"] - known(name)[0]).max() < 2e-9


@pytest.mark.slow
@quiet
@both
def test_bricard_keeps_its_threefold_symmetry(coordinates):
    """Every other joint turns alike, and both angles obey the published closure."""
    _, r = run_of_deck("bricard", coordinates, "reference")
    turned = r["plant.angles"]
    assert np.abs(turned[:, :2]).max() > 1.0
    assert turned[:, 0::2] == pytest.approx(np.tile(turned[:, [0]], 3), abs=1e-9)
    assert turned[:, 1::2] == pytest.approx(np.tile(turned[:, [1]], 3), abs=1e-9)
    A, B = turned[:, 0] + np.pi / 2, turned[:, 1] + np.pi / 2
    assert np.cos(A) + np.cos(B) + np.cos(A) * np.cos(B) == pytest.approx(0.0, abs=1e-10)
    assert np.sin(turned[:, :2]) == pytest.approx(np.sin(known("bricard")[1]), abs=1e-8)


@every
@both
def test_redundant_conditions_are_counted_and_named(name, coordinates):
    """Conditions less those told as redundant are what is missing to one freedom."""
    with pytest.warns(PlantWarning, match="motion unaffected") as caught:
        plant = Plant.read(deck(f"{name}.xml"), coordinates=coordinates)
    told = "\n".join(str(w.message) for w in caught)
    joints = plant.model.all(Constraint_Joint)
    assert all(f"Constraint_Joint {j.id}" in told or f"id={j.id} " in told for j in joints)
    assert plant.info()["redundant constraints"] == [str(w.message) for w in caught]
    found = re.findall(r": (\d+) of its \d+ conditions", "\n".join(plant.info()["redundant constraints"]))
    mechanism = plant.mechanism
    conditions = (2 if mechanism.planar else 5) * (len(joints) if mechanism.absolute else len(mechanism.cut))
    assert sum(map(int, found)) == conditions - mechanism.dof + 1 > 0


def doubly_seated(apart: float) -> Model:
    """A four-bar in the plane of x and z; its last hinge, the seat, stands twice on one axis, `apart` [m]."""
    at = np.array([[1.0, 0, 0], [0, 0, -1.0], [0, 1.0, 0]])  # z along -y
    bars = [(2, (0.0, 0.0), (0.0, 1.0)), (3, (0.0, 1.0), (2.0, 1.5)), (4, (2.0, 1.5), (2.0, 0.0))]
    elements: list = [Body_Rigid(id=1, isground=True)]
    for k, *ends in bars:
        (x, z), (u, w) = ends
        elements.append(Body_Rigid(id=k, cg_id=10 * k, mass=1, inertia_xx=1, inertia_yy=1, inertia_zz=1))
        elements.append(marker(10 * k, k, np.array([(x + u) / 2, 0.0, (z + w) / 2]), at))
    hinges = [(1, 2, 1, 0.0, bars[0][1]), (2, 3, 2, 0.0, bars[1][1]), (3, 4, 3, 0.0, bars[2][1])]
    hinges += [(4, 4, 1, 0.0, bars[2][2]), (5, 4, 1, apart, bars[2][2])]
    for k, i, j, y, (x, z) in hinges:
        elements += [marker(100 * k + b, b, np.array([x, y, z]), at) for b in (i, j)]
        ends = {"i_marker_id": 100 * k + i, "j_marker_id": 100 * k + j}
        elements.append(Constraint_Joint(id=k, type="REVOLUTE", **ends))
    return Model.build(elements)


def told_of(model, coordinates):
    """Conditions too many of each joint, and the joints it repeats, each of which is named once."""
    told = Plant.from_model(model, coordinates=coordinates).info()["redundant constraints"]
    pattern = r"Constraint_Joint id=(\d+).*: (\d+) of its 5 .* repeat what (.*) fix"
    found = {}
    for m in (re.search(pattern, t) for t in told):
        names = re.findall(r"Constraint_Joint (\d+)", m[3])
        found[int(m[1])] = (int(m[2]), {int(n) for n in names})
        assert len(set(names)) == len(names)
    return found


@quiet
@pytest.mark.parametrize(
    ("coordinates", "apart", "expected"),
    [
        ("joint", 0.3, {3: (3, {1, 2, 4}), 5: (5, {4})}),
        ("joint", 0.0, {3: (3, {1, 2, 4}), 5: (5, {4})}),
        ("absolute", 0.0, {5: (2, {4})}),
        ("absolute", 0.3, {4: (3, {1, 2, 3}), 5: (5, {1, 2, 3, 4})}),
    ],
)
def test_what_repeats_what_is_told(coordinates, apart, expected):
    """A second seat repeats the seat alone; what a loop in a plane has too much is that of its other hinges.

    In absolute coordinates the bodies are planar where all hinges lie in one plane: two conditions a hinge,
    none of them too many. Elsewhere they are in space, and the second seat shares in the whole loop.
    """
    assert told_of(doubly_seated(apart), coordinates) == expected


@quiet
@pytest.mark.parametrize(
    ("coordinates", "expected"),
    [("joint", {4: (3, {1, 2, 3}), 6: (4, {1, 2, 4, 5})}), ("absolute", {6: (1, {1, 2, 3, 4, 5})})],
)
def test_what_repeats_its_own_loop_and_another_names_the_joints_of_both(coordinates, expected):
    """Out of the plane a pin repeats those of its loop; in the plane the third crank repeats two."""
    assert told_of(overconstrained.parallelogram(), coordinates) == expected


@pytest.mark.slow
@quiet
@both
def test_reactions_of_a_redundant_set_balance_and_are_free_of_noise(coordinates):
    """Three pins carry the coupler, m (a - g) in all; how they share it depends on the place alone."""
    model = overconstrained.parallelogram()
    elements = [e for same in model.elements.values() for e in same.values()]
    texts = [f"JOINT({k},0,{axis})" for k in (2, 4, 6) for axis in (2, 3)] + ["ACCX(50)", "ACCY(50)"]
    wanted = [Reference_Variable(id=900 + k, expr=text) for k, text in enumerate(texts)]
    port = Control_PlantOutput(id=9, label="pins", variable_id_list=tuple(v.id for v in wanted))
    plant = Plant.from_model(Model.build([*elements, *wanted, port]), coordinates=coordinates)
    fine, coarse = (run(plant, log_at=TIMES, rtol=tol)["plant.pins"] for tol in (1e-10, 1e-8))
    on_coupler = fine[:, 0:6:2] + 1j * fine[:, 1:6:2]
    needed = fine[:, 6] + 1j * (fine[:, 7] + overconstrained.G)
    assert on_coupler.sum(axis=1) == pytest.approx(needed, abs=1e-9)
    assert np.ptp(on_coupler.real, axis=0).min() > 1.0
    assert fine == pytest.approx(coarse, abs=1e-5)


def test_many_joints_that_repeat_others_are_told_in_a_few_lines():
    with pytest.warns(PlantWarning, match="motion unaffected") as caught:
        plant = Plant.from_model(n_four_bar(24))
    *told, last = [str(w.message) for w in caught]
    assert len(told) == 10 and plant.info()["dof"] == 1
    assert "and 13 more up to" in last  # of 24 windows each closes one loop
