"""The name of every integrator and whether it chooses its own steps; `solvers` makes them."""

from __future__ import annotations

from cosim.engines.methods.tableau import TABLEAUS

STIFF = "rodas4"
SCIPY = ("Radau", "BDF", "LSODA", "RK45", "RK23", "DOP853")

ADAPTIVE: dict[str, bool] = {t.name: t.adaptive for t in TABLEAUS.values()}
"""Does the integrator of a name choose its steps by error control?"""
ADAPTIVE |= dict.fromkeys((STIFF, *SCIPY), True)
