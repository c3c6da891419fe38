"""An operation of the API: its route, and its part of the OpenAPI description, from one place.

The type that a handler returns is also what the description says of its answer.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import cleandoc
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    NotRequired,
    TypedDict,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from starlette.responses import JSONResponse, Response

from sabot.desk.roles import RIGHTS
from sabot.web.access import PUBLIC, SIGNED_IN, Guarded, Handler, Visit
from sabot.web.feed import Look

Schema = Mapping[str, Any]
"""A JSON schema."""


class _Error(TypedDict):
    error: str


class _OpenAlerts(TypedDict):
    open: int
    newest: int


class _OfEvery(TypedDict):
    """What an event of a stream has besides what changed: how many alerts are open, the server's
    time and zone, and its newest look at the log. One with nothing else comes every 5 s; what the
    client has is as old as that look."""

    alerts: _OpenAlerts
    now: int
    zone_min: int
    look: Look


@dataclass(frozen=True, slots=True)
class Open:
    """A note at a type of objects that may have any fields, besides those of a typed dict."""

    name: str
    description: str
    known: type[Any] | None = None


_ERROR = Annotated[Mapping[str, Any], Open("Error", "Why there is no answer.", _Error)]
_ERRORS = {
    "400": "the request is wrong; the error says what is",
    "401": "there is no session, or it has ended",
    "403": "the role of the user may not do this",
    "404": "there is no such thing",
    "429": "after several wrong passwords the next one must wait",
    "503": "not now: the log cannot be read, or is still loaded",
}


@dataclass(frozen=True, slots=True)
class Operation:
    """What a client can ask for. `handler` makes the answer, or for a stream the feed."""

    method: str
    path: str
    """With its parameters in braces, such as "/api/tables/{unit}"."""
    handler: Callable[[Visit], Any]
    right: str
    summary: str
    body: Sequence[str] = ()
    """The fields of the JSON object that the client sends; all are texts."""
    query: Mapping[str, str] = field(default_factory=dict)
    """What each parameter of the query means."""
    streams: type[Any] | None = None
    """Of a stream: what its events say of what has changed."""

    def route(self) -> Guarded:
        """The route; a parameter of the path may have any characters."""
        path = self.path.replace("}", ":path}")
        return Guarded(path, _answering(self.handler), self.right, [self.method])

    def description(self, types: "Types") -> dict[str, Any]:
        """The operation as OpenAPI describes it."""
        in_path = [part[1:].rstrip("}") for part in self.path.split("/") if part.startswith("{")]
        parameters: list[dict[str, Any]] = [
            {"name": name, "in": "path", "required": True, "schema": _TEXT} for name in in_path
        ]
        parameters += [
            {"name": name, "in": "query", "required": False, "schema": _TEXT, "description": text}
            for name, text in self.query.items()
        ]
        if self.streams is None:
            content = "application/json"
            answer = types.schema(get_type_hints(self.handler)["return"])
        else:
            content, answer = "text/event-stream", types.event(self.streams)
        described: dict[str, Any] = {
            "summary": self.summary,
            "description": f"Right: {self.right}. Roles: {_roles(self.right)}.",
            "operationId": f"{self.method.lower()}{self.path}".replace("/", "_"),
            "parameters": parameters,
            "responses": {
                "200": {"description": "done", "content": {content: {"schema": answer}}},
                **{
                    status: {
                        "description": text,
                        "content": {"application/json": {"schema": types.schema(_ERROR)}},
                    }
                    for status, text in _ERRORS.items()
                },
            },
            "security": [] if self.right == PUBLIC else [{"token": []}, {"cookie": []}],
        }
        if self.body:
            schema = _record(dict.fromkeys(self.body, _TEXT))
            described["requestBody"] = {
                "required": True,
                "content": {"application/json": {"schema": schema}},
            }
        return described


class Types:
    """The types of answers as schemas. Those with public names are named in the description."""

    def __init__(self) -> None:
        self.named: dict[str, Schema] = {}

    def schema(self, type_: Any) -> Schema:
        """The schema of a type: text, number, flag, a typed dict, or a list, a mapping or an
        optional one of these. Raises TypeError for another type."""
        origin, inner = get_origin(type_), get_args(type_)
        if type_ in _PLAIN:
            return {"type": _PLAIN[type_]}
        if origin is NotRequired:
            return self.schema(inner[0])
        if is_typeddict(type_):
            return self._of_typed_dict(type_)
        if origin in (list, Sequence):
            return {"type": "array", "items": self.schema(inner[0])}
        if origin is Mapping:
            more = {} if inner[1] is Any else {"additionalProperties": self.schema(inner[1])}
            return {"type": "object", **more}
        if origin in (Union, UnionType) and inner[1:] == (NoneType,):
            return {"anyOf": [self.schema(inner[0]), {"type": "null"}]}
        if origin is Annotated and isinstance(inner[1], tuple):  # the words that it may be
            return {"enum": [*inner[1]]}
        if origin is Annotated and isinstance(inner[1], Open):
            return self._of_open(inner[1])
        raise TypeError(f"no schema for {type_}")

    def event(self, changed: type[Any]) -> Schema:
        """The schema of an event of a stream."""
        fields = {**get_type_hints(changed, include_extras=True), **get_type_hints(_OfEvery)}
        schemas = {name: self.schema(type_) for name, type_ in fields.items()}
        schema = {**_record(schemas, ["now", "zone_min", "look"]), **_description(changed)}
        return self._reference(changed.__name__, schema)

    def _of_typed_dict(self, type_: Any) -> Schema:
        fields = get_type_hints(type_, include_extras=True)
        schemas = {name: self.schema(each) for name, each in fields.items()}
        required = [name for name in fields if name in type_.__required_keys__]
        schema = {**_record(schemas, required), **_description(type_)}
        return self._reference(type_.__name__, schema)

    def _of_open(self, open_: Open) -> Schema:
        schema: dict[str, Any] = {"type": "object", "description": open_.description}
        if open_.known is not None:
            known = self._of_typed_dict(open_.known)
            schema |= {name: known[name] for name in ("properties", "required")}
        return self._reference(open_.name, schema)

    def _reference(self, name: str, schema: Schema) -> Schema:
        if name.startswith("_"):
            return schema
        assert self.named.setdefault(name, schema) == schema, name
        return {"$ref": f"#/components/schemas/{name}"}


_PLAIN = {str: "string", int: "integer", bool: "boolean"}
_TEXT: Schema = {"type": "string"}


def _record(properties: Mapping[str, Schema], required: Sequence[str] | None = None) -> Schema:
    """The schema of an object with these properties and no others; all are required if None."""
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties] if required is None else required,
        "additionalProperties": False,
    }


def _description(type_: type[Any]) -> Schema:
    return {"description": cleandoc(type_.__doc__)} if type_.__doc__ else {}


def describe(operations: Sequence[Operation], version: str) -> Schema:
    """The OpenAPI description of the API."""
    types = Types()
    paths: dict[str, dict[str, Any]] = {}
    for each in operations:
        paths.setdefault(each.path, {})[each.method.lower()] = each.description(types)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Sabot",
            "version": version,
            "description": "What the screens show, as JSON. Sign in with POST /api/session, and "
            "send the token as `Authorization: Bearer TOKEN`. Times are UTC milliseconds since "
            "1970, or ISO 8601 where they are texts. Event streams are server-sent events: send "
            "the id of the last event as `Last-Event-ID`, or as the parameter `after`, to go on.",
        },
        "paths": paths,
        "components": {
            "schemas": types.named,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": "sabot_session"},
            },
        },
    }


def _answering(handler: Callable[[Visit], Any]) -> Handler:
    """The handler of a route whose answer is what `handler` returns."""

    def answer(visit: Visit) -> Response:
        made = handler(visit)
        return made if isinstance(made, Response) else JSONResponse(made)

    answer.__name__, answer.__module__ = handler.__name__, handler.__module__
    return answer


def _roles(right: str) -> str:
    if right == PUBLIC:
        return "everyone, without a session"
    return "all" if right == SIGNED_IN else ", ".join(sorted(RIGHTS[right]))
