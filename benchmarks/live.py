"""The live page: from a slider that moves to the curve that shows it, and what a stop of the run costs.

    python -m benchmarks.live [--smoke]

The inverted pendulum plays at the pace of the clock in headless Chromium with software rendering. A slider
sets the force on the slider; measured in the page is the time until the row that holds the new value is
drawn. The run stops every 10 ms, pages are told every 25 ms. The error is that of the value drawn. Needs
playwright and a Chromium.
"""

from __future__ import annotations

import shutil
import statistics
from pathlib import Path

from benchmarks.support.table import Row, heading, seconds, show, smoke
from cosim.scenario import load_scenario
from cosim.viewer.server.live_view import LiveView, view_scenario

SCENARIO = Path(__file__).parents[1] / "examples" / "inverted_pendulum" / "scenario.toml"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
SLIDER = "plant_disturbance_force.value"
ASK = """async ([name, value]) => {
  const signal = () => viewer.signals.get('plant.disturbance_force').values.at(-1);
  const began = performance.now();
  viewer.live.do('set', { name, value });
  while (signal() !== value) await new Promise((next) => viewer.on('live-drawn', next));
  return [performance.now() - began, signal()];
}"""


def latencies(live: LiveView, count: int) -> list[tuple[float, float]]:
    """Time [s] until each of some changes is drawn, and by how much the drawn value is off."""
    from playwright.sync_api import sync_playwright

    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    options = ["--no-sandbox", "--use-gl=swiftshader", "--enable-unsafe-swiftshader"]
    found = []
    with sync_playwright() as driver:
        page = driver.chromium.launch(executable_path=browser, args=options).new_page(
            viewport={"width": 1280, "height": 720}
        )
        page.goto(live.address)
        page.wait_for_selector("html[data-ready=yes]")
        live.do("play")
        page.wait_for_timeout(500)
        for k in range(count):
            value = 0.01 * (k + 1)
            took, drawn = page.evaluate(ASK, [SLIDER, value])
            found.append((took / 1000.0, abs(drawn - value)))
            page.wait_for_timeout(37)
    return found


def main() -> None:
    """Measure and print."""
    count = 3 if smoke() else 40
    heading("live page: slider to curve")
    with view_scenario(load_scenario(SCENARIO), show=False) as live:
        found = sorted(latencies(live, count))
    with view_scenario(load_scenario(SCENARIO), show=False) as still:
        stop = min(seconds(lambda: still.do("step")) for _ in range(10 * count))
    times = [t for t, _ in found]
    error = max(e for _, e in found)
    rows = {
        "slider to curve, best": times[0],
        "slider to curve, median": statistics.median(times),
        "slider to curve, 9 of 10": times[int(0.9 * len(times))],
        "one step asked for and done": stop,
    }
    show(("what", "ms", "error"), [Row(name, (f"{1000 * t:.1f}",), error) for name, t in rows.items()])


if __name__ == "__main__":
    main()
