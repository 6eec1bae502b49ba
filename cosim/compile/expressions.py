"""Values of outputs and memories as expressions of the system's own symbols, evaluated in order."""

from __future__ import annotations

from functools import cached_property
from itertools import accumulate

import casadi as ca

from blocks.contract.declared import Input
from cosim.compile.netlist import Port
from cosim.compile.obeyed import ACTIVE
from cosim.compile.placed_block import PlacedBlock
from cosim.compile.signal_nodes import SignalNode


class Expressions:
    """Expressions of the outputs of every block; `output` is called in dependency order.

    `changed` holds outputs and memories that differ from those of `base`: a segment of the schedule puts
    new values of memories in place of their symbols and evaluates the outputs behind them again.
    """

    def __init__(
        self,
        placed: dict[str, PlacedBlock],
        t: ca.SX,
        base: Expressions | None = None,
        added: dict[Port, ca.SX] | None = None,
        opened: frozenset[Port] = frozenset(),
    ) -> None:
        self.placed, self.t, self.base = placed, t, base
        self.added = added or {}  # perturbations of outputs, and of inputs that no output is named like
        self.opened = opened  # outputs of which what is added takes the place
        self.cut_off: dict[Port, ca.SX] = {}  # what those are themselves
        self.assumed: list[ca.SX] = [] if base is None else base.assumed  # unknowns of loops
        self.outputs: dict[Port, ca.SX] = {}
        self.memories: dict[tuple[str, str], ca.SX] = {}
        self._all: dict[str, dict[str, ca.SX]] = {}

    @cached_property
    def moving(self) -> frozenset[int]:
        """Symbols that change between ticks: time, states, unknowns and delayed signals, by their hash."""
        if self.base is not None:
            return self.base.moving
        symbols = [self.t, *self.assumed]
        for inst in self.placed.values():
            symbols += [inst.symbols[m.name] for m in inst.traced.declared.memories if m.moves]
        return frozenset(s.element_hash() for s in ca.symvar(ca.vertcat(*symbols)))

    def with_new_values(self) -> Expressions:
        """A layer over these expressions, in which memories take new values."""
        return Expressions(self.placed, self.t, self, self.added, self.opened)

    def output(self, node: SignalNode) -> None:
        """Evaluate an output, or one component of it."""
        value = self.of(node.path, f"y:{node.name}", self.placed[node.path].output(node.name).expression)
        port = (node.path, node.name)
        if port in self.opened:
            self.cut_off[port], value = value, self.added[port]
        elif port in self.added:
            value = value + self.added[port]
        self._assign(node, value if node.component is None else value[node.component])

    def _assign(self, node: SignalNode, value: ca.SX) -> None:
        port = (node.path, node.name)
        if node.component is None:
            self.outputs[port] = value
            return
        whole = self.outputs.get(port)
        if whole is None:
            old = self.base.find(port) if self.base else None
            size = self.placed[node.path].output(node.name).size
            whole = ca.SX.nan(size) if old is None else ca.SX(old)
            self.outputs[port] = whole
        whole[node.component] = value

    def assume(self, node: SignalNode, symbol: ca.SX) -> None:
        """Take an unknown as the value of an output."""
        self.assumed.append(symbol)
        self._assign(node, symbol)

    def mismatch(self, node: SignalNode) -> ca.SX:
        """The value of an output by its equations, 0 in an inactive part, minus the assumed value."""
        value = self.of(node.path, f"y:{node.name}", self.placed[node.path].output(node.name).expression)
        port = (node.path, node.name)
        if port in self.added:
            value = value + self.added[port]
        inst = self.placed[node.path]
        names = [i.name for i in inst.traced.declared.inputs]
        if ACTIVE in names:
            on = self.input(inst, names.index(ACTIVE)) > 0.5
            value = ca.densify(ca.if_else(on, value, 0.0))
        difference: ca.SX = value - self.outputs[port]
        return difference if node.component is None else difference[node.component]

    def sample(self, node: SignalNode) -> None:
        """Evaluate a sampled memory; blocks evaluated later in this layer see the new value."""
        key = (node.path, node.name)
        memory = self.placed[node.path].refreshed(node.name)
        value = self.of(node.path, f"m:{node.name}", memory.reads)
        if node.component is None:
            self.memories[key] = value
            return
        whole = ca.SX(self.memories.get(key, self.placed[node.path].symbols[node.name]))
        whole[node.component] = value[node.component]
        self.memories[key] = whole

    def find(self, port: Port) -> ca.SX | None:
        """Expression of an output as far as it is evaluated."""
        value = self.outputs.get(port)
        return self.base.find(port) if value is None and self.base else value

    def of(self, path: str, name: str, expression: ca.SX) -> ca.SX:
        """Any expression of a block, in the system's symbols."""
        inst = self.placed[path]
        found = inst.traced.part(name, expression)
        return found(self.t, self._own(inst), inst.p, inst.ticks, lambda k: self.input(inst, k))

    def memory(self, path: str, name: str) -> ca.SX:
        """New value (derivative, next or sampled value) of a memory; all of a block are found at once."""
        if path not in self._all:
            traced = self.placed[path].traced
            values = self.of(path, "memories", traced.new_values)
            found, start = {}, 0
            for m in traced.evolving:
                found[m.name] = values[start : start + m.size]
                start += m.size
            self._all[path] = found
        return self._all[path][name]

    def of_events(self, path: str) -> list[ca.SX]:
        """Crossing and new values of each event of a block in turn; all are found at once.

        So a function of Python that gives many crossings is called once for all of them.
        """
        events = self.placed[path].traced.declared.events
        if not events:
            return []
        parts = [part for e in events for part in (e.crossing, *(value for _, value in e.resets))]
        whole = self.of(path, "events", ca.densify(ca.vertcat(ca.SX(0, 1), *parts)))
        return list(ca.vertsplit(whole, [0, *accumulate(part.numel() for part in parts)]))

    def _own(self, inst: PlacedBlock) -> ca.SX:
        """(n,) memories of a block, with the new values of those that have them."""
        memories = inst.traced.declared.memories
        if not self.memories or not any((inst.path, m.name) in self.memories for m in memories):
            return inst.own
        return ca.vertcat(*[self.memories.get((inst.path, m.name), inst.symbols[m.name]) for m in memories])

    def input(self, inst: PlacedBlock, k: int) -> ca.SX:
        """The signal at the k-th input of a block; nan where it is not evaluated yet."""
        port, source = inst.traced.declared.inputs[k], inst.drivers[k]
        value = _unconnected(port) if source is None else self.find(source)
        if value is None:
            value = ca.SX.nan(port.size)
        key = (inst.path, port.name)
        if key in self.added and all(o.name != port.name for o in inst.traced.declared.outputs):
            value = value + self.added[key]
        return value


def _unconnected(port: Input) -> ca.SX:
    """The value of an input that nothing is connected to."""
    return ca.SX.zeros(port.size) if port.unconnected is None else ca.SX(list(port.unconnected))
