"""Snapshots: every kind of state in play, in memory, on disk, in another process."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from blocks import Constant, Gain, Hold, Integrator, PlantloopError
from blocks.contract.event_memories import LoopRounds
from blocks.contract.memories import Memory
from blocks.contract.unit_memories import DeliveredOutput, VisitedOutput
from cosim import Simulation
from cosim.run.snapshot_check import faults
from cosim.slots import LoopSlot, MemorySlot, TickSlot
from tests.helpers.everything import Counter, digest, everything, simulation
from tests.helpers.made import chain
from tests.helpers.runs import build

KINDS = [("dopri5", "reference"), ("rk4", "reference"), ("Radau", "reference")]
KINDS += [("dopri5", "auto"), ("rk4", "auto"), ("rodas4", "auto")]  # native: no solver of SciPy's among them
ROOT = Path(__file__).parents[3]


def kinds_of(base):
    """The subclasses that have no subclasses themselves."""
    below = base.__subclasses__()
    return {kind for cls in below for kind in kinds_of(cls)} if below else {base}


def test_every_kind_of_state_is_in_play():
    system = everything().system(solve_loops=True)
    slots = [slot for places in (system.states, system.held, system.solved) for slot in places.values()]
    stored = {kind for kind in kinds_of(Memory) if kind.vector}  # a slope is none
    stored -= {DeliveredOutput, VisitedOutput}  # a co-simulation master writes them: tests/cosim/fmi/coupling
    stored -= {LoopRounds}  # of FMUs in loops: tests/cosim/fmi/test_event_loops.py
    assert stored <= {type(slot.memory) for slot in slots if isinstance(slot, MemorySlot)}
    assert {type(slot) for slot in slots} == {MemorySlot, TickSlot, LoopSlot}
    cut = [sought.name for sought in system.loops if not sought.equation]
    assert system.invariants.numel() and any(name.startswith("gain") or "sum" in name for name in cut)


def test_auto_is_native_though_a_block_is_opaque():
    assert simulation(engine="auto").result().settings["engine"].value == "native"


@pytest.mark.slow
@pytest.mark.parametrize(("solver", "engine"), KINDS)
def test_restore_goes_back_bit_for_bit(solver, engine):
    sim = simulation(solver, engine)
    sim.advance(0.777)
    before = sim.snapshot()
    sim.advance(1.1)
    first = sim.snapshot()
    sim.restore(before)
    assert sim.snapshot().same(before)
    sim.advance(1.1)
    assert sim.snapshot().same(first) and digest(sim.snapshot()) == digest(first)
    assert before.t == 0.777  # the snapshot itself has not moved


@pytest.mark.slow
def test_saved_runs_go_on_in_another_process_bit_for_bit(tmp_path):
    runs, expected = [], []
    for solver, engine in KINDS:
        if solver == "Radau":  # its last bits depend on the BLAS's threads
            continue
        sim, file = simulation(solver, engine), tmp_path / f"{len(runs)}.npz"
        sim.advance(0.777)
        sim.save(file)
        sim.advance(1.1)
        runs += [str(file), solver, engine]
        expected.append(digest(sim.snapshot()))
    command = [sys.executable, "-m", "tests.helpers.everything", "1.1", *runs]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == expected


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["dopri5", "rk4"])
def test_a_run_saved_by_one_engine_goes_on_in_the_other(solver, tmp_path):
    """One after the other, then the other way round: each time the same bits as one engine alone."""
    ends = []
    for first, second in (("auto", "reference"), ("reference", "auto")):
        sim, file = simulation(solver, first), tmp_path / f"{first}.npz"
        sim.advance(0.777)
        sim.save(file)
        other = simulation(solver, second)
        other.load(file)
        assert other.snapshot().same(sim.snapshot())
        other.advance(1.1)
        ends.append(other.snapshot())
    if solver == "rk4":
        assert ends[0].same(ends[1])
    assert ends[0].x == pytest.approx(ends[1].x, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["reference", "auto"])
def test_at_a_tick_it_also_equals_the_straight_run(engine):
    """Where T is a tick and no solver memory straddles it: fixed steps."""
    one, other = simulation("rk4", engine), simulation("rk4", engine)
    one.advance(0.5)
    one.advance(1.0)
    other.advance(1.0)
    assert one.snapshot().x.tobytes() == other.snapshot().x.tobytes()


@pytest.mark.slow
def test_only_numbers_are_in_the_file_and_it_appears_whole(tmp_path, monkeypatch):
    sim, file = simulation(), tmp_path / "run.npz"
    sim.advance(0.3)
    sim.save(file)
    with np.load(file, allow_pickle=False) as content:
        assert all(content[name].dtype.kind in "fui" for name in content.files)
    old = file.read_bytes()

    def broken(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", broken)
    sim.advance(0.5)
    with pytest.raises(OSError, match="disk full"):
        sim.save(file)
    assert file.read_bytes() == old and [p.name for p in tmp_path.iterdir()] == ["run.npz"]


def test_another_diagram_s_snapshot_is_refused(tmp_path):
    file = tmp_path / "a.npz"
    Simulation(chain(Constant(1.0), Integrator()), engine="reference").save(file)
    other = Simulation(chain(Constant(1.0), Gain(2.0), Integrator()), engine="reference")
    with pytest.raises(PlantloopError, match=r"snapshot of 'chain' .* not this 'chain'.*same blocks"):
        other.load(file)
    same = Simulation(chain(Constant(5.0), Integrator(3.0)), engine="reference")  # other numbers only
    same.load(file)
    assert same.value("b2.y") == 0.0 and same.value("b1.y") == 1.0


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04 truncated"])
def test_a_damaged_file_is_refused(content, tmp_path):
    file = tmp_path / "bad.npz"
    file.write_bytes(content)
    sim = Simulation(chain(Constant(1.0), Integrator()), engine="reference")
    with pytest.raises(PlantloopError, match="no snapshot of plantloop, or a damaged one"):
        sim.load(file)
    with pytest.raises(PlantloopError, match="no snapshot '"):
        sim.load(tmp_path / "missing.npz")
    with pytest.raises(PlantloopError, match="no such folder"):
        sim.save(tmp_path / "no" / "where.npz")


def test_a_file_of_more_than_4_gb_is_not_read(tmp_path):
    """A file of zeros that takes no room on the disk."""
    with open(tmp_path / "large.npz", "wb") as file:
        file.truncate(2**32 + 1)
    sim = Simulation(chain(Constant(1.0), Integrator()), engine="reference")
    with pytest.raises(PlantloopError, match="larger than 4096 MB"):
        sim.load(tmp_path / "large.npz")


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["reference", "auto"])
def test_opaque_memory_travels_with_the_snapshot(engine):
    sim = simulation(engine=engine)
    calls = lambda: Counter.count_in(*sim.snapshot().opaque.values())
    sim.advance(0.55)
    before = sim.snapshot()
    assert calls() == 6
    sim.advance(1.0)
    assert calls() == 11
    sim.restore(before)
    assert calls() == 6


def test_a_time_beyond_what_ticks_can_count_is_a_fault():
    """Times are multiples of 1/grid, counted in 63 bits: at a grid of 10 / s up to 2^62 / 10 s."""
    system = build("c.y>h.u", c=Constant(1.0), h=Hold(sample=0.1)).system()
    context = Simulation(system, engine="reference").snapshot()
    for t, wrong in ((2.0**62 / 10 * 0.999, False), (2.0**62 / 10, True), (2.0**62, True), (-0.1, True)):
        context.t = t
        assert any(text.startswith("its time") for text in faults(context, system, ())) == wrong
