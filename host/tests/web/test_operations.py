"""What the description says of an answer is made of the type that the handler returns."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NotRequired, TypedDict

import pytest

from sabot.web.api.operations import Open, Operation, Types, describe


class _Seen(TypedDict):
    unit: str
    kind: Annotated[str, ("lid", "key")]


class Answer(TypedDict):
    """What was seen."""

    seen: list[_Seen]
    cards: Mapping[str, int]
    rows: Sequence[Sequence[str]]
    older: int | None
    more: Annotated[Mapping[str, Any], Open("More", "As printed.")] | None
    mac: NotRequired[str]


_SCHEMA = {
    "type": "object",
    "properties": {
        "seen": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"unit": {"type": "string"}, "kind": {"enum": ["lid", "key"]}},
                "required": ["unit", "kind"],
                "additionalProperties": False,
            },
        },
        "cards": {"type": "object", "additionalProperties": {"type": "integer"}},
        "rows": {"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
        "older": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "more": {"anyOf": [{"$ref": "#/components/schemas/More"}, {"type": "null"}]},
        "mac": {"type": "string"},
    },
    "required": ["seen", "cards", "rows", "older", "more"],
    "additionalProperties": False,
    "description": "What was seen.",
}


def _answer(visit: Any) -> Answer:
    raise AssertionError("not asked")


def test_the_description_has_every_field_of_the_type_that_a_handler_returns() -> None:
    described = describe([Operation("GET", "/api/seen", _answer, "wall", "Seen")], "1.0")
    answer = described["paths"]["/api/seen"]["get"]["responses"]["200"]["content"]
    assert answer == {"application/json": {"schema": {"$ref": "#/components/schemas/Answer"}}}
    assert described["components"]["schemas"]["Answer"] == _SCHEMA
    more = {"type": "object", "description": "As printed."}
    assert described["components"]["schemas"]["More"] == more


def test_an_event_of_a_stream_has_its_time_always_and_all_else_when_it_changed() -> None:
    types = Types()
    types.event(Answer)
    schema = types.named["Answer"]
    assert schema["properties"] == {
        **_SCHEMA["properties"],
        "alerts": {
            "type": "object",
            "properties": {"open": {"type": "integer"}, "newest": {"type": "integer"}},
            "required": ["open", "newest"],
            "additionalProperties": False,
        },
        "now": {"type": "integer"},
        "zone_min": {"type": "integer"},
        "look": {"$ref": "#/components/schemas/Look"},
    }
    assert schema["required"] == ["now", "zone_min", "look"]


@pytest.mark.parametrize("type_", [float, bytes, dict[str, int], int | str, tuple[int, int]])
def test_a_type_that_no_answer_has_is_refused(type_: Any) -> None:
    with pytest.raises(TypeError, match="no schema for"):
        Types().schema(type_)


def test_two_types_of_one_name_are_refused() -> None:
    class Other(TypedDict):
        unit: str

    Other.__name__ = "Answer"
    types = Types()
    types.schema(Answer)
    with pytest.raises(AssertionError, match="Answer"):
        types.schema(Other)
