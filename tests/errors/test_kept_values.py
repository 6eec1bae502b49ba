"""What files cannot keep, and values that look like others, is refused; what has a meaning is taken."""

from __future__ import annotations

import numpy as np
import pytest

from blocks import Constant, Integrator
from blocks.arguments import file_path, real_numbers
from blocks.errors import PlantloopError, WiringError
from cosim import Diagram, Result, Study, simulate, simulate_many
from cosim.engines.reference.log import given_times
from cosim.progress import check_progress
from cosim.study.study_progress import study_progress

UNFIT = ("a\0b", "a\ud800")


def result(name: str = "y", **fields) -> Result:
    return Result("d", [0.0, 1.0], {name: [1.0, 2.0]}, **fields)


@pytest.mark.parametrize("name", UNFIT)
def test_names_that_files_do_not_keep_are_refused_everywhere(name):
    d = Diagram("d")
    d.add("c", Constant(1.0))
    for call in (
        lambda: Diagram(name),
        lambda: d.add(name, Constant(1.0)),
        lambda: d.inport(name),
        lambda: d.outport(name, "c"),
        lambda: d.parameter(name, 1.0),
    ):
        with pytest.raises(WiringError, match=r"files do not keep|expected a text"):
            call()


def test_paths_that_no_file_can_have_are_refused():
    with pytest.raises(PlantloopError, match="no name of a file can have"):
        file_path("a\ud800.nc", "the file")
    assert file_path("a\udc80é名.nc", "the file").name == "a\udc80é名.nc"  # a byte that is no UTF-8


@pytest.mark.parametrize("suffix", [".nc", ".npz"])
def test_signals_of_long_names_are_kept(tmp_path, suffix):
    names = ["名" * 60 + end for end in ("a", "b")]  # 540 characters where NetCDF keeps 256
    before = Result("d", [0.0, 1.0], {names[0]: [1.0, 2.0], names[1]: np.arange(6.0).reshape(2, 3)})
    before.save(tmp_path / f"r{suffix}")
    after = Result.load(tmp_path / f"r{suffix}")
    assert list(after) == names
    assert [after[n].tolist() for n in names] == [before[n].tolist() for n in names]


def test_a_text_that_netcdf_would_end_early_is_refused_and_kept_as_npz(tmp_path):
    made = result(message="stopped\0early")
    with pytest.raises(PlantloopError, match="NUL character.*npz"):
        made.save(tmp_path / "r.nc")
    assert not list(tmp_path.iterdir())
    made.save(tmp_path / "r.npz")
    assert Result.load(tmp_path / "r.npz").message == "stopped\0early"


def test_columns_of_a_table_have_names_of_their_own():
    made = Result("d", [0.0, 1.0], {"time": [3.0, 4.0], "a": [[1.0, 2.0], [5.0, 6.0]], "a[1]": [7.0, 8.0]})
    table = made.to_pandas()
    assert [table.index.name, *table.columns] == ["time", "time_", "a[0]", "a[1]", "a[1]_"]
    assert table.reset_index()["time_"].tolist() == [3.0, 4.0]


@pytest.mark.parametrize("among", [3, "y", ["x"], {"x": 1.0}])
def test_signals_are_looked_for_among_signals(among):
    with pytest.raises(PlantloopError, match="expected signals of result 'd'"):
        result().locate("y", among)
    assert result().locate("y", {"y": None}) == ("y", None)


@pytest.mark.parametrize("unit", [False, 0, {}, np.arange(2.0), np.empty(0)])
def test_a_unit_of_an_inport_is_a_text(unit):
    with pytest.raises(PlantloopError, match="expected a text such as"):
        Diagram().inport("u", unit=unit)


def test_no_progress_is_wanted_by_false_too(capsys):
    assert check_progress(False) is None
    simulate(Integrator(1.0), 0.1, engine="reference", progress=False, inputs={"u": 1.0})
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("progress", [0, 0.0, np.arange(2)])
def test_what_tells_of_a_study_is_a_function(progress):
    with (
        pytest.raises(PlantloopError, match="progress is .*expected a function"),
        study_progress(progress, 1),
    ):
        pass


def test_bytes_and_marks_are_no_numbers():
    with pytest.raises(TypeError):
        real_numbers(bytearray(b"ab"))
    times = np.linspace(0.0, 2.0, 5)
    with pytest.raises(PlantloopError, match="expected a list of times"):
        given_times(times > 1.0, 0.0, 2.0)  # one meant ``times[times > 1.0]``
    assert given_times(times[times > 1.0], 0.0, 2.0).tolist() == [1.5, 2.0]


@pytest.mark.parametrize("seed", [1e300, 2.0**53, 2.5, np.nan, True])
def test_seeds_of_many_runs_are_whole_numbers_that_differ_from_their_neighbours(seed):
    with pytest.raises(PlantloopError, match="run 0: seed is .*expected a whole number"):
        simulate_many(Constant(1.0), [{"seed": seed}], 0.1)


def test_seeds_of_many_runs_may_be_as_large_as_that_of_one():
    simulate_many(Constant(1.0), [{"seed": 10**400}, {"seed": -1}, {"seed": 2.0}], 0.1)


def test_arguments_of_studies_of_other_types_are_refused(tmp_path):
    study = Study(Constant(1.0), until=0.1, sweep={"value": [1.0, 2.0]}, engine="reference")
    for wrong in (3, ["x"], np.arange(5.0), np.empty(0), {1: 2}, object()):
        for name in ("executor", "scheduler"):
            with pytest.raises(PlantloopError, match=f"{name} is .*expected a text"):
                study.run(tmp_path / "out", **{name: wrong})
        with pytest.raises(PlantloopError, match="cases is .*from 0 to 1"):
            study.estimate(cases=wrong)
    for wrong in (True, 1.5, {1: 2}, object()):
        with pytest.raises(PlantloopError, match="only is .*expected numbers of cases"):
            study.run(tmp_path / "out", only=wrong)
    for wrong in (True, -1, np.nan, "x", [1]):
        with pytest.raises(PlantloopError, match="sample is"):
            study.estimate(sample=wrong)
    assert study.estimate(sample=1, cases=[1]).cases == 1
