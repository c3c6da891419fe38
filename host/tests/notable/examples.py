"""For each kind of what is notable the smallest thing that makes it."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from host.tests.support.boards import Boards
from host.tests.support.helpers import event_bytes, new_log, stored
from host.tests.support.later import record_of
from host.tests.support.shuffles import dealt_shoes, honest, new_packs
from host.tests.support.typed_events import GAMES, START_UNIX_MS, TypedEvents, dealt, midi
from sabot.audit.checks.decoding import values_of
from sabot.audit.checks.findings import Finding
from sabot.link.wire import parse_event
from sabot.log.presence import ATTACHED, WAITING, Span
from sabot.log.reveal import NONE_KEPT
from sabot.notable.absences import absences_of, of_host
from sabot.notable.incident_finder import incidents_of
from sabot.notable.orders import orders_in
from sabot.notable.silence import held_now, never_came, silent_now
from sabot.notable.unit_alerts import AlertLimits, UnitAlerts

Made = set[str]
"""Names of the kinds that were found."""


def _found(log: TypedEvents, findings: Iterable[Finding] = ()) -> Made:
    return {each.kind for each in incidents_of("U1", log.events, findings, games=GAMES)}


def _rules(_: Path) -> Made:
    return _found(dealt().add("result"), [Finding("U1", 3, "rules", "Banker wins")])


def _unknown(_: Path) -> Made:
    log = dealt()
    log.events.append(parse_event(record_of(255, log.number + 1)))
    return _found(log)


def _absent(between: str | None) -> Made:
    """What is found if a shoe was away for a minute, and a log was in the state `between`."""
    spans = [Span("U1", 0, 10_000, ATTACHED), Span("U1", 70_000, 80_000, ATTACHED)]
    if between is not None:
        spans.append(Span("U1", 10_000, 70_000, between))
    return {each.kind for each in absences_of("U1", spans)}


def _replaced(folder: Path) -> Made:
    boards = Boards(2)
    with new_log(folder / "log") as store:
        store.append("U1", boards.records(1))
        store.keep_seam(boards.seam(2))
        store.append("U1~2", boards.records(2))
        return {each.kind for each in of_host(store, "U1~2")}


def _paced(every_s: int) -> Made:
    """What a table raises that deals a round every `every_s` seconds for an hour."""
    kinds = ("betting_open", "betting_closed", "result")
    return _raised(
        event_bytes(kind, 3 * at + part + 1, t_ms=1000 * every_s * at + 500 * every_s * part)
        for at in range(3600 // every_s)
        for part, kind in enumerate(kinds)
    )


def _raised(records: Iterable[bytes]) -> Made:
    """The kinds of alerts that a unit raises, as the floor finds them."""
    alerts = UnitAlerts("U1", NONE_KEPT, AlertLimits())
    for values in values_of([*records]):
        assert values is not None
        alerts.add(values)
    return {each.kind for each in alerts.new(START_UNIX_MS)}


def _new_packs(folder: Path) -> Made:
    return _of_order(folder, new_packs())


def _dealt_twice(folder: Path) -> Made:
    shoe = honest(random.Random(1))
    return _of_order(folder, shoe, shoe)


def _of_order(folder: Path, *shoes: Sequence[int]) -> Made:
    with new_log(folder / "log") as store:
        store.append("U1", stored(dealt_shoes(*shoes).records))
        return {each.kind for each in orders_in(store, ["U1"])["U1"]}


EXAMPLES: Mapping[str, Callable[[Path], Made]] = {
    "error": lambda _: _found(dealt().add("error", error="unreadable")),
    "by_hand": lambda _: _found(dealt().add("card", card="7H", position="player_1", by_hand=True)),
    "void": lambda _: _found(dealt().add("round_void", reason="supervisor")),
    "not_due": lambda _: _found(dealt().add("card", card="7H", position="not_due")),
    "power_lost": lambda _: _found(dealt().add("unreadable", fault="power_lost")),
    "lid": lambda _: _found(dealt().add("lid", open=True)),
    "ended_early": lambda _: _found(dealt().add("shoe_ended", reason="supervisor")),
    "service": lambda _: _found(TypedEvents().add("service", on=True)),
    "debug": lambda _: _found(TypedEvents().add("debug_opened")),
    "stranger": lambda _: _found(TypedEvents().add("wrong_macs", count=1)),
    "opened_unwatched": lambda _: _found(dealt().restart(off_s=5, lid_opened=True)),
    "restart": lambda _: _found(dealt().restart(off_s=5)),
    "gap": lambda _: _found(dealt().add("gap", first=1, last=1)),
    "journal": lambda _: _found(dealt().add("journal_fault", sector=7)),
    "clock": lambda _: _found(dealt().add("clock_set", before_unix_ms=START_UNIX_MS - 60_000)),
    "long_round": lambda _: _found(dealt().add("betting_closed").add("result", 121)),
    "long_reveal": lambda _: _found(midi().add("button", 61, button="reveal")),
    "rules": _rules,
    "sensor": lambda _: _found(dealt().add("clean_sensor", channel="b")),
    "unknown": _unknown,
    "away": lambda _: _absent(WAITING),
    "not_logged": lambda _: _absent(None),
    "replaced": _replaced,
    "unshuffled": _new_packs,
    "repeated": _dealt_twice,
    "silent": lambda _: {silent_now("U1", 3, 12, START_UNIX_MS).kind},
    "never": lambda _: {never_came("NOTHING", START_UNIX_MS, "nothing there").kind},
    "held": lambda _: {held_now("U1", 3, 12, START_UNIX_MS, "U1 holds 2 events").kind},
    "slow": lambda _: _paced(every_s=200),
    "fast": lambda _: _paced(every_s=11),
}
"""By the name of the kind: makes it, in a folder of its own, and returns what was found."""
