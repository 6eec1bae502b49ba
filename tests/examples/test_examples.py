"""Every example, every scenario and the code in the README run, and give the answers they claim."""

import functools
import re
from pathlib import Path

import numpy as np
import pytest

from cosim import Result
from cosim.scenario import load_scenario
from cosim.scenario.report import findings, write
from tests.helpers.example_runs import EXAMPLES, module, ran

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted(path for path in EXAMPLES.rglob("*.py") if "\ndef main(" in path.read_text(encoding="utf-8"))
SCENARIOS = sorted(EXAMPLES.rglob("*.toml"))
PNG = b"\x89PNG"


def named(path: Path) -> str:
    return str(path.relative_to(EXAMPLES))


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Examples run from any folder and leave nothing behind."""
    monkeypatch.chdir(tmp_path)


BESIDE = "".join(
    (Path(__file__).parent / name).read_text(encoding="utf-8")
    for name in ("test_control_examples.py", "test_studies.py")
)  # they run others


LONG = ("fmu_pendulum/in_fmpy.py", "four_bar/stiffness.toml", "inverted_pendulum/robustness.toml")


def marked(path):
    """A file of the examples, as one that is slow where it is."""
    return pytest.param(path, marks=pytest.mark.slow) if named(path) in LONG else path


@pytest.mark.parametrize(
    "path", [marked(p) for p in SCRIPTS if f'ran("{named(p)}")' not in BESIDE], ids=named
)
def test_a_script_returns_its_results_and_prints_a_known_answer(path):
    ran(named(path))


@pytest.mark.slow
def test_a_fit_finds_the_numbers_its_data_came_from():
    """Within four standard deviations of what noise of 0.01 rad makes of 60 angles."""
    fit = ran("parameter_fit.py")[1]
    assert fit.success and fit.nfev < 20
    assert (np.abs(fit.x - (0.8, 0.15)) < (0.0016, 0.0056)).all()


@pytest.mark.slow
@pytest.mark.parametrize("path", [marked(path) for path in SCENARIOS], ids=named)
def test_a_scenario_runs_and_passes_its_checks(path, tmp_path):
    scenario = load_scenario(path)
    result = scenario.run()
    assert result.complete
    found = findings(scenario, result)
    assert found
    assert [f for f in found if f.passed is False] == []
    files = write(scenario, result, tmp_path / "out", plots=True)
    assert all(file.read_bytes().startswith(PNG) for file in files[1:])
    assert len(files) > 1


def drawing_scripts() -> list[Path]:
    """Scripts that take the name of a picture."""
    return [path for path in SCRIPTS if "sys.argv" in path.read_text(encoding="utf-8")]


GIF, FOLDERS = ("animation.py",), ("four_bar.py",)


@pytest.mark.slow
@pytest.mark.parametrize("path", drawing_scripts(), ids=named)
def test_a_script_draws_where_it_is_told(path, tmp_path):
    if path.name in FOLDERS:
        module(path).main(str(tmp_path / "out"))
        names = {file.name for file in (tmp_path / "out").iterdir()}
        bars = {f"bar_{k}.png" for k in (1, 2, 3)}
        assert names == bars | {"torque.png", "reaction.png", "residual.png"}
        assert all((tmp_path / "out" / name).read_bytes().startswith(PNG) for name in names)
    elif path.name in GIF:
        module(path).main(str(tmp_path / "out.gif"), until=0.2)
        assert (tmp_path / "out.gif").read_bytes().startswith(b"GIF8")
    else:
        module(path).main(str(tmp_path / "out.png"))
        assert (tmp_path / "out.png").read_bytes().startswith(PNG)


def test_every_example_has_a_line_in_the_table():
    table = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert [named(path) for path in [*SCRIPTS, *SCENARIOS] if f"| `{named(path)}` |" not in table] == []


def test_the_four_bar_gives_the_known_force_and_rests_at_the_known_angles():
    four_bar, r = ran("four_bar/four_bar.py")
    assert np.isclose(np.hypot(*r["plant.joint_3_reaction"][0, :2]), four_bar.REACTION, rtol=0, atol=1e-4)
    angles = [r[f"plant.bar_{k}"][-1, 2] for k in (1, 2, 3)]
    assert np.allclose(angles, four_bar.ANGLES, rtol=0, atol=1e-9)
    known = [
        -1760.196074913394,
        640.6589777406765,
        374.6323076244357,
    ]  # 9 coordinates and multipliers by hand
    assert np.allclose(r["plant.bar_1"][0, 6:], known, rtol=1e-9)
    assert np.abs(r["plant.gaps"]).max() < 1e-10


def test_the_bead_and_the_particle_are_where_they_should_be():
    bead, r = ran("bead_on_catenary/bead_on_catenary.py")
    assert np.isclose(r["plant.bead"][-1, bead.X], bead.X_KNOWN, rtol=0, atol=1e-9)
    particle, r = ran("bead_on_catenary/bouncing_particle.py")
    rests = r["plant.particle"][-1, [particle.X, particle.Z]]
    assert np.allclose(rests, [0.0, particle.Z_REST], rtol=0, atol=1e-6)


def test_the_particle_slides_down_the_slope_as_if_it_were_free():
    slope, r = ran("bead_on_catenary/sloping_line.py")
    x, y = r["plant.particle"].T
    t = np.linspace(0, slope.UNTIL, len(x))
    assert np.allclose(x + y, slope.START.sum() - slope.G * t**2 / 2, rtol=0, atol=1e-8)
    depth = 1 + x - y
    assert depth.max() > 2 * slope.DEPTH_KNOWN and np.isclose(depth[-1], slope.DEPTH_KNOWN, atol=1e-5)
    assert depth[t > 0.5].min() < -0.05  # it bounced


def test_four_ways_to_the_kinetic_energy():
    throw, r = ran("reference_variable/kinetic_energy.py")
    E, z = r["plant.kinetic_energy"], r["plant.height"][:, 0]
    assert np.allclose(E[:, 0], E[:, 1], rtol=1e-14) and np.allclose(E[:, 2], E[:, 3], rtol=1e-14)
    assert np.allclose(E[:, 2], throw.START - throw.MASS * throw.G * (z - 1.0), rtol=1e-9)
    assert np.isclose(z[-1], 1.0 + 3.0 * 3.0 - throw.G * 9 / 2, rtol=0, atol=1e-9)
    assert 0.005 < np.abs(E[:, 0] - E[:, 2]).max() < 0.1  # global axes are not the body's for long


def test_the_steering_gear_has_the_ratio_of_the_page():
    steering, r = ran("reference_variable/steering.py")
    angle, ratio, rate = r["plant.steering"].T
    known = {0: 1000, 100: 1000, 110: 1052, 120: 1176, 125: 1250, 140: 1448, 150: 1500, 200: 1500}
    for degrees, value in known.items():
        assert np.isclose(ratio[round(degrees)], value, rtol=1e-9) and np.isclose(angle[degrees], degrees)
    assert np.isclose(rate[-1], steering.RATE_KNOWN, rtol=1e-6)


def test_the_sampled_subroutine_is_the_sampled_controller():
    sampled, r = ran("reference_variable/sampled.py")
    n = sampled.PER_SAMPLE
    mass, force = r["plant.mass"][::n], r["plant.force"][:-1].reshape(-1, n)
    assert np.allclose(mass, sampled.known(), rtol=0, atol=1e-13)
    assert np.abs(mass[-1]).max() < 1e-3 < np.abs(mass[10]).max()
    assert np.all(np.ptp(force, axis=1) == 0) and np.all(np.diff(force[:30, 0]) != 0)  # held, then set anew


def test_both_soft_angles_swing_as_the_closed_form():
    soft, r = ran("reference_variable/soft_angle.py")
    for angle in r["plant.angles"].T:
        assert np.allclose(angle, soft.closed_form(r.time), rtol=0, atol=1e-9)
    assert np.allclose(r["plant.violation"][:, 0], r["plant.angles"][:, 0] - soft.WANTED, rtol=0, atol=1e-14)


def test_the_geared_robot_keeps_work_and_energy_equal():
    planar2g, r = ran("planar2g.py")
    q1 = r["robot.q"][:, 0]
    assert np.isclose(q1[-1], planar2g.Q1_KNOWN, rtol=0, atol=1e-7)
    assert np.allclose(r["robot.KE"][:, 0], q1, rtol=0, atol=1e-7)


def test_four_procedures_and_the_account_inside_agree():
    audit, found = ran("energy_audit.py")
    for energy in found.energies:
        assert np.allclose(energy, found.account.stored, rtol=0, atol=1e-10)
        assert np.allclose(energy, audit.KNOWN, rtol=1e-9)  # rtol 1e-11 of the run over 5 s


def test_the_torques_of_the_robot_are_those_of_inverse_dynamics():
    robot, r = ran("robot_2d/robot_2d.py")
    for t, known in robot.KNOWN.items():
        assert np.allclose(r.at(t, "plant.motor_torques"), known, rtol=0, atol=1e-6)


def test_the_squeezer_gives_the_published_numbers():
    squeezer, r = ran("andrews_squeezer/andrews_squeezer.py")
    for kind, rtol in enumerate((2e-9, 2e-7, 3e-6)):  # what the published digits are good for
        assert np.allclose(squeezer.angles(r, kind)[-1], squeezer.PUBLISHED[kind], rtol=rtol, atol=0)
    assert np.allclose(-r["plant.pins"][-1, 4:10], squeezer.PUBLISHED[3], rtol=3e-6, atol=0)


@functools.cache
def scenario_result(name: str) -> Result:
    return load_scenario(EXAMPLES / "inverted_pendulum" / name).run()


def test_the_scenario_starts_with_the_rod_leaning_to_minus_x():
    result = scenario_result("scenario.toml")
    assert np.isclose(result.at(0.0, "plant.pendulum[0]"), 0.1, atol=1e-15)


def test_the_scenario_and_the_python_version_are_the_same_loop():
    scenario, script = scenario_result("scenario.toml"), ran("inverted_pendulum/python_version.py")[1]
    for name in ("plant.pendulum", "plant.slider", "plant.control_force", "controller.u"):
        # rtol 1e-10 against the default 1e-8
        assert np.allclose(scenario[name], script[name], rtol=1e-6, atol=1e-7)


def test_the_disturbance_gives_the_known_motion():
    """Lagrange's equations in two coordinates at rtol 1e-12: theta, omega, x, v."""
    result = scenario_result("disturbance.toml")
    known = {
        1.05: (-0.00708287592483, -0.0491581370829, 0.00330530297534, 0.16900748586),
        1.5: (0.0493059069678, -0.0301478423792, 0.115230196486, 0.0578203723195),
    }
    for t, values in known.items():
        assert np.allclose(result.at(t, "y.out"), values, rtol=0, atol=1e-9)


def test_the_holds_give_the_known_angles(tmp_path):
    holds = module(EXAMPLES / "inverted_pendulum" / "holds.py")
    results = holds.main(str(tmp_path / "holds.png"))
    for order, theta in holds.THETA_REFERENCE.items():
        assert np.isclose(results[order].at(0.5, "plant.pendulum[0]"), theta, rtol=0, atol=1e-9)
    assert (tmp_path / "holds.png").read_bytes().startswith(PNG)


def test_the_designed_poles_are_those_of_the_diagram_and_of_its_motion():
    design, found = ran("inverted_pendulum/design.py")
    assert np.allclose(found.K, design.K_REFERENCE, rtol=1e-8)
    assert np.allclose(found.closed, found.designed, rtol=0, atol=1e-12)
    assert np.allclose(found.simulated, found.designed, rtol=0, atol=1e-7)  # the angle is small, not zero


def readme_python() -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.slow
def test_the_code_in_the_readme_runs(tmp_path):
    (tmp_path / "examples").symlink_to(EXAMPLES)
    names: dict[str, object] = {}
    for code in readme_python():  # each goes on from the one before
        exec(compile(code, "README.md", "exec"), names)
    result = names["r"]
    assert isinstance(result, Result)
    expected = ran("inverted_pendulum/python_version.py")[1]
    assert np.array_equal(result["plant.pendulum"], expected["plant.pendulum"])
    assert (tmp_path / "pendulum.png").read_bytes().startswith(PNG)
    assert (tmp_path / "pendulum.html").stat().st_size > 1e6
    assert (tmp_path / "pendulum.fmu").exists()


def test_the_code_in_the_readme_is_the_python_version():
    """Line for line, but for where the model lies."""
    code = readme_python()[0]
    script = (EXAMPLES / "inverted_pendulum/python_version.py").read_text(encoding="utf-8")
    script_lines = {line.strip() for line in script.splitlines()}
    wiring = [line for line in code.splitlines() if line.startswith(("d.", "y =", "c =", "r = "))]
    assert len(wiring) == 8
    assert [line for line in wiring if line not in script_lines] == []


def test_the_picture_in_the_readme_is_there():
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert pictures
    assert all((ROOT / picture).read_bytes().startswith(PNG) for picture in pictures)


def test_the_pendulum_is_swung_up_and_caught_at_the_first_try():
    found = ran("swing_up/swing_up.py")[1]
    assert found.caught < 5.0 and found.catches == 1.0
    assert found.rest < 1e-6  # rad


def test_the_thermostat_switches_when_the_closed_form_does():
    found = ran("thermostat/thermostat.py")[1]
    assert len(found.found) == 10
    assert found.found == pytest.approx(found.known, abs=1e-5)
