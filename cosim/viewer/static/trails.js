// Trails: where the last point of every body has been. They are computed where they are looked at, and grow with a run.
viewer.trails = (plants, stage) => {
  const MOST = 2000, BODIES = 60, group = new THREE.Group(), every = [];
  group.visible = false;
  stage.scene.add(group);
  plants.forEach((p, n) => p.bodies.slice(0, BODIES).forEach((b, k) => {
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(6 * MOST), 3));
    const line = new THREE.Line(geometry, new THREE.LineBasicMaterial({ color: stage.colours[(k + n) % stage.colours.length].color, transparent: true, opacity: 0.5 }));
    line.frustumCulled = false;
    group.add(line);
    every.push({ plant: p, link: b.link, point: b.points[b.points.length - 1] ?? b.centre ?? [0, 0, 0], line, stride: 0, have: 0 });
  }));
  function update() { // every stride-th row; the stride doubles where there are too many
    for (const t of every) {
      const rows = t.plant.count, position = t.line.geometry.attributes.position;
      if (!t.stride) t.stride = Math.max(1, Math.ceil(rows / MOST));
      if (Math.ceil(rows / t.stride) > 2 * MOST) { t.stride = Math.ceil(rows / MOST); t.have = 0; }
      const wanted = Math.ceil(rows / t.stride);
      for (let i = Math.min(t.have, wanted); i < wanted; i++) stage.at(t.plant, t.link, t.point, i * t.stride).toArray(position.array, 3 * i);
      if (wanted !== t.have) position.needsUpdate = true;
      t.have = wanted;
      t.line.geometry.setDrawRange(0, wanted);
    }
  }
  viewer.on("cut", (rows) => { for (const t of every) if (t.stride) t.have = Math.min(t.have, Math.floor(rows / t.stride)); });
  viewer.trailState = () => every.map((t) => ({ shown: group.visible, count: t.have, stride: t.stride, points: Array.from(t.line.geometry.attributes.position.array.subarray(0, 3 * t.have)) }));
  return { show(on) { group.visible = on; if (on) update(); }, update() { if (group.visible) update(); } };
};
