"""Checks answers of the API against its description."""

from typing import Any

from sabot.web.api.routes import DESCRIPTION


def check(value: Any, schema: Any, where: str = "") -> None:
    """Assert that a value fits a schema of those parts of JSON schema that the description has."""
    if "anyOf" in schema:
        is_null = value is None
        schema = next(each for each in schema["anyOf"] if (each == {"type": "null"}) == is_null)
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/components/schemas/")
        schema = DESCRIPTION["components"]["schemas"][name]
    if "enum" in schema:
        assert value in schema["enum"], where
        return
    types = {"string": str, "integer": int, "boolean": bool, "array": list, "object": dict}
    wanted = types.get(schema["type"], type(None))
    assert type(value) is wanted, f"{where}: {value!r}"
    if wanted is list:
        for each in value:
            check(each, schema["items"], f"{where}[]")
    if wanted is dict:
        known = schema.get("properties", {})
        assert set(schema.get("required", ())) <= value.keys(), where
        for name, each in value.items():
            more = schema.get("additionalProperties", {})
            assert name in known or more is not False, f"{where}.{name}"
            if name in known or more:
                check(each, known.get(name, more), f"{where}.{name}")
