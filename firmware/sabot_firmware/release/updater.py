"""Takes an update or a provisioning, and does nothing else: the lock is shut and the whole heap is
free for it.

The boot loader starts it if a shoe asked for it, if the board is not a unit yet, and if neither
slot can run. In the last case it runs from `rescue`, the release that was flashed, which is never
updated.
"""

import asyncio
from binascii import unhexlify

from sabot_firmware import VERSION
from sabot_firmware.boards import START_MS, board_class
from sabot_firmware.boards.nor import FlashError
from sabot_firmware.journal.noise import SAMPLES, stir_all
from sabot_firmware.journal.randomness import UNIT, Pool
from sabot_firmware.link.answers import Refusal, answer_command
from sabot_firmware.link.authentication import CommandGuard
from sabot_firmware.link.link import Link
from sabot_firmware.release import boot
from sabot_firmware.release.update import REFUSED, Update
from sabot_firmware.store import SettingsStore, StoreError
from sabot_firmware.table import inputs
from sabot_protocol import VERSION as PROTOCOL_VERSION
from sabot_protocol import enums, frame, messages

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.interfaces import Board, Feed
    from sabot_protocol.schema import Shape

NO_BUILD = bytes(32)
"""The `build` that a host gets if neither slot can run."""

_UPDATING = "UPDATE"
_NO_UNIT = "NOT PROVISIONED\n"
_NO_FIRMWARE = "NO FIRMWARE\nUPDATE THIS SHOE"
_LIT = 1 << enums.LAMPS.index("error")
_COMMAND = enums.RESET_CAUSES.index("command")
_LOOK_MS = 8
_PAUSE_MS = 4
_POOL = "update_pool"
_SILENT_MS = 60000
"""How long the updater waits for the host before it restarts the shoe."""
_REFUSED_MS = 3000
"""The same after a release was refused: the host has its answer."""
_OF_TRANSFER = (messages.UPDATE, messages.UPDATE_PART, messages.PROVISION)
_RESTARTING = enums.UPDATE_STAGES.index("restarting")
_SWITCH = enums.SWITCHES.index("service_on")
_SERVICE = 1 << _SWITCH
_LID = 1 << enums.SWITCHES.index("lid_open")
_LID_OPENED = inputs.switched(enums.SWITCHES.index("lid_open"), True)
_SERVICE_CHANGES = (inputs.switched(_SWITCH, False), inputs.switched(_SWITCH, True))


class NoEvents:
    """Stands in for the outbox: the updater does not touch the journal."""

    acked = 0
    first_held = 1
    next_number = 1
    cursor_number = 1

    def take(self) -> None:
        """Return None: there is no event."""
        return

    def rewind(self) -> None:
        """Do nothing: there is nothing to send again."""

    def unacked(self) -> int:
        """Return 0: no event waits."""
        return 0

    def serve_from(self, number: int) -> bool:
        """Accept every number: the host may have events of this unit."""
        return True

    def acknowledge(self, number: int) -> bool:
        """Accept every number."""
        return True


class Updater:
    """The part of a shoe that a link and an update need. `slot` is the slot that stays, with a list
    of the SHA-256 `build`; "" if no slot can run."""

    def __init__(self, board: "Board", root: str, slot: str, build: bytes = NO_BUILD) -> None:
        self.board = board
        self._slot = slot
        self._build = build
        self._restart_due = False
        self._had_turn = True  # the task that writes to the flash, since the watchdog was fed
        self._heard_ms = board.ticks_ms()
        self._store = SettingsStore(board.storage)
        self._is_unit = boot.is_unit(root)
        self._service_on = bool(board.switches() & _SERVICE)
        if board.switches() & _LID:
            board.set_lid_watched(False)
        key: bytes = _load(self._store, "release_key")  # type: ignore[assignment]
        self._update = Update(root, slot or boot.SLOTS[1], key, board.NAME)
        self._provision = None
        self._link = Link(NoEvents(), self, self._guard() if self._is_unit else CommandGuard(None))
        board.set_lamps(_LIT)
        if not self._is_unit:
            board.show(_NO_UNIT + board.serial)
        else:
            board.show(_UPDATING if slot else _NO_FIRMWARE)

    async def run(self) -> None:
        """Run until the update is complete, or the host is silent for long."""
        await asyncio.gather(self._look(), self._listen(), self._talk())

    def welcome(self, session: int) -> "list[list[object]]":
        """Return the same messages as sabot_firmware/shoe.py."""
        unit, cause = _load(self._store, "unit") or self.board.serial, self.board.reset_cause
        number = messages.WELCOME.number
        return [
            [number, session, PROTOCOL_VERSION, unit, 1, cause, 1, 0, frame.MAX_PAYLOAD],
            [messages.FIRMWARE.number, session, VERSION, self._build, self.board.NAME],
            [messages.GAME.number, session, messages.NO_GAME, NO_BUILD],
        ]

    def heartbeat(self, now_ms: int) -> "list[object]":
        """Return the same message as sabot_firmware/shoe.py."""
        return [messages.HEARTBEAT.number, now_ms, 0, 0, 0, 0, 1, 0]

    def acknowledged(self) -> None:
        """Do nothing: there is nothing to acknowledge."""

    def command(self, shape: "Shape", values: "list[object]") -> "list[object]":
        """Carry out a command of an update or of provisioning; return the answer."""
        if shape in _OF_TRANSFER:
            self._heard_ms = self.board.ticks_ms()
        return answer_command(shape, values, lambda *given: self._carry_out(shape, *given))

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
            raise Refusal("updating" if self._is_unit else "not_a_unit")
        refusal = enums.REFUSALS.index(update.refusal)
        stage = _RESTARTING if self._restart_due else update.stage
        return [stage, update.manifest, update.offset, refusal, update.detail]

    def _take_provisioning(self, offset: int, size: int, part: bytes) -> None:
        if self._is_unit and not self._service_on:
            raise Refusal("no_service")
        if self._provision is None:
            from sabot_firmware.release.provision import Provision  # loaded when needed

            self._provision = Provision(self._store, self.board)
        try:
            self._restart_due = self._provision.take(offset, size, part)
        except (OSError, StoreError, FlashError) as error:
            raise Refusal("bad_flash", str(error))

    def _guard(self) -> CommandGuard:
        """Return the guard of a unit. If the command key was lost, no host has the one it checks.

        The random bytes come from a pool that the shoe has left for the updater; it is replaced on
        flash before it gives any, so no start gives the same.
        """
        key: "bytes | None" = _load(self._store, "command_key")  # type: ignore[assignment]
        left: "bytes | None" = _load(self._store, _POOL)  # type: ignore[assignment]
        pool = Pool(left or bytes(32))
        pool.stir(UNIT, key or b"")
        stir_all(pool, self.board, bytearray(SAMPLES))
        self._store.save(_POOL, pool.take(b"kept"))
        return CommandGuard(pool.take(b"lost key") if key is None else key, pool.take)

    def _given_up(self) -> bool:
        """Whether the host was silent for too long, and there is a slot to run."""
        patience_ms = _REFUSED_MS if self._update.stage == REFUSED else _SILENT_MS
        waited_ms = self.board.ticks_ms() - self._heard_ms
        return bool(self._slot) and self._is_unit and waited_ms > patience_ms

    async def _look(self) -> None:
        buf = bytearray(512)
        while True:
            await self.board.wait_for_activity(_LOOK_MS, True)
            self.board.read_samples(buf)
            if self._had_turn:
                self._had_turn = False
                self.board.feed()
            change = self.board.take_input()
            while change != inputs.NONE:
                if change in _SERVICE_CHANGES:
                    self._service_on = change == _SERVICE_CHANGES[1]
                elif change == _LID_OPENED:
                    self.board.set_lid_watched(False)
                change = self.board.take_input()

    async def _listen(self) -> None:
        while True:
            data = await self.board.read_link()
            while not self.board.supply_good():
                await asyncio.sleep_ms(_PAUSE_MS)  # type: ignore[attr-defined]
            self._link.feed(data, self.board.ticks_ms())
            await asyncio.sleep_ms(0)  # type: ignore[attr-defined]

    async def _talk(self) -> None:
        view = memoryview(self._link.out)
        while True:
            size = self._link.fill(self.board.ticks_ms())
            at = 0
            self._had_turn = True
            while at < size:
                self._had_turn = True
                at += self.board.write_link(view[at:size])
                await asyncio.sleep_ms(0)  # type: ignore[attr-defined]
            if not size and (self._restart_due or self._given_up()):
                if self._provision is not None:
                    self._provision.complete()
                self.board.reset(_COMMAND)
            if self._update.busy() and self.board.supply_good():
                self._heard_ms = self.board.ticks_ms()
                self._update.step()
            await asyncio.sleep_ms(0 if size else _PAUSE_MS)  # type: ignore[attr-defined]


def _load(store: SettingsStore, name: str) -> object:
    """Load a document; None also if it is damaged, because an update must still be possible."""
    try:
        return store.load(name)
    except StoreError:
        return None


def main(root: str, slot: str, state: boot.State, feed: "Feed | None") -> None:
    """Take an update into a slot below `root`, with the parameters of main.py. After an error the
    boot loader restarts the board."""
    board = board_class()()
    board.set_lock(False)
    board.watch(START_MS)
    build = unhexlify(state.lists[slot]) if slot else NO_BUILD
    asyncio.run(Updater(board, root, slot, build).run())
