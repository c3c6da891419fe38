"""`sabot keys`: the keys that sign: releases, bundles and tombstones, receipts."""

from pathlib import Path
from typing import Annotated

import typer

from sabot.cli.key_files import load_private_key, new_passphrase
from sabot.cli.view import console
from sabot.errors import KeysUnusable
from sabot.files import replace_whole
from sabot.keys import escrow, signing
from sabot.terminal import plain

_PUBLIC_MODE = 0o644

app = typer.Typer()


def make(
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="NAME", help="Makes NAME.pem and NAME.pub.pem.")
    ],
) -> None:
    """Make a key pair, locked with a passphrase that the terminal asks for twice.

    For scripts: the passphrase in SABOT_PASSPHRASE, or a file with it named by
    SABOT_PASSPHRASE_FILE. NAME.pem signs and stays with the person responsible; NAME.pub.pem is for
    all who check. Give them its fingerprint in another way than the file.
    """
    signing.check_free(out)  # before the passphrase is asked for
    private_path = out.with_name(out.name + ".pem")
    private, public, fingerprint = signing.make_key_pair(out, new_passphrase(private_path))
    console.print(plain(f"{private}: the private key; keep it, and keep its passphrase elsewhere"))
    console.print(plain(f"{public}: the public key, fingerprint {fingerprint}"))


def show(
    key: Annotated[Path, typer.Argument(metavar="NAME.pem|NAME.pub.pem", help="The key.")],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="Write its public part to this file."),
    ] = None,
) -> None:
    """Show a key's fingerprint and its public part. A private key needs its passphrase."""
    raw = signing.load_public(key) if signing.is_public(key) else _public_part(key)
    pem, fingerprint = signing.pem_of(raw), signing.fingerprint(raw)
    if out is None:
        console.print(plain(f"{key}: fingerprint {fingerprint}"))
        for line in pem.decode().splitlines():
            console.print(line)
        return
    if out.exists() and not signing.is_public(out):
        raise KeysUnusable(f"{out}: exists, and is no public key; name another file with -o")
    try:
        replace_whole(out, pem, _PUBLIC_MODE)
    except OSError as error:
        raise KeysUnusable(
            f"{out}: cannot be written ({error.strerror}); name another file with -o"
        ) from None
    console.print(plain(f"{out}: the public key, fingerprint {fingerprint}"))


def make_half(
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="NAME", help="Makes NAME.pem and NAME.pub.pem.")
    ],
) -> None:
    """Make a half of an escrow, locked with a passphrase as other keys. Two persons make one each.

    NAME.pem stays with its person; NAME.pub.pem of both is given to `sabot provision --escrow`.
    Only both halves together open cards that stay closed: `sabot open-seats`.
    """
    signing.check_free(out)
    private_path = out.with_name(out.name + ".pem")
    private, public, fingerprint = escrow.make_half(out, new_passphrase(private_path))
    console.print(plain(f"{private}: the half; keep it, and keep its passphrase elsewhere"))
    console.print(plain(f"{public}: its public half, fingerprint {fingerprint}"))


def _public_part(key: Path) -> bytes:
    return signing.public_of(load_private_key(key))


def _add(name: str, text: str) -> None:
    group = typer.Typer(help=text, no_args_is_help=True)
    group.command()(make)
    group.command()(show)
    app.add_typer(group, name=name)


_add("release", "The key of the house that signs releases; shoes run only what it has signed.")
_add("operator", "The key of the operator that signs bundles and tombstones.")
_add("notary", "The key of a centre's notary that signs receipts for what the centre has.")

_halves = typer.Typer(
    help="The halves with which two persons together open cards that stay closed.",
    no_args_is_help=True,
)
_halves.command("make")(make_half)
app.add_typer(_halves, name="escrow")
