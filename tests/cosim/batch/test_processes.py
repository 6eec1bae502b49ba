"""Many runs of diagrams with Python in them: in processes, with the numbers of single runs."""

import multiprocessing
import os
import signal
import sys
import time
from dataclasses import dataclass
from multiprocessing.popen_fork import Popen

import numpy as np
import psutil
import pytest

from blocks import Block, Integrator, PythonFunction
from blocks.errors import SimulationError
from cosim import Diagram, simulate, simulate_many
from cosim.batch import ways
from tests.helpers.hybrid import bouncing
from tests.helpers.interrupts import ctrl_c

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the program divides itself (fork)")

FIXED = {"solver": "rk4", "step": 1e-2}
STARTS = {"initial": {"x.x": [1.0 + 0.1 * k for k in range(12)]}}


def loop(function) -> Diagram:
    """x' = function(t, x), taken every 0.1 s."""
    d = Diagram("loop")
    x = d.add("x", Integrator(1.0))
    c = d.add("controller", PythonFunction(function, sample=0.1))
    d.connect(x["y"], c["u"])
    d.connect(c["y"], x["u"])
    return d


@dataclass(frozen=True)
class Inside(Block):
    """x' = -x^3, computed by Python inside the equations."""

    def define(self, b):
        x = b.continuous("x", 1.0)
        b.derivative(x, b.opaque("cube", lambda t, u: -(u**3), x, size=1))
        b.output("y", x)


def inside() -> Diagram:
    d = Diagram("inside")
    d.add("x", Inside())
    return d


CASES = {
    "a ticked function": (lambda: loop(lambda t, u: -np.sin(u)), {}),
    "a function in the equations": (inside, {}),
    "the reference engine": (inside, {"engine": "reference"}),
    "a solver of SciPy's": (inside, {"solver": "Radau", "rtol": 1e-6}),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_runs_are_single_ones_for_any_number_of_processes(case):
    make, options = CASES[case]
    options = options if "solver" in options else FIXED | options
    d = make()
    found = [simulate_many(d, STARTS, 0.55, threads=n, log_every=0.05, **options) for n in (1, 2, 5)]
    taken = [(f.how.way, f.how.workers) for f in found]
    assert taken == [("one after the other", 1), ("processes", 2), ("processes", 5)]
    assert len({f.table.tobytes() for f in found}) == 1
    assert not found[1].errors
    for k in (0, 7, 11):
        value = STARTS["initial"]["x.x"][k]
        single = simulate(d, 0.55, log_every=0.05, initial={"x.x": value}, **options)
        for name in single:
            assert single[name].tobytes() == found[1][name][k].tobytes()


def test_several_processes_take_part_and_this_one_does_not():
    def who(t, u):
        time.sleep(0.02)
        return float(os.getpid())

    found = simulate_many(loop(who), STARTS, 0.15, threads=2, **FIXED)
    pids = set(found["controller.y"].ravel().astype(int))
    assert len(pids) == 2
    assert os.getpid() not in pids
    assert "'loop' has Python in it ('controller')" in str(found.how)


def test_the_reason_is_in_the_result():
    slow = simulate_many(bouncing(), [{}, {}], 0.2, engine="reference", threads=2, **FIXED)
    assert str(slow.how) == "processes (2 at once): the reference engine is Python"
    fast = simulate_many(bouncing(), [{}, {}], 0.2, threads=2, **FIXED)
    assert fast.how.way == "threads"
    assert "compiled" in fast.how.why
    assert slow.table.tobytes() == fast.table.tobytes()
    scipy = simulate_many(bouncing(), [{}, {}], 0.2, threads=2, solver="BDF")
    assert "solver 'BDF' runs in Python" in scipy.how.why
    assert simulate_many(bouncing(), [], 0.2).how.why == "there are no runs"


def test_where_the_program_cannot_divide_itself_runs_follow_each_other(monkeypatch):
    monkeypatch.setattr(ways.multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    found = simulate_many(loop(lambda t, u: -u), STARTS, 0.2, threads=2, **FIXED)
    assert found.how.way == "one after the other"
    assert "not possible on linux" in found.how.why
    assert np.isfinite(found.table).all()


def test_a_run_that_fails_is_explained_as_alone():
    d = loop(lambda t, u: -u if u[0] < 1.55 else 1 / 0)
    found = simulate_many(d, STARTS, 0.5, threads=3, log_every=0.1, **FIXED)
    assert sorted(found.errors) == [6, 7, 8, 9, 10, 11]
    with pytest.raises(SimulationError) as caught:
        simulate(d, 0.5, log_every=0.1, initial={"x.x": 1.6}, **FIXED)
    assert str(found.errors[6]) == str(caught.value)
    assert isinstance(found.errors[6].__cause__, ZeroDivisionError)
    assert np.isfinite(found["x.y"][:6]).all()
    assert np.isnan(found["x.y"][6:, -1]).all()


def test_a_process_that_dies_loses_its_run_only():
    d = loop(lambda t, u: -u if abs(u[0] - 1.3) > 0.01 else os._exit(7))
    found = simulate_many(d, STARTS, 0.05, threads=2, **FIXED)
    assert list(found.errors) == [3]
    assert "run 3 ended with its process" in str(found.errors[3])
    rest = np.delete(np.arange(12), 3)
    assert np.isfinite(found["x.y"][rest]).all()
    assert np.isnan(found["x.y"][3]).all()


def test_ctrl_c_ends_all_processes():
    def slow(t, u):
        time.sleep(0.05)
        return -u

    with ctrl_c() as later, pytest.raises(KeyboardInterrupt):
        later(0.5)
        simulate_many(loop(slow), STARTS, 1e3, threads=2, **FIXED)
    assert not multiprocessing.active_children()


def test_ctrl_c_while_a_process_is_started_ends_it_too(monkeypatch):
    started, launch = [], Popen._launch

    def launched(self, process):
        launch(self, process)
        started.append(self.pid)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Popen, "_launch", launched)
    with pytest.raises(KeyboardInterrupt):
        simulate_many(loop(lambda t, u: time.sleep(0.05) or -u), STARTS, 1e3, threads=2, **FIXED)
    assert len(started) == 1
    left = [pid for pid in started if psutil.pid_exists(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left


def test_progress_counts_runs():
    told = []
    simulate_many(loop(lambda t, u: -u), STARTS, 0.2, threads=2, progress=told.append, **FIXED)
    assert told == sorted(told)
    assert told[-1] == 12
