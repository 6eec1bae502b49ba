"""What signals a run, a bus or a model has: a tree of names over the columns of a row.

One row holds all signals side by side. A leaf is one signal: where its components stand in the row, and what
is known of them: labels, units, the rate at which it is sampled. Paths are written as everywhere:
"arm/motor.w" is the signal "w" of the block "motor" in the subsystem "arm".

>>> tree = simulate(d, 1.0).tree
>>> tree.children("arm"), tree.under("arm").keys()      # ("arm/motor", ...), the signals below it
>>> tree["arm/motor.w"].labels, tree.columns("arm/motor.w.speed")
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, KeysView, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from blocks.contract.rate import Ticks
from blocks.errors import PlantloopError, near_miss
from cosim.names import Names

BETWEEN = re.compile(r"[/.]")  # subsystems, blocks and signals in a name
IN_LABEL = re.compile(r"\[([^\]]*)\]$")  # "theta [rad]"


@dataclass(frozen=True)
class Leaf:
    """One signal of `size` components, which begin at column `start` of a row.

    labels, units : a text for each component, or none at all
    rate : its one rate, None where it is continuous or has several
    """

    name: str
    start: int
    size: int
    labels: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    rate: Ticks | None = None

    @property
    def columns(self) -> slice:
        """Where it stands in a row."""
        return slice(self.start, self.start + self.size)

    @property
    def components(self) -> tuple[str, ...]:
        """Names of its components, by label ("plant.q.theta") or number ("plant.q[0]"); of one its own."""
        if self.size == 1:
            return (self.name,)
        distinct = len(set(self.labels)) == self.size and all(self.labels)
        texts = [f".{IN_LABEL.sub('', label).strip()}" for label in self.labels] if distinct else []
        return tuple(self.name + end for end in texts or [f"[{k}]" for k in range(self.size)])

    def unit(self, k: int) -> str:
        """Unit of a component, as given or as its label says; empty where nothing is known."""
        if self.units and self.units[k]:
            return self.units[k]
        found = IN_LABEL.search(self.labels[k]) if self.labels else None
        return found[1] if found else ""


@dataclass(frozen=True)
class SignalTree:
    """Signals by name, in the order of their columns; and other names some of them have."""

    leaves: tuple[Leaf, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    _by_name: Mapping[str, Leaf] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_name = {leaf.name: leaf for leaf in self.leaves}
        aliases = {str(a): str(s) for a, s in self.aliases.items() if a not in by_name and s in by_name}
        object.__setattr__(self, "aliases", aliases)
        object.__setattr__(self, "_by_name", by_name)

    @staticmethod
    def of(leaves: Iterable[Leaf], aliases: Mapping[str, str] | None = None) -> SignalTree:
        """Signals one after the other, wherever they stood before."""
        placed, start = [], 0
        for leaf in leaves:
            placed.append(leaf if leaf.start == start else replace(leaf, start=start))
            start += leaf.size
        return SignalTree(tuple(placed), aliases or {})

    @staticmethod
    def described(
        sizes: Mapping[str, int],
        labels: Mapping[str, Sequence[str]] | None = None,
        units: Mapping[str, Sequence[str]] | None = None,
        aliases: Mapping[str, str] | None = None,
        rates: Mapping[str, Ticks] | None = None,
    ) -> SignalTree:
        """Signals of these sizes, with texts for the components of some, and the rates of some.

        Raises
        ------
        PlantloopError      texts for no such signal, or another number of them than it has components
        """
        texts = [_checked(given or {}, sizes, what) for given, what in ((labels, "labels"), (units, "units"))]
        known = rates or {}
        leaves = (
            Leaf(n, 0, k, texts[0].get(n, ()), texts[1].get(n, ()), known.get(n)) for n, k in sizes.items()
        )
        return SignalTree.of(leaves, aliases)

    # --- as a mapping
    def __getitem__(self, name: str) -> Leaf:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self.leaves)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def keys(self) -> KeysView[str]:
        """Names of all signals, in the order of their columns."""
        return self._by_name.keys()

    @property
    def width(self) -> int:
        """Number of columns of a row."""
        return self.leaves[-1].start + self.leaves[-1].size if self.leaves else 0

    # --- looking
    def names(
        self,
        where: str,
        kind: str = "signal",
        among: Mapping[str, object] | None = None,
        error: type[PlantloopError] = PlantloopError,
    ) -> Names:
        """How names of signals and their components are found; `among` some of them only."""
        known = self._by_name
        size, labels = (lambda name: known[name].size), (lambda name: known[name].labels)
        return Names(
            kind,
            where,
            known if among is None else among,
            self.aliases,
            size=size,
            labels=labels,
            error=error,
        )

    def columns(self, name: str, where: str = "the row") -> slice | int:
        """Columns of a signal, or the one of a component.

        Raises
        ------
        PlantloopError      no such signal or component, with a near miss
        """
        signal, component = self.names(where).locate(name)
        leaf = self._by_name[signal]
        return leaf.columns if component is None else leaf.start + component

    def split(self, table: np.ndarray) -> dict[str, np.ndarray]:
        """Rows (..., width) as a view (..., k) of each signal."""
        return {leaf.name: table[..., leaf.columns] for leaf in self.leaves}

    # --- as a tree
    def under(self, path: str) -> SignalTree:
        """The signals of a block or subsystem, side by side."""
        return SignalTree.of((leaf for leaf in self.leaves if _is_under(leaf.name, path)), self.aliases)

    def children(self, path: str = "") -> tuple[str, ...]:
        """Paths one level below: subsystems, blocks, signals, and the components of a signal."""
        if path in self._by_name:
            return self._by_name[path].components
        found: dict[str, None] = {}
        for leaf in self.leaves:
            if path and not _is_under(leaf.name, path):
                continue
            end = BETWEEN.search(leaf.name, len(path) + 1 if path else 0)
            found[leaf.name[: end.start()] if end else leaf.name] = None
        return tuple(found)


def _is_under(name: str, path: str) -> bool:
    return name == path or (name.startswith(path) and name[len(path)] in "/.")


def _checked(
    texts: Mapping[str, Sequence[str]], sizes: Mapping[str, int], what: str
) -> dict[str, tuple[str, ...]]:
    for signal, given in texts.items():
        if signal not in sizes:
            raise PlantloopError(
                f"{what} given for '{signal}', which was not logged:", hint=near_miss(signal, sizes)
            )
        if isinstance(given, str) or len(given) != sizes[signal]:
            raise PlantloopError(
                f"{what} of '{signal}': got {given!r}, expected {sizes[signal]} texts, one per component."
            )
    return {signal: tuple(map(str, given)) for signal, given in texts.items()}
