"""Diagrams made by a Python function that a scenario names as ``module:function``."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType

from blocks import PlantloopError, ScenarioError
from blocks.errors import near_miss
from cosim.diagram import Diagram
from cosim.scenario.keys import FilePlace


def module_file(scenario: Path, factory: str) -> Path:
    """The file of a factory: ``loops.pendulum:build`` is in ``loops/pendulum.py`` beside the scenario."""
    module = factory.partition(":")[0]
    return scenario.parent.joinpath(*module.split(".")).with_suffix(".py")


def make_diagram(factory: str, place: FilePlace) -> Diagram:
    """Run the file and the function; an error in them is reported with the line it happened on.

    Raises
    ------
    ScenarioError     the file or the function fails, or there is no such function, or it makes no Diagram
    """
    file, name = module_file(place.source.path, factory), factory.partition(":")[2]
    try:
        module = _load(file)
        function = vars(module).get(name)
        if not callable(function):
            known = [n for n, f in vars(module).items() if callable(f) and f.__module__ == module.__name__]
            raise _error(place, f"no function '{name}' in '{file}'; {near_miss(name, known)}")
        made = function()
    except ScenarioError:
        raise
    except PlantloopError as error:
        raise _error(place, f"{factory} failed{_line(error, file)}: {error}") from error
    except Exception as error:  # the user's code may raise anything
        what = f"{type(error).__name__}: {error}"
        raise _error(place, f"{factory} failed{_line(error, file)}: {what}.") from error
    if not isinstance(made, Diagram):
        raise _error(
            place, f"{factory} returned something of type {type(made).__name__}, expected a cosim.Diagram."
        )
    return made


def _error(place: FilePlace, text: str) -> ScenarioError:
    place.add_problem(text)
    return place.error()


def _line(error: Exception, file: Path) -> str:
    """The innermost line in the folder of the user's file that an error came through."""
    folder = file.parent.resolve()
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if folder in Path(frame.filename).resolve().parents:
            return f" at {Path(frame.filename).name}:{frame.lineno}"
    return ""


def _load(file: Path) -> ModuleType:
    """Execute a Python file as a module of its own; it may import the files beside it."""
    name = f"scenario_{hashlib.sha256(str(file.resolve()).encode()).hexdigest()[:12]}_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None  # a .py file always has both
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look up their own module there
    sys.path.insert(0, str(file.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(file.parent))
    return module
