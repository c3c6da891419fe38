"""Who wagered when the cards favoured a wager, more often than by chance.

Had the same wagers been placed in the same rounds of other shoes of cards, how many would have met
cards that favoured them? Each shoe that a person played is compared with all shoes of the log: so
it does not matter that the cards favour a wager rather late in a shoe, and that some people come
late. The chances of the shoes are put together exactly.
"""

import csv
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sabot.errors import BadWagers
from sabot.integrity.dealt_shoe import DealtShoe, Place
from sabot.integrity.finding import Finding, Ledger, first_places
from sabot.numbers import whole
from sabot.text import counted

NAME = "favourable"

COLUMNS = ("unit", "shoe", "round", "player", "wager")
"""The columns of a file of wagers; it may have more."""

_MOST_ROUNDS = 128  # of a shoe of cards
_MOST_SHOES = 4096  # that others are compared with
_LEAST_SHOES = 20

Flags = npt.NDArray[np.bool_]

Bets = Mapping[tuple[str, int], Sequence[tuple[int, str, str]]]
"""By unit and shoe of cards: round, player and wager."""


def read_bets(path: Path) -> Bets:
    """Read a file of wagers, comma-separated, with a line of names first. Raises BadWagers."""
    found: dict[tuple[str, int], list[tuple[int, str, str]]] = defaultdict(list)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            missing = [name for name in COLUMNS if name not in (rows.fieldnames or ())]
            if missing:
                raise BadWagers(
                    f"{path}: has no column {missing[0]}; the first line must name "
                    f"{', '.join(COLUMNS)}"
                )
            for line, row in enumerate(rows, 2):
                shoe, round_ = whole(row["shoe"] or ""), whole(row["round"] or "")
                if shoe is None or round_ is None:
                    raise BadWagers(f"{path}: line {line}: shoe and round must be numbers")
                found[row["unit"], shoe].append((round_, row["player"], row["wager"]))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadWagers(f"{path}: cannot be read: {error}") from None
    return found


@dataclass(slots=True)
class _Person:
    """The wagers of one person on one wager."""

    shoes: list[tuple[npt.NDArray[np.intp], int]] = field(default_factory=list)
    """Of each shoe: the places of the rounds in it, and how many of these were favourable."""
    wagered: int = 0
    places: list[Place] = field(default_factory=list)
    """Favourable rounds."""


class Bettors:
    """Collects who wagered when."""

    def __init__(self, ledger: Ledger, bets: Bets) -> None:
        self._ledger = ledger
        self._bets = bets
        self._people: dict[tuple[str, str], _Person] = defaultdict(_Person)
        self._flags: dict[str, list[Flags]] = defaultdict(list)

    def take(self, shoe: DealtShoe, wagers: Sequence[str], favourable: Flags) -> None:
        """Take a shoe of cards: `favourable` says of each round (rows) which wagers were."""
        placed = self._bets.get((shoe.unit, shoe.shoe), ())
        for column, wager in enumerate(wagers):
            flags = np.zeros(_MOST_ROUNDS, dtype=bool)
            some = favourable[:_MOST_ROUNDS, column]
            flags[: len(some)] = some
            if placed or len(self._flags[wager]) < _MOST_SHOES:
                self._flags[wager].append(flags)
            self._add(shoe, wager, flags, [each[:2] for each in placed if each[2] == wager])

    def close(self) -> None:
        """Judge each person on each wager."""
        for (player, wager), person in self._people.items():
            of_wager = self._flags[wager]
            if len(of_wager) >= _LEAST_SHOES:
                self._judge(player, wager, person, np.array(of_wager))

    def _add(
        self, shoe: DealtShoe, wager: str, flags: Flags, placed: Sequence[tuple[int, str]]
    ) -> None:
        at = {int(number): place for place, number in enumerate(shoe.rounds[:_MOST_ROUNDS, 0])}
        by_player: dict[str, set[int]] = defaultdict(set)
        for round_, player in placed:
            if round_ in at:
                by_player[player].add(at[round_])
        for player, rounds in by_player.items():
            places = np.array(sorted(rounds))
            person = self._people[player, wager]
            person.shoes.append((places, int(flags[places].sum())))
            person.wagered += len(places)
            person.places += [
                Place(shoe.unit, shoe.shoe, int(shoe.rounds[place, 0]))
                for place in places
                if flags[place]
            ]

    def _judge(self, player: str, wager: str, person: _Person, flags: Flags) -> None:
        favourable = sum(count for _, count in person.shoes)
        likely, mean = np.ones(1), 0.0
        for places, _ in person.shoes:
            met = flags[:, places].sum(axis=1)
            of_shoe = np.bincount(met) / len(met)
            mean += float(met.mean())
            likely = np.convolve(likely, of_shoe)
        chance = float(min(1.0, likely[favourable:].sum()))
        self._ledger.add(chance, partial(_found, player, wager, person, favourable, mean, chance))


def _found(
    player: str, wager: str, person: _Person, favourable: int, mean: float, chance: float
) -> Finding:
    return Finding(
        NAME,
        "bettor",
        f"player {player}",
        f"wagers on {wager} in rounds in which the cards favoured it",
        favourable,
        mean,
        chance,
        f"{player} wagered on {wager} {counted(person.wagered, 'time')} in "
        f"{counted(len(person.shoes), 'shoe')} of cards; {favourable} of these wagers met cards "
        f"that favoured them. In the same rounds of other shoes {mean:.1f} would have. A "
        "person who counts cards wagers like that. Watch these rounds.",
        first_places(person.places),
    )
