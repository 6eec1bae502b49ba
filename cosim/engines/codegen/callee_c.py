"""Functions that are called, as C: printed by CasADi's own generator, under names of ours."""

from __future__ import annotations

import tempfile
from pathlib import Path

import casadi as ca

from blocks.errors import PlantloopError
from cosim.engines.codegen.host_functions import calls_python


def callee(name: str, function: ca.Function) -> str:
    """A C file with a function of that name.

    Raises
    ------
    PlantloopError      it has no C code
    """
    if calls_python(function):
        raise PlantloopError(f"'{function.name()}' has no C code.", hint="Use engine='reference'.")
    generator = ca.CodeGenerator(f"{name}_file.c", {"with_header": False})
    generator.add(function)
    with tempfile.TemporaryDirectory() as place:
        generator.generate(place + "/")
        text = (Path(place) / f"{name}_file.c").read_text()
    # CasADi exports the function and a dozen questions about it under its own name, which need not be
    # unique. Ours takes their place.
    start = text.find(f"CASADI_SYMBOL_EXPORT int {function.name()}(")
    if start < 0:
        raise PlantloopError(f"CasADi printed no C code for '{function.name()}'.")
    own = (
        f"int {name}(const casadi_real **arg, casadi_real **res, casadi_int *iw, casadi_real *w, int mem);\n"
        f"int {name}(const casadi_real **arg, casadi_real **res, casadi_int *iw, casadi_real *w, int mem)\n"
        "{\n    return casadi_f0(arg, res, iw, w, mem);\n}\n"
    )
    body = text[:start].replace('extern "C" {', "")
    for name_of, sign in (
        ("fmin", "<"),
        ("fmax", ">"),
    ):  # as CasADi's virtual machine takes them, see functions.h
        body = body.replace(f"return {name_of}(x, y);", f"return x {sign}= y || y != y ? x : y;")
    return body + own
