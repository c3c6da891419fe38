"""Whether a shoe works at all: a minute on the simulator."""

from pathlib import Path

from sabot.games.baccarat import catalogue
from sabot.link.messages import IdentifyCommand
from sabot_hil.capabilities import Bench, Measure, Target, session_with
from sabot_hil.kit import dealer
from sabot_hil.kit.dealer import enter, load_cards
from sabot_hil.kit.logbook import check_taken

_ROUND = ["AC", "2C", "4C", "TD", "3H", "7S", "TC", "KD", "CUT"]
"""Two burned; then the Player's 7 against the Banker's 7, a tie without a third card."""
_LIKE_PLAYER = ["AC", "2C", "9C", "TD", "KH", "7S", "CUT"]
_LIKE_BANKER = ["AC", "2C", "TC", "9D", "KH", "QS", "6H", "CUT"]


def test_a_shoe_is_ready_soon_after_power_on_and_answers_a_host(
    target: Target, measure: Measure
) -> None:
    shoe, bench, clock = target.shoe, target.bench, target.clock
    target.power.off()
    bench.seen()
    begun_us = clock.now_us()
    target.power.on()
    ready_us = next(
        seen.t_us
        for seen in bench.seen()
        if seen.what == "display" and isinstance(seen.value, tuple) and any(seen.value)
    )
    asked_us = clock.now_us()
    with session_with(shoe) as client:
        answered_us = clock.now_us()
        assert client.unit == shoe.unit and client.welcome.reset_cause == "power_on"
        assert client.welcome.game in {game.name for game in catalogue.GAMES}
    if clock.measures_shoe:
        limit = {"at_most": 1700.0} if clock.emulated else {}
        measure("power to ready", (ready_us - begun_us) / 1000, "ms", **limit)
        measure("a host's hello to its answer", (answered_us - asked_us) / 1000, "ms")


def test_without_cards_the_lock_is_shut_and_the_display_says_what_to_do(bench: Bench) -> None:
    shown = bench.outputs
    assert not shown.lock_released and not shown.lamps and "LOAD CARDS" in shown.display


def test_a_round_is_dealt_shown_and_recorded(target: Target, tmp_path: Path) -> None:
    dealing = dealer.BenchDealer(target.bench, _ROUND)
    dealing.load()
    hand = dealing.deal_round()
    assert hand.winner == "tie"
    (ended,) = [each for each in check_taken(target, tmp_path) if each.winner]
    assert dealer.logged(ended) == hand.as_logged()


def test_the_lamp_of_the_winner_is_lit(bench: Bench) -> None:
    for cards, winner in ((_LIKE_PLAYER, "player"), (_LIKE_BANKER, "banker"), (_ROUND, "tie")):
        dealing = dealer.BenchDealer(bench, cards)
        dealing.load()
        assert dealing.deal_round().winner == winner  # the dealer checks the lamps
        dealer.end_shoe(bench)


def test_the_lock_follows_the_cards(bench: Bench) -> None:
    bench.switch("lid_open", True)
    assert not bench.outputs.lock_released
    bench.switch("lid_open", False)
    bench.seen()
    for card in _ROUND[:6]:
        assert bench.outputs.lock_released, f"the lock is shut before {card}"
        bench.pull(card)
    assert not bench.outputs.lock_released, "the round is over"
    moves = [change.value for change in bench.seen() if change.what == "lock_released"]
    # It may shut by itself while a card passes unwatched, and is open again before the next card.
    assert moves == [False, True] * (len(moves) // 2) + [False], "open from the first to the last"


def test_a_card_that_cannot_be_read_stops_play_until_the_supervisor_enters_it(
    target: Target, tmp_path: Path
) -> None:
    bench = target.bench
    load_cards(bench, "AC", "2C")
    bench.press("next")
    shown = bench.pull_unreadable()
    assert (shown.title, shown.lock_released, shown.lamps) == ("STOP", False, frozenset({"error"}))
    enter(bench, "9C")
    shown = bench.outputs
    assert shown.lock_released and "error" not in shown.lamps
    for card in ("TD", "KH", "7S"):
        bench.pull(card)
    (ended,) = [each for each in check_taken(target, tmp_path) if each.winner]
    assert (ended.player, ended.banker, ended.by_hand) == (("9C", "KH"), ("TD", "7S"), ("9C",))


def test_a_command_is_done_and_heard(target: Target) -> None:
    beeps = target.bench.outputs.beeps
    with session_with(target.shoe) as client:
        client.begin(1)
        client.ask(IdentifyCommand())
        target.bench.wait_for(lambda shown: shown.beeps == beeps + 1, "beeped")
