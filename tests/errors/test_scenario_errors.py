"""Every mistake in a scenario file gives one clear message with file, line, table and key."""

from pathlib import Path

import pytest

from blocks import ModelError, PlantloopError, ScenarioError
from cosim.scenario import load_scenario

PENDULUM = Path(__file__).parents[2] / "examples/inverted_pendulum/inverted_pendulum.xml"

LOOP = """\
[scenario]
name = "loop"

[blocks.push]
type = "Step"
time = 0.5

[blocks.error]
type = "Sum"
signs = "+-"

[blocks.control]
type = "DiscretePID"
kp = 3.0
sample = "1/60"

[blocks.lag]
type = "TransferFunction"
num = [1.0]
den = [0.5, 1.0]

[wiring]
connect = [
    "push.y -> error.in1",
    "lag.y -> error.in2",
    "error.y -> control.e",
    "control.u -> lag.u",
]

[parameters]
"control.kp" = 4.0

[initial]
lag.x = 0.0

[run]
until = 2.0

[outputs]
signals = ["lag.y"]
plots = [{ file = "loop.png", signals = ["control.u"] }]

[checks.final]
"lag.y" = { value = 0.8, tolerance = 0.1 }
"""

# (what is written instead of what, the message)
MISTAKES = {
    "a number out of range": (
        ("until = 2.0", "until = -2.0"),
        "loop.toml:37: [run] until: got -2.0, expected a number of at least 0 [s].",
    ),
    "a number in quotes": (
        ("until = 2.0", 'until = "2"'),
        'loop.toml:37: [run] until: got "2", expected a number of at least 0 [s]. Leave the quotes out.',
    ),
    "a number that is none": (
        ("until = 2.0", "until = nan"),
        "loop.toml:37: [run] until: got nan, expected a number of at least 0 [s].",
    ),
    "an unknown key": (
        ("until = 2.0", "until = 2.0\nlog_evry = 0.1"),
        "loop.toml:38: [run] log_evry: no such key; did you mean 'log_every'?",
    ),
    "an unknown table": (
        ("[initial]", "[inital]"),
        "loop.toml:33: [inital]: no such table; did you mean 'initial'?",
    ),
    "a key outside its table": (
        ("[scenario]", "until = 3.0\n[scenario]"),
        "loop.toml:1: until: no such table; 'until' is a key of [run].",
    ),
    "a missing key": (
        ("until = 2.0", ""),
        "loop.toml:36: [run]: key 'until' is missing.",
    ),
    "a key where a table belongs": (
        ("[run]\nuntil = 2.0", "[blocks]\nfast = 3\n[run]\nuntil = 2.0"),
        "loop.toml:37: [blocks] fast: got 3, expected a table with the type and the fields of a block.",
    ),
    "an unknown solver": (
        ("until = 2.0", 'until = 2.0\nsolver = "rk5"'),
        'loop.toml:38: [run] solver: got "rk5", expected "euler" or "rk4" or "dopri5" or "rodas4" or '
        '"Radau" or "BDF" or "LSODA" or "RK45" or "RK23" or "DOP853". Did you mean \'rk4\'?',
    ),
    "a setting of another kind of solver": (
        ("until = 2.0", "until = 2.0\nstep = 0.001"),
        'loop.toml:38: [run] step: does not apply to solver "dopri5", which is adaptive; give rtol, atol or '
        'max_step, or solver = "rk4".',
    ),
    "two ways of logging": (
        ("until = 2.0", "until = 2.0\nlog_every = 0.1\nlog_at = [0.0, 1.0]"),
        "loop.toml:39: [run] log_at: log_every and log_at exclude each other; keep one.",
    ),
    "a log time after the end": (
        ("until = 2.0", "until = 2.0\nlog_at = [0.0, 3.0]"),
        "loop.toml:38: [run] log_at: the last time, 3 s, is after the end of the run, 2 s.",
    ),
    "log times that go back": (
        ("until = 2.0", "until = 2.0\nlog_at = [1.0, 0.5]"),
        "loop.toml:38: [run] log_at: got [1.0, 0.5], expected times of 0 s or more that do not decrease.",
    ),
    "an unknown type of block": (
        ('"TransferFunction"', '"TransferFuncton"'),
        "loop.toml:18: [blocks.lag] type: no block type 'TransferFuncton'; did you mean 'TransferFunction'?",
    ),
    "a block without a type": (
        ('type = "Step"\n', ""),
        "loop.toml:4: [blocks.push]: key 'type' is missing; write for instance type = \"StateFeedback\".",
    ),
    "an unknown field of a block": (
        ("time = 0.5", "time = 0.5\nbefor = 1.0"),
        "loop.toml:7: [blocks.push] befor: no such key; did you mean 'before'?",
    ),
    "a missing field of a block": (
        ('sample = "1/60"\n', ""),
        "loop.toml:12: [blocks.control]: DiscretePID needs sample.",
    ),
    "a sample time that is no number": (
        ('"1/60"', '"1/0"'),
        "loop.toml:15: [blocks.control] sample: DiscretePID: sample time '1/0' is not a number of seconds. "
        'Write it as 0.01, "0.01" or "1/60".',
    ),
    "a value the block refuses": (
        ('"+-"', '"+*"'),
        'loop.toml:10: [blocks.error] signs: Sum: signs is \'+*\', expected one of "+" and "-" per input, or '
        "the number of inputs.",
    ),
    "a date in a block": (
        ("time = 0.5", "time = 2024-02-29"),
        "loop.toml:6: [blocks.push] time: got 2024-02-29, expected numbers, text or a list, not a date.",
    ),
    "a block that needs Python": (
        ('type = "Step"\ntime = 0.5', 'type = "PythonFunction"'),
        "loop.toml:5: [blocks.push] type: a PythonFunction holds Python code, which a scenario cannot; build "
        'the diagram in Python and name it with [diagram] factory = "module:function".',
    ),
    "a block name with a dot": (
        ("[blocks.push]", '[blocks."pu.sh"]'),
        'loop.toml:4: [blocks."pu.sh"]: got "pu.sh", expected a block name without . / [ ] and blanks.',
    ),
    "a connection without an arrow": (
        ("push.y -> error.in1", "push.y, error.in1"),
        'loop.toml:24: [wiring] connect[0]: got "push.y, error.in1", expected text '
        '"block.output -> block.input".',
    ),
    "a connection from no block": (
        ("push.y -> error.in1", "pusch.y -> error.in1"),
        "loop.toml:24: [wiring] connect[0]: \"pusch.y -> error.in1\": no block 'pusch'; did you mean 'push'?",
    ),
    "a connection to no port": (
        ("push.y -> error.in1", "push.out -> error.in1"),
        "loop.toml:24: [wiring] connect: 'push' has no output 'out'; there is 'y'.",
    ),
    "an open input": (
        ('    "push.y -> error.in1",\n', ""),
        "loop.toml:8: [blocks.error]: input 'error.in1' is not connected; connect it, or leave it open on "
        'purpose with ground = ["error.in1"].',
    ),
    "no port to ground": (
        ("]\n\n[parameters]", ']\nground = ["lag"]\n\n[parameters]'),
        'loop.toml:29: [wiring] ground[0]: got "lag", expected text "block.port". A port is named by its '
        'block: "plant.control_force".',
    ),
    "an unknown parameter": (
        ('"control.kp" = 4.0', '"control.kpp" = 4.0'),
        "loop.toml:31: [parameters] \"control.kpp\": 'loop' has no parameter 'control.kpp'; did you mean "
        "'control.kp'?",
    ),
    "a parameter that is text": (
        ('"control.kp" = 4.0', '"control.kp" = "4.0"'),
        'loop.toml:31: [parameters] "control.kp": got "4.0", expected a number, or a list of numbers or of '
        "equally long lists of them. Leave the quotes out.",
    ),
    "an unknown state": (
        ("lag.x = 0.0", "lag.xx = 0.0"),
        "loop.toml:34: [initial] lag.xx: 'loop' has no state 'lag.xx'; did you mean 'lag.x'?",
    ),
    "too many initial values": (
        ("lag.x = 0.0", "lag.x = [0.0, 1.0]"),
        "loop.toml:34: [initial] lag.x: 'lag.x' got 2 numbers, expected 1.",
    ),
    "an unknown signal": (
        ('["lag.y"]', '["lag.yy"]'),
        "loop.toml:40: [outputs] signals[0]: 'loop' has no signal 'lag.yy'; did you mean 'lag.y'?",
    ),
    "an unknown component": (
        ('["control.u"]', '["control.u[1]"]'),
        "loop.toml:41: [outputs] plots[0].signals[0]: no component 1 in 'control.u': it has 1, counted "
        "from 0.",
    ),
    "a picture of no known kind": (
        ('"loop.png"', '"loop.gif"'),
        'loop.toml:41: [outputs] plots[0].file: got "loop.gif", expected a file name ending in .png or '
        ".svg or .pdf. It is written inside the folder given by --out.",
    ),
    "a picture outside the folder": (
        ('"loop.png"', '"../loop.png"'),
        'loop.toml:41: [outputs] plots[0].file: got "../loop.png", expected a file name ending in .png '
        "or .svg or .pdf. It is written inside the folder given by --out.",
    ),
    "a negative tolerance": (
        ("tolerance = 0.1", "tolerance = -0.1"),
        'loop.toml:44: [checks.final] "lag.y".tolerance: got -0.1, expected a number of at least 0.',
    ),
    "no model file": (
        ("[run]", '[model]\nfile = "cart.xml"\n[run]'),
        "loop.toml:37: [model] file: no model 'cart.xml' in folder '{folder}'; did you mean 'card.xml'?",
    ),
    "a wrong value of the model": (
        ("[run]", '[model]\nfile = "card.xml"\n[model.ports.force]\nhold_order = 1.5\n[run]'),
        "loop.toml:39: [model.ports.force] hold_order: got 1.5, expected a whole number of at least 0.",
    ),
    "a sampling period that is no time": (
        ("[run]", '[model]\nfile = "card.xml"\n[model.ports.force]\nsampling_period = "fast"\n[run]'),
        'loop.toml:39: [model.ports.force] sampling_period: got "fast", expected seconds as a number or as '
        'text like "1/60", 0 or more. Write it as 0.01, "0.01" or "1/60".',
    ),
    "a table that does not end": (
        ("[run]", "[run"),
        "loop.toml:36:5: not valid TOML: expected ']' at the end of a table declaration.\n    [run\n"
        "        ^",
    ),
    "a list that does not end": (
        ('    "control.u -> lag.u",\n]', '    "control.u -> lag.u",'),
        "loop.toml:29:2: not valid TOML: invalid value.\n    [parameters]\n     ^ Did a list above lose its "
        "closing ]?",
    ),
    "text without quotes": (
        ("until = 2.0", "until = 2.0\nsolver = rk4"),
        "loop.toml:38:10: not valid TOML: invalid value.\n    solver = rk4\n             ^ Text needs "
        'quotes: solver = "rk4".',
    ),
    "a table twice": (
        ("[run]", "[blocks.lag]\n[run]"),
        "loop.toml:36:12: not valid TOML: cannot declare [blocks.lag] twice.\n    [blocks.lag]\n"
        "               ^ A table stands in the file once; put its keys together.",
    ),
}


def check(folder: Path, text: str, trust: bool = False) -> str:
    """The complaint about a scenario, with its folder shortened."""
    file = folder / "loop.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError) as caught:
        load_scenario(file, trust).system()
    assert str(file) in str(caught.value.path)
    return str(caught.value).replace(str(folder), "{folder}")


def test_the_scenario_without_a_mistake_is_accepted(tmp_path):
    file = tmp_path / "loop.toml"
    file.write_text(LOOP)
    load_scenario(file).system()


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_with_its_place(mistake, tmp_path):
    (before, after), message = MISTAKES[mistake]
    (tmp_path / "card.xml").write_text("<model/>")
    assert LOOP.count(before) == 1
    assert check(tmp_path, LOOP.replace(before, after)) == message


def test_all_mistakes_are_reported_together(tmp_path):
    text = (
        LOOP.replace("until = 2.0", 'until = "soon"\nsolvr = "rk4"')
        .replace("+-", "+x")
        .replace("Step", "Stp")
    )
    message = check(tmp_path, text)
    assert message.splitlines()[0] == "4 problems in loop.toml:"
    assert [line.split(":")[1] for line in message.splitlines()[1:]] == ["5", "10", "37", "38"]


def test_numbers_that_do_not_fit_are_reported_together(tmp_path):
    text = LOOP.replace('"control.kp" = 4.0', '"control.kp" = [4.0, 1.0]\n"lag.gain" = 1.0')
    text = text.replace("lag.x = 0.0", '"control.i" = 0.0')
    assert [line.split(":")[1] for line in check(tmp_path, text).splitlines()[1:]] == ["31", "32", "35"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("lop.toml", "no scenario 'lop.toml' in folder '{folder}'; did you mean 'loop.toml'?"),
        (
            "elsewhere/loop.toml",
            "no scenario '{folder}/elsewhere/loop.toml': there is no folder '{folder}/elsewhere'.",
        ),
        ("loop.xml", "'{folder}/loop.xml' is no scenario: expected a .toml file."),
        ("folder.toml", "cannot read '{folder}/folder.toml': Is a directory."),
    ],
)
def test_a_file_that_cannot_be_read(name, message, tmp_path):
    (tmp_path / "loop.toml").write_text(LOOP)
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(ScenarioError) as caught:
        load_scenario(tmp_path / name)
    assert str(caught.value) == message.replace("{folder}", str(tmp_path))


def test_a_file_that_is_no_text(tmp_path):
    (tmp_path / "loop.toml").write_bytes(LOOP.encode() + b"# \xff\n")
    with pytest.raises(ScenarioError) as caught:
        load_scenario(tmp_path / "loop.toml")
    assert str(caught.value) == "loop.toml:45: byte 0xff is not UTF-8 text. Save the file as UTF-8."


FACTORY = '[diagram]\nfactory = "{}"\n[run]\nuntil = 1.0\n'
PYTHON = """\
from blocks import Gain, WiringError
from cosim import Diagram

def broken():
    return 1 / 0

def nothing():
    pass

def loose():
    Diagram().add("a b", Gain(1.0))
"""


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        ("bild:make", "no Python file 'bild.py' in folder '{folder}'; did you mean 'build.py'?"),
        ("build:brocken", "no function 'brocken' in '{folder}/build.py'; did you mean 'broken'?"),
        ("build:broken", "build:broken failed at build.py:5: ZeroDivisionError: division by zero."),
        ("build:nothing", "build:nothing returned something of type NoneType, expected a cosim.Diagram."),
        (
            "build:loose",
            "build:loose failed at build.py:11: block name 'a b' must not be empty or contain '.', '/', '[', "
            "']' or blanks.",
        ),
        (
            "build",
            'got "build", expected text "module:function". The module is a Python file beside the scenario.',
        ),
    ],
)
def test_a_factory_that_fails(factory, message, tmp_path):
    (tmp_path / "build.py").write_text(PYTHON)
    expected = f"loop.toml:2: [diagram] factory: {message}"
    assert check(tmp_path, FACTORY.format(factory), trust=True) == expected


def test_a_factory_is_not_run_without_trust(tmp_path):
    (tmp_path / "build.py").write_text("raise SystemExit('this file was run')")
    assert check(tmp_path, FACTORY.format("build:make")) == (
        "loop.toml:2: [diagram] factory: running this scenario would run the Python file "
        "'{folder}/build.py'. If you trust it, allow that with --trust, or load_scenario(..., trust=True)."
    )


def test_a_factory_and_blocks_exclude_each_other(tmp_path):
    (tmp_path / "build.py").write_text("")
    text = FACTORY.format("build:make") + '[blocks.a]\ntype = "Clock"\n'
    assert check(tmp_path, text, trust=True) == (
        "loop.toml:5: [blocks]: a [diagram] factory makes the whole diagram; leave this table out."
    )


def test_a_scenario_of_nothing(tmp_path):
    assert check(tmp_path, "[run]\nuntil = 1.0\n") == (
        "loop.toml: there is nothing to run: give [model], [blocks], [fmus], or a [diagram] factory."
    )


def test_wrong_settings_of_a_call_are_not_blamed_on_the_file(tmp_path):
    (tmp_path / "loop.toml").write_text(LOOP)
    with pytest.raises(PlantloopError, match="no engine 'fast'"):
        load_scenario(tmp_path / "loop.toml").run(engine="fast")


MODEL = """\
[model]
file = "{model}"

[model.ports.control_fource]
hold_order = 0

[model.ports.pendullum]
hold_order = 0

[run]
until = 1.0
"""


def test_ports_that_the_model_does_not_have(tmp_path):
    message = check(tmp_path, MODEL.format(model=PENDULUM), trust=True)
    assert message.replace(str(PENDULUM), "the.xml").splitlines()[1:] == [
        "- loop.toml:4: [model.ports.control_fource]: 'the.xml' has no port 'control_fource'; did you mean "
        "'control_force'?",
        "- loop.toml:7: [model.ports.pendullum]: 'the.xml' has no port 'pendullum'; did you mean 'pendulum'?",
    ]


def test_a_model_that_is_wrong_is_named_with_its_own_place(tmp_path):
    (tmp_path / "bad.xml").write_text("<Model>\n<Body_Rigid id='1' mass='heavy'/></Model>")
    (tmp_path / "loop.toml").write_text('[model]\nfile = "bad.xml"\n[run]\nuntil = 1.0\n')
    with pytest.raises(ModelError, match=r"bad\.xml:2: "):
        load_scenario(tmp_path / "loop.toml").system()
