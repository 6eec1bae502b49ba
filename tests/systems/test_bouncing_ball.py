"""A ball bouncing on the floor: impact times in closed form, t_n+1 = t_n + 2 e^n v_1/g, with a finite limit.

The numbers are those of data/reference/bouncing_ball.json.
"""

from dataclasses import dataclass

import numpy as np
import pytest

from blocks import Block, Equations, SimulationError
from cosim import Diagram, simulate
from tests.helpers.checked import closed_form
from tests.helpers.plants import reference

KNOWN = reference("bouncing_ball")
NUMBERS, TIMES = KNOWN["parameters"], np.array(KNOWN["impact_times"])
ACCEPT = KNOWN["accept"]["event_time_s"]


FLIGHT = closed_form("parabolic flights, t_n+1 = t_n + 2 e^n v_1/g")


@dataclass(frozen=True)
class Ball(Block):
    """h' = v, v' = -g; where h falls through 0, v becomes -e v, or 0 below `rest`."""

    g: float = NUMBERS["g"]
    e: float = NUMBERS["restitution"]
    rest: float | None = None

    def define(self, b: Equations) -> None:
        g, e = b.parameters(g=self.g, e=self.e)
        h, v = b.continuous("h", NUMBERS["h0"]), b.continuous("v", NUMBERS["v0_up"])
        flying = 1.0
        if self.rest is None:
            b.when(h[0], [(v, -e * v)], "falling", "bounce")
        else:
            lies = b.mode("lies", 0.0)
            stops = np.abs(v) < self.rest
            b.when(
                h[0],
                [(v, np.where(stops, 0.0, -e * v)), (lies, np.where(stops, 1.0, 0.0))],
                "falling",
                "bounce",
            )
            flying = 1.0 - lies
        b.derivative(h, v * flying)
        b.derivative(v, -g * flying)
        b.output("h", h)
        b.output("v", v)


def ball(**fields) -> Diagram:
    d = Diagram("ball")
    d.add("ball", Ball(**fields))
    return d


@pytest.mark.parametrize(
    "settings", [{}, {"solver": "rk4", "step": 0.01}, {"solver": "Radau"}, {"solver": "rodas4"}]
)
def test_impacts(checked, settings):
    r = simulate(ball(), until=12.36, log_every=0.01, engine="reference", **settings)
    assert [e.name for e in r.events] == ["ball.bounce"] * len(TIMES)
    times = [e.time for e in r.events]
    checked(times, TIMES, "bouncing ball", "times of impact", FLIGHT, atol=ACCEPT)
    speeds = np.array(KNOWN["impact_speeds_before"])
    before, after = [-e.before["ball.v"][0] for e in r.events], [e.after["ball.v"][0] for e in r.events]
    checked(before, speeds, "bouncing ball", "speeds before impacts", FLIGHT, atol=1e-8)
    checked(after, 0.8 * speeds, "bouncing ball", "speeds after impacts", FLIGHT, atol=1e-8)


def test_peaks_between_impacts(checked):
    middle = (TIMES[1:] + TIMES[:-1]) / 2
    r = simulate(ball(), until=12.36, log_at=middle, engine="reference")
    peaks = KNOWN["peak_heights_after"][: len(middle)]
    checked(r["ball.h"][:, 0], peaks, "bouncing ball", "peaks", FLIGHT, atol=1e-8)


@pytest.mark.slow
def test_the_zeno_point_is_an_error_that_names_the_ball_and_keeps_the_result(checked):
    with pytest.raises(SimulationError, match=r"'ball\.bounce'.*|Zeno") as caught:
        simulate(ball(), until=20.0, log_every=0.5, engine="reference")
    checked(caught.value.time, KNOWN["zeno_time"], "bouncing ball", "Zeno time", FLIGHT, atol=1e-6)
    assert "ball.bounce" in str(caught.value) and "Zeno" in str(caught.value)
    r = caught.value.result
    assert not r.complete and r.time[-1] == 12.5 and len(r.events) > 40


def test_a_ball_that_may_rest_does():
    r = simulate(ball(rest=1e-3), until=20.0, log_every=0.5, engine="reference")
    assert r.complete and r["ball.h"][-1, 0] == pytest.approx(0.0, abs=1e-12) and r["ball.v"][-1, 0] == 0.0
