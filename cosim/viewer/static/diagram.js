// The diagram: laid out left to right by ELK, subsystems opened and closed in place.
viewer.diagram = async (data, signals) => {
  const room = document.getElementById("diagram"), canvas = room.querySelector(".canvas"), info = room.querySelector(".info");
  room.hidden = false;
  await viewer.vendor("elk");
  const elk = new ELK(), open = new Set(), SVG = "http://www.w3.org/2000/svg";
  let view = null, loops = false, feeds = false;
  const make = (tag, attributes, ...children) => {
    const found = document.createElementNS(SVG, tag);
    for (const [k, v] of Object.entries(attributes)) found.setAttribute(k, v);
    found.append(...children);
    return found;
  };
  const byPath = new Map(), source = new Map(); // blocks, and what drives each input
  const visit = (level) => {
    level.nodes.forEach((n) => { byPath.set(n.path, n); if (n.inside) visit(n.inside); });
    level.edges.forEach((e) => source.set(e.to.join("|"), byPath.get(e.from[0])?.outputs.find((p) => p.name === e.from[1])));
  };
  visit(data.root);
  let inLoop = loopEdges(data.root);

  const PORT = 14;
  const box = (n) => {
    const rows = Math.max(n.inputs.length, n.outputs.length, 1);
    const beside = Array.from({ length: rows }, (_, i) => (n.inputs[i]?.name.length ?? 0) + (n.outputs[i]?.name.length ?? 0));
    const longest = Math.max(n.name.length * 7.2, n.type.length * 5.6, ...beside.map((letters) => (letters + 3) * 5.6));
    const picture = viewer.pictureSize(n, 5.6);
    return { width: Math.max(64, longest + 18, picture.width), height: Math.max(34 + rows * PORT, picture.height) };
  };
  const graphOf = (level) => ({
    children: level.nodes.map((n) => {
      const size = box(n), port = (side, p, i, x, where) => ({
        id: side + "|" + n.path + "|" + p.name, x, y: 36 + PORT * i, width: 0, height: 0, layoutOptions: { "elk.port.side": where },
      });
      const ports = [...n.inputs.map((p, i) => port("i", p, i, 0, "WEST")), ...n.outputs.map((p, i) => port("o", p, i, size.width, "EAST"))];
      if (n.kind === "inport" && n.path.includes("/")) ports.push(port("i", { name: "" }, 0, 0, "WEST")); // where the wire from outside ends
      const found = { id: n.path, ports, ...size, layoutOptions: { "elk.portConstraints": "FIXED_POS" } };
      if (n.inside && open.has(n.path)) {
        Object.assign(found, graphOf(n.inside), { id: n.path, ports });
        found.layoutOptions = { "elk.portConstraints": "FIXED_SIDE", "elk.padding": "[top=34,left=24,bottom=14,right=24]" };
        delete found.width; delete found.height;
        for (const [name, [path, port]] of Object.entries(n.inside.outputs)) found.edges.push({ id: "b|" + n.path + "|" + name, sources: ["o|" + path + "|" + port], targets: ["o|" + n.path + "|" + name] });
        for (const inner of n.inside.nodes.filter((m) => m.kind === "inport")) found.edges.push({ id: "a|" + inner.path, sources: ["i|" + n.path + "|" + inner.name], targets: ["i|" + inner.path + "|"] });
      }
      return found;
    }),
    edges: level.edges.map((e, k) => ({ id: "e|" + e.to.join("|") + "|" + k, sources: ["o|" + e.from.join("|")], targets: ["i|" + e.to.join("|")], edge: e })),
  });

  async function draw() {
    const began = performance.now();
    const graph = {
      id: "root", ...graphOf(data.root),
      layoutOptions: {
        "elk.algorithm": "layered", "elk.direction": "RIGHT", "elk.edgeRouting": "ORTHOGONAL", "elk.hierarchyHandling": open.size ? "INCLUDE_CHILDREN" : "SEPARATE_CHILDREN",
        "elk.layered.spacing.nodeNodeBetweenLayers": "38", "elk.spacing.nodeNode": "24", "elk.layered.spacing.edgeNodeBetweenLayers": "16",
        "elk.layered.nodePlacement.strategy": data.root.nodes.length > 300 ? "SIMPLE" : "NETWORK_SIMPLEX",
        "elk.layered.crossingMinimization.greedySwitch.type": data.root.nodes.length > 300 ? "OFF" : "TWO_SIDED",
        ...(data.root.nodes.length > 300 ? { "elk.layered.layering.strategy": "LONGEST_PATH" } : {}),
        "elk.layered.thoroughness": data.root.nodes.length > 300 ? "1" : "7",
      },
    };
    const placed = await elk.layout(graph);
    viewer.layoutTime = performance.now() - began;
    const svg = make("svg", { role: "img", "aria-label": "diagram " + data.name });
    const sheet = make("g", {});
    svg.append(sheet);
    const positions = new Map([["root", [0, 0]]]);
    place(placed, 0, 0, sheet, positions);
    wires(placed, sheet, positions);
    canvas.replaceChildren(svg);
    moving(svg, sheet, placed.width, placed.height);
  }
  function place(level, x0, y0, sheet, positions) {
    for (const child of level.children ?? []) {
      const n = byPath.get(child.id), x = x0 + child.x, y = y0 + child.y, opened = open.has(n.path);
      positions.set(child.id, [x, y]);
      const g = make("g", { class: "node " + n.kind + (opened ? " inside" : ""), transform: `translate(${x} ${y})`, "data-path": n.path, tabindex: 0 });
      g.append(make("rect", { class: "body", width: child.width, height: child.height, rx: n.kind === "inport" ? child.height / 2 : 4 }));
      const title = make("text", { x: child.width / 2, y: 13, "text-anchor": "middle" });
      title.textContent = n.name;
      const type = make("text", { class: "type", x: child.width / 2, y: 25, "text-anchor": "middle" });
      type.textContent = n.kind === "subsystem" ? (opened ? "−" : "+") : n.type;
      g.append(title, type);
      if (n.picture && !opened) g.append(viewer.blockPicture(n, child, 5.6, make));
      if (feeds && !opened) g.append(...viewer.feedLines(n, child.ports ?? [], make));
      for (const port of child.ports ?? []) {
        const [side, , name] = port.id.split("|"), facts = side === "o" ? n.outputs.find((p) => p.name === name) : source.get(n.path + "|" + name);
        const colour = viewer.rateColour(facts?.rate);
        const dot = make("circle", { cx: port.x, cy: port.y, r: 2.5, "data-port": port.id, style: `fill:${side === "o" ? colour : "var(--faint)"}` });
        g.append(dot);
        if (side === "o" && facts?.signal) dragged(dot, facts.signal);
        if (opened || child.height < 24) continue;
        const text = make("text", { class: "port", x: port.x + (side === "i" ? 5 : -5), y: port.y + 3.5, "text-anchor": side === "i" ? "start" : "end" });
        text.textContent = name;
        const tip = make("title", {});
        tip.textContent = name + (facts ? ": " + said(facts) : "");
        text.append(tip);
        g.append(text);
      }
      let asked = 0; // what is said of a subsystem waits for a second click: it may cover where that goes
      g.addEventListener("click", (e) => { e.stopPropagation(); clearTimeout(asked); if (n.inside) asked = setTimeout(() => select(n), 250); else select(n); });
      g.addEventListener("dblclick", (e) => { e.stopPropagation(); clearTimeout(asked); if (n.inside) { open.has(n.path) ? open.delete(n.path) : open.add(n.path); draw(); } });
      g.addEventListener("keydown", (e) => { if (e.key === "Enter") select(n); if (e.key === "o" && n.inside) g.dispatchEvent(new MouseEvent("dblclick")); });
      sheet.append(g);
      if (child.children) place(child, x, y, sheet, positions);
    }
  }
  function wires(level, sheet, positions) {
    const every = [];
    const collect = (l) => { (l.edges ?? []).forEach((e) => every.push(e)); (l.children ?? []).forEach(collect); };
    collect(level);
    for (const e of every) {
      const [x0, y0] = positions.get(e.container ?? "root") ?? [0, 0];
      for (const s of e.sections ?? []) {
        const points = [s.startPoint, ...(s.bendPoints ?? []), s.endPoint].map((p) => `${p.x + x0} ${p.y + y0}`);
        const d = "M" + points.join("L"), signal = e.edge?.signal ?? "";
        const facts = e.edge ? byPath.get(e.edge.from[0])?.outputs.find((p) => p.name === e.edge.from[1]) : null;
        const key = e.edge ? e.edge.from.join("|") + ">" + e.edge.to.join("|") : e.id;
        sheet.prepend(make("path", { class: "wire" + (loops && inLoop.has(key) ? " loop" : ""), d, style: `stroke:${viewer.rateColour(facts?.rate)}${facts?.size > 1 ? ";stroke-width:2.6" : ""}`, "data-signal": signal }));
        const over = make("path", { class: "over", d, "data-signal": signal });
        over.addEventListener("mousemove", (m) => hover(m, signal, facts));
        over.addEventListener("mouseleave", () => { document.getElementById("hint").hidden = true; });
        dragged(over, signal);
        over.addEventListener("click", (m) => m.shiftKey && viewer.pickPort ? viewer.pickPort(signal) : components(signal).forEach((c) => viewer.showSignal?.(c.name)));
        sheet.append(over);
      }
    }
  }
  const components = (signal) => [...(signals?.values() ?? [])].filter((s) => s.signal === signal);
  function hover(event, signal, facts) {
    const hint = document.getElementById("hint"), list = components(signal).slice(0, 8);
    const lines = [viewer.element("b", {}, signal || "not yet known")];
    if (facts?.size) lines.push(viewer.element("div", {}, said(facts)));
    for (const s of list) lines.push(viewer.element("div", {}, `${s.name} = ${viewer.shown(viewer.valueAt(s, viewer.time))} ${s.unit}`));
    if (list.length) lines.push(spark(list));
    hint.replaceChildren(...lines);
    Object.assign(hint.style, { left: Math.min(event.clientX + 14, innerWidth - 260) + "px", top: Math.min(event.clientY + 14, innerHeight - 160) + "px" });
    hint.hidden = false;
  }
  function spark(list) {
    const w = 220, h = 50, c = viewer.element("canvas", { width: w, height: h }), g = c.getContext("2d");
    const thin = list.map((s) => viewer.thinned(s, viewer.begin, viewer.end, w / 2));
    const all = thin.flatMap(([, y]) => y).filter((v) => v != null);
    const low = Math.min(...all), high = Math.max(...all), span = high - low || 1, T = viewer.end - viewer.begin || 1;
    thin.forEach(([x, y], k) => {
      g.strokeStyle = viewer.colours[k % viewer.colours.length];
      g.beginPath();
      x.forEach((t, i) => y[i] != null && g.lineTo(((t - viewer.begin) / T) * w, h - 3 - ((y[i] - low) / span) * (h - 6)));
      g.stroke();
    });
    g.strokeStyle = "#d55e00";
    const at = ((viewer.time - viewer.begin) / T) * w;
    g.beginPath(); g.moveTo(at, 0); g.lineTo(at, h); g.stroke();
    return c;
  }
  const unitsOf = (facts) => [...new Set(facts.units ?? [])].filter(Boolean).join(", ");
  const said = (facts) => !facts.size ? facts.unit ?? "" : `${facts.size} component${facts.size > 1 ? "s" : ""}${unitsOf(facts) ? " [" + unitsOf(facts) + "]" : ""}, ` + (facts.rate != null ? data.rates[facts.rate] : "continuous");
  function dragged(shape, signal) { // into the axes of the scopes
    shape.addEventListener("pointerdown", (e) => {
      if (e.button === 0 && !e.shiftKey && viewer.dropSignals) viewer.carry(e, components(signal).map((c) => c.name));
    });
  }
  function select(n) {
    viewer.tell("selected", n);
    canvas.querySelectorAll(".node").forEach((g) => g.classList.toggle("chosen", g.dataset.path === n.path));
    viewer.blockInfo(info, n, data, said);
  }
  function moving(svg, sheet, width, height) {
    const apply = () => sheet.setAttribute("transform", `translate(${view.x} ${view.y}) scale(${view.k})`);
    const fit = () => {
      const w = canvas.clientWidth, h = canvas.clientHeight, k = Math.min(1.6, 0.94 * Math.min(w / width, h / height));
      view = { k, x: (w - k * width) / 2, y: (h - k * height) / 2 };
      apply();
    };
    viewer.fitDiagram = fit;
    fit();
    svg.addEventListener("wheel", (e) => {
      e.preventDefault();
      const f = e.deltaY > 0 ? 0.88 : 1.14, b = svg.getBoundingClientRect(), x = e.clientX - b.left, y = e.clientY - b.top;
      view = { k: view.k * f, x: x - (x - view.x) * f, y: y - (y - view.y) * f };
      apply();
    }, { passive: false });
    let held = null;
    svg.addEventListener("pointerdown", (e) => { held = [e.clientX - view.x, e.clientY - view.y]; });
    svg.addEventListener("pointermove", (e) => { if (held) { view.x = e.clientX - held[0]; view.y = e.clientY - held[1]; apply(); } });
    addEventListener("pointerup", () => { held = null; });
  }
  room.querySelector(".tools").addEventListener("click", (e) => {
    if (e.target.dataset.do === "fit") viewer.fitDiagram();
    if (e.target.dataset.do === "loops") { loops = !loops; draw(); }
    if (e.target.dataset.do === "feeds") { feeds = !feeds; draw(); }
  });
  viewer.blockNames = [...byPath.keys()];
  viewer.showBlock = async (path) => {
    const parents = path.split("/").slice(0, -1).map((_, i, all) => all.slice(0, i + 1).join("/"));
    if (parents.some((p) => !open.has(p))) { parents.forEach((p) => open.add(p)); await draw(); }
    canvas.querySelectorAll(".node").forEach((g) => g.classList.toggle("match", g.dataset.path === path));
    select(byPath.get(path));
  };
  const problems = viewer.element("pre", { class: "problems", hidden: !data.problems }, data.problems);
  canvas.before(problems);
  viewer.changeDiagram = async (next) => { // another diagram in the place of this one
    data = next;
    byPath.clear();
    source.clear();
    visit(data.root);
    inLoop = loopEdges(data.root);
    viewer.blockNames = [...byPath.keys()];
    problems.textContent = data.problems;
    problems.hidden = !data.problems;
    await draw();
  };
  await draw();
  new ResizeObserver(() => viewer.fitDiagram()).observe(canvas);

  function loopEdges(root) { // wires on closed paths, through subsystems too (Tarjan's strongly connected components)
    const next = new Map(), wires = [];
    const source = ([path, port]) => { const into = byPath.get(path)?.inside?.outputs[port]; return into ? source(into) : path; };
    const target = ([path, port]) => (byPath.get(path)?.inside ? path + "/" + port : path);
    const look = (level) => {
      level.nodes.forEach((n) => { next.set(n.path, []); if (n.inside) look(n.inside); });
      level.edges.forEach((e) => wires.push({ e, from: source(e.from), to: target(e.to) }));
    };
    look(root);
    wires.forEach((w) => next.get(w.from)?.push(w.to));
    const number = new Map(), low = new Map(), stack = [], part = new Map();
    let count = 0;
    const walk = (start) => {
      const work = [[start, 0]];
      while (work.length) {
        const top = work[work.length - 1], [v, i] = top;
        if (i === 0) { number.set(v, count); low.set(v, count++); stack.push(v); }
        const w = next.get(v)[i];
        if (w !== undefined) {
          top[1]++;
          if (!next.has(w)) continue;
          if (!number.has(w)) work.push([w, 0]);
          else if (!part.has(w)) low.set(v, Math.min(low.get(v), number.get(w)));
        } else {
          work.pop();
          if (work.length) { const u = work[work.length - 1][0]; low.set(u, Math.min(low.get(u), low.get(v))); }
          if (low.get(v) === number.get(v)) for (let w2; (w2 = stack.pop()), part.set(w2, v), w2 !== v;);
        }
      }
    };
    for (const v of next.keys()) if (!number.has(v)) walk(v);
    const sizes = new Map(), found = new Set();
    part.forEach((p) => sizes.set(p, (sizes.get(p) ?? 0) + 1));
    for (const { e, from, to } of wires) {
      if (part.get(from) !== part.get(to) || !part.has(to) || !(sizes.get(part.get(from)) > 1 || from === to)) continue;
      found.add(e.from.join("|") + ">" + e.to.join("|"));
      found.add("b|" + e.from.join("|")); // what leads to them inside subsystems, and from them
      found.add("a|" + e.to.join("/"));
    }
    return found;
  }
};
