"""How a card is pulled, the same on every target: samples are played, then the shoe acts."""

from abc import ABC, abstractmethod

from sabot.sim.channel import Outputs
from sabot.sim.waveform import DEALER_SPEED_MM_S, SAMPLE_RATE_HZ, blank_samples, pass_samples
from sabot_protocol import cards

_SAMPLES_PER_BYTE = 2


class Hands(ABC):
    """The part of a bench (`sabot_hil.capabilities.Bench`) that pulls cards, all of card set 0."""

    @abstractmethod
    def play(self, samples: bytes) -> int:
        """Play sample words to the head; returns the time of the first one."""

    @abstractmethod
    def settle(self) -> Outputs:
        """Wait until the shoe has acted on everything that was done."""

    def pull(self, card: str) -> Outputs:
        """Pull a card through the head; returns what the shoe shows then."""
        self.play(pass_samples(cards.number_of(card), 0))
        return self.settle()

    def pull_part(self, card: str, travel_mm: float) -> Outputs:
        """Pull a card until its leading edge is `travel_mm` into the head, and hold it there."""
        samples = pass_samples(cards.number_of(card), 0)
        seconds = travel_mm / DEALER_SPEED_MM_S
        self.play(samples[: round(seconds * SAMPLE_RATE_HZ / _SAMPLES_PER_BYTE)])
        return self.settle()

    def pull_unreadable(self) -> Outputs:
        """Pull a card without a code."""
        self.play(blank_samples())
        return self.settle()
