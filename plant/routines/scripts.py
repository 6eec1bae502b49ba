"""Python files that hold user subroutines: loading them, on symbols and on numbers, and what they keep.

A script is run once per element and way of use, in a namespace of its own that also has the host's functions
(``py_sysfnc`` ...). For symbols its ``math`` is one that takes symbols; ``max``, ``min`` and ``float`` do so
too. Other modules, NumPy among them, are the real ones.

What a routine keeps from call to call (`persistent_data.py`) is undone after an opaque routine's trial calls:
it finds everything as the last accepted step left it.
"""

from __future__ import annotations

import builtins
import contextlib
import math
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from blocks.contract.signals import SignalArray
from blocks.contract.user_lines import line_of
from blocks.errors import BlockError, ExpressionError, ModelError, PlantloopError, near_miss
from plant.elements import Model, UserSubroutine
from plant.routines.access import SHAPES, SPLINES, Access
from plant.routines.persistent_data import Kept, written_globals

_SYMBOLS = (ca.SX, SignalArray)


class Stateful(Exception):
    """A routine keeps something from call to call, so it cannot be run on symbols once for all."""


def script_path(model: Model, element: UserSubroutine) -> Path:
    """File of an element's script: relative to the model's file, or to the working folder without one."""
    folder = Path(model.file).parent if model.file else Path.cwd()
    return (folder / str(element.script_name)).resolve()


def placed(fault: Exception, element: UserSubroutine) -> ModelError:
    """What a script raised, as an error that names the element, its routine and the line that was running."""
    line, own = line_of(fault), isinstance(fault, PlantloopError)
    if isinstance(fault, ModelError) and not line:
        return fault
    said = str(fault) if own else f"{type(fault).__name__}: {fault}".rstrip(".") + "."
    if isinstance(fault, NameError):
        near = near_miss(fault.name, _Host().functions())
        said += f" {near[0].upper()}{near[1:]}" if near.startswith("did") else ""
    kind = ExpressionError if isinstance(fault, ExpressionError) else ModelError
    error = kind(f"{element.where}, {element.subroutine}{line}: {said}", path=element.where)
    error.hint, error.value = getattr(fault, "hint", None), getattr(fault, "value", None)
    return error


class Script:
    """The script of one element."""

    def __init__(self, model: Model, element: UserSubroutine) -> None:
        self.path, self._element = script_path(model, element), element
        try:
            source = self.path.read_text(encoding="utf-8")
        except OSError as error:
            here = [p.name for p in self.path.parent.glob("*.py")] if self.path.parent.is_dir() else []
            raise self._fault(
                f"the script {self.path} cannot be read ({error.strerror or error}); "
                f"{near_miss(self.path.name, here)}"
            ) from None
        try:
            self._code = compile(source, str(self.path), "exec")
        except SyntaxError as error:
            raise self._fault(
                f"the script {self.path} is not Python, line {error.lineno}: {error.msg}"
            ) from None
        self._writes = written_globals(self._code)
        self._kept = Kept({}, self._writes)

    def _fault(self, text: str) -> ModelError:
        return ModelError(f"{self._element.where}: {text.rstrip('.')}.", path=self._element.where)

    def symbolic(self) -> PythonRoutine:
        """The routine in a namespace whose ``math`` takes symbols."""
        routine = self._loaded(_symbolic_builtins())
        self._kept = routine.kept
        return routine

    def numeric(self, name: str = "") -> PythonRoutine:
        """The routine as it is, or another function of the script."""
        return self._loaded(dict(vars(builtins)), name)

    def has(self, name: str) -> bool:
        """Does the script define a function of this name?"""
        return name in self._code.co_names

    def _loaded(self, own_builtins: dict[str, Any], name: str = "") -> PythonRoutine:
        host = _Host()
        namespace: dict[str, Any] = {
            "__builtins__": own_builtins,
            "__name__": self.path.stem,
            "__file__": str(self.path),
            **host.functions(),
        }
        sys.path.insert(0, str(self.path.parent))
        try:
            exec(self._code, namespace)  # trusted by whoever read the model with trust=True
        except (Exception, SystemExit) as error:  # a script may raise anything
            raise self._fault(
                f"the script {self.path} failed while it was loaded: {type(error).__name__}: {error}"
            ) from error
        finally:
            sys.path.remove(str(self.path.parent))
        name = name or self._element.subroutine
        function = namespace.get(name)
        if not callable(function):
            own = [(n, v) for n, v in namespace.items() if isinstance(v, types.FunctionType)]
            defined = [n for n, v in own if v.__globals__ is namespace]  # not what it imports
            raise self._fault(
                f"the script {self.path} defines no function '{name}'; {near_miss(name, defined)}"
            )
        return PythonRoutine(function, Kept(namespace, self._writes), host)

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """While the routine runs on symbols: it may not keep anything."""
        if self._writes:
            raise Stateful(f"it keeps {', '.join(sorted(self._writes))} from call to call")
        before = self._kept.copied()
        yield
        changed = self._kept.changed_since(before)
        if changed:
            raise Stateful(f"it keeps {', '.join(sorted(changed))} from call to call")


class _Host:
    """The functions a script calls, answered by whoever runs it at the moment."""

    def __init__(self) -> None:
        self.access: Access | None = None

    def _now(self) -> Access:
        if self.access is None:
            raise ModelError("py_sysfnc and its like can only be called from within a subroutine.")
        return self.access

    def functions(self) -> dict[str, Callable[..., Any]]:
        """By the names scripts use."""
        found: dict[str, Callable[..., Any]] = {
            "py_sysfnc": lambda name, ipar: self._now().sysfnc(name, ipar),
            "py_sysary": lambda name, ipar: self._now().sysary(name, ipar),
            "py_impact": lambda *arguments: self._now().impact(*arguments),
            "py_put_spline": lambda *a: self._now().put_spline(*a),
            "py_put_marker": lambda *a: self._now().put_marker(*a),
            "py_errmes": _error_message,
            "py_getinm": lambda: 0,
        }
        for name, kind in SPLINES.items():
            found[f"py_{name}"] = found[kind] = lambda *a, kind=kind: self._now().curve(kind, *a)
        for name, shape in SHAPES.items():
            found[f"py_{name}"] = lambda *a, shape=shape: self._now().shape(shape, *a)
        return found


def _error_message(errflg: Any, message: str, id: Any = 0, action: str = "") -> None:
    """Report a failed call of the host; with "STOP" the run ends."""
    if errflg and str(action).strip().upper() == "STOP":
        raise ModelError(f"user subroutine, element {id}: {message}")
    if errflg:
        print(f"user subroutine, element {id}: {message}")


class ScriptExit(Exception):
    """A script called `sys.exit`, which would end the process whose guest it is."""


class PythonRoutine:
    """A function of a script, to be called with an access; knows what it keeps."""

    def __init__(self, function: Callable[..., Any], kept: Kept, host: _Host) -> None:
        self._function, self.kept, self._host = function, kept, host
        self.keeps = bool(kept.writes or kept.copied())

    def __call__(self, arguments: Sequence[Any], access: Access) -> Any:
        """Call the function; `access` answers its questions."""
        self._host.access = access
        try:
            return self._function(*arguments)
        except SystemExit as exit:
            raise ScriptExit(f"sys.exit({exit.code!r})").with_traceback(exit.__traceback__) from None
        finally:
            self._host.access = None

    def state(self) -> dict[str, Any]:
        """A copy of all that is kept."""
        return self.kept.copied()

    def restore(self, state: dict[str, Any]) -> None:
        """Put back what `state` gave; these values are the script's from now on."""
        self.kept.put_back(state)


# --- math on symbols ------------------------------------------------------------------------------------
_NUMPY: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(np, name)
        for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log10", "sqrt")
    },
    **{name: getattr(np, name) for name in ("floor", "ceil", "expm1", "log1p")},
    **{name: getattr(np, f"arc{name[1:]}") for name in ("asin", "acos", "atan", "atan2")},
    **{name: getattr(np, f"arc{name[1:]}") for name in ("asinh", "acosh", "atanh")},
    "fabs": np.abs,
    "pow": lambda x, y: x**y,
    "hypot": lambda *x: np.sqrt(sum(v * v for v in x)),
    "log": lambda x, base=math.e: np.log(x) / (1.0 if base == math.e else np.log(base)),
    "log2": lambda x: np.log(x) / math.log(2.0),
    "degrees": lambda x: x * (180.0 / math.pi),
    "radians": lambda x: x * (math.pi / 180.0),
}


def is_symbolic(value: Any) -> bool:
    """Whether a value is a symbol rather than a number."""
    return isinstance(value, _SYMBOLS)


def _either(name: str, plain: Callable[..., Any], symbolic: Callable[..., Any] | None) -> Callable[..., Any]:
    """A function that takes numbers and symbols alike."""

    def function(*arguments: Any, **named: Any) -> Any:
        if not any(is_symbolic(a) for a in arguments):
            return plain(*arguments, **named)
        if symbolic is None:
            raise BlockError(f"{name} of a signal has no symbolic form")
        return symbolic(*arguments, **named)

    return function


def _symbolic_math() -> types.ModuleType:
    module = types.ModuleType("math")
    for name, value in vars(math).items():
        if not name.startswith("_"):
            setattr(module, name, _either(name, value, _NUMPY.get(name)) if callable(value) else value)
    return module


def _symbolic_builtins() -> dict[str, Any]:
    """Builtins in which ``import math`` gives the symbolic one, and max, min, float and pow take symbols."""
    own, symbolic_math = dict(vars(builtins)), _symbolic_math()

    def importing(name: str, *arguments: Any, **named: Any) -> Any:
        return symbolic_math if name == "math" else builtins.__import__(name, *arguments, **named)

    def extreme(choose: Callable[[Any, Any], Any]) -> Callable[..., Any]:
        def over(*values: Any) -> Any:
            result = values[0]
            for value in values[1:]:
                result = choose(result, value)
            return result

        return over

    own["__import__"] = importing
    own["max"] = _either("max", max, extreme(lambda a, b: np.where(a < b, b, a)))
    own["min"] = _either("min", min, extreme(lambda a, b: np.where(b < a, b, a)))
    own["float"] = _Float
    return own


class _Float(float):
    """``float`` that leaves symbols alone."""

    def __new__(cls, value: Any = 0.0) -> Any:
        """A plain float, or the symbol itself."""
        return value if is_symbolic(value) else float(value)
