"""Deck files: those that can be dealt, and the errors for all others."""

import os
import random
from collections import Counter
from pathlib import Path

import pytest

from sabot.errors import BadDeck
from sabot.sim import deck
from sabot_protocol import cards

WHOLE = [rank + suit for rank in "A23456789TJQK" for suit in "CDHS"] * 8


def write(path: Path, names: list[str]) -> Path:
    path.write_text("\n".join(names) + "\n", encoding="ascii")
    return path


def refusal(path: Path, *, short: bool = False) -> str:
    """The error message, one line, for a deck that cannot be dealt."""
    with pytest.raises(BadDeck) as raised:
        deck.read(path, short=short)
    message = str(raised.value)
    assert "\n" not in message and message.startswith(str(path))
    return message


def test_a_whole_deck_is_read_in_drawing_order(tmp_path: Path, rng: random.Random) -> None:
    names = [*WHOLE, "CUT"]
    rng.shuffle(names)
    numbers = deck.read(write(tmp_path / "deck", names))
    assert [cards.name_of(card) for card in numbers] == names


@pytest.mark.parametrize("text", ["7h\ntc\ncut\n", "7H\r\nTC\r\nCUT", " 7H\t\n\n\nTC\n  \nCUT"])
def test_small_letters_blanks_and_windows_lines_are_accepted(tmp_path: Path, text: str) -> None:
    path = tmp_path / "deck"
    path.write_bytes(text.encode())
    assert deck.read(path, short=True) == [32, 9, 52]


@pytest.mark.parametrize(
    "name", ["1H", "11H", "7X", "H7", "JOKER", "TEST", "7", "7HH", "7H TC", "#"]
)
def test_an_unknown_card_is_reported_with_its_line(tmp_path: Path, name: str) -> None:
    message = refusal(write(tmp_path / "deck", ["7H", "", name, "TC"]), short=True)
    assert "line 3" in message and repr(name) in message and "write 7H, TC or CUT" in message


def test_a_long_line_is_shortened_in_the_message(tmp_path: Path) -> None:
    assert (
        len(refusal(write(tmp_path / "deck", ["X" * 5000]), short=True)) < len(str(tmp_path)) + 100
    )


def test_nine_copies_of_a_card_are_too_many(tmp_path: Path) -> None:
    assert len(deck.read(write(tmp_path / "deck", ["7H"] * 8), short=True)) == 8
    message = refusal(write(tmp_path / "deck", ["7H"] * 9), short=True)
    assert "9 copies of 7H in 8 decks; remove the surplus" in message
    names = [*WHOLE, "CUT"]
    names[names.index("AC")] = "KS"
    assert "9 copies of KS" in refusal(write(tmp_path / "deck", names))


@pytest.mark.parametrize("missing", [1, 52, 415])
def test_too_few_cards_need_short(tmp_path: Path, missing: int) -> None:
    path = write(tmp_path / "deck", [*WHOLE[missing:], "CUT"])
    message = refusal(path)
    assert (
        f"{416 - missing} card" in message
        and "the 416 of 8 decks" in message
        and "--short" in message
    )
    assert len(deck.read(path, short=True)) == 417 - missing


@pytest.mark.parametrize("short", [True, False])
@pytest.mark.parametrize("names", [[], [""], ["CUT"]])
def test_a_deck_without_cards_is_refused(tmp_path: Path, names: list[str], short: bool) -> None:
    message = refusal(write(tmp_path / "deck", names), short=short)
    assert ("no cards" in message) if short else ("0 cards" in message)


@pytest.mark.parametrize("short", [True, False])
def test_one_cut_card_or_none(tmp_path: Path, short: bool) -> None:
    for cuts in (0, 1):
        assert len(deck.read(write(tmp_path / "deck", WHOLE + ["CUT"] * cuts), short=short)) > 415
    assert "more than one CUT" in refusal(
        write(tmp_path / "deck", [*WHOLE, "CUT", "CUT"]), short=short
    )


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n\0\0",
        "7\N{BLACK HEART SUIT}\n".encode("utf-16"),
        bytes(range(256)),
        b"\0" * 99,
    ],
)
def test_a_file_that_is_not_text_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "deck"
    path.write_bytes(data)
    assert "no" in refusal(path, short=True)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    assert "No such file" in refusal(tmp_path / "none")
    assert "Is a directory" in refusal(tmp_path)


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "deck"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    assert "too large" in refusal(path)


def test_an_endless_file_is_refused() -> None:
    assert refusal(Path("/dev/zero"))


def test_a_deck_may_come_through_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    if not (child := os.fork()):
        path.write_text("7H\nCUT\n", encoding="ascii")
        os._exit(0)
    assert deck.read(path, short=True) == [32, 52]
    os.waitpid(child, 0)


@pytest.mark.parametrize("seed", [0, 1, 2**40])
def test_shuffled_is_eight_decks_and_the_cut_card_14_from_the_end(seed: int) -> None:
    shuffled = deck.shuffled(seed)
    counts = Counter(shuffled)
    assert counts.pop(cards.CUT_CARD) == 1
    assert counts == dict.fromkeys(range(52), 8)
    assert shuffled.index(cards.CUT_CARD) == 416 - 14
    deck.check(shuffled, "shuffled", short=False)


def test_the_same_seed_gives_the_same_cards_and_another_seed_others() -> None:
    assert deck.shuffled(7) == deck.shuffled(7)
    assert deck.shuffled(7) != deck.shuffled(8)
    assert deck.shuffled() != deck.shuffled()


def test_every_card_comes_to_every_place() -> None:
    """The first 100 cards hold about 25 of each suit, as expected by chance."""
    counts = Counter(card // 13 for seed in range(200) for card in deck.shuffled(seed)[:100])
    assert all(abs(count - 5000) < 300 for count in counts.values())  # 5.6 standard deviations


def test_fewer_decks_are_shuffled_and_read(tmp_path: Path) -> None:
    dealt = deck.shuffled(5, decks=2, cut_from_end=10)
    assert len(dealt) == 105 and dealt[-11] == cards.CUT_CARD
    assert Counter(dealt).most_common(1)[0][1] == 2
    path = tmp_path / "two.deck"
    path.write_text("\n".join(cards.name_of(card) for card in dealt))
    assert deck.read(path, decks=2) == dealt
    with pytest.raises(BadDeck, match="the 416 of 8 decks"):
        deck.read(path)
