"""Keeps the state of the dealing in the journal and restores it after a loss of power."""

from sabot_firmware.journal.journal import Journal, JournalError
from sabot_firmware.journal.ring import EVENT, MISSING, NOTE, PASSING, STATE
from sabot_firmware.table import input_log
from sabot_firmware.table.dealing import Dealing
from sabot_firmware.table.shoe_of_cards import BETTING, BETWEEN, DEALING
from sabot_protocol import cbor, enums, events, games

if 1 - 1:  # for type checkers: interfaces.pyi
    from collections.abc import Callable

    from sabot_firmware.journal.seals import Seals

_KEPT = (
    "shoe", "round", "phase", "error", "fault", "lid_open", "key_on", "service_on", "", "", "", "",
    "", "burn_left", "rounds", "rounds_left", "", "after_burning", "lock_recorded", "second_card",
    "after_cut", "decided", "asked", "ghosts", "ghost", "sealed", "sealed_cards",
)  # fmt: skip
"""The kept fields of the dealing, besides the inventory and the pending card. An empty name is the
place of a field of the round (`KEPT`): firmware 0.1.0 had the round's fields there. Older states
end with `after_cut`. 2 is added to `second_card` if `unchecked`: a sealed state is full."""
_SECOND_CARD = _KEPT.index("second_card")

_VERSION = 1
_SEALED_VERSION = 2
"""Version of a state with cards that lie face down."""
_BOOT = 2
_OWN = len(events.HEADER)
_REASON = len(events.HEADER)  # in `shoe_ended`
_LAST = len(events.HEADER) + 1  # in `gap`
_BY_RESTART = enums.END_REASONS.index("restart")

_OF_DEALING = [kind.number for kind in events.KINDS if kind.by == events.DEALING]


class Recovery:
    """Reads the last state and the notes after it, and restores `dealing` from them.

    `seals` returns what has sealed some of them; it is called when there is such an entry.
    """

    def __init__(
        self, journal: Journal, dealing: Dealing, seals: "Callable[[], Seals] | None" = None
    ) -> None:
        self.boot = 0
        """The last start of the unit that is in the journal."""
        self.acknowledged = 0
        """The last acknowledged event, from the state."""
        self.missing: list = []
        """Actions of the last input with events that are not in the journal."""
        self.checkpoint_due = False
        """Whether the last input ended a shoe of cards without a recorded checkpoint."""
        self.escrow_due = False
        """Whether the key of the open round has not left for the escrow: `seal_escrow` follows
        `seal`."""
        self.card_passing = False
        """Whether a card was passing the sensor head."""
        self.lost = False
        """Whether entries after the state are lost, so that the state of the shoe is unknown."""
        self._journal = journal
        self._dealing = dealing
        self._open_seals = seals
        self.seals: "Seals | None" = None
        """What has sealed entries of the journal; None if there were none."""
        self._actions: list = []
        self._recorded = 0  # events of the dealing since the last note
        self._checkpointed = False
        journal.each_since_state(self._visit)
        if self.lost:
            self._actions = []
            self.card_passing = False
        self.missing = self._actions[self._recorded :]
        ended = any([action[0] is events.COMPOSITION for action in self._actions])
        self.checkpoint_due = ended and not self._checkpointed

    def _visit(self, kind: int, payload: "memoryview | bytes") -> None:
        if kind == EVENT:
            size = len(payload) - events.MAC_SIZE
            event: list = cbor.decode(payload, 0, size)  # type: ignore[assignment]
            self.boot = event[_BOOT]
            if event[0] == events.CHECKPOINT.number:
                self._checkpointed = True
            elif event[0] == events.GAP.number:
                self._journal.gap_recorded(event[_LAST])
            elif event[0] == events.SHOE_ENDED.number and event[_REASON] == _BY_RESTART:
                self.start_over()
            elif event[0] in _OF_DEALING:
                self._recorded += 1
                if events.SEAL.number <= event[0] <= events.UNSEALED.number:
                    self._follow_seal(event)
            elif event[0] == events.SEAL_ESCROW.number:
                self.escrow_due = False
        elif kind == MISSING:
            self.lost = True
        elif kind == PASSING:
            self.card_passing = True
        elif kind == NOTE:
            note: list = cbor.decode(payload, 0, len(payload))  # type: ignore[assignment]
            if note[0] == input_log.SEALED:
                opened, self._dealing.pending.seed = self._opener().open_note(note[1], note[2])
                note = cbor.decode(opened, 0, len(opened))  # type: ignore[assignment]
            self._actions = input_log.carry_out(self._dealing, note)
            self._recorded = 0
            self._checkpointed = False
            if input_log.ends_pass(note):
                self.card_passing = False
        else:
            state: list = cbor.decode(payload, 0, len(payload))  # type: ignore[assignment]
            if state[0] == _SEALED_VERSION:
                seals = self._opener()
                seals.resume(state[2], state[3], self._dealing.game.by_seat)
                opened = seals.open_state(state[1], state[4])
                state = cbor.decode(opened, 0, len(opened))  # type: ignore[assignment]
            elif self.seals is not None:
                self.seals.resume(0, 0)
            if state[0] != _VERSION:
                raise JournalError("state of another firmware")
            self.boot = state[1]
            self.acknowledged = state[2]
            restore(self._dealing, state[3])
            self._actions = []
            self._recorded = 0
            self.card_passing = False

    def _opener(self) -> "Seals":
        if self.seals is None:
            if self._open_seals is None:
                raise JournalError("journal has sealed cards, and this shoe deals none")
            self.seals = self._open_seals()
        return self.seals

    def _follow_seal(self, event: list) -> None:
        seals = self._opener()
        if event[0] == events.SEAL.number:
            self.escrow_due = self._dealing.game.by_seat
            seals.resume(event[1], 0, self.escrow_due)
        elif event[0] == events.SEALED_CARD.number:
            seals.count = event[_OWN] + 1
        else:
            seals.resume(0, 0)

    def start_over(self) -> None:
        """Forget the shoe of cards, because entries were lost. This start records its end, or an
        earlier one has recorded it."""
        dealing = self._dealing
        restore(dealing, state_of(Dealing(dealing.game, dealing.card_set, dealing.shoe)))
        self._actions = []
        self._recorded = 0
        self.lost = self.card_passing = False


def state_of(dealing: Dealing) -> list:
    """Return the whole state of the dealing, as numbers, flags, bytes and lists, for `restore`."""
    of_round = iter(dealing.current_round.KEPT)
    fields = [
        getattr(dealing, n) if n else getattr(dealing.current_round, next(of_round)) for n in _KEPT
    ]
    if dealing.unchecked:
        fields[_SECOND_CARD] += 2
    state = [fields, dealing.inventory.state(), dealing.pending.state()]
    if dealing.game.family != games.BACCARAT:  # as firmware 0.1.0 had it
        state.append(_family_of(dealing))
    return state


def _family_of(dealing: Dealing) -> int:
    family = dealing.game.family
    return games.FAMILIES.index(family) if family in games.FAMILIES else -1


def restore(dealing: Dealing, state: list) -> None:
    """Set the dealing, which has the same game, to the state that `state_of` returned. If a game of
    another family was loaded since, the round is a new one: no cards were in play."""
    fields, inventory, waiting = state[:3]
    same_family = (state[3] if len(state) > 3 else 0) == _family_of(dealing)
    of_round = iter(dealing.current_round.KEPT)
    dealing.decided = dealing.asked = dealing.sealed = False
    dealing.sealed_cards = b""
    dealing.ghosts = dealing.ghost = 0
    for i in range(len(fields)):
        if _KEPT[i]:
            setattr(dealing, _KEPT[i], fields[i])
        elif same_family:
            setattr(dealing.current_round, next(of_round), fields[i])
    dealing.unchecked = dealing.second_card > 1
    dealing.second_card = dealing.second_card in (1, 3)
    if same_family:
        dealing.current_round.restored(
            dealing.phase if dealing.phase in (BETTING, DEALING) else BETWEEN
        )
    dealing.inventory.restore(inventory)
    dealing.pending.restore(waiting)


def keep_state(
    journal: Journal, boot: int, dealing: Dealing, buf: bytearray, seals: "Seals | None" = None
) -> None:
    """Write the state of the dealing to the journal; earlier notes are not needed any more.

    While cards are sealed, `seals` seal it: it has them. A state with too many cards that may stay
    closed is not written: it has no room in a page. Then the one before and the notes stay.
    """
    state = [_VERSION, boot, journal.acknowledged(), state_of(dealing)]
    sealing = seals if dealing.sealed else None
    try:
        size = cbor.encode_array(buf, 0, state, len(state))
    except IndexError:
        if sealing is None:
            raise
        return
    if sealing is not None:
        if size > sealing.MOST_STATE:
            return
        number = journal.number
        sealed = sealing.state(number, memoryview(buf)[:size])
        state = [_SEALED_VERSION, number, sealing.number, sealing.count, sealed]
        size = cbor.encode_array(buf, 0, state, len(state))
    journal.put(STATE, memoryview(buf), size)
