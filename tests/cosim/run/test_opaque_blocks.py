"""Opaque blocks belong to a run: runs side by side, a second one and a replay know nothing of each other."""

import subprocess
import sys
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

from blocks import Block, BlockError, Clock, Integrator, PlantloopError, PythonFunction
from blocks.contract.rate import Ticks
from blocks.errors import KeepsError
from cosim import Diagram, Simulation, simulate
from cosim.run.opaque_blocks import Instances
from tests.helpers.runs import build

ENGINES = pytest.mark.parametrize("engine", ["reference", "auto"])
STEPS = {"solver": "rk4", "step": 0.05}


class Filter:
    """A running mean of all it has seen; keeps a number and a list."""

    def __init__(self):
        self.n, self.seen = 0, []

    def __call__(self, t, u):
        self.n += 1
        self.seen.append(float(u[0]))
        return sum(self.seen) / self.n + self.n

    def save(self):
        return repr((self.n, self.seen)).encode()

    def load(self, state):
        self.n, self.seen = eval(state)


class Plain(Filter):
    save = load = None


def diagram(way):
    """A filter that is sampled, in a loop with an integrator."""
    memory = Filter()
    functions = {
        "object": {"function": Plain()},
        "method": {"function": Plain().__call__},
        "memory": {"function": memory, "memory": memory},
        "closure": {"function": lambda t, u: memory(t, u), "memory": memory},
    }
    f = PythonFunction(**functions[way], sample=0.1)
    return build("x.y>f.u f.y>x.u", f=f, x=Integrator(0.25))


WAYS = pytest.mark.parametrize("way", ["object", "method", "memory", "closure"])


def rows(r):
    return np.column_stack([r.time, r["f.y"], r["x.y"]])


def first_run(way):
    return rows(simulate(diagram(way), 1.0, engine="reference", log_every=0.1, **STEPS))


@ENGINES
@WAYS
def test_a_second_run_is_like_the_first(way, engine):
    d = diagram(way)
    expected = first_run(way)
    for _ in range(2):
        found = rows(simulate(d, 1.0, engine=engine, log_every=0.1, **STEPS))
        np.testing.assert_array_equal(found, expected)


@ENGINES
@WAYS
def test_two_runs_side_by_side_are_like_one_alone(way, engine):
    d = diagram(way)
    sims = [Simulation(d, engine=engine, **STEPS) for _ in range(2)]
    for sim in sims:
        sim.log([k / 10 for k in range(11)])
    for k in range(11):
        for sim in sims:
            sim.advance(k / 10)
    for sim in sims:
        np.testing.assert_array_equal(rows(sim.result()), first_run(way))


@ENGINES
@WAYS
def test_a_replay_is_like_the_first_time(way, engine):
    sim = Simulation(diagram(way), engine=engine, **STEPS)
    sim.advance(0.45)
    before = sim.snapshot()
    sim.advance(1.0)
    first = [*sim.value("f.y"), *sim.value("x.y")]
    sim.restore(before)
    sim.advance(1.0)
    assert [*sim.value("f.y"), *sim.value("x.y")] == first
    other = Simulation(diagram(way), engine=engine, **STEPS)
    other.restore(before)
    other.advance(1.0)
    assert [*other.value("f.y"), *other.value("x.y")] == first


GO_ON = """
import sys
from cosim import Simulation
from tests.cosim.run.test_opaque_blocks import STEPS, diagram
sim = Simulation(diagram(sys.argv[1]), engine=sys.argv[2], **STEPS)
sim.load(sys.argv[3])
sim.advance(1.0)
print(sim.value("f.y")[0].hex(), sim.value("x.y")[0].hex())
"""


@pytest.mark.slow
@ENGINES
@WAYS
def test_a_run_goes_on_in_another_process(tmp_path, way, engine):
    sim = Simulation(diagram(way), engine=engine, **STEPS)
    sim.advance(0.45)
    sim.save(tmp_path / "at.npz")
    sim.advance(1.0)
    command = [sys.executable, "-c", GO_ON, way, engine, str(tmp_path / "at.npz")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [sim.value(name)[0].hex() for name in ("f.y", "x.y")]


@ENGINES
def test_a_function_that_keeps_something_stops_the_run_by_name(engine):
    seen = [0.0]

    def keeping(t, u):
        seen[0] += u[0]
        return seen[0]

    for sample in (0.1, None):
        d = build("c.y>f.u f.y>x.u", c=Clock(), f=PythonFunction(keeping, sample=sample), x=Integrator())
        with pytest.raises(KeepsError, match=r"(?s)keeping .*keeps something in 'seen'.*memory=") as caught:
            simulate(d, 1.0, engine=engine)
        assert caught.value.result is not None


@ENGINES
def test_an_object_inside_the_equations_is_a_runs_own(engine):
    class Counting:
        def __init__(self):
            self.calls = 0

        def __call__(self, t, u):
            self.calls += 1
            return -u[0] + 1e-3 * self.calls

    d = build("x.y>f.u f.y>x.u", f=PythonFunction(Counting(), sample=None), x=Integrator(1.0))
    values = [simulate(d, 1.0, engine=engine, log_at=[1.0], **STEPS)["x.y"].item() for _ in range(2)]
    assert values[0] == values[1]
    first, second = (Simulation(d, engine=engine, **STEPS) for _ in range(2))
    for k in range(1, 11):
        for sim in (first, second):
            sim.advance(k / 10)
    assert first.value("x.y") == second.value("x.y")


# --- a block that makes its own instances
LIFE: list[str] = []


class Device:
    """Like a co-simulated unit: it holds something open, and its state is a few bytes."""

    def __init__(self, scale):
        self.scale, self.n = scale, 0
        LIFE.append("made")

    def call(self, t, u):
        self.n += 1
        return self.scale * self.n + u

    def save(self):
        return bytes([self.n])

    def load(self, state):
        self.n = state[0]

    def close(self):
        LIFE.append("closed")


@dataclass(frozen=True)
class Unit(Block):
    scale: float

    def define(self, b):
        u = b.input("u", size=1)
        b.output("y", b.external("y", lambda: Device(self.scale), u, 1, Ticks.of("1/10")))


@ENGINES
def test_instances_are_made_once_per_run_and_closed_at_its_end(engine):
    LIFE.clear()
    d = build("c.y>u.u", c=Clock(), u=Unit(10.0))
    r = simulate(d, 0.3, engine=engine, log_every=0.1)
    np.testing.assert_allclose(r["u.y"][:, 0], [10.0, 20.1, 30.2, 40.3])
    assert LIFE == ["made", "closed"]
    with Simulation(d, engine=engine) as sim:
        sim.advance(0.2)
        before = sim.snapshot()
        sim.advance(0.4)
        sim.restore(before)
        sim.advance(0.3)
        assert sim.value("u.y").item() == pytest.approx(40.3)
        assert LIFE == ["made", "closed", "made"]
    assert LIFE == ["made", "closed"] * 2
    with pytest.raises(PlantloopError, match="'u' is called after the simulation was closed"):
        sim.advance(1.0)


def test_what_cannot_be_made_or_saved_is_told_with_the_block():
    class Opens:
        def __call__(self, t, u):
            self.view = memoryview(b"")
            return u

        def __deepcopy__(self, memo):
            return self if hasattr(self, "fine") else Opens._fails()

        @staticmethod
        def _fails():
            raise TypeError("no copy of a device")

    opens = Opens()
    d = build("c.y>f.u", c=Clock(), f=PythonFunction(opens, sample=0.1))
    with pytest.raises(
        BlockError, match=r"block 'f': .*Opens.* cannot be copied.*no copy of a device"
    ) as caught:
        simulate(d, 1.0)
    assert caught.value.path == "f"
    opens.fine = True
    sim = Simulation(d)
    with pytest.raises(BlockError, match=r"block 'f': .*'view' is a memoryview"):
        sim.snapshot()


def test_two_equal_blocks_have_an_instance_each():
    d = Diagram("two")
    clock = d.add("c", Clock())
    for name in ("first", "second"):
        f = d.add(name, PythonFunction(SHARED, sample=0.1))
        clock["y"] >> f["u"]
    r = simulate(d, 0.2, log_at=[0.2])
    assert r["first.y"].item() == r["second.y"].item() == pytest.approx(3.1)


SHARED = Plain()


def test_what_is_made_of_saved_states_goes_on_from_them():
    system = diagram("memory").system()
    (name,) = Instances(system).save()
    states = {name: repr((2, [0.25, 0.5])).encode()}
    assert Instances(system, states).save() == states
    assert Instances(system, {}).save() == {name: repr((0, [])).encode()}


class Numbered:
    """An instance that knows which one it is."""

    def __init__(self):
        LIFE.append("made")
        self.number = float(LIFE.count("made"))


@dataclass(frozen=True)
class Twin(Block):
    """Shows the number of its instance, in continuous equations."""

    def define(self, b):
        x = b.continuous("x", 0.0)
        own = partial(Numbered)  # another one for each block, as a unit has it
        b.derivative(x, b.opaque("f", lambda it, t, u: np.array([it.number]), x, 1, make=own))
        b.output("y", x)


@ENGINES
def test_equal_blocks_have_an_instance_each(engine):
    """One shape, of which the equations are made once: x' is 1 of one and 2 of the other."""
    LIFE.clear()
    d = Diagram("twins")
    for name in ("a", "b"):
        d.add(name, Twin())
    r = simulate(d, 0.5, engine=engine, log_every=0.5)
    assert LIFE.count("made") == 2
    assert sorted(float(r[f"{name}.y"][-1, 0]) for name in ("a", "b")) == pytest.approx([0.5, 1.0])
