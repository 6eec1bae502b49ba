"""User subroutines in compiled libraries."""

from __future__ import annotations

import pytest

from blocks.contract.trace import trace
from blocks.errors import ModelError
from plant import PlantWarning
from plant.elements import Control_StateEqn, Force_Vector_OneBody, Reference_Array, Reference_Variable
from tests.helpers.libraries import built
from tests.helpers.plants import Alone
from tests.helpers.slider import OUT, slider

C_SOURCE = """
#include "usersub.h"
void VARSUB(int *id, double *time, double *par, int *npar, int *dflag, int *iflag, double *value) {
    int icm = (int)par[0], error, count;
    double vm, w[3];
    c_sysfnc("VM", &icm, 1, &vm, &error);
    c_sysary("RVEL", &icm, 1, w, &count, &error);
    c_errmes(error, "no state", *id, "STOP");
    *value = *iflag ? 0.0 : 0.5 * (par[1]*vm*vm + par[2]*w[0]*w[0] + par[3]*w[1]*w[1] + par[4]*w[2]*w[2]);
}
void gfosub_(int *id, double *time, double *par, int *npar, int *dflag, int *iflag, double *result) {
    for (int k = 0; k < 6; k++) result[k] = par[0] * (k + 1) * (1.0 + *time);
}
void GSESUB(int *id, double *time, double *par, int *npar, int *dflag, int *iflag, int *nstate,
            double *states, int *ninput, double *input, int *noutpt, double *stated, double *output) {
    for (int k = 0; k < *nstate; k++) stated[k] = input[0] - (k + 1) * states[k];
    for (int k = 0; k < *noutpt; k++) output[k] = (k + 2) * input[0] + 10 * *nstate;
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> str:
    return built(tmp_path_factory.mktemp("library"), "ke", C_SOURCE)


def test_compiled_library(library):
    """The name of a Windows library finds this system's; states are asked for through usersub.h."""
    energy = Reference_Variable(
        id=1,
        type="USERSUB",
        usrsub_dll_name=library,
        usrsub_param_string="USER(20, 4, 0.006, 0.005, 0.004)",
    )
    with pytest.warns(PlantWarning, match="it is compiled"):
        alone = Alone(slider("", energy, OUT, v=1.5))
    assert alone.output("y") == pytest.approx([0.5 * 4 * 1.5**2])


@pytest.mark.filterwarnings("ignore:.*it is compiled")
@pytest.mark.parametrize(("states", "outputs", "y"), [(0, 2, 3 * 0.5), (2, 0, 0.4), (1, 2, 3 * 0.5 + 10)])
def test_compiled_state_equation_without_states_or_outputs(library, states, outputs, y):
    """The input is DX = 0.5; states start at 0.4."""
    elements = [
        Reference_Variable(id=7, expr="DX(20)"),
        Reference_Array(id=1, type="U", num_element=1, variable_id=(7,)),
        Reference_Array(id=2, type="X", num_element=max(states, 1)),
        Reference_Array(id=3, type="Y", num_element=max(outputs, 1)),
        *([Reference_Array(id=4, type="IC", values=(0.4,) * states)] if states else []),
        Control_StateEqn(
            id=1,
            label="system",
            type="USERSUB",
            x_array_id=2,
            y_array_id=3,
            u_array_id=1,
            ic_array_id=4 if states else None,
            num_state=states,
            num_output=outputs,
            usrsub_dll_name=library,
        ),
        Reference_Variable(id=1, expr="ARYVAL(3,2)" if outputs else "ARYVAL(2,2)"),
        OUT,
    ]
    alone = Alone(slider("", *elements))
    assert alone.output("y") == pytest.approx([y])
    if states:
        rates = alone.derivative(0.0, alone.x0)[alone.slice("system")]
        assert rates == pytest.approx([0.5 - 0.4, 0.5 - 0.8][:states])


def test_compiled_force_with_a_fortran_name(library):
    force = Force_Vector_OneBody(
        id=1,
        type="FORCEANDTORQUE",
        marker_id=20,
        ref_marker_id=0,
        usrsub_dll_name=library,
        usrsub_param_string="USER(3)",
    )
    with pytest.warns(PlantWarning, match="it is compiled"):
        alone = Alone(slider("", force))
    assert alone.derivative(1.0, alone.x0)[alone.slice("rail.qd")] == pytest.approx([3.0 * 2 / 2])


def test_missing_function_and_library(library):
    for name, dll, part in (
        ("Nothing", library, "has no function 'Nothing'"),
        ("VARSUB", "x.dll", "tried x.dll"),
    ):
        lost = Reference_Variable(id=1, type="USERSUB", usrsub_dll_name=dll, usrsub_fnc_name=name)
        with pytest.raises(ModelError, match=part):
            trace(slider("", lost, OUT), {})
