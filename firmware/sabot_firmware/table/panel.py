"""What the lamps and the display show: pure functions of the dealing's state."""

from sabot_firmware.table import dealing, pending, rules
from sabot_protocol import cards, enums

COLUMNS = 16
ROWS = 8

READY_LAMP = enums.LAMPS.index("ready")
ERROR_LAMP = enums.LAMPS.index("error")

_TITLES = (
    "LOAD CARDS", "BURN: FIRST CARD", "BURN", "NEXT ROUND?", "BETTING OPEN", "NO MORE BETS",
    "SHOE ENDED",
)  # fmt: skip
_WINNERS = ("PLAYER WINS", "BANKER WINS", "TIE HAND")
# What a dealer calls out instead (Maryland, Mini Baccarat, chapter 11, A (2) and (3)).
_DRAGON_7 = 1 << enums.HITS.index("dragon_7")
_PANDA_8 = 1 << enums.HITS.index("panda_8")
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
_NOT_DUE = enums.POSITIONS.index("not_due")

ON_TRIAL = "NEW FIRMWARE"
NO_HOST = "NO HOST"
LOG_BEHIND = "LOG BEHIND"
HOST = "HOST"


def lamps_of(state: dealing.Dealing) -> int:
    """The lamps that must be lit: bit n is the n-th of `words.LAMPS`.

    While the round is hidden `ready` stays dark: it would tell whether a third card is due.
    """
    lit = 0
    if state.error:
        lit |= 1 << ERROR_LAMP
    if state.hidden():
        return lit
    if state.card_due():
        lit |= 1 << READY_LAMP
    if state.winner >= 0:
        lit |= 1 << state.winner
    return lit


def text_of(state: dealing.Dealing, link: str, notice: str = "") -> str:
    """The display's ROWS lines, newlines between them. `link` says how the host listens,
    `notice` what else somebody should know; it gives way to an error.

    With a card pending and the supervisor's key on they are what the supervisor needs: what is
    wrong, as what the card was due, the hands, the choice, and what each button does now.

    While the round is hidden nothing here depends on its cards, nor on how many have come; but
    an error shows, and in the supervisor's lines as what the card was due.
    """
    if state.pending.waits() and state.key_on and not state.lid_open:
        return "\n".join(_of_supervisor(state))
    return "\n".join(
        (
            _title(state),
            "SHOE %d R%d" % (state.shoe, state.round),
            _hand(state, "P", state.player),
            _hand(state, "B", state.banker),
            _outcome(state),
            _error(state) or notice,
            _remedy(state),
            link,
        )
    )


def _of_supervisor(state: dealing.Dealing) -> "tuple[str, ...]":
    waiting = state.pending
    has_rank = 0 <= waiting.rank() < len(cards.RANKS)
    return (
        "STOP " + enums.POSITIONS[waiting.position].upper().replace("_", " "),
        _error(state),
        _hand(state, "P", state.player),
        _hand(state, "B", state.banker),
        _choice(waiting),
        "NEXT RANK" if has_rank else "NEXT CHOOSES",
        "BURN SUIT" if has_rank else "",
        "REVEAL OK  VOID" if waiting.is_chosen() else _void(state),
    )


def _void(state: dealing.Dealing) -> str:
    if state.round_open():
        return "VOID ENDS ROUND"
    return "VOID SETS ASIDE" if state.hidden() else "VOID ENDS SHOE"


def _choice(waiting: pending.Pending) -> str:
    choice = waiting.choice()
    if choice == pending.DRAWN_AGAIN and waiting.position == _NOT_DUE:
        return "NOT COUNTED"  # nothing will be drawn in its place
    if choice != pending.ENTERED:
        return _CHOICES[choice]
    rank, suit = waiting.rank(), waiting.suit()
    if rank == len(cards.RANKS):
        return "CUT CARD"
    return "CARD " + cards.RANKS[rank] + ("-" if suit == pending.NONE else cards.SUITS[suit])


def _title(state: dealing.Dealing) -> str:
    if state.error:
        return "STOP"
    if state.phase == dealing.BURNING:
        return "BURN: %d LEFT" % state.burn_left
    return _TITLES[state.phase]


def _hand(state: dealing.Dealing, letter: str, hand: "list[int]") -> str:
    if not hand or state.hidden():
        return letter
    names = " ".join([cards.name_of(card) for card in hand])
    if not state.game.announced:
        return letter + " " + names
    return "%s %-9s  %d" % (letter, names, rules.total_of(hand))


def _outcome(state: dealing.Dealing) -> str:
    if state.hidden():
        return "REVEAL IF TURNED"
    if state.winner < 0:
        return "LAST ROUND" if state.rounds_left == 1 and state.round_open() else ""
    if not state.game.announced:
        return ""
    if state.hits & _DRAGON_7:
        return "DRAGON 7"
    return "PANDA 8" if state.hits & _PANDA_8 else _WINNERS[state.winner]


def _error(state: dealing.Dealing) -> str:
    waiting = state.pending
    if state.error == dealing.UNREADABLE:
        name = enums.FAULTS[state.fault].upper().replace("_", " ")
        return name + " 2ND" if waiting.second else name
    name = _ERRORS[state.error]
    if waiting.card == pending.NONE or state.hidden():
        return name
    return name + " " + cards.name_of(waiting.card)


def _remedy(state: dealing.Dealing) -> str:
    if not state.error:
        return ""
    return "CLOSE LID, KEY" if state.lid_open else "TURN KEY"
