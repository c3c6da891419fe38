"""What of a shoe of cards is kept in the journal, and where the shoe stood when its power went."""

from sabot_firmware.journal.journal import Journal, JournalError
from sabot_firmware.journal.ring import EVENT, MISSING, NOTE, PASSING, STATE
from sabot_firmware.table import input_log
from sabot_firmware.table.dealing import BETTING, BETWEEN, DEALING, Dealing
from sabot_protocol import cbor, enums, events

_KEPT = (
    "shoe", "round", "phase", "error", "fault", "lid_open", "key_on", "service_on", "", "", "", "",
    "", "burn_left", "rounds", "rounds_left", "", "after_burning", "lock_recorded", "second_card",
    "after_cut",
)  # fmt: skip
"""Fields of the dealing that, with the inventory and the pending card, are kept. Where one has no
name it is of the round (`KEPT`): firmware 0.1.0 had the round's among the others."""

_VERSION = 1
_BOOT = 2
_REASON = len(events.HEADER)  # in `shoe_ended`
_LAST = len(events.HEADER) + 1  # in `gap`
_BY_RESTART = enums.END_REASONS.index("restart")

_OF_DEALING = [kind.number for kind in events.KINDS if kind.by == events.DEALING]


class Resumed:
    """Reads the last state and the notes after it, and brings `dealing` to where it stood."""

    def __init__(self, journal: Journal, dealing: Dealing) -> None:
        self.boot = 0
        """The last start of the unit that the journal knows of."""
        self.acknowledged = 0
        """The last event that a host had, by the state."""
        self.missing: list = []
        """Actions of the last input whose events are not in the journal."""
        self.checkpoint_due = False
        """Whether the last input has ended a shoe of cards, and no checkpoint is recorded."""
        self.card_passing = False
        """Whether a card was passing the sensor head."""
        self.lost = False
        """Whether something after the state is lost: it is not known where the shoe stood."""
        self._journal = journal
        self._dealing = dealing
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
                self._journal.told_of(event[_LAST])
            elif event[0] == events.SHOE_ENDED.number and event[_REASON] == _BY_RESTART:
                self.start_over()
            elif event[0] in _OF_DEALING:
                self._recorded += 1
        elif kind == MISSING:
            self.lost = True
        elif kind == PASSING:
            self.card_passing = True
        elif kind == NOTE:
            note: list = cbor.decode(payload, 0, len(payload))  # type: ignore[assignment]
            self._actions = input_log.carry_out(self._dealing, note)
            self._recorded = 0
            self._checkpointed = False
            if input_log.ends_pass(note):
                self.card_passing = False
        else:
            state: list = cbor.decode(payload, 0, len(payload))  # type: ignore[assignment]
            if state[0] != _VERSION:
                raise JournalError("state of another firmware")
            self.boot = state[1]
            self.acknowledged = state[2]
            restore(self._dealing, state[3])
            self._actions = []
            self._recorded = 0
            self.card_passing = False

    def start_over(self) -> None:
        """Forget the shoe of cards, as something was lost: it is over, and this start records that,
        or an earlier one has."""
        dealing = self._dealing
        restore(dealing, state_of(Dealing(dealing.game, dealing.card_set, dealing.shoe)))
        self._actions = []
        self._recorded = 0
        self.lost = self.card_passing = False


def state_of(dealing: Dealing) -> list:
    """All that the dealing remembers, in numbers, flags, bytes and lists; for `restore`."""
    of_round = iter(dealing.play.KEPT)
    fields = [getattr(dealing, n) if n else getattr(dealing.play, next(of_round)) for n in _KEPT]
    return [fields, dealing.inventory.state(), dealing.pending.state()]


def restore(dealing: Dealing, state: list) -> None:
    """Bring the dealing, of the same game, to where it stood when `state` was taken."""
    fields, inventory, waiting = state
    of_round = iter(dealing.play.KEPT)
    for i in range(len(_KEPT)):
        if _KEPT[i]:
            setattr(dealing, _KEPT[i], fields[i])
        else:
            setattr(dealing.play, next(of_round), fields[i])
    dealing.play.restored(dealing.phase if dealing.phase in (BETTING, DEALING) else BETWEEN)
    dealing.inventory.restore(inventory)
    dealing.pending.restore(waiting)


def keep_state(journal: Journal, boot: int, dealing: Dealing, buf: bytearray) -> None:
    """Write down where the shoe stands; notes before this are not needed any more."""
    state = [_VERSION, boot, journal.acknowledged(), state_of(dealing)]
    size = cbor.encode_array(buf, 0, state, len(state))
    journal.put(STATE, memoryview(buf), size)
