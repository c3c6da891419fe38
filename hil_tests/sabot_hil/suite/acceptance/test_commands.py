import time

import pytest

from sabot.errors import CommandRefused
from sabot.games.baccarat import catalogue
from sabot.link.client import Client
from sabot.link.events import Event, GameLoadedEvent
from sabot.link.messages import IdentifyCommand, SetClockCommand, StatusCommand
from sabot_hil.capabilities import Target, session_with
from sabot_hil.kit import dealer
from sabot_hil.kit.waiting import wait_until
from sabot_protocol.baccarat import Game


def _events(client: Client, until: str) -> list[Event]:
    events: list[Event] = []

    def receive() -> None:
        events.extend(record.event for record in client.receive(0.2).records)

    came = wait_until(lambda: bool(events) and events[-1].kind == until, 20, receive)
    assert came, f"no {until} among {[event.kind for event in events]}"
    return events


def test_the_clock_is_carried_by_every_event_after_it_was_set(target: Target) -> None:
    with session_with(target.shoe) as client:
        client.begin(1)
        now_ms = time.time_ns() // 1_000_000
        client.ask(SetClockCommand(now_ms))
        target.bench.press("next")
        events = _events(client, "button")
        started = [event for event in events if event.kind == "boot"][-1]
        after = events[events.index(started) + 1 :]
        assert started.unix_ms is None
        assert [event.kind for event in after] == ["clock_set", "button"]
        for event in after:
            assert event.unix_ms is not None and 0 <= event.unix_ms - now_ms < 5000


def test_a_clock_before_the_project_began_is_refused_with_the_reason(target: Target) -> None:
    with session_with(target.shoe) as client:
        with pytest.raises(CommandRefused, match="time is past"):
            client.ask(SetClockCommand(1_000_000))


def test_status_shows_the_state_of_the_dealing(target: Target) -> None:
    dealing = dealer.BenchDealer(target.bench, dealer.shuffled_shoe(1))
    dealing.load()
    with session_with(target.shoe) as client:
        status = client.ask(StatusCommand())
    assert status.lock_released and status.shoe == 1 and status.round == 1
    assert status.heap_used > 0 and status.heap_free > 0 and status.cards >= 2


def test_identify_beeps_and_is_recorded(target: Target) -> None:
    beeps = target.bench.outputs.beeps
    with session_with(target.shoe) as client:
        client.begin(1)
        client.ask(IdentifyCommand())
        target.bench.wait_for(lambda seen: seen.beeps == beeps + 1, "beeped")
        assert _events(client, "identified")


def test_events_that_are_acknowledged_can_be_read_again(target: Target) -> None:
    with session_with(target.shoe) as client:
        client.begin(1)
        target.bench.press("next")
        first = _events(client, "button")
        client.acknowledge()
    with session_with(target.shoe) as client:
        client.begin(len(first) + 1)
        client.read_again(1)
        assert _events(client, "button") == first


def test_a_host_that_has_fewer_events_than_another_had_gets_what_is_still_held(
    target: Target,
) -> None:
    with session_with(target.shoe) as client:
        client.begin(1)
        target.bench.press("next")
        first = _events(client, "button")
        client.acknowledge()
    with session_with(target.shoe) as client:
        client.begin(1)
        assert _events(client, "button") == first


def test_events_that_are_not_held_are_refused(target: Target) -> None:
    with session_with(target.shoe) as client, pytest.raises(CommandRefused, match="is not held"):
        client.read_again(10**6)


def test_a_game_is_loaded_between_shoes_and_survives_a_restart(target: Target) -> None:
    document = catalogue.document("ez-midi")
    with session_with(target.shoe) as client:
        client.begin(1)
        client.load_game(document)
        loaded = _events(client, "game_loaded")[-1]
        assert isinstance(loaded, GameLoadedEvent)
    target.power.off()
    target.power.on()
    with session_with(target.shoe) as client:
        assert client.welcome.game == "ez-midi" == loaded.game
        assert client.welcome.game_sha256 == loaded.sha256 == Game(document).sha256


def test_a_game_is_refused_while_a_shoe_of_cards_is_in_play_and_where_it_is_damaged(
    target: Target,
) -> None:
    document = catalogue.document("ez-mini")
    with session_with(target.shoe) as client:
        with pytest.raises(CommandRefused, match="game document"):
            client.load_game(document[:-1])
        dealer.BenchDealer(target.bench, dealer.shuffled_shoe(1)).load()
        with pytest.raises(CommandRefused, match="between shoes"):
            client.load_game(document)
    with session_with(target.shoe) as client:
        assert client.welcome.game == "mini"
