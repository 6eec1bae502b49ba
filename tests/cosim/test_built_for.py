"""Sample times and instants as parameters of a diagram: runs and sweeps may change them.

x' = held(1(t - t0) - x) with ticks every T: from t0 on x_k+1 = x_k + k T (1 - x_k), so x = 1 - (1 - k T)^n.
"""

import numpy as np
import pytest

from blocks import (
    Clock,
    Constant,
    Delay,
    DiscreteIntegrator,
    Gain,
    Hold,
    Integrator,
    RandomNumber,
    Step,
    TappedDelay,
)
from blocks.errors import PlantloopError
from cosim import (
    FMU,
    Diagram,
    Enabled,
    Simulation,
    delay_audit,
    export_fmu,
    linearize,
    margins,
    simulate,
    simulate_many,
    trim_table,
)


def loop():
    d = Diagram("loop")
    T, t0, k = d.parameter("T", 0.1), d.parameter("t0", 1.0), d.parameter("k", 1.0)
    step, x = d.add("step", Step(t0)), d.add("x", Integrator())
    (step - x) >> d.add("hold", Hold(sample=T)) >> d.add("gain", Gain(k)) >> x
    return d


def known(until, T=0.1, t0=1.0, k=1.0):
    return 1.0 - (1.0 - k * T) ** round((until - t0) / T)


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("given", [{"T": 0.05}, {"t0": 0.5}, {"k": 2.0, "T": 0.25, "t0": 2.0}, {"T": 0.1}])
def test_a_run_is_built_with_its_own(engine, given):
    r = simulate(loop(), 3.0, parameters=given, engine=engine, log_at=[3.0])
    assert abs(r["x.y"][-1, 0] - known(3.0, **given)) < 1e-12
    assert all(r.settings[name].value == value for name, value in given.items())


def test_the_diagram_stays_as_it_is():
    d = loop()
    built = [
        Simulation(d, parameters={"T": T, "k": k}).system for T, k in [(0.2, 1.0), (0.2, 3.0), (0.3, 1.0)]
    ]
    assert built[0] is built[1]
    assert len(d.kept("built")) == 1  # what was built last alone is kept: a sweep does not fill the memory
    assert [str(s.rates[0].period) for s in (*built[1:], d.system())] == ["1/5", "3/10", "1/10"]


def test_a_sweep_mixes_both_kinds_of_parameters_in_any_order():
    T, k, seeds = [0.1, 0.25, 0.1, 0.5, 0.25], [1.0, 0.5, 2.0, 1.5, 3.0], [7, 8, 9, 1, 2]
    told = []
    runs = simulate_many(
        loop(),
        {"parameters": {"T": T, "k": k}, "seed": seeds},
        4.0,
        parameters={"t0": 2.0},
        progress=told.append,
    )
    wanted = [known(4.0, a, 2.0, b) for a, b in zip(T, k, strict=True)]
    assert np.abs(runs["x.y"][:, -1, 0] - wanted).max() < 1e-12
    assert len(runs) == 5
    assert not runs.errors
    assert told[-1] == 5
    assert sorted(told) == told


def test_draws_of_a_run_are_those_of_its_number():
    d = Diagram("noise")
    d.add("n", RandomNumber(sample=d.parameter("T", 0.1)))
    runs = simulate_many(d, {"parameters": {"T": [0.1, 0.2, 0.1]}}, 0.0, seed=5)
    one = [simulate(d, 0.0, seed=5 + k)["n.y"][-1, 0] for k in range(3)]
    assert runs["n.y"][:, 0, 0].tolist() == one


def test_a_run_that_fails_is_called_by_its_number():
    assert len(simulate_many(loop(), [{"parameters": None}, {"parameters": {"T": 0.2}}, {}], 1.0)) == 3
    runs = [{"parameters": {"T": 0.1}}, {"parameters": {"T": 0.2}, "initial": {"xx.x": 1.0}}]
    with pytest.raises(PlantloopError, match="run 1: 'loop' has no state 'xx.x'"):
        simulate_many(loop(), runs, 1.0)


def test_runs_of_other_sizes_are_refused():
    d = Diagram("sizes")
    d.add("taps", TappedDelay(d.parameter("n", 2), sample=d.parameter("T", 0.1)))
    d.add("one", Constant(1.0)) >> d["taps"]
    assert len(simulate_many(d, {"parameters": {"n": [3, 3], "T": [0.1, 0.2]}}, 1.0)) == 2
    with pytest.raises(PlantloopError, match="run 1 logs other signals, or of other sizes, than run 0"):
        simulate_many(d, {"parameters": {"n": [2, 3]}}, 1.0)
    with pytest.raises(PlantloopError, match="sample time is -1"):
        simulate_many(d, {"parameters": {"T": [0.1, -1.0]}}, 1.0)


@pytest.mark.slow
def test_linear_models_margins_and_delays_follow():
    d = loop()
    model = linearize(d, ["step.y"], ["x.y"], parameters={"T": 0.25, "k": 2.0})
    assert model.dt == 0.25
    assert np.allclose(model.poles(), [1.0 - 2.0 * 0.25, 0.0][: len(model.poles())], atol=1e-12)
    for T, k in ((0.25, 2.0), (0.5, 1.0)):
        assert abs(margins(d, at="hold.y", parameters={"T": T, "k": k}).gain[1] - 2.0 / (k * T)) < 1e-6
    audit = delay_audit(d, at="hold.y", parameters={"T": 0.25})
    assert any(abs(row.seconds - 0.125) < 1e-9 for row in audit.delays)


def test_rests_over_a_grid_of_what_decides_the_structure_and_what_does_not():
    """x_k+1 = x_k + T (1 - x_k - k x_k-1) rests at 1 / (1 + k) for every T."""
    d = Diagram("rests")
    T, k = d.parameter("T", 0.1), d.parameter("k", 1.0)
    x, late = d.add("x", DiscreteIntegrator(sample=T)), d.add("late", Delay(1, sample=T))
    x >> late >> d.add("k", Gain(k))
    (1.0 - x - d["k"]) >> x
    table = trim_table(d, {"k": [1.0, 3.0], "T": [0.1, 0.2]})
    assert np.allclose(table.values("x.x"), [[0.5, 0.5], [0.25, 0.25]])


def test_an_fmu_is_built_with_its_own(tmp_path):
    d = loop()
    export_fmu(d, tmp_path / "loop.fmu", parameters={"T": 0.25, "k": 2.0}, outputs=["x.y"], step=0.05)
    outer = Diagram("outer")
    outer.add("unit", FMU(tmp_path / "loop.fmu", kind="cs", sample=0.5))
    assert abs(simulate(outer, 3.0)["unit.x.y"][-1, 0] - known(3.0, T=0.25, k=2.0)) < 1e-9


def test_what_no_run_can_change_is_refused_still():
    d = loop()
    d.parameter("idle", 1.0)
    with pytest.raises(PlantloopError, match="no block uses it"):
        simulate(d, 1.0, parameters={"idle": 2.0})
    sim = Simulation(d, parameters={"T": 0.2})
    sim.advance(1.0)
    with pytest.raises(
        PlantloopError, match=r"'T' in 'loop' cannot be set: it is structural.*before it runs"
    ):
        sim.set_parameter("T", 0.1)
    with pytest.raises(PlantloopError, match="'T' of 'loop' is 'fast', expected one like"):
        simulate(d, 1.0, parameters={"T": "fast"})


def test_a_snapshot_goes_back_into_what_was_built_alike_only():
    d = loop()
    d.connect(d["x"]["y"], d.add("kept", Gain(1.0))["u"])
    options = {"engine": "reference"}
    one, other = Simulation(d, **options), Simulation(d, parameters={"T": 0.2}, **options)
    again = Simulation(d, parameters={"T": 0.1, "k": 2.0}, **options)  # k is a number of the run
    one.advance(1.55)
    before = one.snapshot()
    with pytest.raises(PlantloopError, match="built with another 'T'"):
        other.restore(before)
    assert other.time == 0.0
    for sim in (again, one):
        sim.restore(before)
        sim.advance(2.05)
    assert again.value("x.y") == one.value("x.y")  # k = 1 is part of the snapshot
    assert one.value("x.y")[0] == pytest.approx(1.0 - 0.9**10.0 * 0.95, abs=1e-9)


def cell():
    """y' = k held(u), held every T."""
    d = Diagram("cell")
    T, k = d.parameter("T", 0.1), d.parameter("k", 2.0)
    x = d.add("x", Integrator())
    d.inport("u") >> d.add("hold", Hold(sample=T)) >> d.add("gain", Gain(k)) >> x
    d.outport("y", x["y"])
    return d


def cells():
    """Two of them, one inside a further diagram, the other enabled, behind a step at 1 s."""
    d, middle = Diagram("cells"), Diagram("middle")
    inner = middle.add("cell", cell())
    middle.inport("u") >> inner["u"]
    middle.outport("y", inner["y"])
    step = d.add("step", Step(1.0))
    step >> d.add("deep", middle)["u"]
    part = d.add("part", Enabled(cell()))
    step >> part["u"]
    d.add("one", Constant(1.0)) >> part["enable"]
    return d


def seen(t0, T, until):
    """From when on a step at t0 is seen by a hold, to the end."""
    return until - T * np.ceil(t0 / T - 1e-9)


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_what_decides_how_parts_are_built(engine):
    """Parameters of diagrams inside, two deep and in conditional parts, and bare fields of blocks."""
    given = {"deep/cell.T": 0.25, "deep/cell.k": 3.0, "part.T": 0.5, "step.time": 1.3}
    r = simulate(cells(), 3.0, parameters=given, engine=engine, log_at=[3.0])
    assert abs(r["deep.y"][-1, 0] - 3.0 * seen(1.3, 0.25, 3.0)) < 1e-12
    assert abs(r["part.y"][-1, 0] - 2.0 * seen(1.3, 0.5, 3.0)) < 1e-12
    assert r.settings["part.T"].value == 0.5


def test_parts_in_a_sweep_are_built_one_by_one():
    T, t0, k = [0.1, 0.4, 0.4], [0.35, 0.7, 1.1], [1.0, 2.0, 0.5]
    runs = simulate_many(cells(), {"parameters": {"part.T": T, "step.time": t0, "part.k": k}}, 2.0)
    wanted = [c * seen(a, b, 2.0) for a, b, c in zip(t0, T, k, strict=True)]
    assert np.abs(runs["part.y"][:, -1, 0] - wanted).max() < 1e-12


def test_fields_keep_what_follows_from_parameters():
    d = Diagram("d")
    d.add("i", DiscreteIntegrator(sample=0.1, initial=d.parameter("x0", 2.0)))
    d.add("one", Constant(1.0)) >> d["i"]
    r = simulate(d, 1.0, parameters={"i.sample": 0.5, "x0": 5.0}, log_at=[1.0])
    assert r["i.y"][-1, 0] == 5.0 + 2 * 0.5
    again = Diagram("again")
    block = Hold(sample=again.parameter("T", 0.1), order=1).with_fields(order=0)
    again.add("t", Clock()) >> again.add("h", block)
    assert block.order == 0
    assert simulate(again, 1.0, parameters={"T": 0.7})["h.y"][-1, 0] == 0.7


def test_what_parts_have_not_is_refused_by_name():
    d = cells()
    for name, match in [("part.TT", "did you mean 'part.k'"), ("step.tim", "no parameter 'step.tim'")]:
        with pytest.raises(PlantloopError, match=match):
            simulate(d, 1.0, parameters={name: 1.0})
    with pytest.raises(PlantloopError, match="time 'late' is not a number of seconds"):
        simulate(d, 1.0, parameters={"step.time": "late"})
    with pytest.raises(PlantloopError, match="sample time is -1"):
        simulate(d, 1.0, parameters={"part.T": -1.0})
    with pytest.raises(PlantloopError, match="'cells' has no 'stp.time'; did you mean 'step'"):
        d.with_parameters(**{"stp.time": 1.0}).system()
    with pytest.raises(PlantloopError, match="'middle' has no 'cell.S'"):
        d.with_parameters(**{"deep/cell.S": 1.0}).system()
    with pytest.raises(PlantloopError, match="structural"):
        simulate(d, 1.0, parameters={"part/(control).enable": False})


def test_a_snapshot_of_a_part_built_otherwise_is_refused():
    sim = Simulation(cells(), parameters={"part.T": 0.2})
    other = Simulation(cells(), parameters={"part.T": 0.4})
    with pytest.raises(PlantloopError, match="built with another 'part.T'"):
        other.restore(sim.snapshot())


@pytest.mark.slow
def test_structural_parameters_are_listed_and_every_one_of_them_may_be_given():
    part, d = loop(), Diagram("outer")
    part.outport("y", "x.y")
    T = d.parameter("T", 0.2)
    d.add("part", part) >> d.add("late", Delay(3, sample=T)) >> d.add("g", Gain(2.0))
    listed = d.info()["structural"]
    assert {"T", "late.n", "late.sample", "part.T", "part.t0", "part/hold.sample"} <= set(listed)
    assert "g.k" not in listed and "part.k" not in listed  # numbers of a run
    assert d.parameters["T"] == 0.2 and d.parameters["late.n"] == 3
    for name in listed:
        value = d.parameters[name]
        simulate(d, 0.5, parameters={name: value}, engine="reference")
    assert simulate(d, 2.0, parameters={"late.n": 1}, engine="reference")["g.y"][-1, 0] > 0.0
    assert (
        list(d.parameters)[-len(listed) :] == listed and d.info()["parameters"].keys() == d.parameters.keys()
    )
