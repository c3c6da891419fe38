"""Writes a hand in the open Poker Hand History format (PHH, https://phh.readthedocs.io), as TOML.

Its readers know neither a hand that was run twice nor pot-limit hold'em. Amounts are in cents.
"""

import json
from collections.abc import Iterable, Iterator

from sabot.errors import BadHand
from sabot.games.holdem.betting import Played, PlayedAct, play
from sabot.games.holdem.hand_file import CALL, CHECK, FOLD, STREETS, HandFile, Seat
from sabot.games.holdem.house import FIXED_LIMIT, POT_LIMIT, House, house_of
from sabot.games.holdem.settle import HandSettlement
from sabot.text import printable

_MOST_FIXED_BETS = 4
"""Bets and raises in a round that readers of fixed-limit hands allow."""
_FIRST_CARD = {"flop": 0, "turn": 3, "river": 4}


def phh_of(hand: HandFile, settled: HandSettlement) -> str:
    """Return a settled hand as PHH. Raises BadHand for a hand that the format cannot have."""
    house = house_of(hand.house)
    played = play(hand, house)
    _check_representable(hand, house, played)
    order = [player.seat for player in played.order]
    after = {each.seat.number: each.after_cents for each in settled.results}
    blinds = [house.small_blind_cents, house.big_blind_cents] + [0] * (len(order) - 2)
    fields: dict[str, object] = {"variant": "FT" if house.limit == FIXED_LIMIT else "NT"}
    fields["antes"] = [house.ante_cents] * len(order)
    fields["blinds_or_straddles"] = blinds
    if house.limit == FIXED_LIMIT:
        fields["small_bet"], fields["big_bet"] = played.sizes[0], played.sizes[-1]
    else:
        fields["min_bet"] = played.sizes[0]
    fields["starting_stacks"] = [seat.stakes_cents for seat in order]
    fields["actions"] = list(_actions(hand, played, order))
    fields["players"] = [printable(seat.player) for seat in order]
    fields["seats"] = [seat.number for seat in order]
    fields["finishing_stacks"] = [after[seat.number] for seat in order]
    if hand.name:
        fields["hand"] = printable(hand.name)
    fields["_unit"] = "cent"
    fields["_rake"] = settled.totals()["rake_cents"]
    return "".join(f"{name} = {_toml(value)}\n" for name, value in fields.items())


def _check_representable(hand: HandFile, house: House, played: Played) -> None:
    why = ""
    if hand.run_twice is not None:
        why = "it was run twice"
    elif house.limit == POT_LIMIT:
        why = "it has no pot-limit hold'em"
    elif house.limit == FIXED_LIMIT and any(
        _count_bets(played.acts, street) > _MOST_FIXED_BETS for street in STREETS
    ):
        why = f"a fixed-limit round has at most {_MOST_FIXED_BETS} bets and raises"
    if why:
        raise BadHand(f"PHH cannot have this hand: {why}; leave --phh out")


def _count_bets(acts: Iterable[PlayedAct], street: str) -> int:
    plain = (FOLD, CHECK, CALL)
    return sum(act.street == street and act.kind not in plain for act in acts)


def _actions(hand: HandFile, played: Played, order: list[Seat]) -> Iterator[str]:
    number = {seat.number: place for place, seat in enumerate(order, 1)}
    for seat in order:
        yield f"d dh p{number[seat.number]} {_cards(seat.cards) or '????'}"
    live = played.live
    # Hands are shown as soon as no one can bet any more, before the rest of the board.
    shown_after = played.last_street if any(player.all_in for player in live) else STREETS[-1]
    for street in STREETS:
        if street in _FIRST_CARD:
            at = _FIRST_CARD[street]
            dealt = hand.board[at : 3 if street == "flop" else at + 1]
            if not dealt:
                return
            yield f"d db {_cards(dealt)}"
        for act in played.acts:
            if act.street == street:
                yield f"p{number[act.seat.number]} {_word(act)}"
        for asked, seat in played.unasked:
            if asked == street:
                yield f"p{number[seat.number]} cc"
        if street == shown_after and len(live) > 1:
            for player in live:
                cards = "" if player.seat.mucked else _cards(player.seat.cards)
                yield f"p{number[player.seat.number]} sm {cards}".strip()


def _word(act: PlayedAct) -> str:
    if act.kind == FOLD:
        return "f"
    return "cc" if act.kind in (CHECK, CALL) else f"cbr {act.to_cents}"


def _cards(cards: Iterable[str]) -> str:
    return "".join(card[0] + card[1].lower() for card in cards)


def _toml(value: object) -> str:
    """JSON, as which TOML takes these values: texts are printable, numbers whole."""
    return json.dumps(value, ensure_ascii=False)
