"""FMUs that other tools make: of pythonfmu (FMI 2.0) and pythonfmu3 (FMI 3.0), with Python inside."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from blocks import Constant
from cosim import FMU, Diagram, simulate

OLD = """
from pythonfmu import Fmi2Causality, Fmi2Slave, Fmi2Variability, Real

class Lag(Fmi2Slave):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.u, self.y, self.T = 0.0, 0.0, 1.0
        self.register_variable(Real("u", causality=Fmi2Causality.input))
        self.register_variable(Real("y", causality=Fmi2Causality.output))
        tunable = {"causality": Fmi2Causality.parameter, "variability": Fmi2Variability.tunable}
        self.register_variable(Real("T", **tunable))

    def do_step(self, current_time, step_size):
        self.y += step_size * (self.u - self.y) / self.T
        return True
"""
NEW = """
from pythonfmu3 import Float64, Fmi3Causality, Fmi3Slave, Fmi3Variability

class Lag(Fmi3Slave):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.time, self.u, self.y, self.T = 0.0, 0.0, 0.0, 1.0
        moving = {"variability": Fmi3Variability.continuous}
        self.register_variable(Float64("time", causality=Fmi3Causality.independent, **moving))
        self.register_variable(Float64("u", causality=Fmi3Causality.input, **moving))
        self.register_variable(Float64("y", causality=Fmi3Causality.output, **moving))
        tunable = {"causality": Fmi3Causality.parameter, "variability": Fmi3Variability.tunable}
        self.register_variable(Float64("T", **tunable))

    def do_step(self, current_time, step_size):
        self.y += step_size * (self.u - self.y) / self.T
        return True
"""


@pytest.mark.parametrize(("tool", "source"), [("pythonfmu", OLD), ("pythonfmu3", NEW)])
@pytest.mark.skipif(sys.platform == "darwin", reason="pythonfmu has no binaries for macOS")
def test_two_of_one_unit_in_a_row(tool: str, source: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(tool) is None:
        pytest.skip(f"{tool} is not installed")
    file = f"lag_of_{tool}.py"  # both live in this process, as modules of these names
    (tmp_path / file).write_text(source)
    build = [sys.executable, "-m", tool, "build", "-f", file]
    subprocess.run(build, cwd=tmp_path, check=True, capture_output=True)
    fmu = FMU(tmp_path / "Lag.fmu", sample=0.1)
    d = Diagram("row")
    d.add("one", Constant(1.0))
    for name, source_port in (("a", "one.y"), ("b", "a.y")):
        d.add(name, fmu)
        d.connect(source_port, f"{name}.u")
    r = simulate(d, until=1.0, log_every=0.1, parameters={"b.T": 0.5})
    a = b = 0.0
    for _ in range(10):
        a, b = a + 0.1 * (1.0 - a), b + 0.2 * (a - b)
    assert (r["a.y"][-1, 0], r["b.y"][-1, 0]) == pytest.approx((a, b), abs=1e-12)
