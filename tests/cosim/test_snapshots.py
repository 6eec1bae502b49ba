"""Snapshots (semantics, section 6): every kind of state in play, in memory, on disk, in another process."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from blocks import Constant, Gain, Integrator, PlantloopError
from cosim import Simulation
from tests.helpers.everything import Counter, digest, everything, simulation
from tests.helpers.made import chain

SOLVERS = ["dopri5", "rk4", "Radau"]
ROOT = Path(__file__).parents[2]


def test_every_kind_of_state_is_in_play():
    system = everything().system(solve_loops=True)
    kinds = {slot.kind for slots in (system.states, system.held, system.solved) for slot in slots.values()}
    every = "continuous discrete sampled external mode branch accepted algebraic delayed random instants tick"
    assert kinds == set(every.split())
    assert system.invariants.numel() and any(
        name.startswith("gain") or "sum" in name for name in system.loops
    )


@pytest.mark.parametrize("solver", SOLVERS)
def test_restore_goes_back_bit_for_bit(solver):
    sim = simulation(solver)
    sim.advance(0.777)
    before = sim.snapshot()
    sim.advance(1.1)
    first = sim.snapshot()
    sim.restore(before)
    assert sim.snapshot().same(before)
    sim.advance(1.1)
    assert sim.snapshot().same(first) and digest(sim.snapshot()) == digest(first)
    assert before.t == 0.777  # the snapshot itself has not moved


@pytest.mark.parametrize("solver", ["dopri5", "rk4"])  # Radau's last bits depend on the BLAS's threads
def test_a_saved_run_goes_on_in_another_process_bit_for_bit(solver, tmp_path):
    sim, file = simulation(solver), tmp_path / "half.npz"
    sim.advance(0.777)
    sim.save(file)
    sim.advance(1.1)
    command = [sys.executable, "-m", "tests.helpers.everything", str(file), "1.1", solver]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == digest(sim.snapshot())


def test_at_a_tick_it_also_equals_the_straight_run():
    """Where T is a tick and no solver memory straddles it: fixed steps."""
    one, other = simulation("rk4"), simulation("rk4")
    one.advance(0.5)
    one.advance(1.0)
    other.advance(1.0)
    assert one.snapshot().x.tobytes() == other.snapshot().x.tobytes()


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


def test_opaque_memory_travels_with_the_snapshot():
    sim = simulation()
    sim.advance(0.55)
    counter = next(s.external.owner for s in sim.system.schedule if s.external is not None)
    assert isinstance(counter, Counter) and counter.calls == 6
    before = sim.snapshot()
    sim.advance(1.0)
    assert counter.calls == 11
    sim.restore(before)
    assert counter.calls == 6
