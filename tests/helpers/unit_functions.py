"""Functions of FMI of exported units in C on a unit of stubs, tests/data/fmi/functions_alone.c."""

from __future__ import annotations

import re
from pathlib import Path

from cosim.fmi.export.sources import UNIT

ALONE = Path(__file__).parents[1] / "data" / "fmi" / "functions_alone.c"
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
# modes by a letter: instantiated, configuration, initialization, event, continuous-time, step, terminated,
# failed, reconfiguration, intermediate update
MODES = {letter: 2**k for k, letter in enumerate("icnetsxfrm")}
NO_TYPES_2 = ("Integer", "Boolean", "String")
NO_TYPES_3 = ("Float32", "Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64", "Boolean",
              "String")  # fmt: skip
STATES_2 = ("GetFMUstate", "SetFMUstate", "FreeFMUstate", "SerializedFMUstateSize", "SerializeFMUstate",
            "DeSerializeFMUstate")  # fmt: skip
STATES_3 = ("GetFMUState", "SetFMUState", "FreeFMUState", "SerializedFMUStateSize", "SerializeFMUState",
            "DeserializeFMUState")  # fmt: skip


def declared(version, text):
    """Declarations of exported functions in a file, as C."""
    found = re.findall(
        rf"^FMI{version}_EXPORT\s+(.*?\))\s*\{{", COMMENT.sub("", text), re.DOTALL | re.MULTILINE
    )
    return "".join(f"{' '.join(function.split())};\n" for function in found)


def typedefs(text):
    """Of the standard, without what is beside them."""
    bare = "\n".join(line for line in COMMENT.sub("", text).splitlines() if not line.startswith("#"))
    return "".join(
        re.findall(r"^typedef [^;{]*;\n|^typedef (?:enum|struct) \{.*?\} \w+;\n", bare, re.DOTALL | re.M)
    )


def no_types(version, types, instance, more):
    """Of the functions that a macro defines."""
    return "".join(
        f"fmi{version}Status fmi{version}{way}{t}(fmi{version}{instance} c, "
        f"const fmi{version}ValueReference vr[], size_t n, {const} fmi{version}{t} value[]{more});\n"
        for t in types for way, const in (("Get", ""), ("Set", "const"))
    )  # fmt: skip


TEXTS = {name: (UNIT / f"{name}.c").read_text() for name in ("fmi2", "fmi3", "fmi3_values")}
STANDARD_3 = (UNIT / "fmi3.h").read_text()
HEADER = "\n".join(
    line for line in COMMENT.sub("", (UNIT / "unit.h").read_text()).splitlines() if not line.startswith("#")
)
CALLED = (
    HEADER + typedefs(TEXTS["fmi2"].partition("/* --- logging")[0]) + typedefs(STANDARD_3)
    + declared(2, TEXTS["fmi2"]) + declared(3, TEXTS["fmi3"] + TEXTS["fmi3_values"])
    + no_types(2, NO_TYPES_2, "Component", "") + no_types(3, NO_TYPES_3, "Instance", ", size_t nValues")
    + """
const char *told(void);
void begin(int answers, int n, const int *one_by_one, double value);
void take_memory(int all);
unit *made_last(void);
unit *instance(int mode, int exchange, int nx, int n_events, double *x, double *rates);
void logger_2(void *environment, const char *name, int status, const char *category, const char *format, ...);
void logger_3(void *environment, int status, const char *category, const char *message);
void log_with(const unit *u, int status, const char *category, const char *message);
"""
)  # fmt: skip
STUBS = {name: f'#include "{UNIT / name}.c"\n' for name in TEXTS}
STUBS["alone"] = f'#define FILE_H "{UNIT / "unit.h"}"\n#include "{ALONE}"\n'


class Instance:
    """A unit in a mode that answers as chosen; `number` decides what else it says."""

    def __init__(self, runtime, version, mode="s", exchange=0, states=(), crossings=0):
        self.runtime, self.version, self.c, self.ffi = runtime, version, runtime.c, runtime.ffi
        self.x, self.rates = (
            runtime.array([*states, -1.0]),
            runtime.array([10.0 + v for v in [*states, -1.0]]),
        )
        self.u = runtime.c.instance(MODES[mode], exchange, len(states), crossings, self.x, self.rates)

    def call(self, name, *arguments, answer=0, answers=(), number=0.0):
        """Its status, and what was called."""
        self.c.begin(answer, len(answers), self.runtime.array(answers or [0], "int"), number)
        status = getattr(self.c, f"fmi{self.version}{name}")(self.u, *arguments)
        return status, self.ffi.string(self.c.told()).decode().strip()

    @property
    def mode(self):
        return {value: letter for letter, value in MODES.items()}[self.u.mode]

    def refs(self, *values):
        """Value references, in C; behind them stands one more."""
        kind = "fmi2ValueReference" if self.version == 2 else "fmi3ValueReference"
        return self.runtime.array((*values, 6), kind)

    def doubles(self, *values):
        return self.runtime.array(values)

    def new(self, kind, n=1):
        return self.runtime.array([0] * n, kind)

    def blank(self, name, instance=None):
        """Called with nothing: counts of 0, and pointers to zeros."""
        function = getattr(self.c, f"fmi{self.version}{name}")
        given = []
        for kind in self.ffi.typeof(function).args[1:]:
            if name.startswith("Set") and name.endswith("DebugLogging") and kind.kind == "primitive":
                given.append(0)
            elif kind.kind == "pointer":
                given.append(self.ffi.cast(kind, self.new("double", 40)))
            else:
                given.append(self.ffi.NULL if kind.kind == "pointer" else 0)
        return function(self.u if instance is None else instance, *given)
