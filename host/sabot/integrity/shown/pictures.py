"""Pictures of what was measured, for the report and the pages."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np

from sabot.integrity.composition import Composition, CompositionFigures
from sabot.integrity.favourable import Favourable, FavourableFigures
from sabot.integrity.groups import ALL
from sabot.integrity.neighbours import expected_after
from sabot.integrity.order import OrderFigures, OrderOfCards
from sabot.integrity.over_log import Outcome
from sabot.integrity.shuffle import Shuffle, ShuffleFigures
from sabot.text import printable
from sabot_protocol import cards

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DPI = 144
_MOST_GROUPS = 30
_RIFFLES = (1, 2, 3, 4, 5)
_SUIT_WORDS = ("clubs", "diamonds", "hearts", "spades")


def pictures_of(outcome: Outcome) -> Mapping[str, tuple[str, bytes]]:
    """Return the pictures that the figures allow, by name: what each shows in words, and a PNG."""
    found = {}
    for name, analysis in outcome.analyses.items():
        picture = None
        if isinstance(analysis, Shuffle):
            picture = _of_shuffle(list(analysis.figures()))
        elif isinstance(analysis, Composition):
            picture = _of_composition(list(analysis.figures()))
        elif isinstance(analysis, OrderOfCards):
            picture = _of_order(analysis.figures())
        elif isinstance(analysis, Favourable):
            picture = _of_favourable(list(analysis.figures()))
        if picture is not None:
            words, figure = picture
            found[name] = words, _png(figure)
    return found


def _png(figure: "Figure") -> bytes:
    out = BytesIO()
    figure.savefig(out, format="png", dpi=_DPI, metadata={"Software": None})
    return out.getvalue()


def _new(width: float, height: float) -> "Figure":
    from matplotlib.figure import Figure  # half a second that other commands do not need

    return Figure(figsize=(width, height), layout="constrained")


def _of_shuffle(figures: Sequence[ShuffleFigures]) -> "tuple[str, Figure] | None":
    shown = sorted(
        (each for each in figures if each.lag == 1), key=lambda each: each.expected - each.shared
    )[:_MOST_GROUPS]
    if not shown:
        return None
    figure = _new(8, 1.3 + 0.22 * len(shown))
    axis = figure.subplots()
    rows = np.arange(len(shown))[::-1]
    axis.plot([each.expected for each in shown], rows, "|", color="0.4", label="by chance")
    axis.plot([each.shared for each in shown], rows, "o", color="#a01010", label="found")
    whole = max(each.expected for each in shown)
    for riffles in _RIFFLES:
        at = expected_after(riffles, 415, whole)
        axis.axvline(at, color="0.8", zorder=0)
        axis.annotate(
            str(riffles), (at, 1), xycoords=("data", "axes fraction"), ha="center", va="bottom",
            color="0.4",
        )  # fmt: skip
    names = [printable(each.about) for each in shown]
    axis.set_yticks(rows, names, parse_math=False)
    axis.set_xlabel("neighbours shared with the shoe before; above: what so many riffles leave")
    axis.set_xlim(0, max(240, *(each.shared * 1.05 for each in shown)))
    axis.legend(loc="lower right")
    return "Neighbouring cards that shoes share with the one before, by group", figure


def _of_composition(figures: Sequence[CompositionFigures]) -> "tuple[str, Figure] | None":
    if not figures:
        return None
    everyone = next((each for each in figures if each.about == ALL), figures[0])
    figure = _new(8, 2.6)
    axis = figure.subplots()
    away = np.array(everyone.left).reshape(len(cards.SUITS), -1)
    most = max(0.5, float(np.abs(away).max()))
    drawn = axis.imshow(away, cmap="RdBu_r", vmin=-most, vmax=most, aspect="auto")
    ranks = ["10" if rank == "T" else rank for rank in cards.RANKS]
    axis.set_xticks(range(len(ranks)), ranks)
    axis.set_yticks(range(len(cards.SUITS)), _SUIT_WORDS)
    figure.colorbar(drawn, label="copies missing in a shoe")
    return "Copies of each card that stayed away in a shoe, more than by chance; all units", figure


def _of_order(figures: OrderFigures) -> "tuple[str, Figure] | None":
    if not figures.shoes:
        return None
    figure = _new(8, 2.8)
    axis = figure.subplots()
    bounds = [10.0 ** (power + 1) for power in range(len(figures.reached))]
    axis.plot(bounds, [figures.shoes / bound for bound in bounds], "--", color="0.4",
              label="honest cards: at most, on average")  # fmt: skip
    axis.plot(bounds, figures.reached, "o-", color="#a01010", label="found")
    axis.set_xscale("log")
    axis.set_yscale("symlog", linthresh=1)
    axis.set_ylim(bottom=0)
    axis.set_xlabel("bound M that the order of a shoe reached")
    axis.set_ylabel("shoes of cards")
    axis.legend(loc="upper right")
    return "How many shoes of cards came in an order that honest cards hardly have", figure


def _of_favourable(figures: Sequence[FavourableFigures]) -> "tuple[str, Figure] | None":
    shown = sorted(figures, key=lambda each: each.per_shoe)
    if not shown:
        return None
    figure = _new(8, 1.0 + 0.25 * len(shown))
    axis = figure.subplots()
    names = [each.wager.replace("_", " ") for each in shown]
    axis.barh(names, [each.per_shoe for each in shown], color="#1d4ed8")
    axis.set_xlabel("units that a perfect counter wins in a shoe, one unit wagered a round")
    return "What each wager gives to a person who counts the cards", figure
