"""A flat function as printed and compiled C, to compare it with CasADi's virtual machine bit for bit."""

import ctypes

import casadi as ca
import numpy as np

from cosim.engines.native import bindings, compiler, emit
from cosim.engines.native.build import RUNTIME
from cosim.engines.native.generate import _callee


def printed(function, folder):
    """A callable (t, x, h, w, p) -> outputs made of printed and compiled C."""
    scratch = emit.Scratch()
    bodies, prepare = emit.emit(function, ["f"], scratch)
    body = bodies["f"]
    pieces = [*body.pieces, *prepare.pieces]
    shapes = {**body.shapes, **prepare.shapes}
    calls = "".join(
        f"int {n}(const double **arg, double **res, long long *iw, double *w, int mem);\n"
        for n in scratch.callees
    )
    text = '#include "functions.h"\n' + calls
    text += "\n".join(f"static {text}" for text in [*shapes.values(), *(p.text for p in pieces)])
    for name, parts in (("body", body.pieces), ("prepare", prepare.pieces)):
        lines = "".join(f"{p.name}(a, out);" for p in parts)
        text += f"PL_EXPORT void {name}(const pl_args *a, double *out) {{ (void)a, (void)out; {lines} }}\n"
    sources = [
        ("f.c", text),
        *((s.name, s.text) for s in (_callee(n, f) for n, f in scratch.callees.items())),
    ]
    for name, content in sources:
        (folder / name).write_text(content)
    for header in RUNTIME.glob("*.h"):
        (folder / header.name).write_text(header.read_text())
    cc = compiler.find()
    cc.link(cc.compile([folder / n for n, _ in sources], ["-O2"] * len(sources), folder), folder / "f.so")
    library = ctypes.CDLL(str(folder / "f.so"))
    v, iv = np.zeros(scratch.doubles + 1), np.zeros(scratch.integers + 1, np.int64)
    constants, out = np.zeros(scratch.constants + 1), np.zeros(function.nnz_out(0))

    def call(t, *vectors):
        arrays = [np.array(a, dtype=float) for a in vectors]
        a = bindings.Arguments(t, *map(bindings.address, (*arrays, constants, v, iv)))
        library.prepare(ctypes.byref(a), ctypes.c_void_p(bindings.address(constants)))
        library.body(ctypes.byref(a), ctypes.c_void_p(bindings.address(out)))
        return out.copy()

    return call, pieces


def symbols(*sizes):
    return [ca.SX.sym(name, n) for name, n in zip("txhwp", (1, *sizes), strict=True)]


def same(a, b):
    """Equal bits; one nan is as good as another."""
    both = np.isnan(a) & np.isnan(b)
    return np.where(both, 0.0, a).tobytes() == np.where(both, 0.0, b).tobytes()
