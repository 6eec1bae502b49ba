// Tables of texts and numbers: sorted by a click on a column, filtered by words and conditions, page by page.
viewer.PAGE = 100; // rows that are shown at once

// "speed > 3 & controller" : conditions on columns and words in any cell, all of which must hold
viewer.filterOf = (text, columns) => {
  const wanted = text.split("&").map((part) => part.trim()).filter(Boolean).map((part) => {
    const found = /^(.+?)\s*(<=|>=|!=|=|<|>)\s*(.*)$/.exec(part), k = found ? columns.findIndex((c) => c === found[1].trim() || c.replace(/ \[.*\]$/, "") === found[1].trim()) : -1;
    if (k < 0) return (row) => row.some((v) => v != null && String(v).toLowerCase().includes(part.toLowerCase()));
    const [, , sign, given] = found, number = given === "" ? NaN : Number(given);
    const compare = { "<": (a, b) => a < b, ">": (a, b) => a > b, "<=": (a, b) => a <= b, ">=": (a, b) => a >= b, "=": (a, b) => a === b, "!=": (a, b) => a !== b }[sign];
    return (row) => {
      const v = row[k];
      if (typeof v === "number" && Number.isFinite(number)) return compare(v, number);
      return compare(v == null ? "" : typeof v === "boolean" ? (v ? "true" : "false") : String(v), given);
    };
  });
  return (row) => wanted.every((holds) => holds(row));
};

viewer.cell = (v) => (v == null ? "" : typeof v === "number" ? viewer.shown(v) : typeof v === "boolean" ? (v ? "met" : "not met") : String(v));

// returns { show(keep) , rows() }: rows as they are shown now, in order
viewer.table = (place, columns, rows, { onrow = null, onchange = null, mark = null, filter = true } = {}) => {
  let by = -1, up = true, page = 0, text = "", also = null, kept = rows;
  const head = viewer.element("tr"), body = viewer.element("tbody"), where = viewer.element("span", { class: "where" });
  const box = viewer.element("input", { type: "search", class: "filter", placeholder: "filter: words, column > 3 & ...", "aria-label": "filter rows" });
  const turn = (d) => { page += d; draw(); };
  const bar = viewer.element("div", { class: "bar" }, filter ? box : null, viewer.element("button", { title: "rows before", onclick: () => turn(-1) }, "‹"), viewer.element("button", { title: "rows after", onclick: () => turn(1) }, "›"), where);
  place.append(bar, viewer.element("div", { class: "sheet" }, viewer.element("table", {}, viewer.element("thead", {}, head), body)));
  columns.forEach((name, k) => head.append(viewer.element("th", { tabindex: 0, title: "sort by " + name, onclick: () => sort(k), onkeydown: (e) => { if (e.key === "Enter") sort(k); } }, name)));
  box.addEventListener("input", () => { text = box.value; page = 0; change(); });
  function sort(k) { up = by === k ? !up : true; by = k; draw(); }
  function change() {
    const holds = viewer.filterOf(text, columns);
    kept = rows.filter((row) => (!also || also(row)) && holds(row));
    draw();
    onchange?.(kept);
  }
  function sorted() {
    if (by < 0) return kept;
    return kept.slice().sort((a, b) => {
      const p = a[by], q = b[by];
      if (p === q) return 0;
      if (p == null) return 1;
      if (q == null) return -1;
      return (p < q ? -1 : 1) * (up ? 1 : -1);
    });
  }
  function draw() {
    const list = sorted(), last = Math.max(0, Math.ceil(list.length / viewer.PAGE) - 1);
    page = Math.min(Math.max(page, 0), last);
    where.textContent = `${list.length} of ${rows.length}` + (last ? `, page ${page + 1} of ${last + 1}` : "");
    [...head.children].forEach((h, k) => { h.dataset.sorted = k === by ? (up ? "▲" : "▼") : ""; });
    body.replaceChildren(...list.slice(page * viewer.PAGE, (page + 1) * viewer.PAGE).map((row) => {
      const found = viewer.element("tr", { class: mark?.(row) ?? "" }, ...row.slice(0, columns.length).map((v) => viewer.element("td", { class: typeof v === "number" ? "number" : "" }, viewer.cell(v))));
      if (onrow) {
        found.tabIndex = 0;
        found.addEventListener("click", () => onrow(row));
        found.addEventListener("keydown", (e) => { if (e.key === "Enter") onrow(row); });
      }
      return found;
    }));
  }
  change();
  return {
    state: () => ({ by, up, page, text, scrolled: place.scrollTop }),
    restore: (s) => { ({ by, up, text } = s); box.value = text; change(); page = s.page; draw(); place.scrollTop = s.scrolled; },
    rows: sorted, redraw: draw, keep: (f) => { also = f; page = 0; change(); }, filter: (t) => { box.value = text = t; page = 0; change(); },
  };
};

// a room of its own for the tables of the contents, one under a name at a time
viewer.tables = (tables) => {
  const room = document.getElementById("tables"), place = room.querySelector(".canvas"), tools = room.querySelector(".tools");
  const show = (t) => {
    place.replaceChildren();
    viewer.shownTable = viewer.table(place, t.columns, t.rows);
    [...tools.children].forEach((b) => b.classList.toggle("on", b.textContent === t.name));
  };
  tools.replaceChildren(...tables.map((t) => viewer.element("button", { onclick: () => show(t) }, t.name)));
  show(tables[0]);
};
