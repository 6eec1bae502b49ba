// Pushing a body with the mouse: with shift held, a spring between the point that was caught and the pointer.
viewer.beginners = [...(viewer.beginners ?? []), async () => {
  const space = viewer.space;
  if (!space) return;
  const { scene, canvas, plants, size } = space, { element } = viewer;
  const mass = plants.reduce((m, p) => m + p.bodies.reduce((n, b) => n + b.mass, 0), 0) || 1;
  const strength = element("input", { type: "number", step: "any", min: 0, value: viewer.shown(Number(((mass * 2) / size).toPrecision(2))), title: "strength of the push: force for each unit of length", "data-do": "strength", style: "width:5rem" });
  document.querySelector("#motion .tools").prepend(element("label", { title: "hold shift and drag a body" }, "push ", strength, ` ${plants[0].units?.force ?? "N"}/${plants[0].units?.length ?? "m"}`));
  const ray = new THREE.Raycaster(), arrow = new THREE.ArrowHelper(new THREE.Vector3(1, 0, 0), new THREE.Vector3(), 1, 0xd55e00);
  arrow.visible = false;
  scene.add(arrow);
  let held = null, last = 0, waits = false;

  const pointer = (e) => {
    const box = canvas.getBoundingClientRect();
    return new THREE.Vector2(((e.clientX - box.left) / box.width) * 2 - 1, 1 - ((e.clientY - box.top) / box.height) * 2);
  };
  function aim() { // the force now: from where the caught point is to where the pointer is, across the view
    if (!held) return;
    const camera = space.camera(), point = space.at(held.plant, held.link, held.local.toArray()), normal = new THREE.Vector3();
    camera.getWorldDirection(normal);
    ray.setFromCamera(held.at, camera);
    const { origin, direction } = ray.ray, along = direction.dot(normal);
    if (Math.abs(along) < 1e-9) return;
    const target = origin.clone().addScaledVector(direction, point.clone().sub(origin).dot(normal) / along);
    const pull = target.clone().sub(point), length = pull.length(), force = pull.clone().multiplyScalar(Number(strength.value) || 0);
    arrow.visible = length > 1e-9;
    if (arrow.visible) {
      arrow.position.copy(point);
      arrow.setDirection(pull.clone().normalize());
      arrow.setLength(length, 0.2 * length, 0.1 * length);
    }
    if (waits || performance.now() - last < 15) return; // one question at a time
    waits = true;
    last = performance.now();
    const asked = { plant: held.plant.path, link: held.link, force: force.toArray(), point: held.local.toArray() };
    viewer.live.pushed = asked;
    viewer.live.do("push", asked).then(() => { waits = false; });
  }
  canvas.addEventListener("pointerdown", (e) => {
    if (!e.shiftKey || e.button !== 0) return;
    const here = pointer(e), found = space.caught(here.x, here.y);
    if (!found || !viewer.live.hello?.pushes.some(([p, l]) => p === found.plant.path && l === found.link)) return;
    e.preventDefault();
    e.stopPropagation();
    held = { ...found, at: pointer(e) };
    space.controls().enabled = false;
  }, true);
  addEventListener("pointermove", (e) => { if (held) { held.at = pointer(e); aim(); space.render(); } });
  addEventListener("pointerup", () => {
    if (!held) return;
    held = null;
    arrow.visible = false;
    space.controls().enabled = true;
    viewer.live.do("release");
    space.render();
  });
  viewer.on("live-drawn", aim);
}];
