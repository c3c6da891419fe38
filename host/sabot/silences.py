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
    METRIC = "rule of Prometheus"
    DOCTOR = "`sabot doctor`"
    VERIFY = "`sabot verify`"
    STATUS = "`sabot database status`"
    OUTSIDE = "a service outside that misses it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """How a part stops, and who is told when. Raises ValueError without words, place or way."""

    part: str
    """What stops, with its article: "the line of a shoe"."""
    figure: str
    """What moves while it works: "the newest event that is stored"."""
    after_s: float
    """How long after it has stopped a person has been told, in seconds."""
    alarm: str = ""
    """The rule of docs/monitoring/rules.yml that fires; needed if `where` has METRIC."""
    alarm_after_s: float | None = None
    """How long after it has stopped the rule fires; None if that is no later."""
    words: str
    """What is said, with names in braces for what differs: "{unit} holds {held} events"."""
    where: tuple[Where, ...]
    """Every place in which the words, or for a metric its rule, are to be found."""
    ways: Mapping[str, str]
    """How it may stop, by a short name: what `make silences` does to it, each on its own."""

    def __post_init__(self) -> None:
        if not (self.words and self.where and self.ways):
            raise ValueError(f"host/sabot/silences.py: {self.part!r} lacks words, places or ways")
        if bool(self.alarm) != (Where.METRIC in self.where):
            raise ValueError(f"host/sabot/silences.py: {self.part!r}: a metric and its rule")

    def after_s_in(self, where: Where) -> float:
        """Return how long after it has stopped it has been told there, in seconds."""
        if where is Where.METRIC and self.alarm_after_s is not None:
            return self.alarm_after_s
        return self.after_s

    def say(self, **figures: object) -> str:
        """Return the words with these figures."""
        return self.words.format_map(figures)

    def is_told_in(self, text: str, where: Where | None = None) -> bool:
        """Whether `text` has the words, with any figures, however its lines are broken. The text of
        METRIC has the names of the rules that fire."""
        if where is Where.METRIC:
            return self.alarm in text.split()
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
    alarm="SabotEventsHeld",
    alarm_after_s=90.0,
    ways={
        "damaged": "a device server drops one byte value on the way to the host",
        "half": "a second client of the device server takes half of the bytes",
    },
)

NEVER = _silence(
    "never",
    part="a shoe that a log waits for, from the start on",
    figure="the first session with it",
    after_s=60.0,
    words="no shoe has answered at {port} since the log began",
    where=(Where.SCREEN, Where.ALERT, Where.METRIC),
    alarm="SabotShoeNeverCame",
    alarm_after_s=120.0,
    ways={"not there": "its name is wrong, or nothing is plugged in"},
)

SHOE = _silence(
    "shoe",
    part="a shoe in the middle of a shoe of cards",
    figure="the heartbeats that its log hears",
    after_s=60.0,
    words="a shoe of cards is in play, and no log has the shoe",
    where=(Where.SCREEN, Where.ALERT, Where.METRIC),
    alarm="SabotShoeSilent",
    alarm_after_s=120.0,
    ways={
        "unplugged": "its cable is pulled",
        "hangs": "its program hangs, with its port open",
        "without power": "it has no power",
        "deaf": "nothing that its host sends arrives",
    },
)

LOG = _silence(
    "log",
    part="the log of a shoe in the middle of a shoe of cards",
    figure="when it last noted that it has the shoe",
    after_s=60.0,
    words=SHOE.words,
    where=(Where.SCREEN, Where.ALERT, Where.METRIC),
    alarm="SabotShoeSilent",
    alarm_after_s=120.0,
    ways={"killed": "its program is killed", "hangs": "its program hangs"},
)

FEED = _silence(
    "feed",
    part="the receiver of a feed",
    figure="the newest message that it has acknowledged",
    after_s=60.0,
    words="{message} is not delivered: {why}; trying again",
    where=(Where.OUTPUT, Where.METRIC),
    alarm="SabotFeedStuck",
    alarm_after_s=690.0,
    ways={
        "gone": "nothing listens at its address",
        "hangs": "it takes connections and never answers",
        "refuses": "it answers every message with 500",
    },
)

PROGRAM = _silence(
    "program",
    part="a program of Sabot that has metrics",
    figure="the metrics that it answers with",
    after_s=150.0,
    words="{job} at {instance} does not answer",
    where=(Where.METRIC,),
    alarm="SabotDown",
    ways={
        "log killed": "`sabot log` is killed",
        "log hangs": "`sabot log` hangs",
        "serve killed": "`sabot serve` is killed",
        "serve hangs": "`sabot serve` hangs",
        "feed killed": "`sabot feed` is killed",
        "feed hangs": "`sabot feed` hangs",
    },
)

MONITORING = _silence(
    "monitoring",
    part="the monitoring itself",
    figure="the alert `SabotWatching`, which always fires",
    after_s=60.0,
    words="SabotWatching no longer comes",
    where=(Where.OUTSIDE,),
    ways={"killed": "Prometheus is killed", "hangs": "Prometheus hangs"},
)

PICTURE = _silence(
    "picture",
    part="what a wall, a page or a board shows",
    figure="the time of the newest look at the log after which all was shown",
    after_s=15.0,
    words="NOT LIVE: this is the picture of {time}",
    where=(Where.SCREEN,),
    ways={
        "hangs": "the server hangs",
        "swallows": "a proxy between server and browser swallows what is sent",
        "replaces": "a proxy closes the stream every 25 s and opens it again without content",
    },
)

FOLLOWER = _silence(
    "follower",
    part="the thread of the screens that follows the log, while pages are still answered",
    figure=PICTURE.figure,
    after_s=15.0,
    words=PICTURE.words,
    where=(Where.SCREEN, Where.METRIC),
    alarm="SabotNotLive",
    ways={"hangs": "it hangs"},
)

WATCH = _silence(
    "watch",
    part="the thread of `sabot watch` that follows the log",
    figure=PICTURE.figure,
    after_s=15.0,
    words=PICTURE.words,
    where=(Where.OUTPUT,),
    ways={"hangs": "it hangs, while keys are still answered"},
)

CLOCK = _silence(
    "clock",
    part="the clock of the host, from which shoes get theirs",
    figure="its time against the time that has passed since the machine began",
    after_s=60.0,
    words="the clock of this host was set {change}",
    where=(Where.OUTPUT,),
    ways={"set": "it is set to another time while a log runs"},
)

FORWARDING = _silence(
    "forwarding",
    part="the way from a site to the centre",
    figure="the newest event of each unit that the centre has committed, of those that wait",
    after_s=60.0,
    words="{events} events wait for the centre, and none has gone for {seconds} s",
    where=(Where.OUTPUT, Where.METRIC),
    alarm="SabotForwardStuck",
    alarm_after_s=120.0,
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
    alarm="SabotNoReceipt",
    alarm_after_s=1260.0,
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
    alarm="SabotAlarm",
    alarm_after_s=180.0,
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
    alarm="SabotArchiveFailing",
    alarm_after_s=360.0,
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
        f"| {each.part}: {'; '.join(each.ways.values())} | {each.figure} | {each.after_s:g} s"
        f"{f', alarm {each.alarm_after_s:g} s' if each.alarm_after_s else ''} "
        f"| {re.sub(r'[{](.+?)[}]', lambda gap: gap[1].upper(), each.words)} "
        f"| {', '.join(_place(each, where) for where in each.where)} |"
        for each in SILENCES.values()
    ]


def _place(row: Silence, where: Where) -> str:
    return f"{where.value} `{row.alarm}`" if where is Where.METRIC else where.value
