"""Packets and shared memory on this machine, beside what a plain socket and a plain map see."""

import mmap
import socket
import struct

import numpy as np
import pytest
from typer.testing import CliRunner

from blocks import (
    BlockError,
    Gain,
    PlantloopError,
    Sine,
)
from cosim import Diagram, Simulation, Study, simulate, simulate_many
from cosim.cli.cli import app
from cosim.hardware_in_loop import SharedMemoryRead, SharedMemoryWrite, UDPReceive, UDPSend
from cosim.study.work import snapshot_before_failure

TICK = 0.01  # s


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def sending(block):
    d = Diagram("sends")
    d.add("sine", Sine(frequency=7.0))
    d.add("out", block)
    d.connect("sine.y", "out.u")
    return d


def receiving(block):
    d = Diagram("receives")
    d.add("into", block)
    d.add("twice", Gain(2.0))
    d.connect("into.y", "twice.u")
    return d


@pytest.mark.parametrize("engine", ["auto", "reference"])
def test_a_packet_per_tick(engine):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.1", 0))
        s.settimeout(10)
        d = sending(UDPSend(s.getsockname()[1], sample=TICK))
        r = simulate(d, 0.1, log_every=TICK, engine=engine)
        packets = [struct.unpack("<2d", s.recv(1000)) for _ in range(11)]
    assert [p[0] for p in packets] == list(r.time)
    assert [p[1] for p in packets] == list(r["sine.y"][:, 0])
    assert list(r["out.sent"][:, 0]) == list(range(1, 12))


@pytest.mark.parametrize("engine", ["auto", "reference"])
def test_the_newest_packet_is_read(engine):
    port = free_port()
    d = receiving(UDPReceive(port, 2, sample=TICK, initial=[1.0, -1.0]))
    with Simulation(d, engine=engine) as sim, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        send = lambda *values: s.sendto(struct.pack(f"<{len(values)}d", *values), ("127.0.0.1", port))
        sim.advance(0.005)
        assert list(sim.value("into.y")) == [1.0, -1.0]
        for k in range(5):
            send(0.0, float(k), 10.0)
        sim.advance(0.015)
        assert list(sim.value("twice.y")) == [8.0, 20.0]
        assert sim.value("into.received")[0] == 5
        kept = sim.snapshot()
        send(0.0, 1.0)  # too short
        send(0.0, np.nan, 1.0)
        s.sendto(b"hello", ("127.0.0.1", port))
        sim.advance(0.025)
        assert list(sim.value("into.y")) == [4.0, 10.0]
        assert (sim.value("into.received")[0], sim.value("into.refused")[0]) == (5, 3)
        sim.restore(kept)
        sim.advance(0.025)  # what came is gone; what was received is as it was
        assert (sim.value("into.received")[0], sim.value("into.refused")[0]) == (5, 0)


def test_two_programs_in_lockstep_are_one():
    """A sends u_k, B sends 2 u_k back half a tick later: as in one diagram."""
    there, back = free_port(), free_port()
    a = sending(UDPSend(there, sample=TICK))
    a.add("answer", UDPReceive(back, sample=TICK, offset=TICK / 2))
    b = receiving(UDPReceive(there, sample=TICK, offset=TICK / 4, wait=10.0))
    b.add("out", UDPSend(back, sample=TICK, offset=TICK / 4))
    b.connect("twice.y", "out.u")
    with Simulation(a) as one, Simulation(b) as other:
        seen = []
        for k in range(20):
            one.advance(k * TICK + TICK / 4)
            other.advance(k * TICK + TICK / 4)
            one.advance(k * TICK + TICK / 2)
            seen.append(one.value("answer.y")[0])
    whole = Diagram("whole")
    whole.add("sine", Sine(frequency=7.0))
    whole.add("twice", Gain(2.0))
    whole.connect("sine.y", "twice.u")
    r = simulate(whole, 19 * TICK, log_every=TICK)
    assert seen == list(r["twice.y"][:, 0])


def test_a_tick_waits_for_a_packet_no_longer_than_it_may():
    d = receiving(UDPReceive(free_port(), sample=TICK, wait=0.001))
    assert simulate(d, 0.05, log_every=TICK)["into.received"][-1, 0] == 0


def test_a_port_that_is_taken():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
        with pytest.raises(PlantloopError, match=f"cannot listen at 127.0.0.1:{port}"):
            simulate(receiving(UDPReceive(port, sample=TICK)), 0.1)


@pytest.mark.parametrize("engine", ["auto", "reference"])
def test_shared_memory(engine, tmp_path):
    file = tmp_path / "plant"
    writes, reads = (
        sending(SharedMemoryWrite(str(file), sample=TICK)),
        receiving(SharedMemoryRead(str(file), sample=TICK, offset=TICK / 4, initial=5.0)),
    )
    with Simulation(reads, engine=engine) as other:
        other.advance(0.005)
        assert other.value("into.y")[0] == 5.0  # nobody writes yet
        with Simulation(writes, engine=engine) as one:
            for k in range(1, 11):
                one.advance(k * TICK)
                other.advance(k * TICK + TICK / 4)
                assert other.value("into.y")[0] == one.value("sine.y")[0]
                assert other.value("into.received")[0] == one.value("out.written")[0] == k + 1
            with file.open("rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as m:
                assert m[:8] == b"plantlp1"
                assert struct.unpack("<2Q2d", m[8:40]) == (1, 22, 0.1, one.value("sine.y")[0])
        assert not file.exists()
        other.advance(0.2)
        assert other.value("into.received")[0] == 11
    assert list(tmp_path.iterdir()) == []


def test_files_of_others_are_not_touched(tmp_path):
    letter = tmp_path / "letter"
    letter.write_text("mine, and long enough to be something else than shared memory")
    before = letter.read_bytes()
    for d in (
        sending(SharedMemoryWrite(str(letter), sample=TICK)),
        receiving(SharedMemoryRead(str(letter), sample=TICK)),
    ):
        with pytest.raises(PlantloopError, match="is no shared memory of 1 values"):
            simulate(d, 0.1)
    assert letter.read_bytes() == before
    with pytest.raises(PlantloopError, match="cannot make"):
        simulate(sending(SharedMemoryWrite(str(tmp_path / "no" / "folder"), sample=TICK)), 0.1)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: UDPSend(0, sample=TICK), "port"),
        (
            lambda: UDPSend(70000, sample=TICK),
            "port is 70000, expected an integer of at least 1 and at most 65535",
        ),
        (lambda: UDPReceive(5000, 9000, sample=TICK), "size is 9000"),
        (lambda: UDPReceive(5000, 2, sample=TICK, initial=[1.0] * 3), "initial has 3 components"),
        (lambda: UDPReceive(5000, sample=TICK, wait=-1.0), "wait is -1"),
        (lambda: UDPSend(5000, sample=TICK, address=""), "address"),
        (lambda: SharedMemoryWrite(7, sample=TICK), "file"),
    ],
)
def test_mistakes(make, says):
    with pytest.raises(BlockError) as error:
        make()
    assert says in str(error.value)


def test_a_scenario_reaches_out_only_when_it_is_trusted(tmp_path):
    path = tmp_path / "hil.toml"
    port = free_port()
    path.write_text(
        f'[blocks.into]\ntype = "UDPReceive"\nport = {port}\nsample = 0.01\n'
        '[blocks.k]\ntype = "Gain"\nk = 2.0\n[wiring]\nconnect = ["into.y -> k.u"]\n[run]\nuntil = 0.05\n'
    )
    call = lambda *words: CliRunner().invoke(app, ["run", str(path), "--out", str(tmp_path / "out"), *words])
    shown = call()
    assert shown.exit_code == 1
    assert "exchanges packets over the network" in shown.output
    assert "--trust" in shown.output
    shown = call("--trust", "--pace", "5")
    assert shown.exit_code == 0, shown.output
    assert "overruns" in shown.output


def test_runs_one_after_the_other_listen_at_one_port(tmp_path):
    """The engine of a batch keeps no port for itself while its runs listen there."""
    d = receiving(UDPReceive(free_port(), sample=TICK, initial=7.0))
    runs = simulate_many(d, 2, 0.03, engine="reference", threads=1)
    assert not runs.errors
    study = Study(
        d, until=0.03, sweep={"twice.k": [1.0, 2.0]}, metrics={"end": "final(twice.y)"}, engine="reference"
    )
    assert list(study.run(tmp_path / "out", executor="threads", workers=1).table["end"]) == [7.0, 14.0]
    assert list(study.run(tmp_path / "one", executor="threads").table["end"]) == [7.0, 14.0]
    for more in ({"workers": 2}, {"scheduler": "tcp://127.0.0.1:1"}):
        with pytest.raises(PlantloopError, match="'into' listens at a port, which one run at a time can.*=1"):
            study.run(tmp_path / "two", **more)
    assert not (tmp_path / "two").exists()


def test_a_case_that_cannot_begin_is_a_row(tmp_path):
    """Also where what it needs is gone when its last steps are looked for."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.1", 0))
        d = receiving(UDPReceive(s.getsockname()[1], sample=TICK))
        study = Study(d, until=0.03, sweep={"twice.k": [1.0]}, engine="reference")
        assert snapshot_before_failure(study.plan, 0) is None
