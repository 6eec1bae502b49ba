// Everything is put together here.
(async () => {
  const $ = (id) => document.getElementById(id);
  if (matchMedia("(prefers-color-scheme: dark)").matches) document.documentElement.classList.add("dark");
  if (!document.getElementById("numbers")) await viewer.awaited();
  viewer.row = new Float64Array(await viewer.unpacked("numbers"));
  const content = JSON.parse(new TextDecoder().decode(await viewer.unpacked("content")));
  viewer.content = content;
  document.title = $("title").textContent = content.title;
  const result = content.result ?? null;
  let signals = null;
  viewer.begin = viewer.end = 0;
  if (result) {
    signals = viewer.signals = viewer.makeSignals(result);
    if (content.other) {
      for (const s of viewer.makeSignals(content.other).values()) {
        const name = `${s.name} (${content.labels[1]})`;
        if (signals.has(s.name)) signals.set(name, { ...s, name, pair: s.name });
      }
    }
    const said = Object.fromEntries(result.settings.map(([k, v]) => [k, v]));
    const run = viewer.isLive ? ["live"] : [result.statistics.steps != null ? result.statistics.steps + " steps" : null, result.events.length ? result.events.length + " events" : null, result.complete ? null : "partial"];
    const parts = [said.solver, said.engine, ...run];
    $("about").textContent = parts.filter(Boolean).join(", ") + (result.message ? ": " + result.message : "");
    viewer.clock(viewer.numbers(result.time));
  }
  const rooms = [];
  const plants = (content.plants ?? []).filter((p) => p.bodies.length);
  if (content.diagram) { rooms.push("diagram"); $("diagram").hidden = false; }
  if (plants.length) { rooms.push("motion"); $("motion").hidden = false; }
  if (result) { rooms.push("scopes"); $("scopes").hidden = false; }
  if (content.linear) { rooms.push("linear"); $("linear").hidden = false; }
  if (content.tables) { rooms.push("tables"); $("tables").hidden = false; }
  const studyRooms = ["cases", "parallel", "metrics", "envelopes"], empty = new Map(studyRooms.map((r) => [r, $(r).cloneNode(true)]));
  function roomsOf(study) {
    if (study.columns[0].values.shape[0] && study.columns.filter((c) => c.values).length > 2) return study.signals.length ? studyRooms : studyRooms.slice(0, 3);
    return study.signals.length ? ["cases", "envelopes"] : ["cases"];
  }
  if (content.study) {
    rooms.push(...roomsOf(content.study));
    rooms.forEach((r) => { $(r).hidden = false; });
  }
  viewer.renewStudy = (study) => { // more cases of a study: everything anew, what was selected selected again
    const kept = viewer.studyState.kept(), alone = rooms.length > 1 ? rooms.find((r) => $(r).classList.contains("alone")) : null;
    const typing = document.activeElement?.matches("#cases .filter") ? document.activeElement.selectionStart : null;
    content.study = study;
    rooms.splice(0, rooms.length, ...roomsOf(study));
    viewer.listeners.theme = themed.slice();
    studyRooms.forEach((r) => { $(r).replaceWith(empty.get(r).cloneNode(true)); $(r).hidden = !rooms.includes(r) || (rooms.includes(alone) && r !== alone); });
    arrange();
    viewer.study(study, kept);
    if (typing !== null) { const box = document.querySelector("#cases .filter"); box.focus(); box.setSelectionRange(typing, typing); }
  };
  const themed = (viewer.listeners.theme ?? []).slice();
  arrange();
  if (plants.length) { // the picture first: what follows takes longer
    await viewer.motion(plants, result);
    viewer.setTime(viewer.begin);
    await viewer.painted();
    performance.mark("motion");
  }
  if (result) {
    await viewer.vendor("uplot");
    viewer.scopes(result, signals);
  }
  if (content.linear) viewer.linear(content.linear);
  if (content.tables) viewer.tables(content.tables);
  if (content.study) viewer.study(content.study);
  if (content.diagram) await viewer.diagram(content.diagram, signals);
  search();
  viewer.setTime(viewer.begin);
  for (const begin of viewer.beginners ?? []) await begin();
  viewer.ready = true;
  document.documentElement.dataset.ready = "yes";

  function arrange() {
    const visible = rooms.filter((r) => !$(r).hidden);
    visible.forEach((r) => { $(r).className = "room"; });
    if (visible.length === 1) $(visible[0]).classList.add("alone");
    else if (visible.length === 2) visible.forEach((r) => $(r).classList.add("wide"));
    else if (visible.length === 3) $(visible[2]).classList.add("wide");
    $("rooms").style.gridTemplateRows = visible.length > 4 ? `repeat(${Math.ceil(visible.length / 2)}, 1fr)` : "";
  }
  $("rooms").addEventListener("dblclick", (e) => {
    const h = e.target.closest("h2");
    if (!h || e.target.closest(".tools")) return;
    const room = h.parentElement, alone = room.classList.contains("alone") && rooms.length > 1;
    rooms.forEach((r) => { $(r).hidden = !alone && r !== room.id; });
    arrange();
  });
  $("mark").hidden = !result;
  $("mark").addEventListener("click", mark);
  function mark() { // values are compared with those at the present instant, or no longer
    viewer.setMark(viewer.mark === null ? viewer.time : null);
    $("mark").classList.toggle("on", viewer.mark !== null);
  }
  $("theme").addEventListener("click", theme);
  function theme() { document.documentElement.classList.toggle("dark"); viewer.tell("theme"); }
  document.addEventListener("keydown", (e) => {
    if (/INPUT|SELECT|TEXTAREA/.test(e.target.tagName)) { if (e.key === "Escape") e.target.blur(); return; }
    if (e.key === "/") { e.preventDefault(); $("search").focus(); }
    if (e.key === "d") theme();
    if (e.key === "f") viewer.fitDiagram?.();
    if (e.key === "m" && result) mark();
  });
  function search() {
    const box = $("search"), found = $("found");
    const look = () => {
      const text = box.value.toLowerCase();
      const blocks = (viewer.blockNames ?? []).filter((n) => n.toLowerCase().includes(text)).map((n) => ["block", n]);
      const names = [...(signals?.keys() ?? [])].filter((n) => n.toLowerCase().includes(text)).map((n) => ["signal", n]);
      const hits = text ? [...blocks, ...names].slice(0, 30) : [];
      found.replaceChildren(...hits.map(([kind, n]) => viewer.element("div", { onclick: () => go(kind, n) }, `${kind}: ${n}`)));
      found.hidden = !hits.length;
      return hits;
    };
    const go = (kind, n) => {
      found.hidden = true;
      box.blur();
      if (kind === "block") viewer.showBlock(n); else viewer.showSignal(n);
    };
    box.addEventListener("input", look);
    box.addEventListener("keydown", (e) => { const hits = look(); if (e.key === "Enter" && hits.length) go(...hits[0]); if (e.key === "Escape") found.hidden = true; });
    box.addEventListener("blur", () => setTimeout(() => { found.hidden = true; }, 200));
  }
})().catch((error) => {
  document.documentElement.dataset.ready = "failed";
  if (!viewer.failure) console.error(error); // else it is what was read that is wrong, not the page
  document.getElementById("about").textContent = "";
  document.body.append(viewer.element("pre", {}, viewer.failure ?? "This page could not be shown: " + error.message));
});
