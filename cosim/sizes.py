"""How many components every signal has: a work list from blocks that know to blocks that inherit.

In a loop the blocks that know an output's size without their inputs give it first; what is left takes 1
and is run again when what drives it turns out wider.
"""

from __future__ import annotations

from collections import defaultdict, deque

from blocks.errors import PlantloopError, WiringError, near_miss
from blocks.trace import TraceCache, Traced
from cosim.wiring import Port, Wiring

ROUNDS = 50  # how often a block may be run again before the sizes are said to have no fixed point


def resolve_sizes(wiring: Wiring, cache: TraceCache) -> dict[str, Traced]:
    """Every block traced with the sizes of its inputs.

    Raises
    ------
    WiringError     sizes that disagree, each with both ends, or a loop without a fixed point
    """
    work = _Sizes(wiring, cache)
    work.propagate()
    while work.waiting:
        if not work.promise():
            work.assume()
        work.propagate()
    work.settle()
    work.check()
    if work.problems:
        raise WiringError(dict.fromkeys(work.problems), path=wiring.name)
    return {path: work.traced[path] for path in wiring.blocks}


class _Sizes:
    def __init__(self, wiring: Wiring, cache: TraceCache) -> None:
        self.wiring, self.cache = wiring, cache
        self.probe = {path: cache.get(block, {}, guess=1) for path, block in wiring.blocks.items()}
        self.size: dict[Port, int] = {}  # of outputs, as far as known
        self.assumed: dict[Port, int] = {}  # of inputs nothing was known of
        self.traced: dict[str, Traced] = {}
        self.problems: list[str] = []
        self.readers: dict[Port, list[str]] = defaultdict(list)
        for (path, _), source in wiring.drivers.items():
            if source is not None:
                self.readers[source].append(path)
        self.waiting = dict.fromkeys(wiring.blocks)
        self.queue = deque(wiring.blocks)
        self.candidates = dict.fromkeys(wiring.blocks)  # blocks that may promise a size
        self.frontier: dict[str, None] = {}  # blocks that know the size of some input

    def inherited(self, path: str) -> list[str]:
        return [i.name for i in self.probe[path].declared.inputs if i.inherits]

    def input_size(self, path: str, name: str) -> int | None:
        source = self.wiring.drivers[path, name]
        known = 1 if source is None else self.size.get(source)
        return self.assumed.get((path, name)) if known is None else known

    def propagate(self) -> None:
        """Trace every block whose inputs are known, until no more is."""
        while self.queue:
            path = self.queue.popleft()
            if path not in self.waiting:
                continue
            sizes = {name: self.input_size(path, name) for name in self.inherited(path)}
            if None in sizes.values():
                continue
            self.run(path, {name: size for name, size in sizes.items() if size is not None})
            self.waiting.pop(path)

    def run(self, path: str, sizes: dict[str, int]) -> None:
        try:
            traced = self.cache.get(self.wiring.blocks[path], sizes)
        except PlantloopError as error:
            shown = ", ".join(f"'{name}' has {n}" for name, n in sizes.items())
            self.problems.append(f"block '{path}': {error}{f' (its input {shown})' if shown else ''}")
            traced = self.probe[path]
        self.traced[path] = traced
        for output in traced.declared.outputs:
            self.know((path, output.name), output.size)

    def know(self, port: Port, size: int) -> None:
        if self.size.get(port) != size:
            self.size[port] = size
            readers = self.readers[port]
            self.queue.extend(readers)
            self.candidates.update(dict.fromkeys(readers))
            self.frontier.update(dict.fromkeys(readers))

    def promise(self) -> bool:
        """In a loop: outputs whose size does not change with their inputs. True if any was found."""
        found = False
        while self.candidates and not found:
            path, _ = self.candidates.popitem()
            if path not in self.waiting:
                continue
            sizes = {n: s for n in self.inherited(path) if (s := self.input_size(path, n)) is not None}
            try:
                tried = [self.cache.get(self.wiring.blocks[path], sizes, guess=g) for g in (1, 2)]
            except PlantloopError:
                continue  # it will say so itself once its sizes are known
            if any(t.partial for t in tried):
                continue
            for one, two in zip(*(t.declared.outputs for t in tried), strict=True):
                if one.size == two.size and (path, one.name) not in self.size:
                    self.know((path, one.name), one.size)
                    found = True
        return found

    def assume(self) -> None:
        """Nothing else helps: the unknown inputs of one block, best one that knows some, take 1."""
        known = (p for p in self.frontier if p in self.waiting)
        path = next(known, None) or next(iter(self.waiting))
        self.frontier = {p: None for p in self.frontier if p in self.waiting and p != path}
        for name in self.inherited(path):
            if self.input_size(path, name) is None:
                self.assumed[path, name] = 1
        self.queue.append(path)

    def settle(self) -> None:
        """Run blocks again whose driver turned out wider than was assumed or promised."""
        for _ in range(ROUNDS):
            stale = [p for p in self.wiring.blocks if self.stale(p)]
            if not stale or self.problems:
                return
            for path in stale:
                sizes = {name: self.input_size(path, name) or 1 for name in self.inherited(path)}
                self.run(path, sizes)
        shown = ", ".join(f"{path} {self.sizes_of(path)}" for path in stale)
        self.problems.append(
            f"the sizes of these blocks have no fixed point, each makes the next one wider: {shown}. "
            "Give one of them a size of its own (a vector initial value, a matrix gain)."
        )

    def stale(self, path: str) -> bool:
        inputs = self.traced[path].declared.inputs
        return any(i.inherits and self.input_size(path, i.name) != i.size for i in inputs)

    def sizes_of(self, path: str) -> dict[str, int]:
        return {i.name: i.size for i in self.traced[path].declared.inputs}

    def check(self) -> None:
        """Both ends of every connection have the same number of components."""
        for (path, name), source in self.wiring.drivers.items():
            if source is None or self.traced[path].partial or self.traced[source[0]].partial:
                continue
            if source not in self.size:
                outputs = [o.name for o in self.traced[source[0]].declared.outputs]
                self.problems.append(
                    f"'{source[0]}' has no output '{source[1]}'; {near_miss(source[1], outputs)}"
                )
                continue
            expected = next(i.size for i in self.traced[path].declared.inputs if i.name == name)
            got = self.size[source]
            if got != expected:
                self.problems.append(
                    f"'{'.'.join(source)}' has {got} component{'s' * (got != 1)} but input '{path}.{name}' "
                    f"expects {expected}; use a Mux, Demux, Selector or Gain in between."
                )
