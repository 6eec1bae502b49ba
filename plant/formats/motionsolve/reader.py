"""The XML reader: a MotionSolve deck to a ``Model``.

    model = read_model("inverted_pendulum.xml")
    model.find(Body_Rigid, 30102).mass

Reading never runs code and never opens another file. Everything wrong in a file is reported together.
Element names, attribute names and keywords are case-insensitive; labels, file and function names are not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from blocks.errors import ModelError, near_miss
from blocks.files import read_whole
from plant.elements import ELEMENTS, Draft, Element, Model, Modification, UnknownCommand
from plant.elements.element import attributes_of, line, place, shown
from plant.elements.kinds import ExpressionText, NumberOrExpression
from plant.expressions.formulas import expression_faults
from plant.formats.motionsolve.markup import XmlNode, parse
from plant.reporting import ModelProblems

TAGS = {tag.lower(): element for tag, element in ELEMENTS.items()}
GUESSES = 200  # names of each kind whose nearest known one is looked for: a mistake has fewer
OLD = frozenset({"body1_id", "body2_id", "ref_body_id", "full_label"})
"""Attributes that old decks carry and nothing uses; where an element has such a field it is checked."""


def read_model(path: str | Path | IO[bytes] | IO[str] | bytes) -> Model:
    """The model in an XML file, in an open file, or in the bytes of one.

    Raises
    ------
    ModelError       no such file, not well-formed, entities, no Model block
    ModelProblems    (a ModelError) everything wrong with the elements, one line each in ``problems``

    Warns
    -----
    PlantWarning     unknown elements and attributes, and what is usable but probably not meant
    """
    data, name, file = _load(path)
    reader = _Reader(parse(data, name), Draft(Path(name).stem, name))
    reader.read()
    # where there are no problems yet, whoever uses the model finds those of its expressions
    if reader.draft.problems:
        reader.draft.problems.extend(expression_faults(reader.draft, reader.expressions))
    reader.draft.report()
    return Model.of(reader.draft, file)


def read_commands(path: str | Path | IO[bytes] | IO[str] | bytes, model: Model) -> tuple[Element, ...]:
    """The commands in a file, which are for a model that was read elsewhere; its own Model block is not read.

    Raises
    ------
    ModelError       no such file, not well-formed, no Command block
    ModelProblems    (a ModelError) everything wrong with the commands, one line each
    """
    data, name, _ = _load(path)
    draft = Draft(model.name, name)
    draft.elements = {tag: dict(same) for tag, same in model.elements.items()}
    reader = _Reader(parse(data, name), draft)
    reader.read_commands()
    draft.report()
    return tuple(draft.commands)


def _load(path: str | Path | IO[bytes] | IO[str] | bytes) -> tuple[bytes, str, str | None]:
    """Contents, the name messages use, and the path of the file where there is one."""
    if isinstance(path, bytes):
        return path, "<bytes>", None
    if not isinstance(path, (str, Path)) and not hasattr(path, "read"):
        raise ModelError(
            f"{path!r} is no file.", value=path, hint="Give the path of an XML file: 'pendulum.xml'."
        )
    if not isinstance(path, (str, Path)):
        data = path.read()
        name = str(getattr(path, "name", "<stream>"))
        return data.encode() if isinstance(data, str) else data, Path(name).name, name
    if str(path).lstrip().startswith("<"):
        raise ModelError(
            f"read_model: {shown(str(path))} is XML text, not a file name.",
            hint="Pass text.encode() instead.",
        )
    try:
        return read_whole(path), Path(path).name, str(path)
    except OSError as error:
        raise ModelError(_why_unreadable(Path(path), error), path=str(path)) from None


def _why_unreadable(path: Path, error: OSError) -> str:
    if not isinstance(error, FileNotFoundError):
        return f"{path}: cannot be read: {error.strerror or error}. Give the path of a readable XML file."
    if not path.parent.is_dir():
        return f"there is no file '{path}', and no folder '{path.parent}'. Correct the path."
    decks = [entry.name for entry in path.parent.iterdir() if entry.suffix.lower() == ".xml"]
    if not decks:
        return f"there is no file '{path}', and no XML file in its folder. Correct the path."
    return f"there is no file '{path}'; {near_miss(path.name, decks)}"


class _Reader:
    """One reading of one document into a draft; counts what it does not know as it goes."""

    def __init__(self, root: XmlNode, draft: Draft) -> None:
        self.root, self.draft = root, draft
        self.unknown: dict[str, XmlNode] = {}  # lower-case tag -> its first node
        self.strange: dict[tuple[str, str], str] = {}  # (tag, attribute) -> what to say of the first
        self.times: Counter[object] = Counter()  # how often each of these came
        self.expressions: list[tuple[str, str]] = []  # element and attribute, and the text

    def read(self) -> None:
        """Read both blocks into the draft and check everything."""
        model, command = self._block("Model"), self._block("Command")
        if model is None:
            raise self._no_model()
        for node in model.children:
            self._model_node(node)
        for node in command.children if command is not None else ():
            self._command_node(node)
        blocks = [block for block in (model, command) if block is not None]
        for block in blocks:
            if text := block.text.strip():
                fault = f"begins with loose text, or has some behind a comment: {shown(text)}; delete it"
                self.draft.problems.append(line(place(block.source, block.tag), fault))
        for node in (node for block in blocks for node in block.children):
            if node.tail:  # such as a stray > or what is left of a forgotten <
                fault = f"is followed by loose text, {shown(node.tail)}; delete it"
                self.draft.problems.append(line(_place(node, node.tag), fault))
        self.draft.remarks.extend(self._remarks())
        self.draft.check()

    def read_commands(self) -> None:
        """Read the Command block alone."""
        command = self._block("Command")
        if command is None:
            where = place(self.root.source, self.root.tag)
            raise ModelError(f"{where}: there is no <Command> block in it.", path=where)
        for node in command.children:
            self._command_node(node)
        self.draft.remarks.extend(self._remarks())
        for element in self.draft.commands:
            self.draft.problems.extend(line(element.where, fault) for fault in element.faults_in(self.draft))

    def _block(self, name: str) -> XmlNode | None:
        """The block of this name: the root itself or the first descendant; None when there is none."""
        blocks = [node for node in (self.root, *self.root.descendants()) if node.tag.lower() == name.lower()]
        for block in blocks[1:]:
            fault = f"a second {name} block, after that of {blocks[0].source}; move its elements to the first"
            self.draft.problems.append(line(place(block.source, block.tag), fault))
        return blocks[0] if blocks else None

    def _no_model(self) -> ModelError:
        inside = ", ".join(dict.fromkeys(f"<{child.tag}>" for child in self.root.children[:8])) or "nothing"
        where = place(self.root.source, self.root.tag)
        return ModelError(
            f"{where}: there is no <Model> block in it, only {inside}.",
            path=where,
            hint="Put the modelling elements between <Model> and </Model>.",
        )

    def _model_node(self, node: XmlNode) -> None:
        cls = TAGS.get(node.tag.lower())
        if cls is None:
            self._unknown(node)
        elif cls.block == "command":
            self._fault(node, cls, "is a command; move it to the Command block")
        elif (element := self._element(node, cls)) is not None:
            self.draft.add(element)

    def _command_node(self, node: XmlNode) -> None:
        """A command, or the change of a model element that is repeated among the commands."""
        cls = TAGS.get(node.tag.lower())
        if cls is None:
            self._unknown(node)
            self.draft.add_command(UnknownCommand(element=node.tag, source=node.source))
            return
        changes = cls.block == "model" or (cls.block == "either" and self._is_in_model(node, cls))
        command = self._modification(node, cls) if changes else self._element(node, cls)
        if command is not None:
            self.draft.add_command(command)

    def _is_in_model(self, node: XmlNode, cls: type[Element]) -> bool:
        id = _written(node, "id")
        return id.isdigit() and int(id) > 0 and int(id) in self.draft.elements.get(cls.tag, {})

    def _element(self, node: XmlNode, cls: type[Element]) -> Element | None:
        """The element a node describes; None when it has problems, which are then in the draft."""
        values, failed = self._values(node, cls)
        self._note_expressions(node, cls, values)
        for attribute in attributes_of(cls).values():
            if attribute.required and attribute.name not in values and attribute.name not in failed:
                failed.add(attribute.name)
                cure = _cure_for_missing(node, cls, attribute.name)
                self._fault(node, cls, f"{attribute.name} is missing; {cure}")
        if not failed:
            try:
                return cls(**values, source=node.source)
            except ModelProblems as error:
                self.draft.problems.extend(error.problems)
        if "id" in values:
            self.draft.unreadable(cls.tag, values["id"])
        return None

    def _note_expressions(self, node: XmlNode, cls: type[Element], values: dict[str, Any]) -> None:
        """Keep the expressions of an active element, whatever else is wrong with it."""
        if values.get("is_active") is False:
            return
        texts = {name: value for name, value in values.items() if isinstance(value, str)}
        for name, attribute in attributes_of(cls).items():
            if name in texts and isinstance(attribute.kind, (ExpressionText, NumberOrExpression)):
                self.expressions.append((f"{_place(node, cls.tag)}, {name}", texts[name]))

    def _modification(self, node: XmlNode, cls: type[Element]) -> Modification | None:
        """The change a command makes to a model element; None when it has problems."""
        values, failed = self._values(node, cls, change=True)
        if failed:
            return None
        id, label = values.pop("id", 0), values.get("label")
        return Modification(
            id=id, label=label, element=cls.tag, changes=(*values.items(),), source=node.source
        )

    def _values(
        self, node: XmlNode, cls: type[Element], change: bool = False
    ) -> tuple[dict[str, Any], set[str]]:
        """Attributes of a node by name, typed, and the names of those with problems (in the draft).

        change : of an element that has attributes already: NULL takes its expression away
        """
        attributes = attributes_of(cls)
        values: dict[str, Any] = {}
        failed: set[str] = set()
        extra: list[tuple[str, str]] = []
        for written, text in node.attributes:
            name = cls.synonyms.get(written.lower(), written.lower())
            if name not in attributes:
                if name in OLD:
                    continue
                if cls.open_ended:
                    extra.append((written, text))
                else:
                    self._strange(node, cls, written)
                continue
            try:
                value = attributes[name].kind.read(text)
            except ValueError as fault:
                failed.add(name)
                self._fault(node, cls, f"{written}={shown(text)} {fault}")
                continue
            if name in values and values[name] != value:
                failed.add(name)
                twice = f"{shown(values[name])} and {shown(value)}"
                self._fault(node, cls, f"{name} is written twice, as {twice}; keep one")
            elif value is not None or change:
                values[name] = value
        if extra:
            values["attributes"] = tuple(extra)
        if node.text.strip():
            before = self.draft.elements.get(cls.tag, {}).get(values.get("id", 0)) if change else None
            given = {"type": getattr(before, "type", None)} | values  # which says what the text holds
            try:
                values.update(cls.read_text(node.text, given))
            except ValueError as fault:
                failed.add("text")
                self._fault(node, cls, str(fault))
        for child in node.children:
            self._unknown(child)
        return values, failed

    def _fault(self, node: XmlNode, cls: type[Element], fault: str) -> None:
        self.draft.problems.append(line(_place(node, cls.tag), fault))

    def _unknown(self, node: XmlNode) -> None:
        """An element type that is not supported: it and what it contains are ignored."""
        self.unknown.setdefault(node.tag.lower(), node)
        self.times[node.tag.lower()] += 1
        for inner in (node, *node.descendants()):
            if (id := _written(inner, "id")).isdigit():
                self.draft.ignore(inner.tag, int(id), inner.source)

    def _strange(self, node: XmlNode, cls: type[Element], name: str) -> None:
        """An attribute the element type does not have: it is ignored."""
        key = (cls.tag, name.lower())
        self.times[key] += 1
        if key not in self.strange:
            near = _guess(name.lower(), attributes_of(cls)) if len(self.strange) < GUESSES else ""
            cure = near or "leave it out, or correct its name"
            self.strange[key] = line(
                _place(node, cls.tag), f"attribute {name} is not known and is ignored; {cure}"
            )

    def _remarks(self) -> Iterator[str]:
        """One warning per unknown element type, one per unknown attribute of a type."""
        for count, (tag, node) in enumerate(self.unknown.items()):
            first = f"{self.times[tag]} of them, the first at line {node.source.line}"
            if tag in TAGS:
                fault = f"stands inside another element and is ignored ({first}); move it out, beside that"
                yield line(_place(node, node.tag), fault)
                continue
            near = _guess(node.tag, ELEMENTS) if count < GUESSES else ""
            cure = INSTEAD.get(tag) or near or "without it the model may move differently"
            fault = f"this element type is not supported and is ignored ({first}); {cure}"
            yield line(_place(node, node.tag), fault)
        for (tag, name), text in self.strange.items():
            more = self.times[tag, name] - 1
            yield text + (f" ({more} more {tag} have it.)" if more else "")


INSTEAD = {
    "force_beam": "without it the model moves differently; write a Force_Field with the beam's k_matrix",
    "force_contact": "without it bodies pass through each other; write a unilateral Force_Penalty",
    "force_stateeqn": "without it the model moves differently; write a Force_Vector_TwoBody",
    "constraint_userconstr": "without it the model moves differently; write a Constraint_General",
    "body_flexible": "without it the model moves differently; write rigid bodies with a Force_Field between",
}
"""What to write in place of element types of the format that are not supported, by their tag."""


def _written(node: XmlNode, name: str) -> str:
    """What a node says for an attribute, "" when it has none."""
    return node.written.get(name, "").strip()


def _place(node: XmlNode, tag: str) -> str:
    """How messages name a node that is not an element yet."""
    return place(node.source, tag, _written(node, "id"), _written(node, "label"))


def _guess(name: str, known: Iterable[str]) -> str:
    """The "did you mean" of a near miss, or "" where nothing is near."""
    guess = near_miss(name, known)
    return guess if guess.startswith("did you mean") else ""


def _cure_for_missing(node: XmlNode, cls: type[Element], missing: str) -> str:
    """The written name that looks like a misspelling of the missing attribute, or to write it."""
    for name, _ in node.attributes:
        if name.lower() not in attributes_of(cls) and _guess(name.lower(), [missing]):
            return f"did you mean {missing} by {name}?"
    return f'write {missing}="..."'
