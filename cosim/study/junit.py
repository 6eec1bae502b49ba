"""The verdicts of a study as JUnit XML, which continuous integration reads: a test per case."""

from __future__ import annotations

from typing import Any
from xml.sax.saxutils import escape, quoteattr

from cosim.study.running import FAILED
from cosim.study.study_view import StudyView

ALLOWED = {9, 10, 13}  # control characters that XML can hold


def junit(view: StudyView) -> str:
    """The text of the file: a case that failed is an error, one that misses requirements is a failure.

    Cases that were not run are skipped tests.
    """
    m, table = view.store.manifest, view.table
    names = list(m.requirements)
    cases, failures, errors = [], 0, 0
    for number, row in table.iterrows():
        unmet = [n for n in names if not row[n]]
        inside = ""
        if row["status"] == FAILED:
            errors += 1
            inside = f"<error message={_quoted(row['message'])}/>"
        elif unmet:
            failures += 1
            margins = "; ".join(f"{n}: margin {row[f'{n}.robustness']:.6g}" for n in unmet)
            inside = f"<failure message={_quoted('not met: ' + ', '.join(unmet))}>{escape(margins)}</failure>"
        time = f"{float(row['wall_time']):.6f}" if row["wall_time"] == row["wall_time"] else "0"
        cases.append(
            f'<testcase classname={_quoted(m.name)} name="case {number}" time="{time}">{inside}</testcase>'
        )
    missing = sorted(set(range(m.count)) - set(table.index))
    cases += [
        f'<testcase classname={_quoted(m.name)} name="case {k}"><skipped message="not run"/></testcase>'
        for k in missing
    ]
    counts = f'tests="{m.count}" failures="{failures}" errors="{errors}" skipped="{len(missing)}"'
    body = "\n".join(cases)
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites {counts}>\n'
        f"<testsuite name={_quoted(m.name)} {counts}>\n{body}\n</testsuite>\n</testsuites>\n"
    )


def _quoted(text: Any) -> str:
    return quoteattr("".join(c for c in str(text) if ord(c) >= 32 or ord(c) in ALLOWED))
