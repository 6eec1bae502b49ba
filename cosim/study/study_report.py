"""A study as one self-contained HTML page: ``cosim report DIR``."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from blocks.errors import PlantloopError
from cosim.study import report_pictures as pictures
from cosim.study.sensitivity import sensitivity
from cosim.study.study_view import StudyView
from cosim.version import __version__

LISTED = 10_000  # cases in the table of the page
WORST = 10
SHARES = (0, 5, 50, 95, 100)  # per cent of the values of a metric
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>%(title)s</title><style>
body{font:15px/1.45 system-ui,sans-serif;margin:2em auto;max-width:1150px;padding:0 1em;color:#222}
h1{margin-bottom:.1em}h2{margin-top:1.6em;border-bottom:1px solid #ccc}img{max-width:100%%;vertical-align:top}
table{border-collapse:collapse;font-size:13px;display:block;overflow-x:auto}
td,th{padding:2px 9px;border-bottom:1px solid #e4e4e4;text-align:right;white-space:nowrap}
th{cursor:pointer;background:#f5f5f5}
td:first-child,th:first-child{text-align:left}.bad{color:#b3261e}
code{background:#f2f2f2;padding:1px 4px}
button{margin-right:.4em}</style></head><body>
<h1>%(title)s</h1><p>%(summary)s</p>
%(body)s
<h2>Cases</h2><p><label><input type="checkbox" id="only"> only those that failed or miss a requirement</label>
<button id="back">&lt;</button><button id="next">&gt;</button><span id="where"></span>
Click on a case for its command: <code id="command"></code></p>
<table><thead id="head"></thead><tbody id="rows"></tbody></table>
<script type="application/json" id="data">%(data)s</script><script>
"use strict";
const d=JSON.parse(document.getElementById("data").textContent),size=50;let page=0,by=0,up=true;
const $=n=>document.getElementById(n);
function shown(){let r=d.rows;if($("only").checked)r=r.filter(x=>x[x.length-1]);
return r.slice().sort((a,b)=>{const p=a[by],q=b[by];if(p===q)return a[0]-b[0];
if(p===null)return 1;if(q===null)return -1;return (p<q?-1:1)*(up?1:-1)})}
function draw(){const r=shown(),last=Math.max(0,Math.ceil(r.length/size)-1);
page=Math.min(Math.max(page,0),last);
$("where").textContent=" "+r.length+" cases, page "+(page+1)+" of "+(last+1)+". ";
const head=document.createElement("tr");
d.columns.forEach((c,k)=>{const h=document.createElement("th");h.textContent=c;
h.onclick=()=>{up=by===k?!up:true;by=k;draw()};head.append(h)});$("head").replaceChildren(head);
$("rows").replaceChildren(...r.slice(page*size,(page+1)*size).map(x=>{const row=document.createElement("tr");
if(x[x.length-1])row.className="bad";x.slice(0,-1).forEach(v=>{const c=document.createElement("td");
c.textContent=v===null?"":typeof v==="boolean"?(v?"met":"not met"):v;row.append(c)});
row.onclick=()=>{$("command").textContent=d.command.join(x[0])};return row}))}
$("only").onchange=()=>{page=0;draw()};$("back").onclick=()=>{page--;draw()};$("next").onclick=()=>{page++;draw()};draw();
</script></body></html>
"""


def report(view: StudyView) -> str:
    """The text of the page."""
    m, table = view.store.manifest, view.table
    failed = view.failed
    status = [str(s) for s in table["status"]]
    counts = [f"{status.count(s)} {s}" for s in ("done", "stopped", "failed")]
    missing = m.count - len(table)
    summary = f"{m.count} cases: {', '.join(c for c in counts if not c.startswith('0 '))}"
    summary += f", {missing} missing" if missing else ""
    summary += (
        f". {len(failed)} failed or miss a requirement." if len(failed) else ". All requirements are met."
    )
    body = "\n".join(f"<h2>{title}</h2>\n{content}" for title, content in _sections(view) if content)
    command = m.command("\0", view.store.folder.url).split("\0")  # before and after the number
    data = {"columns": _columns(view), "rows": _rows(view), "command": command}
    text = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return PAGE % {"title": html.escape(m.name), "summary": html.escape(summary), "body": body, "data": text}


def _sections(view: StudyView) -> Iterator[tuple[str, str]]:
    if not len(view.table):
        yield "Nothing is done yet", "<p>Run <code>cosim sweep</code>.</p>"
        return
    yield "Requirements", _requirements(view) + pictures.matrix(view)
    yield "Metrics", _metrics(view)
    yield "Distributions", " ".join(pictures.distributions(view))
    if view.store.manifest.stored:
        yield "Signals: percentiles over all cases, worst cases in red", " ".join(pictures.envelopes(view))
    yield "Worst cases", _worst(view)
    yield "Metrics over parameters", " ".join(pictures.scatters(view))
    yield "Parallel coordinates", pictures.parallel(view)
    yield "Sensitivity", _sensitivity(view)
    yield "What was run", _made_of(view)


def _requirements(view: StudyView) -> str:
    rows = []
    for name in view.store.manifest.requirements:
        met, margin = view.table[name].to_numpy(dtype=bool), view.column(f"{name}.robustness")
        some = margin[~np.isnan(margin)]
        least = f"{some.min():.6g}" if len(some) else ""
        rows.append((name, f"{met.sum()} of {len(met)}", least, "" if met.all() else "bad"))
    return _table(("requirement", "met by", "least margin"), rows) if rows else ""


def _metrics(view: StudyView) -> str:
    rows = []
    for name in view.store.manifest.metrics:
        values = view.column(name)
        some = values[np.isfinite(values)]
        shown = [f"{v:.6g}" for v in np.percentile(some, SHARES)] if len(some) else [""] * len(SHARES)
        rows.append((name, *shown, f"{len(values) - len(some)}", ""))
    return (
        _table(("metric", "least", "5 %", "median", "95 %", "largest", "without a value"), rows)
        if rows
        else ""
    )


def _worst(view: StudyView) -> str:
    table, m = view.table, view.store.manifest
    rows = []
    for k in pictures.worst(view, WORST):
        row = table.loc[k]
        margins = [f"{row[f'{n}.robustness']:.6g}" for n in m.requirements]
        numbers = [f"{row[n]:.6g}" for n in m.parameters]
        bad = row["status"] == "failed" or not all(row[n] for n in m.requirements)
        command = f"<code>{html.escape(m.command(int(k), view.store.folder.url))}</code>"
        rows.append(
            (f"{k}", *numbers, *margins, str(row["message"])[:80], _Raw(command), "bad" if bad else "")
        )
    return _table(
        (
            "case",
            *map(m.titled, m.parameters),
            *(f"margin of {n}" for n in m.requirements),
            "message",
            "command",
        ),
        rows,
    )


def _sensitivity(view: StudyView) -> str:
    found = []
    m = view.store.manifest
    for name in (*m.metrics, *(f"{r}.robustness" for r in m.requirements)):
        try:
            frame = sensitivity(view, name)
        except PlantloopError:
            continue
        rows = [
            (str(n), *(f"{v:.3g}" for v in row), "")
            for n, row in zip(frame.index, frame.to_numpy(), strict=True)
        ]
        found.append(f"<h3>{html.escape(name)}</h3>{_table(('parameter', *map(str, frame.columns)), rows)}")
    return "".join(found)


def _made_of(view: StudyView) -> str:
    m = view.store.manifest
    rows: list[Any] = [(name, value, "") for name, value in m.fingerprints.items()]
    rows += [(f"file {name}", f"sha256 {value[:16]}", "") for name, value in m.files.items()]
    rows.append(("report by", f"plantloop {__version__}", ""))
    return _table(("part", "fingerprint"), rows)


class _Raw(str):
    """Text that is HTML already."""


def _table(head: tuple[str, ...], rows: list[Any]) -> str:
    """An HTML table; the last entry of a row is its class."""
    cell = lambda v: v if isinstance(v, _Raw) else html.escape(str(v))
    lines = ["<table><tr>" + "".join(f"<th>{html.escape(h)}</th>" for h in head) + "</tr>"]
    for *values, style in rows:
        lines.append(f'<tr class="{style}">' + "".join(f"<td>{cell(v)}</td>" for v in values) + "</tr>")
    return "\n".join(lines) + "</table>"


def _columns(view: StudyView) -> list[str]:
    titled = view.store.manifest.titled
    return ["case", *(titled(str(c)) for c in view.table.columns if c != "wall_time")]


def _rows(view: StudyView) -> list[list[Any]]:
    """Cases in the page's table, numbers to six digits; the last entry marks rows with a fault."""
    table, failed = view.table, set(view.failed.index)
    if len(table) > LISTED:  # those with a fault first
        bad = [k for k in table.index if k in failed][:LISTED]
        rest = [k for k in table.index if k not in failed][: LISTED - len(bad)]
        table = table.loc[sorted([*bad, *rest])]
    columns = [c for c in table.columns if c != "wall_time"]
    found = []
    for number, *values in table[columns].itertuples():
        found.append([int(number), *map(_short, values), number in failed])
    return found


def _short(value: Any) -> Any:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value) if abs(int(value)) < 2**53 else str(value)
    if isinstance(value, (float, np.floating)):
        if np.isnan(value):
            return None
        return float(f"{value:.6g}") if np.isfinite(value) else str(value)
    return str(value)[:120]
