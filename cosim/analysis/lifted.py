"""Exact discrete models of sampled diagrams of any rates, over one common period.

The operating point is walked through one period as a run would go: at each instant the schedule, in between
the flow. What moves with the states before the period and with the inputs is carried along exactly. At an
instant every segment is a linear map; between two the states follow x' = A x + B(s) c, with s the time since
the instant, c what is held, and B(s) a polynomial (extrapolating holds), which one matrix exponential solves:
with c_k = s^k/k! c the pair (x, c_0, c_1, ...) obeys a constant linear system.

A delay of a signal that changes at instants only is exact: what was there then is a state until it arrives.

Source: Van Loan, IEEE Trans. Automatic Control 23 (1978) 395-404, for the block exponential; Bittanti and
Colaneri, Periodic Systems, section 6.2, for time-lifting.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import casadi as ca
import numpy as np

from blocks.errors import PlantloopError
from cosim.analysis.common_period import CommonPeriod
from cosim.analysis.tangent import Delays, ExactDelay, Moved, SparseJacobian, Tangent
from cosim.engines.methods.newton import newton
from cosim.run.context import Context
from cosim.segments import RepeatSegment, Segment, SolveSegment
from cosim.slots import Sought
from cosim.system import System

TICKS_DONE = 8  # in steady running: more than an extrapolation of degree `DEGREE` waits for
DEGREE = 4  # highest power of the time since the tick that a hold may use


@dataclass(frozen=True)
class Echo:
    """Numbers (n,) that come back at places (n,) in h after some seconds (0: at once is no echo)."""

    name: str
    numbers: ca.SX
    places: np.ndarray
    seconds: Fraction
    reads: frozenset[int]


@dataclass(frozen=True)
class LiftedModel:
    """From just before a period to just before the next, in the states (y, held, past, approximants).

    inputs, outputs : times [s] in the period at which inputs take new values and outputs are looked at;
        columns of B and D and rows of C and D are those of the first time, then those of the second, ...
    held : (place in h, is it the next value) that is a state; past, rational : names of the states of delays
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    period: Fraction
    times: tuple[Fraction, ...]
    held: tuple[tuple[int, bool], ...]
    past: tuple[str, ...]
    rational: tuple[str, ...]


@dataclass
class _Pending:
    """Numbers inside a delay, which leave it at `time` [s] since the beginning of the period."""

    time: Fraction
    what: int  # number of the delay or echo
    rows: np.ndarray
    name: str = ""

    def place(self) -> tuple[Fraction, int]:
        """What they are sorted by: where several leave at one time, each keeps its place among the states."""
        return self.time, self.what


@dataclass
class PeriodWalk:
    """A system at an operating point, ready to be walked through one common period.

    inputs : places in h; output : numbers looked at, kept under `key`; opened : places in h that stand for
    numbers, which are kept under a key
    when : the instants at which inputs take new values and outputs are read, by numbers in the instants of
    the common period, None: the first only. The period begins at the first of them: earlier inputs have no
    effect beyond it
    """

    system: System
    context: Context
    inputs: np.ndarray
    output: ca.SX
    key: Hashable
    pade: int | None = None
    opened: Sequence[tuple[Hashable, np.ndarray, ca.SX]] = ()
    when: Sequence[int] | None = None
    echoes: Sequence[Echo] = ()
    base: CommonPeriod = field(init=False)

    def __post_init__(self) -> None:
        refuse_opaque(self.system)
        self.base = CommonPeriod.of(self.system.rates, self.system.name)
        if self.when:
            first = self.when[0]
            self.base, self.when = self.base.turned(first), [k - first for k in self.when]
        self.discrete = self.system.discrete_places
        self.delays = Delays(self.system, self.context, self.pade, sampled=True)
        self.times = tuple(self.base.instants[k] for k in ((0,) if self.when is None else self.when))
        self._late: list[ExactDelay | Echo] = [*self.delays.exact, *self.echoes]
        self._changes = self._all_changes()
        arrivals = (t + d.seconds for d, at in zip(self._late, self._changes, strict=True) for t in at)
        self.period = self.base.with_instants(arrivals)

    # --- structure ------------------------------------------------------------------------------------
    def _due(self, k: int, period: CommonPeriod) -> list[int]:
        """Segments called at an instant, by number."""
        rates = period.rates[k]
        return [i for i, s in enumerate(self.system.schedule) if s.activation.due(rates)]

    def _change_times(self, reads: frozenset[int]) -> list[Fraction]:
        """When a number that depends on these places may change."""
        found = []
        for k, t in enumerate(self.base.instants):
            writes = {int(p) for i in self._due(k, self.base) for p in self.system.schedule[i].writes}
            writes |= {int(p) for r in self.base.rates[k] for p in self.discrete[r]}
            if t in self.times:
                writes |= set(map(int, self.inputs))
            if reads & writes:
                found.append(t)
        return found

    def _all_changes(self) -> list[list[Fraction]]:
        """When what each delay and echo is given may change: at instants, and where an echo arrives in it."""
        found = [self._change_times(d.reads) for d in self._late]
        first = len(self.delays.exact)
        for echo, times in zip(self.echoes, found[first:], strict=True):
            back = [(t + echo.seconds) % self.base.length for t in times]
            places = frozenset(map(int, echo.places))
            for k, delay in enumerate(self.delays.exact):
                if delay.reads & places:
                    found[k] = sorted({*found[k], *back})
        return found

    def _kept(self, tangent: Tangent) -> list[int]:
        """Places in h whose value just before the period is still seen in it."""
        schedule = self.system.schedule
        reads = [
            tangent.reads(("segment", k), lambda s=s: s.expression)  # type: ignore[misc]
            for k, s in enumerate(schedule)
        ]
        between = tangent.flow_reads() | tangent.behind_w | {p for e in self.echoes for p in e.reads}
        shown = tangent.reads(("output", self.key), lambda: self.output)
        written = {int(p) for s in schedule for p in s.writes}
        live: set[int] = set()
        while True:
            before = set(live)
            for k in reversed(range(len(self.period.instants))):
                live |= between
                if self.period.instants[k] in self.times:
                    live |= shown
                for i in reversed(self._due(k, self.period)):
                    segment = schedule[i]
                    writes = set(map(int, segment.writes))
                    if segment.writes_next:
                        live |= reads[i]
                    elif live & writes:
                        live = (live - writes) | reads[i]
                for r in self.period.rates[k]:
                    live -= set(map(int, self.discrete[r]))
            live |= before
            if live == before:
                break
        discrete = {int(p) for places in self.discrete for p in places}
        return sorted((written | discrete) & live)

    # --- the operating point --------------------------------------------------------------------------
    def _arrive(self, tangent: Tangent, k: int, period: CommonPeriod) -> None:
        """The instant k, at which the clocks of the rates that tick are set."""
        c, t = self.context, self._start + float(period.instants[k])
        c.t = t
        for r in period.rates[k]:
            places = self.system.tick_slots[r]
            c.h[places.time] = t
            c.h[[places.count, *places.since]] = TICKS_DONE
        tangent.bring_to_rest()
        tangent.accept()

    def _stand(self, tangent: Tangent) -> None:
        """Bring what is sampled to where it is in steady running at this point."""
        c = self.context
        self._start = c.t
        self._wind_back()
        accepted = self.system.accepted[1]
        begun = c.h[accepted]
        for samples in self.system.histories:
            c.h[samples.count] = max(c.h[samples.count], len(samples.older) + 1)
        if c.started:  # a snapshot has its own history
            self._close(tangent)
            return
        for _ in range(1 + len(self.system.histories) + len(self.opened)):
            before = c.h.copy()
            for k in range(len(self.base.instants)):
                self._arrive(tangent, k, self.base)
                for i in self._due(k, self.base):
                    self._refresh(tangent, i, None)
                    self._close(tangent)
            self._wind_back()
            c.h[accepted] = begun  # a time among them must not lie ahead
            for samples in self.system.histories:  # one may sample what another gives
                for older in samples.older:
                    c.h[older] = c.h[samples.newest]
            if np.array_equal(before, c.h):
                break

    def _wind_back(self) -> None:
        """Go to just before the period: every rate has ticked for the last time in the previous one."""
        c = self.context
        c.t = self._start
        for r, places in enumerate(self.system.tick_slots):
            last = max(t for k, t in enumerate(self.base.instants) if r in self.base.rates[k])
            c.h[places.time] = self._start + float(last - self.base.length)
            c.h[[places.count, *places.since]] = TICKS_DONE

    def _close(self, tangent: Tangent) -> None:
        """Close an opened signal: its replacement has the value of the signal."""
        for key, places, numbers in self.opened:
            self.context.h[places] = tangent.at(("opened", key), lambda n=numbers: n).value  # type: ignore[misc]
            tangent.bring_to_rest()

    def _outputs(self, tangent: Tangent) -> SparseJacobian:
        return tangent.at(("output", self.key), lambda: self.output)

    def _refresh(self, tangent: Tangent, i: int, moved: Moved | None) -> None:
        """Call a segment; what it writes moves as what it reads does."""
        segment, c = self.system.schedule[i], self.context
        if segment.writes_next:
            if moved is not None:
                moved.next[segment.writes] = tangent.rows(self._of(tangent, i), moved)
            return
        if isinstance(segment, SolveSegment):
            self._solve(tangent, i, segment, moved)
            return
        for _ in range(segment.limit if isinstance(segment, RepeatSegment) else 1):
            found = self._of(tangent, i)
            if moved is not None:
                moved.h[segment.writes] = tangent.rows(found, moved)
            c.h[segment.writes] = found.value
            tangent.bring_to_rest()
            if not isinstance(segment, RepeatSegment) or not found.value[0]:
                return

    def _of(self, tangent: Tangent, i: int) -> SparseJacobian:
        return tangent.at(("segment", i), lambda: self.system.schedule[i].expression)

    def _solve(self, tangent: Tangent, i: int, segment: Segment, moved: Moved | None) -> None:
        """A fixed point h[writes] = f: its Jacobian follows from the implicit function theorem."""
        c, writes = self.context, segment.writes

        def mismatch() -> tuple[np.ndarray, np.ndarray]:
            tangent.bring_to_rest()
            found = self._of(tangent, i)
            own = found.h[:, writes].toarray()
            if found.w.nnz:
                own = own + found.w @ tangent.unknowns().h[:, writes]
            return found.value - c.h[writes], own - np.eye(len(writes))

        newton(mismatch, c.h, writes, [Sought(n) for n in segment.names] or [Sought(segment.path)], c.t)
        if moved is not None:
            moved.h[writes] = 0.0
            rest = tangent.rows(self._of(tangent, i), moved)
            moved.h[writes] = np.linalg.solve(-mismatch()[1], rest)

    # --- the walk -------------------------------------------------------------------------------------
    def model(self, z: np.ndarray, t: np.ndarray) -> LiftedModel:
        """Walk once through the period.

        z (nx, ny), t (ny, nx) : x = z y, y = t x
        """
        s = self.system
        tangent = Tangent(s, self.context, self.delays)
        self._stand(tangent)
        kept = self._kept(tangent)
        discrete = {int(p) for places in self.discrete for p in places}
        first = {int(p) for r in self.period.rates[0] for p in self.discrete[r]}
        held = sorted([(p, True) for p in discrete] + [(p, False) for p in kept if p not in first])
        pending, now = self._on_the_way()
        ny, nz, nk = z.shape[1], self.delays.order, len(held)
        past = sum(self._size(p.what) for p in pending) + sum(map(self._size, now))
        n, m = ny + nk + past + nz, len(self.inputs)
        columns = n + m * len(self.times)
        moved = Moved(*(np.zeros((size, columns)) for size in (
            len(s.x0), nz, len(s.h0), len(s.h0), len(s.w0),
        )))  # fmt: skip
        moved.x[:, :ny] = z
        for k, (place, is_next) in enumerate(held):
            (moved.next if is_next else moved.h)[place, ny + k] = 1.0
        names, column = [], ny + nk
        for number in now:
            self._show(moved, number, np.eye(self._size(number), columns, column))
            names += self._past_names(number, "now")
            column += self._size(number)
        for j, p in enumerate(pending):
            p.rows = np.eye(self._size(p.what), columns, column)
            names += self._past_names(p.what, f"past{j + 1}")
            column += self._size(p.what)
        moved.z[:, column : column + nz] = np.eye(nz)
        looked = self._through(tangent, moved, pending, n)
        end = [t @ moved.x]
        end += [
            np.array([(moved.next if is_next else moved.h)[p] for p, is_next in held]).reshape(nk, columns)
        ]
        end += [self._shown(moved, number) for number in now]
        end += [p.rows for p in sorted(pending, key=_Pending.place)]
        whole = np.vstack([*end, moved.z])
        C = np.vstack([np.zeros((0, columns)), *looked])
        return LiftedModel(
            whole[:, :n], whole[:, n:], C[:, :n], C[:, n:],
            self.base.length, self.times, tuple(held), tuple(names), tuple(self.delays.names()),
        )  # fmt: skip

    def _through(self, tangent: Tangent, moved: Moved, pending: list[_Pending], n: int) -> list[np.ndarray]:
        """The instants and the flow between them; what the outputs are at the times they are looked at."""
        m, looked = len(self.inputs), []
        for k, t in enumerate(self.period.instants):
            self._arrive(tangent, k, self.period)
            for p in [p for p in pending if p.time == t]:
                self._show(moved, p.what, p.rows)
                pending.remove(p)
            if t in self.times:
                j = n + m * self.times.index(t)
                moved.h[self.inputs] = 0.0
                moved.h[self.inputs, np.arange(j, j + m)] = 1.0
            for r in self.period.rates[k]:
                moved.h[self.discrete[r]] = moved.next[self.discrete[r]]
            for i in self._due(k, self.period):
                self._refresh(tangent, i, moved)
            if t in self.times:
                looked.append(tangent.rows(self._outputs(tangent), moved))
            for number, times in enumerate(self._changes):
                if t in times:
                    rows = self._numbers(tangent, moved, number)
                    pending.append(_Pending(t + self._late[number].seconds, number, rows))
            pending.sort(key=_Pending.place)
            self._flow(tangent, moved, float(self.period.duration(k)))
        for p in pending:
            p.time -= self.period.length
        return looked

    def _flow(self, tangent: Tangent, moved: Moved, seconds: float) -> None:
        """(x, z) at the end of a stretch without instants."""
        from scipy.linalg import expm

        nx, ny = len(moved.x), len(moved.x) + len(moved.z)
        if not ny:
            return
        nodes = seconds * np.linspace(0.0, 1.0, DEGREE + 1)
        rates = []
        for s in nodes:
            if tangent.unknown:
                tangent.bring_to_rest(s)
            rates.append(tangent.rates(s))
        a = rates[-1].own
        parts = [np.hstack([r.held, r.late]) for r in rates]
        used = np.flatnonzero(np.abs(parts).max(axis=(0, 1))) if parts[0].size else np.zeros(0, dtype=int)
        b = polynomial([p[:, used] for p in parts], nodes / seconds, seconds)
        nc = len(used)
        generator = np.zeros((ny + nc * len(b), ny + nc * len(b)))
        generator[:ny, :ny] = a
        for k, bk in enumerate(b):
            here = ny + k * nc
            generator[:ny, here : here + nc] = bk
            if k:
                generator[here : here + nc, here - nc : here] = np.eye(nc)
        flow = expm(generator * seconds)
        held = np.vstack([moved.h, moved.late])[used]
        end = flow[:ny, :ny] @ np.vstack([moved.x, moved.z]) + flow[:ny, ny : ny + nc] @ held
        moved.x[:], moved.z[:] = end[:nx], end[nx:]

    # --- delays ---------------------------------------------------------------------------------------
    def _on_the_way(self) -> tuple[list[_Pending], list[int]]:
        """The contents of the delays when a period begins, and their outputs then."""
        pending, now = [], []
        for number, (d, times) in enumerate(zip(self._late, self._changes, strict=True)):
            firsts = [t + d.seconds for t in times]
            length = self.period.length
            arrivals = [f - j * length for f in firsts for j in range(1, math.floor(f / length) + 1)]
            pending += [_Pending(a, number, np.zeros((0, 0))) for a in arrivals]
            if times and Fraction(0) not in arrivals:
                now.append(number)
        pending.sort(key=_Pending.place)
        return pending, now

    def _size(self, number: int) -> int:
        d = self._late[number]
        return len(d.delay.places if isinstance(d, ExactDelay) else d.places)

    def _past_names(self, number: int, suffix: str) -> list[str]:
        d, size = self._late[number], self._size(number)
        name = d.delay.name if isinstance(d, ExactDelay) else d.name
        return [f"{name}[{k}]_{suffix}" if size > 1 else f"{name}_{suffix}" for k in range(size)]

    def _numbers(self, tangent: Tangent, moved: Moved, number: int) -> np.ndarray:
        d = self._late[number]
        if isinstance(d, ExactDelay):
            k = self.system.delays.index(d.delay)
            return tangent.rows(tangent.at(("delayed", k), lambda: d.delay.signal), moved)
        return tangent.rows(tangent.at(("echo", d.name), lambda: d.numbers), moved)

    def _show(self, moved: Moved, number: int, rows: np.ndarray) -> None:
        d = self._late[number]
        if isinstance(d, ExactDelay):
            moved.late[d.delay.places] = rows
        else:
            moved.h[d.places] = rows

    def _shown(self, moved: Moved, number: int) -> np.ndarray:
        d = self._late[number]
        return moved.late[d.delay.places] if isinstance(d, ExactDelay) else moved.h[d.places]


def refuse_opaque(system: System) -> None:
    """Refuse opaque blocks that are called at ticks: they have no derivative."""
    for segment in system.schedule:
        if segment.external is not None:
            raise PlantloopError(
                f"block '{segment.path}' is an opaque Python function or co-simulated unit: no derivative.",
                path=segment.path,
                hint='Replace it by blocks with equations, an FMU by its model exchange (kind="me"), '
                "or linearise around it.",
            )


def polynomial(values: list[np.ndarray], nodes: np.ndarray, period: float) -> list[np.ndarray]:
    """Matrices B_k with B(s) = sum B_k s^k/k!; trailing ones that are rounding are dropped."""
    vandermonde = np.vander(nodes, increasing=True)
    coefficients = np.linalg.solve(vandermonde, np.array(values).reshape(len(nodes), -1))
    scale = max(1.0, float(np.abs(coefficients).max(initial=0.0)))
    sizes = np.abs(coefficients).max(axis=1, initial=0.0)
    last = int(np.flatnonzero(sizes > 1e-10 * scale).max(initial=0))
    factorial = 1.0
    found = []
    for k in range(last + 1):
        factorial *= max(k, 1)
        found.append((coefficients[k] * factorial / period**k).reshape(values[0].shape))
    return found
