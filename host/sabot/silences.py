"""The table of what can stop, and of how people are told.

Whatever can stop has a row here: the figure that moves while it works, how soon a person is told
after it has stopped, in which words, and where. The figure is of the work itself, such as the
newest event that is stored, and never of a connection. The part that notices takes its time and its
words from its row, and docs/monitoring.md shows the table. `make silences` stops each part in each
of its ways, and waits for the words.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType


class Where(Enum):
    """Where a person reads it."""

    OUTPUT = "the command's own output"
    SCREEN = "wall and table page"
    ALERT = "alert at the screens"
    METRIC = "metric, and its rule"
    DOCTOR = "`sabot doctor`"
    VERIFY = "`sabot verify`"
    STATUS = "`sabot database status`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """How a part stops, and who is told when. Raises ValueError without words, place or way."""

    part: str
    """What stops, with its article: "the line of a shoe"."""
    figure: str
    """What moves while it works: "the newest event that is stored"."""
    after_s: float
    """How long after it has stopped a person has been told, in seconds."""
    words: str
    """What is said, with names in braces for what differs: "{unit} holds {held} events"."""
    where: tuple[Where, ...]
    """Every place in which the words, or for a metric its rule, are to be found."""
    ways: Mapping[str, str]
    """How it may stop, by a short name: what `make silences` does to it, each on its own."""

    def __post_init__(self) -> None:
        if not (self.words and self.where and self.ways):
            raise ValueError(f"host/sabot/silences.py: {self.part!r} lacks words, places or ways")

    def say(self, **figures: object) -> str:
        """Return the words with these figures."""
        return self.words.format_map(figures)

    def is_told_in(self, text: str) -> bool:
        """Whether `text` has the words, with any figures, however its lines are broken."""
        parts = re.split(r"\{\w+\}", " ".join(self.words.split()))
        return bool(re.search(".+?".join(map(re.escape, parts)), " ".join(text.split())))


_silences: dict[str, Silence] = {}


def _silence(name: str, **fields: object) -> Silence:
    """Add a row to the table."""
    if name in _silences:
        raise ValueError(f"host/sabot/silences.py: {name!r} is there twice")
    _silences[name] = Silence(**fields)  # type: ignore[arg-type]
    return _silences[name]


LINE = _silence(
    "line",
    part="the line of a shoe",
    figure="the newest event that is stored, against the newest that the shoe holds",
    after_s=30.0,
    words="{unit} holds {held} events that do not arrive",
    where=(Where.OUTPUT, Where.SCREEN, Where.ALERT, Where.METRIC, Where.DOCTOR),
    ways={
        "damaged": "a device server drops one byte value on the way to the host",
        "half": "a second client of the device server takes half of the bytes",
        "one way": "nothing that the host sends arrives any more, while heartbeats come",
    },
)

FORWARDING = _silence(
    "forwarding",
    part="the way from a site to the centre",
    figure="the newest event of each unit that the centre has committed, of those that wait",
    after_s=60.0,
    words="{events} events wait for the centre, and none has gone for {seconds} s",
    where=(Where.OUTPUT, Where.METRIC),
    ways={
        "gone": "the centre's server is stopped",
        "swallowed": "the link acknowledges everything and passes nothing on",
        "no rights": "the site's role may no longer call the functions of the centre",
        "hidden": "a rule of the centre's table of records drops what is stored",
    },
)
NOTARY = _silence(
    "notary",
    part="the notary of a centre",
    figure="the newest event of each unit that it has signed for, of those that the centre has",
    after_s=900.0,
    words="{unit} has had no receipt for {time}",
    where=(Where.METRIC, Where.STATUS),
    ways={"stopped": "`sabot notary` is stopped, or killed"},
)
NOT_STORED = _silence(
    "storing",
    part="storing in PostgreSQL",
    figure="the head of the unit that the database answers with, against what it was sent",
    after_s=0.0,
    words="{place}: was sent events of {unit} up to {sent}, and says that it has {has}; "
    "nothing is acknowledged: `sabot database status` says what was altered",
    where=(Where.OUTPUT,),
    ways={
        "strict": "the function `sabot.take` is made STRICT, and does nothing",
        "hidden": "a trigger or a rule of a partition drops the rows",
    },
)

GONE = _silence(
    "gone",
    part="the records of a log in PostgreSQL",
    figure="the newest record of each unit, and how many each day has, against what was taken",
    after_s=120.0,
    words="{unit} lacks events {first} to {last}, which the log had",
    where=(Where.OUTPUT, Where.METRIC, Where.VERIFY, Where.STATUS),
    ways={
        "newest": "the newest records of a unit are deleted, and its head stays",
        "day": "the partition of a day is dropped",
    },
)

ARCHIVE = _silence(
    "archive",
    part="the archive of a server's write-ahead log",
    figure="the newest piece that was archived (pg_stat_archiver), and the newest that is full",
    after_s=300.0,
    words="the write-ahead log has not been archived for {time}",
    where=(Where.METRIC, Where.STATUS),
    ways={
        "refuses": "the archive's disk is full, or its folder is gone",
        "crash": "the machine crashes between the copy of a piece and the mark that it was made",
    },
)

SILENCES: Mapping[str, Silence] = MappingProxyType(_silences)
"""Every row by its name."""


def as_table() -> list[str]:
    """Return the rows of the table in docs/monitoring.md."""
    return [
        f"| {each.part}: {'; '.join(each.ways.values())} | {each.figure} | {each.after_s:g} s "
        f"| {re.sub(r'[{](.+?)[}]', lambda gap: gap[1].upper(), each.words)} "
        f"| {', '.join(where.value for where in each.where)} |"
        for each in SILENCES.values()
    ]
