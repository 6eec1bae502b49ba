"""Gain scheduling: a controller designed at every operating point of a table, as one block."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from blocks.arguments import array
from blocks.contract.block import Block
from blocks.contract.rate import Rate
from blocks.errors import PlantloopError, shown
from blocks.library.scheduling import ScheduledFeedback
from cosim.analysis.linear import linearize
from cosim.analysis.operating import OperatingPoint
from cosim.diagram import Diagram
from cosim.names import listed

if TYPE_CHECKING:
    import control


def gain_schedule(
    system: Block | Diagram,
    points: Sequence[float] | np.ndarray,
    at: Callable[[float], OperatingPoint],
    design: Callable[[control.StateSpace], Any],
    inputs: Sequence[str],
    outputs: Sequence[str],
    parameters: Mapping[str, Any] | None = None,
    sample: Rate | None = None,
    offset: Rate = 0,
) -> ScheduledFeedback:
    """Linearise a plant at operating points, design a feedback at each, and put them into one block.

    ::

        law = gain_schedule(
            car, [10, 20, 30], at=lambda v: trim(car, u={"v": v}), design=gain,
            inputs=["delta"], outputs=["y", "theta"],
        )
        d.connect(speed["y"], d.add("law", law)["p"])

    Parameters
    ----------
    system : Block or Diagram          the plant, continuous
    points : (n,)                      values of the scheduling signal, increasing
    at : function                      of such a value: the operating point there, as `trim` gives it
    design : function                  of the linear model from `inputs` to `outputs` there: the gain K of
                                       u = u0 - K (y - y0), (components of inputs, components of outputs)
    inputs, outputs : lists of names   what the feedback acts on and what it sees, in this order
    parameters : dict                  of the plant, by name
    sample, offset : s                 of the block; None for continuous feedback

    Returns
    -------
    ScheduledFeedback      with ports "p" (the scheduling signal), "x" (the outputs side by side) and "u"

    Raises
    ------
    PlantloopError         a name, a point without an operating point, or a gain of another shape
    """
    gains, seen, held = [], [], []
    inputs, outputs = listed(inputs, "inputs"), listed(outputs, "outputs")
    if not callable(at) or not callable(design):
        wrong = "at" if not callable(at) else "design"
        value = at if not callable(at) else design
        raise PlantloopError(f"{wrong} is {shown(value)}, expected a function.", value=value)
    for point in array(points, "points", (None,)).ravel():
        op = at(float(point))
        if not isinstance(op, OperatingPoint):
            raise PlantloopError(
                f"at({point:g}) is {shown(op)}, expected an operating point, as trim(...) gives it.", value=op
            )
        model = linearize(system, inputs, outputs, op, parameters)
        K = np.atleast_2d(np.asarray(design(model), dtype=float))
        if K.shape != (model.ninputs, model.noutputs):
            raise PlantloopError(
                f"design gives a gain of shape {K.shape} at {point:g}, expected "
                f"{(model.ninputs, model.noutputs)}: a row per input, a column per output.",
                value=K,
            )
        gains.append(K)
        seen.append(_of(op.outputs, outputs, "output", op.prefix))
        held.append(_of(op.inputs, inputs, "input", op.prefix))
    return ScheduledFeedback(points, gains, seen, held, sample=sample, offset=offset)


def _of(values: Mapping[str, np.ndarray], names: Sequence[str], what: str, prefix: str) -> np.ndarray:
    """Values side by side."""
    short = [name.removeprefix(prefix) for name in names]
    if unknown := [name for name in short if name not in values]:
        raise PlantloopError(
            f"the operating point has no {what} '{unknown[0]}'; it has {', '.join(values)}.",
            hint="Name whole inputs and outputs of the system that was trimmed.",
        )
    return np.concatenate([np.ravel(values[name]) for name in short])
