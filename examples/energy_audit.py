"""Energy audit of a free spacecraft: a hub with a sprung panel and a spinning wheel.

Kinetic and potential energy are computed from the output of the run alone, as if it had been given in each of
four notations, and compared with those the plant keeps account of inside.

Source: Concurrent Dynamics International, MBS Energy Testing, 2017, equations (1), (2) and procedures 1-4.

    python examples/energy_audit.py [PICTURE.png]
"""

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cosim import Diagram, Result, simulate
from plant import Plant
from plant.energy import BodyStates, EnergyLedger, ledger, output_of

MODEL = Path(__file__).with_name("energy_audit.xml")
STIFFNESS, FREE = 40.0, 0.3  # N m/rad and rad, of the spring at the hinge
KNOWN = 16.99315  # J by hand at the start: hub 0.17, panel 4.5983 + 0.4235, wheel 10.00135, spring 1.8


class Audit(NamedTuple):
    """What comes out: the run, the account kept inside, and KE + PE (n,) [J] by procedures 1 to 4."""

    result: Result
    account: EnergyLedger
    energies: list[np.ndarray]


def procedures(r: Result, plant: Plant) -> list[BodyStates]:
    """The bodies at every instant, from output in each of the four notations."""
    return [
        BodyStates.from_inertial(**output_of(r, plant, "inertial")),
        BodyStates.from_system_cm(**output_of(r, plant, "system_cm")),
        BodyStates.from_first_body(**output_of(r, plant, "first_body")),
        BodyStates.from_first_joint(**output_of(r, plant, "first_joint")),  # joint 1 is the hinge
    ]


def main(picture: str | None = None) -> Audit:
    """Let it tumble for 5 s; compare the energies with each other and with the one at the start."""
    plant = Plant.read(MODEL).audited()
    d = Diagram("energy audit")
    d.add("plant", plant)
    r = simulate(d, until=5.0, log_every=0.01, rtol=1e-11, atol=1e-12)

    account = ledger(r)
    theta = r["plant.hinge_angle"] - FREE
    energies = [s.KE + s.PE(k=[STIFFNESS], theta=theta) for s in procedures(r, plant)]
    for number, energy in enumerate(energies, start=1):
        off = np.abs(energy - account.stored).max()
        print(f"procedure {number}: {energy[-1]:.9f} J at the end, known answer {KNOWN:.9f} J; ", end="")
        print(f"off the account inside by {off:.0e} J at most")
    if picture is not None:
        account.plot(picture)
    return Audit(r, account, energies)


if __name__ == "__main__":
    main(*sys.argv[1:])
