"""Whether a feed sends the rounds of a shoe of cards in play: the house's choice.

A program that gets each round as it ends can count what is left (log/reading/remainder.py). So a
feed has the rounds of a shoe of cards once that has ended, unless the house says
`in_play = true`. A feed that delivered before there was this choice goes on as it did, and a line
at its first start says so.
"""

from collections.abc import Callable
from dataclasses import replace

from sabot.feeds.config import Config, Feed
from sabot.feeds.message import ROUNDS, Position
from sabot.feeds.outbox import END, InPlay, Outbox
from sabot.log.reading.remainder import shoe_in_play
from sabot.log.store import Store


def decided(
    config: Config, outbox: Outbox, store: Store, report: Callable[[str], None]
) -> tuple[Feed, ...]:
    """Return the feeds of a configuration with their `in_play`. `report` gets a line for each that
    the house has not decided, once."""
    return tuple(_decided(each, config, outbox, store, report) for each in config.feeds)


def _decided(
    feed: Feed, config: Config, outbox: Outbox, store: Store, report: Callable[[str], None]
) -> Feed:
    before = outbox.in_play(feed.name)
    if feed.in_play is not None:
        sends = feed.in_play
    else:
        sends = before is not None and before.sends
    named = before is not None and before.named
    if ROUNDS in feed.what and feed.in_play is None and not named:
        report(f"{feed.name}: {_words(config, sends=sends)}")
        named = True
    if sends and before is not None and not before.sends:
        _go_back(feed, outbox, store)
    outbox.note_in_play(feed.name, InPlay(sends, named))
    return replace(feed, in_play=sends)


def _words(config: Config, *, sends: bool) -> str:
    name = config.path.name
    if sends:
        return (
            "goes on to send each round as it ends, while its shoe of cards is in play, which "
            f"tells what is left in it; say in {name} whether it shall: in_play = false, or true"
        )
    return (
        "sends the rounds of a shoe of cards once that has ended; "
        f"in_play = true in {name} sends each round as it ends"
    )


def _go_back(feed: Feed, outbox: Outbox, store: Store) -> None:
    """Let a feed that now sends them begin with the shoes of cards that are in play: their rounds
    so far were passed over."""
    back = {}
    for unit, cursor in outbox.cursors(feed.name).items():
        in_play = shoe_in_play(store, unit)
        if in_play is not None and cursor > (start := Position(in_play.first_event - 1, END)):
            back[unit] = start
    outbox.advance(feed.name, back)
