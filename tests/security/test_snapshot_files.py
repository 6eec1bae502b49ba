"""A snapshot file is compared with the system in full before machine code sees a byte of it."""

import json
import os
import pickle
import struct
import warnings
import zipfile

import numpy as np
import pytest

from blocks import Constant, Hold, Integrator, PlantloopError
from cosim import Simulation
from tests.helpers.everything import simulation
from tests.helpers.made import chain

ENGINES = ["auto", "reference"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Bytes of a snapshot with every kind of state in it, taken between two ticks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sim = simulation("dopri5", "auto")
        sim.advance(0.777)
        path = tmp_path_factory.mktemp("saved") / "all.npz"
        sim.save(path)
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


@pytest.fixture(scope="module", params=ENGINES)
def running(request):
    """A run that stands elsewhere, and may not move when a file is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sim = simulation("dopri5", request.param)
        sim.advance(0.1)
    return sim


def forged(saved, changes, facts):
    """The arrays of a snapshot with some changed; None takes one out."""
    arrays = {**saved, **changes}
    said = json.loads(arrays.pop("facts").tobytes())
    for name, value in facts.items():
        said[name] = value(said[name]) if callable(value) else value
    arrays["facts"] = np.frombuffer(json.dumps(said).encode(), dtype=np.uint8)
    return {name: value for name, value in arrays.items() if value is not None}


def refused(sim, path, match="is no snapshot of plantloop, or a damaged one"):
    before = sim.snapshot()
    with pytest.raises(PlantloopError, match=match) as caught:
        sim.load(path)
    assert sim.snapshot().same(before)
    return str(caught.value)


def longer(v):
    return np.append(v, 0.0)


VECTORS = ["x", "h", "w", "p", "next", "signs", "solution"]
CHANGES = {
    **{f"{name} longer": {name: longer} for name in VECTORS},
    **{f"{name} shorter": {name: lambda v: v[:-1]} for name in VECTORS},
    **{f"{name} empty": {name: lambda v: v[:0]} for name in VECTORS},
    **{f"{name} of single numbers": {name: lambda v: v.astype(np.float32)} for name in VECTORS},
    **{f"{name} of texts": {name: lambda v: v.astype("U8")} for name in VECTORS},
    **{f"{name} in columns": {name: lambda v: v[:, None]} for name in VECTORS},
    "no x": {"x": lambda v: None},
    "nan in x": {"x": lambda v: v * np.nan},
    "inf in x": {"x": lambda v: v + np.inf},
    "nan in p": {"p": lambda v: v * np.nan},
    "signs of 7": {"signs": lambda v: v + 7},
    "nan as time": {"numbers": lambda v: np.array([np.nan, *v[1:]])},
    "negative time": {"numbers": lambda v: np.array([-1.0, *v[1:]])},
    "late time": {"numbers": lambda v: np.array([1e300, *v[1:]])},
    "other time": {"numbers": lambda v: np.array([0.2, *v[1:]])},
    "negative step": {"numbers": lambda v: np.array([v[0], -1.0, v[2]])},
    "infinite step": {"numbers": lambda v: np.array([v[0], np.inf, v[2]])},
    "no error": {"numbers": lambda v: np.array([v[0], v[1], 0.0])},
    "two numbers": {"numbers": lambda v: v[:2]},
    "stops backwards": {"stops": lambda v: np.array([3.0, 2.0])},
    "stops twice": {"stops": lambda v: np.array([3.0, 3.0])},
    "stops nan": {"stops": lambda v: np.array([np.nan])},
    "stops in a table": {"stops": lambda v: np.zeros((2, 2))},
    "history of width 0": {
        "history0 initial": lambda v: v[:0], "history0 values": lambda v: v[:, :, :0]
    },
    "history too wide": {
        "history0 initial": lambda v: np.zeros(3), "history0 values": lambda v: np.zeros((len(v), 5, 3))
    },
    "history of one piece less": {"history0 times": lambda v: v[:, :-1]},
    "history of one value less": {"history0 values": lambda v: v[:-1]},
    "history of 4 points": {"history0 values": lambda v: v[:, :4]},
    "history backwards": {"history0 times": lambda v: v[:, ::-1]},
    "history of no length": {"history0 times": lambda v: np.array([v[0], v[0]])},
    "history of nan": {"history0 times": lambda v: v * np.nan},
    "history in the future": {"history0 times": lambda v: v + 1e6},
    "history of one row of times": {"history0 times": lambda v: v[0]},
    "no history": {"history0 values": lambda v: None},
}  # fmt: skip
FACTS = {
    "instants of -1e9": {"instants": lambda v: dict.fromkeys(v, -(10**9))},
    "instants of -3": {"instants": lambda v: dict.fromkeys(v, -3)},
    "instants of 1e9": {"instants": lambda v: dict.fromkeys(v, 10**9)},
    "instants of 1e400": {"instants": lambda v: dict.fromkeys(v, 10**400)},
    "instants of 0": {"instants": lambda v: dict.fromkeys(v, 0)},
    "instants of texts": {"instants": lambda v: dict.fromkeys(v, "1")},
    "instants of others": {"instants": {"nobody": 1}},
    "instants in a list": {"instants": [1]},
    "ticks of -1": {"ticks": lambda v: [-1 for _ in v]},
    "ticks of 0": {"ticks": lambda v: [0 for _ in v]},
    "ticks of 2**62": {"ticks": lambda v: [2**62 for _ in v]},
    "ticks of 1e6": {"ticks": lambda v: [10**6 for _ in v]},
    "ticks of halves": {"ticks": lambda v: [n + 0.5 for n in v]},
    "ticks of flags": {"ticks": lambda v: [True for _ in v]},
    "one tick more": {"ticks": lambda v: [*v, 1]},
    "no ticks": {"ticks": []},
    "ticks null": {"ticks": None},
    "histories of others": {"histories": ["nobody"]},
    "histories none": {"histories": []},
    "histories twice": {"histories": lambda v: [*v, *v]},
    "a block that is not there": {"opaque": lambda v: [*v[:-1], "nobody"]},
    "stopped by nobody": {"stopped": "because"},
    "stopped by a list": {"stopped": ["a"]},
    "started perhaps": {"started": "yes"},
    "format 2": {"format": "plantloop snapshot 2"},
}  # fmt: skip


@pytest.mark.parametrize("case", CHANGES)
def test_changed_arrays_are_refused(saved, running, tmp_path, case):
    changes = {name: change(saved[name]) for name, change in CHANGES[case].items()}
    np.savez(tmp_path / "s.npz", **forged(saved, changes, {}))
    refused(running, tmp_path / "s.npz")


@pytest.mark.parametrize("case", FACTS)
def test_changed_facts_are_refused(saved, running, tmp_path, case):
    np.savez(tmp_path / "s.npz", **forged(saved, {}, FACTS[case]))
    refused(running, tmp_path / "s.npz")


def test_the_file_itself_is_taken(saved, running, tmp_path):
    """So that the tests above cannot pass for another reason; and the run goes on from it."""
    before = running.snapshot()
    np.savez(tmp_path / "s.npz", **forged(saved, {}, {}))
    running.load(tmp_path / "s.npz")
    assert running.time == 0.777
    running.advance(0.9)
    running.restore(before)


def test_what_a_block_cannot_put_back_leaves_the_run_where_it_was(saved, running, tmp_path):
    changes = {name: np.frombuffer(b"nonsense!", np.uint8) for name in saved if name.startswith("opaque")}
    assert changes
    np.savez(tmp_path / "s.npz", **forged(saved, changes, {}))
    refused(running, tmp_path / "s.npz", "cannot be put back")


class Runs:
    def __reduce__(self):
        return os.mkdir, ("ran",)


def zipped(path, members, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, content in members:
            file.writestr(name, content)


def npy(header, content=b""):
    text = header.encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + content


def damaged_files(tmp_path, saved):
    """(what, path) of files that are no snapshots."""
    whole = tmp_path / "whole.npz"
    np.savez(whole, **saved)
    data = whole.read_bytes()
    yield "empty", b""
    yield "text", b"hello"
    yield "a pickle", pickle.dumps(Runs())
    for part in (10, 100, len(data) // 2, len(data) - 10):
        yield f"cut at {part}", data[:part]
    for k in range(0, len(data), max(1, len(data) // 60)):
        yield f"zeros at {k}", data[:k] + bytes(8) + data[k + 8 :]
    bad = {
        "huge": npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000,)}\n"),
        "negative": npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}\n"),
        "objects": npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}\n", pickle.dumps(Runs())),
        "code": npy("{'descr': __import__('os').mkdir('ran'), 'fortran_order': False, 'shape': (1,)}\n"),
        "deep": npy("(" * 5000 + ")" * 5000 + "\n"),
        "no header": b"\x93NUMPY\x01\x00",
        "zero size": npy("{'descr': '<V0', 'fortran_order': False, 'shape': (10,)}\n"),
    }
    for what, content in bad.items():
        yield what, [("x.npy", content)]
    yield "deep facts", [("facts.npy", _npy_of(b"[" * 100_000))]
    yield "long number", [("facts.npy", _npy_of(b'{"format": ' + b"9" * 10_000 + b"}"))]
    yield "a list of facts", [("facts.npy", _npy_of(b"[1]"))]
    yield "twice", [("facts.npy", _npy_of(b"{}")), ("facts.npy", _npy_of(b"{}"))]


def _npy_of(text):
    return npy(f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({len(text)},)}}\n", text)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_damaged_files_are_refused(saved, running, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path, before = tmp_path / "s.npz", running.snapshot()
    for what, content in damaged_files(tmp_path, saved):
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            zipped(path, content)
        try:
            running.load(path)  # zeros may fall where nothing is lost
        except PlantloopError:
            pass
        else:
            assert what.startswith("zeros at"), what
            running.restore(before)
        assert running.snapshot().same(before), what
    assert not (tmp_path / "ran").exists()


def test_a_file_that_grows_when_it_is_read_is_refused(saved, running, tmp_path):
    zeros = np.zeros(10**7, np.uint8).tobytes()
    zipped(tmp_path / "s.npz", [("x.npy", _npy_of(zeros))], zipfile.ZIP_DEFLATED)
    assert (tmp_path / "s.npz").stat().st_size < 50_000
    refused(running, tmp_path / "s.npz", "compressed")


@pytest.mark.timeout(120)
def test_a_pipe_is_no_snapshot(running, tmp_path):
    os.mkfifo(tmp_path / "s.npz")
    refused(running, tmp_path / "s.npz", "pipe or a device")


def test_a_context_of_another_diagram_is_refused():
    """Also one that has as many states."""
    one = Simulation(chain(Constant(1.0), Integrator()), engine="reference")
    sim = simulation("dopri5", "reference")
    with pytest.raises(PlantloopError, match="taken of another diagram: 'x' has the shape"):
        sim.restore(one.snapshot())
    context = sim.snapshot()
    context.histories.clear()
    with pytest.raises(PlantloopError, match="taken of another diagram: 'histories' are of other delays"):
        sim.restore(context)


def test_counts_below_zero_are_refused_before_a_run_has_begun_too():
    """At t = 0 no tick is early yet."""
    sim = Simulation(chain(Constant(1.0), Hold(sample=0.25)), engine="reference")
    context = sim.snapshot()
    sim.restore(context)
    context.ticks = [-1 for _ in context.ticks]
    with pytest.raises(PlantloopError, match="'ticks' has something else than counts"):
        sim.restore(context)
