"""Counts without bounds are worked out and refused before memory is taken; API and scenario alike."""

import time

import numpy as np
import pytest

from blocks import (
    Constant,
    Demux,
    Integrator,
    LogicalOperator,
    MinMax,
    Mux,
    Product,
    PythonFunction,
    Sine,
    Sum,
)
from blocks.contract.block import Block
from blocks.errors import BlockError, PlantloopError, ScenarioError
from cosim import Study, simulate, simulate_many
from cosim.block_alone import system_alone
from cosim.run import memory
from cosim.scenario import load_scenario
from tests.helpers.made import Made, chain

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def small(monkeypatch):
    """A machine of 1 GB."""
    monkeypatch.setattr(memory, "installed", lambda: float(2**30))


COUNTS = [
    (lambda: Mux(10**9), "Mux: n is 1000000000, so many ports, which need 2.51e+04 GB of memory, exp"),
    (lambda: Mux(100_001), "expected at most 100000. Use signals of several components"),
    (lambda: Mux(10**400), "so many ports, which need endless GB"),
    (lambda: Mux(-1), "expected an integer of at least 1"),
    (lambda: Sum(10**6), "Sum: signs is 1000000, so many ports, which need 25.1 GB of memory"),
    (lambda: Sum("-" * 100_001), "..., so many ports, which need 2.51 GB of memory"),
    (lambda: Product(100_001), "Product: operations is 100001, so many ports"),
    (lambda: MinMax("max", 10**6), "MinMax: n is 1000000, so many ports"),
    (lambda: LogicalOperator("or", 10**6), "LogicalOperator: n is 1000000, so many ports"),
    (lambda: LogicalOperator("or", 0), "expected an integer of at least 1"),
    (lambda: Demux(10**9), "Demux: sizes is 1000000000, so many ports"),
    (lambda: Demux([10**9]), "a list of integers of at least 1 and at most 1000000"),
    (lambda: PythonFunction(lambda t, u: u, size=10**12, sample=1.0), "at most 1000000"),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(COUNTS)))
def test_counts_of_blocks(case):
    make, text = COUNTS[case]
    with pytest.raises(BlockError) as caught:
        make()
    assert text in str(caught.value)


@pytest.mark.parametrize("declare", [
    lambda b: b.output("y", b.input("u", size=10**9)[0]),
    lambda b: b.output("y", b.continuous("x", 0.0, size=10**9)[0]),
    lambda b: b.output("y", b.discrete("x", 0.0, size=10**12, sample=1.0)[0]),
])  # fmt: skip
def test_sizes_a_block_declares(declare):
    with pytest.raises(PlantloopError, match=r"(u|x)' has \d+ components.*at most 10000000"):
        system_alone(Made(declare))


def test_a_number_of_ports_of_numpy_counts_as_one():
    assert Sum(np.int64(3)).signs == "+++" and Sum("+" * 100_000).signs == "+" * 100_000


def test_a_size_below_0_is_refused():
    with pytest.raises(PlantloopError, match="the size of 'u' is -1, expected a whole number, zero or more"):
        system_alone(Made(lambda b: b.output("y", b.input("u", size=-1))))


@pytest.mark.slow
def test_many_ports_take_time_in_proportion():
    """5000 ports: checks of both ends went through all ports for each."""
    began = time.process_time()
    system = system_alone(Mux(4000))
    assert [signal.size for signal in system.signals.values() if signal.size > 1] == [4000]
    assert time.process_time() - began < 60  # s; it is 2


def loop():
    return chain(Sine(1.0, 1.0), Integrator())


@pytest.mark.slow
def test_a_log_that_does_not_fit(small):
    with pytest.raises(
        PlantloopError, match=r"log_every=1e-09 s over 10 s needs 149 GB of memory, more than the"
    ):
        simulate(loop(), 10.0, log_every=1e-9)
    wide = chain(Sine(np.ones(20), 1.0), Integrator())
    with pytest.raises(PlantloopError, match=r"a log of 4e\+06 rows of 40 numbers needs 1.22 GB"):
        simulate(wide, 4.0, log_every=1e-6)
    with pytest.raises(PlantloopError, match=r"a log of 1e\+08 rows of 2 numbers needs 2.24 GB.*signals="):
        simulate(loop(), 100.0, solver="rk4", step=1e-6, log_every="step")
    assert len(simulate(loop(), 1e-3, log_every=1e-7).time) == 10_001


def test_many_runs_that_do_not_fit(small):
    with pytest.raises(PlantloopError, match=r"50000 runs with 1001 rows of 2 numbers needs 1.12 GB"):
        simulate_many(loop(), 50_000, 1.0, log_every=0.001)


def test_intervals_of_any_size_are_worked_out():
    """Also those whose number of rows is beyond every float."""
    for every in (1e-300, 5e-324, "1e-400", 1e-12):
        with pytest.raises(PlantloopError, match="GB of memory|positive interval|expected"):
            simulate(loop(), 1e300, log_every=every)


def written(tmp_path, text):
    (tmp_path / "s.toml").write_text(text)
    return tmp_path / "s.toml"


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ('type = "Mux"\nn = 1000000000', r"blocks\.a\] n: Mux: n is 1000000000, so many ports"),
        (f'type = "Mux"\nn = {"9" * 400}', r"blocks\.a\] n: Mux: n is 9+\.\.\."),
        ('type = "Demux"\nsizes = [1000000000]', r"blocks\.a\] sizes: Demux: sizes is"),
        (f'type = "Sine"\nsample = {"9" * 400}', r"blocks\.a\]"),
        (f'type = "Constant"\nvalue = {"9" * 400}', r"blocks\.a\]"),
    ],
)
def test_counts_in_a_scenario(tmp_path, block, text):
    path = written(tmp_path, f"[blocks.a]\n{block}\n[run]\nuntil = 1.0\n")
    with pytest.raises(ScenarioError, match=text):
        load_scenario(path).run()


def test_a_log_in_a_scenario(tmp_path, small):
    text = '[blocks.a]\ntype = "Sine"\n[run]\nuntil = 10.0\nlog_every = 1e-9\n'
    with pytest.raises(PlantloopError, match="GB of memory"):
        load_scenario(written(tmp_path, text)).run()


def test_what_fits_is_not_refused():
    r = simulate(chain(Constant(np.arange(1000.0)), Integrator(np.zeros(1000))), 1.0)
    assert r["b2.y"][-1] == pytest.approx(np.arange(1000.0))
    assert memory.installed() > 2**28 and issubclass(Made, Block)


def test_memory_is_that_of_the_container_or_the_machine_or_what_is_usual(tmp_path, monkeypatch):
    """Found anew, as what was found is kept: with a limit, without one, and where the system says nothing."""
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(memory, "LIMITS", (str(limit),))
    monkeypatch.setattr(memory.os, "sysconf", {"SC_PHYS_PAGES": 2**21, "SC_PAGE_SIZE": 4096}.__getitem__)
    find = memory.installed.__wrapped__
    assert find() == 8 * 2**30
    limit.write_text("max")
    assert find() == 8 * 2**30
    limit.write_text(str(3 * 2**30))
    assert find() == 3 * 2**30
    limit.unlink()

    def silent(name):
        raise ValueError(name)

    monkeypatch.setattr(memory.os, "sysconf", silent)
    assert find() == 16 * 2**30


@pytest.mark.parametrize("count", ["10_000_001", "1000000000", "9" * 18])
def test_values_of_a_range(tmp_path, count):
    (tmp_path / "s.toml").write_text(
        '[blocks.s]\ntype = "Sine"\n[run]\nuntil = 1.0\n'
        f'[sweep]\n"s.amplitude" = {{ from = 0.0, to = 1.0, count = {count} }}\n'
    )
    with pytest.raises(PlantloopError, match=r"s\.toml:6: .*count: got .* at most 10000000\."):
        Study(tmp_path / "s.toml")
