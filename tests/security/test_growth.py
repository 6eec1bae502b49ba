"""Inputs that took time with the square of their size, or worse: each is done in a few seconds now.

There is no clock in the assertions: a test that hangs runs into its time limit.
"""

import numpy as np
import pytest

from blocks import FromData, Gain, Sine
from blocks.errors import ModelError, PlantloopError, ScenarioError, near_miss
from cosim import Diagram, Study, simulate
from cosim.scenario import load_scenario
from cosim.study import loading
from cosim.study.distributions import distribution
from cosim.study.sample_draws import drawn
from plant import Plant
from plant.expressions.functions import intrinsics
from plant.expressions.functions.entry import LineInTime
from plant.formats.motionsolve.reader import read_model
from tests.helpers.decks import deck, pendulum

pytestmark = [pytest.mark.timeout(60), pytest.mark.filterwarnings("ignore")]


@pytest.mark.slow
@pytest.mark.parametrize("opening", ["<!--", "<![CDATA[", "<?", "<!DOCTYPE x ", "<a ", "<", "<!"])
def test_markup_that_is_not_closed(opening):
    """A megabyte: 62 kB took 13 s."""
    for text in (opening * (10**6 // len(opening)), f"<a>{opening * (10**6 // len(opening))}"):
        with pytest.raises(ModelError, match="not well-formed|DOCTYPE"):
            read_model(text.encode())


@pytest.mark.parametrize("hidden", ["<!-- <!DOCTYPE a [ --> ", "<?x <!ENTITY ?>", "<!-- <b> -->\n"])
def test_what_is_passed_over_hides_nothing(hidden):
    model = read_model(hidden.encode() + deck(pendulum(0.1)))
    assert model.find is not None
    with pytest.raises(ModelError, match="DOCTYPE"):
        read_model(hidden.encode() + b'<!DOCTYPE a [<!ENTITY b "c">]>' + deck(pendulum(0.1)))


def test_lines_are_those_of_the_file():
    ground = '<Body_Rigid id="1" isground="TRUE"/>'
    text = f"<!-- a\nb -->\n<Deck>\n<![CDATA[<x>\n]]><Model>{ground}<Reference_Variable\n id='1' expr='1 +'/>"
    text += "</Model></Deck>"
    with pytest.raises(ModelError, match="<bytes>:5: Reference_Variable id=1"):
        Plant.read(text.encode())


@pytest.mark.slow
def test_16000_unknown_attributes_and_elements():
    """45 s, most of it in looking for the attribute "id" again and again."""
    many = " ".join(f'zz{k}="1"' for k in range(16_000))
    read_model(deck(f'<Reference_Variable id="1" expr="1" {many}/>'))
    read_model(deck("".join(f'<Zz{k} id="1"/>' for k in range(16_000))))


def test_a_long_name_is_not_compared():
    assert near_miss("a" * 10**6, ["b" * 10**6]).startswith("there is")


def expression(text):
    more = f'<Reference_Variable id="9" expr="{text}"/>'
    return deck(pendulum(0.3) + more + '<Post_Request id="7" type="EXPRESSION" expr1="VARVAL(9)"/>')


def value(text):
    return simulate(Plant.read(expression(text)), 0.1, engine="reference", log_at=[0.1])["plant.request_7"][
        -1, 0
    ]


@pytest.mark.slow
def test_deep_if_and_wide_max():
    """IFs within IFs took 60 s at 400, lines of a MAX 34 s at 1000: every two were compared."""
    n = 400
    assert value("IF(TIME-1:" * n + "TIME" + ",2,3)" * n) == pytest.approx(0.1)
    assert value(f"MAX({','.join(f'{k}*TIME-{k * k}/1000' for k in range(2000))})") == pytest.approx(
        max(k * 0.1 - k * k / 1000 for k in range(2000))
    )


def test_corners_of_many_lines_are_those_of_every_two(monkeypatch):
    """As far as they are corners of the largest or the smallest."""
    random = np.random.default_rng(3)
    lines = [LineInTime(*map(float, pair)) for pair in random.integers(-9, 9, (80, 2))]
    found = sorted(set(intrinsics._pairs(lines, None)))
    monkeypatch.setattr(intrinsics, "FEW", 10**6)
    every = sorted(set(intrinsics._pairs(lines, None)))

    def at(t, choose):
        return choose(line.slope * t + line.offset for line in lines)

    def bends(t, choose, h=1e-4):
        return abs(at(t + h, choose) - 2 * at(t, choose) + at(t - h, choose)) > 1e-6

    corners = [t for t in every if bends(t, max) or bends(t, min)]
    assert len(found) < len(every) and np.allclose(found, corners)


def scenario(tmp_path, text):
    path = tmp_path / "s.toml"
    path.write_text('[blocks.a]\ntype = "Sine"\n[run]\nuntil = 1.0\n' + text)
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path)
    return str(caught.value)


@pytest.mark.slow
def test_long_lists_in_a_scenario_with_a_mistake(tmp_path):
    """20 000 lines took minutes: each line was parsed with all before it."""
    text = '[blocks.b]\ntype = "Constant"\nvalue = [\n' + "1.0,\n" * 20_000 + "]\nbad = 1\n"
    assert scenario(tmp_path, text) == "s.toml:20009: [blocks.b] bad: no such key; there is 'value'."
    assert "s.toml:3: [run]: 19980 more keys" in scenario(
        tmp_path, "".join(f"k{k} = 1\n" for k in range(20_000))
    )
    lines = "".join(f'"b{k}.y -> c.u",\n' for k in range(5000))
    assert "connect[0]" in scenario(tmp_path, f"[wiring]\nconnect = [\n{lines}]\n")


LINES = '''
a = 1   # a comment with [ and "

b = [  # one
  "x]",
  'y"',
]
c = """
[no header]
d = 1
"""
[t."x.y"]   # [[
e = { f = [1, 2], g = "}" }

[[u]]
h = "\\"["
[[u]]
i = 1'''


def test_lines_of_keys_in_one_pass():
    from cosim.scenario.source import _lines_of_keys

    lines, headers = _lines_of_keys(LINES)
    expected = {("a",): 2, ("b",): 4, ("c",): 8, ("t",): 12, ("t", "x.y"): 12, ("t", "x.y", "e"): 13,
                ("t", "x.y", "e", "f"): 13, ("u", 0): 15, ("u", 0, "h"): 16, ("u", 1): 17,
                ("u", 1, "i"): 18}  # fmt: skip
    assert {k: lines[k] for k in expected} == expected
    assert headers == {("t",), ("t", "x.y"), ("u",), ("u", 0), ("u", 1)}


def test_many_names_that_there_are_not(tmp_path):
    """2000 wires from other blocks took 10 s, 2000 other parameters 4 s: each was compared with all names."""
    n = 1000
    blocks = "".join(f'[blocks.g{k}]\ntype = "Gain"\nk = 1.0\n' for k in range(n))
    wires = ", ".join(f'"x{k}.y -> g{k}.u", "a.z -> g{k}.u"' for k in range(n))
    problems = scenario(tmp_path, f"{blocks}[wiring]\nconnect = [{wires}]\n")
    assert problems.startswith(f"{n} problems in s.toml:") and problems.endswith("... and 900 more.")
    (tmp_path / "s.toml").write_text(
        '[blocks.a]\ntype = "Sine"\n[run]\nuntil = 1.0\n[parameters]\n'
        + "".join(f'"a.k{k}" = 1.0\n' for k in range(n))
    )
    with pytest.raises(ScenarioError, match="there are more than 100 problems; other names are not looked"):
        load_scenario(tmp_path / "s.toml").system()


def test_a_problem_of_two_ports_has_the_line_of_their_connection(tmp_path):
    """Connections are found by their ports, not by a search for every problem."""
    (tmp_path / "s.toml").write_text(
        '[blocks]\na = { type = "Sine" }\nb = { type = "Gain", k = 1.0 }\nc = { type = "Gain", k = 1.0 }\n'
        '[wiring]\nconnect = [\n"a.y -> c.u",\n"a.y -> b.u",\n"c.y -> b.u",\n]\n[run]\nuntil = 1.0\n'
    )
    with pytest.raises(ScenarioError, match=r"s\.toml:8: .*input 'b.u' is driven twice, by 'a.y' and"):
        load_scenario(tmp_path / "s.toml").system()


def study(tmp_path, text):
    (tmp_path / "s.toml").write_text('[blocks.a]\ntype = "Sine"\n[run]\nuntil = 1.0\n' + text)
    return Study(tmp_path / "s.toml")


def test_many_parameters_in_a_study(tmp_path, monkeypatch):
    """4000 distributions that are none took a minute, as many parameters of one correlation 30 s."""
    names, given = [f"a.p{k}" for k in range(1500)], '= { distribution = "uniform", low = 0.0, high = 1.0 }\n'
    sampling = '[sampling]\nmethod = "lhs"\nruns = 2\n'
    with pytest.raises(ScenarioError, match="1500 problems"):
        lines = "".join(f'"{name}" = {{ k = 1 }}\n' for name in names)
        study(tmp_path, f"{sampling}[sampling.parameters]\n{lines}")
    monkeypatch.setattr(loading, "MOST_CORRELATED", 10)
    lines = "".join(f'"{name}" {given}' for name in names[:12])
    with pytest.raises(ScenarioError, match="are of 12 parameters, expected at most 10"):
        pairs = ", ".join(f'["a.p{k}", "a.p{k + 1}", 0.1]' for k in range(0, 12, 2))
        study(tmp_path, f"{sampling}correlations = [{pairs}]\n[sampling.parameters]\n{lines}")


def test_correlations_of_two_parameters_among_others():
    """The others are those without correlations, and the matrix is of the two."""
    spreads = {name: distribution({"low": 0.0, "high": 1.0}) for name in "abcd"}
    alone = drawn("sobol", 512, 3, spreads)
    both = drawn("sobol", 512, 3, spreads, [("d", "b", -0.6)])
    assert (both[:, [0, 2]] == alone[:, [0, 2]]).all() and np.allclose(both[:, 1], alone[:, 1])
    # Spearman's correlation of a Gaussian copula: 6/pi asin(rho/2)
    ranks = both.argsort(axis=0).argsort(axis=0)
    assert np.corrcoef(ranks.T)[1, 3] == pytest.approx(6 / np.pi * np.arcsin(-0.3), abs=0.02)


def test_more_axes_than_an_array_of_numpy_has(tmp_path):
    """65 axes of a grid: an error of NumPy's."""
    blocks = "".join(f'[blocks.b{k}]\ntype = "Constant"\nvalue = 1.0\n' for k in range(65))
    axes = "".join(f'"b{k}.value" = [{"1.0, 2.0" if k in (3, 64) else "5.0"}]\n' for k in range(65))
    cases = study(tmp_path, f"{blocks}[sweep]\n{axes}").cases
    assert len(cases) == 4
    assert cases.columns["b3.value"].ravel().tolist() == [1.0, 1.0, 2.0, 2.0]  # the last is the fastest
    assert cases.columns["b64.value"].ravel().tolist() == [1.0, 2.0, 1.0, 2.0]


def test_patterns_of_many_stars():
    """Every way to fit the stars was tried: 6 stars in a name of 60 letters took 13 s."""
    d = Diagram("d")
    d.add("a" * 60, Sine())
    system = d.system()
    with pytest.raises(PlantloopError, match="no signal that fits"):
        system.chosen(["*" + "a*" * 30 + "b"])
    assert system.chosen(["*" + "a*" * 30 + ".y"]) == ["a" * 60 + ".y"]
    for literal in ("*[y]", "*?", "a?*"):  # stars only have a meaning
        with pytest.raises(PlantloopError, match="no signal that fits"):
            system.chosen([literal])


def test_a_message_lists_a_hundred_problems(tmp_path):
    """It had megabytes; the error's own list has all of them."""
    d = Diagram("many")
    for k in range(300):
        d.add(f"g{k}", Gain(1.0))
    with pytest.raises(PlantloopError, match=r"^300 problems in the diagram:") as caught:
        d.system()
    assert len(caught.value.problems) == 300 and str(caught.value).count("\n- ") == 101
    assert str(caught.value).endswith("\n- ... and 200 more.")
    scenario = tmp_path / "s.toml"
    text = '[blocks.a]\ntype = "Sine"\n[wiring]\nground = [{}]\n[run]\nuntil = 1.0\n'
    scenario.write_text(text.format(", ".join(f'"q{k}.u"' for k in range(300))))
    with pytest.raises(
        ScenarioError, match=r"^300 problems in s\.toml:(.|\n)*\.\.\. and 200 more\.$"
    ) as said:
        load_scenario(scenario)
    assert len(said.value.value) == 300
    many = "".join(f'<Reference_Marker id="{1000 + k}" body_id="77"/>' for k in range(300))
    with pytest.raises(ModelError, match=r"30[01] problems in (.|\n)*\.\.\. and 20[01] more\.$"):
        Plant.read(deck(pendulum(0.5) + many))


# --- tables -----------------------------------------------------------------------------------------------
WIDE = {
    "alike": "t" + ",y" * 200_000 + "\n",
    "behind a line in quotes": '"t\n"' + ",y" * 200_000 + "\n",
    "behind empty lines": "\n\r\n" + "t" + ",y" * 200_000 + "\n",
}


@pytest.mark.parametrize("case", WIDE)
def test_tables_of_many_columns(tmp_path, case):
    """40 000 columns called alike took 14 s, and four times that for twice as many."""
    (tmp_path / "wide.csv").write_text(WIDE[case] + "0" + ",1" * 200_000 + "\n")
    with pytest.raises(PlantloopError, match="it has 200001 columns, and at most 10000 are read"):
        FromData(tmp_path / "wide.csv")
    with pytest.raises(PlantloopError, match="it has 200001 columns, and at most 10000 are read"):
        Study(
            Sine(), until=1.0, sampling={"method": "file", "file": str(tmp_path / "wide.csv")},
            metrics={"m": "max(plant.y)"},
        )  # fmt: skip


@pytest.mark.slow
def test_tables_that_grow_when_they_are_read(tmp_path):
    """A few bytes of a .parquet file stand for any number of equal rows: 3.5 MB took 6.4 GB."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = pa.table({"t": np.zeros(2**20), "y": np.zeros(2**20)})
    with pq.ParquetWriter(tmp_path / "grows.parquet", rows.schema, compression="zstd") as file:
        for _ in range(17):
            file.write_table(rows)
    assert (tmp_path / "grows.parquet").stat().st_size < 2**20
    pq.write_table(pa.table({"t": [0.0, 1.0], "y": ["a", "b"]}), tmp_path / "texts.parquet")
    pq.write_table(pa.table({"t": [0.0, 1.0], "y": [2.0, 4.0]}), tmp_path / "sound.parquet")
    for name, says in (("grows", "it holds 3.57e.07 numbers"), ("texts", "column 'y' holds string")):
        with pytest.raises(PlantloopError, match=says):
            FromData(tmp_path / f"{name}.parquet")
        with pytest.raises(PlantloopError, match=says):
            Study(
                Sine(), until=1.0, sampling={"method": "file", "file": str(tmp_path / f"{name}.parquet")},
                metrics={"m": "max(plant.y)"},
            )  # fmt: skip
    assert FromData(tmp_path / "sound.parquet").data == ((0.0, 1.0), ((2.0,), (4.0,)))
