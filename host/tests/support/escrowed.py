"""Records of a unit that has an escrow: the firmware's own, on CPython."""

import random
from collections.abc import Iterable
from typing import Any

from host.tests.support.hand_log import HandLog
from sabot_firmware.journal.escrow import Escrow
from sabot_protocol import events
from sabot_protocol.schema import Shape


class EscrowedLog(HandLog):
    """The records of a shoe that deals hold'em and has these public halves."""

    def __init__(self, halves: bytes, **chosen: object) -> None:
        self._escrow = Escrow(halves, lambda: random.Random(5).randbytes(32))
        super().__init__(**chosen)

    def record(self, shape: Shape, shoe: int, round_: int, values: Iterable[Any]) -> None:
        super().record(shape, shoe, round_, values)
        if shape is events.SEAL:
            taken = self._escrow.take(self._sealer.key)
            super().record(events.SEAL_ESCROW, shoe, round_, taken)
