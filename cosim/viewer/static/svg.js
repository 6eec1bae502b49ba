// Curves as an SVG picture: axes with numbers, a line per curve, a legend.
viewer.svgOf = (data, labels, xlabel, sampled, colours = viewer.colours, w = 900, h = 360) => {
  const [x, ...curves] = data, left = 70, right = 14, top = 14 + 16 * labels.length, bottom = 40;
  const span = (lists) => viewer.range([].concat(...lists.map((l) => viewer.range(Array.from(l, (v) => v ?? NaN)))));
  const xs = span([x]), ys = span(curves), X = (v) => left + ((v - xs[0]) / (xs[1] - xs[0])) * (w - left - right), Y = (v) => h - bottom - ((v - ys[0]) / (ys[1] - ys[0])) * (h - top - bottom);
  const NS = "http://www.w3.org/2000/svg", svg = document.createElementNS(NS, "svg");
  const add = (tag, attributes, text = "") => { const e = document.createElementNS(NS, tag); for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v); e.textContent = text; svg.append(e); };
  svg.setAttribute("xmlns", NS);
  svg.setAttribute("viewBox", `0 0 ${w} ${h}`);
  svg.setAttribute("font-family", "sans-serif");
  svg.setAttribute("font-size", "12");
  add("rect", { width: w, height: h, fill: "white" });
  for (let k = 0; k <= 5; k++) {
    const u = xs[0] + (k / 5) * (xs[1] - xs[0]), v = ys[0] + (k / 5) * (ys[1] - ys[0]);
    add("line", { x1: X(u), x2: X(u), y1: top, y2: h - bottom, stroke: "#dddddd" });
    add("line", { x1: left, x2: w - right, y1: Y(v), y2: Y(v), stroke: "#dddddd" });
    add("text", { x: X(u), y: h - bottom + 16, "text-anchor": "middle" }, String(Number(u.toPrecision(4))));
    add("text", { x: left - 6, y: Y(v) + 4, "text-anchor": "end" }, String(Number(v.toPrecision(4))));
  }
  add("text", { x: (left + w - right) / 2, y: h - 6, "text-anchor": "middle" }, xlabel);
  curves.forEach((list, k) => {
    let d = "", last = null;
    for (let i = 0; i < x.length; i++) {
      if (list[i] == null) continue;
      const p = `${X(x[i]).toFixed(2)} ${Y(list[i]).toFixed(2)}`;
      d += last === null ? "M" + p : sampled[k] ? `H${X(x[i]).toFixed(2)}V${Y(list[i]).toFixed(2)}` : "L" + p;
      last = i;
    }
    const colour = colours[k % colours.length];
    add("path", { d, fill: "none", stroke: colour, "stroke-width": 1.5 });
    add("line", { x1: left, x2: left + 22, y1: 10 + 16 * k, y2: 10 + 16 * k, stroke: colour, "stroke-width": 2 });
    add("text", { x: left + 28, y: 14 + 16 * k }, labels[k]);
  });
  return new XMLSerializer().serializeToString(svg);
};
