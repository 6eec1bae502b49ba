"""The algebra of constraints on a description made in Python, without any deck."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import null_space

from blocks.contract.block import Equations
from plant.assembly.assemble import assemble
from plant.constraints.closure import Closure
from plant.constraints.conditions import POSITION, Condition, NamedConstraint
from plant.constraints.local import Local, at_rest
from plant.constraints.reactions import Reactions
from plant.constraints.solution import Gains, StandIns, solve
from plant.description import Connection, Description, frame, rigid_body
from plant.forces.wrench import NOTHING
from plant.mechanics.absolute import Bodies
from plant.mechanics.applied import Loads
from plant.mechanics.inertia import tree_inertias
from plant.mechanics.joints import JointSetting
from plant.mechanics.kinematics import Kinematics
from plant.mechanics.mechanism import in_frame, mechanism_of
from plant.mechanics.tree import Tree

G = 9.81
X = 0.7  # rad, of the crank


def parallelogram() -> Description:
    """Crank and rocker (1 kg, 1 m), coupler (3 kg, 2 m); frames named after the joints they belong to."""
    along = np.array([np.cos(X), np.sin(X), 0.0])
    across = np.array([2.0, 0.0, 0.0])
    places = {"a": np.zeros(3), "b": along, "c": along + across, "d": across}
    rods = [
        rigid_body("crank", 1.0, along / 2, np.diag([0, 0, 1 / 12])),
        rigid_body("coupler", 3.0, along + across / 2, np.diag([0, 0, 1.0])),
        rigid_body("rocker", 1.0, along / 2 + across, np.diag([0, 0, 1 / 12])),
    ]
    pairs = {"a": ("ground", "crank"), "b": ("crank", "coupler"), "c": ("coupler", "rocker")}
    pairs["d"] = ("ground", "rocker")
    joints = [
        Connection(
            "REVOLUTE",
            (J, frame(places[key])),
            (I, frame(places[key])),
            key=key,
            ends=(f"{key} on {I}", f"{key} on {J}"),
        )
        for key, (J, I) in pairs.items()
    ]
    points = {f"{j.key} on {body}": (body, at) for j in joints for body, at in (j.I, j.J)}
    return Description.build(rods, joints, points, (0.0, -G, 0.0))


def condition_parts(local: Local, joint: Connection) -> list[tuple[str, ca.SX]]:
    i, j = joint.ends
    r0, A0 = in_frame(joint.J[1], joint.I[1])
    none = ca.SX(0)
    setting = JointSetting(
        local.marker(i), local.marker(j), lambda: none, lambda y, x: none, r0, A0, {}, joint.where
    )
    return joint.kind.equations(setting)


@pytest.mark.filterwarnings("ignore:joint .c.*repeat what")  # out of the plane
@pytest.mark.parametrize("weight", [0.0, 0.5])
@pytest.mark.parametrize("speed", [0.0, 2.0])
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_parallelogram_from_its_description(coordinates, speed, weight):
    """(2/3 + 3) x'' = -4 g cos x; the rocker alone: x''/3 = -g/2 cos x + F.t, F what joint c does to it.

    The coupler does not turn, so that joints b and c lift half of it each. Weights of conditions in the mass
    matrix change neither accelerations nor multipliers (`plant/mechanics/massless.py`).
    """
    mechanism = mechanism_of(parallelogram(), absolute=coordinates == "absolute")
    b = Equations({})
    q, qd = (
        [ca.SX.sym(f"{name}{k}", getattr(link.joint, n)) for k, link in enumerate(mechanism.links)]
        for name, n in (("q", "nq"), ("v", "nv"))
    )
    tree = (Bodies if mechanism.absolute else Tree)(mechanism, q, qd, tree_inertias(mechanism))
    kinematics = Kinematics(b, tree, lambda key: None)
    local = Local(kinematics, at_rest(kinematics))
    found = []
    owners = {}
    for joint in mechanism.cut:
        owners[joint.key] = NamedConstraint(joint.label, joint.where, joint.ends, joint)
        found += [Condition(owners[joint.key], *part) for part in condition_parts(local, joint)]
    assembly = assemble(b, Closure(kinematics, local, found), lambda q: [])
    assert assembly.dof == 1 and max(map(abs, assembly.moved.values()), default=0.0) < 1e-12
    weights = np.full(len(assembly.closing.kept), weight)
    closure = Closure(kinematics, local, found).restricted(replace(assembly.closing, support=weights))
    assert closure.supports == (weight > 0.0)
    loads = Loads(ca.SX([0.0, -G, 0.0]), {}, {}, {})
    solution = solve(b, tree, closure, loads, StandIns(), Gains())
    reactions = Reactions(kinematics, closure, solution, dict)
    pairs = reactions.by_multipliers(closure.of(owners["c"]))  # cut in both coordinate choices
    F_rocker, F_coupler = (ca.densify(pairs[f"c on {body}"][0]) for body in ("rocker", "coupler"))
    state = [ca.vertcat(*q), ca.vertcat(*qd)]
    numbers = ca.Function("numbers", state, [ca.vertcat(*solution.qdd), F_rocker, F_coupler])
    place = np.concatenate(assembly.q)
    J = ca.Function("J", [state[0]], [closure.J])(place).full()
    (motion,) = null_space(J, rcond=1e-9).T
    expected = -4 * G * np.cos(X) / (2 / 3 + 3)
    names = [link.name for link in mechanism.links]
    at = np.cumsum([0, *[link.joint.nv for link in mechanism.links]])
    turning = at[names.index("a")] if coordinates == "joint" else at[names.index("crank") + 1] - 1
    qdd, F, back = (np.array(e).ravel() for e in numbers(place, speed * motion / motion[turning]))
    assert qdd[turning] == pytest.approx(expected, rel=1e-11)
    tangent = np.array([-np.sin(X), np.cos(X), 0.0])
    assert F @ tangent == pytest.approx(expected / 3 + G / 2 * np.cos(X), rel=1e-10)
    lifted = 3.0 * (expected * np.cos(X) - speed**2 * np.sin(X) + G)
    assert -F[1] == pytest.approx(lifted / 2, rel=1e-10)
    assert back == pytest.approx(-F, rel=1e-10)


def test_a_condition_holds_a_value_still_unless_it_says_more():
    condition = Condition(NamedConstraint("a", "a"), "x", ca.SX.sym("x"))
    assert condition.level == POSITION and float(condition.drive) == 0.0
    assert condition.reacts and not (condition.driven or condition.moving or condition.written)
    assert condition.start is condition.start_rate is None


def test_no_force_has_three_components():
    assert NOTHING.shape == (3, 1) and not NOTHING.nnz()
