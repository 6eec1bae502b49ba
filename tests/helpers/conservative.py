"""Conservative examples and how much energy a run of each gains or loses; makes the table of docs/energy.md.

python -m tests.helpers.conservative          # prints the table
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cosim import Diagram, simulate
from plant import Baumgarte, Plant, PlantWarning
from plant.elements import Control_PlantOutput, Model, Reference_Variable
from tests.helpers import overconstrained
from tests.helpers.loops import n_four_bar
from tests.helpers.plants import DATA, deck

EXAMPLES = DATA.parents[1] / "examples"
SPAN = 10.0  # s
TIGHT = {"rtol": 1e-10, "atol": 1e-12}
ALONE = Baumgarte(0.0, 0.0)  # nothing is fed back and nothing projected


@dataclass(frozen=True)
class Example:
    """A conservative mechanism.

    plant : of coordinates and stabilisation
    port, component : where its energy [J] comes out
    exchanged : [J]         largest kinetic energy, what a drift is measured by
    coordinates : choices that are possible; two of them have loops and can do without projection
    """

    plant: Callable[..., Plant]
    port: str
    component: int
    exchanged: float
    coordinates: tuple[str, ...] = ("joint", "absolute")
    loops: bool = False
    initial: tuple[tuple[str, float], ...] = ()


def _deck(name: str) -> Callable[..., Plant]:
    return lambda **options: Plant.read(deck(f"{name}.xml"), **options)


def _window(**options: str) -> Plant:
    """One parallelogram window with a port for its energy."""
    model = n_four_bar(1)
    elements = [e for same in model.elements.values() for e in same.values()]
    text = overconstrained.energy([2, 3, 4], [1.0, 1.0, 1.0]).replace(",10,", ",100000,")
    more = [
        Reference_Variable(id=90, expr=text),
        Control_PlantOutput(id=2, label="energy", variable_id_list=(90,)),
    ]
    return Plant.from_model(Model.build([*elements, *more]), **options)


def _spacecraft(**options: str) -> Plant:
    return Plant.read(EXAMPLES / "energy_audit.xml", **options).audited()


CASES = {
    "simple pendulum": Example(_deck("simple_pendulum"), "bob", 2, 9.81, ("joint",)),
    "double pendulum, points": Example(_deck("double_pendulum_points"), "links", 4, 29.4, ("joint",)),
    "double pendulum, rods": Example(_deck("double_pendulum_rods"), "links", 4, 19.6),
    "free body (Dzhanibekov)": Example(_deck("dzhanibekov"), "spin", 3, 1.0),
    "spacecraft with panel and wheel": Example(_spacecraft, "audit_energy", -1, 17.0),
    "parallelogram window": Example(_window, "energy", 0, 40.1, loops=True),
    "parallelogram of three cranks": Example(_deck("parallelogram"), "energy", 0, 8.76, loops=True),
    "four-bar in space": Example(_deck("leaning_four_bar"), "energy", 0, 12.7, loops=True),
    "Bricard's linkage": Example(_deck("bricard"), "energy", 0, 29.4, loops=True),
}


def drift(name: str, coordinates: str, stabilisation: object = "projection", engine: str = "auto") -> float:
    """Largest change of the energy within SPAN, relative to the energy exchanged."""
    case = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlantWarning)
        plant = case.plant(coordinates=coordinates, stabilisation=stabilisation)
    d = Diagram("conservative")
    d.add("plant", plant)
    for port in plant.inputs:
        d.ground(f"plant.{port}")
    r = simulate(d, SPAN, engine=engine, signals=[f"plant.{case.port}"], **TIGHT)
    values = r[f"plant.{case.port}"]
    energy = values[:, :3].sum(axis=1) if case.component < 0 else values[:, case.component]
    return float(np.abs(energy - energy[0]).max() / case.exchanged)


def table() -> str:
    """Markdown of all drifts."""
    lines = [
        "| example | coordinates | with projection | without |",
        "| --- | --- | --- | --- |",
    ]
    for name, case in CASES.items():
        for coordinates in case.coordinates:
            without = f"{drift(name, coordinates, ALONE):.0e}" if case.loops else "-"
            lines.append(f"| {name} | {coordinates} | {drift(name, coordinates):.0e} | {without} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
