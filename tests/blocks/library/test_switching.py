"""Fields of switching, limiting and tracking blocks; runs of them are in test_switching_runs.py."""

import numpy as np
import pytest

from blocks import (
    BlockError,
    Constant,
    DeadZone,
    Integrator,
    PeakHold,
    Quantizer,
    RateLimiter,
    Relay,
    StopWhen,
    Switch,
    TransportDelay,
    TurnCounter,
)
from cosim import Diagram
from tests.helpers.solo import Solo


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Relay(0.0, 1.0), "Relay: off_point is 1.0, expected at most on_point = 0.0"),
        (lambda: Switch(criteria="=="), 'Switch: criteria is \'==\', expected ">=" or ">"'),
        (lambda: Switch([1.0, 2.0]), "Switch: threshold has shape (2,), expected a number"),
        (lambda: RateLimiter(-1.0), "RateLimiter: rising is -1.0, expected more than 0"),
        (lambda: RateLimiter(1.0, 0.0), "RateLimiter: falling is 0.0, expected more than 0"),
        (lambda: RateLimiter(1.0, offset=0.1), "offset is 0.1 without a sample time"),
        (lambda: DeadZone(1.0, -1.0), "DeadZone: low is 1.0, expected at most high"),
        (lambda: Quantizer(0.0), "Quantizer: interval is 0.0, expected more than 0"),
        (lambda: StopWhen(""), "StopWhen: message is '', expected a text"),
        (lambda: StopWhen("m", direction="up"), "StopWhen: direction is 'up'"),
        (lambda: PeakHold("maximum"), "PeakHold: kind is 'maximum'"),
        (lambda: TurnCounter(0.0), "TurnCounter: period is 0.0, expected more than 0"),
        (lambda: TransportDelay(-1.0), "TransportDelay: delay is -1.0 s, expected more than 0 s"),
        (lambda: Integrator(0.0, low=0.5), "Integrator: initial is 0.0, expected a value within low = 0.5"),
        (lambda: Integrator(0.0, low=2.0, high=1.0), "Integrator: low is 2.0, expected at most high"),
    ],
)
def test_wrong_fields(make, text):
    with pytest.raises(BlockError) as caught:
        make()
    assert text in str(caught.value)


def test_what_a_rate_limiter_does_at_its_ticks():
    y = Solo(RateLimiter(1.0, 4.0, sample=0.5, initial=1.0), {"u": 1}).run(
        [0, 0.5, 1, 1.5, 2, 2.5], u=lambda t: 3.0 if t < 1.2 else -9.0
    )["y"]
    assert y[:, 0].tolist() == [1.5, 2.0, 2.5, 0.5, -1.5, -3.5]


def test_rounding_of_halves_goes_away_from_zero():
    solo = Solo(Quantizer(2.0), {"u": 6})
    nearest = solo.declared.memories[0].expression
    for u, n in ((1.0, 1), (-1.0, -1), (3.0, 2), (0.9, 0), (-5.0, -3)):
        value = solo.evaluate("n", nearest, [np.full(6, u)], 0.0, solo.own)
        assert value[0] == n


def test_the_start_of_a_run_is_nobodys_signal():
    """What a rate limiter keeps of its last step can be logged, when the run began cannot."""
    d = Diagram("d")
    d.add("u", Constant(1.0)) >> d.add("it", RateLimiter(1.0))
    assert "it.last" in d.system().inner
    assert not [name for name in d.system().inner if "start" in name]
