"""The form of a definition, and what every definition must keep to."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from sabot_protocol import OLDEST, VERSION, enums

DEALING: Final = "DEALING"
"""Who makes an event: the dealing, from an input (sabot_firmware/table/dealing.py). After a loss of
power it makes the event again."""
DEVICE: Final = "DEVICE"
"""Who makes an event: the rest of the shoe, once."""

OPEN: Final = "OPEN"
"""Who may send a command: anyone."""
PROVEN: Final = "PROVEN"
"""Who may send a command: a host that has sent a `signed` command in this session."""
IN_SIGNED: Final = "IN_SIGNED"
"""Who may send a command: only a host that puts it into a `signed`."""

PLAIN_TYPES = {"uint", "int", "flag", "text", "bytes", "card"}
"""The types besides enumerations; protocol/README.md, "Types", says what they are."""

_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_LARGEST = 255
_TAKEN_BY_ALL = {"kind", "fields", "surplus", "understood", "unknown", "unknown_words"}
"""Names that a field of an event cannot have: the host's class has them for every event."""


class DefinitionError(ValueError):
    """A definition that is not in this form; the text says which, and what to do."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field: its name, its type, and a line of text for people."""

    name: str
    type: str
    """One of PLAIN_TYPES or of `enums.ENUMERATIONS`; with a `?` it may be null."""
    text: str
    """A fragment such as "um, how far it went". In Markdown, without a full stop."""
    rule: str | None = None
    """Its rule in CDDL, if it is narrower than the type: a range, or a rule of sabot.cddl."""
    bits: str | None = None
    """The tuple of enums.py whose words its bits are, such as "CHANNELS"."""
    since: int = OLDEST
    """The version of the protocol that it came with, if that is later than its message or event.
    Such fields stand at the end, and an older shoe leaves them out."""

    @property
    def plain(self) -> str:
        """The type without the `?`."""
        return self.type.rstrip("?")

    @property
    def can_be_null(self) -> bool:
        """Whether the value can be null, not only because an older shoe leaves it out."""
        return self.type.endswith("?")


class Definition:
    """A message or an event: its number, its name, a sentence on what it is, its fields."""

    def __init__(
        self, number: int, name: str, about: str, *fields: Field, since: int = OLDEST
    ) -> None:
        self.number = number
        self.name = name
        self.about = about
        self.fields = fields
        self.since = since

    def is_later(self, field: Field) -> bool:
        """Whether one of its fields came after it, so that an older shoe leaves the field out."""
        return field.since > self.since

    @property
    def constant(self) -> str:
        """Its name as a constant of Python."""
        return self.name.upper()

    @property
    def title(self) -> str:
        """Its name as the beginning of the name of a class."""
        return "".join(part.title() for part in self.name.split("_"))


class Event(Definition):
    """A kind of event, and who makes it: DEALING or DEVICE.

    `notable`: whether surveillance looks for it, so that an incident is made of it.
    """

    def __init__(
        self,
        number: int,
        name: str,
        maker: str,
        about: str,
        *fields: Field,
        notable: bool,
        since: int = OLDEST,
    ) -> None:
        super().__init__(number, name, about, *fields, since=since)
        self.maker = maker
        self.notable = notable


class Message(Definition):
    """A message that is neither a command nor the answer to one."""


class Report(Definition):
    """A message that answers a command: it begins with the command's `id`."""

    def __init__(
        self, number: int, name: str, about: str, *fields: Field, since: int = OLDEST
    ) -> None:
        answered = Field("id", "uint", "of the command that this answers")
        super().__init__(number, name, about, answered, *fields, since=since)


class Command(Definition):
    """A command: it begins with an `id`, which its answer repeats. `who` may send it: OPEN, PROVEN
    or IN_SIGNED. `answer` is the name of the report that answers it."""

    def __init__(
        self,
        number: int,
        name: str,
        who: str,
        about: str,
        *fields: Field,
        answer: str = "reply",
        since: int = OLDEST,
    ) -> None:
        super().__init__(number, name, about, Field("id", "uint", "of the command"), *fields)
        self.since = since
        self.who = who
        self.answer = answer


def check(
    where: str,
    definitions: Sequence[Definition],
    numbers: Iterable[int] = range(1, _LARGEST + 1),
    gone: Iterable[int] = (),
) -> None:
    """Raise DefinitionError unless the definitions of the module `where` are in this form: numbers
    of `numbers`, each used once and none of those that are `gone`, in ascending order."""
    numbers, gone = set(numbers), set(gone)
    before = 0
    names: set[str] = set()
    for each in definitions:
        here = f"{where}: {each.name}"
        if each.number in gone:
            raise DefinitionError(f"{here} has the number {each.number} of one that is gone")
        if each.number not in numbers:
            most = f"{min(numbers)} to {max(numbers)}"
            raise DefinitionError(f"{here} has the number {each.number}: take one of {most}")
        if each.number <= before:
            raise DefinitionError(
                f"{here} has the number {each.number} after {before}: "
                "each number is used once, and they are in order"
            )
        if each.name in names:
            raise DefinitionError(f"{here} is there twice")
        names.add(each.name)
        before = each.number
        _check_one(here, each)


def _check_one(here: str, each: Definition) -> None:
    if not _NAME.fullmatch(each.name):
        raise DefinitionError(f"{here} is not a name: take words in lower case, with _ between")
    if not each.about[:1].isupper() or not each.about.endswith("."):
        raise DefinitionError(
            f"{here}: the sentence on what it is begins with a capital, ends with ."
        )
    _check_text(here, each.about)
    _check_since(here, each.since)
    since = OLDEST
    names = set(_TAKEN_BY_ALL) if isinstance(each, Event) else set()
    for field in each.fields:
        inner = f"{here}.{field.name}"
        if not _NAME.fullmatch(field.name) or field.name in names:
            raise DefinitionError(f"{inner} is not a name, or is taken")
        names.add(field.name)
        if field.plain not in PLAIN_TYPES and field.plain not in enums.ENUMERATIONS:
            known = ", ".join([*sorted(PLAIN_TYPES), *enums.ENUMERATIONS])
            raise DefinitionError(f"{inner} has the type {field.type}: take one of {known}")
        if not field.text or field.text.endswith("."):
            raise DefinitionError(f"{inner} needs a line of text, without a full stop")
        _check_text(inner, field.text)
        if field.bits is not None and not hasattr(enums, field.bits):
            raise DefinitionError(f"{inner}: enums.py has no {field.bits}")
        _check_since(inner, field.since)
        if field.since < since:
            raise DefinitionError(
                f"{inner} came before the field above it: a field is never inserted"
            )
        since = field.since
        if isinstance(each, Command) and each.is_later(field):
            raise DefinitionError(f"{inner}: a command gets no fields; define another command")


def _check_since(here: str, since: int) -> None:
    if not OLDEST <= since <= VERSION:
        raise DefinitionError(
            f"{here} is since version {since}: versions are {OLDEST} to {VERSION}"
        )


def _check_text(here: str, text: str) -> None:
    if "|" in text or "\n" in text or "\\" in text or '"""' in text:
        raise DefinitionError(f"{here}: its text stands in a table: no |, no line break, no \\")
