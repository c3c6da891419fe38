"""What a player's words and chips amount to: Chapter 8 B(1), B(3), C to G, and I.

Words come before chips: an announced action or amount is binding, and chips that differ from it are
corrected. Without words the chips count, as first placed. Whether a bet of this amount is within
the limits is checked by `betting`.
"""

from dataclasses import dataclass

from sabot.errors import BadHand
from sabot.games.holdem.clauses import cited, forbidden
from sabot.games.holdem.hand_file import ALL_IN, BET, CALL, CHECK, FOLD, RAISE, UNCONVERTED, Act
from sabot.text import amount

ADDS, TAKES_BACK = "adds", "takes back"


@dataclass(frozen=True, slots=True)
class Facing:
    """What a player faces at his turn; amounts in cents."""

    where: str
    """The betting round and the player, for errors."""
    bet: int
    """The highest bet of this round, blinds included."""
    own: int
    """The player's own bet in this round."""
    stack: int
    """What the player has left on the table."""
    fixed_bet: int = 0
    """By how much to bet or raise in fixed limit; 0 in other games."""

    @property
    def to_call(self) -> int:
        """What is missing from the highest bet; the player may have less."""
        return self.bet - self.own

    @property
    def all(self) -> int:
        """The player's bet in this round if all that is left is added."""
        return self.own + self.stack


@dataclass(frozen=True, slots=True)
class Correction:
    """What the dealer has a player add to the chips placed, or take back."""

    do: str
    """ADDS or TAKES_BACK."""
    cents: int
    why: str


@dataclass(frozen=True, slots=True)
class Meaning:
    """What an action is: FOLD, CHECK, CALL, or RAISE, which also stands for the first bet."""

    kind: str
    to_cents: int
    """The player's bet in this round after it."""
    correction: Correction | None = None


def meaning_of(act: Act, facing: Facing) -> Meaning:
    """Return what an action amounts to. Raises Forbidden, with the clause; BadHand for a word that
    is no action here."""
    _check_placed(act, facing)
    if act.says in (FOLD, CHECK, CALL):
        return _plain_word(act, facing)
    if act.says == ALL_IN:
        kind = RAISE if facing.all > facing.bet else CALL
        return Meaning(kind, facing.all, _correction(act, facing, facing.stack, "C"))
    if act.says is None:
        return _silent(act, facing)
    return _bet_or_raise(act, facing)


def _check_placed(act: Act, facing: Facing) -> None:
    placed = sum(act.puts_cents or ())
    if placed > facing.stack:
        raise forbidden(
            facing.where,
            f"places {amount(placed)} with {amount(facing.stack)} on the table; a player bets only "
            "with the stakes that were there when the hand began",
            "B(1)",
        )
    if act.currency == UNCONVERTED:
        raise forbidden(
            facing.where,
            f"places {amount(placed)} of notes; the dealer converts them to chips, then write "
            '"currency": "converted"',
            "B(3)",
        )


def _plain_word(act: Act, facing: Facing) -> Meaning:
    """Fold, check and call: what is said is what is done, whatever the chips say."""
    if act.says == FOLD:
        return Meaning(FOLD, facing.own, _correction(act, facing, 0, "C"))
    if act.says == CHECK:
        if facing.to_call:
            raise BadHand(
                f"{facing.where}: says check facing {amount(facing.to_call)}; the words are fold, "
                "call, raise and all_in"
            )
        return Meaning(CHECK, facing.own, _correction(act, facing, 0, "C"))
    if not facing.to_call:
        raise BadHand(f"{facing.where}: says call with nothing to call; write check")
    cents = min(facing.to_call, facing.stack)
    return Meaning(CALL, facing.own + cents, _correction(act, facing, cents, "C"))


def _bet_or_raise(act: Act, facing: Facing) -> Meaning:
    if act.says == BET and facing.bet:
        raise BadHand(
            f"{facing.where}: says bet, and there is a bet of {amount(facing.bet)}; write raise"
        )
    if act.says == RAISE and not facing.bet:
        raise BadHand(f"{facing.where}: says raise, and there is no bet; write bet")
    to_cents = act.to_cents
    if act.by_cents is not None:
        to_cents = facing.bet + act.by_cents
    if to_cents is None and facing.fixed_bet:  # the amount is the table's, so it need not be stated
        to_cents = min(facing.bet + facing.fixed_bet, facing.all)
    if to_cents is None:
        return Meaning(RAISE, facing.own + _placed_at_once(act, facing))
    if to_cents > facing.all:
        raise forbidden(
            facing.where,
            f"announces {amount(to_cents)} with {amount(facing.all)} to bet in this round; a "
            "player bets only with the stakes that were there when the hand began",
            "B(1)",
        )
    if to_cents <= facing.bet:
        raise BadHand(
            f"{facing.where}: announces {act.says} to {amount(to_cents)}, not above the bet of "
            f"{amount(facing.bet)}; to_cents is the whole bet of the round"
        )
    return Meaning(RAISE, to_cents, _correction(act, facing, to_cents - facing.own, "D"))


def _placed_at_once(act: Act, facing: Facing) -> int:
    """Return the cents placed with an announced bet or raise without an amount: G and F."""
    puts = act.puts_cents
    if puts is None or sum(puts) == facing.to_call:
        raise forbidden(
            facing.where,
            f"announces {act.says} without an amount; state it (to_cents) or put all chips in at "
            "once (puts_cents)",
            "G",
        )
    calls_first = act.says == RAISE and puts[0] == facing.to_call and len(puts) == 2
    if len(puts) > 1 and not act.incomplete and not calls_first:
        raise _string_bet(puts, facing)
    return sum(puts)


def _silent(act: Act, facing: Facing) -> Meaning:
    """Chips without a word: E, F and I."""
    puts = act.puts_cents or ()
    if len(puts) > 1 and not act.incomplete:
        raise _string_bet(puts, facing)
    placed = sum(puts)
    if act.single_chip and facing.bet and placed > facing.to_call:
        kind = CALL if facing.to_call else CHECK
        return Meaning(kind, facing.bet, _correction(act, facing, facing.to_call, "I"))
    if placed > facing.to_call:
        return Meaning(RAISE, facing.own + placed)
    if placed < facing.to_call and placed < facing.stack:
        raise BadHand(
            f"{facing.where}: places {amount(placed)}, less than the call of "
            f"{amount(facing.to_call)}, without a word; write what it was, and what was placed"
        )
    return Meaning(CALL, facing.own + placed)


def _string_bet(puts: tuple[int, ...], facing: Facing) -> Exception:
    first, *more = puts
    return forbidden(
        facing.where,
        f"places {amount(first)} and then {amount(sum(more))}: a bet may not be increased unless "
        'it was said to be incomplete ("incomplete": true) or a call was placed with "raise"; '
        f"return {amount(sum(more))}",
        "F",
    )


def _correction(act: Act, facing: Facing, due: int, clause: str) -> Correction | None:
    """Return what the dealer has corrected if other chips were placed than `due`."""
    if act.puts_cents is None or sum(act.puts_cents) == due:
        return None
    placed = sum(act.puts_cents)
    said = "one larger chip is a call" if clause == "I" else f"said {act.says}"
    return Correction(
        ADDS if placed < due else TAKES_BACK, abs(due - placed), f"{said} ({cited(clause)})"
    )
