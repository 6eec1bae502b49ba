"""Logic and relations, what notices, remembers and watches."""

from blocks import (
    Assertion,
    BitwiseOperator,
    CheckRange,
    CombinatorialLogic,
    CompareToConstant,
    CompareToZero,
    Counter,
    DetectChange,
    DetectDecrease,
    DetectFall,
    DetectIncrease,
    DetectRise,
    DFlipFlop,
    HitCrossing,
    IntervalTest,
    JKFlipFlop,
    LogicalOperator,
    RelationalOperator,
    SRFlipFlop,
)

EXAMPLES = {
    Assertion: [(Assertion("low", "record"), {"u": 1})],
    BitwiseOperator: [
        (BitwiseOperator("xor", 2, bits=4), {"in1": 2, "in2": 1}),
        (BitwiseOperator("and", mask=6, bits=3), {"in1": 1}),
    ],
    CheckRange: [
        (CheckRange(-1.0, [1.0, 0.5], "outside", "record"), {"u": 2}),
        (CheckRange(high=5.0), {"u": 1}),
    ],
    CombinatorialLogic: [
        (CombinatorialLogic([[0.0, 1.0], [1.0, 0.0], [0.5, 0.0], [1.0, 1.0]]), {"u": 2}),
    ],
    CompareToConstant: [
        (CompareToConstant(">", [0.5, -0.25]), {"u": 1}),
        (CompareToConstant("==", 0.5), {"u": 2}),
    ],
    CompareToZero: [(CompareToZero(), {"u": 2})],
    Counter: [
        (Counter(initial=1.0, low=0.0, high=2.0, wrap=True, reset=True), {"u": 1, "reset": 1}),
        (Counter("down", 3.0, 1.0, sample=0.1, reset=True), {"u": 1, "reset": 1}),
        (Counter(edge="either", sample=0.1), {"u": 1}),
    ],
    DetectChange: [(DetectChange(0.1), {"u": 2})],
    DetectDecrease: [(DetectDecrease(0.1, initial=[1.0, -1.0]), {"u": 2})],
    DetectFall: [(DetectFall(0.1, 0.05, threshold=0.5, initial=1.0), {"u": 2})],
    DetectIncrease: [(DetectIncrease(0.1), {"u": 2})],
    DetectRise: [(DetectRise(0.1, threshold=[0.5, 0.25]), {"u": 2})],
    DFlipFlop: [(DFlipFlop(), {"D": 1, "CLK": 1}), (DFlipFlop("either", True, 0.1), {"D": 1, "CLK": 1})],
    HitCrossing: [(HitCrossing([0.5, -0.5]), {"u": 1}), (HitCrossing(0.5, "falling"), {"u": 2})],
    IntervalTest: [
        (IntervalTest(-0.5, [0.25, 0.5]), {"u": 2}),
        (IntervalTest(0.0, 1.0, False, False), {"u": 1}),
    ],
    JKFlipFlop: [
        (JKFlipFlop(), {"J": 1, "CLK": 1, "K": 1}),
        (JKFlipFlop("falling", sample=0.1), {"J": 1, "CLK": 1, "K": 1}),
    ],
    LogicalOperator: [
        (LogicalOperator("nand"), {"in1": 2, "in2": 1}),
        (LogicalOperator("xor", 3), {"in1": 1, "in2": 1, "in3": 1}),
        (LogicalOperator("or", 1), {"in1": 3}),
        (LogicalOperator("NOT"), {"in1": 2}),
    ],
    RelationalOperator: [
        (RelationalOperator("<"), {"in1": 2, "in2": 1}),
        (RelationalOperator("!="), {"in1": 1, "in2": 1}),
    ],
    SRFlipFlop: [
        (SRFlipFlop(), {"S": 1, "R": 1}),
        (SRFlipFlop(True, "set", sample=0.1), {"S": 1, "R": 1}),
    ],
}
