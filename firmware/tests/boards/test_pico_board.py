"""The Pico's board against a fake Pico: pins, inputs, outputs, link, clock."""

from firmware.tests.fakes import fake_pico
from firmware.tests.fakes.fake_pico import awake, live, new_board, new_world, run
from firmware.tests.fakes.fake_pico import board as pico
from sabot_firmware.boards import nor
from sabot_firmware.table import inputs
from sabot_protocol import enums

_PIN_OF = {part: gpio for gpio, part, _ in pico.PINS}
_LOCK = _PIN_OF["lock"]


def _line(text: str) -> bytes:
    """Return what a page of the display holds when it shows `text`."""
    page = bytearray(128)
    fake_pico.framebuf.FrameBuffer(page, 128, 8, fake_pico.framebuf.MONO_VLSB).text(text, 0, 0)
    return bytes(page)


# Pins


def test_no_pin_and_no_part_comes_twice() -> None:
    assert len({gpio for gpio, _, _ in pico.PINS}) == len(pico.PINS)
    assert len({part for _, part, _ in pico.PINS}) == len(pico.PINS)


def test_every_pin_leaves_the_pico() -> None:
    for gpio, _, _ in pico.PINS:
        assert 0 <= gpio <= 28 and gpio not in (23, 24, 25)


def test_the_sensor_pins_are_neighbours_in_the_order_of_a_samples_bits() -> None:
    pins = [_PIN_OF["sensor_" + channel] for channel in "eabx"]
    assert pins == [pins[0], pins[0] + 1, pins[0] + 2, pins[0] + 3]


def test_every_button_switch_and_lamp_has_its_pin() -> None:
    parts = ["button_" + name for name in enums.BUTTONS]
    parts += ["switch_" + name for name in enums.SWITCHES]
    parts += ["lamp_" + name for name in enums.LAMPS]
    for part in parts:
        assert part in _PIN_OF, part


def test_outputs_are_on_when_high() -> None:
    for _, part, level in pico.PINS:
        if part == "lock" or part.startswith("lamp_"):
            assert level == pico.HIGH


# Lock, lamps, buzzer


def test_the_lock_is_driven_low_before_anything_else() -> None:
    _, world = new_board()
    assert world.output_log[0] == (_LOCK, 0)
    assert (_LOCK, 1) not in world.output_log


def test_the_lock_is_low_if_the_rest_of_the_board_fails_to_start() -> None:
    world = new_world()
    world.clock_hz = 125_000_001  # no exact sample rate
    try:
        pico.Board()
    except ValueError:
        on = [gpio for gpio in world.outputs if world.outputs[gpio]]
        assert on == [_PIN_OF["journal_select"]] and _LOCK in world.outputs
        return
    raise AssertionError("a clock that gives no exact sample rate was taken")


def test_the_lock_pin_is_high_only_while_released() -> None:
    board, world = new_board()
    board.set_lock(True)
    assert world.outputs[_LOCK] == 1
    board.set_lock(False)
    assert world.outputs[_LOCK] == 0


def test_halt_closes_the_lock_for_ever_and_says_why() -> None:
    board, world = new_board()
    board.set_lock(True)
    board.set_lamps(0b01111)
    board.buzz(1000)
    board.show("OUT OF SERVICE\nbroken")
    world.naps_left = 0
    try:
        board.halt(ValueError("broken"))
        raise AssertionError("halt came back")
    except fake_pico.HaltEnded:
        pass
    assert world.outputs[_LOCK] == 0 and (_LOCK, 1) not in world.output_log[-6:]
    assert world.duty == 0
    assert [world.outputs[_PIN_OF["lamp_" + name]] for name in enums.LAMPS] == [0, 0, 0, 0, 1]
    assert world.display.page(1) == _line("broken")
    assert b"broken" in world.to_host and world.to_host[-1] == 0


def test_ctrl_c_is_an_ordinary_byte_until_a_halt_with_the_service_switch_on() -> None:
    board, world = new_board()
    assert world.kbd_intr == [-1]
    for service, last in ((1, -1), (0, 3)):
        world.inputs[_PIN_OF["switch_service_on"]] = service
        world.naps_left = 3
        try:
            board.halt(ValueError("broken"))
        except fake_pico.HaltEnded:
            assert world.kbd_intr[-1] == last


def test_each_lamp_follows_its_bit() -> None:
    board, world = new_board()
    for i in range(len(enums.LAMPS)):
        board.set_lamps(1 << i)
        for j in range(len(enums.LAMPS)):
            assert world.outputs[_PIN_OF["lamp_" + enums.LAMPS[j]]] == (1 if i == j else 0)


def test_the_buzzer_sounds_for_its_time_and_nothing_waits_for_it() -> None:
    board, world = new_board()
    board.buzz(400)
    assert world.now_ms == 0 and world.duty > 0
    live(board, world, 392)
    assert world.duty > 0
    live(board, world, 16)
    assert world.duty == 0


# Link


def test_read_link_gives_what_is_there_and_waits_for_no_more() -> None:
    board, world = new_board()
    world.from_host.extend(b"\x01\x03\x00")
    assert run(board.read_link()) == b"\x01\x03\x00"
    assert world.now_ms == 0


def test_read_link_waits_for_the_first_byte_and_does_not_read_on_while_a_card_may_be_near() -> None:
    board, world = new_board()

    def after_20_ms() -> None:
        if world.now_ms >= 20:
            world.from_host.extend(b"ab")

    world.while_asleep = after_20_ms
    assert run(board.read_link()) == b"a"
    assert world.now_ms == 20
    world.while_asleep = lambda: None
    assert run(board.read_link()) == b"b"


def test_read_link_lets_others_run_even_if_the_host_never_pauses() -> None:
    board, world = new_board()
    sent = bytes([i & 0xFF for i in range(1000)])
    world.from_host.extend(sent)
    got = b""
    turns = 0
    while len(got) < len(sent):
        piece = run(board.read_link())
        assert 0 < len(piece) <= 64
        got += piece
        turns += 1
    assert got == sent and len(world.sleeps) >= turns


def test_write_link_takes_what_has_room_and_never_waits() -> None:
    board, world = new_board()
    data = bytes([i & 0xFF for i in range(300)])
    view = memoryview(data)
    world.room = 10
    assert board.write_link(view) == 10
    assert board.write_link(view[10:]) == 0
    world.room = 1000
    at = 10
    while at < len(data):
        written = board.write_link(view[at:])
        assert 0 < written <= 64
        at += written
    assert bytes(world.to_host) == data


# Clock, identity


def test_the_clock_goes_on_when_the_ticks_of_micropython_wrap() -> None:
    board, world = new_board()
    day_ms = 24 * 3600 * 1000
    last = 0
    for day in range(1, 60):
        world.now_ms = day * day_ms
        assert board.ticks_ms() == world.now_ms > last
        last = world.now_ms
    assert last > 4 << 30


def test_the_clock_begins_with_0() -> None:
    world = new_world()
    world.now_ms = (1 << 30) - 5
    board = pico.Board()
    assert board.ticks_ms() == 0
    world.now_ms += 10
    assert board.ticks_ms() == 10


def test_a_buzz_ends_across_the_wrap_of_the_ticks() -> None:
    world = new_world()
    world.now_ms = (1 << 30) - 50
    board = pico.Board()
    awake(world)
    board.buzz(100)
    live(board, world, 96)
    assert world.duty > 0
    live(board, world, 16)
    assert world.duty == 0


def test_serial_and_folders_are_the_boards_own() -> None:
    board, world = new_board()
    assert board.serial == "e6614104030abcde"
    assert board.NAME == "pico"
    assert board.storage == "/state" and "state" in world.folders
    world = new_world()
    world.folders.append("state")
    pico.Board()


# The journal's chip


def test_the_journals_chip_is_left_alone_from_the_first_instant() -> None:
    _, world = new_board()
    select = [level for gpio, level in world.output_log if gpio == _PIN_OF["journal_select"]]
    assert select == [1] and not world.flash.selected and world.flash.history() == b""


def test_flash_is_the_chip_of_the_journal_the_same_each_time() -> None:
    board, world = new_board()
    assert board.flash is board.flash and board.flash.sectors == 4096
    board.flash.program(0x123456, b"card")
    while board.flash.busy():
        pass
    buf = bytearray(4)
    board.flash.read(0x123456, buf)
    assert bytes(buf) == world.flash.peek(0x123456, 4) == b"card"
    assert not world.flash.selected


def test_without_the_chip_the_board_works_and_shows_that() -> None:
    board, world = new_board()
    world.flash.plugged = False
    world.flash.pulled = 0
    for _ in range(2):
        try:
            assert board.flash is None, "a chip where there is none"
        except nor.FlashError as error:
            board.show(str(error)[:16])
    live(board, world, 100)
    assert world.display.page(0) == _line("no journal chip:")


# Display


def test_text_is_drawn_line_by_line_and_cut_at_16_columns_and_8_lines() -> None:
    board, world = new_board()
    board.show("BETTING OPEN\n0123456789ABCDEFGH\n\n" + "\n".join("456789"))
    live(board, world, 100)
    assert world.display.lit
    expected = ["BETTING OPEN", "0123456789ABCDEF", "", "4", "5", "6", "7", "8"]
    for row in range(8):
        assert world.display.page(row) == _line(expected[row]), row


def test_a_new_text_replaces_all_of_the_old_one() -> None:
    board, world = new_board()
    board.show("\n".join(["WWWWWWWWWWWWWWWW"] * 8))
    live(board, world, 100)
    board.show("SHORT\nWWWWWWWWWWWWWWWW")
    live(board, world, 100)
    expected = ["SHORT", "WWWWWWWWWWWWWWWW", "", "", "", "", "", ""]
    for row in range(8):
        assert world.display.page(row) == _line(expected[row]), row


def test_one_step_sends_at_most_one_line_so_the_cards_do_not_wait() -> None:
    board, world = new_board()
    awake(world)
    board.show("A\nB\nC")
    run(board.wait_for_activity(8, True))
    assert world.display.page(0) == b"\xa5" * 128, "first the start, by itself"
    for row in range(3):
        run(board.wait_for_activity(8, True))
        assert world.display.page(row) == _line("ABC"[row])
        assert world.display.page(row + 1) == b"\xa5" * 128


def test_a_missing_display_stops_nothing_and_is_found_when_it_comes() -> None:
    world = new_world()
    world.display.plugged = False
    board = pico.Board()
    awake(world)
    board.show("HELLO")
    world.inputs[_PIN_OF["button_next"]] = 0
    assert live(board, world, 200) == [inputs.pressed(0)]
    world.display.plugged = True
    live(board, world, 3000)
    assert world.display.lit and world.display.page(0) == _line("HELLO")


def test_a_display_that_was_away_is_started_again_and_drawn_whole() -> None:
    board, world = new_board()
    board.show("ONE\nTWO")
    live(board, world, 100)
    world.display.plugged = False
    board.show("ONE\nTHREE")
    live(board, world, 100)
    world.display.power_on()
    world.display.plugged = True
    live(board, world, 3000)
    assert world.display.lit
    assert world.display.page(0) == _line("ONE") and world.display.page(1) == _line("THREE")
    assert world.display.page(7) == _line("")


def test_a_display_that_lost_its_supply_for_a_moment_is_lit_again_by_itself() -> None:
    board, world = new_board()
    board.show("ONE\nTWO")
    live(board, world, 200)
    world.display.power_on()
    live(board, world, 1500)
    assert world.display.lit
    live(board, world, 9000)
    assert world.display.page(0) == _line("ONE") and world.display.page(1) == _line("TWO")
    assert world.display.page(7) == _line("")


def test_a_write_that_the_display_did_not_take_whole_is_sent_again() -> None:
    board, world = new_board()
    board.show("ONE\nTWO")
    world.display.takes = 100
    live(board, world, 200)
    world.display.takes = 1000
    live(board, world, 3000)
    assert world.display.page(0) == _line("ONE") and world.display.page(1) == _line("TWO")


def test_a_bus_whose_data_line_is_held_is_freed_by_nine_clocks() -> None:
    for clocks in (1, 9):
        board, world = new_board()
        board.show("ONE")
        live(board, world, 200)
        world.display.holds_data = clocks
        board.show("TWO")
        live(board, world, 3000)
        assert not world.display.holds_data and world.display.page(0) == _line("TWO")
    world = new_world()
    world.display.holds_data = 9
    board = pico.Board()
    awake(world)
    board.show("ONE")
    live(board, world, 200)
    assert world.display.page(0) == _line("ONE"), "also one that was held before the start"


def test_the_self_test_finds_a_display_that_takes_only_a_part_and_a_held_bus() -> None:
    board, world = new_board()
    assert board.display_answers()
    world.display.takes = 5
    assert not board.display_answers()
    world.display.takes = 1000
    assert board.display_answers()
    world.display.holds_data = 1000
    assert not board.display_answers()


def test_asking_whether_a_display_answers_draws_its_picture_again_later() -> None:
    board, world = new_board()
    board.show("ONE")
    live(board, world, 100)
    before = bytes(world.display.memory)
    assert board.display_answers() and bytes(world.display.memory) == before
    world.display.power_on()
    assert board.display_answers() and world.display.lit
    live(board, world, 200)
    assert bytes(world.display.memory) == before
    world.display.plugged = False
    assert not board.display_answers()


# What the self-test asks for


def test_levels_are_those_of_the_sensor_pins_in_the_order_of_a_samples_bits() -> None:
    board, world = new_board()
    for levels in (0, 1, 2, 4, 8, 13):
        for bit, part in enumerate(pico.SENSORS):
            world.inputs[_PIN_OF[part]] = levels >> bit & 1
        assert board.levels() == levels


def test_the_temperature_is_that_of_the_data_sheets_formula() -> None:
    board, world = new_board()
    for reading in range(700, 1100):  # of 4,095, as the ADC has 12 bits
        world.adc_u16 = reading << 4
        expected = 27 - (reading * 3.3 / 4096 - 0.706) / 0.001721
        assert abs(board.temperature_c() - expected) <= 1, reading


def test_samples_that_no_longer_come_are_noticed() -> None:
    board, world = new_board()
    awake(world)
    run(board.wait_for_activity(8, True))
    world.while_asleep = lambda: world.sample([0] * 40)
    assert board.samples_come()
    world.while_asleep = lambda: None
    assert not board.samples_come()
