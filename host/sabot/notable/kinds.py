"""The table of what is notable: everything that surveillance or the floor must look at.

`KINDS` has each kind once, with all that a screen, a command, a feed, a metric or a page says of
it. Whatever shows kinds reads it. What finds a kind is in the other modules of this room, and names
it by its constant here, so that nothing can be found that has no words. docs/adding.md, "Something
notable", says how to add one.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from sabot import silences


class Severity(Enum):
    """How much is asked of people."""

    ALERT = "alert"
    """It is raised at the screens, and stays open until someone acknowledges it with a remark."""
    NOTE = "note"
    """It is listed, and no one has to acknowledge it."""


class Maker(Enum):
    """What a kind is found in."""

    EVENTS = "events"
    """The unit's own events (incident_finder.py). `sabot incidents` lists it, and feeds send it."""
    HOST = "host"
    """What the host noted of the unit in the log (absences.py). `sabot incidents` lists it."""
    CARDS = "cards"
    """The order of its cards, and of those that were dealt before (orders.py). `sabot incidents`
    lists it."""
    FLOOR = "floor"
    """The tables as they are followed (unit_alerts.py, silence.py). It is an alert only: nothing
    lists it afterwards."""


_NAME = re.compile(r"[a-z]+(_[a-z]+)*")
_WORDS = re.compile(r"\S(.*[^\s.])?")
"""One line without a full stop at its end."""
_PAGE = re.compile(r"[a-z-]+\.md#[a-z0-9-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of what is notable. Raises ValueError if it lacks any of its words."""

    name: str
    """In the notes of the desk, in messages and JSON. It never changes."""
    words: str
    """What happened, for people: "a round was voided"."""
    do: str
    """What to do about it."""
    page: str
    """The page of docs/ and its section that explain it: "surveillance.md#alerts"."""
    maker: Maker
    severity: Severity

    def __post_init__(self) -> None:
        lacking = [
            what
            for what, text, form in (
                ("a name such as long_round", self.name, _NAME),
                ("words: what happened", self.words, _WORDS),
                ("what to do", self.do, _WORDS),
                ("a page and its section, such as surveillance.md#alerts", self.page, _PAGE),
            )
            if not form.fullmatch(text)
        ]
        if self.maker is Maker.FLOOR and self.severity is not Severity.ALERT:
            lacking.append("the severity ALERT, without which nothing shows what the floor finds")
        if lacking:
            raise ValueError(f"host/sabot/notable/kinds.py: {self.name!r} lacks {lacking[0]}")

    @property
    def listed(self) -> bool:
        """Whether `sabot incidents` finds it in a log, at any time."""
        return self.maker is not Maker.FLOOR


_kinds: dict[str, Kind] = {}


def _kind(
    name: str,
    words: str,
    *,
    do: str,
    page: str,
    maker: Maker = Maker.EVENTS,
    severity: Severity = Severity.ALERT,
) -> Kind:
    """Add a kind to the table."""
    if name in _kinds:
        raise ValueError(f"host/sabot/notable/kinds.py: {name!r} is there twice")
    _kinds[name] = Kind(name=name, words=words, do=do, page=page, maker=maker, severity=severity)
    return _kinds[name]


# ---- found in the events of a unit

ERROR = _kind(
    "error",
    "an error stopped play, until the supervisor's key",
    do="watch from the stop to the key whether what was done is what the error asks for",
    page="supervisor.md#errors",
)
BY_HAND = _kind(
    "by_hand",
    "a card was entered by the supervisor from its face",
    do="compare the card on the video with the one that was entered",
    page="supervisor.md#a-card-is-in-question",
)
VOID = _kind(
    "void",
    "a round was voided",
    do="watch why, and whether the wagers were returned",
    page="supervisor.md#void",
)
NOT_DUE = _kind(
    "not_due",
    "a card came out although none was due",
    do="watch where the card went: it is in no hand of the round",
    page="supervisor.md#errors",
)
POWER_LOST = _kind(
    "power_lost",
    "the power failed while a card passed",
    do="compare that card on the video with what was decided about it",
    page="supervisor.md#after-a-loss-of-power",
)
OPENED = _kind(
    "opened_unwatched",
    "lid or compartment was opened while no program watched it",
    do="see on the video who opened it; have the cards counted, and the board looked at",
    page="supervisor.md#after-a-loss-of-power",
)
LID = _kind(
    "lid",
    "the lid was open while a shoe of cards was in play",
    do="watch whether cards went in or out",
    page="supervisor.md#errors",
)
ENDED_EARLY = _kind(
    "ended_early",
    "the supervisor ended a shoe of cards before its cut card did",
    do="ask why; if cards were not seen, look for them at the passes that it names",
    page="supervisor.md#misdeal-and-the-end-of-a-shoe-of-cards",
)
SERVICE = _kind(
    "service",
    "the service switch was on",
    do="ask the technician who worked at the unit, and what was changed",
    page="technician.md#3-provision-the-board-becomes-a-unit",
)
DEBUG = _kind(
    "debug",
    "MicroPython's prompt was opened on the unit",
    do="find out which computer was connected to the unit, and who used it",
    page="technician.md#repair",
)
STRANGER = _kind(
    "stranger",
    "commands came with a wrong MAC",
    do="find out which computer was connected to the unit, and who used it",
    page="technician.md#who-may-talk-to-a-shoe",
)
RESTART = _kind(
    "restart",
    "the unit started again",
    do="ask why; if a round was open, compare its cards with the video",
    page="supervisor.md#after-a-loss-of-power",
)
GAP = _kind(
    "gap",
    "events were lost by the shoe, or are missing in the log",
    do="run sabot verify; what the log lacks is on the video only",
    page="surveillance.md#when-something-does-not-fit",
)
JOURNAL = _kind(
    "journal",
    "the shoe's memory of events had a fault",
    do="have the technician look at the unit, and run sabot verify",
    page="technician.md#repair",
)
CLOCK = _kind(
    "clock",
    "the clock was set to another time, or jumped",
    do="allow for the difference when you look for what was before it on the video",
    page="surveillance.md#when-something-does-not-fit",
)
LONG_ROUND = _kind(
    "long_round",
    "it took long from no more bets to the result",
    do="watch what held the round up",
    page="surveillance.md#what-to-look-at-on-the-video",
)
LONG_REVEAL = _kind(
    "long_reveal",
    "it took long from the last card to the reveal",
    do="watch the cards until they were turned",
    page="surveillance.md#what-to-look-at-on-the-video",
)
RULES = _kind(
    "rules",
    "the verifier recomputed a round and disagrees with the shoe",
    do="keep the log as it is, copy it, and have the laboratory look at it",
    page="surveillance.md#when-something-does-not-fit",
)
SENSOR = _kind(
    "sensor",
    "a sensor is due to be cleaned",
    do="have the technician clean it between two shoes of cards",
    page="technician.md#care",
)
UNKNOWN = _kind(
    "unknown",
    "an event of a later version of Sabot: update this host",
    do="update this host; the same log then shows the event",
    page="surveillance.md#what-to-look-at-on-the-video",
)

# ---- noted by the host in the log

AWAY = _kind(
    "away",
    "the log ran, and the shoe was away from it",
    do="ask who unplugged the shoe or switched it off",
    page="surveillance.md#what-to-look-at-on-the-video",
    maker=Maker.HOST,
    severity=Severity.NOTE,
)
NOT_LOGGED = _kind(
    "not_logged",
    "no log of the shoe ran, between two that did",
    do="ask why no log ran",
    page="surveillance.md#what-to-look-at-on-the-video",
    maker=Maker.HOST,
    severity=Severity.NOTE,
)
REPLACED = _kind(
    "replaced",
    "another board took the place of the one that the unit had",
    do="run sabot verify with the operator's key: it checks the seam between the two",
    page="surveillance.md#a-board-that-was-replaced",
    maker=Maker.HOST,
    severity=Severity.NOTE,
)

# ---- found in the order of the cards

UNSHUFFLED = _kind(
    "unshuffled",
    "the cards come in the order of new packs, or of the last shoe",
    do="have the game stopped and the cards kept apart, and ask who shuffled them, when and how",
    page="integrity.md#while-it-is-dealt",
    maker=Maker.CARDS,
)
REPEATED = _kind(
    "repeated",
    "the cards come in an order in which they were dealt before",
    do="have the game stopped and the cards kept as they lie, and watch how they came to the shoe",
    page="integrity.md#while-it-is-dealt",
    maker=Maker.CARDS,
)

# ---- found while the tables are followed

SILENT = _kind(
    "silent",
    silences.SHOE.words,
    do="look at the table, its cable and its power, and whether its log runs",
    page="surveillance.md#alerts",
    maker=Maker.FLOOR,
)
HELD = _kind(
    "held",
    "a log has the shoe, and the events that the shoe holds do not arrive",
    do="have the technician check the line or the device server; what is shown is old until then",
    page="device-servers.md#how-it-shows",
    maker=Maker.FLOOR,
)
NEVER = _kind(
    "never",
    "a log waits for a shoe that was never there",
    do="have the technician look whether it is plugged in, and whether its name is right",
    page="surveillance.md#alerts",
    maker=Maker.FLOOR,
)
SLOW = _kind(
    "slow",
    "fewer rounds an hour than the lower bound",
    do="watch what holds the play up",
    page="surveillance.md#alerts",
    maker=Maker.FLOOR,
)
FAST = _kind(
    "fast",
    "more rounds an hour than the upper bound",
    do="watch whether cards are dealt to be rid of them",
    page="surveillance.md#alerts",
    maker=Maker.FLOOR,
)

KINDS: Mapping[str, Kind] = MappingProxyType(_kinds)
"""Every kind by its name, in the order in which lists have them."""

LISTED: Mapping[str, Kind] = MappingProxyType(
    {name: kind for name, kind in KINDS.items() if kind.listed}
)
"""The kinds of incidents: those that `sabot incidents` finds in a log."""

SEARCHED: Mapping[str, Kind] = MappingProxyType(
    {name: kind for name, kind in LISTED.items() if kind.maker is not Maker.CARDS}
)
"""The kinds by which rounds are searched for at the screens."""

LATER = Kind(
    name="later",
    words="a kind that only a later version of Sabot knows",
    do="update this host",
    page="versions.md#what-later-versions-keep",
    maker=Maker.FLOOR,
    severity=Severity.ALERT,
)
"""In place of the kind of an alert that a later version raised at the desk of this log."""


def kind_named(name: str) -> Kind:
    """Return the kind of an alert in the notes of a desk: `LATER` if this version has none such."""
    return KINDS.get(name, LATER)
