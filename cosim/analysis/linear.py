"""Linear models with exact derivatives.

`linearize` gives a python-control state space: continuous for a diagram without sampled blocks, and for a
sampled one the exact discrete model over the common period of its rates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import casadi as ca
import numpy as np

from blocks.arguments import choice, flag
from blocks.contract.block import Block
from cosim.analysis.common_period import CommonPeriod, common
from cosim.analysis.lifted import Echo, LiftedModel, PeriodWalk
from cosim.analysis.operating import OperatingPoint, SystemAtPoint, model_of, static_of
from cosim.analysis.pade import order as pade_order
from cosim.analysis.rounded import mention_rounded
from cosim.analysis.steady import mention_unsteady
from cosim.diagram import Diagram
from cosim.names import listed
from cosim.port_handles import Node
from cosim.run.context import Context

if TYPE_CHECKING:
    import control


def linearize(
    system: Block | Diagram | Node,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    at: OperatingPoint | Context | Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    states: Literal["minimal", "full"] = "minimal",
    open: Sequence[str] | str = (),
    pade: int | None = None,
    lift: bool = False,
) -> control.StateSpace:
    """Linear model about an operating point, exact to rounding, names kept.

    Parameters
    ----------
    system : Block or Diagram    of a block alone, all its inputs and outputs are used; a handle that
                                 `Diagram.add` gave stands for its block
    inputs : list of str         inputs of the diagram, or outputs or inputs of blocks to which the input is
                                 added ("push.y", "plant.force", "arm.u" of a subsystem); default the
                                 diagram's inports
    outputs : list of str        signals, or components of them ("plant.pendulum[0]", "plant.pendulum.theta");
                                 default the diagram's outports
    at : OperatingPoint, a snapshot, or values of states and inputs by name; default the initial state,
                                 inputs zero. One of a block alone fits a diagram that calls the block "plant"
    parameters : dict            parameter values by name
    states : "minimal"           independent directions only: A = T A_full Z with Z a basis of what the
                                 invariants allow and T Z = I; "full" keeps every state
    open : list of str           outputs of blocks at which loops are opened: blocks that read them see their
                                 value at the operating point instead, plus the input of the same name if it
                                 is among `inputs`; as outputs they show the signal that returns
    pade : int                   states of the rational system that approximates each component of a delay;
                                 without it delays are refused, except delays of signals held between ticks,
                                 which are exact
    lift : bool                  for a sampled diagram: inputs take new values, and outputs are read, at
                                 every tick of the period, not only at its first; "push_y@1/50" is the input
                                 at 1/50 s

    Returns
    -------
    ss : control.StateSpace      A (n,n), B (n,m), C (p,n), D (p,m); names are those of states and signals
                                 with "." written "_", as python-control wants. For a sampled diagram
                                 ``ss.dt`` is the period [s], of several rates their common one, which
                                 begins at a tick of the slowest: its states are those just before that
                                 tick, its inputs are held for a period, its outputs are read at the tick.
                                 Conditional parts stay as they are at the point. Modes and branches are
                                 those of a run that begins there, a snapshot has its own: a body that
                                 friction holds (``SIGN(1, VX(1, 2))`` at rest) stays held, v' = 0

    Warns
    -----
    MovingPointWarning           a mechanism moves there, and not steadily: see `cosim.analysis.steady`
    RoundedLoopWarning           something in a loop, or between inputs and outputs, rounds, as an `Encoder`
                                 does: its slope is 0

    Raises
    ------
    PlantloopError               unknown name, a delay, or an opaque block in the way
    """
    choice(states, "states", STATES)
    flag(lift, "lift")
    approximants = pade_order(pade)
    model = model_of(system, inputs, outputs, at, parameters, listed(open, "open"))
    mention_rounded(model.rounding)
    return linear_model(model, states, approximants, lift)


def linear_model(
    model: SystemAtPoint, states: str = "minimal", approximants: int | None = None, lift: bool = False
) -> control.StateSpace:
    """As `linearize`, of a system that stands at its point; what rounds in it is not mentioned."""
    import control

    mention_unsteady(model)
    s = model.system
    times: tuple[Fraction, ...] = ()
    with model.looking():
        if s.rates:
            basis = basis_of(model, states)
            found = walk_of(model, approximants, every_tick if lift else None).model(basis.z, basis.t)
            a, b, c, d = found.A, found.B, found.C, found.D
            held, times = _held_names(model, found), found.times if lift else ()
        else:
            (a, b, c, d), held = model.with_delays(approximants) if s.delays else (model.continuous(), [])
            basis = basis_of(model, states)
            if len(basis.independent) < len(s.x0):
                from scipy.linalg import block_diag  # slow to import, and names alone need none

                z, t = (block_diag(m, np.eye(len(held))) for m in (basis.z, basis.t))
                a, b, c = t @ a @ z, t @ b, c @ z
    key = (basis.independent, tuple(held), times)
    if key not in model.labels:
        model.labels[key] = _Labels.of(model, *key)
    labels = model.labels[key]
    if labels.shuffled:
        a, b, c = a[labels.square], b[labels.order], c[:, labels.order]
    period = [float(common(r.period for r in s.rates))] if s.rates else []
    inputs_shown = labels.inputs or [NOBODY]  # python-control refuses (1, 0) matrices
    if not labels.inputs:
        b, d = np.zeros((len(a), 1)), np.zeros((len(c), 1))
    ss = control.StateSpace(
        a, b, c, d, *period, states=labels.states, inputs=inputs_shown, outputs=labels.outputs,
        name=labels.name, remove_useless_states=False,
    )  # fmt: skip
    if not labels.inputs:
        ss.B, ss.D = b[:, :0], d[:, :0]
        ss.set_inputs([])
    return ss


def every_tick(period: CommonPeriod) -> range:
    """All instants of a period."""
    return range(len(period.instants))


def walk_of(
    model: SystemAtPoint,
    pade: int | None = None,
    when: Callable[[CommonPeriod], Sequence[int]] | None = None,
    echoes: Sequence[Echo] = (),
) -> PeriodWalk:
    """A sampled system at its point, ready to be walked through a common period.

    when : which instants of a period are those at which inputs change and outputs are read
    """
    period = CommonPeriod.of(model.system.rates, model.system.name)
    return PeriodWalk(
        model.system, model.context, model.input_index, model.output,
        (*model.input_names, None, *model.output_names), pade, model.opened,
        None if when is None else list(when(period)), echoes,
    )  # fmt: skip


def _held_names(model: SystemAtPoint, found: LiftedModel) -> list[str]:
    """Names of the states besides x; next values of discrete states are marked if present ones count too."""
    now = {place for place, is_next in found.held if not is_next}
    held = [model.held_names[p] + "_next" * (n and p in now) for p, n in found.held]
    return [*held, *found.past, *found.rational]


STATES = ("minimal", "full")
NOBODY = "none"  # an input of models without any, while they are made


@dataclass(frozen=True)
class _Labels:
    """Names as python-control wants them, and the order of the states."""

    order: list[int]
    square: tuple[np.ndarray, ...]
    shuffled: bool
    states: list[str]
    inputs: list[str]
    outputs: list[str]
    name: str

    @staticmethod
    def of(
        model: SystemAtPoint, independent: tuple[int, ...], held: tuple[str, ...], times: tuple[Fraction, ...]
    ) -> _Labels:
        names = [model.state_names[k] for k in independent] + list(held)
        order = _state_order(model, independent, len(held))
        at = [f"@{t}" for t in times] or [""]
        return _Labels(
            order,
            np.ix_(order, order),
            order != list(range(len(order))),
            [_label(names[k]) for k in order],
            [_label(n) + t for t in at for n in model.input_names],
            [_label(n) + t for t in at for n in model.output_names],
            _label(model.system.name),
        )


@dataclass(frozen=True)
class Basis:
    """Independent directions of x: dx = z dy, dy = t dx, t z = 1."""

    z: np.ndarray
    t: np.ndarray
    independent: tuple[int, ...]

    @staticmethod
    def full(n: int) -> Basis:
        return Basis(np.eye(n), np.eye(n), tuple(range(n)))


def basis_of(model: SystemAtPoint, states: str) -> Basis:
    """Basis of x at the point: the directions that the invariants leave free, or all for states="full"."""
    if states == "full" or not model.system.invariants.numel():
        return Basis.full(len(model.system.x0))
    return _invariant_basis(model)


def _invariant_basis(model: SystemAtPoint) -> Basis:
    """Basis of the null space of the invariants' Jacobian, in terms of independent states."""
    from scipy.linalg import qr

    s = model.system
    n = len(s.x0)
    function = s.function("invariants:jacobian", lambda: [ca.densify(ca.jacobian(s.invariants, s.x))])
    jacobian = np.array(function(*model.arguments()), dtype=float)
    largest = np.abs(jacobian).max(axis=1, initial=0.0)
    jacobian /= np.where(largest > 0.0, largest, 1.0)[:, None]  # whatever units an invariant is written in
    _, r, pivots = qr(jacobian, pivoting=True, mode="economic")
    rank = int((np.abs(np.diag(r)) > 1e-9 * max(1.0, abs(r[0, 0]))).sum())
    dependent = sorted(int(k) for k in pivots[:rank])
    independent = tuple(k for k in range(n) if k not in dependent)
    z = np.zeros((n, len(independent)))
    z[list(independent)] = np.eye(len(independent))
    z[dependent] = -np.linalg.lstsq(jacobian[:, dependent], jacobian[:, list(independent)], rcond=None)[0]
    t = np.zeros((len(independent), n))
    t[:, list(independent)] = np.eye(len(independent))
    return Basis(z, t, independent)


def _state_order(model: SystemAtPoint, independent: tuple[int, ...], held: int) -> list[int]:
    """Coordinates first, then their rates, then the states of controllers, then what is held."""
    rank = np.zeros(len(model.system.x0), dtype=int)
    slots = model.system.states.values()
    with_rates = {slot.path for slot in slots if static_of(slot) == "zero"}
    for slot in slots:
        if slot.path in with_rates:
            rank[slot.index] = 1 if static_of(slot) == "zero" else 0
        else:
            rank[slot.index] = 2
    order = sorted(range(len(independent)), key=lambda k: rank[independent[k]])
    return order + [len(independent) + k for k in range(held)]


def _label(name: str) -> str:
    return name.replace(".", "_")
