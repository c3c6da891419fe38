"""What the games differ in at the shoe.

Betting: in some only the dealer's "no more bets" makes a card due (Maryland, chapter 7 D;
Pennsylvania, paragraph 2). Mini dealt face down (Washington, item 5): nothing of a round is shown
before `reveal`.
"""

from pathlib import Path

import pytest

from sabot.games.baccarat import catalogue
from sabot.sim.channel import Outputs
from sabot_hil.capabilities import Bench, Target, session_with
from sabot_hil.kit.dealer import check_cards, load_cards, press_until, turn_key
from sabot_hil.kit.logbook import check_taken

_BURNED = ("AC", "2C")
_NATURAL = ("4C", "2D", "5C", "3D")


def _load(target: Target, game: str) -> Outputs:
    with session_with(target.shoe) as client:
        client.load_game(catalogue.document(game))
    return load_cards(target.bench, *_BURNED)


def _assert_waits(shown: Outputs) -> None:
    assert (shown.title, shown.display[6]) == ("BETTING OPEN", "NEXT CLOSES BETS"), shown
    assert not shown.lock_released and not shown.lamps, shown


@pytest.mark.parametrize("game", ["md-mini", "ez-midi", "pa-mini"])
def test_the_lock_stays_shut_until_no_more_bets_whatever_happens_before(
    target: Target, tmp_path: Path, game: str
) -> None:
    bench = target.bench
    _assert_waits(_load(target, game))
    target.power.off()
    target.power.on()
    _assert_waits(check_cards(bench))
    shown = bench.pull("9H")
    assert (shown.title, shown.display[5]) == ("STOP", "CARD NOT DUE"), shown
    turn_key(bench)
    _assert_waits(bench.outputs)
    shown = bench.pull_unreadable()
    assert (shown.title, shown.lock_released) == ("STOP", False), shown
    bench.switch("key_on", True)
    press_until(bench, "next", "UNSEEN")
    bench.press("reveal")
    bench.switch("key_on", False)
    _assert_waits(bench.outputs)
    assert bench.press("next").lock_released
    target.power.off()
    target.power.on()
    check_cards(bench)
    assert bench.outputs.title == "NO MORE BETS" and bench.outputs.lock_released
    for card in _NATURAL:
        shown = bench.pull(card)
    if game == "ez-midi":
        shown = bench.press("reveal")
    assert shown.lamps == {"player"}
    (ended,) = check_taken(target, tmp_path)
    assert (ended.player, ended.banker) == (("4C", "5C"), ("2D", "3D"))


def test_the_cut_card_before_the_first_card_makes_this_round_the_last(target: Target) -> None:
    bench = target.bench
    _load(target, "pa-mini")
    shown = bench.pull("CUT")
    assert shown.display[5] == "CUT CARD MISPLCD", "no card is due, and no cut card"
    turn_key(bench)
    _assert_waits(bench.outputs)
    bench.press("next")
    for card in _NATURAL:
        shown = bench.pull(card)
    assert "CARDS MISSING" in shown.display, "the round was the last one"


def test_in_other_games_the_first_card_closes_betting_as_before(target: Target) -> None:
    shown = load_cards(target.bench, *_BURNED)
    assert shown.title == "BETTING OPEN" and shown.lock_released
    assert target.bench.pull("4C").title == "NO MORE BETS"


_PLAYER_WINS = ("9C", "2D", "KC", "2H")
_SIX_CARDS = ("4C", "2D", "AC", "2H", "2S", "3H")


def _assert_hidden(shown: Outputs) -> None:
    assert shown.title == "NO MORE BETS", shown
    assert shown.display[2:7] == ("P", "B", "REVEAL IF TURNED", "", ""), shown
    assert not shown.lamps, shown


def _deal_face_down(bench: Bench, cards: tuple[str, ...]) -> None:
    """Deal a round from "betting open" to its last card, and look at every change that is seen."""
    assert bench.press("next").lock_released
    bench.pull(cards[0])
    bench.seen()  # forget the changes so far
    for card in cards[1:]:
        _assert_hidden(bench.outputs)
        assert bench.outputs.lock_released, f"{card} is due"
        _assert_hidden(bench.press("reveal"))  # does nothing before the last card
        bench.pull(card)
    _assert_hidden(bench.outputs)
    assert not bench.outputs.lock_released, "no card is due"
    changed = [change for change in bench.seen() if change.what in ("display", "lamps", "beeps")]
    assert not changed, "no card changes what is shown"


@pytest.mark.parametrize("turned_by", ["dealer", "players"])
def test_a_round_dealt_face_down_is_shown_at_its_reveal_and_not_before(
    target: Target, tmp_path: Path, turned_by: str
) -> None:
    bench = target.bench
    choices = {"shown": "after_reveal", "turned_by": turned_by}
    with session_with(target.shoe) as client:
        client.load_game(catalogue.document("mini", choices))
    load_cards(bench, *_BURNED)

    _deal_face_down(bench, _PLAYER_WINS)
    shown = bench.press("reveal")
    assert shown.display[2:5] == ("P 9C KC      9", "B 2D 2H      4", "PLAYER WINS"), shown
    assert shown.lamps == {"player"} and not shown.lock_released
    assert bench.press("next").display[2:5] == ("P", "B", ""), "the next round"

    _deal_face_down(bench, _SIX_CARDS)
    target.power.off()
    target.power.on()
    _assert_hidden(check_cards(bench))
    shown = bench.press("reveal")
    assert shown.display[2:5] == ("P 4C AC 2S   7", "B 2D 2H 3H   7", "TIE HAND"), shown
    assert shown.lamps == {"tie"} and not shown.lock_released

    natural, tie = check_taken(target, tmp_path)
    assert (natural.player, natural.banker, natural.winner) == (
        ("9C", "KC"),
        ("2D", "2H"),
        "player",
    )
    assert (tie.player, tie.banker) == (("4C", "AC", "2S"), ("2D", "2H", "3H"))
    assert tie.winner == "tie"
