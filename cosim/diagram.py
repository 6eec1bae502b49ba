"""How blocks are wired: a diagram is a networkx graph of blocks, and a block in a larger diagram.

::

    d = Diagram("loop")
    plant = d.add("plant", plant_block)
    control = d.add("controller", StateFeedback(K, sample=0.01))
    d.connect(plant["state"], control["x"])
    control["u"] >> plant["force"]
"""

from __future__ import annotations

import copy
import os
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

from blocks.arguments import flag
from blocks.contract.block import Block
from blocks.contract.masks import ParameterExpression
from blocks.contract.masks import parameter as expression_of
from blocks.contract.trace import trace
from blocks.contract.units import Units, units_of
from blocks.errors import PlantloopError, WiringError, near_miss, shown
from cosim.compile.flatten import flatten
from cosim.compile.masks import checked
from cosim.compile.netlist import Driven, Inport, Netlist
from cosim.diagram_facts import facts_of, parameters_of, states_of
from cosim.linear_blocks import block_of
from cosim.names import mapped, no_block
from cosim.node_ports import NodePorts, ports_of
from cosim.subsystems.parts import Subsystem
from cosim.system import System

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALONE = "plant"  # what a block is called when it is looked at alone
FORBIDDEN = set("./[] \t\n")  # they separate the parts of a path: sub/block.port[component]


@dataclass(frozen=True)
class PortRef:
    """One port of one node, as ``handle["port"]`` gives it. ``source >> target`` connects two."""

    diagram: Diagram
    node: str
    port: str

    def __rshift__(self, target: PortRef | Node) -> PortRef | Node:
        """Connect to an input, or to the only input of a block; returns what was connected to."""
        into = target.the("input") if isinstance(target, Node) else target
        self.diagram.connect(self, into)
        return target

    def __str__(self) -> str:
        return f"{self.node}.{self.port}"

    # --- arithmetic: ordinary blocks with names made of those of the operands -------------------------
    def __add__(self, other: PortRef | Node) -> PortRef:
        return self._combined("Sum", "++", other, "plus")

    def __sub__(self, other: PortRef | Node) -> PortRef:
        return self._combined("Sum", "+-", other, "minus")

    def __neg__(self) -> PortRef:
        return self._scaled(-1.0, "minus")

    def __mul__(self, other: Any) -> PortRef:
        if isinstance(other, (PortRef, Node)):
            return self._combined("Product", "**", other, "times")
        return self._scaled(other, "scaled")

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> PortRef:
        if isinstance(other, (PortRef, Node)):
            return self._combined("Product", "*/", other, "over")
        return self._scaled(1.0 / np.asarray(other, dtype=float) if _is_number(other) else other, "scaled")

    def _combined(self, kind: str, signs: str, other: Any, word: str) -> PortRef:
        second = other.the("output") if isinstance(other, Node) else other
        if not isinstance(second, PortRef):
            raise WiringError(
                [f"{self} cannot be combined with {shown(other)}; a number is added by a Bias or a Constant."]
            )
        from blocks.library.math import Product, Sum

        d, kinds = self.diagram, {"Sum": Sum, "Product": Product}
        name = d.unused(f"{self._slug()}_{word}_{second._slug()}")
        node = d.add(name, kinds[kind](signs))
        d.connect(self, node["in1"])
        d.connect(second, node["in2"])
        return node["y"]

    def _scaled(self, factor: Any, word: str) -> PortRef:
        if not _is_number(factor):
            raise WiringError([f"{self} cannot be multiplied by {shown(factor)}; give a number or a port."])
        from blocks.library.math import Gain

        d = self.diagram
        node = d.add(d.unused(f"{word}_{self._slug()}"), Gain(factor))
        d.connect(self, node["u"])
        return node["y"]

    def _slug(self) -> str:
        only = self.diagram[self.node].ports.outputs == (self.port,)
        return self.node if only else f"{self.node}_{self.port}"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating, np.ndarray)) and not isinstance(
        value, bool
    )


@dataclass(frozen=True)
class Node:
    """Handle of a block in a diagram; ``node["port"]`` names one of its ports."""

    diagram: Diagram
    name: str

    def __getitem__(self, port: str) -> PortRef:
        if not isinstance(port, str):
            hint = f"Write {self.name}['y']."
            raise WiringError([f"{shown(port)} is no port of '{self.name}'. {hint}"], value=port)
        ref = self.unchecked(port)
        kind = type(self.diagram._graph.nodes[self.name]["block"]).__name__
        self.ports.check(self.name, kind, ref.port)
        return ref

    def unchecked(self, port: str) -> PortRef:
        """The port of a name; whether there is one is told when the diagram is flattened."""
        block = self.diagram._graph.nodes[self.name]["block"]
        name = block.port_name(port) if isinstance(block, Block) else port
        return PortRef(self.diagram, self.name, name)

    @property
    def ports(self) -> NodePorts:
        """The ports the block has, by name."""
        found = self.diagram._graph.nodes[self.name]
        if isinstance(found["block"], (Diagram, Subsystem)):  # a subsystem may still be written
            return ports_of(found["block"])
        if "ports" not in found:
            found["ports"] = ports_of(found["block"])
        ports: NodePorts = found["ports"]
        return ports

    def the(self, what: str) -> PortRef:
        """The only "input" or "output"; an error names the choices where there are several."""
        return PortRef(self.diagram, self.name, self.ports.only(self.name, what))

    def __rshift__(self, target: PortRef | Node) -> PortRef | Node:
        """Connect the only output to an input, or to the only input of a block: ``a >> b >> c``."""
        return self.the("output") >> target

    def __add__(self, other: PortRef | Node) -> PortRef:
        return self.the("output") + other

    def __sub__(self, other: PortRef | Node) -> PortRef:
        return self.the("output") - other

    def __mul__(self, other: Any) -> PortRef:
        return self.the("output") * other

    __rmul__ = __mul__

    def _ipython_key_completions_(self) -> list[str]:
        return [*self.ports.inputs, *self.ports.outputs]


class Diagram:
    """Blocks and diagrams by name, and the connections between their ports.

    Parameters
    ----------
    name : str     shown in results and messages

    Names of blocks must not contain ``. / [ ]`` or blanks. Mistakes in the wiring are all reported
    together when the diagram is flattened.
    """

    def __init__(self, name: str = "diagram") -> None:
        if not isinstance(name, str):
            raise WiringError([f"the name of a diagram is {shown(name)}, expected a text."], value=name)
        self.name = name
        self._graph: nx.MultiDiGraph = nx.MultiDiGraph(name=name)
        self._outports: dict[str, PortRef] = {}
        self._owner = uuid.uuid4().hex  # what expressions of its parameters call it
        self._parameters: dict[str, Any] = {}
        self._grounded: set[tuple[str, str]] = set()
        self._version = 0
        self._flat: dict[tuple[Any, ...], System] = {}
        self._kept: dict[str, Any] = {}
        self._prefix = ""  # what names in its system may leave out

    def add(
        self,
        name: str,
        block: Block | Diagram | Subsystem | Any,
        parameters: Mapping[str, Any] | None = None,
        replace: bool = False,
        units: Mapping[str, Units] | None = None,
    ) -> Node:
        """Put a block, or a diagram as a subsystem, into this one; returns its handle.

        block : Block, Diagram, or a linear system of python-control, continuous or discrete
        replace : if the name is taken, put it in that place and keep the connections, as in a notebook
        parameters : of a subsystem that has parameters, what they are here: numbers, or expressions of the
            parameters of this diagram
        units : of its ports and parameters, as {"u": "V", "k": "N/V"}; one for all components, or a list.
            Wires between ports whose units are known are checked

        Raises
        ------
        WiringError    name taken or malformed, or `block` is no block
        """
        flag(replace, "replace")
        if replace and isinstance(name, str) and name in self._graph:
            return self.replace(name, block, parameters, units)
        content = self._content(name, block, parameters)
        node = self._node(name, content, mapped(parameters, "parameters"))
        self._graph.nodes[name]["units"] = dict(mapped(units, "units"))
        return node

    def _content(
        self, name: str, block: Any, parameters: Mapping[str, Any] | None
    ) -> Block | Diagram | Subsystem:
        """What goes into a node, checked."""
        if isinstance(block, type):
            raise WiringError(
                [f"'{name}' is the class {block.__name__}, not a block; write {block.__name__}(...)."]
            )
        if type(block).__module__.partition(".")[0] == "control":
            block = block_of(block)
        if not isinstance(block, (Block, Diagram, Subsystem)):
            raise WiringError(
                [f"'{name}' is a {type(block).__name__}, expected a Block or a Diagram."], path=name
            )
        for inner in _diagrams(block):
            if inner is self or inner._contains(self):
                raise WiringError([f"diagram '{inner.name}' cannot contain itself."], path=name)
        given = mapped(parameters, "parameters")
        masked = next(iter(_diagrams(block)), None)
        if given and masked is None:
            raise WiringError([f"'{name}' is a block: its parameters are its own fields."], path=name)
        for key, value in given.items():
            if "." in key:  # of a diagram inside: found when all of it is known
                checked(key, value)
            elif masked is not None:
                masked._same_kind(key, value)
        return block

    def inport(self, name: str, size: int = 1, unit: Units = "") -> PortRef:
        """A signal that enters the diagram, to be connected inside like an output.

        In a subsystem its size is that of what is connected outside; at the top level `size` holds and
        the value is set with ``Simulation.set_input``. What is connected is checked to be in `unit`.
        """
        if not isinstance(size, (int, np.integer)) or isinstance(size, bool) or size < 1:
            raise WiringError(
                [f"the size of inport {shown(name)} is {shown(size)}, expected a whole number, 1 or more."],
                value=size,
            )
        if unit:
            units_of(unit, f"inport '{name}'")
        return self._node(name, Inport(int(size), unit))["out"]

    def parameter(self, name: str, value: Any) -> Any:
        """A number that fields of the blocks in here are made of: ``J = d.parameter("J", 0.1)``.

        What it returns goes where a number goes, also in arithmetic: ``Gain(1 / J)``. In a run the parameter
        is called "motor.J" where this diagram is the subsystem "motor", and "J" where it is the whole; runs
        may change it as they may change the numbers of the blocks that it goes to. Where it decides how
        something is built (a sample time, a size, a text) it is structural: only ``add(parameters=...)`` and
        `with_parameters` change it. Arrays give an array of expressions.

        Raises
        ------
        WiringError    the name is taken or malformed, or the value is not finite
        """
        if not isinstance(name, str) or not name or FORBIDDEN & set(name):
            expected = "a text without '.', '/', '[', ']' or blanks"
            raise WiringError([f"a parameter's name is {shown(name)}, expected {expected}."], value=name)
        if name in self._parameters:
            raise WiringError([f"diagram '{self.name}' has a parameter '{name}' already."], path=name)
        self._parameters[name] = checked(name, value)
        self._changed()
        return expression_of(self._owner, name, value)

    def with_parameters(self, **values: Any) -> Diagram:
        """This diagram with other values of its parameters, structural ones included."""
        for name, value in values.items():
            self._same_kind(name, value)
        other = copy.copy(self)
        other._graph, other._outports = self._graph.copy(), dict(self._outports)
        other._grounded, other._flat, other._kept = set(self._grounded), {}, {}
        other._parameters = {**self._parameters, **values}
        return other

    def _same_kind(self, name: str, value: Any) -> None:
        """Is `name` a parameter, and `value` of its kind: a number, an array of its shape, a text?"""
        if name not in self._parameters:
            near = near_miss(name, self._parameters)
            raise WiringError([f"diagram '{self.name}' has no parameter '{name}'; {near}"], path=name)
        checked(name, value)
        old = self._parameters[name]
        if isinstance(old, str) != isinstance(value, str) and not isinstance(value, ParameterExpression):
            raise WiringError(
                [f"parameter '{name}' of '{self.name}' is {shown(value)}, expected one like {shown(old)}."],
                path=name, value=value,
            )  # fmt: skip

    def outport(self, name: str, source: PortRef | str) -> None:
        """Show a signal of the inside as an output of the diagram."""
        if not isinstance(name, str) or not name or FORBIDDEN & set(name):
            expected = "a text without '.', '/', '[', ']' or blanks"
            raise WiringError([f"an outport's name is {shown(name)}, expected {expected}."], value=name)
        if name in self._outports:
            raise WiringError([f"'{self.name}' has an output '{name}' already."], path=name)
        self._outports[name] = self._own(source)
        self._changed()

    def connect(
        self, source: PortRef | Node | str, *targets: PortRef | Node | str, convert: bool = False
    ) -> None:
        """Connect an output to inputs.

        ::

            d.connect(a["y"], b["u"])              # or "a.y", "b.u"; several inputs fan out
            d.connect("a.y -> b.u, c.u", "b.y -> plant.force")      # several connections
            a >> b >> c                            # through the only ports they have
            d.connect("a.y -> b.u", convert=True)  # a.y in mm, b.u in m: the numbers are converted

        Raises
        ------
        WiringError    no such block or port, with the near miss
        """
        flag(convert, "convert")
        if (isinstance(source, str) and "->" in source) or not targets:
            for text in (source, *targets):
                out, into = written_connection(text)
                for port in into:
                    self._wire(self._own(out, checked_now=True), self._own(port, checked_now=True), convert)
            return
        for target in targets:
            self._wire(self._own(source), self._own(target), convert)

    def _wire(self, out: PortRef, into: PortRef, convert: bool) -> None:
        more = {"convert": True} if convert else {}
        self._graph.add_edge(out.node, into.node, source=out.port, target=into.port, **more)
        self._changed()

    def disconnect(self, target: PortRef | str) -> None:
        """Take away what is connected to an input, or leads from an output.

        Raises
        ------
        WiringError    nothing is
        """
        ref = self._own(target)
        ends = ((ref.node, "target", self._graph.in_edges), (ref.node, "source", self._graph.out_edges))
        gone = [
            (a, b, key)
            for node, end, edges in ends
            for a, b, key, data in edges(node, keys=True, data=True)
            if data[end] == ref.port
        ]
        if not gone:
            raise WiringError([f"nothing is connected to '{ref}'."], path=str(ref))
        self._graph.remove_edges_from(gone)
        self._changed()

    def remove(self, name: str) -> None:
        """Take a block away, with its connections and the outputs of the diagram that show it.

        Raises
        ------
        WiringError    no such block
        """
        self[name]
        self._graph.remove_node(name)
        self._outports = {k: ref for k, ref in self._outports.items() if ref.node != name}
        self._grounded = {(node, port) for node, port in self._grounded if node != name}
        self._changed()

    def replace(
        self,
        name: str,
        block: Any,
        parameters: Mapping[str, Any] | None = None,
        units: Mapping[str, Units] | None = None,
    ) -> Node:
        """Put another block in the place of one; connections stay where it has ports of the same names.

        Raises
        ------
        WiringError    no such block, or one of the connected ports is not there any more
        """
        old = self[name]
        before = dict(self._graph.nodes[name])
        used = {data["source"] for _, _, data in self._graph.out_edges(name, data=True)}
        used |= {data["target"] for _, _, data in self._graph.in_edges(name, data=True)}
        used |= {ref.port for ref in self._outports.values() if ref.node == name}
        content = self._content(name, block, parameters)
        found = ports_of(content)
        for port in sorted(used):
            found.check(name, type(content).__name__, port)
        before.pop("ports", None)
        self._graph.nodes[name].pop("ports", None)
        given = {"given": parameters, "units": units}
        more = {what: dict(mapped(values, "parameters")) for what, values in given.items()}
        self._graph.nodes[name].update(block=content, **more)
        self._grounded = {
            (n, p) for n, p in self._grounded if n != name or not found.known or p in found.inputs
        }
        self._changed()
        return old

    def unused(self, name: str) -> str:
        """A name for a block that is not taken: `name`, or with a number behind it."""
        found, k = name, 1
        while found in self._graph:
            k += 1
            found = f"{name}_{k}"
        return found

    def ground(self, target: PortRef | str) -> None:
        """Leave an input unconnected on purpose; it is zero."""
        ref = self._own(target)
        self._grounded.add((ref.node, ref.port))
        self._changed()

    def __getitem__(self, name: str) -> Node:
        if not isinstance(name, str) or name not in self._graph:
            raise WiringError(
                [f"no block '{name}' in diagram '{self.name}'; {near_miss(name, self._graph.nodes)}"]
            )
        return Node(self, name)

    @property
    def graph(self) -> nx.MultiDiGraph:
        """The wiring: nodes carry ``block``, edges carry the port names ``source`` and ``target``."""
        return self._graph.copy(as_view=True)

    @property
    def inports(self) -> dict[str, Inport]:
        """Inputs of the diagram by name."""
        blocks = self._graph.nodes(data="block")
        return {name: block for name, block in blocks if isinstance(block, Inport)}

    @property
    def outports(self) -> dict[str, PortRef]:
        """Outputs of the diagram by name."""
        return dict(self._outports)

    @property
    def grounded(self) -> frozenset[tuple[str, str]]:
        """Inputs left open on purpose, as (node, port)."""
        return frozenset(self._grounded)

    @property
    def prefix(self) -> str:
        """What names in the flat system may leave out: "plant." around a block that is looked at alone."""
        return self._prefix

    def netlist(self) -> Netlist:
        """What is drawn here and in the diagrams inside, as data."""
        nodes = self._graph.nodes(data="block")
        edges = self._graph.edges(data=True)
        return Netlist(
            self.name,
            {n: node.netlist() if isinstance(node, (Diagram, Subsystem)) else node for n, node in nodes},
            tuple(((out, ports["source"]), (into, ports["target"])) for out, into, ports in edges),
            {name: (ref.node, ref.port) for name, ref in self._outports.items()},
            frozenset(self._grounded),
            self._owner,
            dict(self._parameters),
            {name: given for name, given in self._graph.nodes(data="given") if given},
            {name: units for name, units in self._graph.nodes(data="units") if units},
            frozenset((into, ports["target"]) for _, into, ports in edges if ports.get("convert")),
        )

    def system(
        self,
        solve_loops: bool = False,
        perturb: tuple[str, ...] = (),
        driven: Driven = False,
        opened: tuple[str, ...] = (),
    ) -> System:
        """The flat system of this diagram; kept until the diagram changes.

        Each signal in `perturb` gets an input of the system of its own name, added to its value,
        or, if it is in `opened` too, in its place. With `driven`, blocks that step themselves are left to a
        co-simulation master, or, "held", those that a run leaves to it by default.
        """
        key = (solve_loops, perturb, driven, opened, self._versions())
        if key not in self._flat:
            self._flat = {k: s for k, s in self._flat.items() if k[-1] == key[-1]}
            drawn = self.netlist()
            if driven == "held" and drawn.uncoupled() is drawn:
                self._flat[key] = self.system(solve_loops, perturb, opened=opened)
                return self._flat[key]
            flat = flatten(drawn, solve_loops, perturb, driven=driven, opened=opened)
            self._flat[key] = replace(flat, prefix=self._prefix)
        return self._flat[key]

    def view(
        self,
        *,
        out: str | os.PathLike[str] | None = None,
        show: bool = True,
        live: bool = False,
        **options: Any,
    ) -> Any:
        """One page in the browser: the diagram, and its plants where they start.

        out : path      where the page is written; default a temporary file that a browser shows
        show : bool     False: no browser is opened
        live : bool     run it in the page: play, pause, steps, sliders, pushes. Returns a `LiveView`
                        (``.wait()``, ``.result()``, ``.save()``) instead of a `Page`
        options         of a live view: until, every, parameters, initial, signals, host, port, folder and the
                        settings of `simulate`; see `cosim.viewer.server.live_view.view_diagram`

        Raises
        ------
        PlantloopError      the page cannot be written, or the diagram cannot run
        """
        if live:
            if out is not None:
                raise PlantloopError(
                    "a live view is no file: leave out= away, and save its result.", value=out
                )
            # a diagram knows nothing of what runs and shows it: it is looked for when it is asked for
            return import_module("cosim.viewer.server.live_view").view_diagram(self, show=show, **options)
        if options:
            raise PlantloopError(f"{', '.join(options)} belongs to live views.", hint="Add live=True.")
        from cosim.viewer.page import view
        from cosim.viewer.page_data import of_diagram

        return view(of_diagram(self), out, show)

    def draw(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """The diagram as a picture: laid out from left to right, subsystems as frames, a colour per rate.

        path : path      where it is written, by its suffix: .svg, .png or .pdf
        Wires of several components are thick and say how many; those that close a loop are dashed. A diagram
        that cannot run is drawn too, and says why.

        Raises
        ------
        PlantloopError      the picture cannot be written

        >>> d.draw("loop.svg")
        """
        from cosim.drawing.sheet import draw
        from cosim.viewer.diagram_data import diagram_data

        system, problems = None, ""
        try:
            system = self.system()
        except PlantloopError as error:
            problems = str(error)
        return draw(diagram_data(self.netlist(), system, problems), path)

    # --- what is in it --------------------------------------------------------------------------------
    @property
    def signals(self) -> tuple[str, ...]:
        """Names of all signals a run logs and `Result` shows; states and parameters can be logged as well."""
        return tuple(self.system().signals)

    @property
    def states(self) -> dict[str, np.ndarray]:
        """Continuous and discrete states by name, each with its initial value (k,)."""
        return states_of(self.system())

    @property
    def parameters(self) -> dict[str, np.ndarray]:
        """Numbers a run may change by name, each with its value; what is structural in them is nan."""
        return parameters_of(self.system())

    @property
    def rates(self) -> dict[str, str]:
        """In words when each sampled signal is taken, by its name."""
        return {name: str(s.ticks) for name, s in self.system().signals.items() if s.ticks is not None}

    def info(self) -> dict[str, Any]:
        """What the diagram contains, see `cosim.diagram_facts.facts_of`.

        Raises
        ------
        WiringError, AlgebraicLoopError    the diagram cannot run
        """
        return facts_of(self.netlist(), self.system())

    def check(self, solve_loops: bool = False) -> tuple[Any, ...]:
        """What is to be looked at: jumps, unit faults, outputs nobody reads, rates that go badly together.

        Returns
        -------
        findings : tuple of `cosim.analysis.findings.DiagramFinding`, faults first; printed, each is one line

        Raises
        ------
        WiringError, AlgebraicLoopError    the diagram cannot be flattened, for other reasons than its units
        """
        # the compiler looks, and knows nothing of diagrams: it is looked for when it is asked for
        found: tuple[Any, ...] = import_module("cosim.analysis.findings").findings(
            self.netlist(), solve_loops
        )
        return found

    def _repr_html_(self) -> str:
        """In a notebook: the page of `view`."""
        return self.view(show=False)._repr_html_()

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._graph)

    def __getstate__(self) -> dict[str, Any]:
        """What is drawn; what was derived from it is made again where it is needed."""
        return {**self.__dict__, "_flat": {}, "_kept": {}}

    def kept(self, what: str) -> dict[Any, Any]:
        """A place for what others derive from this diagram; emptied when it changes."""
        versions = self._versions()
        if self._kept.get("versions") != versions:
            self._kept = {"versions": versions}
        found: dict[Any, Any] = self._kept.setdefault(what, {})
        return found

    def _node(
        self, name: str, content: Block | Diagram | Subsystem | Inport, given: Mapping[str, Any] | None = None
    ) -> Node:
        if not isinstance(name, str):
            call = "inport('name')" if isinstance(content, Inport) else "add('name', block)"
            raise WiringError([f"the name {name!r} is no text; write {call}."])
        if not name or FORBIDDEN & set(name):
            raise WiringError(
                [f"block name {name!r} must not be empty or contain '.', '/', '[', ']' or blanks."], path=name
            )
        if name in self._graph:
            raise WiringError(
                [f"diagram '{self.name}' has a block '{name}' already; give this one another name."],
                path=name,
            )
        self._graph.add_node(name, block=content, given=dict(given or {}))
        self._changed()
        return Node(self, name)

    def _own(self, ref: PortRef | Node | str, checked_now: bool = False) -> PortRef:
        if isinstance(ref, str):
            node, dot, port = ref.strip().partition(".")
            if not dot:
                raise WiringError([f"'{ref}' names no port; write 'block.port'."], path=ref)
            handle = self[node]
            return handle[port] if checked_now else handle.unchecked(port)
        if not isinstance(ref, PortRef):  # callers without types may pass anything
            text = "" if isinstance(ref, Node) else " or 'block.port'"
            raise WiringError([f"{shown(ref)} is no port. Write handle['port']{text}."], value=ref)
        if ref.diagram is not self:
            other = ref.diagram.name
            whose = f"diagram '{other}', not to '{self.name}'"
            if other == self.name:
                whose = f"another diagram that is called '{other}' too"
            raise WiringError(
                [f"port '{ref}' belongs to {whose}. Connect through inport and outport of the subsystem."],
                path=str(ref),
            )
        return self[ref.node].unchecked(
            ref.port
        )  # a reference made by hand may name a block that is not there

    def _contains(self, other: Diagram) -> bool:
        inside = [inner for _, b in self._graph.nodes(data="block") for inner in _diagrams(b)]
        return any(b is other or b._contains(other) for b in inside)

    def _changed(self) -> None:
        self._version += 1
        self._flat.clear()

    def _versions(self) -> tuple[int, ...]:
        """Change counters of this diagram and all in it."""
        inside = [inner for _, b in self._graph.nodes(data="block") for inner in _diagrams(b)]
        return (self._version, *(v for b in inside for v in b._versions()))

    def __repr__(self) -> str:
        names = list(self._graph)
        some = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
        wires = self._graph.number_of_edges()
        return f"<Diagram '{self.name}': {len(names)} blocks ({some}), {wires} connections>"


def written_connection(text: Any) -> tuple[str, list[str]]:
    """The output and the inputs of a text such as "a.y -> b.u, c.u".

    Raises
    ------
    WiringError    it is no such text
    """
    parts = text.split("->") if isinstance(text, str) else []
    inputs = [part.strip() for part in parts[1].split(",")] if len(parts) == 2 else []
    if len(parts) != 2 or not parts[0].strip() or not all(inputs):
        raise WiringError(
            [f"{shown(text)} is no connection; write 'block.output -> block.input, other.input'."], value=text
        )
    return parts[0].strip(), inputs


def _diagrams(block: Any) -> Iterator[Diagram]:
    """Diagrams in a node of a diagram: itself, or those that a subsystem is made of."""
    if isinstance(block, Diagram):
        yield block
    elif isinstance(block, Subsystem):
        for inner in block.inside:
            yield from _diagrams(inner)


def around(block: Block, name: str = "block") -> Diagram:
    """Diagram of one block called `ALONE`, its inputs and outputs as those of the diagram.

    Names in its system may leave out "plant.".
    """
    d = Diagram(name)
    d._prefix = f"{ALONE}."
    node = d.add(ALONE, block)
    probe = trace(block, {}, guess=1).declared
    for i in probe.inputs:
        d.connect(d.inport(i.name, i.size), node[i.name])
    for o in probe.outputs:
        if not o.auxiliary:
            d.outport(o.name, node[o.name])
    return d


def system_alone(block: Block, solve_loops: bool = False, name: str = "block") -> System:
    """Flat system of one block: its inputs are those of the system, and names may leave out "plant."."""
    return around(block, name).system(solve_loops)


def system_of(diagram: Diagram | Block | System, solve_loops: bool = False, driven: Driven = False) -> System:
    """The flat system of a diagram, or of one block with its inputs as inputs of the system.

    With `driven`, blocks that step themselves are left to a co-simulation master; see `Diagram.system`.

    Raises
    ------
    WiringError, AlgebraicLoopError     as `Diagram.system`
    PlantloopError                      something else was given
    """
    flag(solve_loops, "solve_loops")
    if not isinstance(driven, str) or driven != "held":
        flag(driven, "driven")
    if isinstance(diagram, Block):
        diagram = around(diagram)
    if isinstance(diagram, Diagram):
        return diagram.system(solve_loops, driven=driven)
    if isinstance(diagram, System):
        return diagram
    raise no_block(diagram, "a Diagram or a Block to simulate")
