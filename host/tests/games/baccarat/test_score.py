"""The score of a round, compared with the verifier's and the firmware's rules; impossible deals."""

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import protocol.tests.without_clocks  # noqa: F401
from sabot.audit.play import rules
from sabot.errors import ImpossibleDeal
from sabot.games.baccarat.catalogue import document
from sabot.games.baccarat.score import score
from sabot_firmware.table import rules as firmware_rules
from sabot_protocol import baccarat as baccarat_game
from sabot_protocol import cards, enums, games
from sabot_protocol.baccarat import Game

MINI = Game(document("mini"))
EVERY_HIT = [Game(document(name)) for name in ("mini-pairs", "ez-mini", "pa-mini")]
"""Together, the wagers of these games depend on every one of `enums.HITS`."""

PLAYING_CARDS = [rank + suit for suit in "CDHS" for rank in "A23456789TJQK"]
SIX = st.lists(st.sampled_from(PLAYING_CARDS), min_size=6, max_size=6)


def whole_round(six: list[str]) -> tuple[list[str], list[str]]:
    """The round that begins with these six cards, by the verifier's rules."""
    first, second = [six[0], six[2]], [six[1], six[3]]
    thirds = six[4:]
    for drawn in itertools.product((0, 1), repeat=2):
        player = first + thirds[: drawn[0]]
        banker = second + thirds[drawn[0] : sum(drawn)]
        if rules.judge(player, banker).wrong is None:
            return player, banker
    raise AssertionError(six)


def hits(player: str, banker: str) -> set[str]:
    """All hits of a round, over all games."""
    found: set[str] = set()
    for game in EVERY_HIT:
        found |= score(game, player.split(), banker.split()).hits
    return found


@given(SIX)
def test_totals_winner_and_naturals_are_those_of_the_verifiers_rules(six: list[str]) -> None:
    player, banker = whole_round(six)
    scored, verdict = score(MINI, player, banker), rules.judge(player, banker)
    assert (scored.player_total, scored.banker_total) == (
        verdict.player_total,
        verdict.banker_total,
    )
    assert scored.winner == verdict.winner
    assert (scored.player_natural or scored.banker_natural) == verdict.natural
    assert scored.player_natural == (len(player) == 2 and verdict.player_total >= 8)
    assert scored.banker_natural == (len(banker) == 2 and verdict.banker_total >= 8)
    assert scored.margin == abs(verdict.player_total - verdict.banker_total)


@given(SIX)
def test_hits_are_those_that_a_shoe_reports_of_the_same_game(six: list[str]) -> None:
    player, banker = whole_round(six)
    numbers = [[cards.number_of(name) for name in hand] for hand in (player, banker)]
    for game in [MINI, *EVERY_HIT]:
        bits = firmware_rules.hits_of(*numbers) & game.hits
        reported = {name for bit, name in enumerate(enums.HITS) if bits >> bit & 1}
        assert score(game, player, banker).hits == reported


HAND = st.lists(st.sampled_from(PLAYING_CARDS), min_size=2, max_size=3)


@given(HAND, HAND)
def test_a_deal_is_impossible_exactly_if_the_verifier_finds_it_wrong(
    player: list[str], banker: list[str]
) -> None:
    wrong = rules.judge(player, banker).wrong
    if wrong is None:
        score(MINI, player, banker)
    else:
        with pytest.raises(ImpossibleDeal, match=f"^{wrong}: "):
            score(MINI, player, banker)


@pytest.mark.parametrize(
    ("player", "banker", "expected"),
    [
        ("7H 7S", "9C QH", {"player_pair"}),
        ("KH KH", "9C QH", {"player_pair"}),
        ("9H QS", "4C 4H", {"banker_pair"}),
        ("4H 4S", "4C 4D", {"player_pair", "banker_pair"}),
        ("TH KS", "9C QH", set()),  # both count nothing, and are of two ranks
        ("KH 2S 2C", "7C QH", set()),  # the third card makes no pair
    ],
)
def test_a_pair_is_two_first_cards_of_one_rank(
    player: str, banker: str, expected: set[str]
) -> None:
    assert hits(player, banker) & {"player_pair", "banker_pair"} == expected


@pytest.mark.parametrize(
    ("player", "banker", "reason"),
    [
        ("7S KD 8H", "9C QH", "Player's third card was not due: Banker has a natural 9"),
        ("9S KD", "2C QH 5D", "Banker's third card was not due: Player has a natural 9"),
        ("7S KD 8H", "4C QH", "Player's third card was not due: Player stands on 7"),
        ("2S KD", "4C QH", "Player's third card is missing: Player draws on 2"),
        ("7S KD", "4C QH", "Banker's third card is missing: Banker draws on 4 against a Player"),
        (
            "2S KD 8H",
            "3C QH 5D",
            "Banker's third card was not due: Banker stands on 3 against Player's third card 8♥",
        ),
        (
            "2S KD 7H",
            "3C QH",
            "Banker's third card is missing: Banker draws on 3 against Player's third card 7♥",
        ),
        ("7S", "4C QH 2D", "Player has 1 card; a hand has two or three"),
        ("7S KD", "", "Banker has 0 cards"),
        ("7S KD", "KD KD KD KD", "Banker has 4 cards"),
        ("10S KD", "9C QH", "'10S' is not a playing card; write 7H, TC"),
        ("7S KD", "9C CUT", "'CUT' is not a playing card"),
        ("7S KD", "9C ?", "'?' is not a playing card; write 7H, TC"),
    ],
)
def test_the_error_for_an_impossible_deal_has_the_reason(
    player: str, banker: str, reason: str
) -> None:
    with pytest.raises(ImpossibleDeal) as refused:
        score(MINI, player.split(), banker.split())
    assert str(refused.value).startswith(reason)


def test_there_are_no_more_copies_of_a_card_than_decks() -> None:
    two_decks = Game(document("mini", {"decks": 2}))
    score(two_decks, ["KS", "9H"], ["KS", "7C"])
    with pytest.raises(ImpossibleDeal, match="3 copies of KS in a shoe of 2 decks"):
        score(two_decks, ["KS", "KS", "KS"], ["2D", "4C"])
    with pytest.raises(ImpossibleDeal, match="9 copies of KS in a shoe of 8 decks"):
        score(MINI, ["KS"] * 5, ["KS"] * 4)


def test_the_draws_are_those_of_the_games_own_tables() -> None:
    """If the tables of a game are changed, the score follows the changed tables."""
    wrong: Any = [*baccarat_game.BANKER_DRAWS]
    wrong[3] = list(range(10))
    game = Game(games.encode({**baccarat_game.MINI, "banker_draws": wrong}))
    assert score(game, ["2S", "KD", "8H"], ["3C", "QH", "5D"]).banker_total == 8


@pytest.mark.parametrize(
    ("player", "banker", "expected"),
    [
        ("2S KD 4H", "4C KH 3D", {"dragon_7", "fortune_7"}),
        ("6S KD", "4C KH 3D", {"dragon_7", "fortune_7"}),
        ("6S KD", "7C QH", set()),  # 7 of two
        ("7S KD", "5C QH 2D", set()),  # 7 of three, tied by 7 of two
        ("2S KD 6H", "6C QH TD", {"panda_8", "golden_8"}),
        ("2S KD 6H", "4C QH 3D", {"panda_8", "golden_8"}),  # the Banker's 7 of three loses
        ("8S KD", "6C QH", set()),  # 8 of two
        ("2S KD 6H", "6C QH 3D", {"heavenly_9"}),  # the Player's 8 of three loses
        ("2S KD 7H", "6C QH TD", {"heavenly_9"}),
        ("2S KD 7H", "6C QH 3D", {"heavenly_9_both"}),
        ("9S KD", "6C QH", set()),  # 9 of two
        ("7S KD", "7C QH", {"blazing_7s_two"}),
        ("2S KD 5H", "5C QH 2D", {"blazing_7s_three"}),
    ],
)
def test_the_hits_of_rounds_made_by_hand(player: str, banker: str, expected: set[str]) -> None:
    assert hits(player, banker) == expected
