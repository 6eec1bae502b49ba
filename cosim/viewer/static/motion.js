// Plants in space: bodies as bars between their markers, joints by their shape, forces, the ground.
viewer.warm = () => { // a renderer that has compiled its programs, for a picture that is still to come
  const scene = new THREE.Scene(), camera = new THREE.PerspectiveCamera(), light = new THREE.DirectionalLight(0xffffff, 1);
  const box = new THREE.BoxGeometry(1, 1, 1), lines = viewer.polylines([{ count: 2, colour: 0 }]).object;
  scene.add(light, new THREE.AmbientLight(0xffffff, 1), new THREE.Mesh(box, new THREE.MeshLambertMaterial()), new THREE.Mesh(box, new THREE.MeshBasicMaterial()), lines, new THREE.GridHelper(1, 1));
  camera.position.z = 5;
  try { viewer.spare = new THREE.WebGLRenderer({ antialias: true }); } catch { return; }
  viewer.spare.render(scene, camera);
};

viewer.motion = async (plants, result) => {
  const room = document.getElementById("motion"), canvas = room.querySelector(".canvas"), list = room.querySelector(".list");
  room.hidden = false;
  await viewer.vendor("three");
  const many = plants.reduce((n, p) => n + p.bodies.length, 0) > 60;
  let renderer;
  try { // smooth edges of many bodies cost a third of a frame where a processor draws them
    renderer = (!many && viewer.spare) || new THREE.WebGLRenderer({ antialias: !many });
  } catch (error) {
    canvas.append(viewer.element("p", {}, "This browser has no WebGL: motion cannot be drawn. " + error.message));
    return;
  }
  const scene = new THREE.Scene();
  canvas.append(renderer.domElement);
  scene.add(new THREE.AmbientLight(0xffffff, 1.6));
  const sun = new THREE.DirectionalLight(0xffffff, 2.0);
  sun.position.set(2, 5, 4);
  scene.add(sun);
  let time = result ? viewer.numbers(result.time) : new Float64Array(1);
  viewer.on("grown", (times) => { // a run under way
    time = times;
    for (const p of plants) if (!p.instants) p.times = times;
  });
  const V = (p) => new THREE.Vector3(...p);

  // --- poses: origin and axes of a link, column by column
  for (const p of plants) {
    p.count = p.poses.shape[0];
    p.rows = viewer.row.subarray(p.poses.at, p.poses.at + p.poses.shape.reduce((a, b) => a * b, 1));
    p.links = p.poses.shape[1];
    p.times = p.instants ? viewer.numbers(p.instants).map((k) => time[k]) : time; // of its poses
    p.rowAt = (t) => Math.min(viewer.indexAt(p.times, t), p.count - 1);
  }
  const matrix = (p, row, link, into) => {
    if (link < 0) return into.identity();
    const o = 12 * (row * p.links + link), a = p.rows;
    return into.set(a[o + 3], a[o + 6], a[o + 9], a[o], a[o + 4], a[o + 7], a[o + 10], a[o + 1], a[o + 5], a[o + 8], a[o + 11], a[o + 2], 0, 0, 0, 1);
  };
  const M = new THREE.Matrix4();
  viewer.poseAt = (plant, t, link, point) => viewer.pointAt(plant, plants[plant].rowAt(t), link, point);
  viewer.pointAt = (plant, row, link, point) => V(point).applyMatrix4(matrix(plants[plant], row, link, M)).toArray();

  // --- how large everything is
  const low = new THREE.Vector3(Infinity, Infinity, Infinity), high = low.clone().negate();
  const reach = (v) => { low.min(v); high.max(v); };
  for (const p of plants) {
    const every = Math.max(1, Math.floor(p.count / 60));
    for (let row = 0; row < p.count; row += every) for (const b of p.bodies) b.points.forEach((s) => reach(V(s).applyMatrix4(matrix(p, row, b.link, M))));
    for (const row of [0, p.count - 1]) for (const s of p.solids) viewer.solidCorners(s).forEach((v) => reach(v.applyMatrix4(matrix(p, row, s.link, M))));
    p.joints.filter((j) => j.link < 0).forEach((j) => reach(V(j.point)));
    p.forces.forEach((f) => f.links.forEach((link, k) => link < 0 && reach(V(f.points[k]))));
  }
  if (!Number.isFinite(low.x)) { low.set(-1, -1, -1); high.set(1, 1, 1); }
  const centre = low.clone().add(high).multiplyScalar(0.5), size = Math.max(high.distanceTo(low), 1e-6);
  const solid = plants.flatMap((p) => p.bodies.flatMap((b) => b.points.map((s, i) => (i ? V(s).distanceTo(V(b.points[i - 1])) : 0)))).filter((d) => d > 0);
  const typical = solid.length ? solid.sort((a, b) => a - b)[solid.length >> 1] : size / 4;
  const thick = Math.min(typical / 14, size / 40);

  // --- shapes
  const moved = []; // {plant, link, object}
  const bar = (a, b, radius, material) => {
    const d = V(b).sub(V(a)), length = d.length();
    const mesh = new THREE.Mesh(new THREE.CylinderGeometry(radius, radius, length, 12), material);
    mesh.position.copy(V(a)).addScaledVector(d, 0.5);
    if (length > 0) mesh.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), d.normalize());
    return mesh;
  };
  const colours = viewer.colours.map((c) => new THREE.MeshLambertMaterial({ color: c }));
  const grey = new THREE.MeshLambertMaterial({ color: 0x8a929c }), dark = new THREE.MeshLambertMaterial({ color: 0x454c55 });
  // many bodies are lines in one buffer
  const crowd = many ? viewer.polylines(plants.flatMap((p, n) => p.bodies.map((b, k) => ({ count: b.points.length, colour: colours[(k + n) % colours.length].color })))) : null;
  const crowded = many ? plants.flatMap((p) => p.bodies.map((b) => ({ plant: p, link: b.link, points: b.points.flat(), count: b.points.length }))) : [];
  if (crowd) scene.add(crowd.object);
  plants.forEach((p, n) => {
    if (!many) p.bodies.forEach((b, k) => {
      const group = new THREE.Group(), paint = colours[(k + n) % colours.length], skin = viewer.solidsOf(p.solids, b.link, paint);
      if (skin.length) group.add(...skin);
      const reached = viewer.reachedBy(p.solids, b.link, thick); // bars join what shapes of the deck do not reach
      for (let i = 1; i < b.points.length; i++) {
        const ends = [b.points[i - 1], b.points[i]];
        if (!ends.every(reached)) group.add(bar(...ends, thick, paint));
      }
      if (b.points.length < 2 && !skin.length) group.add(new THREE.Mesh(new THREE.BoxGeometry(4 * thick, 4 * thick, 4 * thick), paint));
      if (b.centre) {
        const ball = new THREE.Mesh(new THREE.SphereGeometry(1.5 * thick, 12, 8), dark);
        ball.position.copy(V(b.centre));
        group.add(ball);
      }
      group.matrixAutoUpdate = false;
      group.userData = { plant: n, body: k };
      scene.add(group);
      moved.push({ plant: p, link: b.link, object: group });
    });
    for (const [link, paint] of [[-1, grey], ...(many ? p.bodies.map((b, k) => [b.link, colours[(k + n) % colours.length]]) : [])]) {
      const skin = viewer.solidsOf(p.solids, link, paint);
      if (!skin.length) continue;
      const group = new THREE.Group().add(...skin);
      group.matrixAutoUpdate = false;
      scene.add(group);
      moved.push({ plant: p, link, object: group });
    }
    if (!many) p.joints.filter((j) => j.shape).forEach((j) => {
      const group = new THREE.Group(), axis = V(j.axis).normalize().multiplyScalar(2.4 * thick);
      const ends = [V(j.point).sub(axis).toArray(), V(j.point).add(axis).toArray()];
      if (j.shape === "ball") {
        const ball = new THREE.Mesh(new THREE.SphereGeometry(1.9 * thick, 14, 10), grey);
        ball.position.copy(V(j.point));
        group.add(ball);
      } else if (j.shape === "slider") group.add(bar(V(j.point).addScaledVector(axis, -2.5).toArray(), V(j.point).addScaledVector(axis, 2.5).toArray(), 0.6 * thick, grey));
      else group.add(bar(...ends, 1.5 * thick, grey));
      group.matrixAutoUpdate = false;
      scene.add(group);
      moved.push({ plant: p, link: j.link, object: group });
    });
  });
  // ground: a grid under everything, across gravity; in the plane of a planar mechanism none
  const g = plants[0]?.gravity ?? [0, -9.81, 0], pull = V(g).length() > 0 ? V(g).normalize() : new THREE.Vector3(0, -1, 0);
  const up = pull.clone().negate(), normal = plants[0]?.normal ? V(plants[0].normal).normalize() : null;
  const grid = new THREE.GridHelper(2 ** Math.ceil(Math.log2(size * 2)), 16, 0x888888, 0x888888);
  grid.material.opacity = 0.25;
  grid.material.transparent = true;
  grid.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), up);
  const deepest = Math.min(low.dot(up), high.dot(up));
  grid.position.copy(centre).addScaledVector(up, deepest - centre.dot(up) - 2 * thick);
  scene.add(grid);

  // --- cameras
  let camera, controls;
  function look(flat) {
    const w = Math.max(1, canvas.clientWidth), h = Math.max(1, canvas.clientHeight), half = 0.62 * size;
    camera = flat ? new THREE.OrthographicCamera((-half * w) / h, (half * w) / h, half, -half, -100 * size, 100 * size) : new THREE.PerspectiveCamera(35, w / h, size / 500, size * 50);
    let from = normal ? normal.clone() : up.clone().multiplyScalar(0.45).add(new THREE.Vector3(1, 0.2, 1).normalize());
    if (normal && Math.abs(Math.min(normal.x, normal.y, normal.z)) > 0.9) from.negate();
    if (normal && Math.abs(normal.y) > 0.9 && Math.abs(up.z) > 0.9) from = new THREE.Vector3(0, -1, 0); // x to the right
    camera.up.copy(up);
    camera.position.copy(centre).addScaledVector(from.normalize(), 1.9 * size);
    controls?.dispose();
    controls = new THREE.OrbitControls(camera, renderer.domElement);
    controls.target.copy(centre);
    controls.addEventListener("change", render);
    controls.update();
    render();
  }
  function resize() {
    const w = Math.max(1, canvas.clientWidth), h = Math.max(1, canvas.clientHeight);
    renderer.setPixelRatio(Math.min(2, devicePixelRatio));
    renderer.setSize(w, h);
    if (camera.isPerspectiveCamera) camera.aspect = w / h;
    else { const half = camera.top; camera.left = (-half * w) / h; camera.right = (half * w) / h; }
    camera.updateProjectionMatrix();
    render();
  }
  function paper() { scene.background = new THREE.Color(getComputedStyle(document.documentElement).getPropertyValue("--paper").trim() || "#fff"); }
  paper();
  function render() {
    renderer.render(scene, camera);
    labels();
  }
  function herd() { // the bodies of the crowd, where they are now
    const out = crowd.array;
    let o = 0;
    for (const b of crowded) {
      const a = b.plant.rows, k = 12 * (b.plant.row * b.plant.links + b.link), s = b.points;
      for (let i = 0; i < s.length; i += 3, o += 3) for (let c = 0; c < 3; c++) out[o + c] = a[k + c] + a[k + 3 + c] * s[i] + a[k + 6 + c] * s[i + 1] + a[k + 9 + c] * s[i + 2];
    }
    crowd.changed();
  }
  const at = (t) => {
    plants.forEach((p) => { p.row = p.rowAt(t); });
    for (const m of moved) {
      matrix(m.plant, m.plant.row, m.link, m.object.matrix);
      m.object.matrixWorldNeedsUpdate = true;
    }
    if (crowd) herd();
    links();
    frames.update();
    trails.update();
    arrows(t);
    if (followed) {
      const here = place(followed.plant, followed.link, followed.centre);
      camera.position.add(here.clone().sub(controls.target));
      controls.target.copy(here);
      controls.update();
    }
    render();
  };
  let followed = null; // {plant, link, centre}: the camera goes with it
  const place = (p, link, point, row = p.row) => V(point).applyMatrix4(matrix(p, row, link, M));
  plants.forEach((p) => { p.row = 0; });
  const weight = viewer.gravity(plants[0], { scene, size, centre, normal });
  const links = viewer.forceLines(plants, { scene, thick, at: place, camera: () => camera });
  const frames = viewer.frames(plants, { scene, size, at: place });
  const trails = viewer.trails(plants, { scene, colours, at: place });
  const arrows = viewer.arrows(plants, { room, canvas, scene, thick, size, at: place });
  // --- names, and the list of bodies; a click on one follows it
  const names = viewer.element("div", { hidden: true });
  canvas.append(names);
  function labels() {
    if (names.hidden) return;
    const w = canvas.clientWidth, h = canvas.clientHeight;
    names.replaceChildren(...plants.flatMap((p) => p.bodies.map((b) => {
      const s = place(p, b.link, b.centre ?? b.points[0] ?? [0, 0, 0]).project(camera);
      return viewer.element("span", { style: `position:absolute;left:${((s.x + 1) / 2) * w}px;top:${((1 - s.y) / 2) * h}px;font-size:11px` }, b.name);
    })));
  }
  if (weight) list.append(viewer.element("div", { class: "gravity" }, weight));
  list.append(...plants.flatMap((p) => [viewer.element("b", {}, p.path), ...p.bodies.slice(0, 40).map((b, k) => viewer.element("div", { class: "body", tabindex: 0, title: "follow it, or not", style: "color:" + viewer.colours[k % viewer.colours.length], onclick: (e) => follow(p, b, e.currentTarget), onkeydown: (e) => { if (e.key === "Enter") follow(p, b, e.currentTarget); } }, `${b.name}, ${viewer.shown(b.mass)} ${p.units?.mass ?? "kg"}`))]));
  function follow(p, b, line) {
    const same = followed?.plant === p && followed.link === b.link;
    followed = same ? null : { plant: p, link: b.link, centre: b.centre ?? b.points[0] ?? [0, 0, 0] };
    list.querySelectorAll(".body").forEach((o) => o.classList.toggle("on", o === line && !same));
    at(viewer.time);
  }
  room.querySelector(".tools").addEventListener("input", (e) => {
    const what = e.target.dataset.do;
    if (what === "trails") trails.show(e.target.checked);
    if (what === "frames") frames.show(e.target.checked);
    if (what === "names") names.hidden = !e.target.checked;
    if (what === "ortho") { look(e.target.checked); resize(); }
    at(viewer.time);
  });
  room.querySelector("[data-do=reset]").addEventListener("click", () => { followed = null; list.querySelectorAll(".on").forEach((o) => o.classList.remove("on")); look(camera.isOrthographicCamera); resize(); });
  viewer.projected = (plant, row, link, point) => { // pixel of a point of a link, from the upper left of the picture
    const s = V(point).applyMatrix4(matrix(plants[plant], row, link, M)).project(camera);
    return [((s.x + 1) / 2) * canvas.clientWidth, ((1 - s.y) / 2) * canvas.clientHeight];
  };
  viewer.camera = () => ({ matrix: camera.projectionMatrix.clone().multiply(camera.matrixWorldInverse).toArray(), width: canvas.clientWidth, height: canvas.clientHeight });
  const ray = new THREE.Raycaster();
  function caught(x, y) { // the body under a place of the picture (-1 to 1): its plant, link and the point along the link's axes
    const shapes = moved.filter((m) => m.object.userData.body !== undefined);
    shapes.forEach((m) => { m.object.matrixWorld.copy(m.object.matrix); m.object.updateMatrixWorld(true); });
    ray.params.Line.threshold = size / 50;
    ray.setFromCamera(new THREE.Vector2(x, y), camera);
    const [hit] = ray.intersectObjects(crowd ? [crowd.object] : shapes.map((m) => m.object), true);
    if (!hit) return null;
    let own = crowd ? crowded[crowd.owner(hit.index)] : null;
    if (!crowd) { let o = hit.object; while (!own) { own = shapes.find((m) => m.object === o); o = o.parent; } }
    return { plant: own.plant, link: own.link, local: hit.point.clone().applyMatrix4(matrix(own.plant, own.plant.row, own.link, M).clone().invert()) };
  }
  viewer.space = { scene, canvas, moved, plants, size, renderer, caught, at: place, camera: () => camera, controls: () => controls, render };
  look(normal !== null);
  resize();
  at(viewer.time);
  new ResizeObserver(resize).observe(canvas);
  viewer.on("time", at);
  viewer.on("theme", () => { paper(); at(viewer.time); });
};
