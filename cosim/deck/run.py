"""Run a deck's Command block from top to bottom."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, Unpack

from blocks.arguments import file_path, flag, function
from blocks.contract.user_lines import warn_user
from blocks.errors import ModelError, PlantloopError, SimulationError
from cosim.deck.changes import (
    activate,
    add,
    assembly,
    changed_by,
    deactivate,
    load_model,
    modify,
    parameters,
    save,
)
from cosim.deck.deck_files import DeckFiles
from cosim.deck.linear import linear
from cosim.deck.outcome import DeckRun, DeckStep, joined
from cosim.deck.stage import Options, Stage
from cosim.deck.static import static
from cosim.deck.transient import Halted, transient
from cosim.names import mapped
from cosim.progress import Progress, check_progress
from cosim.settings import Keywords, RunSettings, takes_settings
from plant.elements import (
    Activate,
    Deactivate,
    Element,
    Load_Command,
    Load_Model,
    Model,
    Modification,
    Param_Linear,
    Param_Simulation,
    Param_Static,
    Param_Transient,
    Reference_Array,
    Save,
    Sensor_Event,
    Simulate,
    Stop,
    UnknownCommand,
)
from plant.reporting import ModelProblems, PlantWarning

Handler = Callable[[Stage, Any], DeckStep]

ANALYSES: Mapping[str, Handler] = MappingProxyType(
    {"TRANSIENT": transient, "STATIC": static, "LINEAR": linear, "ASSEMBLY": assembly}
)
"""What runs each analysis_type."""

LASTING = ("TRANSIENT", "STATIC")
"""Analyses that reach their end time; others are about one instant."""

COMMANDS: Mapping[type[Element], Handler] = MappingProxyType(
    {
        Activate: activate,
        Deactivate: deactivate,
        Load_Model: load_model,
        Modification: modify,
        Param_Linear: parameters,
        Param_Simulation: parameters,
        Param_Static: parameters,
        Param_Transient: parameters,
        Reference_Array: add,
        Save: save,
        Simulate: lambda stage, command: ANALYSES[command.analysis_type](stage, command),
    }
)
"""What runs each command. Add a command: add an entry."""

MOST_NESTED = 20
"""Command files that may stand in each other."""

MOST_COMMANDS = 10_000
"""Commands of a deck with all its command files; a file that loads another twice, and so on, has 2^n."""

SILENT = ("output", "graphic")
"""Ends and parts of the names of commands that concern files and pictures; they are passed over."""


@takes_settings
def run_deck(
    deck: str | Path | IO[bytes] | bytes | Model,
    *,
    inputs: Mapping[str, Any] | None = None,
    settings: RunSettings | None = None,
    coordinates: str = "joint",
    stabilisation: Any = "projection",
    trust: bool = False,
    out: str | Path | None = None,
    progress: Progress | bool | None = None,
    on_step: Callable[[DeckStep], None] | None = None,
    **keywords: Unpack[Keywords],
) -> DeckRun:
    """Run the commands of a deck in order, each from the state that the previous one left.

    Parameters
    ----------
    deck : path, open file, bytes or Model
    inputs : dict               constant values of plant inputs by port; others have the values of their
                                variables' own expressions
    coordinates, stabilisation, trust     as for `Plant.read`
    out : folder                for the files that Save and linear analyses write; None writes none
    progress : callable         called with the time [s] while a simulation runs; True shows a bar
    on_step : callable          called with every step when it is done
    settings : RunSettings      several of the following at once; they go before those of Param_Transient
    **settings

    Returns
    -------
    run : DeckRun               ``run.result`` joins all simulations

    Raises
    ------
    ModelProblems       everything that is wrong with the deck and its commands, before anything runs
    StaticsError        an equilibrium was not found
    SimulationError     a simulation stopped; ``error.result`` holds all that was computed
    """
    chosen = RunSettings.of(settings, **keywords)
    check_progress(progress)
    flag(trust, "trust")
    function(on_step, "on_step", "one DeckStep, when it is done")
    model = deck if isinstance(deck, Model) else _read(deck)
    folder = None if out is None else file_path(out, "out", "results")
    files = DeckFiles.of(model, folder, trust)
    options = Options(
        chosen, coordinates, stabilisation, trust, mapped(inputs, "inputs"), folder, files, progress
    )
    program = list(_limited(_program(model, model.commands, (), files), model))
    _check(model, program, files)
    shown: set[str] = set()
    with _once(shown):
        stage = Stage(_at_the_start(model, program), options, _begins_at(program))
    return _Run(stage, on_step, shown).all(program)


def _read(deck: str | Path | IO[bytes] | bytes) -> Model:
    from plant.formats.motionsolve.reader import read_model  # lxml is slow to import, and only files need it

    return read_model(deck)


@contextlib.contextmanager
def _once(shown: set[str]) -> Iterator[None]:
    """Filter out warnings that were shown before; every command builds the plant again and repeats them."""
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
    finally:
        for w in caught:
            if str(w.message) not in shown:
                shown.add(str(w.message))
                warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)


# --- before anything runs -------------------------------------------------------------------------------
def _program(
    model: Model, commands: tuple[Element, ...], inside: tuple[Path, ...], files: DeckFiles
) -> Iterator[Element]:
    """All commands, with those of other files inserted in place."""
    from plant.formats.motionsolve.reader import read_commands

    for command in commands:
        if isinstance(command, Stop):
            yield command
            return
        if not isinstance(command, Load_Command):
            yield command
            continue
        file = files.read(command, model)
        if len(inside) >= MOST_NESTED:
            raise ModelError(
                f"{command.where}: command files are nested {MOST_NESTED} deep.",
                path=command.where,
                hint="Put their commands into one file.",
            )
        if file.resolve() in inside:
            raise ModelError(
                f"{command.where}: command_file={command.command_file!r} loads itself.",
                path=command.where,
                hint="Take one of the Load_Command out.",
            )
        try:
            found = read_commands(file, model)
        except ModelError as error:
            raise ModelError(f"{command.where}: {error}", path=command.where) from None
        yield command
        yield from _program(model, found, (*inside, file.resolve()), files)


def _limited(program: Iterator[Element], model: Model) -> Iterator[Element]:
    """The program without the Load_Command it came from; refused if it is too long."""
    for count, command in enumerate(program):
        if count >= MOST_COMMANDS:
            raise ModelError(
                f"{command.where}: the command files of {model.file or model.name} together have more than "
                f"{MOST_COMMANDS} commands.",
                path=command.where,
                hint="Do they load each other many times? Run them one after the other.",
            )
        if not isinstance(command, Load_Command):
            yield command


def _check(model: Model, program: list[Element], files: DeckFiles) -> None:
    """Refuse a deck without commands, and every error that can be found before anything runs."""
    about = model.file or f"model '{model.name}'"
    problems = [
        *_unknown(program),
        *files.faults(program, model),
        *_past(model, program),
        *_impossible(model, program),
    ]
    if not program:
        problems.append(
            f"{about}: there is no command to run; write for instance <Command>"
            '<Simulate analysis_type="Transient" end_time="1"/></Command>, or use the model in a diagram.'
        )
    if problems:
        raise ModelProblems(problems, about=about)


def _unknown(program: list[Element]) -> Iterator[str]:
    """Commands and analyses that are not supported."""
    known = ", ".join(sorted({kind.__name__ for kind in COMMANDS} - {Modification.__name__} | {"Stop"}))
    for command in program:
        if isinstance(command, UnknownCommand) and not _is_silent(command):
            yield f"{command.where}: this command is not supported; take it out. There are {known}."
        if isinstance(command, Simulate) and command.analysis_type not in ANALYSES:
            yield (
                f"{command.where}: analysis_type={command.analysis_type} is not supported; write LINEAR and "
                "take its frequency response with python-control."
            )


def _past(model: Model, program: list[Element]) -> Iterator[str]:
    """Report simulations that end before the time that earlier ones have reached."""
    if any(sensor.return_ for sensor in model.all(Sensor_Event)):
        return  # simulations may end before their end time
    now, begun = 0.0, False
    for command in program:
        if isinstance(command, Load_Model):
            now, begun = 0.0, False
        if not isinstance(command, Simulate):
            continue
        if command.start_time < 0.0 and not begun:
            yield (
                f"{command.where}: start_time={command.start_time:g} is before 0 s, where runs begin; "
                "leave it out, and shift TIME in the expressions."
            )
        now = now if begun else max(now, command.start_time)
        begun = True
        end = command.end_time if command.duration is None else now + command.duration
        if end is not None and command.analysis_type not in LASTING:
            continue
        if end is not None and (end < now or (end == now and command.analysis_type == "TRANSIENT")):
            yield (
                f"{command.where}: end_time={end:g} is not after {now:g} s, where the simulations before it "
                "end; raise it, or write duration."
            )
        now = max(now, now if end is None else end)


def _impossible(model: Model, program: list[Element]) -> Iterator[str]:
    """Report changes that leave an invalid model, up to a command that loads another model."""
    for command in program:
        if isinstance(command, Load_Model):
            return
        if not isinstance(command, (Activate, Deactivate, Modification)):
            continue
        try:
            model = model.changed(changed_by(command, model))
        except ModelProblems as error:
            yield from (f"{command.where}: {problem}" for problem in error.problems)


def _at_the_start(model: Model, program: list[Element]) -> Model:
    """The model as the first analysis finds it; elements switched off before then are not checked."""
    for command in program:
        if isinstance(command, (Activate, Deactivate, Modification)):
            model = model.changed(changed_by(command, model))
        elif isinstance(command, (Simulate, Save, Load_Model, Stop)):
            break
    return model


def _begins_at(program: list[Element]) -> float:
    """Time [s] at which the first simulation of a model begins; program : what follows behind its loading."""
    for command in program:
        if isinstance(command, Simulate):
            return command.start_time
        if isinstance(command, (Load_Model, Stop)):
            break
    return 0.0


def _is_silent(command: UnknownCommand) -> bool:
    name = command.element.lower()
    return any(part in name for part in SILENT)


def _mention_start(command: Simulate, stage: Stage) -> None:
    """Warn of a start time that is not where the simulation begins."""
    start, now = command.start_time, stage.time
    if stage.begun and start and abs(start - now) > 1e-9 * max(1.0, abs(now)):
        warn_user(
            f"{command.where}: start_time={start:g} changes nothing, because simulations go on from where "
            f"those before them ended, here {now:.9g} s; leave it out.",
            PlantWarning,
        )


class _Run:
    """Runs the commands of one deck."""

    def __init__(self, stage: Stage, on_step: Callable[[DeckStep], None] | None, shown: set[str]) -> None:
        self.stage, self.on_step, self._shown = stage, on_step, shown
        self.steps: list[DeckStep] = []

    def all(self, program: list[Element]) -> DeckRun:
        """Run them all."""
        message, complete = "", True
        for place, command in enumerate(program, start=1):
            if isinstance(command, Load_Model):
                self.stage.start_time = _begins_at(program[place:])
            if isinstance(command, Stop):
                message = f"{command.where}: the deck ends here"
                break
            if isinstance(command, UnknownCommand):
                continue
            try:
                with _once(self._shown):
                    step = self._one(command)
                self._done(step)
            except Halted as halted:
                self._done(halted.step)
                message, complete = str(halted), halted.complete
                break
        stage = self.stage
        return DeckRun(
            stage.model.name, tuple(self.steps), stage.standing(), stage.time, dict(stage.saved), message,
            complete,
        )  # fmt: skip

    def _done(self, step: DeckStep) -> None:
        self.steps.append(step)
        if self.on_step is not None:
            self.on_step(step)

    def _one(self, command: Element) -> DeckStep:
        if isinstance(command, Simulate):
            _mention_start(command, self.stage)
            self.stage.begun = True
        try:
            return COMMANDS[type(command)](self.stage, command)
        except PlantloopError as error:
            raise self._with_place(command, error) from error

    def _with_place(self, command: Element, error: PlantloopError) -> PlantloopError:
        """The error with the command's place, and with all results up to then."""
        parts = [step.result for step in self.steps if step.result is not None]
        if error.result is not None:
            parts.append(error.result)
        text = str(error)
        if command.where not in text:
            text = f"{command.where}: {text}"
            kind = SimulationError if isinstance(error, SimulationError) else ModelError
            error = kind(
                text, path=error.path or command.where, port=error.port, time=error.time, value=error.value
            )
        if parts:
            error.result = joined(self.stage.model.name, parts, complete=False, message=str(error))
        return error
