// Velocities, forces and reactions as arrows, energy as bars, and the camera that follows a body.
viewer.arrows = (plants, stage) => {
  const colours = { velocity: 0x009e73, force: 0xd55e00, reaction: 0x0072b2 }, shown = { velocity: false, force: false, reaction: false };
  const Y = new THREE.Vector3(0, 1, 0), every = [], largest = {};
  let factor = 1;
  const grow = (key, v) => { largest[key] = Math.max(largest[key] ?? 0, Math.hypot(v[0], v[1], v[2])); };
  const now = (a) => a.plant.arrowRows?.subarray(a.plant.row * a.plant.arrowWidth + 3 * a.number, a.plant.row * a.plant.arrowWidth + 3 * a.number + 3) ?? a.list[a.plant.row];
  plants.forEach((p) => (p.arrows ?? []).forEach((a, number) => {
    const values = viewer.numbers(a.values), key = a.kind + (a.turning ? " torque" : "");
    for (const v of values) grow(key, v);
    const paint = new THREE.MeshBasicMaterial({ color: colours[a.kind], transparent: true, opacity: a.turning ? 0.6 : 0.95, depthTest: false });
    const group = new THREE.Group(), r = 0.45 * stage.thick;
    const shaft = new THREE.Mesh(new THREE.CylinderGeometry(r, r, 1, 8), paint), head = new THREE.Mesh(new THREE.ConeGeometry(3 * r, 6 * r, 10), paint);
    group.add(shaft, head);
    if (a.turning) { // a torque has two heads
      const second = new THREE.Mesh(head.geometry, paint);
      group.add(second);
      group.userData.second = second;
    }
    group.visible = false;
    group.children.forEach((part) => { part.renderOrder = 5; }); // seen through bodies
    stage.scene.add(group);
    every.push({ ...a, plant: p, number, list: values, key, group, shaft, head, tip: 6 * r });
  }));
  const kinds = [...new Set(every.map((a) => a.kind))];
  const place = (t) => {
    for (const a of every) {
      const v = now(a);
      if (a.plant.arrowRows) grow(a.key, v);
      const size = Math.hypot(...v), length = (0.3 * stage.size * factor * size) / (largest[a.key] || 1);
      a.group.visible = shown[a.kind] && length > 0.2 * stage.thick;
      if (!a.group.visible) continue;
      a.group.position.copy(stage.at(a.plant, a.link, a.point));
      a.group.quaternion.setFromUnitVectors(Y, new THREE.Vector3(...v).divideScalar(size));
      const stem = Math.max(length - a.tip, 1e-9);
      a.shaft.scale.y = stem;
      a.shaft.position.y = stem / 2;
      a.head.position.y = stem + a.tip / 2;
      if (a.group.userData.second) a.group.userData.second.position.y = stem - a.tip / 3;
    }
    values(t);
  };
  // numbers beside the arrows that are shown, and bars of energy
  const box = viewer.element("div", { class: "values", hidden: true }), bars = viewer.element("div", { class: "bars" });
  stage.canvas.append(box, bars);
  function values() {
    const lines = every.filter((a) => shown[a.kind] && a.group.visible).slice(0, 24);
    box.hidden = !lines.length;
    box.replaceChildren(...lines.map((a) => viewer.element("div", { style: "color:#" + colours[a.kind].toString(16).padStart(6, "0") }, `${a.name}${a.turning ? " torque" : a.kind === "velocity" ? " velocity" : ""}: ${viewer.shown(Math.hypot(...now(a)))} ${a.unit}`)));
  }
  const ledgers = plants.filter((p) => p.energy).map((p) => {
    const parts = [...viewer.signals.values()].filter((s) => s.signal === p.energy), names = parts.map((s) => s.name.split(".").at(-1).replace(/^audit_energy\.?/, ""));
    return { parts, names, top: 1e-300, seen: 0, unit: p.units?.energy ?? "J" };
  });
  function raise(ledger) { // the largest value, of what was not looked at yet
    for (const s of ledger.parts) for (let i = ledger.seen; i < s.values.length; i++) if (Math.abs(s.values[i]) > ledger.top) ledger.top = Math.abs(s.values[i]);
    ledger.seen = ledger.parts[0]?.values.length ?? 0;
  }
  const energies = (t) => {
    ledgers.forEach(raise);
    bars.replaceChildren(...ledgers.flatMap(({ parts, names, top, unit }) => parts.map((s, k) => {
      const v = viewer.valueAt(s, t), share = (Math.abs(v) / top) * 50;
      return viewer.element("div", { class: "energy", title: s.name }, viewer.element("span", { class: "what" }, names[k]),
        viewer.element("span", { class: "track" }, viewer.element("i", { style: `left:${v < 0 ? 50 - share : 50}%;width:${share}%;background:${viewer.colours[k % viewer.colours.length]}` })),
        viewer.element("span", { class: "number" }, `${viewer.shown(v)} ${unit}`));
    })));
  };
  bars.hidden = !ledgers.length;
  const tools = stage.room.querySelector(".tools"), before = tools.querySelector("[data-do=reset]");
  const words = { velocity: "velocities", force: "forces", reaction: "reactions" };
  for (const kind of kinds) {
    const tick = viewer.element("input", { type: "checkbox" });
    tick.dataset.arrows = kind;
    tick.addEventListener("input", () => { shown[kind] = tick.checked; scale.hidden = !Object.values(shown).some(Boolean); });
    before.before(viewer.element("label", {}, tick, " " + words[kind]));
  }
  const scale = viewer.element("input", { type: "range", min: -2, max: 2, step: "any", value: 0, title: "length of arrows", "aria-label": "length of arrows", style: "width:5rem", hidden: true });
  scale.addEventListener("input", () => { factor = 2 ** (2 * Number(scale.value)); });
  if (kinds.length) before.before(scale);
  viewer.arrowState = () => every.filter((a) => a.group.visible).map((a) => {
    const tip = new THREE.Vector3(0, a.shaft.scale.y + a.tip, 0).applyQuaternion(a.group.quaternion);
    return { name: a.name, kind: a.kind, turning: a.turning, from: a.group.position.toArray(), along: tip.toArray(), value: Array.from(now(a)) };
  });
  viewer.energyState = () => [...bars.querySelectorAll(".energy")].map((e) => e.innerText.replaceAll("\n", " "));
  return (t) => { place(t); energies(t); };
};
