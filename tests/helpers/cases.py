"""Run the cases of a ``*.expected.json`` file: what drives the inputs, what must come out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from blocks import Constant, Mux, StateFeedback, TimeTable
from cosim import Diagram, simulate
from plant import Plant

MODELS = Path(__file__).parents[1] / "data" / "models"


def expected(model: str) -> dict[str, Any]:
    """Cases of one model."""
    return json.loads((MODELS / f"{model}.expected.json").read_text())  # type: ignore[no-any-return]


def case_ids(model: str) -> list[tuple[str, str]]:
    """(case, deck) of every case of a model."""
    found = []
    for case in expected(model)["cases"]:
        decks = dict.fromkeys([case["model_file"], *case.get("same_answer_model_files", [])])
        found += [(case["name"], deck) for deck in decks]
    return found


def port_name(ports: Any, element_id: int) -> str:
    """Name of the port of an element."""
    return next(name for name, port in ports.items() if port.id == element_id)


def build(plant: Plant, known: dict[str, Any], case: dict[str, Any]) -> tuple[Diagram, Plant]:
    """Diagram of a case: the plant, its sources, and the sampled state feedback if there is one."""
    d, inputs = Diagram(case["name"]), case["inputs"]
    driven = known.get("input_signals") or {
        n: ref for n, ref in known["signals"].items() if "plant_input_id" in ref
    }
    feedback = inputs["kind"] == "sampled state feedback"
    force = port_name(plant.inputs, driven["Fc"]["plant_input_id"]) if feedback else ""
    if feedback:
        plant = plant.with_port(force, sampling_period=0.0, offset_time=0.0, hold_order=inputs["hold_order"])
    p = d.add("plant", plant)
    for name, ref in driven.items():
        port = port_name(plant.inputs, ref["plant_input_id"])
        if port != force:
            d.connect(d.add(f"source_{name}", _source(inputs.get(name, 0.0)))["y"], p[port])
    if feedback:
        kx, kt, kv, kw = inputs["K"]
        y = d.add("measured", Mux(2))
        d.connect(p[port_name(plant.outputs, 303001)], y["in1"])
        d.connect(p[port_name(plant.outputs, 303002)], y["in2"])
        law = StateFeedback([[kt, kw, kx, kv]], sample=inputs["period"], offset=inputs["offset"])
        c = d.add("controller", law)
        d.connect(y["out"], c["x"])
        d.connect(c["u"], p[force])
    return d, plant


def _source(drive: Any) -> Constant | TimeTable:
    if not isinstance(drive, dict):
        return Constant(float(drive))
    times, values = drive.get("breakpoints", drive.get("time")), drive.get("values", drive.get("value"))
    return TimeTable(times, values, interpolation="previous" if "breakpoints" in drive else "linear")


def worst_ratio(model: str, name: str, deck: str, **options: Any) -> tuple[float, str]:
    """Largest error of a case in units of its tolerance, and where it is."""
    known = expected(model)
    case = next(c for c in known["cases"] if c["name"] == name)
    plant_options = {k: options.pop(k) for k in ("coordinates", "stabilisation") if k in options}
    d, plant = build(Plant.read(MODELS / deck, trust=True, **plant_options), known, case)
    settings = {"solver": "dopri5", "rtol": 1e-10, "atol": 1e-12} | options
    r = simulate(d, until=case["times"][-1], log_at=case["times"], **settings)
    signals = {**known.get("input_signals", {}), **known["signals"], **case.get("signals", {})}
    worst, where = -1.0, "nothing compared"
    for signal, reference in case["outputs"].items():
        ref = signals.get(signal)
        if ref is None or any(v is None for v in reference):
            continue
        kind = "plant_output_id" if "plant_output_id" in ref else "plant_input_id"
        if kind not in ref:
            continue
        port = port_name(plant.outputs if kind == "plant_output_id" else plant.inputs, ref[kind])
        values = r[f"plant.{port}"]
        if deck != case["model_file"] and ref.get("index", 1) > values.shape[1]:
            continue  # a sister deck without this signal
        error = np.abs(values[:, ref.get("index", 1) - 1] - np.array(reference, float))
        ratio = error / _tolerance(case, signal, np.array(reference, float))
        if not ratio.max() <= worst:
            k = int(np.argmax(ratio))
            worst, where = float(ratio[k]), f"{signal} at t={r.time[k]:g}"
    return (worst if worst >= 0 else np.inf), where


def _tolerance(case: dict[str, Any], signal: str, reference: np.ndarray) -> np.ndarray:
    parts = [case["tolerance_abs"], case.get("tolerance_rel") or 0.0]
    absolute, relative = (p.get(signal, 0.0) if isinstance(p, dict) else p for p in parts)
    return np.asarray(absolute + relative * np.abs(reference))
