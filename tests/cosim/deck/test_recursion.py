"""Variables defined by themselves: allowed with DSTIFF, refused with the integrators that forbid them."""

from __future__ import annotations

import pytest

from blocks.errors import PlantloopError
from cosim.deck import run_deck
from plant.formats.motionsolve.reader import read_model
from tests.helpers.decks import deck, pendulum, simulate

pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")
ITSELF = '<Reference_Variable id="5" label="v" expr="0.5*VARVAL(5) + 1 + TIME"/>'
EQUATION = '<Reference_Variable id="5" is_implicit="true" expr="0.5*VARVAL(5) + 1 + TIME - VARVAL(5)"/>'
SHOWN = '<Control_PlantOutput id="1" label="v" num_element="1" variable_id_list="5"/>'


def run(variable: str, integrator: str, **options):
    commands = f'<Param_Transient integrator_type="{integrator}"/>' + simulate("Transient", end_time=0.1)
    return run_deck(read_model(deck(pendulum(0.3) + variable + SHOWN, commands)), **options)


@pytest.mark.parametrize("integrator", ["ABAM", "VSTIFF", "MSTIFF", "abam"])
def test_recursion_is_refused(integrator):
    """Comment 6 of the reference page of Reference_Variable."""
    with pytest.raises(PlantloopError, match=rf"Reference_Variable id=5.* itself.*={integrator} .*DSTIFF"):
        run(ITSELF, integrator)


@pytest.mark.parametrize(
    "variable, integrator", [(ITSELF, "DSTIFF"), (EQUATION, "ABAM"), (EQUATION, "MSTIFF")]
)
def test_what_is_allowed_gives_the_root(variable, integrator):
    """v = 2 (1 + t)."""
    result = run(variable, integrator).steps[-1].result
    values = next(v for name, v in result.signals.items() if name.endswith("v"))
    assert values[:, 0] == pytest.approx(2 * (1 + result.time), abs=1e-9)


def scripted(tmp_path, prefix=""):
    """The same variable by a subroutine that asks for its own value, on symbols or called at run time."""
    script = tmp_path / "v.py"
    script.write_text(
        "def VARSUB(id, time, par, npar, dflag, iflag):\n"
        f"    {prefix}[v, err] = py_sysfnc('VARVAL', [5])\n    return 0.5 * v + 1 + time\n"
    )
    return (
        f'<Reference_Variable id="5" type="USERSUB" interpreter="PYTHON" script_name="{script}" '
        'usrsub_fnc_name="VARSUB" usrsub_param_string="USER()"/>'
    )


@pytest.mark.parametrize("prefix", ["", "x = 1 if time > 9 else 2; "])
@pytest.mark.parametrize("integrator", ["ABAM", "VSTIFF", "MSTIFF"])
def test_recursion_inside_a_subroutine_is_refused(integrator, prefix, tmp_path):
    with pytest.raises(PlantloopError, match=rf"Reference_Variable id=5.* itself.*={integrator} .*DSTIFF"):
        run(scripted(tmp_path, prefix), integrator, trust=True)


def test_recursion_inside_a_subroutine_is_allowed_with_dstiff(tmp_path):
    result = run(scripted(tmp_path), "DSTIFF", trust=True).steps[-1].result
    values = next(v for name, v in result.signals.items() if name.endswith("v"))
    assert values[:, 0] == pytest.approx(2 * (1 + result.time), abs=1e-9)
