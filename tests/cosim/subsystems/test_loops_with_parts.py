"""Loops with parts inside, in parts, in snapshots, in linear models and as an FMU, against loops by hand."""

import fmpy
import numpy as np
import pytest

from blocks import (
    Function,
    Gain,
    Ramp,
    TimeTable,
    UnitDelay,
)
from blocks.errors import PlantloopError
from cosim import (
    Diagram,
    Enabled,
    For,
    ForEach,
    If,
    Resettable,
    Simulation,
    Triggered,
    export_fmu,
    linearize,
    simulate,
    trim,
)
from tests.helpers.rounds import ENGINES, INSTANTS, Leaf, T, inside, leaf


def branched(**more):
    """Even rounds run a leaf, odd ones three rounds of another."""
    d = Diagram("branched")
    k, node = d.inport("index"), d.add("branch", If(leaf(), For(leaf(0.5), 3)))
    way = d.add("way", Function(lambda k: 1 - 2 * (k % 2)))
    (d.inport("u") + k) >> node["u"]
    k >> way["k"]
    way >> node["condition"]
    d.outport("y", node["y"])
    return For(d, 3, **more)


class Branched:
    def __init__(self):
        self.leaves, self.y = [Leaf(), Leaf(0.5)], 0.0

    def tick(self, u):
        for k in range(3):
            for _ in range(3 if k % 2 else 1):
                self.y = self.leaves[k % 2].tick(u + k)
        return self.y


ON = [-1.0, 1.0, 1.0, -1.0, 2.0, 2.0, -2.0, 1.0]
TIMES = [k * T for k in range(len(ON))]
AROUND = {
    "enable": Enabled(branched(sample=T)),
    "enable anew": Enabled(branched(sample=T), reset=True),
    "trigger": Triggered(branched()),
    "reset": Resettable(branched(sample=T)),
}


def whole(part, port):
    """The part in a subsystem, twice, the second with twice the input."""
    d = Diagram("whole")
    u, on = d.inport("u"), d.inport("on")
    for k, signal in enumerate((u, 2.0 * u)):
        node = d.add(f"p{k}", part)
        signal >> node["u"]
        on >> node[port]
        d.outport(f"y{k}", node["y"])
    outer = Diagram("outer")
    node = outer.add("whole", d)
    outer.add("u", Ramp(slope=4.0, initial=1.0)) >> node["u"]
    outer.add("on", TimeTable(TIMES, ON, interpolation="previous")) >> node["on"]
    return outer


def walked(what, factor):
    """The outputs of a part around a loop."""
    inner, y, before, shown = Branched(), 0.0, None, []
    for t, on in zip(TIMES, ON, strict=True):
        rises = on > 0 and before is False
        before = on > 0
        if rises and what in ("enable anew", "reset"):
            inner = Branched()
        if what == "reset" or (rises if what == "trigger" else on > 0):
            y = inner.tick(factor * (1 + 4 * t))
        shown.append(y)
    return shown


@pytest.mark.slow
@pytest.mark.parametrize("what", AROUND)
def test_loops_with_parts_inside_in_parts(what):
    """Twice, in a subsystem, both engines with the same bits."""
    d = whole(AROUND[what], what.split()[0])
    r, other = (simulate(d, TIMES[-1], log_at=TIMES, engine=engine) for engine in ENGINES)
    for k in range(2):
        assert r[f"whole.y{k}"][:, 0].tolist() == walked(what, k + 1.0)
        assert np.array_equal(r[f"whole.y{k}"], other[f"whole.y{k}"])


@pytest.mark.slow
def test_a_loop_with_parts_inside_for_each_element():
    d = Diagram("d")
    d.add("u", Ramp(slope=4.0, initial=1.0)) >> d.add("both", Gain(np.array([[1.0], [2.0]])))
    d["both"] >> d.add("each", ForEach(branched(sample=T), 2))["u"]
    y = simulate(d, TIMES[-1], log_at=TIMES, engine="native")["each.y"]
    loops = [Branched(), Branched()]
    assert y.tolist() == [
        [one.tick(f * (1 + 4 * t)) for f, one in zip((1, 2), loops, strict=True)] for t in TIMES
    ]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_goes_on_from_a_snapshot(engine, tmp_path):
    """The states of branches, edges and the loop inside are in it; the other engine goes on from it too."""
    d = whole(AROUND["enable"], "enable")
    run = Simulation(d, engine=engine)
    run.advance(0.6)
    run.save(tmp_path / "there.npz")
    other = Simulation(d, engine=ENGINES[engine == ENGINES[0]])
    other.load(tmp_path / "there.npz")
    other.advance(TIMES[-1])
    assert other.value("whole.y1")[0] == walked("enable", 2.0)[-1]


# --- analysis ---------------------------------------------------------------------------------------------
def averaging():
    """Even rounds x1 -> (x1 + u)/2, odd ones x2 -> (3 x2 + u)/4, four rounds a tick; y = the newer."""

    def lag(a):
        d = Diagram("lag")
        u, x = d.inport("u"), d.add("x", UnitDelay(sample=T))
        new = a * u + (1 - a) * x["y"]
        new >> x["u"]
        d.outport("y", new)
        return d

    d = Diagram("d")
    node = d.add("loop", For(inside(If(lag(0.5), lag(0.25)), "condition", lambda k: 1 - 2 * (k % 2)), 4, T))
    d.inport("u") >> node["u"]
    d.outport("y", node["y"])
    return d


def test_a_linear_model_of_branches_in_a_loop():
    """x2 -> (3/4)^2 x2 + (1 - (3/4)^2) u per tick, which y shows at once: y/u = (7/16) z/(z - 9/16)."""
    model = linearize(averaging())
    for z in (1.0, -1.0, 1j, 0.3 + 0.4j):
        assert model(z) == pytest.approx(7 / 16 * z / (z - 9 / 16), rel=1e-12)


def test_no_rest_of_a_loop_is_known():
    with pytest.raises(PlantloopError, match="trim knows no rest of 'loop/body': it goes on in rounds"):
        trim(averaging())


@pytest.mark.slow
def test_an_exported_loop_has_the_bits_of_the_native_engine(tmp_path):
    d = Diagram("d")
    node = d.add(
        "loop", For(inside(If(leaf(), For(leaf(0.5), 3)), "condition", lambda k: 1 - 2 * (k % 2)), 3, T)
    )
    d.add("u", Ramp(slope=4.0, initial=1.0)) >> node["u"]
    d.outport("y", node["y"])
    path = export_fmu(d, tmp_path / "loop.fmu")
    y = fmpy.simulate_fmu(str(path), stop_time=1.25, output_interval=T)["y"]
    loop = Branched()
    assert y.tolist() == [loop.tick(1 + 4 * t) for t in INSTANTS]
