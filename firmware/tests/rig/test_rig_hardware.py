"""The bench board's player, watcher, screen and contacts on a fake Pico: levels and times."""

from firmware.tests.fakes import fake_bench
from firmware.tests.fakes.fake_bench import new_board, new_world
from sabot_protocol import enums
from sabot_protocol.rig import rig
from sabot_rig.pins import LEVEL_FITTED, PIN_OF, PINS

_E = PIN_OF["sensor_e"][0]
_SENSE = PIN_OF["lamp_player"][0]
_LOCK = PIN_OF["lock"][0]
_BUZZER = PIN_OF["buzzer"][0]


def _runs(*runs) -> bytes:
    packed = bytearray()
    for levels, us in runs:
        packed.extend((us << 4 | levels).to_bytes(rig.RUN_BYTES, "little"))
    return bytes(packed)


def _edges(world, since: int):
    """Return time and levels of the sensor outputs at each change."""
    levels, edges = 0, []
    for at_us, gpio, level in world.log[since:]:
        if _E <= gpio < _E + rig.CHANNELS:
            levels = levels & ~(1 << gpio - _E) | level << gpio - _E
            if edges and edges[-1][0] == at_us:
                edges.pop()
            edges.append((at_us, levels))
    return edges


def _changes(board):
    board.watcher.look()
    found = []
    change = board.watcher.changes.take()
    while change is not None:
        found.append((board.watching_since_us + change[0], rig.CHANGE_KINDS[change[1]], change[2]))
        change = board.watcher.changes.take()
    return found


# Pins


def test_no_pin_and_no_part_comes_twice_and_every_pin_leaves_the_pico() -> None:
    assert len({gpio for gpio, _, _ in PINS}) == len(PINS)
    assert len({part for _, part, _ in PINS}) == len(PINS)
    for gpio, _, _ in PINS:
        assert 0 <= gpio <= 28 and gpio not in (23, 24, 25)


def test_what_one_program_handles_are_neighbours_in_the_order_of_the_bits() -> None:
    for i, channel in enumerate(enums.CHANNELS):
        assert PIN_OF["sensor_" + channel][0] == _E + i
    for i, part in enumerate(rig.SENSES):
        assert PIN_OF[part][0] == _SENSE + i


def test_every_button_switch_and_lamp_has_its_pin() -> None:
    parts = ["button_" + name for name in enums.BUTTONS]
    parts += ["switch_" + name for name in enums.SWITCHES]
    parts += ["lamp_" + name for name in enums.LAMPS]
    for part in parts:
        assert part in PIN_OF, part


def test_the_supply_is_off_before_anything_else_and_every_contact_open() -> None:
    _, world = new_board()
    assert world.log[0][1:] == (PIN_OF["power"][0], 0)
    for _, gpio, level in world.log[1:]:
        contact = 6 <= gpio <= 12
        assert level == (1 if contact else 0), (gpio, level)


def test_a_contact_closes_or_opens_as_the_part_is_on_there() -> None:
    board, world = new_board()
    board.contact("button_void", True)
    board.contact("switch_lid_open", False)
    assert world.outputs[PIN_OF["button_void"][0]] == 0
    assert world.outputs[PIN_OF["switch_lid_open"][0]] == 0  # a shut lid closes its contact
    board.contact("button_void", False)
    board.contact("switch_lid_open", True)
    assert world.outputs[PIN_OF["button_void"][0]] == 1
    assert world.outputs[PIN_OF["switch_lid_open"][0]] == 1


def test_a_brown_out_lasts_as_long_as_it_should() -> None:
    board, world = new_board()
    board.power(True)
    world.run(1000)
    since = len(world.log)
    board.brown_out(7500)
    (off_us, gpio, off), (on_us, _, on) = world.log[since:]
    assert (gpio, off, on, on_us - off_us) == (PIN_OF["power"][0], 0, 1, 7500)


def test_a_supply_with_a_filter_sags_evenly_to_its_level_and_comes_back() -> None:
    world = new_world()
    world.levels[LEVEL_FITTED] = 1
    board = fake_bench.board.RigBoard()
    assert board.sags and world.duties[-1][1] == 0, "off until it is switched on"
    board.power(True)
    assert world.duties[-1][1] == 65535
    begun_us, since = world.now_us, len(world.duties)
    board.sag(1800, 10_000, 5_000, 20_000)
    curve = [(at_us - begun_us, 3300 * duty / 65535) for at_us, duty in world.duties[since:]]
    for at_us, mv in curve:
        fallen = 3300 - 1500 * min(at_us, 10_000) / 10_000
        risen = 1500 * max(0, at_us - 15_000) / 20_000
        assert abs(mv - (fallen + risen)) < 80, (at_us, mv)
    assert min(mv for _, mv in curve) > 1799 and curve[-1][1] == 3300
    assert 35_000 <= curve[-1][0] < 37_000
    board.power(False)
    assert world.duties[-1][1] == 0


# Playing


def test_a_pattern_is_played_to_the_microsecond_and_its_last_levels_stay() -> None:
    board, world = new_board()
    runs = [(1, 50), (3, 3), (15, 4), (8, 20_000), (9, 50), (0, 50), (5, 50)]
    board.player.prepare(len(runs))
    assert board.player.load(_runs(*runs)) and board.player.ready()
    since = len(world.log)
    begin_us = board.player.start()
    world.run(25_000)
    expected, at_us = [], begin_us
    for levels, us in runs:
        expected.append((at_us, levels))
        at_us += us
    assert _edges(world, since) == expected
    assert board.player.length_us == sum(us for _, us in runs)


def test_a_second_pattern_goes_on_from_the_levels_of_the_first() -> None:
    board, world = new_board()
    for runs in (((1, 50), (5, 50)), ((5, 50), (4, 50), (0, 50))):
        board.player.prepare(len(runs))
        board.player.load(_runs(*runs))
        since = len(world.log)
        begin_us = board.player.start()
        world.run(1000)
        board.player.finish()
    assert world.log[since:] == [(begin_us + 50, _E, 0), (begin_us + 100, _E + 2, 0)]


def test_stop_makes_the_outputs_low_and_the_next_pattern_begins_at_its_begin() -> None:
    board, world = new_board()
    board.player.prepare(3)
    board.player.load(_runs((15, 1000), (6, 1000), (9, 1000)))
    board.player.start()
    world.run(500)
    board.player.stop()
    assert [world.outputs[_E + i] for i in range(4)] == [0] * 4
    board.player.prepare(2)
    board.player.load(_runs((2, 10), (0, 10)))
    since = len(world.log)
    begin_us = board.player.start()
    world.run(5000)
    assert _edges(world, since) == [(begin_us, 2), (begin_us + 10, 0)]


class _Edges:
    """Stands in for a log, which would take more than the board's memory."""

    def __init__(self, begin_us: int) -> None:
        self.count = 0
        self._begin_us = begin_us

    def append(self, edge) -> None:
        self.count += 1
        assert edge[0] == self._begin_us + self.count // 2 * 30, (self.count, edge)


def test_a_pattern_longer_than_the_buffer_is_played_while_it_is_loaded() -> None:
    board, world = new_board()
    total = rig.MAX_RUNS + 700
    board.player.prepare(total)
    loaded = 0

    def load() -> None:
        nonlocal loaded
        while board.player.room():
            count = min(board.player.room(), 100)
            part = [(1 + (loaded + i) % 2, 30) for i in range(count)]
            assert board.player.load(_runs(*part))
            loaded += count

    load()
    world.log = edges = _Edges(world.now_us)
    board.player.start()
    while loaded < total:
        world.run(3000)
        assert board.player.look()
        load()
    world.run(30 * rig.MAX_RUNS + 1000)
    assert board.player.look()
    assert edges.count == 2 * total - 1  # two outputs change each time, except the first


def test_if_the_rest_does_not_come_no_old_run_is_played_again() -> None:
    board, world = new_board()
    board.player.prepare(rig.MAX_RUNS + 100)
    for _ in range(rig.MAX_RUNS // 64):
        board.player.load(_runs(*[(15, 30)] * 64))
    begin_us = board.player.start()
    world.run(2000)
    assert board.player.look()  # makes room, but no runs are loaded
    since = len(world.log)
    world.run(rig.MAX_RUNS * 30 + 1000)
    assert not board.player.look()
    assert _edges(world, since) == [(begin_us + rig.MAX_RUNS * 30, 0)]
    assert not board.player.load(_runs((15, 30)))


def test_a_clock_that_gives_no_exact_microsecond_is_refused() -> None:
    world = new_world()
    world.clock_hz = 125_500_001
    try:
        fake_bench.board.RigBoard()
    except ValueError:
        return
    raise AssertionError("taken")


# Watching


def test_a_change_has_the_time_of_the_first_look_that_saw_it() -> None:
    board, world = new_board()
    begin_us = board.watching_since_us  # now
    world.run(10_000)
    world.levels[_LOCK] = 1  # just before the look
    world.run(10_001)
    world.levels[_SENSE + 2] = 1  # just after a look
    world.run(20_000)
    assert _changes(board) == [(begin_us + 10_000, "lock", 1), (begin_us + 20_050, "lamps", 4)]
    assert board.levels() == 0x24


def test_changes_that_came_while_python_was_busy_are_all_there() -> None:
    board, world = new_board()
    expected = []
    for n in range(60):
        world.levels[_LOCK] = n & 1 ^ 1
        world.run(11_000)
        expected.append(n & 1 ^ 1)
    seen = _changes(board)
    assert [value for _, _, value in seen] == expected
    for n in range(1, 60):
        assert abs(seen[n][0] - seen[0][0] - 11_000 * n) <= 50
    assert board.watcher.changes.lost == 0


def test_a_buzzer_is_one_beep_with_its_length() -> None:
    board, world = new_board()
    board.watcher.look()
    begin_us = board.now_us()
    for _ in range(54):  # 20 ms of 2.7 kHz
        for level, us in ((1, 185), (0, 185)):
            world.levels[_BUZZER] = level
            world.run(us)
    assert _changes(board) == []  # the beep may still last
    world.run(5000)
    ((at_us, what, length_us),) = _changes(board)
    assert what == "beep" and 0 <= at_us - begin_us <= 50
    assert abs(length_us - (54 * 370 - 185)) <= 50


def test_two_beeps_in_one_piece_are_two() -> None:
    board, world = new_board()
    for _ in range(2):
        world.levels[_BUZZER] = 1
        world.run(3000)
        world.levels[_BUZZER] = 0
        world.run(3000)
    assert [(what, length) for _, what, length in _changes(board)] == [("beep", 3000)] * 2


def test_looks_that_were_not_taken_in_time_are_counted_and_times_stay_right() -> None:
    board, world = new_board()
    world.run(1_000_000)
    assert _changes(board) == [] and board.watcher.changes.lost == 1
    at_us = board.now_us()
    world.levels[_LOCK] = 1
    world.run(1000)
    ((seen_us, _, _),) = _changes(board)
    assert 0 <= seen_us - at_us <= 50


# The display


def test_writes_to_the_display_are_returned_as_written() -> None:
    board, world = new_board()
    start, window = b"\x00\xae\xd5\x80\xa8\x3f\xaf", b"\x00\x21\x00\x7f\x22\x03\x07"
    page = b"\x40" + bytes(range(128))
    for data in (start, window, page, window):
        world.run(1000)
        world.target.write(data)
    assert world.target.address == 0x3C
    for n, data in enumerate((start, window, page, window)):
        at_us, written = board.screen.take()
        assert written == data, n
        assert at_us == world.now_us - 1000 * (3 - n), n
    assert board.screen.take() is None and board.screen.lost == 0


def test_writes_to_the_display_that_are_not_taken_in_time_are_counted() -> None:
    board, world = new_board()
    for n in range(80):
        world.target.write(bytes((0, 0x81, n)))
    assert board.screen.lost == 80 - 63
    assert board.screen.take()[1] == b"\x00\x81\x00"
