"""Whether what a thief has seen depends on a card: Pearson's chi-square test of independence.

What is allowed to tell, such as the lock, divides the rounds into strata: within a stratum nothing
else may depend on the card. The chi-squares of the strata are added, and so are their degrees of
freedom. The least p of all features is multiplied by the number of tests (Bonferroni).
"""

from dataclasses import dataclass
from math import erfc, exp, lgamma, log, sqrt

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]

LIMIT = 0.001
"""Something was found if the corrected p is below this."""

_BINS = 8
_LEAST_STRATUM = 100
_LEAST_OF_TRUTH = 20
_LEAST_EXPECTED = 3.0


@dataclass(frozen=True, slots=True)
class Found:
    """The feature that tells most: its p, corrected for `tests`."""

    p: float
    name: str
    tests: int

    @property
    def tells(self) -> bool:
        return self.p < LIMIT

    def __str__(self) -> str:
        return f"p {self.p:.3g} ({self.tests} tests), least at {self.name}"


def best_guess(features: dict[str, Numbers], truths: dict[str, Numbers], strata: Numbers) -> Found:
    """Return which feature tells most of any truth, both by name, an element for each round."""
    tests, least, name = 0, 1.0, "nothing"
    groups = [np.flatnonzero(strata == stratum) for stratum in np.unique(strata)]
    groups = [group for group in groups if len(group) >= _LEAST_STRATUM]
    for truth_name, truth in truths.items():
        sums = {feature: [0.0, 0] for feature in features}
        for group in groups:
            kept = _common(truth[group])
            if len(kept) < _LEAST_STRATUM:
                continue
            rows = group[kept]
            answers = _one_hot(truth[rows])
            if answers.shape[1] < 2:
                continue
            for feature, seen in features.items():
                chi_square, freedom = _chi_square(_bins(seen[rows]), answers)
                sums[feature][0] += chi_square
                sums[feature][1] += freedom
        for feature, (chi_square, freedom) in sums.items():
            if not freedom:
                continue
            tests += 1
            p = survival(chi_square, int(freedom))
            if p < least:
                least, name = p, f"{feature} for {truth_name}"
    return Found(min(1.0, least * max(tests, 1)), name, tests)


def survival(chi_square: float, freedom: int) -> float:
    """Return the chance of at least this chi-square (Abramowitz and Stegun, 26.4.4 and 26.4.5)."""
    half = chi_square / 2
    if half <= 0:
        return 1.0
    odd = freedom % 2
    total = erfc(sqrt(half)) if odd else 0.0
    for k in range(freedom // 2):
        power = k + odd / 2
        total += exp(power * log(half) - half - lgamma(power + 1))
    return min(1.0, total)


def _common(truth: Numbers) -> Numbers:
    """Return the rows whose truth comes often enough to be counted."""
    values, at, counts = np.unique(truth, return_inverse=True, return_counts=True)
    assert len(values)
    return np.flatnonzero(counts[at] >= _LEAST_OF_TRUTH)


def _one_hot(values: Numbers) -> npt.NDArray[np.float64]:
    _, at = np.unique(values, return_inverse=True)
    made = np.zeros((len(values), int(at.max()) + 1))
    made[np.arange(len(values)), at] = 1
    return made


def _bins(seen: Numbers) -> Numbers:
    """Return the number of each value's bin, at most _BINS with about the same count."""
    if seen.min() == seen.max():
        return np.zeros(len(seen), np.int64)
    if len(np.unique(seen)) > _BINS:
        edges = np.unique(np.quantile(seen, np.arange(1, _BINS) / _BINS))
        return np.searchsorted(edges, seen, side="right").astype(np.int64)
    return np.unique(seen, return_inverse=True)[1].astype(np.int64)


def _chi_square(bins: Numbers, answers: npt.NDArray[np.float64]) -> tuple[float, int]:
    """Return the chi-square and its degrees of freedom; bins that are too rare are put together."""
    of_truth = answers.sum(0)
    total = float(len(bins))
    rare = np.bincount(bins) * of_truth.min() / total < _LEAST_EXPECTED
    if rare.any():
        bins = np.where(rare[bins], -1, bins)
    table = _one_hot(bins).T @ answers
    of_bin = table.sum(1)
    if len(of_bin) > 1 and of_bin.min() * of_truth.min() / total < _LEAST_EXPECTED:
        keep = of_bin.argsort()  # still too rare: with the next rarest
        table[keep[1]] += table[keep[0]]
        table = np.delete(table, keep[0], 0)
        of_bin = table.sum(1)
    if len(of_bin) < 2:
        return 0.0, 0
    expected = np.outer(of_bin, of_truth) / total
    chi_square = float(((table - expected) ** 2 / expected).sum())
    return chi_square, (table.shape[0] - 1) * (table.shape[1] - 1)
