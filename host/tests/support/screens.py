"""The screens of a small floor, without a network: tables of all families, users of every role."""

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from types import MappingProxyType

from starlette.applications import Starlette
from starlette.testclient import TestClient

from host.tests.support.dealt_boxes import BoxLog
from host.tests.support.hand_log import HandLog
from host.tests.support.helpers import FirmwareLog, new_log, stored
from sabot.desk.desk import Desk
from sabot.desk.roles import ROLES
from sabot.floor.live import Floor
from sabot.floor.rounds.index import RoundIndex
from sabot.games.baccarat import catalogue
from sabot.link.session import Record
from sabot.log.store import Store
from sabot.web.app import make_app
from sabot.web.services import Services
from sabot_protocol import events

PASSWORD = "a password of the tests"
ORIGIN = "http://testserver"
BACCARAT, STOPPED, MIDI, BOXES, HANDS = "SHOE-1", "SHOE-2", "SHOE-3", "SHOE-4", "SHOE-5"
"""The units. Each stands at the table of its number."""
_PATIENCE_S = 30
_ROUND = ("next", "9C", "KC", "TD", "9H")
FACE_DOWN = ("9C", "KC", "7D", "5H")
"""The cards that lie face down at MIDI."""
OTHER_FACE_DOWN = ("2C", "AD", "4C", "4H")
"""Others, with which everything else is as with FACE_DOWN."""
_SEATS = ("2C 3C 4C 5C 6C 7C 8C 9C next TC", "AD AH 2D 2H 3D 3H 4D 4H next 5D")
"""What lies face down at HANDS: the cards of the seats and a burn."""
_HOLE = ("9S", "8S")


@dataclass(frozen=True, slots=True)
class Screens:
    """A floor, its desk, and the application that shows it."""

    store: Store
    desk: Desk
    floor: Floor
    app: Starlette

    def visitor(self, role: str | None = None) -> TestClient:
        """A browser; with a role, one of a user who has signed in."""
        client = TestClient(self.app, follow_redirects=False, raise_server_exceptions=False)
        if role is not None:
            client.cookies.set("sabot_session", self.desk.sign_in(role, PASSWORD, origin="test"))
        return client


@contextmanager
def screens_of(
    path: Path,
    extra: Mapping[str, Sequence[Record]] = MappingProxyType({}),
    *,
    other_face_down: bool = False,
) -> Iterator[Screens]:
    """Make a log, its desk with a user of each role named so, and its screens. `extra` are more
    units; `other_face_down` changes the cards that lie face down, and nothing else."""
    with new_log(path) as store:
        _deal(store, other_face_down)
        desk = Desk.make(store, path.with_name("sabot.keys"), "administrator", PASSWORD)
        for role in ROLES:
            if role != "administrator":
                desk.add_user(role, role, PASSWORD, by="administrator")
        for unit, records in extra.items():
            store.append(unit, records)
        with Floor(store, desk) as floor, RoundIndex(store) as index:
            _until_loaded(floor, index, 5 + len(extra))
            app = make_app(Services(store, floor, desk, index, UTC))
            yield Screens(store, desk, floor, app)


def _until_loaded(floor: Floor, index: RoundIndex, units: int) -> None:
    deadline_s = time.monotonic() + _PATIENCE_S
    while floor.loaded != (units, units) or not index.progress.complete:
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


def _deal(store: Store, other_face_down: bool) -> None:
    midi = catalogue.document("md-midi", {"burn": "none"})
    boxes, hands = BoxLog(), HandLog()
    for document in (midi, boxes.document, hands.game.document):
        store.keep_game(document)
    logs = {
        BACCARAT: FirmwareLog(),
        STOPPED: FirmwareLog(),
        MIDI: FirmwareLog(game=midi, firmware="0.2.0"),
        BOXES: boxes,
        HANDS: hands,
    }
    for number, log in enumerate(logs.values(), 1):
        log.record(events.PROVISIONED, 0, 0, (str(number), 0))
    logs[BACCARAT].load().draw("AC", "2H", *_ROUND)
    logs[STOPPED].load().draw("AC", "2H", *_ROUND, "next", "blank")
    logs[MIDI].load().draw("next", *(OTHER_FACE_DOWN if other_face_down else FACE_DOWN))
    rng = random.Random(1)
    boxes.load()
    for _ in range(3):
        boxes.round(3, rng)
    for text in ("next", "5C", "6C", "7C", "TD", "5D", "6D", "7D", _HOLE[other_face_down]):
        boxes.give(text)
    hands.deal_random(rng, whole=True)
    hands.seat(4).play(f"{_SEATS[other_face_down]} JC QC KC")
    for unit, log in logs.items():
        store.append(unit, stored(log.records))
