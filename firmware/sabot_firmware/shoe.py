"""The whole shoe: its parts, its start, and the four tasks that share the processor.

`sensing` passes what happened to `acting`. `acting` gives it to the dealing, records the outcome
and lets `presenting` show it. `ticking` does the periodic work. Events are queued for the journal
at once and go to the link once they are on flash. `_deal` writes the flash when it has time between
samples.
"""

import asyncio

from sabot_firmware import VERSION, buffers
from sabot_firmware.acting import Acting
from sabot_firmware.boards import SERVICE_MS
from sabot_firmware.cards.health import Health
from sabot_firmware.cards.passes import Passes
from sabot_firmware.cards.reader import Reader
from sabot_firmware.heap import Heap
from sabot_firmware.journal.journal import Journal
from sabot_firmware.journal.outbox import Outbox
from sabot_firmware.journal.randomness import Randomness
from sabot_firmware.journal.recorder import Recorder
from sabot_firmware.journal.recovery import Recovery
from sabot_firmware.link import commands
from sabot_firmware.link.authentication import CommandGuard
from sabot_firmware.link.link import Link
from sabot_firmware.native import const
from sabot_firmware.panel import Presenting
from sabot_firmware.priority import WRITING_MS, CardPriority
from sabot_firmware.release.running import RunningRelease
from sabot_firmware.sensing import LATE_BYTES, Sensing
from sabot_firmware.store import SettingsStore, StoreError
from sabot_firmware.table import input_log, shoe_of_cards
from sabot_firmware.table.dealing import Dealing
from sabot_firmware.ticking import TICK_MS, Ticking
from sabot_protocol import VERSION as PROTOCOL_VERSION
from sabot_protocol import enums, events, frame, games, messages

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.interfaces import Board
    from sabot_firmware.journal.seals import Seals
    from sabot_firmware.sealing import Sealing
    from sabot_protocol.schema import Shape

_FULL_LINE_PAUSE_MS = const(1)
_CAUGHT_UP = const(16)
"""A loss is recorded once no more events than this wait for an acknowledgement: recording it must
not overwrite more of them."""
_COMMAND_KEY = "command_key"
_NEWS = "provisioned"
_PENDING = "pending"
_CHAIN = "chain"  # its name
# Places in `turns` of ticking.py, and what is there.
_LISTEN = const(0)
_TALK = const(1)
_TICK = const(2)
_JOURNAL = const(3)
_HAD_TURN = const(1)
_WAITS = const(2)
_SUPPLY_LOOKS = const(100)  # 5 s
_AT_REST = (shoe_of_cards.NO_SHOE, shoe_of_cards.BETWEEN, shoe_of_cards.ENDED)


class Shoe:
    """One unit from power-on. `await run()` never returns. `running` is the release that the boot
    loader has started."""

    def __init__(self, board: "Board", running: "RunningRelease | None" = None) -> None:
        self.board = board
        looks = 0
        while not board.supply_good():  # a start writes
            looks += 1
            if looks > _SUPPLY_LOOKS:
                raise RuntimeError("SUPPLY LOW")
            board.feed()
            board.sleep_ms(TICK_MS)
        self.running = running or RunningRelease()
        self.restart_due = False
        """Whether to restart as soon as no card can come."""
        self.store = SettingsStore(board.storage)
        if self.store.load(_PENDING) is not None:
            from sabot_firmware.release.provision import finish  # rarely needed: saves heap

            finish(self.store)
        self.unit: str = self.store.load("unit") or board.serial  # type: ignore[assignment]
        settings: dict = self.store.load("settings") or {}  # type: ignore[assignment]
        saved: bytes = self.store.load("game")  # type: ignore[assignment]
        if saved is None:
            from sabot_protocol import baccarat  # other families do not need it: saves heap

            saved = baccarat.document_of(baccarat.MINI_NAME)
        # A damaged or unknown document puts the shoe out of service: it must not deal another game.
        game = games.game_of(saved)
        card_set: int = settings.get("set", 0)
        self.dealing = Dealing(game, card_set, 0)
        self.journal = Journal(board.flash, buffers.journal)
        self.journal.alive = board.feed
        self.journal.may_write = board.supply_good
        # The buffer of passes serves as a work buffer: it holds no pass yet.
        self.journal.mount(buffers.recent)
        self.journal.may_overwrite = settings.get("when_full") == "go_on"
        self.command_key = key = self._command_key()
        self.randomness = Randomness(board, self.journal, self.store, key, buffers.recent)
        self._secret_is_weak = not self.randomness.has_host_bytes
        """Whether the sealing secret may be one that was made without random bytes of a host."""
        self.sealing: "Sealing | None" = None
        """Seals the cards that lie face down; None if there were none."""
        resumed = Recovery(self.journal, self.dealing, self.open_seals)
        if game.face_down:
            self.open_seals()
        self.journal.restore_acknowledged(resumed.acknowledged)
        self.recorder = Recorder(self.journal, resumed.boot + 1, board.ticks_ms)
        if self.sealing is not None:
            self.recorder.seals = self.sealing.seals
        self.outbox = Outbox(self.journal, resumed.acknowledged)
        self.reader = Reader(card_set)
        self._priority = CardPriority(self.reader, board.ticks_ms)
        self.passes = Passes(buffers.recent, buffers.faults)
        self.health = Health()
        self.heap = Heap()
        self.guard = CommandGuard(key, self.randomness.take)
        self.link = Link(self.outbox, self, self.guard)
        self.game_parts: "list | None" = None
        """A game document that a host is sending, and how many of its bytes have arrived."""
        self.build = self.running.build
        if not self.build:
            from sabot_firmware.release import build  # rarely needed: saves heap and 13 ms

            self.build = build.build_of_packages(buffers.recent)
        self._to_send = asyncio.Event()
        self.presenting = Presenting(
            board, self.dealing, self.reader, self.running, self.health, self.link, self.outbox
        )
        if self.sealing is not None:
            self.sealing.prepare(self.dealing, self.recorder, self.presenting, True)
        self.acting = Acting(
            board, self.running, self.journal, self.recorder, self.dealing, self.reader,
            self.presenting, self.passes, self._to_send.set, self.randomness.mark_time,
        )  # fmt: skip
        self.sensing = Sensing(
            board, self.store, self.acting, self.presenting, self.reader, self.passes,
            self.health, self.heap,
        )  # fmt: skip
        self.calibration = self.sensing.calibration
        self.ticking = Ticking(
            board, self.journal, self.outbox, self.guard, self.heap, self.running, self.reader,
            self.acting, self.at_rest,
        )  # fmt: skip
        self._record_boot(resumed, settings.get("check_cards") == "if_opened")
        self.journal.restore_lost()
        self.journal.alive = None
        self.presenting.show()
        self.store.heap = self.heap
        self.heap.take_spare()

    async def run(self) -> None:
        """Run the four tasks until the power goes. Raises what a task raises."""
        self.board.watch(SERVICE_MS)
        await asyncio.gather(self._deal(), self._listen(), self._talk(), self._tick())

    def welcome(self, session: int) -> "list[list[object]]":
        """Return the messages that answer a host's `hello`. A game document that was being sent is
        dropped."""
        self.game_parts = None
        outbox = self.outbox
        game = self.dealing.game
        return [
            [
                messages.WELCOME.number,
                session,
                PROTOCOL_VERSION,
                self.unit,
                self.recorder.boot,
                self.board.reset_cause,
                outbox.first_held,
                outbox.next_number - 1,
                frame.MAX_PAYLOAD,
            ],
            [messages.FIRMWARE.number, session, VERSION, self.build, self.board.NAME],
            [messages.GAME.number, session, game.name, game.sha256],
        ]

    def heartbeat(self, now_ms: int) -> "list[object]":
        """Return the `heartbeat`: the shoe is alive, with its phase, error, shoe and round."""
        outbox = self.outbox
        dealing = self.dealing
        return [
            messages.HEARTBEAT.number,
            now_ms,
            dealing.phase,
            dealing.error,
            dealing.shoe,
            dealing.round,
            outbox.first_held,
            outbox.next_number - 1,
        ]

    def command(self, shape: "Shape", values: "list[object]") -> "list[object]":
        """Carry out a host's command; return the message that answers it."""
        answer = commands.run(self, shape, values)
        self.presenting.show()
        self._to_send.set()
        return answer

    def acknowledged(self) -> None:
        """Record a loss of events, if there was one, once the host has acknowledged enough."""
        if self.journal.lost_first and self.outbox.unacked() <= _CAUGHT_UP:
            self.recorder.record_lost("queue_full")
            if not self.reader.scanner.in_pass:
                self.acting.keep_state()  # so that a restart does not record it again

    def open_seals(self) -> "Seals":
        """Return what seals cards, under the unit's secret. A unit without a secret makes one."""
        if self.sealing is None:
            from sabot_firmware.sealing import Sealing  # only for games with cards face down

            self.sealing = Sealing(self.store, self.journal, self.randomness)
        return self.sealing.seals

    def prepare_for(self, game: "games.FamilyGame") -> None:
        """Make the secret for a game that is loaded, if cards lie face down in it: the one that is
        stored may be of a time before the unit had random bytes of a host. No card is sealed now,
        and nothing in the journal that is still needed."""
        if game.face_down and self.randomness.has_host_bytes:
            from sabot_firmware.sealing import new_part

            new_part(self.store, self.randomness)
            self.sealing = None
            self._secret_is_weak = False

    def hold_rounds(self) -> None:
        """Stop play before the next round with sealed cards, as long as the secret is weak."""
        self.acting.held = self._secret_is_weak and self.dealing.game.face_down
        self.acting.hold_if_due()

    def maintain_seals(self) -> None:
        """Replace the secret that seals cards, if that is due, and make ready what the next hand
        needs."""
        sealing, dealing = self.sealing, self.dealing
        if sealing is not None:
            if not dealing.sealed and self.at_rest() and sealing.renew(self.acting):
                self._secret_is_weak = False
            passing = self.reader.scanner.in_pass
            if sealing.prepare(dealing, self.recorder, self.presenting, passing):
                self.heap.due = True

    def tend_randomness(self) -> None:
        """Do what is due for random numbers: renew the sealing secret, stop play or end the stop,
        stir in new samples after a round, keep the pool."""
        acting, randomness = self.acting, self.randomness
        self.maintain_seals()
        self.hold_rounds()
        # A pool with bytes of a host is kept only once no card can be sealed under an older secret.
        if not acting.held and self.at_rest():
            randomness.keep(self.board.ticks_ms())
        acting.end_hold()
        if acting.round_over and self.at_rest():
            acting.round_over = False
            randomness.stir_between()

    def _command_key(self) -> bytes:
        key: bytes = self.store.load(_COMMAND_KEY)  # type: ignore[assignment]
        if key is None:
            raise StoreError("no command key: flash and provision this board again")
        return key

    def _record_boot(self, resumed: Recovery, trusts_latch: bool) -> None:
        """Record the start, then the events that were not yet on flash when the power went.
        `trusts_latch`: the house is asked only if a latch says that the lid was opened."""
        recorder, dealing, board = self.recorder, self.dealing, self.board
        chain: bytes = self.store.load(_CHAIN)  # type: ignore[assignment]
        opened = (board.lid_opened, board.compartment_opened)
        start = (board.reset_cause, VERSION, self.build, board.NAME, dealing.game.name, chain)
        start += opened
        recorder.record(events.BOOT, dealing.shoe, dealing.round, start)
        for shape, shoe, round_, values in resumed.missing:
            recorder.record(shape, shoe, round_, values)
        sealing = self.sealing
        if resumed.escrow_due and sealing is not None and sealing.seals.number:
            sealing.record_escrow(recorder, dealing.shoe, dealing.round)
        if resumed.checkpoint_due:
            recorder.checkpoint(dealing.shoe, dealing.round)
        if self.journal.lost_first:
            recorder.record_lost("journal_damaged")
        if resumed.lost and sealing is not None and sealing.seals.number:
            opens = () if dealing.game.house.get("voided_cards") != "never" else (b"",)
            recorder.record(events.UNSEALED, dealing.shoe, dealing.round, opens)
        if resumed.lost and not dealing.can_change_game():
            ended = (enums.END_REASONS.index("restart"), None, None)
            recorder.record(events.SHOE_ENDED, dealing.shoe, dealing.round, ended)
        if resumed.lost:
            resumed.start_over()
        if resumed.card_passing:
            self.acting.carry_out([input_log.POWER_LOST])
        switches = board.switches()
        for switch in range(len(enums.SWITCHES)):
            self.acting.switched(switch, switches >> switch & 1 == 1)
        # After the switches: a key that was turned without power has seen no question.
        # The cards are as they were if a program watched the lid until this start, or if the house
        # trusts a latch that remembers an opened lid.
        if not (board.lid_watched or (trusts_latch and opened[0] is False)) or True in opened:
            self.acting.unchecked = True
            self.acting.ask_if_due()
        undone = self.running.undone()
        if undone:
            self.acting.record(events.UPDATE_UNDONE, (undone,))
        news: list = self.store.load(_NEWS)  # type: ignore[assignment]
        if news:
            self.acting.record(events.PROVISIONED, tuple(news))
        self.hold_rounds()
        self.acting.keep_state()
        self.journal.drain()
        self.acting.watch_lid()
        if undone:
            self.running.forget_undone()
        if news:
            self.store.remove(_NEWS)

    async def _deal(self) -> None:
        board, journal, priority = self.board, self.journal, self._priority
        sensing, acting, heap, scanner = self.sensing, self.acting, self.heap, self.reader.scanner
        look, look_bytes = self.ticking.look, board.LOOK_BYTES
        writing, judged = True, 0
        while True:
            await board.wait_for_activity(priority.within_ms(writing), not writing)
            size = sensing.read()
            priority.late = size > LATE_BYTES
            judged += size
            if scanner.in_pass:
                if not sensing.passing_marked:
                    sensing.mark_passing()
            elif scanner.blocked:
                sensing.stop_if_blocked()
            if not journal.stuck:
                acting.take_inputs()
            priority.update()
            while priority.last_marks and sensing.read(True):
                # Nothing else may run now, so no other task gets a turn: that would take 2 ms.
                priority.update()
                pause_ms = priority.pause_ms()
                if pause_ms > 0:
                    board.sleep_ms(pause_ms)
            writing = journal.unwritten()
            if writing:
                if priority.may_write:
                    self._write()
            elif not scanner.in_pass:
                heap.maintain()
            if judged >= look_bytes and not priority.decision_near:
                judged = 0
                look()

    def _write(self) -> None:
        """Do all journal steps that the chip is ready for."""
        at_rest, card_near = self.at_rest(), self._priority.decision_near
        durable = self.journal.durable
        while self.journal.step(at_rest, card_near):
            self.ticking.turns[_JOURNAL] = _HAD_TURN
        if self.journal.durable != durable:
            self._to_send.set()

    async def _write_out(self, task: int) -> None:
        """Write all queued entries, for a `task`, a place in `turns`: without a card or a button
        `_deal` would not run for them."""
        await self._priority.cards_first()
        self._write()
        while self.journal.unwritten():
            self.ticking.turns[task] = _HAD_TURN
            await asyncio.sleep_ms(WRITING_MS)
            await self._priority.cards_first()
            self._write()

    def at_rest(self) -> bool:
        """Whether no card can come soon, so that there is time for long work."""
        dealing = self.dealing
        card_may_come = dealing.phase not in _AT_REST and not dealing.error
        return not card_may_come and not self.reader.scanner.in_pass

    async def _listen(self) -> None:
        turns = self.ticking.turns
        while True:
            while not self.board.supply_good():  # a command may write to the board's own flash
                turns[_LISTEN] = _HAD_TURN
                await asyncio.sleep_ms(WRITING_MS)
            await self._priority.cards_first()
            turns[_LISTEN] = _WAITS
            data = await self.board.read_link()
            turns[_LISTEN] = _HAD_TURN
            at = 0
            while at < len(data):
                # One frame a turn: several requests in one piece would delay the cards.
                end = data.find(b"\0", at) + 1 or len(data)
                await self._priority.cards_first()
                turns[_LISTEN] = _HAD_TURN
                self.link.feed(data[at:end], self.board.ticks_ms())
                if data[end - 1] == 0:
                    self.heap.frame_taken()
                at = end
                while at < len(data) and data[at] == 0:
                    at += 1  # a zero alone is not a frame
                await asyncio.sleep_ms(0)
            self._to_send.set()
            await self._write_out(_LISTEN)

    async def _talk(self) -> None:
        view = memoryview(self.link.out)
        turns = self.ticking.turns
        while True:
            await self._priority.cards_first()
            size = self.link.fill(self.board.ticks_ms())
            at = 0
            while at < size:
                await self._priority.cards_first()
                turns[_TALK] = _HAD_TURN
                written = self.board.write_link(view[at:size])
                at += written
                # A slow line must not delay the cards.
                await asyncio.sleep_ms(0 if written else _FULL_LINE_PAUSE_MS)
            if not size:
                turns[_TALK] = _WAITS
                await self._to_send.wait()
                turns[_TALK] = _HAD_TURN
                self._to_send.clear()
            else:
                await asyncio.sleep_ms(0)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep_ms(TICK_MS)
            await self._priority.cards_first()
            self.ticking.turns[_TICK] = _HAD_TURN
            self.ticking.tick()
            if self.board.supply_good():
                self.tend_randomness()
            await self._write_out(_TICK)
            self.presenting.show_changes()
            self._to_send.set()
            self.ticking.restart_if_due(self.restart_due)
