"""The functions of the run-time expression language, one entry each.

A function is added in the module of its family, nowhere else; a new family is one more module in `FAMILIES`.

==============  ==============================================================================
`displacement`  DM DX DY DZ, AX AY AZ AXU AYU AZU, PSI THETA PHI, YAW PITCH ROLL
`velocity`      VM VR VX VY VZ, WM WX WY WZ, ACCM ACCX ACCY ACCZ, WDTM WDTX WDTY WDTZ
`elements`      VARVAL ARYVAL DIF DIF1 PINVAL POUVAL SENVAL, FM FX ... TZ, SFORCE JOINT MOTION ...
`splines`       AKISPL CUBSPL QUISPL LINSPL FITSPL
`general`       IF, STEP STEP5 HAVSIN, SHF SWEEP FORCOS FORSIN POLY CHEBY, IMPACT BISTOP
`intrinsics`    ABS SQRT EXP SIN ATAN2 MOD SIGN DIM MAX MIN ...
==============  ==============================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType, ModuleType

from plant.expressions.functions import displacement, general, intrinsics, velocity
from plant.expressions.functions import element_values as elements
from plant.expressions.functions import spline_functions as splines
from plant.expressions.functions.entry import LanguageFunction

__all__ = ["FAMILIES", "FUNCTIONS", "LanguageFunction", "table"]

FAMILIES: tuple[ModuleType, ...] = (displacement, velocity, elements, splines, general, intrinsics)


def table(functions: Iterable[LanguageFunction]) -> Mapping[str, LanguageFunction]:
    """Functions by name; two with one name are an error."""
    named: dict[str, LanguageFunction] = {}
    for function in functions:
        if function.name in named:
            raise ValueError(
                f"two functions are called {function.name}: {named[function.name]} and {function}"
            )
        named[function.name] = function
    return MappingProxyType(named)


FUNCTIONS = table(function for family in FAMILIES for function in family.FUNCTIONS)
