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


def wrapped(slope, inside):
    """The ramp in a subsystem with the outport y; or a block of the subsystem's name with that output."""
    d = Diagram("ramp")
    if inside:
        part = Diagram("part")
        part.outport("y", part.add("r", Ramp(slope=slope))["y"])
        d.add("part", part)
    else:
        d.add("part", Ramp(slope=slope))
    return simulate(d, until=2.0, log_every=0.25)


def test_the_outport_of_a_subsystem_is_compared_with_the_output_of_a_block(tmp_path):
    whole, block = wrapped(1.0, True), wrapped(1.5, False)
    for first, second, name in ((whole, block, "part/r.y"), (block, whole, "part.y")):
        (one,) = differences(first, second)
        assert (one.name, one.at, one.instants) == (name, 2.0, 9)
        assert one.largest == pytest.approx(1.0, abs=1e-12)
    for k, result in enumerate((whole, block)):
        result.save(tmp_path / f"{k}.nc")
    told = CliRunner().invoke(app, ["compare", str(tmp_path / "0.nc"), str(tmp_path / "1.nc")]).output
    assert "apart by up to 1 " in told and "not in" not in told


def test_outports_of_two_subsystems_whose_insides_are_called_otherwise():
    a, b = Diagram("a"), Diagram("b")
    for d, name, slope in ((a, "r", 1.0), (b, "other", 1.5)):
        part = Diagram("part")
        part.outport("y", part.add(name, Ramp(slope=slope))["y"])
        d.add("part", part)
    (one,) = differences(simulate(a, until=2.0), simulate(b, until=2.0))
    assert one.name == "part/r.y" and one.largest == pytest.approx(1.0, abs=1e-12)
