// What is drawn between and beside bodies: springs, dampers and other forces as lines, frames of bodies, gravity.
viewer.springShape = Array.from({ length: 24 }, (_, i) => [i / 23, i > 3 && i < 20 ? (i % 2 ? 1.8 : -1.8) : 0]);
viewer.linkShapes = (f) => { // polylines along the way from one point to the other: [part of it, aside]
  const shapes = f.spring ? [viewer.springShape] : [];
  if (f.damper) shapes.push([[0, 0], [0.5, 0], [0.5, 1.9], [0.5, -1.9]], [[1, 0], [0.64, 0], [0.64, 2.6], [0.34, 2.6], [0.64, 2.6], [0.64, -2.6], [0.34, -2.6]]);
  return shapes.length ? shapes : [[[0, 0], [1, 0]]]; // a piston and its cylinder
};

viewer.forceLines = (plants, stage) => { // redrawn by the function that is returned
  const pieces = plants.flatMap((p) => p.forces.filter((f) => f.links[0] !== f.links[1]).flatMap((f) => viewer.linkShapes(f).map((shape) => ({ ...f, plant: p, shape, count: shape.length, colour: f.spring || f.damper ? 0xe69f00 : 0xcc79a7 }))));
  if (!pieces.length) return () => {};
  const lines = viewer.polylines(pieces), side = new THREE.Vector3(), along = new THREE.Vector3();
  stage.scene.add(lines.object);
  viewer.forcePieces = () => pieces.map((f, i) => ({ name: f.name, spring: f.spring, damper: f.damper, points: Array.from(lines.array.subarray(3 * lines.starts[i], 3 * (lines.starts[i] + f.count))) }));
  return () => {
    pieces.forEach((f, i) => {
      const first = stage.at(f.plant, f.links[0], f.points[0]), last = stage.at(f.plant, f.links[1], f.points[1]);
      along.subVectors(last, first);
      stage.camera().getWorldDirection(side);
      side.cross(along).normalize().multiplyScalar(stage.thick);
      f.shape.forEach(([part, aside], k) => first.clone().addScaledVector(along, part).addScaledVector(side, aside).toArray(lines.array, 3 * (lines.starts[i] + k)));
    });
    lines.changed();
  };
};

viewer.frames = (plants, stage) => { // axes of every body's marker at its centre of mass: x vermilion, y green, z blue
  const colours = [0xd55e00, 0x009e73, 0x0072b2], long = 0.09 * stage.size;
  const bodies = plants.flatMap((p) => p.bodies.map((b) => ({ plant: p, link: b.link, at: b.centre ?? b.points[0] ?? [0, 0, 0], axes: b.axes ?? [[1, 0, 0], [0, 1, 0], [0, 0, 1]] })));
  let lines = null;
  function update() {
    bodies.forEach((b, i) => [0, 1, 2].forEach((k) => {
      const end = b.at.map((v, c) => v + long * b.axes[c][k]);
      [b.at, end].forEach((s, j) => stage.at(b.plant, b.link, s).toArray(lines.array, 3 * (lines.starts[3 * i + k] + j)));
    }));
    lines.changed();
  }
  viewer.frameState = () => (lines?.object.visible ? Array.from(lines.array) : []);
  return {
    show(on) {
      if (!lines) {
        lines = viewer.polylines(bodies.flatMap(() => colours.map((colour) => ({ count: 2, colour }))));
        lines.object.material.depthTest = false;
        lines.object.renderOrder = 4; // seen through bodies
        stage.scene.add(lines.object);
      }
      lines.object.visible = on;
      if (on) update();
    },
    update() { if (lines?.object.visible) update(); },
  };
};

viewer.gravity = (plant, stage) => { // an arrow beside everything, and its size for the list
  const g = plant?.gravity ? new THREE.Vector3(...plant.gravity) : null;
  if (!g || g.length() === 0) return null;
  const down = g.clone().normalize(), normal = stage.normal ?? (Math.abs(down.z) > 0.9 ? new THREE.Vector3(0, 1, 0) : new THREE.Vector3(0, 0, 1));
  const aside = down.clone().cross(normal), long = 0.14 * stage.size;
  if (aside.length() < 1e-9) aside.set(down.y, down.z, down.x);
  aside.normalize();
  const from = stage.centre.clone().addScaledVector(aside, 0.58 * stage.size).addScaledVector(down, -0.5 * long);
  const arrow = new THREE.ArrowHelper(down, from, long, 0x7a7a7a, 0.3 * long, 0.16 * long);
  stage.scene.add(arrow);
  viewer.gravityArrow = arrow;
  return `gravity ${viewer.shown(g.length())} ${plant.units?.acceleration ?? "m/s²"}`;
};
