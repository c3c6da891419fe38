"""The whole shoe: a board's inputs to the dealing, its actions to the outputs and the link."""

import asyncio

from firmware import VERSION, commands, inputs, panel
from firmware.build import build_hash
from firmware.dealing import Dealing
from firmware.link import Link
from firmware.reader import NONE as NO_FAULT
from firmware.reader import Reader
from firmware.recorder import Recorder
from firmware.store import Store
from protocol import VERSION as PROTOCOL_VERSION
from protocol import events, frame, games, messages, words

OUTBOX_BYTES = 24 * 1024
"""Room for the events of 50 to 80 rounds without a host."""

BEHIND_EVENTS = 160
"""Events waiting with a host attached from which the display says so."""

_SAMPLE_BYTES = 512
_TICK_MS = 50
_REST_MS = 2000
_FULL_LINE_PAUSE_MS = 1
_ALARM_MS = 400


class Shoe:
    """One unit from power-on. `await run()` never returns."""

    def __init__(self, board) -> None:
        self.board = board
        self.store = Store(board.storage)
        settings: dict = self.store.load("settings") or {}  # type: ignore[assignment]
        saved: bytes = self.store.load("game")  # type: ignore[assignment]
        self.game = games.Game(saved or games.document_of(games.MINI_NAME))
        self.recorder = Recorder(self.store, OUTBOX_BYTES, board.ticks_ms)
        card_set = settings.get("set", 0)
        self.dealing = Dealing(self.game, card_set, self.recorder.shoe)
        self.reader = Reader(card_set)
        self.link = Link(self.recorder.outbox, self)
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
        """The messages that answer a host's `hello`."""
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
        boot = (self.board.reset_cause, VERSION, self._build, self.board.NAME, self.game.name)
        recorder.record(events.BOOT, recorder.shoe, 0, boot)
        if recorder.shoe_open:
            reason = words.END_REASONS.index("restart")
            recorder.record(events.SHOE_ENDED, recorder.shoe, 0, (reason, None, None))
            recorder.save(recorder.shoe, False)

    async def _deal(self) -> None:
        board, reader = self.board, self.reader
        samples = self._samples
        while True:
            await board.activity()
            size = board.read_samples(samples)
            while size:
                at = 0
                while at < size:
                    at = reader.read(samples, at, size)
                    if reader.ended:
                        self._card_passed()
                size = board.read_samples(samples)
            change = board.take_input()
            while change != inputs.NONE:
                self._input_changed(change)
                change = board.take_input()

    def _card_passed(self) -> None:
        passed = self.reader.passed
        if passed.fault != NO_FAULT:
            self._act(self.dealing.pass_failed(passed.fault, passed.samples))
        else:
            figures = (
                passed.speed_mm_s,
                passed.margin_permille,
                passed.skew_um,
                passed.samples,
            )
            self._act(self.dealing.card_passed(passed.card, figures))

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
        released = self.dealing.lock_released()
        if released != self._lock:
            self._lock = released
            self.board.set_lock(released)

    def _show(self) -> None:
        self._set_lock()
        lit = panel.lamps_of(self.dealing)
        if lit != self._lamps:
            self._lamps = lit
            self.board.set_lamps(lit)
        text = panel.text_of(self.dealing, self._link_words())
        if text != self._text:
            self._text = text
            self.board.show(text)

    def _link_words(self) -> str:
        if not self.link.listening:
            return panel.NO_HOST
        if self.recorder.outbox.unacked() > BEHIND_EVENTS:
            return panel.LOG_BEHIND
        return panel.HOST

    async def _listen(self) -> None:
        while True:
            data = await self.board.read_link()
            self.link.feed(data, self.board.ticks_ms())
            self._to_send.set()

    async def _talk(self) -> None:
        view = memoryview(self.link.out)
        while True:
            size = self.link.fill(self.board.ticks_ms())
            at = 0
            while at < size:
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
        while True:
            await asyncio.sleep_ms(_TICK_MS)
            self._show()
            self._to_send.set()
            number = self.recorder.outbox.next_number
            quiet_ms = quiet_ms + _TICK_MS if number == last else 0
            last = number
            if quiet_ms >= _REST_MS and self.dealing.can_change_game():
                self.recorder.rest()
