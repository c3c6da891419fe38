"""What the lamps and the display show: pure functions of the dealing's state."""

from firmware import dealing, rules
from protocol import cards, words

COLUMNS = 16
ROWS = 8

READY_LAMP = words.LAMPS.index("ready")
ERROR_LAMP = words.LAMPS.index("error")

_TITLES = (
    "LOAD CARDS", "BURN: FIRST CARD", "BURN", "NEXT ROUND?", "BETTING OPEN", "NO MORE BETS",
    "SHOE ENDED",
)  # fmt: skip
_WINNERS = ("PLAYER WINS", "BANKER WINS", "TIE HAND")
_ERRORS = (
    "", "CARD NOT DUE", "", "LID OPENED", "CUT CARD MISPLCD", "TEST CARD",
)  # fmt: skip

NO_HOST = "NO HOST"
LOG_BEHIND = "LOG BEHIND"
HOST = "HOST"


def lamps_of(state: dealing.Dealing) -> int:
    """The lamps that must be lit: bit n is the n-th of `words.LAMPS`."""
    lit = 0
    if state.error:
        lit |= 1 << ERROR_LAMP
    elif state.card_due():
        lit |= 1 << READY_LAMP
    if state.winner >= 0:
        lit |= 1 << state.winner
    return lit


def text_of(state: dealing.Dealing, link: str) -> str:
    """The display's ROWS lines, newlines between them. `link` says how the host listens."""
    return "\n".join(
        (
            _title(state),
            "SHOE %d R%d" % (state.shoe, state.round),
            _hand("P", state.player),
            _hand("B", state.banker),
            _outcome(state),
            _error(state),
            _remedy(state),
            link,
        )
    )


def _title(state: dealing.Dealing) -> str:
    if state.error:
        return "STOP"
    if state.phase == dealing.BURNING:
        return "BURN: %d LEFT" % state.burn_left
    return _TITLES[state.phase]


def _hand(letter: str, hand: "list[int]") -> str:
    if not hand:
        return letter
    names = " ".join([cards.name_of(card) for card in hand])
    return "%s %-9s  %d" % (letter, names, rules.total_of(hand))


def _outcome(state: dealing.Dealing) -> str:
    if state.winner < 0:
        return "LAST ROUND" if state.rounds_left == 1 and state.round_open() else ""
    return _WINNERS[state.winner]


def _error(state: dealing.Dealing) -> str:
    if state.error == dealing.UNREADABLE:
        return words.FAULTS[state.fault].upper().replace("_", " ")
    return _ERRORS[state.error]


def _remedy(state: dealing.Dealing) -> str:
    if not state.error:
        return ""
    return "CLOSE LID, KEY" if state.lid_open else "TURN KEY"
