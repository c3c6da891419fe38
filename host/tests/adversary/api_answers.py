"""What the API of `sabot serve` answers about a log, without a server or a change of the log."""

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from sabot.desk.desk import Desk
from sabot.desk.tables import User
from sabot.errors import InternalError, SabotError
from sabot.floor.live import Floor
from sabot.floor.rounds.index import RoundIndex
from sabot.log.store import Store, open_store
from sabot.web.app import make_app
from sabot.web.services import Services

_USERS = "/api/users"
PATHS = (
    "/api/tables",
    "/api/tables/SHOE-1",
    "/api/rounds/SHOE-1/2/3",
    "/api/rounds/SHOE-2/1/1",
    "/api/search",
    "/api/search?text=tie",
    "/api/alerts?all=yes",
    _USERS,
    "/api/views",
)
OF_A_TABLE = (
    "need", "rounds_an_hour", "without_log_s", "newest_on_shoe", "newest_stored_s", "held",
    "held_s", "damaged_from_shoe", "damaged_to_shoe", "line",
)  # fmt: skip
"""Of a table: what depends on presence, on how events come, or on when it is asked."""
_OF_THIS_ANSWER = {"id", "received_unix_ms", "raised_unix_ms"}
"""What no record says: which look it was, and when a host received an event or raised an alert."""
_FAULT = "a fault of Sabot itself"
_WRONG = 500


class _Watched(Desk):
    """A desk at which a user of the role that a token names looks around. Nothing is noted."""

    def user_of(self, token: str) -> User | None:
        return User(name="eve", role=token, closed=False, made_unix_ms=0)

    def opened_round(self, unit: str, shoe: int, round: int, *, by: str) -> None:
        pass


def answers(path: Path) -> tuple[int, str, str]:
    """Return what a command would: an exit code, a line for each of PATHS with its answer, and the
    reason if there are no answers. A fault of Sabot, also one that an answer only names, has its
    code."""
    try:
        with closing(open_store(path)) as store:
            lines = list(_answered(store))
    except SabotError as error:
        return error.exit_code, "", f"sabot: {error}\n"
    text = "".join(lines)
    return InternalError.exit_code if _FAULT in text else 0, text, ""


def _answered(store: Store) -> Iterator[str]:
    floor, index = Floor(store), RoundIndex(store)
    while floor.look():
        pass
    index.look()
    app = make_app(Services(store, floor, _Watched(store), index, UTC))
    client = TestClient(app, raise_server_exceptions=False)
    for path in PATHS:
        role = "administrator" if path == _USERS else "surveillance"
        answer = client.get(path, headers={"Authorization": f"Bearer {role}"})
        shown = _FAULT if answer.status_code == _WRONG else json.dumps(_proven(answer.json()))
        yield f"{path} {answer.status_code} {shown}\n"


def _proven(shown: Any) -> Any:
    """An answer without what no record proves; the tables by unit, and not by what is urgent."""
    if isinstance(shown, list):
        return [_proven(each) for each in shown]
    if not isinstance(shown, dict):
        return shown
    left_out = {*OF_A_TABLE, *_OF_THIS_ANSWER}
    proven = {name: _proven(value) for name, value in shown.items() if name not in left_out}
    if "tables" in proven:
        proven["tables"].sort(key=lambda tile: tile["unit"])
    return proven
