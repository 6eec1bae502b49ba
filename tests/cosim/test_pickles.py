"""Diagrams, plants, systems and results are pickled and copied at any time, and go on with equal bits."""

import copy
import hashlib
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from glob import glob
from typing import Any

import numpy as np
import pytest

from blocks import BlockError, Clock, Function, Gain, Integrator, PythonFunction
from cosim import Diagram, Simulation, linearize, simulate
from plant import Plant
from tests.helpers.hybrid import DIAGRAMS
from tests.helpers.runs import build

NAMED = ["cartpole", "relay", "rates"]
PLANTS = sorted(glob("tests/data/models/*.xml"))[:2]


def digest(diagram, engine="auto", **options):
    """Hash of every bit of a run."""
    r = simulate(diagram, 0.3, engine=engine, **options)
    found = hashlib.sha256(r.time.tobytes())
    for name in sorted(r.signals):
        found.update(name.encode() + np.ascontiguousarray(r.signals[name]).tobytes())
    return found.hexdigest()


CHILD = """
import pickle, sys
from tests.cosim.test_pickles import digest
while True:
    try:
        diagram, system, options = pickle.load(sys.stdin.buffer)
    except EOFError:
        break
    print(digest(diagram, **options), digest(system, **options), system.hash, flush=True)
"""


@pytest.fixture(scope="module")
def in_a_child() -> Iterator[Callable[..., list[str]]]:
    """What another process finds for a diagram, its system and options; one answers for all tests."""
    with tempfile.TemporaryFile() as errors:
        command = [sys.executable, "-c", CHILD]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors) as child:

            def ask(*things: Any) -> list[str]:
                assert child.stdin is not None and child.stdout is not None
                child.stdin.write(pickle.dumps(things))
                child.stdin.flush()
                answer = child.stdout.readline().decode().split()
                if not answer:  # it has ended
                    errors.seek(0)
                    pytest.fail(errors.read().decode())
                return answer

            yield ask


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMED)
def test_a_diagram_and_its_system_run_in_a_child_with_equal_bits(name, in_a_child):
    d, options = DIAGRAMS[name](), {}
    before = pickle.dumps(d)
    expected = digest(d, **options)
    system = d.system(**options)
    assert in_a_child(d, system, options) == [expected, expected, system.hash]
    assert digest(pickle.loads(before), **options) == expected
    assert b"casadi" not in pickle.dumps(d)  # what was derived from it is not in there


@pytest.mark.parametrize("name", NAMED)
def test_copies_are_independent_and_run_with_equal_bits(name):
    d, options = DIAGRAMS[name](), {}
    expected = digest(d, **options)
    other = copy.deepcopy(d)
    other.add("one_more", Clock())
    assert "one_more" not in d.graph
    assert digest(d, **options) == expected
    assert digest(copy.deepcopy(d), engine="reference", **options) == digest(d, "reference", **options)
    assert digest(copy.deepcopy(d.system(**options)), **options) == expected


@pytest.mark.slow
@pytest.mark.parametrize("file", PLANTS)
def test_a_plant_runs_in_a_child_with_equal_bits(file, in_a_child):
    plant = Plant.read(file, trust=True)
    d = Diagram("one")
    d.add("plant", plant)
    for name in plant.inputs:
        d.ground(f"plant.{name}")
    expected = digest(d, solver="rk4", step=0.01)
    linearize(d, outputs=[])
    assert in_a_child(d, d.system(), {"solver": "rk4", "step": 0.01})[:2] == [expected, expected]
    assert digest(pickle.loads(pickle.dumps(plant)), solver="rk4", step=0.01) == digest(
        copy.deepcopy(plant), solver="rk4", step=0.01
    )


def test_a_system_of_a_block_alone_keeps_its_short_names():
    sim = Simulation(Integrator(2.0))
    again = pickle.loads(pickle.dumps(sim.system))
    assert again.prefix == sim.system.prefix == "plant."
    assert simulate(again, 0.1, initial={"x": 3.0})["y"][0] == 3.0


def test_a_result_is_pickled_and_copied():
    r = simulate(Integrator(2.0), 0.1)
    for other in (pickle.loads(pickle.dumps(r)), copy.deepcopy(r)):
        assert other.time.tobytes() == r.time.tobytes()
        assert other["plant.y"].tobytes() == r["plant.y"].tobytes()
        assert other.settings.keys() == r.settings.keys()


class Counter:
    def __init__(self):
        self.n = 0

    def __call__(self, t, u):
        self.n += 1
        return self.n + u[0]


def doubled(u):
    return 2.0 * u


@pytest.mark.slow
@pytest.mark.parametrize("sample", [0.1, None])
def test_python_in_a_diagram_goes_with_it(sample, in_a_child):
    d = build(
        "c.y>f.u f.y>g.u g.y>x.u",
        c=Clock(), f=PythonFunction(Counter(), sample=sample), g=Function(doubled), x=Integrator(),
    )  # fmt: skip
    options = {"solver": "rk4", "step": 0.05}
    expected = digest(d, **options)
    assert in_a_child(d, d.system(), options)[:2] == [expected, expected]
    assert digest(copy.deepcopy(d), **options) == expected


@pytest.mark.parametrize("block", [Function(lambda u: u), PythonFunction(lambda t, u: u, sample=0.1)])
def test_a_lambda_is_named_with_the_cure_and_can_be_copied(block):
    d = build("c.y>f.u", c=Clock(), f=block)
    text = (
        rf"{type(block).__name__}: function is <lambda> .*test_pickles\.py:\d+.*def at the top.*cloudpickle"
    )
    for thing in (block, d, d.system()):
        with pytest.raises(BlockError, match=text):
            pickle.dumps(thing)
    assert copy.deepcopy(block).function is copy.copy(block).function is block.function
    assert digest(copy.deepcopy(d)) == digest(d)


def test_a_package_that_takes_any_function_is_given_them():
    asking: dict[str, Any] = {"__name__": "cloudpickle.cloudpickle"}
    exec("def state_of(block): return block.__getstate__()", asking)
    block = Function(lambda u: u)
    assert asking["state_of"](block)["function"] is block.function


def test_what_is_derived_is_no_part_of_an_equal_system():
    d = build("c.y>g.u", c=Clock(), g=Gain(2.0))
    digest(d)
    system = d.system()
    assert pickle.loads(pickle.dumps(system.derived))._found == {}
    assert "_compiled" not in vars(system) and "_functions" not in vars(system)
