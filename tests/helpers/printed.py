"""A flat function as printed and compiled C, to compare it with CasADi's virtual machine bit for bit."""

import ctypes

import casadi as ca
import numpy as np

from cosim.engines.codegen import callee_c, copies_c, print_c
from cosim.engines.codegen.planner import planned
from cosim.engines.native import bindings, compiler
from cosim.engines.native.build import RUNTIME


def printed(function, folder):
    """A callable (t, x, h, w, p) -> outputs made of printed and compiled C."""
    plan, called = planned(function, ["f"])
    body = plan.functions["f"]
    pieces = [piece for f in plan.every for piece in f.pieces]
    shapes = {s.number: s for f in plan.every for s in f.shapes}.values()
    callees = {print_c.callee_name(c): called[c.number] for c in plan.callees}
    calls = "".join(
        f"int {n}(const double **arg, double **res, long long *iw, double *w, int mem);\n" for n in callees
    )
    text = '#include "functions.h"\n' + calls
    texts = [*map(copies_c.shape, shapes), *(print_c.piece(p, plan.callees) for p in pieces)]
    text += "\n".join(f"static {text}" for text in texts)
    for name, parts in (("body", body.pieces), ("prepare", plan.prepare.pieces)):
        lines = "".join(f"{p.name}(a, out);" for p in parts)
        text += f"PL_EXPORT void {name}(const pl_args *a, double *out) {{ (void)a, (void)out; {lines} }}\n"
    sources = [
        ("f.c", text),
        *((f"{n}.c", callee_c.callee(n, f)) for n, f in callees.items()),
    ]
    for name, content in sources:
        (folder / name).write_text(content)
    cc = compiler.find()
    objects = cc.compile([folder / n for n, _ in sources], ["-O3"] * len(sources), RUNTIME, folder)
    cc.link(objects, folder / "f.so")
    library = ctypes.CDLL(str(folder / "f.so"))
    prepare, body_of = (
        bindings.ffi().cast("pl_function", ctypes.cast(getattr(library, name), ctypes.c_void_p).value)
        for name in ("prepare", "body")
    )
    v, iv = np.zeros(plan.doubles + 1), np.zeros(plan.integers + 1, np.int64)
    constants, out = np.zeros(plan.constants + 1), np.zeros(function.nnz_out(0))

    def call(t, *vectors):
        arrays = [np.array(a, dtype=float) for a in vectors]
        a = bindings.new("pl_args")
        a.t, a.iv = t, bindings.pointer(iv, "long long[]")
        for name, array in zip("xhwpcv", (*arrays, constants, v), strict=True):
            setattr(a, name, bindings.pointer(array))
        prepare(a, bindings.pointer(constants))
        body_of(a, bindings.pointer(out))
        return out.copy()

    return call, pieces


def symbols(*sizes):
    return [ca.SX.sym(name, n) for name, n in zip("txhwp", (1, *sizes), strict=True)]


def same(a, b):
    """Equal bits; one nan is as good as another."""
    both = np.isnan(a) & np.isnan(b)
    return np.where(both, 0.0, a).tobytes() == np.where(both, 0.0, b).tobytes()
