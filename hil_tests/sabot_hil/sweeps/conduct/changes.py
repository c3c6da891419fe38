"""`python -m sabot_hil.sweeps.conduct.changes`: how often `sabot pace` names a change that did
not happen, and how often it finds a dealer who is slower.

Honest tables: the median of a shoe of cards varies from one to the next (a normal distribution
around 45 s, deviation 2 s: medians of 80 rounds whose lengths vary by 40 %). With a lag each value
follows the one before by so much, as when players stay for several shoes of cards.
"""

import argparse
import math
import random
from dataclasses import dataclass

from sabot.conduct.changes import RATE, changes_in

_MEAN_S, _DEVIATION_S = 45.0, 2.0


@dataclass(frozen=True, slots=True)
class Rate:
    """How often something happened."""

    happened: int
    of: int

    @property
    def rate(self) -> float:
        """As a fraction."""
        return self.happened / self.of

    def text(self) -> str:
        """With its 95 % bounds (Wilson)."""
        n, p, z = self.of, self.rate, 1.96
        middle = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
        return f"{p:.4f} ({max(0.0, middle - half):.4f} to {middle + half:.4f}, {n:,} reports)"


def _series(
    rng: random.Random, shoes: int, lag: float, slower_from: int, slower: float
) -> list[float]:
    values, before = [], rng.gauss(0, 1)
    for shoe in range(shoes):
        before = lag * before + math.sqrt(1 - lag * lag) * rng.gauss(0, 1)
        factor = 1 + slower if shoe >= slower_from else 1
        values.append(factor * _MEAN_S + _DEVIATION_S * before)
    return values


def false_alarms(*, reports: int, tables: int, shoes: int, seed: int, lag: float = 0.0) -> Rate:
    """How many reports of honest tables, with three series each, name a change."""
    rng, wrong = random.Random(seed), 0
    for _ in range(reports):
        series = {n: _series(rng, shoes, lag, shoes, 0) for n in range(3 * tables)}
        wrong += bool(changes_in(series)[0])
    return Rate(wrong, reports)


def power(*, reports: int, shoes: int, slower: float, seed: int, tables: int = 10) -> float:
    """How often a dealer who is slower from the middle on is found among honest tables."""
    rng, found = random.Random(seed), 0
    for _ in range(reports):
        series = {n: _series(rng, shoes, 0, shoes, 0) for n in range(3 * tables - 1)}
        series[-1] = _series(rng, shoes, 0, shoes // 2, slower)
        found += -1 in changes_in(series)[0]
    return found / reports


def main() -> None:
    """Print the rates."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--reports", type=int, default=2000)
    given = parser.parse_args()
    print(f"seed {given.seed}; stated: at most {RATE} of reports of honest tables")
    for tables in (1, 20):
        for shoes in (20, 100):
            for lag in (0.0, 0.2, 0.4):
                found = false_alarms(
                    reports=given.reports, tables=tables, shoes=shoes, seed=given.seed, lag=lag
                )
                print(
                    f"{tables:>3} tables, {shoes:>3} shoes, lag {lag}: {found.text()}", flush=True
                )
    for slower in (0.02, 0.04, 0.06, 0.1):
        for shoes in (40, 100):
            rate = power(reports=given.reports // 10, shoes=shoes, slower=slower, seed=given.seed)
            print(f"{slower:.0%} slower in the second half of {shoes} shoes: found {rate:.2f}")


if __name__ == "__main__":
    main()
