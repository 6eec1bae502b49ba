"""Longitudinal control of an F-14: the stick asks for an angle of attack, and the tail gives it.

Short-period motion with the vertical speed w [ft/s] and the pitch rate q [rad/s] for a tail angle delta:

    w' = Zw w + Uo q + Zd delta,   q' = Mw w + Mq q + Md delta

Stick, sensors and actuator are lags; the controller is a PI of the stick less Ka alpha + Kq q, alpha = w / Uo
behind a lag, q behind a lead. The known answer is the same by transfer functions in python-control: the poles
of the closed loop, and how the angle of attack follows a stick that goes to and fro. In the end the integral
leaves no error: Ka alpha + Kq (W1 / W2) q is what the filtered stick asks.

Numbers of the aircraft and of its gains: the model "f14" that comes with Simulink (The MathWorks, 1990).

python examples/f14.py
"""

from typing import NamedTuple

import control
import numpy as np

from blocks import Gain, LeadLag, StateSpace, TimeTable, TransferFunction
from cosim import Diagram, linearize, simulate

G, UO = 32.2, 689.4  # ft/s2, ft/s
ZW, ZD, MW, MQ, MD = -0.6385, -63.9979, -0.00592, -0.6571, -6.8847  # per s, ft/s2 per rad, ...
KA, KQ, KF, KI = 0.6770, 0.8156, -1.7460, -3.8640
TA, TAL, TS, W1, W2 = 0.05, 0.3959, 0.1, 2.9710, 4.1440  # s, rad/s
SEAT = 22.8  # ft from the pilot to the centre of mass
STICK = ([0.0, 1.0, 6.0, 11.0], [0.0, 0.5, -0.5, 0.0])  # s, stick from then on


class Flight(NamedTuple):
    """Poles of the closed loop, angles of attack [rad] at every tenth of a second, and of python-control."""

    poles: np.ndarray
    known_poles: np.ndarray
    alpha: np.ndarray
    known_alpha: np.ndarray
    load: float  # largest on the pilot [g]


def flight() -> Diagram:
    """The aircraft, its controller and the stick."""
    d = Diagram("f14")
    d.add("stick", TimeTable(*STICK, interpolation="previous"))
    d.add("filter", TransferFunction([1.0], [TS, 1.0]))
    d.add("pi", TransferFunction([KF, KI], [1.0, 0.0]))
    d.add("tail", TransferFunction([1.0], [TA, 1.0]))
    short = [[ZW, UO], [MW, MQ]], [[ZD], [MD]], [[1.0 / UO, 0.0], [0.0, 1.0], [ZW, 0.0], [MW, MQ]]
    d.add("aircraft", StateSpace(*short, [[0.0], [0.0], [ZD], [MD]]))  # alpha, q, w' less Uo q, q'
    d.add("alpha", TransferFunction([1.0], [TAL, 1.0]))
    d.add("rate", LeadLag(W1 / W2, lead=1.0 / W1, lag=1.0 / W2))
    d.connect("stick.y -> filter.u", "pi.y -> tail.u", "tail.y -> aircraft.u")
    seen = d["aircraft"]["y"]
    seen[0] >> d["alpha"]
    seen[1] >> d["rate"]
    (d["filter"] - KA * d["alpha"] - KQ * d["rate"]) >> d["pi"]
    (SEAT * seen[3] - seen[2]) * (1.0 / G) >> d.add("load", Gain(1.0))
    return d


def by_hand(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Poles of the loop and alpha at times t [s], by transfer functions."""
    s = control.tf("s")
    det = (s - ZW) * (s - MQ) - UO * MW  # of s - A, for w and q to delta
    w, q = (ZD * (s - MQ) + UO * MD) / det, (MD * (s - ZW) + MW * ZD) / det
    seen = KA * w / UO / (TAL * s + 1) + KQ * q * (s + W1) / (s + W2)
    drive = (KF * s + KI) / s / (TA * s + 1)
    loop = control.minreal(drive * seen, 1e-6, verbose=False)
    whole = control.minreal(drive * w / UO / (1 + loop) / (TS * s + 1), 1e-6, verbose=False)
    times, levels = STICK
    alpha = np.zeros(len(t))
    for begin, jump in zip(times, np.diff([0.0, *levels]), strict=True):
        if jump:
            late = np.maximum(t - begin, 0.0)
            alpha += jump * np.interp(late, *control.step_response(whole, np.linspace(0.0, t[-1], len(t))))
    return np.append(control.feedback(loop, 1).poles(), -1.0 / TS), alpha


def main(until: float = 15.0) -> Flight:
    """Fly it, and print poles and angles beside those by transfer functions."""
    d = flight()
    r = simulate(d, until=until, log_every=0.1, rtol=1e-9)
    poles, alpha = by_hand(r.time)
    found = np.linalg.eigvals(linearize(d, [], ["load.y"]).A)
    answer = Flight(
        np.sort_complex(found), np.sort_complex(poles), r["aircraft.y"][:, 0], alpha, float(r["load.y"].max())
    )
    for pole, known in zip(answer.poles, answer.known_poles, strict=True):
        print(f"pole {pole:.6f} rad/s, known answer {known:.6f}")
    print(f"alpha at 6 s {answer.alpha[60]:.8f} rad, known answer {answer.known_alpha[60]:.8f}")
    print(f"up to {answer.load:.2f} g on the pilot")
    return answer


if __name__ == "__main__":
    main()
