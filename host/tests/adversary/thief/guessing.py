"""Whether what a thief has seen depends on a card: Pearson's chi-square test of independence.

What is allowed to tell, such as the lock, divides the rounds into strata: within a stratum nothing
else may depend on the card. The chi-squares of the strata are added, and so are their degrees of
freedom. Each feature is tested alone, and all together: a linear guess is learned from every other
round, and what it says of the others is one more feature. The least p of all is multiplied by the
number of tests (Bonferroni).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import erfc, exp, lgamma, log, sqrt

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
_Codes = npt.NDArray[np.int8]
_Reals = npt.NDArray[np.float64]

LIMIT = 1e-5
"""Something was found if the corrected p is below this: a false alarm in 100,000 runs, or some more
because the chi-square of a finite number is not exactly one."""

_BINS = 8
_LEAST_STRATUM = 50
_LEAST_OF_TRUTH = 20
_LEAST_EXPECTED = 5.0
_SHRINK = 0.001
_ABSENT = -1


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


def truths(card: Numbers, name: str = "") -> dict[str, Numbers]:
    """Return what a thief wants to know of cards 0-51, -1 where there was none."""
    rank = card % 13
    wanted = {
        "rank": rank,
        "suit": card // 13,
        "points": np.where(rank < 9, rank + 1, 0),
        "high": rank // 7,
    }
    return {f"{name}{what}": np.where(card < 0, _ABSENT, each) for what, each in wanted.items()}


def best_guess(
    features: Mapping[str, Numbers],
    truths: Mapping[str, Numbers],
    strata: Numbers,
    *,
    together: bool = False,
) -> Found:
    """Return which feature tells most of any truth, both by name: in each an element for each
    round. A truth of -1 is unknown there. With `together` all features are tested together too."""
    names = list(features)
    seen = np.stack([features[name] for name in names], 1)
    groups = [np.flatnonzero(strata == stratum) for stratum in np.unique(strata)]
    codes = np.zeros(seen.shape, np.int8)
    for group in groups:
        codes[group] = _codes(seen[group])
    found = [_alone(names, codes, truth, name, groups) for name, truth in truths.items()]
    if together:
        found += _together(seen, truths, groups)
    tests = sum(each.tests for each in found)
    least = min(found, key=lambda each: each.p)
    return Found(min(1.0, least.p * max(tests, 1)), least.name, tests)


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


def _alone(
    names: list[str], codes: _Codes, truth: Numbers, truth_name: str, groups: list[Numbers]
) -> Found:
    """Return which column of `codes` tells most of one truth; its p is not corrected."""
    chi_square, freedom = np.zeros(len(names)), np.zeros(len(names), np.int64)
    for group in groups:
        rows = group[_common(truth[group])]
        if len(rows) >= _LEAST_STRATUM:
            answers = np.unique(truth[rows], return_inverse=True)[1]
            if answers.max() > 0:
                more, degrees = _chi_squares(codes[rows], answers)
                chi_square += more
                freedom += degrees
    tested = freedom > 0
    if not tested.any():
        return Found(1.0, "nothing", 0)
    # Wilson and Hilferty: the cube root is nearly normal. It says which are the least.
    ninth = 2 / (9 * np.maximum(freedom, 1))
    normal = (np.cbrt(chi_square / np.maximum(freedom, 1)) - 1 + ninth) / np.sqrt(ninth)
    normal[~tested] = -np.inf
    first = [int(at) for at in np.argsort(-normal)[:10] if tested[at]]
    p, at = min((survival(float(chi_square[at]), int(freedom[at])), at) for at in first)
    return Found(p, f"{names[at]} for {truth_name}", int(tested.sum()))


def _together(
    features: Numbers, truths: Mapping[str, Numbers], groups: list[Numbers]
) -> list[Found]:
    """Learn from the even rounds of each stratum to guess each truth from all features; test the
    guesses of the odd ones."""
    learned = np.concatenate([group[::2] for group in groups])
    tested = [group[1::2] for group in groups]
    width = features[learned].std(0)
    useful = width > 0
    scaled = (features[:, useful] / width[useful]).astype(np.float32)
    for group in groups:
        scaled[group] -= scaled[group[::2]].mean(0)
    known = scaled[learned]
    wanted, columns = [], {}
    for name, truth in truths.items():
        values = np.unique(truth[truth != _ABSENT])
        hits = (truth[:, None] == values).astype(np.float32)
        here = truth != _ABSENT
        hits[here] -= hits[here].mean(0)
        columns[name] = (len(wanted), values)
        wanted += list(hits.T)
    answers = np.stack(wanted, 1)[learned]
    shrink = _SHRINK * len(learned)
    count, across = known.shape
    if across <= count:
        weights = np.linalg.solve(
            known.T @ known + shrink * np.eye(across, dtype=np.float32), known.T @ answers
        )
    else:
        weights = known.T @ np.linalg.solve(
            known @ known.T + shrink * np.eye(count, dtype=np.float32), answers
        )
    guesses = scaled @ weights
    found = []
    for name, (first, values) in columns.items():
        scores = guesses[:, first : first + len(values)]
        seen = {
            "all together": scores.argmax(1).astype(np.int64),
            "all together, by size": (1e6 * (scores @ values)).astype(np.int64),
        }
        made = np.zeros((len(features), 2), np.int8)
        for group in tested:
            made[group] = _codes(np.stack(list(seen.values()), 1)[group])
        found.append(_alone(list(seen), made, truths[name], name, tested))
    return found


def _common(truth: Numbers) -> Numbers:
    """Return the rows whose truth is known and comes often enough to be counted."""
    if not len(truth):
        return np.zeros(0, np.int64)
    values, at, counts = np.unique(truth, return_inverse=True, return_counts=True)
    return np.flatnonzero((counts[at] >= _LEAST_OF_TRUTH) & (values[at] != _ABSENT))


def _codes(seen: Numbers) -> _Codes:
    """Return for each column the number of each value's bin: _BINS with about the same count, and
    one for the least value."""
    made = np.zeros(seen.shape, np.int8)
    if len(seen):
        ordered = np.sort(seen, 0)
        before = ordered[0] - 1
        for part in range(_BINS):
            edge = ordered[part * len(seen) // _BINS]
            made += (seen > edge) & (edge > before)
            before = edge
    return made


def _chi_squares(codes: _Codes, answers: Numbers) -> tuple[_Reals, Numbers]:
    """Return the chi-square of each column with the answers 0 to n, and its degrees of freedom.
    Bins that are too rare are put together."""
    width, kinds = codes.shape[1], int(answers.max()) + 1
    table = np.zeros((width, _BINS + 1, kinds))
    for kind in range(kinds):
        of_kind = codes[answers == kind]
        for code in range(_BINS + 1):
            table[:, code, kind] = np.count_nonzero(of_kind == code, axis=0)
    of_truth = np.bincount(answers) / len(answers)
    least = _LEAST_EXPECTED / of_truth.min()
    of_bin = table.sum(2)
    rare = (of_bin < least) & (of_bin > 0)
    together = (table * rare[:, :, None]).sum(1)
    table[rare] = 0
    # They are a bin, or else are in the largest one.
    place = np.where(together.sum(1) >= least, rare.argmax(1), np.where(rare, 0, of_bin).argmax(1))
    table[np.arange(width), place] += together
    of_bin = table.sum(2)
    expected = of_bin[:, :, None] * of_truth
    parts = np.divide((table - expected) ** 2, expected, where=expected > 0, out=0 * table)
    return parts.sum((1, 2)), ((of_bin > 0).sum(1) - 1) * (kinds - 1)
