"""The whole shoe on a board made of lists: while a card passes, and what its head tells it."""

import asyncio

from firmware import buffers, inputs, panel  # buffers first, as main.py does
from firmware import shoe as shoe_module
from firmware.health import LEAST_PERMILLE
from firmware.shoe import Shoe
from firmware.store import Store, StoreError
from firmware.tests.held import records_in
from firmware.tests.passing import E, X, code, pass_of, printed
from firmware.tests.test_store import Folder
from protocol import cards, cbor, events, games, messages, words
from protocol.tests.helpers import raised

_KINDS = {shape.number: shape for shape in events.KINDS}
_LID, _KEY = 0, 1
_SET = 0


class _Over(Exception):
    """The script of a board is over."""


class _Board:
    """Plays a script of samples and inputs; keeps what the shoe did in between, in order."""

    NAME = "none"
    ROOT = "."
    unit = "TEST-1"
    reset_cause = 0

    def __init__(self, folder):
        self.storage = folder.path
        self.overruns = 0
        self.seen = []
        """What the shoe did to the lock and what was played, in order."""
        self.text = ""
        self.outputs = []
        """What the shoe lit, showed and sounded, in order."""
        self._script = []
        self._samples = b""
        self._changes = []
        self._now_ms = 0

    def play(self, shoe, *script):
        """Samples as bytes, changes of inputs as integers; ("overrun", samples) where some were
        lost before those."""
        self._script += script
        deal = shoe._deal()
        try:
            while True:
                deal.send(None)
        except _Over:
            pass

    def ticks_ms(self):
        return self._now_ms

    async def activity(self, within_ms):
        if not self._script:
            raise _Over
        item = self._script.pop(0)
        self._now_ms += 10
        if isinstance(item, int):
            self._changes.append(item)
            self.seen.append("input")
        elif isinstance(item, tuple):
            self.overruns += 1
            self._samples = b"".join(item[1:])
        else:
            self._samples = bytes(item)
            self.seen.append("samples")

    def read_samples(self, buf):
        size = min(len(buf), len(self._samples))
        buf[:size] = self._samples[:size]
        self._samples = self._samples[size:]
        return size

    def take_input(self):
        return self._changes.pop(0) if self._changes else inputs.NONE

    def set_lock(self, released):
        self.seen.append("open" if released else "shut")

    def set_lamps(self, lit):
        self.outputs.append(lit)

    def show(self, text):
        self.text = text
        self.outputs.append(text)

    def buzz(self, ms):
        self.outputs.append("beep")


def _started(folder):
    if not hasattr(asyncio, "ticks"):  # CPython has no os.ilistdir to hash what runs with
        shoe_module.build_hash = lambda root: bytes(32)
    board = _Board(folder)
    return board, Shoe(board)


def _loaded(folder, *names):
    """A shoe in which the first burn and these cards have been drawn."""
    board, shoe = _started(folder)
    lid = [inputs.switched(_LID, True), inputs.switched(_LID, False)]
    board.play(shoe, *lid, *[_card(name) for name in ("AC", "2C") + names])
    board.seen = []
    return board, shoe


def _card(name, width_um=2000):
    return pass_of(printed(code(cards.number_of(name), _SET), width_um))


def _recorded(shoe):
    """Every event held, as (kind, own values)."""
    told = []
    for record in records_in(shoe.recorder.outbox):
        values = cbor.decode(record, 0, len(record))
        told.append((_KINDS[values[0]].name, values[len(events.HEADER) :]))
    return told


def _kinds(shoe):
    return [kind for kind, _ in _recorded(shoe)]


def _parts(data, covered):
    """A pass until its card is known (the last mark passed), its tail, and the rest behind."""
    last_mark = 60500 * 20 // 2000 // 2 + 4
    return data[:last_mark], data[last_mark:covered], data[covered:]


def test_the_lock_shuts_behind_the_last_mark_and_nothing_is_recorded_before_the_card_has_left():
    with Folder() as folder:
        board, shoe = _loaded(folder, "9C", "2D", "KC")
        assert shoe.dealing.lock_released()
        known, tail, rest = _parts(_card("2H"), 380)  # the Player has 9: the round ends
        count = len(_recorded(shoe))
        board.play(shoe, known)
        assert board.seen == ["samples", "shut"]
        assert len(_recorded(shoe)) == count and not shoe.dealing.banker[1:]
        shoe._show()  # as every tick does
        assert board.seen == ["samples", "shut"], "nothing opens it again"
        board.play(shoe, tail, rest)
        assert board.seen == ["samples", "shut", "samples", "samples"]
        assert _kinds(shoe)[-2:] == ["result", "lock"]


def test_the_lock_stays_open_where_the_next_card_is_due():
    with Folder() as folder:
        board, shoe = _loaded(folder)
        board.play(shoe, *_parts(_card("9C"), 380))
        assert board.seen == ["samples"] * 3 and shoe.dealing.player == [8]


def test_a_card_that_was_known_and_is_pushed_back_was_never_dealt():
    with Folder() as folder:
        board, shoe = _loaded(folder, "9C", "2D", "KC")
        known, _, _ = _parts(_card("2H"), 380)
        back = bytearray(len(known))
        for i in range(len(known)):
            back[-1 - i] = known[i] >> 4 | (known[i] & 15) << 4
        board.play(shoe, known, back, bytes(300))
        told = _recorded(shoe)
        assert not [kind for kind, _ in told if kind == "result"]
        faults = [values for kind, values in told if kind == "unreadable"]
        assert [words.FAULTS[values[0]] for values in faults] == ["pushed_back"]
        assert board.seen[:2] == ["samples", "shut"] and "open" not in board.seen
        assert [len(shoe.dealing.player), len(shoe.dealing.banker)] == [2, 1]


def test_what_is_pressed_while_the_tail_of_a_card_passes_comes_behind_that_card():
    with Folder() as folder:
        board, shoe = _loaded(folder, "9C", "2D", "KC")
        known, tail, rest = _parts(_card("2H"), 380)
        board.play(shoe, known, inputs.pressed(0), inputs.pressed(0), tail, rest)
        kinds = _kinds(shoe)
        first = kinds.index("button")
        assert kinds[first - 2 : first] == ["result", "lock"], kinds
        assert kinds[first:] == ["button", "betting_open", "lock", "button", "betting_closed"]


def test_a_jam_behind_the_last_mark_stops_play_and_lets_the_inputs_through():
    with Folder() as folder:
        board, shoe = _loaded(folder, "9C", "2D", "KC")
        known, _, _ = _parts(_card("2H"), 380)
        standing = bytes([E | X | (E | X) << 4]) * 1000
        board.play(shoe, known, inputs.pressed(0), *[standing] * 29)
        assert "button" not in _kinds(shoe), "not yet 3 s"
        board.play(shoe, standing)
        kinds = _kinds(shoe)
        assert kinds.index("unreadable") < kinds.index("button"), kinds
        assert "JAM" in board.text and not shoe.dealing.lock_released()


def test_lost_samples_stop_play_and_the_card_that_was_passing_is_not_read():
    with Folder() as folder:
        board, shoe = _loaded(folder)
        whole = _card("9C")
        board.play(shoe, whole[:100], ("overrun",), whole[100:])
        assert words.ERRORS[shoe.dealing.error] == "samples_lost" and "shut" in board.seen
        assert shoe.dealing.player == []
        board.play(shoe, inputs.switched(_KEY, True), inputs.switched(_KEY, False), whole)
        assert shoe.dealing.player == [8]


def test_what_comes_behind_lost_samples_is_not_read_together_with_what_came_before():
    with Folder() as folder:
        board, shoe = _loaded(folder)
        whole = bytes(_card("9C"))
        board.play(shoe, whole[:100], ("overrun", whole[100:]))  # none were lost: the worst case
        assert words.ERRORS[shoe.dealing.error] == "samples_lost" and shoe.dealing.player == []


def test_a_blocked_head_keeps_stopping_play_until_it_is_clear():
    with Folder() as folder:
        board, shoe = _loaded(folder)
        stuck = b"\x22" * 1000  # track A on, no card
        board.play(shoe, *[stuck] * 31)
        assert words.ERRORS[shoe.dealing.error] == "sensor_fault"
        assert shoe.dealing.player == [] and "unreadable" not in _kinds(shoe)
        key = [inputs.switched(_KEY, True), inputs.switched(_KEY, False)]
        board.play(shoe, *key)
        assert words.ERRORS[shoe.dealing.error] == "sensor_fault", "it is still blocked"
        board.play(shoe, bytes(100), *key, _card("9C"))
        assert not shoe.dealing.error and shoe.dealing.player == [8]


def test_the_test_card_calibrates_between_shoes_of_cards():
    with Folder() as folder:
        board, shoe = _started(folder)
        assert shoe.calibration == [None] * 5
        board.play(shoe, _card("TEST"))
        kind, values = _recorded(shoe)[-1]
        assert kind == "calibrated" and not shoe.dealing.error
        for permille in values[:4]:
            assert abs(permille - 1000) < 80, values
        assert shoe.calibration == values[:4] + [None]
        shoe = Shoe(board)
        assert shoe.calibration == values[:4] + [None], "it is kept over a restart"


def test_the_test_card_stops_play_within_a_shoe_of_cards():
    with Folder() as folder:
        board, shoe = _loaded(folder)
        board.play(shoe, _card("TEST"))
        assert words.ERRORS[shoe.dealing.error] == "test_card"


def test_a_fading_sensor_is_told_once_and_shown_between_errors():
    with Folder() as folder:
        board, shoe = _loaded(folder)
        for n in range(120):
            board.play(shoe, _card(cards.name_of(n % 52), 1300), inputs.pressed(0))
            assert not shoe.dealing.error
            if "CLEAN SENSOR" in board.text:
                break
        told = [values for kind, values in _recorded(shoe) if kind == "clean_sensor"]
        assert [words.CHANNELS[values[0]] for values in told] in (["a"], ["b"])
        assert 700 < told[0][1] < LEAST_PERMILLE


def test_every_pass_is_kept_with_its_verdict():
    with Folder() as folder:
        board, shoe = _loaded(folder, "9C")
        board.play(shoe, pass_of([]))
        kept = [shoe.passes.get(number) for number in range(1, 5)]
        assert [each.card for each in kept] == [0, 1, 8, None]
        assert words.FAULTS[kept[3].fault] == "no_code"
        assert all([each.size > 8 and not each.cut for each in kept])
        assert shoe.passes.get(5) is None
        assert len(buffers.recent) >= 8 * len(shoe.reader.scanner.runs)


def test_the_notice_names_the_first_dirty_channel():
    with Folder() as folder:
        _, shoe = _started(folder)
        assert shoe._notice() == ""
        shoe.health.dirty = 0b0110
        assert shoe._notice() == "CLEAN SENSOR A" and len(shoe._notice()) <= panel.COLUMNS


_MIDI = dict(games.MINI, name="midi", shown="after_reveal", burn="none", wagers=["dragon_7"])
_NEXT, _REVEAL = inputs.pressed(0), inputs.pressed(1)


def _shown_in_midi(deal):
    """What the shoe lit, showed and sounded in a midi round: at the first card, from then until
    reveal, and at reveal."""
    with Folder() as folder:
        Store(folder.path).save("game", games.encode(_MIDI))
        board, shoe = _started(folder)
        lid = [inputs.switched(_LID, True), inputs.switched(_LID, False)]
        names = deal.split()
        board.play(shoe, *lid, _NEXT)
        shown = []
        for script in ([names[0]], names[1:], []):
            board.outputs = []
            for name in script:
                for part in _parts(_card(name), 380):
                    board.play(shoe, part)
                    shoe._show()  # as every tick does
            board.play(shoe, *[_NEXT, _REVEAL] if not script else [_NEXT])
            shown.append(board.outputs)
        assert shoe.dealing.revealed and shoe.dealing.winner >= 0, deal
        return shown


def test_in_midi_nothing_is_lit_shown_or_sounded_between_first_card_and_reveal():
    firsts = []
    for deal in (
        "9C 2D KC 2H", "2D 4C 2H 4D", "9C 9D KC KD", "7C 6D KC KD", "6C 5D KC KD 7H",
        "KC 7D KD KH 8C", "KC KH QD QS JC 7C", "AC 5D AD KH 4C TC",
    ):  # fmt: skip
        first, between, revealed = _shown_in_midi(deal)
        firsts.append(first)
        assert between == [] and "beep" not in first + revealed, (deal, between)
        assert len(revealed) == 2, "lamps and display"
    assert firsts == [firsts[0]] * len(firsts)


def test_a_game_that_is_kept_and_damaged_or_unknown_puts_the_shoe_out_of_service():
    document = games.encode(_MIDI)
    for kept in (document[:-1], b"", document.replace(b"midi", b"\xff\xff\xff\xff"), b"\xa0"):
        with Folder() as folder:
            Store(folder.path).save("game", kept)
            assert raised(games.GameError, Shoe, _Board(folder)), kept
            assert Store(folder.path).load("game") == kept, "it stays for whoever looks why"
    with Folder() as folder:
        Store(folder.path).save("game", document)
        data = folder.read("game.cbor")
        folder.write("game.cbor", data[:50] + b"x" + data[51:])
        assert raised(StoreError, Shoe, _Board(folder))
        folder.write("game.cbor", data)
        assert _started(folder)[1].dealing.game.document == document


def test_a_new_host_begins_a_game_document_anew():
    with Folder() as folder:
        _, shoe = _started(folder)
        document = games.encode(_MIDI)
        part = [1, 0, len(document), document[:400]]
        assert shoe.command(messages.LOAD_GAME, part)[2] == 0 and shoe.game_parts is not None
        shoe.welcome(1)
        assert shoe.game_parts is None
