// A run under way: its socket, the buttons that steer it, and curves and poses that grow.
viewer.isLive = true;
viewer.beginners = [...(viewer.beginners ?? []), async () => {
  const { element } = viewer, result = viewer.content.result, plants = viewer.content.plants ?? [];
  const live = (viewer.live = { state: {}, rows: 0, hello: null, following: true, said: "" });
  let socket = null, count = 0, wanted = 60, table = null, lost = 0, waiting = new Map();

  // --- the bar ---------------------------------------------------------------------------------------------
  const button = (text, title, what) => element("button", { title, "data-live": what, onclick: () => live.do(what) }, text);
  const play = element("button", { title: "play or pause (space)", "data-live": "play", onclick: () => toggle() }, "▶");
  const bar = element("input", { type: "range", min: 0, max: 1, step: "any", value: 0, "aria-label": "time", "data-live": "time" });
  const now = element("output", {}), pace = element("select", { "data-live": "pace", title: "simulated seconds per second" });
  for (const p of [0.01, 0.1, 0.25, 0.5, 1, 2, 5, 10, 100, 1000]) pace.append(element("option", { value: p, selected: p === 1 }, p + "×"));
  const window_ = element("select", { title: "how much of the past the scopes show", "data-live": "window" });
  for (const [v, t] of [["", "all"], [1, "1 s"], [5, "5 s"], [20, "20 s"], [100, "100 s"]]) window_.append(element("option", { value: v }, t));
  const said = element("span", { class: "said", "data-live": "said" });
  const foot = element("footer", { id: "live" }, button("|◀", "back to the start; what was changed stays (r)", "reset"), button("◀", "back to the stop before (b)", "back"),
    play, button("▶|", "to the next tick (n)", "step"), bar, now, element("label", {}, "pace ", pace), element("label", {}, "window ", window_),
    element("button", { title: "go on from the time of the cursor", "data-live": "here", onclick: () => live.do("back", { to: viewer.time }) }, "go on from here"),
    element("button", { title: "write the session as a scenario that replays it exactly", "data-live": "save", onclick: () => live.do("save") }, "save session"), said);
  document.getElementById("clock").hidden = true;
  document.body.append(foot);
  const toggle = () => live.do(live.state.playing ? "pause" : "play");
  pace.addEventListener("change", () => live.do("pace", { value: Number(pace.value) }));
  bar.addEventListener("input", () => { live.following = Number(bar.value) >= viewer.end; viewer.setTime(Number(bar.value)); });
  window_.addEventListener("change", () => show());
  document.addEventListener("keydown", (e) => {
    if (/INPUT|SELECT|TEXTAREA/.test(e.target.tagName) && e.target.type !== "range") return;
    if (e.key === " ") { e.preventDefault(); toggle(); }
    else if (e.key === "n") live.do("step");
    else if (e.key === "b") live.do("back");
    else if (e.key === "r") live.do("reset");
    else if (e.key === "End") { live.following = true; viewer.setTime(viewer.end); }
  });
  viewer.on("time", (t) => { bar.value = t; now.textContent = viewer.instant(t); });

  // --- asking, and being answered --------------------------------------------------------------------------
  live.do = (what, given = {}) => new Promise((resolve) => {
    if (!socket || socket.readyState !== WebSocket.OPEN) { note("no connection to the run", true); resolve(null); return; }
    if (what === "play") live.following = true;
    waiting.set(++count, resolve);
    socket.send(JSON.stringify({ do: what, number: count, ...given }));
  });
  function note(text, bad = false) {
    said.textContent = live.said = text;
    said.classList.toggle("bad", bad);
  }
  function state(message) {
    Object.assign(live.state, message);
    play.textContent = message.playing ? "❚❚" : "▶";
    if (document.activeElement !== pace && [...pace.options].some((o) => Number(o.value) === message.pace)) pace.value = message.pace;
    if (message.ended) note(message.ended, true);
    else if (message.playing) note(Math.abs(message.factor / message.pace - 1) > 0.05 && message.factor > 0 ? `${viewer.shown(Number(message.factor.toPrecision(2)))}× reached` : "");
    else if (said.classList.contains("bad") && !said.dataset.refused) note("");
  }

  // --- what was seen: columns of time, signals, poses ------------------------------------------------------
  const columns = []; // one growing array for each
  function room(rows) {
    if (rows <= table) return;
    while (table < rows) table *= 2;
    columns.forEach((c, k) => { const bigger = new Float64Array(table); bigger.set(c.subarray(0, Math.min(c.length, live.rows))); columns[k] = bigger; });
    const longer = (old, width) => { const bigger = new Float64Array(table * width); bigger.set(old.subarray(0, live.rows * width)); return bigger; };
    for (const p of plants.filter((q) => q.all)) Object.assign(p, { all: longer(p.all, p.width), arrowRows: longer(p.arrowRows, p.arrowWidth) });
  }
  function hello(message) {
    live.hello = message;
    live.rows = 0;
    viewer.tell("cut", 0);
    table = 1024;
    columns.length = 0;
    const scalars = message.width - message.plants.reduce((n, [, poses, arrows]) => n + poses + arrows, 0);
    for (let k = 0; k < scalars; k++) columns.push(new Float64Array(table));
    for (const [path, width, arrowWidth] of message.plants) {
      const p = plants.find((q) => q.path === path);
      if (p) Object.assign(p, { width, all: new Float64Array(table * width), arrowWidth, arrowRows: new Float64Array(table * arrowWidth) });
    }
    viewer.tell("live-hello", message);
  }
  function rows(buffer) {
    const values = new Float64Array(buffer), width = live.hello.width, n = values.length / width;
    room(live.rows + n);
    for (let i = 0; i < n; i++) {
      const row = live.rows + i, from = i * width;
      for (let k = 0; k < columns.length; k++) columns[k][row] = values[from + k];
      let at = from + columns.length;
      for (const [path, w, a] of live.hello.plants) {
        const p = plants.find((q) => q.path === path);
        p?.all.set(values.subarray(at, at + w), row * w);
        p?.arrowRows.set(values.subarray(at + w, at + w + a), row * a);
        at += w + a;
      }
    }
    live.rows += n;
    show();
  }
  let due = false;
  function show() { // once a frame at most
    if (due || !live.rows) return;
    due = true;
    requestAnimationFrame(() => { due = false; redraw(); });
  }
  function redraw() {
    const n = live.rows, time = columns[0].subarray(0, n);
    let k = 1;
    for (const s of result.signals) {
      s.components.forEach((name, i) => {
        const found = viewer.signals.get(name);
        if (!found) return;
        Object.assign(found, { time, values: columns[k + i].subarray(0, n), samples: null });
        delete found.low;
        delete found.high;
      });
      k += s.components.length;
    }
    for (const p of plants) if (p.all) { p.count = n; p.rows = p.all; p.moving = true; }
    viewer.begin = time[0];
    viewer.end = time[n - 1];
    Object.assign(bar, { min: viewer.begin, max: Math.max(viewer.end, viewer.begin + 1e-9) });
    viewer.tell("grown", time);
    const span = Number(window_.value) || Infinity;
    viewer.look?.(Math.max(viewer.begin, viewer.end - span), viewer.end);
    if (live.following) viewer.setTime(viewer.end); else viewer.setTime(viewer.time);
    live.drawn = performance.now();
    viewer.tell("live-drawn", n);
  }

  // --- the socket: it is opened again when it is lost ------------------------------------------------------
  function open() {
    socket = new WebSocket(location.href.replace(/^http/, "ws").replace(/[#?].*$/, "").replace(/\/?$/, "/socket"));
    socket.binaryType = "arraybuffer";
    socket.onopen = () => { lost = 0; note(""); };
    socket.onmessage = (event) => {
      if (typeof event.data !== "string") { rows(event.data); return; }
      const message = JSON.parse(event.data);
      if (message.kind === "hello") hello(message);
      else if (message.kind === "state") state(message);
      else if (message.kind === "cut") { live.rows = message.rows; live.following = true; viewer.tell("cut", live.rows); show(); }
      else if (message.kind === "values") viewer.tell("live-values", message.values);
      else if (message.kind === "done" || message.kind === "refused") {
        waiting.get(message.number)?.(message);
        waiting.delete(message.number);
        if (message.kind === "refused") { note(message.text, true); said.dataset.refused = "1"; }
        else if (message.text) { delete said.dataset.refused; note(message.text); }
        else delete said.dataset.refused;
      } else viewer.tell("live-" + message.kind, message);
    };
    socket.onclose = () => {
      waiting.forEach((resolve) => resolve(null));
      waiting = new Map();
      lost += 1;
      note("the run is not reached" + (lost < wanted ? ", trying again" : ""), true);
      if (lost < wanted) setTimeout(open, Math.min(5000, 250 * lost));
    };
  }
  live.close = () => { wanted = 0; socket.close(); };
  await new Promise((ready) => { viewer.on("live-drawn", ready); open(); setTimeout(ready, 5000); });
}];
