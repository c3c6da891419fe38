"""The card reader against recordings with answers, and waveforms made from the geometry here."""

import json
import random

from firmware.reader import Reader
from protocol import cards, words
from protocol.tests.helpers import allocates, memory_in_use, random_bytes, seed_random

_SAMPLES = __file__.rsplit("/", 1)[0] + "/samples/"

# Card code specification, "Geometry" and "The sensor head", in micrometres.
_CARD_UM = 63000
_FIRST_UM = 7000
_PITCH_UM = 3500
_WIDTH_UM = 2000
_UV_UM = 6000
_EXIT_UM = 12000
_E, _A, _B, _X = 1, 2, 4, 8
_TRACKS = (_A, _B, _A | _B)  # of the symbols 0, 1, 2
_REST = 600  # samples: 30 ms

# "The code": rows of H.
_H = ("011111", "101221", "110122", "121012", "122101", "112210")

_FAST_MM_S = 2000


def _code(card, card_set):
    """The 14 symbols of a card, as the specification builds them."""
    message = 54 * card_set + card
    digits = []
    for power in (243, 81, 27, 9, 3, 1):
        digits.append(message // power % 3)
    checks = []
    for j in range(6):
        checks.append(sum([digits[i] * int(_H[i][j]) for i in range(6)]) % 3)
    return [2] + digits + checks + [0]


def _printed(symbols, width_um=_WIDTH_UM):
    """Marks as (begins, width, symbol), the first where the first mark belongs."""
    return [(_FIRST_UM + i * _PITCH_UM, width_um, symbols[i]) for i in range(len(symbols))]


def _pass_of(marks, speed_mm_s=_FAST_MM_S, skew_um=0, until_um=_EXIT_UM + _CARD_UM):
    """Samples of a card with these marks at an even speed, and the rest behind it.

    The card vanishes when its leading edge is at `until_um`. Track B lies `skew_um` behind A.
    """
    edges = [(0, _E), (_CARD_UM, _E), (_EXIT_UM, _X), (_EXIT_UM + _CARD_UM, _X)]
    for begins, width, symbol in marks:
        for bit in (_A, _B):
            if _TRACKS[symbol] & bit:
                at = _UV_UM + begins + (skew_um if bit == _B else 0)
                edges.append((at, bit))
                edges.append((at + width, bit))
    edges.sort()
    edges.append((until_um, 0))
    data = bytearray((until_um * 20 // speed_mm_s + 1 + _REST) // 2)
    level = since = 0
    for at, bit in edges:
        now = -(-min(at, until_um) * 20 // speed_mm_s)
        for i in range(since, now if level else since):
            data[i >> 1] |= level << 4 * (i & 1)
        since = now
        level ^= bit
        if at >= until_um:
            break
    return data


def _outcome(passed):
    if passed.fault:
        assert passed.card == -1, passed.card
        return words.FAULTS[passed.fault]
    return cards.name_of(passed.card)


def _read(reader, data, passes, at=0, end=None):
    end = len(data) if end is None else end
    while at < end:
        at = reader.read(data, at, end)
        if reader.ended:
            passes.append(_outcome(reader.passed))
    assert at == end


def _passes(data, card_set=0):
    passes = []
    _read(Reader(card_set), data, passes)
    return passes


def _is_card(outcome):
    return outcome not in words.FAULTS


def _answers(name):
    with open(_SAMPLES + "answers.json") as file:
        answer = json.load(file)[name]
    passes = [each["fault"] if isinstance(each, dict) else each for each in answer["passes"]]
    return answer["set"], passes


def _recording(name):
    with open(_SAMPLES + name + ".samples", "rb") as file:
        return file.read()


def _passes_of_file(name, card_set):
    """As `_passes(_recording(name), card_set)`, a piece at a time: the board's heap is small."""
    reader, passes = Reader(card_set), []
    piece = bytearray(4096)
    with open(_SAMPLES + name + ".samples", "rb") as file:
        size = file.readinto(piece)
        while size:
            _read(reader, piece, passes, 0, size)
            size = file.readinto(piece)
    return passes


def _some_cards(count):
    return [(random.randrange(54), random.randrange(13)) for _ in range(count)]


def test_every_recording_gives_its_answers_card_for_card_and_fault_for_fault():
    for name in ("clean", "clean-set-7", "nominal", "harsh", "faults"):
        card_set, answers = _answers(name)
        assert _passes_of_file(name, card_set) == answers, name


def test_every_card_of_every_set_is_read_and_is_foreign_to_another_set():
    for card_set in range(13):
        own, other = Reader(card_set), Reader((card_set + 5) % 13)
        for card in range(54):
            data = _pass_of(_printed(_code(card, card_set)))
            seen = []
            _read(own, data, seen)
            assert own.passed.card == card and own.passed.card_set == card_set, (card_set, card)
            _read(other, data, seen)
            assert other.passed.card_set == card_set
            assert seen == [cards.name_of(card), "foreign_set"], (card_set, card, seen)


def test_a_recording_read_in_any_pieces_gives_the_same_passes():
    seed_random()
    card_set, answers = _answers("clean-set-7")
    data = _recording("clean-set-7")
    for longest in (1, 2, 7, 512, 4096):
        reader, seen = Reader(card_set), []
        at = 0
        while at < len(data):
            size = random.randint(1, longest)
            if random.getrandbits(1):
                _read(reader, data[at : at + size], seen)
            else:
                _read(reader, data, seen, at, min(at + size, len(data)))
            at += size
        assert seen == answers, longest


def test_a_flicker_behind_a_card_is_no_second_pass():
    nibbles = []
    for octet in _pass_of(_printed(_code(7, 0))):
        nibbles += [octet & 15, octet >> 4]
    while not nibbles[-1]:
        nibbles.pop()
    for clear in (3, 4, 9, 30):  # X shows nothing for so many samples, then the card again
        flicker = nibbles[:-60] + [0] * clear + nibbles[-60:] + [0] * _REST
        data = bytes([flicker[i] | flicker[i + 1] << 4 for i in range(0, len(flicker) - 1, 2)])
        assert _passes(data) == ["8C"], clear


def test_a_code_that_runs_backwards_is_reversed_and_no_card():
    seed_random()
    for card, card_set in _some_cards(40):
        symbols = _code(card, card_set)
        symbols.reverse()
        assert _passes(_pass_of(_printed(symbols)), card_set) == ["reversed"], (card, card_set)


def test_a_blank_has_no_code():
    for speed in (100, 800, 3000):
        assert _passes(_pass_of([], speed)) == ["no_code"]


def test_a_card_of_which_only_a_part_comes_is_no_card():
    symbols = _printed(_code(17, 4))
    whole = _pass_of(symbols)
    assert _passes(whole, 4) == ["5D"]
    for until_um in range(7000, _CARD_UM, 700):
        seen = _passes(_pass_of(symbols, until_um=until_um), 4)
        assert len(seen) == 1 and not _is_card(seen[0]), (until_um, seen)


def test_a_card_pushed_back_from_any_depth_is_no_card():
    marks = _printed(_code(17, 4))
    whole = _pass_of(marks)
    for depth in range(40, len(whole) - _REST // 2, 9):
        into = whole[:depth]
        out = bytes([octet >> 4 | (octet & 15) << 4 for octet in reversed(into)])
        if not into[-1] & _E:
            break  # it has left the entry: nothing pushes it back
        seen = _passes(into + out + bytes(40), 4)
        assert len(seen) == 1 and not _is_card(seen[0]), (depth, seen)


def test_a_card_that_stopped_for_three_seconds_is_jammed_and_not_trusted_when_it_comes_out():
    whole = _pass_of(_printed(_code(17, 4)))
    covered = len(whole) - _REST // 2
    for at in (covered // 20, covered // 3, covered // 2, covered * 19 // 20):
        while whole[at] & 15 != whole[at] >> 4:
            at += 1  # a sample later, there is no edge
        stop = bytes([whole[at]])
        for samples, outcome in ((10000, "5D"), (50000, "5D"), (60000, "jam"), (90000, "jam")):
            reader, seen = Reader(4), []
            _read(reader, whole[:at], seen)
            for _ in range(samples // 100):
                _read(reader, stop * 50, seen)
            _read(reader, whole[at:], seen)
            assert seen == [outcome], (at, samples, seen)
        seen = []
        _read(reader, whole, seen)
        assert seen == ["5D"], "the next card is read"


def test_a_missing_mark_is_a_bad_code():
    seed_random()
    for card, card_set in _some_cards(20):
        for i in range(14):
            marks = _printed(_code(card, card_set))
            del marks[i]
            assert _passes(_pass_of(marks), card_set) == ["bad_code"], (card, card_set, i)


def test_an_added_mark_is_a_bad_code():
    seed_random()
    for card, card_set in _some_cards(10):
        for i in range(-1, 14):
            for symbol in range(3):
                marks = _printed(_code(card, card_set))
                if 0 <= i < 13:  # in the gap behind mark i
                    begins = _FIRST_UM + i * _PITCH_UM + _WIDTH_UM
                    marks.append((begins + 500, 500, symbol))
                else:
                    marks.append((_FIRST_UM + i * _PITCH_UM, _WIDTH_UM, symbol))
                if i == 13:  # the place of the last mark: added behind it
                    marks[-1] = (_FIRST_UM + 14 * _PITCH_UM, _WIDTH_UM, symbol)
                seen = _passes(_pass_of(marks), card_set)
                assert seen == ["bad_code"], (card, card_set, i, symbol, seen)


def test_up_to_five_changed_marks_are_never_a_card():
    seed_random()
    for card, card_set in _some_cards(20):
        for i in range(14):
            for other in (1, 2):
                symbols = _code(card, card_set)
                symbols[i] = (symbols[i] + other) % 3
                seen = _passes(_pass_of(_printed(symbols)), card_set)
                assert seen == ["bad_code"], (card, card_set, i, seen)
        for _ in range(20):
            symbols = _code(card, card_set)
            for _ in range(random.randint(2, 5)):
                i = random.randrange(14)
                symbols[i] = random.randrange(3)
            if symbols == _code(card, card_set):
                continue
            seen = _passes(_pass_of(_printed(symbols)), card_set)
            assert len(seen) == 1 and not _is_card(seen[0]), (card, card_set, symbols)


def test_a_dead_track_is_never_a_card():
    seed_random()
    for card, card_set in _some_cards(30):
        data = _pass_of(_printed(_code(card, card_set)))
        for alive in (_E | _X, _E | _X | _A, _E | _X | _B):
            seen = _passes(bytes([octet & (alive | alive << 4) for octet in data]), card_set)
            assert len(seen) == 1 and not _is_card(seen[0]), (card, card_set, alive)


def test_a_track_that_covers_half_a_mark_is_never_guessed():
    marks = _printed(_code(17, 4))
    for i in range(14):
        begins, _, symbol = marks[i]
        if symbol == 2:  # half of track B is missing
            halved = marks[:i] + marks[i + 1 :]
            halved += [(begins, _WIDTH_UM, 0), (begins, _WIDTH_UM // 2, 1)]
        else:  # half of the other track is too much
            halved = marks + [(begins, _WIDTH_UM // 2, 1 - symbol)]
        assert _passes(_pass_of(halved), 4) == ["bad_code"], i


def test_noise_is_never_a_card_and_takes_no_memory():
    seed_random()
    reader = Reader(0)
    before = memory_in_use()
    for _ in range(40):
        seen = []
        _read(reader, random_bytes(1000), seen)
        assert not [outcome for outcome in seen if _is_card(outcome)]
    for octet in (0x00, 0xFF, 0x11, 0x88, 0x99, 0x66):
        for _ in range(50):
            seen = []
            _read(reader, bytes([octet]) * 1000, seen)
            assert not [outcome for outcome in seen if _is_card(outcome)]
    covered = bytes([_E | _X | octet & 6 | (_E | _X | octet >> 4 & 6) << 4 for octet in range(256)])
    for _ in range(50):
        seen = []
        _read(reader, covered, seen)
        assert not seen
    seen = None
    assert memory_in_use() - before < 2000


def test_a_card_is_read_after_any_noise_and_a_rest():
    seed_random()
    data = _pass_of(_printed(_code(44, 0)))
    reader = Reader(0)
    for _ in range(30):
        _read(reader, random_bytes(random.randrange(300)) + bytes(_REST // 2), [])
        seen = []
        _read(reader, data, seen)
        assert seen == ["6S"]


def test_the_speed_is_right_within_two_percent():
    for speed in (50, 51, 70, 99, 150, 333, 800, 1234, 2000, 2500, 3000):
        reader = Reader(0)
        _read(reader, _pass_of(_printed(_code(30, 0)), speed), [])
        assert abs(reader.passed.speed_mm_s - speed) * 100 <= 2 * speed, speed


def test_the_pass_lasts_as_many_samples_as_the_card_covers():
    for speed in (100, 777, 2000):
        reader = Reader(0)
        _read(reader, _pass_of(_printed(_code(30, 0)), speed), [])
        assert abs(reader.passed.samples - 75000 * 20 // speed) <= 1, speed


def test_the_margin_is_the_least_share_of_a_mark_or_a_gap():
    # A mark of 80 % leaves gaps of more; one of 120 % leaves gaps of 1.1 mm of 1.5.
    for width_um, permille in ((2000, 1000), (1600, 800), (1800, 900), (2400, 733), (2200, 867)):
        reader = Reader(0)
        _read(reader, _pass_of(_printed(_code(30, 0), width_um), 200), [])
        assert abs(reader.passed.margin_permille - permille) <= 30, width_um


def test_the_skew_is_the_distance_between_the_tracks():
    for skew_um in (0, 100, 200, 300):
        reader = Reader(0)
        _read(reader, _pass_of(_printed(_code(30, 0)), 400, skew_um), [])
        assert abs(reader.passed.skew_um - skew_um) <= 40, skew_um  # two samples


def test_reading_allocates_nothing():
    # Held under MicroPython only: CPython has no heap to lock.
    data = _recording("clean-set-7")[:6000]
    noise = random_bytes(500)
    reader = Reader(7)

    def read(data, end):
        at = 0
        while at < end:
            at = reader.read(data, at, end)

    for stream in (data, noise, bytes(500)):
        end = len(stream)
        assert not allocates(lambda stream=stream, end=end: read(stream, end))


def test_a_flicker_does_not_hide_a_jam():
    whole = _pass_of(_printed(_code(17, 4)))
    at = 3 * len(whole) // 8
    level = whole[at]
    assert level >> 4 == level & 15
    for channel in (_E, _A, _B, _X):
        other = level ^ (channel | channel << 4)
        still = bytes([level]) * 15200 + bytes([other]) * 2 + bytes([level]) * 15200
        data = whole[:at] + still + whole[at:]
        assert _passes(data, 4) == ["jam"], channel
