"""What other tools call a block, a field or a setting, and what it is called here: for messages alone."""

from __future__ import annotations

from collections.abc import Collection

SAID_ELSEWHERE = {
    "std": "variance", "sigma": "variance", "sd": "variance", "noise_power": "power",
    "ts": "sample", "dt": "sample step", "sample_time": "sample", "sampling_period": "sample",
    "x0": "initial", "initial_condition": "initial", "ic": "initial", "initial_value": "initial",
    "upper": "high", "upper_limit": "high", "max": "high", "end": "high until",
    "lower": "low", "lower_limit": "low", "min": "low", "start": "low", "limits": "low",
    "gain": "k", "p": "kp", "i": "ki i_marker_id", "d": "kd damping", "n": "cutoff",
    "final": "after", "final_value": "after", "initial_output": "before", "step_time": "time", "at": "time",
    "numerator": "num", "denominator": "den", "amp": "amplitude", "freq": "frequency",
    "switch_on_point": "on_point", "switch_on": "on_point", "output_on": "on_value",
    "switch_off_point": "off_point", "switch_off": "off_point", "output_off": "off_value",
    "tau": "time_constant", "t": "time_constant until", "wn": "frequency", "w0": "frequency",
    "omega": "frequency", "zeta": "damping", "duty": "width", "duty_cycle": "width duty",
    "type": "kind kinds",
    "frequency": "period", "linear": "extrapolate",
    "x": "points", "breakpoints": "points", "y": "values", "table": "values",
    "time_delay": "delay", "delay_time": "delay", "delay_length": "n", "rate": "rising",
    "inputs": "n operations signs", "log": "signals", "outputs": "signals", "params": "parameters",
    "method": "solver", "reltol": "rtol", "abstol": "atol", "h": "step",
    "t_final": "until", "tf": "until TransferFunction", "t_end": "until", "stop_time": "until",
    "duration": "until", "time": "until",
    "tstop": "until", "tspan": "until", "t_span": "until", "step_size": "step sample", "t_eval": "log_at",
    "output_interval": "log_every", "relative_tolerance": "rtol", "monte_carlo": "sampling",
    # of FMUs
    "communication_step_size": "sample", "communication_step": "sample", "start_values": "start",
    "fmi_type": "kind kinds", "fmi_types": "kinds", "filename": "path", "fmu": "FMU",
    "simulate_fmu": "simulate", "exportfmu": "export_fmu", "importfmu": "FMU", "loadfmu": "FMU",
    # functions of python-control
    "bode": "frequency_response", "nyquist": "margins", "margin": "margins", "lqr": "LQR",
    "lqe": "KalmanFilter", "bodeplot": "frequency_response", "nyquistplot": "margins",
    "stabilitymargins": "margins", "dlqr": "LQR", "findeqpt": "trim", "findoperatingpoint": "trim",
    # of diagrams, and of Drake
    "add_block": "add", "addblock": "add", "add_system": "add", "addsystem": "add", "add_wire": "connect",
    "wire": "connect", "link": "connect",
    "multibodyplant": "Plant",
    "linearquadraticregulator": "LQR", "discretetimeintegrator": "DiscreteIntegrator",
    "ode45": "dopri5", "ode1": "euler", "ode4": "rk4", "ode23": "RK23", "ode8": "DOP853",
    "ode15s": "rodas4", "ode23s": "rodas4", "ode23t": "rodas4", "ode23tb": "rodas4", "ode14x": "rodas4",
    # of plants
    "m": "mass", "c": "damping", "k": "stiffness", "j": "j_marker_id", "g": "grav_z", "gz": "grav_z",
    "rigidbody": "Body_Rigid", "body": "Body_Rigid body_id", "joint": "Constraint_Joint",
    "revolute": "Constraint_Joint", "prismatic": "Constraint_Joint", "hinge": "Constraint_Joint",
    "marker": "Reference_Marker", "frame": "Reference_Marker", "gravity": "Force_Gravity",
    "spring": "Force_SpringDamper", "springdamper": "Force_SpringDamper",
    # blocks
    "transferfcn": "TransferFunction", "discretetransferfcn": "DiscreteTransferFunction",
    "discretefilter": "DiscreteTransferFunction", "zeroorderhold": "Hold", "zoh": "Hold",
    "firstorderhold": "Hold", "samplehold": "Hold", "sinewave": "Sine", "sinusoid": "Sine",
    "pulsegenerator": "Pulse", "signalgenerator": "SquareWave", "fromworkspace": "FromData",
    "add": "Sum", "subtract": "Sum", "adder": "Sum", "divide": "Product", "multiply": "Product",
    "multiplier": "Product", "amplifier": "Gain", "pi": "PID", "pd": "PID", "pidcontroller": "PID",
    "lowpass": "FirstOrder", "pt1": "FirstOrder", "pt2": "SecondOrder", "lookuptable": "LookupTable1D",
    "lookup1d": "LookupTable1D", "lut": "LookupTable1D", "chart": "StateChart", "stateflow": "StateChart",
    "matlabfunction": "Function", "fcn": "Function", "sfunction": "Block", "stop": "until StopWhen",
    "stopsimulation": "StopWhen", "random": "RandomNumber", "whitenoise": "BandLimitedWhiteNoise",
    "noise": "BandLimitedWhiteNoise", "digitalclock": "Clock", "clip": "Saturation hold",
    "deadband": "DeadZone",
    "friction": "CoulombFriction", "enabledsubsystem": "Enabled", "triggeredsubsystem": "Triggered",
    "forloop": "For", "whileloop": "While", "foreachsubsystem": "ForEach", "functioncallsubsystem":
    "FunctionCall", "resettablesubsystem": "Resettable", "ifaction": "If", "variantsubsystem": "Variant",
    "ss": "StateSpace",
}  # fmt: skip
"""A name, in lower case, to what it is called here; several where it depends on what there is."""

NO_BLOCK = {
    "scope": "A run logs every signal: r = simulate(d, until=...), then r['block.port'] and r.plot(...).",
    "display": "A run logs every signal: r = simulate(d, until=...), then r['block.port'][-1].",
    "toworkspace": "A run logs every signal: r = simulate(d, until=...), then r['block.port'].",
    "spectrum": "A run logs every signal: r = simulate(d, until=...), then r.spectrum('block.port').",
    "terminator": "An output may stay unconnected.",
    "ground": "An input is left open on purpose by d.ground('block.port').",
    "inport": "An input of a subsystem is d.inport('u').",
    "outport": "An output of a subsystem is d.outport('y', 'block.port').",
    "subsystem": "A subsystem is a Diagram, added to another as any block: from cosim import Diagram.",
    "connection": "Ports are connected by d.connect('a.y -> b.u').",
    "probe": "A run logs every signal, and any state or parameter by name: signals=[...].",
    "c2d": "Linear models are systems of python-control: control.c2d(linearize(plant), 0.01).",
    "feedback": "Linear models are systems of python-control: control.feedback(linearize(plant), ...).",
    "readmodeldescription": "FMU('unit.fmu').description has the variables: from cosim import FMU.",
    "datatypeconversion": "Every signal is a vector of doubles.",
}
"""What elsewhere is a block, in lower case without blanks, and here is said otherwise."""

NO_FIELD = {
    "seed": "Random draws follow the seed of the run: simulate(d, until=..., seed=1).",
    "samples_per_second": "Give the period, in s: sample=0.01.",
    "unit": "Units are said where a block is added: d.add(name, block, units={'y': 'm'}).",
    "units": "They are said where a block is added: d.add(name, block, units={'y': 'm'}).",
    "name": "A name is given where a block is added: d.add('name', block).",
    "size": "Sizes follow from what is connected.",
}
"""What elsewhere is a parameter of a block, and here is said otherwise."""

OF_DIAGRAMS = frozenset(
    {
        "Diagram",
        "Enabled",
        "FMU",
        "For",
        "ForEach",
        "FunctionCall",
        "If",
        "Resettable",
        "Simulation",
        "SwitchCase",
    }
    | {"Triggered", "Variant", "While", "linearize", "margins", "simulate", "simulate_many", "trim"}
)
"""What is looked for among the blocks, and lies beside them."""


def known_elsewhere(name: str, blocks: Collection[str], more: Collection[str] = OF_DIAGRAMS) -> str | None:
    """What to write for a name of another tool or of another package of ours; None if it is no such name.

    >>> known_elsewhere("TransferFcn", {"TransferFunction"})
    "Write from blocks import TransferFunction."
    """
    lower = name.lower().replace("_", "")
    words = [name] if name in blocks or name in more else SAID_ELSEWHERE.get(lower, "").split()
    for word in words:
        if word in blocks or word in more:
            return f"Write from {'blocks' if word in blocks else 'cosim'} import {word}."
    return NO_BLOCK.get(lower)
