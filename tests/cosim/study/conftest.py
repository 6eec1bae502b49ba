"""A small loop with noise, fast to compile, that studies are made of."""

import pytest

from blocks import Gain, RandomNumber, Step, Sum, TransferFunction
from cosim import Diagram


def noisy_loop():
    d = Diagram("loop")
    d.add("lag", TransferFunction([1.0], [0.3, 1.0]))
    d.add("sum", Sum("+-+"))
    d.add("k", Gain(5.0))
    d.add("step", Step(time=0.2))
    d.add("noise", RandomNumber(sample=0.05, variance=0.01))
    d.connect("step.y", "sum.in1")
    d.connect("lag.y", "sum.in2")
    d.connect("noise.y", "sum.in3")
    d.connect("sum.y", "k.u")
    d.connect("k.y", "lag.u")
    return d


@pytest.fixture
def loop():
    return noisy_loop()


FILE = """
[blocks.step]
type = "Step"
time = 0.2
[blocks.sum]
type = "Sum"
signs = "+-"
[blocks.k]
type = "Gain"
k = 5.0
[blocks.lag]
type = "TransferFunction"
num = [1.0]
den = [0.3, 1.0]
[wiring]
connect = ["step.y -> sum.in1", "lag.y -> sum.in2", "sum.y -> k.u", "k.y -> lag.u"]
[run]
until = 2.0
log_every = 0.02
"""


@pytest.fixture
def study_file(tmp_path):
    """Writes a study file: the loop without noise, and what is given."""

    def write(text, base=FILE, name="study.toml"):
        path = tmp_path / name
        path.write_text(base + text)
        return path

    return write
