"""An adversary edits a good log; the verifier finds the edit from the events alone.

The log is one whole shoe of cards, dealt by the firmware's own code, and verified without a key.
The audit chain is tested in test_adversary.py, damaged bytes in test_verify_damage.py.
"""

import random
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from host.tests.support.helpers import FirmwareLog, Forgery, event_bytes, shuffled_names
from sabot.audit.play import rules
from sabot.link import wire
from sabot.link.events import Event
from sabot.log.rounds import rounds_of
from sabot.text import card_symbol
from sabot_firmware.table.dealing import KEY
from sabot_protocol import baccarat, cards, enums, events, games


@pytest.fixture
def log(good_log: list[bytes]) -> Forgery:
    """A copy of the good log, to be edited."""
    return Forgery(good_log)


def round_with(log: Forgery, player: int, banker: int, natural: bool = False) -> list[Event]:
    """The events of the first round in which the hands got these numbers of cards."""
    for first in log.all("betting_open"):
        dealt = [event for event in log.events() if event.round == first.round]
        drawn = Counter(event.fields["position"][0] for event in dealt if event.kind == "card")
        (result,) = [event for event in dealt if event.kind == "result"]
        if (drawn["p"], drawn["b"]) == (player, banker):
            if natural == (result.fields["player_natural"] or result.fields["banker_natural"]):
                return dealt
    raise AssertionError("no such round in this log")


def only(events: list[Event], kind: str, **fields: Any) -> Event:
    """The one event of `kind` with these fields."""
    (found,) = [
        event
        for event in events
        if event.kind == kind and fields.items() <= dict(event.fields).items()
    ]
    return found


def composition_finding(log: Forgery) -> tuple[int, str]:
    """The finding if a card contradicts the composition."""
    return only(log.events(), "composition").number, "cards"


def of_other_value(log: Forgery, card: int) -> int:
    """A card of another value, of which the log has fewer than eight. Not an ace: as the first card
    it allows any number of burn cards."""
    counts = Counter(event.fields["card"] for event in log.all("card"))
    value = rules.total([cards.name_of(card)])
    return next(
        other
        for other in range(cards.DECK_SIZE)
        if counts[other] < 8 and rules.total([cards.name_of(other)]) not in (value, 1)
    )


def test_a_good_log_has_no_findings_and_is_counted(log: Forgery) -> None:
    assert log.found() == []
    results = len(log.all("result"))
    assert results > 60
    assert (log.summary.events, log.summary.rounds) == (len(log.rows), results)


@pytest.mark.slow
def test_any_deleted_event_is_missing(log: Forgery, rng: random.Random) -> None:
    for number in rng.sample(range(1, len(log.rows)), k=30):
        forged = log.copy()
        forged.delete(number, number)
        expected = [(number, "missing")]
        if log.round_open_before(number):
            expected.append((number + 1, "incomplete"))
        assert forged.found() == expected, log.event(number)
        assert f"events {number} to {number} are not" in forged.detail(number, "missing")


@pytest.mark.slow
def test_any_deleted_range_is_missing(log: Forgery, rng: random.Random) -> None:
    for _ in range(30):
        first = rng.randrange(1, len(log.rows) - 1)
        last = min(first + rng.randrange(1, 100), len(log.rows) - 1)
        forged = log.copy()
        forged.delete(first, last)
        expected = [(first, "missing")]
        if log.round_open_before(first):
            expected.append((last + 1, "incomplete"))
        assert forged.found() == expected
        assert f"events {first} to {last} are not" in forged.detail(first, "missing")


def test_two_holes_are_two_findings(log: Forgery) -> None:
    dealt = round_with(log, 2, 2)
    log.delete(3, 4)
    log.delete(dealt[0].number, dealt[-1].number)
    assert log.found() == [(3, "missing"), (dealt[0].number, "missing")]


@pytest.mark.parametrize("position", ["player_1", "banker_1", "player_2", "banker_2"])
def test_a_changed_card_differs_from_total_or_decision(log: Forgery, position: str) -> None:
    dealt = round_with(log, 2, 2)
    card = only(dealt, "card", position=position)
    log.edit(card.number, card=of_other_value(log, card.fields["card"]))
    result = only(dealt, "result")
    assert set(log.found()) == {(result.number, "rules"), composition_finding(log)}
    hand = "Player" if position.startswith("player") else "Banker"
    assert f"{hand}'s total is" in log.detail(result.number, "rules")


@pytest.mark.parametrize("position", ["player_3", "banker_3"])
def test_a_changed_third_card_differs_from_the_total(log: Forgery, position: str) -> None:
    dealt = round_with(log, 3, 3)
    card, result = only(dealt, "card", position=position), only(dealt, "result")
    log.edit(card.number, card=of_other_value(log, card.fields["card"]))
    assert set(log.found()) == {(result.number, "rules"), composition_finding(log)}


@pytest.mark.parametrize("field", ["player_total", "banker_total"])
def test_a_changed_total_is_found(log: Forgery, field: str) -> None:
    result = only(round_with(log, 3, 2), "result")
    recorded = result.fields[field]
    log.edit(result.number, **{field: (recorded + 1) % 10})
    assert log.found() == [(result.number, "rules")]
    changed = (recorded + 1) % 10
    assert f"is {changed} in the log, {recorded} by the cards" in log.detail(result.number)


@pytest.mark.parametrize("winner", ["player", "banker", "tie"])
def test_a_changed_winner_is_found(log: Forgery, winner: str) -> None:
    for result in log.all("result"):
        if result.fields["winner"] != winner:
            break
    log.edit(result.number, winner=winner)
    assert log.found() == [(result.number, "rules")]
    assert f"winner is {winner} in the log" in log.detail(result.number)


@pytest.mark.parametrize("natural", [True, False])
@pytest.mark.parametrize("field", ["player_natural", "banker_natural"])
def test_a_changed_natural_is_found_for_each_hand(log: Forgery, field: str, natural: bool) -> None:
    result = only(round_with(log, 2, 2, natural), "result")
    log.edit(result.number, **{field: not result.fields[field]})
    assert log.found() == [(result.number, "rules")]
    assert f"{field[0].upper()}{field[1:6]}'s natural is" in log.detail(result.number)


def test_a_natural_of_the_wrong_hand_is_found(log: Forgery) -> None:
    for result in log.all("result"):
        if result.fields["player_natural"] != result.fields["banker_natural"]:
            break
    changed = {name: not result.fields[name] for name in ("player_natural", "banker_natural")}
    log.edit(result.number, **changed)
    assert log.found() == [(result.number, "rules")] * 2


@pytest.mark.parametrize("hand", ["player", "banker"])
@pytest.mark.parametrize(
    "change", [{"action": "natural"}, {"action": "stands"}, {"total": 9}, {"hand": "other"}]
)
def test_a_changed_decision_is_found(log: Forgery, hand: str, change: dict[str, Any]) -> None:
    dealt = round_with(log, 3, 3)
    decision, result = only(dealt, "decision", hand=hand), only(dealt, "result")
    if "hand" in change:
        change = {"hand": "banker" if hand == "player" else "player"}
    log.edit(decision.number, **change)
    assert log.found() == [(result.number, "rules")]
    assert "decision is" in log.detail(result.number)


def test_a_decision_turned_into_something_else_is_found(log: Forgery) -> None:
    dealt = round_with(log, 2, 2)
    log.replace(only(dealt, "decision", hand="player").number, "identified")
    assert log.found() == [(only(dealt, "result").number, "rules")]


def test_a_changed_margin_is_found(log: Forgery) -> None:
    result = only(round_with(log, 3, 2), "result")
    recorded = result.fields["margin"]
    log.edit(result.number, margin=recorded + 1)
    assert log.found() == [(result.number, "rules")]
    assert f"margin is {recorded + 1} in the log, {recorded} by the cards" in log.detail(
        result.number
    )


@pytest.mark.parametrize("hit", enums.HITS)
def test_a_hit_is_found_unless_the_cards_make_it(log: Forgery, hit: str) -> None:
    bit = 1 << enums.HITS.index(hit)
    expected = []
    for ended in rounds_of("U1", log.events()):
        if hit not in rules.hits(ended.player, ended.banker):
            expected.append((ended.last_event, "rules"))
        log.edit(ended.last_event, hits=bit)
    assert expected and log.found() == expected
    assert f"{hit.replace('_', ' ')} in the log, not by the cards" in log.detail(expected[0][0])


def test_a_hit_without_a_name_is_one_of_a_later_version_and_no_fault(log: Forgery) -> None:
    result = log.all("result")[3]
    log.edit(result.number, hits=1 << len(enums.HITS))
    assert log.found() == []


def test_another_game_than_the_rounds_before_had_is_found(log: Forgery) -> None:
    results = log.all("result")
    log.edit(results[5].number, game=b"\1" * 32)
    assert log.found() == [(result.number, "game") for result in results[5:7]]
    assert f"{'01' * 8} was dealt, {results[0].fields['game'].hex()[:16]} is in the shoe" in (
        log.detail(results[5].number)
    )


def test_another_game_than_the_one_that_was_loaded_is_found() -> None:
    firmware = FirmwareLog()
    firmware.record(events.GAME_LOADED, 0, 0, ("other", b"\2" * 32))
    log = Forgery(firmware.load().draw("AS", "2C", "9S", "KC", "KD", "7D").records)
    result = log.all("result")[0]
    assert log.found() == [(result.number, "game")]
    log.edit(log.all("game_loaded")[0].number, sha256=result.fields["game"])
    assert log.found() == []


def test_a_game_that_was_loaded_within_a_shoe_of_cards_is_found() -> None:
    firmware = FirmwareLog().load().draw("AS", "2C", "9S", "KC", "KD", "7D")
    sha256 = firmware.dealing.game.sha256
    firmware.record(events.GAME_LOADED, 1, 1, ("mini", sha256))
    log = Forgery(firmware.records)
    assert log.found() == [(log.all("game_loaded")[0].number, "game")]


@pytest.mark.parametrize("burn", ["by_first", "one", "none"])
@pytest.mark.parametrize("burn_ace", [1, 11])
def test_every_burn_rule_makes_a_good_log_and_a_missing_burn_card_is_found(
    burn: str, burn_ace: int
) -> None:
    game = baccarat.Game(games.encode({**baccarat.MINI, "burn": burn, "burn_ace": burn_ace}))
    firmware = FirmwareLog()
    firmware.dealing.change_game(game)
    count = {"by_first": 1 + burn_ace, "one": 1, "none": 0}[burn]
    firmware.load().draw(*(["AS"] + ["2C", "3D"] * 6)[:count], "9S", "KC", "KD", "7D")
    log = Forgery(firmware.records)
    assert log.found() == [] and log.summary.rounds == 1
    burned = [event for event in log.all("card") if event.fields["position"] == "burn"]
    assert len(burned) == {"by_first": burn_ace, "one": 1, "none": 0}[burn]
    if burned:
        log.edit(burned[0].number, position="not_due")
        assert log.found() == [(log.all("betting_open")[0].number, "rules")]
    if burn == "one":
        log.edit(log.all("burn")[0].number, count=2)
        assert (log.all("burn")[0].number, "rules") in log.found()


def test_a_changed_burn_count_is_found(log: Forgery) -> None:
    (burn,) = log.all("burn")
    log.edit(burn.number, count=burn.fields["count"] + 1)
    assert log.found() == [(burn.number, "rules")]
    assert f"{burn.fields['count'] + 1} cards to burn" in log.detail(burn.number)


def test_a_changed_first_card_differs_from_the_burn(log: Forgery) -> None:
    first = only(log.events(), "card", position="burn_first")
    log.edit(first.number, card=of_other_value(log, first.fields["card"]))
    (burn,) = log.all("burn")
    opened = log.all("betting_open")[0]
    assert log.found() == [
        (burn.number, "rules"),
        (opened.number, "rules"),
        composition_finding(log),
    ]


@pytest.mark.parametrize("become", ["identified", "not_due"])
def test_a_missing_burn_card_is_found(log: Forgery, become: str) -> None:
    burned = [event for event in log.all("card") if event.fields["position"] == "burn"]
    if become == "identified":
        log.replace(burned[0].number, "identified")
    else:
        log.edit(burned[0].number, position="not_due")
    found = log.found()
    assert found[0] == (log.all("betting_open")[0].number, "rules")
    assert "cards burned" in log.detail(found[0][0])
    counts_differ = [(log.all("shoe_ended")[0].number, "rules"), composition_finding(log)]
    assert found[1:] == (counts_differ if become == "identified" else [])


def test_swapped_positions_are_found(log: Forgery) -> None:
    dealt = round_with(log, 2, 2)
    first = only(dealt, "card", position="player_1").number
    second = only(dealt, "card", position="player_2").number
    log.edit(first, position="player_2")
    log.edit(second, position="player_1")
    result = only(dealt, "result").number
    assert log.found() == [(result, "rules")]
    assert "order is player_2, banker_1, player_1, banker_2" in log.detail(result)


def test_a_card_given_to_the_other_hand_is_found(log: Forgery) -> None:
    dealt = round_with(log, 3, 2)
    third = only(dealt, "card", position="player_3").number
    log.edit(third, position="banker_3")
    found = log.found()
    assert found and set(found) == {(only(dealt, "result").number, "rules")}


def test_the_ninth_copy_of_a_card_is_found(log: Forgery) -> None:
    """A card is swapped for one of the same value: only the number of decks shows it."""
    counts = Counter(event.fields["card"] for event in log.all("card"))
    complete = next(card for card, count in counts.items() if count == 8)
    same_rank = {complete % 13 + 13 * suit for suit in range(4)} - {complete}
    victim = next(event for event in log.all("card") if event.fields["card"] in same_rank)
    log.edit(victim.number, card=complete)
    copies = [event.number for event in log.all("card") if event.fields["card"] == complete]
    assert log.found() == [(copies[8], "cards"), composition_finding(log)]
    assert f"copy 9 of {cards.name_of(complete)}" in log.detail(copies[8])


def test_a_card_swapped_for_one_of_the_same_value_differs_from_the_composition(
    log: Forgery,
) -> None:
    counts = Counter(event.fields["card"] for event in log.all("card"))
    rare = next(card for card in range(cards.DECK_SIZE) if counts[card] < 8)
    same_rank = {rare % 13 + 13 * suit for suit in range(4)} - {rare}
    victim = next(event for event in log.all("card") if event.fields["card"] in same_rank)
    log.edit(victim.number, card=rare)
    assert log.found() == [composition_finding(log)]
    name = cards.name_of(rare)
    assert f"{counts[rare]} of {card_symbol(name)}, {counts[rare] + 1} in" in log.detail(
        composition_finding(log)[0]
    )


@pytest.mark.parametrize("change", ["one_less", "one_more", "short", "long"])
def test_a_changed_composition_is_found(log: Forgery, change: str) -> None:
    ended = only(log.events(), "composition")
    recorded = ended.fields["counts"]
    counts = {
        "one_less": bytes([recorded[0] - 1]) + recorded[1:],
        "one_more": bytes([recorded[0] + 1]) + recorded[1:],
        "short": recorded[:-1],
        "long": recorded + b"\0",
    }
    log.edit(ended.number, counts=counts[change])
    assert log.found() == [(ended.number, "cards")]


@pytest.mark.parametrize("field", ["unread", "expected"])
def test_changed_figures_of_a_composition_are_found(log: Forgery, field: str) -> None:
    ended = only(log.events(), "composition")
    log.edit(ended.number, **{field: ended.fields[field] + 1})
    assert log.found() == [(ended.number, "cards")]
    assert f"{ended.fields[field] + 1} {'unread' if field == 'unread' else 'cards'}" in log.detail(
        ended.number
    )


def test_a_composition_turned_into_something_else_is_found(log: Forgery) -> None:
    ended = only(log.events(), "composition")
    log.replace(ended.number, "identified")
    assert log.found() == [(ended.number, "cards")]
    assert "without its composition" in log.detail(ended.number)


def test_a_composition_before_the_end_of_a_shoe_is_found(log: Forgery) -> None:
    number = next(event.number for event in log.all("lock") if event.round > 5)
    log.replace(number, "composition")
    assert log.found() == [(number, "cards")]


@pytest.mark.parametrize("card", [cards.CUT_CARD, cards.TEST_CARD])
@pytest.mark.parametrize("position", ["burn_first", "burn", "player_1", "banker_2"])
def test_a_drawn_card_that_is_not_a_playing_card_is_found(
    log: Forgery, card: int, position: str
) -> None:
    number = next(e.number for e in log.all("card") if e.fields["position"] == position)
    log.edit(number, card=card)
    found = log.found()
    assert found[0] == (number, "cards")
    assert f"drawn as {position}" in log.detail(number)


def test_a_result_turned_into_something_else_leaves_the_round_incomplete(log: Forgery) -> None:
    results = log.all("result")
    log.replace(results[3].number, "identified")
    following = log.all("betting_open")[4].number
    (ended,) = log.all("shoe_ended")
    assert log.found() == [(following, "incomplete"), (ended.number, "rules")]
    assert f"{len(results)} rounds, the log has {len(results) - 1}" in log.detail(ended.number)


@pytest.mark.parametrize("field", ["rounds", "cards"])
@pytest.mark.parametrize("by", [1, -1])
def test_changed_counts_of_the_shoe_are_found(log: Forgery, field: str, by: int) -> None:
    (ended,) = log.all("shoe_ended")
    log.edit(ended.number, **{field: ended.fields[field] + by})
    assert log.found() == [(ended.number, "rules")]
    assert f"after {ended.fields[field] + by} {field}" in log.detail(ended.number)


def test_a_round_under_another_number_is_found(log: Forgery) -> None:
    for event in round_with(log, 2, 2):
        log.edit(event.number, round=event.round + 100)
    opened = next(event for event in log.all("betting_open") if event.round > 100)
    following = next(e for e in log.all("betting_open") if e.number > opened.number)
    assert log.found() == [(opened.number, "rules"), (following.number, "rules")]


def test_a_card_moved_into_another_round_is_found(log: Forgery) -> None:
    dealt = round_with(log, 2, 2)
    card = only(dealt, "card", position="banker_1")
    log.edit(card.number, round=card.round + 1)
    assert (card.number, "incomplete") in log.found()


def test_time_running_backwards_is_found(log: Forgery) -> None:
    event = log.event(100)
    log.edit(100, t_ms=log.event(99).t_ms - 1)
    assert log.found() == [(100, "time")]
    before_s = log.event(99).t_ms / 1000
    assert f"{before_s - 0.001:.3f} s after the start" in log.detail(100)
    assert f"the event before it {before_s:.3f} s" in log.detail(100)
    log.edit(100, t_ms=log.event(101).t_ms + 1)
    assert log.found() == [
        (100, "time"),
        (101, "time"),
    ]  # first the time of day, then the time since the start
    log.edit(100, t_ms=event.t_ms)
    assert log.found() == []


@pytest.mark.parametrize("by_ms", [-5 * 3_600_000, -1, 1, None])
def test_a_time_of_day_that_was_moved_is_found(log: Forgery, by_ms: int | None) -> None:
    event = next(event for event in log.all("card") if event.unix_ms is not None)
    log.edit(event.number, unix_ms=None if by_ms is None else (event.unix_ms or 0) + by_ms)
    assert log.found() == [(event.number, "time")]


def test_times_of_day_that_were_moved_together_are_found(log: Forgery) -> None:
    for number in range(100, 200):
        log.edit(number, unix_ms=(log.event(number).unix_ms or 0) - 60_000)
    found = log.found()
    assert found[0] == (100, "time") and {kind for _, kind in found} == {"time"}


def test_a_boot_running_backwards_is_found(log: Forgery) -> None:
    for number in range(1, 100):
        log.edit(number, boot=2)
    assert log.found() == [(100, "time")]
    assert "boot 1 after boot 2" in log.detail(100)


def test_a_gap_that_the_shoe_reports_is_a_gap_and_not_missing(log: Forgery) -> None:
    dealt = round_with(log, 2, 2)
    first, last = dealt[0].number, dealt[-1].number
    log.delete(first, last)
    number = len(log.events()) + last - first + 2
    log.append(event_bytes("gap", number, boot=2, first=first, last=last))
    assert log.found() == [(first, "gap")]
    assert "no host took them" in log.detail(first) and f"{first} to {last}" in log.detail(first)


@pytest.mark.parametrize(("later", "earlier"), [(1, 0), (0, 1)])
def test_missing_events_beyond_a_reported_gap_are_missing(
    log: Forgery, later: int, earlier: int
) -> None:
    dealt = round_with(log, 2, 2)
    first, last = dealt[0].number, dealt[-1].number
    number = len(log.rows) + 1
    log.delete(first, last)
    given = {"first": first + later, "last": last - earlier}
    log.append(event_bytes("gap", number, boot=2, **given))
    assert log.found() == [(first, "missing")]


def test_a_gap_of_events_that_are_in_the_log_is_not_a_finding(log: Forgery) -> None:
    log.append(event_bytes("gap", len(log.rows) + 1, boot=2, first=5, last=9))
    assert log.found() == []


def test_some_changes_cannot_be_found_without_a_key(log: Forgery) -> None:
    """The events alone do not show that the end was cut off, that the figures of a pass were
    changed, or, if the composition is cut off, that a card was swapped for one of the same value.
    """
    counts = Counter(event.fields["card"] for event in log.all("card"))
    rare = next(card for card in range(cards.DECK_SIZE) if counts[card] < 8)
    same_rank = {rare % 13 + 13 * suit for suit in range(4)} - {rare}
    victim = next(event for event in log.all("card") if event.fields["card"] in same_rank)
    log.edit(victim.number, card=rare, speed_mm_s=1)
    log.delete(len(log.rows) - 5, len(log.rows))
    assert log.found() == []


@pytest.mark.parametrize("after", range(13))
def test_a_restart_anywhere_within_a_shoe_of_cards_is_not_a_finding(after: int) -> None:
    """While burning, betting, dealing, and between rounds: dealing continues where it was."""
    hands = ("AS", "KH", "next", "7D", "7C", "TS", "2D", "next", "9H", "9D", "TC", "TD")
    log = FirmwareLog().load().draw(*hands[:after]).power_on().draw(*hands[after:])
    forged = ended_by_supervisor(log)
    assert forged.found() == []
    assert [event.fields["rounds"] for event in forged.all("shoe_ended")] == [2]
    assert len(forged.all("boot")) == 2 and forged.summary.rounds == 2


@pytest.mark.parametrize("decided", ["drawn_again", "7D", "void"])
def test_a_card_that_passed_during_a_loss_of_power_is_counted_as_decided(decided: str) -> None:
    log = FirmwareLog().load().draw("AS", "KH", "next").power_on(passing=True)
    log.draw(f"!{decided}")
    forged = ended_by_supervisor(log)
    assert forged.found() == []
    (composed,) = forged.all("composition")
    assert composed.fields["unread"] == (1 if decided == "void" else 0)
    (lost,) = forged.all("unreadable")
    forged.edit(lost.number, fault="foreign_set")
    assert {kind for _, kind in forged.found()} == {"rules", "cards"}


def test_a_loaded_game_is_still_valid_after_a_restart_within_a_shoe_of_cards(log: Forgery) -> None:
    firmware = FirmwareLog().load().draw("AS", "2C", "9S", "KC", "KD", "7D", "next").power_on()
    forged = Forgery(firmware.draw("9H", "KS", "KH", "7S").records)
    assert forged.found() == []
    forged.edit(forged.all("result")[1].number, game=b"\1" * 32)
    assert forged.found() == [(forged.all("result")[1].number, "game")]


def clock_notes(log: FirmwareLog) -> list[str]:
    """The notes about the clock of a log without findings."""
    forged = Forgery(log.records)
    assert forged.found() == []
    return [note.detail for note in forged.summary.notes if note.kind == "clock"]


def test_a_clock_that_was_set_far_back_or_ahead_is_a_note_and_not_a_finding() -> None:
    log = FirmwareLog()
    unix_ms = (wire.parse_event(log.records[-1]).unix_ms or 0) + 1000
    for by_ms, noted in (
        (-100_000, None),
        (500_000, "ahead by 500 s"),
        (-3_600_000, "back by 36"),
        (86_400_000, "ahead by 1 day 0 h"),
        (400 * 86_400_000, "ahead by 400 days 0 h"),
        (-400 * 86_400_000, "back by 400 days 0 h"),
    ):
        before = clock_notes(log)
        unix_ms += by_ms
        log.set_clock(unix_ms)
        notes = clock_notes(log)[len(before) :]
        assert (noted is None) == (notes == []), by_ms
        assert noted is None or noted in notes[0]
    assert "times before this event, since it was set before, are 400 days 0 h ahead" in notes[0]


def test_a_clock_that_starts_years_before_the_last_event_is_noted() -> None:
    log = FirmwareLog().power_on(clock=False)
    log.set_clock(86_400_000)  # the host's clock is in 1970
    assert ["back by" in each and "1970-01-02" in each for each in clock_notes(log)] == [True]


def test_rounds_without_a_time_of_day_are_noted() -> None:
    log = FirmwareLog().power_on(clock=False).load()
    log.draw("AS", "2C", "9S", "KC", "KD", "7D", "next", "9H", "KS", "KH", "7S")
    assert clock_notes(log) == ["2 rounds without a time of day: no host had set the clock"]


def irregular() -> FirmwareLog:
    """Cards not due, unreadable ones, voids, a burn at relief, a card too many."""
    log = FirmwareLog().load()
    log.draw(
        "4S", "2H", "blank", "!unseen", "?bad_code", "!KD", "?pushed_back", "!drawn_again", "AC"
    )
    log.draw("KS", "7H", "blank", "!void", "next")  # void: unreadable
    log.draw("9S", "QC", "?jam", "!KC", "?sensor_fault", "!drawn_again", "7D")  # a natural
    log.draw("5H", "key", "next", "?foreign_set", "!drawn_again", "?double_feed", "!2C", "!2D")
    log.draw("TC", "?reversed", "!TD", "3S", "4D", "?double_feed", "key", "!void")  # not due
    log.draw("end")
    return log


def test_irregular_shoes_of_the_firmware_have_no_findings() -> None:
    log = irregular().load()
    log.draw("?no_code", "!drawn_again", "AS", "?double_feed", "!2H", "!drawn_again")
    log.draw("TEST", "key", "AS", "CUT", "5S", "TS", "TC", "8C", "next")
    log.draw("9D", "?jam", "!CUT", "key", "9C", "JS", "JD", "key", "9H", "key")
    forged = Forgery(log.records)
    assert forged.found() == []
    assert [event.fields["unread"] for event in forged.all("composition")] == [4, 1]
    assert len(forged.all("result")) == 4 and len(forged.all("round_void")) == 1
    assert {e.fields["resolution"] for e in forged.all("resolved")} == {
        "entered", "drawn_again", "unseen", "void",
    }  # fmt: skip


def test_a_random_shoe_with_every_fault_has_no_findings(rng: random.Random) -> None:
    """The supervisor enters the card that was pulled, or decides in another allowed way."""
    log = FirmwareLog().load()
    deck = shuffled_names(rng.randrange(1000), cut_from_end=14)
    while not log.over():
        if log.betting_due():
            log.draw("next")
        if rng.random() > 0.1:
            log.draw(deck.pop(0))
            continue
        fault = rng.choice(enums.FAULTS[1:])
        log.draw(f"?{fault}")
        if fault in ("foreign_set", "pushed_back"):
            log.draw("!drawn_again")
            continue
        while log.dealing.pending.waits():
            burned = enums.POSITIONS[log.dealing.pending.position] == "burn"
            log.draw("!unseen" if burned and rng.random() < 0.5 else f"!{deck[0]}")
            deck.pop(0)
            if log.dealing.error and not log.dealing.pending.waits():
                log.draw("key")  # the second card of a double feed was not due
    forged = Forgery(log.records)
    assert len(forged.all("unreadable")) > 20
    assert forged.found() == []


def long_pass(log: FirmwareLog, card: str) -> FirmwareLog:
    """The pass of `card` before this seemed longer than one card."""
    values = (cards.number_of(card), 2000)
    log.record(events.LONG_PASS, log.dealing.shoe, log.dealing.round, values)
    return log


def long_passes() -> FirmwareLog:
    """Every pass seems long: within rounds, between them and after the last, of a card that ends a
    round or the shoe of cards, of the cut card, of one copy too many and of the test card."""
    log = FirmwareLog().load()
    names = ["AS", "2C", "next", "9S", "KC", "KD", "7D", "4S", "key", "next", *["9S"] * 4, "next"]
    names += [*["9S"] * 4, "!as_read", "TEST", "key", "next", "CUT", "9H", "KH", "8D", "7S"]
    for name in [*names, "key", "TD"]:
        log.draw(name)
        if name[0] != "!" and name not in ("next", "key"):
            long_pass(log, name)
    return log


def test_long_passes_are_accepted_after_every_kind_of_card() -> None:
    forged = Forgery(long_passes().records)
    nines = [event.number for event in forged.all("card") if event.fields["card"] == 47]
    assert forged.found() == [(nines[8], "cards")], "copy 9 of 9S"
    assert len(forged.all("long_pass")) > 20
    kinds = [event.kind for event in forged.events()]
    before = {kinds[n - 1] for n, kind in enumerate(kinds) if kind == "long_pass"}
    assert before >= {"card", "cut_card", "error", "lock", "burn"}, before
    after_the_end = kinds[kinds.index("shoe_ended") :]
    assert after_the_end.count("long_pass") == 2, "of the last card, and of one not due"


def test_a_long_pass_of_another_card_than_the_one_before_it_is_found() -> None:
    log = long_passes()
    good = Forgery(log.records)
    known = good.found()
    for event in good.all("long_pass"):
        forged = good.copy()
        forged.edit(event.number, card=(event.fields["card"] + 1) % 52)
        assert sorted({*forged.found()} - {*known}) == [(event.number, "cards")], event
        assert "passed before it" in forged.detail(event.number)


@pytest.mark.parametrize("between", ["?bad_code", "restart", "long", "by_hand"])
def test_a_long_pass_that_follows_no_pass_of_a_card_is_found(between: str) -> None:
    log = FirmwareLog().load().draw("AS", "2C", "next", "9S")
    if between == "restart":
        log.power_on()
    elif between == "long":
        long_pass(log, "9S")
    elif between == "by_hand":
        log.draw("?bad_code", "!9S")
    else:
        log.draw(between)
    forged = Forgery(long_pass(log, "9S").records)
    number = forged.all("long_pass")[-1].number
    assert [each for each in forged.found() if each[1] != "incomplete"] == [(number, "cards")]
    assert forged.detail(number) == "a long pass of 9♠, but no card passed before it"


def test_a_long_pass_after_missing_events_is_not_judged() -> None:
    log = long_pass(FirmwareLog().load().draw("AS", "2C", "next", "9S"), "9S").draw("KC")
    forged = Forgery(log.records)
    card = forged.all("card")[-2].number
    forged.delete(card, card)
    assert [kind for _, kind in forged.found()] == ["missing", "incomplete"]


def ended_by_supervisor(log: FirmwareLog) -> Forgery:
    """The log of a shoe of cards that the supervisor has ended."""
    log.act(log.dealing.switched(KEY, True))
    while not log.over():
        button = "burn" if log.dealing.asked else "void"
        log.act(log.dealing.pressed(enums.BUTTONS.index(button)))
    return Forgery(log.records)


_NINE_TO_SEVEN = ("9S", "KC", "KD", "7D")


def misdealt(*more: str) -> Forgery:
    """The log of a shoe of cards with two rounds, of which the first is a misdeal."""
    log = FirmwareLog().load().draw("AS", "2C", *_NINE_TO_SEVEN, "misdeal", "next")
    return Forgery(log.draw(*_NINE_TO_SEVEN, *more).records)


def test_a_misdeal_is_no_finding_also_after_the_end_of_the_shoe_of_cards() -> None:
    forged = misdealt("end", "misdeal")
    assert forged.found() == []
    assert [event.fields["reason"] for event in forged.all("round_void")] == ["misdeal"] * 2
    assert [event.fields["rounds"] for event in forged.all("shoe_ended")] == [1]
    log = FirmwareLog().load().draw("AS", "2C", "CUT", *_NINE_TO_SEVEN, "misdeal")
    forged = Forgery(log.load().draw("AS", "2C", *_NINE_TO_SEVEN).records)
    assert forged.found() == [] and forged.summary.rounds == 2


@pytest.mark.parametrize("reason", ["supervisor", "unreadable", "restart"])
def test_a_round_with_its_result_is_void_only_as_a_misdeal(reason: str) -> None:
    forged = misdealt()
    (event,) = forged.all("round_void")
    forged.edit(event.number, reason=reason)
    assert forged.found() == [(event.number, "rules")]
    assert "only a misdeal" in forged.detail(event.number)


def test_an_open_round_is_no_misdeal() -> None:
    log = FirmwareLog().load().draw("AS", "2C", "9S", "blank", "!void")
    forged = Forgery(log.records)
    (event,) = forged.all("round_void")
    forged.edit(event.number, reason="misdeal")
    assert forged.found() == [(event.number, "rules")]


def test_a_misdeal_without_the_key_or_of_no_last_round_is_found() -> None:
    forged = misdealt("misdeal")
    _, last = forged.all("round_void")
    key = [event for event in forged.all("key") if event.number < last.number][-1]
    forged.edit(key.number, on=False)
    assert forged.found() == [(last.number, "rules")]
    assert "without the supervisor's key" in forged.detail(last.number)
    forged = misdealt()
    (event,) = forged.all("round_void")
    (opened,) = [each for each in forged.all("betting_open") if each.number > event.number]
    forged.replace(event.number, "identified")  # moved to after the next round has opened
    forged.replace(opened.number + 1, "round_void")
    forged.edit(opened.number + 1, reason="misdeal", round=1)
    assert (opened.number + 1, "rules") in forged.found()


def test_a_second_misdeal_of_the_same_round_is_found() -> None:
    forged = misdealt("misdeal", "key")
    last = forged.all("key")[-1]
    forged.replace(last.number, "round_void")
    forged.edit(last.number, reason="misdeal")
    assert forged.found() == [(last.number, "rules")]
    assert "not the last round with a result" in forged.detail(last.number)


def ghosts(count: int) -> Forgery:
    """The log of a shoe of cards with so many ghost hands, and then an ordinary round."""
    log = FirmwareLog().load().draw("AS", "2C")
    for _ in range(count):
        log.draw("ghost", *_NINE_TO_SEVEN, "next")
    return Forgery(log.draw(*_NINE_TO_SEVEN, "end").records)


def test_ghost_hands_are_no_finding_and_are_counted() -> None:
    good = ghosts(3)
    marks = good.all("ghost_hand")
    assert good.found() == [] and [event.fields["count"] for event in marks] == [1, 2, 3]
    forged = ghosts(3)
    forged.edit(marks[1].number, count=1)
    assert forged.found() == [(marks[1].number, "rules")]
    assert "ghost hand 1, the log has 2" in forged.detail(marks[1].number)


def test_a_ghost_hand_that_was_marked_too_late_or_twice_is_found() -> None:
    good = ghosts(2)
    second = good.all("ghost_hand")[1]
    forged = ghosts(2)
    late = next(e for e in good.all("lock") if e.number > second.number)  # after its result
    forged.replace(late.number, "ghost_hand")
    forged.edit(late.number, count=3)
    assert forged.found() == [(late.number, "rules")]
    assert "its betting is not open" in forged.detail(late.number)
    forged = ghosts(2)
    forged.replace(second.number - 1, "ghost_hand")  # the second press of `reveal`
    forged.edit(second.number - 1, count=2)
    forged.edit(second.number, count=3)
    assert forged.found() == [(second.number, "rules")]
    assert "marked twice" in forged.detail(second.number)


@pytest.mark.parametrize("decision", ["as_read", "drawn_again", "void"])
def test_a_surplus_copy_that_the_shoe_stopped_for_is_found_once(decision: str) -> None:
    log = FirmwareLog().load().draw("TS", *["9S"] * 8, "2C", "3C")
    forged = ended_by_supervisor(log.draw("9S", f"!{decision}"))
    (ninth,) = [e.number for e in forged.all("card") if e.fields["card"] == 47][8:]
    assert forged.found() == [(ninth, "cards")]
    assert "copy 9 of 9S" in forged.detail(ninth)


def test_a_surplus_copy_that_was_entered_as_another_card_is_not_a_finding() -> None:
    log = FirmwareLog().load().draw("TS", *["9S"] * 8, "2C", "3C", "9S", "!8S")
    forged = ended_by_supervisor(log)
    assert len(forged.all("composition")) == 1 and forged.found() == []


@pytest.fixture
def by_hand() -> Forgery:
    """A log in which some cards were entered by hand."""
    return Forgery(irregular().records)


def test_a_card_entered_by_hand_without_its_mark_is_found(by_hand: Forgery) -> None:
    marked = [event for event in by_hand.all("card") if event.fields["by_hand"]]
    assert len(marked) >= 5
    for event in marked:
        forged = by_hand.copy()
        forged.edit(event.number, by_hand=False)
        assert forged.found() == [(event.number, "rules")]


def test_a_card_that_was_read_and_marked_as_entered_is_found(by_hand: Forgery) -> None:
    for event in by_hand.all("card"):
        if not event.fields["by_hand"]:
            forged = by_hand.copy()
            forged.edit(event.number, by_hand=True)
            assert forged.found() == [(event.number, "rules")]


def test_a_changed_or_removed_decision_of_the_supervisor_is_found(
    by_hand: Forgery,
) -> None:
    """Except a change that counts the same: `unseen` of a card that is not due, and `void`."""
    for event in by_hand.all("resolved"):
        for become in (*enums.RESOLUTIONS, None):
            if become == event.fields["resolution"]:
                continue
            if become is None and event.fields["resolution"] == "void":
                continue
            forged = by_hand.copy()
            if become is None:
                forged.replace(event.number, "identified")
            else:
                forged.edit(event.number, resolution=become)
            counts = counts_of(event.fields, event.fields["resolution"])
            found = {kind for _, kind in forged.found()}
            if counts == counts_of(event.fields, become):
                assert found == set(), (event, become)
            else:
                assert found and found <= {"rules", "cards"}, (event, become)


def counts_of(fields: Mapping[str, Any], resolution: str | None) -> tuple[bool, bool, bool]:
    """Whether a decision adds a card by hand, a card that never came out, a burned card."""
    stayed_in = fields["fault"] in ("double_feed", "jam", "sensor_fault")
    return (
        resolution == "entered",
        resolution == "drawn_again" and stayed_in,
        resolution == "unseen" and fields["position"] == "burn",
    )


@pytest.mark.parametrize("become", ["double_feed", "pushed_back"])
def test_a_fault_changed_to_one_that_counts_differently_is_found(
    by_hand: Forgery, become: str
) -> None:
    for event in by_hand.all("unreadable"):
        if event.fields["fault"] in ("no_code", "bad_code", "reversed", "jam", "sensor_fault"):
            forged = by_hand.copy()
            forged.edit(event.number, fault=become)
            assert {kind for _, kind in forged.found()} == {"rules", "cards"}, event
