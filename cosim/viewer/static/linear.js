// Frequency and step responses of the linear model in the page, from one wire to another.
viewer.linear = (data) => {
  const room = document.getElementById("linear"), place = room.querySelector(".canvas"), note = room.querySelector(".note");
  if (data.problem) { note.textContent = "No linear model: " + data.problem; return; }
  let A, B, C, D, n, poles, speeds, range, frequencies, model = null;
  function use(chosen) { // the model about one instant
    model = chosen;
    [A, B, C, D] = ["A", "B", "C", "D"].map((k) => (model[k].shape[0] ? viewer.numbers(model[k]) : []));
    n = A.length;
    poles = viewer.numbers(model.poles);
    const sizes = Array.from(poles[0] ?? [], (re, k) => Math.hypot(re, poles[1][k]));
    speeds = (data.dt ? Array.from(poles[0] ?? [], (re, k) => Math.hypot(Math.log(Math.hypot(re, poles[1][k]) || 1e-9), Math.atan2(poles[1][k], re)) / data.dt) : sizes).filter((w) => w > 1e-9 && Number.isFinite(w));
    const slow = Math.min(...speeds, 1), fast = Math.max(...speeds, 1);
    range = [10 ** (Math.floor(Math.log10(slow)) - 1), data.dt ? Math.PI / data.dt : 10 ** (Math.ceil(Math.log10(fast)) + 1)];
    const count = n > 60 ? 150 : 400;
    frequencies = Array.from({ length: count }, (_, k) => range[0] * (range[1] / range[0]) ** (k / (count - 1)));
  }
  use(data.models[0]);
  const box = (what) => room.querySelector(`[data-pick=${what}]`);
  for (const what of ["from", "to"]) box(what).append(...data.names.map((name, k) => viewer.element("option", { value: k }, name)));
  // C (s - A)^-1 B + D at one frequency [rad/s], by Gaussian elimination with pivots
  function at(i, j, w) {
    const [sr, si] = data.dt ? [Math.cos(w * data.dt), Math.sin(w * data.dt)] : [0, w];
    const re = A.map((row, r) => Float64Array.from(row, (v, c) => (r === c ? sr : 0) - v)), im = A.map((_, r) => { const row = new Float64Array(n); row[r] = si; return row; });
    const x = Float64Array.from(B, (row) => row[j]), y = new Float64Array(n);
    for (let k = 0; k < n; k++) {
      let best = k;
      for (let r = k + 1; r < n; r++) if (Math.hypot(re[r][k], im[r][k]) > Math.hypot(re[best][k], im[best][k])) best = r;
      [re[k], re[best]] = [re[best], re[k]]; [im[k], im[best]] = [im[best], im[k]];
      [x[k], x[best]] = [x[best], x[k]]; [y[k], y[best]] = [y[best], y[k]];
      const size = re[k][k] ** 2 + im[k][k] ** 2;
      for (let r = k + 1; r < n; r++) {
        if (re[r][k] === 0 && im[r][k] === 0) continue;
        const fr = (re[r][k] * re[k][k] + im[r][k] * im[k][k]) / size, fi = (im[r][k] * re[k][k] - re[r][k] * im[k][k]) / size;
        for (let c = k; c < n; c++) { const a = re[k][c], b = im[k][c]; re[r][c] -= fr * a - fi * b; im[r][c] -= fr * b + fi * a; }
        const a = x[k], b = y[k];
        x[r] -= fr * a - fi * b; y[r] -= fr * b + fi * a;
      }
    }
    for (let k = n - 1; k >= 0; k--) {
      let a = x[k], b = y[k];
      for (let c = k + 1; c < n; c++) { a -= re[k][c] * x[c] - im[k][c] * y[c]; b -= re[k][c] * y[c] + im[k][c] * x[c]; }
      const size = re[k][k] ** 2 + im[k][k] ** 2;
      x[k] = (a * re[k][k] + b * im[k][k]) / size; y[k] = (b * re[k][k] - a * im[k][k]) / size;
    }
    let u = D[i][j], v = 0;
    for (let k = 0; k < n; k++) { u += C[i][k] * x[k]; v += C[i][k] * y[k]; }
    return [u, v];
  }
  // what comes back where a loop is cut: from S = 1 / (1 + L) of the signal to what is added to it
  const loop = ([a, b]) => { const s = a * a + b * b; return [a / s - 1, -b / s]; };
  viewer.response = (from, to, w, cut = from === to) => { const g = at(data.names.indexOf(to), data.names.indexOf(from), w); return cut ? loop(g) : g; };
  viewer.stepResponse = (from, to, until = null) => {
    const i = data.names.indexOf(to), j = data.names.indexOf(from), T = until ?? horizon();
    const steps = data.dt ? Math.min(2000, Math.max(1, Math.round(T / data.dt))) : 400, h = data.dt || T / steps;
    const [Ad, Bd] = data.dt ? [A, Array.from(B, (row) => row[j])] : held(h, j);
    let x = new Float64Array(n);
    const t = [], y = [];
    for (let k = 0; k <= steps; k++) {
      t.push(k * h);
      y.push(D[i][j] + x.reduce((s, v, m) => s + C[i][m] * v, 0));
      x = Float64Array.from(x, (_, r) => Bd[r] + x.reduce((s, v, m) => s + Ad[r][m] * v, 0));
    }
    return [t, y];
  };
  const horizon = () => { const rates = data.dt ? speeds : Array.from(poles[0] ?? [], Math.abs).filter((v) => v > 1e-6); return Math.min(1e4, 7 / Math.min(...rates, Math.max(...speeds, 1))); };
  function held(h, j) { // exp of [A B; 0 0] h by scaling, a Taylor series and squaring
    const m = n + 1, M = Array.from({ length: m }, (_, r) => Float64Array.from({ length: m }, (_, c) => (r < n ? (c < n ? A[r][c] : B[r][j]) * h : 0)));
    const norm = Math.max(...M.map((row) => row.reduce((s, v) => s + Math.abs(v), 0))), s = Math.max(0, Math.ceil(Math.log2(norm || 1)) + 3);
    const times = (P, Q) => P.map((row) => { const out = new Float64Array(m); row.forEach((v, k) => { if (v) for (let c = 0; c < m; c++) out[c] += v * Q[k][c]; }); return out; });
    M.forEach((row) => row.forEach((v, c) => { row[c] = v / 2 ** s; }));
    let E = M.map((_, r) => Float64Array.from({ length: m }, (_, c) => (r === c ? 1 : 0))), term = E;
    for (let k = 1; k <= 14; k++) { term = times(term, M).map((row) => row.map((v) => v / k)); E = E.map((row, r) => row.map((v, c) => v + term[r][c])); }
    for (let k = 0; k < s; k++) E = times(E, E);
    return [E.slice(0, n).map((row) => row.slice(0, n)), E.slice(0, n).map((row) => row[n])];
  }

  const degrees = (list) => { let last = null, turns = 0; return list.map(([a, b]) => { let p = (Math.atan2(b, a) * 180) / Math.PI + turns; if (last !== null) while (p - last > 180) { p -= 360; turns -= 360; } if (last !== null) while (p - last < -180) { p += 360; turns += 360; } last = p; return p; }); };
  const sheet = viewer.sheet(place, (g, w, h, c) => {
    const from = data.names[box("from").value], to = data.names[box("to").value], kind = box("kind").value, cut = from === to;
    const frame = (x0, y0, x1, y1, xs, ys, [xl, yl], logx, steps = null) => {
      const X = (v) => x0 + ((logx ? Math.log(v / xs[0]) / Math.log(xs[1] / xs[0]) : (v - xs[0]) / (xs[1] - xs[0])) * (x1 - x0)), Y = (v) => y1 - ((v - ys[0]) / (ys[1] - ys[0])) * (y1 - y0);
      g.lineWidth = 1;
      const decades = () => viewer.ticks(Math.log10(xs[0]), Math.log10(xs[1]), 6, [1, 2, 5, 10]).map((k) => 10 ** k);
      viewer.frame(g, c, X, Y, logx ? decades() : viewer.ticks(...xs), viewer.ticks(...ys, 5, steps), { left: x0, right: x1, top: y0, bottom: y1 });
      g.fillStyle = c.ink; g.textAlign = "center"; g.fillText(xl, (x0 + x1) / 2, y1 + 25);
      g.save(); g.translate(12, (y0 + y1) / 2); g.rotate(-Math.PI / 2); g.fillText(yl, 0, 0); g.restore();
      return (xv, yv, colour = "#0072b2") => { g.save(); g.beginPath(); g.rect(x0, y0, x1 - x0, y1 - y0); g.clip(); g.strokeStyle = colour; g.lineWidth = 1.6; g.beginPath(); xv.forEach((v, k) => g.lineTo(X(v), Y(yv[k]))); g.stroke(); g.restore(); };
    };
    const name = cut ? `loop cut at ${from}` : `${from} → ${to}`;
    g.fillStyle = c.ink; g.textAlign = "left"; g.fillText(name, 62, 12);
    if (kind === "step") {
      const [t, y] = viewer.stepResponse(from, to), unit = data.units[box("to").value];
      frame(62, 20, w - 12, h - 32, [0, t.at(-1)], viewer.range(y), ["time [s]", to + (unit ? ` [${unit}]` : "")], false)(t, y);
      return;
    }
    const list = frequencies.map((v) => viewer.response(from, to, v, cut)), sizes = list.map(([a, b]) => 20 * Math.log10(Math.hypot(a, b) || 1e-12));
    const marks = cut ? model.margins?.[from] : null;
    if (kind === "bode") {
      const middle = (h - 20) / 2, phases = degrees(list), lines = [];
      lines.push([frame(62, 20, w - 12, middle - 8, range, viewer.range(sizes), ["", "gain [dB]"], true), sizes]);
      lines.push([frame(62, middle + 12, w - 12, h - 32, range, viewer.range(phases), ["frequency [rad/s]", "phase [deg]"], true, [1, 5, 15, 30, 45, 90, 180, 360]), phases]);
      for (const [line, values] of lines) {
        line(frequencies, values);
        for (const at of marks ? [marks.crossover, marks.phase_crossover] : []) if (at) line([at, at], viewer.range(values), "#d55e00");
      }
    } else {
      const [xs, ys] = [[-3, 2], [-2.5, 2.5]], side = Math.min(w - 74, h - 52);
      const line = frame(62, 20, 62 + side, 20 + side, xs, ys, ["real part", "imaginary part"], false);
      line(list.map((v) => v[0]), list.map((v) => v[1]));
      line(list.map((v) => v[0]), list.map((v) => -v[1]), "#888888");
      line([-1.08, -0.92, -1, -1, -1], [0, 0, 0, 0.08, -0.08], "#d55e00");
    }
  });
  function say() {
    const from = data.names[box("from").value], to = data.names[box("to").value], m = from === to ? model.margins?.[from] : null, number = (v, unit) => (v == null ? "none" : viewer.shown(v) + (unit ? " " + unit : ""));
    const when = data.models.length > 1 || model.time ? `about t = ${viewer.shown(model.time)} s: ` : "";
    const why = data.only ? " " + data.only : "";
    note.dataset.time = model.time;
    note.textContent = when + (m
      ? `${m.stable ? "stable" : "unstable"}: gain ${number(m.gain[0])} to ${number(m.gain[1])}, phase ${number(m.phase, "deg")} at ${number(m.crossover, "rad/s")}, delay ${number(m.delay, "s")}, disk ${number(m.disk)}`
      : from === to ? (model.margins ? "no loop goes through this signal" : "margins are computed about the start only; cosim.margins gives them at a snapshot") : model.notes.join(" ")) + why;
  }
  const again = () => { say(); sheet.again(); };
  for (const what of ["from", "to", "kind"]) box(what).addEventListener("change", again);
  const first = Object.keys(data.models[0].margins)[0];
  if (first) { box("from").value = data.names.indexOf(first); box("to").value = data.names.indexOf(first); }
  let next = "from";
  viewer.pickPort = (signal) => { // ports clicked in the diagram with shift: from, then to
    const k = data.names.findIndex((name) => name === signal || name.startsWith(signal + "[") || name.startsWith(signal + "."));
    if (k < 0) return;
    box(next).value = k;
    if (next === "from") box("to").value = k;
    next = next === "from" ? "to" : "from";
    again();
  };
  viewer.on("time", (t) => { // the model nearest to the cursor
    const nearest = data.models.reduce((best, m) => (Math.abs(m.time - t) < Math.abs(best.time - t) ? m : best));
    if (nearest === model) return;
    use(nearest);
    again();
  });
  say();
};
