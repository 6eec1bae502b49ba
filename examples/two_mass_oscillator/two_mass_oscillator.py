"""Two masses as two FMUs: what Jacobi and Gauss-Seidel make of them, against the exact maps of both schemes.

    |--k1, c1--[m1]--kc, cc--[m2]--k2, c2--|

Each mass is written as an FMU and coupled by the force in the middle, f = kc (x2 - x1) + cc (v2 - v1). With
inputs held over a step, both FMUs are linear maps from step to step, known exactly by matrix exponentials.
"""

import tempfile
from pathlib import Path

import numpy as np
from scipy.linalg import expm

from blocks import Demux, Function, Mux, StateSpace
from cosim import FMU, Diagram, Result, export_fmu, simulate

M1, M2 = 1.0, 2.0  # kg
K1, K2, KC = 100.0, 50.0, 80.0  # N/m
C1, C2, CC = 0.5, 0.2, 1.0  # N s/m
START = np.array([0.1, 0.0, -0.05, 1.0])  # x1 [m], v1 [m/s], x2, v2
STEP, UNTIL = 0.01, 1.0  # s, of communication; of the run

A1, B1 = np.array([[0.0, 1.0], [-K1 / M1, -C1 / M1]]), np.array([[0.0], [1 / M1]])
A2 = np.array([[0.0, 1.0], [-(K2 + KC) / M2, -(C2 + CC) / M2]])
B2 = np.array([[0.0, 0.0], [KC / M2, CC / M2]])


def held(A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Phi, Gamma of z(t + STEP) = Phi z + Gamma u with u held."""
    n, m = B.shape
    both = np.zeros((n + m, n + m))
    both[:n, :n], both[:n, n:] = A, B
    found = expm(both * STEP)
    return found[:n, :n], found[:n, n:]


def exact(order: str) -> np.ndarray:
    """x1, v1, x2, v2 at the end, by the map of a scheme."""
    (p1, g1), (p2, g2) = held(A1, B1), held(A2, B2)
    z1, z2 = START[:2], START[2:]
    for _ in range(round(UNTIL / STEP)):
        force = np.array([KC, CC]) @ (z2 - z1)
        new = p1 @ z1 + g1[:, 0] * force
        z2 = p2 @ z2 + g2 @ (new if order == "gauss-seidel" else z1)
        z1 = new
    return np.concatenate([z1, z2])


def unit(A: np.ndarray, B: np.ndarray, start: np.ndarray, inputs: tuple[str, ...]) -> Diagram:
    """What becomes an FMU: z' = A z + B u with outputs x and v."""
    d = Diagram("mass")
    d.add("z", StateSpace(A, B, np.eye(2), initial=start))
    d.add("u", Mux(len(inputs)))
    for k, name in enumerate(inputs, 1):
        d.connect(d.inport(name), f"u.in{k}")
    d.connect("u.out", "z.u")
    d.add("parts", Demux(2))
    d.connect("z.y", "parts.in")
    d.outport("x", "parts.out1")
    d.outport("v", "parts.out2")
    return d


def coupled(folder: Path) -> Diagram:
    """Both masses as FMUs in a diagram."""
    d = Diagram("two masses")
    drawn = {"one": unit(A1, B1, START[:2], ("f",)), "two": unit(A2, B2, START[2:], ("x1", "v1"))}
    for name, mass in drawn.items():
        path = export_fmu(mass, folder / f"{name}.fmu", kinds=("cs",), step=1e-4)
        d.add(name, FMU(path, sample=STEP))
    d.add("f", Function(lambda x1, v1, x2, v2: KC * (x2 - x1) + CC * (v2 - v1)))
    wires = "one.x f.x1, one.v f.v1, two.x f.x2, two.v f.v2, f.y one.f, one.x two.x1, one.v two.v1"
    for wire in wires.split(", "):
        d.connect(*wire.split())
    return d


def main() -> dict[str, Result]:
    """Run both schemes and compare their ends."""
    results = {}
    with tempfile.TemporaryDirectory() as name:
        d = coupled(Path(name))
        for order in ("jacobi", "gauss-seidel"):
            r = results[order] = simulate(d, UNTIL, coupling=order, log_at=[UNTIL])
            found = np.array([r[signal][-1, 0] for signal in ("one.x", "one.v", "two.x", "two.v")])
            print(f"{order}: x1, v1, x2, v2 = {found}")
            print(f"    known from matrix exponentials, off by {np.max(np.abs(found - exact(order))):.1e}")
            print(f"    {r.coupling.suggestion}")
    return results


if __name__ == "__main__":
    main()
