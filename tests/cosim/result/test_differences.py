"""How far two results are apart, beside closed forms, in Python and on the command line."""

import numpy as np
import pytest
from typer.testing import CliRunner

from blocks import Hold, Ramp, Sine
from cosim import Diagram, simulate
from cosim.cli.cli import app
from cosim.result.differences import differences


def ran(slope, log_every=0.25, more=False, until=2.0):
    """A ramp, and its samples every half second."""
    d = Diagram("ramp")
    d.add("r", Ramp(slope=slope), units={"y": "m"})
    d.add("z", Hold(sample=0.5))
    d.connect("r.y", "z.u")
    if more:
        d.add("s", Sine())
    return simulate(d, until=until, log_every=log_every)


def test_differences_of_two_ramps():
    ramp, held = differences(ran(1.0), ran(1.5, log_every=0.1))
    assert (ramp.name, ramp.unit, ramp.at, ramp.instants) == ("r.y", "m", 2.0, 9)
    assert ramp.largest == pytest.approx(1.0, abs=1e-12) and ramp.share == pytest.approx(1 / 3)
    assert held.largest == pytest.approx(1.0, abs=1e-12)


def test_samples_are_not_taken_as_lines():
    _, held = differences(ran(1.0), ran(1.0, log_every=0.5))
    assert held.largest == 0.0


def test_what_only_one_has_and_where_they_do_not_overlap():
    whole, more = ran(1.0), ran(1.0, more=True)
    assert [one.instants for one in differences(more, whole)] == [9, 9, 0]
    assert differences(whole, ran(1.0, until=1.0))[0].instants == 5


def test_on_the_command_line(tmp_path):
    a, b = tmp_path / "a.nc", tmp_path / "b.npz"
    ran(1.0).save(a)
    ran(1.5, more=True).save(b)
    shown = CliRunner().invoke(app, ["compare", str(a), str(b)])
    assert shown.exit_code == 0
    assert "r.y: apart by up to 1 m (0.33 of its size) at t=2 s" in shown.output
    assert "s.y: not in the first" in shown.output
    again = CliRunner().invoke(app, ["compare", str(a), str(a)]).output
    assert "z.y: the same at 9 instants" in again
    assert "s.y: not in the second" in CliRunner().invoke(app, ["compare", str(b), str(a)]).output
    refused = CliRunner().invoke(app, ["compare", str(a), str(tmp_path)])
    assert refused.exit_code == 1 and "takes a .nc or .npz file" in refused.output


def test_signals_that_are_not_finite():
    one = ran(1.0)
    signals = {"r.y": np.full((9, 1), np.nan)}
    from dataclasses import replace

    lost = replace(one, signals=signals, ticks_of={})
    assert [d.largest for d in differences(lost, one)] == [None]
