"""Whose line an error or a warning is at: the user's own, whatever of ours or of Python's lies between."""

import json
import sysconfig
import traceback
import warnings
from pathlib import Path

import pytest

from blocks.contract.user_lines import each_warning_once, line_of, line_of_caller, user_line, warn_user

ROOT = Path(__file__).parents[3]
OURS, PYTHONS = ROOT / "blocks" / "contract" / "made_up.py", Path(sysconfig.get_path("stdlib")) / "made_up.py"
INSTALLED = PYTHONS.parent / "site-packages" / "somebodys" / "made_up.py"


def calls(file):
    """A function in another file that calls what it is given."""
    space = {}
    exec(compile("def calls(function, *given):\n    return function(*given)", str(file), "exec"), space)
    return space["calls"]


def here():
    return traceback.extract_stack()[-2].lineno


@pytest.mark.parametrize("between", [[], [OURS], [OURS, OURS], [OURS, PYTHONS, OURS]])
def test_a_warning_is_at_the_line_of_the_user(between):
    call, given = warn_user, ("look",)
    for file in between:
        call, given = calls(file), (call, *given)
    with pytest.warns(UserWarning, match="^look$") as found:
        call(*given); line = here()  # fmt: skip  # noqa: E702
    assert (found[0].filename, found[0].lineno) == (__file__, line)


def test_a_line_is_that_of_the_innermost_frame_of_the_user():
    for between in (calls(OURS), calls(PYTHONS)):
        assert between(line_of_caller).startswith(f"{__file__}:{here()}: ")
    assert calls(INSTALLED)(line_of_caller).startswith(f"{INSTALLED}:2: ")
    try:
        json.loads("{"); line = None  # fmt: skip  # noqa: E702
    except ValueError as error:
        line = line_of(error)
    assert line.startswith(f", in {__file__}:") and 'json.loads("{")' in line
    assert line_of(ValueError("never raised")) == "" and user_line([]) == "an unknown line"


def test_each_text_of_a_warning_is_shown_once(monkeypatch):
    shown = []
    monkeypatch.setattr(
        warnings, "showwarning", lambda m, category, *rest, **more: shown.append((str(m), category))
    )
    before = warnings.showwarning
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = before
        for _ in range(2):
            with each_warning_once():
                for text, kind in [("a", UserWarning), ("b", UserWarning), ("a", RuntimeWarning)] * 2:
                    warnings.warn(text, kind, stacklevel=1)
        assert warnings.showwarning is before
    assert shown == [("a", UserWarning), ("b", UserWarning), ("a", RuntimeWarning)] * 2
