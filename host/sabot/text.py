"""Writes cards, times and a shoe's own texts, for terminals and report pages alike.

Plain text only: terminals add colours, pages add tags.
"""

from datetime import UTC, datetime

_SUITS = {"C": "♣", "D": "♦", "H": "♥", "S": "♠"}


def card_symbol(card: str) -> str:
    """A card such as "TH" as people write it: "10♥". Other cards keep their name."""
    suit = _SUITS.get(card[1:])
    if suit is None:
        return card
    return ("10" if card[0] == "T" else card[0]) + suit


def printable(text: str) -> str:
    """A shoe's text, with escapes such as \\x1b instead of characters that control a terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


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
