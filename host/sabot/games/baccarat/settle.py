"""Settling a round: what the dealer collects, takes as vigorish, pays and leaves, in that order.

The order is Maryland's, Chapter 11 B, the only document that gives one: losing wagers first, then
the winning positions from the highest number down, for each the vigorish before the payment.
What the rules do not allow is left to the floor; the rest of the table is settled.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sabot.errors import BadWagers
from sabot.games.baccarat.score import Score
from sabot.games.baccarat.wager_file import Area, Marker, Position, WagerFile
from sabot.games.baccarat.wager_rules import Refusal, Rules, Stake
from sabot.games.baccarat.wagers import WAGERS, WagerOutcome, outcome_of
from sabot_protocol.baccarat import Game

RETURN, COLLECT, TAKE, MARK, PAY, PUSH, REDEEM = (
    "returned", "collected", "vigorish collected", "vigorish marked", "paid", "pushed",
    "marker collected",
)  # fmt: skip
"""What the dealer does in a step. `RETURN`: give back before the deal, or everything if the round
is void; `REDEEM`: the player pays a marker button, which is removed."""

_LISTS = {
    "returned": (RETURN,),
    "collected": (COLLECT,),
    "vigorish": (TAKE, MARK, REDEEM),
    "paid": (PAY,),
    "pushed": (PUSH,),
}


@dataclass(frozen=True, slots=True)
class SettlementStep:
    """One thing that the dealer does. The amount changes hands, or is added to a marker."""

    do: str
    area: Area
    player: str
    wager: str | None
    """None if a marker is collected: it may hold the vigorish of many wagers."""
    amount_cents: int
    why: str = ""
    stake_cents: int = 0
    """For a payment: the winning stake, which the player takes back together with the payment."""

    def as_json(self) -> dict[str, Any]:
        """Return the step as `sabot settle --json` prints it."""
        shown: dict[str, Any] = {
            "do": self.do,
            self.area.kind: self.area.number,
            "player": self.player,
            "amount_cents": self.amount_cents,
        }
        if self.wager is not None:
            shown["wager"] = self.wager
        if self.do == PAY:
            shown["stake_cents"] = self.stake_cents
        if self.why:
            shown["why"] = self.why
        return shown


@dataclass(frozen=True, slots=True)
class InShoe:
    """Where a round of a log is in its shoe of cards."""

    shoe: int
    round: int
    last: bool
    """Whether the shoe of cards ended after this round."""
    followed: bool
    """Whether another round of it came after this one."""
    ghost_hand: int | None = None
    """Which ghost hand of the shoe of cards the shoe marked it as; None if it did not."""


@dataclass(frozen=True, slots=True)
class Handler:
    """The player who turns the cards of a hand: the one with the largest wager on it."""

    area: Area
    player: str
    cents: int
    """That wager."""

    def as_json(self) -> dict[str, Any]:
        """Return the handler as `sabot settle --json` prints it."""
        return {self.area.kind: self.area.number, "player": self.player, "wager_cents": self.cents}


@dataclass(slots=True)
class Settlement:
    """A settled round: `steps` in the dealer's order, and what is left on the table."""

    announced: str | None
    """What the dealer announces; None if the house announces nothing."""
    wagered_cents: int = 0
    handlers: dict[str, Handler | None] | None = None
    """By hand, the player who turns its cards, None for the dealer: Pennsylvania, paragraph 2. None
    instead of all in a game whose cards the dealer turns."""
    steps: list[SettlementStep] = field(default_factory=list)
    left: list[Refusal] = field(default_factory=list)
    """Wagers and markers that the rules do not allow: the floor decides on them."""
    markers: tuple[Marker, ...] = ()
    """The marker buttons that stay on the table, from the highest position down."""
    warned: tuple[str, ...] = ()
    """Players to whom the table's minimum has been explained, those of this round included."""
    notices: list[str] = field(default_factory=list)
    """Messages for the floor supervisor."""

    def totals(self) -> dict[str, int]:
        """Return the sums in cents.

        wagered = returned + collected + pushed + won + left, where `won` is the sum of the winning
        stakes, and `left` that of the wagers on which the floor decides.
        `house` is what the table's bank gains in this round, without markers not yet collected.
        """
        sums: Counter[str] = Counter()
        for step in self.steps:
            sums[step.do] += step.amount_cents
        taken = sums[TAKE] + sums[REDEEM]
        return {
            "wagered_cents": self.wagered_cents,
            "returned_cents": sums[RETURN],
            "collected_cents": sums[COLLECT],
            "pushed_cents": sums[PUSH],
            "won_cents": sum(step.stake_cents for step in self.steps),
            "left_cents": sum(each.cents for each in self.left if each.wager is not None),
            "paid_cents": sums[PAY],
            "vigorish_collected_cents": taken,
            "vigorish_marked_cents": sums[MARK],
            "house_cents": sums[COLLECT] + taken - sums[PAY],
            "owed_cents": sum(marker.owed_cents for marker in self.markers),
        }

    def as_json(self) -> dict[str, Any]:
        """Return what `sabot settle --json` prints; `step` numbers the steps across all lists."""
        shown: dict[str, Any] = {"announced": self.announced, "handlers": None}
        if self.handlers is not None:
            shown["handlers"] = {
                hand: None if each is None else each.as_json()
                for hand, each in self.handlers.items()
            }
        numbered = list(enumerate(self.steps, 1))
        for name, kinds in _LISTS.items():
            shown[name] = [{"step": n} | step.as_json() for n, step in numbered if step.do in kinds]
        return shown | {
            "left": [_refusal_json(each) for each in self.left],
            "markers": [_marker_json(each) for each in self.markers],
            "warned": list(self.warned),
            "notices": self.notices,
            "totals": self.totals(),
        }


def settle(
    game: Game, on_table: WagerFile, dealt: Score | str, in_shoe: InShoe | None = None
) -> Settlement:
    """Settle the wagers on a round of `game`. `dealt` is its score, or why it was voided.

    `in_shoe` is where the round is in its shoe of cards, if a log says so. Raises Forbidden, with
    the clause, for one ghost hand too many; BadWagers for markers at a table without any, and if
    the round is not the last of its shoe of cards, or no ghost hand, as the file says.
    """
    rules = Rules(game)
    on_table = _as_logged(on_table, in_shoe)
    settled = Settlement(_announcement(game, dealt), warned=tuple(sorted(on_table.warned)))
    settled.wagered_cents = sum(sum(each.wagers.values()) for each in on_table.positions)
    positions = sorted(on_table.positions, key=_highest_first)
    refusals = rules.refusals(on_table)
    if isinstance(dealt, str):
        # Nothing counts: forbidden wagers are returned as all others.
        settled.left = [each for each in refusals if each.wager is None]
        settled.steps += _all_returned(positions, rules.why_void(dealt))
    else:
        settled.left = refusals
        staked = _staked(settled, positions, on_table, rules)
        settled.steps += _collected_paid_and_pushed(game, rules, staked, dealt)
        if game.turned_by == "players":
            settled.handlers = _handlers(game, [(at, each) for at, of in staked for each in of])
    _settle_markers(settled, on_table, rules, in_shoe)
    return settled


def _all_returned(positions: Iterable[Position], why: str) -> list[SettlementStep]:
    """Return every wager: the round is void."""
    return [
        _step(RETURN, position, wager, cents, why)
        for position in positions
        for wager, cents in position.wagers.items()
    ]


def _staked(
    settled: Settlement, positions: Iterable[Position], on_table: WagerFile, rules: Rules
) -> list[tuple[Position, list[Stake]]]:
    """Return the wagers of each position that the rules allow, and settle what is given back of
    them before the deal."""
    left = {(each.area, each.player, each.wager) for each in settled.left}
    staked = []
    for position in positions:
        stakes = [
            rules.stake(position, wager, on_table.warned)
            for wager in position.wagers
            if (position.area, position.player, wager) not in left
        ]
        _return_and_notify(settled, position, stakes)
        staked.append((position, stakes))
    return staked


def _collected_paid_and_pushed(
    game: Game, rules: Rules, staked: Iterable[tuple[Position, Sequence[Stake]]], dealt: Score
) -> list[SettlementStep]:
    """Return the steps after the deal in their order: all losing wagers, then the winning
    positions, then what stays: Maryland, Chapter 11 B."""
    collected: list[SettlementStep] = []
    winning: list[SettlementStep] = []
    pushed: list[SettlementStep] = []
    for position, stakes in staked:
        verdicts = [(each, outcome_of(each.wager, dealt, game)) for each in stakes if each.cents]
        for stake, verdict in verdicts:
            if verdict.outcome == "lose":
                collected.append(_step(COLLECT, position, stake.wager, stake.cents))
            elif verdict.outcome == "push":
                pushed.append(_step(PUSH, position, stake.wager, stake.cents))
        winning += _vigorish_and_payments(rules, position, verdicts)
    return collected + winning + pushed


def _as_logged(on_table: WagerFile, in_shoe: InShoe | None) -> WagerFile:
    """Return the file with what the log says: whether the shoe of cards ended after the round, and
    whether that is a ghost hand."""
    if in_shoe is None:
        return on_table
    if on_table.last_of_shoe and not in_shoe.last and in_shoe.followed:
        raise BadWagers(
            f"last_of_shoe: round {in_shoe.round} is not the last of shoe of cards {in_shoe.shoe}, "
            "the log has later ones; leave last_of_shoe out"
        )
    if on_table.ghost_hand not in (None, in_shoe.ghost_hand):
        marked = "not marked as one"
        if in_shoe.ghost_hand is not None:
            marked = f"marked as number {in_shoe.ghost_hand}"
        raise BadWagers(
            f"ghost_hand: round {in_shoe.round} of shoe of cards {in_shoe.shoe} was {marked} at "
            "the shoe; leave ghost_hand out"
        )
    return replace(
        on_table,
        last_of_shoe=in_shoe.last or on_table.last_of_shoe,
        ghost_hand=in_shoe.ghost_hand,
    )


def _handlers(game: Game, staked: Sequence[tuple[Position, Stake]]) -> dict[str, Handler | None]:
    """Return who turns the cards of each hand: Pennsylvania, paragraph 2.

    `staked` is from the highest position down. Equal wagers: as the house chose.
    """
    handlers: dict[str, Handler | None] = {}
    if_equal = game.house.get("equal_largest", "highest_seat")
    for hand in ("player", "banker"):
        on_hand = [(position, each) for position, each in staked if each.wager == hand]
        most = max((each.cents for _, each in on_hand), default=0)
        largest = [position for position, each in on_hand if each.cents == most > 0]
        if if_equal == "lowest_seat":
            largest.reverse()
        by_dealer = not largest or (len(largest) > 1 and if_equal == "dealer")
        handlers[hand] = None if by_dealer else Handler(largest[0].area, largest[0].player, most)
    return handlers


def _highest_first(each: Position) -> int:
    return -each.area.place


def _return_and_notify(settled: Settlement, position: Position, stakes: Sequence[Stake]) -> None:
    """Add the amounts to be returned, and the notices on wagers below the minimum."""
    for stake in stakes:
        if stake.returned_cents:
            settled.steps.append(
                _step(RETURN, position, stake.wager, stake.returned_cents, stake.why)
            )
        if stake.notice:
            settled.notices.append(stake.notice)
            settled.warned = tuple(sorted({*settled.warned, position.player}))


def _vigorish_and_payments(
    rules: Rules, position: Position, verdicts: Sequence[tuple[Stake, WagerOutcome]]
) -> list[SettlementStep]:
    """Return the vigorish of a position, then its payments: Maryland, Chapter 11 B(1) and (2)."""
    vigorish: list[SettlementStep] = []
    paid: list[SettlementStep] = []
    for stake, verdict in verdicts:
        if verdict.outcome != "win":
            continue
        won_cents = stake.cents * verdict.pays_to_one
        why = f"{verdict.prize}: {verdict.pays_to_one} to 1"
        paid.append(_step(PAY, position, stake.wager, won_cents, why, stake.cents))
        owed_cents = rules.vigorish_cents(won_cents) if WAGERS[stake.wager].owes_vigorish else 0
        if owed_cents:
            do = MARK if rules.marks_vigorish else TAKE
            vigorish.append(_step(do, position, stake.wager, owed_cents))
    return vigorish + paid


def _settle_markers(
    settled: Settlement, on_table: WagerFile, rules: Rules, in_shoe: InShoe | None
) -> None:
    """Add marked vigorish to the markers, and collect those that are due.

    A marker stays until it is collected, before a new shoe of cards or when its player leaves:
    Maryland, Chapter 12 D(2)(b). One of an earlier shoe of cards was forgotten: it is collected
    now, and the floor is notified.
    """
    left = {(each.area, each.player) for each in settled.left if each.wager is None}
    shoe = None if in_shoe is None else in_shoe.shoe
    placed = {(each.area, each.player): each for each in on_table.markers}
    marked: Counter[tuple[Area, str]] = Counter()
    for step in settled.steps:
        if step.do == MARK:
            marked[step.area, step.player] += step.amount_cents
    staying = []
    for key in sorted({*placed, *marked}, key=lambda key: (-key[0].place, key[1])):
        old = placed.get(key)
        marker = Marker(
            *key, (old.owed_cents if old else 0) + marked[key], old.shoe if old else shoe
        )
        overdue = old is not None and _is_overdue(old, in_shoe)
        if overdue:
            settled.notices.append(
                f"{marker.area}: {marker.player}'s vigorish of {marker.owed_cents} cents was "
                f"outstanding when this shoe of cards began; collect it ({rules.cited_markers()})"
            )
        why = ""
        if overdue:
            why = "of an earlier shoe of cards"
        elif marker.player in on_table.leaving:
            why = f"{marker.player} leaves"
        elif on_table.last_of_shoe:
            why = "before a new shoe of cards"
        if why and key not in left:
            settled.steps.append(
                SettlementStep(REDEEM, marker.area, marker.player, None, marker.owed_cents, why)
            )
        else:
            staying.append(marker)
    settled.markers = tuple(staying)


def _is_overdue(marker: Marker, in_shoe: InShoe | None) -> bool:
    """Whether a marker is from before this shoe of cards. One without a shoe was placed in an
    earlier round, so at the first round of a shoe it is."""
    if in_shoe is None:
        return False
    if marker.shoe is None:
        return in_shoe.round == 1
    return marker.shoe != in_shoe.shoe


def _marker_json(marker: Marker) -> dict[str, Any]:
    shown = {
        marker.area.kind: marker.area.number,
        "player": marker.player,
        "owed_cents": marker.owed_cents,
    }
    return shown if marker.shoe is None else shown | {"shoe": marker.shoe}


def _refusal_json(refusal: Refusal) -> dict[str, Any]:
    shown: dict[str, Any] = {
        refusal.area.kind: refusal.area.number,
        "player": refusal.player,
        "amount_cents": refusal.cents,
        "why": refusal.why,
    }
    return shown if refusal.wager is None else shown | {"wager": refusal.wager}


def _step(
    do: str, position: Position, wager: str, cents: int, why: str = "", stake_cents: int = 0
) -> SettlementStep:
    return SettlementStep(do, position.area, position.player, wager, cents, why, stake_cents)


def _announcement(game: Game, dealt: Score | str) -> str | None:
    """Return what the dealer announces: Maryland, Chapter 11 A. Other documents do not say."""
    if not game.announced:
        return None
    if isinstance(dealt, str):
        return f"round void: {dealt}"
    totals = f"Player {dealt.player_total}, Banker {dealt.banker_total}"
    if dealt.winner == "tie":
        return f"{totals}: tie hand"
    # Only EZ Baccarat offers these wagers, so only there a score has the hits.
    special = {"dragon_7": "; Dragon 7", "panda_8": "; Panda 8"}
    suffix = "".join(text for hit, text in special.items() if hit in dealt.hits)
    return f"{totals}: {dealt.winner.title()} wins{suffix}"
