"""The curves as a picture: what is found, and how often honest cards are."""

from io import BytesIO
from typing import TYPE_CHECKING

from sabot_hil.sweeps.integrity.curves import GROUPS, RIFFLES, Curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = ("#0072b2", "#009e73", "#e69f00", "#d55e00")
"""Which colour-blind people see apart; the lines differ in their marks too."""
_MARKS = ("o", "s", "^", "D")


def png(found: Curves) -> bytes:
    """Return the picture as a PNG."""
    from matplotlib.figure import Figure  # half a second that the sweep does not need

    figure = Figure(figsize=(11, 8), layout="constrained")
    (shuffles, missing), (people, honest) = figure.subplots(2, 2)
    _draw_shuffles(shuffles, found)
    lines = [("a missing ace", found.missing_ace)]
    _draw_shares(missing, lines, "shoes of cards dealt without it", "A card is missing")
    lines = [("counts the Dragon 7", found.counters), ("wagers always, late", found.always)]
    _draw_shares(people, lines, "shoes of cards played", "Who wagered when it was favourable")
    _draw_honest(honest, found)
    out = BytesIO()
    figure.savefig(out, format="png", dpi=100, metadata={"Software": None})
    return out.getvalue()


def _draw_shuffles(axis: "Axes", found: Curves) -> None:
    lines = [("one shoe", found.one_shoe)]
    lines += [(f"{number} shoes of a machine", found.machine[number]) for number in GROUPS]
    _draw_shares(axis, lines, "riffles between two shoes", "Cards were shuffled badly")
    axis.set_xticks(RIFFLES)


def _draw_shares(
    axis: "Axes", lines: list[tuple[str, dict[int, float]]], across: str, title: str
) -> None:
    for (name, shares), colour, mark in zip(lines, _COLOURS, _MARKS, strict=False):
        axis.plot(list(shares), list(shares.values()), mark + "-", color=colour, label=name)
    axis.set_ylim(-0.04, 1.04)
    axis.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    axis.set_ylabel("found")
    axis.set_xlabel(across)
    axis.set_title(title, loc="left", fontweight="bold")
    axis.grid(color="0.9")
    axis.legend(frameon=False)


def _draw_honest(axis: "Axes", found: Curves) -> None:
    limits = list(found.false_alarms)
    axis.plot(limits, limits, "--", color="0.5", label="the limit that was set")
    shares = [max(share, 1e-4) for share in found.false_alarms.values()]
    axis.plot(limits, shares, "o-", color=_COLOURS[0], label="found (none: at the bottom)")
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("limit of the corrected chance")
    axis.set_ylabel("reports about honest cards with a finding")
    title = f"False alarms, {found.honest_shoes:,} honest shoes of cards"
    axis.set_title(title, loc="left", fontweight="bold")
    axis.grid(color="0.9")
    axis.legend(frameon=False)
