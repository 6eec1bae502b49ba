"""Step size control of units whose outputs follow inputs at once, against closed forms.

Without repetitions, errors at communication points were those of the step before, which no shorter step made
less: the step size collapsed, whatever the tolerance.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from blocks.errors import SimulationError
from cosim import FMU, Coupling, Diagram, simulate
from cosim.fmi.coupling.curves import Curve
from cosim.fmi.coupling.direct_feedthrough import DirectFeedthrough
from cosim.fmi.coupling.unit_run import UnitRun
from tests.helpers.fmus import build_fmu, needs_compiler
from tests.helpers.units import MESSAGE, LinearUnit

ONE = np.eye(1)
MASSES = np.array([[0, 1, 0, 0], [-180, -1.5, 80, 1], [0, 0, 0, 1], [40, 0.5, -65, -0.6]])
WAYS = [
    Coupling(extrapolation=1), Coupling(extrapolation=2),
    Coupling(order="gauss-seidel", extrapolation=1), Coupling(order="gauss-seidel", extrapolation=2),
    Coupling(extrapolation=2, iterate=True),
]  # fmt: skip


def controlled(coupling, rtol):
    """The same coupling with step size control."""
    fields = {"order": coupling.order, "extrapolation": coupling.extrapolation, "iterate": coupling.iterate}
    return Coupling(**fields, rtol=rtol)


@pytest.fixture(scope="module")
def masses(tmp_path_factory):
    """Two masses, each a unit: displacements go one way, the force of the spring between them the other."""
    built = {}

    def make(version, interpolates):
        d = Diagram("masses")
        for name, unit in (("one", "mass"), ("two", "coupled")):
            key = unit, version, interpolates
            if key not in built:
                folder = tmp_path_factory.mktemp("fmus")
                built[key] = build_fmu(unit, folder, version=version, interpolates=interpolates)
            d.add(name, FMU(built[key], kind="cs", sample=0.01))
        for wire in ("two.f one.f", "one.x two.x1", "one.v two.v1"):
            d.connect(*wire.split())
        return d

    return make


def at_end(r, names):
    return np.array([r[name].ravel()[-1] for name in names])


@needs_compiler
@pytest.mark.parametrize("version", ["2.0", "3.0"])
@pytest.mark.parametrize("interpolates", [True, False])
@pytest.mark.parametrize("coupling", WAYS, ids=str)
def test_two_masses_split_between_displacement_and_force(masses, coupling, interpolates, version):
    """Both engines, bit for bit; units that take constant inputs alone need no more steps than the others."""
    exact, found = expm(MASSES * 0.1) @ [0.1, 0.0, -0.05, 1.0], []
    for engine in ("reference", "native"):
        r = simulate(
            masses(version, interpolates),
            0.1,
            coupling=controlled(coupling, 1e-3),
            engine=engine,
            log_at=[0.1],
        )
        y = at_end(r, ("one.x", "one.v", "two.x", "two.v"))
        assert np.max(np.abs(y - exact) / [0.1, 1.0, 0.1, 1.0]) < 1e-3
        found.append([*y, r.coupling.macro_steps, r.coupling.rejected, r.coupling["two.x1"].residual.sum()])
    assert found[0] == found[1] and found[0][4] < 60


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("rtol", [1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("coupling", [WAYS[1], WAYS[3]], ids=str)
def test_the_error_keeps_within_the_tolerance(masses, coupling, rtol):
    exact = expm(MASSES * 0.5) @ [0.1, 0.0, -0.05, 1.0]
    r = simulate(masses("2.0", False), 0.5, coupling=controlled(coupling, rtol), log_at=[0.5])
    y = at_end(r, ("one.x", "one.v", "two.x", "two.v"))
    assert np.max(np.abs(y - exact) / [0.1, 1.0, 0.1, 1.0]) < rtol


def loop(d1, d2, slopes=2):
    """x1' = -x1 + u1, y1 = x1 + d1 u1; x2' = -2 x2 + u2, y2 = -x2 - d2 u2; u1 = y2, u2 = y1."""
    d = Diagram("loop")
    d.add("a", LinearUnit(-ONE, ONE, ONE, np.array([1.0]), 0.05, D=d1 * ONE, slopes=slopes))
    d.add("b", LinearUnit(-2 * ONE, ONE, -ONE, np.array([0.5]), 0.05, D=-d2 * ONE, slopes=slopes))
    d.connect("a.y", "b.u")
    d.connect("b.y", "a.u")
    return d


def loop_at(d1, d2, t):
    """Outputs of the whole system; between these and its states stands the loop."""
    y = np.linalg.solve([[1.0, -d1], [d2, 1.0]], np.diag([1.0, -1.0]))
    return y @ expm((np.diag([-1.0, -2.0]) + y[::-1]) * t) @ [1.0, 0.5]


@pytest.mark.parametrize("slopes", [0, 2])
@pytest.mark.parametrize(("d1", "d2"), [(0.5, 0.0), (0.0, 0.5), (0.5, 0.5)])
@pytest.mark.parametrize("coupling", WAYS[1:], ids=str)
def test_feedthrough_on_one_side_and_on_both(coupling, d1, d2, slopes):
    """On both sides: an algebraic loop, which repetitions solve where it contracts."""
    r = simulate(
        loop(d1, d2, slopes), 1.0, coupling=controlled(coupling, 1e-3), engine="reference", log_at=[1.0]
    )
    assert np.max(np.abs(at_end(r, ("a.y", "b.y")) - loop_at(d1, d2, 1.0))) < 1e-3
    assert r.coupling.macro_steps < 100


def test_a_loop_that_does_not_contract_is_named_at_once():
    with pytest.raises(SimulationError, match=r"follow inputs at once in a cycle.* at '[ab]\.u'") as e:
        simulate(loop(1.2, 1.2), 1.0, coupling=controlled(WAYS[0], 1e-3), engine="reference")
    assert 'iterate="newton"' in e.value.hint and e.value.path in ("a.u", "b.u")
    newton = Coupling(extrapolation=2, iterate="newton", rtol=1e-3)
    r = simulate(loop(1.2, 1.2), 1.0, coupling=newton, engine="reference", log_at=[1.0])
    assert at_end(r, ("a.y", "b.y")) == pytest.approx(loop_at(1.2, 1.2, 1.0), abs=1e-3)


def chain(names):
    """x' = -y of the last; each z' = -z + u, y = z + u / 2, one after the other; in the order of names."""
    d = Diagram("chain")
    units = {n: LinearUnit(-ONE, ONE, ONE, np.array([0.2]), 0.05, D=0.5 * ONE) for n in "abc"}
    units["x"] = LinearUnit(0 * ONE, -ONE, ONE, np.array([1.0]), 0.05)
    for name in names:
        d.add(name, units[name])
    for wire in ("x.y a.u", "a.y b.u", "b.y c.u", "c.y x.u"):
        d.connect(*wire.split())
    return d


def slopes_of_chain(t, s):
    x, *z = s
    u, rates = x, []
    for each in z:
        rates.append(-each + u)
        u = each + u / 2
    return [-u, *rates]


@pytest.mark.parametrize("names", ["xabc", "cbax"])
@pytest.mark.parametrize("coupling", [WAYS[1], WAYS[3]], ids=str)
def test_a_chain_makes_each_of_its_units_step_again_once(coupling, names, monkeypatch):
    """In the order of the signals, whatever the order of the blocks. SciPy solves the whole."""
    again, count, steps = DirectFeedthrough._again, [], []
    step = DirectFeedthrough.step
    monkeypatch.setattr(
        DirectFeedthrough, "_again", lambda self, k, *a: count.append(k) or again(self, k, *a)
    )
    monkeypatch.setattr(DirectFeedthrough, "step", lambda self, *a: steps.append(1) or step(self, *a))
    r = simulate(chain(names), 1.0, coupling=controlled(coupling, 1e-4), engine="reference", log_at=[1.0])
    exact = solve_ivp(slopes_of_chain, (0, 1), [1.0, 0.2, 0.2, 0.2], rtol=1e-10, atol=1e-12).y[0, -1]
    assert r["x.y"][-1, 0] == pytest.approx(exact, abs=1e-4)
    assert len(count) <= 3 * len(steps) and (coupling.order == "gauss-seidel" or len(count) == 3 * len(steps))


@pytest.mark.slow
@pytest.mark.parametrize("ends", [0.31, 0.52])
def test_a_unit_that_ends_the_run_in_a_loop(ends):
    """What it says at its time is the end of the run, for all."""
    d = Diagram("ending")
    d.add("x", LinearUnit(0 * ONE, -ONE, ONE, np.array([1.0]), 0.05))
    d.add("a", LinearUnit(-ONE, ONE, ONE, np.array([0.2]), 0.05, D=0.5 * ONE, ends=ends))
    d.connect("x.y", "a.u")
    d.connect("a.y", "x.u")
    r = simulate(d, 1.0, coupling=controlled(WAYS[1], 1e-2), engine="reference")
    assert r.time[-1] == pytest.approx(ends, abs=1e-12) and MESSAGE in r.message


@pytest.mark.parametrize(("order", "moments"), [(1, 3), (2, 2)])
def test_two_constants_stand_for_a_curve(order, moments):
    """They keep the mean, of a line the first moment too, and the value at the end."""
    block = LinearUnit(np.diag([1.0, 1.0], -1), np.eye(3, 1), np.eye(3), np.zeros(3), slopes=0)
    c, h = np.array([2.0, -3.0, 8.0 * (order - 1)]), 0.5
    run = UnitRun(block.driven())
    run.begin(0.0, np.zeros(1), np.zeros(0))
    run.start()
    y = run.step(h, Curve(0.0, *(c[i : i + 1] for i in range(3))), held_at_end=True, in_pieces=True)
    exact = [
        c[0] * h + c[1] * h**2 / 2 + c[2] * h**3 / 6,
        c[0] * h**2 / 2 + c[1] * h**3 / 6 + c[2] * h**4 / 24,
    ]
    assert y[: moments - 1] == pytest.approx(exact[: moments - 1], rel=1e-13)
    assert [n for entry in block.log for n in entry[:2]] == pytest.approx([0.0, h * 2 / 3, h * 2 / 3, h / 3])
    assert block.log[1][2] == pytest.approx(c[0] + c[1] * h + c[2] * h**2 / 2, rel=1e-14)
