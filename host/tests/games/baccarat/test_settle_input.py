"""WAGERS.json as people write it: the error for each mistake is one line with what and where."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import protocol.tests.without_clocks  # noqa: F401
from host.tests.support.table import line, seat
from sabot.errors import BadWagers
from sabot.games.baccarat import wager_file

GOOD: dict[str, Any] = {
    "round": {"player": ["7S", "KD"], "banker": ["9C", "QH"]},
    "positions": [seat(3, banker=10_000, tie=1000), line(2, "Ben", player=5000)],
    "markers": [{"seat": 3, "player": "Ann", "owed_cents": 250}],
    "leaving": ["Ann"],
    "last_of_shoe": False,
    "house": {"vigorish_when": "marked"},
    "warned": ["Ben"],
}

NO_AREA = 'give one area, for example "seat": 3 or "line": 2'


def refused(value: object) -> str:
    """The error message, one line, with which a file is refused."""
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    with pytest.raises(BadWagers) as caught:
        wager_file.parse(data)
    message = str(caught.value)
    assert message.isprintable() and len(message) < 300
    return message


def with_wagers(**wagers: object) -> dict[str, Any]:
    """GOOD with `wagers` at seat 3 as its only position."""
    return GOOD | {"positions": [{"seat": 3, "player": "Ann", "wagers": wagers}]}


def test_a_whole_file_is_read() -> None:
    read = wager_file.parse(json.dumps(GOOD).encode())
    assert read.round == wager_file.GivenRound(("7S", "KD"), ("9C", "QH"))
    at_seat, on_line = read.positions
    assert (str(at_seat.area), at_seat.player) == ("seat 3", "Ann")
    assert at_seat.wagers == {"banker": 10_000, "tie": 1000}
    assert (str(on_line.area), on_line.player) == ("line 2", "Ben")
    assert [(str(m.area), m.player, m.owed_cents) for m in read.markers] == [("seat 3", "Ann", 250)]
    assert (read.leaving, read.warned, read.last_of_shoe) == ({"Ann"}, {"Ben"}, False)
    assert read.ghost_hand is None


@pytest.mark.parametrize(
    "cents",
    [0, -1, -(10**30), 10**12 + 1, 10**40, 0.5, 100.0, 1e3, "100", True, None, [], {}, [100]],
)
def test_a_wrong_amount_is_refused(cents: object) -> None:
    message = refused(with_wagers(banker=1000, tie=cents))
    assert (
        message.startswith("seat 3: tie: ")
        and "not an amount; write whole cents, from 1 to" in message
    )
    message = refused(GOOD | {"markers": [{"seat": 3, "player": "Ann", "owed_cents": cents}]})
    assert message.startswith(
        "marker 1: owed_cents: " if cents is not None else "marker 1: the amount"
    )


def test_the_largest_amount_is_accepted() -> None:
    assert wager_file.parse(json.dumps(with_wagers(tie=10**12)).encode()).positions


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            with_wagers(bankr=1000),
            'seat 3: wagers: unknown key "bankr"; did you mean banker?',
        ),
        (with_wagers(), "seat 3: Ann has no wagers; leave the position out"),
        (
            GOOD | {"positions": [{"seet": 3}]},
            'position 1: unknown key "seet"; did you mean seat?',
        ),
        (
            GOOD | {"postions": []},
            'the file: unknown key "postions"; did you mean positions?',
        ),
        ({"round": GOOD["round"]}, 'no "positions"; list who wagers what and where'),
        ({"positions": []}, 'no positions; for a round without wagers write {"ghost_hand": 1}'),
        ({"positions": {}}, "positions: an object is not a list; write [...]"),
        ({"positions": [1]}, "position 1: 1 is not an object; write {...}"),
        ([], "the file: a list is not an object; write {...}"),
        (None, "the file: null is not an object; write {...}"),
        ({"positions": [{"player": "Ann"}]}, f"position 1: {NO_AREA}"),
        ({"positions": [seat(1, tie=1) | {"line": 1}]}, f"position 1: {NO_AREA}"),
        (
            {"positions": [seat(1, tie=1), seat(1, tie=5)]},
            "seat 1: Ann is listed 2 times; make it one entry",
        ),
        (
            {"positions": [{"seat": 1, "wagers": {"tie": 5}}]},
            'position 1: the player is missing; write "player": "Ann"',
        ),
        (
            {"positions": [{"seat": 1, "player": None, "wagers": {"tie": 5}}]},
            'position 1: the player is missing; write "player": "Ann"',
        ),
        (
            {"positions": None},
            'no "positions"; list who wagers what and where',
        ),
        (
            {"positions": [seat(1, "A\nB", tie=1)]},
            'position 1: player: "A\\nB" is not text of 1 to 40 characters',
        ),
        (
            {"positions": [seat(1, "x" * 41, tie=1)]},
            f'position 1: player: "{"x" * 36}... is not text of 1 to 40 characters',
        ),
        (
            {"positions": [seat(1, changed={"changed_after": "frist_card"}, tie=1)]},
            'seat 1: changed_after: "frist_card"; did you mean first_card?',
        ),
        (
            {"positions": [seat(1, changed={"called": 5}, tie=1)]},
            "seat 1: called: 5; there are: unconfirmed, confirmed, converted",
        ),
        (
            {"positions": [{"ghost_hand": 0}]},
            "position 1: ghost_hand: 0 is not a whole number from 1 to 99",
        ),
        (
            {"positions": [{"ghost_hand": True}]},
            "position 1: ghost_hand: true is not a whole number from 1 to 99",
        ),
        (
            {"positions": [{"ghost_hand": 1, "player": "Ann"}]},
            'position 1: write a ghost hand as {"ghost_hand": 1}, once in a round',
        ),
        (
            {"positions": [{"ghost_hand": 1}, {"ghost_hand": 2}]},
            'position 2: write a ghost hand as {"ghost_hand": 1}, once in a round',
        ),
        (
            GOOD | {"leaving": ["Anna"]},
            "leaving: Anna has no wager or marker here; there are: Ann, Ben",
        ),
        (GOOD | {"leaving": "Ann"}, 'leaving: "Ann" is not a list; write [...]'),
        (GOOD | {"last_of_shoe": 1}, "last_of_shoe: 1 must be true or false"),
        (GOOD | {"house": []}, 'house: a list is not an object; write {"areas": 7}'),
        (
            GOOD | {"house": {"burn": "a\nb"}},
            'house: burn: "a\\nb" is not text of 1 to 400 characters',
        ),
        (
            GOOD | {"house": {"areas": [9]}},
            "house: areas: a list is not a choice; write a number or word",
        ),
        (GOOD | {"round": 7}, "round: 7 is not an object; write {...}"),
        (
            GOOD | {"round": {"player": ["7S"]}},
            'round: give the cards of "player" and "banker", or why it is "void"',
        ),
        (
            GOOD | {"round": {"player": ["7S"], "banker": ["7S"], "void": "misdeal"}},
            'round: give the cards of "player" and "banker", or why it is "void"',
        ),
        (
            GOOD | {"round": {"player": "7S KD", "banker": []}},
            'round: player: "7S KD" is not a list; write [...]',
        ),
        (
            GOOD | {"round": {"player": [7], "banker": []}},
            "round: player: 7 is not a card; write 7H, TC",
        ),
        (
            GOOD | {"round": {"player": ["7 of hearts"], "banker": []}},
            'round: player: "7 of hearts" is not a card; write 7H, TC',
        ),
        (GOOD | {"round": {"void": ""}}, 'round: void: "" is not text of 1 to 40 characters'),
        (GOOD | {"markers": [{"owed_cents": 5}]}, f"marker 1: {NO_AREA}"),
        (
            GOOD | {"markers": [{"seat": 1, "player": "Ann"}]},
            'marker 1: the amount is missing; write "owed_cents": 250',
        ),
        (
            GOOD | {"markers": [{"seat": 1, "player": "Ann", "owed_cents": None}]},
            'marker 1: the amount is missing; write "owed_cents": 250',
        ),
        (
            GOOD | {"markers": [{"seat": 1, "player": "Ann", "owed_cents": 5, "shoe": 0}]},
            "marker 1: shoe: 0 is not a whole number from 1 to 9223372036854775807",
        ),
    ],
)
def test_the_error_names_the_mistake(value: object, message: str) -> None:
    assert refused(value) == message


@pytest.mark.parametrize("number", [-1, 100, 3.0, "3", True, None, 10**50])
def test_an_area_without_a_valid_number_is_refused(number: object) -> None:
    for kind in ("seat", "line"):
        entry = {kind: number, "player": "Ann", "wagers": {"tie": 1000}}
        assert refused({"positions": [entry]}).startswith(f"position 1: {kind}: ")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not JSON: Expecting value in line 1; fix it"),
        (b'{"positions":\n [}', "not JSON: Expecting value in line 2; fix it"),
        (b'{"positions": []} x', "not JSON: Extra data in line 1; fix it"),
        (b"\xff\xfe{}", "not UTF-8 text; write JSON"),
        (b"[" * 100_000, "nested too deeply or a number too long; fix it"),
        (b'{"positions": ' + b"9" * 5000 + b"}", "nested too deeply or a number too long; fix it"),
        (b'{"positions": [{"seat": 1, "player": "A", "wagers": {"tie": NaN}}]}',
         "seat 1: tie: NaN is not an amount; write whole cents, from 1 to 1000000000000"),
        (b'{"positions": [{"seat": 1, "player": "A", "wagers": {"tie": 5, "tie": 900}}]}',
         '"tie" is given twice in one object; keep one of them'),
    ],
)  # fmt: skip
def test_damaged_json_is_refused(data: bytes, message: str) -> None:
    assert refused(data) == message


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    for path, message in (
        (tmp_path / "none.json", "cannot be read (No such file or directory); check the name"),
        (tmp_path, "cannot be read (Is a directory); check the name"),
        (Path("/dev/zero"), "over 1,048,576 bytes; a round's wagers need far less"),
    ):
        with pytest.raises(BadWagers) as caught:
            wager_file.read(path)
        assert str(caught.value) == f"{path}: {message}"
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(BadWagers, match=r'bad\.json: no "positions"'):
        wager_file.read(tmp_path / "bad.json")


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=50),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
        st.sampled_from([*GOOD, "seat", "line", "player", "wagers", "tie", "void", "x\n"]),
        inner, max_size=4,
    ),
)  # fmt: skip


@pytest.mark.slow
@settings(deadline=None, max_examples=500)
@given(_json, st.sampled_from([None, *GOOD]), st.sampled_from([None, 0, 1]))
def test_any_file_is_read_or_refused_in_one_line(
    value: Any, key: str | None, index: int | None
) -> None:
    whole: Any = json.loads(json.dumps(GOOD))
    if key is None:
        whole = value
    elif index is not None and isinstance(whole[key], list) and index < len(whole[key]):
        whole[key][index] = value
    else:
        whole[key] = value
    try:
        wager_file.parse(json.dumps(whole).encode())
    except BadWagers as error:
        assert str(error).isprintable() and len(str(error)) < 300


def test_the_cards_of_a_round_are_written_as_sabot_prints_them() -> None:
    hands = {"player": ["10♠", "7s"], "banker": ["Kh", " 2♦", "TC"]}
    read = wager_file.parse(json.dumps(GOOD | {"round": hands}).encode())
    assert read.round == wager_file.GivenRound(("TS", "7S"), ("KH", "2D", "TC"))
