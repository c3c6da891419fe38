"""`sabot capture` and `sabot health`: what the sensor head saw, and how well it still sees."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from sabot.cli import options
from sabot.cli.key_files import load_command_keys
from sabot.cli.service.several import Every, Reading, Shoes, shoes_of
from sabot.cli.view import console, print_json, problems, progress
from sabot.errors import CommandRefused
from sabot.link.client import ReadShoe
from sabot.link.command_keys import CommandKeyFile
from sabot.link.messages import HealthCommand, HealthReport, calibrated_means, health_means
from sabot.reports import contact_sheet
from sabot.service import capture as captures
from sabot.service import capture_folder as folders
from sabot.terminal import plain
from sabot.text import counted, local_time
from sabot_firmware.cards.health import LEAST_PERMILLE, MOST_PERMILLE
from sabot_protocol import enums

_DEFAULT_FOLDER = Path("captures")
_CHANNELS = {"e": "E entry", "a": "A track", "b": "B track", "x": "X exit"}


def capture(
    units: Shoes = None,
    every: Every = False,
    out: Annotated[Path, typer.Option("-o", "--out", help="The folder to write to.")] = (
        _DEFAULT_FOLDER
    ),
    last: Annotated[
        int | None,
        typer.Option(metavar="N", help="Only the newest N; with --unread, of those.", min=1),
    ] = None,
    unread: Annotated[
        bool, typer.Option("--unread", help="Only passes of which no card came.")
    ] = False,
    no_pictures: Annotated[
        bool, typer.Option("--no-pictures", help="Only recordings: pictures take longer.")
    ] = False,
    commands: options.CommandKeyFile = None,
    as_json: options.Json = False,
) -> None:
    """Fetch the passes of cards that shoes keep: recordings for `sabot read`, and pictures.

    A running `sabot log` asks the shoes that it has, and goes on logging them. The folder's page
    captures.html shows all its passes. A pass that is in the folder already is not fetched again.
    Ctrl-C keeps what was fetched; the same command then goes on.
    """
    shoes = Reading(shoes_of(units, every), load_command_keys(commands))
    done = 0

    def fetch(shoe: ReadShoe) -> _Fetched:
        nonlocal done
        folders.prepare(out)
        with problems.status(plain(f"{shoe.unit}: listing passes")):
            chosen = captures.chosen(captures.kept_passes(shoe), last=last, unread=unread)
        fetched = _Fetched(shoe.unit, bool(chosen), [])
        for kept, is_new in _fetch(shoe, out, chosen):
            fetched.passes.append((kept, is_new))
            done += 1
        return fetched

    try:
        for fetched in shoes.each(fetch, at_once=1):
            # After the port is free, because drawing takes long.
            for kept, entry in _draw(out, [kept for kept, _ in fetched.passes], no_pictures):
                is_new = (kept, True) in fetched.passes
                _print_pass(out, kept, entry, fetched=is_new, as_json=as_json)
            if not fetched.any_kept:
                why = " of which no card came" if unread else ": no card has passed since its start"
                problems.print(plain(f"{fetched.unit} keeps no pass{why}"))
    except KeyboardInterrupt:
        if done:
            passes = counted(done, "pass", "passes")
            problems.print(plain(f"{passes} so far in {out}; the same command goes on"))
        raise
    finally:
        if done:
            _save_page(out)
    if done and not as_json:
        problems.print(plain(f"all passes in {out}: {out / folders.PAGE}"))
    shoes.raise_failures()


@dataclass(frozen=True, slots=True)
class _Fetched:
    """The passes of a shoe that are in the folder, and whether each was fetched now."""

    unit: str
    any_kept: bool
    passes: list[tuple[captures.SavedPass, bool]]


def _fetch(
    client: ReadShoe, out: Path, chosen: Sequence[captures.SavedPass]
) -> Iterator[tuple[captures.SavedPass, bool]]:
    """Fetch passes, and write each as it comes. Yields those that are in the folder, and whether
    they were fetched now."""
    with _progress("fetching") as bar:
        task = bar.add_task("", total=sum(kept.run_bytes for kept in chosen), what="")
        before = 0

        def show_progress(begin: int, _: captures.SavedPass, size: int) -> None:
            bar.update(task, completed=begin + size)

        for kept in chosen:
            bar.update(task, completed=before, what=f"pass {kept.number}")
            begin, before = before, before + kept.run_bytes
            if folders.entry_of(out, kept) is not None:
                yield kept, False
                continue
            try:
                levels = captures.levels_of(client, kept, partial(show_progress, begin))
            except CommandRefused as refused:
                if refused.refusal != "not_kept":  # newer passes have replaced it
                    raise
                bar.console.print(f"pass {kept.number} left out: {refused}", soft_wrap=True)
                continue
            folders.save(out, kept, levels)
            yield kept, True


def _draw(
    out: Path, shown: Sequence[captures.SavedPass], no_pictures: bool
) -> Iterator[tuple[captures.SavedPass, folders.Entry]]:
    """Draw the pictures that are missing. Yields each pass with its entry in the index."""
    with _progress("drawing") as bar:
        task = bar.add_task("", total=len(shown), what="")
        for kept in shown:
            bar.update(task, what=f"pass {kept.number}")
            entry = folders.entry_of(out, kept)
            if entry is None or not folders.has_picture(out, entry):
                no_picture = kept.as_json() | {"picture": None}
                entry = no_picture if no_pictures else folders.draw(out, kept)
            yield kept, entry
            bar.advance(task)


def _progress(what: str) -> Progress:
    share = TextColumn("{task.percentage:>3.0f} %  {task.fields[what]}")
    return progress(TextColumn(what), BarColumn(), share)


def _print_pass(
    out: Path, kept: captures.SavedPass, entry: folders.Entry, *, fetched: bool, as_json: bool
) -> None:
    if as_json:
        print_json(entry)
        return
    speed = kept.read.speed_mm_s or "-"
    notes = "  (its end was not kept)" if kept.cut else ""
    notes += "" if fetched else "  (fetched before)"
    console.print(
        f"pass {kept.number:>4}  {kept.verdict:<12}  {speed:>5} mm/s  "
        f"{out / (entry['picture'] or entry['recording'])}{notes}",
        soft_wrap=True,
    )


def _save_page(out: Path) -> None:
    shown = [
        entry if folders.has_picture(out, entry) else {**entry, "picture": None}
        for entry in folders.entries(out)
    ]
    folders.save_page(out, contact_sheet.render(shown))


def health(units: Shoes = None, every: Every = False, as_json: options.Json = False) -> None:
    """Show how well each channel of a shoe's sensor head sees, and which sensor to clean.

    A running `sabot log` asks the shoes that it has, and goes on logging them.
    """
    shoes = Reading(shoes_of(units, every), CommandKeyFile())
    for unit, report in shoes.each(lambda shoe: (shoe.unit, shoe.ask(HealthCommand()))):
        _print_health(unit, report, as_json)
    shoes.raise_failures()


def _print_health(unit: str, report: HealthReport, as_json: bool) -> None:
    channels: list[dict[str, Any]] = [
        {
            "channel": channel,
            "mean_permille": mean,
            "calibrated_permille": calibrated,
            "dirty": bool(report.dirty >> bit & 1),
        }
        for bit, (channel, mean, calibrated) in enumerate(
            zip(enums.CHANNELS, health_means(report), calibrated_means(report), strict=True)
        )
    ]
    if as_json:
        whole = {
            "unit": unit,
            "channels": channels,
            "cards": report.cards,
            "overruns": report.overruns,
            "calibrated_unix_ms": report.calibrated_unix_ms,
        }
        print_json(whole)
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("channel", "mean", "bounds", "test card", "drift", "state"):
        numeric = name in ("mean", "test card", "drift")
        table.add_column(name, justify="right" if numeric else "left")
    for each in channels:
        # Before the first card, the shoe's means are only the values that it expects.
        mean = each["mean_permille"] if report.cards else None
        calibrated = each["calibrated_permille"]
        drift = "-" if None in (mean, calibrated) else f"{(mean - calibrated) / 10:+.1f} %"
        table.add_row(
            _CHANNELS[each["channel"]],
            _percent(mean),
            f"{LEAST_PERMILLE / 10:.0f} to {MOST_PERMILLE / 10:.0f} %",
            _percent(calibrated),
            drift,
            "clean the sensor" if each["dirty"] else "ok",
        )
    console.print(table)
    calibrated = any(each["calibrated_permille"] is not None for each in channels)
    when = local_time(report.calibrated_unix_ms) if calibrated else "never; pull it to calibrate"
    console.print(
        plain(
            f"{unit}: means over {counted(report.cards, 'card')} since its start, "
            f"samples lost {counted(report.overruns, 'time')}, test card: {when}"
        ),
        soft_wrap=True,
    )


def _percent(permille: int | None) -> str:
    return "-" if permille is None else f"{permille / 10:.1f} %"
