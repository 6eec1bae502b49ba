"""Functions of signals, products of vectors and matrices, extremes, equations to solve."""

from blocks import (
    AlgebraicConstraint,
    Assignment,
    Bias,
    CrossProduct,
    DotProduct,
    MathFunction,
    MatrixInverse,
    MatrixMultiply,
    MinMax,
    MinMaxRunning,
    Norm,
    Polynomial,
    Reshape,
    Rounding,
    Sqrt,
    TrigonometricFunction,
    UnitConversion,
    Wrap,
)

EXAMPLES = {
    AlgebraicConstraint: [(AlgebraicConstraint([1.0, 2.0]), {"f": 2})],
    Assignment: [(Assignment([2, 0]), {"in1": 3, "in2": 2})],
    Bias: [(Bias([1.0, -2.0]), {"u": 1})],
    CrossProduct: [(CrossProduct(), {"in1": 3, "in2": 3})],
    DotProduct: [(DotProduct(), {"in1": 2, "in2": 2})],
    MathFunction: [
        (MathFunction("exp"), {"u": 2}),
        (MathFunction("square"), {"u": 1}),
        (MathFunction("hypot"), {"in1": 2, "in2": 1}),
    ],
    MatrixInverse: [(MatrixInverse(1), {"u": 1})],
    MatrixMultiply: [(MatrixMultiply((2, 3), (3, 1)), {"in1": 6, "in2": 3})],
    MinMax: [(MinMax(), {"in1": 2, "in2": 1}), (MinMax("max", 1), {"in1": 3})],
    MinMaxRunning: [
        (MinMaxRunning(0.1), {"u": 2}),
        (MinMaxRunning(0.1, 0.05, "max", -1.0, True), {"u": 1, "reset": 1}),
        (MinMaxRunning(function="max"), {"u": 2}),
        (MinMaxRunning(None, 0, "min", 0.5, True), {"u": 1, "reset": 1}),
    ],
    Norm: [(Norm(), {"u": 3}), (Norm("1"), {"u": 2}), (Norm("inf"), {"u": 2})],
    Polynomial: [(Polynomial([2.0, 0.0, -1.0, 0.5]), {"u": 2}), (Polynomial(3.0), {"u": 1})],
    Reshape: [(Reshape((2, 3), "column"), {"u": 6})],
    Rounding: [(Rounding(function), {"u": 2}) for function in ("floor", "ceil", "round", "fix")],
    Sqrt: [(Sqrt("signed"), {"u": 2})],
    TrigonometricFunction: [
        (TrigonometricFunction("tanh"), {"u": 2}),
        (TrigonometricFunction("atan2"), {"in1": 2, "in2": 1}),
        (TrigonometricFunction("sincos"), {"u": 1}),
    ],
    UnitConversion: [
        (UnitConversion("rad", "deg"), {"u": 2}),
        (UnitConversion(["m", "degC"], ["mm", "K"]), {"u": 2}),
    ],
    Wrap: [(Wrap(), {"u": 2}), (Wrap(0.0, 0.5), {"u": 1})],
}
