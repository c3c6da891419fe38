"""How the cost of a centre grows with its shoes and with the records that it has, as a picture.

    python -m sabot_hil.benchmarks.centre.cost [--out FILE.png] [--most N]

Records are forwarded to centres of 10, 100 and 1,000 shoes, and to one that has a million records
and more, up to `--most`. To have so many quickly, the records that it has are copied by SQL under
other units' names. What is beyond that is computed: bytes for each record, and a time for each that
does not depend on how many there are.
"""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from sabot_hil.benchmarks.centre.chained_floor import Floor
from sabot_hil.benchmarks.centre.load import Sustained, rate, sustained
from sabot_hil.benchmarks.centre.running import Centre
from sabot_hil.kit.centre.postgres import server_folder
from sabot_hil.kit.runner import print_figures, run

_OUT = Path(__file__).resolve().parents[4] / "docs" / "centre-cost.png"
_SHOES = (10, 100, 1000)
_RECORDS = 200_000  # that are forwarded at each number of shoes
_SITES = 20
_FEW_SITES = 10  # the same for each number of shoes: a site costs something too
_SIZES = (1_000_000, 3_000_000, 10_000_000)
_ADDED = 100  # events of each shoe that are forwarded at each size
_ON_PAPER = 100_000_000
_WIDTH, _HEIGHT, _DPI = 12.0, 4.2, 110
_PARTS = (
    ("forwarders_us", "the sites' forwarders", "#4878a8"),
    ("server_us", "the server", "#d8854a"),
    ("notary_us", "the notary", "#7aa860"),
)


@dataclass(frozen=True, slots=True)
class Full:
    """What one more record takes at a centre that has many."""

    records: int
    per_s: float
    server_us: float
    disk_bytes: int


def by_shoes() -> Iterator[Sustained]:
    """The same number of records from ever more shoes."""
    for shoes in _SHOES:
        with tempfile.TemporaryDirectory() as own, server_folder() as folder:
            floor = Floor(Path(own), sites=_FEW_SITES, shoes=shoes)
            records = floor.log_more(_RECORDS // shoes)
            with Centre(folder, floor) as centre:
                yield sustained(centre, records, shoes)


def by_records(most: int) -> Iterator[Full]:
    """Records that are added to ever fuller centres."""
    with tempfile.TemporaryDirectory() as own, server_folder() as folder:
        floor = Floor(Path(own), sites=_SITES, shoes=_SHOES[-1])
        sent = floor.log_more(_ADDED)
        with Centre(folder, floor) as centre:
            centre.start_forwarders()
            centre.wait_for(sent)
            for size in (size for size in _SIZES if size <= most):
                here = _fill(centre, size)
                with centre.paused():
                    added = floor.log_more(_ADDED)
                before = centre.processor_s()["server"]
                seen = centre.wait_for(here + added)
                server_us = 1e6 * (centre.processor_s()["server"] - before) / added
                yield Full(here, rate(seen), server_us, centre.size_bytes())


def _fill(centre: Centre, size: int) -> int:
    """Copy records under other names until there are about `size`; return how many there are."""
    server = centre.server
    columns = [
        name
        for (name,) in server.sql(
            "SELECT column_name FROM information_schema.columns WHERE table_schema = 'sabot'"
            " AND table_name = 'records' AND column_name <> 'unit' ORDER BY ordinal_position"
        )
    ]
    listed = ", ".join(f"r.{name}" for name in columns)
    copy = 0
    while (here := centre.taken()) < size:
        copy += 1
        most = min(here, size - here)
        server.sql(
            "WITH wanted AS (SELECT id, unit, newest, mac, records,"
            " sum(records) OVER (ORDER BY id) AS so_far FROM sabot.units),"
            " made AS (INSERT INTO sabot.units (unit, site, newest, mac, records)"
            f" SELECT unit || ' copy {here}', 'copied', newest, mac, records FROM wanted"
            f" WHERE so_far <= {most} RETURNING id, unit)"
            f" INSERT INTO sabot.records (unit, {', '.join(columns)})"
            f" SELECT made.id, {listed} FROM sabot.records r JOIN sabot.units u ON u.id = r.unit"
            f" JOIN made ON made.unit = u.unit || ' copy {here}'"
        )
        if centre.taken() == here:
            break  # no unit is small enough for the rest
    server.sql("VACUUM (ANALYZE) sabot.records")
    server.sql("CHECKPOINT")
    return centre.taken()


def draw(shoes: Sequence[Sustained], full: Sequence[Full], out: Path) -> None:
    """The picture of both."""
    figure = Figure(figsize=(_WIDTH, _HEIGHT), dpi=_DPI, layout="constrained")
    by_parts, speed, disk = figure.subplots(1, 3)
    _draw_parts(by_parts, shoes)
    names = [f"{each.records / 1e6:.0f} million" for each in full]
    speed.bar(names, [each.per_s for each in full], color="#888888", width=0.6)
    speed.set_title("forwarded to a centre that has so many records")
    speed.set_ylabel("events a second, two cores for all")
    speed.set_ylim(bottom=0)
    _draw_disk(disk, full)
    figure.savefig(out)


def _draw_parts(axes: Axes, shoes: Sequence[Sustained]) -> None:
    names = [f"{each.shoes:,} shoes\n{each.per_s:,.0f}/s" for each in shoes]
    bottom = [0.0] * len(shoes)
    for field, label, colour in _PARTS:
        heights = [float(getattr(each, field)) for each in shoes]
        axes.bar(names, heights, bottom=bottom, label=label, color=colour, width=0.6)
        bottom = [low + height for low, height in zip(bottom, heights, strict=True)]
    axes.set_title("processor time for an event")
    axes.set_ylabel("microseconds of one core")
    axes.set_ylim(0, 1.35 * max(bottom))
    axes.legend(frameon=False)


def _draw_disk(axes: Axes, full: Sequence[Full]) -> None:
    records = [each.records for each in full]
    axes.plot(records, [each.disk_bytes / 1e9 for each in full], "o", label="measured")
    each_bytes = bytes_per_record(full)
    line = [records[0], _ON_PAPER]
    label = f"{each_bytes:.0f} bytes a record"
    axes.plot(line, [count * each_bytes / 1e9 for count in line], "--", label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / 1e6:g} million"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_title("on the centre's disk, with indexes")
    axes.set_ylabel("GB")
    axes.legend(frameon=False)


def bytes_per_record(full: Sequence[Full]) -> float:
    """Bytes on disk that one more record takes, from the fullest centre."""
    return full[-1].disk_bytes / full[-1].records


def main(
    out: Path = _OUT,
    most: Annotated[int, typer.Option(help="Records in the centre.")] = _SIZES[-1],
) -> None:
    """Measure how cost grows with shoes and records, print the figures, and draw them."""
    shoes, full = [], []
    for each in by_shoes():
        shoes.append(each)
        print_figures(each)
    for many in by_records(most):
        full.append(many)
        print_figures(many)
    draw(shoes, full, out)
    a_year = 444 * 86_400 * 365.25
    print(
        f"{_ON_PAPER:,} records: {_ON_PAPER * bytes_per_record(full) / 1e9:.0f} GB; a year of a "
        f"thousand tables, {a_year / 1e9:.0f} thousand million: "
        f"{a_year * bytes_per_record(full) / 1e12:.1f} TB. Drawn to {out}."
    )


if __name__ == "__main__":
    run(main)
