"""Numbers, names and nesting that no file should have: errors of ours, never a raw one, and nothing hangs."""

import struct
import warnings
import zipfile

import numpy as np
import pytest

from blocks import Integrator, Mux, Sine, Sum, TimeTable, UnitDelay
from blocks.errors import PlantloopError, ScenarioError
from cosim import Simulation, export_fmu, simulate, simulate_many
from cosim.deck import run_deck
from cosim.fmi.export import binaries
from cosim.result.result import Result
from cosim.scenario import load_scenario
from cosim.viewer.page import Page
from plant import Plant
from tests.helpers.decks import deck, pendulum
from tests.helpers.decks import simulate as command
from tests.helpers.made import chain

pytestmark = [pytest.mark.timeout(60), pytest.mark.filterwarnings("ignore")]
DIGITS = "9" * 400
BASE = '[blocks.a]\ntype = "Sine"\n[run]\nuntil = 0.01\n'


def ours_or_fine(act):
    """Whatever it does, it raises nothing but errors of ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return act()
        except PlantloopError as error:
            assert len(str(error)) < 20_000
            return error


TEXTS = {
    "deep array": "a = " + "[" * 100_000 + "]" * 100_000,
    "array of depth 500": "a = " + "[" * 500 + "]" * 500,
    "deep tables": "a = " + "{b=" * 1000 + "1" + "}" * 1000,
    "long dotted key": ".".join("a" for _ in range(100_000)) + " = 1\n" + BASE,  # quadratic in tomllib
    "long key of many words": " . ".join(f"'a {k}'" for k in range(100_000)) + " = 1\n" + BASE,
    "long header": "[" + ".".join("a" for _ in range(100_000)) + "]\nx = 1\n",
    "long key in braces": "a = {" + ".".join("a-1" for _ in range(100_000)) + " = 1}\n" + BASE,
    "long word": f'a = "{"a" * 1_000_000}"\n{BASE}',
    "many quotes": "a = " + '"' * 100_000,
    "integer of 5000 digits": BASE.replace("0.01", "9" * 5000),
    "integer of 400 digits": BASE.replace("0.01", DIGITS),
    "hexadecimal": BASE.replace("0.01", "0x" + "f" * 5000),
    "float beyond all": BASE.replace("0.01", "1e400"),
    "NUL": "\0" * 10,
    "NUL in a result": BASE + '[outputs]\nresult = "a\\u0000.nc"\n',
    "NUL in a model": '[model]\nfile = "a\\u0000.xml"\n[run]\nuntil = 1.0\n',
    "NUL in a name": '[scenario]\nname = "a\\u0000"\n' + BASE,
    "long model": f'[model]\nfile = "{"a" * 5000}.xml"\n[run]\nuntil = 1.0\n',
    "long factory": f'[diagram]\nfactory = "{"a" * 5000}:f"\n[run]\nuntil = 1.0\n',
    "seed": f"{BASE}seed = {DIGITS}",
    "log_every": f"{BASE}log_every = {DIGITS}",
    "log_at": f"{BASE}log_at = [0, {DIGITS}]",
    "step": f'{BASE}solver = "rk4"\nstep = {DIGITS}',
    "parameters": f'{BASE}[parameters]\n"a.amplitude" = {DIGITS}',
    "initial": f'{BASE}[initial]\n"a.x" = {DIGITS}',
    "final": f'{BASE}[checks.final]\n"a.y" = {{value = {DIGITS}}}',
    "time of a plot": f'{BASE}[[outputs.plots]]\nfile = "a.png"\nsignals = ["a.y"]\ntime = [0, {DIGITS}]',
}
FIELDS = ["sample", "offset", "amplitude"]
VALUES = [DIGITS, "1e-320", '"1/0"', '"1e-99999999"', '"1e99999999"', f'"{"9" * 5000}"', "inf", "nan", "{}"]


@pytest.mark.parametrize("case", TEXTS)
def test_scenarios(tmp_path, case, garbage_waits):
    (tmp_path / "s.toml").write_text(TEXTS[case])
    found = ours_or_fine(lambda: load_scenario(tmp_path / "s.toml").run())
    if case not in ("NUL in a name", "seed", "NUL in a result", "log_every"):
        assert isinstance(found, ScenarioError) and "s.toml" in str(found)


@pytest.mark.parametrize("value", VALUES)
def test_fields_of_a_block_in_a_scenario(tmp_path, value):
    for field in FIELDS:
        text = BASE.replace('"Sine"', f'"Sine"\n{field} = {value}')
        (tmp_path / "s.toml").write_text(text)
        found = ours_or_fine(lambda: load_scenario(tmp_path / "s.toml").run())
        if field != "amplitude" or value not in ("1e-320",):  # which means something there
            assert isinstance(found, PlantloopError), field


HUGE = 10**400


@pytest.mark.parametrize(
    "act",
    [
        lambda: simulate(chain(Sine()), HUGE),
        lambda: Simulation(chain(Sine())).advance(HUGE),
        lambda: simulate(chain(Sine()), 1.0, log_at=[0, HUGE]),
        lambda: simulate(chain(Sine()), 1.0, log_every=HUGE),
        lambda: simulate(chain(Sine(), Integrator()), 1.0, initial={"b2.x": HUGE}),
        lambda: simulate(chain(Sine(), Integrator()), 1.0, parameters={"b1.amplitude": HUGE}),
        lambda: simulate_many(chain(Sine()), HUGE, 1.0),
        lambda: simulate_many(chain(Sine()), 2, HUGE),
        lambda: TimeTable([0, HUGE], [0, 1]),
        lambda: Sine(HUGE),
        lambda: Sine(sample=HUGE),
        lambda: Sine(sample="1e-99999999"),
        lambda: UnitDelay(HUGE),
    ],
)
def test_integers_of_400_digits_in_python(act):
    assert isinstance(ours_or_fine(act), PlantloopError)


@pytest.mark.parametrize("span", [np.timedelta64(1, "s"), np.timedelta64(3, "D")])
def test_a_span_of_time_is_no_whole_number(span):
    """NumPy counts it among the integers."""
    for act in (
        lambda: simulate(chain(Sine()), 0.1, seed=span),
        lambda: simulate_many(chain(Sine()), span, 0.1),
        lambda: Mux(span),
        lambda: Sum(span),
        lambda: chain(Sine())["b1"]["y"][span],
    ):
        assert isinstance(ours_or_fine(act), PlantloopError)


def test_a_seed_may_have_any_number_of_digits():
    assert simulate(chain(Sine()), 0.1, seed=HUGE).complete


NUMBERS = ["-1e308", "1e308", "1e400", "nan", "inf", DIGITS, "1e-400", "1e154", "-1e200"]


@pytest.mark.parametrize("value", NUMBERS)
def test_numbers_of_a_deck(value):
    plain = pendulum(0.5)
    changed = [
        deck(plain.replace('pos_x="0.0"', f'pos_x="{value}"')),
        deck(plain.replace('mass="2.0"', f'mass="{value}"')),
        deck(plain.replace('inertia_yy="0.1"', f'inertia_yy="{value}"')),
        deck(plain, gravity=1.0).replace(b'grav_z="1.0"', f'grav_z="{value}"'.encode()),
    ]
    for text in changed:
        ours_or_fine(lambda text=text: simulate(Plant.read(text), 0.01, engine="reference", wall_limit=5))


@pytest.mark.parametrize("value", NUMBERS)
def test_numbers_of_a_command(value):
    for name in ("end_time", "duration", "print_interval", "num_steps", "start_time"):
        more = "" if name in ("end_time", "duration") else 'end_time="0.01"'
        text = deck(pendulum(0.5), f'<Simulate analysis_type="Transient" {more} {name}="{value}"/>')
        ours_or_fine(lambda text=text: run_deck(text, engine="reference", wall_limit=2))


NAMES = ["", "a" * 5000 + ".nc", "/x" * 3000 + "/a.nc", "\0.nc", "a\0.npz", "{tmp}", "{tmp}/",
         "/dev/full/x.nc", "/proc/x.nc", "/dev/null", "b" * 300 + ".csv",
         "{tmp}/" + "b" * 300 + ".nc"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_names_files_cannot_have(tmp_path, monkeypatch, name):
    """Every way to write and to read."""
    monkeypatch.chdir(tmp_path)
    name = name.format(tmp=tmp_path)
    result, sim = simulate(chain(Sine()), 0.01), Simulation(chain(Sine()), engine="reference")
    run = command("Transient", end_time=0.01)
    for act in (
        lambda: result.save(name),
        lambda: Result.load(name),
        lambda: result.plot("b1.y", path=name),
        lambda: sim.save(name),
        lambda: sim.load(name),
        lambda: Plant.read(name),
        lambda: load_scenario(name),
        lambda: run_deck(name),
        lambda: run_deck(deck(pendulum(0.5), run + f'<Load_Model model_file="{name}"/>')),
    ):
        assert isinstance(ours_or_fine(act), PlantloopError)
    for act in (
        lambda: run_deck(deck(pendulum(0.5), run + '<Save model_file="s.xml"/>'), out=name),
        lambda: run_deck(deck(pendulum(0.5), run + f'<Save model_file="{name}"/>'), out=tmp_path),
    ):
        ours_or_fine(act)
    assert not list(tmp_path.rglob(".*"))


def test_a_full_disk_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "run.npz"
    result, sim = simulate(chain(Sine()), 0.01), Simulation(chain(Sine()), engine="reference")
    result.save(path)
    before = path.read_bytes()

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    for act in (lambda: result.save(path), lambda: sim.save(path)):
        with pytest.raises(PlantloopError, match="No space left on device"):
            act()
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["run.npz"]


def test_a_full_disk_leaves_pages_and_fmus_as_they_were(tmp_path, monkeypatch):
    """An FMU was a raw error, half a page stood in place of the one before."""
    page, unit = tmp_path / "page.html", tmp_path / "unit.fmu"
    for file in (page, unit):
        file.write_text("before")
    diagram = chain(Sine())

    def half(file, text, **_):
        file.write_bytes(text[:10].encode())
        raise OSError(28, "No space left on device")

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_text", half)
    monkeypatch.setattr(zipfile.ZipFile, "writestr", full)
    monkeypatch.setattr(binaries, "binary", lambda *_: b"")
    for act in (lambda: Page("a", "<html>" * 9).save(page), lambda: export_fmu(diagram, unit)):
        with pytest.raises(PlantloopError, match="No space left on device"):
            act()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["page.html", "unit.fmu"]
    assert page.read_bytes() == unit.read_bytes() == b"before"


def test_an_array_without_axes_and_an_interval_of_1e308_s():
    """A TypeError of NumPy's and an OverflowError."""
    with pytest.raises(PlantloopError, match="signals contains 0.5, expected names"):
        simulate(chain(Sine()), 0.01, engine="reference", signals=np.array(0.5))
    assert simulate(chain(Sine()), 0.01, engine="reference", log_every=1e308).time.tolist() == [0.0, 0.01]


def results(tmp_path):
    """(what, bytes) of .npz results that are none."""
    path = tmp_path / "whole.npz"
    simulate(chain(Sine()), 0.01).save(path)
    data = path.read_bytes()
    directory = data.rindex(b"PK\x01\x02")
    end = data.rindex(b"PK\x05\x06")
    for offset, size in ((8, 2), (10, 2), (20, 4), (24, 4), (28, 2), (42, 4)):  # flags, method, sizes, offset
        for value in (0xFFFFFFFF, 99, 0, 1):
            k = directory + offset
            field = struct.pack("<I", value)[:size]
            yield f"central directory {offset} = {value}", data[:k] + field + data[k + size :]
    for offset in (8, 10, 12, 16):
        k = end + offset
        yield f"end of directory {offset}", data[:k] + b"\xff\xff" + data[k + 2 :]
    for k in range(0, len(data), max(1, len(data) // 40)):
        yield f"zeros at {k}", data[:k] + bytes(6) + data[k + 6 :]
    yield "nothing", b""
    yield "a zip of nothing", b"PK\x05\x06" + bytes(18)


def test_broken_headers_of_zip_files(tmp_path):
    path = tmp_path / "run.npz"
    for _, data in results(tmp_path):
        path.write_bytes(data)
        ours_or_fine(lambda: Result.load(path))
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("header.npy", b"\x93NUMPY\x01\x00\xff\xff{")
    assert isinstance(ours_or_fine(lambda: Result.load(path)), PlantloopError)
