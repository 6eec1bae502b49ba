"""A watched run: what was done to it is done again bit for bit, on both engines, forwards and back."""

import shutil
import threading
import time

import numpy as np
import pytest

from blocks import Constant, DiscreteStateSpace, Function, Gain, Integrator, Sum, UnitDelay
from blocks.errors import PlantloopError
from cosim import Diagram, Simulation, simulate
from cosim.scenario import load_scenario
from cosim.scenario.comparison import compared
from cosim.scenario.handles import with_handles
from cosim.scenario.session_file import replay
from cosim.study import Study
from cosim.viewer.server.live_view import interval_of, view_diagram, view_scenario
from cosim.viewer.server.watched_run import WatchedRun
from plant import Plant

PENDULUM = "examples/inverted_pendulum"
ENGINES = ("reference", "native")


def same(a, b):
    assert a.time.tobytes() == b.time.tobytes()
    for name in a.keys():  # noqa: SIM118
        assert a[name].tobytes() == b[name].tobytes(), name
    for name, series in a.ticks_of.items():
        assert series.time.tobytes() == b.ticks_of[name].time.tobytes()
        assert series.values.tobytes() == b.ticks_of[name].values.tobytes(), name
    assert a.events == b.events


@pytest.fixture
def pendulum(tmp_path):
    for file in ("scenario.toml", "inverted_pendulum.xml"):
        shutil.copy(f"{PENDULUM}/{file}", tmp_path)
    return tmp_path / "scenario.toml"


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_a_session_replays_bit_for_bit_from_its_file(pendulum, engine):
    text = (
        pendulum.read_text()
        .replace("until = 10.0", f'until = 0.6\nengine = "{engine}"')
        .replace("rtol = 1e-10", "rtol = 1e-6")
    )
    pendulum.write_text(text)
    with view_scenario(load_scenario(pendulum), show=False) as live:
        live.do("step")
        live.do("set", name="controller.K", value=[[70.0, 18.0, -22.0, -14.0]])
        for _ in range(7):
            live.do("step")
        live.do("push", plant="plant", link=1, force=[0.2, 0.0, 0.0], point=[0.0, 0.0, 0.5])
        for _ in range(9):
            live.do("step")
        live.do("set", name="plant_disturbance_force.value", value=-0.4)
        live.do("back")
        live.do("back", to=0.05)
        for _ in range(20):
            live.do("step")
        live.do("push", plant="plant", link=0, force=[1.0, 0.0, 0.0], point=[0.0, 0.0, 0.0])
        live.do("step")
        live.do("release")
        live.do("set", name="plant_disturbance_force.value", value=0.3)
        live.do("pace", value=1e6)
        live.do("play")
        while live.player.playing:
            time.sleep(0.01)
        live.do("back", to=0.5)
        file = live.save()
        result = live.result()
    assert result.settings["engine"].value == engine
    again = load_scenario(file)
    assert len(again.tables.replay.changes) >= 4
    same(result, again.run())
    assert "# An inverted pendulum on a sprung slider" in file.read_text()  # comments are kept
    same(result, load_scenario(file).run())
    with view_scenario(load_scenario(file), show=False) as second:  # opened live, it is where it was left
        same(result, second.result())
        second.do("back", to=0.4)
        second.do("step")


def nested():
    """Sampled and continuous blocks, a loop of two rates, a plant and an open input inside a subsystem."""
    d, inner = Diagram("nested"), Diagram("inner")
    u = inner.inport("u")
    plant = inner.add("arm", Plant.read("tests/data/models/inverted_pendulum.xml"))
    inner.connect(u, plant["control_force"])
    inner.ground(plant["disturbance_force"])
    inner.outport("y", plant["pendulum"])
    d.add("c", DiscreteStateSpace(0.3, 0.4, 1.0, sample="0.03"))
    d.add("hold", UnitDelay(sample="0.05"))
    d.add("in", inner)
    d.add("pick", Gain([[1.0, 0.1]]))
    d.add("sum", Sum("++"))
    d.connect("in.y -> pick.u", "pick.y -> sum.in1", "sum.y -> c.u", "c.y -> hold.u, in.u")
    d.connect(d.inport("r"), d["sum"]["in2"])
    return d


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_a_session_of_a_python_diagram_with_everything_inside_a_subsystem(engine, tmp_path):
    d = nested()
    initial = {"in/arm.hinge.q": 0.05}
    options = {"initial": initial, "engine": engine, "rtol": 1e-7, "folder": tmp_path, "show": False}
    with view_diagram(d, until=0.6, every="0.01", **options) as live:
        for k in range(30):
            live.do("step")
            if k == 4:
                live.do("set", name="r", value=0.2)
                live.do("push", plant="in/arm", link=1, force=[0.0, 0.0, 0.3], point=[0.1, 0.0, 0.0])
            if k == 11:
                live.do("set", name="in/arm_disturbance_force.value", value=0.5)
        live.do("release")
        live.do("step")
        file, result = live.save(), live.result()
    same(result, replay(d, file))
    assert result.time[-1] < 0.4


def test_going_back_and_on_is_as_never_having_gone(tmp_path):
    opened = with_handles(nested().netlist())
    system = opened.system()
    there = WatchedRun(Simulation(system), opened, "0.02", 1.0, ("0.02", None))
    straight = WatchedRun(Simulation(system), opened, "0.02", 1.0, ("0.02", None))
    for _ in range(20):
        there.forward()
    there.change("r", 1.0)
    for _ in range(5):
        there.forward()
    there.back(0.2)
    assert there.time == pytest.approx(0.2, abs=1e-15)
    for run, count in ((there, 15), (straight, 25)):
        for _ in range(count):
            run.forward()
    same(there.result(), straight.result())
    assert np.array_equal(there.table[: there.rows], straight.table[: straight.rows])
    there.reset()
    assert there.time == 0.0
    assert there.rows == 1


def test_reset_keeps_what_was_changed_and_lets_go_of_pushes():
    opened = with_handles(nested().netlist())
    run = WatchedRun(Simulation(opened.system()), opened, "0.02", 1.0, ("0.02", None))
    run.forward()
    run.change("r", 2.0)
    run.change(opened.pushes[0].parameter, [1.0] * 6)
    run.forward()
    run.reset()
    assert [(c.at, c.name, c.value) for c in run.recording.changes] == [(0.0, "r", [2.0])]
    assert run.values()["r"] == [2.0]
    assert not run.values()[opened.pushes[0].parameter].any()


@pytest.mark.parametrize("engine", ["reference"])
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_push_moves_a_free_body_by_newtons_law(engine, coordinates):
    """F = m a at the centre of mass; off it the angular momentum grows by r x F as well."""
    plant = Plant.read("tests/data/plants/dzhanibekov.xml", coordinates=coordinates).audited()
    pushed = plant.pushed()
    port = next(n for n in pushed.ports_by_name()[0] if n.startswith("push_"))
    force = np.array([0.3, -0.2, 0.5])
    d = Diagram("free")
    d.add("f", Constant(np.concatenate([force, np.zeros(3)])))
    d.add("p", pushed)
    d.connect("f.y", f"p.{port}")
    r, free = simulate(d, 0.4, engine=engine, rtol=1e-10), simulate(plant, 0.4, engine=engine, rtol=1e-10)
    momentum = r["p.audit_momentum"] - free["plant.audit_momentum"]
    assert np.allclose(momentum[:, :3], np.outer(r.time, force), atol=1e-9)


@pytest.mark.slow
def test_a_plant_that_is_not_pushed_moves_as_one_that_cannot_be():
    plant = Plant.read("tests/data/models/four_bar.xml")
    a, b = (simulate(p, 0.2, engine="reference") for p in (plant, plant.pushed()))
    for name in a.keys():  # noqa: SIM118
        assert a[name].tobytes() == b[name].tobytes()


def test_what_cannot_be_changed_is_refused():
    d = Diagram("d")
    d.add("g", Gain(2.0))
    d.add("i", Integrator(0.0))
    d.connect(d.inport("u"), d["g"]["u"])
    d.connect("g.y -> i.u")
    with view_diagram(d, until=1.0, show=False) as live:
        for message, text in (
            ({"do": "set", "name": "g.kk", "value": 1.0}, "nothing to change is called 'g.kk'"),
            ({"do": "set", "name": "u", "value": "x"}, "expected numbers"),
            ({"do": "set", "name": "u", "value": [1.0, 2.0]}, "expected 1"),
            ({"do": "set", "name": "u", "value": None}, "finite"),
            ({"do": "fly"}, "no command 'fly'"),
            ({"do": ["play"]}, "no command"),
            ({}, "no command None"),
            ({"do": "pace", "value": float("nan")}, "finite number"),
            ({"do": "pace", "value": -1}, "pace is -1"),
            ({"do": "back", "to": "x"}, "finite number"),
            ({"do": "push", "plant": "g", "link": 0, "force": [0, 0, 0], "point": [0, 0, 0]}, "no body"),
            ({"do": "save"}, "nothing has run yet"),
        ):
            with pytest.raises(PlantloopError, match=text):
                live.player.do(message).result(10.0)
        live.do("step")
        assert live.result().time[-1] > 0.0


def test_a_run_that_fails_can_be_stepped_back_and_cured():
    d = Diagram("root")
    d.add("i", Integrator(0.1))
    d.add("s", Function(np.sqrt))
    d.add("c", Constant(-1.0))
    d.connect("c.y -> i.u")
    d.connect(d["i"]["y"], d["s"].the("input"))
    d.add("j", Integrator(0.0))
    d.connect("s.y -> j.u")
    opened = with_handles(d.netlist())
    run = WatchedRun(Simulation(opened.system()), opened, "0.02", 1.0, ("0.02", None))
    for _ in range(10):
        run.forward()
    assert "finite" in run.ended
    run.back(0.04)
    assert not run.ended
    run.change("c.value", 1.0)
    for _ in range(10):
        run.forward()
    assert not run.ended
    assert run.time == pytest.approx(0.24)


def test_stops_are_round_numbers():
    assert [str(interval_of(t)) for t in (0.5, 10.0, 600.0, 3.0)] == ["1/200", "1/100", "1/20", "1/100"]


def test_a_replay_is_checked_as_the_rest_of_a_scenario(pendulum):
    text = pendulum.read_text() + "\n[replay]\nevery = 0.01\n"
    pendulum.write_text(text + '[[replay.changes]]\nat = 1.0\nname = "controller.KK"\nvalue = 1.0\n')
    with pytest.raises(PlantloopError, match=r"replay.changes\[0\].*no parameter .controller.KK"):
        load_scenario(pendulum).run()
    pendulum.write_text(text + '[[replay.changes]]\nat = 99.0\nname = "controller.K"\nvalue = [[0,0,0,0]]\n')
    with pytest.raises(PlantloopError, match="at 99 s the run is over"):
        load_scenario(pendulum).run()
    pendulum.write_text(text)
    with pytest.raises(PlantloopError, match="an FMU cannot replay a session"):
        load_scenario(pendulum).export(pendulum.with_suffix(".fmu"))
    with pytest.raises(PlantloopError, match="comparing ways cannot replay a session"):
        compared(load_scenario(pendulum))
    pendulum.write_text(text + "[sweep]\n'controller.K' = [1.0]\n")
    with pytest.raises(PlantloopError, match="a study cannot replay a session"):
        Study(pendulum)
    pendulum.write_text(text.replace("every = 0.01", "every = -1"))
    with pytest.raises(PlantloopError, match="more than 0"):
        load_scenario(pendulum)


def test_who_leaves_before_an_answer_does_not_end_the_run():
    """Commands of pages that have gone while they waited are not carried out, and those of others are."""
    d = Diagram("d")
    d.add("g", Gain(2.0))
    d.add("c", Constant(1.0))
    d.connect("c.y -> g.u")
    with view_diagram(d, until=1.0, every="0.1", show=False) as live:
        held, release = threading.Event(), threading.Event()
        leave = live.player.listen(lambda: (held.set(), release.wait(10.0)))
        first = live.player.do({"do": "step"})
        assert held.wait(10.0)
        gone = live.player.do({"do": "set", "name": "g.k", "value": 5.0})
        assert gone.cancel()
        leave()
        release.set()
        first.result(10.0)
        live.player.do({"do": "step"}).result(10.0)
        assert live.player.table[live.player.rows - 1, 0] == pytest.approx(0.2)
        assert live.player.state["changes"] == 0
