"""Python functions that a run calls at ticks: when, with what, and what it says when they fail."""

import pickle
import signal

import numpy as np

from blocks import Clock, Constant, Function, PythonFunction
from tests.helpers.failures import fails
from tests.helpers.mixed import Counter
from tests.helpers.runs import Simulation, build, simulate


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


def test_ctrl_c_in_a_python_function_returns_what_was_computed():
    def function(t, u):
        if t > 0.35:
            raise KeyboardInterrupt
        return u

    r = simulate(opaque(function), 1.0, log_every=0.1)
    assert not r.complete and r.message.startswith("interrupted at t=0.4")
    np.testing.assert_allclose(r.time, [0.0, 0.1, 0.2, 0.3])
    np.testing.assert_allclose(r["f.y"][:, 0], [0.0, 0.1, 0.2, 0.3])


def test_a_handler_of_ones_own_for_ctrl_c_stays():
    """Runs look after Ctrl-C while Python functions in equations are called, where nobody else does."""

    def mine(number, frame):
        """Never called here."""

    seen = set()

    def function(t, u):
        seen.add(signal.getsignal(signal.SIGINT))
        return u

    before = signal.signal(signal.SIGINT, mine)
    try:
        simulate(build("c.y>f.u", c=Clock(), f=PythonFunction(function, sample=None)), 0.1)
        assert seen == {mine} and signal.getsignal(signal.SIGINT) is mine
    finally:
        signal.signal(signal.SIGINT, before)
