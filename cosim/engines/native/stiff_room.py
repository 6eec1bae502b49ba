"""Room for the numbers of stiff runs: the Jacobian and its factors."""

from __future__ import annotations

import numpy as np

from cosim.engines.methods.rosenbrock import RODAS
from cosim.engines.methods.turning import bodies_of
from cosim.engines.native import bindings as b
from cosim.engines.native.build import compiled_jacobian
from cosim.engines.native.methods import take
from cosim.system import System

# doubles that have room for others
ROOM = {"iv": "long long[]", "pivots": "int32_t[]", "frames": "pl_frame[]"}


class StiffRoom:
    """Additional data of a stiff run: the compiled Jacobian and room for its numbers and factors."""

    def __init__(self, system: System) -> None:
        found, n = compiled_jacobian(system), len(system.x0)
        t = found.tables
        self.host_functions, self.numbers = found.host_functions, found.numbers
        self.table = table = b.new("pl_stiff")
        table.code = found.code
        take(table, RODAS)
        table.n_colours, table.sparse = len(t["colour_start"]) - 1, found.sparse
        sizes = {"c": found.code.nc, "v": found.code.nv, "iv": found.code.niv, "seed": 2 * n + 1}
        sizes |= {"jacobian": len(t["rows"]) + n, "slope": n, "work": n, "factors": len(t["lu_column"])}
        frames = len(bodies_of(system)) * (b.size("pl_frame") // 8)
        # pages of a matrix that nobody touches cost nothing
        sizes |= {"dense": n * n, "pivots": n, "frames": frames, "z": n, "z1": n}
        self._arrays = t | {name: np.zeros(size + 1) for name, size in sizes.items()}
        for name, array in self._arrays.items():
            setattr(table, name, b.pointer(array, ROOM.get(name, "")))
