"""A room with a thermostat as a state chart: when does the heater switch?

C T' = P - G T, T above that outside. The chart heats below 19 degrees and stops above 21: between them T goes
exponentially, so that every switching time has a closed form.

python examples/thermostat/thermostat.py
"""

from typing import NamedTuple

import numpy as np

from blocks import State, StateChart, TransferFunction, Transition
from cosim import Diagram, simulate

C, G, P = 3000.0, 40.0, 1000.0  # J/K, W/K, W
LOW, HIGH = 19.0, 21.0  # K above outside


class Switching(NamedTuple):
    """Times at which the heater switched [s], and those of the closed form."""

    found: np.ndarray
    known: np.ndarray


def room() -> Diagram:
    """The room and its thermostat."""
    d = Diagram("room")
    d.add("room", TransferFunction([1.0], [C, G]))
    d.add(
        "thermostat",
        StateChart(
            inputs=["T"],
            outputs={"power": 0.0},
            parameters={"low": LOW, "high": HIGH, "P": P},
            states=[State("heating", entry="power = P"), State("waiting", entry="power = 0")],
            transitions=[
                Transition("heating", "waiting", "T > high"),
                Transition("waiting", "heating", "T < low"),
            ],
        ),
    )
    d.connect("thermostat.power", "room.u")
    d.connect("room.y", "thermostat.T")
    return d


def closed_form(until: float) -> np.ndarray:
    """T = P/G + (T0 - P/G) exp(-t G/C) while it heats, T0 exp(-t G/C) while it waits."""
    tau, final = C / G, P / G
    heating, waiting = np.log((final - LOW) / (final - HIGH)), np.log(HIGH / LOW)
    times = [tau * np.log(final / (final - HIGH))]
    while times[-1] <= until:
        times.append(times[-1] + tau * (waiting if len(times) % 2 else heating))
    return np.array(times[:-1])


def main(until: float = 300.0) -> Switching:
    """Run it, and print both lists."""
    r = simulate(room(), until=until, log_every=1.0)
    found = [event.time for event in r.events if event.name == "thermostat.transition"]
    switching = Switching(np.array(found), closed_form(until))
    for time, known in zip(*switching, strict=True):
        print(f"switched at {time:.6f} s, known answer {known:.6f} s")
    return switching


if __name__ == "__main__":
    main()
