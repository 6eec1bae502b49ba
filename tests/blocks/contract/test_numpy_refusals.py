"""What is not NumPy is refused by its name with the line, and a signal beside what is no number."""

import math
import random

import numpy as np
import pytest
from scipy import sparse

from blocks import Function
from blocks.contract.trace import trace
from blocks.errors import BlockError
from tests.helpers.numpy_on_signals import U, check


def test_a_scalar_stays_a_value_and_a_signal_is_not_changed_in_place():
    def counted(u):
        total = u[0]
        total += u[1]
        return total, u

    check(counted, U)

    def changed(u):
        u += 1.0
        return u

    with pytest.raises(BlockError, match=r"changed in place.*u = u \+"):
        trace(Function(changed), {"u": 2})


REFUSED = {
    "mask": (
        lambda u: u[u > 0],
        r"np\.extract takes no symbols, as in u\[condition\].*np\.where\(condition, a, b\)",
    ),
    "index": (lambda u: np.arange(3.0)[u[0]], r"whole number.*blocks\.functions\.pick"),
    "index of a signal": (lambda u: u[u[0]], r"whole number.*blocks\.functions\.pick"),
    "chain": (lambda u: 1.0 * (0 < u[0] < 1), r"True or False.*0 < u < 1 as \(0 < u\) & \(u < 1\)"),
    "and": (lambda u: 1.0 * (u[0] > 0 and u[1] > 0), r"True or False.*np\.logical_and"),
    "if": (lambda u: u if u[0] > 0 else -u, r"True or False.*np\.where"),
    "max": (lambda u: max(u), r"True or False.*np\.maximum"),
    "bitwise": (lambda u: u & u, r"np\.bitwise_and takes no symbols.*conditions only"),
    "minus": (lambda u: -(u > 0), r"np\.negative takes no symbols that are conditions.*~"),
    "math of a vector": (lambda u: math.sin(u), r"math\.sin takes no symbols of more than one component"),
    "math gamma": (lambda u: math.gamma(u[0]), r"math\.gamma takes no symbols.*interp"),
    "apply_along_axis": (lambda u: np.apply_along_axis(np.sum, 0, u), r"np\.apply_along_axis takes no.*Loop"),
    "eig": (lambda u: np.linalg.eig(np.outer(u, u)), r"np\.linalg\.eig takes no symbols"),
    "fft": (lambda u: np.fft.fft(u), r"np\.fft\.fft takes no symbols"),
    "into numbers": (
        lambda u: np.add(u, 1.0, out=np.zeros(2)),
        r"np\.add takes no symbols into an array of numbers",
    ),
    "in place": (lambda u: np.zeros(2).__iadd__(u), r"np\.add takes no symbols into an array of numbers"),
    "where": (
        lambda u: np.add(u, 1.0, where=np.array([True, False])),
        r"np\.add takes no symbols with where=",
    ),
    "dtype": (lambda u: np.add(u, 1.0, dtype=int), r"np\.add takes no symbols with a dtype"),
    "at": (lambda u: np.add.at(u, [0], 1.0), r"np\.add\.at takes no symbols.*Write the sum out"),
    "method": (lambda u: u.sort(), r"np\.sort takes no symbols.*np\.minimum"),
    "pad": (lambda u: np.pad(u, 1, mode="mean"), r"np\.pad takes no symbols with mode='mean'"),
    "knots": (lambda u: np.interp(1.0, u, [1.0, 2.0]), r"np\.interp takes no symbols as knots"),
    "repeat": (lambda u: np.repeat(u, u), r"np\.repeat takes no symbols as repeats"),
    "complex": (lambda u: u * 1j, r"complex|unsupported operand"),
    "shape": (lambda u: u + np.ones(3), r"shape"),
    "product": (lambda u: np.ones((2, 3)) @ u, r"matmul: shapes \(2, 3\) and \(2,\) do not fit"),
    "ragged": (lambda u: np.array([u, u[0]]), r"shapes \(2,\), \(\) make no array"),
    "matrix": (lambda u: np.matrix(np.eye(2)) * u, r"matrix of NumPy takes no symbols beside it"),
    "masked": (lambda u: u * np.ma.array([1.0, 2.0], mask=[0, 1]), r"MaskedArray of NumPy takes no symbols"),
    "whole numbers": (
        lambda u: np.zeros_like(u, dtype=int),
        r"np\.full_like takes no symbols with dtype int64",
    ),
    "filled with whole": (
        lambda u: np.full(2, u[0], dtype=int),
        r"np\.full takes no symbols with dtype int64",
    ),
    "narrow": (lambda u: u.astype(np.int8), r"np\.astype takes no symbols with dtype int8.*np\.clip"),
    "into whole numbers": (lambda u: u.astype(int).__setitem__(0, 0.5), r"changed in place"),
    "into what einsum picks": (
        lambda u: np.einsum("i->i", u.copy()).__setitem__(0, 1.0),
        r"changed in place",
    ),
    "einsum of conditions": (
        lambda u: np.einsum("i,i", u > 0, u > 0),
        r"np\.einsum takes no symbols that are",
    ),
    "sparse": (lambda u: sparse.csr_array(np.eye(2)) @ u, r"sparse matrix.*S\.toarray\(\) @ u"),
    "random": (lambda u: u + np.random.rand(), r"np\.random\.rand draws a number while.*b\.random"),  # noqa: NPY002
    "random of Python": (lambda u: u + random.gauss(0, 1), r"random\.gauss draws a number"),
    "beyond": (lambda u: u[2], r"index 2 is out of bounds for axis 0 with size 2"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_numpy_is_refused_by_name_with_the_line(name):
    function, text = REFUSED[name]
    with pytest.raises(BlockError, match=rf"(?s){text}") as caught:
        trace(Function(function), {"u": 2})
    assert "test_numpy_refusals.py" in str(caught.value)
