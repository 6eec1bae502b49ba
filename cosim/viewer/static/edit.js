// Editing a scenario: blocks from the library, wires, names, fields; every change is checked by the server.
viewer.beginners = [...(viewer.beginners ?? []), async () => {
  const { element } = viewer, edit = (viewer.edit = { said: "", state: {}, picked: null });
  let socket = null, count = 0, waiting = new Map(), blocks = [], run = [], settingsShown = false, chosen = null, diagram = viewer.content.diagram, lost = 0;

  // --- the bar, the library and the chosen block -----------------------------------------------------------
  const button = (text, title, what) => element("button", { title, "data-edit": what, onclick: () => edit.do(what) }, text);
  const said = element("span", { class: "said", "data-edit": "said" }), unsaved = element("span", { "data-edit": "unsaved" });
  const disk = element("span", { hidden: true, "data-edit": "disk" }, "the file was changed on disk ", button("load it", "undo brings your text back", "reload"));
  const shownText = element("pre", { id: "edit-text", hidden: true });
  const foot = element("footer", { id: "edit" }, button("undo", "ctrl-z", "undo"), button("redo", "ctrl-y", "redo"), button("save", "ctrl-s", "save"),
    element("button", { title: "how long, solver, parameters, initial values", "data-edit": "settings", onclick: () => settings() }, "settings"),
    element("button", { "data-edit": "text", onclick: () => { shownText.hidden = !shownText.hidden; } }, "text"), unsaved, disk, said);
  const search = element("input", { type: "search", placeholder: "search the library", "aria-label": "search the library", oninput: () => list() });
  const found = element("div", { class: "found" }), form = element("div", { class: "form" });
  const panel = element("aside", { id: "library" }, search, found, form);
  const rooms = document.getElementById("rooms"), work = element("div", { id: "work" });
  rooms.before(work); // between the head and the bar, which grows with what it says
  work.append(panel, rooms, shownText);
  document.body.append(foot);
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey && e.key === "s") { e.preventDefault(); edit.do("save"); }
    if (/INPUT|SELECT|TEXTAREA/.test(e.target.tagName)) return;
    if (e.ctrlKey && e.key === "z") { e.preventDefault(); edit.do("undo"); }
    if (e.ctrlKey && e.key === "y") { e.preventDefault(); edit.do("redo"); }
    if (e.key === "Delete" && chosen && edit.state.blocks?.[chosen]) edit.do("delete", { block: chosen });
    if (e.key === "Escape") pick(null);
  });
  function note(text, bad = false) {
    said.textContent = edit.said = text;
    said.classList.toggle("bad", bad);
  }
  edit.do = (what, given = {}) => new Promise((resolve) => {
    if (!socket || socket.readyState !== WebSocket.OPEN) { note("no connection to the file", true); resolve(null); return; }
    waiting.set(++count, resolve);
    socket.send(JSON.stringify({ do: what, number: count, ...given }));
  });

  let redrawn = false; // a field that is taken out says that it changed: half of a value is none
  const changes = (input, change) => {
    input.addEventListener("input", () => { input.sent = false; });
    input.addEventListener("change", () => { if (!redrawn) { input.sent = true; change(); } });
  };
  const redraw = (make) => { // what is being typed stays where it is
    const typed = form.contains(document.activeElement) && document.activeElement.tagName === "INPUT" ? document.activeElement : null;
    const key = (i) => JSON.stringify([i.dataset.field, i.dataset.setting, i.dataset.new]);
    const kept = typed && !typed.sent && typed.value !== typed.defaultValue ? { value: typed.value, ends: [typed.selectionStart, typed.selectionEnd] } : null;
    redrawn = true;
    make();
    redrawn = false;
    const next = typed && [...form.querySelectorAll("input")].find((i) => key(i) === key(typed));
    if (!next) return;
    next.focus();
    if (kept) { next.value = kept.value; next.setSelectionRange(...kept.ends); }
  };

  function list() {
    const text = search.value.toLowerCase();
    const hits = blocks.filter((b) => (b.type + " " + b.line).toLowerCase().includes(text));
    found.replaceChildren(...hits.map((b) => element("div", { class: "entry", "data-type": b.type, onclick: () => fresh(b) }, element("b", {}, b.type), " ", element("span", {}, b.line))));
  }
  const field = (name, value, hint, change) => {
    const input = element("input", { defaultValue: value, placeholder: hint, "data-field": name, "aria-label": name, spellcheck: false });
    if (change) changes(input, () => change(input.value).then((a) => refused(input, a)));
    return element("label", {}, element("span", {}, name), input);
  };
  const refused = (input, answer) => input.setAttribute("aria-invalid", String(answer?.kind !== "done"));
  function settings() { // [run], [parameters] and [initial]
    [chosen, settingsShown] = [null, true];
    const row = (table, name, value, hint, title) => {
      const input = element("input", { defaultValue: value, placeholder: hint, title, "data-setting": table + "." + name, "aria-label": table + " " + name, spellcheck: false });
      changes(input, () => edit.do("setting", { table, name, value: input.value }).then((a) => { if (a?.kind !== "done") input.value = value; }));
      return element("label", { title }, element("span", {}, name), input);
    };
    const more = (table) => { // another value: a name of the diagram, and what it gets
      const names = element("datalist", { id: "names-of-" + table }, ...(edit.state.names?.[table] ?? []).map((n) => element("option", { value: n })));
      const name = element("input", { placeholder: "name", list: names.id, "data-new": table + ".name", "aria-label": table + ": another name", spellcheck: false });
      const value = element("input", { placeholder: "value", "data-new": table + ".value", "aria-label": table + ": its value", spellcheck: false });
      const give = () => { if (name.value && value.value) edit.do("setting", { table, name: name.value, value: value.value }); };
      for (const input of [name, value]) changes(input, give);
      return element("label", {}, name, value, names);
    };
    const given = edit.state.settings ?? {}, parts = [];
    for (const table of Object.keys(given)) {
      parts.push(element("h4", {}, "[" + table + "]"));
      if (table === "run") parts.push(...run.map((k) => row(table, k.name, given.run[k.name] ?? "", k.default || (k.name === "until" ? "needed" : ""), k.text)));
      else parts.push(...Object.entries(given[table]).map(([name, value]) => row(table, name, value, "", "empty: taken out")), more(table));
    }
    form.replaceChildren(...parts);
  }
  function fresh(b) { // a form for a new block
    [chosen, settingsShown] = [null, false];
    const names = new Set(Object.keys(edit.state.blocks ?? {})), stem = b.type.replace(/[^A-Za-z0-9]/g, "").toLowerCase();
    let name = stem, k = 1;
    while (names.has(name) || diagram.root.nodes.some((n) => n.name === name)) name = stem + ++k;
    const rows = b.fields.map((f) => field(f.name, "", f.default === null ? "needed" : f.default));
    const add = () => {
      const value = (n) => form.querySelector(`[data-field="${n}"]`).value;
      const fields = Object.fromEntries(b.fields.map((f) => [f.name, value(f.name)]));
      edit.do("add", { name: value("name of the block"), type: b.type, fields }).then((a) => { if (a?.kind === "done") chosen = value("name of the block"); });
    };
    form.replaceChildren(element("h4", {}, "new " + b.type), field("name of the block", name, ""), ...rows, element("button", { "data-edit": "add", onclick: add }, "add"));
  }
  function show(path) { // the chosen block: name, fields, wires
    [chosen, settingsShown] = [path, false];
    const n = diagram.root.nodes.find((m) => m.path === path), own = edit.state.blocks?.[path];
    if (!n) { form.replaceChildren(); return; }
    const parts = [element("h4", {}, path + ": " + n.type)];
    if (own) {
      parts.push(field("name", path, "", (to) => edit.do("rename", { block: path, to }).then((a) => { if (a?.kind === "done") chosen = to; else show(path); return a; })));
      const known = blocks.find((b) => JSON.stringify(b.type) === own.type)?.fields ?? [];
      for (const f of known) parts.push(field(f.name, own[f.name] ?? "", f.default ?? "needed", (value) => edit.do("set", { block: path, field: f.name, value })));
      parts.push(element("button", { "data-edit": "delete", onclick: () => edit.do("delete", { block: path }) }, "delete"));
    }
    const sources = diagram.root.nodes.flatMap((m) => m.outputs.map((p) => m.path + "." + p.name));
    for (const p of n.inputs) {
      const into = path + "." + p.name, wire = diagram.root.edges.find((e) => e.to[0] === path && e.to[1] === p.name), from = wire ? wire.from.join(".") : "";
      const grounded = (diagram.grounded ?? []).includes(into);
      const select = element("select", { "data-port": into, "aria-label": into });
      for (const [v, t] of [["", "not connected"], ["ground", "ground"], ...sources.map((s) => [s, s])]) select.append(element("option", { value: v, selected: v === (grounded ? "ground" : from) }, t));
      select.addEventListener("change", async () => {
        if (from || grounded) { const a = await edit.do("unwire", { to: into }); if (a?.kind !== "done") return; }
        if (select.value === "ground") edit.do("ground", { to: into });
        else if (select.value) edit.do("wire", { from: select.value, to: into });
      });
      parts.push(element("label", {}, element("span", {}, "→ " + p.name), select));
    }
    form.replaceChildren(...parts);
  }
  viewer.on("selected", (n) => { if (!n.path.includes("/")) show(n.path); });

  // --- wires by clicking two ports -------------------------------------------------------------------------
  function pick(port) {
    document.querySelectorAll("#diagram circle.picked").forEach((c) => c.classList.remove("picked"));
    edit.picked = port?.id ?? null;
    port?.circle.classList.add("picked");
  }
  document.querySelector("#diagram .canvas").addEventListener("click", (e) => {
    const circle = document.elementsFromPoint(e.clientX, e.clientY).find((c) => c.dataset?.port); // wires lie over it
    if (!circle) return;
    e.stopPropagation();
    const id = circle.dataset.port, first = edit.picked;
    if (!first || first[0] === id[0]) { pick({ id, circle }); return; }
    const [out, into] = (first[0] === "o" ? [first, id] : [id, first]).map((p) => p.split("|").slice(1).join("."));
    pick(null);
    edit.do("wire", { from: out, to: into });
  }, true);

  // --- the socket ------------------------------------------------------------------------------------------
  async function draw(message) {
    diagram = message.diagram;
    edit.state = message.state;
    unsaved.textContent = message.state.unsaved ? "not saved" : "";
    foot.querySelector("[data-edit=undo]").disabled = !message.state.undo;
    foot.querySelector("[data-edit=redo]").disabled = !message.state.redo;
    shownText.textContent = message.state.text ?? message.state.problems;
    await viewer.changeDiagram(diagram);
    if (settingsShown) redraw(settings); else if (chosen) redraw(() => show(chosen));
    edit.drawn = (edit.drawn ?? 0) + 1;
  }
  let drawing = Promise.resolve();
  function open() {
    socket = new WebSocket(location.href.replace(/^http/, "ws").replace(/[#?].*$/, "").replace(/\/?$/, "/socket"));
    socket.onopen = () => { lost = 0; note(""); };
    socket.onmessage = (event) => {
      const message = JSON.parse(event.data);
      if (message.kind === "library") { ({ blocks, run } = message); list(); }
      else if (message.kind === "diagram") drawing = drawing.then(() => draw(message));
      else if (message.kind === "disk") disk.hidden = !message.changed;
      else {
        waiting.get(message.number)?.(message);
        waiting.delete(message.number);
        note(message.text ?? "", message.kind === "refused");
      }
    };
    socket.onclose = () => {
      waiting.forEach((resolve) => resolve(null));
      waiting = new Map();
      note("the file is not reached, trying again", true);
      if (++lost < 60) setTimeout(open, Math.min(5000, 250 * lost));
    };
  }
  open();
  for (let k = 0; k < 200 && !edit.drawn; k++) await new Promise((r) => setTimeout(r, 25));
}];
