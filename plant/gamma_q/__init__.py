"""Kinematic trees described as in spatial_v2, and coordinate constraints q = gamma(y) on them.

A model is a parent array, joint types, tree transforms and inertias, from Python::

    robot = planar(2)
    robot.gamma_q = gamma(lambda y: [y[0], 2 * np.sin(y[0])], independent=[0], Tstab=0.1)
    d.connect(torque["y"], d.add("robot", RobotPlant(robot))["tau"])

With q = gamma(y), q' = G y' and q'' = G y'' + g the forward dynamics are

    q'' = G (G^T H G)^-1 G^T (tau - C - H gs) + gs,      gs = g + 2/Tstab (qd - qd_o) + 1/Tstab^2 (q - q_o)

where q_o, qd_o are the integrated coordinates and q, qd those that satisfy the constraint, at which H and C
are taken. `gamma` finds G and g by automatic differentiation; a function of spatial_v2's own form, returning
(q, qd, G, gs), may be given instead, and works on signals as on NumPy numbers.

Names are those of spatial_v2: NB, parent (numbers from 1, 0 is the base), jtype, Xtree, I, gravity; `HandC`,
`EnerMo` and `FDgq` are its calculations on NumPy numbers. Spatial vectors are angular first.

Source: Featherstone, RBDA, section 3.2 and tables 5.1, 6.2; spatial_v2, FDgq and "Describing Constraints with
gamma_q".
"""

from plant.gamma_q.algorithms import Dynamics, Energy, EnerMo, FDgq, HandC, dynamics
from plant.gamma_q.coordinate_constraint import Constraint, gamma
from plant.gamma_q.robot_plant import RobotPlant
from plant.gamma_q.robots import (
    autoTree,
    double_elbow_gears,
    doubleElbow,
    floatbase,
    mcI,
    planar,
    plux,
    rotx,
    roty,
    rotz,
    scissor,
    singlebody,
    vee,
    xlt,
)
from plant.gamma_q.tree_model import JTYPES, GammaQ, TreeModel

__all__ = [
    "JTYPES",
    "Constraint",
    "Dynamics",
    "EnerMo",
    "Energy",
    "FDgq",
    "GammaQ",
    "HandC",
    "RobotPlant",
    "TreeModel",
    "autoTree",
    "doubleElbow",
    "double_elbow_gears",
    "dynamics",
    "floatbase",
    "gamma",
    "mcI",
    "planar",
    "plux",
    "rotx",
    "roty",
    "rotz",
    "scissor",
    "singlebody",
    "vee",
    "xlt",
]
