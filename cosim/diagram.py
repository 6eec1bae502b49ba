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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from blocks.arguments import flag
from blocks.contract.block import Block
from blocks.contract.masks import computed
from blocks.contract.services import services
from blocks.contract.units import Units
from blocks.errors import PlantloopError, WiringError, near_miss, shown
from blocks.fact_sheet import FactSheet
from cosim.block_names import checked_block_name, checked_diagram_name, checked_name
from cosim.compile.flatten import flatten
from cosim.compile.netlist import Driven, Inport, Netlist
from cosim.diagram_facts import drawn_facts, facts_of, parameters_of, states_of
from cosim.diagram_parameters import DiagramParameters
from cosim.diagram_wires import DiagramWires
from cosim.linear_blocks import block_of
from cosim.names import listed, mapped
from cosim.node_ports import ports_of
from cosim.port_handles import Node, PortRef
from cosim.subsystems.parts import Subsystem
from cosim.system import System

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from cosim.analysis.findings import DiagramFinding


FUNCTIONS = {name: name for name in ("simulate", "linearize", "margins", "trim", "frequency_response")} | {
    "run": "simulate",
    "sim": "simulate",
    "plot": "simulate",
}
"""What is looked for in a diagram, and done by a function."""

FOR_OTHER_FILES = (
    "content", "drivers", "given", "graph", "grounded", "holds", "inner_values", "kept", "netlist",
    "own_parameters", "ports_at", "prefix",
)  # fmt: skip
"""What the rest of the package asks of a diagram: not offered while one types."""


class Diagram(DiagramWires):
    """Blocks and diagrams by name, and the connections between their ports.

    Parameters
    ----------
    name : str     shown in results and messages

    Names of blocks must not contain ``. / [ ]`` or blanks. Mistakes in the wiring are all reported
    together when the diagram is flattened.
    """

    def __init__(self, name: str = "diagram") -> None:
        super().__init__(checked_diagram_name(name))
        self._outports: dict[str, PortRef] = {}
        self._parameters = DiagramParameters()
        self._inner_values: dict[str, Any] = {}  # what was changed in the diagrams and blocks inside, by name
        self.holds: Any = None  # what has to live as long as this diagram and those made from it
        self.prefix = ""  # what names in its system may leave out: "plant." around a block looked at alone

    def add(
        self,
        name: str,
        block: Block | Diagram | Subsystem | Any = None,
        parameters: Mapping[str, Any] | None = None,
        replace: bool = False,
        units: Mapping[str, Units] | None = None,
    ) -> Node:
        """Add a block, or a diagram as a subsystem; returns its handle.

        block : Block, Diagram, or a linear system of python-control, continuous or discrete
        replace : where the name is taken, replace that block and keep its connections (for notebooks)
        parameters : of a subsystem that has parameters, what they are here: numbers, or expressions of the
            parameters of this diagram
        units : of its ports and parameters, as {"u": "V", "k": "N/V"}; one for all components, or a list.
            Wires between ports whose units are known are checked

        Raises
        ------
        WiringError    name taken or malformed, or `block` is no block
        """
        flag(replace, "replace")
        if block is None:
            checked_block_name(name, "add('name', block)")
        if replace and isinstance(name, str) and name in self._graph:
            return self.replace(name, block, parameters, units)
        content = self._content(name, block, parameters)
        return self._node(name, content, mapped(parameters, "parameters"), mapped(units, "units"))

    def _content(
        self, name: str, block: Any, parameters: Mapping[str, Any] | None
    ) -> Block | Diagram | Subsystem:
        """What goes into a node, checked."""
        if isinstance(block, type):
            kind = block.__name__
            raise WiringError([f"'{name}' is the class {kind}, not a block; write {kind}(...)."])
        if isinstance(block, str) and isinstance(name, (Block, Diagram, Subsystem)):
            raise WiringError([f"the name comes first: write add('{block}', {name!r})."])
        block = block_of(block)
        if not isinstance(block, (Block, Diagram, Subsystem)):
            cure = " Write Function(f)." * callable(block)
            what = f"'{name}' is a {type(block).__name__}, expected a Block or a Diagram.{cure}"
            raise WiringError([what], path=name)
        for inner in _diagrams(block):
            if inner is self or inner._contains(self):
                raise WiringError([f"diagram '{inner.name}' cannot contain itself."], path=name)
        masked = next(_diagrams(block), None)
        given = mapped(parameters, "parameters")
        if masked is not None:
            masked._parameters.check_given(masked.name, given)
        elif given:
            cure = f"write {type(block).__name__}({next(iter(given))}=...)"
            raise WiringError([f"'{name}' is a block: its parameters are its own fields; {cure}."], path=name)
        return block

    def inport(self, name: str, size: int = 1, unit: Units = "") -> PortRef:
        """A signal that enters the diagram, to be connected inside like an output.

        In a subsystem its size is that of what is connected outside; at the top level `size` holds and
        the value is set with ``Simulation.set_input``. What is connected is checked to be in `unit`.
        """
        if isinstance(size, (PortRef, Node)):
            text = f"the inport '{name}' is given {shown(size)} as its size. Connect what it returns: "
            raise WiringError([f"{text}d.connect(d.inport('{name}'), ...)."], value=name)
        made = Inport.of(name, size, unit)
        if name in self and self.content(name) == made:  # a cell of a notebook that is run again
            return self[name]["out"]
        return self._node(name, made)["out"]

    def parameter(self, name: str, value: Any) -> Any:
        """A parameter of this diagram, for fields of its blocks: ``J = d.parameter("J", 0.1)``.

        The returned expression can be used like a number, also in arithmetic: ``Gain(1 / J)``. In a run the
        parameter is called "motor.J" if this diagram is the subsystem "motor", and "J" if it is the whole
        diagram; runs may change it like the numbers of the blocks that use it. If it decides how something
        is built (a sample time, an instant, a size, a text) it is structural: ``parameters=`` rebuilds the
        diagram with the given values, and it cannot change during a run. An array gives an array of
        expressions.

        Raises
        ------
        WiringError    the name is taken or malformed, or the value is not finite
        """
        self._parameters = self._parameters.added(self.name, name, value)
        self._changed()
        return self._parameters.expression(name)

    def computed(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Numbers that a Python function computes from parameters when the diagram is built.

        ``K = d.computed(lambda J: control.lqr(*model(J), Q, R)[0], J)`` has an expression for every number
        that the function returns, and can be used like these numbers: ``Gain(-K)``. The parameters become
        structural: a run with other values rebuilds the diagram and calls the function again.

        Raises
        ------
        BlockError    it is no function, or does not give finite numbers
        """
        return computed(function, arguments)

    @property
    def own_parameters(self) -> dict[str, Any]:
        """What `parameter` was given in this very diagram, by name, structural ones included."""
        return dict(self._parameters.values)

    @property
    def inner_values(self) -> dict[str, Any]:
        """What `with_parameters` changed in the diagrams and blocks inside, by name."""
        return dict(self._inner_values)

    def with_parameters(self, **values: Any) -> Diagram:
        """This diagram with other values of its parameters, structural ones included.

        Names with dots stand for parameters of subsystems and fields of blocks:
        ``d.with_parameters(T=0.1, **{"motor.J": 0.2, "motor/step.time": 3.0})``.

        Raises
        ------
        WiringError    no such parameter or field, or a value of another kind
        """
        other = copy.copy(self)
        inner = {name: value for name, value in values.items() if "." in name}
        own = {name: value for name, value in values.items() if name not in inner}
        other._parameters = self._parameters.changed(self.name, own)
        other._inner_values = {**self._inner_values, **inner}
        other._graph, other._outports = self._graph.copy(), dict(self._outports)
        other._grounded, other._kept = set(self._grounded), {}
        return other

    def outport(self, name: str, source: PortRef | Node | str) -> None:
        """Show a signal of the inside, `source`, as an output of the diagram."""
        self._show(checked_name(name, "an outport's"), source)

    def _show(self, name: str, source: PortRef | Node | str) -> None:
        """An outport called whatever the output of a block alone is called, such as "motor.phi" of an FMU."""
        end = self._end(source, "output")
        if self._outports.get(name, end) != end:
            shows = f"which shows '{self._outports[name]}'; give this one another name."
            raise WiringError([f"'{self.name}' has an output '{name}' already, {shows}"], path=name)
        self._outports[name] = end
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
        """Replace a block by another one; connections to ports of the same names are kept.

        parameters, units : of the new block, as in `add`

        Raises
        ------
        WiringError    no such block, or the new one lacks a connected port
        """
        old = self[name]
        used = {data["source"] for _, _, data in self._graph.out_edges(name, data=True)}
        used |= {data["target"] for _, _, data in self._graph.in_edges(name, data=True)}
        used |= {ref.port for ref in self._outports.values() if ref.node == name}
        content = self._content(name, block, parameters)
        found = ports_of(content)
        found.check_used(name, type(content).__name__, used)
        self._graph.nodes[name].pop("ports", None)
        more = {"given": dict(mapped(parameters, "parameters")), "units": dict(mapped(units, "units"))}
        self._graph.nodes[name].update(block=content, **more)
        self._grounded = {
            (n, p) for n, p in self._grounded if n != name or not found.known or p in found.inputs
        }
        self._changed()
        return old

    def content(self, name: str) -> Block | Diagram | Subsystem | Inport:
        """What is in a node: a block, a diagram, a subsystem or an input of this diagram."""
        found: Block | Diagram | Subsystem | Inport = self._data(name)["block"]
        return found

    @property
    def blocks(self) -> dict[str, Block | Diagram | Subsystem | Inport]:
        """What is in it, by name: blocks, diagrams, subsystems and its own inputs."""
        return {name: self.content(name) for name in self._graph}

    @property
    def inports(self) -> dict[str, Inport]:
        """Inputs of the diagram by name."""
        blocks = self._graph.nodes(data="block")
        return {name: block for name, block in blocks if isinstance(block, Inport)}

    @property
    def outports(self) -> dict[str, PortRef]:
        """Outputs of the diagram by name."""
        return dict(self._outports)

    def netlist(self) -> Netlist:
        """The blocks and wires of this diagram and its subsystems, as data; a repeated wire counts once."""
        nodes, edges = self._graph.nodes(data="block"), self._graph.edges(data=True)
        wires = (((out, ports["source"]), (into, ports["target"])) for out, into, ports in edges)
        drawn = Netlist(
            self.name,
            {n: node.netlist() if isinstance(node, (Diagram, Subsystem)) else node for n, node in nodes},
            tuple(dict.fromkeys(wires)),
            {name: (ref.node, ref.port) for name, ref in self._outports.items()},
            frozenset(self._grounded),
            self._parameters.owner,
            dict(self._parameters.values),
            {name: given for name, given in self._graph.nodes(data="given") if given},
            {name: units for name, units in self._graph.nodes(data="units") if units},
            frozenset((into, ports["target"]) for _, into, ports in edges if ports.get("convert")),
        )
        return drawn.changed(self._inner_values) if self._inner_values else drawn

    def system(
        self,
        solve_loops: bool = False,
        perturb: Sequence[str] = (),
        driven: Driven = False,
        opened: Sequence[str] = (),
    ) -> System:
        """The flat system of this diagram; kept until the diagram changes.

        solve_loops : solve algebraic loops instead of refusing them?
        perturb : signals that get an input of the system of their own name, which is added to their value
        opened : those of them whose value the input replaces
        driven : True leaves blocks that step themselves to a co-simulation master; "held" leaves those to it
            that a run leaves to it by default

        Raises
        ------
        PlantloopError    what `perturb` or `opened` lists is no name
        WiringError       no such port, or what is wrong with the diagram
        """
        solve_loops = flag(solve_loops, "solve_loops")
        perturb, opened = tuple(listed(perturb, "perturb")), tuple(listed(opened, "opened"))
        if not_perturbed := [name for name in opened if name not in perturb]:
            first = shown(not_perturbed[0])
            raise PlantloopError(
                f"opened lists {first}, which is not in perturb.",
                value=opened,
                hint=f"Write perturb=[{first}].",
            )
        if not isinstance(driven, str) or driven != "held":
            driven = flag(driven, "driven")
        flat: dict[Any, System] = self.kept("systems")
        key = (solve_loops, perturb, driven, opened)
        if key not in flat:
            drawn = self.netlist()
            if driven == "held" and drawn.uncoupled() is drawn:  # nothing steps itself
                flat[key] = self.system(solve_loops, perturb, opened=opened)
            else:
                cache = self.kept("traced").pop("now", None)
                found = flatten(drawn, solve_loops, perturb, driven=driven, opened=opened, cache=cache)
                flat[key] = replace(found, prefix=self.prefix)
        return flat[key]

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
        return services().show_model(self, out, show, live, options)

    def draw(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """The diagram as a picture: laid out from left to right, subsystems as frames, a colour per rate.

        State charts show their states, plants their bodies where they start.

        path : path      where it is written, by its suffix: .svg, .png or .pdf
        Wires of several components are thick and say how many; those that close a loop are dashed. A diagram
        that cannot run is drawn too, and says why.

        Raises
        ------
        PlantloopError      the picture cannot be written

        >>> d.draw("loop.svg")
        """
        from cosim.drawing.of_diagram import draw_diagram  # only where pictures are drawn

        return draw_diagram(self.netlist(), self.system, path)

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
    def parameters(self) -> dict[str, Any]:
        """Parameters by name, each with its value; what is structural in numbers a run may change is nan.

        Structural parameters, for which a diagram is rebuilt (sample times, sizes, choices), come last, as
        they were given; `info` lists them as "structural", and second names of parameters, which are taken
        everywhere, as "other names".
        """
        return parameters_of(self.system())

    @property
    def rates(self) -> dict[str, str]:
        """When each sampled signal is taken, in words, by its name."""
        return {name: str(s.ticks) for name, s in self.system().signals.items() if s.ticks is not None}

    def info(self) -> FactSheet:
        """What the diagram contains, and what it still lacks: a dict that prints in a few lines.

        See `cosim.diagram_facts.facts_of`.
        """
        try:
            return facts_of(self.netlist(), self.system())
        except PlantloopError as error:  # unfinished, or with a loop
            return drawn_facts(self.netlist(), getattr(error, "problems", [str(error)]))

    def check(self, solve_loops: bool = False) -> tuple[DiagramFinding, ...]:
        """What deserves a look: jumps, unit errors, unused outputs, rates that do not match.

        solve_loops : are algebraic loops solved, as in a run with that setting?

        Returns
        -------
        findings : tuple, faults first; printed, each is one line

        Raises
        ------
        WiringError, AlgebraicLoopError    the diagram cannot be flattened, for other reasons than its units
        """
        from cosim.analysis.findings import findings  # only where one looks over a diagram

        return findings(self.netlist(), solve_loops)

    def _repr_html_(self) -> str:
        """In a notebook: the page of `view`."""
        return self.view(show=False)._repr_html_()

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._graph)

    def __dir__(self) -> list[str]:
        """Names to offer while one types."""
        return [name for name in super().__dir__() if name not in FOR_OTHER_FILES]

    def __getstate__(self) -> dict[str, Any]:
        """What is drawn; what was derived from it is made again where it is needed."""
        return {**self.__dict__, "_kept": {}}

    def kept(self, what: str) -> dict[Any, Any]:
        """A place for what others derive from this diagram; emptied when it changes."""
        versions = self._versions()
        if self._kept.get("versions") != versions:
            self._kept = {"versions": versions}
        found: dict[Any, Any] = self._kept.setdefault(what, {})
        return found

    def _contains(self, other: Diagram) -> bool:
        return any(b is other or b._contains(other) for b in self._inside())

    def _versions(self) -> tuple[int, ...]:
        """Change counters of this diagram and all in it."""
        return (self._version, *(v for b in self._inside() for v in b._versions()))

    def _inside(self) -> tuple[Diagram, ...]:
        """The diagrams in its nodes; found once until it changes."""
        found: tuple[Diagram, ...] | None = self._kept.get("inside")
        if found is None:
            blocks = self._graph.nodes(data="block")
            self._kept["inside"] = found = tuple(inner for _, block in blocks for inner in _diagrams(block))
        return found

    def __getattr__(self, name: str) -> Any:
        """Only what is not there: it says how to come to a block, and how a diagram is run."""
        text = f"a Diagram has no attribute '{name}'"
        if name in self.__dict__.get("_graph", ()):
            raise AttributeError(f"{text}; the block is diagram['{name}'].")
        if name in FUNCTIONS:
            raise AttributeError(
                f"{text}; write from cosim import {FUNCTIONS[name]}, and {FUNCTIONS[name]}(d, ...)."
            )
        raise AttributeError(f"{text}; {near_miss(name, [n for n in dir(Diagram) if n[0] != '_'])}")

    def __repr__(self) -> str:
        names = list(self._graph)
        some = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
        wires = self._graph.number_of_edges()
        return f"<Diagram '{self.name}': {len(names)} blocks ({some}), {wires} connections>"


def _diagrams(block: Any) -> Iterator[Diagram]:
    """Diagrams in a node of a diagram: itself, or those that a subsystem is made of."""
    if isinstance(block, Diagram):
        yield block
    elif isinstance(block, Subsystem):
        for inner in block.inside:
            yield from _diagrams(inner)
