"""Messages of a unit whose board was replaced: none is left out, and no two have the same id."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from host.tests.support.boards import Boards
from host.tests.support.helpers import new_log
from sabot.feeds.config import Feed
from sabot.feeds.message import HELD_ROUNDS, ROUND_ENDED, WHAT, Message, Position
from sabot.feeds.outbox import Outbox
from sabot.feeds.producer import Producer
from sabot.feeds.unit_messages import Context
from sabot.log.store import Store


def _made(store: Store, outbox: Outbox, name: str) -> list[Message]:
    producer = Producer(
        Context(store), outbox, lambda unit: 0, lambda units: None,
        lambda line: None, with_incidents=True,
    )  # fmt: skip
    while producer.look():
        pass
    producer.close()
    made = outbox.after(name, Position(0, 0), 10_000)
    return [each for each in made if each.what != HELD_ROUNDS]


@pytest.mark.slow
def test_the_new_board_is_fed_from_its_first_event_with_ids_of_its_own(tmp_path: Path) -> None:
    two = Boards(2)
    with new_log(tmp_path / "log") as store, closing(Outbox(tmp_path / "outbox")) as outbox:
        store.append("U1", two.records(1)[:10])
        assert _made(store, outbox, "U1") == []  # it is new: it begins with its newest event
        store.append("U1", two.records(1)[10:])
        first = _made(store, outbox, "U1")
        store.keep_seam(two.seam(2))
        store.append("U1~2", two.records(2))
        second = _made(store, outbox, "U1~2")
    bodies = [json.loads(each.body) for each in (*first, *second)]
    assert len({each["id"] for each in bodies}) == len(bodies)
    assert {each["source"] for each in bodies} == {"urn:sabot:unit:U1"}
    assert {each["data"]["unit"] for each in bodies} == {"U1"}
    of_second = [json.loads(each.body) for each in second]
    assert {each["data"]["board_number"] for each in of_second} == {2}
    assert all(each["id"].startswith("U1%7E2/") for each in of_second)
    rounds = [each for each in of_second if each["type"] == ROUND_ENDED]
    assert len(rounds) == sum(record.event.kind == "result" for record in two.records(2))


def test_a_feed_of_a_unit_has_all_its_boards_and_one_of_a_board_only_that() -> None:
    def feed(*units: str) -> Feed:
        what = frozenset(WHAT)
        return Feed("a", "webhook", "https://x", what, frozenset(units), None, None, in_play=True)

    assert feed("U1").wants_unit("U1") and feed("U1").wants_unit("U1~2")
    assert not feed("U1").wants_unit("U10") and not feed("U10~2").wants_unit("U1~2")
    assert feed("U1~2").wants_unit("U1~2") and not feed("U1~2").wants_unit("U1")
