"""Connectors of systems that pass values on, without FMUs: what comes out is known by hand."""

import pytest

from cosim import import_ssp, simulate
from cosim.fmi.ssp import to_diagram
from cosim.fmi.ssp.structure import Connector, StructuredSystem
from tests.helpers.ssp_packages import connection, system, written

SETS = "<ssd:ParameterBindings><ssd:ParameterBinding><ssd:ParameterValues>{}</ssd:ParameterValues>"
SETS += "</ssd:ParameterBinding></ssd:ParameterBindings>"


def connectors(**kinds):
    every = (f'<ssd:Connector name="{n}" kind="{k}"><ssc:Real/></ssd:Connector>' for n, k in kinds.items())
    return f"<ssd:Connectors>{''.join(every)}</ssd:Connectors>"


def values(**numbers):
    every = (f'<ssv:Parameter name="{n}"><ssv:Real value="{x}"/></ssv:Parameter>' for n, x in numbers.items())
    text = f"<ssv:Parameters>{''.join(every)}</ssv:Parameters>"
    return SETS.format(f'<ssv:ParameterSet version="1.0" name="p">{text}</ssv:ParameterSet>')


def leading(element, port, target):
    start = f'startElement="{element}" ' if element else ""
    return f'<ssd:Connection {start}startConnector="{port}" endConnector="{target}"/>'


def passing(name, pairs):
    """A system that passes its inputs on."""
    ends = connectors(**{a: "input" for a, _ in pairs}, **{b: "output" for _, b in pairs})
    links = "".join(leading("", a, b) for a, b in pairs)
    return f'<ssd:System name="{name}">{ends}<ssd:Connections>{links}</ssd:Connections></ssd:System>'


@pytest.mark.parametrize("turn", [1, -1])
def test_connectors_that_a_diagram_calls_alike_are_not_mixed_up(turn, tmp_path):
    """Both are p_q to a diagram, which has no dots in names: they were taken for one."""
    pairs = [("p.q", "r.s"), ("p_q", "r_s"), ("p/q", "r/s")][::turn]
    links = "".join(leading("in", b, f"o{k}") for k, (_, b) in enumerate(pairs))
    before = connectors(o0="output", o1="output", o2="output")
    before += values(**{f"in.{a}": 10.0 + k for k, (a, _) in enumerate(pairs)})
    d = import_ssp(written(tmp_path / "a.ssp", system(passing("in", pairs), links, before), {}))
    result = simulate(d, 0.1)
    assert [result[f"o{k}"][-1] for k in range(3)] == [10.0, 11.0, 12.0]


def test_values_go_to_the_elements_they_name(tmp_path):
    """An element may have dots in its name, and begin like another one."""
    elements = "".join(passing(name, [("i", f"o{k}")]) for k, name in enumerate(["a", "a.b", "a.b.c"]))
    links = "".join(leading(name, f"o{k}", f"o{k}") for k, name in enumerate(["a", "a.b", "a.b.c"]))
    before = connectors(o0="output", o1="output", o2="output")
    before += values(**{"a.i": 1.0, "a.b.i": 2.0, "a.b.c.i": 3.0, "x.i": 5.0})
    with pytest.warns(UserWarning, match="no effect") as told:
        d = import_ssp(written(tmp_path / "a.ssp", system(elements, links, before), {}))
    assert sum("'x.i'" in str(w.message) for w in told) == 1
    result = simulate(d, 0.1)
    assert [result[f"o{k}"][-1] for k in range(3)] == [1.0, 2.0, 3.0]


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize(("kind", "n"), [("connectors", 6000), ("values", 6000), ("systems", 300)])
def test_packages_grow_in_proportion(kind, n, tmp_path):
    """6000 connectors took 1.5 minutes, values of them 3.5, for the square of it; there is a time limit."""
    pairs = [(f"i{k}", f"o{k}") for k in range(n)]
    if kind == "connectors":
        links = "".join(connection(f"i{k}", f"in.i{k}") + connection(f"in.o{k}", f"o{k}") for k in range(n))
        ends = connectors(**{a: "input" for a, _ in pairs}, **{b: "output" for _, b in pairs})
        content = system(passing("in", pairs), links, ends)
    elif kind == "values":
        content = system(passing("in", pairs), "", values(**{f"in.i{k}": k for k in range(n)}))
    else:
        given = values(**{f"x{k}.i": k for k in range(n)})
        content = system("".join(passing(f"x{k}", [("i", "o")]) for k in range(n)), "", given)
    d = import_ssp(written(tmp_path / "a.ssp", content, {}))
    if kind == "connectors":
        assert len(d.inports) == len(d.outports) == n
        assert d.netlist().outports["o17"] == ("in", "o17")
    else:
        block = "in_i17_open" if kind == "values" else "x17_i_open"
        assert d.content(block).value == (17.0,)


def test_names_that_all_look_alike_take_no_time(tmp_path):
    every = ["".join("." if k >> bit & 1 else "/" for bit in range(12)) for k in range(4096)]
    made = StructuredSystem("S", tuple(Connector(name, "input") for name in every), (), (), ())
    names = to_diagram._names(made)
    assert len(set(names.values())) == 4096
    assert list(names.values())[:3] == ["_" * 12, "_" * 13, "_" * 12 + "_2"]


@pytest.mark.parametrize("kind", ["parameter", "output"])
def test_a_value_of_a_connector_that_leads_nowhere(kind, tmp_path):
    text = system(passing("a", [("i", "o")]), "", connectors(K=kind) + values(K=2.0))
    with pytest.warns(UserWarning, match=f"'K' has no effect: it is a connector of kind {kind} of 'S'"):
        import_ssp(written(tmp_path / "a.ssp", text, {}))
