"""Tables are data of compiled code: others of one size run with the same library and their own numbers."""

import pickle
from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest

from blocks import (
    Integrator,
    LookupTable1D,
    LookupTable2D,
    LookupTableND,
    Ramp,
    Sine,
    TimeTable,
    TransferFunction,
)
from cosim import Diagram, Simulation, simulate
from cosim.engines.codegen import number_tables
from cosim.engines.codegen.model_c import generate
from cosim.engines.codegen.number_tables import NumberTables
from cosim.engines.codegen.system_functions import whole
from cosim.engines.native import cache
from cosim.engines.native.build import compiled, compiled_jacobian

N = 40


def tables(seed):
    """Every kind of table that is called, with numbers of its own, and a state they drive."""
    rng = np.random.default_rng(seed)
    points, others = np.sort(rng.random(N)) * 3, np.sort(rng.random(12)) * 3
    d = Diagram("tables")
    u, v = d.add("u", Ramp(1.0)), d.add("v", Sine(1.5, frequency=2.0))
    time = d.add("time", TimeTable(points, rng.random(N)))
    linear = d.add("linear", LookupTable1D(points, rng.random(N)))
    smooth = d.add("smooth", LookupTable1D(points, rng.random(N), interpolation="makima"))
    plane = d.add("plane", LookupTable2D(points, others, rng.random((N, 12))))
    grid = d.add("grid", LookupTableND([others, points], rng.random((12, N))))
    lag = d.add("lag", TransferFunction([1.0], [0.01, 1.0]))
    for block, port, signal in (
        (linear, "u", u), (smooth, "u", v), (plane, "u1", u), (plane, "u2", v),
        (grid, "u1", v), (grid, "u2", u),
    ):  # fmt: skip
        d.connect(signal["y"], block[port])
    total = d.add("sum", Integrator())
    d.connect(time["y"] + linear["y"] + smooth["y"] + plane["y"] * grid["y"], lag["u"])
    d.connect(lag["y"], total["u"])
    return d


def sums(d, engine):
    return simulate(d, 3.0, engine=engine, log_every=0.5)["sum.y"]


@pytest.fixture(scope="module")
def pair():
    return [tables(1), tables(2)]


@pytest.mark.parametrize("made", [compiled, compiled_jacobian])
def test_tables_of_one_size_run_with_one_library(made, monkeypatch):
    """What the second needs is in the cache: nothing is compiled for it."""
    made(tables(3).system())
    monkeypatch.setattr(cache, "_writable", lambda home: pytest.fail("compiled anew"))
    made(tables(4).system())


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["rk4", "rodas4"])
def test_each_keeps_its_own_numbers(pair, solver):
    """By turns in one process, with the numbers of the reference engine."""
    how = {"solver": solver} | ({"step": 0.01} if solver == "rk4" else {})
    runs = [[Simulation(d, engine=e, **how) for e in ("native", "reference")] for d in pair]
    for until in (1.0, 2.0):
        for run in runs[0] + runs[1]:
            run.advance(until)
    ends = [[run.result()["sum.y"][-1] for run in both] for both in runs]
    for native, reference in ends:
        assert native == reference if solver == "rk4" else abs(native - reference) < 1e-8
    assert abs(ends[0][0] - ends[1][0]) > 1e-3


def test_a_pickled_diagram_keeps_its_numbers(pair):
    again = pickle.loads(pickle.dumps(pair[1]))
    assert np.array_equal(sums(again, "native"), sums(pair[1], "native"))


def test_equal_numbers_all_along(pair):
    """A table of one number is another function to CasADi, and has code of its own."""
    d = Diagram("flat")
    u, table = d.add("u", Ramp(1.0)), d.add("table", LookupTable1D(np.arange(N), np.full(N, 2.5)))
    d.connect(u["y"], table["u"])
    assert np.all(simulate(d, 1.0, engine="native")["table.y"] == 2.5)


def test_tables_of_one_kind_share_code(pair):
    """Five tables in time, one function that finds a row; where tables are no data each has its own."""
    d = Diagram("five")
    for k in range(5):
        d.add(f"t{k}", TimeTable(np.arange(N), np.random.default_rng(k).random(N)))
    system = d.system()
    apart = generate(system, tables=NumberTables([whole(system)[1]])).sources
    inside = generate(system).sources
    assert [len([s for s in sources if "pl_call" in s.name]) for sources in (apart, inside)] == [1, 15]
    assert "casadi_c0[" not in "".join(s.text for s in apart)


def looked_up(numbers):
    place = ca.MX.sym("place")
    return ca.Function("table", [place], [ca.MX(ca.DM(numbers))[place]])


def system_of(functions):
    x = ca.SX.sym("x")
    return ca.Function("f", [x], [ca.vertcat(*[f.call([x], False, True)[0] for f in functions])])


def identity(functions):
    function = system_of(functions)
    return b"".join(NumberTables([function]).identity(function))


def test_what_decides_the_code_has_no_numbers_of_tables():
    one, other = np.random.default_rng(3).random((2, N))
    assert identity([looked_up(one)]) == identity([looked_up(other)])
    assert identity([looked_up(one)]) != identity([looked_up(one[1:])])


def test_numbers_that_are_printed_elsewhere_decide():
    """A table also used by a function that calls it, which is printed with its numbers."""

    def both(numbers):
        table, x = looked_up(numbers), ca.SX.sym("x")
        return [table, ca.Function("caller", [x], [table.call([x], False, True)[0] + 1])]

    one, other = np.random.default_rng(4).random((2, N))
    assert identity(both(one)) == identity(both(one.copy()))
    assert identity(both(one)) != identity(both(other))


def test_a_table_without_its_numbers_is_the_same_function():
    numbers = np.random.default_rng(5).random(N)
    table = looked_up(numbers).forward(1)
    plain = looked_up(numbers)
    tables = NumberTables([system_of([plain])])
    assert tables.without(plain)(7, numbers) == numbers[7]
    assert tables.of(table) == ()


def test_tables_are_found_in_a_text_wherever_they_stand():
    """At its very beginning, twice, out of order, and not at all."""
    a, b, c = np.arange(3.0), np.arange(4.0), np.arange(5.0)
    A, B = (number_tables._packed(np.int64(t.size).tobytes() + t.tobytes()) for t in (a, b))
    text, n, m = f"{A}xx{B}y{A}", len(A), len(B)
    first, second, third = (0, n), (n + 2, n + 2 + m), (n + m + 3, 2 * n + m + 3)
    for numbers, places in (([a, b, a], [first, second, third]), ([b, a], [second, third]),
                            ([b, a, a], [first, second, third]), ([a, c], [first])):  # fmt: skip
        assert NumberTables._places(SimpleNamespace(numbers=numbers), text) == places
