"""Looks through a log for incidents on all cores, in the spans of audit/spans.py.

A span may begin and end in the middle of a shoe of cards. Its records there are returned as they
are, and are looked through together with those of the next span. If the spans are not exactly what
one pass would read, because the file is not in order or is changed meanwhile, one pass is made.
"""

import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache  # a document that is not kept is asked for once, too

from sabot.audit.checks.chain_events import RawRecord
from sabot.audit.spans import Span, spans_of
from sabot.audit.workers import Workers, count_here, workers
from sabot.log.place import Place
from sabot.log.reveal import ShownGames
from sabot.log.store import Store, open_store
from sabot.notable.incident import Incident
from sabot.notable.incident_search import (
    MOST_TOGETHER,
    Decoded,
    Notable,
    Search,
    Wanted,
    decoded,
    shoes_in,
    shoes_of,
)


@dataclass(frozen=True, slots=True)
class Part:
    """What is notable in a span."""

    head: Sequence[RawRecord]
    """The first records: of a shoe of cards that may have begun before the span."""
    until: int | None
    """The time of the record after these; None if it has no clock."""
    shoes: Sequence[Notable | None]
    """What `Search.notable` found in each whole shoe of cards."""
    tail: Sequence[RawRecord] | None
    """The records of the last shoe of cards, which may go on after the span; None if no other one
    began in the span."""


def search_file(
    place: Place,
    units: Sequence[str],
    wanted: Wanted,
    progress: Callable[[int], None] = lambda count: None,
) -> tuple[dict[str, list[Incident]], int]:
    """Return the incidents of each of these units in the log at `place`, by event, and how many
    records cannot be read.

    `progress` is called now and then with the number of records looked through so far.
    """
    with open_store(place) as store:
        search = Search(wanted, ShownGames(cache(store.game)))
        spans = {unit: spans_of(store, unit) for unit in units}
        tasks = sum(map(len, spans.values()))
        if tasks < 2 or multiprocessing.cpu_count() < 2:
            done = 0

            def count(more: int) -> None:
                nonlocal done
                done += more
                progress(done)

            found = {unit: _in_one_pass(store, unit, search, count) for unit in units}
            return found, search.damaged
        with workers(tasks, progress) as pool:
            futures = {
                unit: pool.submit(_work_on_span, [(place, unit, wanted, span) for span in of_unit])
                for unit, of_unit in spans.items()
            }
            found = {unit: _joined(pool, store, unit, search, futures[unit]) for unit in units}
            return found, search.damaged


_Looked = tuple[Part, int] | None
"""What is notable in a span and how many records it has; None if one pass must be made."""


class NotAsOnePass(Exception):
    """Raised if the spans are not what one pass reads."""


def _joined(
    pool: Workers, store: Store, unit: str, search: Search, futures: Sequence[Future[_Looked]]
) -> list[Incident]:
    """The incidents of a unit, of whose spans each is looked through by a process."""
    damaged = search.damaged

    def parts() -> Iterator[Part]:
        for future in futures:
            looked = pool.result(future)
            if looked is None:
                raise NotAsOnePass
            yield looked[0]

    try:
        return search.found(unit, _in_order(unit, search, parts()))
    except NotAsOnePass:
        for future in futures:
            future.cancel()
        search.damaged = damaged
        pool.count(-sum(map(_rows_of, futures)))
        return _in_one_pass(store, unit, search, pool.count)


def _rows_of(future: Future[_Looked]) -> int:
    """How many records were counted for a span that was looked through."""
    if not future.done() or future.cancelled() or future.exception() is not None:
        return 0
    looked = future.result()
    return 0 if looked is None else looked[1]


def _in_order(unit: str, search: Search, parts: Iterable[Part]) -> Iterator[Notable | None]:
    """What is notable in all shoes of cards of a unit."""
    held: list[RawRecord] = []
    for part in parts:
        held += part.head
        if len(held) >= MOST_TOGETHER:
            raise NotAsOnePass
        if part.tail is not None:
            yield from notable_of_records(unit, search, held, part.until)
            yield from part.shoes
            held = [*part.tail]
    yield from notable_of_records(unit, search, held, None)


def notable_of_records(
    unit: str, search: Search, records: Sequence[RawRecord], until: int | None
) -> Iterator[Notable | None]:
    """What is notable in the shoes of cards of these records, which end before `until`."""
    for each in shoes_of([records], until):
        yield search.notable(unit, *each)


def _in_one_pass(
    store: Store, unit: str, search: Search, count: Callable[[int], None]
) -> list[Incident]:
    def counted() -> Iterator[Sequence[RawRecord]]:
        for rows in store.raw_chunks(unit):
            yield rows
            count(len(rows))

    return search.of_unit(unit, counted())


def _work_on_span(place: Place, unit: str, wanted: Wanted, span: Span) -> _Looked:
    done = 0

    def counted(records: Iterable[Sequence[RawRecord]]) -> Iterator[Sequence[RawRecord]]:
        nonlocal done
        for rows in records:
            yield rows
            done += len(rows)
            count_here(len(rows))

    with open_store(place) as store:
        search = Search(wanted, ShownGames(cache(store.game)))
        try:
            records = counted(records_of(store, unit, span))
            return part_of(unit, map(decoded, records), search), done
        except NotAsOnePass:
            count_here(-done)
            return None


def part_of(unit: str, records: Iterable[Decoded], search: Search) -> Part:
    """Look through the records of a span, which come some at a time."""
    head: list[RawRecord] = []
    until, tail, shoes = None, None, list[Notable | None]()
    begins = True
    for shoe, ends in shoes_in(records):
        if len(shoe.records) >= MOST_TOGETHER:
            raise NotAsOnePass
        if begins:
            head += shoe.records
            # Events without the number of a shoe of cards belong to the one before.
            until, begins = ends, shoe.number == 0
            continue
        if tail is not None:
            shoes.append(search.notable(unit, *tail))
        tail = shoe, ends
    return Part(head, until, shoes, None if tail is None else tail[0].records)


def records_of(store: Store, unit: str, span: Span) -> Iterator[Sequence[RawRecord]]:
    """The records of a span, some at a time. Raises NotAsOnePass if they do not begin with its
    first one, or if the first one of the next span does not follow them."""
    due, after = span.first, None if span.last is None else span.last + 1
    reached = False
    for rows in store.raw_chunks(unit, due, after):
        if rows:
            if reached or due not in (None, rows[0][0]):
                raise NotAsOnePass
            due, reached = None, after is not None and rows[-1][0] == after
            if reached:
                rows.pop()
        yield rows
    if due is not None or reached != (after is not None):
        raise NotAsOnePass
