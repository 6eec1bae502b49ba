"""The delays of a loop: each cost against its closed form, each margin left against the loop built so."""

import numpy as np
import pytest

from blocks import Gain, StateFeedback, StateSpace, TransferFunction, TransportDelay, UnitDelay
from blocks.errors import PlantloopError
from cosim import Diagram, delay_audit, margins


def low_pass(w):
    return TransferFunction([1.0], [1.0 / w, 1.0])


PARTS = {
    "lag": lambda: low_pass(40.0),
    "computing": lambda: UnitDelay(sample="1/50"),
    "wire": lambda: TransportDelay(0.007),
}


def loop(without=(), nested=False):
    """A double integrator under sampled feedback, with a filter, a period of computing and a wire."""
    d = Diagram("loop")
    p = d.add("p", StateSpace([[0.0, 1.0], [0.0, 0.0]], [[0.0], [1.0]], np.eye(2)))
    c = d.add("c", StateFeedback([[4.0, 3.0]], sample="1/50"))
    p >> c
    last = c
    for name in ("computing", "wire", "lag"):
        if name in without:
            continue
        part = PARTS[name]()
        if nested:
            inner = Diagram(name)
            inner.connect(inner.inport("u"), inner.add("it", part)["u"])
            inner.outport("y", inner["it"]["y"])
            part = inner
        last = last >> d.add(name, part)
    last >> p
    return d


@pytest.mark.parametrize("nested", [False, True])
def test_every_delay_has_its_cost_and_what_would_be_left(nested):
    found = delay_audit(loop(nested=nested), at="c.u")
    w, by = found.margins.crossover, {d.path.removesuffix("/it"): d for d in found.delays}
    assert len(found.delays) == 4
    assert by["computing"].kind == "sampled delay" and by["wire"].kind == "transport"
    assert by["computing"].seconds == pytest.approx(0.02, rel=1e-9)
    assert by["wire"].seconds == pytest.approx(0.007, rel=1e-12)
    assert by["lag"].phase == pytest.approx(np.degrees(np.arctan(w / 40.0)), rel=1e-9)
    hold = next(d for d in found.delays if d.kind == "sampling and hold")
    assert hold.phase == pytest.approx(np.degrees(w * 0.01), rel=1e-9)
    for name in PARTS:
        left = margins(loop(without=[name]), at="c.u", pade=6).phase
        assert by[name].without == pytest.approx(left, rel=1e-9)
        assert left > found.margins.phase


def test_the_costs_together_are_what_an_ideal_loop_has_more():
    """To first order: the phase of the ideal continuous loop at the crossover of the real one."""
    found = delay_audit(loop(), at="c.u")
    w = found.margins.crossover
    ideal = np.degrees(np.angle(-(4.0 + 3.0j * w) / (1j * w) ** 2 * -1)) + 180.0
    assert found.margins.phase + found.total == pytest.approx(ideal % 360.0, abs=0.3)


def test_it_prints_as_a_table():
    lines = str(delay_audit(loop(), at="c.u")).splitlines()
    assert lines[0].startswith("loop at 'c.u': phase margin") and "margin without" in lines[1]
    assert len(lines) == 7 and lines[-1].startswith("together")
    assert any("transport" in line and " 7 " in line for line in lines)


def test_a_continuous_loop_has_no_sampling():
    d = Diagram("d")
    k, p = d.add("k", Gain(-2.0)), d.add("p", TransferFunction([1.0], [1.0, 1.0, 0.0]))
    k >> p >> d.add("f", low_pass(20.0)) >> k
    found = delay_audit(d, at="k.y")
    assert [(row.path, row.kind) for row in found.delays] == [("f", "filter")]


def test_a_loop_without_crossover_says_so():
    d = Diagram("d")
    k = d.add("k", Gain(-0.1))
    k >> d.add("f", low_pass(20.0)) >> k
    with pytest.raises(PlantloopError, match=r"loop at 'k\.y' has no crossover"):
        delay_audit(d, at="k.y")
