"""A round of TABLE.json with the cards and the play that a shoe dealt, from a log.

The shoe knows the cards and what each hand did, the cashier the wagers. The shoe deals to the boxes
in their order, and does not know their numbers on the table.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sabot.errors import BadWagers
from sabot.games.blackjack.hands import MOST, total_of
from sabot.games.blackjack.house import CHOICES, ONE_CARD
from sabot.games.blackjack.table_file import DOUBLE, DOUBLE_CENTS, HIT, SPLIT, STAND, SURRENDER
from sabot.games.choices import check_stated
from sabot.games.json_fields import house_choices, list_of, quoted
from sabot.link.events import CardEvent
from sabot.log.families.boxes import BOX, BlackjackRound
from sabot.text import counted
from sabot_protocol import cards

DOUBLES_CENTS = "doubles_cents"
"""In the file of a round from a log: what the doubles of a box added, in order, if it is less than
the wager."""

_WORDS = {"stands": STAND, "doubles": DOUBLE, "splits": SPLIT, "surrenders": SURRENDER}


def with_cards(
    fields: Mapping[str, Any], dealt: BlackjackRound, house: Mapping[str, object]
) -> dict[str, Any]:
    """Return the fields of a TABLE.json with cards and play of `dealt`, and the choices `house` of
    its game.

    Raises BadWagers if the two do not fit, GameDiffers for a choice of the house that the game does
    not have.
    """
    which = f"{dealt.unit} shoe {dealt.shoe} round {dealt.round}"
    if dealt.void is not None:
        raise BadWagers(f"{which}: void ({dealt.void}); its wagers are returned")
    if dealt.sealed:
        raise BadWagers(f"{which}: the hole card is not known; write the cards down")
    if "dealer" in fields:
        raise BadWagers(f"{which}: the file has cards too; leave out dealer, cards and play")
    boxes = list_of(fields.get("boxes", []), "boxes")
    if len(boxes) != len(dealt.boxes):
        raise BadWagers(
            f"{which}: dealt to {counted(len(dealt.boxes), 'box', 'boxes')}, the file has "
            f"{len(boxes)}; list all that got cards"
        )
    check_stated(which, CHOICES, house_choices(fields.get("house", {}), CHOICES), house)
    order = sorted(range(len(boxes)), key=lambda place: _number(boxes[place]))
    full = list(boxes)
    for at, place in enumerate(order, 1):
        full[place] = _box(which, boxes[place], _played(dealt, at, house))
    return {**fields, "boxes": full, "dealer": list(dealt.dealer), "house": dict(house)}


def _number(box: object) -> int:
    number = box.get("box") if isinstance(box, dict) else None
    return number if type(number) is int else 0


def _box(which: str, box: object, entries: Sequence[str]) -> object:
    if not isinstance(box, dict):
        return box
    if "cards" in box or "play" in box:
        raise BadWagers(f"{which}: the file has cards too; leave out dealer, cards and play")
    amounts = list_of(box.get(DOUBLES_CENTS, []), DOUBLES_CENTS)
    doubles = [place for place, entry in enumerate(entries) if entry == DOUBLE]
    play: list[object] = list(entries[2:])
    if DOUBLES_CENTS in box and len(amounts) != len(doubles):
        raise BadWagers(
            f"{which}: {DOUBLES_CENTS} of box {quoted(box.get('box'))} has {len(amounts)}, the box "
            f"doubled {counted(len(doubles), 'time')}; list each"
        )
    for place, cents in zip(doubles, amounts, strict=False):
        play[place - 2] = {DOUBLE_CENTS: cents}
    kept = {key: value for key, value in box.items() if key != DOUBLES_CENTS}
    return {**kept, "cards": list(entries[:2]), "play": play}


def _played(dealt: BlackjackRound, box: int, house: Mapping[str, object]) -> list[str]:
    """Return the first two cards of a box, then its play as TABLE.json has it: the shoe records no
    hits, a card is one where a hand goes on."""
    one_card = house.get("split_aces", ONE_CARD) == ONE_CARD
    entries: list[str] = []
    hands: list[list[str]] = [[]]
    at, split, due, over = 0, False, False, False
    for event in dealt.events:
        if not isinstance(event, CardEvent):
            if event.box == box:
                word = _WORDS[event.action]
                entries.append(word)
                due, over = word in (SPLIT, DOUBLE), word != SPLIT
                if word == SPLIT:
                    split = True
                    hands.insert(at + 1, [hands[at].pop()])
            continue
        if event.position != f"{BOX}{box}":
            continue
        hand = hands[at]
        if not due and len(hand) > 1:
            ace = split and one_card and hand[0][0] == "A"
            if over or ace or total_of(hand).points >= MOST:
                at, over = at + 1, False
            else:
                entries.append(HIT)
        due = False
        card = cards.name_of(event.card)
        hands[at].append(card)
        entries.append(card)
    return entries
