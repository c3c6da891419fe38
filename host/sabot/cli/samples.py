"""`sabot read` and `sabot waveform`: read and make recordings of the sensor head."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from sabot.cli import options
from sabot.cli.view import console, print_json, problems
from sabot.errors import BadRecording
from sabot.sim import waveform as waveforms
from sabot.sim.disturbed import NOISE, noisy_pass
from sabot.sim.pulls import KINDS
from sabot.sim.replay import replay
from sabot.text import card_names, counted
from sabot_protocol import cards

Set = Annotated[int, typer.Option("--set", help="Card set, 0 to 12.", min=0, max=12)]


def read(
    recording: Annotated[Path, typer.Argument(help="A recording: FILE.samples.")],
    card_set: Set = 0,
    as_json: options.Json = False,
) -> None:
    """Read a recording with the firmware's reader under MicroPython; print a line for each pass."""
    for passed in replay(recording, card_set):
        if as_json:
            print_json(passed.as_json())
        else:
            console.print(
                f"{passed.card or passed.fault:<12}  {passed.speed_mm_s:>5} mm/s  "
                f"margin {passed.margin_permille / 10:5.1f} %  skew {passed.skew_um:>4} um  "
                f"{passed.samples:>7} samples"
            )


def waveform(
    names: Annotated[
        list[str], typer.Argument(metavar="CARDS...", help="Cards in order, for example 7H 10C.")
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="The recording to write.")],
    noise: Annotated[
        str, typer.Option(help=f"How much disturbance: {', '.join(NOISE)}.")
    ] = "clean",
    pull: Annotated[
        str, typer.Option(help=f"How the cards are pulled: {', '.join(KINDS)}.")
    ] = "steady",
    card_set: Set = 0,
    seed: Annotated[
        int | None, typer.Option(help="The same seed gives the same samples.", min=0)
    ] = None,
) -> None:
    """Write a recording of cards as they pass the sensor head."""
    if noise not in NOISE:
        raise typer.BadParameter(f"unknown noise {noise!r}; there are: {', '.join(NOISE)}")
    if pull not in KINDS:
        raise typer.BadParameter(f"unknown pull {pull!r}; there are: {', '.join(KINDS)}")
    try:
        numbers = [cards.number_of(name) for name in card_names(" ".join(names))]
    except ValueError as error:
        raise typer.BadParameter(f"{error}; there are also CUT and TEST") from None
    random = np.random.default_rng(seed)
    passes = [waveforms.pack(noisy_pass(random, NOISE[noise], n, card_set, pull)) for n in numbers]
    try:
        with out.open("xb") as file:
            file.write(b"".join(passes))
    except FileExistsError:
        raise BadRecording(f"{out}: exists already; name another file with -o") from None
    except OSError as error:
        raise BadRecording(
            f"{out}: cannot be written ({error.strerror}); name another file with -o"
        ) from None
    problems.print(f"{counted(len(numbers), 'pass', 'passes')} written to {out}")
