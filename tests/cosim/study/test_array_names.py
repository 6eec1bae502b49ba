"""Signals are stored and found again whatever they are called."""

import numpy as np
import pytest
import zarr

from blocks import Constant, Gain
from cosim import Diagram, Study, open_study
from cosim.study.array_names import array_names


def test_a_slash_becomes_a_stroke():
    assert array_names(["a/b.y", "c.y"]) == {"a/b.y": "a|b.y", "c.y": "c.y"}


@pytest.mark.parametrize(
    "signals",
    [
        ["a|b.y", "a/b.y", "a\\b.y"], ["A.y", "a.y"], ["é.y", "e\u0301.y"],
        ["x" * 300 + ".y", "x" * 300 + ".z"],
        ["日" * 100 + ".y", "日" * 90 + ".y"], ["time", "Case"],
    ],
    ids=["separators", "capitals", "accents", "long", "long in bytes", "coordinates"],
)  # fmt: skip
def test_no_two_have_one_file(signals):
    found = array_names(signals)
    assert list(found) == signals
    assert len({name.casefold() for name in found.values()} - {"time", "case"}) == len(signals)
    assert all(len(name.encode()) < 255 and not set(name) & set("/\\") for name in found.values())
    assert array_names(signals[:1]) == {signals[0]: found[signals[0]]}


@pytest.mark.slow
def test_strange_names_of_blocks(tmp_path):
    """One was said to be damaged, one too long for a file, and two were one array."""
    d, part = Diagram("d"), Diagram("part")
    part.add("b", Constant(1.0))
    part.add("twice", Gain(2.0))
    part.connect("b.y -> twice.u")
    d.add("a", part)
    d.add("a|b", Constant([2.0, 2.5]))
    names = ["a\\b", "A|b", "x" * 300, "x" * 301]
    for k, name in enumerate(names):
        d.add(name, Constant(3.0 + k))
    Study(d, until=1.0, log_every=0.5, sweep={"a/b.value": [1.0, 10.0]}).run(tmp_path / "out")
    found = open_study(tmp_path / "out").signals
    assert (found["a/b.y"] == [[1.0], [10.0]]).all() and (found["a/twice.y"] == [[2.0], [20.0]]).all()
    assert (found["a|b.y"] == [2.0, 2.5]).all()
    for k, name in enumerate(names):
        assert (found[f"{name}.y"] == 3.0 + k).all()
    group = zarr.open_group(tmp_path / "out" / "signals.zarr", mode="r")
    signals = {one.attrs["signal"]: np.asarray(one) for _, one in group.arrays() if "signal" in one.attrs}
    assert set(signals) == {"a/b.y", "a/twice.y", "a|b.y", *(f"{name}.y" for name in names)}
    assert (signals["A|b.y"] == 4.0).all()
