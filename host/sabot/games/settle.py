"""Settling a round: what the dealer collects, takes as vigorish, pays and leaves, in that order.

The order is Maryland's, Chapter 11 B, the only document that gives one: losing wagers first, then
the winning positions from the highest number down, for each the vigorish before the payment.
If anything is refused, nothing is settled.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sabot.games.score import Score
from sabot.games.wager_file import Area, Marker, Position, WagerFile
from sabot.games.wager_rules import MARKED, Rules, Stake
from sabot.games.wagers import WAGERS, WagerOutcome, outcome_of, vigorish_cents
from sabot_protocol.games import Game

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


@dataclass(slots=True)
class Settlement:
    """A settled round: `steps` in the dealer's order, and what is left on the table."""

    announced: str | None
    """What the dealer announces; None if the house announces nothing."""
    wagered_cents: int = 0
    steps: list[SettlementStep] = field(default_factory=list)
    markers: tuple[Marker, ...] = ()
    """The marker buttons that stay on the table, from the highest position down."""
    warned: tuple[str, ...] = ()
    """Players to whom the table's minimum has been explained, those of this round included."""
    notices: list[str] = field(default_factory=list)
    """Messages for the floor supervisor."""

    def totals(self) -> dict[str, int]:
        """Return the sums in cents.

        wagered = returned + collected + pushed + won, where `won` is the sum of the winning stakes.
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
            "paid_cents": sums[PAY],
            "vigorish_collected_cents": taken,
            "vigorish_marked_cents": sums[MARK],
            "house_cents": sums[COLLECT] + taken - sums[PAY],
            "owed_cents": sum(marker.owed_cents for marker in self.markers),
        }

    def as_json(self) -> dict[str, Any]:
        """Return what `sabot settle --json` prints; `step` numbers the steps across all lists."""
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


def settle(game: Game, on_table: WagerFile, dealt: Score | str) -> Settlement:
    """Settle the wagers on a round of `game`. `dealt` is its score, or why it was voided.

    Raises Forbidden, with the clause, for a wager that the rules do not allow.
    """
    rules = Rules(game)
    rules.check(on_table)
    settled = Settlement(_announcement(game, dealt), warned=tuple(sorted(on_table.warned)))
    collected: list[SettlementStep] = []
    winning: list[SettlementStep] = []
    pushed: list[SettlementStep] = []
    for position in sorted(on_table.positions, key=_highest_first):
        settled.wagered_cents += sum(position.wagers.values())
        if isinstance(dealt, str):  # void: nothing counts, not even that a wager is too low
            settled.steps += [
                _step(RETURN, position, wager, cents, rules.why_void(dealt))
                for wager, cents in position.wagers.items()
            ]
            continue
        stakes = rules.stakes(position, on_table.warned)
        _return_and_notify(settled, position, stakes)
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
    _settle_markers(settled, on_table)
    return settled


def _highest_first(each: Position | Marker) -> int:
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
    game: Game, position: Position, verdicts: Sequence[tuple[Stake, WagerOutcome]]
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
        owed_cents = vigorish_cents(won_cents, game) if WAGERS[stake.wager].owes_vigorish else 0
        if owed_cents:
            do = MARK if game.house["vigorish_when"] == MARKED else TAKE
            vigorish.append(_step(do, position, stake.wager, owed_cents))
    return vigorish + paid


def _settle_markers(settled: Settlement, on_table: WagerFile) -> None:
    """Add marked vigorish to the markers, and collect those that are due.

    A marker stays until it is collected, before a new shoe of cards or when its player leaves:
    Maryland, Chapter 12 D(2)(b).
    """
    owed = {(each.area, each.player): each.owed_cents for each in on_table.markers}
    for step in settled.steps:
        if step.do == MARK:
            key = (step.area, step.player)
            owed[key] = owed.get(key, 0) + step.amount_cents
    markers = [Marker(area, player, cents) for (area, player), cents in owed.items()]
    staying = []
    for marker in sorted(markers, key=_highest_first):
        leaves = marker.player in on_table.leaving
        if leaves or on_table.last_of_shoe:
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
