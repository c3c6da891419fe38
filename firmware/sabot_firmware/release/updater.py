"""Takes an update, or what makes a board a unit, and does nothing else: the lock shut, and all of
the heap free for it.

The boot loader starts it where a shoe has asked for it, on a board that is no unit yet, and where
neither slot can run: then from what was put on the board when it was flashed, which is never
updated.
"""

import asyncio
import os
from binascii import unhexlify

from sabot_firmware import VERSION
from sabot_firmware.boards import this_board
from sabot_firmware.link.answers import Refused, answered
from sabot_firmware.link.authentication import Guard
from sabot_firmware.link.link import Link
from sabot_firmware.release import boot
from sabot_firmware.release.update import REFUSED, Update
from sabot_firmware.store import Store, StoreError
from sabot_firmware.table import inputs
from sabot_protocol import VERSION as PROTOCOL_VERSION
from sabot_protocol import enums, frame, messages
from sabot_protocol.chain import KEY_SIZE, command_key

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.interfaces import Board, Feed
    from sabot_protocol.schema import Shape

NO_BUILD = bytes(32)
"""What a host is told as `build` where neither slot can run."""

_UPDATING = "UPDATE"
_NO_UNIT = "NOT PROVISIONED\n"
_NO_FIRMWARE = "NO FIRMWARE\nUPDATE THIS SHOE"
_LIT = 1 << enums.LAMPS.index("error")
_LOOK_MS = 8
_PAUSE_MS = 4
_ALONE_MS = 60000
"""How long it waits for a host to go on, before the shoe does with what it has."""
_REFUSED_MS = 3000
"""The same behind a release that was refused: the host is told."""
_GOES_ON = (messages.UPDATE, messages.UPDATE_PART, messages.PROVISION)
_RESTARTING = enums.UPDATE_STAGES.index("restarting")
_SWITCH = enums.SWITCHES.index("service_on")
_SERVICE = 1 << _SWITCH
_SERVICE_MOVED = (inputs.switched(_SWITCH, False), inputs.switched(_SWITCH, True))


class NoEvents:
    """An outbox without a journal: that is left as it is."""

    acked = 0
    first_held = 1
    next_number = 1
    cursor_number = 1

    def take(self) -> None:
        """There is none."""
        return

    def rewind(self) -> None:
        """There is nothing to send again."""

    def unacked(self) -> int:
        """Events that wait."""
        return 0

    def stand_at(self, number: int) -> bool:
        """A host may have some of before."""
        return True

    def acknowledge(self, number: int) -> bool:
        """The same."""
        return True


class Updater:
    """As much of a shoe as a link and an update want. `slot` is the one that stays, whose list has
    the SHA-256 `build`; with "" there is none that could run."""

    def __init__(self, board: "Board", root: str, slot: str, build: bytes = NO_BUILD) -> None:
        self.board = board
        self._slot = slot
        self._build = build
        self._restart_due = False
        self._heard_ms = board.ticks_ms()
        self._store = Store(board.storage)
        self._is_unit = boot.is_unit(root)
        self._service_on = bool(board.switches() & _SERVICE)
        key: bytes = _load(self._store, "release_key")  # type: ignore[assignment]
        self._update = Update(root, slot or boot.SLOTS[1], key, board.NAME)
        self._provision = None
        self._link = Link(NoEvents(), self, Guard(self._command_key() if self._is_unit else None))
        board.set_lamps(_LIT)
        if not self._is_unit:
            board.show(_NO_UNIT + board.serial)
        else:
            board.show(_UPDATING if slot else _NO_FIRMWARE)

    async def run(self) -> None:
        """Until the update is there, or nobody is heard of it any more."""
        await asyncio.gather(self._look(), self._listen(), self._talk())

    def welcome(self, session: int) -> "list[list[object]]":
        """As sabot_firmware/shoe.py's."""
        unit, cause = _load(self._store, "unit") or self.board.serial, self.board.reset_cause
        number = messages.WELCOME.number
        return [
            [number, session, PROTOCOL_VERSION, unit, 1, cause, 1, 0, frame.MAX_PAYLOAD],
            [messages.FIRMWARE.number, session, VERSION, self._build, self.board.NAME],
            [messages.GAME.number, session, messages.NO_GAME, NO_BUILD],
        ]

    def heartbeat(self, now_ms: int) -> "list[object]":
        """As sabot_firmware/shoe.py's."""
        return [messages.HEARTBEAT.number, now_ms, 0, 0, 0, 0, 1, 0]

    def acknowledged(self) -> None:
        """There is nothing to acknowledge."""

    def command(self, shape: "Shape", values: "list[object]") -> "list[object]":
        """Carry out what belongs to an update, or makes a board a unit."""
        if shape in _GOES_ON:
            self._heard_ms = self.board.ticks_ms()
        return answered(shape, values, lambda *given: self._carry_out(shape, *given))

    def _carry_out(self, shape: "Shape", *values: object) -> "list[object] | None":
        update = self._update
        if shape is messages.RESTART:
            self._restart_due = True
            return None
        if shape is messages.PROVISION:
            self._take_provisioning(*values)  # type: ignore[arg-type]
        elif shape is messages.UPDATE:
            update.begin(*values)  # type: ignore[arg-type]
        elif shape is messages.UPDATE_PART:
            update.take(*values)  # type: ignore[arg-type]
        elif shape is not messages.UPDATE_STATUS:
            raise Refused("updating" if self._is_unit else "not_a_unit")
        refusal = enums.REFUSALS.index(update.refusal)
        stage = _RESTARTING if self._restart_due else update.stage
        return [stage, update.manifest, update.offset, refusal, update.detail]

    def _take_provisioning(self, offset: int, size: int, part: bytes) -> None:
        if self._is_unit and not self._service_on:
            raise Refused("no_service")
        if self._provision is None:
            from sabot_firmware.release.provision import Provision  # an update has no use for it

            self._provision = Provision(self._store)
        try:
            self._restart_due = self._provision.take(offset, size, part)
        except (OSError, StoreError) as error:
            raise Refused("bad_flash", str(error))

    def _command_key(self) -> bytes:
        """Where it was lost there is none that anybody has."""
        key: bytes = _load(self._store, "command_key")  # type: ignore[assignment]
        if key is None:
            first_key: bytes = _load(self._store, "first_key")  # type: ignore[assignment]
            key = os.urandom(KEY_SIZE) if first_key is None else command_key(first_key)
        return key

    def _given_up(self) -> bool:
        """Whether nothing comes of it any more, and there is something else to run."""
        patience_ms = _REFUSED_MS if self._update.stage == REFUSED else _ALONE_MS
        waited_ms = self.board.ticks_ms() - self._heard_ms
        return bool(self._slot) and self._is_unit and waited_ms > patience_ms

    async def _look(self) -> None:
        buf = bytearray(512)
        while True:
            await self.board.activity(_LOOK_MS, True)
            self.board.read_samples(buf)
            change = self.board.take_input()
            while change != inputs.NONE:
                if change in _SERVICE_MOVED:
                    self._service_on = change == _SERVICE_MOVED[1]
                change = self.board.take_input()

    async def _listen(self) -> None:
        while True:
            data = await self.board.read_link()
            self._link.feed(data, self.board.ticks_ms())
            await asyncio.sleep_ms(0)  # type: ignore[attr-defined]

    async def _talk(self) -> None:
        view = memoryview(self._link.out)
        while True:
            size = self._link.fill(self.board.ticks_ms())
            at = 0
            while at < size:
                at += self.board.write_link(view[at:size])
                await asyncio.sleep_ms(0)  # type: ignore[attr-defined]
            if not size and (self._restart_due or self._given_up()):
                self.board.reset()
            if self._update.busy():
                self._heard_ms = self.board.ticks_ms()
                self._update.step()
            await asyncio.sleep_ms(0 if size else _PAUSE_MS)  # type: ignore[attr-defined]


def _load(store: Store, name: str) -> object:
    """None also for a document that is damaged: an update must come through all the same."""
    try:
        return store.load(name)
    except StoreError:
        return None


def main(root: str, slot: str, state: boot.State, feed: "Feed | None") -> None:
    """As main.py's: take an update into a slot below `root`. After an error the boot loader starts
    the board anew, with what it has."""
    board = this_board()
    board.set_lock(False)
    build = unhexlify(state.lists[slot]) if slot else NO_BUILD
    asyncio.run(Updater(board, root, slot, build).run())
