"""Stops each part of a house in each way that sabot/silences.py names, and waits for the words.

    python -m sabot_hil.sweeps.silences [--only TEXT] [--patience S] [--control]

The parts run in real processes. For each place that a row names, prints
whether the words were there in time, too late, or never; exit code 1 unless all are in time. What
this machine lacks, such as a browser, is named, and counts as not tried. With --control nothing is
stopped, and no words may come.
"""

import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from sabot.silences import SILENCES
from sabot_hil.kit.private_runtime import private_runtime
from sabot_hil.kit.runner import Checked, check_all, output, plain_table, run
from sabot_hil.sweeps.stopping import all_scenes
from sabot_hil.sweeps.stopping.scenes import NotHere
from sabot_hil.sweeps.stopping.told import Told, Verdict, watch

_AT_ONCE = 2  # for each core: they wait most of the time


@dataclass(frozen=True, slots=True)
class Stop:
    """A part, by the name of its row, and how it is stopped."""

    row: str
    way: str

    def __str__(self) -> str:
        return f"{self.row}: {self.way}"


def all_stops() -> Iterator[Stop]:
    """Yield each way of each row."""
    for name, row in SILENCES.items():
        yield from (Stop(name, way) for way in row.ways)


def try_one(patience_s: float, control: bool, stop: Stop) -> list[Told] | str:
    """Stop one part; return how people were told, or why this machine cannot try it. After the time
    of its row, it waits for `patience_s` more. With `control` nothing is stopped."""
    row = SILENCES[stop.row]
    with tempfile.TemporaryDirectory(prefix="sabot-stop-") as folder, private_runtime():
        try:
            with all_scenes.SCENES[stop.row, stop.way](Path(folder)) as scene:
                if control:
                    scene = replace(scene, stop=_nothing)
                patience_s += max(row.after_s, row.alarm_after_s or 0)
                return watch(
                    row, scene, patience_s=patience_s, now_s=time.monotonic, sleep=time.sleep
                )
        except NotHere as why:
            return str(why)


def _nothing() -> None:
    """What `--control` does to a part."""


def print_table(tried: Sequence[Checked[Stop, list[Told] | str]], right: Verdict) -> bool:
    """Print how people were told of each stop; return whether each place was `right`."""
    console = output()
    table = plain_table(None, ["what stops", "how", "told", "where"], ["after s", "of"])
    verdicts: Counter[str] = Counter()
    for each in tried:
        row = SILENCES[each.case.row]
        if each.failure or isinstance(each.result, str):
            why = each.failure or str(each.result)
            verdict = "FAILED" if each.failure else "not tried"
            verdicts[verdict] += 1
            table.add_row(each.case.row, each.case.way, verdict, why, "", "")
            continue
        for told in each.result or ():
            verdicts[told.verdict.value] += 1
            after = "" if told.after_s is None else f"{told.after_s:.0f}"
            verdict = told.verdict.value
            shown = verdict if told.verdict is right else verdict.upper()
            aim = f"{row.after_s_in(told.where):g}"
            table.add_row(each.case.row, each.case.way, shown, told.where.value, after, aim)
    console.print(table)
    console.print(", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())))
    return set(verdicts) <= {right.value, "not tried"}


def main(
    only: Annotated[str, typer.Option(help='Only those that have this, as in "log: hangs".')] = "",
    control: Annotated[
        bool, typer.Option("--control", help="Stop nothing: no words are right.")
    ] = False,
    patience: Annotated[float, typer.Option(help="Seconds to wait after a row's time.")] = 60.0,
) -> bool:
    """Stop each part of a house in each way, and print whether people were told."""
    chosen = [stop for stop in all_stops() if only in str(stop)]
    tried = list(
        check_all(partial(try_one, patience, control), chosen, "stops", processes_a_core=_AT_ONCE)
    )
    tried.sort(key=lambda each: chosen.index(each.case))
    return print_table(tried, Verdict.NEVER if control else Verdict.IN_TIME)


if __name__ == "__main__":
    run(main)
