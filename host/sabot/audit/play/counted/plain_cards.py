"""Notes rounds whose cards lay face down and are in plain all the same."""

from collections.abc import Iterator

from sabot.link.seals import is_sealing


class PlainCards:
    """Rounds whose game deals their cards face down, and which have them in plain.

    That is right for firmware before 0.2 only. A start names its firmware, and may be far before
    the round, in records that are checked elsewhere: so it is judged at the end.
    """

    def __init__(self) -> None:
        self._rounds: list[tuple[int, int, str]] = []  # event, start, what
        self._sealing: dict[int, int] = {}
        """By the number of a start: the first event from which on its firmware seals."""
        self._older: set[int] = set()
        """The starts of older firmware."""

    def start(self, number: int, boot: int, firmware: str) -> None:
        """Take a start of the unit. A version that cannot be read is a new one."""
        if is_sealing(firmware) is False:
            self._older.add(boot)
        else:
            self._seals(number, boot)

    def sealed(self, number: int, boot: int) -> None:
        """Take a seal, which only firmware makes that always does."""
        self._seals(number, boot)

    def add(self, number: int, boot: int, what: str) -> None:
        """Take a round: its first card in plain, and what is wrong with it."""
        if boot not in self._older or boot in self._sealing:
            self._rounds.append((number, boot, what))

    def clear(self) -> None:
        """Forget the rounds so far, but not what is known of the firmware."""
        self._rounds.clear()

    def join(self, later: "PlainCards") -> None:
        """Take what later events gave."""
        self._older |= later._older
        for boot, number in later._sealing.items():
            self._seals(number, boot)
        for each in later._rounds:
            self.add(*each)

    def wrong(self) -> Iterator[tuple[int, str]]:
        """Yield the event and what is wrong, of each round that had to be sealed."""
        for number, boot, what in self._rounds:
            if boot in self._sealing and self._sealing[boot] < number:
                yield number, what

    def _seals(self, number: int, boot: int) -> None:
        self._sealing[boot] = min(number, self._sealing.get(boot, number))
