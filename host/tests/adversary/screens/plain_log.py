"""A log of firmware before 0.2, which recorded cards that lie face down in plain."""

from copy import deepcopy
from typing import Any

from host.tests.support.helpers import FirmwareLog
from sabot_protocol import enums, events

FIRMWARE = "0.1.0"
_REVEAL = enums.BUTTONS.index("reveal")
_DECIDED = events.DECISION, events.RESULT


class PlainLog(FirmwareLog):
    """It has the decisions and the result of a round before the reveal, as soon as all its cards
    are drawn."""

    def __init__(self, game: bytes) -> None:
        self._ended = 0, 0
        super().__init__(game=game, firmware=FIRMWARE)

    def act(self, actions: list[Any]) -> None:
        """Record the events that the dealing returned, as the older firmware would have."""
        sealed = (*_DECIDED, events.SEAL, events.UNSEALED)
        as_then = [
            (events.CARD if each[0] is events.SEALED_CARD else each[0], *each[1:])
            for each in actions
            if each[0] not in sealed
        ]
        super().act(as_then)
        dealing = self.dealing
        place = dealing.shoe, dealing.round
        if self.reveal_due() and not dealing.error and place != self._ended:
            self._ended = place
            ends = deepcopy(dealing).pressed(_REVEAL)
            super().act([each for each in ends if each[0] in _DECIDED])
