"""Every wrong expression gives one message: what, where, a caret under it, and the cure."""

import pytest

from blocks.errors import ExpressionError
from plant.expressions.expression import parse

WHERE = "model.xml:12 Reference_Variable id=3 expr"

# the caret stands under the character behind the mark ¦
WRONG = {
    "1 + ¦CUBSLP(TIME, 0, 3)": "unknown function 'CUBSLP'.*Did you mean 'CUBSPL'",
    "2*¦TIM": "unknown name 'TIM'.*Did you mean 'TIME'",
    "¦MODE - 4": "MODE, the code of the analysis, is not supported",
    "1 + ¦DX": r"DX is a function and needs its arguments in brackets.*DX\(I \[, J \[, K\]\]\)",
    "¦PI(3)": "PI is not a function.*Write PI alone",
    "2¦^3": r"'\^' has no meaning here.*Powers are written \*\*",
    "TIME ¦< 3": "'<' has no meaning here.*IF",
    "TIME ¦>= 3": "'>' has no meaning here.*STEP, MAX or MIN",
    "TIME ¦== 3": "'=' has no meaning here.*IF",
    "1 ¦&& 2": "'&' has no meaning here.*IF",
    "1 ¦|| 2": r"'\|' has no meaning here.*IF",
    "TIME ¦.GT. 3": r"'\.GT\.' has no meaning here.*IF",
    "1.¦EQ.2": "an operator is missing before 'EQ'.*IF",
    "7 ¦% 2": r"'%' has no meaning here.*MOD\(a, b\)",
    "COS¦[1]": "'\\[' has no meaning here.*round brackets",
    "¦−3": "'−' has no meaning here.*ordinary minus",
    "60¦°": "'°' has no meaning here.*60D",
    "DX(¦1011.0)": "I of DX is a marker id and must be a plain integer, got '1011.0'.*Write 1011",
    "DX(1, ¦2 + 1)": r"J of DX is a marker id and must be a plain integer, got '2 \+ 1'.*cannot be computed",
    "DX(¦-1)": "I of DX .* must be a plain integer, got '-1'",
    "DX(¦(1))": r"I of DX .* must be a plain integer, got '\(1\)'",
    "VARVAL(¦TIME)": "id of VARVAL is an element id and must be a plain integer, got 'TIME'",
    "VARVAL(¦0)": "id of VARVAL is an element id and must be at least 1, got 0",
    "JOINT(1, ¦2, 3)": "jflag of JOINT .* must be 0 to 1, got 2",
    "JOINT(1, 1, ¦9)": "comp of JOINT .* must be 1 to 8, got 9",
    "ARYVAL(1, ¦0)": "index of ARYVAL .* must be at least 1, got 0",
    "AKISPL(TIME, 0, 1, ¦3)": "n of AKISPL is a derivative order and must be 0 to 2, got 3",
    "¦STEP(TIME, 0, 1, 2)": r"STEP takes 5 arguments, got 4.*STEP\(x, x0, y0, x1, y1\)",
    "¦SIN()": r"SIN takes 1 argument, got 0.*SIN\(x\)",
    "¦DX(1, 2, 3, 4)": "DX takes 1 to 3 arguments, got 4",
    "¦MAX(1)": r"MAX takes at least 2 arguments, got 1.*MAX\(a, b, \.\.\.\)",
    "IF(TIME¦, 1, 2, 3)": r"IF has a ',' where ':' belongs.*IF\(e1: e2, e3, e4\)",
    "IF(TIME: 1¦: 2, 3)": "IF has a ':' where ',' belongs",
    "SIN(1¦: 2)": "SIN has a ':' where ',' belongs",
    "1 ¦: 2": "':' outside IF",
    "1¦,5": "',' outside a function call.*decimal point",
    "¦(1 + 2*(3 - 1)": r"this '\(' is never closed.*Add a '\)'",
    "1 + COS¦(TIME": r"this '\(' is never closed",
    "1 + 2¦)": r"this '\)' closes nothing",
    "2 ¦TIME": r"an operator is missing before 'TIME'.*Put \* between",
    "(1)¦(2)": "an operator is missing before '\\('",
    "1D¦5": "an operator is missing before '5'.*1E5.*D behind a number means degrees",
    "DX(1,¦,2)": "a value is missing before ','.*omitted marker is written 0",
    "DX(1,¦)": r"a value is missing before '\)'.*left out at the end",
    "¦*3": r"a value is missing before '\*'",
    "2 +¦/ 3": "a value is missing before '/'",
    "3*¦": "the text ends where a value is expected",
    "SIN(3 +¦": "the text ends where a value is expected",
    "¦1E400": "1E400 is too large a number",
    "1¦/0": "1/0 is not a finite number",
    "2 + ¦SQRT(-4)": r"SQRT\(-4\) is not a finite number",
    "¦IMPACT(TIME, 1, 0, 100, 0, 1, 1)": r"IMPACT: e = 0 must be greater than 0.*IMPACT\(x, xd, x1,",
    "¦IMPACT(TIME, 1, 0, -100, 1, 1, 1)": "IMPACT: k = -100 must be at least 0",
    "¦BISTOP(TIME, 1, 2, 1, 100, 1, 1, 1)": "BISTOP: x2 = 1 must be greater than x1 = 2",
    "¦SWEEP(TIME, 1, 2, 1, 2, 1, 1)": "SWEEP: x1 = 2 must be greater than x0 = 2",
    "¦SWEEP(TIME, 1, 2, 1, 3, 1, 0)": "SWEEP: dx = 0 must be positive",
    "¦FORCOS(TIME, 0, 1" + ", 1" * 32 + ")": "FORCOS: it takes at most 30 terms after a0, got 31",
}


@pytest.mark.parametrize("marked", WRONG)
def test_message(marked):
    text = marked.replace("¦", "")
    column = marked.index("¦") + 1
    with pytest.raises(ExpressionError, match=f"(?s){WRONG[marked]}") as info:
        parse(text, WHERE)
    first, shown, caret = str(info.value).split("\n")
    assert f"in {WHERE}, column {column}" in first
    assert info.value.path == WHERE
    if len(text) < 100:
        assert shown[4:] == text
        assert caret.index("^") - 4 == column - 1


def test_empty_text():
    with pytest.raises(ExpressionError, match="the expression is empty"):
        parse(" \n ", WHERE)


def test_long_text_is_shown_around_the_fault():
    text = "1 + " * 100 + "unknwn" + " + 1" * 100
    with pytest.raises(ExpressionError, match="column 401") as info:
        parse(text)
    _, shown, caret = str(info.value).split("\n")
    assert len(shown) < 120
    assert shown.startswith("    ...")
    assert shown.endswith("...")
    at = caret.index("^")
    assert shown[at : at + 6] == "unknwn"


def test_line_breaks_are_shown_as_blanks():
    with pytest.raises(ExpressionError) as info:
        parse("1 +\n  2 ^ 3")
    _, shown, caret = str(info.value).split("\n")
    assert shown == "    1 +   2 ^ 3"
    assert shown[caret.index("^")] == "^"


def test_one_error_names_the_place_once():
    with pytest.raises(ExpressionError) as info:
        parse("2^3", WHERE)
    assert str(info.value).count(WHERE) == 1
    assert info.value.hint == "Powers are written **."
    assert info.value.value == "^"
