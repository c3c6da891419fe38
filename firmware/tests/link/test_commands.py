"""The host's commands on a shoe without a board: what they do, record and answer."""

import hashlib

from firmware.tests.fakes.fake_flash import FIRST_KEY, RING, new_chip
from firmware.tests.support.held import records_in
from firmware.tests.test_store import Folder
from sabot_firmware.journal.journal import Journal
from sabot_firmware.journal.outbox import Outbox
from sabot_firmware.journal.recorder import Recorder
from sabot_firmware.link import commands
from sabot_firmware.store import SettingsStore
from sabot_firmware.table import input_log
from sabot_firmware.table.dealing import Dealing
from sabot_protocol import cbor, enums, events, games, messages

_NEW_YEAR_2025_MS = 1735689600000
_JULY_2026_MS = 1782864000000
_SHAPES = {shape.number: shape for shape in messages.TO_HOST}


class _Board:
    def __init__(self):
        self.now_ms = 5000
        self.buzzed_ms = []

    def ticks_ms(self):
        return self.now_ms

    def buzz(self, ms):
        self.buzzed_ms.append(ms)


class _Link:
    dropped = 3


class _Heap:
    used = 1000
    free = 2000


class _Running:
    on_trial = False


class _Acting:
    def __init__(self, shoe):
        self._shoe = shoe

    def carry_out(self, note):
        for shape, number, round_, values in input_log.carry_out(self._shoe.dealing, note):
            self._shoe.recorder.record(shape, number, round_, values)


class _Shoe:
    """The part of sabot_firmware.shoe.Shoe that commands use, started from `folder`."""

    def __init__(self, folder, ring=RING):
        self.board = _Board()
        self.link = _Link()
        self.heap = _Heap()
        self.store = SettingsStore(folder.path)
        game = games.Game(self.store.load("game") or games.document_of("mini"))
        self.journal = Journal(new_chip(ring), bytearray(4096))
        self.journal.begin(FIRST_KEY)
        self.journal.mount()
        self.recorder = Recorder(self.journal, 1, self.board.ticks_ms)
        self.outbox = Outbox(self.journal, 0)
        self.dealing = Dealing(game, 0, 41)
        self.game_parts = None
        self.running = _Running()
        self.acting = _Acting(self)

    def load_cards(self):
        self.dealing.switched(0, True)
        self.dealing.switched(0, False)

    def recorded(self):
        """Return all events since the start."""
        return [cbor.decode(record, 0, len(record)) for record in records_in(self.journal)]


def _run(shoe, shape, *values):
    shape.check(list(values))
    answer = commands.run(shoe, shape, list(values))
    _SHAPES[answer[0]].check(answer[1:])
    assert answer[1] == values[0], "the answer carries the command's number"
    return answer


def _done(answer):
    return answer[0] == messages.REPLY.number and enums.REFUSALS[answer[2]] == "none"


def _refused(answer):
    """Return the reason and the detail of a refusal."""
    assert answer[0] == messages.REPLY.number and answer[2] and len(answer[3]) < 200
    return enums.REFUSALS[answer[2]], answer[3]


def _document(**changes):
    document = dict(games.MINI)
    document.update(changes)
    buf = bytearray(2000)
    return bytes(buf[: cbor.encode_into(buf, 0, document)])


def _part(shoe, document, offset, end, size=None):
    size = len(document) if size is None else size
    return _run(shoe, messages.LOAD_GAME, 1, offset, size, document[offset:end])


def _load(shoe, document, part_size=messages.MAX_GAME_PART):
    """Send the parts of a document until one is refused; return the last answer."""
    offset = 0
    while True:
        answer = _part(shoe, document, offset, offset + part_size)
        offset += part_size
        if offset >= len(document) or not _done(answer):
            return answer
        assert shoe.dealing.game.document != document, "not before the last part"


def test_every_command_is_carried_out_by_a_function_of_its_name():
    for shape in messages.TO_DEVICE:
        if shape.by is not None:
            name = "on_" + shape.name
            assert hasattr(commands, name), "sabot_firmware/link/commands.py has no " + name
    names = [shape.name for shape in messages.TO_DEVICE if shape.by is not None]
    for name in dir(commands):
        assert name[:3] != "on_" or name[3:] in names, "no command is called " + name[3:]


def test_set_clock_sets_the_time_of_day_and_is_recorded():
    with Folder() as folder:
        shoe = _Shoe(folder)
        assert _done(_run(shoe, messages.SET_CLOCK, 9, _JULY_2026_MS))
        shoe.board.now_ms += 250
        assert shoe.recorder.unix_ms() == _JULY_2026_MS + 250
        ((kind, _, _, t_ms, unix_ms, shoe_number, _, before),) = shoe.recorded()
        assert (kind, before) == (events.CLOCK_SET.number, None)
        assert (t_ms, unix_ms, shoe_number) == (5000, _JULY_2026_MS, 41)


def test_an_old_time_is_refused_and_the_clock_stays():
    with Folder() as folder:
        shoe = _Shoe(folder)
        for old in (0, 1, 1600000000000, _NEW_YEAR_2025_MS - 1):
            _refused(_run(shoe, messages.SET_CLOCK, 1, old))
        assert shoe.recorder.unix_ms() is None and shoe.recorded() == []
        assert _done(_run(shoe, messages.SET_CLOCK, 1, _NEW_YEAR_2025_MS))
        _refused(_run(shoe, messages.SET_CLOCK, 2, 1600000000000))
        assert shoe.recorder.unix_ms() == _NEW_YEAR_2025_MS


def test_no_time_stops_the_shoe_from_recording():
    for unix_ms in ((1 << 64) - 1, (1 << 63), 1 << 50):
        with Folder() as folder:
            shoe = _Shoe(folder)
            commands.run(shoe, messages.SET_CLOCK, [1, unix_ms])
            shoe.board.now_ms += 60000
            shoe.recorder.record(events.LID, 1, 0, (True,))
            assert shoe.recorded()[-1][0] == events.LID.number


def test_a_ghost_hand_is_marked_before_the_first_card_and_as_often_as_the_house_allows():
    with Folder() as folder:
        shoe = _Shoe(folder)
        _refused(_run(shoe, messages.MARK_GHOST, 1))
        shoe.load_cards()
        for card in (0, 14):  # an ace, and one to burn
            shoe.dealing.card_passed(card)
        for _ in range(3):
            assert _done(_run(shoe, messages.MARK_GHOST, 2))
            _refused(_run(shoe, messages.MARK_GHOST, 3))
            for card in (8, 1, 12, 1):  # 9 and a king make a natural
                shoe.dealing.card_passed(card)
            shoe.dealing.pressed(enums.BUTTONS.index("next"))
        _refused(_run(shoe, messages.MARK_GHOST, 4))
        marked = [each[7] for each in shoe.recorded() if each[0] == events.GHOST_HAND.number]
        assert marked == [1, 2, 3]


def test_identify_buzzes_and_is_recorded():
    with Folder() as folder:
        shoe = _Shoe(folder)
        assert _done(_run(shoe, messages.IDENTIFY, 1))
        assert len(shoe.board.buzzed_ms) == 1 and shoe.board.buzzed_ms[0] > 500
        assert [event[0] for event in shoe.recorded()] == [events.IDENTIFIED.number]


def test_status_reports_the_state_of_the_shoe():
    with Folder() as folder:
        shoe = _Shoe(folder)
        shoe.load_cards()
        for card in (0, 14, 3):  # an ace, one to burn, the Player's first
            shoe.dealing.card_passed(card)
        for _ in range(5):
            shoe.recorder.record(events.LID, 1, 0, (True,))
        shoe.journal.drain()
        shoe.outbox.acknowledge(3)
        answer = _run(shoe, messages.STATUS, 12)
        fields = [name for name, _ in messages.STATUS_REPORT.fields]
        report = {fields[i]: answer[1 + i] for i in range(len(fields))}
        assert answer[0] == messages.STATUS_REPORT.number
        assert report == {
            "id": 12,
            "t_ms": 5000,
            "unix_ms": None,
            "phase": enums.PHASES.index("dealing"),
            "error": 0,
            "lock_released": True,
            "shoe": 42,
            "round": 1,
            "cards": 3,
            "heap_used": 1000,
            "heap_free": 2000,
            "queue_events": 2,
            "frames_dropped": 3,
            "journal_room": (RING - 1) * (4080 // 214),  # the largest entries into sectors
            "bad_sectors": 0,
        }


def test_read_events_goes_back_to_what_is_held_and_refuses_the_rest():
    with Folder() as folder:
        shoe = _Shoe(folder)
        outbox = shoe.outbox
        for _ in range(1500):  # more than the chip holds
            shoe.recorder.record(events.LID, 1, 0, (True,))
            shoe.journal.drain()
            outbox.acknowledge(outbox.next_number - 1)
        assert 1 < outbox.first_held < 1200
        for number in (0, 1, outbox.first_held - 1, 1502, 1 << 63):
            refused = _refused(_run(shoe, messages.READ_EVENTS, 1, number))
            assert refused == ("not_held", str(number))
            assert outbox.take() is None
        for number in (1500, outbox.first_held, 1300):
            assert _done(_run(shoe, messages.READ_EVENTS, 1, number))
            record = outbox.take().record
            assert cbor.decode(record, 0, len(record))[1] == number


def test_a_game_is_loaded_between_shoes_recorded_and_still_there_after_a_restart():
    with Folder() as folder:
        shoe = _Shoe(folder)
        document = _document(name="six decks", decks=6)
        assert _done(_load(shoe, document))
        assert (shoe.dealing.game.name, shoe.dealing.game.decks) == ("six decks", 6)
        (event,) = shoe.recorded()
        assert event[0] == events.GAME_LOADED.number
        assert event[7:] == ["six decks", shoe.dealing.game.sha256]
        shoe = _Shoe(folder)
        assert shoe.dealing.game.document == document


def test_the_next_shoe_of_cards_is_dealt_by_the_game_that_was_loaded():
    with Folder() as folder:
        shoe = _Shoe(folder)
        loaded = _document(rules="maryland", betting_closed_by="dealer", burn="one", house={})
        assert _done(_load(shoe, loaded))
        shoe.load_cards()
        shoe.dealing.card_passed(0)
        assert not shoe.dealing.lock_released(), "the dealer has not called no more bets"
        shoe.dealing.pressed(enums.BUTTONS.index("next"))
        actions = shoe.dealing.card_passed(26)
        positions = [values[1] for shape, _, _, values in actions if shape is events.CARD]
        assert positions == [enums.POSITIONS.index("player_1")]


def test_a_shoe_takes_no_game_that_contradicts_its_rule_document():
    with Folder() as folder:
        shoe = _Shoe(folder)
        for changes, why in (
            ({"player_draws": []}, "the draws are not those of the rules"),
            ({"house": {"tie_pays": 1}}, "washington: a tie does not pay 1"),
            ({"house": {"vigorish_permille": 500}}, "the vigorish is 50 permille, not 500"),
        ):
            refusal, detail = _refused(_load(shoe, _document(**changes)))
            assert refusal == "invalid" and why in detail, detail
        assert shoe.store.load("game") is None


def test_a_kept_game_of_version_2_is_dealt_as_before_and_is_not_taken_again():
    old = dict(games.MINI, version=2, name="old")
    del old["rules"], old["betting_closed_by"]
    buf = bytearray(2000)
    document = bytes(buf[: cbor.encode_into(buf, 0, old)])
    with Folder() as folder:
        shoe = _Shoe(folder)
        shoe.store.save("game", document)
        shoe = _Shoe(folder)
        assert shoe.dealing.game.name == "old"
        old["name"] = "older"
        again = bytes(buf[: cbor.encode_into(buf, 0, old)])
        refused = _refused(_load(shoe, again))
        assert refused == ("invalid", "game document of version 2: make it again")
        shoe.load_cards()
        for card in (0, 1):  # burn an ace and one
            shoe.dealing.card_passed(card)
        assert shoe.dealing.lock_released(), "the first card closes betting"


def test_a_game_is_refused_while_a_shoe_of_cards_is_in_play():
    with Folder() as folder:
        shoe = _Shoe(folder)
        shoe.load_cards()
        cards_of_a_round = (0, 1, 8, 1, 12, 1)  # burn an ace and one; 9 and king make a natural
        for card in (None,) + cards_of_a_round:
            if card is not None:
                shoe.dealing.card_passed(card)
            _refused(_load(shoe, _document(name="other")))
        assert shoe.dealing.game.name == "mini" and shoe.recorded() == []
        assert shoe.store.load("game") is None
        shoe.dealing.switched(1, True)
        for button in ("void", "burn"):  # ends the shoe of cards
            shoe.dealing.pressed(enums.BUTTONS.index(button))
        assert _done(_load(shoe, _document(name="other")))


def test_a_game_that_is_damaged_or_wrong_is_refused_and_nothing_of_it_is_kept():
    good = _document(name="other")
    bad = [good[:size] for size in range(0, len(good), 7)]
    bad += [good + b"\0", _document(extra=1), _document(decks=9), _document(decks=True)]
    bad += [_document(version=1), _document(burn="two"), _document(shown="never")]
    bad += [_document(wagers=["chemin"]), _document(wagers=["tie", "tie"]), bytes(901)]
    bad += [_document(player_draws=[8]), _document(house={"note": "x" * 600}), b""]
    bad += [_document(house={"x" * 500: None}), _document(wagers=["x" * 300])]
    bad += [_document(version=4), _document(name=""), _document(name="x" * 17)]
    bad += [_document(player_draws=[5, 4]), _document(banker_draws=[[]] * 9), bytes(600)]
    bad += [_document(source="x" * 121), _document(banker_draws=[[10]] * 10), b"\xa0", b"\x05"]
    with Folder() as folder:
        shoe = _Shoe(folder)
        for document in bad:
            _refused(_load(shoe, document))
        assert shoe.dealing.game.name == "mini" and shoe.recorded() == []
        assert shoe.store.load("game") is None
        assert _done(_load(shoe, good))
        for document in bad:
            _refused(_load(shoe, document))
        assert shoe.dealing.game.name == "other"
        assert _Shoe(folder).dealing.game.name == "other"


def test_a_document_may_come_in_parts_of_any_size():
    document = _document(name="other", house={"note": "x" * 430})
    assert 850 < len(document) <= games.MAX_DOCUMENT
    for part_size in (1, 7, 399, 400):
        with Folder() as folder:
            shoe = _Shoe(folder)
            assert _done(_load(shoe, document, part_size)), part_size
            assert shoe.dealing.game.document == document and shoe.game_parts is None
            assert len(shoe.recorded()) == 1
            assert _Shoe(folder).dealing.game.document == document


def test_a_document_of_the_largest_size_is_loaded_and_a_longer_one_refused_at_once():
    with Folder() as folder:
        shoe = _Shoe(folder)
        most = games.MAX_DOCUMENT - len(_document(house={"note": ""})) - 2
        assert len(_document(house={"note": "x" * most})) == games.MAX_DOCUMENT
        assert _done(_load(shoe, _document(house={"note": "x" * most})))
        longer = _document(house={"note": "x" * (most + 1)})
        assert _refused(_part(shoe, longer, 0, 400)) == ("bad_size", "900")
        for size in (0, 901, 1 << 40, (1 << 64) - 1):
            _refused(_part(shoe, longer, 0, 400, size))
            assert shoe.game_parts is None


def test_parts_out_of_order_overlapping_or_of_another_size_are_refused_and_nothing_is_kept():
    document = _document(name="other")
    size = len(document)
    for wrong in (
        (400, 544, size + 1),  # another size
        (400, 544, size - 1),
        (401, 544, size),  # a hole
        (399, 544, size),  # overlapping
        (400, 400, size),  # empty
        (200, 400, size),
        (size, size, size),
        (1 << 40, size, size),
    ):
        with Folder() as folder:
            shoe = _Shoe(folder)
            _refused(_part(shoe, document, 400, size))  # with nothing before it
            assert _done(_part(shoe, document, 0, 200)) and _done(_part(shoe, document, 200, 400))
            _refused(_part(shoe, document, *wrong))
            assert shoe.game_parts is None, wrong
            _refused(_part(shoe, document, 400, size))  # it starts over
            assert shoe.dealing.game.name == "mini" and shoe.recorded() == []
            assert shoe.store.load("game") is None
            assert _done(_load(shoe, document)) and shoe.dealing.game.name == "other"


def test_a_part_that_is_too_long_or_ends_beyond_the_document_is_refused():
    document = _document(name="other")
    with Folder() as folder:
        shoe = _Shoe(folder)
        _refused(_part(shoe, document, 0, messages.MAX_GAME_PART + 1))
        _refused(_part(shoe, document, 0, 400, 399))
        assert _done(_part(shoe, document, 0, 400))
        _refused(_run(shoe, messages.LOAD_GAME, 1, 400, len(document), document[400:] + b"x"))
        assert shoe.game_parts is None


def test_a_first_part_starts_the_document_over():
    one, other = _document(name="one"), _document(name="other", decks=6)
    with Folder() as folder:
        shoe = _Shoe(folder)
        assert _done(_part(shoe, one, 0, 400)) and _done(_part(shoe, other, 0, 300))
        assert _done(_part(shoe, other, 300, len(other)))
        assert shoe.dealing.game.name == "other"


def test_a_document_whose_parts_came_before_the_cards_is_refused_whole():
    document = _document(name="other")
    with Folder() as folder:
        shoe = _Shoe(folder)
        assert _done(_part(shoe, document, 0, 400))
        shoe.load_cards()
        assert _refused(_part(shoe, document, 400, len(document)))[0] == "mid_shoe"
        assert shoe.game_parts is None and shoe.dealing.game.name == "mini"


def test_a_host_reads_the_document_of_the_game_that_is_dealt_in_parts():
    with Folder() as folder:
        shoe = _Shoe(folder)
        document, at = b"", 0
        while True:
            answer = _run(shoe, messages.READ_GAME, 7, at)
            _, _, sha256, size, offset, part = answer
            assert offset == at and 0 < len(part) <= messages.MAX_GAME_PART
            document += part
            at += len(part)
            if at == size:
                break
        assert document == games.document_of("mini")
        assert sha256 == hashlib.sha256(document).digest()
        for past in (size, size + 1, 2**64 - 1):
            assert _refused(_run(shoe, messages.READ_GAME, 8, past))[0] == "bad_part"


def test_a_midi_shoe_is_in_play_until_its_last_round_is_revealed():
    midi = _document(name="midi", shown="after_reveal", burn="none")
    with Folder() as folder:
        shoe = _Shoe(folder)
        assert _done(_load(shoe, midi))
        shoe.load_cards()
        for card in (52, 8, 1, 12, 14):  # the cut card; a natural
            shoe.dealing.card_passed(card)
        assert shoe.dealing.current_round.winner >= 0 and not shoe.dealing.can_change_game()
        _refused(_load(shoe, _document()))
        shoe.dealing.pressed(enums.BUTTONS.index("reveal"))
        assert _done(_load(shoe, _document()))


def test_a_journal_that_waits_for_a_host_records_no_commands():
    with Folder() as folder:
        shoe = _Shoe(folder, ring=3)
        journal = shoe.journal
        while not journal.crowded():
            assert _done(_run(shoe, messages.IDENTIFY, 1))
            while journal.unwritten():
                journal.step()
        number, beeps = journal.number, len(shoe.board.buzzed_ms)
        full = ("full", "")
        assert full == _refused(_run(shoe, messages.IDENTIFY, 2))
        assert full == _refused(_run(shoe, messages.SET_CLOCK, 3, _JULY_2026_MS))
        assert full == _refused(_load(shoe, _document(name="other")))
        assert journal.number == number and len(shoe.board.buzzed_ms) == beeps
        assert shoe.recorder.unix_ms() is None and shoe.dealing.game.name == "mini"
        assert shoe.store.load("game") is None
        assert _done(_run(shoe, messages.READ_EVENTS, 4, 1))
        journal.acknowledge(journal.durable)
        journal.drain()
        assert _done(_run(shoe, messages.IDENTIFY, 5)) and journal.number == number + 1
