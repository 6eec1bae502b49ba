"""The page on studies: its metrics and requirements run, and are those of closed forms; names are on it."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

from blocks import Constant, Integrator, SecondOrder
from cosim import Diagram, Study
from cosim.study import formulas, study_schema

PAGE = (Path(__file__).parents[3] / "docs/studies.md").read_text()
METRICS = PAGE[PAGE.index("## Metrics") : PAGE.index("## Actions")]
ZETA = 0.2
WD = np.sqrt(1 - ZETA**2)


def response(t: float) -> float:
    """The step response of 1 / (s^2 + 2 zeta s + 1)."""
    return float(1 - np.exp(-ZETA * t) * (np.cos(WD * t) + ZETA / WD * np.sin(WD * t)))


def passes(level: float, begin: float, end: float) -> float:
    return float(brentq(lambda t: response(t) - level, begin, end))


@pytest.mark.slow
def test_the_metrics_of_the_page_are_those_of_a_closed_form(tmp_path: Path) -> None:
    text = re.search(r"```toml\n(.*?)```", METRICS, re.DOTALL)
    assert text is not None
    tables = tomllib.loads(text[1])
    d = Diagram("step")
    d.add("u", Constant(1.0))
    d.add("y", SecondOrder(damping=ZETA))
    d.connect("u.y -> y.u")
    end, every = 40.0, 0.01
    study = Study(d, until=end, log_every=every, sweep={"y.gain": [1.0]}, **tables)
    row = study.run(tmp_path / "s").table.iloc[0]
    top = response(np.pi / WD)
    # the envelope crosses 2 % last where a half wave begins or ends
    grid = np.arange(0.0, end, 1e-4)
    outside = grid[np.abs([response(t) - 1.0 for t in grid]) > 0.02][-1]
    settled = passes(1.0 - 0.02 * np.sign(1 - response(outside)), outside, outside + 0.01)
    known = {
        "peak": top,
        "ise": (1 + 4 * ZETA**2) / (4 * ZETA),
        "late": passes(0.5, 0.0, 2.0),
        "settle": settled,
        "settle_2_percent": settled,
        "rise": passes(0.9, 0.0, 3.0) - passes(0.1, 0.0, 3.0),
        "over": 100.0 * (top - 1.0),
        "most": np.percentile([response(t) for t in np.linspace(0.0, end, round(end / every) + 1)], 95),
    }
    assert set(known) == set(tables["metrics"])
    for name, value in known.items():
        assert row[name] == pytest.approx(value, rel=1e-3), name
    margin = {name: row[f"{name}.robustness"] for name in (r["name"] for r in tables["requirements"])}
    assert margin["below the limit"] == pytest.approx(1.6 - top, abs=1e-6)
    assert margin["gets there"] == pytest.approx(top - 0.98, abs=1e-6)
    assert margin["well damped"] == pytest.approx(0.6 - (top - response(end)), abs=1e-6)
    assert margin["reacts"] > 0
    assert margin["fast enough"] == pytest.approx(min(25.0 - settled, 60.0 - known["over"]), abs=0.02)


def test_a_metric_without_a_value_misses_what_a_check_asks_of_it(tmp_path: Path) -> None:
    """A ramp never settles; where it would have to, nothing says by how much it misses."""
    d = Diagram("ramp")
    d.add("u", Constant(1.0))
    d.add("y", Integrator())
    d.connect("u.y -> y.u")
    study = Study(
        d, until=1.0, log_every=0.1, sweep={"u.value": [0.0, 1.0]},
        metrics={"settle": {"settling": "y.y", "band": 0.5}, "peak": "max(y.y)"},
        requirements=[
            {"name": "early", "check": "settle <= 0.5"}, {"name": "late", "check": "settle > 0.5"},
            {"name": "either", "check": "settle <= 0.5 or 2*peak > 1.5"},
        ],
    )  # fmt: skip
    table = study.run(tmp_path / "s").table
    assert table["settle"].isna().tolist() == [False, True]
    assert table["early"].tolist() == table["either"].tolist() == [True, False] and not table["late"].any()
    assert table["early.robustness"].tolist() == [0.5, -np.inf]


def test_every_name_is_on_the_page() -> None:
    names = [*formulas.FUNCTIONS, *formulas.REDUCTIONS, *formulas.CONSTANTS, *formulas.WORDS, formulas.TIME]
    names += [*study_schema.METRICS, *(key for keys in study_schema.METRIC_TAKES.values() for key in keys)]
    assert [name for name in names if not re.search(rf"`[^`]*\b{name}\b[^`]*`", METRICS)] == []
