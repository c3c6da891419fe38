"""Every kind of incident from events typed by hand, and no incident from a regular evening."""

import random

import pytest

from host.tests.support.dealt_events import DealtEvents, kept_games
from host.tests.support.helpers import shuffled_names
from host.tests.support.typed_events import (
    GAMES,
    START_UNIX_MS,
    TypedEvents,
    dealt,
    midi,
)
from sabot.audit.checks.findings import Finding
from sabot.games.baccarat import catalogue
from sabot.notable.incident import Incident
from sabot.notable.incident_finder import IncidentFinder, incidents_of
from sabot.notable.kinds import KINDS
from sabot.table_time import zone_of
from sabot_firmware.table.dealing import KEY, LID
from sabot_protocol import baccarat as baccarat_game
from sabot_protocol import cards, enums


def test_an_incident_says_where_to_look() -> None:
    log = dealt().add("card", card="7H", position="player_1", by_hand=True)
    assert incidents_of("U1", log.events) == [
        Incident("U1", "by_hand", 3, 3, 12, 1, 3000, START_UNIX_MS + 3000, False, None, False,
                 "7♥ as player 1")
    ]  # fmt: skip
    (only,) = incidents_of("U1", log.events)
    assert only.as_json(zone_of("Europe/Malta")) == {
        "unit": "U1", "kind": "by_hand", "event": 3, "shoe": 3, "round": 12,
        "time": "2026-11-18T12:06:43.000+01:00", "reckoned": False, "boot": 1, "t_ms": 3000,
        "lasted_ms": None, "stands": False, "detail": "7♥ as player 1", "nearest": None,
        "board_number": 1,
    }  # fmt: skip


def test_a_regular_shoe_of_cards_has_no_incidents() -> None:
    events = DealtEvents(START_UNIX_MS).deal(shuffled_names(5))
    assert sum(event.kind == "result" for event in events) > 70
    assert incidents_of("U1", events) == []


def test_incidents_in_the_firmwares_own_dealing() -> None:
    table = DealtEvents(START_UNIX_MS)
    dealing = table.dealing
    next_, burn, reveal, void = map(enums.BUTTONS.index, ("next", "burn", "reveal", "void"))

    def by_key(*buttons: int) -> None:
        table.act(dealing.switched(KEY, True))
        for button in buttons:
            table.act(dealing.pressed(button))
        table.act(dealing.switched(KEY, False))

    table.deal(["AS", "2C", "4H"])
    table.act(dealing.pass_failed(enums.FAULTS.index("bad_code")))
    by_key(next_, next_, burn, reveal)  # ace, then 2; clubs; accept
    table.act(dealing.switched(LID, True))
    table.act(dealing.switched(LID, False))
    by_key()
    by_key(void)
    by_key(void, burn)
    found = incidents_of("SHOE-7", table.events)
    cleared = "cleared with the supervisor's key"
    assert [(each.kind, each.round, each.detail) for each in found] == [
        ("error", 1, f"unreadable (bad code); entered from its face; {cleared}"),
        ("by_hand", 1, "2♣ as banker 1"),
        ("lid", 1, "lid open with a shoe of cards in play"),
        ("error", 1, f"lid opened; {cleared}"),
        ("void", 1, "by the supervisor"),
        ("ended_early", 1, "ended by the supervisor after 0 rounds"),
    ]


def test_an_error_has_a_length_and_an_end() -> None:
    log = dealt()
    log.add("unreadable", fault="bad_code", position="player_2")
    log.add("error", error="unreadable", fault="bad_code")
    log.add("key", 30, on=True).add("button", button="next").add("button", button="reveal")
    log.add("resolved", error="unreadable", fault="bad_code", position="player_2")
    log.add("error_cleared", 0.5, error="unreadable")
    assert log.found("error") == [
        (4, 33_500,
         "unreadable (bad code); entered from its face; cleared with the supervisor's key")
    ]  # fmt: skip


@pytest.mark.parametrize("resolution", enums.RESOLUTIONS)
def test_every_resolution_is_in_the_detail(resolution: str) -> None:
    log = dealt().add("key", on=True).add("error", error="surplus_copy", card="7H")
    log.add("resolved", error="surplus_copy", position="banker_1", resolution=resolution)
    log.add("error_cleared", error="surplus_copy")
    ((event, lasted_ms, detail),) = log.found("error")
    texts = {
        "entered": "entered from its face", "as_read": "taken as read",
        "drawn_again": "drawn again", "unseen": "left unseen", "void": "round voided",
    }  # fmt: skip
    assert (event, lasted_ms) == (4, 2000)
    assert detail == f"surplus copy 7♥; {texts[resolution]}; cleared with the supervisor's key"


@pytest.mark.parametrize("error", enums.ERRORS[1:])
def test_every_error_is_an_incident(error: str) -> None:
    log = dealt().add("error", error=error).add("key", on=True)
    log.add("error_cleared", error=error)
    ((_, lasted_ms, detail),) = log.found("error")
    assert lasted_ms == 2000
    assert detail == f"{error.replace('_', ' ')}; cleared with the supervisor's key"


def test_an_error_cleared_without_the_key_says_so() -> None:
    log = dealt().add("error", error="test_card", card="TEST")
    said = "test card; cleared; whether with the supervisor's key is not in the log"
    assert log.add("error_cleared", error="test_card").found("error") == [(3, 1000, said)]
    log = dealt().add("key", on=True).add("key", on=False).add("error", error="test_card")
    said = "test card; cleared although the supervisor's key was not on"
    assert log.add("error_cleared", error="test_card").found("error") == [(5, 1000, said)]


def test_an_error_during_another_one_ends_with_it() -> None:
    log = dealt().add("error", error="sensor_fault", fault="sensor_fault")
    log.add("error", 10, error="samples_lost").add("key", 5, on=True)
    log.add("error_cleared", 0, error="sensor_fault")
    cleared = "cleared with the supervisor's key"
    assert log.found("error") == [
        (3, 15_000, f"sensor fault (sensor fault); {cleared}"),
        (4, 5_000,
         f"samples lost, while not cleared: sensor fault (sensor fault); {cleared}"),
    ]  # fmt: skip


def test_an_error_that_is_not_cleared_is_not_over() -> None:
    log = dealt().add("error", error="samples_lost").add("button", 90, button="next")
    (error,) = incidents_of("U1", log.events)
    assert (error.stands, error.lasted_ms, error.detail) == (True, 90_000, "samples lost")
    assert error.lasted_text() == "1 min 30 s, not over"


def test_an_error_continues_after_a_restart() -> None:
    log = dealt().add("error", error="samples_lost").restart(off_s=60).add("key", on=True)
    log.add("error_cleared", 9, error="samples_lost")
    error, _ = log.found("error", "restart")
    # 60 s without power, 1 s to the clock, 1 s to the key, 9 s to the end.
    assert error == (3, 71_000, "samples lost; cleared with the supervisor's key")


def test_without_a_clock_the_length_over_a_restart_is_unknown() -> None:
    log = dealt().add("error", error="samples_lost").restart().add("key", on=True)
    log.add("error_cleared", error="samples_lost")
    assert log.found("error", "restart")[0][:2] == (3, None)


def test_a_round_that_was_voided() -> None:
    for reason, said in (
        ("supervisor", "by the supervisor"),
        ("unreadable", "by the supervisor, for a card that could not be read"),
        ("restart", "by a restart"),
    ):
        assert dealt().add("round_void", reason=reason).found("void") == [(3, None, said)]


def test_a_card_that_was_not_due() -> None:
    log = dealt().add("card", card="KS", position="not_due")
    log.add("unreadable", fault="no_code", position="not_due")
    assert log.found("not_due") == [(3, None, "K♠"), (4, None, "no readable card: no code")]


def test_power_lost_while_a_card_passed() -> None:
    log = dealt().restart(off_s=5).add("unreadable", fault="power_lost", position="banker_2")
    log.add("error", error="unreadable", fault="power_lost").add("key", on=True)
    log.add("resolved", error="unreadable", fault="power_lost", resolution="drawn_again")
    log.add("error_cleared", error="unreadable")
    assert log.found("restart", "power_lost", "error")[1:] == [
        (5, None, "a card was passing as banker 2"),
        (6, 3000,
         "unreadable (power lost); drawn again; cleared with the supervisor's key"),
    ]  # fmt: skip


def test_the_lid_within_a_shoe_of_cards() -> None:
    log = dealt().add("lid", open=True).add("lid", 7, open=False)
    assert log.found("lid") == [(3, 7000, "lid open with a shoe of cards in play")]
    log.add("shoe_ended", reason="cut_card", rounds=9, cards=400)
    log.add("lid", open=True).add("lid", 60, open=False)
    assert len(log.found("lid")) == 1


def test_the_lid_in_a_log_that_begins_within_a_shoe_of_cards() -> None:
    for kind in ("betting_open", "card"):
        assert TypedEvents().add(kind).add("lid", open=True).found("lid") == [
            (2, 0, "lid open with a shoe of cards in play")
        ]
    assert TypedEvents().add("lid", open=True).add("lid", open=False).found() == []


def test_a_lid_that_stays_open_over_a_restart() -> None:
    log = dealt().add("lid", open=True).restart(off_s=10).add("lid", 1, open=False)
    assert log.found("lid", "restart")[0][:2] == (3, 12_000)


def test_the_service_switch() -> None:
    log = (
        TypedEvents().add("service", on=True).add("service", 600, on=False).add("service", on=True)
    )
    assert log.found("service") == [
        (1, 600_000, "service switch on"), (3, 0, "service switch on"),
    ]  # fmt: skip


def test_a_prompt_and_commands_with_wrong_macs() -> None:
    log = (
        TypedEvents().add("debug_opened").add("wrong_macs", count=1).add("wrong_macs", 60, count=12)
    )
    assert log.found("debug", "stranger") == [
        (1, None, "MicroPython's prompt opened, until the next start"),
        (2, None, "1 wrong MACs since the start"),
        (3, None, "12 wrong MACs since the start"),
    ]


def test_a_shoe_of_cards_that_the_supervisor_ended() -> None:
    log = dealt().add("shoe_ended", reason="supervisor", rounds=9, cards=60)
    assert log.found("ended_early") == [(3, None, "ended by the supervisor after 9 rounds")]
    assert dealt().add("shoe_ended", reason="cut_card", rounds=9, cards=60).found() == []


def test_a_restart() -> None:
    log = TypedEvents().add("boot", firmware="1.0", build=b"\1").add("betting_open")
    log.restart(off_s=192, reset_cause="watchdog", build=b"\1")
    said = "start 2, it hung, restarted by its watchdog, a round open"
    assert log.found("restart") == [(3, None, said + "; 3 min 12 s after the event before")]
    log.add("result").restart(reset_cause="power_on", build=b"\2", firmware="1.1")
    said = "start 3, power came, or was too low, no round open; other firmware than before, 1.1 now"
    assert log.found("restart", "long_reveal")[1] == (6, None, said)


def test_the_units_first_start_is_not_an_incident() -> None:
    assert TypedEvents().add("boot").found() == []


def test_events_that_the_shoe_reports_as_lost() -> None:
    log = dealt()
    log.number += 4
    log.shoe = log.round = 0
    log.add("gap", first=3, last=6, reason="queue_full")
    (gap,) = incidents_of("U1", log.events)
    assert (gap.event, gap.shoe, gap.round) == (7, 3, 12)
    assert gap.detail == "events 3 to 6 lost: queue full"
    log = dealt().add("gap", first=1, last=1, reason="journal_damaged")
    assert log.found("gap") == [(3, None, "event 1 lost: journal damaged")]


def test_missing_events_without_a_report() -> None:
    log = dealt()
    log.number += 4
    log.add("identified")
    log.number += 1
    log.add("identified")
    assert log.found("gap") == [
        (7, None, "events 3 to 6 are missing, or cannot be read"),
        (9, None, "event 8 is missing, or cannot be read"),
    ]
    log.add("gap", first=2, last=4, reason="restart").add("gap", first=5, last=7)
    assert [event for event, _, _ in log.found("gap")] == [9, 10, 11]


def test_an_incident_that_ends_in_missing_events_has_no_known_end() -> None:
    log = dealt().add("error", error="samples_lost").add("service", on=True)
    log.add("betting_closed")
    log.number += 1
    log.add("error_cleared", 500, error="samples_lost").add("service", on=False).add("result")
    assert log.found("error", "service", "gap") == [
        (3, None, "samples lost; its end is not in the log"),
        (4, None, "service switch on"),
        (7, None, "event 6 is missing, or cannot be read"),
    ]


def test_faults_of_the_journal() -> None:
    log = dealt().add("journal_fault", fault="erase_failed", sector=7)
    log.add("journal_fault", fault="damaged", sector=9, first=100, last=107)
    log.add("journal_fault", fault="program_failed", sector=2, first=5, last=5)
    assert log.found("journal") == [
        (3, None, "erase failed, sector 7"),
        (4, None, "damaged, sector 9, events 100 to 107 cannot be read any more"),
        (5, None, "program failed, sector 2, event 5 cannot be read any more"),
    ]


def test_a_clock_that_was_set() -> None:
    for change_s, said in (
        (-3601, "set 1 h 00 min back"), (3601, "set 1 h 00 min ahead"), (5.1, "set 5.1 s ahead"),
        (5, None), (-5, None), (0, None),
    ):  # fmt: skip
        log = dealt()
        assert log.clock is not None
        before = log.clock + log.t_ms + 1000
        log.clock += int(1000 * change_s)
        log.add("clock_set", before_unix_ms=before).add("identified")
        assert log.found("clock") == ([(3, None, said)] if said else [])


def test_a_clock_that_goes_back_over_a_restart() -> None:
    log = dealt().restart(off_s=-91)
    said = "set 1 min 30 s back from its time before the restart"
    assert log.found("clock", "restart")[1] == (4, None, said)
    assert dealt().restart(off_s=90).found("clock", "restart")[1:] == []


def test_a_clock_that_jumps_without_being_set() -> None:
    log = dealt()
    assert log.clock is not None
    log.clock -= 6000
    log.add("identified").add("identified")
    assert log.found("clock") == [(3, None, "jumped 6.0 s back without being set")]
    log.clock += 5000
    assert len(log.add("identified").found("clock")) == 1


def test_a_long_round() -> None:
    log = dealt().add("betting_closed", 3600).add("card", 60, card="7H", position="player_1")
    log.add("result", 60)
    assert log.found("long_round") == []
    assert log.found("long_round", round_s=119) == [(3, 120_000, "from no more bets to the result")]
    log = dealt().add("betting_closed").add("round_void", 121)
    assert log.found("long_round", "void")[0] == (3, 121_000, "from no more bets to the result")


def test_a_long_round_that_has_not_ended() -> None:
    log = dealt().add("betting_closed").add("button", 120, button="next")
    assert log.found() == []
    (long,) = incidents_of("U1", log.add("button", 1, button="next").events)
    assert (long.event, long.lasted_text()) == (3, "2 min 01 s, not over")


def test_a_round_of_blackjack_ends_with_the_result_of_the_dealer() -> None:
    def round_(after_s: int) -> TypedEvents:
        log = dealt().add("betting_closed").add("card", 60, card="7H", position="box_1")
        return log.add("blackjack_result", after_s).add("button", 600, button="next")

    assert round_(60).found() == []
    assert round_(61).found("long_round")[0][:2] == (3, 121_000)
    assert "no round open" in round_(60).restart(off_s=1).found("restart")[0][2]


def test_a_hand_of_holdem_takes_as_long_as_its_players_bet() -> None:
    log = dealt().add("betting_closed").add("hand_begun").add("betting_ended", 600)
    assert log.found() == []
    log.add("hand_ended", 600).add("shoe_ended", reason="round")
    assert log.found() == []
    assert "no round open" in log.restart(off_s=1).found("restart")[0][2]


def test_a_reveal_that_took_long() -> None:
    log = midi().add("button", 61, button="reveal").add("betting_open")
    assert log.found("long_reveal") == [(4, 61_000, "from the last card to the reveal")]
    assert midi().add("button", 60, button="reveal").add("betting_open").found() == []
    log = midi().add("button", 9, button="reveal").add("betting_open")
    assert log.found("long_reveal", reveal_s=8)[0][1] == 9000


def test_a_long_wait_for_a_reveal_that_has_not_come() -> None:
    log = midi().add("button", 61, button="next")
    (long,) = incidents_of("U1", log.events, games=GAMES)
    assert (long.kind, long.event, long.stands) == ("long_reveal", 4, True)
    assert incidents_of("U1", log.events) == [], "a reveal that may not be due"


@pytest.mark.parametrize(
    ("name", "choices", "hidden"),
    [
        *((each.name, {}, each.name.endswith("midi")) for each in catalogue.GAMES),
        ("mini", {"shown": "after_reveal"}, True),
        ("mini", {"shown": "after_reveal", "turned_by": "players"}, True),
        ("mini-pairs", {"shown": "after_reveal"}, True),
    ],
)
def test_only_a_game_that_hides_its_cards_has_a_reveal(
    name: str, choices: dict[str, str], hidden: bool
) -> None:
    document = catalogue.document(name, choices)
    log = TypedEvents().add("shoe_loaded", decks=8, game=name).add("betting_open")
    log.add("betting_closed").add("result", game=baccarat_game.Game(document).sha256)
    log.add("button", 3600, button="reveal")
    found = incidents_of("U1", log.events, games=kept_games(document))
    assert [each.kind for each in found] == ["long_reveal"] * hidden


def test_an_unknown_game_has_a_reveal_if_the_button_is_pressed() -> None:
    log = TypedEvents().add("shoe_loaded", decks=8, game="own").add("betting_open")
    log.add("betting_closed").add("result").add("betting_open", 3600)
    assert log.add("betting_closed").add("result").found() == []
    assert len(log.add("button", 3600, button="reveal").found("long_reveal")) == 1


def test_disagreements_of_the_verifier() -> None:
    log = dealt().add("result")
    findings = [
        Finding("U1", 3, "rules", "winner is banker in the log, tie by the cards"),
        Finding("U1", 3, "rules", "Banker's third card was not due"),
        Finding("U1", 3, "cards", "copy 9 of 7H"),
        Finding("U1", 99, "rules", "of another shoe of cards"),
    ]
    found = incidents_of("U1", log.events, findings)
    assert [(each.kind, each.event, each.round, each.detail) for each in found] == [
        ("rules", 3, 12, "winner is banker in the log, tie by the cards"),
        ("rules", 3, 12, "Banker's third card was not due"),
    ]


def test_a_sensor_that_is_to_be_cleaned() -> None:
    log = dealt().add("clean_sensor", channel="b", mean_permille=834)
    assert log.found("sensor") == [(3, None, "channel B to be cleaned, mean 83.4 %")]


_ZONE = zone_of("Europe/Malta")


def composed(log: TypedEvents, missing: str, reason: str = "cut_card") -> TypedEvents:
    """End a shoe of cards of one deck in which these cards were not seen."""
    counts = bytearray(b"\1" * cards.DECK_SIZE)
    for name in missing.split():
        counts[cards.number_of(name)] -= 1
    log.add("shoe_ended", reason=reason, rounds=9, cards=sum(counts))
    return log.add("composition", counts=bytes(counts), unread=0, expected=cards.DECK_SIZE)


def test_missing_cards_name_the_passes_nearest_to_them() -> None:
    log = dealt()
    for card, longer_um in (("7C", 1600), ("KC", 5040), ("CUT", 1501), ("2D", 1600), ("9S", 65535)):
        log.add("cut_card") if card == "CUT" else log.add("card", card=card)
        log.add("long_pass", card=card, longer_um=longer_um)
        log.round += 1
    composed(log, "7H KS").add("error", error="cards_missing")
    log.add("key", on=True).add("error_cleared", error="cards_missing")
    (missing,) = incidents_of("U1", log.events)
    assert missing.detail == (
        "cards missing; 2 cards not seen: 7♥ K♠; cleared with the supervisor's key"
    )
    assert missing.nearest is not None
    assert [(each.event, each.card) for each in missing.nearest] == [
        (12, "9S"), (6, "KC"), (4, "7C"),
    ]  # fmt: skip
    assert missing.what(_ZONE) == (
        f"{missing.detail}; nearest passes: "
        "event 12, round 16, 12:06:52: 9♠, 65.5 mm longer than one card; "
        "event 6, round 13, 12:06:46: K♣, 5.0 mm longer than one card; "
        "event 4, round 12, 12:06:44: 7♣, 1.6 mm longer than one card"
    )
    assert missing.as_json(_ZONE)["nearest"][1] == {
        "event": 6, "round": 13, "time": "2026-11-18T12:06:46.000+01:00", "boot": 1, "t_ms": 6000,
        "card": "KC", "longer_um": 5040,
    }  # fmt: skip


def test_missing_cards_without_a_long_pass_and_without_a_composition() -> None:
    log = dealt().add("card", card="7C").add("error", error="cards_missing")
    (missing,) = incidents_of("U1", log.events)
    assert missing.what(_ZONE) == "cards missing; nearest passes: no long pass is in the log"
    assert missing.as_json(_ZONE)["nearest"] == []


def test_only_long_passes_of_the_shoe_of_cards_that_lacks_cards_are_named() -> None:
    log = dealt().add("card", card="7C").add("long_pass", card="7C", longer_um=9000)
    log.shoe += 1
    log.add("shoe_loaded", decks=1, game="mini").add("betting_open").add("card", card="8C")
    # The pass that ends a shoe of cards is recorded after its end. Others there belong to none.
    composed(log, "7H").add("error", error="cards_missing").add("checkpoint")
    log.add("long_pass", card="8C", longer_um=1700)
    log.add("card", card="9C", position="not_due").add("long_pass", card="9C", longer_um=2000)
    log.shoe += 1
    log.add("shoe_loaded", decks=1, game="mini").add("card", card="TC", position="burn")
    log.add("long_pass", card="TC", longer_um=8000)
    missing, _ = incidents_of("U1", log.events)
    assert missing.detail.startswith("cards missing; 1 card not seen: 7♥")
    assert missing.nearest is not None
    assert [(each.card, each.longer_um) for each in missing.nearest] == [("8C", 1700)]


def test_a_long_pass_without_a_clock_and_of_the_cut_card() -> None:
    log = dealt().restart()
    log.add("cut_card", 60).add("long_pass", 1.5, card="CUT", longer_um=2000)
    log.add("error", error="cards_missing")
    missing = incidents_of("U1", log.events)[-1]
    assert missing.what(_ZONE).endswith(
        "event 5, round 12, no clock, boot 2 + 61.5 s: cut card, 2.0 mm longer than one card"
    )


def test_a_shoe_of_cards_that_was_dealt_to_its_last_card_says_which_were_not_seen() -> None:
    def ended(missing: str, *, cut: bool = False) -> tuple[str, bool]:
        log = dealt().add("cut_card") if cut else dealt()
        (early,) = incidents_of("U1", composed(log, missing, "supervisor").events)
        assert early.kind == "ended_early"
        return early.detail, early.nearest is not None

    plain = "ended by the supervisor after 9 rounds"
    assert ended("7H QD") == (f"{plain}; 2 cards not seen: Q♦ 7♥", True)
    assert ended("") == (plain, False)
    assert ended("7H", cut=True) == (plain, False), "the others lie after the cut card"
    hearts_and_spades = " ".join(rank + suit for suit in "HS" for rank in cards.RANKS)
    assert ended(hearts_and_spades) == (plain, False), "26 cards are left in the shoe"
    names = hearts_and_spades.split()[:20]
    assert ended(" ".join(names))[1] and not ended(" ".join([*names, "AC"]))[1]


def test_a_composition_that_no_decks_can_have_is_not_listed_card_by_card() -> None:
    log = dealt().add("composition", counts=bytes(99), unread=0, expected=2**64 - 1)
    (missing,) = incidents_of("U1", log.add("error", error="cards_missing").events)
    assert missing.detail.startswith("cards missing; 18,446,744,073,709,551")


def test_events_before_the_clock_was_set_get_their_time_from_it() -> None:
    log = dealt().restart(off_s=20)
    log.clock = None
    (restart,) = incidents_of("U1", log.events)
    # Set a second after the start, twenty seconds after the last event.
    last = log.events[1].unix_ms
    assert last is not None
    assert (restart.unix_ms, restart.reckoned) == (last + 20_000, True)
    (restart,) = incidents_of("U1", dealt().restart().events)
    assert (restart.unix_ms, restart.reckoned, restart.boot, restart.t_ms) == (None, False, 2, 0)


def test_an_incident_is_within_a_span_if_part_of_it_is() -> None:
    def incident(unix_ms: int | None, lasted_ms: int | None, stands: bool = False) -> Incident:
        return Incident("U1", "error", 1, 1, 1, 1, 0, unix_ms, False, lasted_ms, stands, "")

    for each, begin, end, within in (
        (incident(1000, None), None, None, True),
        (incident(1000, None), 1000, 1001, True),
        (incident(1000, None), 1001, None, False),
        (incident(1000, None), None, 1000, False),
        (incident(1000, 500), 1500, None, True),
        (incident(1000, 500), 1501, None, False),
        (incident(1000, 500, True), 9999, None, True),
        (incident(1000, 500, True), None, 1000, False),
        (incident(None, None), 1000, 2000, True),
    ):
        assert each.within(begin, end) is within, (each, begin, end)


def test_skipped_events_are_not_a_gap() -> None:
    finder = IncidentFinder("U1")
    log = dealt().add("error", error="samples_lost")
    finder.add_all(log.events)
    finder.skip()
    later = TypedEvents()
    later.number, later.shoe = 500, 9
    finder.add_all(later.add("service", on=True).events)
    assert [(each.kind, each.shoe, each.stands) for each in finder.incidents()] == [
        ("error", 3, False), ("service", 9, True),
    ]  # fmt: skip


@pytest.mark.slow
def test_random_events_give_incidents_in_the_order_of_events(rng: random.Random) -> None:
    shapes = [
        ("error", {"error": "samples_lost"}), ("error_cleared", {"error": "samples_lost"}),
        ("lid", {"open": True}), ("lid", {"open": False}), ("service", {"on": True}),
        ("service", {"on": False}), ("betting_open", {}), ("betting_closed", {}), ("result", {}),
        ("button", {"button": "reveal"}), ("boot", {}), ("clock_set", {}), ("round_void", {}),
        ("card", {"position": "not_due", "by_hand": True}), ("shoe_loaded", {}),
        ("shoe_ended", {"reason": "supervisor"}), ("gap", {"first": 1, "last": 3}),
    ]  # fmt: skip
    for _ in range(200):
        log = TypedEvents()
        for _ in range(60):
            kind, fields = rng.choice(shapes)
            log.number += rng.random() < 0.05
            log.boot += kind == "boot"
            log.clock = rng.choice([None, START_UNIX_MS, START_UNIX_MS + 10_000])
            log.shoe, log.round = rng.randrange(3), rng.randrange(3)
            log.add(kind, rng.choice([0, 1, 1000]), **fields)
        found = incidents_of("U1", log.events)
        assert [each.event for each in found] == sorted(each.event for each in found)
        numbers = {event.number for event in log.events}
        for each in found:
            assert each.kind in KINDS and each.event in numbers and each.detail
            assert each.lasted_ms is None or each.lasted_ms >= 0
