"""The signals of a flat system: what users see of its ports, by name."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

from blocks.contract.units import names_of
from cosim.compile.expressions import Expressions
from cosim.compile.gating import finite_or_zero
from cosim.compile.obeyed import ACTIVE
from cosim.compile.placed_block import PlacedBlock
from cosim.compile.rates import SignalRates
from cosim.compile.vectors import Vectors
from cosim.compile.wiring import ExternalInput
from cosim.system_parts import Signal


class ShownSignals:
    """Signals of placed blocks whose memories and parameters have their places."""

    def __init__(self, vectors: Vectors) -> None:
        self.v, self.placed, self.borders = vectors, vectors.placed, vectors.borders

    def found(self, between: Expressions) -> dict[str, Signal]:
        """All outputs, and the inputs of ports that hold, as seen behind the hold.

        Blocks the framework put before a port are seen through the port itself.
        """
        rates = SignalRates(self.placed)
        found = {}
        for inst in self.placed.values():
            d = inst.traced.declared
            if inst.before:
                continue
            for k, i in enumerate(d.inputs):
                if i.hold is not None:
                    source = inst.drivers[k]
                    value = shown_idle(between, inst, between.input(inst, k))
                    ticks = None if source is None else rates.rate_of(source)
                    name = f"{inst.path}.{i.name}"
                    units = names_of(self.v.units.inputs.get((inst.path, i.name), ()))
                    found[name] = Signal(name, value, i.labels, ticks, inst.path, units)
            for o in d.outputs:
                port = (inst.path, o.name)
                name = self.name_of(port)
                ticks = rates.rate_of(port)
                value = shown_idle(between, inst, between.cut_off.get(port, between.outputs[port]))
                units = names_of(self.v.units.outputs.get(port, ()))
                found[name] = Signal(name, value, o.labels, ticks, inst.path, units)
        return found

    def of_borders(self) -> dict[str, str]:
        """Signals by the names of the outputs of subsystems that show them."""
        outputs = {port: [o.name for o in i.traced.declared.outputs] for port, i in self.placed.items()}
        return {
            ".".join(border): self.name_of(behind[0])
            for border, behind in self.borders.items()
            if behind[0][1] in outputs[behind[0][0]]
        }

    def name_of(self, port: tuple[str, str]) -> str:
        """The name of an output's signal; an inport has its own name."""
        return port[0] if isinstance(self.placed[port[0]].block, ExternalInput) else ".".join(port)

    def states_to_log(self, signals: Mapping[str, Signal]) -> list[str]:
        """Continuous states of blocks that want them in every log."""
        wanted = {inst.path for inst in self.placed.values() if inst.traced.declared.states_logged}
        return [name for name, s in self.v.x.slots.items() if s.path in wanted and name not in signals]


def shown_idle(between: Expressions, inst: PlacedBlock, value: ca.SX) -> ca.SX:
    """A signal of a block; 0 where it is not finite while the part that the block is in is inactive.

    Such as a division that an `If` guards: it is computed there too, but nothing reads it.
    """
    names = [i.name for i in inst.traced.declared.inputs]
    if ACTIVE not in names or all(value[k].is_leaf() for k in range(value.numel())):
        return value
    active = between.input(inst, names.index(ACTIVE)) > 0.5
    return ca.densify(ca.if_else(active, value, finite_or_zero(value)))
