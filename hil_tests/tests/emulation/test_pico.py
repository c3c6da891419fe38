"""The emulated Pico with MicroPython. Without an image of MicroPython these tests are skipped."""

import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from sabot.errors import NoShoe, SimulatorFailed
from sabot.link.client import Client
from sabot.link.events import CardEvent, Event
from sabot.link.ports import Port
from sabot.release.uf2 import Image
from sabot.sim.waveform import pass_samples
from sabot_hil.capabilities import session_with
from sabot_hil.emulation import filesystem, package
from sabot_hil.emulation.pico import EmulatedPico, pins
from sabot_hil.kit.waiting import seconds_of, wait_until
from sabot_hil.kit.witness import Witness
from sabot_hil.targets.emulator import EmulatorTarget
from sabot_protocol import cards

pytestmark = pytest.mark.skipif(
    find_spec("rp2040py") is None, reason="the emulator is not installed: extra `emulator`"
)  # without an import of it: `package.load_emulator` must come first

_S = 1_000_000  # in us
_LOCK_WITHIN_US = 5000  # of a card's last mark: firmware/README.md

# A Pico that does a little of everything and prints the times by its own clock.
BUSY = b"""
import time, machine, rp2
lock = machine.Pin(22, machine.Pin.OUT, value=0)
button = machine.Pin(6, machine.Pin.IN, machine.Pin.PULL_UP)
print("up", machine.unique_id(), machine.reset_cause() == machine.PWRON_RESET)
spi = machine.SPI(0, baudrate=24_000_000, sck=machine.Pin(18), mosi=machine.Pin(19),
                  miso=machine.Pin(16))
select = machine.Pin(17, machine.Pin.OUT, value=1)
select(0)
answer = bytearray(4)
spi.write_readinto(bytes((0x9F, 0, 0, 0)), answer)
select(1)
print("chip", answer[1:].hex())
while button():
    pass
lock(1)
began = time.ticks_us()
with open("/note", "wb") as file:
    file.write(bytes(3000))
print("wrote", time.ticks_diff(time.ticks_us(), began))
lock(0)
"""


@pytest.fixture
def busy(image: Image) -> EmulatedPico:
    """A Pico with BUSY on it, without power."""
    pico = EmulatedPico(image, {"main.py": BUSY}, unique_id=b"12345678")
    pico.set_pin(6, 1)
    return pico


def said(pico: EmulatedPico, words: bytes, within_us: float = 2 * _S) -> bytes:
    """Return the Pico's output up to `words`."""
    heard = bytearray()

    def so_far() -> bool:
        heard.extend(pico.usb_read())
        return words in heard

    assert pico.run_until(so_far, within_us), bytes(heard)
    return bytes(heard)


def test_the_pins_are_those_of_the_board() -> None:
    table = pins()
    assert (table["lock"].gpio, table["lock"].on) == (22, 1)
    assert (table["button_next"].gpio, table["button_next"].on) == (6, 0)
    assert len({pin.gpio for pin in table.values()}) == len(table) == 26


def test_the_file_system_fills_its_area_and_holds_the_firmware() -> None:
    files = filesystem.shoe_files({"chain": bytes(16), "unit": ""})
    assert {"main.py", "boot.mpy", "a.code", "a.list", "state/chain.cbor"} <= set(files)
    assert not any("tests" in path for path in files)
    assert len(filesystem.file_system_image(files)) == filesystem.SIZE == 352 * 4096


def test_it_starts_says_its_number_and_finds_the_journal_s_chip(busy: EmulatedPico) -> None:
    busy.power_on()
    heard = said(busy, b"chip ef4018")
    assert b"up b'12345678' True" in heard
    assert not busy.journal.misuse


def test_time_goes_on_only_while_it_runs_and_goes_on_without_power(busy: EmulatedPico) -> None:
    busy.run_us(1000)
    assert busy.t_us == 1000
    busy.power_on()
    busy.run_us(500)
    assert busy.t_us == 1500
    busy.power_off()
    assert busy.t_us == 1500
    busy.run_us(10)
    assert busy.t_us == 1510


def test_the_pico_s_own_flash_takes_its_time(busy: EmulatedPico) -> None:
    busy.power_on()
    said(busy, b"chip")
    busy.set_pin(6, 0)
    heard = said(busy, b"wrote")
    heard += said(busy, b"\n")
    took_us = int(heard.rsplit(b"wrote ")[-1].split()[0])
    assert busy.flash_operations >= 4
    assert took_us > 45_000


def test_the_same_calls_give_the_same_trace_to_the_microsecond(image: Image) -> None:
    def trace(press_us: int) -> tuple[list[tuple[int, int]], bytes, int]:
        pico = EmulatedPico(image, {"main.py": BUSY}, seed=5)
        moves: list[tuple[int, int]] = []
        pico.on_pin(22, lambda t_us, level: moves.append((t_us, level)))
        pico.set_pin(6, 1)
        pico.power_on()
        pico.run_us(press_us)
        pico.set_pin(6, 0)
        heard = said(pico, b"wrote")
        pico.run_us(1000)
        return moves, heard, pico.t_us

    first = trace(333_456)
    assert first[0] and first == trace(333_456)
    assert first[0] != trace(333_956)[0]


def test_compiled_and_as_the_package_comes_it_runs_the_same_to_the_microsecond(
    image: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    def started() -> tuple[bytes, int, int]:
        pico = EmulatedPico(image, {"main.py": BUSY}, seed=5, flash_percent=0)
        pico.set_pin(6, 1)
        pico.power_on()
        heard = said(pico, b"chip ef4018")
        return heard, pico.t_us, pico.flash_operations

    package.load_emulator()
    if package.compiled_loop() is None:
        pytest.skip("fast.pyx is not compiled here: it needs Cython and a compiler")
    compiled = started()
    monkeypatch.setattr(package, "compiled_loop", lambda: None)
    assert started() == compiled


# The firmware


@pytest.fixture(scope="module")
def shoe_pico(
    image_file: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EmulatorTarget]:
    """A shoe with power; one for all tests that do not change it, because a start is slow."""
    target = new_target(image_file, tmp_path_factory.mktemp("emulated"))
    target.power.on()
    yield target
    target.close()


def new_target(image_file: Path, folder: Path, seed: int = 0) -> EmulatorTarget:
    """A shoe without power."""
    return EmulatorTarget("HIL-1", folder, Witness(), image=image_file, seed=seed)


def test_the_firmware_starts_to_a_shoe_that_answers_hello(shoe_pico: EmulatorTarget) -> None:
    assert shoe_pico.bench.outputs.title == "LOAD CARDS"
    assert shoe_pico.bench.outputs.link == "NO HOST"
    with session_with(shoe_pico.shoe) as client:
        assert client.unit == shoe_pico.shoe.unit == shoe_pico.pico.unique_id.hex()
        assert client.welcome.board == "pico"
        client.begin(0)
        assert shoe_pico.bench.wait_for(lambda seen: seen.link != "NO HOST", "seen its host").link
    assert not shoe_pico.pico.journal.misuse and not shoe_pico.pico.display.misuse


def test_other_programs_may_open_its_port_and_are_answered_as_time_passes(
    shoe_pico: EmulatorTarget,
) -> None:
    units: list[str] = []

    def attach() -> None:
        with Port(shoe_pico.shoe.port) as port:
            units.append(Client(port, timeout_s=60).unit)

    other = threading.Thread(target=attach, daemon=True)
    other.start()
    clock = shoe_pico.clock
    wait_until(lambda: not other.is_alive(), 60, lambda: clock.pass_ms(20), seconds_of(clock))
    assert units == [shoe_pico.shoe.unit]


def test_the_port_says_nothing_to_others_while_the_test_itself_talks(
    shoe_pico: EmulatorTarget,
) -> None:
    with Port(shoe_pico.shoe.port) as port:
        with session_with(shoe_pico.shoe) as client:
            assert client.unit == shoe_pico.shoe.unit
        assert port.read(0) == b""


def test_what_a_host_sends_while_the_shoe_starts_does_not_stop_the_start(
    image_file: Path, tmp_path: Path
) -> None:
    """Byte 3 is Ctrl-C for MicroPython, and many frames contain it."""
    target = new_target(image_file, tmp_path)
    target.pico.power_on()
    for _ in range(8):
        target.pico.run_us(200_000)
        target.pico.usb_write(b"\x03\x03\x03")
    assert target.pico.run_until(lambda: target.bench.outputs.title == "LOAD CARDS", 5 * _S)
    target.close()


def test_a_card_is_read_and_the_lock_moves_within_its_time(shoe_pico: EmulatorTarget) -> None:
    with session_with(shoe_pico.shoe) as client:
        client.begin(0)
        listen(shoe_pico, client, 200)
        for lid_open in (True, False):
            shoe_pico.bench.switch("lid_open", lid_open)
            listen(shoe_pico, client, 100)
        assert shoe_pico.bench.outputs.lock_released
        assert shoe_pico.bench.outputs.title == "BURN: FIRST CARD"
        read = []
        for card in ("AS", "7H", "9S", "2S", "KS"):
            shoe_pico.bench.play(pass_samples(cards.number_of(card), 0))
            read += listen(shoe_pico, client, 250)
        shoe_pico.bench.seen()
        samples = pass_samples(cards.number_of("3S"), 0)
        began_us = shoe_pico.bench.play(samples)  # with it the Player's nine ends the round
        read += listen(shoe_pico, client, 250)
        closed = next(seen for seen in shoe_pico.bench.seen() if seen.what == "lock_released")
        late_us = closed.t_us - began_us - last_mark_us(samples)
        assert closed.value is False and 0 < late_us <= _LOCK_WITHIN_US
        recorded = [event.card for event in read if isinstance(event, CardEvent)]
        assert recorded == [cards.number_of(card) for card in ("AS", "7H", "9S", "2S", "KS", "3S")]


def last_mark_us(samples: bytes) -> int:
    """Return when the last mark has passed the tracks."""
    tracks = [octet >> shift & 6 for octet in samples for shift in (0, 4)]
    return (max(place for place, ink in enumerate(tracks) if ink) + 1) * 50


def test_a_power_cut_within_a_program_of_the_journal_leaves_a_shoe_that_starts_again(
    image_file: Path, tmp_path: Path
) -> None:
    target = new_target(image_file, tmp_path, seed=3)
    target.power.on()
    target.power.off_in_flash(0, 0.5)
    target.bench.switch("lid_open", True)
    assert not target.pico.powered
    with pytest.raises(SimulatorFailed, match="no power"):
        target.bench.press("next")
    target.power.on()
    assert target.bench.outputs.title == "LOAD CARDS"
    with session_with(target.shoe) as client:
        assert client.welcome.boot == 3
    target.close()
    with pytest.raises(NoShoe):
        client.begin(0)


def listen(shoe_pico: EmulatorTarget, client: Client, ms: float) -> list[Event]:
    """Act as a host for `ms`; return the events that it got."""
    events: list[Event] = []
    end_us = shoe_pico.clock.now_us() + ms * 1000
    while shoe_pico.clock.now_us() < end_us:
        records = client.receive(0.02).records
        if records:
            events += [record.event for record in records]
            client.acknowledge()
    return events
