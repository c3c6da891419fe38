"""The host's classes of messages and events, compared with their definitions."""

import dataclasses
import keyword
from typing import Any, get_args, get_type_hints

import pytest

from host.tests.support.helpers import event_bytes, framed, values_of
from sabot.link import events, messages, wire
from sabot.link.refusals import TEXTS, text_of
from sabot.notable.incident_finder import IncidentFinder
from sabot_definitions import events as event_texts
from sabot_protocol import enums, frame
from sabot_protocol import events as event_definitions
from sabot_protocol import messages as definitions
from sabot_protocol.schema import Shape

_MESSAGES = "host/sabot/link/messages.py"
_EVENTS = "host/sabot/link/events.py"
_TYPES: dict[str, Any] = {
    "uint": int, "int": int, "card": int, "flag": bool, "text": str, "bytes": bytes,
}  # fmt: skip
_COMMANDS = [shape for shape in definitions.TO_DEVICE if shape.by is not None]
_NOTABLE = {each.name: each.notable for each in event_texts.EVENTS}
_OF_LATER_VERSIONS = ("surplus", "understood")
"""Fields of every event that no definition has."""


def _expected(
    fields: tuple[tuple[str, str], ...], least: int | None = None
) -> list[tuple[str, object]]:
    """The fields of a class; those after the first `least` may be None: older shoes lack them."""
    expected: list[tuple[str, object]] = []
    for place, (name, kind) in enumerate(fields):
        lacking = least is not None and place >= least
        plain = _TYPES.get(kind.rstrip("?"), str)  # the value of an enumeration is its name
        own = name + "_" if keyword.iskeyword(name) else name
        expected.append((own, plain | None if kind.endswith("?") or lacking else plain))
    return expected


def _fields_of(one: type) -> list[tuple[str, object]]:
    hints = get_type_hints(one)
    return [
        (each.name, hints[each.name])
        for each in dataclasses.fields(one)
        if each.name not in _OF_LATER_VERSIONS
    ]


def _check_class(one: type, shape: Shape, fields: tuple[tuple[str, str], ...], path: str) -> None:
    """Compare the class `one` of the module `path` with the definition of its message or event."""
    least = None if shape.least is None else len(fields) - len(shape.fields) + shape.least
    said, expected = getattr(one, "SHAPE", None), _expected(fields, least)
    assert said is shape, f"{path}: {one.__name__} is not of {shape.name}: change its SHAPE"
    assert _fields_of(one) == expected, f"{path}: {one.__name__} must have the fields {expected}"


def _command_of(shape: Shape) -> type[messages.Command[Any]]:
    name = "".join(part.title() for part in shape.name.split("_")) + "Command"
    one = getattr(messages, name, None)
    assert one is not None, f"{_MESSAGES} has no class {name} for this command"
    return one  # type: ignore[no-any-return]


@pytest.mark.parametrize("shape", definitions.TO_HOST, ids=lambda shape: shape.name)
def test_a_message_of_a_shoe_has_a_class_with_its_fields(shape: Shape) -> None:
    assert shape.number in messages.SHOE_MESSAGES, f"{_MESSAGES} has no class for {shape.name}"
    one = messages.SHOE_MESSAGES[shape.number]
    _check_class(one, shape, shape.fields, _MESSAGES)
    answers = {each.answer or definitions.REPLY for each in _COMMANDS}
    where = f"{_MESSAGES}: {one.__name__} must be an Answer if it answers a command, and only then"
    assert issubclass(one, messages.Answer) == (shape in answers), where


@pytest.mark.parametrize("shape", _COMMANDS, ids=lambda shape: shape.name)
def test_a_command_has_a_class_with_its_fields_and_its_answer(shape: Shape) -> None:
    one = _command_of(shape)
    assert shape.fields[0] == ("id", "uint"), f"{shape.name}: a command begins with id:uint"
    _check_class(one, shape, shape.fields[1:], _MESSAGES)
    (answer,) = get_args(one.__orig_bases__[0])  # type: ignore[attr-defined]
    expected = shape.answer or definitions.REPLY
    where = f"{_MESSAGES}: {one.__name__} is answered with {expected.name}: Command[...]"
    assert answer.SHAPE is expected, where


@pytest.mark.parametrize("kind", event_definitions.KINDS, ids=lambda kind: kind.name)
def test_an_event_has_a_class_with_its_fields(kind: Shape) -> None:
    assert kind.number in events.EVENTS, f"{_EVENTS} has no class for {kind.name}"
    fields = (*event_definitions.HEADER[1:], *kind.fields)
    _check_class(events.EVENTS[kind.number], kind, fields, _EVENTS)


@pytest.mark.parametrize("kind", event_definitions.KINDS, ids=lambda kind: kind.name)
def test_an_event_that_is_said_to_be_notable_makes_an_incident_and_no_other_does(
    kind: Shape,
) -> None:
    taken = getattr(IncidentFinder, f"_on_{kind.name}", None)
    where = (
        f"{kind.name} is notable={_NOTABLE[kind.name]} in protocol/sabot_definitions/events.py: an "
        f"event that is has _on_{kind.name} in host/sabot/notable/incident_finder.py, no other has"
    )
    assert (taken is not None) == _NOTABLE[kind.name], where
    if taken is not None:
        assert get_type_hints(taken)["event"] is events.EVENTS[kind.number]


def test_no_incident_is_made_of_an_event_that_there_is_not() -> None:
    names = {kind.name for kind in event_definitions.KINDS}
    taken = {name[4:] for name in dir(IncidentFinder) if name.startswith("_on_")}
    where = "which protocol/sabot_definitions/events.py does not define"
    assert taken <= names, f"host/sabot/notable/incident_finder.py has {taken - names}, {where}"


def test_a_message_of_a_shoe_becomes_its_class_with_names_of_enumerations() -> None:
    for shape in definitions.TO_HOST:
        message = wire.parse_message(_payload(framed(shape)))
        typed = messages.shoe_message_of(message)
        assert typed is not None and typed.SHAPE is shape
        for (name, kind), value in zip(shape.fields, values_of(shape), strict=True):
            names = enums.ENUMERATIONS.get(kind.rstrip("?"))
            own = name + "_" if keyword.iskeyword(name) else name
            assert getattr(typed, own) == (value if names is None else names[value]), name
    assert (
        messages.shoe_message_of(wire.parse_message(_payload(framed(definitions.ACK, number=1))))
        is None
    )


def test_an_event_is_shown_with_all_its_own_fields() -> None:
    for kind in event_definitions.KINDS:
        event = wire.parse_event(event_bytes(kind.name, 1))
        assert list(event.fields) == [name for name, _ in kind.fields], kind.name


@pytest.mark.parametrize("place", range(1, len(enums.REFUSALS)), ids=enums.REFUSALS.__getitem__)
def test_every_refusal_has_a_text_for_people(place: int) -> None:
    refusal = enums.REFUSALS[place]
    assert refusal in TEXTS, f"host/sabot/link/refusals.py has no text for {refusal}"
    text = text_of(refusal, "DETAIL")
    assert "\n" not in text and not text.endswith(".") and 0 < len(text) < 100
    assert ("DETAIL" in text) == ("{}" in TEXTS[refusal])


def test_only_refusals_have_a_text() -> None:
    known = {enums.REFUSALS[place] for place in range(1, len(enums.REFUSALS))}
    assert set(TEXTS) == known


def _payload(line: bytes) -> bytes:
    payload = frame.read_frame(line[:-1])
    assert payload is not None
    return payload
