// Sliders for inputs and parameters of a run under way, a number beside each.
viewer.beginners = [...(viewer.beginners ?? []), async () => {
  const { element } = viewer, MOST = 200;
  const search = element("input", { type: "search", placeholder: "search inputs and parameters", "aria-label": "search inputs and parameters" });
  const list = element("div", {}), panel = element("aside", { id: "sliders", hidden: true }, search, list);
  const opener = element("button", { id: "open-sliders", title: "inputs and parameters (p)", onclick: () => { panel.hidden = !panel.hidden; } }, "sliders");
  document.querySelector("header").append(opener);
  document.body.append(panel);
  document.addEventListener("keydown", (e) => { if (e.key === "p" && !/INPUT|SELECT|TEXTAREA/.test(e.target.tagName)) panel.hidden = !panel.hidden; });

  let sliders = [], values = {};
  const flat = (v) => (Array.isArray(v) ? v.flat(Infinity) : [v]);
  const put = (v, k, x) => { // a copy with the k-th number in another one's place
    let n = 0;
    const copy = (a) => (Array.isArray(a) ? a.map(copy) : n++ === k ? x : a);
    return copy(v);
  };
  const indices = (v, head = "") => (Array.isArray(v) ? v.flatMap((a, i) => indices(a, head ? head + "," + i : String(i))) : [head]);
  const range = (x) => (x === 0 || x == null ? [-1, 1] : x > 0 ? [0, 2 * x] : [2 * x, 0]);

  function draw() {
    const text = search.value.toLowerCase(), fitting = sliders.filter((s) => s.label.toLowerCase().includes(text));
    const parts = [];
    let kind = "", count = 0;
    for (const s of fitting) {
      const numbers = flat(values[s.name]), places = indices(values[s.name]);
      for (let k = 0; k < numbers.length && count < MOST; k++) {
        if (numbers[k] == null) continue;
        if (s.kind !== kind) parts.push(element("h4", {}, (kind = s.kind) === "parameter" ? "parameters" : kind + "s"));
        parts.push(row(s, k, numbers[k], places[k]));
        count += 1;
      }
    }
    if (count >= MOST) parts.push(element("div", {}, `the first ${MOST} of them; search for others`));
    list.replaceChildren(...parts);
  }
  function row(s, k, x, place) {
    const [low, high] = range(x), name = s.label + (place ? `[${place}]` : "");
    const slider = element("input", { type: "range", min: low, max: high, step: "any", value: x, "aria-label": name });
    const number = element("input", { type: "number", step: "any", value: viewer.shown(x), "aria-label": name + ", number" });
    slider.dataset.name = number.dataset.name = s.name;
    slider.dataset.k = number.dataset.k = k;
    const send = (v) => {
      if (!Number.isFinite(v)) return;
      values[s.name] = put(values[s.name], k, v);
      viewer.live.asked = performance.now();
      viewer.live.do("set", { name: s.name, value: values[s.name] });
    };
    slider.addEventListener("input", () => { number.value = viewer.shown(Number(slider.value)); send(Number(slider.value)); });
    number.addEventListener("change", () => {
      const v = Number(number.value);
      if (v < Number(slider.min) || v > Number(slider.max)) [slider.min, slider.max] = range(v);
      slider.value = v;
      send(v);
    });
    const unit = s.units[k] ?? (s.units.length === 1 ? s.units[0] : "");
    return element("div", { class: "row" }, element("span", { title: name }, name), slider, number, element("span", { class: "unit" }, unit));
  }
  viewer.on("live-hello", (hello) => {
    sliders = hello.sliders;
    values = Object.fromEntries(sliders.map((s) => [s.name, s.value]));
    opener.hidden = !sliders.length;
    draw();
  });
  viewer.on("live-values", (now) => { // others may have moved them, or the run went back
    values = now;
    for (const input of list.querySelectorAll("input")) {
      if (input === document.activeElement) continue;
      const x = flat(values[input.dataset.name])[Number(input.dataset.k)];
      if (x == null) continue;
      if (input.type === "range" && (x < Number(input.min) || x > Number(input.max))) [input.min, input.max] = range(x);
      input.value = input.type === "range" ? x : viewer.shown(x);
    }
  });
  search.addEventListener("input", draw);
}];
