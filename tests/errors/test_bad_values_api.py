"""Every public parameter of what `cosim` and `plant` offer, given values that make no sense.

Each value of `BAD` that is not listed as meaning something for a parameter is refused with an error of ours.
"""

from __future__ import annotations

import pytest

from plant import Baumgarte, GammaQ, Plant, read_model
from tests.helpers.bad_values import of_parameter, parameters
from tests.helpers.cosim_calls import CASES

LONG = ("run_deck", "simulate", "Plant.read")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "case",
    [pytest.param(c, marks=pytest.mark.slow) if c.name in LONG else c for c in CASES],
    ids=lambda case: case.name,
)
def test_values_without_sense_are_refused_by_errors_of_ours(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wrong = [text for name in parameters(case) for text in of_parameter(case, name)]
    assert not wrong, "\n".join(wrong)


def test_every_public_callable_of_cosim_is_walked():
    import cosim
    from tests.errors.test_bad_values_subsystems import CASES as OF_SUBSYSTEMS

    classes = {cosim.OperatingPoint, cosim.Result}  # made by functions, not by users
    public = {getattr(cosim, name) for name in cosim.__all__ if not name.startswith("_")} - classes
    elsewhere = ("cosim.study.", "cosim.fmi.")  # walked by tests of their own, beside files with mistakes
    public = {found for found in public if not found.__module__.startswith(elsewhere)}
    assert public <= {case.call for case in (*CASES, *OF_SUBSYSTEMS)}
    assert {Plant.read, Plant.from_model, Baumgarte, GammaQ, read_model} <= {case.call for case in CASES}
