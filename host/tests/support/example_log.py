"""The log of one evening, with which the pages in docs/ begin.

`python -m host.tests.support.example_log` writes docs/example/evening.sqlite and sabot.keys again.
The first key of its unit was made for this log and protects nothing.
"""

from datetime import datetime, timedelta, timezone
from hashlib import sha256
from pathlib import Path

from host.tests.support.helpers import FirmwareLog, new_log, shuffled_names, stored
from sabot.keys import chain_keys
from sabot_firmware.table.shoe_of_cards import BETTING, BETWEEN
from sabot_protocol import enums, events

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "example"
LOG, KEYS = FOLDER / "evening.sqlite", FOLDER / "sabot.keys"

UNIT, TABLE = "SHOE-7", "12"
FIRST_KEY = sha256(b"the key of an example: it protects nothing").digest()
_SEED = 21
_MALTA = timezone(timedelta(hours=1))
_SWITCHED_ON = datetime(2026, 11, 20, 20, 52, tzinfo=_MALTA)
_UNREADABLE_FROM = datetime(2026, 11, 20, 21, 40, tzinfo=_MALTA)
_BUILD = sha256(b"the release of an example").digest()

_TO_LOAD_MS, _TO_BET_MS, _TO_TURN_MS = 240_000, 26_000, 2_300
_TO_PAY_MS, _TO_COME_MS = 9_000, 47_000


class _Evening(FirmwareLog):
    """The firmware's dealing at the pace of a real table, with the right time."""

    def power_on(self, *, passing: bool = False, clock: bool = True) -> "_Evening":
        """The unit starts, is provisioned, and a host sets its clock."""
        self._boot += 1
        values = (enums.RESET_CAUSES.index("power_on"), "0.1.0", _BUILD, "pico", "mini")
        self.record(events.BOOT, 0, 0, (*values, self.chain.id))
        self.wait(900)
        self.set_clock(_unix_ms(_SWITCHED_ON))
        self.record(events.PROVISIONED, 0, 0, (TABLE, 0))
        return self

    def wait(self, ms: int) -> None:
        """Let time pass."""
        self._ms += ms

    def unix_ms(self) -> int:
        """The unit's clock."""
        assert self._unix_base_ms is not None
        return self._unix_base_ms + self._ms

    def deal(self, deck: list[str]) -> None:
        """Deal a shoe of cards. One card has no code; the supervisor comes and enters it."""
        unreadable = False
        self.wait(_TO_LOAD_MS)
        self.load()
        for name in deck:
            if self.dealing.phase == BETWEEN:
                self.wait(_TO_PAY_MS)
                self.draw("next")
            if self.dealing.phase == BETTING:
                self.wait(_TO_BET_MS)
                self.draw("next")
            self.wait(_TO_TURN_MS)
            round_ = self.dealing.current_round
            within_round = len(round_.player) == 1 and round_.banker
            if within_round and not unreadable and self.unix_ms() > _unix_ms(_UNREADABLE_FROM):
                unreadable = True
                self.draw("blank")
                self.wait(_TO_COME_MS)
                self.draw("!" + name)
            else:
                self.draw(name)
            if self.over():
                return


def _unix_ms(when: datetime) -> int:
    return int(when.timestamp() * 1000)


def evening() -> FirmwareLog:
    """The log of everything that the unit recorded."""
    log = _Evening(FIRST_KEY)
    log.deal(shuffled_names(_SEED))
    return log


def make() -> None:
    """Write both files, and replace existing ones."""
    FOLDER.mkdir(exist_ok=True)
    for path in (LOG, KEYS):
        path.unlink(missing_ok=True)
    with new_log(LOG) as store:
        store.append(UNIT, stored(evening().records))
    chain_keys.add(KEYS, UNIT, FIRST_KEY)


if __name__ == "__main__":
    make()
