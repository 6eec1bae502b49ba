"""The flat system as a master sees it: the wires between units, and the dependencies of their inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import networkx as nx
import numpy as np

from blocks.contract.derived import Derived
from blocks.contract.driven import DrivenBlock
from blocks.contract.memories import Ticked
from blocks.errors import PlantloopError, near_miss
from cosim.columns import pick
from cosim.fmi.coupling.coupling import Coupling
from cosim.segments import ExternalSegment
from cosim.slots import MemorySlot
from cosim.system import System
from cosim.system_parts import CoupledUnit

OURS = -1
"""Number of our own blocks among the units."""


@dataclass(frozen=True)
class UnitPlaces:
    """The places of one unit in the system.

    inputs : its part of the vector of all inputs; y, slope, curvature, since : places in h, of sampled
        outputs y alone; parameters : in p
    smooth_inputs, smooth_outputs : (n,) bool    may be extrapolated
    late_inputs : (n,) bool    follow states of our own
    visited_inputs : (n,) bool    are given in visits at its points, not over steps
    """

    path: str
    block: DrivenBlock
    inputs: slice
    y: np.ndarray
    slope: np.ndarray
    curvature: np.ndarray
    since: int
    parameters: np.ndarray
    smooth_inputs: np.ndarray
    smooth_outputs: np.ndarray
    late_inputs: np.ndarray
    visited_inputs: np.ndarray

    def input_names(self) -> list[str]:
        """Names of the scalars of its inputs."""
        return _names(self.path, self.block.inputs)

    def output_names(self) -> list[str]:
        """Names of the scalars of its outputs."""
        return _names(self.path, self.block.outputs)


def _names(path: str, ports: tuple[object, ...]) -> list[str]:
    found: list[str] = []
    for port in ports:
        name, size = f"{path}.{port.name}", port.size  # type: ignore[attr-defined]
        found += [name] if size == 1 else [f"{name}[{k}]" for k in range(size)]
    return found


class CoupledSystem:
    """The facts about a system that a master needs; constant during a run.

    derived : what others find out from them, kept for all runs
    """

    def __init__(self, system: System, coupling: Coupling) -> None:
        self.system, self.coupling, self.derived = system, coupling, Derived()
        self.inputs = ca.vertcat(ca.SX(0, 1), *[u.inputs for u in system.units])
        self._smooth = self._find_smooth()
        ends = np.cumsum([0, *(unit.block.n_inputs for unit in system.units)]).tolist()
        self.n_inputs = ends[-1]
        self.reads = self._find_reads()
        self.units = [self._places(unit, slice(*ends[k : k + 2])) for k, unit in enumerate(system.units)]
        self.names = [name for u in self.units for name in u.input_names()]
        self.order, self.cut = self._ordered()
        ports = [p for u in self.units for p in (*u.block.inputs, *u.block.outputs)]
        self.single = any(p.single for p in ports)  # do units round to single precision?

    def _places(self, unit: CoupledUnit, inputs: slice) -> UnitPlaces:
        held, path = self.system.held, unit.path
        none = np.zeros(0, int)
        y, slope, curvature, since = (
            held[f"{path}.{n}"].index if f"{path}.{n}" in held else none
            for n in ("y", "slope", "curvature", "since")
        )
        parameters = [self.system.parameters[f"{path}.{q.name}"].index for q in unit.block.parameters]
        takes = [np.full(p.size, p.continuous) for p in unit.block.inputs]
        visited = [np.full(p.size, p.visited) for p in unit.block.inputs]
        no = np.zeros(0, bool)
        return UnitPlaces(
            path, unit.block, inputs, y, slope, curvature, int(since[0]) if len(since) else -1,
            np.concatenate([np.zeros(0, int), *parameters]),
            np.concatenate([no, *takes]) & self._smooth[inputs], unit.block.smooth_outputs,
            self.reads[inputs, OURS], np.concatenate([no, *visited]),
        )  # fmt: skip

    def _find_smooth(self) -> np.ndarray:
        """Inputs that no sampled block of ours feeds, and no held output of a unit: may be extrapolated."""
        s = self.system
        of_units = {f"{u.path}.y": u.block for u in s.units}
        stairs = [np.zeros(0, int)]
        stairs += [slot.index for name, slot in s.held.items() if _ticked(slot) and name not in of_units]
        for name, block in of_units.items():
            stairs.append(s.held[name].index[~block.smooth_outputs])
        return ~_depends(self.inputs, pick(s.h, np.concatenate(stairs)))

    # --- who depends on whom ----------------------------------------------------------------------
    def _find_reads(self) -> np.ndarray:
        """(inputs, units + 1) bool: whether an input depends on a unit's outputs, or (last) on our states."""
        s = self.system
        table = np.zeros((self.n_inputs, len(s.units) + 1), bool)
        for k, unit in enumerate(s.units):
            table[:, k] = _depends(self.inputs, pick(s.h, s.held[f"{unit.path}.y"].index))
        table[:, OURS] = _depends(self.inputs, s.x)
        if s.w.numel():
            table |= _depends(self.inputs, s.w)[:, None]  # a loop or a delay depends on everything
        return table

    def follows(self, places: Sequence[np.ndarray]) -> np.ndarray:
        """(inputs,) bool: the inputs of units that depend on some places in h."""
        symbols = pick(self.system.h, np.concatenate([np.zeros(0, int), *places]))
        return _depends(self.inputs, symbols)

    def assumed_signals(self) -> np.ndarray:
        """(n,) bool: outputs and inputs of each unit that are about what units assume over a step.

        Not those of inputs that are given in visits, nor outputs that no other input depends on.
        """
        taken = ~np.concatenate([np.zeros(0, bool), *(u.visited_inputs for u in self.units)])
        ours = self.reads[taken, OURS].any()
        found = [np.zeros(0, bool)]
        for k, u in enumerate(self.units):
            found += [np.full(len(u.y), ours or self.reads[taken, k].any()), ~u.visited_inputs]
        return np.concatenate(found)

    def _ours_reads(self) -> dict[int, list[int]]:
        """The outputs of each unit that our own states depend on, by number."""
        s = self.system
        found: dict[int, list[int]] = {}
        for k, u in enumerate(self.units):
            read = [
                i
                for i, place in enumerate(u.y)
                if s.w.numel() or _depends(s.derivative, s.h[int(place)]).any()
            ]
            if read and s.x.numel():
                found[k] = read
        return found

    @property
    def waits(self) -> bool:
        """Whether our own states use, during a step, outputs that units deliver at its end."""
        c = self.coupling
        if c.rtol is not None or not self.system.x.numel():
            return False
        before = self.order[: self.order.index(OURS)] if c.order == "gauss-seidel" else []
        return bool(c.iterate) or any(k in self._ours_reads() for k in before)

    def graph(self) -> nx.DiGraph:
        """Units by number and OURS; each edge leads to a reader, with the inputs it passes over a step."""
        graph = nx.DiGraph()
        graph.add_nodes_from(range(len(self.units)))
        if self.system.x.numel():
            graph.add_node(OURS)
        visited = np.concatenate([np.zeros(0, bool), *(unit.visited_inputs for unit in self.units)])
        for k, unit in enumerate(self.units):
            for other in [*range(len(self.units)), *([OURS] if self.system.x.numel() else [])]:
                mine = range(unit.inputs.start, unit.inputs.stop)
                taken = [i for i in mine if self.reads[i, other] and not visited[i]]
                if taken and other != k:
                    graph.add_edge(other, k, inputs=frozenset(taken))
        for k, read in self._ours_reads().items():
            graph.add_edge(k, OURS, inputs=frozenset(-1 - i for i in read))  # negative: not inputs of a unit
        return graph

    def _ordered(self) -> tuple[list[int], list[str]]:
        """Units and OURS in the order in which they step, and the inputs that get old values."""
        graph = self.graph()
        wanted = self._wanted_cuts()
        whole = graph.copy()
        for a, b, inputs in list(graph.edges(data="inputs")):
            if left := inputs - wanted:
                graph[a][b]["inputs"] = left
            else:
                graph.remove_edge(a, b)
        order: list[int] = []
        while graph:
            ready = [n for n in graph if not graph.in_degree(n)]
            if (
                not ready
            ):  # a cycle: begin with the one that lacks the fewest inputs and waits for nobody outside it
                first = [
                    c for c in nx.strongly_connected_components(graph) if _waits_for_itself_only(graph, c)
                ]
                cycle = min(first, key=lambda c: min(self._place(n) for n in c))
                ready = [min(cycle, key=lambda n: (len(_missing(graph, n)), self._place(n)))]
            chosen = min(ready, key=self._place)
            order.append(chosen)
            graph.remove_node(chosen)
        done: set[int] = set()
        late: set[int] = set()
        for n in order:
            for before in whole.predecessors(n):
                if before not in done:
                    late |= whole[before][n]["inputs"]
            done.add(n)
        return order, [self.names[i] for i in sorted(late) if i >= 0]

    def _place(self, n: int) -> int:
        """Ours come first among equals, because our states are known at any time."""
        return n

    def _wanted_cuts(self) -> frozenset[int]:
        found: set[int] = set()
        for name in self.coupling.cut:
            numbers = self.numbers_of(name, "cut")
            found.update(numbers)
        return frozenset(found)

    @property
    def idle_cuts(self) -> list[str]:
        """What the coupling cuts without effect: without an order, or where no driver comes later."""
        if self.coupling.order != "gauss-seidel":
            return list(self.coupling.cut)
        late = set(self.cut)
        return [
            n for n in self.coupling.cut if late.isdisjoint(self.names[k] for k in self.numbers_of(n, "cut"))
        ]

    def numbers_of(self, name: str, what: str) -> list[int]:
        """The scalars of an input of a unit, by its name.

        Raises
        ------
        PlantloopError      there is none
        """
        if name in self.names:
            return [self.names.index(name)]
        found = [i for i, n in enumerate(self.names) if n.startswith(f"{name}[")]
        if not found:
            raise PlantloopError(
                f"Coupling: {what} names '{name}', no input of a unit; {near_miss(name, self.names)}",
                path=name,
            )
        return found

    def shown_order(self) -> str:
        """The order in words, with the cut connections."""
        names = [f"'{self.units[n].path}'" if n != OURS else "our own blocks" for n in self.order]
        late = [
            f"{s.path}.{name}"
            for s in self.system.schedule
            if isinstance(s, ExternalSegment)
            for name in s.late
        ]
        text = " -> ".join(names)
        text += f"; old values at {', '.join(self.cut)}" if self.cut else ""
        return f"{text}; old values of {', '.join(late)} at ticks (a loop)" if late else text


def _missing(graph: nx.DiGraph, n: int) -> set[int]:
    return set().union(*(graph[before][n]["inputs"] for before in graph.predecessors(n)))


def _waits_for_itself_only(graph: nx.DiGraph, component: set[int]) -> bool:
    return all(before in component for n in component for before in graph.predecessors(n))


def _ticked(slot: object) -> bool:
    return isinstance(slot, MemorySlot) and isinstance(slot.memory, Ticked)


def _depends(expressions: ca.SX, symbols: ca.SX) -> np.ndarray:
    """(rows,) bool: the rows that depend on any of some symbols."""
    if not expressions.numel() or not symbols.numel():
        return np.zeros(int(expressions.numel()), bool)
    found: np.ndarray = np.array(ca.which_depends(expressions, symbols, 1, True), dtype=bool)
    return found
