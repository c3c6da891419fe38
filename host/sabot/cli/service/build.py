"""`sabot build`: a release of the firmware."""

from pathlib import Path
from typing import Annotated

import typer

from sabot.cli.key_files import load_private_key
from sabot.cli.service.release import described
from sabot.cli.view import console, print_json, problems
from sabot.keys import signing
from sabot.release import build as releases
from sabot.release.compiling.modules import ARCHITECTURES
from sabot.terminal import plain
from sabot.text import counted
from sabot_protocol.release import Manifest


def build(
    out: Annotated[Path, typer.Option("-o", "--out", help="The folder to make.")],
    key: Annotated[
        Path,
        typer.Option("--key", metavar="NAME.pem", help="The house's key: `sabot keys release`."),
    ],
    board: Annotated[str, typer.Option(help=f"One of: {', '.join(ARCHITECTURES)}.")] = "pico",
    may_go_back: Annotated[
        bool, typer.Option("--may-go-back", help="Shoes may take it in place of a newer release.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Build a release of this firmware: bytecode, its manifest, and the signature.

    Two builds of the same sources with the same key are equal byte for byte.
    """
    releases.check_free(out)  # before the passphrase is asked for
    private = load_private_key(key)
    with problems.status(plain(f"compiling for {board}")):
        built = releases.build(board, private, may_go_back=may_go_back)
        releases.save(built, out)
    manifest = Manifest(built.manifest)
    signer = signing.fingerprint(signing.public_of(private))
    if as_json:
        print_json(described(built, manifest) | {"signer": signer})
        return
    what = f"Sabot {manifest.version} for {board}, {counted(len(manifest.files), 'file')}"
    console.print(
        plain(f"{out}: {what}, {manifest.size:,} bytes, signed by {signer}"), soft_wrap=True
    )
