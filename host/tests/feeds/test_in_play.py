"""A feed has the rounds of a shoe of cards once that has ended, unless the house says otherwise;
one that was configured before there was the choice goes on, and says so once."""

import json
import random
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from host.tests.feeds.test_unit_messages import busy_log
from host.tests.support.boards import Boards
from host.tests.support.helpers import FirmwareLog, new_log, shuffled_names, stored
from sabot.feeds import pull
from sabot.feeds.config import Config, Feed
from sabot.feeds.feeds import Feeds
from sabot.feeds.message import HELD_ROUNDS, ROUNDS, WHAT, Message, Position
from sabot.feeds.senders.sending import DELIVERED, Outcome
from sabot.feeds.unit_messages import Context, messages_between
from sabot.log.store import Store
from sabot_firmware.table.dealing import Dealing
from sabot_firmware.table.shoe_of_cards import BETWEEN
from sabot_protocol import baccarat, games

_NEW = Feed("crm", "webhook", "https://x", frozenset(WHAT), None, None, None)
_ON = replace(_NEW, in_play=True)
_OFF = replace(_NEW, in_play=False)
_START, _END = Position(0, 0), 1 << 60


class _Taken:
    """A receiver that takes everything."""

    width = 4

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def deliver(self, messages: Sequence[Message]) -> list[Outcome]:
        """Take them."""
        self.messages += messages
        return [DELIVERED for _ in messages]

    def cancel(self) -> None:
        """Nothing is under way."""

    def close(self) -> None:
        """Nothing is open."""

    def rounds(self) -> list[tuple[int, int]]:
        """Shoe and number of the rounds that it got."""
        found = [json.loads(each.body) for each in self.messages]
        return [
            (each["data"]["shoe"], each["data"]["round"])
            for each in found
            if each["type"] == "sabot.round.ended"
        ]


def _fed(store: Store, folder: Path, feed: Feed) -> tuple[_Taken, list[str]]:
    """What a feed delivers of all that is in the log now, and what it says."""
    taken, said = _Taken(), list[str]()
    config = Config(folder / "feeds.toml", (feed,), None)
    feeds = Feeds(store, config, said.append, lambda _: taken)
    try:
        assert feeds.deliver_all()
    finally:
        feeds.stop()
    return taken, said


def _dealt(log: FirmwareLog, rounds: int, seed: int) -> FirmwareLog:
    """Load, and deal some rounds."""
    log.load()
    for name in shuffled_names(seed):
        if log.dealing.phase == BETWEEN and log.dealing.round == rounds:
            break
        while log.betting_due():
            log.draw("next")
            if log.dealing.current_round.card_first:
                break
        log.draw(name)
    return log


def test_rounds_of_a_shoe_of_cards_in_play_come_once_it_has_ended(tmp_path: Path) -> None:
    log = _dealt(FirmwareLog(), 5, 3)
    with new_log(tmp_path / "log") as store:
        store.append("U", stored(log.records))
        at_once, _ = _fed(store, _folder(tmp_path, "on"), _ON)
        held, _ = _fed(store, _folder(tmp_path, "off"), _NEW)
        assert len(at_once.rounds()) == 5 and held.rounds() == []
        assert [each.id for each in held.messages] == [
            each.id for each in at_once.messages if each.what != ROUNDS
        ]
        so_far = len(log.records)
        log.draw("end")
        store.append("U", stored(log.records[so_far:]))
        more, _ = _fed(store, tmp_path / "off", _NEW)
        assert more.rounds() == at_once.rounds()
        bodies = {each.id: each.body for each in at_once.messages}
        assert [bodies[each.id] for each in more.messages if each.what == HELD_ROUNDS] == [
            each.body for each in at_once.messages if each.what == ROUNDS
        ]


def test_two_shoes_that_differ_only_in_cards_of_rounds_look_alike_while_they_are_in_play(
    tmp_path: Path,
) -> None:
    seen = []
    for name, banker in (("one", "KD"), ("other", "QD")):
        log = FirmwareLog().load().draw("AC", "2H", "next", "9C", banker, "TD", "9H")
        with new_log(tmp_path / f"{name}.log") as store:
            store.append("U", stored(log.records))
            taken, _ = _fed(store, _folder(tmp_path, name), _NEW)
            seen.append([each.body for each in taken.messages])
    assert seen[0] == seen[1] and seen[0]


def test_the_messages_are_the_same_from_any_place_and_each_round_comes_once(
    tmp_path: Path, rng: random.Random
) -> None:
    log = busy_log(rng, shoes=2)
    with new_log(tmp_path / "log") as store:
        store.append("U", stored(log.records))
        made = [*messages_between(Context(store), "U", _START, _END, with_held=True)]
        assert [each.position for each in made] == sorted(each.position for each in made)
        assert [each for each in made if each.what != HELD_ROUNDS] == [
            *messages_between(Context(store), "U", _START, _END)
        ]
        held = [(each.id, each.body) for each in made if each.what == HELD_ROUNDS]
        assert held == [(each.id, each.body) for each in made if each.what == ROUNDS]
        for at in [0, *rng.sample(range(len(made)), 12)]:
            position = made[at].position
            again = messages_between(Context(store), "U", position, _END, with_held=True)
            assert [*again] == made[at + 1 :], position


def test_a_shoe_of_cards_whose_end_is_lost_has_ended_when_the_next_one_is_loaded(
    tmp_path: Path,
) -> None:
    log = _dealt(FirmwareLog(), 3, 3)
    log.draw("end")
    first = next(n for n in range(len(log.records), 0, -1) if _kind(log, n) == "shoe_ended")
    log.lose(first, len(log.records))
    _dealt(log, 2, 4)
    with new_log(tmp_path / "log") as store:
        store.append("U", stored(log.records))
        taken, _ = _fed(store, _folder(tmp_path, "off"), _OFF)
        assert {shoe for shoe, _ in taken.rounds()} == {1} and len(taken.rounds()) == 3


def test_a_shoe_that_counts_from_1_again_is_not_taken_for_the_one_that_ended(
    tmp_path: Path,
) -> None:
    log = _dealt(FirmwareLog(), 2, 3).draw("end")
    log.dealing = Dealing(games.game_of(baccarat.document_of(baccarat.MINI_NAME)), 0, 0)
    _dealt(log.power_on(), 3, 4)
    with new_log(tmp_path / "log") as store:
        store.append("U", stored(log.records))
        taken, _ = _fed(store, _folder(tmp_path, "off"), _OFF)
        assert taken.rounds() == [(1, 1), (1, 2)]


def test_a_feed_that_delivered_before_goes_on_and_says_so_once(tmp_path: Path) -> None:
    log = _dealt(FirmwareLog(), 3, 3)
    folder = _folder(tmp_path, "house")
    with new_log(tmp_path / "log") as store:
        store.append("U", stored(log.records[:30]))
        _fed(store, folder, _ON)
        with closing(sqlite3.connect(folder / "feeds.sqlite")) as outbox:  # as 0.2 left it
            outbox.execute("DROP TABLE in_play")
            outbox.execute("DELETE FROM messages WHERE what = 'held_rounds'")
            outbox.commit()
        store.append("U", stored(log.records[30:]))
        taken, said = _fed(store, folder, _NEW)
        assert taken.rounds() and len(said) == 1
        assert said[0].startswith("crm: goes on to send each round as it ends")
        assert "in_play = false" in said[0] and "feeds.toml" in said[0]
        assert _fed(store, folder, _NEW)[1] == []
        _, of_new = _fed(store, folder, replace(_NEW, name="new"))
        assert of_new[0].startswith("new: sends the rounds of a shoe of cards once that has ended")
        assert _fed(store, folder, replace(_NEW, name="new"))[1] == []


@pytest.mark.parametrize("feed", [_ON, _OFF, replace(_NEW, what=frozenset({"shoes"}))])
def test_nothing_is_said_of_a_feed_that_the_house_has_decided(tmp_path: Path, feed: Feed) -> None:
    with new_log(tmp_path / "log") as store:
        store.append("U", stored(_dealt(FirmwareLog(), 2, 3).records))
        assert _fed(store, _folder(tmp_path, "house"), feed)[1] == []


def test_no_round_is_passed_over_when_the_house_turns_it_on_or_off(tmp_path: Path) -> None:
    log = _dealt(FirmwareLog(), 3, 3)
    folder = _folder(tmp_path, "house")
    with new_log(tmp_path / "log") as store:
        store.append("U", stored(log.records))
        assert _fed(store, folder, _OFF)[0].rounds() == []
        assert len(_fed(store, folder, _ON)[0].rounds()) == 3
        assert _fed(store, folder, _OFF)[0].rounds() == []
        so_far = len(log.records)
        log.draw("end")
        store.append("U", stored(log.records[so_far:]))
        assert len(_fed(store, folder, _OFF)[0].rounds()) == 3, "again, with the same ids"


@pytest.mark.parametrize("fed_before", [True, False])
def test_the_rounds_of_a_board_that_was_replaced_in_play_come_with_the_new_board(
    tmp_path: Path, fed_before: bool
) -> None:
    two = Boards(2, shoes=1)
    _dealt(two.logs[0], 3, 9)
    folder = _folder(tmp_path, "house")
    with new_log(tmp_path / "log") as store:
        store.append("U1", two.records(1))
        before = _fed(store, folder, _OFF)[0].rounds() if fed_before else []
        assert {shoe for shoe, _ in before} == ({1} if fed_before else set())
        store.keep_seam(two.seam(2))
        store.append("U1~2", two.records(2))
        taken, _ = _fed(store, folder, _OFF)
        of_first = [each for each in taken.messages if each.unit == "U1"]
        assert [shoe for shoe, _ in before + taken.rounds()].count(2) == 3
        assert {each.what for each in of_first if '"shoe":2' in each.body.decode()} >= {HELD_ROUNDS}
        assert _fed(store, folder, _OFF)[0].messages == []


def test_missing_rounds_are_not_those_of_a_shoe_of_cards_in_play(tmp_path: Path) -> None:
    log = _dealt(FirmwareLog(), 3, 3).draw("end")
    _dealt(log, 2, 4)
    token = "a token of the tests, long"
    counts = {}
    with new_log(tmp_path / "log") as store:
        store.append("U", stored(log.records))
        for feed in (_ON, _OFF, _NEW):
            app = pull.make_app((replace(feed, token=token),), Context(store))
            asking = TestClient(app, headers={"authorization": f"Bearer {token}"})
            for after in (0, 40):
                answer = asking.get(f"/feeds/crm/rounds?unit=U&after={after}")
                shoes = {each["data"]["shoe"] for each in answer.json()}
                counts[feed.in_play, after] = len(answer.json()), "next" in answer.links
                assert shoes == ({1, 2} if feed.in_play else {1})
    assert counts[True, 0] == (5, False)
    assert counts[False, 0] == counts[None, 0] == (3, False)


def _folder(parent: Path, name: str) -> Path:
    (parent / name).mkdir()
    return parent / name


def _kind(log: FirmwareLog, number: int) -> str:
    (record,) = stored([log.records[number - 1]])
    return record.event.kind
