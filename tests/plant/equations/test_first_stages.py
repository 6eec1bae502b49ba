"""What assembly wrote of a plant's equations, and the equations that go on with it."""

import pickle

import numpy as np
import pytest

from blocks.contract.block import Equations
from blocks.contract.symbols import tracing
from cosim import Diagram
from plant import Plant
from plant.equations.first_stages import FirstStages, KeptStages

DECK = "tests/data/models/four_bar.xml"


def written(plant):
    """Equations of a plant in a diagram: the derivative and invariants as text, and where states start."""
    d = Diagram("alone")
    added = d.add("plant", plant)
    for name in plant.inputs:
        d.ground(added[name])
    system = d.system()
    function = system.function("compared", lambda: [system.derivative, system.invariants, system.correction])
    return function.serialize(), system.x0.tobytes(), system.h0.tobytes(), system.p0.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_the_same_equations_with_begun_stages_and_without(coordinates):
    plant = Plant.read(DECK, coordinates=coordinates)
    first = written(plant)  # goes on with what assembly wrote
    assert written(plant) == first  # writes all anew
    assert written(pickle.loads(pickle.dumps(Plant.read(DECK, coordinates=coordinates)))) == first


def test_begun_stages_is_there_once_and_only_for_the_same_plant():
    plant = Plant.read(DECK)
    observed = plant.observed()
    assert observed.begun is plant.begun
    about = plant._about
    assert Plant.read(DECK).begun.take(about) is None  # other objects, though of one file
    assert plant.begun.take(about) is not None
    assert observed.begun.take(about) is None


def test_what_begun_equations_declared_is_declared_once():
    with tracing():
        begun = Equations({})
        x = begun.continuous("x", 0.0)
        p = begun.parameter("p", 2.0)
        b = Equations({})
        b.take_over(begun, {"x": np.array([3.0]), "unheard of": np.array([1.0])})
        begun.derivative(x, -p * x)  # whoever holds the first ones writes into both
        b.output("y", x)
        declared = b.declared()
    (state,) = declared.memories
    assert state.initial.tolist() == [3.0] and str(state.expression) == "(-(p*x))"
    assert [o.name for o in declared.outputs] == ["y"] and [q.name for q in declared.parameters] == ["p"]


class Restricted:
    """A closure that says with what it was restricted."""

    def restricted(self, closing):
        return f"restricted by {closing}"


def stages(about=(), closure=None) -> FirstStages:
    return FirstStages(about, Equations({}), None, None, closure)


def test_stages_are_restricted_where_there_is_something_to_restrict():
    free, closed = stages(), stages(closure=Restricted())
    assert free.closed_by("some") is free and closed.closed_by(None) is closed
    assert closed.closed_by("some").closure == "restricted by some"


@pytest.mark.parametrize(("about", "same"), [((1.5, "ab"), True), ((1.5, "ac"), False), ((2.5, "ab"), False)])
def test_stages_are_kept_for_what_is_equal(about, same):
    """The parts of a plant are compared by what they are, not only by where they are."""
    begun = stages(about=(float("1.5"), "".join("ab")))
    assert KeptStages(begun).take(about) is (begun if same else None)
