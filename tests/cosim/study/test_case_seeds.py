"""Seeds of listed cases are taken digit for digit: a case drawn again by its seed is the same."""

import numpy as np
import pandas as pd
import pytest

from blocks import Gain, PlantloopError, RandomNumber
from cosim import Diagram, Study

LARGE = 5260156776034276967  # more digits than a double has


@pytest.fixture
def noisy():
    d = Diagram("noisy")
    d.add("noise", RandomNumber(sample=0.1))
    d.add("k", Gain(1.0))
    d.connect("noise.y -> k.u")
    return d


def study_of(d, **sampling):
    return Study(d, until=0.5, sampling=sampling, metrics={"last": "final(k.y)"})


def test_a_case_is_found_again_by_its_seed(noisy, tmp_path):
    drawn = study_of(
        noisy,
        method="monte_carlo",
        runs=3,
        seed=4,
        parameters={"k.k": {"distribution": "uniform", "low": 1.0, "high": 2.0}},
    ).run(tmp_path / "drawn", workers=1)
    row = drawn.table.iloc[1]
    listed = [{"k.k": float(row["k.k"]), "seed": int(row["seed"])}]
    again = study_of(noisy, method="list", cases=listed).run(tmp_path / "listed", workers=1).table.iloc[0]
    assert again["seed"] == row["seed"] > 2**53
    assert again["last"] == row["last"]
    (tmp_path / "cases.csv").write_text(f"k.k,seed\n{float(row['k.k'])!r},{row['seed']}\n")
    of_file = study_of(noisy, method="file", file=str(tmp_path / "cases.csv"))
    assert of_file.run(tmp_path / "file", workers=1).table.iloc[0]["last"] == row["last"]


def test_blanks_around_the_names_of_columns(noisy, tmp_path):
    (tmp_path / "cases.csv").write_text(f" k.k, seed\n1.0, {LARGE}\n 2.0,3\n")
    cases = study_of(noisy, method="file", file=str(tmp_path / "cases.csv")).cases
    assert cases.columns["k.k"].tolist() == [[1.0], [2.0]] and cases.seeds.tolist() == [LARGE, 3]


def test_what_pandas_stored_as_index_is_a_column(noisy, tmp_path):
    """It was left out, so that the parameter kept the value of the diagram."""
    file, frame = tmp_path / "cases.parquet", pd.DataFrame({"k.k": [2.0, 3.0], "seed": [5, 6]})
    for stored in (frame, frame.set_index("k.k"), frame.rename_axis("case"), frame.iloc[::-1].iloc[::-1]):
        stored.to_parquet(file)
        cases = study_of(noisy, method="file", file=str(file)).cases
        assert cases.columns["k.k"].tolist() == [[2.0], [3.0]] and cases.seeds.tolist() == [5, 6]


def test_large_seeds_stay_what_they_are(noisy, tmp_path):
    cases = [{"k.k": 1.0, "seed": s} for s in (LARGE, np.int64(3), 0)]
    s = study_of(noisy, method="list", cases=cases).run(tmp_path / "s", workers=1)
    assert list(s.table["seed"]) == [LARGE, 3, 0]


@pytest.mark.parametrize("seed", [-3, 1.5, 2**63, True, "7", None, float("nan")])
def test_what_is_no_seed_is_refused(noisy, tmp_path, seed):
    with pytest.raises(PlantloopError, match=r"seed|whole number"):
        study_of(noisy, method="list", cases=[{"k.k": 1.0, "seed": seed}]).run(tmp_path / "s", workers=1)


def test_a_seed_in_a_file_that_is_none_names_file_and_row(noisy, tmp_path):
    (tmp_path / "cases.csv").write_text("k.k,seed\n1.0,5\n2.0,-1\n")
    with pytest.raises(PlantloopError, match=r"cases\.csv.*column 'seed', row 2.*whole number"):
        study_of(noisy, method="file", file=str(tmp_path / "cases.csv")).run(tmp_path / "s", workers=1)


def test_samples_without_a_seed_take_that_of_the_run(noisy):
    """It had no effect: whatever seed a run had, samples and noise were those of seed 0."""
    drawn = {"method": "monte_carlo", "runs": 3, "parameters": {"k.k": {"low": 0.0, "high": 1.0}}}
    cases = [
        Study(
            noisy, until=0.5, sampling=drawn | own, metrics={"last": "final(k.y)"}, seed=seed
        ).cases.fingerprint
        for own, seed in (({}, 7), ({"seed": 7}, 0), ({"seed": 7}, 5), ({}, 0), ({"seed": 0}, 7))
    ]
    assert cases[0] == cases[1] == cases[2] != cases[3] == cases[4]
    assert (
        len({Study(noisy, until=0.5, sampling=drawn, seed=k).cases.fingerprint for k in (-1, 0, 2**63)}) == 3
    )
