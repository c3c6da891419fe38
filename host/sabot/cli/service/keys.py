"""`sabot keys`: the keys that releases are signed with."""

from pathlib import Path
from typing import Annotated

import typer

from sabot.cli.key_files import load_private_key, new_passphrase
from sabot.cli.view import console, plain
from sabot.errors import KeysUnusable
from sabot.files import replace_whole
from sabot.keys import signing

_PUBLIC_MODE = 0o644

app = typer.Typer(help="Make and keep the key that releases are signed with.", no_args_is_help=True)


@app.command()
def make(
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="NAME", help="Makes NAME.pem and NAME.pub.pem.")
    ],
) -> None:
    """Make a key pair, locked with a passphrase that is asked for or taken from SABOT_PASSPHRASE.

    NAME.pem signs releases and stays with the person responsible for them. NAME.pub.pem goes into
    every shoe that is to run these releases.
    """
    private_path = out.with_name(out.name + ".pem")
    private, public, fingerprint = signing.make_key_pair(out, new_passphrase(private_path))
    console.print(plain(f"{private}: the private key; keep it, and keep its passphrase elsewhere"))
    console.print(plain(f"{public}: the public key, fingerprint {fingerprint}"))


@app.command()
def public(
    key: Annotated[Path, typer.Argument(metavar="NAME.pem", help="The private key.")],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Write to this file instead of printing.")
    ] = None,
) -> None:
    """Export the public part of a key."""
    raw = signing.public_of(load_private_key(key))
    if out is None:
        for line in signing.pem_of(raw).decode().splitlines():
            console.print(line)
        return
    try:
        replace_whole(out, signing.pem_of(raw), _PUBLIC_MODE)
    except OSError as error:
        raise KeysUnusable(
            f"{out}: cannot be written ({error.strerror}); name another file with -o"
        ) from None
    console.print(plain(f"{out}: the public key, fingerprint {signing.fingerprint(raw)}"))
