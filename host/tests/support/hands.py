"""Hands of hold'em to settle, and short ways to write them.

The button is at seat 3: Ann at seat 1 has the small blind of 1.00, Bob at seat 2 the big blind of
2.00, and Cleo at seat 3 begins before the flop. With two players, Ann and Bob, the button is at
seat 1.
"""

import json
from typing import Any

from sabot.games.holdem import hand_file
from sabot.games.holdem.settle import HandSettlement, settle

ANN, BOB, CLEO = 1, 2, 3
NAMES = {ANN: "Ann", BOB: "Bob", CLEO: "Cleo"}
CARDS = {ANN: ["AS", "AD"], BOB: ["KS", "KD"], CLEO: ["QS", "QD"]}
BOARD = ["2C", "7D", "9H", "JC", "3S"]


def act(seat: int, says: str | None = None, *puts: int, **more: Any) -> dict[str, Any]:
    """What a player says and places; several `puts` are several motions."""
    said = {} if says is None else {"says": says}
    return {"seat": seat} | said | ({"puts_cents": list(puts)} if puts else {}) | more


def play(*preflop: dict[str, Any], stakes: Any = 50_000, **fields: Any) -> HandSettlement:
    """Settle a hand of Ann, Bob and Cleo, who all have `stakes`, or by seat."""
    by_seat = stakes if isinstance(stakes, dict) else dict.fromkeys(NAMES, stakes)
    seats = [
        {"seat": seat, "player": NAMES[seat], "stakes_cents": cents, "cards": CARDS[seat]}
        for seat, cents in by_seat.items()
    ]
    betting = {"preflop": list(preflop)} | fields.pop("betting", {})
    button = CLEO if CLEO in by_seat else ANN
    return settled(**{"button": button, "seats": seats, "betting": betting} | fields)


def to(done: HandSettlement, number: int = 0) -> tuple[str, int]:
    """An action as it counts: its kind, and the player's bet in the round."""
    return done.acts[number].kind, done.acts[number].to_cents


def corrected(done: HandSettlement, number: int = 0) -> tuple[str, int] | None:
    correction = done.acts[number].correction
    return None if correction is None else (correction.do, correction.cents)


def opened(first: dict[str, Any], **fields: Any) -> HandSettlement:
    """Cleo opens as `first` says, the others fold."""
    return play(first, act(ANN, "fold"), act(BOB, "fold"), **fields)


def after(done: HandSettlement) -> dict[int, int]:
    return {each.seat.number: each.after_cents for each in done.results}


LIMPED = (act(CLEO, "call"), act(ANN, "call"), act(BOB, "check"))
FOLDED = (act(CLEO, "fold"), act(ANN, "fold"))


def on_flop(*acts: dict[str, Any], **fields: Any) -> HandSettlement:
    """All limp, and `acts` are on the flop; the board has three cards."""
    return play(*LIMPED, betting={"flop": list(acts)}, **{"board": BOARD[:3]} | fields)


AFTER: dict[str, Any] = {
    "betting": {
        street: [act(BOB, "check"), act(CLEO, "check")] for street in ("flop", "turn", "river")
    },
    "board": BOARD,
}
"""Ann has folded; Bob and Cleo check to the end."""

ALL_CHECK: dict[str, Any] = {
    "betting": {
        street: [act(seat, "check") for seat in NAMES] for street in ("flop", "turn", "river")
    },
    "board": BOARD,
}


def hand(**fields: Any) -> hand_file.HandFile:
    """A HAND.json with these fields, as read from a file."""
    return hand_file.parse(json.dumps(fields).encode())


def settled(**fields: Any) -> HandSettlement:
    """Settle a HAND.json with these fields, as the command does."""
    return settle(hand(**fields))
