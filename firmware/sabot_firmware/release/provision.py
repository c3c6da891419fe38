"""Provisions a board: takes the settings of a unit and keeps all of them or none.

On a board that is not a unit yet the document `unit` is written last: a loss of power before that
leaves a board that is still to be provisioned. A unit keeps its id and its keys; its other settings
are written as one document first, so that the next start completes them after a loss of power.

The first key of the audit chain goes to the journal's chip only, where the keyring erases it: the
board's file system erases nothing when a file is removed or replaced.
"""

from sabot_firmware.journal.contents import Contents, JournalError
from sabot_firmware.journal.noise import SAMPLES, stir_all
from sabot_firmware.journal.pool_slot import FIRST_POOL, filled
from sabot_firmware.journal.randomness import HOST, Pool
from sabot_firmware.link.answers import Refusal
from sabot_firmware.release.wipe import wipe
from sabot_protocol import messages, provisioning
from sabot_protocol.chain import chain_id, command_key
from sabot_protocol.provisioning import CHECK_CARDS

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.interfaces import Board
    from sabot_firmware.store import SettingsStore

UNIT = "unit"
"""The document that makes a board a unit."""
PENDING = "pending"
"""The document with the new settings of a unit, until each is written to its own document."""


class Provision:
    """Takes a provisioning document into `store` and the chip of `board`'s journal. One wrong part
    drops all parts before it."""

    def __init__(self, store: "SettingsStore", board: "Board") -> None:
        self._store = store
        self._board = board
        self._document: "bytearray | None" = None
        self._arrived = 0
        self._kept = False
        self._unit = ""  # the id of the unit that the board becomes

    def take(self, offset: int, size: int, part: bytes) -> bool:
        """Take a part of the document; return whether all of it has come and is kept, so that
        `complete` must follow. Raises Refusal."""
        document, self._document = self._document, None
        if not 0 < size <= provisioning.MAX_DOCUMENT:
            raise Refusal("bad_size", str(provisioning.MAX_DOCUMENT))
        if not 0 < len(part) <= messages.MAX_PROVISION_PART or offset + len(part) > size:
            raise Refusal("bad_part")
        if not offset:
            document, self._arrived = bytearray(size), 0
        if document is None or len(document) != size or self._arrived != offset:
            raise Refusal("bad_order")
        document[offset : offset + len(part)] = part
        self._arrived += len(part)
        if self._arrived < size:
            self._document = document
            return False
        try:
            new = provisioning.Provisioning(bytes(document))
        except provisioning.ProvisioningError as error:
            raise Refusal("invalid", str(error))
        self._keep(new)
        self._kept = True
        return True

    def complete(self) -> None:
        """Overwrite what earlier files have left, then make the board a unit, if it is not one yet.
        Does nothing before the whole document is kept."""
        if not self._kept:
            return
        wipe(self._board.storage)
        if self._unit:
            self._store.save(UNIT, self._unit)

    def _keep(self, new: provisioning.Provisioning) -> None:
        if new.check_cards != CHECK_CARDS[0] and self._board.lid_opened is None:
            raise Refusal("invalid", "check_cards: this board has no latch at its lid")
        store = self._store
        unit: "str | None" = store.load(UNIT)  # type: ignore[assignment]
        if unit is None and new.first_key is None:
            raise Refusal("needs_key")
        if unit is not None and new.first_key is not None:
            raise Refusal("has_keys", unit)
        if unit is not None and new.unit != unit:
            raise Refusal("other_unit", unit)
        settings = [
            new.table, new.card_set, new.when_full, new.release_key, new.game, new.escrow,
            new.check_cards,
        ]  # fmt: skip
        if new.first_key is not None:
            journal = Contents(self._board.flash)
            try:
                journal.begin(new.first_key)
            except JournalError:
                raise Refusal("used_chip")
            store.remove("first_key")  # of a try with firmware 0.1.0, which kept it here
            _write(store, settings)
            store.save("chain", chain_id(new.first_key))
            store.save("command_key", command_key(new.first_key))
            if new.host_bytes is not None:
                self._begin_pool(journal, command_key(new.first_key), new.host_bytes)
            self._unit = new.unit
        else:
            store.save(PENDING, settings)
            finish(store)

    def _begin_pool(self, journal: Contents, key: bytes, host_bytes: bytes) -> None:
        """Keep the first value of the unit's pool, made of the host's bytes and the hardware's."""
        pool = Pool()
        pool.stir(HOST, host_bytes)
        stir_all(pool, self._board, bytearray(SAMPLES))
        journal.write_pool(filled(key, FIRST_POOL, pool.take(b"kept")))


def finish(store: "SettingsStore") -> None:
    """Write the pending settings of a unit, if there are any."""
    settings: list = store.load(PENDING)  # type: ignore[assignment]
    if settings is not None:
        _write(store, settings)
        store.remove(PENDING)


def _write(store: "SettingsStore", settings: "list") -> None:
    table, card_set, when_full, release_key, game = settings[:5]
    escrow = settings[5] if len(settings) > 5 else None  # firmware 0.2.0 wrote five
    kept = {"set": card_set, "when_full": when_full}
    if len(settings) > 6 and settings[6] != CHECK_CARDS[0]:
        kept["check_cards"] = settings[6]
    if escrow is not None:
        store.save("escrow", escrow)
    store.save("provisioned", [table, card_set])
    store.save("settings", kept)
    store.save("release_key", release_key)
    store.save("game", game)
