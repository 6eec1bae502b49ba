"""Control elements inside a plant: Control_Diff, Control_SISO, Control_StateEqn, sensors and what they read.

Their states join those of the mechanism. States that ``is_static_hold`` marks keep their initial value in an
equilibrium. Where the file format's documents are silent:

- the matrices of a linear Control_StateEqn are named by ``a_matrix_id`` ... ``d_matrix_id`` (or ``a_id``
  ...), each a Reference_Matrix, or a Reference_Array of type IC, with the entries row by row; or they are
  attributes ``a_matrix`` ... ``d_matrix`` that list the entries; a matrix not given is zero;
- a Control_SISO has the controllable canonical form; its states and those of a Control_StateEqn start at the
  values of ``ic_array_id``, or at 0;
- a Sensor_Event fires when its expression crosses ``value``: upwards for GE and GT, downwards for LE and
  LT, either way for EQ. The instant is located, so ``error_tol`` is not needed. A sensor that is beyond its
  value at the start fires on its next crossing; a run without one warns. Sensors that fire at one instant
  and evaluate the same Sensor_Evaluate do so one after the other, in the order of the file. ``halt`` and
  ``return`` end the
  run; ``restart`` ends the step there and starts the solver anew, as every event does; ``print`` and
  ``verbose`` put the instant into ``result.events``, ``print`` with the values of all outputs and requests;
  ``dt``, ``stepsize`` and ``hmax`` are ignored with a warning, because the run chooses its steps and output
  times.

Source: MotionSolve reference guide, Control_Diff, Control_SISO, Control_StateEqn, Sensor_Event,
Sensor_Evaluate; sensors as in Adams.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from blocks.contract.block import Equations
from blocks.contract.user_lines import warn_user
from blocks.errors import ModelError, near_miss
from blocks.library.state_sizes import state_sizes
from plant.elements import (
    Control_Diff,
    Control_SISO,
    Control_StateEqn,
    Element,
    Model,
    Reference_Array,
    Reference_Matrix,
    Sensor_Evaluate,
    Sensor_Event,
)
from plant.elements.kinds import Numbers, integer
from plant.equations.differential import is_differential
from plant.equations.setting import Setting
from plant.expressions.formulas import Formulas
from plant.expressions.scope import Refusal
from plant.names import slug, unique_names
from plant.reporting import ModelProblems, PlantWarning

MATRICES = tuple(f"{name}{form}" for form in ("_matrix_id", "_id", "_matrix") for name in "abcd")
"""Attributes a matrix of a Control_StateEqn may be given by."""

DIRECTIONS = {"GE": "rising", "GT": "rising", "LE": "falling", "LT": "falling", "EQ": "both"}


@dataclass(frozen=True, eq=False)
class Linear:
    """x' = A x + B u, y = C x + D u."""

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray


def realisation(element: Control_SISO) -> Linear:
    """Controllable canonical form of H(s) = (b0 + b1 s + ...) / (a0 + a1 s + ...)."""
    a = np.array(element.denominator_coef) / element.denominator_coef[-1]
    n = len(a) - 1
    b = np.zeros(n + 1)
    b[: len(element.numerator_coef)] = np.array(element.numerator_coef) / element.denominator_coef[-1]
    A = np.eye(n, k=1)
    if n:
        A[-1] = -a[:n]
    B = np.zeros((n, 1))
    B[-1:] = 1.0
    return Linear(A, B, (b[:n] - b[n] * a[:n]).reshape(1, n), np.array([[b[n]]]))


def matrices(model: Model, element: Control_StateEqn) -> Linear:
    """The four matrices of a linear Control_StateEqn.

    Raises
    ------
    ModelError    a matrix that is not numbers, or has the wrong count
    """
    n, p, m = element.num_state, element.num_output, inputs_of(model, element)[0]
    sizes = {"A": (n, n), "B": (n, m), "C": (p, n), "D": (p, m)}
    written = {name.lower(): text for name, text in element.attributes}
    found = {name: _matrix(model, element, written, name.lower(), size) for name, size in sizes.items()}
    return Linear(found["A"], found["B"], found["C"], found["D"])


def _matrix(
    model: Model, element: Control_StateEqn, written: Mapping[str, str], name: str, size: tuple[int, int]
) -> np.ndarray:
    own = [attribute for attribute in MATRICES if attribute[0] == name]
    attribute = next((a for a in own if a in written), own[-1])
    values: tuple[float, ...] = (0.0,) * (size[0] * size[1])
    shape: tuple[int | None, int | None] = (None, None)
    try:
        if attribute.endswith("_id"):
            id = integer(written[attribute])
            arrays, stored = (model.elements.get(k.tag, {}) for k in (Reference_Array, Reference_Matrix))
            if id in arrays and id not in stored:
                values = model.find(Reference_Array, id).values
            else:
                matrix = model.find(Reference_Matrix, id, element, attribute)
                values, shape = matrix.values, (matrix.num_row, matrix.num_col)
        elif attribute in written:
            values = Numbers().read(written[attribute])
    except ValueError as fault:
        raise ModelError(
            f"{element.where}: {attribute}={written.get(attribute)!r} {fault}.", path=element.where
        ) from None
    fits = all(known in (None, wanted) for known, wanted in zip(shape, size, strict=True))
    if len(values) != size[0] * size[1] or not fits:
        raise ModelError(
            f"{element.where}: {attribute} has {len(values)} entries"
            f"{f' ({shape[0]} x {shape[1]})' if None not in shape else ''}, expected {size[0]} x {size[1]}.",
            path=element.where,
            value=values,
            hint="List them row by row.",
        )
    return np.array(values, dtype=float).reshape(size)


def inputs_of(model: Model, element: Control_SISO | Control_StateEqn) -> tuple[int, Reference_Array | None]:
    """How many inputs an element has, and the array of them."""
    if element.u_array_id is None:
        return 0, None
    array = model.find(Reference_Array, element.u_array_id, element, "u_array_id")
    return len(array.variable_id) or array.num_element or 0, array


def control_states(model: Model, formulas: Formulas, taken: set[str]) -> dict[str, tuple[Any, np.ndarray]]:
    """Element and initial values of every state of a control element, by the name of the state."""
    found: list[tuple[Any, np.ndarray]] = []
    for diff in model.all(Control_Diff):
        if is_differential(model, diff, formulas):
            found.append((diff, np.array([diff.ic])))
    for system in _systems(model):
        n = len(system.denominator_coef) - 1 if isinstance(system, Control_SISO) else system.num_state
        if n:
            found.append((system, _initial(model, system, n)))
    kinds: dict[type, str] = {Control_Diff: "diff", Control_SISO: "siso", Control_StateEqn: "state_equation"}
    names = unique_names([(e.label, kinds[type(e)], e.id) for e, _ in found])
    return {
        (f"{kinds[type(entry[0])]}_{entry[0].id}" if name in taken else name): entry
        for name, entry in zip(names, found, strict=True)
    }


def _initial(model: Model, element: Control_SISO | Control_StateEqn, n: int) -> np.ndarray:
    if element.ic_array_id is None:
        return np.zeros(n)
    values = model.find(Reference_Array, element.ic_array_id, element, "ic_array_id").values
    if len(values) != n:
        raise ModelError(
            f"{element.where}: ic_array_id={element.ic_array_id} has {len(values)} values for {n} states.",
            path=element.where,
            value=values,
            hint="Give one initial value per state.",
        )
    return np.array(values)


def check_controls(model: Model) -> None:
    """Refuse control elements whose matrices, initial values or arrays do not fit.

    Raises
    ------
    ModelProblems    all that is wrong with them
    """
    problems = []

    def check(test: Callable[..., Any], *arguments: Any) -> None:
        try:
            test(*arguments)
        except ModelError as error:
            problems.append(str(error))

    for element in model.all(Control_StateEqn):
        if element.type == "LINEAR":
            check(matrices, model, element)
        for name, _ in element.attributes:
            if name.lower() not in MATRICES:
                warn_user(
                    f"{element.where}: attribute {name} is not known and is ignored; "
                    f"{near_miss(name.lower(), MATRICES)}",
                    PlantWarning,
                )
    for system in _systems(model):
        check(inputs_of, model, system)
        n = len(system.denominator_coef) - 1 if isinstance(system, Control_SISO) else system.num_state
        check(_initial, model, system, n)
        _mention_sizes(model, system, n)
    check(_owners, model)
    if problems:
        raise ModelProblems(problems, about=model.file or model.name)


def _mention_sizes(model: Model, system: Control_SISO | Control_StateEqn, states: int) -> None:
    """Warn of arrays that are said to have another size than what fills them."""
    outputs = 1 if isinstance(system, Control_SISO) else system.num_output
    for id, count, what in ((system.x_array_id, states, "state"), (system.y_array_id, outputs, "output")):
        array = model.elements.get(Reference_Array.tag, {}).get(id)
        written = getattr(array, "num_element", None)
        if array is not None and count and written not in (None, count):
            warn_user(
                f"{array.where}: num_element={written} changes nothing, because {system.tag} id={system.id} "
                f"fills it with {count} {what}{'s' * (count > 1)}; write num_element={count}.",
                PlantWarning,
            )


def stored_name(sensor: Sensor_Evaluate) -> str:
    """Name of the memory with the value of a sensor."""
    return f"{slug(sensor.label) or 'sensor'}_{sensor.id}.value"


class Controls:
    """States and outputs of the control elements while a plant's equations are written.

    Parameters
    ----------
    b : Equations       where states, unknowns and events are declared
    states : dict       as `control_states` gives them
    """

    def __init__(self, b: Equations, model: Model, states: Mapping[str, tuple[Any, np.ndarray]]) -> None:
        self._b, self._model = b, model
        self._handles: dict[tuple[str, int], Any] = {}
        self._symbols: dict[tuple[str, int], ca.SX] = {}
        for name, (element, initial) in states.items():
            static = "hold" if element.is_static_hold else "solve"
            handle = b.continuous(name, initial, static=static, nominal=_sizes(model, element))
            key = (element.tag, element.id)
            self._handles[key], self._symbols[key] = handle, ca.SX(handle)
        self._unknown: dict[int, ca.SX] = {}  # rate of an implicit Control_Diff, or an algebraic one itself
        for diff in model.all(Control_Diff):
            if not diff.is_implicit:
                continue
            differential = (diff.tag, diff.id) in self._handles
            guess = (diff.ic_dot or 0.0) if differential else diff.ic
            name = f"{slug(diff.label) or f'diff_{diff.id}'}.{'rate' if differential else 'value'}"
            self._unknown[diff.id] = ca.SX(b.algebraic(name, guess, about=diff.where))
        self._stored = {s.id: b.mode(stored_name(s), 0.0) for s in model.all(Sensor_Evaluate)}
        self._outputs: dict[tuple[str, int], ca.SX] = {}
        self._owners = _owners(model)

    # --- what expressions read ------------------------------------------------------------------------
    def states(self, values: Setting) -> Iterator[tuple[ca.SX, Callable[[], ca.SX]]]:
        """Every state with its rate."""
        for key, symbol in self._symbols.items():
            yield symbol, lambda key=key: self._rate(values, key)  # type: ignore[misc]

    def state(self, id: int) -> ca.SX:
        """DIF: a state, or the unknown of an algebraic equation; 0 of an element that is switched off."""
        key = (Control_Diff.tag, id)
        if not self._model.find(Control_Diff, id).is_active:
            return ca.SX(0)
        return self._symbols[key] if key in self._symbols else self._unknown[id]

    def state_rate(self, values: Setting, id: int) -> ca.SX:
        """DIF1: the right-hand side, the unknown rate, or the rate of an algebraic solution.

        The last follows from g(x, y, t) = 0: x' = -(g_y y' + g_t) / g_x.
        """
        diff = self._model.find(Control_Diff, id)
        if not diff.is_active:
            return ca.SX(0)
        if (diff.tag, id) in self._symbols:
            return self._rate(values, (diff.tag, id))
        g, x = values.given(diff), self._unknown[id]
        slope = ca.jacobian(g, x)
        if not slope.nnz():
            raise Refusal(f"Control_Diff {id} does not depend on its own state DIF({id})")
        return -values.motion.rate(g) / slope

    def _rate(self, values: Setting, key: tuple[str, int]) -> ca.SX:
        tag, id = key
        if tag == Control_Diff.tag:
            diff = self._model.find(Control_Diff, id)
            return self._unknown[id] if diff.is_implicit else values.given(diff)
        element = self._system(key)
        return self._both(values, element)[0]

    def _system(self, key: tuple[str, int]) -> Control_SISO | Control_StateEqn:
        if key[0] == Control_SISO.tag:
            return self._model.find(Control_SISO, key[1])
        return self._model.find(Control_StateEqn, key[1])

    def array(self, values: Setting, array: Reference_Array, k: int) -> ca.SX:
        """Entry k, from 1, of an array X or Y that a control element fills."""
        owner = self._owners.get(array.id)
        if owner is None:
            raise Refusal(f"Reference_Array {array.id} of type {array.type} belongs to no control element")
        element, part = owner
        key = (element.tag, element.id)
        if part == "x":
            vector = self._symbols.get(key, ca.SX(0, 1))
        else:
            vector = values.once(key, lambda: self._y(values, key))
        if k > vector.numel():
            raise Refusal(f"Reference_Array {array.id} has {vector.numel()} entries, not {k}")
        return ca.SX(vector[k - 1])

    def _y(self, values: Setting, key: tuple[str, int]) -> ca.SX:
        element = self._system(key)
        with values.finding(element):
            return self._both(values, element)[1]

    def _both(self, values: Setting, element: Control_SISO | Control_StateEqn) -> tuple[ca.SX, ca.SX]:
        """Rate of the states and outputs."""
        x = self._symbols.get((element.tag, element.id), ca.SX(0, 1))
        if isinstance(element, Control_StateEqn) and element.type == "USERSUB":
            both = values.subroutine(element, x, self._inputs(values, element))
            return both[: element.num_state], both[element.num_state :]
        linear = realisation(element) if isinstance(element, Control_SISO) else matrices(self._model, element)
        A, B, C, D = (
            ca.sparsify(ca.SX(ca.DM(M))) if M.size else ca.SX(*M.shape)
            for M in (linear.A, linear.B, linear.C, linear.D)
        )
        u = self._inputs(values, element) if B.nnz() or D.nnz() else ca.SX(B.shape[1], 1)
        return A @ x + B @ u, C @ x + (D @ u if D.nnz() else ca.SX(D.shape[0], 1))

    def _inputs(self, values: Setting, element: Control_SISO | Control_StateEqn) -> ca.SX:
        count, array = inputs_of(self._model, element)
        if array is None:
            return ca.SX(0, 1)
        return ca.vertcat(*[values.array(array.id, k) for k in range(1, count + 1)])

    def stored(self, id: int) -> ca.SX:
        """SENVAL; 0 of an element that is switched off."""
        return ca.SX(self._stored.get(id, 0.0))

    # --- equations ------------------------------------------------------------------------------------
    def declare(self, values: Setting, shown: Mapping[str, ca.SX]) -> None:
        """Give every state its rate and every unknown its equation; sensors become events.

        shown : what a sensor prints, by the name of its port
        """
        for key, handle in self._handles.items():
            rate = self._rate(values, key)
            values.watch(f"{self._named(key).where}, rate", rate)
            self._b.derivative(handle, ca.densify(rate))
        for diff in self._model.all(Control_Diff):
            if diff.is_implicit:
                self._b.residual(values.given(diff))
        for sensor in self._model.all(Sensor_Event):
            self._event(values, sensor, shown)

    def _named(self, key: tuple[str, int]) -> Element:
        return self._model.find(Control_Diff, key[1]) if key[0] == Control_Diff.tag else self._system(key)

    def _event(self, values: Setting, sensor: Sensor_Event, shown: Mapping[str, ca.SX]) -> None:
        crossing = values.given(sensor) - sensor.value
        direction = DIRECTIONS[sensor.compare]
        name = f"{slug(sensor.label) or 'sensor'}_{sensor.id}"
        resets: list[tuple[Any, Any]] = []
        if sensor.evaluate_id in self._stored:
            value = values.given(self._model.find(Sensor_Evaluate, sensor.evaluate_id))
            resets.append((self._stored[sensor.evaluate_id], value))
        if sensor.print:
            for port, signals in shown.items():
                memory = self._b.mode(f"{name}.{port}", 0.0, int(signals.numel()))
                resets.append((memory, signals))
        if resets or sensor.restart or sensor.print or sensor.verbose:
            self._b.when(crossing, resets, direction, name, unmet=sensor.unmet, in_turn=True)
        if sensor.halt or sensor.return_:
            self._b.stop(crossing, sensor.stop_message, direction, unmet=sensor.unmet)


def _sizes(model: Model, element: Control_Diff | Control_SISO | Control_StateEqn) -> list[float] | float:
    """Typical sizes of the states of an element, one for all where its equations are not linear."""
    if isinstance(element, Control_SISO):
        linear = realisation(element)
    elif isinstance(element, Control_StateEqn) and element.type == "LINEAR":
        linear = matrices(model, element)
    else:
        return 1.0
    sizes: list[float] = state_sizes(linear.A, linear.B, linear.C, linear.D).tolist()
    return sizes


def _systems(model: Model) -> list[Control_SISO | Control_StateEqn]:
    return [*model.all(Control_SISO), *model.all(Control_StateEqn)]


def _owners(model: Model) -> dict[int, tuple[Element, str]]:
    """Which control element fills each array of states or outputs."""
    found: dict[int, tuple[Element, str]] = {}
    for element in _systems(model):
        for id, part in ((element.x_array_id, "x"), (element.y_array_id, "y")):
            if id in found:
                raise ModelError(
                    f"{element.where}: {part}_array_id={id} is filled by {found[id][0].where} already.",
                    path=element.where,
                    value=id,
                    hint="Give each element arrays of its own.",
                )
            found[id] = (element, part)
    return found
