// Many lines as one object: one buffer, written anew in every frame, and one call to draw all of them.
// pieces: [{count, colour}], lines of so many points; index(i, k) is where the k-th point of the i-th stands.
viewer.polylines = (pieces) => {
  const starts = [], pairs = [], total = pieces.reduce((n, p) => n + p.count, 0), colours = new Float32Array(3 * total);
  let next = 0;
  for (const p of pieces) {
    starts.push(next);
    const paint = new THREE.Color(p.colour);
    for (let k = 0; k < p.count; k++) {
      paint.toArray(colours, 3 * (next + k));
      if (k) pairs.push(next + k - 1, next + k);
    }
    next += p.count;
  }
  const geometry = new THREE.BufferGeometry(), position = new THREE.BufferAttribute(new Float32Array(3 * total), 3);
  position.setUsage(35048); // DYNAMIC_DRAW
  geometry.setAttribute("position", position);
  geometry.setAttribute("color", new THREE.BufferAttribute(colours, 3));
  geometry.setIndex(pairs);
  const object = new THREE.LineSegments(geometry, new THREE.LineBasicMaterial({ vertexColors: true }));
  object.frustumCulled = false;
  return {
    object, array: position.array, starts,
    changed() { position.needsUpdate = true; geometry.boundingSphere = geometry.boundingBox = null; },
    owner(segment) { // which line a segment, as a ray meets it, belongs to
      const at = pairs[segment];
      let low = 0, high = starts.length - 1;
      while (low < high) { const middle = (low + high + 1) >> 1; if (starts[middle] <= at) low = middle; else high = middle - 1; }
      return low;
    },
  };
};
