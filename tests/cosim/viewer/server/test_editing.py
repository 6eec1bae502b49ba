"""Editing a scenario: comments and order stay, the page is clicked, what the loader refuses is refused."""

import difflib
import os
import shutil
import signal
import subprocess
import sys
import tomllib

import pytest

from blocks.errors import PlantloopError
from cosim.scenario import load_scenario
from cosim.scenario.blocks import block_types
from cosim.viewer.server.edit_view import edit_scenario
from cosim.viewer.server.editor import Editor, library
from cosim.viewer.server.scenario_text import rename_block
from tests.helpers.browser import shown, wait_until

PENDULUM = "examples/inverted_pendulum"

LOOP = """# a loop
[blocks.a]          # the source
type = "Constant"
value = 2.0         # V

[blocks]
b = { type = "Gain", k = 3.0 }      # in one line

[wiring]
connect = ["a.y -> b.u"]    # all of it

[parameters]
"a.value" = 2.5             # V
b.k = 4.0

[initial]

[run]
until = 1.0                 # s

[checks.final]
"b.y" = { value = 10.0, tolerance = 1e-9 }
"""


@pytest.fixture
def loop(tmp_path):
    file = tmp_path / "loop.toml"
    file.write_text(LOOP)
    return file


@pytest.fixture
def pendulum(tmp_path):
    for file in ("scenario.toml", "inverted_pendulum.xml"):
        shutil.copy(f"{PENDULUM}/{file}", tmp_path)
    return tmp_path / "scenario.toml"


def lines(before, after):
    """What was taken away and what was added."""
    rows = list(difflib.ndiff(before.splitlines(), after.splitlines()))
    return [r[2:] for r in rows if r[0] == "-"], [r[2:] for r in rows if r[0] == "+"]


def test_a_field_changes_its_line_and_nothing_else(pendulum):
    e = Editor(pendulum)
    before = e.text
    e.do({"do": "set", "block": "controller", "field": "sample", "value": "0.02"})
    old, new = lines(before, e.text)
    assert old == ["sample = 0.01                       # s"]
    assert new == ["sample = 0.02                       # s"]
    assert pendulum.read_text() == before  # nothing is written before it is saved
    assert e.do({"do": "save"}) == "saved scenario.toml"
    assert load_scenario(pendulum).tables.blocks["controller"].sample == 0.02


def test_blocks_wires_grounds_and_deleting(pendulum):
    e = Editor(pendulum)
    before = e.text
    e.do({"do": "add", "name": "half", "type": "Gain", "fields": {"k": "0.5"}})
    gone, new = lines(before, e.text)
    assert (gone, sorted(new)) == ([], ["", "[blocks.half]", "k = 0.5", 'type = "Gain"'])
    assert "'half.u' is not connected" in e.picture().problems
    e.do({"do": "wire", "from": "controller.u", "to": "half.u"})
    e.do({"do": "wire", "from": "half.y", "to": "plant.disturbance_force"})
    assert not e.picture().problems
    tables = tomllib.loads(e.text)
    assert tables["wiring"]["ground"] == []
    assert '    "controller.u -> half.u",\n' in e.text
    with pytest.raises(PlantloopError, match="has a wire already"):
        e.do({"do": "wire", "from": "half.y", "to": "plant.control_force"})
    e.do({"do": "unwire", "to": "plant.disturbance_force"})
    e.do({"do": "ground", "to": "plant.disturbance_force"})
    e.do({"do": "delete", "block": "half"})
    assert tomllib.loads(e.text) == tomllib.loads(before)
    kept = [line for line in before.splitlines() if "#" in line]
    assert [line for line in e.text.splitlines() if "#" in line] == kept
    for _ in range(6):
        e.do({"do": "undo"})
    assert e.text == before
    with pytest.raises(PlantloopError, match="nothing to undo"):
        e.do({"do": "undo"})
    e.do({"do": "redo"})
    assert "[blocks.half]" in e.text


def test_settings_parameters_and_initial_values(loop):
    text = LOOP.replace("[initial]\n\n", "[initial]\n\n# how it is run\n")
    loop.write_text(text)
    e = Editor(loop)
    give = lambda table, name, value: e.do({"do": "setting", "table": table, "name": name, "value": value})
    give("run", "until", "2.0")
    give("run", "solver", '"rk4"')
    give("run", "step", "0.015625")
    give("parameters", "b.k", "5.0")  # written as a dotted key
    give("parameters", "a.value", "3.5")  # written as a quoted one
    assert lines(text, e.text) == (
        ['"a.value" = 2.5             # V', "b.k = 4.0", "until = 1.0                 # s"],
        [
            '"a.value" = 3.5             # V', "b.k = 5.0", "until = 2.0                 # s",
            'solver = "rk4"', 'step = 0.015625',
        ],
    )  # fmt: skip
    assert "[initial]\n\n# how it is run\n[run]" in e.text
    assert e.state["settings"]["parameters"] == {"a.value": "3.5", "b.k": "5.0"}
    assert e.state["names"]["parameters"] == ["a.value", "b.k"]
    r = load_scenario_of(e, loop).run(engine="reference")
    assert (r.time[-1], r["b.y"][-1, 0]) == (2.0, 17.5)
    give("parameters", "b.k", "")
    assert load_scenario_of(e, loop).run(engine="reference")["b.y"][-1, 0] == 10.5  # k of the block
    give("parameters", "c.k", "1.0")
    assert "no parameter 'c.k'" in e.picture().problems
    for table, name, value, says in (
        ("run", "until", "", "key 'until' is missing"),
        ("run", "untl", "1.0", "did you mean 'until'"),
        ("run", "until", "-1.0", "a number of at least 0"),
        ("run", "seed", "1.5\n[x]", "expected one value|seed = "),
        ("initial", "b.x", '"x"', "expected a number"),
        ("initial", "b.x", "", "no 'b.x' to take out"),
        ("initial", "", "1.0", "no name"),
        ("outputs", "result", '"/etc/passwd"', r"no table \[outputs\]"),
    ):
        before = e.text
        with pytest.raises(PlantloopError, match=says):
            give(table, name, value)
        assert e.text == before
    for _ in range(7):
        e.do({"do": "undo"})
    assert e.text == text


def test_a_table_that_was_not_there_is_made(pendulum):
    e = Editor(pendulum)
    before = e.text
    name = next(iter(e.picture().system.parameters))
    e.do({"do": "setting", "table": "parameters", "name": name, "value": "0.25"})
    gone, new = lines(before, e.text)
    assert gone == []
    assert f'"{name}" = 0.25' in new
    assert tomllib.loads(e.text)["parameters"][name] == 0.25


def test_a_name_changes_wherever_it_stands(loop):
    e = Editor(loop)
    e.do({"do": "rename", "block": "a", "to": "supply"})
    text = LOOP.replace("[blocks.a]", "[blocks.supply]").replace('"a.y ->', '"supply.y ->')
    assert e.text == text.replace('"a.value"', '"supply.value"')
    r = load_scenario_of(e, loop).run()
    assert r["b.y"][-1, 0] == 10.0
    with pytest.raises(PlantloopError, match="rename it in the file itself"):
        e.do({"do": "rename", "block": "b", "to": "c"})  # it stands in a table in braces


def test_texts_that_name_no_port_keep_the_old_name_and_formulas_take_the_new_one(loop):
    """Files of results and pictures were renamed with the block, and with them the data that it reads."""
    texts = """
[scenario]
description = "a.y is doubled.  a -> b"

[fmus.f]
file = "a.fmu"
start = { "a.value" = 2.0 }

[outputs]
signals = ["a.y", "a.*"]
result = "a.nc"

[[outputs.plots]]
file = "a.png"
title = "a.y, a -> b"
labels = ["a.y"]
signals = [["a.y", "b.y"]]

[sweep]
a.value = [1.0, 2.0]

[[variants]]
name = "large"
blocks.a.value = 9.0

[metrics]
top = "max(abs(a.y)) - a.y /a.y-aa.a.y-2*a.y"
"""
    found = rename_block(LOOP + texts, "a", "supply")
    wanted = (
        texts.replace('["a.y", "a.*"]', '["supply.y", "supply.*"]')
        .replace('[["a.y"', '[["supply.y"')
        .replace("\na.value", "\nsupply.value")
        .replace("blocks.a.", "blocks.supply.")
        .replace("abs(a.y)) - a.y /a.y-aa.a.y-2*a.y", "abs(supply.y)) - supply.y /supply.y-aa.a.y-2*supply.y")
    )
    assert found.endswith(wanted)
    assert tomllib.loads(found)["blocks"]["supply"]["value"] == 2.0


def test_a_name_behind_a_hyphen_is_another_one():
    text = LOOP.replace("[blocks]", '[blocks.b-a]\ntype = "Gain"\nk = 1.0\n\n[blocks]')
    text = text.replace('"a.y -> b.u"', '"a -> b", "a -> b-a"') + '[checks.largest]\n"b-a.y" = {}\n'
    tables = tomllib.loads(rename_block(text, "a", "c"))
    assert tables["wiring"]["connect"] == ["c -> b", "c -> b-a"]
    assert list(tables["checks"]["largest"]) == ["b-a.y"] and list(tables["blocks"]) == ["c", "b-a", "b"]


def test_series_and_default_ports_are_edited_wire_by_wire(loop):
    three = LOOP.replace('"a.y -> b.u"', '"a -> g -> b", "a -> g2, k.u"')
    for name in ("g", "g2", "k"):
        three = three.replace("[blocks]\n", f'[blocks.{name}]\ntype = "Gain"\nk = 1.0\n\n[blocks]\n')
    wires = lambda e: tomllib.loads(e.text)["wiring"]["connect"]
    loop.write_text(three)
    e = Editor(loop)
    with pytest.raises(PlantloopError, match=r'"b.u" has a wire already: "a -> g -> b"'):
        e.do({"do": "wire", "from": "a.y", "to": "b.u"})
    e.do({"do": "rename", "block": "g", "to": "gain"})
    assert wires(e) == ["a -> gain -> b", "a -> g2, k.u"]
    e.do({"do": "unwire", "to": "gain.u"})
    assert wires(e) == ["a -> g2, k.u", "gain -> b"]
    e.do({"do": "delete", "block": "k"})
    assert wires(e) == ["gain -> b", "a -> g2"]


def load_scenario_of(editor, path):
    editor.do({"do": "save"})
    return load_scenario(path)


def test_what_the_loader_refuses_changes_nothing(loop, garbage_waits):
    e = Editor(loop)
    for message, text in (
        ({"do": "set", "block": "b", "field": "kk", "value": "1"}, "no such key; did you mean 'k'"),
        ({"do": "set", "block": "b", "field": "k", "value": '"x"'}, "loop.toml:7"),
        ({"do": "set", "block": "b", "field": "k", "value": "1\nx = 2"}, "expected one value"),
        ({"do": "set", "block": "b", "field": "k", "value": "[" * 5000}, "k = "),
        ({"do": "set", "block": "b", "field": "k", "value": "1" * 6000}, "too long"),
        ({"do": "set", "block": "run", "field": "until", "value": "2"}, r"\[blocks\] has no 'run'"),
        ({"do": "set", "block": "b", "field": "type", "value": '"PythonFunction"'}, "holds Python code"),
        ({"do": "add", "name": "p", "type": "PythonFunction", "fields": {}}, "holds Python code|needs"),
        ({"do": "add", "name": "p", "type": "os", "fields": {}}, "no block type 'os'"),
        ({"do": "add", "name": "a/b", "type": "Clock", "fields": {}}, "a block's name"),
        ({"do": "add", "name": "a", "type": "Clock", "fields": {}}, "already"),
        ({"do": "add", "name": 'x"]\n[model', "type": "Clock", "fields": {}}, "a block's name"),
        ({"do": "add", "name": "x", "type": "Clock", "fields": {"file": '"/etc/passwd"'}}, "no such key"),
        ({"do": "add", "name": "x", "type": "Clock", "fields": ["a"]}, "fields are texts"),
        ({"do": "wire", "from": "a.y", "to": "nothing.u"}, "no port 'nothing.u'"),
        ({"do": "wire", "from": 'a.y"', "to": "b.u"}, "no port"),
        ({"do": "unwire", "to": "b.v"}, "nothing is connected"),
        ({"do": "delete", "block": 3}, "block is no text"),
        ({"do": "rename", "block": "a", "to": "b"}, "already"),
        ({"do": "open", "path": "/etc/passwd"}, "no command 'open'"),
        ({"do": None}, "no command None"),
    ):
        with pytest.raises(PlantloopError, match=text):
            e.do(message)
        assert e.text == LOOP


def test_a_file_changed_on_disk_is_noticed(loop):
    e = Editor(loop)
    e.do({"do": "set", "block": "a", "field": "value", "value": "7.0"})
    assert not e.changed_on_disk()
    loop.write_text(LOOP.replace("until = 1.0", "until = 2.0"))
    assert e.changed_on_disk()
    with pytest.raises(PlantloopError, match="was changed on disk"):
        e.do({"do": "save"})
    e.do({"do": "reload"})
    assert "until = 2.0" in e.text
    e.do({"do": "undo"})
    assert "value = 7.0" in e.text
    e.do({"do": "save"})
    assert "value = 7.0" in loop.read_text()
    loop.write_bytes(LOOP.replace("\n", "\r\n").encode())
    e.do({"do": "reload"})
    e.do({"do": "set", "block": "a", "field": "value", "value": "8.0"})
    e.do({"do": "save"})
    assert loop.read_bytes().count(b"\r\n") == LOOP.count("\n")


def test_the_library_lists_every_block_a_scenario_may_have():
    found = {b["type"]: b for b in library()}
    python = {"EKF", "UKF", "Function", "PythonFunction", "Source"}
    assert found.keys() == block_types().keys() - python
    assert all(b["line"].endswith((".", ":")) or b["line"] for b in found.values())
    gain = {f["name"]: f["default"] for f in found["Gain"]["fields"]}
    assert gain == {"k": None}
    # defaults that are shown are TOML of the same value
    for block in found.values():
        for field in block["fields"]:
            if field["default"]:
                tomllib.loads(f"x = {field['default']}")


@pytest.mark.slow
def test_everything_is_clicked(pendulum):
    with edit_scenario(str(pendulum), show=False) as view, shown(view.address, offline=False) as page:
        page.locator("#library input[type=search]").fill("gain")
        page.locator('#library .entry[data-type="Gain"]').click()
        page.locator('[data-field="name of the block"]').fill("half")
        page.locator('[data-edit="add"]').click()  # k is needed
        wait_until(page, "viewer.edit.said.includes('Gain needs k')")
        page.locator('[data-field="k"]').fill("0.5")
        page.locator('[data-edit="add"]').click()
        wait_until(page, "document.querySelector('.node[data-path=half]') !== null")
        assert "half.u" in page.locator(".problems").inner_text()
        # a wire by clicking two ports, another from the list of a port
        click = lambda port: page.mouse.click(*centre(page, f'circle[data-port="{port}"]'))
        click("o|controller|u")
        click("i|half|u")
        wait_until(page, "viewer.edit.state.text.includes('controller.u -> half.u')")
        wait_until(page, "document.querySelectorAll('.wire').length === 5")
        page.locator('.node[data-path="plant"]').click()
        page.locator('select[data-port="plant.disturbance_force"]').select_option("half.y")
        wait_until(page, "viewer.edit.state.text.includes('half.y -> plant.disturbance_force')")
        wait_until(page, "document.querySelector('.problems').hidden")
        # fields and names
        page.locator('.node[data-path="half"]').click()
        page.locator('[data-field="k"]').fill("0.25")
        page.locator('[data-field="k"]').press("Enter")
        wait_until(page, "viewer.edit.state.blocks.half.k === '0.25'")
        page.locator('[data-field="name"]').fill("quarter")
        page.locator('[data-field="name"]').press("Enter")
        wait_until(page, "document.querySelector('.node[data-path=quarter]') !== null")
        # settings and parameters
        page.locator('[data-edit="settings"]').click()
        setting = page.locator('[data-setting="run.until"]')
        setting.fill("-3")
        setting.press("Enter")
        wait_until(page, "viewer.edit.said.includes('a number of at least 0')")
        assert setting.input_value() == viewer_value(page, "run", "until")
        setting.fill("0.5")
        setting.press("Enter")
        wait_until(page, "viewer.edit.state.settings.run.until === '0.5'")
        page.locator('[data-new="parameters.name"]').fill("quarter.k")
        page.locator('[data-new="parameters.value"]').fill("0.75")
        page.locator('[data-new="parameters.value"]').press("Enter")
        wait_until(page, "document.querySelector('[data-setting=\"parameters.quarter.k\"]') !== null")
        page.locator('[data-setting="parameters.quarter.k"]').fill("")
        page.locator('[data-setting="parameters.quarter.k"]').press("Enter")
        wait_until(page, "viewer.edit.state.settings.parameters['quarter.k'] === undefined")
        for _ in range(3):
            page.locator('[data-edit="undo"]').click()
        wait_until(page, "viewer.edit.state.settings.run.until !== '0.5'")
        # undo, redo, save, the text
        page.locator('[data-edit="undo"]').click()
        wait_until(page, "document.querySelector('.node[data-path=half]') !== null")
        page.locator('[data-edit="redo"]').click()
        wait_until(page, "document.querySelector('.node[data-path=quarter]') !== null")
        page.locator('[data-edit="text"]').click()
        assert "# an inverted pendulum" in page.locator("#edit-text").inner_text().lower()
        page.locator('[data-edit="text"]').click()
        assert page.locator('[data-edit="unsaved"]').inner_text() == "not saved"
        page.locator('[data-edit="save"]').click()
        wait_until(page, "viewer.edit.said === 'saved scenario.toml'")
        assert load_scenario(pendulum).tables.blocks["quarter"].k == 0.25
        # somebody else writes the file
        pendulum.write_text(pendulum.read_text().replace("k = 0.25", "k = 0.125"))
        wait_until(page, "!document.querySelector('[data-edit=disk]').hidden")
        page.locator('[data-edit="reload"]').click()
        wait_until(page, "viewer.edit.state.blocks.quarter.k === '0.125'")
        page.locator('.node[data-path="quarter"]').click()
        page.locator('[data-edit="delete"]').click()
        wait_until(page, "document.querySelector('.node[data-path=quarter]') === null")


def viewer_value(page, table, name):
    return page.evaluate("([t, n]) => viewer.edit.state.settings[t][n]", [table, name])


def centre(page, selector):
    box = page.locator(selector).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


@pytest.mark.slow
def test_the_command_edits_until_ctrl_c(loop):
    command = [sys.executable, "-m", "cosim", "view", str(loop), "--edit", "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ})
    try:
        assert process.stdout.readline().startswith("http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    finally:
        process.kill()
    assert loop.read_text() == LOOP


def test_what_is_not_a_number_is_refused_with_the_reason(loop):
    e = Editor(loop)
    for value in ("nan", "[1.0, nan]", "inf"):
        with pytest.raises(PlantloopError, match=r"loop.toml:7: .*k is .*expected finite numbers"):
            e.do({"do": "set", "block": "b", "field": "k", "value": value})
    assert e.text == LOOP


def test_a_file_that_is_gone_is_written_again(loop):
    e = Editor(loop)
    e.do({"do": "set", "block": "a", "field": "value", "value": "7.0"})
    loop.unlink()
    assert e.changed_on_disk()
    with pytest.raises(PlantloopError, match=r"loop.toml is not there any more. Save: it is written again"):
        e.do({"do": "reload"})
    e.do({"do": "save"})
    assert loop.read_text() == LOOP.replace("value = 2.0", "value = 7.0")
    assert not e.changed_on_disk()
    loop.write_text("broken [[")  # is somebody else's work still
    with pytest.raises(PlantloopError, match="was changed on disk"):
        e.do({"do": "save"})


@pytest.mark.slow
def test_a_message_covers_no_button_and_a_telephone_shows_the_diagram(pendulum):
    """Every button of the bar is what a click on its middle meets, however much the bar says."""
    free = """() => [...document.querySelectorAll('#edit button')].every((b) => {
        const r = b.getBoundingClientRect();
        return !r.width || document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2) === b;
    })"""
    with edit_scenario(str(pendulum), show=False) as view:
        for size in ((1280, 720), (390, 800)):
            with shown(view.address, size, offline=False) as page:
                assert page.evaluate(free)
                page.evaluate("viewer.edit.do('wire', { from: 'a.b', to: 'c.d' })")
                wait_until(page, "viewer.edit.said.includes('no port')")
                assert page.evaluate(free)
                box = page.locator("#diagram .canvas").bounding_box()
                assert box["width"] > 0.6 * size[0]
                assert box["height"] > 150
                assert box["x"] + box["width"] <= size[0]


@pytest.mark.slow
def test_half_a_value_is_not_sent_when_another_page_changes_something(pendulum):
    with edit_scenario(str(pendulum), show=False) as view, shown(view.address, offline=False) as page:
        page.locator('.node[data-path="controller"]').click()
        field = page.locator('[data-field="sample"]')
        field.focus()
        page.keyboard.press("End")
        page.keyboard.type("12")
        before = view.editor.text
        page.evaluate("viewer.edit.do('setting', { table: 'run', name: 'until', value: '0.5' })")
        wait_until(page, "viewer.edit.state.settings.run.until === '0.5'")
        page.wait_for_timeout(100)
        changed = lines(before, view.editor.text)
        assert len(changed[0]) == len(changed[1]) == 1
        assert changed[1][0].startswith("until")
        assert field.input_value().endswith("12")
        assert page.evaluate("document.activeElement.dataset.field") == "sample"
        field.fill("-1")
        field.press("Enter")
        wait_until(page, "document.querySelector('[data-field=sample]').ariaInvalid === 'true'")
        field.fill("0.02")
        field.press("Enter")
        wait_until(page, "viewer.edit.state.blocks.controller.sample === '0.02'")
        wait_until(page, "document.querySelector('[data-field=sample]').ariaInvalid !== 'true'")
