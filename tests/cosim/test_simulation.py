"""`simulate` and `Simulation`: what may be set, what comes back, and what is kept when a run fails."""

import math
import threading

import numpy as np
import pytest

from blocks import (
    Constant,
    DiscreteIntegrator,
    Gain,
    Hold,
    Integrator,
    PlantloopError,
    StateFeedback,
    StateSpace,
)
from cosim import Diagram
from tests.helpers.mixed import mixed
from tests.helpers.runs import Simulation, build, simulate


def loop():
    """x' = -k x, sampled."""
    return build("x.y>k.x k.u>x.u", x=Integrator(1.0), k=StateFeedback(2.0, sample=0.1))


# --- parameters, initial values, inputs
def test_a_parameter_of_a_run_does_not_change_the_diagram():
    d = loop()
    slow = simulate(d, 1.0, parameters={"k.K": 0.0}, log_at=[1.0])
    assert slow["x.y"].item() == 1.0
    assert simulate(d, 1.0, log_at=[1.0])["x.y"].item() == pytest.approx(0.8**10)


def test_parameters_keep_their_shape_and_may_be_given_flat():
    d = build("c.y>g.u", c=Constant([1.0, 1.0]), g=Gain([[1.0, 2.0], [0.0, 3.0]]))
    for value in ([[4.0, 5.0], [0.0, 6.0]], np.array([4.0, 5.0, 0.0, 6.0])):
        assert simulate(d, 0.0, parameters={"g.k": value}, log_at=[0.0])["g.y"][0].tolist() == [9.0, 6.0]


def test_a_structural_zero_stays_zero_and_says_so():
    d = build("c.y>g.u", c=Constant([1.0, 1.0]), g=Gain([[1.0, 2.0], [0.0, 3.0]]))
    with pytest.raises(PlantloopError, match="'g.k' in 'd' is structural.*Build the block anew"):
        simulate(d, 0.0, parameters={"g.k": [[1.0, 2.0], [1.0, 3.0]]})


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("k.k", 1.0, "'d' has no parameter 'k.k'; did you mean 'k.K'?"),
        ("k.K", [1.0, 2.0], r"parameter 'k.K' got 2 numbers, expected \(1, 1\)"),
        ("k.K", "two", "parameter 'k.K' is 'two', expected numbers"),
        ("k.K", np.nan, "parameter 'k.K' is not a number"),
    ],
)
def test_a_wrong_parameter_is_refused(name, value, text):
    with pytest.raises(PlantloopError, match=text):
        simulate(loop(), 1.0, parameters={name: value})


def test_initial_values_of_all_kinds_of_states():
    blocks = {
        "x": StateSpace(-np.eye(2), np.eye(2), np.eye(2)),
        "i": DiscreteIntegrator(0.1),
        "h": Hold(sample=1, offset=0.5),
        "c": Constant([0.0, 0.0]),
        "z": Constant(0.0),
    }
    d = build("c.y>x.u z.y>i.u z.y>h.u", **blocks)
    initial = {"x.x": [1.0, 2.0], "i.x": 3.0, "h.hold_now": 4.0}
    r = simulate(d, 0.0, initial=initial, log_at=[0.0])
    assert r["x.y"][0].tolist() == [1.0, 2.0]
    assert r["i.y"].item() == 3.0 and r["h.y"].item() == 4.0
    r = simulate(d, 0.0, initial={"x.x[1]": 5.0, "i.x": 3.0}, log_at=[0.0])
    assert r["x.y"][0].tolist() == [0.0, 5.0]
    assert simulate(d, 0.0, initial={"x.x": 7.0}, log_at=[0.0])["x.y"][0].tolist() == [7.0, 7.0]  # expands


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("x.y", 1.0, "'d' has no state 'x.y'; did you mean 'x.x'?"),
        ("x.x[3]", 1.0, r"no component 3 in 'x.x': it has 1, counted from 0"),
        ("x.x", [1.0, 2.0], "'x.x' got 2 numbers, expected 1"),
        ("x.x", np.inf, "'x.x' is not finite"),
        ("x.x", None, "'x.x' is not finite|'x.x' is None, expected numbers"),
    ],
)
def test_a_wrong_initial_value_is_refused(name, value, text):
    with pytest.raises(PlantloopError, match=text):
        simulate(loop(), 1.0, initial={name: value})


def test_inputs_of_the_whole_diagram():
    d = Diagram("d")
    d.connect(d.inport("force", 2), d.add("x", Integrator())["u"])
    r = simulate(d, 2.0, inputs={"force": [1.0, -2.0]}, log_at=[2.0])
    np.testing.assert_allclose(r["x.y"][0], [2.0, -4.0])
    with pytest.raises(PlantloopError, match="'d' has no input 'forse'; did you mean 'force'?"):
        simulate(d, 1.0, inputs={"forse": 1.0})
    with pytest.raises(PlantloopError, match="'force' got 3 numbers, expected 2"):
        simulate(d, 1.0, inputs={"force": [1.0, 2.0, 3.0]})


def test_an_input_is_no_state():
    d = Diagram("d")
    d.connect(d.inport("u"), d.add("x", Integrator())["u"])
    with pytest.raises(PlantloopError, match="'d' has no state 'u.value'; there is 'x.x'"):
        simulate(d, 1.0, initial={"u.value": 1.0})


def test_a_name_of_the_other_kind_is_told_where_it_goes():
    d = Diagram("d")
    d.connect(d.add("k", Gain(2.0))["y"], d.add("x", Integrator())["u"])
    d.ground("k.u")
    with pytest.raises(PlantloopError, match=r"no parameter 'x.x'. It is a state: write initial=.'x.x'"):
        simulate(d, 1.0, parameters={"x.x": 1.0})
    with pytest.raises(PlantloopError, match=r"no state 'k.k'. It is a parameter: write parameters=.'k.k'"):
        simulate(d, 1.0, initial={"k.k": 1.0})
    with pytest.raises(PlantloopError, match=r"no state 'x.initial'. It is the field .* initial=.'x.x'"):
        simulate(d, 1.0, initial={"x.initial": 1.0})
    with pytest.raises(PlantloopError, match=r"'d' has no state 'k.y'; there is 'x.x'"):
        simulate(d, 1.0, initial={"k.y": 1.0})


def test_a_block_alone_runs_with_its_inputs_as_inputs():
    r = simulate(StateSpace(-1.0, 1.0, 1.0), 1.0, inputs={"u": 1.0}, log_at=[1.0], rtol=1e-10, atol=1e-12)
    assert r["plant.y"].item() == pytest.approx(1 - np.exp(-1.0), rel=1e-9)


# --- settings
@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"solver": "rk5"}, "no solver 'rk5'; did you mean 'rk4'?"),
        ({"solver": "dopri5", "step": 0.1}, "step= does not apply to solver 'dopri5', which is adaptive"),
        (
            {"solver": "rk4", "rtol": 1e-3},
            "rtol= does not apply to solver 'rk4', which is fixed-step; give step",
        ),
        ({"solver": "rk4", "step": 0.0}, "step is 0.0, expected a positive number"),
        ({"rtol": -1.0}, "rtol is -1.0, expected a positive number"),
        ({"rtol": "tight"}, "rtol is 'tight', expected a positive number"),
        ({"max_step": 0}, "max_step is 0, expected a positive number"),
        ({"engine": "fast"}, "no engine 'fast'"),
        ({"log_every": 0.1, "log_at": [0.5]}, "log_every and log_at exclude each other"),
        ({"log_every": -0.1}, "log_every is -0.1 s, expected a positive interval"),
        ({"log_every": np.pi}, "log_every 3.14.* is no fraction"),
        ({"log_at": [0.5, 0.2]}, r"log_at: entry 1 is 0.2 s, after one of 0.5 s; .*Sort them: np.sort\(t\)"),
        ({"log_at": [0.5, np.nan, np.nan]}, r"log_at: entry 1 is nan, .* 2 of 3 .*t\[np.isfinite\(t\)\]"),
        ({"log_at": [0.5, 1.5]}, "log_at goes from 0.5 to 1.5 s, outside the run from 0 to 1 s.*run longer"),
        ({"log_at": 0.5}, r"log_at: got 0.5, expected a list of times \[s\]. Write \[0.5\] for one"),
        ({"log_at": [-0.5, 0.5]}, "outside the run from 0 to 1 s"),
        ({"signals": ["x.z"]}, "'d' has no signal 'x.z'; did you mean 'x.y'?"),
    ],
)
def test_a_wrong_setting_is_refused_before_anything_runs(options, text):
    with pytest.raises(PlantloopError, match=text):
        simulate(loop(), 1.0, **options)


def test_a_wrong_end_of_many_lines_is_shown_on_one():
    for given in (np.ones((3, 3)), "x" * 300):
        for end in (lambda until: simulate(loop(), until), Simulation(loop(), engine="reference").advance):
            with pytest.raises(PlantloopError, match="expected a finite time") as caught:
                end(given)
            assert "\n" not in str(caught.value) and len(str(caught.value)) < 200


@pytest.mark.parametrize("until", [-1.0, np.nan, np.inf, "1", None])
def test_a_wrong_end_is_refused(until):
    with pytest.raises(PlantloopError, match="until is .*, expected a finite time of zero or more"):
        simulate(loop(), until)


def test_something_that_cannot_be_simulated_is_refused():
    with pytest.raises(PlantloopError, match="expected a Diagram or a Block to simulate, got dict"):
        simulate({}, 1.0)


def test_every_effective_setting_is_kept_with_its_origin():
    r = simulate(loop(), 1.0, rtol=1e-6, parameters={"k.K": 3.0}, initial={"x.x": 2.0})
    s = r.settings
    assert (s["solver"].value, s["rtol"].value, s["rtol"].origin) == ("dopri5", 1e-6, "argument")
    assert (s["atol"].value, s["atol"].origin) == (1e-10, "default")
    assert (s["k.K"].value, s["k.K"].origin) == (3.0, "parameters=")
    assert (s["x.x"].value, s["x.x"].origin) == (2.0, "initial=")
    assert "step" not in s and "version of casadi" in s and len(s["system hash"].value) == 16


def test_the_hash_depends_on_equations_not_on_numbers():
    def fingerprint(d):
        return simulate(d, 0.0).settings["system hash"].value

    other = build("x.y>k.x k.u>x.u", x=Integrator(5.0), k=StateFeedback(3.0, sample=0.1))
    slower = build("x.y>k.x k.u>x.u", x=Integrator(1.0), k=StateFeedback(2.0, sample=0.2))
    continuous = build("x.y>k.x k.u>x.u", x=Integrator(1.0), k=StateFeedback(2.0))
    assert fingerprint(loop()) == fingerprint(other)
    assert len({fingerprint(d) for d in (loop(), slower, continuous)}) == 3


def test_only_the_signals_asked_for_are_logged():
    r = simulate(loop(), 0.2, signals=["x.y"])
    assert set(r) == {"x.y"} and r.ticks_of == {}


def test_progress_is_told_the_time_as_the_run_goes_on():
    told = []
    simulate(loop(), 0.5, progress=told.append)
    assert told == sorted(told) and told[-1] == 0.5


def test_ctrl_c_in_the_progress_callback_returns_what_was_computed():
    def progress(t):
        raise KeyboardInterrupt

    r = simulate(loop(), 1.0, log_every=0.1, progress=progress)
    assert not r.complete and r.message.startswith("interrupted at t=")
    assert len(r["x.y"]) == len(r.time)


def test_a_complete_run_says_so():
    r = simulate(loop(), 1.0)
    assert r.complete and r.message == ""


# --- looking on the way
def test_values_and_results_at_any_time():
    sim = Simulation(loop())
    sim.log(np.array([0.0, 0.25, 0.5]))
    sim.advance(0.3)
    assert sim.result().time.tolist() == [0.0, 0.25]
    assert sim.value("k.u").item() == pytest.approx(-2 * 0.8**3)
    sim.advance(0.5)
    assert sim.result().time.tolist() == [0.0, 0.25, 0.5]
    with pytest.raises(PlantloopError, match="no signal 'k.v'"):
        sim.value("k.v")


def test_many_simulations_of_one_diagram_do_not_disturb_each_other():
    d = mixed()
    alone = simulate(d, 1.0, log_at=[1.0])["p.y"].tobytes()
    one, two = Simulation(d), Simulation(d, initial={"p.x": [9.0, 9.0]}, parameters={"bias.value": 3.0})
    for until in (0.3, 0.6, 1.0):
        two.advance(until)
        one.advance(until)
    assert one.value("p.y").tobytes() != two.value("p.y").tobytes()
    assert simulate(build_again := mixed(), 1.0, log_at=[1.0])["p.y"].tobytes() == alone
    assert build_again is not d


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_a_step_leads_to_the_next_tick_or_is_one_of_the_solver(engine):
    ticks = Simulation(build("c.y>h.u", c=Constant(1.0), h=Hold(sample=0.25)), engine=engine)
    assert [ticks.next_stop, ticks.step(), ticks.step(), ticks.next_stop] == [0.0, 0.25, 0.5, 0.75]
    smooth = Simulation(
        build("c.y>x.u", c=Constant(1.0), x=Integrator()), engine=engine, solver="rk4", step=0.125
    )
    assert [smooth.next_stop, smooth.step(), smooth.step()] == [math.inf, 0.125, 0.25]
    assert smooth.value("x.y") == pytest.approx([0.25])


# --- somebody else meanwhile ------------------------------------------------------------------------------
MEANWHILE = {
    "set_parameter": lambda sim: sim.set_parameter("g.k", 2.0),
    "set_input": lambda sim: sim.set_input("u", 2.0),
    "restore": lambda sim: sim.restore(sim.snapshot_of_start()),
    "log": lambda sim: sim.log([9.0]),
    "advance": lambda sim: sim.advance(9.0),
}


def driven_lag() -> Diagram:
    d = Diagram("d")
    d.inport("u") >> d.add("g", Gain(1.0)) >> d.add("x", Integrator())
    return d


@pytest.mark.parametrize("what", MEANWHILE)
@pytest.mark.parametrize("engine", ["reference", "native"])
def test_what_is_being_advanced_is_not_changed(what, engine):
    """It would count from the middle of a step on. The function that is told how far it is may look."""
    sim, seen = Simulation(driven_lag(), engine=engine), []

    def told(t):
        seen.append(float(sim.value("x.y")[0]))
        MEANWHILE[what](sim)

    with pytest.raises(PlantloopError, match=rf"{what}.*of 'd' is being advanced.*(pieces|for each thread)"):
        sim.advance(1.0, told)
    assert seen
    sim.set_parameter("g.k", 2.0)  # behind it all is as before


def test_another_thread_does_not_look_at_what_is_being_advanced():
    sim, found = Simulation(driven_lag(), engine="reference"), []

    def other():
        for look in (lambda: sim.value("x.y"), sim.result):
            with pytest.raises(PlantloopError, match="is being advanced, in another thread"):
                look()
            found.append(look)

    def told(t):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()

    sim.advance(1.0, told)
    assert len(found) >= 2 and sim.value("x.y") == 0.0


def test_names_of_other_tools_are_answered_with_those_here():
    sim = Simulation(driven_lag())
    for name, text in {
        "run": r"write advance\(until\)", "reset": r"restore\(snapshot\)", "set_state": "initial=",
        "plot": r"simulation\.result\(\)", "advanse": "did you mean 'advance'",
    }.items():  # fmt: skip
        with pytest.raises(AttributeError, match=rf"a Simulation has no attribute '{name}'; .*{text}"):
            getattr(sim, name)
    with pytest.raises(PlantloopError, match=r"brackets for 'x.y'.*sim.value\('x.y'\).*result\(\)\['x.y'\]"):
        sim["x.y"]
