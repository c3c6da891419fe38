"""What a board may sense besides the cards: its bolt, its supply, latches that need no power.

Loaded only on a board that has any of them."""

from sabot_firmware.native import const
from sabot_firmware.table import input_log
from sabot_firmware.table.dealing import LOCK_STUCK, SUPPLY_LOW

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.acting import Acting
    from sabot_firmware.interfaces import Board
    from sabot_firmware.journal.journal import Journal

_BOLT_TICKS = const(5)
"""How long the bolt may take: 200 ms, in ticks. From the pin to a shut lock 25 ms, and 50 ms until
a card at 0.05 m/s has left it (docs/building.md, "The lock"); 20 ms for its contact to settle; and
as much again."""


class OptionalParts:
    """Stops play if the bolt or the supply is not as it must be; makes the latches ready."""

    def __init__(self, board: "Board", journal: "Journal", acting: "Acting") -> None:
        self._board = board
        self._journal = journal
        self._acting = acting
        self._bolt_ticks = 0  # for which the bolt has not followed
        self._supply_low = False
        self._arm_due = True

    def tick(self, passing: bool) -> None:
        """Look at them, every TICK_MS of ticking.py. `passing`: a card is in the head."""
        self._check_supply()
        self._check_bolt(passing)
        if self._acting.dealing.lid_open:
            self._arm_due = True
        elif self._arm_due and not self._journal.unwritten():  # what they said is on flash
            self._arm_due = False
            self._board.arm_latches()

    def _check_supply(self) -> None:
        """Stop play while the supply falls: nothing may be written then."""
        low = not self._board.supply_good()
        if low and not (self._supply_low and self._acting.dealing.error):
            self._acting.carry_out([input_log.STOPPED, SUPPLY_LOW])
        self._supply_low = low

    def _check_bolt(self, passing: bool) -> None:
        """Stop play if the bolt is not where it must be. A card may lie under it while it passes,
        and a head that is covered for long is an error of its own."""
        if self._board.lock_follows():
            self._bolt_ticks = 0
        elif not passing:
            self._bolt_ticks = waited = min(self._bolt_ticks + 1, _BOLT_TICKS + 1)
            if waited == _BOLT_TICKS or (waited > _BOLT_TICKS and not self._acting.dealing.error):
                self._acting.carry_out([input_log.STOPPED, LOCK_STUCK])
