"""Checks messages and events with the golden vectors, and the rules for their definitions."""

from protocol.tests.helpers import each_case, raised, same, value_of, vectors
from sabot_firmware.link.authentication import CommandGuard
from sabot_firmware.link.link import Link
from sabot_protocol import OLDEST, VERSION, cards, cbor, enums, events, frame, messages, schema
from sabot_protocol.sim import sim_channel

_SHAPES = messages.TO_DEVICE + messages.TO_HOST + sim_channel.FROM_BENCH + sim_channel.TO_BENCH
_UINT_MAX = (1 << 64) - 1

# A value for each type, and values of all types.
_FITTING = {"uint": 1, "int": -1, "flag": True, "text": "a", "bytes": b"a", "card": 1}
_ALL = (-1, 0, 1, _UINT_MAX, _UINT_MAX + 1, 1.0, True, False, None, "", "a", b"", b"a", [], [1], {})


def _good(name):
    for case in each_case(name, "good"):
        fields = {name: value_of(case["fields"][name]) for name in case["fields"]}
        yield case["name"], fields, bytes.fromhex(case["hex"])


def _bad(name):
    for case in each_case(name, "bad"):
        yield case["why"], bytes.fromhex(case["hex"])


def _encode(value):
    buf = bytearray(frame.MAX_PAYLOAD)
    return bytes(buf[: cbor.encode_into(buf, 0, value)])


def _named(shapes, name):
    return next(shape for shape in shapes if shape.name == name)


def _parse(data, shapes, header=()):
    """Return shape and values of `data`. Raises CborError or SchemaError, as any receiver must."""
    value = cbor.decode(data, 0, len(data))
    if not isinstance(value, list) or not value or type(value[0]) is not int:
        raise schema.SchemaError("not an array that begins with a number")
    for shape in shapes:
        if shape.number == value[0]:
            fields = " ".join([name + ":" + kind for name, kind in header + shape.fields])
            schema.Shape(shape.number, shape.name, fields).check(value[1:])
            return shape, value[1:]
    raise schema.SchemaError("unknown number")


def _taken(name, shapes, header=()):
    taken = []
    for why, data in _bad(name):
        if not raised((cbor.CborError, schema.SchemaError), _parse, data, shapes, header):
            taken.append((why, data.hex()))
    return taken


def test_good_messages_survive_a_round_trip():
    for name, fields, data in _good("messages"):
        shape = _named(_SHAPES, name)
        values = [fields[field] for field, _ in shape.fields]
        assert len(fields) == len(values)
        shape.check(values)
        assert _encode([shape.number] + values) == data, name
        parsed, came = _parse(data, _SHAPES)
        assert parsed is shape and same(came, values), name


def test_good_events_survive_a_round_trip():
    header = events.HEADER[1:]
    for name, fields, data in _good("events"):
        shape = _named(events.KINDS, name)
        values = [fields[field] for field, _ in header + shape.fields]
        assert len(fields) == len(values)
        assert _encode([shape.number] + values) == data, name
        assert len(data) <= events.MAX_SIZE
        parsed, came = _parse(data, events.KINDS, header)
        assert parsed is shape and same(came, values), name


def test_bad_messages_are_refused():
    taken = _taken("messages", _SHAPES)
    assert not taken, taken


def test_bad_events_are_refused():
    taken = _taken("events", events.KINDS, events.HEADER[1:])
    assert not taken, taken


def test_every_kind_has_a_good_vector_and_bad_ones():
    for name, shapes in (("messages", _SHAPES), ("events", events.KINDS)):
        good = {case["name"] for case in each_case(name, "good")}
        bad = {case.get("name") for case in each_case(name, "bad")}
        for shape in shapes:
            where = "add one to protocol/vectors/" + name + ".json, made with code other than ours"
            assert shape.name in good, shape.name + " has no good vector: " + where
            assert shape.name in bad, shape.name + " has no bad vector: " + where


def test_vectors_have_the_oldest_and_the_newest_version_of_the_protocol():
    where = "protocol/vectors/messages.json: no vector of "
    seen = {"hello": [], "welcome": [], "wrong_version": []}
    for case in each_case("messages", "good"):
        if case["name"] in seen:
            seen[case["name"]].append(case["fields"]["protocol"])
    for name in seen:
        for version in (OLDEST, VERSION):
            assert version in seen[name], where + name + " has version " + str(version)


def test_the_golden_event_messages_carry_events():
    carried = []
    for name, fields, _ in _good("messages"):
        if name == "event":
            carried.append((fields["record"], fields["mac"]))
    assert len(carried) >= 3
    chained = {case["record"]: case["mac"] for case in vectors("chain")["records"]}
    for record, mac in carried:
        _parse(record, events.KINDS, events.HEADER[1:])
        assert chained[record.hex()] == mac.hex() and len(mac) == events.MAC_SIZE
    sizes = [len(record) for record, _ in carried]
    assert min(sizes) < 24 and max(sizes) == events.MAX_SIZE


def test_numbers_and_names_are_unique():
    for shapes in (_SHAPES, events.KINDS):
        assert len({shape.number for shape in shapes}) == len(shapes)
        assert len({shape.name for shape in shapes}) == len(shapes)
        for shape in shapes:
            fields = [name for name, _ in shape.fields]
            assert len(set(fields)) == len(fields), shape.name
            if shapes is events.KINDS:
                assert not set(fields) & {name for name, _ in events.HEADER}, shape.name


def test_no_defined_message_or_event_is_left_out_of_the_lists():
    for module, listed in ((messages, _SHAPES), (sim_channel, _SHAPES), (events, events.KINDS)):
        for name in dir(module):
            value = getattr(module, name)
            if isinstance(value, schema.Shape) and value is not events.HEAD:
                assert value in listed, name


def test_a_command_has_an_id_and_is_answered_by_a_report_with_that_id():
    answers = set()
    for shape in messages.TO_DEVICE:
        if shape.by is not None:
            assert shape.by in (messages.OPEN, messages.PROVEN, messages.IN_SIGNED), shape.name
            assert shape.fields[0] == ("id", "uint"), shape.name
            answer = shape.answer or messages.REPLY
            assert answer in messages.TO_HOST and answer.fields[0] == ("id", "uint"), shape.name
            answers.add(answer)
    for shape in messages.TO_HOST:
        assert (shape.fields[0][0] == "id") == (shape in answers), shape.name + " answers nothing"


def test_every_event_names_who_makes_it():
    for shape in events.KINDS:
        assert shape.by in (events.DEALING, events.DEVICE), shape.name


def test_numbers_show_the_sender():
    for shapes, low, high in (
        (messages.TO_DEVICE, 1, 63),
        (messages.TO_HOST, 64, 95),
        (sim_channel.FROM_BENCH, 96, 111),
        (sim_channel.TO_BENCH, 112, 127),
    ):
        for shape in shapes:
            assert low <= shape.number <= high, shape.name
    numbers = [shape.number for shape in events.KINDS]
    assert numbers == sorted(set(numbers)) and numbers[0] == 1


def test_enumerations_have_words_each_once():
    for kind in enums.ENUMERATIONS:
        enumeration = enums.ENUMERATIONS[kind]
        assert 2 <= len(enumeration) <= 48, kind
        each = [enumeration[place] for place in range(len(enumeration))]
        assert len(set(each)) == len(each), kind
        for place in range(len(each)):
            assert enumeration.index(each[place]) == place, kind


def _kinds_used():
    return {
        kind[:-1] if kind[-1] == "?" else kind
        for shape in _SHAPES + events.KINDS + (events.HEAD,)
        for _, kind in shape.fields
    }


def test_every_type_of_a_field_is_known_and_every_enumeration_is_used():
    used = _kinds_used()
    for kind in used:
        assert kind in _FITTING or kind in enums.ENUMERATIONS, kind
    for kind in enums.ENUMERATIONS:
        assert kind in used, kind


def _fits(kind, value):
    return not raised(schema.SchemaError, schema.Shape(1, "one", "field:" + kind).check, [value])


def test_enumerations_take_the_places_of_their_words_and_nothing_else():
    for kind in enums.ENUMERATIONS:
        count = len(enums.ENUMERATIONS[kind])
        for number in range(count):
            assert _fits(kind, number) and _fits(kind + "?", number), (kind, number)
        others = (None, True, False, 1.0, "", "0", b"", [])
        for value in (count, count + 1, 255, _UINT_MAX, -1) + others:
            assert not _fits(kind, value), (kind, value)
            assert _fits(kind + "?", value) == (value is None), (kind, value)


def test_types_take_their_own_values_and_nothing_else():
    taken = {
        "uint": (0, 1, _UINT_MAX),
        "int": (-1, 0, 1),
        "flag": (True, False),
        "text": ("", "a"),
        "bytes": (b"", b"a"),
        "card": (0, 1),
    }
    for kind in taken:
        for value in _ALL:
            fits = any([same(value, one) for one in taken[kind]])
            assert _fits(kind, value) == fits, (kind, value)
            assert _fits(kind + "?", value) == (fits or value is None), (kind, value)


def test_integers_and_cards_keep_to_their_range():
    half = 1 << 63
    assert _fits("int", half - 1) and _fits("int", -half)
    assert not _fits("int", half) and not _fits("int", -half - 1)
    assert _fits("card", cards.CARD_COUNT - 1) and not _fits("card", cards.CARD_COUNT)


def test_a_shape_counts_its_fields():
    shape = schema.Shape(1, "two", "one:uint other:flag")
    shape.check([1, True])
    for values in ([], [1], [1, True, None], [1, True, 1]):
        assert raised(schema.SchemaError, shape.check, values), values


def _largest(kind, name):
    """Return the longest value that occurs in a field: counters of 32 bits, times of 48."""
    longest = {"firmware": "0.123.4567", "board": "pico-w", "game": "\U0001f0a1" * 16}
    if name in longest:
        return longest[name]
    if name in ("build", "sha256"):
        return bytes(32)
    if name == "counts":
        return bytes(cards.DECK_SIZE)
    if name in ("mac", "chain"):
        return bytes(events.MAC_SIZE)
    kind = kind[:-1] if kind[-1] == "?" else kind
    if kind == "uint":
        return (1 << 48) - 1 if name.endswith("_ms") else (1 << 32) - 1
    return _FITTING.get(kind, 0)


def test_no_event_that_occurs_is_longer_than_max_size():
    for shape in events.KINDS:
        values = [_largest(kind, name) for name, kind in events.HEADER[1:] + shape.fields]
        if shape is events.BOOT:
            values[3] = None  # no host has set the clock yet
        size = len(_encode([shape.number] + values))
        assert size <= events.MAX_SIZE, (shape.name, size)


def test_the_largest_event_fits_a_message_with_its_mac():
    message = [messages.EVENT.number, bytes(events.MAX_SIZE), bytes(events.MAC_SIZE)]
    assert len(_encode(message)) <= frame.MAX_PAYLOAD


# The shoe's end of the link is checked with the same vectors.


class _Outbox:
    """Stands in for the outbox: holds at most one event, and any number can be acknowledged."""

    def __init__(self, record=b"", mac=b""):
        self.record = record
        self.mac = mac
        self.acked = 0
        self.first_held = 1
        self.cursor_number = 1 if record else 2

    def acknowledge(self, number):
        self.acked = max(self.acked, number)
        return True

    serve_from = acknowledge

    def rewind(self):
        pass

    def unacked(self):
        return 0

    def take(self):
        if self.cursor_number > 1:
            return None
        self.cursor_number = 2
        return self


class _Device:
    """Stands in for the rest of the shoe."""

    def __init__(self):
        self.commands = []

    def welcome(self, session):
        return [[messages.WELCOME.number, session, VERSION, "SHOE-7", 1, 0, 1, 0, 512]]

    def heartbeat(self, now_ms):
        return [messages.HEARTBEAT.number, now_ms, 0, 0, 0, 0, 1, 0]

    def command(self, shape, values):
        self.commands.append((shape, values))
        return [messages.REPLY.number, values[0], 0, ""]

    def acknowledged(self):
        pass


def _frame_of(payload):
    out = bytearray(frame.MAX_FRAME)
    held = bytearray(payload) + bytearray(frame.CRC_SIZE)
    return bytes(out[: frame.write_frame(held, len(payload), out, 0)])


def _attached(link):
    link.feed(_frame_of(_encode([messages.HELLO.number, VERSION, 1])), 0)
    link.feed(_frame_of(_encode([messages.ACK.number, 0])), 0)
    return link.attached


def test_the_shoe_takes_good_messages_of_a_host_and_counts_all_others():
    for name, fields, data in _good("messages"):
        device = _Device()
        link = Link(_Outbox(), device, CommandGuard(None))
        assert _attached(link)
        link.feed(_frame_of(data), 10)
        known = [shape for shape in messages.TO_DEVICE if shape.name == name]
        assert link.dropped == (0 if known else 1), (name, data.hex())
        if known and known[0] not in (messages.HELLO, messages.ACK, messages.SIGNED):
            values = [fields[field] for field, _ in known[0].fields]
            assert len(device.commands) == 1 and device.commands[0][0] is known[0]
            assert same(device.commands[0][1], values), name


def test_the_shoe_drops_and_counts_every_bad_message():
    taken = []
    for why, data in _bad("messages"):
        device = _Device()
        link = Link(_Outbox(), device, CommandGuard(None))
        link.feed(_frame_of(data), 0)
        alone = link.dropped == 1 and not link.attached
        assert _attached(link)
        link.feed(_frame_of(data), 10)
        if not alone or link.dropped != 2 or device.commands:
            taken.append((why, data.hex()))
    assert not taken, taken


def test_the_shoe_sends_every_event_as_a_deterministic_message():
    wrong = []
    mac = bytes(range(events.MAC_SIZE))
    for name, _, record in _good("events"):
        link = Link(_Outbox(memoryview(record), memoryview(mac)), _Device(), CommandGuard(None))
        assert _attached(link)
        sent = frame.FrameReader().feed(bytes(memoryview(link.out)[: link.fill(0)]))
        if sent[-1] != _encode([messages.EVENT.number, record, mac]):
            wrong.append((name, len(record), sent[-1].hex()))
    assert not wrong, wrong
