"""Cart-pole with a sampled state feedback: the native engine beside hand-written C, and the reference engine.

    python -m benchmarks.cartpole

10 s, rk4 with 1 ms, controller at 100 Hz, logged every 10 ms. The hand-written loop is compiled by the same
compiler with the same flags. Every time stands beside its error at 1 s against DOP853 at 1e-12.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp

from benchmarks.cartpole_model import GAIN, START, closed_loop, from_file
from cosim import simulate
from cosim.engine.compiler import FLAGS, find

UNTIL, STEP, SAMPLE = 10.0, 1e-3, 0.01

BY_HAND = """
#include <math.h>
static const double M = 1.0, m = 0.1, l = 0.5, k = 10.0, c = 1.0, g = 9.81;

static inline void f(const double *x, double u, double *dx)
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

__attribute__((visibility("default")))
void run(double *x, const double *K, long samples, double *log)
{
    const double h = 1e-3;
    double a[4], b[4], d[4], e[4], y[4];
    for (long n = 0; n < samples; n++) {
        const double u = -(K[0] * x[0] + K[1] * x[1] + K[2] * x[2] + K[3] * x[3]);
        double *row = log + 6 * n;
        row[0] = n * 0.01;
        for (int i = 0; i < 4; i++) row[1 + i] = x[i];
        row[5] = u;
        for (int s = 0; s < 10; s++) {
            f(x, u, a);
            for (int i = 0; i < 4; i++) y[i] = x[i] + h / 2 * a[i];
            f(y, u, b);
            for (int i = 0; i < 4; i++) y[i] = x[i] + h / 2 * b[i];
            f(y, u, d);
            for (int i = 0; i < 4; i++) y[i] = x[i] + h * d[i];
            f(y, u, e);
            for (int i = 0; i < 4; i++) x[i] += h / 6 * (a[i] + 2 * (b[i] + d[i]) + e[i]);
        }
    }
}
"""


def by_hand() -> Callable[[], np.ndarray]:
    """The hand-written loop; returns its log (samples, 6)."""
    place = Path(tempfile.mkdtemp())
    (place / "hand.c").write_text(BY_HAND)
    library = place / "hand.so"
    command = [*find().command, *FLAGS, "-O2", "-shared", "-o", str(library), str(place / "hand.c"), "-lm"]
    subprocess.run(command, check=True)
    loop = ctypes.CDLL(str(library)).run
    loop.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long, ctypes.c_void_p]
    gain, samples = np.array(GAIN), round(UNTIL / SAMPLE)
    log = np.zeros((samples, 6))

    def run() -> np.ndarray:
        x = np.array(START)
        loop(x.ctypes.data, gain.ctypes.data, samples, log.ctypes.data)
        return log

    return run


def exact(until: float = 1.0) -> np.ndarray:
    """State at `until` by DOP853 at 1e-12 from sample to sample."""

    def f(_: float, x: np.ndarray, u: float) -> list[float]:
        M, m, l, k, c, g = 1.0, 0.1, 0.5, 10.0, 1.0, 9.81
        inertia, coupling = m * l * l / 3 + m * l * l, m * l * np.cos(x[1])
        cart = u - k * x[0] - c * x[2] + m * l * np.sin(x[1]) * x[3] ** 2
        pole = m * g * l * np.sin(x[1])
        det = (M + m) * inertia - coupling**2
        return [
            x[2],
            x[3],
            (inertia * cart - coupling * pole) / det,
            ((M + m) * pole - coupling * cart) / det,
        ]

    x = np.array(START)
    for _ in range(round(until / SAMPLE)):
        u = -float(np.dot(GAIN, x))
        x = solve_ivp(f, (0, SAMPLE), x, "DOP853", rtol=1e-12, atol=1e-14, args=(u,)).y[:, -1]
    return x


def fastest(run: Callable[[], object], times: int) -> float:
    """Shortest wall time of a call [s]."""
    best = np.inf
    for _ in range(times):
        began = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - began)
    return float(best)


def main() -> dict[str, float]:
    """Print the table; returns wall times [s] by row."""
    d, steps, at = closed_loop(SAMPLE), round(UNTIL / STEP), exact()
    hand = by_hand()

    def run(engine: str, **more: object):
        return simulate(d, UNTIL, engine=engine, log_every=SAMPLE, **more)  # type: ignore[arg-type]

    fixed = {"solver": "rk4", "step": STEP}
    began = time.perf_counter()
    first = run("native", **fixed)
    build = time.perf_counter() - began
    inner = [run("native", **fixed).statistics["wall time [s]"] for _ in range(30)]
    rows = {
        "hand-written C": (fastest(hand, 30), hand()[100, 1:5]),
        "native, inner loop": (min(inner), first["plant.state"][100]),
        "native, simulate()": (fastest(lambda: run("native", **fixed), 20), first["plant.state"][100]),
        "native, dopri5 1e-8": (fastest(lambda: run("native"), 20), run("native")["plant.state"][100]),
        "reference, simulate()": (
            fastest(lambda: run("reference", **fixed), 2),
            run("reference", **fixed)["plant.state"][100],
        ),
    }
    limit = rows["hand-written C"][0]
    print(f"first simulate(): {build:.3f} s   (compiled, or taken from the cache)")
    print(f"{'':24s} {'ms':>9s} {'ns/step':>9s} {'x by hand':>10s} {'error':>9s}")
    for name, (seconds, state) in rows.items():
        error = np.abs(state - at).max()
        per_step, ratio = seconds / steps * 1e9, seconds / limit
        print(f"{name:24s} {seconds * 1e3:9.3f} {per_step:9.1f} {ratio:10.2f} {error:9.1e}")
    return {name: seconds for name, (seconds, _) in rows.items()} | {"native, XML plant": deck()}


def deck() -> float:
    """The plant read from a multibody deck, inner loop: prints and returns the wall time of 10 s [s]."""
    d = from_file(SAMPLE)

    def run(**more: object):
        start = {"plant.hinge.q": 0.1}
        return simulate(d, UNTIL, engine="native", initial=start, log_every=SAMPLE, **more)  # type: ignore[arg-type]

    exact = run(rtol=1e-12, atol=1e-14)["plant.slider"][100]
    found = [run(solver="rk4", step=STEP) for _ in range(20)]
    seconds = min(r.statistics["wall time [s]"] for r in found)
    error = np.abs(found[0]["plant.slider"][100] - exact).max()
    per_step = seconds / round(UNTIL / STEP) * 1e9
    print(f"{'native, XML plant':24s} {seconds * 1e3:9.3f} {per_step:9.1f} {'':10s} {error:9.1e}")
    return float(seconds)


if __name__ == "__main__":
    main()
