// Curves of signals: several axes, one time window and cursor, sampled signals as steps, events marked.
viewer.LEVEL = 64; // samples that one entry of a signal's summary stands for

viewer.summary = (s) => { // least and largest value of every LEVEL samples, made once
  if (s.low) return s;
  const n = Math.ceil(s.values.length / viewer.LEVEL);
  s.low = new Float64Array(n).fill(Infinity);
  s.high = new Float64Array(n).fill(-Infinity);
  for (let i = 0; i < s.values.length; i++) {
    const k = (i / viewer.LEVEL) | 0, v = s.values[i];
    if (v < s.low[k]) s.low[k] = v;
    if (v > s.high[k]) s.high[k] = v;
  }
  return s;
};

viewer.thinned = (s, from, to, points) => { // times and values of a window, least and largest of each piece kept
  const time = s.time, values = s.values;
  let first = Math.max(0, viewer.indexAt(time, from) - 1), last = Math.min(time.length - 1, viewer.indexAt(time, to) + 1);
  const count = last - first + 1;
  if (count <= 2 * points) {
    return [Array.from(time.subarray(first, last + 1)), Array.from(values.subarray(first, last + 1), (v) => (Number.isFinite(v) ? v : null))];
  }
  const x = [], y = [], piece = count / points, summed = piece > 4 * viewer.LEVEL ? viewer.summary(s) : null;
  for (let k = 0; k < points; k++) {
    const a = first + Math.floor(k * piece), b = Math.min(last + 1, first + Math.floor((k + 1) * piece));
    let low = Infinity, high = -Infinity;
    const look = (i) => { const v = values[i]; if (v < low) low = v; if (v > high) high = v; };
    let i = a;
    if (summed) {
      while (i < b && i % viewer.LEVEL) look(i++);
      while (i + viewer.LEVEL <= b) {
        const j = i / viewer.LEVEL;
        if (summed.low[j] < low) low = summed.low[j];
        if (summed.high[j] > high) high = summed.high[j];
        i += viewer.LEVEL;
      }
    }
    while (i < b) look(i++);
    if (low > high) { x.push(time[a]); y.push(null); continue; }
    x.push(time[a], time[b - 1]);
    y.push(values[a] <= values[b - 1] ? low : high, values[a] <= values[b - 1] ? high : low);
  }
  return [x, y];
};

viewer.scopes = (result, signals) => {
  const room = document.getElementById("scopes"), tree = room.querySelector(".tree"), plots = room.querySelector(".plots");
  room.hidden = false;
  const every = [], ink = () => getComputedStyle(document.documentElement).getPropertyValue("--ink").trim();
  const rows = new Map();
  let chosen = null, window_ = [viewer.begin, viewer.end];

  const pairs = new Map([...signals.values()].filter((s) => s.pair).map((s) => [s.pair, s.name])); // of another result
  const beside = (axes) => (axes.kind === "time" ? axes.names.flatMap((n) => (pairs.has(n) ? [n, pairs.get(n)] : [n])) : axes.names);

  for (const s of [...signals.values()].filter((one) => !one.pair)) {
    const value = viewer.element("span", { class: "value" }), apart = viewer.element("span", { class: "apart", hidden: true, title: "difference to the mark" });
    const row = viewer.element("div", {
      class: "signal", draggable: true, title: s.name + (s.unit ? " [" + s.unit + "]" : ""),
      onclick: (e) => toggle(s.name, e.shiftKey ? add() : chosen ?? add()),
      ondragstart: (e) => e.dataTransfer.setData("text/plain", s.name),
    }, viewer.element("span", { class: "name" }, s.name), value, viewer.element("span", { class: "unit" }, s.unit), apart);
    row.dataset.signal = s.name;
    rows.set(s.name, { row, value, apart });
    tree.append(row);
  }

  function add(names = [], kind = "time") {
    const box = viewer.element("div", { class: "axes", onclick: () => choose(axes) });
    box.append(viewer.element("button", { class: "drop", title: "remove", onclick: (e) => { e.stopPropagation(); remove(axes); } }, "×"));
    box.addEventListener("dragover", (e) => e.preventDefault());
    box.addEventListener("drop", (e) => { e.preventDefault(); toggle(e.dataTransfer.getData("text/plain"), axes, true); });
    const axes = { box, names: [...names], kind, plot: null };
    every.push(axes);
    plots.append(box);
    choose(axes);
    arrange();
    return axes;
  }
  function remove(axes) {
    axes.plot?.destroy();
    axes.box.remove();
    every.splice(every.indexOf(axes), 1);
    if (chosen === axes) chosen = every[0] ?? null;
    arrange();
  }
  function choose(axes) {
    chosen = axes;
    every.forEach((a) => a.box.classList.toggle("chosen", a === axes && every.length > 1));
    mark();
  }
  function toggle(name, axes, only = false) {
    if (!signals.has(name)) return;
    const k = axes.names.indexOf(name);
    if (k >= 0 && !only) axes.names.splice(k, 1); else if (k < 0) axes.names.push(name);
    draw(axes);
    mark();
  }
  function mark() {
    for (const [name, { row }] of rows) {
      const k = chosen ? chosen.names.indexOf(name) : -1;
      row.classList.toggle("shown", k >= 0);
      if (k >= 0) row.style.setProperty("--colour", viewer.colours[k % viewer.colours.length]);
    }
  }
  function arrange() { every.forEach(draw); }

  function tables(axes) { // aligned columns for uPlot
    const width = Math.max(200, plots.clientWidth - 80);
    if (axes.kind === "time") return uPlot.join(beside(axes).map((n) => viewer.thinned(signals.get(n), ...window_, width)));
    if (axes.kind === "phase") {
      const [a, b] = axes.names.map((n) => signals.get(n));
      if (!b) return [[], []];
      const pairs = Array.from(a.values, (v, i) => [v, b.values[viewer.indexAt(b.time, a.time[i])]]);
      return [pairs.map((p) => p[0]), pairs.map((p) => p[1])];
    }
    return uPlot.join(axes.names.map((n) => viewer.spectrum(signals.get(n), ...window_)));
  }

  function draw(axes) {
    axes.plot?.destroy();
    axes.plot = null;
    if (!axes.names.length) return;
    const height = Math.max(100, Math.floor((plots.clientHeight - 4) / every.length) - 36);
    const steps = uPlot.paths.stepped({ align: 1 }), straight = uPlot.paths.linear();
    const units = [...new Set(axes.names.map((n) => signals.get(n).unit))];
    const series = (n, k) => ({
      label: n + (signals.get(n).unit ? " [" + signals.get(n).unit + "]" : ""),
      stroke: viewer.colours[axes.names.indexOf(signals.get(n).pair ?? n) % viewer.colours.length], width: 1.4, dash: signals.get(n).pair ? [6, 4] : undefined, points: { show: false }, spanGaps: true,
      scale: axes.kind === "time" && units.length === 2 && signals.get(n).unit === units[1] ? "z" : "y",
      pxAlign: signals.get(n).sampled ? 1 : 0, // smooth curves go through their points, not through whole pixels
      paths: axes.kind === "time" && signals.get(n).sampled ? steps : straight,
      value: (_, v) => (v == null ? "" : viewer.shown(v)),
    });
    const grid = { stroke: ink(), grid: { stroke: "#8884", width: 1 }, ticks: { stroke: "#8884", width: 1 } };
    const xlabel = { time: "time [s]", phase: axes.names[0] ?? "", spectrum: "frequency [Hz]" }[axes.kind];
    const list = axes.kind === "phase" ? axes.names.slice(1, 2).map((n) => series(n, 0)) : beside(axes).map(series);
    const sides = [{ ...grid, label: xlabel, labelSize: 16, size: 34 }, { ...grid, space: 20, size: 60, label: units[0] || undefined, labelSize: 16, values: (_, v) => v.map((x) => (x == null ? "" : viewer.tick(x))) }];
    if (axes.kind === "time" && units.length === 2) sides.push({ ...grid, scale: "z", side: 1, grid: { show: false }, label: units[1], labelSize: 16, size: 60, values: (_, v) => v.map((x) => (x == null ? "" : viewer.tick(x))) });
    axes.plot = new uPlot({
      width: Math.max(240, plots.clientWidth - 6), height, scales: { x: { time: false }, y: {}, z: {} },
      series: [{ label: xlabel, value: (_, v) => (v == null ? "" : viewer.shown(v)) }, ...list], axes: sides,
      cursor: { sync: axes.kind === "time" ? { key: "time" } : undefined, drag: { x: true, y: false } },
      hooks: {
        draw: [(u) => axes.kind === "time" && overlay(u)],
        setSelect: [(u) => axes.kind === "time" && u.select.width > 4 && look(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"))],
        ready: [(u) => {
          u.over.addEventListener("dblclick", () => axes.kind === "time" && look(viewer.begin, viewer.end));
          u.over.addEventListener("click", (e) => axes.kind === "time" && viewer.setTime(u.posToVal(e.offsetX, "x")));
          u.over.addEventListener("wheel", (e) => {
            if (axes.kind !== "time") return;
            e.preventDefault();
            const at = u.posToVal(e.offsetX, "x"), f = e.deltaY > 0 ? 1.25 : 0.8;
            look(at - (at - window_[0]) * f, at + (window_[1] - at) * f);
          }, { passive: false });
        }],
      },
    }, tables(axes), axes.box);
    if (axes.kind === "time") axes.plot.setScale("x", { min: window_[0], max: window_[1] });
  }
  function overlay(u) { // the time cursor, and marks of events
    const c = u.ctx, line = (t, colour, dash) => {
      const x = u.valToPos(t, "x", true);
      if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) return;
      c.save(); c.strokeStyle = colour; c.setLineDash(dash); c.beginPath();
      c.moveTo(x, u.bbox.top); c.lineTo(x, u.bbox.top + u.bbox.height); c.stroke(); c.restore();
    };
    const few = result.events.length <= 500 ? result.events : [];
    few.forEach((e) => line(e.t, "#cc79a7aa", [2, 4]));
    if (viewer.mark != null) line(viewer.mark, "#0072b2", [6, 3]);
    line(viewer.time, "#d55e00", []);
  }
  function look(from, to) {
    window_ = [Math.max(viewer.begin, from), Math.min(viewer.end, to)];
    if (window_[1] - window_[0] < 1e-12) window_ = [viewer.begin, viewer.end];
    for (const axes of every.filter((a) => a.plot && a.kind !== "phase")) {
      if (axes.kind === "spectrum") { draw(axes); continue; }
      axes.plot.setData(tables(axes), false);
      axes.plot.setScale("x", { min: window_[0], max: window_[1] });
    }
  }
  viewer.look = look;

  room.querySelector(".tools").addEventListener("click", (e) => {
    const what = e.target.dataset.do;
    if (what === "add") add();
    if (what === "phase" || what === "spectrum") add(chosen ? chosen.names : [], what);
    if (what === "csv") viewer.save("signals.csv", new Blob([csv()], { type: "text/csv" }));
    if (what === "svg" && chosen?.plot) {
      const names = beside(chosen), label = (n) => n + (signals.get(n).unit ? ` [${signals.get(n).unit}]` : ""), time = chosen.kind === "time";
      const said = chosen.kind === "phase" ? chosen.names.slice(1, 2) : names, across = { time: "time [s]", spectrum: "frequency [Hz]", phase: chosen.names[0] }[chosen.kind];
      viewer.save("scope.svg", new Blob([viewer.svgOf(tables(chosen), said.map(label), across, said.map((n) => time && signals.get(n).sampled))], { type: "image/svg+xml" }));
    }
    if (what === "png" && chosen?.plot) chosen.plot.ctx.canvas.toBlob((b) => viewer.save("scope.png", b));
  });
  function csv() {
    const names = [...new Set(every.flatMap((a) => a.names))].filter((n) => signals.get(n).time.length);
    const time = names.length ? signals.get(names[0]).time : [];
    const quoted = (n) => '"' + n.replaceAll('"', '""') + '"';
    const lines = [["time [s]", ...names].map(quoted).join(",")];
    for (let i = 0; i < time.length; i++) lines.push([time[i], ...names.map((n) => viewer.valueAt(signals.get(n), time[i]))].join(","));
    return lines.join("\n") + "\n";
  }
  viewer.dropSignals = (names, x, y) => { // signals carried from the diagram: into the axes there, or new ones
    const under = document.elementFromPoint(x, y), box = under?.closest(".axes");
    if (!under?.closest("#scopes")) return;
    const axes = every.find((a) => a.box === box) ?? add();
    choose(axes);
    names.forEach((n) => toggle(n, axes, true));
  };
  viewer.showSignal = (name) => toggle(name, chosen ?? add(), true);
  viewer.scopeState = () => every.map((a) => ({ names: a.names, kind: a.kind, points: a.plot ? a.plot.data[0].length : 0 }));
  viewer.on("time", (t) => {
    every.forEach((a) => a.kind === "time" && a.plot?.redraw(false, false));
    for (const [name, { value, apart }] of rows) {
      const s = signals.get(name), now = viewer.valueAt(s, t);
      value.textContent = viewer.shown(now);
      apart.hidden = viewer.mark == null;
      if (viewer.mark != null) apart.textContent = `Δ ${viewer.shown(now - viewer.valueAt(s, viewer.mark))} ${s.unit}`;
    }
  });
  viewer.on("theme", arrange);
  new ResizeObserver(() => arrange()).observe(plots);

  const own = [...signals.values()].filter((s) => !s.pair);
  const first = own.filter((s) => s.values.some((v) => v !== s.values[0]));
  const bySize = first.length ? first : own;
  const units = [...new Set(bySize.map((s) => s.unit))].slice(0, 2);
  units.forEach((unit) => add(bySize.filter((s) => s.unit === unit).slice(0, 4).map((s) => s.name)));
};

viewer.spectrum = (s, from, to) => { // amplitude over frequency [Hz], of a window as a power of two of equal steps
  const a = viewer.indexAt(s.time, from), b = viewer.indexAt(s.time, to);
  const n = 2 ** Math.min(15, Math.max(3, Math.floor(Math.log2(Math.max(8, b - a + 1)))));
  const t0 = s.time[a], dt = (s.time[b] - t0) / n, re = new Float64Array(n), im = new Float64Array(n);
  let mean = 0;
  for (let i = 0; i < n; i++) { re[i] = viewer.valueAt(s, t0 + i * dt); mean += re[i] / n; }
  for (let i = 0; i < n; i++) re[i] = (re[i] - mean) * (1 - Math.cos((2 * Math.PI * i) / n)); // Hann, of mean one
  for (let i = 1, j = 0; i < n; i++) {
    let bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) [re[i], re[j]] = [re[j], re[i]];
  }
  for (let size = 2; size <= n; size *= 2) {
    for (let i = 0; i < n; i += size) for (let k = 0; k < size / 2; k++) {
      const w = (-2 * Math.PI * k) / size, c = Math.cos(w), d = Math.sin(w), p = i + k, q = p + size / 2;
      const x = re[q] * c - im[q] * d, y = re[q] * d + im[q] * c;
      re[q] = re[p] - x; im[q] = im[p] - y; re[p] += x; im[p] += y;
    }
  }
  const x = [], y = [];
  for (let k = 1; k < n / 2; k++) { x.push(k / (n * dt)); y.push((2 / n) * Math.hypot(re[k], im[k])); }
  return [x, y];
};
