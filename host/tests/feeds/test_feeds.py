"""Feeds over a log that grows, to receivers that fail: each message at least once, each unit's in
order, whatever is killed, lost or down meanwhile."""

import json
import random
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from host.tests.feeds.test_unit_messages import all_messages
from host.tests.support.brokers import MqttBroker, NatsServer, until
from host.tests.support.helpers import FirmwareLog, new_log, shuffled_names, stored
from host.tests.support.postgres import Database, Server, make_template
from host.tests.support.postgres import new_log as postgres_log
from host.tests.support.webhook_receiver import SECRET, Got, Handler, Receiver, hang, receiving
from sabot.errors import DiskFull
from sabot.feeds import delivery, plan, producer
from sabot.feeds.config import Config, Feed
from sabot.feeds.feeds import Feeds
from sabot.feeds.message import WHAT, Message, Position
from sabot.feeds.outbox import Outbox
from sabot.feeds.senders import webhook
from sabot.log.store import Store, open_store

_UNITS = ("SHOE-1", "SHOE-2", "SHOE-3")
_ALL = Feed("all", "webhook", "", frozenset(WHAT), None, None, None, (SECRET,), in_play=True)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing waits for long."""
    monkeypatch.setattr(plan, "_FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(plan, "_LONGEST_REFUSED_S", 0.2)
    monkeypatch.setattr(plan, "_LONGEST_FAILED_S", 0.2)


@pytest.fixture(scope="module")
def records() -> Sequence[bytes]:
    """One and a bit shoes of cards."""
    log = FirmwareLog().deal_shoe(shuffled_names(5))
    return log.deal_shoe(shuffled_names(6)).records[:1300]


@pytest.fixture
def store(tmp_path: Path, records: Sequence[bytes]) -> Iterator[Store]:
    """A log with some events of each unit."""
    with new_log(tmp_path / "log") as made:
        for unit in _UNITS:
            made.append(unit, stored(records[:400]))
        yield made


def _config(folder: Path, *feeds: Feed) -> Config:
    return Config(folder / "feeds.toml", feeds, None)


def _to(receiver: Receiver, **more: object) -> Feed:
    return replace(_ALL, address=receiver.address, **more)  # type: ignore[arg-type]


def _wanted(store: Store) -> dict[str, list[str]]:
    return {unit: [each.id for each in all_messages(store, unit)] for unit in store.units()}


def _by_unit(ids: Sequence[str]) -> dict[str, list[str]]:
    found = defaultdict(list)
    for id_ in dict.fromkeys(ids):
        found[id_.partition("/")[0]].append(id_)
    return dict(found)


def _grow(store: Store, records: Sequence[bytes], rng: random.Random) -> None:
    """Let all units have all events, some at a time."""
    at = dict.fromkeys(_UNITS, 400)
    while any(number < len(records) for number in at.values()):
        unit = rng.choice(_UNITS)
        upto = min(len(records), at[unit] + rng.randrange(1, 200))
        if upto > at[unit]:
            store.append(unit, stored(records[at[unit] : upto]))
            at[unit] = upto
            time.sleep(0.01)


@pytest.mark.slow
def test_a_receiver_that_fails_in_all_ways_has_all_in_order(
    tmp_path: Path, store: Store, records: Sequence[bytes], rng: random.Random
) -> None:
    def answer(handler: Handler, got: Got) -> None:
        luck = rng.random()
        if luck < 0.05:
            handler.drop()
        elif luck < 0.1:  # it has the message, and its answer is lost
            handler.receiver.taken.append(got)
            handler.drop()
        elif luck < 0.2:
            handler.say(rng.choice((500, 503, 429, 404, 302)))
        else:
            handler.take(got)

    with receiving(answer) as receiver, Feeds(store, _config(tmp_path, _to(receiver))):
        _grow(store, records, rng)
        wanted = _wanted(store)
        until(lambda: _by_unit(receiver.ids) == wanted, 60)
    bodies = defaultdict(set)
    for got in receiver.got:
        bodies[got.id].add(got.body)
    assert all(len(each) == 1 for each in bodies.values())


@pytest.mark.slow
def test_feeds_that_are_started_again_and_again_repeat_little_and_miss_nothing(
    tmp_path: Path, store: Store, records: Sequence[bytes], rng: random.Random
) -> None:
    with receiving() as receiver:
        config = _config(tmp_path, _to(receiver))
        for _ in range(6):
            with Feeds(store, config):
                time.sleep(rng.uniform(0, 0.4))
        with Feeds(store, config):
            _grow(store, records, rng)
            wanted = _wanted(store)
            until(lambda: _by_unit(receiver.ids) == wanted)
        assert len(receiver.taken) <= sum(map(len, wanted.values())) + 8 * 7
        before = len(receiver.taken)
        with Feeds(store, config) as feeds:
            until(lambda: feeds.deliveries[0].is_idle)
        assert len(receiver.taken) == before, "what was acknowledged is not sent again"


@pytest.mark.slow
def test_an_outbox_that_is_lost_is_made_again_with_the_same_ids_and_bytes(
    tmp_path: Path, store: Store, rng: random.Random
) -> None:
    with receiving() as receiver:
        config = _config(tmp_path, _to(receiver))
        for loss in ("none", "gone", "damaged"):
            if loss == "gone":
                config.outbox.unlink()
            elif loss == "damaged":
                config.outbox.write_bytes(rng.randbytes(9000))
            said: list[str] = []
            receiver.taken.clear()
            feeds = Feeds(store, config, said.append)
            assert feeds.deliver_all()
            feeds.stop()
            assert _by_unit(receiver.ids) == _wanted(store)
            assert bool(said) is (loss == "damaged")
    assert len({(got.id, got.body) for got in receiver.got}) == len({g.id for g in receiver.got})


@pytest.mark.slow
def test_a_feed_that_hangs_and_one_that_is_down_keep_no_other_waiting(
    tmp_path: Path, store: Store
) -> None:
    with receiving() as down:
        pass
    with receiving(hang) as slow, receiving() as good:
        config = _config(
            tmp_path, _to(slow, name="slow"), _to(down, name="down"), _to(good, name="good")
        )
        with Feeds(store, config) as feeds:
            until(lambda: _by_unit(good.ids) == _wanted(store))
            states = {each.feed.name: each.state for each in feeds.deliveries}
    assert states["good"].failing_since_s is None and states["good"].delivered > 50
    assert states["down"].failing_since_s is not None and "refused" in states["down"].why


@pytest.mark.slow
def test_410_stops_its_feed_and_no_other(tmp_path: Path, store: Store) -> None:
    said: list[str] = []
    with receiving(lambda handler, _: handler.say(410)) as gone, receiving() as good:
        config = _config(tmp_path, _to(gone, name="gone"), _to(good, name="good"))
        with Feeds(store, config, said.append) as feeds:
            until(lambda: _by_unit(good.ids) == _wanted(store))
            until(lambda: feeds.deliveries[0].state.stopped)
    assert len(gone.got) <= webhook.WebhookSender.width
    (line,) = [each for each in said if each.startswith("gone: stopped")]
    assert "410" in line


@pytest.mark.slow
def test_a_message_that_is_refused_keeps_its_unit_waiting_until_it_is_taken(
    tmp_path: Path, store: Store
) -> None:
    poison = all_messages(store, "SHOE-2")[3].id
    refuses = True

    def answer(handler: Handler, got: Got) -> None:
        if got.id == poison and refuses:
            handler.say(422)
        else:
            handler.take(got)

    wanted = _wanted(store)
    with receiving(answer) as receiver, Feeds(store, _config(tmp_path, _to(receiver))) as feeds:
        until(lambda: len(receiver.ids) == len(wanted["SHOE-1"]) + len(wanted["SHOE-3"]) + 3)
        until(lambda: feeds.deliveries[0].state.refused_units == 1)
        refuses = False
        until(lambda: _by_unit(receiver.ids) == wanted)


@pytest.mark.slow
def test_a_feed_has_what_its_filters_say(tmp_path: Path, store: Store) -> None:
    with receiving() as receiver:
        config = _config(
            tmp_path,
            _to(receiver, units=frozenset({"SHOE-2", "SHOE-9"}), what=frozenset({"shoes"})),
        )
        feeds = Feeds(store, config)
        assert feeds.deliver_all()
        feeds.stop()
    wanted = [each.id for each in all_messages(store, "SHOE-2") if each.what == "shoes"]
    assert receiver.ids == wanted and wanted


@pytest.mark.slow
def test_a_feed_since_a_time_has_what_the_log_received_from_then_on(
    tmp_path: Path, store: Store, records: Sequence[bytes]
) -> None:
    time.sleep(0.01)
    since = time.time_ns() // 1_000_000
    time.sleep(0.01)
    store.append("SHOE-1", stored(records[400:600]))
    wanted = [each.id for each in all_messages(store, "SHOE-1") if each.position.event > 400]
    for _ in range(2):  # also once the outbox is lost
        with receiving() as receiver:
            config = _config(tmp_path, _to(receiver, since_unix_ms=since))
            feeds = Feeds(store, config)
            assert feeds.deliver_all()
            feeds.stop()
            config.outbox.unlink()
        assert receiver.ids == wanted


@pytest.mark.slow
def test_a_feed_that_is_added_has_all_and_the_others_nothing_again(
    tmp_path: Path, store: Store
) -> None:
    with receiving() as first, receiving() as second:
        for feeds in ([_to(first)], [_to(first), _to(second, name="second")]):
            running = Feeds(store, _config(tmp_path, *feeds))
            assert running.deliver_all()
            running.stop()
    wanted = _wanted(store)
    assert _by_unit(second.ids) == wanted
    assert len(first.taken) == sum(map(len, wanted.values()))


@pytest.mark.slow
def test_a_small_outbox_loses_nothing_for_a_feed_that_was_down(
    tmp_path: Path, store: Store, records: Sequence[bytes], rng: random.Random
) -> None:
    """What was removed because the outbox was full is made of the log again."""
    is_down = True

    def answer(handler: Handler, got: Got) -> None:
        if is_down:
            handler.say(503)
        else:
            handler.take(got)

    with receiving(answer) as receiver, Feeds(store, _config(tmp_path, _to(receiver))) as feeds:
        _grow(store, records, rng)
        until(lambda: {each.up_to for each in feeds._outbox.spans().values()} == {len(records)})
        assert feeds._outbox.trim({}, most=20) > 50
        is_down = False
        until(lambda: _by_unit(receiver.ids) == _wanted(store))


@pytest.mark.slow
def test_a_log_with_another_history_is_not_fed_and_named(
    tmp_path: Path, store: Store, records: Sequence[bytes]
) -> None:
    said: list[str] = []
    with receiving() as receiver:
        config = _config(tmp_path, _to(receiver))
        feeds = Feeds(store, config)
        assert feeds.deliver_all()
        feeds.stop()
        with new_log(tmp_path / "other") as other:
            first = FirmwareLog(first_key=bytes(32)).deal_shoe(shuffled_names(9))
            other.append("SHOE-1", stored(first.records))
            other.append("SHOE-2", stored(records))
            before = len(receiver.taken)
            feeds = Feeds(other, config, said.append)
            assert not feeds.deliver_all()
            feeds.stop()
    assert {got.id.partition("/")[0] for got in receiver.taken[before:]} == {"SHOE-2"}
    (line,) = said
    assert line.startswith("SHOE-1: event 400 is another one") and "feeds.sqlite" in line


@pytest.mark.slow
def test_a_log_that_is_away_for_a_while_is_said_once_and_followed_again(
    tmp_path: Path, store: Store, records: Sequence[bytes]
) -> None:
    said: list[str] = []
    with receiving() as receiver, Feeds(store, _config(tmp_path, _to(receiver)), said.append):
        until(lambda: _by_unit(receiver.ids) == _wanted(store))
        (tmp_path / "log").rename(tmp_path / "away")
        until(lambda: said)
        time.sleep(0.6)
        (tmp_path / "away").rename(tmp_path / "log")
        store.append("SHOE-1", stored(records[400:]))
        until(lambda: _by_unit(receiver.ids) == _wanted(store))
    away, back = said
    assert "trying again" in away and back == "the log is followed again"


@pytest.mark.slow
def test_a_log_in_postgresql_is_fed_as_one_in_a_file(
    tmp_path: Path, database: Database, records: Sequence[bytes], rng: random.Random
) -> None:
    with new_log(tmp_path / "log") as in_file, new_log(database.place()) as store:
        for unit in _UNITS:
            store.append(unit, stored(records[:400]))
            in_file.append(unit, stored(records))
        time.sleep(0.01)
        since = time.time_ns() // 1_000_000
        with receiving() as receiver, receiving() as later:
            config = _config(tmp_path, _to(receiver), _to(later, name="later", since_unix_ms=since))
            made = [each for unit in _UNITS for each in all_messages(in_file, unit)]
            new = sum(each.position.event > 400 for each in made)
            with open_store(database.place("reader")) as read, Feeds(read, config):
                _grow(store, records, rng)
                until(lambda: _by_unit(receiver.ids) == _wanted(in_file))
                until(lambda: len(later.ids) == new)
        sent = {got.id: got.body for got in receiver.got}
        assert sent == {each.id: each.body for each in made}


@pytest.mark.slow
def test_a_database_server_that_is_killed_is_waited_for(
    tmp_path: Path, records: Sequence[bytes]
) -> None:
    said: list[str] = []
    with Server() as server:
        make_template(server)
        with postgres_log(server) as database, receiving() as receiver:
            with new_log(database.place()) as store:
                store.append("SHOE-1", stored(records[:400]))
                wanted = [each.id for each in all_messages(store, "SHOE-1")]
            config = _config(tmp_path, _to(receiver))
            with open_store(database.place("reader")) as read, Feeds(read, config, said.append):
                until(lambda: len(receiver.ids) >= len(wanted))
                server.kill()
                until(lambda: any("no PostgreSQL server" in line for line in said))
                server.start()
                with new_log(database.place()) as store:
                    store.append("SHOE-1", stored(records))
                    wanted = [each.id for each in all_messages(store, "SHOE-1")]
                until(lambda: receiver.ids == wanted)
    assert said[-1].endswith("again")


@pytest.mark.slow
def test_a_full_disk_of_the_outbox_sends_nothing_that_it_cannot_note(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_full = True
    advance = Outbox.advance

    def full(outbox: Outbox, feed: str, cursors: dict[str, Position]) -> None:
        if is_full:
            raise DiskFull("feeds.sqlite: the disk is full")
        advance(outbox, feed, cursors)

    monkeypatch.setattr(Outbox, "advance", full)
    monkeypatch.setattr(delivery, "_OWN_PAUSE_S", 0.02)
    said: list[str] = []
    with receiving() as receiver, Feeds(store, _config(tmp_path, _to(receiver)), said.append) as it:
        until(lambda: said)
        time.sleep(0.3)
        assert len(receiver.got) <= webhook.WebhookSender.width
        assert "disk is full" in it.deliveries[0].state.why
        is_full = False
        until(lambda: _by_unit(receiver.ids) == _wanted(store))
        until(lambda: it.deliveries[0].state.failing_since_s is None)
    assert len([line for line in said if "disk is full" in line]) == 1


@pytest.mark.slow
def test_what_all_feeds_have_leaves_the_outbox(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(producer, "_TRIM_EVERY", 1)
    with receiving() as receiver, receiving() as other:
        feeds = _to(receiver), _to(other, name="other", units=frozenset({"SHOE-1"}))
        with Feeds(store, _config(tmp_path, *feeds)) as running:
            until(lambda: _by_unit(receiver.ids) == _wanted(store))
            store.append("SHOE-1", stored(FirmwareLog().deal_shoe(shuffled_names(5)).records))
            store.append("SHOE-2", stored(FirmwareLog().deal_shoe(shuffled_names(5)).records))
            until(lambda: _by_unit(receiver.ids) == _wanted(store))

            def left() -> int:
                return sum(
                    len(running._outbox.after(unit, Position(0, 0), 10**6)) for unit in _UNITS
                )

            until(lambda: left() <= 2 * len(_UNITS))


@pytest.mark.slow
def test_webhook_nats_and_mqtt_get_the_same_messages(
    tmp_path: Path, store: Store, nats_server: NatsServer, mqtt_broker: MqttBroker
) -> None:
    nats_server.make_stream()
    wanted: dict[str, Message] = {
        each.id: each for unit in _UNITS for each in all_messages(store, unit)
    }
    with receiving() as receiver, mqtt_broker.subscribed() as came:
        config = _config(
            tmp_path,
            _to(receiver),
            replace(_ALL, name="bus", kind="nats", address=nats_server.address),
            replace(_ALL, name="lamps", kind="mqtt", address=mqtt_broker.address),
        )
        feeds = Feeds(store, config)
        assert feeds.deliver_all()
        feeds.stop()
        until(lambda: len(came) == len(wanted))
    bodies = {id_: each.body for id_, each in wanted.items()}
    assert {got.id: got.body for got in receiver.taken} == bodies
    stream = nats_server.messages()
    assert {headers["Nats-Msg-Id"]: body for _, headers, body in stream} == bodies
    assert {each.properties.UserProperty[0][1]: each.payload for each in came} == bodies
    for unit in _UNITS:
        order = [id_ for id_, each in wanted.items() if each.unit == unit]
        of_bus = [headers["Nats-Msg-Id"] for subject, headers, _ in stream if unit in subject]
        of_lamps = [json.loads(each.payload)["id"] for each in came if unit in each.topic]
        assert of_bus == of_lamps == order
