"""The journal and the outbox of a shoe in any order of events, acknowledgements and losses of
power, against a list of what was recorded. It needs hypothesis, and so CPython."""

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import protocol.tests.without_clocks  # noqa: F401
from firmware.tests.fakes.fake_flash import AFTER, BEFORE, TORN, PowerCut
from firmware.tests.support.ledger import Ledger
from sabot_firmware.journal.outbox import Outbox


class OutboxMachine(RuleBasedStateMachine):
    """A shoe that keeps every event which no host has acknowledged, and its hosts."""

    @initialize()
    def begin(self) -> None:
        self.ledger = Ledger()
        self.acknowledged = 0
        """The last event that any host has acknowledged."""
        self.outbox = Outbox(self.ledger.journal, 0)
        self.due = 1
        """The event that the host gets next."""

    def _full(self) -> bool:
        journal = self.ledger.journal
        return bool(journal.stuck) or journal.spare_sectors() < 1

    def _start_again(self) -> None:
        self.ledger.flash.power_on()
        journal = self.ledger.restart(check=False)
        journal.restore_acknowledged(self.kept)
        journal.restore_lost()
        assert journal.lost_first == 0
        self.outbox = Outbox(journal, self.kept)
        self.due = self.kept + 1

    @rule(count=st.integers(1, 40))
    def record(self, count: int) -> None:
        for _ in range(count):
            if self._full():  # as a shoe, which stops dealing then
                return
            self.ledger.some()

    @rule(steps=st.integers(1, 60), at_rest=st.booleans())
    def write(self, steps: int, at_rest: bool) -> None:
        for _ in range(steps):
            self.ledger.journal.step(at_rest)

    @rule(
        after=st.integers(0, 25),
        where=st.sampled_from((BEFORE, TORN, AFTER)),
        kept_share=st.sampled_from((0, 50, 100)),
    )
    def lose_the_power(self, after: int, where: int, kept_share: int) -> None:
        """After some operations on the flash. The state that the shoe finds may be older than what
        was acknowledged since."""
        flash, journal = self.ledger.flash, self.ledger.journal
        oldest = journal.first_held - 1
        self.kept = max(oldest, oldest + (self.acknowledged - oldest) * kept_share // 100)
        flash.cut_at, flash.cut = flash.operations + after, where
        try:
            for _ in range(40):
                if not self._full():
                    self.ledger.some()
                journal.step(True)
            journal.drain()
        except PowerCut:
            pass
        self.kept = max(self.kept, 0)
        self._start_again()

    @rule(count=st.integers(1, 30))
    def take(self, count: int) -> None:
        for _ in range(count):
            taken = self.outbox.take()
            if taken is None:
                assert self.due > self.ledger.journal.durable
                return
            number = int.from_bytes(taken.record[:4], "big")
            assert number == self.due, "each one, in order"
            assert bytes(taken.mac) == self.ledger.macs[number]
            self.due += 1

    @rule(ahead=st.integers(-5, 3))
    def acknowledge(self, ahead: int) -> None:
        """Of what it has got, some; or of what it has not got."""
        number = max(0, self.due - 1 + ahead)
        known = self.outbox.acknowledge(number)
        assert known == (number <= self.ledger.journal.durable)
        if known:
            self.acknowledged = max(self.acknowledged, number)
            self.due = max(self.due, self.outbox.acked + 1)

    @rule()
    def ask_again(self) -> None:
        self.outbox.rewind()
        self.due = min(self.due, self.outbox.acked + 1)

    @rule(fewer=st.integers(0, 200))
    def another_host(self, fewer: int) -> None:
        """One that has fewer events than the shoe may have forgotten."""
        has = max(0, self.acknowledged - fewer)
        assert self.outbox.serve_from(has)
        self.due = max(has + 1, self.ledger.journal.first_held)

    @invariant()
    def no_event_is_lost_that_no_host_has(self) -> None:
        if not hasattr(self, "ledger"):
            return
        journal = self.ledger.journal
        assert journal.first_held <= self.acknowledged + 1
        assert journal.acknowledged() <= self.acknowledged
        assert self.outbox.acked <= max(self.acknowledged, journal.first_held - 1)

    def teardown(self) -> None:
        """Every event that is held is read as it was recorded."""
        if hasattr(self, "ledger"):
            self.ledger.flash.power_on()
            self.ledger.drain()
            self.ledger.check()


TestOutboxMachine = OutboxMachine.TestCase
TestOutboxMachine.settings = settings(
    max_examples=12,
    stateful_step_count=40,
    deadline=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)
