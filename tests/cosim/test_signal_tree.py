"""The tree of signals that runs, results and whatever shows them share."""

import pickle
from fractions import Fraction

import numpy as np
import pytest

from blocks import DiscreteStateSpace, Integrator, StateSpace
from blocks.contract.rate import Ticks
from blocks.errors import PlantloopError
from cosim import Diagram, Result, simulate, simulate_many
from cosim.signal_tree import Leaf, SignalTree

TREE = SignalTree.of(
    [
        Leaf("arm/motor.w", 99, 2, ("speed [rad/s]", "slip [1]")),
        Leaf("arm/motor.i", 0, 1, (), ("A",)),
        Leaf("arm/hand/grip.f", 0, 3),
        Leaf("armature.y", 0, 1, (), (), Ticks(Fraction(1, 10))),
    ],
    {"speed": "arm/motor.w", "arm/motor.i": "armature.y", "none": "nowhere"},
)


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (("w [rad/s]", "i"), ("m.w", "m.i")), (("w", ""), ("m[0]", "m[1]")), (("w", "w"), ("m[0]", "m[1]")),
        ((), ("m[0]", "m[1]")),
    ],
)  # fmt: skip
def test_components_are_called_by_labels_where_all_have_one_of_their_own(labels, names):
    assert Leaf("m", 0, 2, labels).components == names


def test_signals_stand_side_by_side():
    assert [leaf.columns for leaf in TREE.leaves] == [slice(0, 2), slice(2, 3), slice(3, 6), slice(6, 7)]
    assert TREE.width == 7
    assert len(TREE) == 4
    assert list(TREE) == list(TREE.keys()) == [leaf.name for leaf in TREE.leaves]
    assert "armature.y" in TREE
    assert SignalTree().width == 0
    table = np.arange(14.0).reshape(2, 7)
    parts = TREE.split(table)
    assert parts["arm/hand/grip.f"].tolist() == [[3.0, 4.0, 5.0], [10.0, 11.0, 12.0]]
    assert all(np.shares_memory(part, table) for part in parts.values())


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("arm/motor.w", slice(0, 2)),
        ("speed", slice(0, 2)),
        ("speed[1]", 1),
        ("arm/motor.w.slip", 1),
        ("arm/motor.i", slice(2, 3)),  # its own name before that of another
        ("arm/hand/grip.f[2]", 5),
    ],
)
def test_names_mean_columns(name, columns):
    assert TREE.columns(name) == columns


def test_a_name_that_is_no_signal_is_answered():
    with pytest.raises(PlantloopError, match="the bus has no signal 'arm/motor.v'; did you mean 'arm/motor"):
        TREE.columns("arm/motor.v", "the bus")
    with pytest.raises(PlantloopError, match="no component 3 in 'arm/hand/grip.f'"):
        TREE.columns("arm/hand/grip.f[3]")
    assert "none" not in TREE.aliases


def test_a_tree_has_levels():
    assert TREE.children() == ("arm", "armature")
    assert TREE.children("arm") == ("arm/motor", "arm/hand")
    assert TREE.children("arm/motor") == ("arm/motor.w", "arm/motor.i")
    assert TREE.children("arm/motor.w") == ("arm/motor.w.speed", "arm/motor.w.slip")
    assert TREE.children("arm/hand/grip.f")[2] == "arm/hand/grip.f[2]"
    assert TREE.children("nothing") == ()
    arm = TREE.under("arm")
    assert list(arm) == ["arm/motor.w", "arm/motor.i", "arm/hand/grip.f"]  # not the armature
    assert list(TREE.under("arm/motor.i")) == ["arm/motor.i"]
    hand = TREE.under("arm/hand")
    assert hand["arm/hand/grip.f"].columns == slice(0, 3)
    assert hand.aliases == {}


def test_units_are_given_or_stand_in_labels():
    assert [TREE["arm/motor.w"].unit(k) for k in range(2)] == ["rad/s", "1"]
    assert TREE["arm/motor.i"].unit(0) == "A"
    assert TREE["armature.y"].unit(0) == ""


def test_a_tree_is_a_value():
    again = pickle.loads(pickle.dumps(TREE))
    assert again == TREE
    assert again.columns("speed[1]") == 1


def sampled_loop():
    part = Diagram("part")
    lag = part.add("lag", StateSpace(-np.eye(2), np.eye(2), np.eye(2)))
    part.connect(part.inport("u"), lag["u"])
    part.outport("y", lag["y"])
    d = Diagram("d")
    arm, control = (
        d.add("arm", part),
        d.add("c", DiscreteStateSpace(0.0, [[1.0, 1.0]], 1.0, [[0.0, 0.0]], sample=0.1)),
    )
    x = d.add("x", Integrator(initial=[1.0, 2.0]))
    d.connect(x["y"], arm["u"])
    d.connect(arm["y"], control["u"])
    d.connect(arm["y"], x["u"])
    d.outport("shown", arm["y"])
    return d


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_a_run_its_result_and_many_runs_have_one_tree(engine, tmp_path):
    d = sampled_loop()
    names = ["arm/lag.y", "c.y"]
    r = simulate(d, 0.3, solver="rk4", step=0.01, engine=engine, signals=names)
    runs = simulate_many(d, [{}], 0.3, solver="rk4", step=0.01, engine=engine, signals=names)
    assert r.tree == runs.tree == d.system().tree(names)
    assert r.tree["c.y"].rate == Ticks(Fraction(1, 10))
    assert r.tree["arm/lag.y"].rate is None
    assert r.tree.children("arm") == ("arm/lag",)
    for name in ("arm.y", "shown", "arm/lag.y[1]", "shown[0]"):
        assert r[name][-1].tobytes() == runs[name][0, -1].tobytes()
    for suffix in (".nc", ".npz"):
        r.save(tmp_path / f"run{suffix}")
        again = Result.load(tmp_path / f"run{suffix}")
        assert again.tree == r.tree
        assert again["shown[1]"].tobytes() == r["shown[1]"].tobytes()
        assert again.aliases == r.aliases == {"arm.y": "arm/lag.y", "shown": "arm/lag.y"}


def test_a_tree_that_does_not_fit_a_result_is_refused():
    with pytest.raises(PlantloopError, match="'a.b' has 2 components, and 3 in the tree"):
        Result("r", np.zeros(1), {"a.b": np.zeros((1, 2))}, SignalTree.of([Leaf("a.b", 0, 3)]))
