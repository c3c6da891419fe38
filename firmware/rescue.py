"""What runs where neither slot can: the lock shut, and a link that takes nothing but an update.

Put on the board when it is flashed, and never updated.
"""

import asyncio

from firmware import boot, commands, inputs
from firmware.boards import this_board
from firmware.link import Link
from firmware.store import Store
from firmware.update import Update
from protocol import VERSION as PROTOCOL_VERSION
from protocol import frame, messages, words

FIRMWARE = "0.0.0"
"""The version that a host is told: older than any."""

_SLOT = boot.SLOTS[0]
"""Where the release goes."""
_TEXT = "NO FIRMWARE\nUPDATE THIS SHOE"
_LIT = 1 << words.LAMPS.index("error")
_LOOK_MS = 8
_PAUSE_MS = 4
_COMMANDS = (messages.UPDATE, messages.UPDATE_PART, messages.UPDATE_STATUS, messages.RESTART)
_REFUSED = words.OUTCOMES.index("refused")
_NO_SHA256 = bytes(32)


class NoEvents:
    """An outbox without a journal: the journal is left as it is."""

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


class Rescue:
    """As much of a shoe as a link and an update want."""

    on_trial = False

    def __init__(self, board, root: str) -> None:
        self.board = board
        self.restart_due = False
        key: bytes = Store(board.storage).load("release_key")  # type: ignore[assignment]
        self.update = Update(root, boot.other_slot(_SLOT), key, board.NAME)
        self.link = Link(NoEvents(), self)
        board.set_lamps(_LIT)
        board.show(_TEXT)

    async def run(self) -> None:
        """Wait for an update until there is one."""
        await asyncio.gather(self._look(), self._listen(), self._talk())

    def at_rest(self) -> bool:
        """No card is dealt here."""
        return True

    def welcome(self, session: int) -> "list[list[object]]":
        """As firmware/shoe.py's."""
        unit, cause = self.board.unit, self.board.reset_cause
        number = messages.WELCOME.number
        return [
            [number, session, PROTOCOL_VERSION, unit, 1, cause, 1, 0, frame.MAX_PAYLOAD],
            [messages.FIRMWARE.number, session, FIRMWARE, _NO_SHA256, self.board.NAME],
            [messages.GAME.number, session, "none", _NO_SHA256],
        ]

    def heartbeat(self, now_ms: int) -> "list[object]":
        """As firmware/shoe.py's."""
        return [messages.HEARTBEAT.number, now_ms, 0, 0, 0, 0, 1, 0]

    def acknowledged(self) -> None:
        """There is nothing to acknowledge."""

    def command(self, shape, values: "list[object]") -> "list[object]":
        """Carry out what belongs to an update."""
        if shape in _COMMANDS:
            return commands.run(self, shape, values)
        return [messages.REPLY.number, values[0], _REFUSED, "no firmware: update this shoe"]

    async def _look(self) -> None:
        buf = bytearray(512)
        while True:
            await self.board.activity(_LOOK_MS, True)
            self.board.read_samples(buf)
            while self.board.take_input() != inputs.NONE:
                pass

    async def _listen(self) -> None:
        while True:
            self.link.feed(await self.board.read_link(), self.board.ticks_ms())
            await asyncio.sleep_ms(0)  # type: ignore[attr-defined]

    async def _talk(self) -> None:
        view = memoryview(self.link.out)
        while True:
            size = self.link.fill(self.board.ticks_ms())
            at = 0
            while at < size:
                at += self.board.write_link(view[at:size])
                await asyncio.sleep_ms(0)  # type: ignore[attr-defined]
            if self.restart_due and not size:
                self.board.reset()
            if self.update.busy():
                self.update.step()
            await asyncio.sleep_ms(0 if size else _PAUSE_MS)  # type: ignore[attr-defined]


def main(root: str) -> None:
    """Wait for an update to a slot below `root`."""
    board = this_board()
    board.set_lock(False)
    try:
        asyncio.run(Rescue(board, root).run())
    except (Exception, KeyboardInterrupt) as error:
        board.show("OUT OF SERVICE\n" + str(error))
        board.halt(error)
