"""Units in scenario files: [units], [wiring] convert."""

import pytest

from blocks import ScenarioError
from cosim.scenario import load_scenario

FILE = """
[blocks.source]
type = "Constant"
value = 250.0

[blocks.gain]
type = "Gain"
k = 2.0

[wiring]
connect = ["source.y -> gain.u"]
{wiring}

[units]
"source.y" = "mm"
gain.u = "m"
gain.k = "N/m"
{units}

[run]
until = 1.0
"""


def read(folder, wiring="", units=""):
    file = folder / "units.toml"
    file.write_text(FILE.format(wiring=wiring, units=units))
    return load_scenario(file)


def test_units_are_said_and_wires_converted(tmp_path):
    r = read(tmp_path, 'convert = ["gain.u"]').run()
    assert r["gain.y"][-1] == pytest.approx(0.5, rel=1e-12)
    short = tmp_path / "short.toml"
    short.write_text(FILE.format(wiring='convert = ["gain.u"]', units="").replace(".y -> gain.u", " -> gain"))
    assert load_scenario(short).run()["gain.y"][-1] == r["gain.y"][-1]
    assert r.tree["gain.y"].unit(0) == "N" and r.tree["source.y"].unit(0) == "mm"


def test_a_wire_that_does_not_fit_is_told_with_its_line(tmp_path):
    with pytest.raises(
        ScenarioError, match=r"units\.toml.*connect.*1 mm = 0\.001 m.*\[wiring\] convert"
    ) as e:
        read(tmp_path).run()
    assert "'source.y' is in mm" in str(e.value)


@pytest.mark.parametrize("wiring, units, words", [
    ("", '"sorce.y" = "m"', "no block 'sorce'.*source"),
    ("", '"source.x" = "m"', "no port or parameter 'x'"),
    ("", '"source.value" = "zork"', "'zork' is no unit"),
    ("", '"source.value" = 3', "unit"),
    ('convert = ["gain.v"]', "", 'nothing is connected to "gain.v".*gain.u'),
    ('convert = ["gain.u"]\nground = ["gian.u"]', "", "no block 'gian'"),
])  # fmt: skip
def test_mistakes_are_refused_with_their_place(tmp_path, wiring, units, words):
    with pytest.raises(ScenarioError, match=f"(?s)units.toml.*{words}"):
        read(tmp_path, wiring, units).run()
