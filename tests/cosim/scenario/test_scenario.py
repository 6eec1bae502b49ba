"""Scenario files describe diagrams, runs, pictures and checks."""

from pathlib import Path

import numpy as np
import pytest

from blocks import AlgebraicLoopError, DiscretePID, ScenarioError, Step, Sum, TransferFunction
from cosim import Diagram, Result, simulate
from cosim.engines.methods.solvers import SOLVERS
from cosim.scenario import load_scenario
from cosim.scenario.blocks import block_types
from cosim.scenario.report import findings, settling_time, write
from cosim.scenario.source import read_source

PENDULUM = Path(__file__).parents[3] / "examples/inverted_pendulum/inverted_pendulum.xml"

LOOP = """\
[scenario]
name = "loop"
description = "a lag under PI control"

[blocks.push]
type = "Step"
time = 0.5

[blocks.error]
type = "Sum"
signs = "+-"

[blocks.control]
type = "DiscretePID"
kp = 3.0
ki = 2
sample = "1/60"

[blocks.lag]
type = "TransferFunction"
num = [1.0]
den = [0.5, 1.0]

[wiring]
connect = [
    "push.y -> error.in1",
    "lag.y -> error.in2",
    "error.y->control.e",
    "control.u -> lag.u",
]

[parameters]
"control.kp" = 4.0
lag.den = [0.25, 1.0]

[initial]
lag.x = 0.1

[run]
until = 4.0
solver = "rk4"
step = 0.002
log_every = "1/4"
"""


def loop_in_python() -> Diagram:
    d = Diagram("loop")
    push, error = d.add("push", Step(time=0.5)), d.add("error", Sum("+-"))
    control = d.add("control", DiscretePID(kp=4.0, ki=2.0, sample="1/60"))
    lag = d.add("lag", TransferFunction([1.0], [0.25, 1.0]))
    d.connect(push["y"], error["in1"])
    d.connect(lag["y"], error["in2"])
    d.connect(error["y"], control["e"])
    d.connect(control["u"], lag["u"])
    return d


def written(folder: Path, text: str, name: str = "loop.toml") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def test_a_scenario_gives_the_same_numbers_as_the_diagram_in_python(tmp_path):
    result = load_scenario(written(tmp_path, LOOP)).run()
    expected = simulate(
        loop_in_python(), until=4.0, solver="rk4", step=0.002, initial={"lag.x": 0.1}, log_every="1/4"
    )
    assert result.name == "loop"
    assert np.array_equal(result.time, expected.time)
    for name in ("lag.y", "control.u"):
        assert np.array_equal(result[name], expected[name])
    assert result.ticks("control.u").time[1] == 1 / 60


def test_wires_may_be_a_series_or_fan_out_as_in_python(tmp_path):
    text = LOOP.replace('"error.y->control.e",', '"error -> control -> lag.u",')
    text = text.replace('    "control.u -> lag.u",\n', "")
    assert text != LOOP
    expected, found = (load_scenario(written(tmp_path, t)).diagram() for t in (LOOP, text))
    assert set(found.netlist().connections) == set(expected.netlist().connections)
    fan = LOOP.replace('"push.y -> error.in1",', '"push -> error.in1, control.e",')
    assert {("push", "y")} <= {
        w[0] for w in load_scenario(written(tmp_path, fan)).diagram().netlist().connections
    }
    for entry, words in (
        ("push -> error", r"connect.*'error' has the inputs in1, in2.*which"),
        ("push -> nobody", "no block 'nobody'"),
        ("push. -> error.in1", "block.output -> block.input"),
        ("push ->", "block.output -> block.input"),
    ):
        with pytest.raises(ScenarioError, match=f"(?s)loop.toml:.*{words}"):
            load_scenario(written(tmp_path, LOOP.replace("push.y -> error.in1", entry))).diagram()


def test_settings_tell_that_they_come_from_the_file(tmp_path):
    settings = load_scenario(written(tmp_path, LOOP)).run().settings
    assert settings["step"] == (0.002, "loop.toml [run]")
    assert settings["scenario"].value == str(tmp_path / "loop.toml")


def test_the_file_names_a_scenario_without_a_name(tmp_path):
    text = LOOP.replace('name = "loop"', "")
    assert load_scenario(written(tmp_path, text, "night run.toml")).name == "night run"


def test_every_block_that_needs_no_python_can_be_named():
    assert {"StateFeedback", "PID", "TimeTable", "Mux", "Hold"} <= block_types().keys()
    assert "Block" not in block_types() and "Equations" not in block_types()


def test_names_may_be_quoted_or_written_as_tables(tmp_path):
    quoted = LOOP.replace("lag.den =", '"lag.den" =').replace("lag.x = 0.1", '"lag.x" = 0.1')
    nested = LOOP.replace("lag.den = [0.25, 1.0]", "\n[parameters.lag]\nden = [0.25, 1.0]")
    tables = [load_scenario(written(tmp_path, text)).tables for text in (LOOP, quoted, nested)]
    assert all(t.parameters == {"control.kp": 4.0, "lag.den": [0.25, 1.0]} for t in tables)
    assert all(t.initial == {"lag.x": 0.1} for t in tables)


def test_only_the_listed_signals_are_logged_and_those_that_are_shown(tmp_path):
    text = LOOP + (
        '[outputs]\nsignals = ["lag.y"]\nplots = [{ file = "a.png", signals = ["push.y[0]"] }]\n'
        '[checks.final]\n"error.y" = { value = 0.0 }\n'
    )
    assert list(load_scenario(written(tmp_path, text)).run()) == ["lag.y", "push.y", "error.y"]


def test_a_star_in_a_listed_signal_stands_for_any_text(tmp_path):
    text = LOOP + '[outputs]\nsignals = ["lag.*"]\nplots = [{ file = "a.png", signals = ["push.y"] }]\n'
    scenario = load_scenario(written(tmp_path, text))
    assert set(scenario.run(engine="reference")) == {"lag.y", "lag.x", "lag.num", "lag.den", "push.y"}
    for old, new, place in (
        ("lag.*", "leg.*", r"\[outputs\] signals\[0\]"),
        ('["push.y"]', '["push.*"]', "plots"),
    ):
        with pytest.raises(ScenarioError, match=rf"{place}.*no signal"):
            load_scenario(written(tmp_path, text.replace(old, new))).system()


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_can_be_named_with_its_settings(solver, tmp_path):
    own = "rtol = 1e-5\natol = 1e-7\nmax_step = 0.5" if SOLVERS[solver].adaptive else "step = 0.01"
    wrong = "step = 0.01" if SOLVERS[solver].adaptive else "rtol = 1e-5"
    old = 'until = 4.0\nsolver = "rk4"\nstep = 0.002'
    text = LOOP.replace(old, f'until = 0.1\nsolver = "{solver}"\n{own}')
    scenario = load_scenario(written(tmp_path, text))
    settings = scenario.run(engine="reference").settings
    assert settings["solver"] == (solver, "loop.toml [run]")
    with pytest.raises(ScenarioError, match=f'does not apply to solver "{solver}"'):
        load_scenario(written(tmp_path, LOOP.replace(old, f'until = 1.0\nsolver = "{solver}"\n{wrong}')))


RING = """\
[diagram]
factory = "ring:make"

[run]
until = 1.0
"""

NOISY = """
from dataclasses import dataclass
from blocks import Block, Sum
from cosim import Diagram

@dataclass(frozen=True)
class Dice(Block):
    def define(self, b):
        b.output("y", b.random(0.1))

def make():
    d = Diagram("ring")
    d.add("dice", Dice())
    d.connect("dice.y", d.add("sum", Sum("+-"))["in1"])
    d.connect("sum.y", "sum.in2")
    return d
"""


def test_a_scenario_may_solve_loops_and_seed_its_draws(tmp_path):
    (tmp_path / "ring.py").write_text(NOISY)
    with pytest.raises(AlgebraicLoopError):
        load_scenario(written(tmp_path, RING), trust=True).system()

    def run(seed):
        text = f"{RING}solve_loops = true\nseed = {seed}\n"
        r = load_scenario(written(tmp_path, text), trust=True).run(engine="reference")
        np.testing.assert_allclose(r["sum.y"], r["dice.y"] / 2, atol=1e-12)
        return r["dice.y"]

    np.testing.assert_array_equal(run(1), run(1))
    assert (run(1) != run(2)).any()
    with pytest.raises(ScenarioError, match='solve_loops: got "yes", expected true or false'):
        load_scenario(written(tmp_path, f'{RING}solve_loops = "yes"\n'), trust=True)


def test_a_run_tells_its_progress(tmp_path):
    seen: list[float] = []
    load_scenario(written(tmp_path, LOOP)).run(progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 4.0


def test_checks_pass_fail_or_only_report(tmp_path):
    text = LOOP + (
        '[checks.final]\n"lag.y" = { value = 1.0, tolerance = 0.05 }\n"control.u" = { value = 0.0 }\n'
        '"push.y" = { value = 2.0, tolerance = 0.5 }\n'
        '[checks.settling]\n"lag.y" = { value = 1.0, band = 0.2, within = 3.0 }\n'
    )
    scenario = load_scenario(written(tmp_path, text))
    result = scenario.run()
    found = findings(scenario, result)
    assert [f.what for f in found] == ["final lag.y", "final control.u", "final push.y", "settling lag.y"]
    assert [f.passed for f in found] == [True, None, False, True]
    assert found[0].value == result["lag.y"][-1, 0]
    assert found[2].text == "1, expected 2 +- 0.5"


def test_settling_time_is_the_first_instant_after_the_last_excursion():
    time = np.arange(6.0)
    assert settling_time(time, np.array([5, 0.1, 3, 0.1, 0.2, 0.1]), 0.0, 0.5) == 3.0
    assert settling_time(time, np.zeros(6), 0.0, 0.5) == 0.0
    assert np.isnan(settling_time(time, np.array([0, 0, 0, 0, 0, 1.0]), 0.0, 0.5))
    assert np.isnan(settling_time(time, np.full(6, np.nan), 0.0, 0.5))


def test_pictures_and_the_result_are_written(tmp_path):
    text = LOOP + (
        '[outputs]\nresult = "run.npz"\n'
        '[[outputs.plots]]\nfile = "pictures/lag.png"\nsignals = [["push.y", "lag.y"], "control.u"]\n'
        'title = "The lag"\ntime = [0.5, 1.0]\n'
    )
    scenario = load_scenario(written(tmp_path, text))
    result = scenario.run()
    files = write(scenario, result, tmp_path / "out", plots=True)
    assert files == [tmp_path / "out/run.npz", tmp_path / "out/pictures/lag.png"]
    assert np.array_equal(Result.load(files[0])["lag.y"], result["lag.y"])
    assert files[1].read_bytes().startswith(b"\x89PNG")
    assert write(scenario, result, tmp_path / "without") == [tmp_path / "without/run.npz"]


def test_signals_of_an_inner_list_share_axes_in_a_picture(tmp_path):
    """They are logged, and a name that is not there is told with its place."""
    text = LOOP + (
        '[outputs]\nsignals = ["control.u"]\n'
        '[[outputs.plots]]\nfile = "lag.png"\nsignals = [["push.y", "lag.y"], "control.u"]\n'
    )
    scenario = load_scenario(written(tmp_path, text))
    result = scenario.run()
    (plot,) = scenario.tables.outputs.plots
    figure = result.plot(*plot.signals)
    assert [len(axes.lines) for axes in figure.axes] == [2, 1]
    with pytest.raises(ScenarioError, match=r"\[outputs\.plots\[0\]\] signals\[0\]\[1\].*no signal .lag\.z"):
        load_scenario(written(tmp_path, text.replace('"lag.y"]', '"lag.z"]'))).system()
    with pytest.raises(ScenarioError, match=r"signals\[0\]: got \[\], expected"):
        load_scenario(written(tmp_path, text.replace('["push.y", "lag.y"]', "[]")))


@pytest.mark.slow
def test_a_scenario_without_pictures_gets_one(tmp_path):
    scenario = load_scenario(written(tmp_path, LOOP))
    files = write(scenario, scenario.run(), tmp_path / "out", plots=True)
    assert files[1] == tmp_path / "out/loop.png"


def test_a_python_factory_makes_the_diagram(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/loops.py").write_text(
        "from dataclasses import dataclass\n"
        "from blocks import Block, Equations\n"
        "from cosim import Diagram\n"
        "from gains import FACTOR\n"
        "@dataclass(frozen=True)\n"
        "class Twice(Block):\n"
        "    def define(self, b: Equations) -> None:\n"
        "        b.output('y', FACTOR * b.time)\n"
        "def make():\n"
        "    d = Diagram('from python')\n"
        "    d.add('twice', Twice())\n"
        "    return d\n"
    )
    (tmp_path / "parts/gains.py").write_text("FACTOR = 2.0\n")
    text = '[diagram]\nfactory = "parts.loops:make"\n[run]\nuntil = 1.0\nlog_every = 0.5\n'
    result = load_scenario(written(tmp_path, text), trust=True).run()
    assert result["twice.y"].ravel().tolist() == [0.0, 1.0, 2.0]


LINES = """\
top = 1   # a comment = not a key
[a]
b.c = 2
text = '''
[not.a.table]
k = 3
'''
"quoted key" = [
    [1.0],
    ["x", { y = 1 }],
]

[[list]]
k = 1
[[list]]
k = 2
[list.sub]
k = 3
"""


@pytest.mark.parametrize(
    ("keys", "where"),
    [
        (("top",), "f.toml:1: top"),
        (("a",), "f.toml:2: [a]"),
        (("a", "b", "c"), "f.toml:3: [a] b.c"),
        (("a", "text"), "f.toml:4: [a] text"),
        (("a", "quoted key", 1, 1, "y"), 'f.toml:8: [a] "quoted key"[1][1].y'),
        (("a", "absent"), "f.toml:2: [a] absent"),
        (("list", 0, "k"), "f.toml:14: [list[0]] k"),
        (("list", 1, "k"), "f.toml:16: [list[1]] k"),
        (("list", 1, "sub", "k"), "f.toml:18: [list[1].sub] k"),
        ((), "f.toml"),
    ],
)
def test_the_line_of_a_key_is_found(keys, where, tmp_path):
    source = read_source(written(tmp_path, LINES, "f.toml"))
    assert source.where(keys) == where


def test_the_line_of_an_item_is_found(tmp_path):
    source = read_source(written(tmp_path, LINES, "f.toml"))
    assert source.line(("a", "quoted key", 1), "x") == 10


def test_windows_line_ends_and_a_byte_order_mark_do_no_harm(tmp_path):
    file = tmp_path / "loop.toml"
    file.write_bytes(b"\xef\xbb\xbf" + LOOP.replace("\n", "\r\n").encode())
    assert load_scenario(file).tables.run.until == 4.0


MODEL = """\
[model]
file = "{file}"
block = "cart"

[model.ports.control_force]
hold_order = 1
sampling_period = "1/50"
offset_time = 0.005
filter = 0.02

[model.ports.pendulum]
sampling_period = 0.1

[blocks.push]
type = "Sine"

[wiring]
connect = ["push.y -> cart.control_force"]
ground = ["cart.disturbance_force"]

[run]
until = 0.1
"""


def test_a_model_is_a_block_with_the_ports_the_scenario_wants(tmp_path):
    scenario = load_scenario(written(tmp_path, MODEL.format(file=PENDULUM)), trust=True)  # it lies elsewhere
    plant = scenario.plant()
    assert plant is not None
    port = plant.inputs["control_force"]
    assert (port.hold_order, float(port.sampling_period), port.offset_time) == (1, 0.02, 0.005)
    assert port.filter == 0.02
    assert plant.inputs["disturbance_force"].origin == "file"
    assert plant.outputs["pendulum"].sampling_period == 0.1
    rates = scenario.system().port_rates
    assert rates["cart.control_force"] == "50 Hz, offset 0.005 s, first-order extrapolation (loop.toml)"
    assert rates["cart.disturbance_force"] == "grounded"


def test_a_model_lies_beside_its_scenario(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models/cart.xml").write_bytes(PENDULUM.read_bytes())
    scenario = load_scenario(written(tmp_path, MODEL.format(file="models/cart.xml")))
    assert scenario.run().complete
