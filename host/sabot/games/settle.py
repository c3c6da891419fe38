"""Settling a round: what the dealer collects, takes as vigorish, pays and leaves, in that order.

The order is Maryland's, Chapter 11 B, the only document that has one: losing wagers first, then
the winning positions from the highest number down, at each the vigorish before the payment.
Nothing is settled where anything is refused.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sabot.games.score import Score
from sabot.games.wager_file import Area, Marker, Placed, Position
from sabot.games.wager_rules import MARKED, Rules, Stake
from sabot.games.wagers import WAGERS, WagerOutcome, outcome_of, vigorish_cents
from sabot_protocol.games import Game

RETURN, COLLECT, TAKE, MARK, PAY, PUSH, REDEEM = (
    "returned", "collected", "vigorish collected", "vigorish marked", "paid", "pushed",
    "marker collected",
)  # fmt: skip
"""What the dealer does. `RETURN`: before the deal, and all where a round is void; `REDEEM`: a
marker button is paid by its player and removed."""

_LISTS = {
    "returned": (RETURN,),
    "collected": (COLLECT,),
    "vigorish": (TAKE, MARK, REDEEM),
    "paid": (PAY,),
    "pushed": (PUSH,),
}


@dataclass(frozen=True, slots=True)
class SettlementStep:
    """One thing that the dealer does, in cents that change hands, or that a marker gets."""

    do: str
    area: Area
    player: str
    wager: str | None
    """None where a marker is collected: it holds vigorish of many wagers."""
    amount_cents: int
    why: str = ""
    stake_cents: int = 0
    """Of a payment: the winning wager beside which it is put, and which goes back with it."""

    def as_json(self) -> dict[str, Any]:
        """The step as `sabot settle --json` prints it."""
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


@dataclass(slots=True)
class Settlement:
    """A settled round: `steps` in the dealer's order, and what is left on the table."""

    announced: str | None
    """What the dealer announces; None where the house announces nothing."""
    wagered_cents: int = 0
    steps: list[SettlementStep] = field(default_factory=list)
    markers: tuple[Marker, ...] = ()
    """The marker buttons that stay, from the highest position down."""
    warned: tuple[str, ...] = ()
    """Players to whom the table's minimum has been explained, with those of this round."""
    notices: list[str] = field(default_factory=list)
    """What the floor supervisor is to be told."""

    def totals(self) -> dict[str, int]:
        """Sums in cents.

        wagered = returned + collected + pushed + won, where `won` are the stakes of the winners;
        `house` is what the table's bank gains in this round, markers not yet collected left out.
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
            "paid_cents": sums[PAY],
            "vigorish_collected_cents": taken,
            "vigorish_marked_cents": sums[MARK],
            "house_cents": sums[COLLECT] + taken - sums[PAY],
            "owed_cents": sum(marker.owed_cents for marker in self.markers),
        }

    def as_json(self) -> dict[str, Any]:
        """As `sabot settle --json` prints it; `step` numbers the dealer's order over all lists."""
        shown: dict[str, Any] = {"announced": self.announced}
        numbered = list(enumerate(self.steps, 1))
        for name, kinds in _LISTS.items():
            shown[name] = [{"step": n} | step.as_json() for n, step in numbered if step.do in kinds]
        markers = [
            {each.area.kind: each.area.number, "player": each.player, "owed_cents": each.owed_cents}
            for each in self.markers
        ]
        return shown | {
            "markers": markers,
            "warned": list(self.warned),
            "notices": self.notices,
            "totals": self.totals(),
        }


def settle(game: Game, placed: Placed, dealt: Score | str) -> Settlement:
    """Settle the wagers on a round of `game`: its score, or why it was voided.

    Raises Forbidden, with the clause, for what the rules do not allow on the table.
    """
    rules = Rules(game)
    rules.check(placed)
    settled = Settlement(_announcement(game, dealt), warned=tuple(sorted(placed.warned)))
    collected: list[SettlementStep] = []
    winning: list[SettlementStep] = []
    pushed: list[SettlementStep] = []
    for position in sorted(placed.positions, key=_highest_first):
        settled.wagered_cents += sum(position.wagers.values())
        if isinstance(dealt, str):  # of a misdeal nothing counts, not even what is too low
            settled.steps += [
                _step(RETURN, position, wager, cents, rules.why_void(dealt))
                for wager, cents in position.wagers.items()
            ]
            continue
        stakes = rules.stakes(position, placed.warned)
        _take_in(settled, position, stakes)
        verdicts = [(each, outcome_of(each.wager, dealt, game)) for each in stakes]
        for stake, verdict in verdicts:
            if verdict.outcome == "lose" and stake.cents:
                collected.append(_step(COLLECT, position, stake.wager, stake.cents))
            elif verdict.outcome == "push" and stake.cents:
                pushed.append(_step(PUSH, position, stake.wager, stake.cents))
        winning += _vigorish_and_payments(
            game, position, [(stake, verdict) for stake, verdict in verdicts if stake.cents]
        )
    settled.steps += collected + winning + pushed
    _settle_markers(settled, placed)
    return settled


def _highest_first(each: Position | Marker) -> int:
    return -each.area.place


def _take_in(settled: Settlement, position: Position, stakes: Sequence[Stake]) -> None:
    """Return what is not in action, and tell the floor what is below the minimum."""
    for stake in stakes:
        if stake.returned_cents:
            settled.steps.append(
                _step(RETURN, position, stake.wager, stake.returned_cents, stake.why)
            )
        if stake.notice:
            settled.notices.append(stake.notice)
            settled.warned = tuple(sorted({*settled.warned, position.player}))


def _vigorish_and_payments(
    game: Game, position: Position, verdicts: Sequence[tuple[Stake, WagerOutcome]]
) -> list[SettlementStep]:
    """The vigorish of a position, then its payments: Maryland, Chapter 11 B(1) and (2)."""
    vigorish: list[SettlementStep] = []
    paid: list[SettlementStep] = []
    for stake, verdict in verdicts:
        if verdict.outcome != "win":
            continue
        won_cents = stake.cents * verdict.pays_to_one
        why = f"{verdict.prize}: {verdict.pays_to_one} to 1"
        paid.append(_step(PAY, position, stake.wager, won_cents, why, stake.cents))
        owed_cents = vigorish_cents(won_cents, game) if WAGERS[stake.wager].owes_vigorish else 0
        if owed_cents:
            do = MARK if game.house["vigorish_when"] == MARKED else TAKE
            vigorish.append(_step(do, position, stake.wager, owed_cents))
    return vigorish + paid


def _settle_markers(settled: Settlement, placed: Placed) -> None:
    """Add marked vigorish to the markers, and collect those that are due.

    A marker stays until it is collected, before a new shoe of cards or when its player leaves:
    Maryland, Chapter 12 D(2)(b).
    """
    owed = {(each.area, each.player): each.owed_cents for each in placed.markers}
    for step in settled.steps:
        if step.do == MARK:
            key = (step.area, step.player)
            owed[key] = owed.get(key, 0) + step.amount_cents
    markers = [Marker(area, player, cents) for (area, player), cents in owed.items()]
    staying = []
    for marker in sorted(markers, key=_highest_first):
        leaves = marker.player in placed.leaving
        if leaves or placed.last_of_shoe:
            why = f"{marker.player} leaves" if leaves else "before a new shoe of cards"
            settled.steps.append(
                SettlementStep(REDEEM, marker.area, marker.player, None, marker.owed_cents, why)
            )
        else:
            staying.append(marker)
    settled.markers = tuple(staying)


def _step(
    do: str, position: Position, wager: str, cents: int, why: str = "", stake_cents: int = 0
) -> SettlementStep:
    return SettlementStep(do, position.area, position.player, wager, cents, why, stake_cents)


def _announcement(game: Game, dealt: Score | str) -> str | None:
    """What Maryland has the dealer announce, Chapter 11 A; others leave the words to the house."""
    if not game.announced:
        return None
    if isinstance(dealt, str):
        return f"round void: {dealt}"
    totals = f"Player {dealt.player_total}, Banker {dealt.banker_total}"
    if dealt.winner == "tie":
        return f"{totals}: tie hand"
    # Only a game that offers these wagers, which is EZ Baccarat, has the hits.
    special = {"dragon_7": "; Dragon 7", "panda_8": "; Panda 8"}
    said = "".join(text for hit, text in special.items() if hit in dealt.hits)
    return f"{totals}: {dealt.winner.title()} wins{said}"
