"""Selection, names, buses, tables, schedules."""

import numpy as np

from blocks import (
    BusCreator,
    BusSelector,
    DataStore,
    DirectLookup,
    DynamicLookup,
    From,
    Goto,
    IndexVector,
    InterpolationUsingPrelookup,
    LookupTable1D,
    LookupTableND,
    ManualSwitch,
    Merge,
    MultiportSwitch,
    Prelookup,
    ScheduledFeedback,
    ScheduledGain,
    ScheduledPID,
    ScheduledStateSpace,
)
from tests.blocks.tables.first import EXAMPLES as FIRST

MEMBERS = {"speed": 1, "pose": {"place": 2, "angle": 1}}
CUBE = np.arange(24.0).reshape(2, 3, 4) ** 1.3
FOUR = [-2.0, -0.5, 0.5, 2.0]

EXAMPLES = {
    BusCreator: [(BusCreator(MEMBERS), {"speed": 1, "pose.place": 2, "pose.angle": 1})],
    BusSelector: [(BusSelector(MEMBERS, ["pose", "speed"]), {"bus": 4})],
    DataStore: [(DataStore(0.1, initial=0.5), {"u": 2, "write": 1})],
    DirectLookup: [
        (DirectLookup([[3.0, 1.0], [2.0, 0.5], [1.0, 4.0]]), {"u": 1}),
        (DirectLookup([[3.0, 1.0], [2.0, 0.5], [1.0, 4.0]], 2), {"u1": 1, "u2": 1}),
    ],
    DynamicLookup: [(DynamicLookup(3), {"u": 1, "x": 3, "values": 3})],
    From: [(From("tag"), {"u": 2})],
    Goto: [(Goto("tag"), {"u": 2})],
    IndexVector: [(IndexVector(), {"control": 1, "u": 3})],
    InterpolationUsingPrelookup: [(InterpolationUsingPrelookup([1.0, 4.0, 0.0]), {"k1": 1, "f1": 1})],
    LookupTable1D: [
        *FIRST[LookupTable1D],
        (LookupTable1D([-1, 0, 0.5, 2], [1, 2, -1, 3], "makima"), {"u": 2}),
    ],
    LookupTableND: [
        (LookupTableND([[-1, 1], [-1, 0, 2], FOUR], CUBE), {"u1": 1, "u2": 1, "u3": 1}),
        (LookupTableND([FOUR, FOUR], np.outer(FOUR, np.exp(FOUR)), "cubic"), {"u1": 1, "u2": 1}),
        (LookupTableND([[-1, 0, 1]], [1.0, 2.0, 0.5], outside="extrapolate"), {"u1": 1}),
    ],
    ManualSwitch: [(ManualSwitch(2), {"in1": 2, "in2": 1})],
    Merge: [
        (Merge(2, sample=0.1), {"in1": 2, "in2": 1}),
        (Merge(2, initial=0.5), {"in1": 2, "in2": 1, "on1": 1, "on2": 1}),
    ],
    MultiportSwitch: [(MultiportSwitch(3), {"control": 1, "in1": 2, "in2": 1, "in3": 2})],
    Prelookup: [(Prelookup(FOUR), {"u": 1}), (Prelookup(np.arange(40) / 8 - 2, "extrapolate"), {"u": 1})],
    ScheduledFeedback: [
        (ScheduledFeedback([0.0, 1.0], [[[2.0, 1.0]], [[1.0, 3.0]]], u0=[[1.0], [2.0]]), {"p": 1, "x": 2}),
        (ScheduledFeedback([0.0, 1.0], [[[2.0]], [[1.0]]], x0=[[0.0], [0.5]], sample=0.1), {"p": 1, "x": 1}),
    ],
    ScheduledGain: [
        (ScheduledGain([0.0, 1.0, 2.0], [3.0, 1.0, 2.0]), {"p": 1, "u": 2}),
        (ScheduledGain([0.0, 1.0], [[[3.0, 1.0]], [[2.0, 0.0]]]), {"p": 1, "u": 2}),
    ],
    ScheduledPID: [
        (ScheduledPID([0.0, 1.0], [2.0, 1.0], [1.0, 0.5], [0.1, 0.2], high=1.0), {"p": 1, "e": 1})
    ],
    ScheduledStateSpace: [
        (
            ScheduledStateSpace([0, 1], [[[-1.0]], [[-2.0]]], [[[1.0]], [[2.0]]], [[[1.0]], [[0.5]]]),
            {"p": 1, "u": 1},
        ),
    ],
}
