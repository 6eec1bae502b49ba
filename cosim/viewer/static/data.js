// What the page shows: a JSON text and one row of doubles it refers to, both compressed in the page itself.
const viewer = { listeners: {}, nonce: document.currentScript?.nonce ?? "" };

viewer.on = (what, f) => (viewer.listeners[what] ??= []).push(f);
viewer.tell = (what, value) => (viewer.listeners[what] ?? []).forEach((f) => f(value));

viewer.unpacked = async (id) => {
  const text = atob(document.getElementById(id).textContent.trim()), bytes = new Uint8Array(text.length);
  for (let k = 0; k < text.length; k++) bytes[k] = text.charCodeAt(k);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
};

viewer.given = (texts) => { // the data of a page that was open before, from the script beside it
  for (const [id, text] of Object.entries(texts)) document.body.append(viewer.element("script", { type: "text/plain", id }, text));
};

viewer.awaited = async () => { // data may come later: meanwhile libraries and the renderer get ready
  const title = document.title, wait = (ms) => new Promise((done) => setTimeout(done, ms));
  document.getElementById("title").textContent = title;
  document.getElementById("about").textContent = "is being read ...";
  const look = (n) => new Promise((done) => { // the script is empty until there is something in it
    const script = viewer.element("script", { src: "data.js?" + n, onload: done, onerror: done });
    document.body.append(script);
    script.addEventListener("load", () => script.remove());
  });
  const ready = (async () => {
    await viewer.vendor("three");
    viewer.warm?.();
    await viewer.vendor("uplot");
    await viewer.vendor("elk");
  })();
  for (let n = 0; !document.getElementById("numbers") && !viewer.failure; n++) { await look(n); await wait(n < 400 ? 10 : 250); }
  if (viewer.failure) throw new Error(viewer.failure);
  return ready;
};

viewer.vendor = async (name) => { // a library that is kept compressed in the page
  if (document.getElementById("ran-" + name)) return;
  const code = new TextDecoder().decode(await viewer.unpacked("vendor-" + name));
  const script = document.createElement("script");
  script.id = "ran-" + name;
  script.nonce = viewer.nonce;
  script.textContent = code;
  document.head.append(script);
};

viewer.painted = () => new Promise((done) => { // what is drawn so far can be seen; in a hidden tab nothing waits
  requestAnimationFrame(() => setTimeout(done));
  setTimeout(done, 100);
});

viewer.numbers = (ref) => { // what {at, shape} refers to: a Float64Array, or one for each row
  const [rows, columns] = ref.shape;
  if (ref.shape.length === 1) return viewer.row.subarray(ref.at, ref.at + rows);
  const width = ref.shape.slice(1).reduce((a, b) => a * b, 1);
  return Array.from({ length: rows }, (_, k) => viewer.row.subarray(ref.at + k * width, ref.at + (k + 1) * width));
};

viewer.colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#7a7a7a"];
viewer.rateColour = (rate) => (rate == null ? "var(--ink)" : viewer.colours[rate % viewer.colours.length]);

viewer.shown = (x) => {
  if (!Number.isFinite(x)) return String(x);
  const size = Math.abs(x);
  return size !== 0 && (size >= 1e5 || size < 1e-3) ? x.toExponential(4) : Number(x.toPrecision(6)).toString();
};

viewer.tick = (x) => { // a number at an axis: no digit more than it needs
  const short = Number(x.toPrecision(6)), size = Math.abs(short);
  return size !== 0 && (size >= 1e5 || size < 1e-3) ? short.toExponential() : short.toString();
};

viewer.element = (tag, properties = {}, ...children) => { // texts are texts, never markup
  const found = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "class") found.className = value;
    else if (key.startsWith("on")) found.addEventListener(key.slice(2), value);
    else if (key in found) found[key] = value;
    else found.setAttribute(key, value);
  }
  found.append(...children.filter((c) => c != null));
  return found;
};

viewer.save = (name, blob) => { // as a download
  const a = viewer.element("a", { href: URL.createObjectURL(blob), download: name });
  a.click();
  URL.revokeObjectURL(a.href);
};

// --- signals by name ---------------------------------------------------------------------------------------
viewer.indexAt = (times, t) => { // the last of the sorted times that is not after t
  let low = 0, high = times.length - 1;
  if (high < 0 || times[0] > t) return 0;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (times[middle] <= t) low = middle; else high = middle - 1;
  }
  return low;
};

viewer.makeSignals = (result) => {
  const found = new Map();
  const time = viewer.numbers(result.time);
  for (const s of result.signals) {
    const log = s.values ? viewer.numbers(s.values) : null;
    const ticks = s.ticks ? { time: viewer.numbers(s.ticks.time), values: viewer.numbers(s.ticks.values) } : null;
    s.components.forEach((name, k) => {
      found.set(name, {
        name, unit: s.units[k] ?? "", signal: s.name, sampled: s.sampled,
        time: log ? time : ticks.time, values: log ? log[k] : ticks.values[k],
        samples: ticks ? { time: ticks.time, values: ticks.values[k] } : null,
      });
    });
  }
  return found;
};

viewer.valueAt = (signal, t) => signal.values[viewer.indexAt(signal.time, t)];

// --- the time all rooms share ------------------------------------------------------------------------------
viewer.time = 0;
viewer.mark = null; // an instant that values are compared with
viewer.setMark = (t) => { viewer.mark = t; viewer.setTime(viewer.time); };
viewer.instant = (t) => "t = " + t.toFixed(4) + " s" + (viewer.mark == null ? "" : `, Δt = ${(t - viewer.mark).toFixed(4)} s`);
viewer.setTime = (t) => {
  viewer.time = Math.min(Math.max(t, viewer.begin), viewer.end);
  viewer.tell("time", viewer.time);
};
