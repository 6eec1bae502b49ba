"""The page in the browser: how soon it is there, how fluid it is. Software rendering, 1280 x 720.

    python -m benchmarks.viewer [--smoke]

*first picture*: from the start of ``cosim view scenario.toml`` in a new process, its model compiled before,
until the plant can be seen in a browser that runs; beside it ``--out page.html``, and then the page from the
file. *animation*: frames per
second while loops of bars (400 bodies) play. *pan*: a frame of a scope over so many samples after its
window moved by a hundredth; its summary, made once, is timed apart. *layout*: a diagram of so many blocks in
layers, by ELK.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.four_bars import deck
from benchmarks.support.browser import blank, missing, opened
from benchmarks.support.table import Row, heading, show, smoke
from blocks import Gain, Sine, Sum
from cosim import Diagram, Result
from cosim.viewer.page import Page, assembled
from cosim.viewer.page_data import of_diagram
from plant import Plant

SCENARIO = Path(__file__).parents[1] / "examples" / "inverted_pendulum" / "scenario.toml"
FRAMES = """async (seconds) => {
  document.getElementById("play").click();
  const began = performance.now(), gaps = [];
  let last = began, now = began;
  while (now - began < 1000 * seconds) {
    now = await new Promise(requestAnimationFrame);
    gaps.push(now - last);
    last = now;
  }
  gaps.shift();
  return gaps;
}"""
PAN = """async ([count, frames]) => {
  const s = viewer.signals.get("long.y"), time = new Float64Array(count), values = new Float64Array(count);
  for (let k = 0; k < count; k++) {
    time[k] = k * 1e-4;
    values[k] = Math.sin(k * 1e-3) + 0.1 * Math.sin(k * 0.7);
  }
  viewer.begin = 0; viewer.end = time[count - 1];
  Object.assign(s, { time, values, low: null });
  let began = performance.now();
  viewer.summary(s);
  const summary = performance.now() - began, took = [];
  const wide = viewer.end * 0.4;
  for (let k = 0; k < frames; k++) {
    began = performance.now();
    viewer.look(k * wide / 100, wide + k * wide / 100);
    await null;
    took.push(performance.now() - began);
    await new Promise(requestAnimationFrame);
  }
  return [summary, took];
}"""


def first_picture(folder: Path, rounds: int) -> Row:
    """Seconds from the command to the plant in a browser that runs; and until all of the page is there.

    The command opens the page before it reads the file: the program in $BROWSER writes down where.
    """
    opener, address = folder / "opener", folder / "address"
    opener.write_text(f'#!/bin/sh\necho "$1" > {address}.new && mv {address}.new {address}\n')
    opener.chmod(0o755)
    command = [sys.executable, "-m", "cosim", "view", str(SCENARIO)]
    picture, complete, ended = [], [], []
    with blank() as page:
        for _ in range(rounds + (rounds > 1)):  # the first compiles, and counts where it is the only one
            address.unlink(missing_ok=True)
            began, wall = time.perf_counter(), time.time()
            process = subprocess.Popen(
                command, stdout=subprocess.DEVNULL, env=os.environ | {"BROWSER": f"{opener} %s"}
            )
            while not address.is_file():
                time.sleep(0.001)
            page.goto(address.read_text().strip(), wait_until="commit")
            page.wait_for_selector("html[data-ready=yes]", state="attached")
            complete.append(time.perf_counter() - began)
            seen = "performance.timeOrigin + performance.getEntriesByName('motion')[0].startTime"
            picture.append(page.evaluate(seen) / 1e3 - wall)
            process.wait()
            ended.append(time.perf_counter() - began)
    parts = f"all of it {min(complete[-rounds:]):.2f} s, command ended {min(ended[-rounds:]):.2f} s"
    return Row("first picture of the pendulum", (f"{min(picture[-rounds:]):.2f} s", parts), None)


def first_picture_of_file(folder: Path, rounds: int) -> Row:
    """Seconds of the command, and of the page: until the plant can be seen, and until all of it is there."""
    file, command, picture, complete = folder / "pendulum.html", [], [], []
    for _ in range(rounds + (rounds > 1)):  # as above
        began = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "cosim", "view", SCENARIO, "--out", file],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        command.append(time.perf_counter() - began)
    with opened(file) as page:
        for _ in range(rounds):
            began = time.perf_counter()
            page.reload()
            page.wait_for_selector("html[data-ready=yes]")
            complete.append(time.perf_counter() - began)
            picture.append(page.evaluate("performance.getEntriesByName('motion')[0].startTime") / 1e3)
    total = min(command[-rounds:]) + min(picture)
    parts = f"command {min(command[-rounds:]):.2f} s, picture {min(picture):.2f} s, all {min(complete):.2f} s"
    return Row(
        "the same by a file (--out)",
        (f"{total:.2f} s", parts),
        None,
    )


def animation(folder: Path, loops: int, seconds: float) -> Row:
    """Frames per second, and the longest of twenty frames."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plant = Plant.read(deck(loops))
    from plant.scene import scene_of

    scene, moments = scene_of(plant), np.linspace(0.0, 10.0, 200)
    start = np.concatenate([np.ravel(q) for q in plant.start])
    swing = start + 0.5 * np.sin(moments)[:, None] * np.ones(len(start))
    data = of_diagram(plant)
    del data.content["diagram"]
    data.content["plants"][0] |= {"poses": data.numbers.put(scene.poses(swing)), "moving": True}
    data.add_result(Result("bars", moments, {"long.y": np.sin(moments)}))
    file = Page("bars", assembled(data)).save(folder / "bars.html")
    with opened(file) as page:
        gaps = np.array(page.evaluate(FRAMES, seconds))
    slow = float(np.quantile(gaps, 0.95))
    bodies = len(scene.bodies)
    return Row(
        f"animation of {bodies} bodies",
        (f"{1000 / gaps.mean():.0f} fps", f"95 % of frames under {slow:.0f} ms"),
        None,
    )


def pan(folder: Path, count: int) -> Row:
    """Milliseconds of a frame."""
    moments = np.linspace(0.0, 1.0, 100)
    file = Result("long", moments, {"long.y": np.sin(moments)}).view(show=False).save(folder / "long.html")
    with opened(file) as page:
        summary, took = page.evaluate(PAN, [count, 60])
    text = f"slowest of 60 {max(took[2:]):.1f} ms, summary once {summary:.0f} ms"
    return Row(f"pan over {count:.0e} samples", (f"{np.median(took[2:]):.1f} ms", text), None)


def blocks_in_layers(count: int) -> Diagram:
    """Sources, and layers of sums and gains that are wired across."""
    d, rng = Diagram(f"{count} blocks"), np.random.default_rng(3)
    layer: list[Any] = [d.add(f"s{k}", Sine(1.0, 1.0 + k)) for k in range(20)]
    made = 20
    while made < count:
        following = []
        for k in range(min(20, count - made)):
            if k % 2:
                node = d.add(f"b{made}", Sum("++"))
                d.connect(layer[k % len(layer)]["y"], node["in1"])
                d.connect(layer[int(rng.integers(len(layer)))]["y"], node["in2"])
            else:
                node = d.add(f"b{made}", Gain(0.5))
                d.connect(layer[k % len(layer)]["y"], node["u"])
            made += 1
            following.append(node)
        layer = following
    return d


def layout(folder: Path, count: int, rounds: int) -> Row:
    """Seconds ELK takes."""
    file = blocks_in_layers(count).view(show=False).save(folder / "blocks.html")
    took = []
    for _ in range(rounds):
        with opened(file) as page:
            took.append(page.evaluate("viewer.layoutTime") / 1000)
    return Row(f"layout of {count} blocks", (f"{min(took):.2f} s", ""), None)


def main(short: bool = False) -> None:
    """Print the table."""
    heading("the page in the browser")
    if why := missing():
        print(f"left out: {why}")
        return
    with tempfile.TemporaryDirectory(prefix="plantloop-viewer-") as name:
        folder = Path(name)
        rows = [
            first_picture(folder, 1 if short else 8),
            first_picture_of_file(folder, 1 if short else 5),
            animation(folder, 5 if short else 200, 0.5 if short else 5.0),
            pan(folder, 10_000 if short else 10_000_000),
            layout(folder, *((60, 1) if short else (1000, 2))),
        ]
    show(("", "best", "more", "error"), rows)


if __name__ == "__main__":
    main(smoke())
