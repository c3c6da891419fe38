"""`sabot flash`: puts a release on boards without Sabot, and MicroPython on a board before that."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

import sabot_firmware
from sabot.cli import options
from sabot.cli.key_files import load_command_keys
from sabot.cli.service.parallel import run_in_parallel
from sabot.cli.view import problems
from sabot.errors import KeysUnusable, PortNotFound, SabotError
from sabot.link import ports
from sabot.link.command_keys import CommandKeyFile
from sabot.release import bootloader_drive
from sabot.release import flash as flashing
from sabot.release.picos import PICOS
from sabot.release.update import Progress
from sabot.service import debug
from sabot.terminal import plain
from sabot_protocol.release import Manifest


def flash(
    boards: Annotated[
        list[str] | None, typer.Argument(metavar="[UNIT|PORT...]", help=options.PORT_HELP)
    ] = None,
    release: Annotated[
        Path, typer.Option("--release", metavar="DIR", help="The folder that `sabot build` made.")
    ] = Path(f"sabot-{sabot_firmware.VERSION}"),
    house: options.House = options.DEFAULT_HOUSE,
    every: Annotated[
        bool, typer.Option("--all", help="Every attached board, except running shoes.")
    ] = False,
    image: Annotated[
        Path | None,
        typer.Option(
            "--micropython", metavar="IMAGE.uf2", help="First put this on a board in BOOTSEL mode."
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Flash boards that have Sabot too, and shoes whose service switch is on; keys, "
            "settings and events stay.",
        ),
    ] = False,
    commands: options.CommandKeyFile = None,
    as_json: options.Json = False,
) -> None:
    """Put a release on boards that have MicroPython, and wait until they run as shoes.

    The signature is checked first. If a board loses power or is unplugged, flash it again: that
    continues where it stopped. All boards are flashed at once.
    """
    names = boards or []
    keys = load_command_keys(commands)
    _check_usage(names, every=every, image=image)
    if not house.exists():
        raise KeysUnusable(
            f"{house}: no such file; name the house's public key with --house, "
            "`sabot keys release make -o releases` makes one"
        )
    built = flashing.signed_release(release, house)
    if image is not None:
        manifest = Manifest(built.manifest)
        # A release for no Pico is refused later, by what the board's MicroPython says.
        kind = manifest.board if manifest.board in PICOS else "pico"
        content = bootloader_drive.image_bytes(image, manifest.micropython, kind)
        with problems.status(plain(f"{image}: putting it on the board")):
            port = names[0] if names else None
            names = [bootloader_drive.put_micropython(content, port, board=kind)]
    elif every:
        names = [info.serial for info in ports.attached()]
        if not names:
            raise PortNotFound("no board is attached; plug one in, or name its port")
    # By board: one that was named twice is flashed once.
    boards_named: dict[str, str] = {}
    for name, lasting in ports.lasting_names(names).items():
        if isinstance(lasting, SabotError):
            raise lasting
        boards_named.setdefault(lasting, name)
    lasting_names = {name: lasting for lasting, name in boards_named.items()}

    def flash_board(name: str, on_progress: Callable[[Progress], None]) -> str:
        lasting = lasting_names[name]
        if every and not force and flashing.runs_shoe(name, lasting):
            return f"{name}: left alone, Sabot runs there"
        path = ports.resolve(lasting, ask=False)
        return flashing.flash(
            name,
            built,
            on_progress,
            force=force,
            open_repl=lambda: _open_prompt(name, path, keys),
            lasting=lasting,
            provision_options=[] if house == options.DEFAULT_HOUSE else ["--house", str(house)],
        )

    run_in_parallel(list(lasting_names), flash_board, as_json=as_json)


def _open_prompt(name: str, path: str, keys: CommandKeyFile) -> None:
    debug.open_prompt(name, path, keys)


def _check_usage(names: list[str], *, every: bool, image: Path | None) -> None:
    if every and (names or image):
        raise typer.BadParameter("--all is for every board: name none, and no --micropython")
    if len(names) > 1 and image:
        raise typer.BadParameter("--micropython is for one board at a time")
    if not (names or every or image):
        raise typer.BadParameter("name a board, or use --all for every attached board")
