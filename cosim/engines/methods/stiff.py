"""What a stiff integrator needs of a system's derivative: its Jacobian as a function, and how to factor it.

A derivative without calls is differentiated symbolically. Through call nodes (a plant) and algebraic unknowns
it is not, since that code would grow with the square of the model: there one derivative along a direction is
enough, evaluated once per group of columns that share no row.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import casadi as ca
import numpy as np

from cosim.engines.methods import through_solutions
from cosim.engines.methods.turning import bodies_of
from cosim.system import System

SPARSE_FROM = 40  # states; below, dense matrices are faster


@dataclass(frozen=True)
class JacobianPlan:
    """Where the numbers of a Jacobian J (n, n) go; all lists are as `pl_stiff` describes them.

    sparse : factor diagonal*I - J on the pattern lu_*, with rows and columns in `order`
    """

    column_start: list[int]
    rows: list[int]
    colour_start: list[int]
    colour_columns: list[int]
    sparse: bool
    order: list[int]
    lu_start: list[int]
    lu_column: list[int]
    lu_diagonal: list[int]
    lu_place: list[int]

    def note(self) -> dict[str, object]:
        """As a cache entry keeps it."""
        return asdict(self)


def linearised(system: System) -> tuple[ca.Function, JacobianPlan]:
    """Function (t, x, h, w, p) for the Jacobian of the derivative, and the plan that says what it returns.

    Without colours: all nonzeros of J, column after column, then df/dt. With colours x is followed by a
    direction (dx, dt), and the function is the rate of the derivative along it, unknowns moving along.
    """
    s, n, m = system, system.x.numel(), system.residual.numel()
    z = s.w[:m]
    pattern = ca.jacobian_sparsity(s.derivative, s.x)
    if m:
        through = [ca.DM(ca.jacobian_sparsity(e, v), 1.0) for e, v in ((s.derivative, z), (s.residual, s.x))]
        pattern = pattern + (through[0] @ ca.DM.ones(m, m) @ through[1]).sparsity()
    turning = _turning(system)
    pattern = pattern + turning
    if m or _calls(s.function("derivative", lambda: [s.derivative])):
        dx, dt = ca.SX.sym("dx", n), ca.SX.sym("dt")

        def along(e: ca.SX) -> ca.SX:
            return ca.jtimes(e, s.x, dx) + ca.jtimes(e, s.t, dt)

        value, x = along(s.derivative), ca.vertcat(s.x, dx, dt)
        if m:
            value -= ca.jtimes(s.derivative, z, ca.solve(ca.jacobian(s.residual, z), along(s.residual)))
        colours = pattern.uni_coloring(pattern.T)
        groups = np.array(colours.colind()), np.array(colours.row())
    else:
        found = through_solutions.jacobian(system)
        by_x, by_t = found or (ca.jacobian(s.derivative, s.x), ca.jacobian(s.derivative, s.t))
        pattern = pattern if found else by_x.sparsity() + turning
        numbers = ca.vec(ca.project(by_x, pattern).nz[:])  # none of one state are of shape (1, 0)
        value, x = ca.vertcat(numbers, ca.densify(by_t)), s.x
        groups = np.zeros(1, int), np.zeros(0, int)
    function = ca.Function("f", [s.t, x, s.h, s.w, s.p], [ca.densify(value)])
    return function, plan(pattern, *groups)


def _turning(system: System) -> ca.Sparsity:
    """Where frames that turn with bodies add to a Jacobian: in blocks of attitude, place and velocity."""
    n = system.x.numel()
    pairs = [
        (i, j)
        for row in bodies_of(system)
        for block in (row[:4], row[4:7], row[10:13])
        for i in block[block >= 0]
        for j in block[block >= 0]
    ]
    rows, columns = zip(*pairs, strict=True) if pairs else ((), ())
    return ca.Sparsity.triplet(n, n, [int(i) for i in rows], [int(j) for j in columns])


def _calls(function: ca.Function) -> bool:
    return any(function.instruction_id(k) == ca.OP_CALL for k in range(function.n_instructions()))


def plan(pattern: ca.Sparsity, colour_start: np.ndarray, colour_columns: np.ndarray) -> JacobianPlan:
    """Dense for few states or much fill, else a fill-reducing order and the pattern of both factors."""
    n = pattern.size1()
    start, rows = np.array(pattern.colind()), np.array(pattern.row(), dtype=int)
    columns = np.repeat(np.arange(n), np.diff(start))
    factors = [np.zeros(0, int)] * 5
    sparse = False
    if n >= SPARSE_FROM:
        found = [_fill(order, rows, columns) for order in _orders(rows, columns, n)]
        work, filled = min(found, key=lambda f: f[0])
        sparse = 9 * work <= n**3  # dense elimination takes n^3/3, of less work each
        factors = filled if sparse else factors
    a, b, c, d = (v.tolist() for v in (start, rows, colour_start, colour_columns))
    order, lu_start, lu_column, lu_diagonal, lu_place = (v.tolist() for v in factors)
    return JacobianPlan(a, b, c, d, sparse, order, lu_start, lu_column, lu_diagonal, lu_place)


def _orders(rows: np.ndarray, columns: np.ndarray, n: int) -> list[np.ndarray]:
    """Orders of elimination to choose from: minimum degree, and as it is."""
    values = np.full(len(rows), -1.0 / n)
    from scipy.sparse import coo_matrix, csc_matrix, eye
    from scipy.sparse.linalg import splu

    matrix = csc_matrix(coo_matrix((values, (rows, columns)), shape=(n, n)) + 2.0 * eye(n))
    options = {"SymmetricMode": True}
    degree = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options).perm_c
    return [np.argsort(degree), np.array(degree), np.arange(n)]


def _fill(order: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> tuple[int, list[np.ndarray]]:
    """Multiplications of a factorisation with pivots on the diagonal, and the pattern of L and U by rows.

    Rows are sets of columns kept as the bits of an integer.
    """
    n = len(order)
    position = np.empty(n, int)
    position[order] = np.arange(n)
    pattern = [1 << i for i in range(n)]
    for i, j in zip(position[rows].tolist(), position[columns].tolist(), strict=True):
        pattern[i] |= 1 << j
    upper: list[int] = []  # columns right of the diagonal
    work = 0
    for i in range(n):
        row, left = pattern[i], (1 << i) - 1
        todo = row & left
        while todo:
            k = (todo & -todo).bit_length() - 1
            row |= upper[k]
            work += upper[k].bit_count()
            todo = row & left & ~((2 << k) - 1)
        pattern[i] = row
        upper.append(row >> (i + 1) << (i + 1))
    bits = [np.flatnonzero(_bits(row, n)) for row in pattern]
    starts = np.cumsum([0, *map(len, bits)])
    diagonal = starts[:-1] + [int(np.searchsorted(b, i)) for i, b in enumerate(bits)]
    place = [
        starts[i] + int(np.searchsorted(bits[i], j))
        for i, j in zip(position[rows], position[columns], strict=True)
    ]
    return work, [order, starts, np.concatenate(bits), diagonal, np.array(place, int)]


def _bits(row: int, n: int) -> np.ndarray:
    raw = np.frombuffer(row.to_bytes(n // 8 + 1, "little"), np.uint8)
    return np.unpackbits(raw, bitorder="little")
