"""A deck run as it stands: an arm hangs, is linearised, swung by a motor, and lets a ball go.

python examples/deck_commands/throw.py

The same from the command line: cosim run examples/deck_commands/throw.xml
"""

from pathlib import Path

import numpy as np

from cosim.deck import DeckRun, run_deck

DECK = Path(__file__).with_name("throw.xml")
G = 9.81  # m/s^2
MASS, TO_CENTRE, INERTIA = 2.0, 0.5, 0.167  # of the arm: kg, m from the hinge, kg m^2 about its centre
BALL, TO_HAND, BALL_INERTIA = 0.5, 1.0, 0.001  # kg, m from the hinge, kg m^2


def main() -> DeckRun:
    """Run every command; compare rest, frequency and flight with closed forms."""
    run = run_deck(DECK)
    for step in run.steps:
        print(f"t = {step.time:.2f} s  {step.text}")
    r = run.result
    x, z, _, vz = r["plant.request_ball"].T

    print(f"the hand hangs at x = {x[0]:.2e} m, z = {z[0]:.9f} m, known 0 and {-TO_HAND} m")
    about_hinge = INERTIA + MASS * TO_CENTRE**2 + BALL_INERTIA + BALL * TO_HAND**2
    known = np.sqrt(G * (MASS * TO_CENTRE + BALL * TO_HAND) / about_hinge) / (2 * np.pi)
    print(run.linear[0].modes.table())
    print(f"it swings at {run.linear[0].modes.modes[0].frequency:.9f} Hz, known {known:.9f} Hz")

    released = int(np.searchsorted(r.time, 0.4))
    t = r.time[released:] - r.time[released]
    flight = z[released] + vz[released] * t - G / 2 * t**2
    print(f"the ball ends at z = {z[-1]:.9f} m, known {flight[-1]:.9f} m")
    print(f"largest difference from its parabola {np.abs(z[released:] - flight).max():.1e} m")
    return run


if __name__ == "__main__":
    main()
