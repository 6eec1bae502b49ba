"""Logic, detection, flip-flops, counters, watching: against NumPy and slow interpreters, on both engines."""

import operator

import numpy as np
import pytest

from blocks import (
    Assertion,
    BitwiseOperator,
    BlockError,
    CheckRange,
    CombinatorialLogic,
    CompareToConstant,
    Constant,
    Counter,
    DetectChange,
    DetectDecrease,
    DetectFall,
    DetectIncrease,
    DetectRise,
    DFlipFlop,
    HitCrossing,
    Integrator,
    IntervalTest,
    JKFlipFlop,
    LogicalOperator,
    Pulse,
    Ramp,
    RelationalOperator,
    Sine,
    SRFlipFlop,
    TimeTable,
)
from cosim import Diagram, simulate
from cosim.run.watched import WatchedSignalWarning
from tests.helpers.solo import Solo

ENGINES = pytest.mark.parametrize("engine", ["reference", "native"])
OPERATORS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def fed(block, sources, integrate="y") -> Diagram:
    """A block with its inputs driven and an output integrated."""
    d = Diagram("fed")
    node = d.add("it", block)
    for port, source in sources.items():
        d.connect(d.add(f"of_{port}", source)["y"], node[port])
    if integrate:
        d.connect(node[integrate], d.add("area", Integrator())["u"])
    return d


def sampled(block, **rows):
    """Outputs of a sampled block at its ticks for rows of inputs (n, size)."""
    period = float(block.sample)
    n = len(next(iter(rows.values())))
    rows = {name: np.array(row, float).reshape(n, -1) for name, row in rows.items()}
    signals = {name: (lambda t, row=row: row[round(t / period)]) for name, row in rows.items()}
    solo = Solo(block, {name: row.shape[1] for name, row in rows.items()})
    return solo.run([f"{k}/{round(1 / period)}" for k in range(n)], **signals)


@ENGINES
@pytest.mark.parametrize("word", OPERATORS)
def test_comparisons_of_continuous_signals_change_exactly_where_they_cross(engine, word):
    d = fed(RelationalOperator(word), {"in1": Sine(2.0), "in2": Constant(1.0)})
    times = np.linspace(0.013, 6.2, 61)
    r = simulate(d, 6.2, log_at=times, engine=engine)
    expected = OPERATORS[word](2 * np.sin(times), 1.0)
    np.testing.assert_array_equal(r["it.y"][:, 0], expected)
    above = np.clip(times, np.pi / 6, 5 * np.pi / 6) - np.pi / 6  # time spent with 2 sin t > 1
    area = {">": above, ">=": above, "<": times - above, "<=": times - above, "==": 0 * times, "!=": times}
    np.testing.assert_allclose(r["area.y"][:, 0], area[word], atol=1e-8)


@ENGINES
@pytest.mark.parametrize("word", OPERATORS)
def test_comparisons_of_held_signals_know_equality(engine, word):
    values = [1.0, 0.0, 1.0, 2.0, 2.0, 1.0, 0.5]
    table = TimeTable(np.arange(7.0), values, "previous")
    d = fed(CompareToConstant(word, 1.0), {"u": table})
    times = np.arange(7) + 0.3
    r = simulate(d, 6.5, log_at=times, engine=engine)
    np.testing.assert_array_equal(r["it.y"][:, 0], OPERATORS[word](np.array(values), 1.0))


@ENGINES
@pytest.mark.parametrize(("low", "high"), [(True, True), (False, True), (True, False), (False, False)])
def test_interval_ends_belong_to_it_or_not(engine, low, high):
    table = TimeTable(np.arange(5.0), [-1.0, 0.0, 0.5, 1.0, 2.0], "previous")
    r = simulate(
        fed(IntervalTest(0.0, 1.0, low, high), {"u": table}), 4.5, log_at=np.arange(5) + 0.5, engine=engine
    )
    assert r["it.y"][:, 0].tolist() == [0, low, 1, high, 0]


@pytest.mark.parametrize("word", ["and", "or", "xor", "nand", "nor", "nxor"])
def test_logic_is_numpys(word):
    rows = np.array([[(k >> j) & 1 for j in range(3)] for k in range(8)]) * [1.0, -0.3, 7.0]
    base = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}[
        word[1:] if word[0] == "n" else word
    ]
    truth = base.reduce(rows != 0, axis=1)
    expected = ~truth if word[0] == "n" else truth
    block = LogicalOperator(word, 3)
    for row, want in zip(rows, expected, strict=True):
        assert (
            Solo(block, {f"in{k}": 1 for k in (1, 2, 3)}).outputs([row[k : k + 1] for k in range(3)])["y"]
            == want
        )
        assert Solo(LogicalOperator(word, 1), {"in1": 3}).outputs([row])["y"] == want


def test_a_truth_table_counts_the_first_component_highest():
    table = np.arange(16.0).reshape(8, 2)
    for k in range(8):
        u = np.array([(k >> 2) & 1, (k >> 1) & 1, k & 1], float)
        np.testing.assert_array_equal(Solo(CombinatorialLogic(table), {"u": 3}).outputs([u])["y"], table[k])


@pytest.mark.parametrize("word", ["and", "or", "xor"])
def test_bits_are_numpys(word):
    rng = np.random.default_rng(1)
    a, c = rng.integers(0, 2**16, (2, 200))
    base = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[word]
    y = Solo(BitwiseOperator(word), {"in1": 200, "in2": 200}).outputs([a.astype(float), c.astype(float)])["y"]
    np.testing.assert_array_equal(y, base(a, c))
    y = Solo(BitwiseOperator(word, mask=0xABC), {"in1": 200}).outputs([a.astype(float)])["y"]
    np.testing.assert_array_equal(y, base(a, 0xABC))
    y = Solo(BitwiseOperator("not", bits=16), {"in1": 200}).outputs([a.astype(float)])["y"]
    np.testing.assert_array_equal(y, np.bitwise_not(a.astype(np.uint16)))


def test_detection_compares_with_the_tick_before():
    u = np.array([0.0, 1.0, 1.0, 0.5, 0.5, 0.0, -1.0, 2.0])
    last = np.array([0.0, *u[:-1]])
    expected = {
        DetectRise: (u > 0) & (last <= 0),
        DetectFall: (u <= 0) & (last > 0),
        DetectChange: u != last,
        DetectIncrease: u > last,
        DetectDecrease: u < last,
    }
    for cls, want in expected.items():
        np.testing.assert_array_equal(sampled(cls(0.1), u=u)["y"][:, 0], want, err_msg=cls.__name__)


@ENGINES
def test_hits_are_counted_where_they_are(engine):
    d = fed(HitCrossing(1.0, "rising"), {"u": Sine(2.0)})
    r = simulate(d, 10.0, log_at=[0.5, 0.6, 6.7, 6.9, 10.0], engine=engine)
    assert r["it.y"][:, 0].tolist() == [0, 1, 1, 2, 2]
    hits = [-1, np.pi / 6, np.pi / 6, np.pi / 6 + 2 * np.pi, np.pi / 6 + 2 * np.pi]
    np.testing.assert_allclose(r["it.time"][:, 0], hits, atol=1e-9)


@ENGINES
@pytest.mark.parametrize("dominant", ["set", "reset"])
@pytest.mark.parametrize("sample", [None, 0.25])
def test_sr_flip_flop(engine, dominant, sample):
    S, R = [0, 1, 0, 0, 1, 0, 1, 0], [0, 0, 0, 1, 1, 0, 0, 0]
    Q, wanted = 0, []
    for s, r_ in zip(S, R, strict=True):
        first, second = ((r_, 0), (s, 1)) if dominant == "reset" else ((s, 1), (r_, 0))
        Q = first[1] if first[0] else second[1] if second[0] else Q
        wanted.append(Q)
    table = lambda values: TimeTable(np.arange(8.0), values, "previous")
    d = fed(SRFlipFlop(dominant=dominant, sample=sample), {"S": table(S), "R": table(R)}, "Q")
    r = simulate(d, 7.5, log_at=np.arange(8) + 0.5, engine=engine)
    assert r["it.Q"][:, 0].tolist() == wanted
    assert r["it.not_Q"][:, 0].tolist() == [1 - q for q in wanted]


@ENGINES
@pytest.mark.parametrize("edge", ["rising", "falling", "either"])
@pytest.mark.parametrize("sample", [None, 0.125])
def test_clocked_flip_flops(engine, edge, sample):
    rng = np.random.default_rng(3)
    J, K = rng.integers(0, 2, (2, 12)).tolist()
    q, d_, wanted, taken = 0, 0, [], []
    for k in range(24):  # the clock rises at 0.5, 1.5, ... and falls at 1, 2, ...
        t = 0.5 * k
        rises, falls = k % 2 == 1, k % 2 == 0 and k > 0
        if (rises and edge != "falling") or (falls and edge != "rising"):
            j, k_ = J[int(t - 0.1)], K[int(t - 0.1)]
            q = (1 - q if k_ else 1) if j else (0 if k_ else q)
            d_ = j
        wanted.append(q)
        taken.append(d_)
    times = np.arange(12.0)
    clock = TimeTable(np.arange(24) * 0.5, [k % 2 for k in range(24)], "previous")
    shift = 0.05  # J and K change a little after the clock has fallen
    table = lambda values: TimeTable([0.0, *(times[1:] + shift)], values, "previous")
    log = np.arange(24) * 0.5 + 0.3
    d = fed(JKFlipFlop(edge, sample=sample), {"J": table(J), "K": table(K), "CLK": clock}, "Q")
    assert simulate(d, 11.9, log_at=log, engine=engine)["it.Q"][:, 0].tolist() == wanted
    d = fed(DFlipFlop(edge, sample=sample), {"D": table(J), "CLK": clock}, "Q")
    assert simulate(d, 11.9, log_at=log, engine=engine)["it.Q"][:, 0].tolist() == taken


@pytest.mark.slow
@ENGINES
@pytest.mark.parametrize("sample", [None, 0.1])
def test_counters_saturate_wrap_and_reset(engine, sample):
    pulses = Pulse(1.0, 1.0, 0.5, 0.5)  # rising edges at 0.5, 1.5, ...
    cases = [
        (Counter(sample=sample), [0, 1, 2, 3, 4, 5, 6]),
        (Counter("down", 3.0, low=1.0, sample=sample), [3, 2, 1, 1, 1, 1, 1]),
        (Counter(low=-1, high=1, wrap=True, sample=sample), [0, 1, -1, 0, 1, -1, 0]),
        (Counter("down", 1.0, low=0, high=2, wrap=True, sample=sample), [1, 0, 2, 1, 0, 2, 1]),
        (Counter(edge="either", sample=sample), [0, 1, 3, 5, 7, 9, 11]),
    ]
    for block, wanted in cases:
        times = [0.25, *(np.arange(1, 7) - 0.2)]  # in between a rising and the next falling edge
        r = simulate(fed(block, {"u": pulses}), 6.9, log_at=times, engine=engine)
        assert r["it.y"][:, 0].tolist() == wanted, block
    reset = TimeTable([0.0, 2.5, 2.7], [0.0, 1.0, 0.0], "previous")  # at an edge of the pulses
    d = fed(Counter(reset=True, initial=10.0, sample=sample), {"u": pulses, "reset": reset})
    r = simulate(d, 5.0, log_at=[0.4, 0.6, 1.6, 2.45, 2.65, 3.7], engine=engine)
    assert r["it.y"][:, 0].tolist() == [10, 11, 12, 12, 11, 12]


@pytest.mark.parametrize("engine", [pytest.param("reference", marks=pytest.mark.slow), "native"])
def test_what_is_watched_stops_warns_or_is_recorded(engine):
    def run(block, source, until=4.0):
        return simulate(
            fed(block, {"u": source}, ""), until, log_at=[0.5, 1.5, 3.9], max_step=0.05, engine=engine
        )

    stopped = run(CheckRange(high=1.0, message="too high"), Sine(2.0))
    assert stopped.message == "too high"
    assert stopped.events[-1].time == pytest.approx(np.pi / 6, abs=1e-9)
    with pytest.warns(WatchedSignalWarning, match=r"'it': too high \(once, first at t=0\.5235"):
        run(CheckRange(high=1.0, message="too high", action="warn"), Sine(2.0))
    recorded = run(CheckRange(-1.0, [1.0, 3.0], action="record"), Sine(2.0))
    assert recorded["it.failures"].tolist() == [[0, 0], [1, 0], [2, 1]]
    first = [[-1, -1], [np.pi / 6, -1], [np.pi / 6, np.pi + np.pi / 6]]
    np.testing.assert_allclose(recorded["it.first"], first, atol=1e-9)
    assert [e.name for e in recorded.events] == ["it.failed[0]", "it.failed[0]", "it.failed[1]"]


@ENGINES
def test_a_start_that_fails_counts(engine):
    r = simulate(fed(Assertion("never"), {"u": Constant(0.0)}, ""), 1.0, log_every=0.1, engine=engine)
    assert r.message == "never"
    assert r.events[0].time == pytest.approx(1e-6)
    assert simulate(fed(Assertion("never"), {"u": Constant(1.0)}, ""), 1.0, engine=engine).message == ""


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: RelationalOperator("=>"), "RelationalOperator: operator is '=>'"),
        (lambda: LogicalOperator("not", 2), 'one input with "not"'),
        (lambda: IntervalTest(1.0, 0.0), "IntervalTest: low is 1.0, expected at most high = 0.0"),
        (lambda: CombinatorialLogic([1.0, 2.0, 3.0]), "has 3 rows, expected 2, 4, 8"),
        (lambda: BitwiseOperator("and", mask=70000), "mask is 70000"),
        (lambda: Counter(wrap=True), "wrap is True without both limits"),
        (lambda: Counter(initial=2.0, high=1.0), "initial is 2.0"),
        (lambda: SRFlipFlop(0.5), "initial is 0.5"),
        (lambda: CheckRange(), "low and high are None"),
        (lambda: Assertion(action="shout"), "action is 'shout'"),
        (lambda: Assertion(""), "message is ''"),
        (lambda: CheckRange(high=1.0, message=3), "message is 3"),
        (lambda: HitCrossing(direction="both"), "direction is 'both'"),
    ],
)
def test_wrong_fields(make, text):
    with pytest.raises(BlockError) as caught:
        make()
    assert text in str(caught.value)


@pytest.mark.parametrize("dominant", ["reset", "set"])
def test_a_signal_exactly_at_the_level_is_not_on(dominant):
    """S stays at 0.5: R flips the bit back though "set" would win; the same the other way round.

    R gets there at no listed instant, where the bit would be found anew, but by crossing 0.5 at 0.25 s.
    """
    d = Diagram("level")
    half, ramp = d.add("half", Constant(0.5)), d.add("ramp", Ramp(2.0))
    for name, S, R in (("back", half, ramp), ("on", ramp, half)):
        bit = d.add(name, SRFlipFlop(initial=name == "back", dominant=dominant))
        d.connect(S["y"], bit["S"])
        d.connect(R["y"], bit["R"])
    r = simulate(d, 0.6, log_at=[0.2, 0.5], engine="reference")
    assert r["back.Q"].ravel().tolist() == [1.0, 0.0] and r["on.Q"].ravel().tolist() == [0.0, 1.0]


def test_a_mask_has_no_more_bits_than_the_words():
    assert BitwiseOperator(mask=15, bits=4).mask == 15
    with pytest.raises(BlockError, match="mask"):
        BitwiseOperator(mask=16, bits=4)


def test_a_mask_may_be_empty_and_the_only_input_is_u_too():
    u = [np.array([5.0, 2.0])]
    for operator_, expected in (("and", [0, 0]), ("or", [5, 2]), ("xor", [5, 2]), ("nor", [10, 13])):
        block = BitwiseOperator(operator_, mask=0, bits=4)
        assert Solo(block, {"in1": 2}).outputs(u)["y"].tolist() == expected
    for block, expected in (
        (BitwiseOperator("or", mask=1), 5),
        (BitwiseOperator("not"), 65531),
        (LogicalOperator("not"), 0),
    ):
        r = simulate(fed(block, {"u": Constant(4.0)}, None), 0.1, engine="reference")
        assert r["it.y"][-1, 0] == expected


def test_what_is_watched_is_named_by_component_where_there_are_several():
    for margin, names in ((-1.0, ["it.failed"]), ([-1.0, -2.0], ["it.failed[0]", "it.failed[1]"])):
        d = fed(CheckRange(low=0.0, action="record"), {"u": Constant(margin)}, None)
        assert sorted(e.name for e in simulate(d, 0.1, engine="reference").events) == names
