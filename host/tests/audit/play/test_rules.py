"""The host's rules against tables from the rule documents, and against the firmware's rules."""

import itertools

import pytest

from sabot.audit.play import rules
from sabot_firmware.table import rules as firmware_rules
from sabot_firmware.table.baccarat import BANKER, PLAYER, TIE
from sabot_firmware.table.dealing import LID, Dealing
from sabot_firmware.table.shoe_of_cards import BETTING, BETWEEN, DEALING
from sabot_protocol import baccarat as baccarat_game
from sabot_protocol import cards, enums, events, games

# Pennsylvania, "Mini & Midi Baccarat", the chart "Banker having": (draws, does not draw).
PENNSYLVANIA = {
    3: ("0-1-2-3-4-5-6-7-9", "8"),
    4: ("2-3-4-5-6-7", "0-1-8-9"),
    5: ("4-5-6-7", "0-1-2-3-8-9"),
    6: ("6-7", "0-1-2-3-4-5-8-9"),
}

# "mini-baccarat-pairs", "The Third Card Rule - Banker".
PAIRS = {
    3: lambda third: third != 8,
    4: lambda third: 2 <= third <= 7,
    5: lambda third: 4 <= third <= 7,
    6: lambda third: third in (6, 7),
    7: lambda third: False,
}

# Washington, item 6: the value of each rank.
POINTS = {"A": 1, "2": 2, "3": 3, "4": 4, "5": 5, "6": 6, "7": 7, "8": 8, "9": 9}
POINTS |= {"T": 0, "J": 0, "Q": 0, "K": 0}
CARD_OF_POINT = ["KS", "AC", "2D", "3H", "4S", "5C", "6D", "7H", "8S", "9C"]
MINI = baccarat_game.Game(baccarat_game.document_of(baccarat_game.MINI_NAME))
EVERY_WAGER = baccarat_game.Game(
    games.encode({**baccarat_game.MINI, "wagers": list(baccarat_game.HITS_OF_WAGER)})
)
NUMBER_OF = {name: cards.number_of(name) for name in CARD_OF_POINT}

# Two cards of each total, as different as possible.
PAIR_OF_TOTAL = [
    ("5C", "5C"), ("AC", "KS"), ("6D", "6D"), ("4S", "9C"), ("7H", "7H"),
    ("8S", "7H"), ("KS", "6D"), ("9C", "8S"), ("9C", "9C"), ("KS", "9C"),
]  # fmt: skip


def test_each_card_counts_as_the_document_says() -> None:
    for rank, suit in itertools.product(POINTS, "CDHS"):
        assert rules.total([rank + suit]) == POINTS[rank]


@pytest.mark.parametrize(
    ("hand", "total"),
    [
        (["7C", "5D"], 2),  # Washington, item 7
        (["7C", "6D", "8H"], 1),  # Washington, item 7
        (["9C", "5D"], 4),  # Pennsylvania
        (["JC", "AD"], 1),  # Pennsylvania
        (["TC", "KD", "QH"], 0),
        ([], 0),
    ],
)
def test_totals_are_those_of_the_documents_examples(hand: list[str], total: int) -> None:
    assert rules.total(hand) == total


def test_burn_counts() -> None:
    # Table facts, "A shoe of cards": its point value, tens and faces 10, an ace 1.
    for rank, suit in itertools.product(POINTS, "CDHS"):
        expected = 10 if rank in "TJQK" else POINTS[rank]
        most = 11 if rank == "A" else expected
        assert list(rules.burn_counts(rank + suit)) == list(range(expected, most + 1))
        assert firmware_rules.burn_count(MINI, cards.number_of(rank + suit)) == expected


def test_the_two_documents_agree_which_shows_typing_errors() -> None:
    for total, (draws, stands) in PENNSYLVANIA.items():
        for third in range(10):
            assert (str(third) in draws.split("-")) == PAIRS[total](third)
            assert (str(third) in stands.split("-")) != PAIRS[total](third)


@pytest.mark.parametrize("player_total", range(10))
def test_the_player_draws_on_0_to_5_and_stands_on_6_and_7(player_total: int) -> None:
    two = PAIR_OF_TOTAL[player_total]
    banker = PAIR_OF_TOTAL[7]  # Banker always stands on 7
    stood, drew = rules.judge(two, banker), rules.judge([*two, "KS"], banker)
    if player_total <= 5:
        assert (stood.wrong, drew.wrong) == ("Player's third card is missing", None)
    else:
        assert (stood.wrong, drew.wrong) == (None, "Player's third card was not due")


@pytest.mark.parametrize("banker_total", range(10))
def test_the_banker_draws_by_the_chart_after_the_player_drew(banker_total: int) -> None:
    player, banker = PAIR_OF_TOTAL[0], PAIR_OF_TOTAL[banker_total]
    for third in range(10):
        if banker_total >= 8:
            verdict = rules.judge([*player, CARD_OF_POINT[third]], banker)
            assert verdict.wrong == "Player's third card was not due"
            continue
        due = banker_total <= 2 or (banker_total < 7 and PAIRS[banker_total](third))
        three = [*player, CARD_OF_POINT[third]]
        stood, drew = rules.judge(three, banker), rules.judge(three, [*banker, "KS"])
        if due:
            assert (stood.wrong, drew.wrong) == ("Banker's third card is missing", None)
        else:
            assert (stood.wrong, drew.wrong) == (None, "Banker's third card was not due")


@pytest.mark.parametrize("player_total", [6, 7])
@pytest.mark.parametrize("banker_total", range(10))
def test_the_banker_draws_on_0_to_5_after_the_player_stood(
    player_total: int, banker_total: int
) -> None:
    player, banker = PAIR_OF_TOTAL[player_total], PAIR_OF_TOTAL[banker_total]
    stood, drew = rules.judge(player, banker), rules.judge(player, [*banker, "KS"])
    if banker_total <= 5:
        assert (stood.wrong, drew.wrong) == ("Banker's third card is missing", None)
    else:
        assert (stood.wrong, drew.wrong) == (None, "Banker's third card was not due")


@pytest.mark.parametrize("natural_side", ["player", "banker"])
@pytest.mark.parametrize("natural", [8, 9])
@pytest.mark.parametrize("other", range(10))
def test_no_hand_draws_when_either_hand_is_a_natural(
    natural_side: str, natural: int, other: int
) -> None:
    hands = {"player": PAIR_OF_TOTAL[other], "banker": PAIR_OF_TOTAL[other]}
    hands[natural_side] = PAIR_OF_TOTAL[natural]
    player, banker = hands["player"], hands["banker"]
    verdict = rules.judge(player, banker)
    assert verdict.natural and verdict.wrong is None
    assert rules.judge([*player, "KS"], banker).wrong == "Player's third card was not due"
    assert rules.judge(player, [*banker, "KS"]).wrong == "Banker's third card was not due"


@pytest.mark.parametrize("count", [0, 1, 4])
def test_a_hand_of_other_than_two_or_three_cards_is_wrong(count: int) -> None:
    hand, two = ["KS"] * count, ["KS", "7H"]
    assert rules.judge(hand, two).wrong == f"Player has {count} card{'s' * (count != 1)}"
    assert rules.judge(two, hand).wrong == f"Banker has {count} card{'s' * (count != 1)}"


def test_a_total_of_8_or_9_with_three_cards_is_not_a_natural() -> None:
    verdict = rules.judge(["KS", "KS", "9C"], ["KS", "7H"])
    assert (verdict.natural, verdict.player_total, verdict.winner) == (False, 9, "player")


@pytest.mark.slow
def test_every_reachable_round_has_the_same_result_in_the_firmware() -> None:
    """All totals of two cards for both hands, and all values of both third cards, dealt by the
    firmware.
    """
    assert tuple(map(enums.WINNERS.index, ("player", "banker", "tie"))) == (PLAYER, BANKER, TIE)
    dealing = Dealing(EVERY_WAGER, 0, 0)
    dealing.switched(LID, True)
    dealing.switched(LID, False)
    dealing.card_passed(NUMBER_OF["AC"])
    dealing.card_passed(NUMBER_OF["KS"])
    rounds = set()
    seen: set[str] = set()
    for first, second in itertools.product(PAIR_OF_TOTAL, repeat=2):
        for thirds in itertools.product(CARD_OF_POINT, repeat=2):
            cards_in_order = [first[0], second[0], first[1], second[1], *thirds]
            player, banker, result = _dealt(dealing, cards_in_order)
            verdict = rules.judge(player, banker)
            assert verdict.wrong is None, (player, banker)
            winner, player_total, banker_total, player_natural, banker_natural = result[:5]
            assert result[5] == abs(player_total - banker_total)
            hits = {name for n, name in enumerate(enums.HITS) if result[6] >> n & 1}
            assert rules.hits(player, banker) == hits, (player, banker)
            seen |= hits
            assert verdict.winner == enums.WINNERS[winner], (player, banker)
            assert (verdict.player_total, verdict.banker_total) == (player_total, banker_total)
            assert verdict.natural == (player_natural or banker_natural)
            _assert_any_other_draw_is_wrong(cards_in_order, player, banker)
            rounds.add((tuple(player), tuple(banker)))
    assert seen == set(enums.HITS)
    assert len(rounds) > 3000  # naturals 36; one draws 6 x 10 or 2 x 6 x 10; both draw the most


def _dealt(dealing: Dealing, deck: list[str]) -> tuple[list[str], list[str], tuple[int, ...]]:
    dealing.inventory.load(8)  # the test deals more rounds than a shoe of cards has
    if dealing.phase == BETWEEN:
        dealing.pressed(enums.BUTTONS.index("next"))
    assert dealing.phase == BETTING
    hands: dict[str, list[str]] = {"p": [], "b": []}
    for name in deck:
        actions = dealing.card_passed(NUMBER_OF[name])
        for shape, _, _, values in actions:
            if shape is events.CARD:
                hands[enums.POSITIONS[values[1]][0]].append(name)
            if shape is events.RESULT:
                assert dealing.phase == BETWEEN
                return hands["p"], hands["b"], values
    raise AssertionError(f"no result after {deck}, phase {dealing.phase} ({DEALING} is dealing)")


def _assert_any_other_draw_is_wrong(deck: list[str], player: list[str], banker: list[str]) -> None:
    for player_draws, banker_draws in itertools.product((2, 3), repeat=2):
        if (player_draws, banker_draws) != (len(player), len(banker)):
            other_player = [deck[0], deck[2], deck[4]][:player_draws]
            other_banker = [deck[1], deck[3], deck[5]][:banker_draws]
            assert rules.judge(other_player, other_banker).wrong is not None
