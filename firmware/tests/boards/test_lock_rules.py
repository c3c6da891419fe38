"""The rules of the lock in boards/__init__.py, tried with every board: the Pico's with fake parts,
and the simulated one."""

from firmware.tests.fakes.fake_pico import board as pico
from firmware.tests.fakes.fake_pico import new_board, run
from firmware.tests.support.passing import A, B, E, code, nibbles_of, pass_of, printed
from sabot_firmware.boards.sim import board as sim
from sabot_firmware.cards.reader import NO_CARD, Reader
from sabot_protocol.sim import sim_channel

_SET = 3
_SAMPLES_PER_MS = 20
_LIMIT_MS = 5
_FASTEST_MM_S, _SLOW_MM_S = 3000, 300
_REST_MS = 40


class _OnPico:
    """The Pico's board with fake parts: samples arrive while time passes, and wait in its ring."""

    samples_wait = True

    def __init__(self) -> None:
        self.board, self._world = new_board(sensor_e=0)
        run(self.board.wait_for_activity(8, True))

    def pass_ms(self, nibbles) -> None:
        """Let a millisecond pass, in which the head sees these samples."""
        self._world.sample(nibbles)
        self._world.inputs[pico._PIN_OF["sensor_e"][0]] = nibbles[-1] & E
        self._world.pass_ms(1)

    def released(self) -> bool:
        return self._world.outputs[pico._PIN_OF["lock"][0]] == 1


class _Simulated(sim.Board):
    """The simulated board without its two descriptors."""

    def __init__(self) -> None:
        self._samples = b""
        self.lock = False

    def _send(self, shape, *values) -> None:
        assert shape is sim_channel.LOCK
        self.lock = values[0]


class _OnSim:
    """The simulated board: the shoe gets the samples of a message when it asks for one."""

    samples_wait = False

    def __init__(self) -> None:
        self.board = _Simulated()

    def pass_ms(self, nibbles) -> None:
        octets = [nibbles[i] | nibbles[i + 1] << 4 for i in range(0, len(nibbles), 2)]
        self.board._samples += bytes(octets)

    def released(self) -> bool:
        return self.board.lock


class _Shoe:
    """What the shoe does for the lock: reads, judges, and sets it at a card's last mark. After
    `last` cards none is due."""

    def __init__(self, hands, last: int = 1000) -> None:
        self.hands, self.board = hands, hands.board
        self.due = last
        self._reader = Reader(_SET)
        self._buf = bytearray(512)
        self.board.set_lock(True)
        self.judge()

    def judge(self) -> None:
        """Judge all samples that have come."""
        board, reader = self.board, self._reader
        size = len(self._buf)
        while size == len(self._buf):
            size = board.read_samples(self._buf)
            at = 0
            while at < size:
                known = reader.known
                at = reader.read(self._buf, at, size)
                if reader.known not in (known, NO_CARD):
                    self.due -= 1
                    if not self.due:
                        board.set_lock(False)
                    board.judged(size - at, False)
                elif reader.ended:
                    board.judged(size - at, False)
        board.judged(0, reader.scanner.in_pass and reader.known == NO_CARD)


class _Card:
    """A card's samples, in ms from its edge."""

    def __init__(self, speed_mm_s: int, marks: int = 14) -> None:
        nibbles = nibbles_of(pass_of(printed(code(7, _SET))[:marks], speed_mm_s))
        self.nibbles = nibbles + bytes(-len(nibbles) % _SAMPLES_PER_MS)
        marked = covered = 0
        for i in range(len(nibbles)):
            if nibbles[i] & (A | B):
                marked = i + 1
            if nibbles[i] & E:
                covered = i + 1
        self.last_mark_ms = marked / _SAMPLES_PER_MS
        self.left_ms = covered / _SAMPLES_PER_MS
        self.ms = len(self.nibbles) // _SAMPLES_PER_MS

    def at(self, ms: int):
        """Return the samples of this millisecond; before and after the card they show nothing."""
        if not 0 <= ms < self.ms:
            return bytes(_SAMPLES_PER_MS)
        return self.nibbles[ms * _SAMPLES_PER_MS : (ms + 1) * _SAMPLES_PER_MS]


_FAST, _SLOW = _Card(_FASTEST_MM_S), _Card(_SLOW_MM_S)
_ALL = (_OnPico, _OnSim)
_WITH_WAITING = [hands for hands in _ALL if hands.samples_wait]


def test_a_card_that_is_due_finds_the_lock_open_however_long_its_samples_wait() -> None:
    for made in _ALL:
        for card in (_FAST, _SLOW):
            for late_ms in (-20, -1, 3, 9):  # when the shoe has last looked, from the card's edge
                hands = made()
                shoe = _Shoe(hands)
                for ms in range(-30, int(card.last_mark_ms)):
                    hands.pass_ms(card.at(ms))
                    assert hands.released(), (made, card.ms, late_ms, ms)
                    if ms <= late_ms:
                        shoe.judge()


def test_a_shoe_that_judges_as_cards_come_shuts_it_after_the_last_card_only() -> None:
    for made in _ALL:
        hands = made()
        shoe = _Shoe(hands, last=2)
        for nth in range(2):
            for ms in range(_FAST.ms + _REST_MS):
                hands.pass_ms(_FAST.at(ms))
                shoe.judge()
                if not -1 < ms - _FAST.last_mark_ms < _LIMIT_MS:
                    over = nth == 1 and ms > _FAST.last_mark_ms
                    assert hands.released() != over, (made, nth, ms)


def test_shut_at_once_and_released_only_when_the_shoe_says_so() -> None:
    for made in _ALL:
        hands = made()
        shoe = _Shoe(hands)
        shoe.board.set_lock(False)
        assert not hands.released(), made
        for ms in range(_FAST.ms + _REST_MS):
            hands.pass_ms(_FAST.at(ms))
            if ms % 30 == 29:
                shoe.judge()
            assert not hands.released(), (made, ms)
        shoe.judge()
        shoe.board.set_lock(True)
        assert hands.released(), made


def test_no_sample_waits_on_a_board_that_does_not_shut_the_lock_by_itself() -> None:
    for made in _ALL:
        if made not in _WITH_WAITING:
            hands = made()
            shoe = _Shoe(hands, last=1)
            for ms in range(_FAST.ms):
                hands.pass_ms(_FAST.at(ms))
            shoe.judge()
            assert not hands.released() and not hands.board.read_samples(bytearray(8)), made


def test_it_shuts_in_time_after_a_last_mark_that_is_not_judged() -> None:
    for made in _WITH_WAITING:
        for late_ms in range(-40, int(_FAST.last_mark_ms)):
            hands = made()
            shoe = _Shoe(hands)
            for ms in range(-40, int(_FAST.last_mark_ms) + _LIMIT_MS):
                hands.pass_ms(_FAST.at(ms))
                if ms <= late_ms:
                    shoe.judge()
            assert not hands.released(), (made, late_ms)


def test_it_shuts_in_time_after_a_card_with_too_few_marks_that_is_not_judged() -> None:
    for made in _WITH_WAITING:
        card = _Card(_FASTEST_MM_S, marks=9)
        hands = made()
        _Shoe(hands)
        for ms in range(int(card.left_ms) + _LIMIT_MS):
            hands.pass_ms(card.at(ms))
        assert not hands.released(), made


def _after_one_that_was_not_judged(made, last: int, next_ms: int):
    """Return hands and shoe after a card that the shoe has not judged, and the first `next_ms` of
    the next one, a slow one."""
    hands = made()
    shoe = _Shoe(hands, last)
    for ms in range(_FAST.ms + _REST_MS):
        hands.pass_ms(_FAST.at(ms))
    for ms in range(next_ms):
        hands.pass_ms(_SLOW.at(ms))
    assert not hands.released(), made
    return hands, shoe


def test_it_opens_again_once_that_card_is_judged_also_for_one_that_stands_in_the_head() -> None:
    for made in _WITH_WAITING:
        for next_ms in (0, 1, 50, int(_SLOW.last_mark_ms) - 1):
            hands, shoe = _after_one_that_was_not_judged(made, 1000, next_ms)
            shoe.judge()
            assert hands.released(), (made, next_ms)


def test_it_stays_shut_for_the_next_card_if_the_last_one_of_them_is_not_judged() -> None:
    for made in _WITH_WAITING:
        hands, shoe = _after_one_that_was_not_judged(made, 1000, _SLOW.ms + _REST_MS)
        assert not hands.released(), made
        shoe.judge()
        assert hands.released(), made


def test_it_stays_shut_if_no_card_is_due_after_that_card() -> None:
    for made in _WITH_WAITING:
        for next_ms in (0, 50, _SLOW.ms):
            hands, shoe = _after_one_that_was_not_judged(made, 1, next_ms)
            for _ in range(20):
                shoe.judge()
                assert not hands.released(), (made, next_ms)
                hands.pass_ms([0] * _SAMPLES_PER_MS)


def test_a_release_that_comes_while_a_last_mark_waits_comes_true_when_it_is_judged() -> None:
    for made in _WITH_WAITING:
        hands, shoe = _after_one_that_was_not_judged(made, 1000, 10)
        shoe.board.set_lock(False)
        shoe.board.set_lock(True)
        assert not hands.released(), made
        shoe.judge()
        assert hands.released(), made


def test_a_card_that_is_not_known_keeps_it_shut_until_its_pass_has_ended() -> None:
    for made in _WITH_WAITING:
        card = _Card(_SLOW_MM_S, marks=9)
        hands = made()
        shoe = _Shoe(hands)
        for ms in range(int(card.left_ms) + _LIMIT_MS):
            hands.pass_ms(card.at(ms))
        for ms in range(int(card.left_ms) + _LIMIT_MS, 246):
            shoe.judge()
            assert not hands.released(), (made, ms)
            hands.pass_ms(card.at(ms))
        for _ in range(20):
            hands.pass_ms([0] * _SAMPLES_PER_MS)
        shoe.judge()
        assert hands.released(), made
