"""Every example and reference problem on both engines: fixed steps bit for bit, adaptive ones closely."""

from __future__ import annotations

import importlib.util
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from blocks import Clock, Function, Hold, Integrator, RateTransition, Sine, StateSpace
from cosim import Diagram, Result, simulate
from cosim.scenario import load_scenario
from plant import Plant, PlantWarning
from tests.helpers.cases import MODELS, build, case_ids, expected
from tests.helpers.compilers import users_compiler
from tests.helpers.loops import n_four_bar
from tests.helpers.plants import DATA
from tests.helpers.runs import build as wired
from tests.systems.test_bouncing_ball import ball
from tests.systems.test_cosim_two_mass import two_mass
from tests.systems.test_cruise_control import cruise
from tests.systems.test_discrete_exact import double_integrator
from tests.systems.test_light_cartpole import cartpole as light_cartpole
from tests.systems.test_mechanisms import REFERENCES, cartpole
from tests.systems.test_planar2g import robot
from tests.systems.test_servo import arm

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")
CLOSE = 1e-6  # of a signal's size: adaptive steps of both engines may differ by rounding, and so in number


def same_bits(d: Diagram, until: float, step: float = 1e-3, compiled: str = "native", **options) -> None:
    """A fixed-step run gives the same bits in every signal, tick and event."""
    runs = [
        simulate(d, until, solver="rk4", step=step, engine=engine, log_every=until / 20, **options)
        for engine in ("reference", compiled)
    ]
    reference, native = runs
    assert native.settings["engine"].value == "native" and len(reference.signals) > 0
    assert [(e.name, e.time) for e in native.events] == [(e.name, e.time) for e in reference.events]
    for name in reference:
        assert np.array_equal(reference[name], native[name]), name
    for name in reference.ticks_of:
        assert np.array_equal(reference.ticks(name).values, native.ticks(name).values), name


def close(reference: Result, native: Result) -> None:
    """Two adaptive runs agree."""
    assert np.array_equal(reference.time, native.time)
    assert [e.name for e in native.events] == [e.name for e in reference.events]
    for name in reference:
        size = max(1.0, float(np.abs(reference[name]).max(initial=0.0)))
        assert np.abs(reference[name] - native[name]).max(initial=0.0) < CLOSE * size, name


@pytest.fixture(autouse=True)
def optimised_as_for_users(monkeypatch):
    """Whatever $CC says for the other tests."""
    monkeypatch.setenv("CC", users_compiler())


# --- examples ---------------------------------------------------------------------------------------------
SCRIPTS = sorted(p for p in (ROOT / "examples").rglob("*.py") if "simulate(d," in p.read_text("utf-8"))
SCENARIOS = sorted((ROOT / "examples").rglob("*.toml"))
CALLS_PYTHON = (
    "sampled",
    "two_mass_oscillator",
    "units_here",
)  # examples whose compiled code calls a Python function: refused by engine="native"


@pytest.mark.slow
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_script(path, monkeypatch, tmp_path):
    """All runs of a script, cut to a second."""
    monkeypatch.chdir(tmp_path)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    calls = []

    def recorded(d, until, **options):
        calls.append((d, until, options))
        return simulate(d, until, **options)

    monkeypatch.setattr(example, "simulate", recorded)
    example.main()
    assert calls
    compiled = "auto" if path.stem in CALLS_PYTHON else "native"
    for d, until, options in calls:
        end = min(until, 1.0)
        close(*(simulate(d, end, **options, engine=engine) for engine in ("reference", compiled)))
        same_bits(d, min(until, 0.05), 1e-4, compiled, initial=options.get("initial"))


@pytest.mark.slow
@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_scenario(path):
    scenario = load_scenario(path)
    close(*(scenario.run(engine=engine) for engine in ("reference", "native")))
    same_bits(scenario.diagram(), 0.5)


# --- models with published answers ------------------------------------------------------------------------
CASES = sorted(path.name.split(".")[0] for path in MODELS.glob("*.expected.json"))


@pytest.mark.slow
@pytest.mark.parametrize("model", [name for name in CASES if name != "robot_2d"])  # that one is a plant below
def test_model(model):
    """The first case of each deck."""
    known = expected(model)
    firsts = {file: name for name, file in reversed(case_ids(model))}
    for file, name in firsts.items():
        case = next(c for c in known["cases"] if c["name"] == name)
        d, _ = build(Plant.read(MODELS / file, trust=True), known, case)
        end = min(case["times"][-1], 1.0)
        close(*(simulate(d, end, engine=engine, log_every=end / 50) for engine in ("reference", "native")))
        same_bits(d, min(end, 0.05), 1e-4)


def plants() -> dict[str, partial]:
    """Decks of the reference problems, in both coordinate choices where both apply."""
    decks = [*sorted((DATA / "plants").glob("*.xml")), MODELS / "robot_2d.xml"]
    found = {path.stem: partial(Plant.read, path) for path in decks}
    made = {"windows": partial(n_four_bar, 2), "servo": arm}
    found |= {
        name: partial(lambda make, **o: Plant.from_model(make(), **o), make) for name, make in made.items()
    }
    return found


POINTS = ("simple_pendulum", "double_pendulum_points")  # without inertia: joint coordinates only
PLANTS = [
    (name, coordinates)
    for name in plants()
    for coordinates in ("joint", "absolute")
    if coordinates == "joint" or name not in POINTS
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "coordinates"), PLANTS)
def test_plant(name, coordinates):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlantWarning)
        plant = plants()[name](coordinates=coordinates)
    d = Diagram(name)
    d.add("plant", plant)
    for port in plant.inputs:
        d.ground(f"plant.{port}")
    end = 0.02 if name == "andrews" else 0.25
    close(*(simulate(d, end, engine=engine) for engine in ("reference", "native")))
    same_bits(d, end / 10, end / 500)


def multirate() -> Diagram:
    blocks = {
        "w1": Hold(sample=0.02),
        "w2": RateTransition(0.05),
        "t": Clock(),
        "f": Function(lambda t: t**2),
    }
    blocks |= {"z": Integrator(), "y": Integrator()}
    return wired("t.y>f.t f.y>w1.u w1.y>w2.u w1.y>z.u w2.y>y.u", **blocks)


def lag(order: int) -> Diagram:
    blocks = {"r": Sine(), "h": Hold(order, sample=0.1), "y": StateSpace(-1.0, 1.0, 1.0)}
    return wired("r.y>h.u h.y>y.u", **blocks)


PROBLEMS = {
    "bouncing ball": (ball, 5.0),
    "cruise control": (cruise, 10.0),
    "two masses": (two_mass, 2.0),
    "two masses, zero order": (partial(two_mass, 0), 1.0),
    "two masses, first order": (partial(two_mass, 1), 1.0),
    "double integrator": (partial(double_integrator, [2.0, 2.5], 0.1), 3.0),
    "lag, zero order": (partial(lag, 0), 3.0),
    "lag, first order": (partial(lag, 1), 3.0),
    "multirate": (multirate, 1.0),
    "planar2g": (robot, 2.0),
    "light cart-pole": (light_cartpole, 0.4),
} | {
    f"cart-pole, {name}": (partial(cartpole, controller, order), 1.0)
    for name, (controller, order, _) in REFERENCES.items()
}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(PROBLEMS))
def test_problem(name):
    make, end = PROBLEMS[name]
    d = make()
    start = {"plant.hinge.q": 0.05} if name.startswith("cart-pole") else None
    close(*(simulate(d, end, engine=engine, initial=start) for engine in ("reference", "native")))
    same_bits(d, end, end / 1000, initial=start)


def test_no_reference_problem_is_left_out():
    """Expressions and audits are single values; nothing of them runs."""
    covered = {
        "A01_simple_pendulum": "simple_pendulum",
        "A02_n_four_bar": "windows",
        "A03_andrews_bodies": "andrews",
        "A03_andrews_squeezer": "andrews",
        "bead_catenary": "bead_on_catenary",
        "bouncing_ball": "bouncing ball",
        "cartpole_lqr_100Hz": "cart-pole, lqr_zoh",
        "cosim_two_mass": "two masses",
        "cruise_control": "cruise control",
        "discrete_exact": "double integrator",
        "double_pendulum": "double_pendulum_rods",
        "energy_audit": None,
        "expressions": None,
        "fourbar": "four_bar",
        "free_body_dzhanibekov": "dzhanibekov",
        "light_cartpole": "light cart-pole",
        "planar2g": "planar2g",
        "servo_constraint_2R": "servo",
    }
    assert set(covered) == {path.stem for path in (DATA / "reference").glob("*.json")}
    tested = {name for name, _ in PLANTS} | set(PROBLEMS) | {p.stem for p in MODELS.glob("*.xml")}
    assert {name for name in covered.values() if name} <= tested
