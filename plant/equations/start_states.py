"""States of a plant by name, and their values at the start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plant.elements import Inertia_Wheel, Model, Reference_Variable
from plant.equations.controls import control_states
from plant.equations.filters import filter_states
from plant.equations.wheels import WheelState, wheel_states
from plant.expressions.formulas import Formulas
from plant.mechanics.mechanism import Mechanism
from plant.names import unique_names
from plant.ports import Port


@dataclass(frozen=True, eq=False)
class StartStates:
    """Which states there are, and where they start.

    q, qd : (nq,), (nv,) coordinates and rates of each link at the start
    integrals : variables in dot_form by the name of their state
    controls : control elements with states, and their initial values, by the name of the states
    wheels : of each inertia wheel
    """

    mechanism: Mechanism
    q: Sequence[np.ndarray]
    qd: Sequence[np.ndarray]
    integrals: Mapping[str, Reference_Variable]
    controls: Mapping[str, tuple[Any, np.ndarray]]
    wheels: tuple[WheelState, ...]

    def by_name(self, inputs: Iterable[Port], formulas: Formulas) -> dict[str, np.ndarray]:
        """Initial value of every continuous state, those of filters behind inputs included."""
        links = self.mechanism.links
        found = {f"{link.name}.q": q for link, q in zip(links, self.q, strict=True) if link.joint.nq}
        found |= {f"{link.name}.qd": qd for link, qd in zip(links, self.qd, strict=True) if link.joint.nv}
        found |= {name: np.array([v.ic]) for name, v in self.integrals.items()}
        found |= {name: initial for name, (_, initial) in self.controls.items()}
        for port in inputs:
            found |= filter_states(port, formulas)
        return found | {s.name: np.array([s.start]) for s in self.wheels}


def start_states(
    model: Model,
    mechanism: Mechanism,
    formulas: Formulas,
    q: Sequence[np.ndarray],
    qd: Sequence[np.ndarray],
) -> StartStates:
    """States of a plant whose links start at q (nq,) and qd (nv,) each; their names are unique."""
    variables = [v for v in model.all(Reference_Variable) if v.dot_form]
    names = unique_names([(v.label, "variable", v.id) for v in variables])
    taken = {link.name for link in mechanism.links}
    integrals = {
        f"variable_{v.id}" if name in taken else name: v for name, v in zip(names, variables, strict=True)
    }
    return StartStates(
        mechanism,
        q,
        qd,
        integrals,
        control_states(model, formulas, taken | set(integrals)),
        wheel_states(model.all(Inertia_Wheel), mechanism, q, qd),
    )
