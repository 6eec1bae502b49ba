"""User subroutines in compiled libraries."""

from __future__ import annotations

import pytest

from blocks.contract.trace import trace
from blocks.errors import ModelError
from plant import PlantWarning
from plant.elements import Force_Vector_OneBody, Reference_Variable
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
