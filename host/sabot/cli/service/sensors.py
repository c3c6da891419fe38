"""`sabot capture` and `sabot health`: what the sensor head saw, and how well it still sees."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from sabot.cli import options
from sabot.cli.key_files import load_command_keys
from sabot.cli.view import console, plain, problems
from sabot.errors import CommandRefused
from sabot.link.client import Client
from sabot.link.messages import HealthCommand
from sabot.link.ports import Port
from sabot.service import capture as captures
from sabot.text import local_time
from sabot_firmware.cards.health import LEAST_PERMILLE, MOST_PERMILLE
from sabot_protocol import enums

_DEFAULT_FOLDER = Path("captures")
_CHANNELS = {"e": "E entry", "a": "A track", "b": "B track", "x": "X exit"}


def capture(
    port: options.Port,
    out: Annotated[Path, typer.Option("-o", "--out", help="The folder to write to.")] = (
        _DEFAULT_FOLDER
    ),
    commands: options.CommandKeyFile = None,
    as_json: options.Json = False,
) -> None:
    """Fetch the passes of cards that a shoe keeps: recordings for `sabot read`, and pictures."""
    with Port(port) as opened:
        client = Client(opened, keys=load_command_keys(commands))
        captures.prepare(out)
        fetched = []
        with problems.status(plain(f"{client.unit}: fetching passes")) as status:

            def show_progress(kept: captures.SavedPass, size: int) -> None:
                progress = f"pass {kept.number}, {size:,} of {kept.run_bytes:,} bytes"
                status.update(plain(f"{kept.unit}: {progress}"))

            for kept in captures.kept_passes(client):
                try:
                    fetched.append((kept, captures.levels_of(client, kept, show_progress)))
                except CommandRefused as refused:
                    if refused.refusal != "not_kept":  # newer passes have replaced it
                        raise
                    problems.print(plain(f"pass {kept.number} left out: {refused}"))
    for kept, levels in fetched:  # after the port is free, because drawing takes long
        captures.save(out, kept, levels)
        if as_json:
            print(json.dumps(kept.as_json()), flush=True)
        else:
            speed = kept.read.speed_mm_s or "-"
            console.print(
                f"pass {kept.number:>4}  {kept.verdict:<12}  {speed:>5} mm/s  "
                f"{out / kept.stem}.png{'  (its end was not kept)' if kept.cut else ''}",
                markup=False,
                soft_wrap=True,
            )
    if not fetched:
        problems.print(plain(f"{client.unit} keeps no pass: no card has passed since its start"))


def health(port: options.Port, as_json: options.Json = False) -> None:
    """Show how well each channel of a shoe's sensor head sees, and which sensor to clean."""
    with Port(port) as opened:
        client = Client(opened)
        report = client.ask(HealthCommand())
    channels: list[dict[str, Any]] = [
        {
            "channel": channel,
            "mean_permille": report.means[bit],
            "calibrated_permille": report.calibrated[bit],
            "dirty": bool(report.dirty >> bit & 1),
        }
        for bit, channel in enumerate(enums.CHANNELS)
    ]
    if as_json:
        whole = {
            "unit": client.unit,
            "channels": channels,
            "cards": report.cards,
            "overruns": report.overruns,
            "calibrated_unix_ms": report.calibrated_unix_ms,
        }
        print(json.dumps(whole))
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
            f"{client.unit}: means over {report.cards} cards since its start, samples lost "
            f"{report.overruns} times, test card: {when}"
        ),
        soft_wrap=True,
    )


def _percent(permille: int | None) -> str:
    return "-" if permille is None else f"{permille / 10:.1f} %"
