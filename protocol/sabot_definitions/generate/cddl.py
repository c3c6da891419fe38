"""The CDDL rules of messages and events."""

import textwrap
from collections.abc import Iterable, Sequence

from sabot_definitions import bench, events, messages
from sabot_definitions.form import Definition, Field
from sabot_protocol import OLDEST, VERSION, enums

_WIDTH, _COMMENT_AT = 100, 50
_PLAIN = {
    "uint": "uint", "int": "int", "flag": "bool", "text": "tstr", "bytes": "bstr",
    "card": "card-number",
}  # fmt: skip
_OR_NULL = {"uint": "uint-or-null", "int": "int-or-null", "card-number": "card-or-null"}

_OF_BENCH = (*bench.FROM_BENCH, *bench.TO_BENCH)
_FIELD_NAMES = {
    field.name
    for each in (*messages.TO_DEVICE, *messages.TO_HOST, *_OF_BENCH, *events.EVENTS, events.HEAD)
    for field in each.fields
}


def version() -> str:
    """Return what version the schema is of."""
    return f"; Version {VERSION}."


def rules_of(choice: str, definitions: Iterable[Definition]) -> str:
    """Return the choice of some messages, and a rule for each."""
    listed = list(definitions)
    rules = [_rule(_name(each), each.number, each.fields) for each in listed]
    return "\n".join([_choice(choice, listed), "", *rules])


def event_rules() -> str:
    """Return the choice of all events, and a rule for each."""
    rules = [_event_rule(each) for each in events.EVENTS]
    return "\n".join([_choice("event", events.EVENTS), "", *rules])


def enumerations() -> str:
    """Return the rule of each enumeration, and of the versions of the protocol."""
    lines = [f"protocol-version = uint .ge {OLDEST}", ""]
    names = {id(value): name for name, value in vars(enums).items() if name.isupper()}
    for name, words in enums.ENUMERATIONS.items():
        rule = f"{name.replace('_', '-')} = 0..{len(words) - 1}"
        lines.append(_commented(rule, names[id(words)]))
    return "\n".join(lines)


def _choice(name: str, definitions: Iterable[Definition]) -> str:
    said = f"{name} = {' / '.join(map(_name, definitions))}"
    return "\n".join(textwrap.wrap(said, _WIDTH, subsequent_indent="  ", break_on_hyphens=False))


def _name(each: Definition) -> str:
    """Return the name of a rule. pycddl takes a field for the rule of the same name, so no rule has
    the name of a field or of a type."""
    name = each.name.replace("_", "-")
    if each in _OF_BENCH and each.name in {event.name for event in events.EVENTS}:
        return f"bench-{name}"
    if name in _FIELD_NAMES or each.name in enums.ENUMERATIONS or name == "event":
        return f"{name}-event" if each in events.EVENTS else f"{name}-message"
    return name


def _rule(name: str, number: int, fields: Sequence[Field]) -> str:
    line = f"{name} = [{', '.join([str(number), *map(_typed, fields)])}]"
    comments = [comment for comment in map(_comment, fields) if comment]
    if len(line) <= _WIDTH and len(comments) <= 1:
        return _commented(line, "".join(comments))
    lines = [f"{name} = [", f"  {number},"]
    for field in fields:
        part = f"  {_typed(field)}" + ("" if field is fields[-1] else ",")
        lines.append(_commented(part, _comment(field)))
    return "\n".join([*lines, "]"])


def _commented(line: str, comment: str) -> str:
    return f"{line:<{_COMMENT_AT}}; {comment}" if comment else line


def _event_rule(each: Definition) -> str:
    """Return the rule of an event: a line with the header, and lines with its own fields."""
    header = f"  {each.number}, {', '.join(map(_typed, events.HEAD.fields[1:]))}"
    lines, own = [f"{_name(each)} = ["], list(each.fields)
    line = header + ("," if own else "")
    for field in own:
        said = _typed(field) + ("," if field is not own[-1] else "")
        if line.startswith(header) or len(line) + 1 + len(said) > _WIDTH or ";" in line:
            lines.append(line)
            line = f"  {said}"
        else:
            line += f" {said}"
        comment = _comment(field)
        if comment:
            line += f"  ; {comment}"
    return "\n".join([*lines, line, "]"])


def _typed(field: Field) -> str:
    return f"{field.name}: {field.rule or _type(field)}"


def _type(field: Field) -> str:
    if field.bits is not None:
        return f"0..{(1 << len(getattr(enums, field.bits))) - 1}"
    rule = _PLAIN.get(field.plain, field.plain.replace("_", "-"))
    return _OR_NULL.get(rule, f"{rule} / null") if field.can_be_null else rule


def _comment(field: Field) -> str:
    if field.bits is None:
        return ""
    return f"a bit for each of {field.bits}, {len(getattr(enums, field.bits))}"
