"""What the lamps and the display show, as pure functions of the dealing's state; and the outputs of
the shoe that follow it."""

from sabot_firmware.cards.reader import NO_CARD
from sabot_firmware.native import const
from sabot_firmware.table import dealing, pending
from sabot_protocol import cards, enums

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.cards.health import Health
    from sabot_firmware.cards.reader import Reader
    from sabot_firmware.interfaces import Board
    from sabot_firmware.journal.outbox import Outbox
    from sabot_firmware.link.link import Link
    from sabot_firmware.release.running import Running

COLUMNS = const(16)
ROWS = const(8)

READY_LAMP = const(3)
ERROR_LAMP = const(4)
"""Places in `words.LAMPS`, each a number to the compiler; a test holds them to the words."""

_TITLES = {
    dealing.NO_SHOE: "LOAD CARDS",
    dealing.FIRST_BURN: "BURN: FIRST CARD",
    dealing.BETWEEN: "NEXT ROUND?",
    dealing.ENDED: "SHOE ENDED",
}
_ERRORS = (
    "", "CARD NOT DUE", "", "LID OPENED", "CUT CARD MISPLCD", "TEST CARD",
    "SURPLUS COPY", "CARD TOO MANY", "CARDS MISSING", "SENSOR FAULT", "SAMPLES LOST",
    "JOURNAL FULL",
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

BEHIND_EVENTS = const(160)
"""Events waiting with a host attached from which the display says so."""

_ALARM_MS = const(400)


def lamps_of(state: dealing.Dealing) -> int:
    """The lamps that must be lit: bit n is the n-th of `words.LAMPS`.

    While the round is hidden `ready` stays dark: it would show whether a third card is due.
    """
    lit = 0
    if state.error:
        lit |= 1 << ERROR_LAMP
    if state.play.hidden:
        return lit
    if state.card_due():
        lit |= 1 << READY_LAMP
    return lit | state.play.lamps()


def text_of(state: dealing.Dealing, link: str, notice: str = "") -> str:
    """The display's ROWS lines, newlines between them. `link` says how the host listens,
    `notice` what else the dealer should know; it gives way to an error.

    With a card pending and the supervisor's key on they are what the supervisor needs: what is
    wrong, as what the card was due, the hands, the choice, and what each button does now.

    While the round is hidden nothing here depends on its cards, nor on how many have come; but
    an error shows, and in the supervisor's lines as what the card was due.
    """
    if state.pending.waits() and state.key_on and not state.lid_open:
        return "\n".join(_of_supervisor(state))
    title, first, second, outcome = state.play.lines()
    if not outcome and state.rounds_left == 1 and state.play.open:
        outcome = "LAST ROUND"
    return "\n".join(
        (
            _title(state) or title,
            "SHOE %d R%d" % (state.shoe, state.round),
            first,
            second,
            outcome,
            _error(state) or notice,
            _remedy(state),
            link,
        )
    )


def _of_supervisor(state: dealing.Dealing) -> "tuple[str, ...]":
    waiting = state.pending
    has_rank = 0 <= waiting.rank() < len(cards.RANKS)
    _, first, second, _ = state.play.lines()
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
    if state.play.open:
        return "VOID ENDS ROUND"
    return "VOID ENDS SHOE" if state.play.phase == dealing.BETWEEN else "VOID SETS ASIDE"


def _choice(waiting: pending.Pending) -> str:
    choice = waiting.choice()
    if choice == pending.DRAWN_AGAIN and waiting.position == dealing.NOT_DUE:
        return "NOT COUNTED"  # nothing will be drawn in its place
    if choice != pending.ENTERED:
        return _CHOICES[choice]
    rank, suit = waiting.rank(), waiting.suit()
    if rank == len(cards.RANKS):
        return "CUT CARD"
    return "CARD " + cards.RANKS[rank] + ("-" if suit == pending.NONE else cards.SUITS[suit])


def _title(state: dealing.Dealing) -> str:
    """Empty while a round goes on, which has its own."""
    if state.error:
        return "STOP"
    if state.phase == dealing.BURNING:
        return "BURN: %d LEFT" % state.burn_left
    return _TITLES.get(state.phase, "")


def _error(state: dealing.Dealing) -> str:
    waiting = state.pending
    if state.error == dealing.UNREADABLE:
        name = enums.FAULTS[state.fault].upper().replace("_", " ")
        return name + " 2ND" if waiting.second else name
    name = _ERRORS[state.error]
    if waiting.card == pending.NONE or state.play.lies(waiting.position) != pending.FACE_UP:
        return name
    return name + " " + cards.name_of(waiting.card)


def _remedy(state: dealing.Dealing) -> str:
    if not state.error:
        return ""
    return "CLOSE LID, KEY" if state.lid_open else "TURN KEY"


class Presenting:
    """Makes lock, lamps, display and buzzer of `board` follow the dealing and the other parts. Each
    output is set only where it changes."""

    def __init__(
        self,
        board: "Board",
        state: dealing.Dealing,
        reader: "Reader",
        running: "Running",
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
        self._lock: "bool | None" = None
        self._lamps: "int | None" = None
        self._text: "str | None" = None
        self._link_shown = self._notice_shown = ""

    def set_lock(self) -> None:
        """The lock does what is due. While a card passes whose code is known, it does what it will
        have to do once that card has left."""
        state, passing = self._dealing, self._reader.known
        released = state.lock_released() if passing == NO_CARD else state.lock_after(passing)
        released = released and not self._running.on_trial
        if released != self._lock:
            self._lock = released
            self._board.set_lock(released)

    def show(self) -> None:
        """All outputs as the shoe stands now."""
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
        """The same after an input: an error that was not shown before sounds."""
        had_error = self._lamps is not None and self._lamps & 1 << ERROR_LAMP
        self.show()
        if self._dealing.error and not had_error:
            self._board.buzz(_ALARM_MS)

    def show_changes(self) -> None:
        """Show what changes without an input; only then: the text is all new objects."""
        self.set_lock()
        if self._link_words() != self._link_shown or self.notice() != self._notice_shown:
            self.show()

    def notice(self) -> str:
        """What the dealer should know besides play; empty for nothing."""
        if self._running.on_trial:
            return ON_TRIAL
        dirty = self._health.dirty
        for channel in range(len(enums.CHANNELS)):
            if dirty >> channel & 1:
                return "CLEAN SENSOR " + enums.CHANNELS[channel].upper()
        return ""

    def _link_words(self) -> str:
        if not self._link.listening:
            return NO_HOST
        if self._outbox.unacked() > BEHIND_EVENTS:
            return LOG_BEHIND
        return HOST
