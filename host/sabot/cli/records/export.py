"""`sabot export`: a shoe of cards as a signed bundle."""

import os
import time
from pathlib import Path
from typing import Annotated

import typer

from sabot.audit import bundle_file
from sabot.audit.excerpt import collect
from sabot.cli import options
from sabot.cli.key_files import default_keys, for_unit, load_private_key
from sabot.cli.settle import write_phh
from sabot.cli.view import console, print_json, problems
from sabot.errors import BundleUnusable
from sabot.games.family import ToSettle
from sabot.games.holdem import family as holdem
from sabot.keys import signing
from sabot.log import boards
from sabot.log.reveal import ShownGames
from sabot.log.store import Filter, Store, open_store
from sabot.reports.report import ReportInput, is_report, render
from sabot.reports.selected.one_round import Chosen, round_chosen
from sabot.reports.selected.selection import units_of
from sabot.terminal import plain
from sabot.text import counted

OperatorKey = Annotated[
    Path, typer.Option("--key", metavar="NAME.pem", help="The operator's private key.")
]


def _board_of(store: Store, unit: str, shoe: int) -> str:
    """The board of a unit that has this shoe of cards; its newest one if none has."""
    names = units_of(store, unit)
    having = [name for name in names if any(store.rows(Filter(unit=name, shoe=shoe)))]
    if len(having) > 1:
        listed = ", ".join(f"{unit}~{boards.board_of(name)}" for name in having)
        raise typer.BadParameter(
            f"several boards of {unit} have a shoe of cards {shoe}; name one with --unit: {listed}"
        )
    return having[0] if having else names[-1]


def _phh_of(path: Path, chosen: Chosen) -> str:
    """Return the hand of a HAND.json, with the cards of a log, in the open hand history format."""
    family = holdem.FAMILY
    asked = ToSettle(
        path=path,
        lines=(),
        game=None,
        find=lambda: round_chosen(chosen, family),
        from_log=True,
        picks_round=True,
        round_named=False,
    )
    settled = family.settle(asked)
    assert settled.phh is not None
    return settled.phh()


def export(
    unit: Annotated[str, typer.Option(help="The unit.")],
    shoe: Annotated[int, typer.Option(help="The shoe of cards.", min=1)],
    out: Annotated[Path, typer.Option("-o", "--out", help="The bundle to write.")],
    key: OperatorKey,
    db: options.Db = options.DEFAULT_DB,
    keys: options.KeyFile = None,
    html: Annotated[
        Path | None, typer.Option("--html", help="Also write a report to read and print.")
    ] = None,
    phh: Annotated[
        Path | None,
        typer.Option(
            "--phh",
            metavar="FILE",
            help="Also write the hand of hold'em as PHH, the open hand history format; with "
            "--hand.",
        ),
    ] = None,
    hand: Annotated[
        Path | None,
        typer.Option(
            "--hand",
            metavar="HAND.json",
            help="The betting of that hand, without its cards; format: "
            "host/sabot/games/holdem/README.",
        ),
    ] = None,
    still_open: Annotated[
        bool, typer.Option("--open", help="Allow a shoe of cards that has not ended.")
    ] = False,
    zone: options.Zone = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Export a shoe of cards as a signed bundle, for a regulator or a dispute.

    With the unit's key the bundle contains the MAC keys of its own records and no others, so that
    anyone can check the audit chain in it. Findings of `sabot verify` go into the bundle.

    A hand of hold'em can be written as PHH too: the shoe knows its cards, the file its betting.
    """
    if (phh is None) != (hand is None):
        raise typer.BadParameter("--phh needs the betting: --phh FILE --hand HAND.json")
    _check_different(out, html, phh)
    time_zone = options.zone_of(zone)
    with open_store(db) as store:
        unit = _board_of(store, unit, shoe)
    private = load_private_key(key)
    known = for_unit(default_keys(keys), unit, keys)
    now_unix_ms = time.time_ns() // 1_000_000
    bundle_file.check_replaceable(out, unit, shoe)
    if html is not None and html.exists() and not is_report(html, unit, shoe):
        raise BundleUnusable(
            f"{html}: exists, and is not the report of {unit} shoe {shoe}; name another file with "
            "--html"
        )
    with open_store(db) as store, problems.status(plain(f"exporting {unit} shoe {shoe}")):
        excerpt = collect(
            store, unit, shoe, keys=known, still_open=still_open, exported_unix_ms=now_unix_ms
        )
    if phh is not None and hand is not None:
        write_phh(phh, _phh_of(hand, Chosen(db, unit, shoe=shoe)))
    signer = signing.fingerprint(signing.public_of(private))
    report = None
    if html is not None:
        facts = excerpt.facts
        report = render(
            ReportInput(
                unit=unit,
                shoe=shoe,
                events=excerpt.events(),
                findings=excerpt.findings,
                zone=time_zone,
                firmware=facts.firmware,
                build_hex=None if facts.build is None else facts.build.hex(),
                game=facts.game,
                game_sha256_hex=None if facts.game_sha256 is None else facts.game_sha256.hex(),
                checkpoint=None
                if facts.checkpoint is None
                else (facts.checkpoint[1], facts.checkpoint[2].hex()),
                signer_fingerprint=signer,
                games=ShownGames({facts.game_sha256: excerpt.game_document or None}.get),
                chain_checked=bool(excerpt.keys),
            )
        ).encode()
    size = bundle_file.save(out, excerpt, private)
    if html is not None and report is not None:
        bundle_file.write_whole(html, report)
    if as_json:
        print_json(
            {
                "bundle": str(out),
                "unit": boards.unit_of(unit),
                "shoe": shoe,
                "events": len(excerpt.records),
                "bytes": size,
                "with_keys": bool(excerpt.keys),
                "findings": len(excerpt.findings),
                "signer": signer,
                "report": None if html is None else str(html),
                "phh": None if phh is None else str(phh),
                "board_number": boards.board_of(unit),
            }
        )
        return
    chain = "with the keys of its chain" if excerpt.keys else "without keys of its chain"
    what = f"{unit} shoe {shoe}, {counted(len(excerpt.records), 'event')}, {chain}"
    console.print(plain(f"{out}: {what}, {size:,} bytes, signed by {signer}"), soft_wrap=True)
    if html is not None:
        console.print(plain(f"{html}: the report"), soft_wrap=True)
    if phh is not None:
        console.print(plain(f"{phh}: the hand as PHH"), soft_wrap=True)
    if excerpt.findings:
        problems.print(
            plain(
                f"{counted(len(excerpt.findings), 'finding')} in the bundle: `sabot verify {out}`"
            )
        )


def _check_different(*files: Path | None) -> None:
    """Raise BundleUnusable if two of the files to write are one: the later would replace the
    earlier."""
    named = [
        Path(os.path.realpath(file.parent)) / file.name  # itself is replaced, if it is a link
        for file in files
        if file is not None
    ]
    for file in named:
        if named.count(file) > 1:
            raise BundleUnusable(f"{file}: named twice; name a file of its own for each")
