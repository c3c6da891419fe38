"""No message has anything of what must not show yet, read in any cut of the log.

Two attacks. Shoes that differ only in the cards of a round that lies face down must have the same
messages, byte for byte, until its reveal. And in rounds that a person deals with all kinds of
trouble, no message has a fact of the round before its reveal; the person knows the facts.
"""

import json
import random
import re
from pathlib import Path

import pytest

from host.tests.log.test_face_down import _dealt, _DealtRound, _Table
from host.tests.support.helpers import FirmwareLog, new_log, stored
from sabot.feeds.message import Message, Position
from sabot.feeds.unit_messages import Context, messages_between
from sabot.games.baccarat import catalogue
from sabot.log.store import Store
from sabot_firmware.table.shoe_of_cards import BETWEEN

_PLAIN, _SEALING = "0.1.0", "0.2.0"
_TIE = ("7C", "KC", "KC", "7C")
_NATURALS = ("9C", "KH", "TD", "9H"), ("TS", "2D", "9D", "6S")
_NINTH_COPIES = ("7C",), ("KC",)


def _messages(store: Store) -> list[Message]:
    return [*messages_between(Context(store), "U1", Position(0, 0), 1 << 60)]


def _in_each_cut(path: Path, log: FirmwareLog, first: int, document: bytes | None) -> list[bytes]:
    """The messages of the log's first `first` events and more, one event at a time."""
    found = []
    with new_log(path) as store:
        if document is not None:
            store.keep_game(document)
        store.append("U1", stored(log.records[:first]))
        for record in [None, *log.records[first:]]:
            if record is not None:
                store.append("U1", stored([record]))
            found.append(b"\n".join(each.body for each in _messages(store)))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("firmware", [_PLAIN, _SEALING])
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("pair", [_NATURALS, _NINTH_COPIES], ids=["naturals", "ninth copies"])
def test_shoes_with_other_cards_face_down_have_the_same_messages_until_the_reveal(
    tmp_path: Path, firmware: str, known: bool, pair: tuple[tuple[str, ...], tuple[str, ...]]
) -> None:
    document = catalogue.document("md-midi", {"burn": "none"})
    both = []
    for number, cards in enumerate(pair):
        log = FirmwareLog(game=document, firmware=firmware).load()
        for drawn in [*[(*_TIE, "reveal")] * 4, cards]:
            while log.betting_due():
                log.draw("next")
            begin = len(log.records)
            log.draw(*drawn)
        face_down = len(log.records) - begin
        if cards in _NATURALS:
            log.draw("reveal")
        kept = document if known else None
        both.append((_in_each_cut(tmp_path / f"{number}", log, begin, kept), face_down))
    (cuts, face_down), (others, of_other) = both
    assert face_down == of_other > 1
    assert cuts[: face_down + 1] == others[: face_down + 1]
    if pair == _NATURALS:
        assert cuts[-1] != others[-1]


def _facts_in(facts: set[str], text: str) -> set[str]:
    return {each for each in facts if re.search(rf"(?<!\w){re.escape(each)}(?!\w)", text)}


def _of_round(messages: list[Message], shoe: int, round_: int) -> str:
    """What the messages say of a round, without what they say of others."""
    found = [json.loads(each.body)["data"] for each in messages]
    mine = [each for each in found if (each["shoe"], each.get("round")) == (shoe, round_)]
    return json.dumps(mine, ensure_ascii=False)


@pytest.mark.slow
@pytest.mark.parametrize("game", ["mini", "mini-pairs"])
def test_no_fact_of_a_round_is_in_a_message_before_its_reveal(
    tmp_path: Path, rng: random.Random, game: str
) -> None:
    table = _Table(game, rng)
    shoe, revealed = table.shoe, 0
    with new_log(tmp_path / "log") as store:
        store.keep_game(table.dealing.game.document)
        at = 0

        def said() -> list[Message]:
            nonlocal at
            found = []
            while at < len(shoe.records):  # each cut
                store.append("U1", stored(shoe.records[at : at + 1]))
                at += 1
                if rng.random() < 0.3 or at == len(shoe.records):
                    found = _messages(store)
                    place = table.dealing.shoe, table.dealing.round
                    if not is_shown:
                        assert not _facts_in(dealt.facts(), _of_round(found, *place)), at
            return found

        while revealed < 4:
            dealt, is_shown = _DealtRound(), False
            for _ in _dealt(table, dealt, rng):
                said()
            if table.dealing.phase == BETWEEN:  # void, before its reveal
                is_shown = True
            else:
                said()
                revealed, is_shown = revealed + 1, True
                table.press_reveal()
                place = table.dealing.shoe, table.dealing.round
                (ended,) = [
                    json.loads(each.body)["data"]
                    for each in said()
                    if each.id == f"U1/{len(shoe.records)}" or _is_of(each, *place)
                ]
                assert ended["player"] == dealt.hand.player
                assert ended["banker"] == dealt.hand.banker
            shoe.draw("next")


def _is_of(message: Message, shoe: int, round_: int) -> bool:
    data = json.loads(message.body)["data"]
    return message.what == "rounds" and (data["shoe"], data["round"]) == (shoe, round_)


@pytest.mark.parametrize("voided", ["opened", "never"])
def test_a_void_round_has_its_sealed_cards_only_if_the_house_opens_them(
    tmp_path: Path, voided: str
) -> None:
    document = catalogue.document("ez-midi", {"voided_cards": voided})
    log = FirmwareLog(game=document, firmware=_SEALING).load()
    log.draw("AS", "2C", "next", "next", "9D", "5S", "blank", "!void")
    with new_log(tmp_path / "log") as store:
        store.keep_game(document)
        store.append("U1", stored(log.records))
        (ended,) = [each for each in _messages(store) if each.what == "rounds"]
    data = json.loads(ended.body)["data"]
    assert data["void"] is not None and data["winner"] is None
    cards = {"9D", "5S"} & {*data["player"], *data["banker"]}
    assert (cards, data["sealed"]) == (({"9D", "5S"}, 0) if voided == "opened" else (set(), 2))
    if voided == "never":
        everything = b"".join(each.body for each in [ended])
        assert b"9D" not in everything and b"5S" not in everything


def test_a_shoe_that_ends_with_a_round_face_down_has_it_as_a_void_one(tmp_path: Path) -> None:
    document = catalogue.document("md-midi", {"burn": "none"})
    log = FirmwareLog(game=document, firmware=_SEALING).load().draw("next", "9C", "KH", "end")
    with new_log(tmp_path / "log") as store:
        store.keep_game(document)
        store.append("U1", stored(log.records))
        rounds = [json.loads(e.body)["data"] for e in _messages(store) if e.what == "rounds"]
    assert all(each["winner"] is None for each in rounds)
