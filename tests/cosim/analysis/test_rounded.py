"""Linear models say what rounds on the way: x' = u - round(x), u rounded on its way in."""

import warnings

import numpy as np
import pytest

from blocks import Gain, Integrator, Quantizer
from cosim import Diagram, linearize
from cosim.analysis.rounded import RoundedLoopWarning


def rounded(before=None, back=None, shown=None):
    """x' = before(u) - back(x), y = x, with shown(x) aside; in subsystems; gains where none is given."""
    d = Diagram("d")
    inner = Diagram("inner")
    inner.connect(inner.inport("u"), inner.add("it", before or Gain(1.0))["u"])
    inner.outport("y", inner["it"]["y"])
    way, x = d.add("way", inner), d.add("x", Integrator())
    back, aside = d.add("back", back or Gain(1.0)), d.add("aside", shown or Gain(1.0))
    d.connect(d.inport("u"), way["u"])
    way - back >> x
    x >> back
    x >> aside
    d.outport("y", x["y"])
    return d


@pytest.mark.parametrize(
    ("which", "asked", "names", "pole", "gain"),
    [
        ("back", {}, "'back'", 0.0, 1.0),
        ("before", {}, "'way/it'", -1.0, 0.0),
        ("before", {"inputs": ["way.u"]}, "'way/it'", -1.0, 0.0),
        ("before", {"inputs": ["way.y"]}, "", -1.0, 1.0),  # behind it
        ("before", {"inputs": ["x.u"]}, "", -1.0, 1.0),
        ("back", {"inputs": ["back.y"], "outputs": ["x.y"], "open": ["back.y"]}, "", 0.0, -1.0),  # no loop
        ("back", {"inputs": ["u"], "outputs": ["back.y"], "open": ["back.y"]}, "'back'", 0.0, 1.0),
        ("shown", {}, "", -1.0, 1.0),  # nobody asks for it
        ("shown", {"outputs": ["aside.y"]}, "'aside'", -1.0, 1.0),
    ],
)
def test_a_linear_model_names_what_rounds_in_loops_and_between_its_inputs_and_outputs(
    which, asked, names, pole, gain
):
    d = rounded(**{which: Quantizer(0.1)})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = linearize(d, **asked)
    found = [str(w.message) for w in caught if w.category is RoundedLoopWarning]
    assert len(found) == bool(names)
    assert all(f"by {names} (Quantizer), through" in text for text in found)
    assert all(text.endswith(f"copy of the diagram {names} by Gain(1.0).") for text in found)
    np.testing.assert_allclose([model.A[0, 0], model.B[0, 0]], [pole, gain], atol=1e-15)
