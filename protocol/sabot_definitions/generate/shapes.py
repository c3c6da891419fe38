"""The shapes of sabot_protocol, which a shoe and a host share.

They are for MicroPython: a board has only what stands in the code, so the lines of text are left
out. sabot/release/compiling/board_words.py takes the names and fields of some out of a release, and
expects `Shape(number, name, fields, list, ...)`.
"""

from collections.abc import Iterable

from sabot_definitions.form import Command, Definition, Event
from sabot_protocol import OLDEST

_WIDTH = 100
_GROWN = '''
"""The messages to the host that have more fields than in version 10: by number, how many they had.
A release has no fields of these messages (docs/decisions/board-words.md) and needs the figure."""
'''


def event_shapes(head: Definition, events: Iterable[Event]) -> str:
    """Return the shape of the header of every event, and those of all kinds."""
    header = f'HEAD = Shape({head.number}, "{head.name}", {_fields(head, wide=False)})'
    return "\n".join([header, *(_shape(each, "_kinds", each.maker) for each in events)])


def message_shapes(to_host: Iterable[Definition], to_device: Iterable[Definition]) -> str:
    """Return the shapes of all messages: those of a shoe, then those of a host, which name the
    reports that answer them."""
    lines = [_shape(each, "_to_host") for each in to_host]
    lines += [_shape(each, "_to_device", *_command(each)) for each in to_device]
    grown = {each.constant: _least(each) for each in to_host}
    counts = ", ".join(f"{name}.number: {n}" for name, n in grown.items() if n is not None)
    lines += [f'GROWN: "dict[int, int]" = {{{counts}}}', _GROWN.strip()]
    return "\n".join(lines)


def bench_shapes(from_bench: Iterable[Definition], to_bench: Iterable[Definition]) -> str:
    """Return the shapes of the messages of the simulated bench."""
    lines = [_shape(each, "_from_bench") for each in from_bench]
    return "\n".join(lines + [_shape(each, "_to_bench") for each in to_bench])


def _command(each: Definition) -> list[str]:
    if not isinstance(each, Command):
        return []
    answer = [] if each.answer == "reply" else [each.answer.upper()]
    since = [] if each.since == OLDEST else [f"since={each.since}"]
    return [each.who, *answer, *since]


def _shape(each: Definition, listed: str, *more: str) -> str:
    for wide in (True, False):
        arguments = [str(each.number), f'"{each.name}"', _fields(each, wide=wide), listed]
        line = f"{each.constant} = Shape({', '.join([*arguments, *more])})"
        if len(line) <= _WIDTH:
            break
    return line


def _fields(each: Definition, *, wide: bool) -> str:
    """Return `name:type` of each field as a text of Python; if not `wide`, as one for each."""
    said = [f"{field.name}:{field.type}" for field in each.fields]
    least = _least(each)
    if least is not None:
        said[least] = f"| {said[least]}"
    if wide:
        return f'"{" ".join(said)}"'
    return "(" + " ".join(f'"{one} "' for one in said[:-1]) + f' "{said[-1]}")'


def _least(each: Definition) -> int | None:
    """Return how many fields it had when it came; None if it has no more now."""
    least = sum(not each.is_later(field) for field in each.fields)
    return None if least == len(each.fields) else least
