"""Settling a hand: the pots, who wins each with which hand on which board, what each receives.

Money is never made or lost: what all players put in is what goes back uncalled, is won, or is rake.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from sabot.errors import BadHand
from sabot.games.holdem.betting import Played, PlayedAct, Player, Uncalled, play
from sabot.games.holdem.boards import boards_of
from sabot.games.holdem.hand_file import RAISE, HandFile, Seat
from sabot.games.holdem.house import House, house_of
from sabot.games.holdem.pots import Pot, halves, pots_of, raked, shares
from sabot.games.holdem.ranking import Ranked, best_hand, height
from sabot.text import amount


@dataclass(frozen=True, slots=True)
class Award:
    """What a player receives of a pot."""

    pot: Pot
    board: int | None
    """1 or 2; None if no hand was needed to win the pot."""
    seat: Seat
    cents: int
    hand: Ranked | None
    """The hand with which it was won; None if none was needed, see `unshown`."""

    @property
    def unshown(self) -> str:
        """Why no hand was needed, if `hand` is None."""
        return "no showdown" if len(self.pot.seats) == 1 else "all others mucked"

    def as_json(self) -> dict[str, Any]:
        """Return the award as `sabot settle --json` prints it."""
        return {
            "seat": self.seat.number,
            "player": self.seat.player,
            "board": self.board,
            "amount_cents": self.cents,
            "hand": None if self.hand is None else self.hand.name,
            "cards": [] if self.hand is None else list(self.hand.cards),
        }


@dataclass(frozen=True, slots=True)
class Result:
    """What the hand means for a player; amounts in cents."""

    seat: Seat
    put_cents: int
    """Into the pot, with what was returned."""
    returned_cents: int
    won_cents: int

    @property
    def after_cents(self) -> int:
        """The table stakes after the hand."""
        return self.seat.stakes_cents - self.put_cents + self.returned_cents + self.won_cents

    def as_json(self) -> dict[str, Any]:
        """Return the result as `sabot settle --json` prints it."""
        return {
            "seat": self.seat.number,
            "player": self.seat.player,
            "stakes_cents": self.seat.stakes_cents,
            "put_cents": self.put_cents,
            "returned_cents": self.returned_cents,
            "won_cents": self.won_cents,
            "after_cents": self.after_cents,
        }


@dataclass(frozen=True, slots=True)
class HandSettlement:
    """A settled hand."""

    name: str
    house: House
    acts: tuple[PlayedAct, ...]
    boards: tuple[tuple[str, ...], ...]
    uncalled: tuple[Uncalled, ...]
    pots: tuple[Pot, ...]
    awards: tuple[Award, ...]
    results: tuple[Result, ...]
    """Of all players, by number of the seat."""

    def totals(self) -> dict[str, int]:
        """Return the sums in cents: put = returned + rake + won."""
        return {
            "put_cents": sum(each.put_cents for each in self.results),
            "returned_cents": sum(each.returned_cents for each in self.results),
            "rake_cents": sum(pot.rake_cents for pot in self.pots),
            "won_cents": sum(each.won_cents for each in self.results),
        }

    def as_json(self) -> dict[str, Any]:
        """Return what `sabot settle --game holdem --json` prints."""
        return {
            "name": self.name or None,
            "limit": self.house.limit,
            "actions": [_act_json(act) for act in self.acts],
            "boards": [list(board) for board in self.boards],
            "uncalled": [
                {
                    "street": each.street,
                    "seat": each.seat.number,
                    "player": each.seat.player,
                    "amount_cents": each.cents,
                }
                for each in self.uncalled
            ],
            "pots": [
                {
                    "pot": pot.name,
                    "amount_cents": pot.cents,
                    "rake_cents": pot.rake_cents,
                    "seats": sorted(pot.seats),
                    "awards": [award.as_json() for award in self.awards if award.pot == pot],
                }
                for pot in self.pots
            ],
            "players": [each.as_json() for each in self.results],
            "totals": self.totals(),
        }


def settle(hand: HandFile) -> HandSettlement:
    """Settle a hand by Chapter 8 and the house's choices.

    Raises Forbidden, with the clause, for what the chapter forbids; ImpossibleDeal for cards that
    no such hand can have; BadHand for a hand that cannot have been played so.
    """
    house = house_of(hand.house)
    played = play(hand, house)
    boards = boards_of(hand, played, house)
    pots = _pots(hand, played, house)
    awards = _awards(pots, played, boards, house)
    won: Counter[int] = Counter()
    for award in awards:
        won[award.seat.number] += award.cents
    returned: Counter[int] = Counter()
    for each in played.uncalled:
        returned[each.seat.number] += each.cents
    results = tuple(
        Result(
            player.seat,
            player.put + returned[player.seat.number],
            returned[player.seat.number],
            won[player.seat.number],
        )
        for player in sorted(played.order, key=lambda player: player.seat.number)
    )
    return HandSettlement(
        hand.name, house, tuple(played.acts), boards, tuple(played.uncalled), pots, awards, results
    )


def _pots(hand: HandFile, played: Played, house: House) -> tuple[Pot, ...]:
    put = {player.seat.number: player.put for player in played.order}
    pots = pots_of(put, [player.seat.number for player in played.live])
    found = tuple(pot.cents for pot in pots)
    if hand.pots_cents is not None and hand.pots_cents != found:
        counted, made = (", ".join(map(amount, each)) for each in (hand.pots_cents, found))
        raise BadHand(f"pots_cents: the file has {counted}, the betting makes {made}; count again")
    return raked(pots, house, flop=bool(hand.board))


def _awards(
    pots: tuple[Pot, ...], played: Played, boards: tuple[tuple[str, ...], ...], house: House
) -> tuple[Award, ...]:
    live = {player.seat.number: player for player in played.live}
    hands = _hands(tuple(live.values()), tuple(played.order), boards)
    awards: list[Award] = []
    for pot in pots:
        cents = pot.cents - pot.rake_cents
        shown = [seat for seat in pot.seats if not live[seat].seat.mucked]
        alone = pot.seats if len(pot.seats) == 1 else shown
        if not alone:
            raise BadHand(f"{pot.name}: all who may win it mucked; one of them has not")
        if len(alone) == 1:
            awards.append(Award(pot, None, live[alone[0]].seat, cents, None))
            continue
        parts = halves(cents, house) if len(boards) == 2 else (cents,)
        for number, part in enumerate(parts, 1):
            ranked = {seat: hands[number, seat] for seat in shown}
            best = max(each.hand for each in ranked.values())
            winners = [seat for seat in shown if ranked[seat].hand == best]
            highest = max(winners, key=lambda seat: max(map(height, live[seat].seat.cards)))
            awards += [
                Award(pot, number, live[seat].seat, share, ranked[seat])
                for seat, share in shares(part, winners, house, highest)
            ]
    return tuple(awards)


def _hands(
    live: tuple[Player, ...], players: tuple[Player, ...], boards: tuple[tuple[str, ...], ...]
) -> dict[tuple[int, int], Ranked]:
    """Return the hands at the showdown, by board from 1 and seat; none if all but one folded."""
    for player in players:
        if player.seat.mucked and (player not in live or len(live) == 1):
            raise BadHand(f"{player.seat}: mucked without a showdown; leave mucked out")
    if len(live) == 1:
        return {}
    for player in live:
        if not player.seat.cards and not player.seat.mucked:
            raise BadHand(f'{player.seat}: no cards at the showdown; add cards, or "mucked": true')
    return {
        (number, player.seat.number): best_hand(player.seat.cards, board)
        for number, board in enumerate(boards, 1)
        for player in live
        if not player.seat.mucked
    }


def _act_json(act: PlayedAct) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "street": act.street,
        "seat": act.seat.number,
        "player": act.seat.player,
        "does": word_of(act),
        "to_cents": act.to_cents,
        "put_cents": act.put_cents,
        "all_in": act.all_in,
        "correction": None,
    }
    if act.correction is not None:
        shown["correction"] = {
            "do": act.correction.do,
            "amount_cents": act.correction.cents,
            "why": act.correction.why,
        }
    return shown


def word_of(act: PlayedAct) -> str:
    """Return what a player did, as one word."""
    return "bet" if act.kind == RAISE and act.first_bet else act.kind
