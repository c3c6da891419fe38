"""Where a shoe stood when its power went, out of its journal."""

from sabot_firmware.journal.journal import JournalError
from sabot_firmware.journal.ring import EVENT, MISSING, NOTE, PASSING, STATE
from sabot_firmware.table import input_log
from sabot_firmware.table.dealing import Dealing
from sabot_protocol import cbor, enums, events

_VERSION = 1
_BOOT = 2
_REASON = len(events.HEADER)  # in `shoe_ended`
_LAST = len(events.HEADER) + 1  # in `gap`
_BY_RESTART = enums.END_REASONS.index("restart")

_NOT_OF_DEALING = (
    events.BOOT.number,
    events.CLOCK_SET.number,
    events.GAP.number,
    events.GAME_LOADED.number,
    events.IDENTIFIED.number,
    events.CLEAN_SENSOR.number,
    events.CALIBRATED.number,
    events.JOURNAL_FAULT.number,
    events.UPDATED.number,
    events.UPDATE_UNDONE.number,
    events.PROVISIONED.number,
    events.WRONG_MACS.number,
    events.DEBUG_OPENED.number,
)


class Resumed:
    """Reads the last state and the notes behind it, and brings `dealing` to where it stood."""

    def __init__(self, journal, dealing) -> None:
        self.boot = 0
        """The last start of the unit that the journal knows of."""
        self.acknowledged = 0
        """What a host had, as far as the state tells."""
        self.missing: list = []
        """Actions of the last input whose events are not in the journal."""
        self.checkpoint_due = False
        """Whether the last input has ended a shoe of cards, and no checkpoint is recorded."""
        self.card_passing = False
        """Whether a card was passing the sensor head."""
        self.lost = False
        """Whether something behind the state is lost: nobody knows where the shoe stood."""
        self._journal = journal
        self._dealing = dealing
        self._actions: list = []
        self._behind = 0  # events of the dealing behind the last note
        self._checkpointed = False
        journal.each_since_state(self._visit)
        if self.lost:
            self._actions = []
            self.card_passing = False
        self.missing = self._actions[self._behind :]
        ended = any([action[0] is events.COMPOSITION for action in self._actions])
        self.checkpoint_due = ended and not self._checkpointed

    def _visit(self, kind: int, payload: memoryview) -> None:
        if kind == EVENT:
            size = len(payload) - events.MAC_SIZE
            event: list = cbor.decode(payload, 0, size)  # type: ignore[assignment]
            self.boot = event[_BOOT]
            if event[0] == events.CHECKPOINT.number:
                self._checkpointed = True
            elif event[0] == events.GAP.number:
                self._journal.told_of(event[_LAST])
            elif event[0] == events.SHOE_ENDED.number and event[_REASON] == _BY_RESTART:
                self._start_over()
            elif event[0] not in _NOT_OF_DEALING:
                self._behind += 1
        elif kind == MISSING:
            self.lost = True
        elif kind == PASSING:
            self.card_passing = True
        elif kind == NOTE:
            note: list = cbor.decode(payload, 0, len(payload))  # type: ignore[assignment]
            self._actions = input_log.carry_out(self._dealing, note)
            self._behind = 0
            self._checkpointed = False
            if input_log.ends_pass(note):
                self.card_passing = False
        else:
            state: list = cbor.decode(payload, 0, len(payload))  # type: ignore[assignment]
            if state[0] != _VERSION:
                raise JournalError("state of another firmware")
            self.boot = state[1]
            self.acknowledged = state[2]
            self._dealing.restore(state[3])
            self._actions = []
            self._behind = 0
            self.card_passing = False

    def _start_over(self) -> None:
        """An earlier start has ended the shoe of cards because something was lost."""
        old = self._dealing
        old.restore(Dealing(old.game, old.card_set, old.shoe).state())
        self._actions = []
        self._behind = 0
        self.lost = self.card_passing = False


def keep_state(journal, boot: int, dealing, buf: bytearray) -> None:
    """Write down where the shoe stands; notes before this are not needed any more."""
    state = [_VERSION, boot, journal.acknowledged(), dealing.state()]
    size = cbor.encode_array(buf, 0, state, len(state))
    journal.put(STATE, memoryview(buf), size)
