"""A dealer for a simulated shoe: watches lock, lamps and display, pulls cards, presses buttons."""

import threading
from collections.abc import Sequence

import numpy as np

from sabot.errors import SabotError, SimulatorFailed
from sabot.faults import internal_error
from sabot.games.family import Players
from sabot.sim.channel import Outputs, SimHands
from sabot.sim.disturbed import NOISE, noisy_pass
from sabot.sim.faulty import faulty_pass
from sabot.sim.waveform import pack
from sabot_protocol import cards

# A dealer's pauses in seconds, as is common at a mini baccarat table of 60 to 80 rounds an hour.
_CARD_S = 1.2
_BETTING_S = 18.0
_RESULT_S = 12.0
_TURNING_S = 15.0
_CHANGING_S = 120.0  # of the shoe of cards
_SHUFFLING_S = 30.0  # of a single deck

_HOST_POLL_S = 0.05
_LISTENING = ("HOST",)

# What the display shows for a pending card while the supervisor's key is on (panel.py).
_PENDING = "STOP "
_WHY_LINE, _CHOICE_LINE = 1, 4
_RANK_END = len("CARD 7")
_MOST_PRESSES = 20


class Dealer:
    """A dealer who deals `deck` (cards 0-53, in drawing order) on the shoe at `bench`.

    `pace` multiplies a dealer's pauses: 1 is a dealer's speed, 0 is without pauses. `noise` (a
    name in `disturbed.NOISE`) is how much the passes are disturbed, `pull` (one of
    `pulls.KINDS`) how the cards are pulled; the same `seed` gives the same passes. The dealer
    waits while the display says that no host listens or that the log lags. When the shoe has
    stopped, the supervisor turns the key, and enters from its face a card that the shoe could
    not read. In midi the lock closes when all cards of a round have been drawn; they are
    turned, and the dealer presses reveal. After `deck` come the shoes of cards in `more`.

    `players` are those of the families of games that may be dealt, by whose decisions the dealer
    presses buttons (`sabot.games.families.players`).

    Others may use the bench meanwhile: the dealer waits for `patience_s` seconds for the shoe to go
    on.
    """

    def __init__(
        self,
        bench: SimHands,
        deck: Sequence[int],
        *,
        card_set: int,
        pace: float,
        noise: str = "clean",
        pull: str = "stroke",
        seed: int | None = None,
        more: Sequence[Sequence[int]] = (),
        patience_s: float = 30.0,
        players: Sequence[Players] = (),
    ) -> None:
        self.drawn = 0
        """Cards pulled so far, including the cut card."""
        self._bench = bench
        self._deck = deck
        self._card_set = card_set
        self.pace = pace
        """May be changed while it deals."""
        self.failure: SabotError | None = None
        """Why the dealer's thread stopped; None while it has not failed."""
        self._noise = NOISE[noise]
        self._pull = pull
        self._random = np.random.default_rng(seed)
        self._more = more
        self._patience_s = patience_s
        self._players = players
        self._fault = ""
        self._dealing = False
        self._stop = threading.Event()

    def start(self) -> None:
        """Deal in a separate thread."""
        threading.Thread(target=self._deal_guarded, daemon=True).start()

    def stop(self) -> None:
        """Stop dealing after the current action."""
        self._stop.set()

    def _deal_guarded(self) -> None:
        try:
            self.deal()
        except SabotError as error:
            self.failure = error
        except Exception as error:
            self.failure = internal_error("the dealer has stopped", error)

    def deal(self) -> None:
        """Load the cards and deal until the last shoe of cards has ended or `stop` is called."""
        bench = self._bench
        for nth, deck in enumerate([self._deck, *self._more]):
            if nth:
                self._pause(_CHANGING_S if cards.CUT_CARD in deck else _SHUFFLING_S)
            self._deck, self.drawn = deck, 0
            self._wait_for_host()
            bench.switch("lid_open", True)
            bench.switch("lid_open", False)
            outputs = bench.settle()
            self._dealing = True
            while not self._stop.is_set() and outputs.title != "SHOE ENDED":
                outputs = self._act(outputs)
            self._dealing = False

    def fault_next(self, fault: str) -> bool:
        """Pull the next card with this fault of `faulty.FAULTS`. False: no card is to be pulled."""
        if not self._dealing:
            return False
        self._fault = fault
        return True

    def _act(self, outputs: Outputs) -> Outputs:
        bench = self._bench
        for players in self._players:
            button = players.button(outputs)
            if button is not None:
                self._pause(players.pause_s)
                bench.press(button)
                return bench.settle()
        if outputs.title == "BETTING OPEN":
            self._pause(_BETTING_S)
            bench.press("next")
            outputs = bench.settle()
        elif outputs.title == "NEXT ROUND?":
            if self.drawn == len(self._deck):
                return self._end_shoe()  # no card is left for another round
            self._pause(_RESULT_S)
            self._wait_for_host()
            bench.press("next")
            return bench.settle()
        elif "error" in outputs.lamps:
            return self._turn_key()
        elif outputs.title == "NO MORE BETS" and not outputs.lock_released:
            self._pause(_TURNING_S)
            bench.press("reveal")
            return bench.settle()
        if not outputs.lock_released:
            return bench.wait_for(lambda seen: seen != outputs, "gone on dealing", self._patience_s)
        if self.drawn == len(self._deck):
            return self._end_shoe()
        self._pause(_CARD_S)
        card = self._deck[self.drawn]
        fault, self._fault = self._fault, ""
        if fault:
            levels = faulty_pass(self._random, self._noise, fault, self._card_set, self._pull)
        else:
            levels = noisy_pass(self._random, self._noise, card, self._card_set, self._pull)
        bench.play(pack(levels))
        self.drawn += 1
        return bench.settle()

    def _turn_key(self) -> Outputs:
        """As the supervisor, clear the error or settle the card that stopped the shoe."""
        bench = self._bench
        self._pause(_RESULT_S)
        bench.switch("key_on", True)
        outputs = bench.settle()
        while outputs.title.startswith(_PENDING) and not self._stop.is_set():
            outputs = self._settle_card(outputs)
        bench.switch("key_on", False)
        return bench.settle()

    def _settle_card(self, outputs: Outputs) -> Outputs:
        why = outputs.display[_WHY_LINE]
        card = self._deck[self.drawn - 1]
        if why.startswith(("SURPLUS COPY", "CARD TOO MANY")):
            return self._choose(("AS READ",))
        if why == "FOREIGN SET" or why.endswith("2ND"):  # only one card was pulled
            return self._choose(("DRAW AGAIN", "NOT COUNTED"))
        name = "CUT CARD" if card == cards.CUT_CARD else f"CARD {cards.name_of(card)}"
        return self._choose((name,))

    def _choose(self, wanted: tuple[str, ...]) -> Outputs:
        """Press buttons until the display offers one of `wanted`, and accept it."""
        outputs = self._press_until("next", [each[:_RANK_END] for each in wanted], _RANK_END)
        if outputs.display[_CHOICE_LINE] not in wanted:
            self._press_until("burn", wanted, None)
        self._bench.press("reveal")
        return self._bench.settle()

    def _press_until(self, button: str, wanted: Sequence[str], letters: int | None) -> Outputs:
        for _ in range(_MOST_PRESSES):
            self._bench.press(button)
            outputs = self._bench.settle()
            if outputs.display[_CHOICE_LINE][:letters] in wanted:
                return outputs
        raise SimulatorFailed(f"the display never offers {' or '.join(wanted)}")

    def _end_shoe(self) -> Outputs:
        """As the supervisor, void the round and end the shoe: a card is due, but none is left."""
        bench = self._bench
        bench.switch("key_on", True)
        outputs = bench.settle()
        while outputs.title != "SHOE ENDED":
            asked = outputs.title in ("MISDEAL?", "END OF SHOE?")
            bench.press("burn" if asked else "void")
            outputs = bench.settle()
        bench.switch("key_on", False)
        return bench.settle()

    def _wait_for_host(self) -> None:
        while self._bench.outputs.link not in _LISTENING and not self._stop.is_set():
            self._stop.wait(_HOST_POLL_S)

    def _pause(self, seconds: float) -> None:
        if self.pace:
            self._stop.wait(seconds * self.pace)
