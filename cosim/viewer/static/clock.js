// The time cursor: slider, play, keys.
viewer.clock = (times) => {
  const $ = (id) => document.getElementById(id);
  viewer.begin = times[0] ?? 0;
  viewer.end = times[times.length - 1] ?? 0;
  if (!(viewer.end > viewer.begin)) return;
  $("clock").hidden = false;
  Object.assign($("time"), { min: viewer.begin, max: viewer.end });
  let playing = false, last = 0;
  const play = (on) => {
    playing = on;
    $("play").textContent = on ? "❚❚" : "▶";
    last = performance.now();
    if (on && viewer.time >= viewer.end) viewer.setTime(viewer.begin);
    if (on) requestAnimationFrame(frame);
  };
  const frame = (now) => {
    if (!playing) return;
    let t = viewer.time + ((now - last) / 1000) * Number($("speed").value);
    last = now;
    if (t >= viewer.end) {
      if ($("loop").checked) t = viewer.begin; else { viewer.setTime(viewer.end); return play(false); }
    }
    viewer.setTime(t);
    requestAnimationFrame(frame);
  };
  viewer.on("time", (t) => {
    $("time").value = t;
    $("now").textContent = viewer.instant(t);
  });
  $("time").addEventListener("input", () => { play(false); viewer.setTime(Number($("time").value)); });
  $("play").addEventListener("click", () => play(!playing));
  document.addEventListener("keydown", (e) => {
    if (/INPUT|SELECT|TEXTAREA/.test(e.target.tagName) && e.target.type !== "range") return;
    const step = (viewer.end - viewer.begin) / (e.shiftKey ? 20 : 200);
    if (e.key === " ") { e.preventDefault(); play(!playing); }
    else if (e.key === "ArrowRight") { e.preventDefault(); viewer.setTime(viewer.time + step); }
    else if (e.key === "ArrowLeft") { e.preventDefault(); viewer.setTime(viewer.time - step); }
    else if (e.key === "Home") viewer.setTime(viewer.begin);
    else if (e.key === "End") viewer.setTime(viewer.end);
  });
};
