"""The screens of a log with one unit, `UNIT`, which stands at no table."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from host.tests.support.helpers import FirmwareLog, new_log, stored
from host.tests.support.screens import PASSWORD, Screens
from sabot.desk.desk import Desk
from sabot.desk.roles import ROLES
from sabot.floor.live import Floor
from sabot.floor.rounds.index import RoundIndex
from sabot.web.app import make_app
from sabot.web.services import Services

UNIT = "U"
_PATIENCE_S = 30
_OPERATOR = Ed25519PrivateKey.from_private_bytes(b"\7" * 32)


@contextmanager
def screens_with(
    folder: Path, log: FirmwareLog, *documents: bytes, open_bundles: bool = True
) -> Iterator[Screens]:
    """Make them, with a user of each role named so, and an operator's key. The log keeps these game
    documents."""
    with new_log(folder / "log.sqlite") as store:
        for document in documents:
            store.keep_game(document)
        store.append(UNIT, stored(log.records))
        desk = Desk.make(store, folder / "sabot.keys", "administrator", PASSWORD)
        for role in ROLES:
            if role != "administrator":
                desk.add_user(role, role, PASSWORD, by="administrator")
        with Floor(store, desk) as floor, RoundIndex(store) as index:
            end_s = time.monotonic() + _PATIENCE_S
            while floor.loaded != (1, 1) or not index.progress.complete:
                assert time.monotonic() < end_s
                time.sleep(0.01)
            app = make_app(
                Services(
                    store, floor, desk, index, UTC, operator=_OPERATOR, open_bundles=open_bundles
                )
            )
            yield Screens(store, desk, floor, app)
