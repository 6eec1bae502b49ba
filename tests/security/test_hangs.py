"""Nothing a setting, a number or an equation can ask for hangs a run: it ends by itself, or when told."""

import threading

import numpy as np
import pytest

from blocks import Constant, Integrator, Sine, TransportDelay, UnitDelay
from blocks.errors import PlantloopError, SimulationError
from cosim import RunSettings, Simulation, simulate, simulate_many
from cosim.scenario import load_scenario
from tests.helpers.interrupts import ctrl_c
from tests.helpers.made import Made, chain

ENGINES = ["reference", "native"]
pytestmark = pytest.mark.timeout(60)


def growing(value=1.0):
    return chain(Constant(value), Integrator())


def grown(b):
    """x' = x^2, which ends at t = 1."""
    x = b.continuous("x", 1.0)
    b.derivative(x, x * x)
    b.output("y", x)


# --- settings have ranges ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "settings",
    [
        {"rtol": 1e-160}, {"rtol": np.inf}, {"rtol": 5e-324}, {"rtol": 1e4}, {"rtol": 1e300},
        {"rtol": 1e-160, "atol": 1e-160}, {"atol": 5e-324}, {"atol": np.inf}, {"atol": 1e305},
        {"solver": "rk4", "step": 1e-320}, {"solver": "euler", "step": 1e-19},
        {"solver": "rk4", "step": 1e19}, {"solver": "rk4", "step": np.inf},
        {"max_step": 1e-320}, {"max_step": 1e-19}, {"wall_limit": 0.0}, {"wall_limit": -1.0},
        {"wall_limit": np.nan}, {"wall_limit": "1"}, {"solver": "rodas4", "rtol": 1e-17},
        {"solver": "Radau", "rtol": 1e-17}, {"step": 10**400, "solver": "rk4"}, {"rtol": 10**400},
    ],
)  # fmt: skip
def test_settings_out_of_range_are_refused(settings, tmp_path):
    name = [*settings][-1] if "step" not in settings else "step"
    with pytest.raises(PlantloopError, match=r"expected a positive number"):
        RunSettings(**settings)
    value = settings[name]
    if isinstance(value, float) and 0 < value < np.inf:
        with pytest.raises(PlantloopError, match=r"It is from .* to "):
            RunSettings(**settings)
    if isinstance(value, float):
        lines = [f'{k} = "{v}"' if isinstance(v, str) else f"{k} = {v!r}" for k, v in settings.items()]
        (tmp_path / "s.toml").write_text(
            '[blocks.a]\ntype = "Constant"\nvalue = 1.0\n[run]\nuntil = 1.0\n' + "\n".join(lines)
        )
        with pytest.raises(PlantloopError, match=r"\[run\] .*expected a positive number"):
            load_scenario(tmp_path / "s.toml")


def test_ranges_leave_what_is_of_use():
    RunSettings(rtol=1e-16, atol=1e-300)
    RunSettings(rtol=1e3, atol=1e300, max_step=np.inf, wall_limit=np.inf)
    RunSettings(solver="rk4", step=1e-15)


# --- how long a run would take ----------------------------------------------------------------------------
LONG = {
    "step": (growing, 1e14, {"solver": "rk4", "step": 1.0}, r"takes 1e\+14 steps of step=1 s, more than"),
    "tiny step": (growing, 1.0, {"solver": "euler", "step": 1e-18}, "takes 1e.18 steps"),
    "max_step": (growing, 1.0, {"max_step": 1e-14}, "takes 1e.14 steps of max_step=1e-14 s"),
    "rate": (
        lambda: chain(Sine(sample=1e-9), UnitDelay(sample=1e-9)), 1e5, {}, r"takes 1e\+14 steps of its rate"
    ),
    "far": (lambda: chain(Sine(sample=1.0), UnitDelay(sample=1.0)), 1e300, {}, "takes 1e.300 steps"),
    "late": (growing, 1e308, {"solver": "rk4", "step": 1e18}, "takes 1e.290 steps"),
}  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", LONG)
def test_a_run_that_cannot_end_is_refused(case, engine):
    make, until, settings, text = LONG[case]
    with pytest.raises(PlantloopError, match=text):
        simulate(make(), until, engine=engine, log_at=[0.0], **settings)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_of_more_than_1e10_steps_says_so_and_can_be_interrupted(engine):
    text = r"takes 2e\+10 steps of step=1 s, more than 1e\+10.*wall_limit"
    with ctrl_c() as later, pytest.warns(UserWarning, match=text):
        under_way = {"progress": lambda t: later(0.1)}
        result = simulate(growing(), 2e10, engine=engine, solver="rk4", step=1.0, **under_way)
    assert not result.complete and "interrupted" in result.message


@pytest.mark.parametrize("engine", ENGINES)
def test_with_a_wall_limit_it_is_warned_of_and_ended(engine):
    make, until, settings, text = LONG["step"]
    with (
        pytest.warns(UserWarning, match=text + ".*wall_limit=0.2 ends it"),
        pytest.raises(SimulationError) as e,
    ):
        simulate(make(), until, engine=engine, wall_limit=0.2, log_at=np.arange(1e3), **settings)
    assert "reached its wall_limit of 0.2 s at t=" in str(e.value)
    assert e.value.result["b2.y"][:, 0] == pytest.approx(e.value.result.time, rel=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
def test_steps_too_small_to_move_a_late_time(engine):
    sim = Simulation(growing(), solver="rk4", step=1e18, engine=engine)
    sim.advance(1e18)
    late = Simulation(growing(), solver="rk4", step=1.0, engine=engine)
    late.restore(sim.snapshot())
    with pytest.raises(PlantloopError, match="too small to move the time"):
        late.advance(1e18 + 1024)


# --- wall_limit -------------------------------------------------------------------------------------------
def slow_loop():
    return chain(Sine(1.0, 1.0), Integrator())


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("settings", [{"solver": "rk4", "step": 1e-7}, {"max_step": 1e-7}])
def test_a_wall_limit_ends_a_run_with_its_result(engine, settings):
    every = np.arange(0, 100) * 1e-6
    with pytest.raises(SimulationError, match=r"reached its wall_limit of 0.3 s at t=\S+ s.*Raise") as caught:
        simulate(slow_loop(), 500.0, engine=engine, wall_limit=0.3, log_at=every, **settings)
    error = caught.value
    assert error.time > 0 and not error.result.complete and "wall_limit" in error.result.message
    t = error.result.time
    assert len(t) > 1 and error.result["b2.y"][:, 0] == pytest.approx(1 - np.cos(t), abs=1e-9)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_wall_limit_ends_ticks_as_well(engine):
    d = chain(Sine(1.0, 1.0, sample=1e-6), UnitDelay(sample=1e-6))
    with pytest.raises(SimulationError, match="reached its wall_limit"):
        simulate(d, 5000.0, engine=engine, wall_limit=0.3, log_at=[0.0], signals=["b1.y[0]"])


def test_a_wall_limit_counts_all_advances():
    sim = Simulation(slow_loop(), solver="rk4", step=1e-6, wall_limit=0.3, signals=[])
    sim.log([])
    with pytest.raises(SimulationError, match="wall_limit"):
        for k in range(1, 1000):
            sim.advance(0.3 * k)
    assert 0.3 < sim.time < 200.0


def test_a_wall_limit_changes_no_number_and_is_shown_where_given():
    plain, limited = (simulate(slow_loop(), 1.0, **w) for w in ({}, {"wall_limit": 100.0}))
    assert plain["b2.y"].tobytes() == limited["b2.y"].tobytes()
    assert limited.settings["wall_limit"].value == 100.0 and "wall_limit" not in plain.settings


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_a_wall_limit_is_for_each_run_of_many(engine):
    runs = simulate_many(
        slow_loop(), {"parameters": {"b1.amplitude": [1.0, 2.0]}}, 500.0, solver="rk4", step=1e-7,
        wall_limit=0.15, engine=engine, threads=1,
    )  # fmt: skip
    assert set(runs.errors) == {0, 1} and all("wall_limit" in str(e) for e in runs.errors.values())


def test_a_scenario_has_it_too(tmp_path):
    (tmp_path / "s.toml").write_text(
        '[blocks.a]\ntype = "Sine"\n[blocks.i]\ntype = "Integrator"\n[wiring]\nconnect = ["a.y -> i.u"]\n'
        '[run]\nuntil = 500.0\nsolver = "rk4"\nstep = 1e-7\nwall_limit = 0.3\n'
    )
    with pytest.raises(SimulationError, match="wall_limit"):
        load_scenario(tmp_path / "s.toml").run()


# --- steps that do not move -------------------------------------------------------------------------------
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("value", [1e145, 1e160, 1e200, 1e290, -1e200])
@pytest.mark.parametrize("solver", ["dopri5", "rodas4"])
def test_slopes_whose_squares_overflow(engine, value, solver):
    """A constant slope is integrated exactly by either, however large it is."""
    r = simulate(growing(value), 2.0, engine=engine, solver=solver, wall_limit=20.0)
    assert r["b2.y"][-1, 0] == pytest.approx(2.0 * value, rel=1e-6)
    assert r.statistics["steps"] < 10_000


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("solver", ["dopri5", "rodas4"])
def test_slopes_that_end_in_infinity_name_the_state(engine, solver):
    with pytest.raises(SimulationError, match="b2"):
        simulate(growing(1e308), 10.0, engine=engine, solver=solver, wall_limit=20.0)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("solver", ["dopri5", "rodas4", "rk4"])
def test_a_run_into_a_pole_ends(engine, solver):
    with pytest.raises(SimulationError, match=r"collapsed|finite|does not move") as caught:
        simulate(Made(grown), 2.0, engine=engine, solver=solver, wall_limit=30.0)
    if solver != "rk4":
        assert caught.value.time == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("solver", ["dopri5", "rodas4"])
def test_a_step_lost_in_the_rounding_of_the_time_ends_the_run(engine, solver, tmp_path):
    """As a forged snapshot proposes it; the fastest state is named."""
    sim = Simulation(growing(3.0), engine=engine, solver=solver)
    sim.advance(1.0)
    context = sim.snapshot()
    context.step = 1e-30
    sim.restore(context)
    with pytest.raises(SimulationError, match=r"collapsed to 1e-30 s at t=1 s.*'b2\.x'"):
        sim.advance(2.0)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("solver", ["dopri5", "rodas4"])
def test_late_starts_have_first_steps_that_move(engine, solver):
    sim = Simulation(growing(1.0), engine=engine, solver=solver)
    sim.advance(1e12)
    context = sim.snapshot()
    context.step = 0.0
    sim.restore(context)
    sim.advance(1e12 + 1.0)
    assert sim.value("b2.y") == pytest.approx(1e12 + 1.0, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("solver", ["dopri5", "rk4"])
def test_a_delay_too_short_to_be_stepped_over(engine, solver):
    d = chain(Constant(1.0), TransportDelay(1e-300), Integrator())
    with pytest.raises(SimulationError, match="wall_limit|delay|does not move"):
        simulate(d, 1.0, engine=engine, solver=solver, wall_limit=0.1)


# --- Ctrl-C -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("settings", [{"solver": "rk4", "step": 1e-7}, {"max_step": 1e-7}])
def test_ctrl_c_ends_long_runs_at_once(engine, settings):
    with ctrl_c() as later:
        result = simulate(slow_loop(), 500.0, engine=engine, progress=lambda t: later(0.1), **settings)
    assert not result.complete and "interrupted" in result.message


# --- several threads --------------------------------------------------------------------------------------
@pytest.mark.parametrize("engine", ENGINES)
def test_one_simulation_is_advanced_once_at_a_time(engine):
    """The native engine ran for ever where two threads were in it; here the second one comes from inside."""
    sim = Simulation(chain(Sine(), UnitDelay(sample=0.1), Integrator()), engine=engine)
    said = []

    def again(t):
        def second():
            with pytest.raises(PlantloopError, match="is being advanced already") as caught:
                sim.advance(2.0)
            said.append(str(caught.value))

        if not said:
            second()
            other = threading.Thread(target=second)
            other.start()
            other.join()

    sim.advance(1.0, progress=again)
    assert len(said) == 2 and sim.time == 1.0
    sim.advance(2.0)
    once = Simulation(chain(Sine(), UnitDelay(sample=0.1), Integrator()), engine=engine)
    once.advance(1.0)
    once.advance(2.0)
    assert sim.snapshot().same(once.snapshot())
