"""The description of the feeds, docs/asyncapi.yaml, and whether a message is as it says."""

import copy
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft7Validator

PAGE = Path(__file__).resolve().parents[3] / "docs" / "asyncapi.yaml"
DOCUMENT: dict[str, Any] = yaml.safe_load(PAGE.read_text())


def _closed(schema: Any) -> Any:
    """A schema that takes no field that it does not name: what is sent must be described."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _closed(each) for key, each in schema.items()}
    if "properties" in found and "required" in found and "type" in found["properties"]:
        return found  # a part of a CloudEvent
    if "properties" in found:
        found["additionalProperties"] = False
    return found


def _validator(type_: str) -> Draft7Validator:
    (message,) = [
        each for each in DOCUMENT["components"]["messages"].values() if each["name"] == type_
    ]
    document = copy.deepcopy(DOCUMENT)
    document["components"]["schemas"] = _closed(document["components"]["schemas"])
    schema = {**message["payload"], "components": document["components"]}
    Draft7Validator.check_schema(schema)
    return Draft7Validator(schema)


_VALIDATORS = {each["name"]: _validator(each["name"]) for each in
               DOCUMENT["components"]["messages"].values()}  # fmt: skip
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
"""RFC 3339."""
_ATTRIBUTES = {*DOCUMENT["components"]["schemas"]["cloudEvent"]["properties"]}


def check_message(event: dict[str, Any]) -> None:
    """Assert that a message is as described, and has nothing that is not."""
    assert {*event} <= _ATTRIBUTES, event
    if "time" in event:
        assert _TIME.fullmatch(event["time"]) and datetime.fromisoformat(event["time"])
    errors = [*_VALIDATORS[event["type"]].iter_errors(event)]
    assert not errors, (event, [each.message for each in errors])


def check_headers(headers: dict[str, str]) -> None:
    """Assert that the headers of a webhook are as described."""
    schema = DOCUMENT["components"]["schemas"]["webhookHeaders"]
    errors = [*Draft7Validator(schema).iter_errors(headers)]
    assert not errors, (headers, [each.message for each in errors])
