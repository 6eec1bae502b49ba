"""State charts and calls."""

from blocks import FunctionCallGenerator, State, StateChart, Transition

HEATER = {
    "inputs": ["T"],
    "outputs": {"power": 0.0},
    "data": {"count": 0.0},
    "states": [State("cold", entry="power = 2; count += 1"), State("warm", entry="power = 0")],
    "transitions": [
        Transition("cold", "warm", "T > 0.5"),
        Transition("warm", "cold", "T < -0.5 and after(0.2)"),
    ],
}

EXAMPLES = {
    FunctionCallGenerator: [(FunctionCallGenerator(sample=0.1), {})],
    StateChart: [
        (StateChart(**HEATER), {"T": 1}),
        (StateChart(**HEATER, sample=0.1), {"T": 1}),
    ],
}
