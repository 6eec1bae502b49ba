"""Blocks that are put into a conditional part as they are: their ports are those of the part."""

import pytest

from blocks import Constant, Function, Gain
from blocks.errors import WiringError
from cosim import Diagram, Enabled, If, simulate


@pytest.mark.parametrize("wrap", [Enabled, lambda inner: If(inner, Gain(0.0))])
def test_a_function_of_several_components_has_its_output(wrap):
    d = Diagram("d")
    d.add("x", Constant([1.0, 2.0, 3.0]))
    d.add("on", Constant(1.0))
    part = d.add("part", wrap(Function(lambda x: 10.0 * x[2])))
    d.connect("x.y", "part.x")
    d.connect("on.y", part["enable" if wrap is Enabled else "condition"])
    if wrap is not Enabled:
        d.ground("part.u")
    assert simulate(d, until=0.1)["part.y"][-1, 0] == 30.0


def test_a_part_whose_outputs_cannot_be_known_is_refused():
    with pytest.raises(WiringError, match="outputs of a Function .* cannot be known.* put it into a Diagram"):
        Enabled(Function(lambda x: x[40])).netlist()
