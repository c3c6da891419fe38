"""The betting of a hand, action by action: who acts, what may be bet, what each player put in.

Chapter 8 A, B, C, H, J and K. What the chapter leaves open (who posts blinds, who acts first, what
reopens the betting) is common practice, some of it the house's choice.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from sabot.errors import BadHand
from sabot.games.holdem.clauses import SILENT, forbidden
from sabot.games.holdem.hand_file import (
    ADDS,
    CALL,
    CHECK,
    FOLD,
    LEAVES,
    RAISE,
    REMOVES,
    STREETS,
    TAKES,
    Act,
    Change,
    HandFile,
    Seat,
)
from sabot.games.holdem.house import FIXED_LIMIT, HALF_RAISE, POT_LIMIT, House
from sabot.games.holdem.words import TAKES_BACK, Correction, Facing, Meaning, meaning_of
from sabot.text import amount

PREFLOP = STREETS[0]


@dataclass(slots=True)
class Player:
    """A player in the hand; amounts in cents."""

    seat: Seat
    stack: int
    bet: int = 0
    """In this betting round."""
    put: int = 0
    """In the hand, the ante and `bet` included."""
    folded: bool = False
    acted: bool = False
    """In this betting round."""
    checked: bool = False
    """In this betting round."""
    away: bool = False

    @property
    def all_in(self) -> bool:
        """Whether the player still can win and has nothing left to bet."""
        return not self.folded and not self.stack

    def pay(self, cents: int) -> None:
        """Move chips from the stack into the bet of this round."""
        self.stack -= cents
        self.bet += cents
        self.put += cents


@dataclass(frozen=True, slots=True)
class PlayedAct:
    """An action as it counts."""

    street: str
    seat: Seat
    kind: str
    """FOLD, CHECK, CALL or RAISE; the first bet of a round is a RAISE."""
    to_cents: int
    """The player's bet in this round after the action."""
    put_cents: int
    """What the action added to the pot."""
    first_bet: bool
    all_in: bool
    correction: Correction | None


@dataclass(frozen=True, slots=True)
class Uncalled:
    """A part of a bet that no one called, and that goes back."""

    street: str
    seat: Seat
    cents: int


@dataclass(slots=True)
class Played:
    """The betting of a whole hand."""

    order: tuple[Player, ...]
    """All players, clockwise from the left of the button."""
    acts: list[PlayedAct] = field(default_factory=list)
    uncalled: list[Uncalled] = field(default_factory=list)
    last_street: str = PREFLOP
    """The last betting round in which a player had to act."""
    unasked: list[tuple[str, Seat]] = field(default_factory=list)
    """By betting round, a player who was not asked any more, because all others were all-in."""
    sizes: tuple[int, int] = (0, 0)
    """The minimum bet in cents before the turn, and from the turn on."""

    @property
    def live(self) -> tuple[Player, ...]:
        """The players who have not folded."""
        return tuple(player for player in self.order if not player.folded)


def play(hand: HandFile, house: House) -> Played:
    """Return the betting of a hand, and what each player put in.

    Raises Forbidden, with the clause, for what the chapter forbids; BadHand if an action is missing
    or one too many.
    """
    betting = _Betting(hand, house)
    betting.post()
    for street in STREETS:
        entries = hand.betting.get(street, ())
        if len(betting.played.live) == 1:
            if entries:
                raise BadHand(
                    f"{street}: the hand has ended, all but one have folded; remove what comes "
                    "after it"
                )
            continue
        betting.play_round(street, entries)
    return betting.played


def least_bet(hand: HandFile, house: House) -> int:
    """Return the minimum bet in cents: the agreed one, or the posted one. Raises Forbidden, with
    the clause, if the players may not have it."""
    agreed = hand.agreed_minimum_cents
    if agreed is None:
        return house.minimum_bet_cents
    where = f"agreed minimum of {amount(agreed)}"
    if agreed < house.minimum_bet_cents:
        posted = amount(house.minimum_bet_cents)
        raise forbidden(where, f"is below the posted {posted}; it may only be increased", "J(1)")
    without = [str(seat) for seat in hand.seats if seat.number not in hand.agreed_by]
    if without:
        raise forbidden(
            where, f"{', '.join(without)} did not agree; follow the posted minimum", "J(1)"
        )
    most = house.minimum_increase_most_cents
    if most and agreed - house.minimum_bet_cents > most:
        raise forbidden(where, f"is an increase of more than {amount(most)}; agree on less", "K(2)")
    return agreed


class _Betting:
    def __init__(self, hand: HandFile, house: House) -> None:
        self.house = house
        self.least = least_bet(hand, house)
        self._check_chips("agreed_minimum", hand.agreed_minimum_cents or 0)
        after = [seat for seat in hand.seats if seat.number > hand.button]
        until = [seat for seat in hand.seats if seat.number <= hand.button]
        self.played = Played(tuple(Player(seat, seat.stakes_cents) for seat in (*after, *until)))
        self.by_seat = {player.seat.number: player for player in self.played.order}
        self.street = PREFLOP
        self.bet = 0
        self.full_raise = self.least
        self.raises = 0
        self.played.sizes = (self._size(PREFLOP), self._size(STREETS[-1]))
        self.waiting: deque[Player] = deque()
        """Those who are still to act in this round, the next one first."""

    def post(self) -> None:
        """Take antes and blinds. With two players the button has the small blind."""
        order, house = self.played.order, self.house
        small, big = (order[1], order[0]) if len(order) == 2 else order[:2]
        blinds = {small.seat: house.small_blind_cents, big.seat: house.big_blind_cents}
        for player in order:
            blind = blinds.get(player.seat, 0)
            self._check_stakes(player.seat, house.ante_cents + blind)
            player.stack -= house.ante_cents
            player.put += house.ante_cents
            player.pay(blind)
        self.bet = house.big_blind_cents

    def _check_stakes(self, seat: Seat, forced: int) -> None:
        needed = forced + self.house.minimum_bet_cents
        if seat.stakes_cents < needed:
            raise forbidden(
                str(seat),
                f"has {amount(seat.stakes_cents)}, and needs {amount(needed)}: ante and blind of "
                f"{amount(forced)} and one bet at the posted minimum; do not deal the player in",
                "B(4)",
            )
        self._check_chips(str(seat), seat.stakes_cents)

    def _check_chips(self, where: str, cents: int) -> None:
        if cents % self.house.chip_cents:
            raise BadHand(
                f"{where}: {amount(cents)} is not a number of chips of "
                f"{amount(self.house.chip_cents)}; correct it, or choose chip_cents"
            )

    def play_round(self, street: str, entries: Iterable[Act | Change]) -> None:
        self._begin(street)
        for entry in entries:
            player = self.by_seat.get(entry.seat)
            if player is None:
                raise forbidden(
                    f"{street}, seat {entry.seat}",
                    "no player there was dealt in; only a seated player may take part",
                    "A",
                )
            if isinstance(entry, Change):
                self._change(player, entry)
            else:
                self._act(player, entry)
        if self.waiting:
            raise BadHand(f"{street}: {self.waiting[0].seat} is next to act; add the action")
        self._return_uncalled()

    def _begin(self, street: str) -> None:
        self.street = street
        self.raises = 0
        self.full_raise = self._size(street)
        if street == PREFLOP and self.house.limit != FIXED_LIMIT:
            self.full_raise = max(self.full_raise, self.bet)  # the big blind is the bet
        order = list(self.played.order)
        if street != PREFLOP:
            self.bet = 0
            for player in order:
                player.bet = 0
        elif len(order) == 2:
            order.reverse()
        else:
            order = order[2:] + order[:2]  # the first after the big blind begins
        for player in order:
            player.acted = player.checked = False
        self.waiting = deque(
            player
            for player in order
            if not player.folded and player.stack and self._can_lose_more(player)
        )
        self._end_if_no_one_can_bet()
        if self.waiting:
            self.played.last_street = street

    def _size(self, street: str) -> int:
        """The minimum bet of a betting round; in fixed limit the only one."""
        if self.house.limit == FIXED_LIMIT and street in STREETS[2:]:
            return max(self.house.maximum_bet_cents or 2 * self.least, self.least)
        return self.least

    def _end_if_no_one_can_bet(self) -> None:
        with_chips = [player for player in self.played.live if player.stack]
        alone = len(with_chips) == 1 and with_chips[0].bet >= self.bet
        if alone or len(self.played.live) == 1:
            self.waiting.clear()

    def _change(self, player: Player, change: Change) -> None:
        where = f"{self.street}, {player.seat}"
        if change.kind in (ADDS, REMOVES):
            does = "adds" if change.kind == ADDS else "removes"
            raise forbidden(
                where,
                f"{does} {amount(change.cents)}; table stakes change only between hands",
                "B(2)",
            )
        if change.kind == TAKES:
            raise forbidden(
                where,
                f"takes {amount(change.cents)} from the pot; no player touches what is in it",
                "H",
            )
        if change.kind == LEAVES:
            if player.away:
                raise BadHand(f"{where}: leaves twice; say when the player returned")
            player.away = True
            return
        if not player.away:
            raise BadHand(f"{where}: returns without having left; say when the player left")
        if change.cents != player.stack:
            raise forbidden(
                where,
                f"returns to {amount(change.cents)}, and left {amount(player.stack)}; the stakes "
                "must be unchanged",
                "B(6)(a)",
            )
        player.away = False

    def _act(self, player: Player, act: Act) -> None:
        where = f"{self.street}, {player.seat}"
        if player.folded:
            raise BadHand(f"{where}: has folded; remove the action")
        if not self.waiting:
            raise BadHand(f"{where}: the betting round is over; remove the action")
        if player is not self.waiting[0]:
            turn = self.waiting[0].seat
            raise forbidden(
                where,
                f"acts out of turn; it is the turn of {turn}; write the actions in turn",
                "C",
            )
        for cents in (act.to_cents, act.by_cents, *(act.puts_cents or ())):
            self._check_chips(where, cents or 0)
        fixed = self._size(self.street) if self.house.limit == FIXED_LIMIT else 0
        meaning = meaning_of(act, Facing(where, self.bet, player.bet, player.stack, fixed))
        if player.away and meaning.kind != FOLD:
            raise forbidden(where, "is away from the table; say when the player returned", "B(6)")
        if meaning.kind == RAISE:
            meaning = self._as_call_if_no_one_can_call(player, meaning)
        self._carry_out(player, meaning, where)

    def _can_lose_more(self, player: Player) -> bool:
        """Whether the player has to call, or another one has enough left to call more."""
        return player.bet < self.bet or self._can_be_called(player, player.bet)

    def _can_be_called(self, player: Player, bet: int) -> bool:
        """Whether another player has enough left to call more than `bet`."""
        others = (other for other in self.played.live if other is not player)
        return any(other.stack + other.bet > bet for other in others)

    def _as_call_if_no_one_can_call(self, player: Player, meaning: Meaning) -> Meaning:
        """Return a raise as the call that it is if no one has enough left to call more."""
        if self._can_be_called(player, self.bet):
            return meaning
        over = meaning.to_cents - self.bet
        why = f"no one left can call more ({SILENT})"
        return replace(
            meaning, kind=CALL, to_cents=self.bet, correction=Correction(TAKES_BACK, over, why)
        )

    def _carry_out(self, player: Player, meaning: Meaning, where: str) -> None:
        put = meaning.to_cents - player.bet
        first_bet = meaning.kind == RAISE and not self.bet
        if meaning.kind == RAISE:
            self._check_raise(player, meaning.to_cents, where)
            self._raise(player, meaning.to_cents)
        else:
            self.waiting.popleft()
            player.pay(put)
        player.acted = True
        player.checked = player.checked or meaning.kind == CHECK
        player.folded = meaning.kind == FOLD
        self.played.acts.append(
            PlayedAct(
                self.street, player.seat, meaning.kind, meaning.to_cents, put, first_bet,
                player.all_in, meaning.correction,
            )
        )  # fmt: skip
        asked = [(self.street, each.seat) for each in self.waiting]
        self._end_if_no_one_can_bet()
        if not self.waiting and len(self.played.live) > 1:
            self.played.unasked += asked

    def _raise(self, player: Player, to_cents: int) -> None:
        by = to_cents - self.bet
        if self.bet and by >= self._reopening():
            self.raises += 1
        self.full_raise = max(self.full_raise, by)
        self.bet = to_cents
        player.pay(to_cents - player.bet)
        order = self.played.order
        at = order.index(player)
        after = (*order[at + 1 :], *order[:at])
        self.waiting = deque(each for each in after if not each.folded and each.stack)

    def _reopening(self) -> int:
        """What a raise must be to let those raise again who have acted."""
        if self.house.reopened_by == HALF_RAISE:
            return (self.full_raise + 1) // 2
        return self.full_raise

    def _check_raise(self, player: Player, to_cents: int, where: str) -> None:
        """Raise Forbidden if the bet or raise to `to_cents` is not allowed."""
        refused = self._why_not(player, to_cents)
        if refused is not None:
            text, clause = refused
            does = "raises" if self.bet else "bets"
            raise forbidden(where, f"{does} to {amount(to_cents)}; {text}", clause)

    def _why_not(self, player: Player, to_cents: int) -> tuple[str, str] | None:
        by, house = to_cents - self.bet, self.house
        if player.acted and player.bet < self.bet and self.bet - player.bet < self._reopening():
            facing = amount(self.bet - player.bet)
            return f"{facing} does not reopen the betting: call or fold", SILENT
        if self.bet and house.raises_most and self.raises >= house.raises_most:
            return f"{house.raises_most} raises are allowed in a round: call or fold", "J"
        if player.checked and not house.check_and_raise:
            return "the sign forbids to raise after a check: call or fold", "J(2)"
        if by < self.full_raise and to_cents < player.bet + player.stack:
            least = f"the minimum is {amount(self.bet + self.full_raise)}"
            if self.full_raise == self._size(self.street):
                return least, "J"
            return f"{least}, after a bet or raise of {amount(self.full_raise)}", SILENT
        for most, clause in self._maxima(player):
            if to_cents > most:
                return f"the maximum is {amount(most)}", clause
        return None

    def _maxima(self, player: Player) -> list[tuple[int, str]]:
        """The highest bets that the player may make in this round, each with its clause, the lowest
        first. The chapter has the posted maximum only."""
        if self.house.limit == FIXED_LIMIT:
            return [(self.bet + self._size(self.street), "J")]
        maxima: list[tuple[int, str]] = []
        if self.house.limit == POT_LIMIT:
            pot = sum(each.put for each in self.played.order)
            by = max(pot + self.bet - player.bet, self.full_raise)
            maxima.append((self.bet + by, SILENT))
        if self.house.maximum_bet_cents:
            maxima.append((self.bet + self.house.maximum_bet_cents, "J"))
        return sorted(maxima)

    def _return_uncalled(self) -> None:
        """Give back the part of the highest bet that no one called."""
        second, highest = sorted(self.played.order, key=lambda player: player.bet)[-2:]
        over = highest.bet - second.bet
        if over:
            highest.pay(-over)
            self.played.uncalled.append(Uncalled(self.street, highest.seat, over))
