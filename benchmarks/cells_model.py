"""The cells of the benchmarks: the diagram, and the same in NumPy by hand.

A chain with links across: sum, integrator, gain, then a saturation or a sampled filter at 2, 5 or 10 ms.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from blocks import DiscreteStateSpace, Gain, Integrator, Saturation, Sine, Sum
from cosim import Diagram

RATES = (Fraction(2, 1000), Fraction(5, 1000), Fraction(10, 1000))  # s
STEP = 1e-3  # s
BLOCKS = 4  # of a cell


def is_filter(cell: int) -> bool:
    return cell % 4 >= 2


def cells(count: int) -> Diagram:
    """The diagram: x' = before + seven before - x, y = limited or filtered 1.5 x."""
    d = Diagram(f"{count} cells")
    ends = [d.add("start", Sine(amplitude=1.0, frequency=1.0))["y"]]
    for i in range(count):
        total = d.add(f"sum{i}", Sum("++-" if i >= 7 else "+-"))
        state, gain = d.add(f"state{i}", Integrator(0.0)), d.add(f"gain{i}", Gain(1.5))
        if is_filter(i):  # y[k] = 0.8 y[k-1] + 0.2 u[k]
            last = d.add(f"filter{i}", DiscreteStateSpace(0.8, 0.2, 0.8, 0.2, sample=RATES[i % 3]))
        else:
            last = d.add(f"limit{i}", Saturation(-1.0, 1.0))
        ends[-1] >> total["in1"]
        if i >= 7:
            ends[-7] >> total["in2"]
        state["y"] >> total["in3" if i >= 7 else "in2"]
        total["y"] >> state["u"]
        state["y"] >> gain["u"]
        gain["y"] >> last["u"]
        ends.append(last["y"])
    return d


def numpy_by_hand(count: int, until: float) -> np.ndarray:
    """States of the integrators at the end."""
    i, h = np.arange(count), STEP
    filtered = i % 4 >= 2
    every = np.array([round(float(RATES[k % 3]) / h) for k in i])
    x, z = np.zeros(count), np.zeros(count)

    def f(t: float, x: np.ndarray) -> np.ndarray:
        y = np.where(filtered, z, np.clip(1.5 * x, -1, 1))
        u = np.concatenate([[np.sin(t)], y[:-1]])
        u[7:] += y[:-7]
        return u - x

    for n in range(round(until / h)):
        z = np.where(filtered & (n % every == 0), 0.8 * z + 0.3 * x, z)
        t = n * h
        k1 = f(t, x)
        k2 = f(t + h / 2, x + h / 2 * k1)
        k3 = f(t + h / 2, x + h / 2 * k2)
        k4 = f(t + h, x + h * k3)
        x = x + h / 6 * (k1 + 2 * (k2 + k3) + k4)
    return x
