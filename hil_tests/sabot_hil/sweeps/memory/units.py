"""Emulated units as they come to a table: with each game, and as new, updated, with a release that
was undone, provisioned again with an escrow, or with a journal that is full."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from sabot.errors import NoShoe, UpdateFailed
from sabot.games import families
from sabot.keys import signing
from sabot.release.build import Release
from sabot.release.provision import KeyFiles, UnitSettings, provision
from sabot.release.update import update
from sabot_hil.capabilities import session_with
from sabot_hil.kit import releases
from sabot_hil.kit.flash_image import SECTOR, ChipImage
from sabot_hil.kit.journal_image import KEY_SECTORS, SLOT, entries_in
from sabot_hil.kit.witness import Witness
from sabot_hil.sweeps.aged_journal import RING, aged_image
from sabot_hil.targets.emulator import FIRST_KEY, EmulatorTarget, board_number

_S = 1_000_000  # in us
_BACK_S = 30
_LOOK_MS = 200
_SECTORS_LEFT, _SLOTS_LEFT = 2, 6  # of a full journal, and of its keys' ring, before both wrap
_UNIT = "memory"
_HALVES = b"".join(hashlib.sha256(name).digest() for name in (b"one half", b"another half"))


@dataclass(frozen=True, slots=True)
class Table:
    """A game with the house's choices, and whether the unit has an escrow."""

    name: str
    game: str
    choices: Mapping[str, object] = field(default_factory=dict)
    escrow: bool = False

    @property
    def document(self) -> bytes:
        """The game's document."""
        return families.document(self.game, self.choices)


TABLES = (
    Table("baccarat", "mini"),
    Table("midi", "md-midi"),
    Table("blackjack", "blackjack"),
    Table("blackjack, 8 decks", "blackjack", {"decks": 8, "burn": "none"}),
    Table("hold'em", "holdem", {"seats": 6}),
    Table("hold'em, shown", "holdem", {"hole_cards": "shown"}),
    Table("hold'em, never", "holdem", {"hole_cards": "never"}),
    Table("hold'em, escrow", "holdem", {"hole_cards": "shown"}, True),
)


def _new(target: EmulatorTarget) -> None:
    """Nothing else happens to it."""


def _updated(target: EmulatorTarget) -> None:
    board, house = target.house()
    _update(target, releases.changed(board, house, releases.NEWER))


def _undone(target: EmulatorTarget) -> None:
    board, house = target.house()
    with suppress(UpdateFailed):
        _update(target, releases.changed(board, house, releases.NEWER, releases.DOES_NOT_START))


def _update(target: EmulatorTarget, release: Release) -> None:
    update(
        lambda: session_with(target.shoe),
        release,
        now_s=lambda: target.clock.now_us() / _S,
        pause=lambda seconds: target.clock.pass_ms(1000 * seconds),
    )


def _provisioned(target: EmulatorTarget) -> None:
    files = KeyFiles(target.keys, target.keys.with_suffix(".commands"), target.shoe.keys)
    target.bench.switch("service_on", True)
    with session_with(target.shoe) as client:
        game = client.read_game()
    settings = UnitSettings(
        unit="",
        table="table 12",
        card_set=0,
        when_full="go_on",
        game=game,
        release_key=signing.public_of(releases.HOUSE),
    )
    provision(
        lambda: session_with(target.shoe),
        settings,
        files,
        now_s=lambda: target.clock.now_us() / _S,
        pause=lambda seconds: target.clock.pass_ms(1000 * seconds),
    )
    _back(target)
    target.bench.switch("service_on", False)


def _old(target: EmulatorTarget) -> None:
    """Its journal is full, and wraps soon; so does the ring of its keys."""
    target.power.off()
    chip = target.pico.journal.content
    image = ChipImage()
    image.write(0, bytes(chip))
    state = next(entry.payload for entry in entries_in(image) if entry.kind == "state")
    last = RING - _SECTORS_LEFT
    slot = KEY_SECTORS * SECTOR // SLOT - _SLOTS_LEFT
    aged = aged_image(
        FIRST_KEY, last_sector=last, newest_slot=slot, state=state, acknowledged=last + 1
    )
    chip[:] = aged.read(0, len(chip))
    target.power.on()


BEGINS: dict[str, Callable[[EmulatorTarget], None]] = {
    "new": _new,
    "updated": _updated,
    "undone": _undone,
    "provisioned again": _provisioned,
    "old journal": _old,
}
"""How the unit came to the table, by name."""


def _back(target: EmulatorTarget) -> None:
    """Wait until it deals: it restarts. Raises NoShoe."""
    for _ in range(_BACK_S * 1000 // _LOOK_MS):
        target.clock.pass_ms(_LOOK_MS)
        with suppress(NoShoe), session_with(target.shoe) as client:
            if client.welcome.game:
                return
    raise NoShoe(f"{target.shoe.unit}: it does not come back")


@contextmanager
def unit_at(table: Table, begin: str, folder: Path, image: Path | None) -> Iterator[EmulatorTarget]:
    """A unit that deals the game of `table`, and to which `begin`, one of BEGINS, has happened."""
    documents: dict[str, object] = {"unit": board_number(_UNIT)}
    if table.escrow:
        documents["escrow"] = _HALVES
    target = EmulatorTarget(_UNIT, folder, Witness(), image=image, documents=documents)
    try:
        target.power.on()
        BEGINS[begin](target)
        with session_with(target.shoe) as client:
            client.load_game(table.document)
        _back(target)
        target.bench.settle()
        yield target
    finally:
        target.close()
