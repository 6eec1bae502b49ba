"""`simulate` and `Simulation`: what may be set, what comes back, and what is kept when a run fails."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest

from blocks import (
    Block,
    Clock,
    Constant,
    DiscreteIntegrator,
    Function,
    Gain,
    Hold,
    Integrator,
    PlantloopError,
    Product,
    PythonFunction,
    SimulationError,
    StateFeedback,
    StateSpace,
    Sum,
)
from cosim import Diagram
from tests.helpers.mixed import Counter, mixed
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
        ({"log_at": [0.5, 0.2]}, "log_at must be finite and not decreasing"),
        ({"log_at": [0.5, np.nan]}, "log_at must be finite"),
        ({"log_at": [0.5, 1.5]}, "log_at goes from 0.5 to 1.5 s, outside the run from 0 to 1 s"),
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


# --- failures keep what was computed
def fails(d, text, until=1.0, **options):
    options = {"log_every": 0.1} | options
    with pytest.raises(SimulationError, match=text) as caught:
        simulate(d, until, **options)
    r = caught.value.result
    assert not r.complete and r.message == str(caught.value)
    assert all(np.isfinite(values).all() for values in r.signals.values())
    return caught.value


CURE = "Look there for a division by zero, a root of a negative number, or too long a step."


FIXED = {"solver": "rk4", "step": 0.01}


@pytest.mark.parametrize("options", [{}, FIXED, {"solver": "euler", "step": 0.01}], ids=str)
def test_a_division_by_zero_names_block_signal_and_time(options):
    blocks = {
        "c": Clock(),
        "h": Hold(sample="1/20"),
        "b": Constant(0.55),
        "s": Sum("+-"),
        "one": Constant(1.0),
        "ratio": Product("*/"),
        "x": Integrator(),
    }
    d = build("c.y>h.u b.y>s.in1 h.y>s.in2 one.y>ratio.in1 s.y>ratio.in2 ratio.y>x.u", **blocks)
    error = fails(d, "non-finite signal 'ratio.y' = inf in block 'ratio' at t=0.55 s", **options)
    assert error.path == "ratio.y" and error.time == pytest.approx(0.55) and str(error).endswith(CURE)
    np.testing.assert_allclose(error.result.time, np.arange(6) / 10)


@pytest.mark.parametrize("options", [{}, FIXED], ids=str)
def test_a_root_of_a_negative_number_names_the_first_signal_not_what_reads_it(options):
    blocks = {"x": Integrator(), "c": Clock(), "root": Function(lambda t: np.sqrt(0.35 - t)), "g": Gain(2.0)}
    error = fails(
        build("c.y>root.t root.y>g.u g.y>x.u", **blocks), "signal 'root.y' = nan in block 'root'", **options
    )
    np.testing.assert_allclose(error.result.time, np.arange(4) / 10)
    assert error.time == pytest.approx(0.35, abs=0.011)


def test_the_last_good_time_is_told():
    d = build("c.y>f.t f.y>x.u", c=Clock(), f=Function(lambda t: np.sqrt(0.36 - t)), x=Integrator())
    fails(d, r"at t=0.375 s \(last finite t=0.35 s\)", solver="rk4", step=0.05)


def test_a_non_finite_value_that_nothing_reads_stops_the_run_where_it_is_logged():
    d = build("c.y>f.t", c=Clock(), f=Function(lambda t: 1.0 / (0.5 - t)))
    error = fails(d, "signal 'f.y' = inf in block 'f' at t=0.5 s")
    np.testing.assert_allclose(error.result.time, np.arange(5) / 10)


def test_the_component_is_named():
    d = build(
        "c.y>f.t f.y>x.u",
        c=Clock(),
        f=Function(lambda t: np.stack([t[0], 1.0 / (t[0] - 0.5)])),
        x=Integrator(),
    )
    fails(d, r"signal 'f.y\[1\]' = inf in block 'f'", solver="euler", step=0.1)


def test_the_block_is_named_by_its_path():
    inner = build("", f=Function(lambda u: 1.0 / u))
    inner.connect(inner.inport("u"), "f.u")
    d = build("", c=Constant(0.0))
    d.connect("c.y", d.add("part", inner)["u"])
    fails(d, "signal 'part/f.y' = inf in block 'part/f' at t=0 s")


def test_a_sampled_chain_names_the_block_at_fault_not_its_segment():
    blocks = {
        "c": Clock(),
        "before": Hold(sample=0.1),
        "wrong": Function(lambda u: 1.0 / (u - 0.3), sample=0.1),
        "after": Hold(sample=0.1),
        "between": Function(lambda u: u * 2.0),
        "last": Hold(sample=0.1),
    }
    d = build("c.y>before.u before.y>wrong.u wrong.y>after.u after.y>between.u between.y>last.u", **blocks)
    fails(d, "non-finite signal 'wrong.y' = inf in block 'wrong' at t=0.3 s")


def test_a_continuous_block_between_sampled_ones_is_named():
    blocks = {
        "c": Clock(),
        "h": Hold(sample=0.1),
        "f": Function(lambda u: np.log(0.3 - u)),
        "k": Hold(sample=0.1),
    }
    fails(build("c.y>h.u h.y>f.u f.y>k.u", **blocks), "signal 'f.y' = -inf in block 'f' at t=0.3 s")


def test_a_next_state_that_is_not_finite_is_named():
    @dataclass(frozen=True)
    class Explodes(Block):
        def define(self, b):
            x = b.discrete("x", 1.0, sample=0.1)
            b.update(x, 1.0 / (b.time - 0.2))
            b.output("y", x)

    fails(build("", e=Explodes()), "non-finite value of 'e.x' = inf in block 'e' at t=0.2 s")


def test_a_derivative_that_is_not_finite_is_named():
    @dataclass(frozen=True)
    class Explodes(Block):
        def define(self, b):
            x = b.continuous("x", 1.0)
            b.derivative(x, 1.0 / (b.time - 0.25))
            b.output("y", x)

    fails(
        build("", e=Explodes()),
        "non-finite derivative of 'e.x' = inf in block 'e' at t=0.25 s",
        solver="rk4",
        step=0.05,
    )


def test_a_named_term_of_the_equations_is_told():
    @dataclass(frozen=True)
    class Plant(Block):
        def define(self, b):
            x = b.continuous("x", 1.0)
            distance = 0.5 - b.time
            b.term("Force id=10, SQRT(...) in expr, column 14", np.sqrt(distance))
            b.derivative(x, np.sqrt(distance))
            b.output("y", x)

    error = fails(build("", p=Plant()), "non-finite derivative of 'p.x'", solver="rk4", step=0.1)
    assert "First non-finite term: p: Force id=10, SQRT(...) in expr, column 14 = nan." in str(error)


# --- opaque blocks
def opaque(function, **more):
    return build("c.y>f.u", c=Clock(), f=PythonFunction(function, sample=0.1, **more))


def test_an_opaque_block_is_called_once_per_tick_with_time_and_input():
    calls = []

    def function(t, u):
        calls.append((t, u.tolist()))
        return -u

    r = simulate(opaque(function), 0.3, log_at=[0.25])
    assert calls == [(0.0, [0.0]), (0.1, [0.1]), (0.2, [0.2]), (0.3, [0.3])]
    assert r["f.y"].item() == -0.2


def test_nan_from_a_python_function_names_its_block():
    error = fails(
        opaque(lambda t, u: np.nan if t > 0.25 else u),
        "non-finite signal 'f.y' = nan in block 'f' at t=0.3 s",
    )
    np.testing.assert_allclose(error.result["f.y"][:, 0], [0.0, 0.1, 0.2])


def test_a_python_function_is_not_called_with_what_is_not_finite():
    asked = []
    blocks = {"c": Clock(), "bad": Function(lambda t: 1.0 / (t - 0.2)),
              "f": PythonFunction(lambda t, u: asked.append(u[0]) or 0.0, sample=0.1)}  # fmt: skip
    fails(
        build("c.y>bad.t bad.y>f.u", **blocks),
        "signal 'bad.y' = inf in block 'bad' at t=0.2 s",
        log_every=0.05,
    )
    assert len(asked) == 2


def test_an_exception_in_a_python_function_is_told_with_block_and_time():
    def function(t, u):
        if t > 0.15:
            raise ValueError("sensor unplugged")
        return u

    error = fails(opaque(function), "function of block 'f' raised ValueError at t=0.2 s: sensor unplugged")
    assert isinstance(error.__cause__, ValueError)
    np.testing.assert_allclose(error.result.time, [0.0, 0.1])


def test_a_python_function_that_returns_the_wrong_size():
    fails(opaque(lambda t, u: [1.0, 2.0]), "block 'f' returned 2 values at t=0 s, expected 1")


def test_an_opaque_block_with_memory_is_part_of_a_snapshot():
    counter = Counter()
    d = build("c.y>f.u", c=Constant(1.0), f=PythonFunction(counter, sample=0.1, memory=counter))
    sim = Simulation(d)
    sim.advance(0.35)
    taken = pickle.loads(pickle.dumps(sim.snapshot()))
    sim.advance(1.0)
    assert sim.value("f.y").item() == 11.0
    sim.restore(taken)
    assert counter.total == 0.0  # the run has a copy
    sim.advance(0.5)
    assert sim.value("f.y").item() == 6.0


# --- Ctrl-C
def test_ctrl_c_in_a_python_function_returns_what_was_computed():
    def function(t, u):
        if t > 0.35:
            raise KeyboardInterrupt
        return u

    r = simulate(opaque(function), 1.0, log_every=0.1)
    assert not r.complete and r.message.startswith("interrupted at t=0.4")
    np.testing.assert_allclose(r.time, [0.0, 0.1, 0.2, 0.3])
    np.testing.assert_allclose(r["f.y"][:, 0], [0.0, 0.1, 0.2, 0.3])


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
