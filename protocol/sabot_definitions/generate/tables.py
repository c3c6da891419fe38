"""The tables of protocol/README.md and docs/json.md."""

import re
from collections.abc import Iterable

from sabot_definitions.form import Command, Definition, Event, Field
from sabot_protocol import OLDEST, VERSION

_WHO = {"OPEN": "open", "PROVEN": "proven", "IN_SIGNED": "signed"}
_JSON_TYPES = {
    "uint": "integer", "int": "integer", "flag": "true or false", "text": "text",
    "bytes": "text, hex digits", "card": "text, card",
}  # fmt: skip
_LINK = re.compile(r"\]\(#")


def version() -> str:
    """Return which version of the protocol the page describes."""
    return f"Version {VERSION}."


def protocol_table(heading: str, definitions: Iterable[Definition]) -> str:
    """Return the table of some messages or events, with a row for each and for each of its fields;
    `heading` is what they are."""
    lines = [f"| no. | {heading} | field | type | meaning |", "|---|---|---|---|---|"]
    for each in definitions:
        about = each.about
        if each.since > OLDEST:
            about += f" From version {each.since} on."
        lines.append(f"| {each.number or ''} | {_code(each)} | | | {about} |")
        lines += [f"| | | `{it.name}` | {it.type} | {_text(each, it)} |" for it in each.fields]
    return "\n".join(line.replace("|  |", "| |") for line in lines)


def commands_table(definitions: Iterable[Definition]) -> str:
    """Return the table of who may ask a command, and what answers it."""
    lines = ["| command | who may ask | answered with |", "|---|---|---|"]
    for each in definitions:
        if isinstance(each, Command):
            lines.append(f"| `{each.name}` | {_WHO[each.who]} | `{each.answer}` |")
    return "\n".join(lines)


def json_table(events: Iterable[Event]) -> str:
    """Return the table of the fields of events, as `sabot events --json` prints them."""
    lines = ["| kind | field | type | meaning |", "|---|---|---|---|"]
    for each in events:
        lines.append(f"| `{each.name}` | | | {_of_protocol(each.about)} |")
        lines += [
            f"| | `{it.name}` | {_json_type(each, it)} | {_of_protocol(_text(each, it))} |"
            for it in each.fields
        ]
    return "\n".join(lines)


def _code(each: Definition) -> str:
    return f"`{each.name}`" if each.number else each.name


def _text(each: Definition, field: Field) -> str:
    return f"{field.text}; from version {field.since} on" if each.is_later(field) else field.text


def _json_type(each: Definition, field: Field) -> str:
    plain, comma, more = _JSON_TYPES.get(field.plain, "text").partition(", ")
    # A host has null for a field that an older shoe leaves out.
    null = " or null" if field.can_be_null or each.is_later(field) else ""
    return f"{plain}{null}{comma}{more}"


def _of_protocol(text: str) -> str:
    """Return a text with its links to sections of protocol/README.md, for a page in docs/."""
    return _LINK.sub("](../protocol/README.md#", text)
