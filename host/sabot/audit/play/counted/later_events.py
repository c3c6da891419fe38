"""Notes the events of later versions: what of a unit this version does not know or judge."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sabot.audit.checks.findings import MOST_OF_A_KIND
from sabot.text import counted

_UPDATE = "update this host, then verify again"


@dataclass(frozen=True, slots=True)
class _Seen:
    """How many events have something that is not known: the first and the last of them."""

    first: int
    last: int
    count: int = 1


class LaterEvents:
    """The events of one unit that are not understood in full, and the play that they keep from
    being judged."""

    def __init__(self) -> None:
        self._seen: dict[str, _Seen] = {}  # by what is not known
        self._not_judged: dict[tuple[int, int], tuple[int, bool]] = {}
        """By shoe of cards and round: the first event, and whether the round was open."""

    def add(self, number: int, unknown: Iterable[str]) -> None:
        """Take an event with what is not known of it."""
        for what in unknown:
            self._see(what, _Seen(number, number))

    def not_judged(self, number: int, shoe: int, round_: int, *, is_open: bool) -> None:
        """Note that a shoe of cards is not judged as a whole because of event `number`, nor its
        round, if that `is_open`."""
        self._not_judged.setdefault((shoe, round_), (number, is_open))

    @property
    def rounds(self) -> int:
        """How many rounds are not judged."""
        return sum(is_open for _, is_open in self._not_judged.values())

    def clear(self) -> None:
        """Forget all."""
        self._seen.clear()
        self._not_judged.clear()

    def join(self, later: "LaterEvents") -> None:
        """Take what events gave that come after those so far."""
        for what, seen in later._seen.items():
            self._see(what, seen)
        for place, found in later._not_judged.items():
            self._not_judged.setdefault(place, found)

    def notes(self) -> Iterator[tuple[int, str, str]]:
        """Yield, for people, what was noted: event number, kind, detail."""
        for what, seen in self._seen.items():
            detail = f"{what} is unknown to this version of Sabot: {counted(seen.count, 'event')}"
            if seen.count > 1:
                detail += f", the last is {seen.last}"
            yield seen.first, "unknown", f"{detail}; {_UPDATE}"
        places = list(self._not_judged.items())
        for (shoe, round_), (number, is_open) in places[:MOST_OF_A_KIND]:
            of_round = f"round {round_} is not judged, and " if is_open else ""
            detail = f"{of_round}shoe of cards {shoe} is not judged as a whole"
            yield number, "not_judged", f"{detail}, because of this event; {_UPDATE}"
        if len(places) > MOST_OF_A_KIND:
            more = counted(len(places) - MOST_OF_A_KIND, "more round")
            yield places[-1][1][0], "not_judged", f"the last of {more} like that; {_UPDATE}"

    def _see(self, what: str, seen: _Seen) -> None:
        before = self._seen.get(what)
        if before is not None:
            seen = _Seen(before.first, seen.last, before.count + seen.count)
        self._seen[what] = seen
