"""Fields of all blocks: what means nothing is refused where a block is made, and blocks are values."""

from __future__ import annotations

from dataclasses import fields, replace

import control
import numpy as np
import pytest

from blocks import (
    EKF,
    MPC,
    PWM,
    Assignment,
    BandLimitedWhiteNoise,
    BlockError,
    DiscreteStateSpace,
    DiscreteTransferFunction,
    PipeDelay,
    Pulse,
    PythonFunction,
    ScheduledGain,
    ScheduledStateSpace,
    TransferFunction,
    ZeroPoleGain,
)
from tests.blocks.examples_table import EXAMPLES

SAMPLED = [rows[0][0] for kind, rows in EXAMPLES.items() if "sample" in {f.name for f in fields(kind)}]
DOUBLE = ([[1.0, 0.1], [0.0, 1.0]], [[0.005], [0.1]], [[1.0, 0.0]], [[0.0]], 0.1)
LAG = TransferFunction([1.0], [1.0, 1.0])


@pytest.mark.parametrize("block", SAMPLED, ids=lambda b: type(b).__name__)
@pytest.mark.parametrize("sample", [-0.1, "soon"])
def test_a_sample_time_that_is_none_is_refused_by_the_name_of_the_block(block, sample):
    with pytest.raises(BlockError, match=rf"^{type(block).__name__}\b.*{sample}"):
        replace(block, sample=sample)


@pytest.mark.parametrize("kind", EXAMPLES, ids=lambda k: k.__name__)
def test_blocks_are_values(kind):
    """Equal ones have one hash: no field is a list or an array."""
    for block, _ in EXAMPLES[kind]:
        assert hash(replace(block)) == hash(block)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: PWM(period=0.0), "period is 0"),
        (lambda: PWM(period=1.0, offset=-0.5), "offset is -0.5"),
        (lambda: Pulse(period="soon"), "^Pulse: period"),
        (lambda: PipeDelay(0.0), "length is 0.0"),
        (lambda: Assignment([1, -1]), "indices"),
        (lambda: MPC(DOUBLE, 5, u_max="most", sample=0.1), "u_max is 'most'"),
        (lambda: PythonFunction(3.0, sample=0.1), "function is 3.0"),
        (lambda: PythonFunction(lambda t, u: u, sample=None, jacobian=3.0), "jacobian is 3.0"),
        (lambda: PythonFunction(lambda t, u: u, sample=0.1, jacobian=lambda t, u: 1.0), "jacobian is given"),
        (lambda: BandLimitedWhiteNoise(-0.5, sample=0.1), "power is -0.5"),
        (lambda: ZeroPoleGain([], [-1.0], "most"), "gain is 'most'"),
        (lambda: ScheduledGain([0.0, 1.0], [[], []]), r"gains has shape \(2, 0\)"),
        (
            lambda: ScheduledStateSpace([0.0, 1.0], [[[1.0]]] * 2, [[[]]] * 2, [[[1.0]]] * 2, [[[]]] * 2),
            r"B has shape \(2, 1, 0\)",
        ),
        (lambda: EKF.of(LAG, 1.0, 1.0, inputs={"u": 1}, sample=0.1), "a list of names"),
        (lambda: EKF.of(LAG, 1.0, 1.0, inputs="u", sample=0.1), "a list of names"),
    ],
)  # fmt: skip
def test_what_means_nothing_is_refused(make, words):
    with pytest.raises(BlockError, match=words):
        make()


def test_lists_arrays_and_tuples_are_the_same_values():
    A = [[[0.0, 1.0], [-1.0, -k]] for k in (1.0, 2.0)]
    rest = ([[[0.0], [1.0]]] * 2, [[[1.0, 0.0]]] * 2, [[[0.0]]] * 2)
    listed = ScheduledStateSpace([0.0, 1.0], A, *rest)
    assert listed == ScheduledStateSpace(np.array([0.0, 1.0]), np.array(A), *map(np.array, rest))
    assert tuple(tuple(map(tuple, a)) for a in A) == listed.A
    assert MPC(DOUBLE, 5, u_max=[1.0], sample=0.1).u_max == (1.0,)


def test_blocks_of_python_control_have_the_fields_of_others():
    num, den = [1.0, 0.5], [1.0, -0.9]
    made = DiscreteTransferFunction.of(control.tf(num, den, 0.1))
    assert made == DiscreteTransferFunction(num, den, sample=0.1)
    assert DiscreteStateSpace.of(control.ss(*DOUBLE)) == DiscreteStateSpace(*DOUBLE[:4], sample=0.1)
