"""Makes a board a unit, or gives a unit a new table, game and card set."""

import secrets
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import cbor2

from sabot.errors import BadAnswer, CommandRefused, Interrupted, UnitTaken
from sabot.keys import chain_keys as unit_keys
from sabot.link import command_keys
from sabot.link.client import Client
from sabot.link.command_keys import CommandKeyFile
from sabot.link.messages import ProvisionCommand, SetClockCommand
from sabot.retry import over_sessions
from sabot_protocol import messages, provisioning
from sabot_protocol.chain import KEY_SIZE, chain_id, command_key
from sabot_protocol.games import game_of

LONGEST_S = 240.0
"""How long a board may be away while it becomes a unit and overwrites its free flash. An emulated
Pico takes 21 s. By its data sheet (W25Q16JV, 9.6) the chip may take 160 s: its 512 sectors of 4 KB
less the 160 of MicroPython, each erased in at most 400 ms and programmed in 16 pages of at most
3 ms; the first start takes 11 s, and the rest is reserve."""
_MOST_SESSIONS = 100
"""Sessions that provisioning may take: three, and more on a bad line."""


@dataclass(frozen=True, slots=True)
class UnitSettings:
    """What a unit is provisioned with.

    `unit` is its id. If it is empty, the unit keeps its id, and a board that is not a unit yet gets
    its board's number. `game` is a game document, `release_key` the public key of the person who
    signs its releases.
    """

    unit: str
    table: str
    card_set: int
    when_full: str
    game: bytes
    release_key: bytes
    escrow: bytes = b""
    """Both public halves of an escrow; empty: the unit keeps those that it has."""
    check_cards: str = provisioning.CHECK_CARDS[0]
    """When the supervisor must check the cards after a loss of power."""


@dataclass(frozen=True, slots=True)
class KeyFiles:
    """The files to which a new unit's keys are added: the first key of its audit chain, and its
    command key. The command key is added to `known` too."""

    chains: Path
    commands: Path
    known: CommandKeyFile


def provisioning_document(
    settings: UnitSettings,
    unit: str,
    first_key: bytes | None = None,
    random: bytes | None = None,
) -> bytes:
    """The document that is sent; `random` are the host's bytes for a new unit's pool. Raises
    ProvisioningError if no unit would take it."""
    fields: dict[str, object] = {
        "version": provisioning.VERSION,
        "unit": unit,
        "table": settings.table,
        "set": settings.card_set,
        "when_full": settings.when_full,
        "game": settings.game,
        "release_key": settings.release_key,
    }
    if settings.escrow:
        fields["escrow"] = settings.escrow
    if settings.check_cards != provisioning.CHECK_CARDS[0]:  # an older updater does not know it
        fields["check_cards"] = settings.check_cards
    if first_key is not None:
        fields["first_key"] = first_key
    if random is not None:
        fields["random"] = random
    document = cbor2.dumps(fields, canonical=True)
    provisioning.Provisioning(document)
    return document


def provision(
    attached: Callable[[], AbstractContextManager[Client]],
    settings: UnitSettings,
    files: KeyFiles,
    *,
    replaces: bool = False,
    on_progress: Callable[[str], None] = lambda what: None,
    now_s: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
    unix_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
) -> str:
    """Make a board a unit with these `settings`; return what was done, for people.

    `attached` opens a session with the board. A board that is not a unit yet gets its own keys:
    they are in `files` before the board has them. With `replaces` it may take an id that already
    has keys there. Raises UnitTaken, CommandRefused with the shoe's reason, KeysUnusable,
    ProvisioningError, BadAnswer if the board never becomes the unit, and NoShoe if it stays away.
    """
    attempt = _ProvisionAttempt(settings, files, replaces, on_progress, unix_ms)
    try:
        return over_sessions(
            attached, attempt.advance, patience_s=LONGEST_S, now_s=now_s, pause=pause
        )
    except KeyboardInterrupt:
        raise Interrupted(attempt.left()) from None


class _ProvisionAttempt:
    """The provisioning of one board, over as many sessions as it takes."""

    def __init__(
        self,
        settings: UnitSettings,
        files: KeyFiles,
        replaces: bool,
        on_progress: Callable[[str], None],
        unix_ms: Callable[[], int],
    ) -> None:
        self._settings = settings
        self._files = files
        self._replaces = replaces
        self._on_progress = on_progress
        self._unix_ms = unix_ms
        self._first_key: bytes | None = None
        self._unit = settings.unit
        self._makes_unit = False
        self._sent_any = False
        self._sent_all = False
        self._sessions_left = _MOST_SESSIONS

    def advance(self, client: Client) -> str:
        """Do all that can be done in this session; return "" if another one must follow."""
        self._unit = unit = self._settings.unit or client.unit
        self._sessions_left -= 1
        if self._sessions_left < 0:
            raise BadAnswer(
                f"{client.unit}: it answers, but never takes the settings; switch it off and on, "
                "and try again"
            )
        in_service = client.welcome.game != messages.NO_GAME
        if not client.welcome.challenge:
            first_key = self._new_key(unit)
            # A board that was flashed with an older firmware takes no field that it does not know.
            has_pool = client.welcome.protocol >= messages.STIR.since
            random = secrets.token_bytes(KEY_SIZE) if has_pool else None
            document = provisioning_document(self._settings, unit, first_key, random)
            self._send(client, document)
            return ""
        if client.unit != unit:
            raise UnitTaken(
                f"{client.unit}: this board is already that unit, and its records are that unit's; "
                "leave --unit out to change its settings"
            )
        if in_service and (self._sent_all or self._first_key is not None):
            return self._finish(client)
        try:
            self._send(client, provisioning_document(self._settings, unit))
        except CommandRefused as refused:
            if refused.refusal != "no_service":
                raise
            raise CommandRefused(
                f"{unit}: this board is that unit already, and its service switch is off; to "
                "change its settings, open the lid, switch it on, and provision it again"
            ) from None
        return ""

    def left(self) -> str:
        """What the attempt leaves if it ends now, and what to do next."""
        unit = self._unit or "the board"
        keys = f"{self._files.chains} and {self._files.commands}"
        if self._makes_unit and self._sent_all:
            return (
                f"{unit}: interrupted while it restarts as a unit, with its keys in {keys}; "
                "`sabot ports` shows whether it is ready: if not, provision it again with "
                "--replaces"
            )
        if self._makes_unit:
            return (
                f"{unit}: interrupted; the board is not a unit yet, and its keys are in {keys}: "
                "provision it again with --replaces"
            )
        if self._sent_any:
            return (
                f"{unit}: interrupted; it has the settings that it had, or the new ones: "
                "provision it again"
            )
        return f"{unit}: interrupted; nothing was sent to it"

    def _new_key(self, unit: str) -> bytes:
        """The unit's first key, which is in the house's files before any board has it. It is the
        same in every session: the answer to the last part may have been lost."""
        if self._first_key is None:
            self._refuse_a_second_board(unit)
            first_key = unit_keys.new_key()
            self._makes_unit = True  # before the keys are in the files: Ctrl-C may come between
            unit_keys.add(self._files.chains, unit, first_key)
            command_keys.add(self._files.commands, unit, command_key(first_key))
            self._files.known.put(unit, command_key(first_key))
            self._first_key = first_key
        return self._first_key

    def _refuse_a_second_board(self, unit: str) -> None:
        """Refuse an id that has keys, wherever they are: no key is ever sent to two boards."""
        if self._replaces or not self._files.chains.exists():
            return
        if unit_keys.Keys.load(self._files.chains).chains(unit):
            raise UnitTaken(
                f"{unit}: {self._files.chains} has keys of a unit with that id; give this "
                "board another id, or add --replaces if it takes that unit's place or an "
                "earlier try broke off"
            )

    def _send(self, client: Client, document: bytes) -> None:
        in_service = client.welcome.game != messages.NO_GAME
        self._on_progress(f"{client.unit}: sending")
        size = messages.MAX_PROVISION_PART
        for offset in range(0, len(document), size):
            part = document[offset : offset + size]
            self._sent_any = True
            report = client.ask(ProvisionCommand(offset, len(document), part))
            if in_service and report.stage == "restarting":
                self._on_progress(f"{client.unit}: restarting to take it")
                return
        if report.stage != "restarting":
            raise BadAnswer(
                f"{client.unit}: it has got all settings and does not restart with them; switch it "
                "off and on, and try again"
            )
        self._sent_all = True
        self._on_progress(f"{client.unit}: restarting as a unit")

    def _finish(self, client: Client) -> str:
        """Check the game and set the clock; return what was done."""
        game = game_of(self._settings.game)
        if client.welcome.game_sha256 != game.sha256:
            raise CommandRefused(
                f"{client.unit}: it deals another game than the one it was sent; try again"
            )
        done = f"{client.unit}: table {self._settings.table}, game {game.name}, "
        done += f"card set {self._settings.card_set}"
        if self._first_key is not None:
            chain = chain_id(self._first_key).hex()
            done += f"; a unit now, chain {chain}, its keys are in "
            done += f"{self._files.chains} and {self._files.commands}"
        try:
            client.ask(SetClockCommand(self._unix_ms()))
        except CommandRefused as refused:  # it is that unit all the same; `sabot log` sets it later
            done += f"; without a clock: {refused}"
        return done
