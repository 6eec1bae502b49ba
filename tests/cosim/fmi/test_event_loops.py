"""Loops of FMUs for model exchange through their events at one instant: each sees what is there."""

from __future__ import annotations

import itertools
import re
import warnings
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blocks import (
    Constant,
    DiscreteIntegrator,
    DiscreteStateSpace,
    Equations,
    Function,
    Gain,
    Hold,
    Integrator,
    PythonFunction,
    Relay,
    RepeatingSequenceStair,
    State,
    StateChart,
    Step,
    Sum,
    TransferFunction,
    Transition,
    UnitDelay,
)
from blocks.contract.block import Block
from blocks.errors import SimulationError
from cosim import FMU, Diagram, Enabled, Simulation, export_fmu, simulate
from tests.helpers.fmus import needs_compiler

pytestmark = needs_compiler
ENGINES = ("reference", "native")
T, K = 0.1, np.arange(11)
PI = DiscreteStateSpace(A=[[1.0]], B=[[T]], C=[[1.0]], D=[[2.0]], sample="1/10")
TOTAL = DiscreteStateSpace(A=[[1.0]], B=[[T]], C=[[1.0]], D=[[0.0]], sample="1/10")
FAST = DiscreteStateSpace(A=[[1.0]], B=[[T / 2]], C=[[1.0]], D=[[0.0]], sample="1/20")
RELAY = Relay(0.4567, 0.2123)
MADE: dict[str, Block] = {"pi": PI, "total": TOTAL, "fast": FAST, "relay": RELAY}
Make = Callable[..., Block]


@pytest.fixture(scope="module")
def fmu(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """FMUs of blocks of ours, each built and unpacked once."""
    folder, made = tmp_path_factory.mktemp("units"), {}
    units: dict[Any, Block] = {}

    def find(name: str, version: str = "3.0", **how: Any) -> Block:
        if (name, version) not in made:
            path = folder / f"{name}{version[0]}.fmu"
            made[name, version] = export_fmu(MADE[name], path, kinds=("me",), version=version)
        key = (name, version, *how.items())
        if key not in units:
            units[key] = FMU(made[name, version], kind="me", **how)
        return units[key]

    return find


def fed_back(blocks: Mapping[str, Block], source: Block, order: int = 0) -> Diagram:
    """Blocks one behind the other, in front of them the source minus what the last one gives.

    order : which permutation of the blocks is added
    """
    d, every = Diagram("fed back"), {"source": source, "error": Sum("+-"), **blocks}
    for name in next(itertools.islice(itertools.permutations(every), order, None)):
        d.add(name, every[name])
    d.connect("source.y", "error.in1")
    last = "error"
    for name in blocks:
        d.connect(f"{last}.y", f"{name}.u")
        last = name
    d.connect(f"{last}.y", "error.in2")
    return d


def quietly(*given: Any, **how: Any) -> Any:
    """`simulate`, in which a warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return simulate(*given, **how)


# --- a sampled integrator of 1 - y ------------------------------------------------------------------------
def risen(n: int) -> list[float]:
    """y_k+1 = y_k + T (1 - y_k): by the sum of its geometric row 1 - (1 - T)^k."""
    return [1.0 - 0.9**k for k in range(n)]


@pytest.mark.parametrize("order", [0, 3, 5])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_a_sampled_integrator_with_its_output_fed_back(
    version: str, engine: str, order: int, fmu: Make
) -> None:
    """It reads its input at the instant, which its output there gives; nothing is told."""
    r = quietly(
        fed_back({"unit": fmu("total", version)}, Constant(1.0), order), 1.0, log_every=T, engine=engine
    )
    np.testing.assert_allclose(r["unit.y"][:, 0], risen(11), rtol=0, atol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("version", ["2.0", "3.0"])
@pytest.mark.parametrize("how", [{"isolate": True}, {"importer": "fmpy"}], ids=str)
def test_whoever_calls_it(how: dict[str, Any], version: str, fmu: Make) -> None:
    r = quietly(fed_back({"unit": fmu("total", version, **how)}, Constant(1.0)), 1.0, log_every=T)
    np.testing.assert_allclose(r["unit.y"][:, 0], risen(11), rtol=0, atol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_from_a_snapshot_at_an_instant_of_the_loop_in_either_engine(
    engine: str, fmu: Make, tmp_path: Path
) -> None:
    d = fed_back({"one": fmu("total"), "two": fmu("pi", "2.0")}, Step(time=0.3, after=1.5))
    whole = simulate(d, 1.0, log_every=T, engine=engine)
    for until in (0.5, 0.55):
        with Simulation(d, engine=engine) as run:
            run.advance(until)
            there = run.snapshot()
            run.save(tmp_path / "there.npz")
            run.advance(0.8)
            run.restore(there)
            run.advance(1.0)
            assert run.value("two.y")[0] == whole["two.y"][-1, 0]
        with Simulation(d, engine=next(e for e in ENGINES if e != engine)) as again:
            again.load(tmp_path / "there.npz")
            again.advance(1.0)
            assert again.value("two.y")[0] == whole["two.y"][-1, 0]


@pytest.mark.parametrize("engine", ENGINES)
def test_in_a_subsystem_and_in_a_part_that_stands_still(engine: str, fmu: Make) -> None:
    """Active from 0.3 s to 1 s, at ticks: its ticks count from there, and are ours but for rounding."""
    part = fed_back({"unit": fmu("total")}, Constant(1.0))
    part.outport("y", "unit.y")
    d = Diagram("d")
    d.add("part", Enabled(part))
    on = np.where((K >= 3) & (K < 10), 1.0, 0.0)
    d.connect(d.add("on", RepeatingSequenceStair([*on, 0.0], sample="1/10"))["y"], "part.enable")
    d.add("plain", fed_back({"unit": fmu("total")}, Constant(1.0)))
    r = quietly(d, 1.1, log_at=T * np.arange(11), engine=engine)
    np.testing.assert_allclose(r["plain/unit.y"][:, 0], risen(11), rtol=0, atol=1e-14)
    shown = [*risen(1) * 3, *risen(7), risen(7)[-1]]
    np.testing.assert_allclose(r["part.y"][:, 0], shown, rtol=0, atol=1e-14)


# --- what else may be in the loop -------------------------------------------------------------------------
def amplified(t: float, u: np.ndarray) -> np.ndarray:
    """Half as much again."""
    return 1.5 * u


def chart() -> StateChart:
    """A switch with hysteresis that counts how often it was switched on."""
    return StateChart(
        inputs=["u"],
        outputs={"y": 0.0, "n": 0.0},
        states=[State("off", entry="y = 0"), State("on", entry="y = 1; n = n + 1")],
        transitions=[Transition("off", "on", "u > 0.2"), Transition("on", "off", "u < 0.1")],
        sample="1/10",
    )


FILTER = DiscreteStateSpace(A=[[0.5]], B=[[1.0]], C=[[1.0]], D=[[0.7]], sample="1/10")
LOOPS: dict[str, Callable[[Make], dict[str, Block]]] = {
    "two": lambda f: {"one": f("total"), "two": f("total")},
    "feedthrough": lambda f: {"one": f("pi"), "two": f("total")},
    "three": lambda f: {"one": f("pi"), "two": f("total"), "three": f("pi"), "gain": Gain(0.3)},
    "hold": lambda f: {"hold": Hold(sample="1/10"), "one": f("total")},
    "sampled": lambda f: {"one": f("total"), "filter": FILTER, "two": f("total")},
    "delay": lambda f: {"one": f("total"), "delay": UnitDelay(sample="1/10"), "two": f("pi")},
    "chart": lambda f: {"one": f("total"), "chart": chart()},
    "relay": lambda f: {"one": f("total"), "relay": RELAY},
    "relay of its own": lambda f: {"one": f("total"), "relay": f("relay")},
    "two rates": lambda f: {"one": f("fast"), "two": f("pi"), "hold": Hold(sample="1/20")},
    "states": lambda f: {"one": f("pi"), "plant": Integrator()},
    "python": lambda f: {"one": f("total"), "python": PythonFunction(amplified, sample="1/10")},
}
SOURCES = {
    "jump": Step(time=0.3, after=1.5),
    "stair": RepeatingSequenceStair((0.0, 0.3, 0.6, 0.3, 0.1, 0.9, 0.0), sample="1/10"),
}


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_is_what_its_blocks_are(name: str, source: str, fmu: Make) -> None:
    """As the diagram of the blocks that the FMUs were made of."""
    how: dict[str, Any] = {"log_every": 0.05, "max_step": 0.05}  # for what has no states
    whole = simulate(fed_back(LOOPS[name](MADE.__getitem__), SOURCES[source]), 2.0, **how)
    for order, version, engine in ((1, "2.0", "reference"), (4, "3.0", "native"), (2, "3.0", "reference")):
        engine = "auto" if name == "python" else engine
        units = LOOPS[name](lambda unit, version=version: fmu(unit, version))
        r = quietly(fed_back(units, SOURCES[source], order), 2.0, engine=engine, **how)
        for block in units:
            np.testing.assert_allclose(r[f"{block}.y"], whole[f"{block}.y"], rtol=0, atol=1e-12)
        if name == "chart":
            assert r["chart.n"][-1, 0] == whole["chart.n"][-1, 0]


@pytest.mark.parametrize("engine", ENGINES)
def test_two_sampled_integrators_around_each_other(engine: str, fmu: Make) -> None:
    """x_k+1 = x_k + T (1 - z_k), z_k+1 = z_k + T x_k, against the powers of that matrix."""
    r = quietly(
        fed_back({"x": fmu("total"), "z": fmu("total", "2.0")}, Constant(1.0)),
        1.0,
        log_every=T,
        engine=engine,
    )
    a, x = np.array([[1.0, -T], [T, 1.0]]), np.array([0.0, -1.0])  # about the rest at x = 0, z = 1
    expected = [np.linalg.matrix_power(a, int(k)) @ x + [0.0, 1.0] for k in K]
    np.testing.assert_allclose(np.c_[r["x.y"], r["z.y"]], expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_lag_that_is_sampled_by_a_controller(engine: str, fmu: Make) -> None:
    """x' = u - 2 x between samples, u_k = s_k, s_k+1 = s_k + T (1 - x_k): its exact map."""
    d = fed_back({"s": fmu("total"), "x": TransferFunction([1.0], [1.0, 2.0])}, Constant(1.0))
    r = quietly(d, 1.0, log_every=T, engine=engine, rtol=1e-11, atol=1e-13)
    x = s = 0.0
    expected, a = [], np.exp(-2.0 * T)
    for _ in K:
        expected.append((s, x))
        x, s = a * x + (1.0 - a) / 2.0 * s, s + T * (1.0 - x)
    np.testing.assert_allclose(np.c_[r["s.y"], r["x.y"]], expected, rtol=0, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["two", "chart", "relay of its own", "two rates"])
def test_both_engines_agree_to_the_last_bit(name: str, fmu: Make) -> None:
    d = fed_back(LOOPS[name](fmu), SOURCES["stair"])
    runs = [simulate(d, 1.0, log_every=0.05, engine=engine) for engine in ENGINES]
    for signal in runs[0].signals:
        assert runs[0][signal].tobytes() == runs[1][signal].tobytes(), signal
    assert [(e.time, e.name) for e in runs[0].events] == [(e.time, e.name) for e in runs[1].events]


# --- what follows from an event comes after it --------------------------------------------------------------
@dataclass(frozen=True)
class Thrown(Block):
    """v' = -2, v = 1 at the start; where `push` rises above 0.5 it is 1 more."""

    def define(self, b: Equations) -> None:
        """Define the speed and the push."""
        push, v = b.input("u"), b.continuous("v", 1.0)
        b.derivative(v, -2.0)
        b.when(push - 0.5, {v: v + 1.0}, direction="rising", name="push")
        b.output("y", v)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_a_sampled_block_does_not_see_what_its_own_output_changes(
    version: str, engine: str, tmp_path: Path
) -> None:
    """It falls at a tick, 0.75 s, and is pushed up there: that is no reason not to have pushed it."""
    unit = FMU(export_fmu(Thrown(), tmp_path / "thrown.fmu", kinds=("me",), version=version), kind="me")
    d = Diagram("caught")
    d.add("mass", unit)
    d.connect("mass.y", d.add("falls", Function(lambda u: 1.0 * (u < -0.25), sample=0.25))["u"])
    d.connect("falls.y", "mass.u")
    r = quietly(d, 1.0, log_every=0.25, engine=engine)
    np.testing.assert_allclose(r["mass.y"].ravel(), [1.0, 0.5, 0.0, 0.5, 0.0], atol=1e-9)


@dataclass(frozen=True)
class Reset(Block):
    """x' = 1, and every 0.1 s x becomes u; y = x."""

    def define(self, b: Equations) -> None:
        """Define the state and its event."""
        u, x = b.input("u"), b.continuous("x", 0.0)
        b.derivative(x, 1.0)
        b.event_at("due", 0.1, lambda due: {x: u, due: np.floor(10.0 * due + 1.5) / 10.0}, "reset")
        b.output("y", x)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_reset_reads_what_follows_from_the_state_before_it(engine: str, tmp_path: Path) -> None:
    """x+ = 1 - x at each instant, which another time would make x of again."""
    unit = FMU(export_fmu(Reset(), tmp_path / "reset.fmu", kinds=("me",), version="3.0"), kind="me")
    r = quietly(fed_back({"unit": unit}, Constant(1.0)), 0.5, log_every=T, engine=engine)
    x, expected = 0.0, [0.0]
    for _ in range(5):
        x = 1.0 - (x + T)
        expected.append(x)
    np.testing.assert_allclose(r["unit.y"][:, 0], expected, rtol=0, atol=1e-9)


# --- loops that are algebraic -----------------------------------------------------------------------------
HIDDEN = DiscreteStateSpace(A=[[1.0]], B=[[T]], C=[[1.0]], D=[[1.0]], sample="1/10")


def hiding(fmu_path: Path) -> Path:
    """The same unit, which says that its output depends on no input."""
    changed = fmu_path.with_name(f"hiding_{fmu_path.name}")
    with zipfile.ZipFile(fmu_path) as old, zipfile.ZipFile(changed, "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            if entry.filename == "modelDescription.xml":
                text = data.decode()
                data = re.sub(
                    r'dependencies="[^"]*"( dependenciesKind="[^"]*")?', 'dependencies=""', text
                ).encode()
            new.writestr(entry, data)
    return changed


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_an_output_that_follows_its_input_at_once_settles_or_is_an_error(
    version: str, engine: str, tmp_path: Path
) -> None:
    """y = s + u, u = 1 - g y: y = (s + 1) / (1 + g) for |g| < 1, and no end of changes beyond."""
    unit = hiding(export_fmu(HIDDEN, tmp_path / "unit.fmu", kinds=("me",), version=version))
    r = simulate(
        fed_back({"unit": FMU(unit, kind="me"), "gain": Gain(0.5)}, Constant(1.0)),
        1.0,
        log_every=T,
        engine=engine,
    )
    s, expected = 0.0, []
    for _ in K:
        y = (s + 1.0) / 1.5
        expected.append(y)
        s += T * (1.0 - 0.5 * y)
    np.testing.assert_allclose(r["unit.y"][:, 0], expected, rtol=1e-13)
    with pytest.raises(SimulationError, match=r"loop at one instant through 'unit' do not settle at t=0 s"):
        simulate(
            fed_back({"unit": FMU(unit, kind="me"), "gain": Gain(1.5)}, Constant(1.0)), 1.0, engine=engine
        )


@pytest.fixture(scope="module")
def chained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """At 10 Hz: a stair, a sum of it, a sample of that; and a wire that makes a loop of units."""
    d = Diagram("chained")
    blocks = {
        "stair": RepeatingSequenceStair([1.0, -1.0, 0.5], sample="1/10"),
        "sum": DiscreteIntegrator(sample="1/10", method="backward", initial=2.0),
        "held": Hold(sample="1/10"),
        "wire": Gain(1.0),
    }
    for name, block in blocks.items():
        d.add(name, block)
        if name != "stair":
            d.connect(d.inport(f"to_{name}"), f"{name}.u")
        d.outport(name, f"{name}.y")
    return export_fmu(d, tmp_path_factory.mktemp("chained") / "chained.fmu", version="2.0", kinds=("me",))


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_a_unit_behind_a_loop_sees_what_it_settles_to(chained: Path, engine: str) -> None:
    """The first unit sums what the second gives, which reads a wire of it; the third samples the sum.

    The first one's events are repeated; the third went on with a sum of old and new, and lagged by a tick.
    """
    d = Diagram("d")
    for name in ("a", "b", "c"):
        d.add(name, FMU(chained))
    d.connect("b.stair", "a.to_sum")
    d.connect("a.wire", "b.to_wire")
    d.connect("a.sum", "c.to_held")
    d.ground("a.to_held", "a.to_wire", "b.to_sum", "b.to_held", "c.to_sum", "c.to_wire")
    r = simulate(d, 0.4, log_at=[0.0, 0.05, 0.1, 0.2, 0.3, 0.4], engine=engine)
    expected = 2.0 + 0.1 * np.array([1.0, 1.0, 0.0, 0.5, 1.5, 0.5])
    np.testing.assert_allclose(r["a.sum"][:, 0], expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(r["c.held"][:, 0], expected, rtol=0, atol=1e-12)
