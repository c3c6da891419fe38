"""Takes an update, and does nothing else: the lock shut, and all of the heap free for it.

The boot loader starts it where a shoe has asked for it, and where neither slot can run: then from
what was put on the board when it was flashed, which is never updated.
"""

import asyncio

from firmware import VERSION, boot, inputs
from firmware.boards import this_board
from firmware.link import Link
from firmware.store import Store
from firmware.update import Update
from protocol import VERSION as PROTOCOL_VERSION
from protocol import frame, messages, words

NO_BUILD = bytes(32)
"""What a host is told as `build`: no shoe is it."""

_UPDATING = "UPDATE"
_NO_FIRMWARE = "NO FIRMWARE\nUPDATE THIS SHOE"
_LIT = 1 << words.LAMPS.index("error")
_LOOK_MS = 8
_PAUSE_MS = 4
_ALONE_MS = 60000
"""How long it waits for a host, before the shoe goes on with what it has."""
_DONE, _REFUSED = words.OUTCOMES.index("done"), words.OUTCOMES.index("refused")


class NoEvents:
    """An outbox without a journal: that is left as it is."""

    acked = 0
    first_held = 1
    next_number = 1
    cursor_number = 1

    def take(self):
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
    """As much of a shoe as a link and an update want. `slot` is the one that stays; with "" there
    is none that could run."""

    def __init__(self, board, root: str, slot: str) -> None:
        self.board = board
        self._slot = slot
        self._restart_due = False
        self._heard_ms = board.ticks_ms()
        key: bytes = Store(board.storage).load("release_key")  # type: ignore[assignment]
        self._update = Update(root, slot or boot.SLOTS[1], key, board.NAME)
        self._link = Link(NoEvents(), self)
        board.set_lamps(_LIT)
        board.show(_UPDATING if slot else _NO_FIRMWARE)

    async def run(self) -> None:
        """Until the update is there, or nobody is heard of it any more."""
        await asyncio.gather(self._look(), self._listen(), self._talk())

    def welcome(self, session: int) -> "list[list[object]]":
        """As firmware/shoe.py's."""
        unit, cause = self.board.unit, self.board.reset_cause
        number = messages.WELCOME.number
        return [
            [number, session, PROTOCOL_VERSION, unit, 1, cause, 1, 0, frame.MAX_PAYLOAD],
            [messages.FIRMWARE.number, session, VERSION, NO_BUILD, self.board.NAME],
            [messages.GAME.number, session, "none", NO_BUILD],
        ]

    def heartbeat(self, now_ms: int) -> "list[object]":
        """As firmware/shoe.py's."""
        return [messages.HEARTBEAT.number, now_ms, 0, 0, 0, 0, 1, 0]

    def acknowledged(self) -> None:
        """There is nothing to acknowledge."""

    def command(self, shape, values: "list[object]") -> "list[object]":
        """Carry out what belongs to an update."""
        update = self._update
        if shape is messages.RESTART:
            self._restart_due = True
            return [messages.REPLY.number, values[0], _DONE, ""]
        if shape is messages.UPDATE:
            update.begin(values[1])  # type: ignore[arg-type]
        elif shape is messages.UPDATE_PART:
            update.take(values[1], values[2])  # type: ignore[arg-type]
        elif shape is not messages.UPDATE_STATUS:
            return [messages.REPLY.number, values[0], _REFUSED, "an update is on its way"]
        report = [messages.UPDATE_REPORT.number, values[0], update.stage]
        return report + [update.manifest, update.offset, update.problem]

    async def _look(self) -> None:
        buf = bytearray(512)
        while True:
            await self.board.activity(_LOOK_MS, True)
            self.board.read_samples(buf)
            while self.board.take_input() != inputs.NONE:
                pass

    async def _listen(self) -> None:
        while True:
            data = await self.board.read_link()
            self._heard_ms = self.board.ticks_ms()
            self._link.feed(data, self._heard_ms)
            await asyncio.sleep_ms(0)  # type: ignore[attr-defined]

    async def _talk(self) -> None:
        view = memoryview(self._link.out)
        while True:
            size = self._link.fill(self.board.ticks_ms())
            at = 0
            while at < size:
                at += self.board.write_link(view[at:size])
                await asyncio.sleep_ms(0)  # type: ignore[attr-defined]
            alone = self._slot and self.board.ticks_ms() - self._heard_ms > _ALONE_MS
            if not size and (self._restart_due or alone):
                self.board.reset()
            if self._update.busy():
                self._update.step()
            await asyncio.sleep_ms(0 if size else _PAUSE_MS)  # type: ignore[attr-defined]


def main(root: str, slot: str, state, feed) -> None:
    """As main.py's: take an update into a slot below `root`. After an error the boot loader starts
    the board anew, with what it has."""
    board = this_board()
    board.set_lock(False)
    asyncio.run(Updater(board, root, slot).run())
