"""Margins of loops against python-control, closed forms, and the gain that makes the loop unstable."""

import control
import numpy as np
import pytest

from blocks import Gain, Integrator, StateFeedback, StateSpace, TransferFunction, UnitDelay
from blocks.errors import PlantloopError
from cosim import Diagram, linearize, margins


def continuous(k=1.0, num=(4.0,), den=(1.0, 3.0, 3.0, 1.0)):
    """L = k num / den at the controller's output."""
    d = Diagram("loop")
    c, p = d.add("c", Gain(-k)), d.add("p", TransferFunction(num, den))
    c >> p
    p >> c
    return d


@pytest.mark.parametrize(
    ("num", "den"),
    [([4.0], [1.0, 3.0, 3.0, 1.0]), ([1.0], [1.0, 0.5, 1.0, 0.0]), ([30.0, 20.0], [1.0, 6.0, 5.0, 0.0, 0.0])],
)
def test_a_continuous_loop_has_the_margins_python_control_finds(num, den):
    found = margins(continuous(1.0, num, den), at="c.y")
    gm, pm, _, wcg, wcp, _ = control.stability_margins(control.tf(num, den))
    assert found.stable == bool((control.feedback(control.tf(num, den), 1).poles().real < 0).all())
    if found.stable and np.isfinite(gm):
        assert (found.gain[1] if gm > 1 else found.gain[0]) == pytest.approx(gm, rel=1e-6)
        assert found.phase_crossover == pytest.approx(wcg, rel=1e-6)
    assert found.phase == pytest.approx(abs(pm), rel=1e-6)
    assert found.crossover == pytest.approx(wcp, rel=1e-6)


def test_closed_forms():
    """L = 4 / (s + 1)^3: real and negative at w = sqrt(3), where it is -1/2."""
    found = margins(continuous(), at="c.y")
    assert found.gain == (0.0, pytest.approx(2.0, rel=1e-9))
    assert found.phase_crossover == pytest.approx(np.sqrt(3.0), rel=1e-9)
    w = np.sqrt(4 ** (2 / 3) - 1)
    assert found.crossover == pytest.approx(w, rel=1e-9)
    lag = np.pi - 3 * np.arctan(w)
    assert found.phase == pytest.approx(np.degrees(lag), rel=1e-9)
    assert found.delay == pytest.approx(lag / w, rel=1e-9)
    s = 1j * np.geomspace(1e-3, 1e3, 200_001)
    L = 4 / (s + 1) ** 3
    assert found.sensitivity == pytest.approx(np.abs(1 / (1 + L)).max(), rel=1e-4)
    assert found.disk == pytest.approx((2 / np.abs((1 - L) / (1 + L))).min(), rel=1e-4)


def sampled(k=1.0, extra=0):
    """A double integrator under sampled feedback of its state, with periods of delay on the way."""
    d = Diagram("sampled")
    p = d.add("p", StateSpace([[0.0, 1.0], [0.0, 0.0]], [[0.0], [1.0]], np.eye(2)))
    c, g = d.add("c", StateFeedback([[4.0, 3.0]], sample="0.1")), d.add("g", Gain(k))
    last = c["u"]
    for i in range(extra):
        delay = d.add(f"delay{i}", UnitDelay(sample="0.1"))
        d.connect(last, delay["u"])
        last = delay["y"]
    d.connect(last, g["u"])
    d.connect(g["y"], p["u"])
    d.connect(p["y"], c["x"])
    return d


def test_a_sampled_loop_is_that_of_its_exact_discrete_model():
    open_loop = control.ss([[0.0, 1.0], [0.0, 0.0]], [[0.0], [1.0]], np.eye(2), np.zeros((2, 1)))
    plant, K = control.c2d(open_loop, 0.1), np.array([[4.0, 3.0]])
    _, pm, _, _, wcp, _ = control.stability_margins(control.ss(plant.A, plant.B, K @ plant.C, 0, 0.1))
    found = margins(sampled(), at="c.u")
    assert found.stable
    poles = np.linalg.eigvals(plant.A - found.gain[1] * plant.B @ K)
    assert np.abs(poles).max() == pytest.approx(1.0, abs=1e-9)
    assert found.phase == pytest.approx(pm, rel=1e-6)
    assert found.crossover == pytest.approx(wcp, rel=1e-6)


@pytest.mark.parametrize("extra", [0, 1, 2])
def test_the_loop_becomes_unstable_at_its_gain_margin(extra):
    low, high = margins(sampled(1.0, extra), at="c.u").gain
    for factor, side in ((high, 1), (low, -1)):
        if not 0 < factor < np.inf:
            continue
        radius = lambda k: np.abs(linearize(sampled(k, extra), inputs=["g.y"], outputs=["g.y"]).poles()).max()
        assert radius(factor * (1 - 1e-4 * side)) < 1 < radius(factor * (1 + 1e-4 * side))


def test_margins_are_the_same_wherever_the_loop_has_one_signal():
    one, other = margins(sampled(), at="c.u"), margins(sampled(), at="g.y")
    assert one.phase == pytest.approx(other.phase, rel=1e-9)
    assert one.gain == pytest.approx(other.gain)


def test_one_component_is_opened_and_the_others_stay_closed():
    open_loop = control.ss([[0.0, 1.0], [0.0, 0.0]], [[0.0], [1.0]], np.eye(2), np.zeros((2, 1)))
    plant = control.c2d(open_loop, 0.1)
    inner = plant.A - plant.B @ np.array([[4.0, 0.0]])  # the place is fed back as before
    _, pm, _, _, wcp, _ = control.stability_margins(control.ss(inner, plant.B, [[0.0, 3.0]], 0, 0.1))
    found = margins(sampled(), at="p.y[1]")
    assert found.stable
    assert found.phase == pytest.approx(pm, rel=1e-6)
    assert found.crossover == pytest.approx(wcp, rel=1e-6)


def test_unstable_loops_are_told_and_pictures_drawn(tmp_path):
    found = margins(continuous(10.0), at="c.y")
    assert not found.stable
    assert "UNSTABLE" in repr(found)
    assert found.gain[0] == pytest.approx(0.2, rel=1e-6)
    found.plot(tmp_path / "loop.png")
    assert (tmp_path / "loop.png").stat().st_size > 10_000


def test_what_has_no_loop_says_so():
    d = Diagram("open")
    d.add("g", Gain(2.0)) >> d.add("i", Integrator(0.0))
    d.ground("g.u")
    with pytest.raises(PlantloopError, match=r"no loop goes through 'g\.y'"):
        margins(d, at="g.y")
    with pytest.raises(PlantloopError, match=r"'p\.y' has 2 components.*'p\.y\[0\]'"):
        margins(sampled(), at="p.y")
    with pytest.raises(PlantloopError, match=r"c\.v"):
        margins(sampled(), at="c.v")
