"""Files that are not readable XML, or that try to pull something in: refused, in plain words."""

from pathlib import Path

import pytest

from blocks.errors import ModelError
from plant.formats.motionsolve.reader import read_model

DECK = """<?xml version="1.0" encoding="UTF-8"?>
<MotionSolve>
  <Model>
    <Body_Rigid id="1" label="Ground" isground="TRUE"/>
    <Body_Point id="3" cg_id="30" mass="0.2"/>
    <Reference_Marker id="30" body_id="3" body_type="POINTBODY" psi="0.1"/>
    <Reference_Marker id="10" body_id="1"/>
    <Constraint_Joint id="1" label="plane" type="INPLANE"
        i_marker_id="30" j_marker_id="10"/>
    <Force_Penalty id="6" expr="DX(30)" penalty="1E4"/>
  </Model>
</MotionSolve>
"""

# fault: (what the deck says, what is written instead, line and element, words of the problem, of the cure)
MARKUP = {
    "attribute twice": (
        'penalty="1E4"', 'penalty="1E4" penalty="1E2"',
        "10: Force_Penalty id=6", "penalty is written twice", "keep one",
    ),
    "quote forgotten": (
        'expr="DX(30)"', 'expr="DX(30)', "10: Force_Penalty id=6", "attributes run", "closing quote",
    ),
    "no quotes": ('mass="0.2"', "mass=0.2", "5: Body_Point id=3", "has no quotes", 'name="value"'),
    "no value": ('isground="TRUE"', "isground", "4: Body_Rigid id=1", "isground has no value", "write"),
    "not closed": (
        'psi="0.1"/>', 'psi="0.1">', "11: Model", "closes <Reference_Marker> of line 6", "close <Ref",
    ),
    "ampersand": ('label="plane"', 'label="a & b"', "8: Constraint_Joint id=1", "a bare &", "&amp;"),
    "less than": ('label="plane"', 'label="a<b"', "8: Constraint_Joint id=1", "'<' inside", "&lt;"),
    "unknown entity": (
        'label="plane"', 'label="&plane;"', "8: Constraint_Joint id=1", "&plane; is not", "character",
    ),
    "cut off": (DECK[DECK.index("  </Model>") :], "", "Force_Penalty id=6", "ends inside", "closing tags"),
    "two roots": ("</MotionSolve>", "</MotionSolve><Model/>", "MotionSolve", "after the end", "keep one"),
}  # fmt: skip


@pytest.mark.parametrize("name", MARKUP)
def test_not_well_formed(name: str) -> None:
    old, new, place, problem, cure = MARKUP[name]
    with pytest.raises(ModelError, match=r"^<bytes>:\d+: ") as caught:
        read_model(DECK.replace(old, new, 1).encode())
    text = str(caught.value)
    assert place in text
    assert "not well-formed XML" in text
    assert problem in text
    assert cure in text.partition(problem)[2]


@pytest.mark.parametrize("data", [b"", b"time,x\n0,1\n", b"\x1f\x8b\x08\x00", bytes(range(256))])
def test_not_xml_at_all(data: bytes) -> None:
    with pytest.raises(
        ModelError, match=r"<bytes>:1: XML: not well-formed .* is this a MotionSolve XML file\?"
    ):
        read_model(data)


def test_nested_too_deep() -> None:
    with pytest.raises(ModelError, match="nested too deep"):
        read_model(b"<Model>" + b"<a>" * 5000 + b"</a>" * 5000 + b"</Model>")


# --- entities -------------------------------------------------------------------------------------------

LAUGHS = "".join(f'<!ENTITY l{k + 1} "{f"&l{k};" * 10}">' for k in range(9))
DOCTYPES = {
    "billion laughs": f'<!DOCTYPE M [<!ENTITY l0 "ha">{LAUGHS}]>',
    "local file": '<!DOCTYPE M [<!ENTITY x SYSTEM "file:///etc/hostname">]>',
    "external subset": '<!DOCTYPE M SYSTEM "http://example.org/deck.dtd">',
    "public subset": '<!DOCTYPE M PUBLIC "-//x" "http://example.org/deck.dtd">',
    "parameter entity": "<!DOCTYPE M [%x;]>",
    "hidden by a comment": '<!DOCTYPE M <!-- [ --> [<!ENTITY x "y">]>',
    "hidden by a literal": '<!DOCTYPE\nM\n[<!NOTATION n SYSTEM "<a"><!ENTITY x "y">]>',
}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le"])
@pytest.mark.parametrize("name", DOCTYPES)
def test_entities_are_refused(name: str, encoding: str) -> None:
    head = f'<?xml version="1.0" encoding="{encoding.upper()[:6]}"?>' if encoding != "utf-8" else ""
    data = f'{head}\n{DOCTYPES[name]}<M><Model><Body_Rigid id="1" isground="TRUE"/></Model></M>'
    with pytest.raises(ModelError, match=r"<bytes>:\d: DOCTYPE: .* refused.* delete the DOCTYPE"):
        read_model(data.encode(encoding))


def test_a_plain_doctype_is_harmless() -> None:
    data = b'<!DOCTYPE M><M><Model><!-- <!ENTITY x "y"> --><Body_Rigid id="1" isground="TRUE"/></Model></M>'
    assert read_model(data).ground_body.id == 1


def test_missing_file_offers_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "inverted_pendulum.xml").write_text(DECK)
    with pytest.raises(
        ModelError, match=r"there is no file '.*inverted_pendulm\.xml'; .*'inverted_pendulum\.xml'\?"
    ):
        read_model(tmp_path / "inverted_pendulm.xml")


def test_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no folder"):
        read_model(tmp_path / "nowhere" / "deck.xml")


def test_folder_instead_of_file(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be read"):
        read_model(str(tmp_path))


def test_text_instead_of_file_name() -> None:
    with pytest.raises(ModelError, match="is XML text, not a file name"):
        read_model(DECK)


def test_no_model_block() -> None:
    with pytest.raises(ModelError, match=r"<bytes>:1: M: there is no <Model> block in it, only <Modle>"):
        read_model(b"<M><Modle/></M>")
