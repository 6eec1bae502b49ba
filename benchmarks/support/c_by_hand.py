"""C written by hand, compiled by the same compiler with the same flags as generated code."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from cosim.engines.native.compiler import FLAGS, find

_folders: list[tempfile.TemporaryDirectory[str]] = []

CARTPOLE = """
#include <math.h>
static const double M = 1.0, l = 0.5, k = 10.0, c = 1.0, g = 9.81;

static inline void f(const double *x, double u, double m, double *dx)
{
    const double inertia = m * (2 * l) * (2 * l) / 12 + m * l * l, total = M + m;
    const double sn = sin(x[1]), coupling = m * l * cos(x[1]);
    const double cart = u - k * x[0] - c * x[2] + m * l * sn * x[3] * x[3], pole = m * l * g * sn;
    const double det = total * inertia - coupling * coupling;
    dx[0] = x[2];
    dx[1] = x[3];
    dx[2] = (inertia * cart - coupling * pole) / det;
    dx[3] = (total * pole - coupling * cart) / det;
}

static inline void go(double *x, double m, const double *K, long samples, double *log)
{
    const double h = 1e-3;
    double a[4], b[4], d[4], e[4], y[4];
    for (long n = 0; n < samples; n++) {
        const double u = -(K[0] * x[0] + K[1] * x[1] + K[2] * x[2] + K[3] * x[3]);
        if (log) {
            double *row = log + 6 * n;
            row[0] = n * 0.01;
            for (int i = 0; i < 4; i++) row[1 + i] = x[i];
            row[5] = u;
        }
        for (int s = 0; s < 10; s++) {
            f(x, u, m, a);
            for (int i = 0; i < 4; i++) y[i] = x[i] + h / 2 * a[i];
            f(y, u, m, b);
            for (int i = 0; i < 4; i++) y[i] = x[i] + h / 2 * b[i];
            f(y, u, m, d);
            for (int i = 0; i < 4; i++) y[i] = x[i] + h * d[i];
            f(y, u, m, e);
            for (int i = 0; i < 4; i++) x[i] += h / 6 * (a[i] + 2 * (b[i] + d[i]) + e[i]);
        }
    }
}

__attribute__((visibility("default")))
void run(double *x, const double *K, long samples, double *log) { go(x, 0.1, K, samples, log); }

/* x is (runs, 4): initial states, then final ones */
__attribute__((visibility("default")))
void many(double *x, const double *m, const double *K, long runs, long samples)
{
    for (long i = 0; i < runs; i++) go(x + 4 * i, m[i], K, samples, 0);
}
"""

REPEAT = """
typedef void (*function)(const void *, double *);

__attribute__((visibility("default")))
void repeat(function f, const void *arguments, double *out, long times)
{
    for (long i = 0; i < times; i++) f(arguments, out);
}

/* nothing but arithmetic: what two threads gain here is what the machine has to give */
__attribute__((visibility("default")))
double empty(long times)
{
    double x = (double)times;
    for (long i = 0; i < times; i++) x = x * 0.999999 + 1e-6;
    return x;
}
"""


@cache
def library(source: str) -> ctypes.CDLL:
    """A C text as a loaded library; its files are gone when the process ends."""
    folder = tempfile.TemporaryDirectory(prefix="by-hand-", ignore_cleanup_errors=True)
    _folders.append(folder)
    place = Path(folder.name)
    (place / "hand.c").write_text(source)
    command = [*find().command, *FLAGS, "-O2", "-shared", "-o", str(place / "hand.so"), str(place / "hand.c")]
    subprocess.run([*command, "-lm"], check=True)
    found = ctypes.CDLL(str(place / "hand.so"))
    p, n = ctypes.c_void_p, ctypes.c_long
    for name, arguments in {"run": [p, p, n, p], "many": [p, p, p, n, n], "repeat": [p, p, p, n]}.items():
        if hasattr(found, name):
            getattr(found, name).argtypes, getattr(found, name).restype = arguments, None
    if hasattr(found, "empty"):
        found.empty.argtypes, found.empty.restype = [n], ctypes.c_double
    return found
