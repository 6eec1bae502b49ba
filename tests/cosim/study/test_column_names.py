"""Names of what varies, of metrics and of requirements are columns of one table, each its own."""

import pytest

from blocks import Constant, Integrator, TransferFunction
from blocks.errors import PlantloopError, ScenarioError
from cosim import Diagram, Study
from cosim.study.cases import RESERVED


def ramp(parameter="k"):
    """y' = k from 0, so y(2) = 2 k."""
    d = Diagram("ramp")
    d.add("rate", Constant(d.parameter(parameter, 1.0)))
    d.add("i", Integrator())
    d.connect("rate.y -> i.u")
    return d


@pytest.mark.parametrize("name", RESERVED)
def test_a_parameter_cannot_be_called_as_a_column_of_every_table(name):
    with pytest.raises(ScenarioError, match=f"'{name}' varies, and it is the name of a column of every"):
        Study(ramp(name), until=1.0, sweep={name: [1.0, 2.0]})
    with pytest.raises(ScenarioError, match="is a column of every table of cases"):
        Study(ramp(), until=1.0, sweep={"k": [1.0]}, metrics={name: "final(i.y)"})
    with pytest.raises(ScenarioError, match="is a column of every table of cases"):
        Study(ramp(), until=1.0, sweep={"k": [1.0]}, requirements=[{"name": name, "always": "i.y < 1"}])


@pytest.mark.parametrize("names", [("r", "r.robustness"), ("r.robustness", "r")])
def test_a_requirement_cannot_be_called_as_the_margin_of_another(names):
    both = [{"name": names[0], "always": "i.y < 1.5"}, {"name": names[1], "always": "i.y < 0.7"}]
    with pytest.raises(ScenarioError, match="'r.robustness'|is the column of another's margin"):
        Study(ramp(), until=2.0, sweep={"k": [1.0]}, requirements=both)


def test_a_file_of_cases_has_names_of_its_own(tmp_path):
    file = tmp_path / "cases.csv"
    for column, says in (("m", "name of a metric or a requirement"), ("k", "is swept and in the samples")):
        file.write_text(f"{column}\n2.0\n")
        sampling = {"method": "file", "file": str(file)}
        with pytest.raises(ScenarioError, match=f"'{column}' varies, and it {says}|{says}"):
            Study(ramp(column), until=1.0, sweep={"k": [1.0]} if column == "k" else None,
                  sampling=sampling, metrics={"m": "final(i.y)"})  # fmt: skip


def test_a_metric_is_not_put_in_place_of_one_of_several_numbers():
    """Its values stood there in place of those of the parameter."""
    d = Diagram("lag")
    d.add("lag", TransferFunction([1.0], [1.0, 2.0]))
    d.ground("lag.u")
    swept = {"lag.den": [[1.0, 2.0], [1.0, 3.0]]}
    says = r"'lag.den' varies, and its column 'lag.den\[1\]' is the name of a metric or a requirement too"
    with pytest.raises(ScenarioError, match=says):
        Study(d, until=1.0, sweep=swept, metrics={"lag.den[1]": "final(lag.y)"})
    with pytest.raises(ScenarioError, match=says):
        Study(d, until=1.0, sweep=swept, requirements=[{"name": "lag.den[1]", "always": "lag.y < 1"}])
    Study(d, until=1.0, sweep=swept, metrics={"lag.den[2]": "final(lag.y)"})


@pytest.mark.parametrize("name", ["time", "e", "pi", "t", "end", "sample", "name", "until"])
def test_words_of_formulas_are_names_as_others(name, tmp_path):
    study = Study(ramp(name), until=2.0, sweep={name: [1.0, 2.0]}, metrics={"m": "final(i.y)"})
    table = study.run(tmp_path / "s").table
    assert table[name].tolist() == [1.0, 2.0]
    assert table["m"].tolist() == pytest.approx([2.0, 4.0])


def test_the_name_of_an_initial_value_is_said():
    with pytest.raises(ScenarioError, match=r"'i.initial' .* is an initial value, and called 'i.x' here"):
        Study(ramp(), until=1.0, sweep={"i.initial": [1.0]})


@pytest.mark.parametrize("name", ["a\ud800", "a\0b"])
def test_names_that_no_file_keeps(loop, name):
    """The manifest could not be written, with an error of Python, or be read again."""
    for tables in (
        {"metrics": {name: "final(k.y)"}},
        {"requirements": [{"name": name, "always": "k.y < 1"}]},
        {"actions": [{"name": name, "at": 0.5, "set": {"k.k": 1.0}}]},
        {"store": {"signals": [name]}},
    ):
        with pytest.raises(ScenarioError, match="of characters that files keep"):
            Study(loop, until=1.0, **tables)
    with pytest.raises(PlantloopError, match="a variant is called .*, expected a name"):
        Study(None, until=1.0, variants={name: loop, "b": loop})
