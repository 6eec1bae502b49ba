"""Every public callable of cosim with arguments that make sense, for tests that give others."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import plant.energy as energy
from blocks import Gain, Hold, Integrator, Sine, Sum
from cosim import (
    Coupling,
    Diagram,
    Result,
    RunSettings,
    Simulation,
    check,
    delay_audit,
    frequency_response,
    linearize,
    margins,
    modes_of,
    run_deck,
    simulate,
    simulate_many,
    system_of,
    trim,
    trim_table,
)
from plant import Baumgarte, GammaQ, Plant, read_model
from plant.energy import BodyStates
from tests.helpers.bad_values import (
    EMPTY,
    NO_VALUES,
    NOTHING,
    NUMBERS,
    POSITIVE,
    SETTINGS,
    SWITCH,
    TIMES,
    Case,
    Made,
)
from tests.helpers.decks import body, deck
from tests.helpers.decks import simulate as ran

PENDULUM = Path(__file__).parents[2] / "examples" / "inverted_pendulum" / "inverted_pendulum.xml"


DECK = deck(body(2, 2.0, 0.1, 0.0, 0.0, 0.0), ran("Transient", end_time=0.01))  # a stone that falls


@cache
def loop() -> Diagram:
    """x' = sin(t) - x, with an input of its own."""
    d = Diagram("loop")
    s, g, i = d.add("sine", Sine(1.0, 1.0)), d.add("gain", Gain(-1.0)), d.add("x", Integrator())
    total = d.add("sum", Sum("+++"))
    d.connect(s["y"], total["in1"])
    d.connect(i["y"], g["u"])
    d.connect(g["y"], total["in2"])
    d.connect(d.inport("push"), total["in3"])
    d.connect(total["y"], i["u"])
    d.outport("y", i["y"])
    return d


@cache
def pendulum() -> Plant:
    return Plant.read(PENDULUM)


@cache
def quiet() -> Diagram:
    """x' = push - x."""
    d = Diagram("quiet")
    total, i = d.add("sum", Sum("+-")), d.add("x", Integrator())
    d.connect(d.inport("push"), total["in1"])
    d.connect(i["y"], total["in2"])
    d.connect(total["y"], i["u"])
    d.outport("y", i["y"])
    return d


def fresh() -> Diagram:
    """A diagram of one block."""
    d = Diagram("fresh")
    d.add("x", Integrator())
    return d


def connected(port: Any) -> Any:
    """The block's own input follows one of its ports."""
    d = fresh()
    d.connect(d["x"][port], "x.u")
    return d.system(solve_loops=True)


@cache
def audited() -> Result:
    d = Diagram()
    p = d.add("plant", pendulum().audited())
    for name in pendulum().inputs:
        d.ground(p[name])
    return simulate(d, 0.01, solver="rk4", log_every=0.01, engine="reference")


@cache
def finished() -> Result:
    d = Diagram("finished")
    x, count = d.add("x", Integrator()), d.add("count", Hold(sample=1e-3))
    d.connect(x["y"], x["u"])
    d.connect(x["y"], count["u"])
    return simulate(d, 0.01, step=1e-3, solver="rk4", engine="reference")


def running() -> Simulation:
    return Simulation(loop(), engine="reference")


def free_link() -> dict[str, Any]:
    """Two bodies, as `BodyStates` takes them."""
    three = np.ones((2, 3))
    return {"m": [1.0, 2.0], "I": np.stack([np.eye(3)] * 2), "w": three, "r": three, "v": three}


def closed(**given: Any) -> Any:
    with running() as sim:
        return sim


BODIES = free_link()
NO_WHEELS = frozenset({"[]", "()", "array of shape (0,)"})
CALLS = frozenset({"None", "function", "True"})
LOGGING = {
    "log_every": NOTHING | POSITIVE,
    "log_at": NOTHING | EMPTY - {"{}"} | {"[1]"},
    "signals": EMPTY | NOTHING,
}
GIVEN = {"initial": NO_VALUES, "parameters": NO_VALUES, "settings": NOTHING}
ADAPTIVE = {name: {"solver": "dopri5", "step": None} for name in ("rtol", "atol", "max_step", "solver")}
FIXED = {"solver": "rk4", "step": 0.1}
QUICK = {"engine": "reference"}
TEXT = frozenset({"text"})
LINEARIZED = {
    "inputs": EMPTY | NOTHING,
    "outputs": EMPTY | NOTHING,
    "at": NO_VALUES,
    "parameters": NO_VALUES,
    "open": EMPTY,
    "pade": NOTHING | {"1"},
    "lift": SWITCH,
}
EQUILIBRIUM = {
    "x": NO_VALUES,
    "u": NO_VALUES,
    "y": NO_VALUES,
    "free": EMPTY,
    "fixed": EMPTY,
    "bounds": NO_VALUES,
    "parameters": NO_VALUES,
    "tolerance": POSITIVE,
}
MOVED = free_link() | {"R": np.zeros(3), "V": np.zeros(3)}
WHEELS = {"h": NO_WHEELS, "Iw": NO_WHEELS}

ONE = NUMBERS | SWITCH | {"nan", "inf", "-inf", "[nan]", "[inf]"}  # floats as they are, for one component

CASES = [
    Case(
        "simulate",
        simulate,
        {"diagram": Made(loop), "until": 2.5, "solver": "rk4", "step": 0.1} | QUICK,
        {"until": TIMES, "inputs": NO_VALUES, "progress": CALLS} | GIVEN | LOGGING | SETTINGS,
        beside=ADAPTIVE,
    ),
    Case(
        "Simulation",
        Simulation,
        {"diagram": Made(loop), "solver": "rk4", "step": 0.1} | QUICK,
        {"signals": EMPTY | NOTHING} | GIVEN | SETTINGS,
        beside=ADAPTIVE,
    ),
    Case(
        "simulate_many",
        simulate_many,
        {"diagram": Made(loop), "runs": [{}], "until": 2.5, "threads": 1, "solver": "rk4", "step": 0.1}
        | QUICK,
        {"runs": EMPTY | {"1", "200"}, "until": TIMES, "threads": NOTHING | {"1", "200"}, "progress": CALLS}
        | {"inputs": NO_VALUES}
        | GIVEN
        | LOGGING
        | SETTINGS,
        beside=ADAPTIVE,
    ),
    Case(
        "RunSettings",
        RunSettings,
        {},
        {name: takes - NOTHING for name, takes in SETTINGS.items()} | {"coupling": NOTHING | {"{}"}},
        ("origins",),
        {"step": {"solver": "rk4"}},
    ),
    Case(
        "Simulation.advance",
        lambda until, progress=None: running().advance(until, progress),
        {"until": 1.0},
        {"until": TIMES, "progress": CALLS},
    ),
    Case("Simulation.value", lambda name: running().value(name), {"name": "x.y"}, {}),
    Case(
        "Simulation.set_input",
        lambda name, value: running().set_input(name, value),
        {"name": "push", "value": 1.0},
        {"value": NUMBERS | SWITCH},
    ),
    Case(
        "Simulation.set_parameter",
        lambda name, value: running().set_parameter(name, value),
        {"name": "gain.k", "value": 1.0},
        {"value": NUMBERS | SWITCH | {"inf", "-inf", "[inf]"}},
    ),
    Case(
        "Simulation.restore",
        lambda snapshot: running().restore(snapshot),
        {"snapshot": Made(lambda: running().snapshot())},
        {},
    ),
    Case("Simulation.save", lambda path: running().save(path), {"path": "x.npz"}, {"path": TEXT}),
    Case("Simulation.load", lambda path: running().load(path), {"path": "x.npz"}, {}),
    Case(
        "Simulation.log",
        lambda times: running().log(times),
        {"times": [1.0]},
        {"times": NOTHING | EMPTY - {"{}"} | {"[1]"}},
    ),
    Case(
        "linearize",
        linearize,
        {"system": Made(loop)},
        LINEARIZED,
    ),
    Case(
        "linearize a plant",
        linearize,
        {"system": Made(pendulum)},
        LINEARIZED,
    ),
    Case(
        "trim",
        trim,
        {"system": Made(quiet)},
        EQUILIBRIUM,
    ),
    Case(
        "trim_table",
        trim_table,
        {"system": Made(quiet), "over": {"push": [0.0]}},
        EQUILIBRIUM,
    ),
    Case(
        "trim's numbers",
        lambda x, u, y, low, high: trim(
            quiet(), x={"x.x": x}, u={"push": u}, y={"y": y}, free=["push"], bounds={"x.x": (low, high)}
        ),
        {"x": 0.0, "u": 0.0, "y": 0.0, "low": -1.0, "high": 1.0},
        {
            "x": NUMBERS | SWITCH,
            "u": NUMBERS | SWITCH,
            "y": NUMBERS - {"2.5", "200"} | SWITCH,  # y is x, which has bounds
            "low": frozenset({"-1", "0", "-inf"}),
            "high": frozenset({"1", "0", "2.5", "200", "inf"}),
        },
    ),
    Case("check", check, {"diagram": Made(loop)}, {"solve_loops": SWITCH}),
    Case("modes_of", modes_of, {"model": Made(lambda: linearize(pendulum()))}, {}),
    Case("system_of", system_of, {"diagram": Made(loop)}, {"solve_loops": SWITCH, "driven": SWITCH}),
    Case(
        "margins",
        margins,
        {"system": Made(loop), "at": "x.y"},
        {"point": NO_VALUES, "parameters": NO_VALUES, "pade": NOTHING | {"1"}},
    ),
    Case(
        "frequency_response",
        frequency_response,
        {"system": Made(quiet), "input": "push", "output": "y", "frequencies": [1.0]},
        {
            "frequencies": NUMBERS - {"-1", "0", "[-1]"},
            "method": frozenset(),
            "amplitude": POSITIVE,
            "periods": POSITIVE,
            "settle": NOTHING | TIMES,
            "at": NO_VALUES,
            "parameters": NO_VALUES,
            "pade": NOTHING | {"1"},
        },
        skipped=("settings",),
    ),
    Case(
        "delay_audit",
        delay_audit,
        {"diagram": Made(loop), "at": "x.y"},
        {"point": NO_VALUES, "parameters": NO_VALUES, "pade": NOTHING | {"1"}},
    ),
    Case(
        "Coupling",
        Coupling,
        {},
        {
            "extrapolation": frozenset({"0", "1"}),
            "iterate": SWITCH,
            "rtol": NOTHING | POSITIVE,
            "atol": NOTHING | POSITIVE,
            "cut": frozenset({"[]", "()", "[text]"}),
            "bonds": frozenset({"[]", "()"}),
        },
        beside={"atol": {"rtol": 1e-3}},
    ),
    Case(
        "derivatives",
        lambda t, x, u, p, h: system_of(loop()).derivatives(t, x, u, p, h),
        {"t": 0.0, "x": [1.0], "u": [1.0], "p": None, "h": None},
        {
            "t": NUMBERS - {"[-1]", "[1]"} | {"nan", "inf", "-inf"},
            "x": ONE,
            "u": ONE | NOTHING,
            "p": NOTHING,
            "h": ONE | NOTHING,
        },
    ),
    Case(
        "run_deck",
        run_deck,
        {"deck": DECK, "coordinates": "joint"},
        {
            "inputs": NO_VALUES,
            "settings": NOTHING,
            "trust": SWITCH,
            "out": NOTHING | TEXT,
            "progress": CALLS,
            "on_step": NOTHING | {"function"},
        }
        | SETTINGS,
        beside={"step": {"solver": "rk4"}},
    ),
    Case(
        "Plant.read",
        Plant.read,
        {"path": PENDULUM},
        {"trust": SWITCH, "tunable": EMPTY, "hold": frozenset({"{}"})},
    ),
    Case(
        "Plant.from_model",
        Plant.from_model,
        {"model": Made(lambda: pendulum().model)},
        {"trust": SWITCH, "tunable": EMPTY, "hold": frozenset({"{}"}), "time": TIMES | {"-1"}},
    ),
    Case("read_model", read_model, {"path": PENDULUM}, {}),
    Case(
        "Plant.with_port",
        lambda name, sampling_period=None, offset_time=None, hold_order=None, filter=None: (
            pendulum().with_port(
                name,
                sampling_period=sampling_period,
                offset_time=offset_time,
                hold_order=hold_order,
                filter=filter,
            )
        ),
        {"name": "control_force"},
        {
            "sampling_period": NOTHING | POSITIVE | {"0"},
            "offset_time": NOTHING | POSITIVE | {"0"},
            "hold_order": NOTHING | {"0", "1", "200"},
            "filter": NOTHING | POSITIVE | {"0"},
        },
    ),
    Case("Baumgarte", Baumgarte, {}, {"alpha": POSITIVE | {"0"}, "beta": POSITIVE | {"0"}}),
    Case("GammaQ", GammaQ, {}, {"Tstab": POSITIVE}),
    Case("Result[]", lambda name: finished()[name], {"name": "x.y"}, {}),
    Case(
        "Result.at",
        lambda t, name: finished().at(t, name),
        {"t": 0.0, "name": "x.y"},
        {"t": frozenset({"0"})},
    ),
    Case("Result.ticks", lambda name: finished().ticks(name), {"name": "count.y"}, {}),
    Case("Result.locate", lambda name: finished().locate(name), {"name": "x.y"}, {}),
    Case(
        "Result.plot",
        lambda names, path=None, title=None: finished().plot(names, path=path, title=title),
        {"names": "x.y"},
        {"path": NOTHING, "title": NOTHING | TEXT | {"empty text"}},
    ),
    Case("Result.save", lambda path: finished().save(path), {"path": "x.npz"}, {}),
    Case("Result.load", Result.load, {"path": "x.npz"}, {}),
    Case(
        "Runs[]",
        lambda name: simulate_many(loop(), [{}], 0.01, solver="rk4", threads=1, **QUICK)[name],
        {"name": "x.y"},
        {},
    ),
    Case("Diagram", Diagram, {}, {"name": TEXT | {"empty text"}}),
    Case(
        "Diagram.add",
        lambda name, block: Diagram().add(name, block),
        {"name": "a", "block": Gain(1.0)},
        {"name": TEXT},
    ),
    Case(
        "Diagram.inport",
        lambda name, size: Diagram().inport(name, size),
        {"name": "a", "size": 1},
        {"name": TEXT, "size": frozenset({"1", "200"})},
    ),
    Case(
        "Diagram.outport",
        lambda name, source: fresh().outport(name, source),
        {"name": "a", "source": "x.y"},
        {"name": TEXT},
    ),
    Case(
        "Diagram.connect",
        lambda source, target: fresh().connect(source, target),
        {"source": "x.y", "target": "x.u"},
        {},
    ),
    Case("Diagram.ground", lambda target: fresh().ground(target), {"target": "x.u"}, {}),
    Case("Diagram[]", lambda name: fresh()[name], {"name": "x"}, {}),
    Case("Node[]", lambda port: connected(port), {"port": "y"}, {}),
    Case(">>", lambda target: fresh()["x"]["y"] >> target, {"target": "x.u"}, {}),
    Case("BodyStates.from_inertial", BodyStates.from_inertial, BODIES, WHEELS),
    Case("BodyStates.from_system_cm", BodyStates.from_system_cm, MOVED, WHEELS),
    Case("BodyStates.from_first_body", BodyStates.from_first_body, MOVED | {"C": np.eye(3)}, WHEELS),
    Case(
        "BodyStates.from_first_joint",
        BodyStates.from_first_joint,
        BODIES | {"eta": np.zeros(3), "eta_rate": np.zeros(3)},
        WHEELS,
    ),
    Case(
        "BodyStates.PE",
        lambda g, k, theta: BodyStates.from_inertial(**BODIES).PE(g, k, theta),
        {"g": (0.0, 0.0, 0.0), "k": (), "theta": ()},
        {"k": NO_WHEELS, "theta": NO_WHEELS},
    ),
    Case(
        "angular_momentum",
        lambda wheels: BodyStates.from_inertial(**BODIES).angular_momentum(wheels),
        {"wheels": True},
        {"wheels": SWITCH},
    ),
    Case("states_of", energy.states_of, {"result": Made(audited), "plant": Made(pendulum)}, {}),
    Case("ledger", energy.ledger, {"result": Made(audited)}, {}),
]
