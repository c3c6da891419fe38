"""The whole shoe: a board's inputs to the dealing, its actions to the outputs and the link.

What has happened is queued for the journal at once and goes to the link once it is on flash. The
flash is written in the turns of `_deal`, where there is time between samples.
"""

import asyncio

from sabot_firmware import VERSION, buffers, priority
from sabot_firmware.cards.health import NOTHING as NOTHING_DIRTY
from sabot_firmware.cards.health import Health
from sabot_firmware.cards.passes import Passes
from sabot_firmware.cards.reader import NO_CARD, Reader
from sabot_firmware.cards.reader import NONE as NO_FAULT
from sabot_firmware.heap import Heap
from sabot_firmware.journal.journal import Journal, JournalError
from sabot_firmware.journal.outbox import Outbox
from sabot_firmware.journal.recorder import Recorder
from sabot_firmware.journal.recovery import Resumed, keep_state
from sabot_firmware.journal.ring import NOTE, PASSING
from sabot_firmware.link import commands
from sabot_firmware.link.authentication import Guard
from sabot_firmware.link.link import Link
from sabot_firmware.native import const
from sabot_firmware.release.build import build_of_packages
from sabot_firmware.release.running import Running
from sabot_firmware.store import Store, StoreError
from sabot_firmware.table import dealing, input_log, inputs, panel
from sabot_firmware.table.dealing import Dealing
from sabot_protocol import VERSION as PROTOCOL_VERSION
from sabot_protocol import cards, cbor, enums, events, frame, games, messages
from sabot_protocol.chain import chain_id, command_key

BEHIND_EVENTS = const(160)
"""Events waiting with a host attached from which the display says so."""

_SAMPLE_BYTES = const(512)
_BEHIND_BYTES = const(40)  # 4 ms of samples, which take 2 to go through
_COLLECT_MS = const(1500)  # or MicroPython does it where it must, in the middle of a pass
_TICK_MS = const(50)
_FULL_LINE_PAUSE_MS = const(1)
_ALARM_MS = const(400)
_DONE_MS = const(80)
_SELDOM_MS = const(200)
_CAUGHT_UP = const(16)
"""Events not acknowledged with which a loss is recorded: it must not cost more of them."""
_SURELY_PASSING = const(200)  # samples, 10 ms; a card at 3 m/s takes 500
_MOST_NOTES = const(32)  # to be gone through again after a loss of power
_CALIBRATION = "calibration"
_WRONG_MACS_MS = const(60000)
_FIRST_KEY = "first_key"
_COMMAND_KEY = "command_key"
_NEWS = "provisioned"
_PENDING = "pending"
_CHAIN = "chain"  # its name
_AT_REST = (dealing.NO_SHOE, dealing.BETWEEN, dealing.ENDED)


class Shoe:
    """One unit from power-on. `await run()` never returns. `running` is what the boot loader has
    started."""

    def __init__(self, board, running: "Running | None" = None) -> None:
        self.board = board
        self.running = running or Running()
        self.restart_due = False
        """Whether to start anew as soon as there is time."""
        self.store = Store(board.storage)
        if self.store.load(_PENDING) is not None:
            from sabot_firmware.release.provision import finish  # seldom: it would only take room

            finish(self.store)
        self.unit: str = self.store.load("unit") or board.serial  # type: ignore[assignment]
        settings: dict = self.store.load("settings") or {}  # type: ignore[assignment]
        saved: bytes = self.store.load("game")  # type: ignore[assignment]
        # One that is damaged or unknown puts the shoe out of service: it must not deal another.
        game = games.Game(games.document_of(games.MINI_NAME) if saved is None else saved)
        card_set = settings.get("set", 0)
        self.dealing = Dealing(game, card_set, 0)
        self.journal = self._mount()
        self.journal.may_overwrite = settings.get("when_full") == "go_on"
        resumed = self._resume()
        self.recorder = Recorder(self.journal, resumed.boot + 1, board.ticks_ms)
        self.outbox = Outbox(self.journal, resumed.acknowledged)
        self.reader = Reader(card_set)
        self._runs = memoryview(self.reader.scanner.runs)
        self._turns = priority.Turns(self.reader, self.journal, board.ticks_ms)
        self.passes = Passes(buffers.recent, buffers.faults)
        self.health = Health()
        self._overruns = 0
        self.heap = Heap()
        self._inputs: "list[int]" = []
        self.guard = Guard(self._command_key())
        self._wrong_macs = 0  # that are recorded
        self._wrong_macs_ms = -_WRONG_MACS_MS  # when that was
        self.link = Link(self.outbox, self, self.guard)
        self.game_parts: "list | None" = None
        """A game document that a host is sending, and how many bytes of it have come."""
        self.calibration: "list[int | None]" = self.store.load(_CALIBRATION) or [None] * 5  # type: ignore[assignment]
        """Permille of the four channels that the last test card gave, and when that was."""
        # No pass is in that buffer yet.
        self.build = self.running.build or build_of_packages(buffers.recent)
        self._samples = bytearray(_SAMPLE_BYTES)
        self._to_send = asyncio.Event()
        self._lock = self._lamps = self._text = None
        self._link_shown = self._notice_shown = ""
        self._round_was_open = self.dealing.round_open()
        self._shoe_was = self.dealing.shoe
        self._note = bytearray(64)
        self._state = bytearray(events.MAX_SIZE)
        self._notes = 0  # since the last state
        self._marked = False  # that a card passes
        self._scrubbed = 0  # the sector that is looked at next
        self._record_boot(resumed)
        self.journal.restore_lost()
        self._show()

    async def run(self) -> None:
        """Deal, listen and talk until the power goes."""
        await asyncio.gather(self._deal(), self._listen(), self._talk(), self._tick())

    def welcome(self, session: int) -> "list[list[object]]":
        """The messages that answer a host's `hello`, with which everything starts over."""
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
        """The message that says "I am here" and how things stand."""
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

    def command(self, shape, values: "list[object]") -> "list[object]":
        """Carry out a host's command; returns the message that answers it."""
        answer = commands.run(self, shape, values)
        self._show()
        self._to_send.set()
        return answer

    def acknowledged(self) -> None:
        """The host has more events than before."""
        if self.journal.lost_first and self.outbox.unacked() <= _CAUGHT_UP:
            self.recorder.record_lost("queue_full")
            if not self.reader.scanner.in_pass:
                self._keep_state()  # so that it is not recorded once more after a restart

    def _mount(self) -> Journal:
        """The journal. The unit's first key was left in a document, and is only there till now."""
        journal = Journal(self.board.flash, buffers.journal)
        first_key: bytes = self.store.load(_FIRST_KEY)  # type: ignore[assignment]
        journal.mount(first_key)
        if first_key is not None:
            if journal.chain.secret != first_key:
                raise JournalError("first key for a unit that has one")
            self.store.save(_CHAIN, chain_id(first_key))
            self.store.save(_COMMAND_KEY, command_key(first_key))
            self.store.remove(_FIRST_KEY)
        return journal

    def _command_key(self) -> bytes:
        key: bytes = self.store.load(_COMMAND_KEY)  # type: ignore[assignment]
        if key is None:
            raise StoreError("no command key: flash and provision this board anew")
        return key

    def _resume(self) -> Resumed:
        resumed = Resumed(self.journal, self.dealing)
        self.journal.restore_acknowledged(resumed.acknowledged)
        return resumed

    def _record_boot(self, resumed: Resumed) -> None:
        """The start, and then what had happened and was not on flash when the power went."""
        recorder, dealing, board = self.recorder, self.dealing, self.board
        chain: bytes = self.store.load(_CHAIN)  # type: ignore[assignment]
        start = (board.reset_cause, VERSION, self.build, board.NAME, dealing.game.name, chain)
        recorder.record(events.BOOT, dealing.shoe, dealing.round, start)
        for shape, shoe, round_, values in resumed.missing:
            recorder.record(shape, shoe, round_, values)
        if resumed.checkpoint_due:
            recorder.checkpoint(dealing.shoe, dealing.round)
        if self.journal.lost_first:
            recorder.record_lost("journal_damaged")
        if resumed.lost and not dealing.can_change_game():
            ended = (enums.END_REASONS.index("restart"), None, None)
            recorder.record(events.SHOE_ENDED, dealing.shoe, dealing.round, ended)
        if resumed.lost:
            self._forget()
        if resumed.card_passing:
            self._carry_out([input_log.POWER_LOST])
        switches = board.switches()
        for switch in range(len(enums.SWITCHES)):
            self._switched(switch, switches >> switch & 1 == 1)
        undone = self.running.undone()
        if undone:
            self._record(events.UPDATE_UNDONE, (undone,))
        news: list = self.store.load(_NEWS)  # type: ignore[assignment]
        if news:
            self._record(events.PROVISIONED, tuple(news))
        self._keep_state()
        self.journal.drain()
        if undone:
            self.running.forget_undone()
        if news:
            self.store.remove(_NEWS)

    def _forget(self) -> None:
        """Nobody knows what has happened since the last state: that shoe of cards is over."""
        old = self.dealing
        self.dealing = Dealing(old.game, old.card_set, old.shoe)

    async def _deal(self) -> None:
        board, journal = self.board, self.journal
        while True:
            await board.activity(self._turns.within_ms(), not journal.unwritten())
            self._read_samples()
            self._mark_passing()
            if not journal.stuck:
                self._take_inputs()
            self._check_head()
            self._turns.look()
            if not self._turns.last_marks:
                self._write()
            if not journal.unwritten() and not self.reader.scanner.in_pass:
                self.heap.tend()

    def _write(self) -> None:
        """Do for the journal what the chip is ready for."""
        at_rest = self.at_rest()
        durable = self.journal.durable
        while self.journal.step(at_rest):
            pass
        if self.journal.durable != durable:
            self._to_send.set()

    async def _write_out(self) -> None:
        """What was recorded while no card and no button has `_deal` turn."""
        self._write()
        while self.journal.unwritten():
            await asyncio.sleep_ms(priority.WRITING_MS)
            await self._turns.cards_first()
            self._write()

    @property
    def on_trial(self) -> bool:
        """Whether this release waits for a host to confirm it."""
        return self.running.on_trial

    def at_rest(self) -> bool:
        """Whether no card can come soon: there is time for what takes long."""
        dealing = self.dealing
        card_may_come = dealing.phase not in _AT_REST and not dealing.error
        return not card_may_come and not self.reader.scanner.in_pass

    def _take_inputs(self) -> None:
        board = self.board
        change = board.take_input()
        while change != inputs.NONE:
            self._inputs.append(change)
            change = board.take_input()
        # A card that has shown its code but not left the head comes before them.
        while self._inputs and self.reader.known == NO_CARD:
            self._input_changed(self._inputs.pop(0))

    def _mark_passing(self) -> None:
        """Should the power go now, nobody would know whether the card has come out."""
        scanner = self.reader.scanner
        if self._marked or scanner.passing_samples < _SURELY_PASSING:
            return
        if not self.dealing.can_change_game():
            self._marked = True
            self.journal.put(PASSING, memoryview(self._note), 0)

    def _read_samples(self) -> None:
        """Take what is there. Not until nothing is: on a Pico the next word would come meanwhile,
        and the one behind it, and it would never end."""
        reader, samples = self.reader, self._samples
        size, self._turns.behind = len(samples), False
        while size == len(samples):
            size = self._next_samples()
            at = 0
            if size > _BEHIND_BYTES:
                self._turns.behind = True
            while at < size:
                was_known = reader.known
                at = reader.read(samples, at, size)
                if reader.ended:
                    self._pass_ended()
                elif reader.known != was_known:
                    self._card_known()

    def _next_samples(self) -> int:
        board = self.board
        size = board.read_samples(self._samples)
        if board.overruns != self._overruns:
            # Before they are read: they do not follow what was read last.
            self._overruns = board.overruns
            self._marked = False
            self.reader.samples_lost()
            self._carry_out([input_log.SAMPLES_LOST])
        return size

    def _card_known(self) -> None:
        """The lock does now what it will have to do once the card has left."""
        self._set_lock()

    def _pass_ended(self) -> None:
        self.heap.due = True
        marked, self._marked = self._marked, False
        passed, dealing = self.reader.passed, self.dealing
        if not passed.samples:
            if marked or not dealing.error:  # the mark must not outlast what became of the card
                self._carry_out([input_log.SENSOR_FAILED])
        elif passed.card == cards.TEST_CARD and dealing.can_change_game():
            self._calibrate()
        else:
            figures = [
                passed.speed_mm_s,
                passed.margin_permille,
                passed.skew_um,
                passed.samples,
            ]
            if passed.fault == NO_FAULT:
                self._carry_out([input_log.CARD, passed.card] + figures)
                self._watch_health()
            else:
                self._carry_out([input_log.FAULT, passed.fault] + figures)
        scanner = self.reader.scanner
        runs = self._runs[: scanner.close_runs()]
        self.passes.keep(passed, runs, scanner.cut, self.board.ticks_ms())

    def _sensor_failed(self) -> None:
        if not self.dealing.error:
            self._carry_out([input_log.SENSOR_FAILED])

    def _check_head(self) -> None:
        if self.reader.blocked:
            self._sensor_failed()

    def _watch_health(self) -> None:
        channel = self.health.add(self.reader.passed.permille)
        if channel != NOTHING_DIRTY:
            told = (channel, self.health.mean_permille(channel))
            self._record(events.CLEAN_SENSOR, told)

    def _calibrate(self) -> None:
        """The test card has passed with no cards in play: what the head sees of it is kept."""
        passed = self.reader.passed
        self.calibration = passed.permille + [self.recorder.unix_ms()]
        self.store.save(_CALIBRATION, self.calibration)
        figures = (passed.speed_mm_s, passed.margin_permille, passed.skew_um, passed.samples)
        self._record(events.CALIBRATED, tuple(passed.permille) + figures)
        self.board.buzz(_DONE_MS)

    def _record(self, shape, values: tuple) -> None:
        self.recorder.record(shape, self.dealing.shoe, self.dealing.round, values)
        self._show()
        self._to_send.set()

    def _input_changed(self, change: int) -> None:
        if change < inputs.BUTTON_COUNT:
            if not self.on_trial:  # no round begins that the other release would have to end
                self._carry_out([input_log.PRESSED, change])
        else:
            switch, on = divmod(change - inputs.BUTTON_COUNT, 2)
            self._switched(switch, on == 1)

    def _switched(self, switch: int, on: bool) -> None:
        """A switch stands so now, which may be as it stood when the power went."""
        dealing = self.dealing
        if on != (dealing.lid_open, dealing.key_on, dealing.service_on)[switch]:
            self._carry_out([input_log.SWITCHED, switch, on])

    def _carry_out(self, note: list) -> None:
        """Give the dealing an input, and do what comes of it."""
        size = cbor.encode_array(self._note, 0, note, len(note))
        self.journal.put(NOTE, memoryview(self._note), size)
        self._notes += 1
        self._act(input_log.carry_out(self.dealing, note))
        if self.journal.full() and not self.dealing.error and not self.dealing.round_open():
            self._carry_out([input_log.JOURNAL_FULL])

    def _act(self, actions: list) -> None:
        """The lock follows at once; then what happened is recorded, then shown."""
        dealing = self.dealing
        had_error = self._lamps is not None and self._lamps & 1 << panel.ERROR_LAMP
        self._set_lock()
        ended = False
        for shape, shoe, round_, values in actions:
            self.recorder.record(shape, shoe, round_, values)
            ended = ended or shape is events.COMPOSITION
        if ended:
            self.recorder.checkpoint(dealing.shoe, dealing.round)
        self._show()
        if dealing.error and not had_error:
            self.board.buzz(_ALARM_MS)
        self._keep_state_between()

    def _keep_state_between(self) -> None:
        """Where a round or a shoe of cards began or ended: there is time between rounds."""
        dealing = self.dealing
        round_ended = self._round_was_open and not dealing.round_open()
        self._round_was_open = dealing.round_open()
        if round_ended or dealing.shoe != self._shoe_was or self._notes >= _MOST_NOTES:
            if not self.reader.scanner.in_pass:
                self._keep_state()

    def _keep_state(self) -> None:
        self._shoe_was = self.dealing.shoe
        self._notes = 0
        keep_state(self.journal, self.recorder.boot, self.dealing, self._state)

    def _set_lock(self) -> None:
        dealing, passing = self.dealing, self.reader.known
        released = dealing.lock_released() if passing == NO_CARD else dealing.lock_after(passing)
        released = released and not self.on_trial
        if released != self._lock:
            self._lock = released
            self.board.set_lock(released)

    def _show(self) -> None:
        self._set_lock()
        lit = panel.lamps_of(self.dealing)
        if lit != self._lamps:
            self._lamps = lit
            self.board.set_lamps(lit)
        self._link_shown, self._notice_shown = self._link_words(), self._notice()
        text = panel.text_of(self.dealing, self._link_shown, self._notice_shown)
        if text != self._text:
            self._text = text
            self.board.show(text)

    def _show_link(self) -> None:
        """Show what changes without an input; only then: the text is all new objects."""
        self._set_lock()
        if self._link_words() != self._link_shown or self._notice() != self._notice_shown:
            self._show()

    def _notice(self) -> str:
        if self.on_trial:
            return panel.ON_TRIAL
        dirty = self.health.dirty
        for channel in range(len(enums.CHANNELS)):
            if dirty >> channel & 1:
                return "CLEAN SENSOR " + enums.CHANNELS[channel].upper()
        return ""

    def _link_words(self) -> str:
        if not self.link.listening:
            return panel.NO_HOST
        if self.outbox.unacked() > BEHIND_EVENTS:
            return panel.LOG_BEHIND
        return panel.HOST

    async def _listen(self) -> None:
        while True:
            data = await self.board.read_link()
            at = 0
            while at < len(data):
                # A frame a turn: what a host asks for in one piece would keep the cards waiting.
                end = data.find(b"\0", at) + 1 or len(data)
                await self._turns.cards_first()
                self.link.feed(data[at:end], self.board.ticks_ms())
                at = end
                while at < len(data) and data[at] == 0:
                    at += 1  # zeros alone are no frames
                await asyncio.sleep_ms(0)
            self._to_send.set()
            await self._write_out()

    async def _talk(self) -> None:
        view = memoryview(self.link.out)
        while True:
            await self._turns.cards_first()
            size = self.link.fill(self.board.ticks_ms())
            at = 0
            while at < size:
                await self._turns.cards_first()
                written = self.board.write_link(view[at:size])
                at += written
                # A slow line must not keep the cards waiting.
                await asyncio.sleep_ms(0 if written else _FULL_LINE_PAUSE_MS)
            if not size:
                await self._to_send.wait()
                self._to_send.clear()
            else:
                await asyncio.sleep_ms(0)

    async def _tick(self) -> None:
        collected_ms = seldom_ms = 0
        leaving = False
        while True:
            await asyncio.sleep_ms(_TICK_MS)
            await self._turns.cards_first()
            collected_ms += _TICK_MS
            seldom_ms += _TICK_MS
            passing = self.reader.scanner.in_pass
            if collected_ms >= _COLLECT_MS and not passing:
                collected_ms = 0
                self.heap.due = True
            if not passing and self.journal.state_is_far():
                self._keep_state()  # what a host has recorded moves no note count
            if seldom_ms >= _SELDOM_MS:
                seldom_ms = 0
                self.heap.fill_gaps()
                if self.at_rest():
                    self._scrubbed = self.journal.scrub(self._scrubbed)
            self._record_faults()
            await self._write_out()
            self._show_link()
            self._to_send.set()
            alive = self.running.lives(self.board.ticks_ms())
            if not alive or (leaving and self.at_rest()):
                self._restart()
            leaving = self.restart_due  # a tick later: the host is to have its answer

    def _restart(self) -> None:
        self.journal.drain()
        self.board.reset()

    def _record_faults(self) -> None:
        while self.journal.faults:
            self._record(events.JOURNAL_FAULT, self.journal.faults.pop(0))
        while self.outbox.left_out:
            first, last = self.outbox.left_out.pop(0)
            reason = enums.GAP_REASONS.index("journal_damaged")
            self._record(events.GAP, (first, last, reason, b""))
        now_ms = self.board.ticks_ms()
        if self.guard.wrong != self._wrong_macs and now_ms - self._wrong_macs_ms >= _WRONG_MACS_MS:
            self._wrong_macs, self._wrong_macs_ms = self.guard.wrong, now_ms
            self._record(events.WRONG_MACS, (self._wrong_macs,))
