"""The bench board as its host sees it, on a fake Pico: frames in, frames out."""

from firmware.tests.fakes import fake_bench
from firmware.tests.fakes.fake_bench import new_board
from sabot_protocol import cbor, enums, frame
from sabot_protocol.rig import rig
from sabot_rig.pins import PIN_OF
from sabot_rig.rig import RigController

_E = PIN_OF["sensor_e"][0]
_POWER = PIN_OF["power"][0]
_NAMES = {shape.number: shape.name for shape in rig.FROM_RIG}


class Host:
    """The host. `said` has every message of the rig except answers, which `do` returns."""

    def __init__(self, fitted: bool = False) -> None:
        self.board, self.world = new_board(fitted)
        self.bench = RigController(self.board)
        self.said: "list[list[object]]" = []
        self._frames = frame.FrameReader()
        self._number = 0

    def send(self, shape, *values) -> "list[list[object]]":
        """Return the messages that the rig sends at once."""
        payload = bytearray(frame.MAX_FRAME)
        out = bytearray(frame.MAX_FRAME)
        message = [shape.number]
        message.extend(values)
        size = cbor.encode_array(payload, 0, message, len(message))
        return self.raw(bytes(out[: frame.write_frame(payload, size, out, 0)]))

    def raw(self, data: bytes) -> "list[list[object]]":
        self.bench.feed(data)
        self.bench.step()
        return self.hear()

    def hear(self) -> "list[list[object]]":
        heard = []
        size = self.bench.fill()
        while size:
            for payload in self._frames.feed(bytes(self.bench.out[:size])):
                heard.append(cbor.decode(payload, 0, len(payload)))
            size = self.bench.fill()
        self.said.extend(heard)
        return heard

    def hello(self):
        return self.send(rig.HELLO, rig.VERSION, 7)

    def do(self, shape, *values):
        """Send a command; return the value of the answer, or the reason of the refusal."""
        self._number += 1
        answers = self.send(shape, self._number, *values)
        for answer in answers:
            if answer[0] == rig.DONE.number and answer[1] == self._number:
                return answer[2]
            if answer[0] == rig.REFUSED.number and answer[1] == self._number:
                return rig.REASONS[answer[2]]
        return None

    def live(self, us: int, alive: bool = True) -> None:
        """Let time pass, in steps of a millisecond; the host may send `alive` during it."""
        for n in range(us // 1000):
            self.world.run(1000)
            self.bench.step()
            self.hear()
            if alive and n % 1000 == 0:
                self.send(rig.ALIVE)

    def heard(self, shape):
        return [message[1:] for message in self.said if message[0] == shape.number]


def _attached() -> Host:
    host = Host()
    host.hello()
    host.said.clear()
    return host


def _runs(*runs) -> bytes:
    packed = bytearray()
    for levels, us in runs:
        packed.extend((us << 4 | levels).to_bytes(rig.RUN_BYTES, "little"))
    return bytes(packed)


def _load(host, *runs) -> None:
    assert host.do(rig.PREPARE, len(runs)) == len(runs)
    assert host.do(rig.LOAD, _runs(*runs)) == 0


def test_the_shapes_have_different_numbers_from_160_on() -> None:
    numbers = [shape.number for shape in rig.TO_RIG + rig.FROM_RIG]
    assert len(set(numbers)) == len(numbers)
    assert min(numbers) >= 160 and max(numbers) <= 191


def test_hello_is_answered_with_versions_session_and_time() -> None:
    host = Host()
    ((number, version, firmware, session, _),) = host.hello()
    assert (number, version, session) == (rig.REPORT.number, rig.VERSION, 7)
    assert isinstance(firmware, str)


def test_no_command_is_taken_before_hello() -> None:
    host = Host()
    assert host.do(rig.POWER, True) == "not_known"
    assert host.world.outputs[_POWER] == 0


def test_power_goes_on_off_and_away_for_a_time() -> None:
    host = _attached()
    assert host.do(rig.BROWN_OUT, 1000) == "no_power"
    assert host.do(rig.POWER, True) == 0 and host.world.outputs[_POWER] == 1
    assert host.do(rig.BROWN_OUT, 1000) == 0 and host.world.outputs[_POWER] == 1
    for us in (0, rig.MAX_BROWN_OUT_US + 1):
        assert host.do(rig.BROWN_OUT, us) == "bad_arguments"
    assert host.do(rig.POWER, False) == 0 and host.world.outputs[_POWER] == 0


def test_the_supply_sags_only_where_the_filter_is_fitted() -> None:
    host = _attached()
    assert host.do(rig.SAG, 1800, 1, 1, 1) == "not_fitted"
    host = Host(fitted=True)
    host.hello()
    assert host.do(rig.SAG, 1800, 1000, 1000, 1000) == "no_power"
    host.do(rig.POWER, True)
    assert host.do(rig.SAG, 1800, 1000, 1000, 1000) == 0
    for mv, us in ((3301, 1), (1800, rig.MAX_SAG_US)):
        assert host.do(rig.SAG, mv, us, 1, 1) == "bad_arguments"


def test_a_button_is_held_for_its_time_and_answered_after_it() -> None:
    host = _attached()
    gpio = PIN_OF["button_burn"][0]
    burn = enums.BUTTONS.index("burn")
    assert host.do(rig.PRESS, burn, 40_000) is None
    assert host.world.outputs[gpio] == 0
    assert host.do(rig.PRESS, burn, 1000) == "busy"
    host.live(39_000)
    assert host.world.outputs[gpio] == 0 and not host.heard(rig.DONE)
    host.live(2_000)
    assert host.world.outputs[gpio] == 1 and host.heard(rig.DONE) == [[1, 0]]
    assert host.do(rig.PRESS, burn, rig.MAX_PRESS_US + 1) == "bad_arguments"


def test_a_switch_has_the_position_it_was_set_to() -> None:
    host = _attached()
    gpio = PIN_OF["switch_key_on"][0]
    key = enums.SWITCHES.index("key_on")
    assert host.do(rig.SWITCH, key, True) == 0 and host.world.outputs[gpio] == 0
    assert host.do(rig.SWITCH, key, False) == 0 and host.world.outputs[gpio] == 1


def test_a_pattern_is_played_and_reported_with_begin_and_end() -> None:
    host = _attached()
    host.do(rig.POWER, True)
    _load(host, (1, 10_000), (3, 20_000), (2, 50))
    begin_us = host.do(rig.START)
    assert host.do(rig.START) == "busy" and host.do(rig.PREPARE, 1) == "busy"
    host.live(40_000)
    assert [level for _, gpio, level in host.world.log if gpio == _E][-1] == 0
    ((number, played_us, end_us),) = host.heard(rig.PLAYED)
    assert (played_us, end_us) == (begin_us, begin_us + 30_050) and number == 4
    assert host.world.outputs[_E + 1] == 1  # the last levels stay
    assert host.do(rig.START) == "not_loaded"


def test_a_wrong_pattern_is_refused() -> None:
    host = _attached()
    assert host.do(rig.LOAD, _runs((1, 50))) == "not_loaded"
    assert host.do(rig.PREPARE, 0) == "bad_arguments"
    assert host.do(rig.PREPARE, rig.MAX_PATTERN_RUNS + 1) == "bad_arguments"
    _load(host, (1, 50), (0, 50))
    assert host.do(rig.START) == "no_power"
    host.do(rig.POWER, True)
    host.do(rig.PREPARE, 2)
    assert host.do(rig.START) == "not_loaded"
    for bad in (b"", b"abc", _runs((1, rig.MIN_RUN_US - 1)), _runs((1, rig.MAX_RUN_US + 1))):
        assert host.do(rig.LOAD, bad) == "bad_arguments", bad
    assert host.do(rig.LOAD, _runs((1, 50), (0, 50), (1, 50))) == "full"
    assert host.do(rig.LOAD, _runs((1, 50))) == 1
    assert host.do(rig.START) == "not_loaded"


def test_a_missing_rest_of_a_long_pattern_is_reported_and_ends_it() -> None:
    host = _attached()
    host.do(rig.POWER, True)
    assert host.do(rig.PREPARE, rig.MAX_RUNS + 64) == rig.MAX_RUNS
    for _ in range(rig.MAX_RUNS // 64):
        host.do(rig.LOAD, _runs(*[(15, 50)] * 64))
    host.do(rig.START)
    host.live(210_000)
    assert host.heard(rig.PROBLEM) == [[rig.PROBLEMS.index("underrun"), 1]]
    assert not host.heard(rig.PLAYED)
    assert [host.world.outputs[_E + i] for i in range(4)] == [0] * 4


def test_changes_of_the_shoe_are_reported_with_their_times() -> None:
    host = _attached()
    at_us = host.board.now_us()
    host.world.levels[PIN_OF["lock"][0]] = 1
    host.live(3000)
    ((seen_us, what, value),) = host.heard(rig.CHANGE)
    assert rig.CHANGE_KINDS[what] == "lock" and value == 1 and 0 <= seen_us - at_us <= 50
    host.send(rig.LOOK, 900)
    assert host.heard(rig.LEVELS)[-1][2] == 0x20


def test_writes_to_the_display_are_reported() -> None:
    host = _attached()
    host.world.target.write(b"\x40" + bytes(128))
    host.live(1000)
    assert [message[1] for message in host.heard(rig.DISPLAY)] == [b"\x40" + bytes(128)]


def test_a_repeated_command_is_answered_again_and_not_done_again() -> None:
    host = _attached()
    host.send(rig.POWER, 5, True)
    since = len(host.world.log)
    assert host.send(rig.POWER, 5, True) == [[rig.DONE.number, 5, 0]]
    assert len(host.world.log) == since


def test_a_silent_host_leaves_a_safe_rig() -> None:
    host = _attached()
    host.do(rig.POWER, True)
    host.do(rig.SWITCH, 1, True)
    host.do(rig.PRESS, 0, rig.MAX_PRESS_US)
    _load(host, (15, 9_000_000))
    host.do(rig.START)
    host.live(4_900_000, alive=False)
    assert host.world.outputs[_POWER] == 1 and host.world.outputs[_E] == 1
    host.live(200_000, alive=False)
    assert not host.bench.attached
    assert host.world.outputs[_POWER] == 0
    assert [host.world.outputs[_E + i] for i in range(4)] == [0] * 4
    assert [host.world.outputs[gpio] for gpio in range(6, 13)] == [1] * 7


def test_a_new_hello_begins_with_a_safe_rig() -> None:
    host = _attached()
    host.do(rig.POWER, True)
    host.hello()
    assert host.world.outputs[_POWER] == 0


def test_noise_is_counted_and_reported_and_does_no_harm() -> None:
    host = _attached()
    host.raw(b"\x05nonsense\x00")
    host.raw(bytes([7]) * 2000 + b"\x00")
    host.send(rig.POWER, 1, 1)
    host.send(rig.REPORT, 1, "x", 1, 1)
    problems = {rig.PROBLEMS[problem]: count for problem, count in host.heard(rig.PROBLEM)}
    assert problems == {"damaged": 1, "oversize": 1, "not_a_message": 2}
    assert host.world.outputs[_POWER] == 0
    assert host.do(rig.POWER, True) == 0


def test_main_gives_the_prompt_when_asked_but_not_with_an_attached_host() -> None:
    world = fake_bench.new_world()
    world.from_host.extend(b"\r\x03")
    fake_bench.main.main()
    assert world.kbd_intr == [-1, 3]
    assert world.outputs[_POWER] == 0


class _Turns:
    """Line and controller in one; it records what was done. The line takes two bytes a turn."""

    def __init__(self, *came: bytes) -> None:
        self.attached = False
        self.out = bytearray(b"four")
        self.done: "list[str]" = []
        self._came = list(came)
        self._to_send = len(self.out)

    def read(self) -> bytes:
        return self._came.pop(0)

    def wait(self, ms: int) -> None:
        assert 0 < ms <= 10, "a press would be much too long"
        self.done.append("rested")

    def write(self, data, begin: int, end: int) -> int:
        sent = min(end, begin + 2)
        self.done.append(bytes(data[begin:sent]).decode())
        return sent

    def feed(self, data: bytes) -> None:
        self.done.append("fed")

    def step(self) -> None:
        pass

    def fill(self) -> int:
        size, self._to_send = self._to_send, 0
        return size


def test_a_board_rests_only_if_nothing_has_come_and_all_is_sent() -> None:
    turns = _Turns(b"", b"", b"heard", b"", b"\r\x03")
    fake_bench.main.serve(turns, turns)
    assert turns.done == ["fo", "ur", "rested", "fed", "", "", "rested"]
