"""Outputs that follow inputs at once, brought up to date at the end of a step of the coupling.

Over a step a unit gets inputs that are extrapolated, or cut in a cycle. What follows them at once is wrong at
the end of the step by as much as they are. The next step begins with that error, of which no shorter step
makes less: error control would collapse there. Units with such outputs therefore go back, and make the step
again with inputs that lead to what has been delivered, until these agree. Where the outputs depend on each
other in no cycle that is one more step of each of these units.

`runtime/direct_feedthrough.c` does the same in the same order of operations.

Source: Andersson, Methods and Tools for Co-Simulation of Dynamic Systems with the Functional Mock-up
Interface (Lund, 2016), corrects such outputs with their derivatives D by the inputs: y + D (u - u assumed).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import networkx as nx
import numpy as np

from blocks.errors import SimulationError
from cosim.fmi.coupling.coupled_system import CoupledSystem
from cosim.fmi.coupling.curves import Curve, between
from cosim.fmi.coupling.macro_step import Explicit, MacroStep
from cosim.fmi.coupling.unit_run import KeptUnits, kept, restored

ROUNDS = 100
SHARE = 0.1  # of the error that a step may have: inputs that differ by less agree


class DirectFeedthrough:
    """Repeats the steps of units whose outputs follow inputs at once.

    direct : of each unit (m, n) bool, which outputs follow which inputs at once
    rtol, atol : tolerances of a run; horizon : its length [s]
    """

    def __init__(self, macro: MacroStep, direct: Sequence[np.ndarray], rtol: float, atol: float) -> None:
        self.macro, self.rtol, self.atol = macro, rtol, atol
        self.horizon = math.inf
        units = macro.coupled.units
        self.inputs = [found.any(axis=0) & u.smooth_inputs for u, found in zip(units, direct, strict=True)]
        """Of each unit (n,) bool: inputs that some output follows at once."""
        self.order = _in_order(macro.coupled, direct, self.inputs)
        """Numbers of the units that have any, those first that others depend on."""

    def step(self, t1: float, arriving: Sequence[int], explicit: Explicit) -> dict[int, np.ndarray]:
        """A step to t1 [s] that `explicit` makes, and its repetitions; returns the inputs of all at its end.

        A unit that ends the run ends the repetitions too; our own blocks are left where it does.

        Raises
        ------
        SimulationError     inputs do not agree after some rounds; the worst is named
        """
        macro = self.macro
        runs = [macro.runs[k] for k in self.order]
        ours, units, log = macro.mark(), kept(runs), macro.engine.log_mark()
        share = min(1.0, (t1 - macro.context.t) / self.horizon)
        given = explicit(t1, arriving)
        if not any(run.standing.ended for run in macro.runs):
            self._repeat(t1, units, given, share)
            ended = [run.standing.time for run in runs if run.standing.ended]
            if ended:  # our own blocks have reached t1
                ours.back()
                macro.engine.log_back(log)
                macro.approach(min(ended))
        return given

    def _repeat(self, t1: float, there: KeptUnits, given: dict[int, np.ndarray], share: float) -> None:
        """Repeat steps to t1 [s] from `there` on until inputs are those `given`, which is brought up to date.

        share : of the tolerances, that this step may use
        """
        macro = self.macro
        for k in given:
            macro.exchange.write(k, Curve.held(t1, macro.runs[k].standing.y[0][1]))
        for _ in range(ROUNDS):
            repeated = False
            for place, k in enumerate(self.order):
                found = macro.exchange.inputs(t1)[macro.coupled.units[k].inputs]
                if self._agree(k, given[k], found, share):
                    continue
                repeated = True
                given[k] = np.where(self.inputs[k], found, given[k])
                if self._again(k, t1, there.only(place), given[k]):
                    return
            if not repeated:
                return
        raise self._no_agreement(t1, given)

    def _agree(self, k: int, given: np.ndarray, found: np.ndarray, share: float) -> bool:
        """Whether the inputs that a unit was given are those found, as far as its outputs follow them."""
        sizes = np.max(np.abs([found, *(u for _, u in self.macro.runs[k].standing.u)]), axis=0)
        allowed = SHARE * share * (self.rtol * sizes + self.atol)
        return bool((np.abs(found - given) <= allowed)[self.inputs[k]].all())

    def _again(self, k: int, t1: float, there: KeptUnits, end: np.ndarray) -> bool:
        """Repeat the step of a unit with inputs that lead to `end`; returns whether it ends the run."""
        macro, unit, run = self.macro, self.macro.coupled.units[k], self.macro.runs[k]
        restored([run], there)
        curve = between((t1, end), run.standing.u, macro.order, unit.smooth_inputs)
        y = run.step(t1, curve, held_at_end=True, in_pieces=macro.in_pieces)
        macro.exchange.write(k, Curve.held(t1, y))
        return bool(run.standing.ended)

    def _no_agreement(self, t1: float, given: Mapping[int, np.ndarray]) -> SimulationError:
        names, differences = [], []
        delivered = self.macro.exchange.inputs(t1)
        for k in self.order:
            u = self.macro.coupled.units[k]
            found = delivered[u.inputs]
            names += u.input_names()
            differences.append(np.abs(found - given[k]) / (1.0 + np.abs(found)) * self.inputs[k])
        worst = int(np.argmax(np.concatenate(differences)))
        return SimulationError(
            f"outputs of units follow inputs at once in a cycle, and the steps to t={t1:.9g} s do not agree "
            f"in {ROUNDS} rounds, the least at '{names[worst]}'.",
            path=names[worst],
            time=t1,
            hint='Solve the loop with iterate="newton", or break it with a delay.',
        )


def _in_order(
    coupled: CoupledSystem, direct: Sequence[np.ndarray], inputs: Sequence[np.ndarray]
) -> list[int]:
    """The units with direct feedthrough, drivers first; in a cycle as they stand in the order of all."""
    graph = nx.DiGraph()
    graph.add_nodes_from(k for k in coupled.order if k >= 0 and inputs[k].any())
    for j in graph:
        follows = coupled.follows([coupled.units[j].y[direct[j].any(axis=1)]])
        graph.add_edges_from((j, k) for k in graph if (follows[coupled.units[k].inputs] & inputs[k]).any())
    groups = nx.condensation(graph)
    places = list(graph)
    return [
        k
        for group in nx.topological_sort(groups)
        for k in sorted(groups.nodes[group]["members"], key=places.index)
    ]
