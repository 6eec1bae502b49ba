"""Modes of linear models against closed forms, and linear analyses of decks."""

from __future__ import annotations

from itertools import pairwise

import control
import numpy as np
import pytest
from scipy.linalg import eigh

from blocks.errors import PlantloopError
from cosim import linearize
from cosim.analysis.modes import modes_of
from cosim.deck import run_deck
from plant import Plant
from plant.elements import Model
from tests.helpers.checked import closed_form, independent
from tests.helpers.decks import ALONG_Y, body, deck, joint, marker, pendulum, simulate, slider
from tests.helpers.plants import deck as shipped

pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")
LINEAR = simulate("Linear")


@pytest.fixture(params=["joint", "absolute"])
def coordinates(request):
    return request.param


def frequencies(model, coordinates, commands=LINEAR, **options):
    """[rad/s], lowest first."""
    run = run_deck(deck(model, commands, **options), coordinates=coordinates)
    return np.array([2 * np.pi * m.frequency for m in run.linear[-1].modes.modes]), run


def test_a_pendulum(checked, coordinates):
    omega, run = frequencies(pendulum(0.0), coordinates)
    known, law = [np.sqrt(2 * 9.81 * 0.5 / (0.1 + 2 * 0.25))], closed_form("sqrt(m g l / (I + m l^2))")
    checked(omega, known, "pendulum", "frequency", law, rtol=1e-12)
    assert run.linear[0].modes.modes[0].damping == pytest.approx(0.0, abs=1e-12)


def test_a_double_pendulum(checked, coordinates):
    """Two equal point masses on massless rods: omega^2 = g/L (2 -+ sqrt 2)."""
    tiny, length = 1e-9, 0.8
    model = marker(11, 1, axes=ALONG_Y) + body(2, 1.0, tiny, 0.0, 0.0, -length)
    model += marker(21, 2, axes=ALONG_Y) + marker(22, 2, z=-length, axes=ALONG_Y)
    model += body(3, 1.0, tiny, 0.0, 0.0, -2 * length) + marker(31, 3, z=-length, axes=ALONG_Y)
    model += joint(1, "REVOLUTE", 21, 11, "first") + joint(2, "REVOLUTE", 31, 22, "second")
    omega, run = frequencies(model, coordinates)
    known, law = 9.81 / length * (2 + np.array([-1, 1]) * np.sqrt(2)), closed_form("g/L (2 -+ sqrt 2)")
    checked(omega**2, known, "double pendulum of points", "squared frequencies", law, rtol=1e-7)
    if coordinates == "joint":  # angles of the second relative to the first: sqrt 2 - 1 and -sqrt 2 - 1
        ratios = [m.shape[1] / m.shape[0] for m in run.linear[0].modes.modes]
        assert np.real(ratios) == pytest.approx([np.sqrt(2) - 1, -np.sqrt(2) - 1], rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_a_chain_of_masses_and_springs(checked, coordinates, damping):
    """Five equal masses between two walls: omega_k = 2 sqrt(k/m) sin(k pi / 12); damping goes with k."""
    n, mass, k = 5, 2.0, 300.0
    model = marker(11, 1)
    for i in range(n):
        model += body(2 + i, mass, 0.1, 0.0, 0.0, float(i + 1)) + marker(101 + i, 1, z=float(i + 1))
        model += joint(1 + i, "TRANSLATIONAL", 10 * (2 + i), 101 + i)
    ends = [11, *(10 * (2 + i) for i in range(n)), 150]
    model += marker(150, 1, z=float(n + 1))
    for i, (one, other) in enumerate(pairwise(ends), start=1):
        model += (
            f'<Force_SpringDamper id="{i}" type="TRANSLATIONAL" i_marker_id="{other}" j_marker_id="{one}" '
            f'stiffness="{k}" damping="{damping}" length="1"/>'
        )
    omega, run = frequencies(model, coordinates, gravity=0.0)
    exact = 2 * np.sqrt(k / mass) * np.sin(np.arange(1, n + 1) * np.pi / (2 * (n + 1)))
    law = closed_form("2 sqrt(k/m) sin(k pi / 12)")
    checked(omega, exact, "five masses and springs", "frequencies", law, rtol=1e-10)
    ratios = [m.damping for m in run.linear[0].modes.modes]
    checked(ratios, damping / k * exact / 2, "five masses and springs", "damping ratios", law, atol=1e-12)


def test_the_table_of_two_masses(checked):
    """m1 = 1 on k1 = 200 to the wall, m2 = 2 on k2 = 100 to m1: by a generalised eigenvalue problem."""
    model = marker(11, 1) + body(2, 1.0, 0.1, 0.0, 0.0, 1.0) + body(3, 2.0, 0.1, 0.0, 0.0, 2.0)
    model += marker(12, 1, z=1.0) + marker(13, 1, z=2.0)
    model += joint(1, "TRANSLATIONAL", 20, 12, "a") + joint(2, "TRANSLATIONAL", 30, 13, "b")
    springs = [(1, 20, 11, 200.0), (2, 30, 20, 100.0)]
    for id, i, j, k in springs:
        model += (
            f'<Force_SpringDamper id="{id}" type="TRANSLATIONAL" i_marker_id="{i}" j_marker_id="{j}" '
            f'stiffness="{k}" damping="0" length="1"/>'
        )
    (_, run) = frequencies(model, "joint", gravity=0.0)
    modes = run.linear[0].modes
    squares, shapes = eigh([[300.0, -100.0], [-100.0, 100.0]], np.diag([1.0, 2.0]))
    eigen = independent("scipy.linalg.eigh")
    assert modes.states == ("a_q", "b_q", "a_qd", "b_qd")
    for mode, square, shape in zip(modes.modes, squares, shapes.T, strict=True):
        checked(mode.frequency, np.sqrt(square) / (2 * np.pi), "two masses", "frequencies", eigen, rtol=1e-12)
        checked(
            mode.shape[1] / mode.shape[0], shape[1] / shape[0], "two masses", "mode shapes", eigen, rtol=1e-9
        )
        assert mode.shape[2] / mode.shape[0] == pytest.approx(mode.eigenvalue, rel=1e-9)
        assert np.abs(mode.shape).max() == pytest.approx(1.0)
    lines = modes.table().splitlines()
    assert lines[0].split() == ["mode", "real", "[1/s]", "imag", "[1/s]", "freq", "[Hz]", "damping"]
    assert [float(line.split()[3]) for line in lines[1:]] == pytest.approx(
        np.sqrt(squares) / (2 * np.pi), rel=1e-5
    )
    assert "mode 2: " in modes.shapes() and "b_qd" in modes.shapes()
    assert sorted(modes.eigenvalues.imag) == pytest.approx(sorted([*np.sqrt(squares), *-np.sqrt(squares)]))


def test_real_and_growing_modes():
    model = control.ss(np.diag([-2.0, 3.0]), np.zeros((2, 1)), np.zeros((1, 2)), 0)
    modes = modes_of(model)
    assert [m.eigenvalue for m in modes.modes] == [-2.0, 3.0]
    assert [m.damping for m in modes.modes] == [1.0, -1.0]
    assert [m.frequency for m in modes.modes] == [0.0, 0.0]
    assert not modes.stable


@pytest.mark.parametrize(("slowest", "stable"), [(-0.3, True), (-1e-9, True), (0.0, False), (1e-9, False)])
def test_stable_is_what_decays_however_slowly(slowest, stable):
    zeros = np.zeros((2, 1)), np.zeros((1, 2))
    assert modes_of(control.ss(np.diag([-2.0, slowest]), *zeros, 0)).stable is stable


def test_a_sampled_model_has_no_modes_in_hertz():
    with pytest.raises(PlantloopError, match="modes of a sampled model"):
        modes_of(control.ss([[0.5]], [[1.0]], [[1.0]], [[0.0]], 0.1))


# --- A, B, C, D of a deck -------------------------------------------------------------------------------
def with_commands(path, commands):
    text = path.read_text()
    head, _, _ = text.partition("<Command>")
    return f"{head}<Command>{commands}</Command></{text.rpartition('</')[2]}".encode()


def test_the_matrices_are_those_of_linearize(coordinates):
    path = shipped("inverted_pendulum.xml")
    run = run_deck(with_commands(path, LINEAR), coordinates=coordinates)
    expected, found = linearize(Plant.read(path, coordinates=coordinates)), run.linear[0].model
    for name in "ABCD":
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
    assert found.state_labels == expected.state_labels
    assert found.input_labels == expected.input_labels


def test_after_a_simulation_it_is_about_the_state_reached():
    path = shipped("inverted_pendulum_ic01.xml")
    run = run_deck(with_commands(path, simulate("Transient", end_time=0.5) + LINEAR))
    expected = linearize(Plant.read(path), at=states_of(run))
    assert np.allclose(run.linear[0].model.A, expected.A, rtol=1e-12, atol=1e-12)
    start = linearize(Plant.read(path))
    assert not np.allclose(run.linear[0].model.A, start.A, rtol=1e-3)


def states_of(run):
    links = run.plant.mechanism.links
    found = {f"{link.name}.q": q for link, q in zip(links, run.plant.start, strict=True) if len(q)}
    return found | {f"{link.name}.qd": v for link, v in zip(links, run.plant.rates, strict=True) if len(v)}


def test_ports_are_chosen_by_id():
    path = shipped("inverted_pendulum.xml")
    plant = Plant.read(path)
    (first, second) = plant.outputs.values()
    chosen = f'<Param_Linear poutput_id="{second.id}"/>'
    found = run_deck(with_commands(path, chosen + LINEAR)).linear[0].model
    whole = linearize(plant)
    assert found.output_labels == [n for n in whole.output_labels if n.startswith(second.name)]
    assert np.array_equal(found.C, whole.C[first.size :])


PORTS = (
    '<Reference_Variable id="1" label="push" expr="{push}"/>'
    '<Control_PlantInput id="1" label="push" num_element="1" variable_id_list="1"/>'
    '<Force_Vector_OneBody id="9" type="FORCEONLY" marker_id="20" fz_expression="VARVAL(1)**2"/>'
    '<Reference_Variable id="2" expr="DZ(20)"/><Reference_Variable id="3" expr="VZ(20)"/>'
    '<Control_PlantOutput id="1" label="z" num_element="1" variable_id_list="2"/>'
)


def test_inputs_stand_at_their_own_expressions(coordinates):
    """m z'' = u^2 - k z about u = 3: the slope is 2 u / m."""
    run = run_deck(deck(slider() + PORTS.format(push="3"), LINEAR), coordinates=coordinates)
    m = run.linear[0].model
    assert m.B[1, 0] == pytest.approx(2 * 3 / 2.0, rel=1e-12)
    given = run_deck(
        deck(slider() + PORTS.format(push="3"), LINEAR), coordinates=coordinates, inputs={"push": 5.0}
    )
    assert given.linear[0].model.B[1, 0] == pytest.approx(2 * 5 / 2.0, rel=1e-12)


def test_states_of_a_users_choice():
    """x = (VZ, DZ - 3 VZ): similar to the model's own."""
    more = (
        '<Reference_Variable id="4" expr="DZ(20)-3*VZ(20)"/>'
        '<Reference_PlantState id="1" num_element="2" variable_id_list="3, 4"/>'
    )
    model = slider(damping=4.0) + PORTS.format(push="3") + more
    own = run_deck(deck(model, LINEAR)).linear[0].model
    chosen = run_deck(deck(model, '<Param_Linear pstate_id="1"/>' + LINEAR)).linear[0].model
    S = np.array([[0.0, 1.0], [1.0, -3.0]])
    assert np.allclose(chosen.A, S @ own.A @ np.linalg.inv(S), atol=1e-12)
    assert np.allclose(chosen.B, S @ own.B, atol=1e-12)
    assert np.allclose(chosen.C @ S, own.C, atol=1e-12)
    assert chosen.state_labels == ["variable_3", "variable_4"]


def test_states_that_are_none():
    more = '<Reference_PlantState id="1" num_element="2" variable_id_list="2, 5"/>'
    more += '<Reference_Variable id="5" expr="2*DZ(20)"/>'
    model = slider() + PORTS.format(push="0") + more
    with pytest.raises(PlantloopError, match="pstate_id=1: the 2 variables do not make the 2 states"):
        run_deck(deck(model, '<Param_Linear pstate_id="1"/>' + LINEAR))


def test_damping_may_be_left_out_of_the_modes(checked):
    model = slider(damping=6.0)
    damped = run_deck(deck(model, LINEAR)).linear[0].modes.modes[0]
    free = run_deck(deck(model, '<Param_Linear disable_damping="TRUE"/>' + LINEAR)).linear[0]
    ratio = 6.0 / (2 * np.sqrt(50 * 2.0))
    checked(
        damped.damping, ratio, "damped slider", "damping ratio", closed_form("c / (2 sqrt(k m))"), rtol=1e-10
    )
    assert free.modes.modes[0].damping == pytest.approx(0.0, abs=1e-14)
    assert free.modes.modes[0].frequency == pytest.approx(np.sqrt(25.0) / (2 * np.pi), rel=1e-12)
    assert free.model.A[1, 1] == pytest.approx(-3.0)  # the model itself keeps it


@pytest.mark.parametrize("stiffness", ["", 'k_matrix="0 0 30 0 0 0"'])
def test_damping_of_a_field_too(stiffness):
    field = f'<Force_Field id="1" i_marker_id="21" j_marker_id="11" C_matrix="0 0 6 0 0 0" {stiffness}/>'
    free = run_deck(deck(slider() + field, '<Param_Linear disable_damping="TRUE"/>' + LINEAR)).linear[0]
    (mode,) = free.modes.modes
    assert mode.damping == pytest.approx(0.0, abs=1e-14)
    assert mode.frequency == pytest.approx(np.sqrt((80 if stiffness else 50) / 2) / (2 * np.pi), rel=1e-12)
    assert free.model.A[1, 1] == pytest.approx(-3.0)


def test_files(tmp_path):
    model = slider(damping=6.0) + PORTS.format(push="3")
    model_file = tmp_path / "spring.xml"
    model_file.write_bytes(deck(model, LINEAR + LINEAR))
    run = run_deck(model_file, out=tmp_path / "out")
    written = {file.name for file in (tmp_path / "out").iterdir()}
    names = {f"spring{s}" for s in (".a", ".b", ".c", ".d", ".tag", ".eig", ".tab")}
    assert written == names | {name.replace("spring", "spring_2") for name in names}
    ss = run.linear[0].model
    for name in "ABCD":
        assert np.array_equal(np.loadtxt(tmp_path / f"out/spring.{name.lower()}", ndmin=2), getattr(ss, name))
    assert "states: guide_q, guide_qd" in (tmp_path / "out/spring.tag").read_text()
    none = '<Param_Linear write_matlabfiles="NO" write_eig_info="FALSE"/>'
    run_deck(deck(model, none + LINEAR), out=tmp_path / "none")
    assert not list((tmp_path / "none").iterdir())


def test_a_model_of_python_elements_runs_too():
    from plant.elements import Simulate
    from plant.formats.motionsolve.reader import read_model

    read = read_model(deck(pendulum(0.0)))
    elements = [e for same in read.elements.values() for e in same.values()]
    model = Model.build([*elements, Simulate(analysis_type="LINEAR")], "by hand")
    assert run_deck(model).linear[0].model.nstates == 2


def test_a_model_that_moves_is_told():
    text = run_deck(deck(pendulum(0.7), LINEAR)).steps[0].text
    assert "not at rest (the rate of hinge.qd is 10.5), so eigenvalues depend on the choice" in text
    assert "not at rest" not in run_deck(deck(pendulum(0.0), LINEAR)).steps[0].text
    moving = pendulum(0.0).replace('label="rod"', 'label="rod" w_ic_y="1"')
    assert "(the rate of hinge.q is 1)" in run_deck(deck(moving, LINEAR)).steps[0].text
    after = run_deck(deck(moving, simulate("Static") + LINEAR)).steps[1].text
    assert "not at rest" not in after


def test_shapes_are_magnitudes_and_phases_beside_the_largest():
    """x1 = -2 x2 in the mode at -1, where x3 has no part; x3 alone in the mode at -4."""
    A = np.array([[-1.0, 0.0, 0.0], [-1.0, -3.0, 0.0], [0.0, 0.0, -4.0]])
    model = control.ss(A, np.zeros((3, 1)), np.zeros((1, 3)), 0, states=["one", "other", "x"])
    lines = modes_of(model).shapes().splitlines()
    assert lines[0] == "mode 1: 0 Hz, damping 1.000000"
    assert [line.split() for line in lines[1:4]] == [
        ["one", "1.000000e+00", "0.000"],
        ["other", "5.000000e-01", "180.000"],
        ["x", "0.000000e+00", "0.000"],
    ]
    assert [float(line.split()[1]) for line in lines[-3:]] == [0.0, 0.0, 1.0]
    assert {line.index("e+00") for line in lines[1:4:2]} == {lines[1].index("e+00")}
