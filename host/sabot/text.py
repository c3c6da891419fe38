"""Writes cards, counts, times and a shoe's own texts, for terminals and report pages alike, and
reads the cards that people write.

Plain text only: terminals add colours, pages add tags.
"""

import re
from datetime import UTC, datetime
from difflib import get_close_matches

from sabot_protocol import cards

_SUITS = {"C": "♣", "D": "♦", "H": "♥", "S": "♠"}
_SUIT_OF = {symbol: letter for letter, symbol in _SUITS.items()} | {
    "♧": "C",
    "♢": "D",
    "♡": "H",
    "♤": "S",
}
_NAMES = [cards.name_of(card) for card in range(cards.CARD_COUNT)]

# The selectors choose between the black symbol and its emoji.
_CARD = re.compile(
    "(?P<rank>10|[A2-9TJQK])\\s*(?P<suit>[CDHS♣♦♥♠♧♢♡♤])[\ufe0e\ufe0f]?|(?P<other>CUT|TEST)",
    re.ASCII | re.IGNORECASE,
)
_BETWEEN_CARDS = re.compile(r"[\s,]+")


def spaced(name: str) -> str:
    """Return a name of the protocol with spaces between its words: "cut card" for `cut_card`."""
    return name.replace("_", " ")


_STARTS = {
    "power_on": "power came, or was too low",
    "watchdog": "it hung, restarted by its watchdog",
    "error": "restarted after an error in its firmware",
    "memory": "restarted because it had no memory left",
    "command": "restarted by command",
    "software": "restarted by its program",
    "reset_pin": "reset pin",
}


def start_cause(cause: str) -> str:
    """Say why a shoe started; `cause` is a word of `enums.RESET_CAUSES`, or of a later version."""
    return _STARTS.get(cause, spaced(cause))


def card_symbol(card: str) -> str:
    """A card such as "TH" as people write it: "10♥". Other cards keep their name."""
    suit = _SUITS.get(card[1:])
    if suit is None:
        return card
    return ("10" if card[0] == "T" else card[0]) + suit


def card_names(text: str) -> list[str]:
    """Read cards as people and Sabot write them: "10♠", "10s", "TS", also "CUT" and "TEST", with
    commas or blanks between them or nothing. Returns their names, such as "TS", in order.

    Raises ValueError, with a hint, if any of it is not a card.
    """
    found, at = list[str](), 0
    while at < len(text):
        if between := _BETWEEN_CARDS.match(text, at):
            at = between.end()
            continue
        card = _CARD.match(text, at)
        if card is None:
            word = _BETWEEN_CARDS.split(text[at : at + _MOST_LETTERS], 1)[0]
            near = get_close_matches(word.upper(), _NAMES, 1, cutoff=0.3)
            hint = f"did you mean {near[0]}?" if near else "write 7H, TC"
            raise ValueError(f"{shortened(word, 20)!r} is not a card; {hint}")
        at = card.end()
        if card["other"]:
            found.append(card["other"].upper())
        else:
            rank, suit = card["rank"].upper(), card["suit"].upper()
            found.append(("T" if rank == "10" else rank) + _SUIT_OF.get(suit, suit))
    return found


# Letters and marks that show nothing (Unicode, DerivedCoreProperties.txt, Default_Ignorable_Code_
# Point), and the empty Braille pattern; and marks above two, which are drawn over other lines.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
    "|(?<=[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{2})"
    "[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
)
_MOST_LETTERS = 4000


def printable(text: str) -> str:
    """Text from outside as one line that says what it shows.

    Whatever controls a terminal, begins a line, changes the direction of writing or shows nothing
    becomes an escape such as \\x1b. A text above 4,000 characters is cut.
    """
    if len(text) > _MOST_LETTERS:
        text = text[: _MOST_LETTERS - 1] + "…"
    if text.isascii() and text.isprintable():
        return text
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return _UNSEEN.sub(lambda found: ascii(found[0])[1:-1], shown)


def counted(number: int, noun: str, plural: str = "") -> str:
    """A count with its noun: "1 event", "2,000 events".

    `plural` is needed if it is not the noun with an s.
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def shortened(text: str, most: int) -> str:
    """The text, or its first characters and an ellipsis if it has more than `most`."""
    return text if len(text) <= most else text[: most - 1] + "…"


def amount(cents: int) -> str:
    """An amount in cents as people write it, such as "1,250.00"."""
    sign, whole = "-" if cents < 0 else "", abs(cents)
    return f"{sign}{whole // 100:,}.{whole % 100:02}"


def local_time(unix_ms: int | None) -> str:
    """A time in the zone of this machine, to the second; "no clock" for None.

    A time that no calendar has becomes "146140482000000000 ms".
    """
    if unix_ms is None:
        return "no clock"
    try:
        return datetime.fromtimestamp(unix_ms / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):  # a host may have set any clock
        return f"{unix_ms} ms"


def utc_time(unix_ms: int | None) -> str | None:
    """ISO 8601 in UTC with milliseconds, as "2026-11-21T20:15:03.250Z"; None for None.

    A time that no calendar has becomes "146140482000000000 ms".
    """
    if unix_ms is None:
        return None
    moment = utc_moment(unix_ms)
    if moment is None:
        return f"{unix_ms} ms"
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def utc_moment(unix_ms: int | None) -> datetime | None:
    """A time in UTC; None for None, and for a time that no calendar has."""
    if unix_ms is None:
        return None
    try:
        return datetime.fromtimestamp(unix_ms / 1000, UTC)
    except (ValueError, OverflowError, OSError):  # a host may have set any clock
        return None
