"""The card reader: recordings with known answers, and passes computed from the geometry."""

import json
import random

from firmware.tests.support.passing import (
    CARD_UM,
    FAST_MM_S,
    FIRST_UM,
    PITCH_UM,
    REST,
    WIDTH_UM,
    A,
    B,
    E,
    X,
    code,
    pass_of,
    printed,
)  # fmt: skip
from firmware.tests.support.reading import passes_of, read
from protocol.tests.helpers import allocates, memory_in_use, random_bytes, seed_random
from sabot_firmware.cards.reader import Reader
from sabot_protocol import cards, enums

_SAMPLES = __file__.rsplit("/", 2)[0] + "/samples/"


def _is_card(outcome):
    return outcome not in enums.FAULTS


def _answers(name):
    with open(_SAMPLES + "answers.json") as file:
        answer = json.load(file)[name]
    passes = [each["fault"] if isinstance(each, dict) else each for each in answer["passes"]]
    return answer["set"], passes


def _recording(name):
    with open(_SAMPLES + name + ".samples", "rb") as file:
        return file.read()


def _passes_of_file(name, card_set):
    """Return the passes of a recording, read a piece at a time: the board's heap is small."""
    reader, passes = Reader(card_set), []
    piece = bytearray(4096)
    with open(_SAMPLES + name + ".samples", "rb") as file:
        size = file.readinto(piece)
        while size:
            read(reader, piece, passes, 0, size)
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
            data = pass_of(printed(code(card, card_set)))
            seen = []
            read(own, data, seen)
            assert own.passed.card == card and own.passed.card_set == card_set, (card_set, card)
            read(other, data, seen)
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
                read(reader, data[at : at + size], seen)
            else:
                read(reader, data, seen, at, min(at + size, len(data)))
            at += size
        assert seen == answers, longest


def test_a_flicker_after_a_card_is_no_second_pass():
    nibbles = []
    for octet in pass_of(printed(code(7, 0))):
        nibbles += [octet & 15, octet >> 4]
    while not nibbles[-1]:
        nibbles.pop()
    for clear in (3, 4, 9, 30):  # X shows nothing for this many samples, then the card again
        flicker = nibbles[:-60] + [0] * clear + nibbles[-60:] + [0] * REST
        data = bytes([flicker[i] | flicker[i + 1] << 4 for i in range(0, len(flicker) - 1, 2)])
        assert passes_of(data) == ["8C"], clear


def test_a_code_that_runs_backwards_is_reversed_and_no_card():
    seed_random()
    for card, card_set in _some_cards(40):
        symbols = code(card, card_set)
        symbols.reverse()
        assert passes_of(pass_of(printed(symbols)), card_set) == ["reversed"], (card, card_set)


def test_a_blank_has_no_code():
    for speed in (100, 800, 3000):
        assert passes_of(pass_of([], speed)) == ["no_code"]


def test_a_card_of_which_only_a_part_comes_is_no_card():
    symbols = printed(code(17, 4))
    whole = pass_of(symbols)
    assert passes_of(whole, 4) == ["5D"]
    for until_um in range(7000, CARD_UM, 700):
        seen = passes_of(pass_of(symbols, until_um=until_um), 4)
        assert len(seen) == 1 and not _is_card(seen[0]), (until_um, seen)


def test_a_card_pushed_back_from_any_depth_is_no_card():
    marks = printed(code(17, 4))
    whole = pass_of(marks)
    for depth in range(40, len(whole) - REST // 2, 9):
        into = whole[:depth]
        out = bytes([octet >> 4 | (octet & 15) << 4 for octet in reversed(into)])
        if not into[-1] & E:
            break  # it has left the entry and cannot be pushed back
        seen = passes_of(into + out + bytes(40), 4)
        assert len(seen) == 1 and not _is_card(seen[0]), (depth, seen)


def test_a_card_that_stopped_for_three_seconds_is_jammed_and_not_trusted_when_it_comes_out():
    whole = pass_of(printed(code(17, 4)))
    covered = len(whole) - REST // 2
    for at in (covered // 20, covered // 3, covered // 2, covered * 19 // 20):
        while whole[at] & 15 != whole[at] >> 4:
            at += 1  # find a place without an edge
        stop = bytes([whole[at]])
        for samples, outcome in ((10000, "5D"), (50000, "5D"), (60000, "jam"), (90000, "jam")):
            reader, seen = Reader(4), []
            read(reader, whole[:at], seen)
            for _ in range(samples // 100):
                read(reader, stop * 50, seen)
            read(reader, whole[at:], seen)
            assert seen == [outcome], (at, samples, seen)
        seen = []
        read(reader, whole, seen)
        assert seen == ["5D"], "the next card is read"


def test_a_missing_mark_is_a_bad_code():
    seed_random()
    for card, card_set in _some_cards(20):
        for i in range(14):
            marks = printed(code(card, card_set))
            del marks[i]
            assert passes_of(pass_of(marks), card_set) == ["bad_code"], (card, card_set, i)


def test_a_hole_in_a_mark_never_stands_for_the_same_mark_that_is_missing_beside_it():
    seed_random()
    for card, card_set in _some_cards(20):
        symbols = code(card, card_set)
        for i in range(13):
            if symbols[i] != symbols[i + 1]:
                continue
            for missing, whole in ((i, i + 1), (i + 1, i)):
                marks = printed(symbols)
                begins, _, symbol = marks[whole]
                before_um = random.randrange(800, 1000)
                hole_um = random.choice((100, 200, 300))
                after = (begins + before_um + hole_um, WIDTH_UM - before_um - hole_um, symbol)
                marks[whole] = (begins, before_um, symbol)
                marks[missing] = after
                for speed in (100, 300, 1000):
                    seen = passes_of(pass_of(marks, speed), card_set)
                    assert seen == ["bad_code"], (card, card_set, missing, hole_um, speed, seen)


def test_an_added_mark_is_a_bad_code():
    seed_random()
    for card, card_set in _some_cards(10):
        for i in range(-1, 14):
            for symbol in range(3):
                marks = printed(code(card, card_set))
                if 0 <= i < 13:  # in the gap after mark i
                    begins = FIRST_UM + i * PITCH_UM + WIDTH_UM
                    marks.append((begins + 500, 500, symbol))
                else:
                    marks.append((FIRST_UM + i * PITCH_UM, WIDTH_UM, symbol))
                if i == 13:  # the place of the last mark: add one after it
                    marks[-1] = (FIRST_UM + 14 * PITCH_UM, WIDTH_UM, symbol)
                seen = passes_of(pass_of(marks), card_set)
                assert seen == ["bad_code"], (card, card_set, i, symbol, seen)


def test_up_to_five_changed_marks_are_never_a_card():
    seed_random()
    for card, card_set in _some_cards(20):
        for i in range(14):
            for other in (1, 2):
                symbols = code(card, card_set)
                symbols[i] = (symbols[i] + other) % 3
                seen = passes_of(pass_of(printed(symbols)), card_set)
                assert seen == ["bad_code"], (card, card_set, i, seen)
        for _ in range(20):
            symbols = code(card, card_set)
            for _ in range(random.randint(2, 5)):
                i = random.randrange(14)
                symbols[i] = random.randrange(3)
            if symbols == code(card, card_set):
                continue
            seen = passes_of(pass_of(printed(symbols)), card_set)
            assert len(seen) == 1 and not _is_card(seen[0]), (card, card_set, symbols)


def test_a_dead_track_is_never_a_card():
    seed_random()
    for card, card_set in _some_cards(30):
        data = pass_of(printed(code(card, card_set)))
        for alive in (E | X, E | X | A, E | X | B):
            seen = passes_of(bytes([octet & (alive | alive << 4) for octet in data]), card_set)
            assert len(seen) == 1 and not _is_card(seen[0]), (card, card_set, alive)


def test_a_track_that_covers_half_a_mark_is_never_guessed():
    marks = printed(code(17, 4))
    for i in range(14):
        begins, _, symbol = marks[i]
        if symbol == 2:  # half of track B is missing
            halved = marks[:i] + marks[i + 1 :]
            halved += [(begins, WIDTH_UM, 0), (begins, WIDTH_UM // 2, 1)]
        else:  # half a mark was added on the other track
            halved = marks + [(begins, WIDTH_UM // 2, 1 - symbol)]
        assert passes_of(pass_of(halved), 4) == ["bad_code"], i


def test_noise_is_never_a_card_and_takes_no_memory():
    seed_random()
    reader = Reader(0)
    before = memory_in_use()
    for _ in range(40):
        seen = []
        read(reader, random_bytes(1000), seen)
        assert not [outcome for outcome in seen if _is_card(outcome)]
    for octet in (0x00, 0xFF, 0x11, 0x88, 0x99, 0x66):
        for _ in range(50):
            seen = []
            read(reader, bytes([octet]) * 1000, seen)
            assert not [outcome for outcome in seen if _is_card(outcome)]
    covered = bytes([E | X | octet & 6 | (E | X | octet >> 4 & 6) << 4 for octet in range(256)])
    for _ in range(50):
        seen = []
        read(reader, covered, seen)
        assert not seen
    seen = None
    assert memory_in_use() - before < 2000


def test_a_card_is_read_after_any_noise_and_a_rest():
    seed_random()
    data = pass_of(printed(code(44, 0)))
    reader = Reader(0)
    for _ in range(30):
        read(reader, random_bytes(random.randrange(300)) + bytes(REST // 2), [])
        seen = []
        read(reader, data, seen)
        assert seen == ["6S"]


def test_the_speed_is_right_within_two_percent():
    for speed in (50, 51, 70, 99, 150, 333, 800, 1234, 2000, 2500, 3000):
        reader = Reader(0)
        read(reader, pass_of(printed(code(30, 0)), speed), [])
        assert abs(reader.passed.speed_mm_s - speed) * 100 <= 2 * speed, speed


def test_the_pass_lasts_as_many_samples_as_the_card_covers():
    for speed in (100, 777, 2000):
        reader = Reader(0)
        read(reader, pass_of(printed(code(30, 0)), speed), [])
        assert abs(reader.passed.samples - 75000 * 20 // speed) <= 1, speed


def test_the_margin_is_the_least_share_of_a_mark_or_a_gap():
    # A mark of 80 % leaves gaps of more; one of 120 % leaves gaps of 1.1 mm of 1.5.
    for width_um, permille in ((2000, 1000), (1600, 800), (1800, 900), (2400, 733), (2200, 867)):
        reader = Reader(0)
        read(reader, pass_of(printed(code(30, 0), width_um), 200), [])
        assert abs(reader.passed.margin_permille - permille) <= 30, width_um


def test_the_skew_is_the_distance_between_the_tracks():
    for skew_um in (0, 100, 200, 300):
        reader = Reader(0)
        read(reader, pass_of(printed(code(30, 0)), 400, skew_um), [])
        assert abs(reader.passed.skew_um - skew_um) <= 40, skew_um  # two samples


def test_reading_allocates_nothing():
    # This checks under MicroPython only: CPython has no heap to lock.
    data = _recording("clean-set-7")[:6000]
    noise = random_bytes(500)
    reader = Reader(7)

    def read_all(data, end):
        at = 0
        while at < end:
            at = reader.read(data, at, end)

    for stream in (data, noise, bytes(500)):
        end = len(stream)
        assert not allocates(lambda stream=stream, end=end: read_all(stream, end))


def test_a_flicker_does_not_hide_a_jam():
    whole = pass_of(printed(code(17, 4)))
    at = 3 * len(whole) // 8
    level = whole[at]
    assert level >> 4 == level & 15
    for channel in (E, A, B, X):
        other = level ^ (channel | channel << 4)
        still = bytes([level]) * 15200 + bytes([other]) * 2 + bytes([level]) * 15200
        data = whole[:at] + still + whole[at:]
        assert passes_of(data, 4) == ["jam"], channel


# Known at the last mark


def _known(reader, data):
    """Return each card that becomes known, with the sample at which it does."""
    found = []
    was, at = -1, 0
    while at < len(data):
        at = reader.read(data, at, len(data))
        if reader.known != was and reader.known >= 0:
            found.append((cards.name_of(reader.known), 2 * at))
        was = reader.known
    return found


def test_a_card_is_known_within_five_samples_of_its_last_mark_and_not_before():
    seed_random()
    for speed in (50, 800, 3000):
        for card, card_set in _some_cards(5):
            data = pass_of(printed(code(card, card_set)), speed)
            last_mark = 60500 * 20 // speed
            ((name, at),) = _known(Reader(card_set), data)
            assert name == cards.name_of(card)
            assert last_mark <= at <= last_mark + 6, (speed, at, last_mark)


def test_a_hole_in_the_last_mark_and_a_flicker_after_it_do_not_make_a_card_known_later():
    """How the card leaves E says how fast it was, and is not known yet."""
    marks = printed(code(17, 4))
    begins, _, symbol = marks[-1]
    marks[-1] = (begins, 1000, symbol)
    marks.append((begins + 1200, 800, symbol))
    for flicker in (0, 1):
        data = bytearray(pass_of(marks, 800))
        after = 60500 * 20 // 800 + 1
        data[after >> 1] ^= E << 4 * (after & 1) if flicker else 0
        assert [name for name, _ in _known(Reader(4), data)] == ["5D"], flicker
        assert passes_of(data, 4) == ["5D"]


def test_what_is_known_early_is_forgotten_when_the_pass_ends_and_sure_only_then():
    reader = Reader(0)
    data = pass_of(printed(code(7, 0)))
    at = reader.read(data, 0, len(data))
    assert reader.known == 7 and not reader.ended
    at = reader.read(data, at, len(data))
    assert reader.ended and reader.known == -1 and reader.passed.card == 7
    assert reader.read(data, at, len(data)) == len(data) and not reader.ended


def test_a_card_that_is_foreign_reversed_or_spoilt_is_never_known():
    backwards = code(17, 4)
    backwards.reverse()
    changed = code(17, 4)
    changed[5] = (changed[5] + 1) % 3
    for symbols, card_set in ((code(17, 4), 5), (backwards, 4), (changed, 4)):
        assert _known(Reader(card_set), pass_of(printed(symbols))) == []


def test_two_cards_at_once_are_known_as_one_and_named_a_double_feed_in_the_end():
    data = pass_of(printed(code(17, 4)))
    shift = 8000 * 20 // FAST_MM_S  # the second card follows 8 mm later
    both = bytearray(len(data) + shift // 2)
    for i in range(len(both)):
        first = data[i] if i < len(data) else 0
        second = data[i - shift // 2] if i >= shift // 2 else 0
        both[i] = first | second & 0x99  # its code is under the first card
    reader = Reader(4)
    assert [name for name, _ in _known(reader, both)] == ["5D"]
    assert passes_of(both, 4) == ["double_feed"]


def test_a_second_card_on_top_is_never_taken_for_the_first_with_holes_in_its_marks():
    seed_random()
    for width_um in (WIDTH_UM, 2400):
        for offset_um in range(12000, 19000, 500):
            (one, card_set), (other, _) = _some_cards(2)
            speed = random.choice((100, 300, 1000))
            first = pass_of(printed(code(one, card_set), width_um), speed)
            second = pass_of(printed(code(other, card_set), width_um), speed)
            shift = offset_um * 10 // speed
            hidden = (offset_um + 6000) * 10 // speed  # the second card's edge is at the UV sensors
            both = bytearray(len(second) + shift)
            for i in range(len(both)):
                seen = (first[i] if i < len(first) else 0) & (0x99 if i >= hidden else 0xFF)
                both[i] = seen | (second[i - shift] if i >= shift else 0)
            seen = passes_of(both, card_set)
            named = ("double_feed",) if width_um == WIDTH_UM else ("double_feed", "bad_code")
            assert len(seen) == 1 and seen[0] in named, (
                one,
                other,
                card_set,
                offset_um,
                speed,
                seen,
            )


def test_the_channels_are_seen_as_they_are_built():
    reader = Reader(0)
    read(reader, pass_of(printed(code(30, 0)), 400), [])
    for permille in reader.passed.permille:
        assert abs(permille - 1000) <= 60, reader.passed.permille
    narrow = printed(code(30, 0), WIDTH_UM * 8 // 10)
    read(reader, pass_of(narrow, 400), [])
    assert abs(reader.passed.permille[1] - 800) <= 30
    assert abs(reader.passed.permille[2] - 800) <= 30
    read(reader, pass_of([], 400), [])
    assert reader.passed.permille == [0] * 4
