"""The whole shoe: a board's inputs to the dealing, its actions to the outputs and the link."""

import asyncio
import gc

from firmware import VERSION, buffers, commands, inputs, panel
from firmware.build import build_hash
from firmware.dealing import Dealing
from firmware.health import NOTHING as NOTHING_DIRTY
from firmware.health import Health
from firmware.link import Link
from firmware.passes import Passes
from firmware.reader import NO_CARD, Reader
from firmware.reader import NONE as NO_FAULT
from firmware.recorder import Recorder
from firmware.store import Store
from protocol import VERSION as PROTOCOL_VERSION
from protocol import cards, events, frame, games, messages, words

BEHIND_EVENTS = 160
"""Events waiting with a host attached from which the display says so."""

_SAMPLE_BYTES = 512
_IDLE_MS = 8  # a card at 3 m/s shows its last mark 20 ms after its edge
_PASSING_MS = 2
_LAST_MARKS_MS = 1
_MANY_MARKS = 12
_COLLECT_MS = 2000
_TICK_MS = 50
_REST_MS = 2000
_FULL_LINE_PAUSE_MS = 1
_ALARM_MS = 400
_DONE_MS = 80
_CALIBRATION = "calibration"


class Shoe:
    """One unit from power-on. `await run()` never returns."""

    def __init__(self, board) -> None:
        self.board = board
        self.store = Store(board.storage)
        settings: dict = self.store.load("settings") or {}  # type: ignore[assignment]
        saved: bytes = self.store.load("game")  # type: ignore[assignment]
        # One that is damaged or unknown puts the shoe out of service: it must not deal another.
        game = games.Game(games.document_of(games.MINI_NAME) if saved is None else saved)
        self.recorder = Recorder(self.store, buffers.outbox, board.ticks_ms)
        card_set = settings.get("set", 0)
        self.dealing = Dealing(game, card_set, self.recorder.shoe)
        self.reader = Reader(card_set)
        self._runs = memoryview(self.reader.scanner.runs)
        self.passes = Passes(buffers.recent, buffers.faults)
        self.health = Health()
        self._overruns = 0
        self._to_collect = False
        self._inputs: "list[int]" = []
        self.link = Link(self.recorder.outbox, self)
        self.game_parts: "list | None" = None
        """A game document that a host is sending, and how many bytes of it have come."""
        self.calibration: "list[int | None]" = self.store.load(_CALIBRATION) or [None] * 5  # type: ignore[assignment]
        """Permille of the four channels that the last test card gave, and when that was."""
        self._build = build_hash(board.ROOT)
        self._samples = bytearray(_SAMPLE_BYTES)
        self._to_send = asyncio.Event()
        self._lock = self._lamps = self._text = None
        self._round_was_open = False
        self._record_boot()
        self._show()

    async def run(self) -> None:
        """Deal, listen and talk until the power goes."""
        await asyncio.gather(self._deal(), self._listen(), self._talk(), self._tick())

    def welcome(self, session: int) -> "list[list[object]]":
        """The messages that answer a host's `hello`, with which everything starts over."""
        self.game_parts = None
        outbox = self.recorder.outbox
        game = self.dealing.game
        return [
            [
                messages.WELCOME.number,
                session,
                PROTOCOL_VERSION,
                self.board.unit,
                self.recorder.boot,
                self.board.reset_cause,
                outbox.first_held,
                outbox.next_number - 1,
                frame.MAX_PAYLOAD,
            ],
            [messages.FIRMWARE.number, session, VERSION, self._build, self.board.NAME],
            [messages.GAME.number, session, game.name, game.sha256],
        ]

    def heartbeat(self, now_ms: int) -> "list[object]":
        """The message that says "I am here" and how things stand."""
        outbox = self.recorder.outbox
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
        self._to_send.set()
        return answer

    def acknowledged(self) -> None:
        """The host has more events than before."""
        self.recorder.record_loss()

    def _record_boot(self) -> None:
        recorder = self.recorder
        game = self.dealing.game.name
        boot = (self.board.reset_cause, VERSION, self._build, self.board.NAME, game)
        recorder.record(events.BOOT, recorder.shoe, 0, boot)
        if recorder.shoe_open:
            reason = words.END_REASONS.index("restart")
            recorder.record(events.SHOE_ENDED, recorder.shoe, 0, (reason, None, None))
            recorder.save(recorder.shoe, False)

    async def _deal(self) -> None:
        board = self.board
        while True:
            await board.activity(self._within_ms())
            self._read_samples()
            change = board.take_input()
            while change != inputs.NONE:
                self._inputs.append(change)
                change = board.take_input()
            # A card that has shown its code but not left the head comes before them.
            while self._inputs and self.reader.known == NO_CARD:
                self._input_changed(self._inputs.pop(0))
            self._check_head()
            if self._to_collect:
                # Now, and not while the next card passes: it takes 24 ms on a Pico.
                self._to_collect = False
                gc.collect()

    def _within_ms(self) -> int:
        """How soon samples must be looked at: the lock follows a card's last mark within 5 ms."""
        scanner = self.reader.scanner
        if not scanner.in_pass:
            return _IDLE_MS
        return _LAST_MARKS_MS if self._last_marks() else _PASSING_MS

    def _last_marks(self) -> bool:
        """Whether the last marks of a card pass the head: now everything else has time."""
        scanner = self.reader.scanner
        gone = scanner.marks_gone >= _MANY_MARKS
        return gone and scanner.in_pass and self.reader.known == NO_CARD

    async def _cards_first(self) -> None:
        while self._last_marks():
            await asyncio.sleep_ms(_LAST_MARKS_MS)

    def _read_samples(self) -> None:
        reader, samples = self.reader, self._samples
        size = self._next_samples()
        while size:
            at = 0
            while at < size:
                was_known = reader.known
                at = reader.read(samples, at, size)
                if reader.ended:
                    self._pass_ended()
                elif reader.known != was_known:
                    self._card_known()
            size = self._next_samples()

    def _next_samples(self) -> int:
        board = self.board
        size = board.read_samples(self._samples)
        if board.overruns != self._overruns:
            # Before they are read: they do not follow what was read last.
            self._overruns = board.overruns
            self.reader.samples_lost()
            self._act(self.dealing.samples_lost())
        return size

    def _card_known(self) -> None:
        """The lock does now what it will have to do once the card has left."""
        self._set_lock()

    def _pass_ended(self) -> None:
        self._to_collect = True
        passed, dealing = self.reader.passed, self.dealing
        if not passed.samples:
            self._sensor_failed()
        elif passed.card == cards.TEST_CARD and dealing.can_change_game():
            self._calibrate()
        else:
            figures = (
                passed.speed_mm_s,
                passed.margin_permille,
                passed.skew_um,
                passed.samples,
            )
            if passed.fault == NO_FAULT:
                self._act(dealing.card_passed(passed.card, figures))
                self._watch_health()
            else:
                self._act(dealing.pass_failed(passed.fault, figures))
        scanner = self.reader.scanner
        runs = self._runs[: scanner.close_runs()]
        self.passes.keep(passed, runs, scanner.cut, self.board.ticks_ms())

    def _sensor_failed(self) -> None:
        if not self.dealing.error:
            self._act(self.dealing.sensor_failed())

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
            self._act(self.dealing.pressed(change))
        else:
            switch, on = divmod(change - inputs.BUTTON_COUNT, 2)
            self._act(self.dealing.switched(switch, on == 1))

    def _act(self, actions: list) -> None:
        """The lock follows at once; then what happened is recorded, then shown."""
        dealing = self.dealing
        had_error = self._lamps is not None and self._lamps & 1 << panel.ERROR_LAMP
        self._set_lock()
        for shape, shoe, round_, values in actions:
            self.recorder.record(shape, shoe, round_, values)
        self._show()
        if dealing.error and not had_error:
            self.board.buzz(_ALARM_MS)
        self._save_counters()
        self._to_send.set()

    def _save_counters(self) -> None:
        """Where a round or a shoe of cards began or ended: there is time between rounds."""
        dealing, recorder = self.dealing, self.recorder
        round_ended = self._round_was_open and not dealing.round_open()
        self._round_was_open = dealing.round_open()
        shoe_open = not dealing.can_change_game()
        if round_ended or recorder.shoe != dealing.shoe or recorder.shoe_open != shoe_open:
            recorder.save(dealing.shoe, shoe_open)

    def _set_lock(self) -> None:
        dealing, passing = self.dealing, self.reader.known
        released = dealing.lock_released() if passing == NO_CARD else dealing.lock_after(passing)
        if released != self._lock:
            self._lock = released
            self.board.set_lock(released)

    def _show(self) -> None:
        self._set_lock()
        lit = panel.lamps_of(self.dealing)
        if lit != self._lamps:
            self._lamps = lit
            self.board.set_lamps(lit)
        text = panel.text_of(self.dealing, self._link_words(), self._notice())
        if text != self._text:
            self._text = text
            self.board.show(text)

    def _notice(self) -> str:
        dirty = self.health.dirty
        for channel in range(len(words.CHANNELS)):
            if dirty >> channel & 1:
                return "CLEAN SENSOR " + words.CHANNELS[channel].upper()
        return ""

    def _link_words(self) -> str:
        if not self.link.listening:
            return panel.NO_HOST
        if self.recorder.outbox.unacked() > BEHIND_EVENTS:
            return panel.LOG_BEHIND
        return panel.HOST

    async def _listen(self) -> None:
        while True:
            data = await self.board.read_link()
            await self._cards_first()
            self.link.feed(data, self.board.ticks_ms())
            self._to_send.set()

    async def _talk(self) -> None:
        view = memoryview(self.link.out)
        while True:
            await self._cards_first()
            size = self.link.fill(self.board.ticks_ms())
            at = 0
            while at < size:
                await self._cards_first()
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
        quiet_ms = 0
        last = 0
        collected_ms = 0
        while True:
            await asyncio.sleep_ms(_TICK_MS)
            await self._cards_first()
            collected_ms += _TICK_MS
            if collected_ms >= _COLLECT_MS and not self.reader.scanner.in_pass:
                collected_ms = 0
                self._to_collect = True
            self._show()
            self._to_send.set()
            number = self.recorder.outbox.next_number
            quiet_ms = quiet_ms + _TICK_MS if number == last else 0
            last = number
            if quiet_ms >= _REST_MS and self.dealing.can_change_game():
                self.recorder.rest()
