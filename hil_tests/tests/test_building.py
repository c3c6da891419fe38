"""The page for the builder of a shoe states the firmware's figures and what check-bench prints.

Its wiring is compared in kit/test_shoe_wiring.py, its other commands are run by
host/tests/test_docs.py.
"""

import math
import re
from importlib.util import find_spec

import pytest

from firmware.tests.fakes.fake_pico import board as pico
from host.tests.support.pages import ROOT, agrees, text_of
from sabot.release.uf2 import Image
from sabot_firmware import panel, sensing
from sabot_firmware.boards import nor
from sabot_firmware.boards.pico import contacts, ssd1306
from sabot_firmware.cards import health, scan
from sabot_firmware.link import commands
from sabot_hil.benchmarks import journal
from sabot_hil.emulation.nor_chip import TYPICAL, WORST
from sabot_hil.targets.rig_check import check_bench
from sabot_hil.targets.wired import BENCH, plugged

_PAGE = "docs/building.md"
_NS_A_MS = 1_000_000

_SAMPLE_US = 1_000_000 // scan.SAMPLE_RATE_HZ
_LATEST_MS = contacts.LOOK_MS * pico._SETTLED_LOOKS

FIGURES = [
    f"{scan.SAMPLE_RATE_HZ:,} a second, one every {_SAMPLE_US} us",
    f"every {contacts.LOOK_MS} ms, by the hardware",
    f"{pico._SETTLED_LOOKS} equal looks: {_LATEST_MS - contacts.LOOK_MS} to {_LATEST_MS} ms",
    f"{pico._PULLED_UP_US} us after the pull-up is on",
    f"a square wave of\n{pico._BUZZER_HZ:,} Hz (`board.py`), for {sensing._DONE_MS} ms to "
    f"{commands._IDENTIFY_MS / 1000:g} s",
    f"at address 0x{ssd1306.ADDRESS:02X}, {pico._I2C_HZ // 1000} kHz",
    f"mode 0, {pico._SPI_HZ // 1_000_000} MHz",
    f"a chip of less than {1 << nor._SMALLEST - 20} MB is refused",
    f"(9F, 05, 06, 02, 03, 20), {nor.SECTOR // 1024} KB sectors",
    f"{health.LEAST_PERMILLE // 10} to {health.MOST_PERMILLE // 10} % of printed",
    f"{TYPICAL.program_ns / _NS_A_MS:g} ms, at most {WORST.program_ns / _NS_A_MS:g} |",
    f"{TYPICAL.erase_ns // _NS_A_MS} ms, at most {WORST.erase_ns // _NS_A_MS} |",
    f"{journal._ERASES_A_SECTOR:,}",
    f"after\n{sensing._SURELY_PASSING * _SAMPLE_US // 1000} ms (`sensing.py`: "
    f"{sensing._SURELY_PASSING} samples)",
]


@pytest.mark.parametrize("figure", FIGURES)
def test_the_page_states_the_firmware_s_own_figures(figure: str) -> None:
    assert " ".join(figure.split()) in " ".join(text_of(_PAGE).split())


def test_every_module_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`(\w+\.py)`", text_of(_PAGE)))
    package = ROOT / "firmware" / "sabot_firmware"
    assert named <= {path.name for path in package.rglob("*.py")}


def test_no_tone_is_longer_or_shorter_than_the_page_says() -> None:
    assert sensing._DONE_MS <= panel._ALARM_MS <= commands._IDENTIFY_MS


def test_the_commands_of_the_chip_are_the_driver_s() -> None:
    used = (nor._READ_ID, nor._READ_STATUS, nor._WRITE_ENABLE, nor._PROGRAM, nor._READ, nor._ERASE)
    assert f"({', '.join(f'{command:02X}' for command in used)})" in text_of(_PAGE)


def _loads(page: str) -> list[tuple[float, str]]:
    """The table of the supply: each load in mA, and where it is taken from."""
    rows = re.findall(r"^\| [^|]+ \| (\d+) \| (VBUS|3V3) \|", page, re.MULTILINE)
    return [(float(current), source) for current, source in rows]


def test_the_loads_add_up_to_the_sums_of_the_page() -> None:
    page = text_of(_PAGE)
    at_3v3 = sum(current for current, source in _loads(page) if source == "3V3")
    together = sum(current for current, _ in _loads(page))
    assert f"= {at_3v3:g} mA. The Pico data sheet recommends less than 300" in page
    assert f"= {together:g} mA; with a quarter more {together * 1.25:.0f}." in page
    held_ma = at_3v3 + _loads(page)[0][0]
    watts = held_ma / 1000 * 3.3 / 0.85
    joules_a_farad = (4.5**2 - 2.5**2) / 2
    assert f"take {held_ma:g} mA by the table above" in page and f"{watts:.2f} W with" in page
    for ms, unit in ((30, "mF"), (500, "mF")):
        need_mf = watts * ms / joules_a_farad
        assert re.search(rf"{need_mf:.2g} {unit}", page), (ms, need_mf)


@pytest.mark.parametrize(("supply_v", "column"), [(24, 2), (12, 3)])
@pytest.mark.parametrize(("across", "drop_v"), [("diode, 0.7 V", 0.7), ("diode and Zener", 24.7)])
def test_the_solenoid_s_times_are_what_the_formula_gives(
    supply_v: int, column: int, across: str, drop_v: float
) -> None:
    """The current of a coil into a constant voltage: i = (i0 + D / R) exp(-t R / L) - D / R."""
    (row,) = re.findall(rf"^\| {across}.*$", text_of(_PAGE), re.MULTILINE)
    times = math.log((supply_v + drop_v) / (0.3 * supply_v + drop_v))
    assert row.split("|")[column].strip() == f"{times:.2f} L / R"


def test_the_time_left_to_the_lock_follows_from_the_card_code() -> None:
    card_mm, last_mark_mm, uv_mm, fastest_mm_ms, between_ms, to_the_pin_ms = 63, 54.5, 6, 3, 30, 5
    end_ms = (card_mm - last_mark_mm - uv_mm) / fastest_mm_ms
    left_ms = end_ms + between_ms - to_the_pin_ms
    page = text_of(_PAGE)
    assert f"{end_ms:.1f} + {between_ms} − {to_the_pin_ms} = {left_ms:.1f} ms are left" in page


@pytest.mark.skipif(find_spec("rp2040py") is None, reason="the emulator is not installed")
def test_the_page_shows_what_check_bench_prints(image: Image) -> None:
    (shown,) = re.findall(
        r"```text\n\$ sabot hil check-bench emulator\n(.*?)```", text_of(_PAGE), re.DOTALL
    )
    said: list[str] = []
    assert check_bench(BENCH, said.append, plugged(image))
    assert agrees(shown.splitlines(), "\n".join(said)), "\n".join(said)
