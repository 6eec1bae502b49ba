"""Numbers that decide how a model is built may be swept and drawn: a build for every combination."""

from functools import partial

import numpy as np
import pytest

from blocks import DiscretePID, LookupTable1D, PythonFunction, Step, Sum, TransferFunction
from blocks.errors import PlantloopError
from cosim import Diagram, Study, simulate
from cosim.hardware_in_loop import SharedMemoryWrite
from cosim.study.model_fingerprint import as_texts
from tests.cosim.study.test_study_runs import same

REFERENCE = {"engine": "reference", "solver": "rk4", "step": 0.01}


def sampled_loop():
    d = Diagram("loop")
    d.add("step", Step(time=0.2))
    d.add("sum", Sum("+-"))
    d.add("pid", DiscretePID(kp=2.0, ki=1.0, sample=d.parameter("T", 0.1)))
    d.add("lag", TransferFunction([1.0], [0.3, 1.0]))
    for wire in ("step.y -> sum.in1", "lag.y -> sum.in2", "sum.y -> pid.e", "pid.u -> lag.u"):
        d.connect(*wire.split(" -> "))
    return d


@pytest.mark.slow
def test_cases_are_the_runs_made_by_hand(tmp_path):
    """A sample time, an instant and a gain; each case as `simulate` gives it, whatever ran before it."""
    d = sampled_loop()
    sweep = {"T": [0.1, 0.05], "step.time": [0.2, 0.7], "pid.kp": [1.0, 3.0]}
    study = Study(
        d, until=1.0, sweep=sweep, metrics={"peak": "max(lag.y)"}, log_every=0.05, **REFERENCE,
        requirements=[{"name": "late", "always": "lag.y < 1e-9", "before": 0.5}],
    )  # fmt: skip
    assert len(study.plan.bases) == 4
    s = study.run(tmp_path / "out", executor="processes", workers=2)
    table = s.table
    assert list(table["late"]) == list(table["step.time"] > 0.5)
    assert "variant" not in table
    for k in (1, 4, 6):
        row = table.loc[k]
        numbers = {name: row[name] for name in sweep}
        own = simulate(d, 1.0, parameters=numbers, log_every=0.05, **REFERENCE)
        assert np.array_equal(own["lag.y"][:, 0], s.signals["lag.y"][k])
        assert np.array_equal(own["lag.y"], s.case(k).result["lag.y"])
    backwards = study.run(tmp_path / "back", only=[7, 6, 5, 4, 3, 2, 1, 0], executor="threads", workers=1)
    same(backwards.table, table)


@pytest.mark.slow
def test_drawn_and_with_variants(tmp_path):
    d = sampled_loop()
    drawn = {
        "step.time": {"distribution": "randint", "low": 0, "high": 2},
        "lag.x": {"low": 0, "high": 1},
    }
    study = Study(
        d, until=0.5, variants={"a": d, "b": d.with_parameters(**{"step.time": 0.1})},
        sampling={"method": "halton", "runs": 4, "seed": 1, "parameters": drawn},
        metrics={"end": "final(step.y)"}, **REFERENCE,
    )  # fmt: skip
    assert [base.built["step.time"] for base in study.plan.bases] == [0, 1, 0, 1]
    table = study.run(tmp_path / "out").table
    assert list(table["variant"]) == ["a"] * 4 + ["b"] * 4
    assert list(table["end"]) == list((table["step.time"] == 0).astype(float))


def test_a_search_is_refused_it(tmp_path):
    study = Study(
        sampled_loop(), until=0.5, sweep={"T": [0.1, 0.05]}, metrics={"p": "max(lag.y)"}, **REFERENCE
    )
    with pytest.raises(PlantloopError, match="'T' decides how the model is built.*variants"):
        study.optimise(tmp_path / "out", "p")
    assert not (tmp_path / "out").exists()


LIMIT = 2.0


def double(t, u):
    return LIMIT * u


def changed_models():
    """A model, and the same with one thing else that compiled code is not made of."""
    made = []
    for time, block in (
        (0.2, LookupTable1D(range(50), range(50))),
        (0.3, LookupTable1D(range(50), range(50))),
        (0.2, LookupTable1D(range(50), range(1, 51))),
        (0.2, PythonFunction(double, 1, sample=0.1)),
        (0.2, PythonFunction(lambda t, u: 3.0 * u, 1, sample=0.1)),
    ):
        d = Diagram("model")
        d.add("step", Step(time=time))
        d.add("f", block)
        d.connect("step.y", "f.u")
        made.append(d)
    return made


def test_what_compiled_code_is_not_made_of_is_a_change_too(monkeypatch):
    """Instants, long tables behind all states, Python functions and the constants they use."""
    prints = [_model(d) for d in changed_models()]
    assert len(set(prints)) == len(prints)
    assert prints == [_model(d) for d in changed_models()]
    monkeypatch.setattr(f"{__name__}.LIMIT", 2.5)
    assert _model(changed_models()[3]) not in prints


def test_files_that_runs_write_are_no_part_of_a_model_and_those_they_read_are(tmp_path):
    file = tmp_path / "numbers.bin"
    written, read = SharedMemoryWrite(str(file), sample=0.1), partial(double, str(file))
    before = [list(as_texts(one)) for one in (written, read)]
    file.write_bytes(b"1")
    assert list(as_texts(written)) == before[0]
    assert list(as_texts(read)) != before[1]


def _model(d):
    study = Study(d, until=1.0, sweep={"step.after": [1.0, 2.0]}, metrics={"end": "final(f.y)"}, **REFERENCE)
    return study.plan.fingerprints()["model"]
