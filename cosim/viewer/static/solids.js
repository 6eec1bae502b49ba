// Shapes a deck draws on its bodies: boxes, cylinders and frustums, spheres.
viewer.solidFrame = (s) => { // its frame on the link: origin and axes, column by column
  const f = s.frame;
  return new THREE.Matrix4().set(f[3], f[6], f[9], f[0], f[4], f[7], f[10], f[1], f[5], f[8], f[11], f[2], 0, 0, 0, 1);
};
viewer.solidCorners = (s) => { // of a box around it, along the axes of its link
  const [a, b, c] = s.sizes, r = Math.max(a, b ?? a);
  const low = { BOX: [-a / 2, -b / 2, -c / 2], CYLINDER: [-r, -r, 0], SPHERE: [-a, -a, -a] }[s.kind];
  const high = { BOX: [a / 2, b / 2, c / 2], CYLINDER: [r, r, c], SPHERE: [a, a, a] }[s.kind];
  const frame = viewer.solidFrame(s);
  return [0, 1, 2, 3, 4, 5, 6, 7].map((k) => new THREE.Vector3(...[0, 1, 2].map((i) => ((k >> i) & 1 ? high : low)[i])).applyMatrix4(frame));
};
viewer.reachedBy = (solids, link, slack) => { // is a point in the box around all shapes of a link?
  const corners = solids.filter((s) => s.link === link).flatMap(viewer.solidCorners), axes = ["x", "y", "z"];
  const low = axes.map((k) => Math.min(...corners.map((c) => c[k])) - slack), high = axes.map((k) => Math.max(...corners.map((c) => c[k])) + slack);
  return (point) => point.every((value, i) => low[i] <= value && value <= high[i]);
};
viewer.solidsOf = (solids, link, paint) => { // what is drawn on a link
  const OUTER = 0, INNER = 1, BOTH = 2; // which faces three.js draws
  function geometry(s) { // about its own frame
    const [a, b, c] = s.sizes;
    if (s.kind === "BOX") return [new THREE.BoxGeometry(Math.abs(a), Math.abs(b), Math.abs(c))];
    if (s.kind === "SPHERE") return [new THREE.SphereGeometry(a, s.corners, s.corners >> 1)];
    // three.js has its cylinders along y about their middle
    const upright = (bottom, top, length, z, open) => new THREE.CylinderGeometry(length < 0 ? bottom : top, length < 0 ? top : bottom, Math.abs(length), s.corners, 1, open).rotateX(Math.PI / 2).translate(0, 0, z);
    const closed = s.ends[0] && s.ends[1], parts = [upright(a, b, c, c / 2, !closed)];
    if (!closed && s.ends[0] && a > 0) parts.push(upright(a, a, 0, 0, false));
    if (!closed && s.ends[1] && b > 0) parts.push(upright(b, b, 0, c, false));
    return parts;
  }
  const made = (s) => {
    const open = s.kind === "CYLINDER" && !s.ends.every((e) => e);
    const material = paint.clone();
    if (s.colour) material.color.set((s.colour[0] << 16) | (s.colour[1] << 8) | s.colour[2]);
    material.side = open ? BOTH : s.inside ? OUTER : INNER;
    const group = new THREE.Group().add(...geometry(s).map((g) => new THREE.Mesh(g, material)));
    group.applyMatrix4(viewer.solidFrame(s));
    return group;
  };
  return solids.filter((s) => s.link === link).map(made);
};
