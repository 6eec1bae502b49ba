"""Serial chain of n equal pin-jointed rods: time to build the plant, size of its equations.

    python -m benchmarks.chain 10 100 1000

Rods of 1 m and 1 kg, uniform, hinged about the global y axis, all along x at the start. Building covers
reading the XML text and tracing the block; both grow linearly with n.
"""

from __future__ import annotations

import sys
import time

import casadi as ca

PIN = 'a00="1" a10="0" a20="0" a01="0" a11="0" a21="-1" a02="0" a12="1" a22="0"'


def deck(n: int) -> bytes:
    """XML deck of the chain; joint k is labelled ``pin k``, output ``tip`` is the free end (x, z)."""
    lines = [
        '<MotionSolve><Model><Force_Gravity grav_z="-9.81"/>',
        '<Body_Rigid id="1" label="Ground" isground="TRUE"/>',
    ]
    for k in range(1, n + 1):
        lines.append(
            f'<Body_Rigid id="{k + 1}" label="rod {k}" cg_id="{10 * k}" mass="1" '
            'inertia_xx="0.001" inertia_yy="0.08333333333333333" inertia_zz="0.08333333333333333"/>'
            f'<Reference_Marker id="{10 * k}" body_id="{k + 1}" pos_x="{k - 0.5}"/>'
            f'<Reference_Marker id="{10 * k + 1}" body_id="{k + 1}" pos_x="{k - 1}" {PIN}/>'
            f'<Reference_Marker id="{10 * k + 2}" body_id="{k}" pos_x="{k - 1}" {PIN}/>'
            f'<Constraint_Joint id="{k}" label="pin {k}" type="REVOLUTE" i_marker_id="{10 * k + 1}" '
            f'j_marker_id="{10 * k + 2}"/>'
        )
    tip = 10 * n + 3
    lines.append(
        f'<Reference_Marker id="{tip}" body_id="{n + 1}" pos_x="{n}"/>'
        f'<Reference_Variable id="1" label="x" type="EXPRESSION" expr="DX({tip})"/>'
        f'<Reference_Variable id="2" label="z" type="EXPRESSION" expr="DZ({tip})"/>'
        '<Control_PlantOutput id="1" label="tip" variable_id_list="1 2"/></Model></MotionSolve>'
    )
    return "\n".join(lines).encode()


def main(sizes: list[int]) -> list[tuple[int, float, float, int]]:
    """Print and return (n, seconds to read, seconds to trace, instructions of the derivative)."""
    from blocks.trace import trace
    from plant import Plant

    rows = []
    for n in sizes:
        start = time.perf_counter()
        plant = Plant.read(deck(n))
        read = time.perf_counter()
        traced = trace(plant, {})
        built = time.perf_counter()
        states = [m.expression for m in traced.declared.memories_of("continuous")]
        count = traced.function("derivatives", ca.vertcat(*states)).n_instructions()
        rows.append((n, read - start, built - read, count))
        print(f"n={n:5d}  read {read - start:6.3f} s  trace {built - read:6.3f} s  {count} instructions")
    return rows


if __name__ == "__main__":
    main([int(a) for a in sys.argv[1:]] or [1, 10, 100, 1000])
