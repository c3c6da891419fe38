"""The picture of what is left: when a next card, brought as soon as a hand can, finds the lock shut
because the card before it is not judged yet."""

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING

from sabot_hil.sweeps.locking.scenes import Pulled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

REST_MS = 30.0
"""The least time between two cards (card code specification, "What real passes look like")."""
_MM_TO_OUT = 75.0 - 60.5  # from a card's last mark until it has left the head

_GRADES = (
    ("#b7d9ef", "the lock stays open"),
    ("#f6e08c", "shut after the last mark, open before a next card can come"),
    ("#e08e5e", "a next card 30 ms later finds it shut, for the time given"),
)
"""Light blue, yellow, vermilion: colour-blind people see them apart, also by their lightness."""


def left_ms(card: Pulled) -> float:
    """Return for how long a next card finds the lock shut if it comes as soon as it can; below 0:
    the lock was open that long before."""
    to_next_ms = _MM_TO_OUT / card.scene.speed_mm_s * 1000 + REST_MS
    return (card.outcome.settled_ms or 0.0) - to_next_ms


def png(pulled: Sequence[Pulled]) -> bytes:
    """Return the picture as a PNG: gap and speed of the cards that are due after a card."""
    from matplotlib.figure import Figure  # half a second that the sweep does not need

    figure = Figure(figsize=(10, 7), layout="constrained")
    axes = figure.subplots(2, 1, sharex=True, sharey=True)
    due = [card for card in pulled if card.scene.gap and not card.scene.last]
    speeds = sorted({card.scene.speed_mm_s for card in due})
    for axis, flooded, title in (
        (axes[0], False, "No host asks"),
        (axes[1], True, "A host asks without a pause"),
    ):
        _draw(axis, [card for card in due if card.scene.flooded == flooded], speeds)
        axis.set_title(title, loc="left", fontsize=12)
        axis.set_yticks(range(len(speeds)), [f"{speed / 1000:g}" for speed in speeds])
        axis.set_ylim(-0.5, max(len(speeds), 1) - 0.2)
        axis.set_ylabel("speed, m/s")
    axes[1].set_xlabel("gap to the card before, ms")
    title = "A card that is due: when is the lock open for the next one?"
    figure.suptitle(title, x=0.01, ha="left", fontsize=13, fontweight="bold")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower left", frameon=False, ncols=1, fontsize=10)
    out = BytesIO()
    figure.savefig(out, format="png", dpi=100)
    return out.getvalue()


def _draw(axis: "Axes", cards: Sequence[Pulled], speeds: Sequence[float]) -> None:
    worst: dict[tuple[float, float], tuple[float, float]] = {}
    for card in cards:
        place = card.step_ms, card.scene.speed_mm_s
        found = left_ms(card), card.outcome.settled_ms or 0.0
        worst[place] = max(worst.get(place, found), found)
    for at, (colour, label) in enumerate(_GRADES):
        places = [place for place, found in worst.items() if _grade(*found) == at]
        axis.scatter(
            [gap_ms for gap_ms, _ in places],
            [speeds.index(speed) for _, speed in places],
            marker="s",
            s=42,
            color=colour,
            edgecolors="0.3",
            linewidths=0.4,
            label=label,
        )
    for (gap_ms, speed), (shut_ms, _) in worst.items():
        if shut_ms > 0:
            at_y = speeds.index(speed) + 0.3
            axis.text(gap_ms, at_y, f"{shut_ms:.0f}", ha="center", fontsize=8)


def _grade(shut_ms: float, settled_ms: float) -> int:
    if shut_ms > 0:
        return 2
    return 1 if settled_ms > 0 else 0
