"""Every parameter of `Study` and `open_study`, given values that make no sense."""

from pathlib import Path

import pytest

from cosim import Study, open_study
from tests.helpers.bad_values import (
    EMPTY,
    NO_VALUES,
    NOTHING,
    POSITIVE,
    SETTINGS,
    SWITCH,
    TIMES,
    Case,
    Made,
    of_parameter,
    parameters,
)
from tests.helpers.cosim_calls import ADAPTIVE, GIVEN, QUICK, loop

LISTS = EMPTY - {"{}"} | NOTHING


def swept():
    """A folder of results, in the present one."""
    out = Path("swept")
    if not out.exists():
        Study(loop(), until=0.1, solver="rk4", step=0.1, engine="reference").run(out, workers=1)
    return out


CASES = [
    Case(
        "Study",
        Study,
        {"model": Made(loop), "until": 2.5, "solver": "rk4", "step": 0.1} | QUICK,
        {
            "until": TIMES, "sweep": NO_VALUES, "sampling": NOTHING, "variants": EMPTY | NOTHING,
            "actions": LISTS, "requirements": LISTS, "metrics": NO_VALUES, "store": NO_VALUES,
            "search": NO_VALUES, "stop": NOTHING,
            "inputs": NO_VALUES,
            "log_every": NOTHING | POSITIVE, "trust": SWITCH,
        }
        | GIVEN
        | SETTINGS
        | {"coupling": NOTHING | {"{}"}},
        beside=ADAPTIVE,
    ),
    Case(
        "open_study",
        open_study,
        {"path": Made(swept), "study": None, "trust": False},
        {"study": NOTHING, "trust": SWITCH},
    ),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_values_without_sense_are_refused_by_errors_of_ours(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wrong = [text for name in parameters(case) for text in of_parameter(case, name)]
    assert not wrong, "\n".join(wrong)
