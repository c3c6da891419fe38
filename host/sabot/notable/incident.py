"""An incident, and its description for people."""

from dataclasses import dataclass
from datetime import tzinfo
from typing import Any

from sabot.link.events import ErrorEvent, GapEvent, JournalFaultEvent
from sabot.log.boards import board_of, unit_of
from sabot.notable.kinds import LISTED
from sabot.table_time import duration_text, iso_of, text_of, time_of_day
from sabot.text import card_symbol, spaced
from sabot_protocol import cards

VOIDED = {
    "supervisor": "by the supervisor",
    "unreadable": "by the supervisor, for a card that could not be read",
    "restart": "by a restart",
    "misdeal": "a misdeal, called by the supervisor after its result",
}

RESOLVED = {
    "entered": "entered from its face",
    "as_read": "taken as read",
    "drawn_again": "drawn again",
    "unseen": "left unseen",
    "void": "round voided",
}

_CUT_CARD = cards.name_of(cards.CUT_CARD)

CLEARED = {
    True: "cleared with the supervisor's key",
    False: "cleared although the supervisor's key was not on",
    None: "cleared; whether with the supervisor's key is not in the log",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """Whatever takes longer than these times is an incident."""

    round_s: int = 120
    """From no more bets to the result. Not from the opening of the bets: an idle table waits for
    wagers for hours. The slowest tables, where players squeeze the cards, deal about 40 rounds
    an hour: 90 s each, including the wagers. If the cards alone take longer, something else
    happened."""
    reveal_s: int = 60
    """From the last card to the reveal: one card is squeezed, then a button is pressed."""


@dataclass(frozen=True, slots=True)
class NearPass:
    """A pass after which a card may be missing, from its event `long_pass`."""

    event: int
    round: int
    boot: int
    t_ms: int
    unix_ms: int | None
    """When it was, UTC; None if the clock was not set after the unit's start."""
    card: str | None
    """The card that was read, such as "7H"; None if it is sealed."""
    longer_um: int
    """How much further than one card the pass seems to have gone."""

    def text(self, zone: tzinfo) -> str:
        """The pass for people, such as "event 812, round 31, 21:14:05: K♣, 5.0 mm longer than one
        card"."""
        if self.unix_ms is None:
            when = f"no clock, boot {self.boot} + {self.t_ms / 1000:.1f} s"
        else:
            when = time_of_day(self.unix_ms, zone)
        if self.card is None:
            card = "sealed card"
        else:
            card = "cut card" if self.card == _CUT_CARD else card_symbol(self.card)
        where = f"event {self.event}, round {self.round}, {when}"
        return f"{where}: {card}, {self.longer_um / 1000:.1f} mm longer than one card"

    def as_json(self, zone: tzinfo) -> dict[str, Any]:
        """The pass as `sabot incidents --json` prints it."""
        return {
            "event": self.event,
            "round": self.round,
            "time": iso_of(self.unix_ms, zone),
            "boot": self.boot,
            "t_ms": self.t_ms,
            "card": self.card,
            "longer_um": self.longer_um,
        }


@dataclass(frozen=True, slots=True)
class Incident:
    """Something to look at, which began with event `event` of `unit`. Its shoe of cards and round
    are those in play, or the last ones that were. What the host noted itself has no event, and so
    none of these."""

    unit: str
    kind: str
    """The name of a kind of LISTED. Raises ValueError for any other."""
    event: int | None
    shoe: int | None
    round: int | None
    boot: int | None
    t_ms: int | None
    unix_ms: int | None
    """When it began, UTC; None if the clock was not set after the unit's start."""
    reckoned: bool
    """Whether `unix_ms` was computed from a clock that was set later after the same start."""
    lasted_ms: int | None
    """How long it lasted; None if it has no length, or if its end or the clock is not known."""
    stands: bool
    """Whether it was not over at the last event; then `lasted_ms` counts up to that event."""
    detail: str
    nearest: tuple[NearPass, ...] | None = None
    """If cards are missing: the longest passes of that shoe of cards, the longest first. None for
    any other incident."""

    def __post_init__(self) -> None:
        if self.kind not in LISTED:
            raise ValueError(f"host/sabot/notable/kinds.py has no kind of incidents {self.kind!r}")

    def within(self, from_unix_ms: int | None, to_unix_ms: int | None) -> bool:
        """Whether any part of it is in that span; True if its time is not known."""
        if self.unix_ms is None:
            return True
        end = self.unix_ms + (self.lasted_ms or 0)
        before_end = to_unix_ms is None or self.unix_ms < to_unix_ms
        return before_end and (self.stands or from_unix_ms is None or end >= from_unix_ms)

    def lasted_text(self) -> str:
        """How long it lasted, for people."""
        if self.lasted_ms is None:
            return "not over" if self.stands else ""
        return duration_text(self.lasted_ms) + (", not over" if self.stands else "")

    def what(self, zone: tzinfo) -> str:
        """The detail, for an absence its end, and the passes nearest to a missing card."""
        known = self.unix_ms is not None and self.lasted_ms is not None
        if self.event is None and known and not self.stands:
            end_unix_ms = (self.unix_ms or 0) + (self.lasted_ms or 0)
            return f"until {text_of(end_unix_ms, zone)}; {self.detail}"
        if self.nearest is None:
            return self.detail
        passes = "; ".join(each.text(zone) for each in self.nearest)
        return f"{self.detail}; nearest passes: {passes or 'no long pass is in the log'}"

    def as_json(self, zone: tzinfo) -> dict[str, Any]:
        """The incident as `sabot incidents --json` prints it."""
        return {
            "unit": unit_of(self.unit),
            "kind": self.kind,
            "event": self.event,
            "shoe": self.shoe,
            "round": self.round,
            "time": iso_of(self.unix_ms, zone),
            "reckoned": self.reckoned,
            "boot": self.boot,
            "t_ms": self.t_ms,
            "lasted_ms": self.lasted_ms,
            "stands": self.stands,
            "detail": self.detail,
            "nearest": (
                None if self.nearest is None else [each.as_json(zone) for each in self.nearest]
            ),
            "board_number": board_of(self.unit),
        }


def error_text(event: ErrorEvent) -> str:
    """An error that stopped play, with its card and the fault of its pass."""
    text = spaced(event.error)
    if event.card is not None and event.card < cards.DECK_SIZE:
        text += f" {card_symbol(cards.name_of(event.card))}"
    return text if event.fault == "none" else f"{text} ({spaced(event.fault)})"


def numbers_text(event: GapEvent | JournalFaultEvent) -> str:
    """Which events a gap or a fault of the journal is about."""
    first, last = event.first, event.last
    return f"event {first}" if first == last else f"events {first} to {last}"


def change_text(ms: int) -> str:
    """By how much a clock was set, and in which direction."""
    return f"{duration_text(abs(ms))} {'ahead' if ms > 0 else 'back'}"
