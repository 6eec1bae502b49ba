"""The equations of a block as functions of time, states and inputs, for estimators made of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from blocks.contract.block import Block
from blocks.contract.declared import Declared
from blocks.contract.memories import ContinuousState
from blocks.contract.symbols import Array, as_array, column
from blocks.contract.trace import trace
from blocks.errors import BlockError, near_miss, shown

Ports = tuple[tuple[str, tuple[int, ...]], ...]

COMPONENT = re.compile(r"(.+)\[(\d+)\]", re.DOTALL)


@dataclass(frozen=True)
class PlantLaw:
    """x' or outputs of a block as a function of (t, x, u); inputs that are not in u are zero.

    block : with continuous states alone; wanted : outputs, or None for x'
    inputs : what u is made of, in this order

    Both are names of ports with the components that are meant, (name, (k, ...)).
    """

    block: Block
    inputs: Ports
    wanted: Ports | None

    def __call__(self, t: Any, x: Array, u: Array) -> Array:
        """Its value, with symbols for the arguments."""
        declared = trace(self.block, {}, guess=1).declared
        (value,) = self._function(declared).call([column(t), column(x), column(u)], True, False)
        return as_array(value)

    def _function(self, declared: Declared) -> ca.Function:
        states = [m for m in declared.memories if isinstance(m, ContinuousState)]
        if self.wanted is None:
            value = ca.vertcat(*[m.expression for m in states if m.expression is not None])
        else:
            outputs = {o.name: o for o in declared.outputs}
            value = ca.vertcat(*[outputs[name].expression[list(k)] for name, k in self.wanted])
        used = {i.name: i.symbol for i in declared.inputs}
        given = {(name, k) for name, places in self.inputs for k in places}
        known: list[tuple[ca.SX, Any]] = [(q.symbol, q.value[q.mask]) for q in declared.parameters if q.size]
        known += [
            (s[k], np.zeros(1)) for n, s in used.items() for k in range(s.numel()) if (n, k) not in given
        ]
        if known:
            symbols, numbers = zip(*known, strict=True)
            value = ca.substitute(value, ca.vertcat(*symbols), ca.SX(ca.DM(np.concatenate(numbers))))
        other = [m for m in declared.memories if not isinstance(m, ContinuousState)]
        for m in other:
            if ca.depends_on(value, m.symbol):
                raise BlockError(
                    f"an estimator of {type(self.block).__name__} needs equations in continuous states "
                    f"alone; these depend on '{m.name}', {m.word}.",
                    hint="Give f and h yourself, or a plant without switches, samples and delays.",
                )
        if declared.invariants and self.wanted is None:
            raise BlockError(
                f"an estimator of {type(self.block).__name__} needs independent states; its "
                "states are tied by constraints.",
                hint="Give f and h in independent coordinates.",
            )
        x = ca.vertcat(ca.SX(0, 1), *[m.symbol for m in states])
        u = ca.vertcat(ca.SX(0, 1), *[used[name][list(k)] for name, k in self.inputs])
        return ca.Function("law", [declared.time, x, u], [ca.densify(value)])


@dataclass(frozen=True)
class PlantLaws:
    """f and h of a block, its initial state (n,), and how many inputs and outputs they have."""

    f: PlantLaw
    h: PlantLaw
    initial: tuple[float, ...]
    inputs: int

    @staticmethod
    def of(plant: Any, inputs: Sequence[str] | None, outputs: Sequence[str] | None) -> PlantLaws:
        """The laws of a plant; all inputs and outputs where none are named.

        Raises
        ------
        BlockError    no block, an unknown port, or equations with more than continuous states
        """
        if not isinstance(plant, Block):
            raise BlockError(
                f"plant is {shown(plant)}, expected a block with continuous states.", value=plant
            )
        traced = trace(plant, {}, guess=1)
        declared, numbers = traced.declared, traced.values(plant)
        ins = _ports("inputs", inputs, {i.name: i.size for i in declared.inputs})
        outs = _ports("outputs", outputs, {o.name: o.size for o in declared.outputs if not o.auxiliary})
        states = [m for m in declared.memories if isinstance(m, ContinuousState)]
        if not states:
            raise BlockError(f"{type(plant).__name__} has no continuous states to be estimated.", value=plant)
        initial = np.concatenate([numbers.initial[m.name] for m in states])
        f, h = PlantLaw(plant, ins, None), PlantLaw(plant, ins, outs)
        for law in (f, h):
            law._function(declared)
        return PlantLaws(f, h, tuple(initial.tolist()), sum(len(k) for _, k in ins))


def _ports(what: str, given: Sequence[str] | None, sizes: dict[str, int]) -> Ports:
    """Ports by name, or components of them ("y[0]"); all where none are named."""
    if given is None:
        given = list(sizes)
    if not isinstance(given, (list, tuple)):
        raise BlockError(f"{what} is {shown(given)}, expected a list of names.", value=given)
    return tuple(_port(what, name, sizes) for name in given)


def _port(what: str, name: str, sizes: dict[str, int]) -> tuple[str, tuple[int, ...]]:
    if name in sizes:
        return name, tuple(range(sizes[name]))
    part = COMPONENT.fullmatch(name) if isinstance(name, str) else None
    if part is None or part[1] not in sizes:
        raise BlockError(f"{what}: no '{name}'; {near_miss(name, sizes)}", value=name)
    if int(part[2]) >= (size := sizes[part[1]]):
        raise BlockError(
            f"{what}: no component {part[2]} in '{part[1]}': it has {size}, counted from 0.", value=name
        )
    return part[1], (int(part[2]),)
