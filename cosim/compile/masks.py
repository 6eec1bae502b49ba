"""Parameters of diagrams, and which numbers of the blocks inside follow from them.

A block made of expressions is made twice: with the numbers its parameters have, and with others that are all
different. Where one of its run-time numbers has become one of those others, the number *is* the expression,
and follows it from run to run. What else depends on a parameter, such as a sample time or a number of
components, is settled when the diagram is flattened: that parameter is then structural.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import casadi as ca
import numpy as np

from blocks.arguments import is_number
from blocks.contract.block import Block
from blocks.contract.derived import Derived
from blocks.contract.masks import PARAMETER, ParameterExpression, default, found_in
from blocks.contract.recipes import Recipe, recipe_of
from blocks.contract.shape import frozen
from blocks.contract.symbols import as_scalar, column, tracing
from blocks.contract.trace import TraceCache, Traced
from blocks.errors import PlantloopError, WiringError, near_miss, shown
from cosim.compile.netlist import EnclosingBlock, Inport, Netlist
from cosim.system_parts import Unsettable

Root = tuple[str, str]  # path of a diagram, name of one of its parameters that no other gives
MIXED = "it only comes together with others that are structural"
NOT_USED = "no block uses it"
SAME = 1e-12  # relative; a number of a block this close to an expression is that expression


@dataclass(frozen=True)
class MaskScope:
    """The parameters of one diagram at its place.

    path : of the diagram, "" for the whole; given : what the diagram around it says they are
    """

    path: str
    owner: str
    parameters: Mapping[str, Any]
    given: Mapping[str, Any]
    outer: MaskScope | None

    def find(self, leaf: ParameterExpression) -> MaskScope:
        """The scope a parameter belongs to: this one or one around it."""
        owner, name, _ = leaf.arguments
        scope: MaskScope | None = self
        while scope is not None:
            if scope.owner == owner and name in scope.parameters:
                return scope
            scope = scope.outer
        raise PlantloopError(
            f"parameter {leaf!r} belongs to a diagram that this block is not in.",
            hint="Use parameters of the block's own diagram, or of one around it.",
        )

    def roots(self, expression: ParameterExpression) -> set[Root]:
        """The parameters that an expression finally depends on."""
        found: set[Root] = set()
        for leaf in expression.leaves():
            scope, name = self.find(leaf), leaf.arguments[1]
            inner = list(found_in(scope.given.get(name)))
            found |= {r for e in inner for r in (scope.outer or scope).roots(e)} or {(scope.path, name)}
        return found

    def value(self, expression: ParameterExpression, look: Callable[[Root], Any]) -> Any:
        """The value of an expression, with values of its roots from `look`: numbers or symbols."""

        def leaf_value(leaf: ParameterExpression) -> Any:
            scope, (_, name, place) = self.find(leaf), leaf.arguments
            given = scope.given.get(name)
            if isinstance(given, ParameterExpression):
                return (scope.outer or scope).value(given, look)
            if place is not None and any(True for _ in found_in(given)):
                element = np.array(given, dtype=object)[place]
                inside = isinstance(element, ParameterExpression)
                return (scope.outer or scope).value(element, look) if inside else element
            whole = look((scope.path, name))
            return whole if place is None else np.asarray(whole)[place]

        return expression.evaluate(leaf_value)


@dataclass
class MaskLink:
    """A run-time number of a block that follows an expression.

    what : "parameter" or "initial"; name : of the parameter or memory; place : in its numbers, row-major
    """

    what: str
    name: str
    place: int
    sign: float
    expression: ParameterExpression
    scope: MaskScope


@dataclass
class Masks:
    """All parameters of diagrams, the scope of every block made of expressions, and what follows from them.

    fixed : roots no run can change, and why
    place : where a diagram stands that is flattened on its own; None for a whole one
    settled : numbers of blocks that parameters give which are structural elsewhere, by path
    """

    values: dict[Root, Any] = field(default_factory=dict)
    scopes: dict[str, MaskScope] = field(default_factory=dict)  # of blocks made of expressions, by path
    links: dict[str, list[MaskLink]] = field(default_factory=dict)
    fixed: dict[Root, str] = field(default_factory=dict)
    used: set[Root] = field(default_factory=set)
    bound: dict[str, str] = field(default_factory=dict)  # parameters another one gives: by name, from what
    place: MaskPlace | None = None
    settled: dict[str, set[str]] = field(default_factory=dict)

    def at(self, path: str) -> str:
        """A path of the diagram in the whole one."""
        return path if self.place is None else f"{self.place.path}/{path}".strip("/")

    def slot(self, root: Root) -> str:
        """What the numbers of a parameter are called in the system.

        In what is flattened on its own no block has that name.
        """
        return named(root) if self.place is None else f"({named(root).replace('/', '.')})"

    def enter(
        self, diagram: Netlist, path: str, given: Mapping[str, Any], outer: MaskScope | None
    ) -> MaskScope:
        """The scope of a diagram at its place.

        Raises
        ------
        WiringError     values for parameters it does not have, or of another size
        """
        path = self.at(path)
        for name, value in given.items():
            if name not in diagram.parameters:
                near = near_miss(name, diagram.settable)
                raise WiringError([f"diagram '{path}' has no parameter '{name}'; {near}"], path=path)
            expected, got = np.shape(_plain(diagram.parameters[name])), np.shape(_plain(value))
            if expected != got:
                what = f"parameter '{name}' of '{path}' has the shape {got}, expected {expected}."
                raise WiringError([what], path=path, value=value)
        scope = MaskScope(path, diagram.owner, diagram.parameters, given, outer)
        for name, value in diagram.parameters.items():
            own = given.get(name, value)
            inside = list(found_in(own))
            if not inside:
                self.values[path, name] = own
            else:
                for expression in inside:
                    self._compute_one(expression, outer or scope, f"parameter '{name}' of '{path}' is")
                whence = {named(r) for e in inside for r in (outer or scope).roots(e)}
                self.bound[named((path, name))] = ", ".join(sorted(whence))
        return scope

    def block(self, path: str, block: Block, scope: MaskScope) -> Block:
        """A block with the numbers its parameters have here."""
        recipe = recipe_of(block)
        if recipe is None:
            return block
        self.scopes[path] = scope
        for expression in recipe.expressions:
            self.used |= scope.roots(expression)
        made: Block = recipe.make(lambda e: scope.value(e, self.values.__getitem__))
        object.__setattr__(made, "_recipe", recipe)
        return made

    def choice(self, path: str, chosen: ParameterExpression, scope: MaskScope) -> Any:
        """The choice that a parameter makes; the parameter is structural."""
        roots = scope.roots(chosen)
        self.used |= roots
        self.fixed |= {
            root: f"it chooses what '{self.at(path)}' is" for root in roots if root not in self.fixed
        }
        return scope.value(chosen, self.values.__getitem__)

    def link(self, path: str, block: Block, traced: Traced, cache: TraceCache) -> Traced:
        """Find what of a block follows from parameters; gives the shape in which those numbers are free."""
        if isinstance(block, EnclosingBlock):
            self._link_enclosed(path, block, traced)
            return traced
        recipe, scope = recipe_of(block), self.scopes.get(path)
        if recipe is None or scope is None:
            return traced
        sizes = {i.name: i.size for i in traced.declared.inputs}
        for expression in recipe.expressions:
            self._compute_one(expression, scope, f"the equations of '{self.at(path)}' are")
        every = [k for k, e in enumerate(recipe.expressions) if not e.by_numbers]
        found = _links(recipe, scope, self.values, block, cache, sizes, every)
        if found is None:
            alone = {k: _links(recipe, scope, self.values, block, cache, sizes, [k]) for k in every}
            free = [k for k in every if alone[k] is not None]
            for k in set(every) - set(free):
                expression = recipe.expressions[k]
                for root in scope.roots(expression):
                    self.fixed.setdefault(
                        root, f"the equations of '{self.at(path)}' are made of {expression!r}"
                    )
            found = _links(recipe, scope, self.values, block, cache, sizes, free)
        if found is None:
            return traced
        self.links[path] = found[1]
        return found[0]

    def _link_enclosed(self, path: str, block: EnclosingBlock, traced: Traced) -> None:
        """Let numbers of a diagram that is flattened on its own follow the parameters they are."""
        recipe = recipe_of(block)
        for expression in () if recipe is None else recipe.expressions:
            for root in self.scopes[path].roots(expression):
                self.fixed.setdefault(root, f"it decides when or how often '{self.at(path)}' runs")
        inside: Masks | None = block.masks_inside({i.name: i.size for i in traced.declared.inputs})
        if inside is None:
            return
        self.values = inside.values | self.values
        self.bound |= inside.bound
        self.used |= inside.used
        self.fixed = inside.fixed | self.fixed
        self.settled[path] = set()
        self.links[path] = [
            link for root, value in inside.tunable() for link in _whole(inside.slot(root), root, value)
        ]

    def _compute_one(self, expression: ParameterExpression, scope: MaskScope, what: str) -> None:
        """Compute one function; the parameters it uses are structural."""
        if expression.by_numbers:
            for root in scope.roots(expression):
                self.fixed.setdefault(root, f"{what} computed from it")

    def compute(self) -> None:
        """Drop links to what is structural: with what it is, the diagram is flattened."""
        for path, links in self.links.items():
            kept = [k for k in links if not k.scope.roots(k.expression) & self.fixed.keys()]
            self.links[path] = kept
            if path in self.settled:
                self.settled[path] = {k.name for k in links} - {k.name for k in kept}

    def tunable(self) -> Iterable[tuple[Root, np.ndarray]]:
        """Parameters a run can change, with their values."""
        linked = {r for links in self.links.values() for k in links for r in k.scope.roots(k.expression)}
        for root, value in self.values.items():
            if root in linked and root not in self.fixed:
                yield root, np.asarray(value, dtype=float)

    def refused(self) -> dict[str, Unsettable]:
        """Reasons why other parameters cannot be changed by a run, by name."""
        tunable = {root for root, _ in self.tunable()}
        return {named(root): self._unsettable(root) for root in self.values if root not in tunable}

    def _unsettable(self, root: Root) -> Unsettable:
        why = self.fixed.get(root, MIXED if root in self.used else NOT_USED)
        return Unsettable(f"it is structural: {why}", builds=root in self.fixed or root in self.used)


def named(root: Root) -> str:
    """The name of a diagram's parameter in a run: "motor.J", or "J" for the whole diagram."""
    path, name = root
    return f"{path}.{name}" if path else name


@dataclass(frozen=True, eq=False)
class MaskPlace:
    """Where a diagram stands that is flattened on its own.

    path : of its subsystem; given : what parameters of diagrams in it are
    outer, values : the scope of its subsystem, and what the parameters known there are
    derived : what was made of the diagram here
    """

    path: str
    given: Mapping[str, Any]
    outer: MaskScope | None
    values: Mapping[Root, Any]
    derived: Derived = field(default_factory=Derived, repr=False)

    def masks(self) -> Masks:
        """Parameters known here, for the diagram to be flattened with."""
        return Masks(values=dict(self.values), place=self)


def of_parameters(diagram: Netlist) -> bool:
    """Has a diagram, or one inside it, parameters, or are blocks in it made of any?"""
    return bool(diagram.parameters or diagram.variants) or any(map(_of_parameters, diagram.nodes.values()))


def _of_parameters(node: Block | Netlist | Inport) -> bool:
    if isinstance(node, EnclosingBlock):
        return recipe_of(node) is not None or of_parameters(node.enclosed())
    return of_parameters(node) if isinstance(node, Netlist) else recipe_of(node) is not None


def _whole(name: str, root: Root, value: np.ndarray) -> Iterable[MaskLink]:
    """All numbers of a block's parameter as those of a parameter of a diagram."""
    path, own = root
    scope = MaskScope(path, "", {own: value}, {}, None)
    for k, place in enumerate(np.ndindex(value.shape)):
        arguments = ("", own, place if value.shape else None)
        leaf = ParameterExpression(PARAMETER, arguments, float(value[place]))
        yield MaskLink("parameter", name, k, 1.0, leaf, scope)


def given_values(blocks: Mapping[str, Block], masks: Masks) -> dict[str, Any]:
    """Values given to fields of blocks (by their paths) and parameters of diagrams, by name."""
    own = {named(root): value for root, value in masks.values.items()}
    return own | {f"{path}.{f.name}": getattr(b, f.name) for path, b in blocks.items() for f in fields(b)}  # type: ignore[arg-type]


def symbolic(link: MaskLink, symbols: Mapping[Root, tuple[ca.SX, tuple[int, ...]]]) -> ca.SX:
    """The number of a link in the symbols of parameters, each with the shape of its value."""

    def look(root: Root) -> Any:
        symbol, shape = symbols[root]
        if shape == ():
            return as_scalar(symbol)
        made = np.empty(shape, dtype=object)
        for k, place in enumerate(np.ndindex(shape)):
            made[place] = as_scalar(symbol[k])
        return made

    with tracing():
        value = column(link.scope.value(link.expression, look))
    return value if link.sign > 0 else -value


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple, np.ndarray)):
        return np.array(value, dtype=object)
    return 0.0


def _links(
    recipe: Recipe,
    scope: MaskScope,
    values: Mapping[Root, Any],
    block: Block,
    cache: TraceCache,
    sizes: dict[str, int],
    free: Iterable[int],
) -> tuple[Traced, list[MaskLink]] | None:
    """The numbers that the expressions `free` become, and the shape then; None where other things change."""
    expressions = recipe.expressions
    for side in (1.0, -1.0):
        other = {
            id(expressions[k]): _moved(scope.value(expressions[k], values.__getitem__), side * (1 + k))
            for k in free
        }
        if not all(is_number(v) for v in other.values()):
            return None

        def look(e: ParameterExpression, other: Mapping[int, Any] = other) -> Any:
            return other[id(e)] if id(e) in other else scope.value(e, values.__getitem__)

        try:
            moved: Block = recipe.make(look)
            traced = cache.get(moved, sizes)
        except PlantloopError:
            continue
        if not _same_structure(block, moved, traced, sizes):
            continue
        chosen = [(other[id(expressions[k])], expressions[k]) for k in free]
        found = _compared(block, moved, traced, chosen, scope)
        if found is not None:
            return traced, found
    return None


def _moved(value: Any, k: float) -> Any:
    """Another number near by."""
    if not is_number(value):
        return value
    step = 1.2345678e-3 * k
    return float(value) * (1.0 + step) if value else step * 1e-3


def _same_structure(block: Block, moved: Block, traced: Traced, sizes: dict[str, int]) -> bool:
    """Do two blocks differ in run-time numbers only?"""
    roles = traced.roles
    structural = [f.name for f in fields(block) if roles.get(f.name, "times") == "times"]  # type: ignore[arg-type]
    same = all(frozen(getattr(block, n)) == frozen(getattr(moved, n)) for n in structural)
    shapes = [np.shape(getattr(block, n)) == np.shape(getattr(moved, n)) for n in roles]
    return same and all(shapes) and {i.name: i.size for i in traced.declared.inputs} == sizes


def _compared(
    block: Block, moved: Block, traced: Traced, other: list[tuple[Any, ParameterExpression]], scope: MaskScope
) -> list[MaskLink] | None:
    """Each number that differs as the expression it has become; None where one has become something else."""
    before, after = traced.values(block), traced.values(moved)
    found: list[MaskLink] = []
    kinds = (
        ("parameter", before.parameters, after.parameters),
        ("initial", before.initial, after.initial),
    )
    reached: set[int] = set()
    for what, old, new in kinds:
        for name in new:
            if old[name].shape != new[name].shape:
                return None
            for place in np.flatnonzero(old[name].ravel() != new[name].ravel()):
                number = new[name].ravel()[place]
                match = [
                    (s, e) for v, e in other for s in (1.0, -1.0) if abs(s * v - number) <= SAME * abs(v)
                ]
                if not match:
                    return None
                sign, expression = match[0]
                found.append(MaskLink(what, name, int(place), sign, expression, scope))
                reached.add(id(expression))
    return found if all(id(e) in reached for _, e in other) else None


def checked(name: Any, value: Any) -> Any:
    """The value of a parameter of a diagram: numbers are finite."""
    plain = default(value)
    try:
        array = np.asarray(plain)
    except ValueError:
        array = np.asarray(None)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise WiringError([f"parameter '{name}' is {shown(value)}, expected finite numbers."], value=value)
    return value
