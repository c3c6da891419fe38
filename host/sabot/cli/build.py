"""`sabot build`: a release of the firmware."""

from pathlib import Path
from typing import Annotated

import typer

from protocol.release import Manifest
from sabot import signing
from sabot.cli.keyfiles import load_private_key
from sabot.release import build as releases
from sabot.release.modules import BOARDS
from sabot.view import console, plain, problems


def build(
    out: Annotated[Path, typer.Option("-o", "--out", help="The folder to make.")],
    key: Annotated[
        Path,
        typer.Option("--key", metavar="NAME.pem", help="Who signs; `sabot keys make` makes one."),
    ],
    board: Annotated[str, typer.Option(help=f"One of: {', '.join(BOARDS)}.")] = "pico",
    may_go_back: Annotated[
        bool, typer.Option("--may-go-back", help="Shoes take it in place of a newer one, too.")
    ] = False,
) -> None:
    """Build a release of this firmware: bytecode, a manifest of it, and the signature.

    Two builds of the same sources with the same key are equal to the byte.
    """
    releases.check_free(out)  # before anybody is asked for anything
    private = load_private_key(key)
    with problems.status(plain(f"compiling for {board}")):
        built = releases.build(board, private, may_go_back=may_go_back)
        releases.save(built, out)
    manifest = Manifest(built.manifest)
    signer = signing.fingerprint(signing.public_of(private))
    what = f"Sabot {manifest.version} for {board}, {len(manifest.files)} files"
    console.print(
        plain(f"{out}: {what}, {manifest.size:,} bytes, signed by {signer}"), soft_wrap=True
    )
