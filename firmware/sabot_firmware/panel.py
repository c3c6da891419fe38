"""What the lamps and the display show, as pure functions of the dealing's state, and the class that
sets the outputs of the shoe from it."""

from sabot_firmware.cards.reader import NO_CARD
from sabot_firmware.native import const, micropython
from sabot_firmware.table import dealing, pending, shoe_of_cards
from sabot_protocol import cards, enums

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.cards.health import Health
    from sabot_firmware.cards.reader import Reader
    from sabot_firmware.interfaces import Board
    from sabot_firmware.journal.outbox import Outbox
    from sabot_firmware.link.link import Link
    from sabot_firmware.release.running import RunningRelease

COLUMNS = const(16)
ROWS = const(8)

READY_LAMP = const(3)
ERROR_LAMP = const(4)
"""Places in `enums.LAMPS`, constant for the compiler; a test compares them with the tuples."""

_TITLES = {
    shoe_of_cards.NO_SHOE: "LOAD CARDS",
    shoe_of_cards.FIRST_BURN: "BURN: FIRST CARD",
    shoe_of_cards.BETWEEN: "NEXT ROUND?",
    shoe_of_cards.ENDED: "SHOE ENDED",
}
_ERRORS = (
    "", "CARD NOT DUE", "", "LID OPENED", "CUT CARD MISPLCD", "TEST CARD",
    "SURPLUS COPY", "CARD TOO MANY", "CARDS MISSING", "SENSOR FAULT", "SAMPLES LOST",
    "JOURNAL FULL", "NO RANDOM BYTES", "POWER WAS OFF", "LOCK STUCK", "SUPPLY LOW",
)  # fmt: skip
_CHOICES = {
    pending.NONE: "CARD --",
    pending.AS_READ: "AS READ",
    pending.DRAWN_AGAIN: "DRAW AGAIN",
    pending.UNSEEN: "UNSEEN",
}

ON_TRIAL = "NEW FIRMWARE"
NO_HOST = "NO HOST"
LOG_BEHIND = "LOG BEHIND"
HOST = "HOST"

LOG_BEHIND_EVENTS = const(160)
"""The display says LOG BEHIND if more events than this wait although a host is attached."""

_ALARM_MS = const(400)


def lamps_of(state: dealing.Dealing) -> int:
    """Return the lamps that must be lit: bit n is the n-th of `enums.LAMPS`.

    While the round is hidden `ready` stays dark: it would show whether a third card is due.
    """
    lit = 0
    if state.error or state.asked:
        lit |= 1 << ERROR_LAMP
    if state.current_round.hidden:
        return lit
    if state.card_due():
        lit |= 1 << READY_LAMP
    return lit | state.current_round.lamps()


def text_of(state: dealing.Dealing, link: str, notice: str = "") -> str:
    """Return the ROWS lines of the display, with newlines between them. `link` is the state of the
    host, `notice` a message for the dealer, which an error replaces.

    With a card pending and the supervisor's key on, the lines are for the supervisor: the position
    of the card, the error, the hands, the choice, and what each button does now.

    While the round is hidden, no line depends on its cards or on how many have come. But an error
    shows, and the supervisor's lines show the position of the card.
    """
    if state.pending.waits() and state.key_on and not state.lid_open:
        return "\n".join(_of_supervisor(state))
    title, first, second, outcome = state.current_round.lines()
    remedy = _remedy(state)
    if state.asked:  # what each button does now, over the state of the host
        remedy = "VOID: MISDEAL" if state.decided else ""
        link = "" if state.can_change_game() else "BURN: ENDS SHOE"
    elif state.ghost == shoe_of_cards.GHOST_ASKED and not state.error:
        remedy = "REVEAL: GHOST"
    if state.ghost == shoe_of_cards.GHOST_MARKED:
        notice = notice or "GHOST HAND %d" % state.ghosts
    if not outcome and state.rounds_left == 1 and state.current_round.open:
        outcome = "LAST ROUND"
    if not outcome and state.phase == shoe_of_cards.ENDED and state.inventory.unread:
        outcome = "%d NOT KNOWN" % state.inventory.unread
    return "\n".join(
        (
            _title(state) or title,
            "SHOE %d R%d" % (state.shoe, state.round),
            first,
            second,
            outcome,
            _error(state) or notice,
            remedy,
            link,
        )
    )


def _of_supervisor(state: dealing.Dealing) -> "tuple[str, ...]":
    waiting = state.pending
    has_rank = 0 <= waiting.rank() < len(cards.RANKS)
    _, first, second, _ = state.current_round.lines()
    return (
        "STOP " + enums.POSITIONS[waiting.position].upper().replace("_", " "),
        _error(state),
        first,
        second,
        _choice(waiting),
        "NEXT RANK" if has_rank else "NEXT CHOOSES",
        "BURN SUIT" if has_rank else "",
        "REVEAL OK  VOID" if waiting.is_chosen() else _void(state),
    )


def _void(state: dealing.Dealing) -> str:
    # A hidden round must not show whether it has its result.
    voids = state.current_round.open or state.current_round.hidden
    return "VOID ENDS ROUND" if voids else "VOID ASKS"


def _choice(waiting: pending.Pending) -> str:
    choice = waiting.choice()
    if choice == pending.DRAWN_AGAIN and waiting.position == shoe_of_cards.NOT_DUE:
        return "NOT COUNTED"  # no card will be drawn in its place
    if choice != pending.ENTERED:
        return _CHOICES[choice]
    rank, suit = waiting.rank(), waiting.suit()
    if rank == len(cards.RANKS):
        return "CUT CARD"
    return "CARD " + cards.RANKS[rank] + ("-" if suit == pending.NONE else cards.SUITS[suit])


def _title(state: dealing.Dealing) -> str:
    """Return the first line, empty during a round: the round has its own."""
    if state.asked:
        return "MISDEAL?" if state.decided else "END OF SHOE?"
    if state.error:
        return "STOP"
    if state.phase == shoe_of_cards.BURNING:
        return "BURN: %d LEFT" % state.burn_left
    return _TITLES.get(state.phase, "")


def _error(state: dealing.Dealing) -> str:
    waiting = state.pending
    if state.error == dealing.UNREADABLE:
        name = enums.FAULTS[state.fault].upper().replace("_", " ")
        return name + " 2ND" if waiting.second else name
    name = _ERRORS[state.error]
    if (
        waiting.card == pending.NONE
        or state.current_round.facing(waiting.position) != pending.FACE_UP
    ):
        return name
    return name + " " + cards.name_of(waiting.card)


def _remedy(state: dealing.Dealing) -> str:
    if not state.error:
        waits = state.phase == shoe_of_cards.BETTING and not state.card_due()
        return "NEXT CLOSES BETS" if waits else ""
    if state.error == dealing.NO_RANDOM:
        return "ATTACH A HOST"
    if state.lid_open:
        return "CLOSE LID, KEY"
    return "CHECK CARDS, KEY" if state.error == shoe_of_cards.POWER_WAS_OFF else "TURN KEY"


class Presenting:
    """Sets lock, lamps, display and buzzer of `board` from the state of the dealing and the other
    parts. It sets an output only when it changes."""

    def __init__(
        self,
        board: "Board",
        state: dealing.Dealing,
        reader: "Reader",
        running: "RunningRelease",
        health: "Health",
        link: "Link",
        outbox: "Outbox",
    ) -> None:
        self._board = board
        self._dealing = state
        self._reader = reader
        self._running = running
        self._health = health
        self._link = link
        self._outbox = outbox
        self.waits = ""
        """Why no hand may begin yet; empty if one may."""
        self._lock: "bool | None" = None
        self._lamps: "int | None" = None
        self._text: "str | None" = None
        self._link_shown = self._notice_shown = ""
        self._error = state.error  # as last shown

    @micropython.native
    def set_lock(self) -> None:
        """Release or shut the lock. While a card with a known code passes, set the lock as it must
        be once that card has left."""
        state, passing = self._dealing, self._reader.known
        released = state.lock_released() if passing == NO_CARD else state.lock_after(passing)
        released = released and not self._running.on_trial and not self.waits
        if released != self._lock:
            self._lock = released
            self._board.set_lock(released)

    def show(self) -> None:
        """Set all outputs from the present state."""
        self.set_lock()
        lit = lamps_of(self._dealing)
        if lit != self._lamps:
            self._lamps = lit
            self._board.set_lamps(lit)
        self._link_shown, self._notice_shown = self._link_words(), self.notice()
        text = text_of(self._dealing, self._link_shown, self._notice_shown)
        if text != self._text:
            self._text = text
            self._board.show(text)

    def show_input(self) -> None:
        """Set all outputs after an input. A new error sounds the buzzer."""
        had_error, self._error = self._error, self._dealing.error
        self.show()
        if self._error and not had_error:
            self._board.buzz(_ALARM_MS)

    def show_changes(self) -> None:
        """Set the outputs that change without an input. Without a change nothing is built: the text
        allocates."""
        self.set_lock()
        if self._link_words() != self._link_shown or self.notice() != self._notice_shown:
            self.show()

    def notice(self) -> str:
        """Return a message for the dealer that is not about play; empty if there is none."""
        if self._running.on_trial:
            return ON_TRIAL
        if self.waits:
            return self.waits
        dirty = self._health.dirty
        for channel in range(len(enums.CHANNELS)):
            if dirty >> channel & 1:
                return "CLEAN SENSOR " + enums.CHANNELS[channel].upper()
        return ""

    def _link_words(self) -> str:
        if not self._link.listening:
            return NO_HOST
        if self._outbox.unacked() > LOG_BEHIND_EVENTS:
            return LOG_BEHIND
        return HOST
