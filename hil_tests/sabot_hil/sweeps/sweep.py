"""Checks many power cuts in parallel processes and prints the results."""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import TypeVar

from rich.console import Console
from rich.progress import track

C = TypeVar("C")


def sweep(check: Callable[[C], str], cuts: Sequence[C], console: Console) -> int:
    """Check all cuts and return how many failed. `check` returns how a shoe starts after a cut, or
    raises."""
    starts: Counter[str] = Counter()
    failed = 0
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        checks = pool.map(partial(_checked_cut, check), cuts, chunksize=4)
        for cut, what, good in track(checks, "cutting", len(cuts), console=console):
            starts[what if good else "failed"] += 1
            if not good:
                failed += 1
                console.print(f"{cut}: {what}", markup=False)
    console.print("\n".join(f"{what}: {count}" for what, count in sorted(starts.items())))
    return failed


def _checked_cut(check: Callable[[C], str], cut: C) -> tuple[C, str, bool]:
    try:
        return cut, check(cut), True
    except Exception as error:  # any failure is shown with its cut; the others are still checked
        return cut, f"{type(error).__name__}: {error}", False
