"""The host's classes: one for each event, each message of a shoe and each command.

They are classes of Python without a decorator, because a host makes them each time it starts
(sabot/link/frozen.py).
"""

import keyword
import re
import textwrap
from collections.abc import Iterable, Sequence

from sabot_definitions.form import Command, Definition, Event, Field, Message, Report

_WIDTH = 100
_TYPES = {
    "uint": "int", "int": "int", "card": "int", "flag": "bool", "text": "str", "bytes": "bytes",
}  # fmt: skip
_LINK = re.compile(r"\[([^]]+)\]\(#[^)]+\)")


def event_classes(events: Sequence[Event]) -> str:
    """Return the classes of events, and the lists that are made from the definitions."""
    classes = [_class(f"{each.title}Event(Event)", each, each.fields) for each in events]
    listed = [f"    {each.number}: {each.title}Event," for each in events]
    table = ["EVENTS: dict[int, type[Event]] = {", *listed, "}"]
    said = '"""The class of each kind of event, by the kind\'s number."""'
    return "\n\n\n".join([*classes, "\n".join([*table, said])])


def bit_sets(events: Iterable[Event]) -> str:
    """Return the fields of events whose bits are words."""
    kinds = []
    for each in events:
        bits = [f'"{field.name}": enums.{field.bits}' for field in each.fields if field.bits]
        if bits:
            kinds.append(f'"{each.name}": {{{", ".join(bits)}}}')
    return f"BIT_SETS = {{{', '.join(kinds)}}}"


def message_classes(to_host: Sequence[Definition], to_device: Iterable[Definition]) -> str:
    """Return the classes of the messages of a shoe and of the commands to it."""
    commands = [each for each in to_device if isinstance(each, Command)]
    answers = {each.name: _name(each) for each in to_host}
    classes = []
    for each in to_host:
        if isinstance(each, Report):
            classes.append(_class(f"{_name(each)}(Answer)", each, each.fields[1:]))
        else:
            classes.append(_class(f"{_name(each)}(ShoeMessage)", each, each.fields))
    for each in commands:
        classes.append(
            _class(f"{_name(each)}(Command[{answers[each.answer]}])", each, each.fields[1:])
        )
    shoe = [f"    {each.number}: {_name(each)}," for each in to_host]
    host = [f"    {each.number}: {_name(each)}," for each in commands]
    tables = [
        "SHOE_MESSAGES: dict[int, type[ShoeMessage]] = {", *shoe, "}",
        '"""The class of each message of a shoe, by the number of the message."""', "",
        "COMMANDS: dict[int, type[Command[Any]]] = {", *host, "}",
        '"""The class of each command, by the number of its message."""',
    ]  # fmt: skip
    return "\n\n\n".join([*classes, "\n".join(tables)])


def _name(each: Definition) -> str:
    if isinstance(each, Message):
        return f"{each.title}Message"
    return f"{each.title}Command" if isinstance(each, Command) else each.title


def _class(heading: str, each: Definition, fields: Sequence[Field]) -> str:
    lines = [f"class {heading}:", *_docstring(each.about), ""]
    slots = ", ".join(f'"{_own(field)}"' for field in fields)
    lines.append(f"    __slots__ = ({slots}{',' if len(fields) == 1 else ''})")
    lines.append(f"    SHAPE: ClassVar[Shape] = definitions.{each.constant}")
    for field in fields:
        later = each.is_later(field)
        type_ = f"{_type(field)} | None" if later or field.can_be_null else _type(field)
        lines += [f"    {_own(field)}: {type_}", *_docstring(_sentence(field, later=later))]
    return "\n".join(lines)


def _own(field: Field) -> str:
    """Return the name of a field; one that is a keyword of Python ends in `_`."""
    return f"{field.name}_" if keyword.iskeyword(field.name) else field.name


def _type(field: Field) -> str:
    return _TYPES.get(field.plain, "str")  # the value of an enumeration is its name


def _sentence(field: Field, *, later: bool) -> str:
    text = field.text.replace("null", "None")
    text = text[0].upper() + text[1:]
    return f"{text}; None from a shoe before version {field.since}." if later else f"{text}."


def _docstring(text: str) -> list[str]:
    plain = _LINK.sub(r'"\1" in protocol/README.md', text)
    quoted = f'"""{plain}"""'
    return textwrap.wrap(
        quoted,
        _WIDTH,
        initial_indent="    ",
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
