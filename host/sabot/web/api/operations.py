"""An operation of the API: its route, and its part of the OpenAPI description, from one place."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import JSONResponse, Response

from sabot.desk.roles import RIGHTS
from sabot.web.access import PUBLIC, SIGNED_IN, Guarded, Handler, Visit

Schema = Mapping[str, Any]
"""A JSON schema."""

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}

_ERROR: Schema = {"type": "object", "properties": {"error": TEXT}, "required": ["error"]}
_ERRORS = {
    "400": "the request is wrong; the error says what is",
    "401": "there is no session, or it has ended",
    "403": "the role of the user may not do this",
    "404": "there is no such thing",
    "429": "after several wrong passwords the next one must wait",
    "503": "not now: the log cannot be read, or is still loaded",
}


def optional(schema: Schema) -> Schema:
    """The schema of a value that may be null."""
    return {"anyOf": [schema, {"type": "null"}]}


def list_of(schema: Schema) -> Schema:
    """The schema of a list."""
    return {"type": "array", "items": schema}


def record(**properties: Schema) -> Schema:
    """The schema of an object that has all these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def event(**properties: Schema) -> Schema:
    """The schema of an event of a stream. Besides what changed it may say how many alerts are open;
    one with the time alone shows that the connection lasts."""
    alerts = record(open=NUMBER, newest=NUMBER)
    return {
        "type": "object",
        "properties": {**properties, "alerts": alerts, "now": NUMBER},
        "required": ["now"],
        "additionalProperties": False,
    }


def named(name: str) -> Schema:
    """A reference to one of the schemas of the description."""
    return {"$ref": f"#/components/schemas/{name}"}


@dataclass(frozen=True, slots=True)
class Operation:
    """What a client can ask for. `handler` makes the answer, or for `stream` the feed."""

    method: str
    path: str
    """With its parameters in braces, such as "/api/tables/{unit}"."""
    handler: Callable[[Visit], Any]
    right: str
    summary: str
    answer: Schema
    """What a 200 has; of a stream, each event's data."""
    body: Mapping[str, Schema] = field(default_factory=dict)
    """The fields of the JSON object that the client sends; all are texts."""
    query: Mapping[str, str] = field(default_factory=dict)
    """What each parameter of the query means."""
    stream: bool = False

    def route(self) -> Guarded:
        """The route; a parameter of the path may have any characters."""
        path = self.path.replace("}", ":path}")
        return Guarded(path, _answering(self.handler), self.right, [self.method])

    def description(self) -> dict[str, Any]:
        """The operation as OpenAPI describes it."""
        in_path = [part[1:].rstrip("}") for part in self.path.split("/") if part.startswith("{")]
        parameters: list[dict[str, Any]] = [
            {"name": name, "in": "path", "required": True, "schema": TEXT} for name in in_path
        ]
        parameters += [
            {"name": name, "in": "query", "required": False, "schema": TEXT, "description": text}
            for name, text in self.query.items()
        ]
        content = "text/event-stream" if self.stream else "application/json"
        described: dict[str, Any] = {
            "summary": self.summary,
            "description": f"Right: {self.right}. Roles: {_roles(self.right)}.",
            "operationId": f"{self.method.lower()}{self.path}".replace("/", "_"),
            "parameters": parameters,
            "responses": {
                "200": {"description": "done", "content": {content: {"schema": self.answer}}},
                **{
                    status: {
                        "description": text,
                        "content": {"application/json": {"schema": named("Error")}},
                    }
                    for status, text in _ERRORS.items()
                },
            },
            "security": [] if self.right == PUBLIC else [{"token": []}, {"cookie": []}],
        }
        if self.body:
            described["requestBody"] = {
                "required": True,
                "content": {"application/json": {"schema": record(**self.body)}},
            }
        return described


def describe(operations: list[Operation], schemas: Mapping[str, Schema], version: str) -> Schema:
    """The OpenAPI description of the API."""
    paths: dict[str, dict[str, Any]] = {}
    for each in operations:
        paths.setdefault(each.path, {})[each.method.lower()] = each.description()
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
            "schemas": {"Error": _ERROR, **schemas},
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
