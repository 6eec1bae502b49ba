// Pictures of a study, drawn on canvases: parallel coordinates, one column over another, envelopes of signals.
viewer.sheet = (place, draw) => { // a canvas as large as its place, drawn again when that changes
  const canvas = viewer.element("canvas", { style: "position:absolute;inset:0;width:100%;height:100%" });
  place.append(canvas);
  const again = () => {
    const w = Math.max(1, place.clientWidth), h = Math.max(1, place.clientHeight), ratio = Math.min(2, devicePixelRatio);
    canvas.width = w * ratio;
    canvas.height = h * ratio;
    const g = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
    g.scale(ratio, ratio);
    g.font = "11px system-ui, sans-serif";
    draw(g, w, h, { ink: style.getPropertyValue("--ink").trim(), faint: style.getPropertyValue("--faint").trim(), line: style.getPropertyValue("--line").trim() });
  };
  new ResizeObserver(again).observe(place);
  viewer.on("theme", again);
  return { canvas, again };
};

viewer.range = (list) => {
  let low = Infinity, high = -Infinity;
  for (const v of list) if (Number.isFinite(v)) { if (v < low) low = v; if (v > high) high = v; }
  if (!(low <= high)) return [0, 1];
  return low === high ? [low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2] : [low, high];
};

// round numbers from low to high, about so many; steps: those there may be between them
viewer.ticks = (low, high, about = 5, steps = null) => {
  const rough = (high - low) / about, power = 10 ** Math.floor(Math.log10(rough)), step = (steps ?? [1, 2, 5, 10].map((f) => f * power)).find((f) => f >= rough * 0.999) ?? rough;
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(k * step);
  return found;
};

// a grid with numbers at the left and below; X and Y: where a value is, xs and ys: the numbers, edges of the grid in pixels
viewer.frame = (g, colours, X, Y, xs, ys, { left, right, top, bottom }) => {
  g.strokeStyle = colours.line;
  g.fillStyle = colours.faint;
  g.textAlign = "center";
  for (const v of xs) {
    g.beginPath(); g.moveTo(X(v), top); g.lineTo(X(v), bottom); g.stroke();
    g.fillText(viewer.tick(v), Math.min(X(v), right - 8), bottom + 13);
  }
  g.textAlign = "right";
  for (const v of ys) {
    g.beginPath(); g.moveTo(left, Y(v)); g.lineTo(right, Y(v)); g.stroke();
    g.fillText(viewer.tick(v), left - 4, Y(v) + 4);
  }
};

// order in which rows are drawn: those not selected first, then the selected, the chosen one last
viewer.drawn = (study, f) => {
  for (const wanted of [0, 1]) for (let i = 0; i < study.count; i++) if (study.selected[i] === wanted && i !== study.chosen) f(i, wanted === 1);
  if (study.chosen >= 0) f(study.chosen, true);
};

// a number with as many digits as there is room for, two at least
viewer.fitting = (g, value, room) => {
  for (let digits = 6; digits > 2; digits--) {
    const text = viewer.shown(Number(value.toPrecision(digits)));
    if (g.measureText(text).width <= room) return text;
  }
  return viewer.tick(Number(value.toPrecision(2)));
};

viewer.parallel = (study) => {
  const place = document.querySelector("#parallel .canvas"), varies = (c) => { const v = c.list.find(Number.isFinite); return c.list.some((w) => Number.isFinite(w) && w !== v); };
  const axes = study.numeric.filter((c) => c.role !== "wall" && varies(c)).slice(0, 14).map((c) => ({ ...c, range: viewer.range(c.list), brush: null }));
  const top = 38, bottom = 20;
  let width = 1, height = 1;
  const X = (k) => 45 + (k * (width - 90)) / Math.max(1, axes.length - 1);
  const Y = (a, v) => height - bottom - ((v - a.range[0]) / (a.range[1] - a.range[0])) * (height - top - bottom);
  const sheet = viewer.sheet(place, (g, w, h, c) => {
    [width, height] = [w, h];
    viewer.drawn(study, (i, on) => {
      g.strokeStyle = on ? study.colour(i) : c.line;
      g.globalAlpha = i === study.chosen ? 1 : on ? Math.max(0.08, Math.min(0.7, 60 / study.count)) : 0.25;
      g.lineWidth = i === study.chosen ? 2.5 : 1;
      g.beginPath();
      axes.forEach((a, k) => { const v = a.list[i]; if (Number.isFinite(v)) g.lineTo(X(k), Y(a, v)); });
      g.stroke();
    });
    g.globalAlpha = 1;
    axes.forEach((a, k) => {
      const x = X(k);
      g.strokeStyle = c.ink;
      g.lineWidth = 1;
      g.beginPath(); g.moveTo(x, top); g.lineTo(x, h - bottom); g.stroke();
      g.fillStyle = c.ink;
      g.textAlign = "center";
      const room = (w - 90) / Math.max(1, axes.length - 1);
      g.fillText(a.name, x, 11 + (k % 2) * 11 * (axes.length > 6), Math.min(90, room * (axes.length > 6 ? 2 : 1) - 6));
      g.fillStyle = c.faint;
      g.fillText(viewer.fitting(g, a.range[0], room - 6), x, h - 6, room - 4);
      g.fillText(viewer.fitting(g, a.range[1], room - 6), x, top - 4, room - 4);
      if (a.brush) { g.fillStyle = "#0072b255"; g.fillRect(x - 7, Y(a, a.brush[1]), 14, Math.max(2, Y(a, a.brush[0]) - Y(a, a.brush[1]))); }
    });
  });
  const value = (a, y) => a.range[0] + ((height - bottom - y) / (height - top - bottom)) * (a.range[1] - a.range[0]);
  const apply = () => {
    const brushed = axes.filter((a) => a.brush);
    study.filter("parallel", brushed.length ? (i) => brushed.every((a) => a.list[i] >= a.brush[0] && a.list[i] <= a.brush[1]) : null);
  };
  study.brush = (name, range) => { const axis = axes.find((a) => a.name === name); if (axis) { axis.brush = range; apply(); } };
  study.brushes = () => Object.fromEntries(axes.filter((a) => a.brush).map((a) => [a.name, a.brush]));
  let held = null;
  const { canvas } = sheet;
  canvas.addEventListener("pointerdown", (e) => {
    const k = axes.findIndex((_, n) => Math.abs(e.offsetX - X(n)) < 16);
    if (k < 0) return;
    canvas.setPointerCapture(e.pointerId);
    held = { axis: axes[k], from: e.offsetY };
  });
  canvas.addEventListener("pointermove", (e) => {
    if (!held) return;
    const ends = [value(held.axis, held.from), value(held.axis, e.offsetY)].sort((a, b) => a - b);
    held.axis.brush = Math.abs(e.offsetY - held.from) > 3 ? ends : null;
    sheet.again();
  });
  canvas.addEventListener("pointerup", () => { if (held) { held = null; apply(); } });
  canvas.addEventListener("dblclick", () => { axes.forEach((a) => { a.brush = null; }); apply(); });
  study.clear.push(() => axes.forEach((a) => { a.brush = null; }));
  study.watch(sheet.again);
};

viewer.scatter = (study) => {
  const room = document.getElementById("metrics"), place = room.querySelector(".canvas"), by = (role) => study.numeric.find((c) => c.role === role);
  const pick = (what, first) => {
    const box = room.querySelector(`[data-pick=${what}]`);
    box.append(...study.numeric.map((c) => viewer.element("option", { value: c.name }, c.name)));
    box.value = first.name;
    box.addEventListener("change", () => { box_ = null; study.filter("scatter", null); sheet.again(); });
    return () => study.numeric.find((c) => c.name === box.value);
  };
  const first = by("parameter") ?? study.numeric[0], second = by("metric") ?? by("margin") ?? study.numeric.find((c) => c !== first);
  let box_ = null, held = null, area = { w: 1, h: 1, x: [0, 1], y: [0, 1] };
  const left = 62, bottom = 34, top = 8, right = 12;
  const X = (v) => left + ((v - area.x[0]) / (area.x[1] - area.x[0])) * (area.w - left - right);
  const Y = (v) => area.h - bottom - ((v - area.y[0]) / (area.y[1] - area.y[0])) * (area.h - top - bottom);
  const back = (px, py) => [area.x[0] + ((px - left) / (area.w - left - right)) * (area.x[1] - area.x[0]), area.y[0] + ((area.h - bottom - py) / (area.h - top - bottom)) * (area.y[1] - area.y[0])];
  const sheet = viewer.sheet(place, (g, w, h, c) => {
    const a = x(), b = y(), wide = ([p, q]) => [p - (q - p) * 0.04, q + (q - p) * 0.04];
    area = { w, h, x: wide(viewer.range(a.list)), y: wide(viewer.range(b.list)) };
    viewer.frame(g, c, X, Y, viewer.ticks(...area.x), viewer.ticks(...area.y), { left, right: w - right, top, bottom: h - bottom });
    g.fillStyle = c.ink;
    g.textAlign = "center"; g.fillText(a.name, (left + w) / 2, h - 5);
    g.save(); g.translate(11, h / 2); g.rotate(-Math.PI / 2); g.fillText(b.name, 0, 0); g.restore();
    viewer.drawn(study, (i, on) => {
      if (!Number.isFinite(a.list[i]) || !Number.isFinite(b.list[i])) return;
      g.fillStyle = on ? study.colour(i) : c.line;
      g.globalAlpha = on ? 0.85 : 0.6;
      g.beginPath(); g.arc(X(a.list[i]), Y(b.list[i]), i === study.chosen ? 6 : 3, 0, 7); g.fill();
    });
    g.globalAlpha = 1;
    if (box_) { g.fillStyle = "#0072b222"; g.strokeStyle = "#0072b2"; const [x0, x1, y0, y1] = box_; g.fillRect(X(x0), Y(y1), X(x1) - X(x0), Y(y0) - Y(y1)); g.strokeRect(X(x0), Y(y1), X(x1) - X(x0), Y(y0) - Y(y1)); }
  });
  const x = pick("x", first), y = pick("y", second ?? first);
  study.scatterAt = (i) => { const r = place.getBoundingClientRect(); return [r.left + X(x().list[i]), r.top + Y(y().list[i])]; };
  const { canvas } = sheet;
  function within() {
    const [x0, x1, y0, y1] = box_, a = x().list, b = y().list;
    study.filter("scatter", (i) => a[i] >= x0 && a[i] <= x1 && b[i] >= y0 && b[i] <= y1);
  }
  const picked = (what) => room.querySelector(`[data-pick=${what}]`);
  study.scatterKept = () => ({ x: picked("x").value, y: picked("y").value, box: box_ });
  study.scatterAgain = (before) => {
    for (const what of ["x", "y"]) if ([...picked(what).options].some((o) => o.value === before[what])) picked(what).value = before[what];
    if (picked("x").value === before.x && picked("y").value === before.y && before.box) { box_ = before.box; within(); }
    sheet.again();
  };
  const span = (e) => { const p = back(...held), q = back(e.offsetX, e.offsetY); return [Math.min(p[0], q[0]), Math.max(p[0], q[0]), Math.min(p[1], q[1]), Math.max(p[1], q[1])]; };
  canvas.addEventListener("pointerdown", (e) => { held = [e.offsetX, e.offsetY]; canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener("pointermove", (e) => { if (held && Math.hypot(e.offsetX - held[0], e.offsetY - held[1]) > 4) { box_ = span(e); sheet.again(); } });
  canvas.addEventListener("pointerup", (e) => {
    if (!held) return;
    const moved = Math.hypot(e.offsetX - held[0], e.offsetY - held[1]) > 4;
    if (moved) {
      box_ = span(e);
      within();
    } else {
      let best = -1, least = 12;
      for (let i = 0; i < study.count; i++) { const d = Math.hypot(X(x().list[i]) - e.offsetX, Y(y().list[i]) - e.offsetY); if (d < least) { least = d; best = i; } }
      if (best >= 0) study.choose(best);
      else if (box_) { box_ = null; study.filter("scatter", null); }
    }
    held = null;
  });
  study.clear.push(() => { box_ = null; });
  study.watch(sheet.again);
};

viewer.envelopes = (study) => {
  const room = document.getElementById("envelopes"), place = room.querySelector(".canvas"), box = room.querySelector("[data-pick=signal]");
  const { signals, time, bands } = study.data, times = viewer.numbers(time);
  box.append(...signals.map((s, k) => viewer.element("option", { value: k }, s.name + (s.unit ? ` [${s.unit}]` : ""))));
  let area = null;
  const sheet = viewer.sheet(place, (g, w, h, c) => {
    const s = signals[Number(box.value)], envelope = viewer.numbers(s.envelope), left = 62, bottom = 34, top = 18, right = 12;
    const [low, high] = viewer.range([...viewer.range(envelope[0]), ...viewer.range(envelope[1])]), t0 = times[0], t1 = times[times.length - 1] > t0 ? times[times.length - 1] : t0 + 1;
    const X = (t) => left + ((t - t0) / (t1 - t0)) * (w - left - right), Y = (v) => h - bottom - ((v - low) / (high - low)) * (h - top - bottom);
    area = { X, Y };
    viewer.frame(g, c, X, Y, viewer.ticks(t0, t1), viewer.ticks(low, high), { left, right: w - right, top, bottom: h - bottom });
    g.fillStyle = "#0072b2";
    for (let b = 0; b + 1 < bands.length - 1; b += 2) {
      g.globalAlpha = 0.16;
      g.beginPath();
      for (let i = 0; i < times.length; i++) if (Number.isFinite(envelope[b][i])) g.lineTo(X(times[i]), Y(envelope[b][i]));
      for (let i = times.length - 1; i >= 0; i--) if (Number.isFinite(envelope[b + 1][i])) g.lineTo(X(times[i]), Y(envelope[b + 1][i]));
      g.fill();
    }
    g.globalAlpha = 1;
    const curve = (list, colour, wide) => { g.strokeStyle = colour; g.lineWidth = wide; g.beginPath(); for (let i = 0; i < times.length; i++) if (Number.isFinite(list[i])) g.lineTo(X(times[i]), Y(list[i])); g.stroke(); };
    curve(envelope[bands.length - 1], "#0072b2", 1.4);
    const curves = s.curves ? viewer.numbers(s.curves) : [], at = new Map((s.cases ?? []).map((n, k) => [n, k]));
    let lines = 0;
    const all = study.selected.every(Boolean), worst = new Set(study.data.worst);
    for (let i = 0; i < study.count && lines < 60; i++) {
      const k = at.get(study.number(i));
      if (k === undefined || i === study.chosen || (all ? !worst.has(study.number(i)) : !study.selected[i])) continue;
      g.globalAlpha = 0.6;
      curve(curves[k], study.bad[i] ? "#d55e00" : "#009e73", 0.8);
      lines++;
    }
    g.globalAlpha = 1;
    const k = study.chosen >= 0 ? at.get(study.number(study.chosen)) : undefined;
    if (k !== undefined) curve(curves[k], "#e69f00", 2.5);
    g.fillStyle = c.ink;
    g.textAlign = "left";
    g.fillText((s.name + (s.unit ? ` [${s.unit}]` : "")) + `: ${bands.slice(0, 2).join(" to ")}, ${bands.slice(2, 4).join(" to ")}, ${bands.slice(4, 6).join(" to ")} and median of all cases` + (study.chosen >= 0 ? (k === undefined ? `; no curve here of case ${study.number(study.chosen)}` : `; case ${study.number(study.chosen)}`) : ""), left, 12, w - left - right);
    g.textAlign = "center"; g.fillText("time [s]", (left + w) / 2, h - 5);
    study.lines = lines + (k !== undefined ? 1 : 0);
  });
  box.addEventListener("change", sheet.again);
  study.signalKept = () => signals[Number(box.value)].name;
  study.signalAgain = (name) => { const k = signals.findIndex((s) => s.name === name); if (k >= 0) box.value = k; sheet.again(); };
  study.watch(sheet.again);
};
