"""Actions compiled into the system: parameters that move, pulses and switches at inputs, sensor faults."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from blocks.contract.block import Block
from blocks.contract.rate import instant
from blocks.errors import PlantloopError, near_miss
from cosim.compile.additions import Additions
from cosim.compile.flatten import flatten
from cosim.compile.netlist import Port
from cosim.diagram import Diagram
from cosim.run.unchangeable import structural_error
from cosim.settings import RunSettings
from cosim.study.action_blocks import (
    ActionCondition,
    Beginning,
    InputPulse,
    InputSwitch,
    ParameterMove,
    RequirementStop,
    SensorFault,
)
from cosim.study.formulas import Formula, names
from cosim.study.study_schema import ActionTable, RequirementTable
from cosim.study.verdicts import ENDS, VERDICT, Ending
from cosim.system import System

if TYPE_CHECKING:
    from cosim.compile.wiring import Wiring


def with_actions(
    diagram: Diagram,
    system: System,
    settings: RunSettings,
    actions: Sequence[ActionTable],
    stops: Sequence[RequirementTable] = (),
    ending: Ending | None = None,
) -> System:
    """The flat system of a diagram with actions in it, for runs with some settings.

    system : the one without
    stops : requirements that end the run where they are broken
    ending : what ends it once verdicts are certain

    Raises
    ------
    PlantloopError     a parameter, signal or input that is not there, numbers that do not fit
    """
    made = _Making(system, diagram)
    for k, action in sorted(enumerate(actions), key=lambda item: _moment(item[1])):
        made.add(action, action.name or f"action{k + 1}")
    for k, one in enumerate(stops):
        made.stop(one, f"stop{k + 1}")
    if ending is not None:
        made.end(ending)
    drawn = diagram.netlist()
    driven = settings.driven if settings.driven is True or drawn.uncoupled() is not drawn else False
    found = flatten(drawn, settings.solve_loops, driven=driven, added=made.additions())
    return replace(found, prefix=diagram.prefix)


def _moment(action: ActionTable) -> Fraction:
    """The instant an action begins, as a sort key; actions on a condition come last."""
    return Fraction(10**12) if action.at is None else instant(action.at)


@dataclass
class _Making:
    """Collects the additions of actions to a diagram."""

    system: System
    diagram: Diagram
    blocks: dict[str, Block] = field(default_factory=dict)
    inputs: dict[Port, Port] = field(default_factory=dict)
    outputs: dict[Port, list[Port]] = field(default_factory=dict)
    entries: dict[Port, list[Port]] = field(default_factory=dict)
    parameters: dict[str, list[str]] = field(default_factory=dict)

    def additions(self) -> Additions:
        """All additions together."""
        return Additions(
            self.blocks,
            self.inputs,
            {port: tuple(chain) for port, chain in self.outputs.items()},
            {port: tuple(chain) for port, chain in self.entries.items()},
            {name: tuple(chain) for name, chain in self.parameters.items()},
        )

    def add(self, action: ActionTable, name: str) -> None:
        """Add one action; if it changes several things, each change becomes a block of its own."""
        beginning = Beginning(action.at, action.lasts)
        several = [
            (deed, key, v)
            for deed in ("set", "ramp", "pulse", "switch")
            for key, v in getattr(action, deed).items()
        ]
        for k, (deed, key, value) in enumerate(several):
            own = name if len(several) == 1 else f"{name}_{k + 1}"
            if deed in ("set", "ramp"):
                self._move(own, key, value, beginning, action.over if deed == "ramp" else None)
            else:
                kind = InputPulse if deed == "pulse" else InputSwitch
                self._at_input(own, key, kind(value, beginning))
            self._condition(own, action.when)
        if action.fault is not None:
            self._fault(name, action, beginning)
            self._condition(name, action.when)

    def stop(self, one: RequirementTable, name: str) -> None:
        """Add a requirement that ends the run when it is broken."""
        end = one.after + one.within if one.within is not None else one.before
        message = f"requirement '{one.name}' is not met"
        self.blocks[name] = RequirementStop(message, one.after, None if math.isinf(end) else end)
        self._condition(name, one.always, sharp=False)  # met where the margin is not negative

    def end(self, ending: Ending) -> None:
        """Add blocks that watch requirements and end the run once verdicts are certain."""
        watched = ending.watched()
        for k, one in enumerate(watched.values()):
            name = f"{VERDICT}{k}"
            self.blocks[name] = one.block
            for port, condition in one.conditions:
                self._condition(name, condition, sharp=False, port=port)
        self.blocks[ENDS] = ending.stop()
        for k in range(len(watched)):
            self.inputs[ENDS, f"v{k}"] = (f"{VERDICT}{k}", "y")

    def _move(self, name: str, parameter: str, value: Any, beginning: Beginning, over: float | None) -> None:
        found = self.system.names("parameter").find(parameter)
        if found is None:
            if (known := self.system.names("field").find(parameter)) is not None:
                raise structural_error(self.system, known[0])
            raise self._of_other_kind(parameter) or self.system.names("parameter").unknown(parameter)
        slot = self.system.parameters[found[0]]
        array = np.asarray(value, dtype=float)
        if array.size != math.prod(slot.shape):
            raise PlantloopError(
                f"parameter '{parameter}' got {array.size} numbers, expected {slot.shape or 'a number'}.",
                path=parameter,
            )
        array = array.reshape(slot.shape)
        if array[~slot.mask].any():
            raise structural_error(self.system, parameter)
        self.blocks[name] = ParameterMove(tuple(array[slot.mask].tolist()), beginning, over)
        self.parameters.setdefault(found[0], []).append(name)

    def _at_input(self, name: str, key: str, block: Block) -> None:
        path, _, port = key.rpartition(".")
        known = inputs_of(self.diagram)
        if (path, port) not in known:
            raise self._of_other_kind(key, known) or PlantloopError(
                f"'{self.system.name}' has no input '{key}'; {near_miss(key, ['.'.join(p) for p in known])}",
                path=key,
            )
        self.blocks[name] = block
        for into in known[path, port]:
            self.entries.setdefault(into, []).append((name, "y"))

    def _of_other_kind(
        self, name: str, inputs: Mapping[Port, tuple[Port, ...]] | None = None
    ) -> PlantloopError | None:
        """The error about the name of a signal where an action takes none of its kind; None for other names.

        inputs : of blocks, where the action takes those; otherwise it takes parameters
        """
        path, _, port = name.rpartition(".")
        known = inputs_of(self.diagram) if inputs is None else inputs
        if inputs is None and (path, port) in known:
            text = f"no parameter '{name}': that is an input of a block."
            hint = f"Write switch = {{ '{name}' = ... }} to replace its signal, or pulse to add to it."
        elif (found := self.system.names("signal").find(name)) is not None:
            own = [".".join(one) for one in known if one[0] == path]
            meant = [f"'{one}'" for one in dict.fromkeys([*own[:1], *self._readers(found[0])[:1]])]
            cure = f"did you mean {' or '.join(meant)}?" if meant else ""
            text = f"no {'parameter' if inputs is None else 'input'} '{name}': that is a signal."
            hint = f"For pulse and switch at an input, {cure} " if cure else ""
            hint += f"To hold it for all its readers, write fault = 'stuck', signal = '{name}', value = ..."
        else:
            return None
        return PlantloopError(f"'{self.system.name}' has {text}", path=name, value=name, hint=hint)

    def _readers(self, signal: str) -> list[str]:
        """Inputs that the output of a block drives."""
        path, _, port = signal.partition(".")
        return [
            ".".join(into) for into, source in _wiring(self.diagram).drivers.items() if source == (path, port)
        ]

    def _fault(self, name: str, action: ActionTable, beginning: Beginning) -> None:
        signal = str(action.signal)
        full, component = self.system.locate(signal)
        port = self._output(full, signal)
        numbers = {"noise": action.std, "delay": action.seconds}
        number = numbers.get(str(action.fault), action.value)
        block = SensorFault(
            str(action.fault), beginning, number, component, action.sample, action.probability
        )
        self.blocks[name] = block
        self.outputs.setdefault(port, []).append((name, "y"))

    def _condition(self, name: str, when: Formula | None, sharp: bool = True, port: str = "when") -> None:
        if when is None:
            return
        signals, sources = [], []
        for one in names(when):
            full, component = self.system.locate(one)
            if component is None and self.system.signal(full).size != 1:
                raise PlantloopError(
                    f"'{one}' has {self.system.signal(full).size} components, expected one number.",
                    path=one,
                    hint=f"Write '{one}[0]'.",
                )
            signals.append((one, component or 0))
            sources.append(self._output(full, one))
        self.blocks[f"{name}_{port}"] = ActionCondition(when, tuple(signals), sharp)
        for k, source in enumerate(sources):
            self.inputs[f"{name}_{port}", f"s{k}"] = source
        self.inputs[name, port] = (f"{name}_{port}", "y")

    def _output(self, full: str, shown: str) -> Port:
        """The output of a block that carries a signal."""
        path, _, port = full.partition(".")
        if (path, port) not in outputs_of(self.diagram):
            raise PlantloopError(
                f"'{shown}' is no output of a block: only those can be acted on or looked at.",
                path=shown,
            )
        return path, port


def inputs_of(diagram: Diagram) -> Mapping[Port, tuple[Port, ...]]:
    """The inputs of blocks, and of subsystems together with the inputs inside that they drive."""
    wiring = _wiring(diagram)
    ports = ((path, i.name) for path, probe in wiring.probes.items() for i in probe.declared.inputs)
    found = {port: (port,) for port in ports}
    return found | {port: behind for port, behind in wiring.borders.items() if behind[0] in found}


def outputs_of(diagram: Diagram) -> set[Port]:
    """The outputs of blocks."""
    probes = _wiring(diagram).probes
    return {(path, o.name) for path, probe in probes.items() for o in probe.declared.outputs}


def _wiring(diagram: Diagram) -> Wiring:
    """All blocks of a diagram and their wires."""
    from blocks.contract.trace import TraceCache
    from cosim.compile.wiring import expand

    return expand(diagram.netlist(), TraceCache())
