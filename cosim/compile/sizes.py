"""How many components every signal has: a work list from blocks that know to blocks that inherit.

In a loop the blocks that know an output's size without their inputs give it first; what is left takes 1
and is run again when what drives it turns out wider.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque

from blocks.contract.trace import TraceCache, Traced
from blocks.errors import PlantloopError, WiringError, near_miss
from cosim.compile.netlist import Port
from cosim.compile.wiring import ExternalInput, Wiring, open_input

# Sizes are said to have no fixed point when a block was run again so often, or a signal grew so much.
ROUNDS = 50
GROWTH = 1000


def resolve_sizes(wiring: Wiring, cache: TraceCache) -> dict[str, Traced]:
    """Every block traced with the sizes of its inputs.

    Raises
    ------
    WiringError     sizes that disagree, each with both ends, or a loop without a fixed point
    """
    work = _Sizes(wiring, cache)
    work.propagate()
    while work.waiting:
        if not work.find_independent():
            work.assume()
        work.propagate()
    work.rerun_widened()
    work.check()
    if work.problems:
        raise WiringError(dict.fromkeys(work.problems), path=wiring.name)
    return {path: work.traced[path] for path in wiring.blocks}


class _Sizes:
    def __init__(self, wiring: Wiring, cache: TraceCache) -> None:
        self.wiring, self.cache = wiring, cache
        self.probe = wiring.probes
        self.size: dict[Port, int] = {}  # of outputs, as far as known
        self.assumed: dict[Port, int] = {}  # of inputs nothing was known of
        self.traced: dict[str, Traced] = {}
        self.problems: list[str] = []
        self.failed: set[str] = set()  # blocks with a problem: their sizes mean nothing
        self.unsure: set[str] = set()  # these, and blocks that inherit sizes from them, as far as tried
        self.readers: dict[Port, list[str]] = defaultdict(list)
        self.connected: dict[str, list[str]] = defaultdict(list)  # inputs of a block, grounded ones too
        for (path, name), source in wiring.drivers.items():
            self.connected[path].append(name)
            if source is not None:
                self.readers[source].append(path)
        self.waiting = dict.fromkeys(wiring.blocks)
        self.queue = deque(wiring.blocks)
        self.candidates = dict.fromkeys(wiring.blocks)  # blocks that may know a size without all their inputs
        self.frontier: dict[str, None] = {}  # blocks that know the size of some input

    def inherited(self, path: str) -> list[str]:
        inputs = self.probe[path].declared.inputs
        if not self.probe[path].partial:
            return [i.name for i in inputs if i.inherits]
        fixed = {i.name for i in inputs if not i.inherits}
        return [name for name in self.connected[path] if name not in fixed]

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
        guesses = self.guesses(sizes, path)
        if guesses:
            self.unsure.add(path)
        try:
            traced = self.known(path) or self.cache.get(self.wiring.blocks[path], sizes)
        except PlantloopError as error:
            traced = self.probe[path]
            self.failed.add(path)
            self.unsure.add(path)
            if guesses and self.depends_on_sizes(path, sizes, guesses, str(error)):
                pass  # what is wrong is wrong before it
            elif error.port is None or error.port in self.connected[path] or not traced.partial:
                shown = ", ".join(f"'{name}' has {n}" for name, n in sizes.items())
                self.problems.append(f"block '{path}': {error}{f' (its input {shown})' if shown else ''}")
            else:
                self.problems.append(open_input(path, error.port))
        else:
            self.check_names(path, [i.name for i in traced.declared.inputs])
        self.traced[path] = traced
        for output in traced.declared.outputs:
            self.know((path, output.name), output.size)

    def known(self, path: str) -> Traced | None:
        """What was found with its ports, of a block that shares with no other and knows all its sizes."""
        probe = self.probe[path]
        own = not self.wiring.blocks[path].shares_equations
        return probe if own and not (probe.guessed or probe.lenient or probe.partial) else None

    def guesses(self, sizes: dict[str, int], path: str) -> list[str]:
        """Inputs whose sizes come from blocks with a problem."""
        sources = {name: self.wiring.drivers[path, name] for name in sizes}
        return [name for name, source in sources.items() if source is not None and source[0] in self.unsure]

    def depends_on_sizes(self, path: str, sizes: dict[str, int], guesses: list[str], problem: str) -> bool:
        """Would the block say something else, or nothing, if these inputs had one component more?"""
        wider = {name: size + (name in guesses) for name, size in sizes.items()}
        try:
            self.cache.get(self.wiring.blocks[path], wider)
        except PlantloopError as error:
            return str(error) != problem
        return True

    def check_names(self, path: str, inputs: list[str]) -> None:
        """Of a block whose ports follow from its sizes: connections to inputs that exist, none left open."""
        connected = self.connected[path]
        missing = [open_input(path, name) for name in inputs if name not in connected]
        unknown = [n for n in connected if n not in inputs]
        missing += [f"'{path}' has no input '{name}'; {near_miss(name, inputs)}" for name in unknown]
        if missing:
            self.problems += missing
            self.failed.add(path)

    def know(self, port: Port, size: int) -> None:
        if self.size.get(port) != size:
            self.size[port] = size
            readers = self.readers[port]
            self.queue.extend(readers)
            self.candidates.update(dict.fromkeys(readers))
            self.frontier.update(dict.fromkeys(readers))

    def find_independent(self) -> bool:
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

    def rerun_widened(self) -> None:
        """Run blocks again whose driver turned out wider than was assumed or known first."""
        limit = GROWTH * max(self.size.values(), default=1)
        runs: Counter[str] = Counter()
        queue = deque(p for p in self.wiring.blocks if self.stale(p))
        while queue and not self.problems:
            path = queue.popleft()
            if not self.stale(path):
                continue
            runs[path] += 1
            self.run(path, {name: self.input_size(path, name) or 1 for name in self.inherited(path)})
            outputs = self.traced[path].declared.outputs
            for output in outputs:
                queue.extend(self.readers[path, output.name])
            if runs[path] > ROUNDS or max((o.size for o in outputs), default=0) > limit:
                self.no_fixed_point([p for p in runs if 2 * runs[p] > runs[path]])

    def no_fixed_point(self, paths: list[str]) -> None:
        self.failed.update(paths)
        shown = ", ".join(f"{path} {self.sizes_of(path)}" for path in paths)
        self.problems.append(
            f"the sizes of these blocks have no fixed point, each makes the next one wider: {shown}. "
            "Give one of them a size of its own (a vector initial value, a matrix gain)."
        )

    def stale(self, path: str) -> bool:
        inputs = self.traced[path].declared.inputs
        return any(i.inherits and self.input_size(path, i.name) != i.size for i in inputs)

    def sizes_of(self, path: str) -> dict[str, int]:
        return {i.name: i.size for i in self.traced[path].declared.inputs}

    def doubtful(self) -> set[str]:
        """Blocks with a problem, and those that inherit sizes from them."""
        found, queue = set(self.failed), list(self.failed)
        while queue:
            path = queue.pop()
            for output in self.traced[path].declared.outputs:
                after = [r for r in self.readers[path, output.name] if r not in found and self.inherited(r)]
                found.update(after)
                queue.extend(after)
        return found

    def check(self) -> None:
        """Both ends of every connection have the same number of components."""
        doubtful = self.doubtful()
        expects = {(path, i.name): i.size for path, t in self.traced.items() for i in t.declared.inputs}
        for (path, name), source in self.wiring.drivers.items():
            if source is None or path in doubtful or source[0] in doubtful:
                continue
            if source not in self.size:
                outputs = [o.name for o in self.traced[source[0]].declared.outputs]
                self.problems.append(
                    f"'{source[0]}' has no output '{source[1]}'; {near_miss(source[1], outputs)}"
                )
                continue
            expected = expects[path, name]
            got = self.size[source]
            if got != expected:
                self.problems.append(
                    f"'{'.'.join(source)}' has {got} component{'s' * (got != 1)} but input '{path}.{name}' "
                    f"expects {expected}; {self.cure(source[0], expected)}"
                )

    def cure(self, path: str, expected: int) -> str:
        """What to do where that many components are expected of a block."""
        if isinstance(self.wiring.blocks[path], ExternalInput):
            return f"give it that many: d.inport('{path}', {expected})."
        return "use a Mux, Demux, Selector or Gain in between."
