import random
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from sabot.games.baccarat import catalogue
from sabot.link.client import Client
from sabot.link.events import UnreadableEvent
from sabot.link.messages import IdentifyCommand
from sabot.link.ports import Port
from sabot.link.session import Record
from sabot.log.store import Filter
from sabot.sim.channel import Outputs
from sabot.sim.waveform import DEALER_SPEED_MM_S, SAMPLE_RATE_HZ, pass_samples
from sabot_hil.capabilities import Bench, Target, session_with
from sabot_hil.kit import dealer
from sabot_hil.kit.dealer import check_cards, enter, load_cards, press_until, turn_key
from sabot_hil.kit.logbook import Logbook, boot_number, check_taken, command_keys, received, taken
from sabot_hil.kit.waiting import seconds_of, wait_until
from sabot_protocol import cards

_SHORT = 370  # cards after the cut card: about seven rounds
_BURNED = ("AC", "2C")
_POWER_CUTS = 0.2  # of a dealer's steps
_HARDLY_IN_MM = 4.0
_WITHIN_MM = (12.0, 40.0, 52.0, 64.0, 70.0)  # the last mark passes at 61 mm
_LINK_LINES = ("HOST", "NO HOST", "LOG BEHIND")
_MANY_EVENTS = 1000  # more than the journal is searched for a state
_ATTACH_TIMEOUT_S = 30.0
_QUIET_S = 0.5
_DIP_US = 500
_POLL_MS = 20.0


def _seen(outputs: Outputs) -> tuple[object, ...]:
    """Return what people at the shoe can see, without the line about the host."""
    lines = ["" if line in _LINK_LINES else line for line in outputs.display]
    return outputs.lock_released, outputs.lamps, lines


def _power_cut(target: Target) -> Outputs:
    target.power.off()
    target.power.on()
    return check_cards(target.bench)


@pytest.mark.parametrize("game", ["mini", "pa-midi"])
def test_a_shoe_whose_power_goes_again_and_again_is_dealt_and_logged_as_if_it_had_not(
    target: Target, tmp_path: Path, seed: int, game: str
) -> None:
    chance = random.Random(seed)
    document = catalogue.document(game)
    with session_with(target.shoe) as client:
        starts = client.welcome.boot
        client.load_game(document)
    begun = starts

    def between_steps(where: str) -> None:
        nonlocal starts
        if chance.random() < _POWER_CUTS:
            before = _seen(target.bench.outputs)
            assert _seen(_power_cut(target)) == before, where
            starts += 1

    with Logbook(tmp_path, [target.shoe.port], target.clock) as book:
        cards = dealer.shuffled_shoe(seed, cut_from_end=_SHORT)
        dealing = dealer.BenchDealer(
            target.bench, cards, between_steps, unreadable_every=9, game=document
        )
        dealing.deal_shoe()
        _wait_for(book, target, "checkpoint", 1)
        boots = [row.event().boot for row in book.store.rows(Filter(unit=target.shoe.unit))]
        assert boots == sorted(boots) and set(boots) == set(range(1, starts + 1))
        assert starts > begun
        book.check(target.shoe.unit, dealing.hands)


def test_a_shoe_switched_off_right_after_its_cards_leaves_no_gap(
    target: Target, tmp_path: Path, seed: int
) -> None:
    starts = boot_number(target)
    with Logbook(tmp_path, [target.shoe.port], target.clock) as book:
        hands = []
        for n in range(2):
            dealing = dealer.BenchDealer(
                target.bench, dealer.shuffled_shoe(seed + n, cut_from_end=405)
            )
            dealing.deal_shoe()
            hands += dealing.hands
            shown = target.bench.outputs
            assert _seen(_power_cut(target)) == _seen(shown)
        _wait_for(book, target, "boot", starts + 2)
        book.check(target.shoe.unit, hands)


def _wait_for(book: Logbook, target: Target, kind: str, count: int) -> None:
    wanted = Filter(unit=target.shoe.unit, kinds=[kind])
    book.wait(lambda: len(list(book.store.rows(wanted))) == count, f"{count} {kind} in the log")


@pytest.mark.parametrize("cards", [0, 1, 3, 4])
def test_after_a_power_cut_in_a_round_the_round_its_cards_and_the_lock_are_the_same(
    target: Target, tmp_path: Path, cards: int
) -> None:
    dealt = ["2C", "3D", "2H", "KS", "9C", "9H"]
    starts = boot_number(target)
    before = load_cards(target.bench, *_BURNED, *dealt[:cards])
    assert before.lock_released
    shown = _power_cut(target)
    assert _seen(shown) == _seen(before)
    assert _seen(_power_cut(target)) == _seen(before)
    for card in dealt[cards:]:
        assert target.bench.outputs.lock_released
        shown = target.bench.pull(card)
    assert (shown.display[4], shown.lock_released) == ("PLAYER WINS", False)
    (ended,) = check_taken(target, tmp_path)
    assert (ended.player, ended.banker) == (("2C", "2H", "9C"), ("3D", "KS", "9H"))
    kinds = [record.event.kind for record in taken(target)]
    assert kinds.count("boot") == starts + 2 and kinds.count("shoe_loaded") == 1


def _open_the_lid(bench: Bench) -> None:
    load_cards(bench, *_BURNED, "4C")
    bench.switch("lid_open", True)
    bench.switch("lid_open", False)


def _choose_half_a_card(bench: Bench) -> None:
    load_cards(bench, *_BURNED, "4C")
    bench.pull_unreadable()
    bench.switch("key_on", True)
    press_until(bench, "next", "CARD 3")
    bench.press("burn")


def _draw_a_ninth_copy(bench: Bench) -> None:
    bench.switch("lid_open", True)
    bench.switch("lid_open", False)
    for card in ("TS", *["9S"] * 9):
        bench.pull(card)


_ERRORS: dict[str, Callable[[Bench], object]] = {
    "LID OPENED": _open_the_lid,
    "NO CODE": lambda bench: (load_cards(bench, *_BURNED, "4C"), bench.pull_unreadable()),
    "a choice of the supervisor": _choose_half_a_card,
    "CARD NOT DUE": lambda bench: bench.pull("4C"),
    "TEST CARD": lambda bench: (load_cards(bench, *_BURNED, "4C"), bench.pull("TEST")),
    "SURPLUS COPY 9S": _draw_a_ninth_copy,
    "CUT CARD MISPLCD": lambda bench: (
        load_cards(bench, *_BURNED, "9C", "2S", "KC", "2H"),
        bench.pull("CUT"),
    ),
}


@pytest.mark.parametrize("error", _ERRORS)
def test_an_error_that_was_showing_still_shows(target: Target, error: str) -> None:
    _ERRORS[error](target.bench)
    before = target.bench.outputs
    assert before.title.startswith("STOP") and not before.lock_released
    assert error in before.display or error == "a choice of the supervisor"
    assert _seen(_power_cut(target)) == _seen(before)
    assert _seen(_power_cut(target)) == _seen(before)


def test_no_host_is_answered_before_the_shoe_has_started(target: Target, tmp_path: Path) -> None:
    starts = boot_number(target)
    load_cards(target.bench, *_BURNED, "4C")
    target.power.off()
    got: list[tuple[str, int]] = []

    def attach(port: Port) -> None:
        client = Client(port, _ATTACH_TIMEOUT_S, keys=command_keys(tmp_path))
        assert client.welcome.boot == starts + 1
        client.begin(1)
        got.extend(
            (record.event.kind, record.event.boot) for record in received(client, target.clock)
        )

    with Port(target.shoe.port) as port:
        attaching = threading.Thread(target=attach, args=(port,), daemon=True)
        attaching.start()
        attaching.join(_QUIET_S)
        assert attaching.is_alive(), "answered without power"
        target.power.on()
        # Emulated time may pass much faster than the host's thread runs.
        wait_until(
            lambda: not attaching.is_alive(),
            4 * _ATTACH_TIMEOUT_S,
            lambda: target.clock.pass_ms(_POLL_MS),
            seconds_of(target.clock),
        )
    assert ("boot", starts + 1) in got, "the event `boot` of this start is missing"


def _browned_out(target: Target) -> Outputs:
    target.power.brown_out(_DIP_US)
    target.power.on()  # returns once the shoe has started
    return check_cards(target.bench)


def test_a_brown_out_while_flash_is_written_leaves_the_round_as_it_was(
    target: Target, tmp_path: Path
) -> None:
    bench = target.bench
    load_cards(bench, *_BURNED, "4C")
    bench.play(pass_samples(cards.number_of("7D"), 0))  # its entries are being written now
    shown = _browned_out(target)
    if shown.title == "STOP":  # the power went before the card was on flash
        assert "POWER LOST" in shown.display
        enter(bench, "7D")
        shown = bench.outputs
    assert shown.lock_released and shown.display[3].split() == ["B", "7D", "7"], shown
    assert _seen(_browned_out(target)) == _seen(shown)
    for card in ("4H", "2S"):
        bench.pull(card)
    (ended,) = check_taken(target, tmp_path)
    assert (ended.player, ended.banker) == (("4C", "4H"), ("7D", "2S"))


# ---- a card was passing


@pytest.mark.parametrize("came_mm", _WITHIN_MM)
def test_a_card_that_was_passing_is_for_the_supervisor_to_decide(
    target: Target, tmp_path: Path, came_mm: float
) -> None:
    bench = target.bench
    starts = boot_number(target)
    before = load_cards(bench, *_BURNED, "4C")
    bench.pull_part("7D", came_mm)
    shown = _power_cut(target)
    assert (shown.title, shown.lock_released, shown.lamps) == ("STOP", False, frozenset({"error"}))
    assert shown.display[1:4] == before.display[1:4]
    assert shown.display[5:7] == ("POWER LOST", "TURN KEY")
    assert _seen(_power_cut(target)) == _seen(shown)
    turn_key(bench)
    assert _seen(bench.outputs) == _seen(shown), "the key alone resolves nothing"
    bench.switch("key_on", True)
    assert bench.outputs.display[:2] == ("STOP BANKER 1", "POWER LOST")
    press_until(bench, "next", "DRAW AGAIN")
    bench.press("reveal")
    bench.switch("key_on", False)
    assert _seen(check_cards(bench)) == _seen(before)
    for card in ("7D", "4H", "2S"):
        bench.pull(card)
    assert bench.outputs.display[4] == "BANKER WINS"
    (ended,) = check_taken(target, tmp_path)
    assert (ended.player, ended.banker) == (("4C", "4H"), ("7D", "2S"))
    events = [record.event for record in taken(target)]
    unread = [event for event in events if isinstance(event, UnreadableEvent)]
    assert [(event.boot, event.fault) for event in unread] == [(starts + 1, "power_lost")]


def test_a_card_that_had_hardly_begun_to_pass_is_pulled_again(target: Target) -> None:
    before = load_cards(target.bench, *_BURNED, "4C")
    bytes_in = round(_HARDLY_IN_MM / DEALER_SPEED_MM_S * SAMPLE_RATE_HZ / 2)
    target.bench.play(pass_samples(cards.number_of("7D"), 0)[:bytes_in])  # the power goes at once
    assert _seen(_power_cut(target)) == _seen(before)


def test_a_card_that_passed_as_the_power_went_is_entered_from_its_face(
    target: Target, tmp_path: Path
) -> None:
    bench = target.bench
    load_cards(bench, *_BURNED, "4C")
    bench.pull_part("7D", _WITHIN_MM[-1])
    _power_cut(target)
    enter(bench, "7D")
    assert bench.outputs.display[3].split() == ["B", "7D", "7"]
    _power_cut(target)
    for card in ("4H", "2S"):
        bench.pull(card)
    (ended,) = check_taken(target, tmp_path)
    assert (ended.player, ended.banker, ended.by_hand) == (("4C", "4H"), ("7D", "2S"), ("7D",))


def test_a_round_in_which_the_power_went_can_be_voided(target: Target, tmp_path: Path) -> None:
    bench = target.bench
    load_cards(bench, *_BURNED, "4C")
    bench.pull_part("7D", _WITHIN_MM[1])
    _power_cut(target)
    bench.switch("key_on", True)
    bench.press("void")
    bench.switch("key_on", False)
    check_cards(bench)
    assert bench.outputs.title == "NEXT ROUND?" and not bench.outputs.lamps
    before = bench.outputs
    assert _seen(_power_cut(target)) == _seen(before)
    (ended,) = check_taken(target, tmp_path)
    assert ended.void is not None and ended.player == ("4C",)


def test_a_burned_card_that_was_passing_can_be_left_unseen(target: Target) -> None:
    bench = target.bench
    bench.switch("lid_open", True)
    bench.switch("lid_open", False)
    bench.pull("2C")
    bench.pull_part("7D", _WITHIN_MM[1])
    _power_cut(target)
    bench.switch("key_on", True)
    assert bench.outputs.title == "STOP BURN"
    press_until(bench, "next", "UNSEEN")
    bench.press("reveal")
    bench.switch("key_on", False)
    shown = check_cards(bench)
    assert (shown.title, shown.lock_released) == ("BURN: 1 LEFT", True)


def test_with_no_cards_in_play_nothing_is_asked(target: Target) -> None:
    before = target.bench.outputs
    target.bench.pull_part("7D", _WITHIN_MM[1])
    assert _seen(_power_cut(target)) == _seen(before)


# ---- what was done while the power was off


def test_a_lid_opened_while_the_power_was_off_stops_play_at_the_start(
    target: Target, tmp_path: Path
) -> None:
    bench = target.bench
    before = load_cards(bench, *_BURNED, "4C")
    target.power.off()
    bench.switch("lid_open", True)
    target.power.on()
    shown = bench.outputs
    assert (shown.title, shown.display[5:7]) == ("STOP", ("LID OPENED", "CLOSE LID, KEY"))
    assert not shown.lock_released
    bench.switch("lid_open", False)
    turn_key(bench)
    assert _seen(check_cards(bench)) == _seen(before)
    check_taken(target, tmp_path)
    assert _kinds_after_the_last_boot(taken(target))[:2] == ["lid", "error"]


def test_what_is_left_in_the_shoe_is_not_dealt_before_the_key_once_no_one_watched_the_lid(
    target: Target, tmp_path: Path
) -> None:
    bench = target.bench
    before = load_cards(bench, *_BURNED, "4C")
    target.power.off()
    bench.switch("lid_open", True)
    bench.switch("lid_open", False)
    target.power.on()
    shown = bench.outputs
    assert (shown.title, shown.lock_released) == ("STOP", False)
    assert shown.display[5:7] == ("POWER WAS OFF", "CHECK CARDS, KEY")
    for button in ("next", "reveal", "void", "burn"):
        assert not bench.press(button).lock_released, button
    turn_key(bench)
    assert _seen(bench.outputs) == _seen(before)
    check_taken(target, tmp_path)


def test_a_key_turned_while_the_power_was_off_is_noticed_at_the_start(target: Target) -> None:
    bench = target.bench
    load_cards(bench, *_BURNED, "4C")
    bench.pull_unreadable()
    target.power.off()
    bench.switch("key_on", True)
    target.power.on()
    assert bench.outputs.title == "STOP BANKER 1"
    target.power.off()
    bench.switch("key_on", False)
    target.power.on()
    assert bench.outputs.title == "STOP"
    assert _kinds_after_the_last_boot(taken(target)) == ["key"]


def _kinds_after_the_last_boot(records: Sequence[Record]) -> list[str]:
    kinds = [record.event.kind for record in records]
    return kinds[len(kinds) - kinds[::-1].index("boot") :]


def test_a_host_that_records_much_does_not_make_the_shoe_forget(target: Target) -> None:
    before = load_cards(target.bench, *_BURNED, "4C")
    with session_with(target.shoe) as client:
        client.begin(1)
        for _ in range(_MANY_EVENTS):
            client.ask(IdentifyCommand())
            if client.receive(0).records:
                client.acknowledge()
    assert _seen(_power_cut(target)) == _seen(before)
