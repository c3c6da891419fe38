"""All operations of the API, and their description."""

from collections.abc import Mapping
from typing import Any

from sabot.web.access import PUBLIC, Visit
from sabot.web.api import integrity, people, rounds, tables
from sabot.web.api.operations import Operation, describe
from sabot_firmware import VERSION


def _description(visit: Visit) -> Mapping[str, Any]:
    return DESCRIPTION


OPERATIONS = [
    *tables.OPERATIONS,
    *rounds.OPERATIONS,
    *people.OPERATIONS,
    *integrity.OPERATIONS,
    Operation("GET", "/api/openapi.json", _description, PUBLIC, "This description"),
]
DESCRIPTION = describe(OPERATIONS, VERSION)
ROUTES = [operation.route() for operation in OPERATIONS]
