"""`sabot release`: what a release holds, and how two of them differ."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sabot.cli import options
from sabot.cli.view import console, print_json, print_rows, verdict
from sabot.keys import signing
from sabot.release import build as releases
from sabot.release import origin
from sabot.release.build import Release
from sabot.release.differences import differences
from sabot.release.layout import build_of
from sabot.terminal import plain
from sabot.text import counted
from sabot_protocol import release
from sabot_protocol.release import Manifest

app = typer.Typer(no_args_is_help=True)

_Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder that `sabot build` made.")]


@app.command()
def show(
    folder: _Folder,
    house: Annotated[
        Path | None,
        typer.Option(
            "--house",
            metavar="NAME.pub.pem",
            help="Check the signature with this key; default: releases.pub.pem, if it exists.",
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Show a release: version, board, signer, and every file with its size and hash.

    Each file is checked against its hash; its bill of materials and its provenance against the
    release and the key. Exit code 1: the key has not signed it, or one of these is missing or
    wrong.
    """
    if house is None and options.DEFAULT_HOUSE.exists():
        house = options.DEFAULT_HOUSE
    built = releases.load(folder)
    manifest = Manifest(built.manifest)
    public = None if house is None else signing.load_public(house)
    signed = public is not None and _has_signed(public, built)
    signer = signing.fingerprint(public) if public is not None and signed else None
    faults = list(origin.faults(built.manifest, built.beside, public))
    built_from = {} if faults else dict(origin.built_from(built.beside))
    with verdict((public is not None and not signed) or faults):
        if as_json:
            origins = {"built_from": built_from, "faults": faults}
            print_json({**described(built, manifest), "signer": signer, **origins})
            return
        console.print(plain(f"{folder}: Sabot {manifest.version} for {manifest.board}"))
        may = "may" if manifest.may_go_back else "may not"
        console.print(
            plain(
                f"protocol {manifest.protocol}, journal {manifest.journal}, MicroPython "
                f"{manifest.micropython} or newer, {may} replace a newer release"
            )
        )
        console.print(plain(f"build {build_of(built.files).hex()}"))
        console.print(plain(_signer_text(house, signer)), soft_wrap=True)
        for name, what in built_from.items():
            console.print(plain(f"built from {name} {what}"), soft_wrap=True)
        for fault in faults:
            console.print(plain(fault), soft_wrap=True)
        print_rows(
            ("file", "bytes", "SHA-256"),
            [(path, f"{size:,}", digest.hex()) for path, size, digest in manifest.files],
            {},
        )
        console.print(plain(f"{counted(len(manifest.files), 'file')}, {manifest.size:,} bytes"))


@app.command()
def compare(first: _Folder, second: _Folder, as_json: options.Json = False) -> None:
    """Show what differs between two releases, file by file. Exit code 1: they differ.

    Two builds of the same sources differ in their two signatures only, if different keys signed
    them.
    """
    found = differences(releases.load(first), releases.load(second))
    with verdict(found):
        for each in found:
            if as_json:
                print_json(
                    {"what": each.what, "first": each.first or None, "second": each.second or None}
                )
                continue
            was, now = each.first or "not there", each.second or "not there"
            console.print(plain(f"{each.what}: {was} -> {now}"), soft_wrap=True)
        if not found and not as_json:
            console.print("Nothing differs.")


def _has_signed(public: bytes, built: Release) -> bool:
    return signing.verify(public, built.signature, release.signed(built.manifest))


def _signer_text(house: Path | None, signer: str | None) -> str:
    if house is None:
        return "signature not checked: name the house's public key with --house"
    return f"signed by {signer} ({house})" if signer else f"not signed with the key of {house}"


def described(built: Release, manifest: Manifest) -> dict[str, Any]:
    return {
        "version": manifest.version,
        "board": manifest.board,
        "protocol": manifest.protocol,
        "journal": manifest.journal,
        "micropython": manifest.micropython,
        "may_go_back": manifest.may_go_back,
        "build": build_of(built.files).hex(),
        "bytes": manifest.size,
        "files": [
            {"path": path, "bytes": size, "sha256": digest.hex()}
            for path, size, digest in manifest.files
        ],
    }
