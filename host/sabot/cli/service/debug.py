"""`sabot debug`: MicroPython's prompt on a shoe. It needs the shoe's key and its service switch."""

from sabot.cli import options
from sabot.cli.key_files import load_command_keys
from sabot.cli.view import console, problems
from sabot.link.ports import resolve
from sabot.service.debug import open_prompt
from sabot.terminal import plain


def debug(port: options.Port, commands: options.CommandKeyFile = None) -> None:
    """Have a shoe start with MicroPython's prompt instead of dealing, until its next start.

    Its service switch must be on, and no shoe of cards in play. The audit chain records it.
    """
    path = resolve(port)
    with problems.status(plain(f"{port}: restarting it")):
        unit = open_prompt(port, path, load_command_keys(commands))
    console.print(
        plain(
            f"{unit}: MicroPython's prompt is at {path}: mpremote connect {path}; "
            "switch the shoe off and on to have it deal again"
        ),
        soft_wrap=True,
    )
