"""Verdicts of a study as tests: how many failed and were skipped, in XML that can be read."""

import xml.etree.ElementTree as ET
from types import SimpleNamespace

import numpy as np
import pandas as pd

from cosim.study.junit import junit
from cosim.study.running import FAILED


def test_a_case_is_a_test():
    rows = {
        "status": ["done", "done", FAILED, "done", FAILED],
        "message": ["", "", 'it "blew" <up>\tat\n1 s\r\x08!', "", "no"],
        "wall_time": [0.25, 1.0, np.nan, 2.0, 0.5],
        "small": [True, False, False, False, False], "small.robustness": [1.0, -0.5, np.nan, -2.0, np.nan],
        "fast": [True, True, False, False, False], "fast.robustness": [1.0, 0.5, np.nan, -1 / 3, np.nan],
    }  # fmt: skip
    manifest = SimpleNamespace(requirements=["small", "fast"], name="a & b", count=7)
    view = SimpleNamespace(
        store=SimpleNamespace(manifest=manifest), table=pd.DataFrame(rows, index=[0, 1, 2, 4, 6])
    )
    whole = ET.fromstring(junit(view))
    (suite,) = whole
    counts = {"tests": "7", "failures": "2", "errors": "2", "skipped": "2"}
    assert whole.attrib == counts and suite.attrib == counts | {"name": "a & b"}
    cases = {case.get("name"): case for case in suite}
    assert list(cases) == [f"case {k}" for k in (0, 1, 2, 4, 6, 3, 5)]
    assert {case.get("classname") for case in suite} == {"a & b"}
    inside = {
        name: [(part.tag, part.get("message"), part.text) for part in case] for name, case in cases.items()
    }
    assert inside["case 0"] == [] and cases["case 0"].get("time") == "0.250000"
    assert inside["case 1"] == [("failure", "not met: small", "small: margin -0.5")]
    assert (
        inside["case 2"] == [("error", 'it "blew" <up>\tat\n1 s\r!', None)]
        and cases["case 2"].get("time") == "0"
    )
    assert inside["case 4"] == [
        ("failure", "not met: small, fast", "small: margin -2; fast: margin -0.333333")
    ]
    assert inside["case 6"][0][:2] == ("error", "no")
    assert inside["case 3"] == inside["case 5"] == [("skipped", "not run", None)]
