"""Figures of real passes: cards pulled by hand, with disturbances, through the card reader."""

import numpy as np

import sabot_firmware.buffers  # noqa: F401 - first, as main.py does
from host.tests.adversary.thief.guessing import Numbers, truths
from sabot.sim import disturbed, pulls, waveform
from sabot_firmware.cards.reader import Reader
from sabot_protocol import cards

FIGURES = ("speed_mm_s", "margin_permille", "skew_um", "samples")
_KINDS = [kind for kind in pulls.KINDS if kind != "halting"]


def figures(seed: int, noise: str, passes: int) -> tuple[dict[str, Numbers], dict[str, Numbers]]:
    """Pull random cards; return the figures of those that were read, and what a thief wants."""
    random, reader = np.random.default_rng(seed), Reader(0)
    rows = []
    for _ in range(passes):
        card = int(random.integers(52))
        kind = _KINDS[int(random.integers(len(_KINDS)))]
        levels = disturbed.noisy_pass(random, disturbed.NOISE[noise], card, 0, kind)
        data = waveform.pack(levels)
        at = 0
        while at < len(data):
            at = reader.read(data, at, len(data))
            passed = reader.passed
            if reader.ended and passed.card == card:
                named = [getattr(passed, name) for name in FIGURES]
                rows.append([card, *named, passed.longer_um, *passed.permille])
    table = np.array(rows, np.int64)
    names = (*FIGURES, "longer_um", "e_permille", "a_permille", "b_permille", "x_permille")
    seen = {name: table[:, 1 + i] for i, name in enumerate(names)}
    # For a weak dependence on the print: how often the code has a mark on both tracks.
    both = np.array([cards.marks_of(card, 0).count(2) for card in range(52)])
    return seen, truths(table[:, 0]) | {"marks": both[table[:, 0]]}
