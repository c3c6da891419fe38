"""Waveforms as a picture: four channels over time, one recording below the other."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib
import numpy as np

from sabot.sim.waveform import SAMPLE_RATE_HZ

matplotlib.use("Agg")  # a file, no screen

from matplotlib import pyplot

_CHANNELS = ("E", "A", "B", "X")
_COLORS = ("tab:gray", "tab:blue", "tab:red", "tab:gray")


def draw(path: Path, recordings: Sequence[tuple[str, bytes]]) -> None:
    """Draw recordings, each with its title, to a PNG at `path`."""
    figure, axes = pyplot.subplots(
        len(recordings), 1, figsize=(14, 2.2 * len(recordings)), squeeze=False
    )
    for axis, (title, samples) in zip(axes[:, 0], recordings, strict=True):
        octets = np.frombuffer(samples, np.uint8)
        levels = np.stack([octets & 15, octets >> 4], 1).ravel()
        time_ms = np.arange(len(levels)) * 1000 / SAMPLE_RATE_HZ
        for n, (name, color) in enumerate(zip(_CHANNELS, _COLORS, strict=True)):
            height = len(_CHANNELS) - 1 - n
            channel = (levels >> n & 1) * 0.7 + height
            axis.step(time_ms, channel, where="post", color=color, linewidth=0.7)
            axis.text(0, height + 0.2, name + " ", ha="right")
        axis.set_yticks([])
        axis.set_title(title, fontsize=9, loc="left")
        axis.margins(x=0.02)
    axes[-1, 0].set_xlabel("ms")
    figure.tight_layout()
    figure.savefig(path, dpi=90)
    pyplot.close(figure)
