"""Follows the pages on a machine: their commands, but for the few that are replaced here, each with
its reason."""

import re
from collections.abc import Callable

from host.tests.bare_server.machine import Machine
from host.tests.bare_server.steps import commands_of, files_of, section_of
from host.tests.support.pages import ROOT

SINGLE, HOUSE, GROUP = (f"docs/running-{name}.md" for name in ("single", "house", "group"))
INSTALL = "What to install"
# The first is burned with five more; no two rounds have the same cards.
_CARDS = [rank + suit for suit in "CDHS" for rank in "5A23467TJQK98"]
_PASSWORD = "a password of a test"


def follow(machine: Machine, command: str) -> None:
    """Do what a line of a page says."""
    for pattern, replacement in _REPLACED:
        if found := re.fullmatch(pattern, command):
            replacement(machine, found)
            return
    machine.run(command, typed=_typed_for(command))


def _typed_for(command: str) -> str:
    """What a person types when the command asks."""
    if "--pwprompt" in command:
        return 2 * f"the password of {command.split()[-1]}\n"  # as .pgpass of the page has it
    return 2 * f"{_PASSWORD}\n"


def _nothing(machine: Machine, found: "re.Match[str]") -> None:
    """The packages of Debian have to be here; machine.py says if they are not."""


def _link(machine: Machine, found: "re.Match[str]") -> None:
    machine.link_sabot()


def _become(machine: Machine, found: "re.Match[str]") -> None:
    machine.user = found[1]


def _go(machine: Machine, found: "re.Match[str]") -> None:
    machine.run(f"cd {found[1]}")
    machine.folder = found[1]


def _export(machine: Machine, found: "re.Match[str]") -> None:
    machine.exported |= dict(pair.split("=", 1) for pair in found[1].split())


def _start_cluster(machine: Machine, found: "re.Match[str]") -> None:
    machine.run(f"pg_ctlcluster --skip-systemctl-redirect {found[1]} {found[2]} start")


def _start_units(machine: Machine, found: "re.Match[str]") -> None:
    for unit in found[1].split():
        if "." not in unit:  # a timer begins at night: the tests start what it starts
            machine.start_unit(unit)


_REPLACED: list[tuple[str, Callable[[Machine, "re.Match[str]"], None]]] = [
    (r"apt install .*", _nothing),
    (r"python3\.11 -m venv /opt/sabot", _nothing),
    # Installing takes a minute; hil_tests/tests/test_wheel.py does it.
    (r"/opt/sabot/bin/pip install --require-hashes .*", _nothing),
    (r"/opt/sabot/bin/pip install --no-deps .*", _link),
    # There is no systemd; that unit of Debian runs this.
    (r"systemctl enable --now postgresql@(\d+)-(\w+)", _start_cluster),
    (r"systemctl enable --now (.*)", _start_units),
    # A shell of a test keeps nothing from one line to the next.
    (r"runuser -u (\w+) -- bash", _become),
    (r"cd (\S+)", _go),
    (r"export (.*)", _export),
]


def install_sabot(machine: Machine) -> None:
    """Follow the commands by which the page of a single machine installs Sabot."""
    machine.folder = str(ROOT)
    machine.run("mkdir -p /etc/udev/rules.d")  # as Debian's package udev does
    for command in commands_of(section_of(SINGLE, INSTALL)):
        if command.startswith("runuser"):
            break
        follow(machine, command)


def start_as_the_page_says(machine: Machine) -> None:
    """Follow what comes after those: start the services, and make the first user."""
    section = section_of(SINGLE, INSTALL)
    assert "`systemctl enable --now sabot-log`" in section
    machine.start_unit("sabot-log")
    machine.wait_for("\n", "sabot-log")
    commands = commands_of(section)
    first = next(at for at, each in enumerate(commands) if each.startswith("runuser"))
    for command in commands[first:]:
        follow(machine, command)


def write_files(machine: Machine, files: list[tuple[str, str]]) -> None:
    """Write files of a page; what a service reads belongs to its user or group, as pages say."""
    for path, content in files:
        if path.endswith(".pgpass"):
            machine.write(path, content, "sabot:sabot", "0600")
        elif path.startswith("/etc/sabot/"):
            machine.write(path, content, "root:sabot", "0640")
        else:
            machine.write(path, content)


def files_for(page: str, *names: str) -> list[tuple[str, str]]:
    """The files of a page that have one of these names."""
    files = files_of(section_of(page, INSTALL))
    chosen = [(path, text) for path, text in files if path.rsplit("/", 1)[1] in names]
    assert {path.rsplit("/", 1)[1] for path, _ in chosen} == set(names)
    return chosen


def make_cluster(machine: Machine, section: str, files: list[tuple[str, str]]) -> None:
    """Follow the commands and write the files by which a page makes a cluster of PostgreSQL, and
    start it."""
    machine.folder = "/root"
    for command in commands_of(section):
        if not command.startswith("export"):
            follow(machine, command)
    write_files(machine, files)
    follow(machine, "systemctl enable --now postgresql@15-sabot")


def make_roles(machine: Machine, commands: list[str]) -> None:
    """Follow the commands that make the owner, a database and its roles, up to the shell of the
    owner, in which more commands follow."""
    machine.user, machine.folder = "root", "/root"
    for command in commands:
        follow(machine, command)
        if machine.user != "root":
            break
    assert machine.user == "sabot"


def start_shoe(machine: Machine, number: int) -> None:
    """Simulate a shoe that the log of this machine finds by its name. It has one deck."""
    machine.write("/var/lib/sabot/deck.txt", "".join(f"{card}\n" for card in _CARDS))
    machine.start(
        f"cd /var/lib/sabot && XDG_RUNTIME_DIR=/run/sabot-log exec sabot sim --unit SHOE-{number} "
        "--deck deck.txt --short --pace 0",
        output=f"/tmp/shoe-{number}.output", user="sabot",
    )  # fmt: skip
