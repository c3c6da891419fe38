"""What seals the cards that lie face down: the unit's secret, when it is replaced, and the escrow.

A shoe loads this module only if it deals cards face down, or finds some in its journal.
"""

from sabot_firmware.journal import seals
from sabot_firmware.journal.randomness import SECRET
from sabot_firmware.native import const

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.acting import Acting
    from sabot_firmware.journal.escrow import Escrow
    from sabot_firmware.journal.journal import Journal
    from sabot_firmware.journal.randomness import Randomness
    from sabot_firmware.journal.recorder import Recorder
    from sabot_firmware.panel import Presenting
    from sabot_firmware.store import SettingsStore
    from sabot_firmware.table.dealing import Dealing

_SECRET = "seal_secret"
_ESCROW = "escrow"
_ESCROW_STEPS = const(8)
"""Steps of the escrow in a tick, of 3 ms each: it is ready 6 s after a hand has ended."""


class Sealing:
    """The sealing secret of a unit in `store` and `journal`. A unit without a secret makes one."""

    def __init__(
        self, store: "SettingsStore", journal: "Journal", randomness: "Randomness"
    ) -> None:
        self._store = store
        self._journal = journal
        self._randomness = randomness
        self._renewal_due = True
        self._halves: "bytes | None" = store.load(_ESCROW)  # type: ignore[assignment]
        self._escrow: "Escrow | None" = None
        kept: bytes = store.load(_SECRET)  # type: ignore[assignment]
        if kept is None:
            kept = new_part(store, randomness)
        else:
            # The next secret depends on it too: the journal's chip does not have it.
            randomness.stir(SECRET, kept)
        self._kept = kept
        self.seals = seals.Seals(seals.secret_of(kept, journal.hand_secret()))

    def renew(self, acting: "Acting") -> bool:
        """Make a new secret, if one is due; at rest, and while no card is sealed. The old one is
        worth nothing then: also not to a person who has read or written it at MicroPython's prompt.
        Return whether the board's part is new: without random bytes of a host it stays.

        Once after a start the part is replaced that the board keeps, which takes 60 ms of erasing
        flash; and after each round whose cards do not all open the part that the journal's chip
        keeps, and erases: no one can know what that round had from what the shoe still has.
        """
        journal, of_hand = self._journal, self._journal.hand_secret()
        due = self._renewal_due and self._randomness.has_host_bytes
        closes = acting.cards_closed or (not of_hand and acting.dealing.closes_cards())
        if journal.stuck or not (due or closes):
            return False
        acting.keep_state()  # what the old one has sealed in the journal is not needed
        if of_hand or closes:
            of_hand = self._randomness.take(b"hand secret")
            from sabot_firmware.journal import hand_slot

            hand_slot.put(journal, of_hand)  # notes that it seals come after it
            acting.cards_closed = False
        journal.drain()
        due = due and not journal.stuck
        if due:
            self._kept = new_part(self._store, self._randomness)
            self._renewal_due = False
        self.seals = seals.Seals(seals.secret_of(self._kept, of_hand))
        acting.recorder.seals = self.seals
        return due

    def prepare(
        self, dealing: "Dealing", recorder: "Recorder", presenting: "Presenting", passing: bool
    ) -> bool:
        """Make ready the pad for the key of the next hand, if it must leave for the escrow. Until
        then no hand begins: no card is due. It waits for random bytes of a host, so that no one can
        compute the pad. Return whether memory was used."""
        escrow = self._escrow
        nothing_sealed = dealing.game.by_seat and not dealing.sealed
        if escrow is None:
            if self._halves is None or not dealing.game.by_seat:
                return False
            from sabot_firmware.journal.escrow import Escrow  # few units have one

            escrow = self._escrow = Escrow(self._halves, self._escrow_secret)
            recorder.escrow = self.record_escrow
        random = self._randomness.has_host_bytes
        works = nothing_sealed and not escrow.ready and not passing and random
        if works:
            escrow.step(_ESCROW_STEPS)
        presenting.waits = "WAIT: ESCROW" if nothing_sealed and not escrow.ready else ""
        return works

    def _escrow_secret(self) -> bytes:
        return self._randomness.take(b"escrow")

    def record_escrow(self, recorder: "Recorder", shoe: int, round_: int) -> None:
        """Record the key of the open round for the escrow, if the unit has one."""
        if self._escrow is not None and self.seals.by_seat:
            from sabot_protocol import events

            encrypted = self._escrow.take(self.seals.round_key())
            recorder.record(events.SEAL_ESCROW, shoe, round_, encrypted)


def new_part(store: "SettingsStore", randomness: "Randomness") -> bytes:
    """Make a new part of the secret that the board keeps, store and return it."""
    kept = randomness.take(b"sealing secret")
    store.save(_SECRET, kept)
    return kept
