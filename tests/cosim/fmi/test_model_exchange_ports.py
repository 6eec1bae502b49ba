"""Places of variables among others, and which inputs of an FMU for model exchange are set when."""

from typing import Any

from cosim.fmi.description import Variable
from cosim.fmi.model_exchange_ports import Ports, places


def variable(name: str, size: int = 1, variability: str = "continuous", **more: Any) -> Variable:
    shape = () if size == 1 else (size,)
    given = {"causality": "input"} | more
    return Variable(name, 1, "Float64", variability=variability, shape=shape, **given)


A, B, C, D = variable("a", 2), variable("b", 3, "discrete"), variable("c"), variable("d", 2)
E = variable("e", 1, "discrete", clocks=("tick",))


def test_places_are_those_of_scalars():
    every = (A, B, C, D)
    assert places(every, every).tolist() == list(range(8))
    assert places(every, (D, B)).tolist() == [6, 7, 2, 3, 4]
    assert places(every, ()).tolist() == [] and places(every, ()).dtype == int


def test_inputs_by_when_they_may_be_set():
    """At any time: continuous ones. In any event: those without a clock."""
    x = variable("x", 2, causality="local", initial="exact")
    y = variable("y", 1, causality="local", initial="calculated")
    p = variable("p", 3, "tunable", causality="parameter")
    ports = Ports((B, A, E, C), (p,), (x, y), (), (), 0, ())
    found, at = ports.moving
    assert [v.name for v in found] == ["a", "c"] and at.tolist() == [3, 4, 6]
    found, at = ports.unclocked
    assert [v.name for v in found] == ["b", "a", "c"] and at.tolist() == [0, 1, 2, 3, 4, 6]
    assert ports.settable.tolist() == [True, True, False]
    assert (ports.nx, ports.nu, ports.np) == (3, 7, 3)
    again = Ports((B, A, E, C), (p,), (x, y), (), (), 0, ())
    again.derived.get("found", lambda: 1)  # what was found is no part of what they are
    assert again == ports and hash(again) == hash(ports) and "derived" not in repr(again)
