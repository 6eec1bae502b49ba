"""Actions compiled into runs, beside the same done by hand; both engines give the same bits."""

import numpy as np
import pytest

from blocks import (
    Constant,
    Demux,
    DiscreteIntegrator,
    Gain,
    Integrator,
    Mux,
    PlantloopError,
    Step,
    Sum,
    TransferFunction,
)
from cosim import Diagram, Simulation, Study
from cosim.study.compiled_actions import inputs_of


@pytest.fixture
def quiet():
    """y' = (5 (r - y) - y) / 0.3 with a step of r at 0.2 s."""
    d = Diagram("loop")
    d.add("lag", TransferFunction([1.0], [0.3, 1.0]))
    d.add("sum", Sum("+-"))
    d.add("k", Gain(5.0))
    d.add("step", Step(time=0.2))
    d.connect("step.y", "sum.in1")
    d.connect("lag.y", "sum.in2")
    d.connect("sum.y", "k.u")
    d.connect("k.y", "lag.u")
    return d


def ran(d, *actions, until=2.0, **more):
    study = Study(d, until=until, actions=list(actions), log_every=0.01, **more)
    case = study.case(0)
    assert repr(case) == f"<case 0 of 1: '{d.name}'>"
    native, reference = case.run("native"), case.run("reference")
    for name in native:
        assert np.array_equal(native[name], reference[name]), name
    return native


def test_a_parameter_is_set_at_an_instant(quiet):
    found = ran(quiet, {"at": 1.005, "set": {"k.k": 2.0}})
    sim = Simulation(quiet)
    sim.log(found.time)
    sim.advance(1.005)
    sim.set_parameter("k.k", 2.0)
    sim.advance(2.0)
    assert np.allclose(found["lag.y"], sim.result()["lag.y"], atol=1e-12, rtol=0)


@pytest.mark.parametrize("action", [{"set": {"k.k": 2.0}}, {"pulse": {"k.u": 3.0}, "lasts": 0.5}])
def test_an_instant_written_as_text(quiet, action):
    exact, near = ran(quiet, {"at": "1/3", **action}), ran(quiet, {"at": 1 / 3, **action})
    assert np.allclose(exact["lag.y"], near["lag.y"], atol=1e-12, rtol=0)
    assert exact.at(0.34, "lag.y") != ran(quiet).at(0.34, "lag.y")


def test_actions_on_one_parameter_follow_each_other_in_time(quiet):
    later, sooner = {"at": 1.5, "set": {"k.k": 1.0}}, {"at": 1, "ramp": {"k.k": 3.0}, "over": 0.2}
    found = ran(quiet, later, sooner)
    gain = found["k.y"][:, 0] / np.where(found["sum.y"][:, 0] == 0, 1, found["sum.y"][:, 0])
    assert gain[99] == pytest.approx(5.0)
    assert gain[110] == pytest.approx(4.0)
    assert gain[130] == pytest.approx(3.0)
    assert gain[150] == pytest.approx(1.0)


def test_pulses_and_switches_at_inputs(quiet):
    found = ran(quiet, {"at": 1.0, "pulse": {"k.u": 0.5}, "lasts": 0.2})
    added = (found["k.y"] - 5 * found["sum.y"])[:, 0]
    assert np.allclose(added, np.where((found.time >= 1.0) & (found.time < 1.2), 2.5, 0.0), atol=1e-12)
    held = ran(quiet, {"at": 1.0, "switch": {"k.u": 0.5}})["k.y"][:, 0]
    assert set(held[100:]) == {2.5}


def test_a_grounded_input_gets_a_pulse():
    d = Diagram("open")
    d.add("sum", Sum("++"))
    d.add("one", Constant(1.0))
    d.connect("one.y", "sum.in1")
    d.ground("sum.in2")
    found = ran(d, {"at": 0.1, "pulse": {"sum.in2": 3.0}, "lasts": 0.1, "name": "kick"}, until=0.3)
    assert list(found["sum.y"][[5, 15, 25], 0]) == [1.0, 4.0, 1.0]


def read_by_others(found):
    """What the sum reads in place of lag.y."""
    return 1.0 - found["sum.y"][:, 0]


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ({"fault": "bias", "value": 0.1}, lambda y, k: y[k] + 0.1),
        ({"fault": "stuck"}, lambda y, k: y[50]),
        ({"fault": "stuck", "value": 0.3}, lambda y, k: 0.3),
        ({"fault": "delay", "seconds": 0.05}, lambda y, k: y[k - 5]),
        ({"fault": "dropout"}, lambda y, k: 0.0),
        ({"fault": "dropout", "value": -1.0}, lambda y, k: -1.0),
    ],
    ids=lambda v: "-".join(map(str, v.values())) if isinstance(v, dict) else "",
)
def test_faults_of_sensors(quiet, fault, expected):
    found = ran(quiet, {"at": 0.5, "lasts": 0.3, "signal": "lag.y", **fault})
    y, read = found["lag.y"][:, 0], read_by_others(found)
    assert read[49] == pytest.approx(y[49], abs=1e-12)
    for k in (55, 70, 79):
        assert read[k] == pytest.approx(expected(y, k), abs=1e-9)
    assert read[81:] == pytest.approx(y[81:], abs=1e-12)


@pytest.mark.slow
def test_noise_and_lost_samples(quiet):
    found = ran(
        quiet, {"at": 0.5, "fault": "noise", "signal": "lag.y", "std": 0.05, "sample": 0.01}, until=10.0
    )
    error = (read_by_others(found) - found["lag.y"][:, 0])[51:]
    assert np.std(error) == pytest.approx(0.05, rel=0.1)
    lossy = {"fault": "dropout", "signal": "lag.y", "sample": 0.05, "probability": 0.5}
    found = ran(quiet, {"at": 0.0, **lossy}, until=10.0)
    lost = np.abs(read_by_others(found) - found["lag.y"][:, 0])[21:60] > 1e-9
    assert 3 < lost.sum() < 36


def test_a_fault_in_one_component_of_several(quiet):

    d = Diagram("two")
    d.add("a", Constant(1.0))
    d.add("b", Constant(2.0))
    d.add("mux", Mux(2))
    d.add("gain", Gain(1.0))
    d.add("demux", Demux([1, 1]))
    d.connect("a.y", "mux.in1")
    d.connect("b.y", "mux.in2")
    d.connect("mux.out", "gain.u")
    d.connect("gain.y", "demux.in")
    found = ran(d, {"at": 0.1, "fault": "bias", "signal": "mux.out[1]", "value": 5.0}, until=0.2)
    assert list(found["gain.y"][-1]) == [1.0, 7.0]


def test_on_a_condition(quiet):
    found = ran(quiet, {"when": "lag.y > 0.5 and step.y > 0", "set": {"k.k": 1.0}})
    first = int(np.argmax(found["lag.y"][:, 0] > 0.5))
    gain = found["k.y"][:, 0] / np.where(found["sum.y"][:, 0] == 0, 1, found["sum.y"][:, 0])
    assert gain[first - 1] == pytest.approx(5.0)
    assert gain[first:] == pytest.approx(1.0)  # once begun it stays, though lag.y falls below 0.5 again
    assert found["lag.y"][-1] == pytest.approx(0.5, abs=0.01)
    pulse = ran(quiet, {"when": "step.y > 0.5", "pulse": {"k.u": 1.0}, "lasts": 0.1})
    added = (pulse["k.y"] - 5 * pulse["sum.y"])[:, 0]
    assert list(added[[19, 20, 29, 31]]) == pytest.approx([0.0, 5.0, 5.0, 0.0])
    assert ran(quiet, {"when": "lag.y < 1", "set": {"k.k": 1.0}})["k.y"][30, 0] == pytest.approx(
        ran(quiet, {"at": 0.0, "set": {"k.k": 1.0}})["k.y"][30, 0], rel=1e-6
    )  # one that holds from the start


def test_numbers_of_an_action_are_swept(quiet, tmp_path):
    action = {"at": 1.0, "pulse": {"k.u": 0.5}, "lasts": 0.2, "name": "kick"}
    s = Study(
        quiet, until=2.0, actions=[action], sweep={"kick.amount": [0.0, 1.0]}, metrics={"top": "max(lag.y)"}
    ).run(tmp_path / "out")
    assert s.table.loc[1, "top"] > s.table.loc[0, "top"] + 0.1


def test_a_requirement_that_is_broken_ends_the_run(quiet, tmp_path):
    """y = 5/6 (1 - exp(-20 t)) after the step at 0.2 s: above 0.5 at 0.2 + ln(2.5)/20 s."""
    low = {"name": "low", "always": "lag.y < 0.5", "stop": True}
    high = {"name": "high", "always": "lag.y < 0.9", "stop": True}
    study = Study(
        quiet, until=2.0, requirements=[low, high], sweep={"step.after": [0.5, 1.0]},
        metrics={"top": "max(lag.y)"}, log_every=0.01,
    )  # fmt: skip
    table = study.run(tmp_path / "out").table
    assert list(table["status"]) == ["done", "stopped"]
    assert table["message"][1] == "requirement 'low' is not met"
    assert list(table["low"]) == [True, False]
    assert list(table["high"]) == [True, True]
    assert table["end_time"][1] == pytest.approx(0.2 + np.log(2.5) / 20, abs=1e-7)
    assert table["top"][1] == pytest.approx(0.5, abs=1e-6)
    free = Study(quiet, until=2.0, sweep={"step.after": [0.5, 1.0]}, log_every=0.01).case(1).result
    native, reference = study.case(1).run("native"), study.case(1).run("reference")
    count = int((native.time < 0.245).sum())
    assert np.array_equal(native["lag.y"], reference["lag.y"])
    assert np.array_equal(native["lag.y"][:count], free["lag.y"][:count])  # looking changes no bit


@pytest.mark.parametrize(
    ("more", "end"),
    [
        ({"after": 0.3}, 0.3),
        ({"after": 0.3, "within": 0.1}, 0.3),
        ({"before": 0.2}, 2.0),
        ({"always": "t < -1"}, 0.0),
    ],
)
def test_when_a_requirement_ends_a_run(quiet, more, end):
    given = {"name": "low", "always": "lag.y < 0.5", "stop": True} | more
    found = Study(quiet, until=2.0, requirements=[given], log_every=0.01).case(0).measures
    assert found["end_time"] == pytest.approx(end, abs=1e-8)
    assert found["low"] == (end == 2.0)


@pytest.mark.parametrize(
    ("action", "says"),
    [
        ({"at": 1.0, "set": {"k.kk": 1.0}}, "no parameter 'k.kk'; did you mean 'k.k'"),
        ({"at": 1.0, "set": {"k.k": [1.0, 2.0]}}, "got 2 numbers"),
        ({"at": 1.0, "pulse": {"k.v": 1.0}, "lasts": 1.0}, "no input 'k.v'; did you mean 'k.u'"),
        (
            {"at": 1.0, "set": {"k.u": 1.0}},
            "no parameter 'k.u': that is an input of a block. Write switch = {",
        ),
        ({"at": 1.0, "ramp": {"lag.y": 1.0}, "over": 1.0}, "no parameter 'lag.y': that is a signal."),
        (
            {"at": 1.0, "pulse": {"k.y": 1.0}, "lasts": 1.0},
            "no input 'k.y': that is a signal. For pulse and switch at an input, did you mean 'k.u' or 'la",
        ),
        ({"at": 1.0, "fault": "bias", "signal": "lag.z", "value": 1.0}, "no signal 'lag.z'"),
        ({"at": 1.0, "fault": "bias", "signal": "lag.y"}, "needs 'value'"),
        ({"when": "lag.z > 1", "set": {"k.k": 1.0}}, "no signal 'lag.z'"),
        ({"when": "always(lag.y > 1)", "set": {"k.k": 1.0}}, "nothing over time, such as always(...)"),
        ({"when": "integral(lag.y) > 1", "set": {"k.k": 1.0}}, "[0].when: is a condition of an instant"),
        ({"at": 1.0, "set": {"k.k": 1.0}, "name": "lag"}, "'lag' is a block already"),
        ({"at": 1.0}, "expected one of set, ramp, pulse, fault or switch"),
        ({"at": 1.0, "when": "lag.y > 1", "set": {"k.k": 1.0}}, "either 'at'"),
        ({"at": 1.0, "set": {"k.k": 1.0}, "over": 2.0}, "does not go with set"),
    ],
)
def test_mistakes(quiet, action, says):
    with pytest.raises(PlantloopError) as error:
        Study(quiet, until=2.0, actions=[action])
    assert says in str(error.value)


def test_a_signal_in_place_of_an_input_is_answered_with_one_of_its_block_and_one_of_its_readers(quiet):
    quiet.add("shown", Gain(1.0))
    quiet.connect("sum.y", "shown.u")
    with pytest.raises(PlantloopError, match=r"did you mean 'sum\.in1' or '(k|shown)\.u'\?"):
        Study(quiet, until=2.0, actions=[{"at": 1.0, "pulse": {"sum.y": 1.0}, "lasts": 1.0}])


def test_an_input_of_a_subsystem_is_all_that_it_drives():
    part = Diagram("part")
    for port, inside in (("u", ("a", "b")), ("v", ("c",))):
        read = part.inport(port)
        for name in inside:
            part.connect(read, part.add(name, Gain(2.0))["u"])
    part.outport("y", part["a"]["y"])
    d = Diagram("d")
    d.add("part", part)
    d.connect(d.add("one", Constant(1.0))["y"], d["part"]["u"], d["part"]["v"])
    own = {(f"part/{name}", "u"): ((f"part/{name}", "u"),) for name in "abc"}
    both = {("part", "u"): (("part/a", "u"), ("part/b", "u")), ("part", "v"): (("part/c", "u"),)}
    assert inputs_of(d) == own | both


@pytest.mark.parametrize(
    ("when", "begins"),
    [
        ("n.y >= 3", 0.3), ("n.y > 3", 0.4), ("n.y == 3", 0.3), ("not (n.y < 3)", 0.3),
        ("not (n.y <= 3)", 0.4),
        ("n.y <= 0", 0.0), ("n.y < 0", None), ("n.y != 0", 0.1), ("not (n.y == 0)", 0.1),
        ("n.y >= 2 and n.y != 2", 0.3),
        ("0.1*n.y >= 0.3", 0.3), ("n.y > 0 implies n.y >= 2", 0.0), ("n.y >= 3 or t > 0.75", 0.3),
    ],
)  # fmt: skip
def test_a_condition_is_true_as_it_says_also_where_both_sides_are_equal(when, begins):
    d = Diagram("counting")
    d.add("ten", Constant(10.0))
    d.add("n", DiscreteIntegrator(sample=0.1))  # 0, 1, 2, ... at the ticks
    d.add("seen", Gain(1.0))
    d.connect("ten.y", "n.u")
    d.connect("ten.y", "seen.u")
    found = ran(d, {"when": when, "switch": {"seen.u": 7.0}}, until=1.0)
    assert np.allclose(found["n.y"][::10, 0], np.arange(11), atol=1e-12)
    on = found.time[found["seen.y"][:, 0] == 7.0]
    if begins is None:
        assert not len(on)
    else:
        assert on[0] == pytest.approx(begins, abs=0.0101)
        assert begins == 0.0 or on[0] == pytest.approx(begins, abs=1e-12)


@pytest.mark.parametrize("value", [3.0, [3.0], [[3.0]]])
@pytest.mark.parametrize("deed", [{"set": {}}, {"ramp": {}, "over": 0.5}])
def test_a_number_in_a_list_is_that_number(tmp_path, value, deed):
    """x' = k with k = 1, from 1 s on 3 or straight up to it: ended in ValueError."""
    d = Diagram("count")
    d.add("one", Constant(1.0))
    d.add("k", Gain(1.0))
    d.add("x", Integrator())
    d.connect("one -> k -> x")
    action = {"at": 1.0, **{name: {"k.k": value} if extra == {} else extra for name, extra in deed.items()}}
    study = Study(d, until=2.0, actions=[action], metrics={"end": "final(x.y)"})
    known = 4.0 if "set" in deed else 1.0 + 0.5 * 2.0 + 0.5 * 3.0
    assert study.run(tmp_path / "out", workers=1).table["end"][0] == pytest.approx(known, abs=1e-9)
