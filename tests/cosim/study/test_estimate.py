"""What a study will take before it runs: which cases are tried, and numbers of bytes in words."""

import os
from types import SimpleNamespace

import numpy as np
import pytest

from blocks import Constant, PlantloopError, PythonFunction
from cosim import Diagram, Study
from cosim.study import estimate
from cosim.study.estimate import NUMBER, ROW, estimated, in_units, seconds_of_a_case


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (0, "0 B"), (999, "999 B"), (1000, "1 kB"), (1234, "1.23 kB"), (5e6, "5 MB"), (7.25e9, "7.25 GB"),
        (999e9, "999 GB"), (1e12, "1 TB"), (2.5e15, "2.5e+03 TB"),
    ],
)  # fmt: skip
def test_bytes_in_words(size, words):
    assert in_units(size) == words


@pytest.mark.parametrize(
    ("sample", "tried"),
    [
        (1, [100]),
        (2, [100, 110]),
        (3, [100, 105, 110]),
        (11, range(100, 111)),
        (50, range(100, 111)),
        (0, [100]),
    ],
)
def test_cases_are_tried_evenly_spread(monkeypatch, sample, tried):
    ran, variant = [], np.arange(200) % 2
    runner = SimpleNamespace(run=lambda cases: ran.append(list(cases)), close=lambda: ran.append("closed"))
    monkeypatch.setattr(estimate, "Runner", lambda plan: runner)
    plan = SimpleNamespace(
        cases=type("Cases", (), {"variant": variant, "__len__": lambda self: 200})(),
        measures=SimpleNamespace(columns=["m"]),
        python=False,
    )
    manifest = SimpleNamespace(
        parameters=["p", "q"], stored={"a": (3, []), "b": (1, [])}, times=[0.0] * 10, dtype="float32"
    )
    found = estimated(plan, manifest, sample, np.arange(100, 111))
    first, second, closed = ran
    assert second == list(tried) and closed == "closed"
    assert sorted(variant[first]) == sorted(set(variant[second]))  # one of each variant, to compile it
    assert (found.cases, found.signals, found.table) == (11, 11 * 10 * 4 * 4, 11 * (ROW + NUMBER * 5))
    assert found.seconds >= 0.0 and found.chunk >= 1


def test_python_that_ends_its_process_ends_no_estimate():
    """It ended the program, without a word."""
    d = Diagram("python")
    d.add("f", PythonFunction(lambda t, u: os._exit(3) if u[0] > 2.5 else 2 * u, 1, sample=0.1))
    d.add("u", Constant(1.0))
    d.connect("u.y", "f.u")
    study = Study(d, until=0.3, sweep={"u.value": [3.0, 2.0, 1.0]})
    with pytest.raises(PlantloopError, match="a case that was tried ended its process.*exit code 3"):
        study.estimate()
    assert study.estimate(cases=[1, 2]).seconds > 0.0
    assert seconds_of_a_case(study.plan) == 1.0
