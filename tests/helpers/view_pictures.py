"""The pictures of docs/view.md, one per part of the page: ``python -m tests.helpers.view_pictures docs``."""

import io
import shutil
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path

from PIL import Image

from blocks import DiscreteStateSpace, Gain, Integrator, Sine, Step, Sum, TransferFunction
from cosim import Diagram, Study, simulate
from cosim.scenario import load_scenario
from cosim.viewer.compare_data import of_two
from cosim.viewer.page import view
from cosim.viewer.server.edit_view import edit_scenario
from cosim.viewer.server.live_view import view_scenario
from plant import Plant
from tests.helpers.browser import shown

MOST = 60_000  # bytes of a picture
SMALL, LARGE = (1000, 560), (1400, 860)  # pixels, of one part and of the whole page
ALONE = "document.querySelector('#{} h2').dispatchEvent(new MouseEvent('dblclick', {{bubbles: true}}))"
ARROWS = "document.querySelectorAll('[data-arrows=velocity], [data-arrows=force]').forEach(c => c.click())"


def servo():
    """A loop with a subsystem that is sampled."""
    d, inner = Diagram("servo"), Diagram("controller")
    u = inner.inport("error")
    f, g = inner.add("filter", DiscreteStateSpace(0.6, 0.4, 1.0, sample="1/20")), inner.add("gain", Gain(4.0))
    inner.connect(u, f["u"])
    inner.connect(f["y"], g["u"])
    inner.outport("u", g["y"])
    d.connect(d.add("reference", Step(time=0.5))["y"], d.add("error", Sum("+-"))["in1"])
    d.connect(d["error"]["y"], d.add("controller", inner)["error"])
    d.connect(d["controller"]["u"], d.add("motor", TransferFunction([1.0], [0.2, 1.0]))["u"])
    d.connect(d["motor"]["y"], d.add("angle", Integrator(0.0))["u"])
    d.connect(d["angle"]["y"], d["error"]["in2"])
    return d


def loop(gain=5.0):
    """A lag under feedback."""
    d = Diagram("loop")
    d.connect(d.add("step", Step(time=0.2))["y"], d.add("sum", Sum("+-"))["in1"])
    d.connect(d["sum"]["y"], d.add("k", Gain(gain))["u"])
    d.connect(d["k"]["y"], d.add("lag", TransferFunction([1.0], [0.05, 0.4, 1.0]))["u"])
    d.connect(d["lag"]["y"], d["sum"]["in2"])
    return d


def whole(file):
    """The pendulum of the first example."""
    scenario = load_scenario("examples/inverted_pendulum/scenario.toml")
    scenario.run().view(out=file)
    return "viewer.setTime(viewer.end * 0.12)"


def diagram(file):
    """A subsystem opened in place, loops marked."""
    simulate(servo(), 5.0, log_every=0.01).view(out=file)
    opened = "new MouseEvent('dblclick', {bubbles: true})"
    return (
        f"document.querySelector('.node[data-path=controller]').dispatchEvent({opened});"
        "document.querySelectorAll('[data-do=loops], [data-do=feeds]').forEach(b => b.click());"
        f"{ALONE.format('diagram')}"
    )


def scopes(file):
    """Curves, sampled ones as steps, and a spectrum."""
    d = servo()
    d.connect(d.add("noise", Sine(0.05, 25.0))["y"], d.add("shaped", Gain(1.0))["u"])
    simulate(d, 5.0, log_every=0.01).view(out=file)
    return ALONE.format("scopes") + "; viewer.setTime(1.2)"


def motion(file):
    """A four-bar with arrows and its energy."""
    plant = Plant.read("tests/data/models/four_bar.xml").observed().audited()
    simulate(plant, 3.0, log_every=0.01).view(out=file)
    return f"{ARROWS}; viewer.setTime(0.35); {ALONE.format('motion')}"


def study(file):
    """Linked pictures of cases."""
    sampling = {
        "method": "sobol", "runs": 128, "seed": 2,
        "parameters": {"k.k": {"low": 1.0, "high": 12.0}, "step.after": {"low": 0.8, "high": 1.2}},
    }  # fmt: skip
    s = Study(
        loop(), until=3.0, sampling=sampling, metrics={"peak": "max(lag.y)", "last": "final(lag.y)"},
        requirements=[{"name": "no overshoot", "always": "lag.y < 1.25"}],
        store={"keep": "all", "signals": ["lag.y"], "every": 0.02},
    )  # fmt: skip
    s.run(file.parent / f"{file.stem}.out", workers=1).view(out=file)
    return "viewer.studyState.brush('k.k', [3, 9]); viewer.studyState.choose(7)"


def linear(file):
    """A loop cut at one signal, with its margins."""
    simulate(loop(), 3.0, log_every=0.01).view(out=file, linear=True)
    pick = "document.querySelector('#linear [data-pick={}]').selectedIndex = 2;"
    change = "document.querySelector('#linear [data-pick=to]').dispatchEvent(new Event('change'))"
    return f"{pick.format('from')}{pick.format('to')}{change}; {ALONE.format('linear')}"


def two(file):
    """Two gains."""
    a, b = (simulate(loop(k), 3.0, log_every=0.01) for k in (5.0, 8.0))
    view(of_two(a, b, ("gain 5", "gain 8")), file)
    return "viewer.setTime(0.6)"


@contextmanager
def live(folder):
    """The pendulum under way, pushed, its sliders open."""
    for file in ("scenario.toml", "inverted_pendulum.xml"):
        shutil.copy(f"examples/inverted_pendulum/{file}", folder)
    with view_scenario(load_scenario(folder / "scenario.toml"), show=False) as view:
        for k in range(150):
            if k in (60, 70):
                view.do("set", name="plant_disturbance_force.value", value=1.0 * (k == 60))
            view.do("step")
        sliders = "document.getElementById('open-sliders').click();"
        show = f"{sliders} document.querySelector('[data-do=trails]').click();"
        yield view.address, f"{show} document.querySelector('[data-arrows=velocity]').click()"


@contextmanager
def edit(folder):
    """A block of the pendulum's scenario, chosen, and the library."""
    for file in ("scenario.toml", "inverted_pendulum.xml"):
        shutil.copy(f"examples/inverted_pendulum/{file}", folder)
    with edit_scenario(folder / "scenario.toml", show=False) as view:
        click = "dispatchEvent(new MouseEvent('click', {bubbles: true}))"
        yield view.address, f"document.querySelector('.node[data-path=controller]').{click}"


PICTURES = {f.__name__: f for f in (whole, diagram, scopes, motion, study, linear, two, live, edit)}
SERVED = ("live", "edit")


def size(name):
    """Of a picture [pixels]."""
    return LARGE if name == "whole" else SMALL


def draw(name, folder):
    """Make a page, look at it, and write docs/view-NAME.png (the whole page: view.png)."""
    with ExitStack() as stack:
        aside = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if name in SERVED:
            source, look = stack.enter_context(PICTURES[name](aside))
        else:
            source = aside / f"{name}.html"
            look = PICTURES[name](source)
        page = stack.enter_context(shown(source, size(name), offline=name not in SERVED))
        page.evaluate("document.documentElement.classList.remove('dark')")
        page.evaluate(f"() => {{ {look} }}")
        page.wait_for_timeout(600)
        picture = Image.open(io.BytesIO(page.screenshot()))
    for colours in (128, 64, 32, 16):
        kept = io.BytesIO()
        picture.convert("RGB").quantize(colours, dither=Image.Dither.NONE).save(kept, "PNG", optimize=True)
        if kept.tell() < MOST:
            break
    target = Path(folder) / ("view.png" if name == "whole" else f"view-{name}.png")
    target.write_bytes(kept.getvalue())
    return target


if __name__ == "__main__":
    for name in sys.argv[2:] or PICTURES:
        print(draw(name, sys.argv[1]))
