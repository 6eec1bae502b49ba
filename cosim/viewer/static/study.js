// A study: what is selected in its table, its parallel coordinates or its scatter is selected in all of them.
// kept: what `kept` of the page before said, to select it again where there are more cases now
viewer.study = (data, kept = null) => {
  const $ = (id) => document.getElementById(id), count = data.columns[0].values.shape[0];
  const columns = data.columns.map((c) => ({ ...c, list: c.values ? viewer.numbers(c.values) : c.texts }));
  const bad = viewer.numbers(data.bad), names = columns.map((c) => c.name);
  const rows = Array.from({ length: count }, (_, i) => [...columns.map((c) => (typeof c.list[i] === "number" && Number.isNaN(c.list[i]) ? null : c.list[i])), i]);
  const numeric = columns.filter((c) => c.values && c.role !== "number" && c.list.some(Number.isFinite));
  const study = (viewer.studyState = {
    data, columns, numeric, bad, count, selected: new Uint8Array(count).fill(1), chosen: -1, filters: { table: null, parallel: null, scatter: null },
    number: (i) => columns[0].list[i],
  });
  const watchers = [];
  study.watch = (f) => watchers.push(f);
  const pass = (i, except) => Object.entries(study.filters).every(([who, f]) => who === except || !f || f(i));
  // a view says which rows it lets through (a function of the row, or null for all)
  study.filter = (who, f) => {
    study.filters[who] = f;
    if (who !== "table") table.keep((row) => pass(row[row.length - 1], "table"));
    else tell();
  };
  const tell = () => {
    for (let i = 0; i < count; i++) study.selected[i] = pass(i) ? 1 : 0;
    const n = study.selected.reduce((a, b) => a + b, 0);
    $("about").textContent = `${data.done} of ${data.count} cases done, ${bad.reduce((a, b) => a + b, 0)} failed or miss a requirement, ${n} selected`;
    watchers.forEach((f) => f());
  };
  study.colour = (i) => (study.chosen === i ? "#e69f00" : bad[i] ? "#d55e00" : "#0072b2");
  study.choose = (i) => {
    study.chosen = i;
    table.redraw();
    details();
    watchers.forEach((f) => f());
  };
  const room = $("cases"), place = room.querySelector(".canvas"), info = room.querySelector(".info");
  const table = viewer.table(place, names, rows, {
    onrow: (row) => study.choose(row[row.length - 1]),
    onchange: (kept) => {
      const here = new Set(kept.map((row) => row[row.length - 1]));
      study.filters.table = null;
      const all = rows.every((row) => here.has(row[row.length - 1]) || !pass(row[row.length - 1], "table"));
      study.filters.table = all ? null : (i) => here.has(i);
      tell();
    },
    mark: (row) => (row[row.length - 1] === study.chosen ? "on" : "") + (bad[row[row.length - 1]] ? " bad" : ""),
  });
  study.table = table;
  function details() {
    const i = study.chosen;
    info.hidden = i < 0;
    if (i < 0) return;
    const number = columns[0].list[i];
    const again = data.command.join(number);
    const line = viewer.element("code", { class: "command" }, again);
    const copy = viewer.element("button", { title: "copy the command that runs this case again", onclick: () => navigator.clipboard?.writeText(again) }, "copy");
    const of = (role) => columns.filter((c) => role.includes(c.role) && c.list[i] !== "").map((c) => viewer.element("tr", {}, viewer.element("td", {}, c.name), viewer.element("td", {}, viewer.cell(c.list[i]))));
    info.replaceChildren(...[
      viewer.element("button", { class: "drop", onclick: () => study.choose(-1) }, "×"),
      viewer.element("h3", {}, `case ${number}`),
      viewer.element("table", {}, ...of(["case", "parameter"])), viewer.element("h4", {}, "outcome"),
      viewer.element("table", {}, ...of(["metric", "requirement", "margin", "status", "message", "wall", "other"])),
      viewer.element("h4", {}, "run it again"), viewer.studyLive ? viewer.element("div", {}, viewer.element("a", { href: "case/" + number, target: "_blank", rel: "noopener", class: "open" }, "run it here, and open its page")) : null, line, copy,
    ].filter(Boolean));
  }
  room.querySelector(".tools").addEventListener("click", (e) => {
    const what = e.target.dataset.do;
    if (what === "bad") { e.target.classList.toggle("on"); study.filter("status", e.target.classList.contains("on") ? (i) => bad[i] > 0 : null); }
    if (what === "all") { room.querySelector("[data-do=bad]").classList.remove("on"); for (const who of Object.keys(study.filters)) study.filters[who] = null; study.clear?.forEach((f) => f()); table.keep(null); table.filter(""); }
    if (what === "rows") viewer.save("cases.csv", new Blob([[names, ...table.rows()].map((r) => r.slice(0, names.length).map((v) => (typeof v === "string" ? '"' + v.replaceAll('"', '""') + '"' : v ?? "")).join(",")).join("\n") + "\n"], { type: "text/csv" }));
  });
  study.clear = [];
  if (numeric.length > 1) { viewer.parallel(study); viewer.scatter(study); }
  if (data.signals.length) viewer.envelopes(study);
  study.kept = () => ({
    table: table.state(), bad: room.querySelector("[data-do=bad]").classList.contains("on"), brushes: study.brushes?.() ?? {},
    scatter: study.scatterKept?.() ?? null, signal: study.signalKept?.() ?? null, chosen: study.chosen < 0 ? null : study.number(study.chosen),
  });
  tell();
  if (!kept) return;
  table.restore(kept.table);
  if (kept.bad) room.querySelector("[data-do=bad]").click();
  for (const [name, range] of Object.entries(kept.brushes)) study.brush?.(name, range);
  if (kept.scatter) study.scatterAgain?.(kept.scatter);
  if (kept.signal) study.signalAgain?.(kept.signal);
  const again = columns[0].list.indexOf(kept.chosen);
  if (again >= 0) study.choose(again);
};
