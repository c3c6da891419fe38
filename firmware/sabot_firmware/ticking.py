"""The periodic work of the shoe: memory, checking the journal, recording faults, restarts, and the
watchdog.

The watchdog is fed as long as the work of the shoe goes on. `_deal` of shoe.py calls `look` once it
has judged the samples of a fifth of a second. Each of the other tasks says in `turns` that it has
come to a turn, or that it waits for something from outside; so does the journal when it has written
something. If one of them has done neither for too long, or the lock is open and must be shut, the
watchdog resets the board at once. If `_deal` itself stops, nothing feeds the watchdog, which then
does it.
"""

from sabot_firmware.native import const
from sabot_protocol import enums, events

if 1 - 1:  # for type checkers: interfaces.pyi
    from collections.abc import Callable

    from sabot_firmware.acting import Acting
    from sabot_firmware.cards.reader import Reader
    from sabot_firmware.heap import Heap
    from sabot_firmware.interfaces import Board
    from sabot_firmware.journal.journal import Journal
    from sabot_firmware.journal.outbox import Outbox
    from sabot_firmware.link.authentication import CommandGuard
    from sabot_firmware.optional_parts import OptionalParts
    from sabot_firmware.release.running import RunningRelease

TICK_MS = const(50)
"""How often to call `tick`."""

# Otherwise MicroPython collects when it must, in the middle of a pass. With 1500 the heap had no
# room for the garbage of that time and of one pass, in some orders of its objects.
_COLLECT_MS = const(1000)
_SELDOM_MS = const(200)

_JOURNAL = const(3)  # a place in `turns`; before it the tasks listen, talk and tick of shoe.py
_HAD_TURN = const(1)
_WAITS = const(2)

_MOST_LOOKS = const(10)  # 2 s
_SETTLED_LOOKS = const(300)  # a minute
_NOW_MS = const(1)
_COMMAND = enums.RESET_CAUSES.index("command")
_WRONG_MACS_MS = const(60000)


class Ticking:
    """The periodic work of a shoe. `at_rest` says whether no card can come soon."""

    def __init__(
        self,
        board: "Board",
        journal: "Journal",
        outbox: "Outbox",
        guard: "CommandGuard",
        heap: "Heap",
        running: "RunningRelease",
        reader: "Reader",
        acting: "Acting",
        at_rest: "Callable[[], bool]",
    ) -> None:
        self._board = board
        self._journal = journal
        self._outbox = outbox
        self._guard = guard
        self._heap = heap
        self._running = running
        self._reader = reader
        self._acting = acting
        self._at_rest = at_rest
        self._collected_ms = self._seldom_ms = 0
        self._scrubbed = 0  # the sector to check next
        self._wrong_macs = 0  # recorded so far
        self._wrong_macs_ms = -_WRONG_MACS_MS  # when they were last recorded
        self._leaving = False
        self._parts: "OptionalParts | None" = None
        if board.SENSES:
            from sabot_firmware.optional_parts import OptionalParts

            self._parts = OptionalParts(board, journal, acting)
        self.turns = bytearray((_HAD_TURN, _HAD_TURN, _HAD_TURN, 0))
        """What each has done since the last look: _HAD_TURN; _WAITS, for something from outside,
        until it says otherwise; or 0."""
        self._idle = bytearray(len(self.turns))  # looks since each has done anything
        self._looks = 0  # since a start after something went wrong

    def look(self) -> None:
        """Feed the watchdog if all work goes on; otherwise let it reset the board now."""
        board, turns, idle = self._board, self.turns, self._idle
        goes_on = board.lock_obeys()
        for i in range(len(turns)):
            idle[i] += 1
            if turns[i] or (i == _JOURNAL and not self._journal.unwritten()):
                idle[i] = 0
                turns[i] &= _WAITS
            elif idle[i] > _MOST_LOOKS:
                goes_on = False
        while not goes_on:
            board.watch(_NOW_MS)
        board.feed()
        if board.restarts:
            self._looks += 1
            if self._looks > _SETTLED_LOOKS:
                board.settle()

    def tick(self) -> None:
        """Do the work that is due. Called every TICK_MS while no card is near its decision."""
        self._collected_ms += TICK_MS
        self._seldom_ms += TICK_MS
        passing = self._reader.scanner.in_pass
        if self._collected_ms >= _COLLECT_MS and not passing:
            self._collected_ms = 0
            self._heap.due = True
            if self._at_rest():
                self._heap.take_spare()  # if it could not be had again after the last work
        if not passing and self._journal.state_is_far():
            self._acting.keep_state()  # events of commands count no notes
        if self._seldom_ms >= _SELDOM_MS:
            self._seldom_ms = 0
            self._heap.fill_gaps()
            if self._at_rest():
                self._scrubbed = self._journal.scrub(self._scrubbed)
        self.record_faults()
        if self._parts is not None:
            self._parts.tick(passing)
        self._acting.watch_lid()
        self._acting.ask_if_due()

    def record_faults(self) -> None:
        """Record the faults of the journal, the events it could not read, and wrong MACs."""
        journal, record = self._journal, self._acting.record
        while journal.faults:
            record(events.JOURNAL_FAULT, journal.faults.pop(0))
        while self._outbox.left_out:
            first, last = self._outbox.left_out.pop(0)
            reason = enums.GAP_REASONS.index("journal_damaged")
            record(events.GAP, (first, last, reason, b""))
        now_ms, wrong = self._board.ticks_ms(), self._guard.wrong
        if wrong != self._wrong_macs and now_ms - self._wrong_macs_ms >= _WRONG_MACS_MS:
            self._wrong_macs, self._wrong_macs_ms = wrong, now_ms
            record(events.WRONG_MACS, (wrong,))

    def restart_if_due(self, asked: bool) -> None:
        """Restart if a trial has ended without confirmation. If a restart was `asked` for, restart
        at rest and one tick later, so that the host gets its answer first."""
        alive = self._running.may_go_on(self._board.ticks_ms())
        if not alive or (self._leaving and self._at_rest()):
            if alive:
                self._acting.keep_state()  # older firmware cannot open what is sealed in notes
            self._journal.drain()
            self._board.reset(_COMMAND)
        self._leaving = asked
