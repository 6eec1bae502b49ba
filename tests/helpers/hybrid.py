"""Small diagrams with all that happens in a run: events, resets, rates, draws, loops; runs compared."""

from dataclasses import dataclass

import numpy as np

from benchmarks.cartpole_model import closed_loop
from blocks import AlgebraicConstraint, Constant, Function, Gain, Hold, Integrator, Sine, Sum, TimeTable
from blocks.contract.block import Block
from cosim import Diagram, simulate
from cosim.engines.native import native
from cosim.settings import RunSettings

FIXED = {"solver": "rk4", "step": 0.013}


@dataclass(frozen=True)
class Ball(Block):
    """Bouncing ball: two resets at one crossing."""

    restitution: float = 0.8

    def define(self, b):
        (e,) = b.parameters(e=self.restitution)
        h, v = b.continuous("h", 1.0), b.continuous("v", 0.0)
        b.derivative(h, v)
        b.derivative(v, -9.81 + 0.0 * v)
        b.when(h[0], [(v, -e * v)], direction="falling")
        b.output("h", h)
        b.output("v", v)


@dataclass(frozen=True)
class Relay(Block):
    """Switches at +-width; its state is a mode."""

    width: float = 0.3

    def define(self, b):
        u = b.input("u", size=1)
        on = b.mode("on", 1.0)
        b.when(u[0] - self.width, [(on, 0.0 * on)], direction="rising", name="off")
        b.when(u[0] + self.width, [(on, 0.0 * on + 1.0)], direction="falling", name="on")
        b.output("y", 2 * on - 1)


@dataclass(frozen=True)
class Peak(Block):
    """Largest value after an accepted step."""

    def define(self, b):
        u = b.input("u", size=1)
        peak = b.accepted("peak", np.maximum(u, 0.0), 0.0)
        b.output("y", peak)


@dataclass(frozen=True)
class Noise(Block):
    """Draws of both kinds."""

    def define(self, b):
        b.output("normal", b.random(0.1, "normal"))
        b.output("uniform", b.random(0.07, "uniform"))


@dataclass(frozen=True)
class Guard(Block):
    """Ends the run where u rises through a level."""

    level: float = 0.9

    def define(self, b):
        u = b.input("u", size=1)
        b.stop(u[0] - self.level, "high enough", direction="rising")
        b.output("y", u)


@dataclass(frozen=True)
class Root(Block):
    """sqrt(u), which is not finite below zero."""

    def define(self, b):
        u = b.input("u", size=1)
        b.output("y", np.sqrt(u))


@dataclass(frozen=True)
class CubeRoot(Block):
    """z with z^3 + z = u: an implicit unknown."""

    def define(self, b):
        u = b.input("u", size=1)
        z = b.algebraic("z", 0.1)
        b.residual(z**3 + z - u)
        b.output("z", z)


@dataclass(frozen=True)
class Hopeless(Block):
    """z with z^2 + 1 = u, which has no solution for u < 1."""

    def define(self, b):
        u = b.input("u", size=1)
        z = b.algebraic("z", 0.7)
        b.residual(z * z + 1 - u)
        b.output("z", z)


@dataclass(frozen=True)
class Pendulum(Block):
    """Pendulum in Cartesian coordinates: length and its rate are invariants."""

    def define(self, b):
        q, v = b.continuous("q", [1.0, 0.0]), b.continuous("v", [0.0, 0.0])
        lam = (v[0] * v[0] + v[1] * v[1] - 9.81 * q[1]) / (q[0] * q[0] + q[1] * q[1])
        b.derivative(q, v)
        b.derivative(v, np.stack([-lam * q[0], -9.81 - lam * q[1]]))
        b.invariant(q[0] * q[0] + q[1] * q[1] - 1.0)
        b.invariant(q[0] * v[0] + q[1] * v[1])
        b.output("q", q)


def loops() -> Diagram:
    """Algebraic loops between ticks, at ticks and through both, and an implicit unknown."""
    d = Diagram("loops")
    sine = d.add("sine", Sine(1.0, 3.0))
    e, g = d.add("e", Sum("+-")), d.add("g", Gain(0.5))
    d.connect(sine["y"], e["in1"])
    d.connect(e["y"], g["u"])
    d.connect(g["y"], e["in2"])
    f = d.add("f", Function(lambda u, v: 0.5 * np.cos(v) - 0.2 * u, sample=0.1))
    h = d.add("h", Function(lambda u: u - 0.1 * u * u, sample=0.1))
    d.connect(sine["y"], f["u"])
    d.connect(h["y"], f["v"])
    d.connect(f["y"], h["u"])
    root, x = d.add("root", CubeRoot()), d.add("x", Integrator(0.3))
    total = d.add("total", Sum("+++"))
    for port, source in (("in1", g["y"]), ("in2", h["y"]), ("in3", x["y"])):
        d.connect(source, total[port])
    d.connect(total["y"], root["u"])
    d.connect(root["z"], x["u"])
    return d


def pendulum() -> Diagram:
    d = Diagram("pendulum")
    d.add("p", Pendulum())
    return d


def driven(d: Diagram, name: str, block: Block, sizes: dict[str, int]) -> Diagram:
    """Add a block, each input driven by a sine of its own."""
    node = d.add(name, block)
    for j, (port, size) in enumerate(sizes.items()):
        amplitude, frequency = 0.7 + 0.1 * np.arange(size), 1.0 + 0.1 * j + 0.2 * np.arange(size)
        d.connect(
            d.add(f"{name}_{port.replace('.', '_')}", Sine(amplitude, frequency, 0.3 + j, 0.05))["y"],
            node[port],
        )
    return d


def every_block() -> Diagram:
    """All blocks of the library in one diagram, except those left to the reference engine."""
    from tests.blocks.examples_table import EXAMPLES  # a second, which child processes do not wait for

    d = Diagram("every_block")
    for cls, examples in EXAMPLES.items():
        for k, (block, sizes) in enumerate(examples):
            alone = driven(Diagram("alone"), "block", block, sizes)
            if cls is AlgebraicConstraint:  # its input does not depend on its output here
                continue
            if not native.obstacles(alone.system(), RunSettings()):
                driven(d, f"{cls.__name__}{k}", block, sizes)
    return d


def bouncing() -> Diagram:
    d = Diagram("bouncing")
    d.add("ball", Ball())
    return d


def relay() -> Diagram:
    d = Diagram("relay")
    r, i = d.add("relay", Relay()), d.add("integral", Integrator())
    d.connect(r["y"], i["u"])
    d.connect(i["y"], r["u"])
    d.connect(i["y"], d.add("peak", Peak())["u"])
    return d


def rates() -> Diagram:
    """Three rates with offsets, holds, noise and listed instants."""
    d = Diagram("rates")
    n, s = d.add("noise", Noise()), d.add("sum", Sum("++"))
    d.connect(n["normal"], s["in1"])
    d.connect(n["uniform"], s["in2"])
    x = d.add("x", Integrator())
    d.connect(s["y"], x["u"])
    h = d.add("hold", Hold(1, sample="1/30", offset="1/70"))
    d.connect(x["y"], h["u"])
    table = d.add("table", TimeTable([0.1, 0.25, 0.5], [0.0, 1.0, -1.0], "previous"))
    y = d.add("y", Integrator())
    total = d.add("total", Sum("++"))
    d.connect(h["y"], total["in1"])
    d.connect(table["y"], total["in2"])
    d.connect(total["y"], y["u"])
    return d


def no_states() -> Diagram:
    """Nothing to integrate; a crossing in time."""
    d = Diagram("no_states")
    s = d.add("sine", Sine(1.0, 3.0))
    d.connect(s["y"], d.add("relay", Relay())["u"])
    d.connect(s["y"], d.add("sampled", Hold(0, sample=0.07))["u"])
    return d


DIAGRAMS = {
    "cartpole": closed_loop, "every block": every_block, "bouncing": bouncing, "relay": relay, "rates": rates,
    "no states": no_states, "loops": loops, "pendulum": pendulum,
}  # fmt: skip


def both(d, until=1.0, **options):
    """Results of both engines."""
    options["solve_loops"] = d.name == "loops"
    system = d.system(options["solve_loops"])
    engine = "auto" if system.opaque or any(s.external for s in system.schedule) else "native"
    found = simulate(d, until, engine=engine, **options)
    assert found.settings["engine"].value == "native"
    return simulate(d, until, engine="reference", **options), found


def same(a, b, tolerance=0.0):
    """Equal times, signals, ticks and events."""
    assert a.time.tobytes() == b.time.tobytes() or tolerance
    assert list(a.signals) == list(b.signals)
    for name in a.signals:
        np.testing.assert_allclose(b[name], a[name], rtol=tolerance, atol=tolerance, err_msg=name)
        if not tolerance:
            assert a[name].tobytes() == b[name].tobytes(), name
    assert list(a.ticks_of) == list(b.ticks_of)
    for name, ticks in a.ticks_of.items():
        assert ticks.time.tobytes() == b.ticks_of[name].time.tobytes()
        np.testing.assert_allclose(b.ticks_of[name].values, ticks.values, rtol=tolerance, atol=tolerance)
    assert [(e.name, e.after if not tolerance else None) for e in a.events] == [
        (e.name, e.after if not tolerance else None) for e in b.events
    ]
    np.testing.assert_allclose([e.time for e in b.events], [e.time for e in a.events], rtol=tolerance)


# --- parity ---------------------------------------------------------------------------------------------


def falling_root() -> Diagram:
    d = Diagram("root")
    x, r = d.add("x", Integrator(1.0)), d.add("root", Root())
    d.connect(d.add("minus", Constant(-1.0))["y"], x["u"])
    d.connect(x["y"], r["u"])
    z = d.add("z", Integrator())
    d.connect(r["y"], z["u"])
    return d


def fresh_diagram(gain: float = 1.0) -> Diagram:
    """A small diagram nobody has compiled yet in this process."""
    d = Diagram("fresh")
    x, g = d.add("x", Integrator(1.0)), d.add("g", Gain(-gain))
    d.connect(x["y"], g["u"])
    d.connect(g["y"], x["u"])
    return d
