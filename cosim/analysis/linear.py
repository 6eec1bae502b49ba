"""Linear models with exact derivatives.

`linearize` gives a python-control state space: continuous for a diagram without sampled blocks, and for a
diagram of one rate the exact discrete model from tick to tick.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import casadi as ca
import numpy as np

from blocks.arguments import choice
from blocks.contract.block import Block
from cosim.analysis.discretise import tick_model
from cosim.analysis.operating import OperatingPoint, SystemAtPoint, model_of, static_of
from cosim.analysis.steady import mention_unsteady
from cosim.diagram import Diagram
from cosim.run.context import Context

if TYPE_CHECKING:
    import control


def linearize(
    system: Block | Diagram,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    at: OperatingPoint | Context | Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    states: Literal["minimal", "full"] = "minimal",
) -> control.StateSpace:
    """Linear model about an operating point, exact to rounding, names kept.

    Parameters
    ----------
    system : Block or Diagram    of a block alone, all its inputs and outputs are used
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

    Returns
    -------
    ss : control.StateSpace      A (n,n), B (n,m), C (p,n), D (p,m); names are those of states and signals
                                 with "." written "_", as python-control wants. For a sampled diagram
                                 ``ss.dt`` is the period [s]: its states are those just before a tick, its
                                 inputs are held from tick to tick, its outputs are read at the tick

    Warns
    -----
    MovingPointWarning           a mechanism moves there, and not steadily: see `cosim.analysis.steady`

    Raises
    ------
    PlantloopError               unknown name, several rates, or an opaque block in the way
    """
    import control

    choice(states, "states", STATES)
    model = model_of(system, inputs, outputs, at, parameters)
    mention_unsteady(model)
    s = model.system
    with model.looking():
        if s.rates:
            basis = _basis(model, states)
            discrete = tick_model(s, model.context, model.input_index, model.output)
            a, b, c, d = discrete.matrices(basis.z, basis.t)
            kept = tuple(discrete.kept)
        else:
            a, b, c, d = model.continuous()
            basis, kept = _basis(model, states), ()
            if len(basis.independent) < len(a):
                a, b, c = basis.t @ a @ basis.z, basis.t @ b, c @ basis.z
    key = (basis.independent, kept)
    if key not in model.labels:
        model.labels[key] = _Labels.of(model, *key)
    labels = model.labels[key]
    if labels.shuffled:
        a, b, c = a[labels.square], b[labels.order], c[:, labels.order]
    period = [float(s.rates[0].period)] if s.rates else []
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
    def of(model: SystemAtPoint, independent: tuple[int, ...], kept: tuple[int, ...]) -> _Labels:
        names = [model.state_names[k] for k in independent] + [model.held_names[k] for k in kept]
        order = _state_order(model, independent, len(kept))
        return _Labels(
            order,
            np.ix_(order, order),
            order != list(range(len(order))),
            [_label(names[k]) for k in order],
            [_label(n) for n in model.input_names],
            [_label(n) for n in model.output_names],
            _label(model.system.name),
        )


@dataclass(frozen=True)
class _Basis:
    """Independent directions of x: dx = z dy, dy = t dx, t z = 1."""

    z: np.ndarray
    t: np.ndarray
    independent: tuple[int, ...]

    @staticmethod
    def full(n: int) -> _Basis:
        return _Basis(np.eye(n), np.eye(n), tuple(range(n)))


def _basis(model: SystemAtPoint, states: str) -> _Basis:
    if states == "full" or not model.system.invariants.numel():
        return _Basis.full(len(model.system.x0))
    return _invariant_basis(model)


def _invariant_basis(model: SystemAtPoint) -> _Basis:
    """Basis of the null space of the invariants' Jacobian, in terms of independent states."""
    from scipy.linalg import qr

    s = model.system
    n = len(s.x0)
    function = s.function("invariants:jacobian", lambda: [ca.densify(ca.jacobian(s.invariants, s.x))])
    jacobian = np.array(function(*model.arguments()), dtype=float)
    _, r, pivots = qr(jacobian, pivoting=True, mode="economic")
    rank = int((np.abs(np.diag(r)) > 1e-9 * max(1.0, abs(r[0, 0]))).sum())
    dependent = sorted(int(k) for k in pivots[:rank])
    independent = tuple(k for k in range(n) if k not in dependent)
    z = np.zeros((n, len(independent)))
    z[list(independent)] = np.eye(len(independent))
    z[dependent] = -np.linalg.lstsq(jacobian[:, dependent], jacobian[:, list(independent)], rcond=None)[0]
    t = np.zeros((len(independent), n))
    t[:, list(independent)] = np.eye(len(independent))
    return _Basis(z, t, independent)


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
