"""The files that the commands of a deck may read and write.

A deck that is not trusted reads in its own folder and below, and writes in the output folder of its run and
below; links are followed to where they lead. What Save wrote in this run is found by its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from blocks.errors import ModelError
from blocks.files import is_inside, write_whole
from plant.elements import Element, Load_Command, Load_Model, Model, Save

CURE = "run it with trust=True (--trust) if you trust whoever wrote the deck"


@dataclass(frozen=True)
class DeckFiles:
    """The folders that one run of a deck may use.

    own : Path              where the deck lies
    out : Path or None      where it writes; None writes nothing
    trust : bool            may it leave them?
    """

    own: Path
    out: Path | None
    trust: bool

    @staticmethod
    def of(model: Model, out: Path | None, trust: bool) -> DeckFiles:
        """The folders of a deck; for a deck that is not a file, the working folder."""
        return DeckFiles(Path(model.file).parent if model.file else Path(), out, trust)

    # --- reading --------------------------------------------------------------------------------------
    def read(self, command: Load_Model | Load_Command, model: Model) -> Path:
        """The file a command reads: relative to the present model's, which may be a loaded one.

        Raises
        ------
        ModelError      it may not be read
        """
        return self._allowed(command, self._beside(command, model), self._read_fault(command, model))

    def _beside(self, command: Load_Model | Load_Command, model: Model) -> Path:
        folder = Path(model.file).parent if model.file else Path()
        return folder / _name(command)

    def _read_fault(self, command: Load_Model | Load_Command, model: Model) -> str:
        if self.trust or is_inside(self._beside(command, model), [self.own]):
            return ""
        return f"leads out of the deck's folder '{self.own.resolve()}'; put the file there, or {CURE}"

    # --- writing --------------------------------------------------------------------------------------
    def write(self, command: Save, text: str) -> Path | None:
        """Write a file that a command saves; returns its path, None if this run writes nothing.

        Raises
        ------
        ModelError      it may not or cannot be written
        """
        if self.out is None:
            return None
        file = self._allowed(command, self.out / command.model_file, self._write_fault(command))
        try:
            write_whole(file, text)
        except OSError as error:
            raise ModelError(
                f"{command.where}: model_file={command.model_file!r} cannot be written as '{file}': "
                f"{error.strerror or error}.",
                path=command.where,
                hint="Save it under another name, or in another folder.",
            ) from None
        return file

    def _write_fault(self, command: Save) -> str:
        if self.out is None or self.trust or is_inside(self.out / command.model_file, [self.out]):
            return ""
        return f"leads out of the output folder '{self.out.resolve()}'; write a name inside it, or {CURE}"

    # --- both -----------------------------------------------------------------------------------------
    def faults(self, program: list[Element], model: Model) -> Iterator[str]:
        """Files that commands name but may not use; files loaded after another model are checked then."""
        saved: set[str] = set()
        moved = False
        for command in program:
            fault = ""
            if isinstance(command, Save):
                fault = self._write_fault(command)
                saved.add(command.model_file)
            elif isinstance(command, Load_Model) and command.model_file not in saved and not moved:
                fault, moved = self._read_fault(command, model), True
            if fault:
                yield f"{command.where}: model_file={_name(command)!r} {fault}."

    def _allowed(self, command: Element, file: Path, fault: str) -> Path:
        if fault:
            raise ModelError(
                f"{command.where}: {_attribute(command)}={_name(command)!r} {fault}.",
                path=command.where,
                value=_name(command),
            )
        return file


def _attribute(command: Element) -> str:
    return "command_file" if isinstance(command, Load_Command) else "model_file"


def _name(command: Element) -> str:
    return str(getattr(command, _attribute(command)))
