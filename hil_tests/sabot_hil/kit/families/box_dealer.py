"""An independent dealer of blackjack: it deals rounds to one box on a bench, by its own rules.

It shares no code with the rules of the firmware or of the verifier.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from sabot.errors import NoShoe
from sabot.games.blackjack import shoe_game
from sabot.log.families.boxes import BlackjackRound
from sabot.log.rounds import dealt_of
from sabot.log.store import open_store
from sabot.sim.channel import Outputs
from sabot_hil.capabilities import Bench, Target, session_with
from sabot_hil.kit.dealer import load_cards
from sabot_hil.kit.logbook import findings, taken
from sabot_hil.kit.waiting import seconds_of, wait_until

_RESTART_S = 20.0
_POLL_MS = 50.0
_WRITTEN_MS = 300.0
"""Time for the journal to write what the last input recorded."""
_WORTH = {"A": 11, "T": 10, "J": 10, "Q": 10, "K": 10}


def total(cards: list[str]) -> tuple[int, bool]:
    """Return the total of a hand, and whether an ace counts eleven in it."""
    count = sum(_WORTH.get(card[0]) or int(card[0]) for card in cards)
    elevens = sum(card[0] == "A" for card in cards)
    while count > 21 and elevens:
        count, elevens = count - 10, elevens - 1
    return count, elevens > 0


def load_game(target: Target, choices: Mapping[str, object]) -> bytes:
    """Load blackjack with these choices of the house; return its document. The shoe restarts if it
    has dealt another family."""
    document = shoe_game.document({"burn": "none", **choices})
    with session_with(target.shoe) as client:
        client.load_game(document)

    def deals_it() -> bool:
        try:
            with session_with(target.shoe) as client:
                return client.welcome.game == "blackjack"
        except NoShoe:  # it restarts
            return False

    clock = target.clock
    assert wait_until(deals_it, _RESTART_S, lambda: clock.pass_ms(_POLL_MS), seconds_of(clock))
    return document


class BoxDealer:
    """Deals to one box at `bench`. `pull` pulls a card, other than as usual if it is given."""

    def __init__(self, bench: Bench, pull: Callable[[str], Outputs] | None = None) -> None:
        self._bench = bench
        self._pull = pull or bench.pull
        self._drawn = 0
        load_cards(bench)

    def give(self, script: str) -> Outputs:
        """Press these buttons and pull these cards, in order; return what the shoe shows then."""
        for word in script.split():
            shown = self._bench.press(word) if word.islower() else self._pull(word)
        return shown

    def next_round(self) -> None:
        """Begin a round, if none has begun."""
        if self._bench.outputs.title == "NEXT ROUND?":
            self._bench.press("next")

    def finish(self, dealer: list[str], *, hits_soft_17: bool) -> list[str]:
        """Draw the dealer's cards by the rule, a low one each time; the lock must be open exactly
        while one is due. Return the dealer's hand."""
        hand = [*dealer]
        while True:
            count, soft = total(hand)
            draws = count < 17 or (count == 17 and soft and hits_soft_17)
            assert self._bench.outputs.lock_released == draws, (hand, self._bench.outputs)
            if not draws:
                return hand
            self._drawn += 1  # another card each time: a shoe has eight of each
            hand.append("23456"[self._drawn % 5] + "SHDC"[self._drawn % 4])
            self._pull(hand[-1])


def rounds_taken(target: Target, folder: Path, document: bytes) -> list[BlackjackRound]:
    """Check that the shoe's events have no findings so far, and return their rounds of blackjack.
    The shoe's keys are somewhere in `folder`."""
    target.clock.pass_ms(_WRITTEN_MS)
    with open_store(folder / "taken.sqlite", create=True) as store:
        records = taken(target)
        store.append(target.shoe.unit, records)
        store.keep_game(document)
        found = [finding for finding in findings(store, folder) if finding.kind != "incomplete"]
        assert not found, found
    dealt = dealt_of(target.shoe.unit, (record.event for record in records))
    return [each for each in dealt if isinstance(each, BlackjackRound)]
