"""Many cuts of the power, each checked in a process of its own, and what came of them told."""

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
    """How many of `cuts` failed. `check` says how a shoe came up behind one, or raises."""
    comes_up: Counter[str] = Counter()
    failed = 0
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        checks = pool.map(partial(_checked_cut, check), cuts, chunksize=4)
        for cut, what, good in track(checks, "cutting", len(cuts), console=console):
            comes_up[what if good else "failed"] += 1
            if not good:
                failed += 1
                console.print(f"{cut}: {what}", markup=False)
    console.print("\n".join(f"{what}: {count}" for what, count in sorted(comes_up.items())))
    return failed


def _checked_cut(check: Callable[[C], str], cut: C) -> tuple[C, str, bool]:
    try:
        return cut, check(cut), True
    except Exception as error:  # whatever it is, it is told with the cut, and the others go on
        return cut, f"{type(error).__name__}: {error}", False
