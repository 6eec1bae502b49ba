"""Plain mistakes of a new user: each is one message that names the place and the cure."""

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cosim
from blocks import (
    PID,
    Constant,
    Function,
    Gain,
    Integrator,
    PlantloopError,
    PythonFunction,
    RandomNumber,
    Saturation,
    StateSpace,
    Step,
    Sum,
    TimeTable,
    Transition,
    UnitDelay,
)
from blocks.contract.trace import trace
from cosim import Diagram, Result, linearize, trim
from plant import Plant
from plant.elements import Body_Rigid
from tests.helpers.made import Made
from tests.helpers.runs import Simulation, build, simulate

PENDULUM = Path(__file__).parents[2] / "examples/inverted_pendulum/inverted_pendulum.xml"
HERE = re.escape(__file__)


def says(text: str, act: Any, *arguments: Any, **options: Any) -> None:
    with pytest.raises(PlantloopError) as caught:
        act(*arguments, **options)
    assert re.search(text, str(caught.value)), str(caught.value)


@pytest.fixture(scope="module")
def pendulum():
    return Plant.read(PENDULUM)


def labelled() -> Diagram:
    """A motor with two labelled signals, driven through an inport, and an output of the diagram."""

    def motor(b):
        u = b.input("u", 1)
        w = b.continuous("w", [0.0, 1.0], labels=["speed [rad/s]", "load"])
        b.derivative(w, np.concatenate([u - w[0:1], w[0:1] - w[1:2]]))
        b.output("w", w, labels=["speed [rad/s]", "load"])

    d = Diagram("drive")
    d.connect(d.inport("u"), d.add("motor", Made(motor))["u"])
    d.outport("speed", "motor.w")
    return d


# --- equations ------------------------------------------------------------------------------------------
EQUATIONS = {
    "sort": (lambda u: np.sort(u), r"np\.sort takes no symbols.*np\.minimum"),
    "argmax": (lambda u: np.argmax(u), r"np\.argmax takes no symbols.*blocks\.functions\.pick"),
    "piecewise": (lambda u: np.piecewise(u, [u > 0], [1.0, 2.0]), r"np\.piecewise takes.*np\.where"),
    "unwrap": (lambda u: np.unwrap(u), r"np\.unwrap takes no symbols.*b\.accepted"),
    "kron": (lambda u: np.histogram(u), r"np\.histogram takes no symbols.*PythonFunction"),
    "range": (lambda u: [0.0 for _ in range(u[0])], r"whole number, as in range\(u\).*range\(u\.size\)"),
    "key": (lambda u: {}["foo"], r"KeyError: 'foo'"),
    "item": (lambda u: np.zeros(2).__setitem__(0, u[0]), r"a signal was used where Python needs a number"),
}


@pytest.mark.parametrize("case", EQUATIONS)
def test_equations_that_cannot_be_traced_name_the_function_the_line_and_the_cure(case):
    function, text = EQUATIONS[case]
    says(f"{text}", trace, Function(function), {"u": 2})
    says(rf"At {HERE}:\d+: \"?\w+\"?: \(", trace, Function(function), {"u": 2})


def test_every_place_is_told_once():
    with pytest.raises(PlantloopError) as caught:
        trace(Function(EQUATIONS["item"][0]), {"u": 2})
    assert str(caught.value).count(__file__) == 1


def test_an_output_that_is_no_signal_is_told_with_the_users_line():
    says(rf"output 'y' is 'hello', expected signals or numbers\. At {HERE}:\d+: .*Give signals",
         trace, Made(lambda b: b.output("y", "hello")), {})  # fmt: skip
    says(r"output 'y' is None.*lack its return", trace, Made(lambda b: b.output("y", None)), {})
    says("derivative of 'x' is None", trace, Made(lambda b: b.derivative(b.continuous("x", 0.0), None)), {})


def test_a_function_without_return():
    says(rf"function <lambda> \({HERE}:\d+\) returned None.*Add the return",
         trace, Function(lambda u: None), {"u": 1})  # fmt: skip


@pytest.mark.parametrize("sample", [0.1, None])
def test_a_python_function_without_return_is_told_when_it_runs(sample):
    d = build("", f=PythonFunction(lambda t, u: None, 0, sample=sample))
    says(r"returned None at t=0 s", simulate, d, 1.0, engine="reference")


def test_a_number_that_a_division_by_zero_made_is_told_plainly():
    part = Diagram("part")
    part.add("g", Gain(1 / part.parameter("J", 0.1)))
    part.ground("g.u")
    d = Diagram("d")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        d.add("m", part, parameters={"J": 0.0})
        says(r"block 'm/g': Gain: k is inf, expected finite numbers. Look where the number was divided by 0",
             d.system)  # fmt: skip
    says("k is nan, expected finite numbers. Look where the missing value", Gain, np.float64("nan"))


def test_what_is_no_block_is_answered_with_the_block_to_write():
    says(
        r"'f' is a function, expected a Block or a Diagram\. Write Function\(f\)",
        Diagram("d").add,
        "f",
        abs_of,
    )
    says(r"function is 'u\*\*2', expected a function. Write Function\(lambda ...: u\*\*2\)", Function, "u**2")
    says(r"its parameters are its own fields; write Gain\(k=...\)",
         Diagram("d").add, "g", Gain(1.0), parameters={"k": 2.0})  # fmt: skip
    with pytest.raises(AttributeError, match="no attribute 'k'; the field is handle.block.k"):
        getattr(Diagram("d").add("g", Gain(1.0)), "k")  # noqa: B009


def abs_of(u):
    return abs(u)


# --- names ----------------------------------------------------------------------------------------------
def test_one_name_stands_for_a_list_of_one(pendulum):
    d = labelled()
    assert list(simulate(d, 0.1, signals="motor.w")) == ["motor.w"]
    ss = linearize(d, "u", "motor.w")
    assert ss.ninputs == 1 and ss.noutputs == 2
    op = trim(StateSpace(-1.0, 1.0, 1.0), y={"y": 2.0}, free="u")
    np.testing.assert_allclose(op.inputs["u"], 2.0)
    says(r'signals contains 3, expected names. Write a list of texts such as \["block.port"\]',
         simulate, d, 0.1, signals=[3])  # fmt: skip


@pytest.mark.parametrize("name", ["motor.w[0]", "motor.w.speed", "motor.w.speed [rad/s]", "speed.speed"])
def test_a_component_is_found_by_number_or_label_everywhere(name):
    d = labelled()
    r = simulate(d, 0.1, signals=[name], log_every=0.1)
    assert list(r) == ["motor.w"]
    assert r[name].shape == (2,)
    np.testing.assert_array_equal(r[name], r["motor.w"][:, 0])
    sim = Simulation(d)
    sim.advance(0.1)
    assert sim.value(name).shape == () and sim.value(name) == sim.value("motor.w")[0]
    ss = linearize(d, outputs=[name])
    np.testing.assert_array_equal(ss.C, [[1.0, 0.0]])


def test_components_that_are_not_there():
    says(
        r"no component 2 in 'motor.w': it has 2, counted from 0",
        simulate,
        labelled(),
        0.1,
        signals="motor.w[2]",
    )
    says(
        r"no signal 'motor.w.spede'.*did you mean 'motor.w.speed",
        Simulation(labelled()).value,
        "motor.w.spede",
    )


def test_outputs_and_inputs_of_the_diagram_are_signals_too(tmp_path):
    d = labelled()
    r = simulate(d, 0.1, inputs={"u": 3.0}, log_every=0.1)
    assert list(r) == ["u", "motor.w"]
    np.testing.assert_array_equal(r["u"][:, 0], [3.0, 3.0])
    np.testing.assert_array_equal(r["speed"], r["motor.w"])
    assert "speed" in r
    for file in ("r.nc", "r.npz"):
        r.save(tmp_path / file)
        np.testing.assert_array_equal(Result.load(tmp_path / file)["speed[1]"], r["motor.w"][:, 1])
    assert list(simulate(d, 0.1, signals=["speed"])) == ["motor.w"]
    sim = Simulation(d)
    np.testing.assert_array_equal(sim.value("speed"), [0.0, 1.0])
    np.testing.assert_array_equal(sim.value("u"), [0.0])


def test_an_output_that_shows_an_inport():
    d = Diagram("wire")
    d.inport("u")
    d.outport("y", "u.out")
    r = simulate(d, 0.1, inputs={"u": 2.0}, log_every=0.1)
    assert list(r) == ["u"] and r["y"][-1] == 2.0


def test_a_block_alone_takes_names_with_and_without_plant(pendulum):
    short = simulate(pendulum, 0.1, initial={"hinge.q": 0.1, "slider_on_ground.qd[0]": 1.0}, log_every=0.1)
    long = simulate(
        pendulum, 0.1, initial={"plant.hinge.q": 0.1, "plant.slider_on_ground.qd": 1.0}, log_every=0.1
    )
    np.testing.assert_array_equal(short["plant.pendulum"], long["plant.pendulum"])
    lag = StateSpace(-1.0, 1.0, 1.0)
    for name in ("A", "plant.A"):
        r = simulate(lag, 1.0, parameters={name: 0.0}, inputs={"plant.u": 1.0}, log_at=[1.0], rtol=1e-10)
        np.testing.assert_allclose(r["plant.y"], 1.0)
        assert linearize(lag, parameters={name: -3.0}, inputs="plant.u", outputs="y").A == [[-3.0]]
    op = trim(lag, u={"plant.u": 2.0}, bounds={"plant.x": (0.0, 5.0)})
    np.testing.assert_allclose(op.states["x"], 2.0)


# --- linear models --------------------------------------------------------------------------------------
def test_linear_models_say_which_states_there_are():
    says("states is 'all', expected 'minimal' or 'full'", linearize, labelled(), states="all")


def test_an_input_port_may_be_the_input_of_a_linear_model(pendulum):
    d = Diagram("d")
    d.add("plant", pendulum)
    d.connect(d.add("c", Constant(0.0))["y"], "plant.control_force")
    d.ground("plant.disturbance_force")
    alone_ = linearize(pendulum)
    ss = linearize(d, inputs=["plant.disturbance_force", "plant.control_force"], outputs="plant.pendulum[0]")
    np.testing.assert_allclose(ss.B, alone_.B[:, [1, 0]], atol=1e-14)
    assert ss.input_labels == ["plant_disturbance_force", "plant_control_force"]
    r = linearize(d, inputs="plant.control_force", outputs=["plant.control_force"])
    np.testing.assert_array_equal(r.D, [[1.0]])


def test_an_input_port_behind_a_shared_driver_is_perturbed_alone():
    d = build("c.y>a.u c.y>b.u a.y>s.in1 b.y>s.in2", c=Constant(0.0), a=Gain(2.0), b=Gain(3.0), s=Sum("++"))
    assert linearize(d, "a.u", "s.y").D == 2.0
    assert linearize(d, "c.y", "s.y").D == 5.0


def test_bounds_are_two_numbers():
    says(r"bounds of 'u' are 1, expected two numbers \(low, high\)",
         trim, StateSpace(-1.0, 1.0, 1.0), free="u", bounds={"u": 1})  # fmt: skip


# --- arguments of a run ---------------------------------------------------------------------------------
ARGUMENTS = {
    "parameters": (
        lambda d: simulate(d, 1.0, parameters=[1]),
        r"parameters is \[1\], expected values by name",
    ),
    "initial": (
        lambda d: simulate(d, 1.0, initial=[1]),
        r"initial is \[1\].*Write initial={\"block.name\": value}",
    ),
    "inputs": (lambda d: simulate(d, 1.0, inputs=[1]), r"inputs is \[1\], expected values by name"),
    "seed": (lambda d: simulate(d, 1.0, seed="a"), "seed is 'a', expected a whole number"),
    "log_at": (lambda d: simulate(d, 1.0, log_at="all"), "log_at.*'all', expected a list of times"),
    "log_every": (
        lambda d: simulate(d, 1.0, log_every="steps"),
        "log_every is 'steps'.*Did you mean 'step'?",
    ),
    "log_every, a word": (
        lambda d: simulate(d, 1.0, log_every="often"),
        "log_every is 'often', expected seconds",
    ),
    "restore": (lambda d: Simulation(d).restore(None), r"restore\(None\): expected what Simulation.snapshot"),
    "advance": (lambda d: Simulation(d).advance("a"), r"advance\('a'\): expected a finite time"),
    "class": (lambda d: simulate(Gain, 1.0), r"got the class Gain, not a block; write Gain\(\.\.\.\)"),
    "name": (lambda d: d.add(1, Gain(1.0)), r"the name 1 is no text; write add\('name', block\)"),
    "plant": (lambda d: Plant.read(None), "None is no file. Give the path of an XML file"),
    "engine": (lambda d: simulate(d, 1.0, engine=None), "no engine 'None'; there is 'auto'"),
    "solver": (lambda d: simulate(d, 1.0, solver=3), "no solver '3'; there is"),
    "key": (lambda d: simulate(d, 1.0, initial={3: 1}), "initial: 3 is no name. Write a text such as"),
    "value": (lambda d: Simulation(d).value(3), "signal: 3 is no name"),
    "input": (lambda d: Simulation(d).set_input(3, 1.0), "input: 3 is no name"),
    "inport": (lambda d: d.inport(3), r"the name 3 is no text; write inport\('name'\)"),
    "class to linearise": (lambda d: linearize(Gain), "got the class Gain, not a block"),
    "goal": (lambda d: trim(d, y={"speed": "a"}), "output 'speed' is 'a', expected numbers"),
    "file": (lambda d: Result.load(None), "the file of a result is None, expected the path of a file"),
    "snapshot": (lambda d: Simulation(d).load(None), "the file of a snapshot is None, expected the path"),
    "column": (lambda d: simulate(d, 0.1)[3], "3 is no signal name in result 'drive'"),
}


@pytest.mark.parametrize("case", ARGUMENTS)
def test_a_plain_mistake_is_one_message(case):
    act, text = ARGUMENTS[case]
    says(text, act, labelled())


def test_a_field_that_no_run_can_change_says_so():
    d = build(
        "t.y>x.u r.y>g.u", t=TimeTable([0.0, 1.0], [0.0, 1.0]), x=Integrator(0.5), r=Step(1.0), g=Gain(1.0)
    )
    structural = r"'r.time' in '.*' is structural.*Give it where a run begins, parameters={'r.time': ...}"
    says(structural, Simulation(d).set_parameter, "r.time", 2.0)
    assert simulate(d, 1.0, parameters={"r.time": 2.0})["r.y"][-1, 0] == 0.0
    says(r"'x.initial' in '.*' is an initial value, not a parameter. Write initial={'x.x': ...}",
         simulate, d, 1.0, parameters={"x.initial": 2.0})  # fmt: skip
    says("has no parameter 'r.tim'", simulate, d, 1.0, parameters={"r.tim": 2.0})


# --- wording --------------------------------------------------------------------------------------------
def test_a_model_that_is_not_there(tmp_path):
    (tmp_path / "pend.xml").write_text("<Model/>")
    says(r"^there is no file '.*pen\.xml'; did you mean 'pend\.xml'\?$", Plant.read, tmp_path / "pen.xml")
    (tmp_path / "empty").mkdir()
    says("and no XML file in its folder", Plant.read, tmp_path / "empty" / "nope.xml")


def test_grounding_an_output(pendulum):
    d = Diagram("d")
    d.add("plant", pendulum)
    d.ground("plant.pendulum")
    says("ground: 'plant' has no input 'pendulum': that is an output, which may stay unconnected", d.system)


def test_a_port_of_a_diagram_of_the_same_name():
    one, two = (build("", g=Gain(1.0)) for _ in range(2))
    says("port 'g.y' belongs to another diagram that is called 'd' too", one.connect, two["g"]["y"], "g.u")


def test_results_that_are_none(tmp_path):
    (tmp_path / "bad.npz").write_bytes(b"hello")
    says(
        r"^'.*bad.npz' is damaged or not a plantloop result \(.+\)\. Load a file",
        Result.load,
        tmp_path / "bad.npz",
    )
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    says("other.npz' is no result of plantloop. Load a file", Result.load, tmp_path / "other.npz")


@pytest.mark.parametrize("solver", ["euler", "rk4", "dopri5", "rodas4"])
def test_steps_that_overflow_end_in_one_message_and_no_warning(solver):
    d = build("c.y>x.u", c=Constant(1.5e308), x=Integrator(1.5e308))
    settings = {"step": 1.0} if solver in ("euler", "rk4") else {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        says("non-finite|step size", simulate, d, 2.0, solver=solver, engine="reference", **settings)


def test_short_texts_for_objects(pendulum):
    assert repr(pendulum) == (
        "<Plant 'inverted_pendulum': 2 bodies, 2 joints, 2 degrees of freedom; inputs control_force, "
        "disturbance_force; outputs pendulum, slider>"
    )
    for coordinates in ("joint", "absolute"):  # as many joints as the file has
        assert "2 bodies, 2 joints, 2 deg" in repr(Plant.from_model(pendulum.model, coordinates=coordinates))
    assert repr(Simulation(labelled(), engine="reference")) == (
        "<Simulation of 'drive' at t = 0 s: 2 continuous states, 0 rates; dopri5, reference engine>"
    )


@pytest.mark.parametrize(
    ("make", "cure"),
    [
        (lambda: RandomNumber(std=1.0, sample=0.1), "did you mean 'variance'"),
        (lambda: Integrator(x0=1.0), "did you mean 'initial'"),
        (lambda: Integrator(initial_condition=1.0), "did you mean 'initial'"),
        (lambda: Saturation(upper_limit=1.0), "did you mean 'high'"),
        (lambda: Gain(gain=2.0), "did you mean 'k'"),
        (lambda: PID(kp=1.0, sample_time=0.1), "DiscretePID has a sample time"),
        (lambda: UnitDelay(ts=0.1), "did you mean 'sample'"),
    ],
)
def test_fields_by_the_names_of_other_tools_are_answered_with_those_here(make, cure):
    says(cure, make)


@pytest.mark.parametrize(("solver", "ours"), [("ode45", "dopri5"), ("ode15s", "rodas4"), ("ode4", "rk4")])
def test_solvers_of_simulink_are_answered_with_those_here(solver, ours):
    says(
        f"no solver '{solver}'; did you mean '{ours}'",
        simulate,
        build("", c=Constant(1.0)),
        1.0,
        solver=solver,
    )


def test_a_signal_that_was_not_kept_is_told_from_one_that_is_not_there():
    r = simulate(build("c.y>g.u", c=Constant(1.0), g=Gain(2.0)), 0.1, signals=["c.y"])
    says(r"'g.y' was not kept.*signals=\[\"g.y\"", lambda: r["g.y"])
    says("no signal 'g.z'; there is 'c.y'", lambda: r["g.z"])


def test_what_is_no_attribute_of_an_element_is_refused_by_name():
    says("Body_Rigid: has no attribute 'masss'; did you mean 'mass'", lambda: Body_Rigid(id=1, masss=2.0))
    says("missing a required .*argument: 'id'; name every", lambda: Body_Rigid(mass=2.0))


def test_logical_operators_of_c_in_a_guard_are_answered_with_those_here():
    says("Write and, or, not", Transition, "a", "b", "v > 1 && v < 3")


def test_help_lists_the_public_names():
    assert all(f"`{name}`" in cosim.__doc__ for name in cosim.__all__ if name != "__version__")
