// A block of the diagram: the picture in its box, its direct feedthrough, and what there is to say about it.
viewer.PICTURE = 38; // pixels of a centimetre of a picture

viewer.pictureSize = (n, letter) => { // room for a picture between the names of ports
  if (!n.picture) return { width: 0, height: 0 };
  const longest = (ports) => Math.max(0, ...ports.map((p) => p.name.length)) * letter;
  return { width: longest(n.inputs) + longest(n.outputs) + viewer.PICTURE * n.picture.width + 30, height: 44 + viewer.PICTURE * n.picture.height };
};

viewer.blockPicture = (n, box, letter, make) => {
  const { width, height, lines, arrows, boxes, joints } = n.picture, k = viewer.PICTURE;
  const left = Math.max(0, ...n.inputs.map((p) => p.name.length)) * letter, right = Math.max(0, ...n.outputs.map((p) => p.name.length)) * letter;
  const x = (left + box.width - right - k * width) / 2, y = 34 + (box.height - 38 - k * height) / 2;
  const g = make("g", { class: "picture", transform: `translate(${x} ${y}) scale(${k})` });
  for (const [a, b, w, h, text] of boxes) {
    g.append(make("rect", { x: a, y: b, width: w, height: h, rx: 0.06 }));
    const said = make("text", { x: a + w / 2, y: b + Math.min(h / 2, 0.2) + 0.06, "text-anchor": "middle", "font-size": 0.2 });
    said.textContent = text;
    g.append(said);
  }
  const points = (list) => list.map((p) => p.join(" ")).join("L");
  for (const line of lines) g.append(make("path", { class: "bar", d: "M" + points(line) }));
  for (const arrow of arrows) {
    const [[x0, y0], [x1, y1]] = arrow.slice(-2), far = Math.hypot(x1 - x0, y1 - y0) || 1, u = (x1 - x0) / far, v = (y1 - y0) / far;
    g.append(make("path", { class: "arrow", d: "M" + points(arrow) }));
    g.append(make("path", { class: "head", d: `M${x1} ${y1}L${x1 - 0.12 * u - 0.06 * v} ${y1 - 0.12 * v + 0.06 * u}L${x1 - 0.12 * u + 0.06 * v} ${y1 - 0.12 * v - 0.06 * u}Z` }));
  }
  for (const [a, b] of joints) g.append(make("circle", { cx: a, cy: b, r: 0.06 }));
  return g;
};

viewer.feedLines = (n, ports, make) => { // from input to output: a full line at any time, a dashed one at ticks
  const at = new Map(ports.map((p) => [p.id, p]));
  return (n.feeds ?? []).flatMap(([into, out, ticks]) => {
    const a = at.get("i|" + n.path + "|" + into), b = at.get("o|" + n.path + "|" + out);
    if (!a || !b) return [];
    const line = make("path", { class: "feed" + (ticks ? " ticks" : ""), d: `M${a.x} ${a.y}C${a.x + 30} ${a.y} ${b.x - 30} ${b.y} ${b.x} ${b.y}` });
    const tip = make("title", {});
    tip.textContent = `${into} goes straight to ${out}` + (ticks ? " at ticks" : "");
    line.append(tip);
    return [line];
  });
};

viewer.blockInfo = (info, n, data, said) => {
  const { element } = viewer;
  const table = (rows) => element("table", {}, ...rows.map((r) => element("tr", {}, ...r.map((c) => element("td", {}, c)))));
  const parts = [element("button", { class: "drop", onclick: () => { info.hidden = true; } }, "×"), element("h3", {}, n.path), element("div", {}, n.kind === "subsystem" ? "subsystem, double click opens it" : n.type)];
  const list = (title, rows) => { if (rows?.length) parts.push(element("h4", {}, title), table(rows)); };
  if (n.doc) parts.push(element("pre", {}, n.doc));
  list("fields", n.fields);
  list("parameters of a run", n.parameters?.map((p) => [p]));
  list("states and memories", n.states?.map((p) => [p]));
  list("outputs", n.outputs?.map((p) => [p.name, said(p), (p.labels ?? []).join(", ")]));
  list("direct feedthrough", n.feeds?.map(([into, out, ticks]) => [`${into} → ${out}`, ticks ? "at ticks" : ""]));
  if (n.source) parts.push(element("h4", {}, "source"), element("div", { class: "place" }, n.source));
  if (data.sources?.[n.source]) parts.push(element("details", {}, element("summary", {}, "its equations as they are written"), element("pre", {}, data.sources[n.source])));
  info.replaceChildren(...parts);
  info.hidden = false;
};

viewer.carry = (start, names) => { // signals on their way from the diagram to the scopes
  start.preventDefault();
  start.stopPropagation();
  const label = viewer.element("div", { id: "carried", hidden: true }, names.join(", "));
  document.body.append(label);
  const move = (e) => {
    label.hidden = label.hidden && Math.hypot(e.clientX - start.clientX, e.clientY - start.clientY) < 5;
    Object.assign(label.style, { left: e.clientX + 12 + "px", top: e.clientY + 12 + "px" });
  };
  const end = (e) => {
    removeEventListener("pointermove", move);
    removeEventListener("pointerup", end);
    removeEventListener("pointercancel", end);
    label.remove();
    if (!label.hidden && e.type === "pointerup") viewer.dropSignals(names, e.clientX, e.clientY);
  };
  addEventListener("pointermove", move);
  addEventListener("pointerup", end);
  addEventListener("pointercancel", end);
};
