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
from plant.energy import BodyStates, EnergyLedger, ledger, states_of

MODEL = Path(__file__).with_name("energy_audit.xml")
HUB = 0  # the first body
STIFFNESS, FREE = 40.0, 0.3  # N m/rad and rad, of the spring at the hinge
HINGE = np.array([0.5, 0.0, 0.0])  # m, on the hub
KNOWN = 16.99315  # J by hand at the start: hub 0.17, panel 4.5983 + 0.4235, wheel 10.00135, spring 1.8


class Audit(NamedTuple):
    """What comes out: the run, the account kept inside, and KE + PE (n,) [J] by procedures 1 to 4."""

    result: Result
    account: EnergyLedger
    energies: list[np.ndarray]


def procedures(r: Result, plant: Plant) -> list[BodyStates]:
    """The bodies at every instant, from output in each of the four notations."""
    inertial = states_of(r, plant)  # hub, panel and wheel in inertial coordinates
    m, I, w, x, v, h, Iw = (getattr(inertial, name) for name in ("m", "I", "w", "r", "v", "h", "Iw"))
    A = r["plant.audit_bodies"].reshape(len(r.time), 2, 18)[:, HUB, 9:].reshape(-1, 3, 3)  # axes of the hub
    R, V = inertial.centre, inertial.centre_velocity
    rel, rate = x - R[:, None], v - V[:, None]
    eta = x[:, HUB] + A @ HINGE  # joint 1 is the hinge
    eta_rate = v[:, HUB] + np.cross(w[:, HUB], A @ HINGE)
    return [
        inertial,
        BodyStates.from_system_cm(m, I, w, rel, rate, R, V, h, Iw),
        BodyStates.from_first_body(
            m, A[:, None].mT @ I @ A[:, None], w @ A, rel @ A, rate @ A, R, V, A, h @ A, Iw
        ),
        BodyStates.from_first_joint(m, I, w, x - eta[:, None], v - eta_rate[:, None], eta, eta_rate, h, Iw),
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
