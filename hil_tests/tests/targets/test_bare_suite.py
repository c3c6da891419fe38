"""The suite for a Pico without wiring, on an emulated one, and what it says of the emulator."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sabot.errors import BoardUnfit
from sabot.release import flash
from sabot.release.uf2 import Image
from sabot_hil import cli
from sabot_hil.capabilities import BrokenRig, Unable
from sabot_hil.emulation.assumptions import TABLE
from sabot_hil.emulation.nor_chip import TYPICAL
from sabot_hil.report.results import Comparison
from sabot_hil.suite.bare import test_chip, test_flash, test_resets, test_usb
from sabot_hil.targets import NoSuchTarget, TargetChoice, choice_of, make_prompt
from sabot_hil.targets.bare_prompt import RealPrompt
from sabot_hil.targets.emulated_prompt import EmulatedPrompt


class Compared:
    """Keeps what the suite compares, and ignores what it only measures."""

    def __init__(self) -> None:
        self.by_name: dict[str, Comparison] = {}

    def __call__(self, name: str, measured: float, /) -> None:
        self.by_name[name] = TABLE[name].compared(measured)

    def measure(self, *_: object, **__: object) -> None:
        """Keep nothing."""

    @property
    def changes(self) -> dict[str, str]:
        """What is to change, by figure."""
        return {name: each.change for name, each in self.by_name.items() if not each.agrees}


def test_a_figure_that_differs_says_which_constant_becomes_what() -> None:
    miss = TABLE["a word that is not in the flash's cache"]
    assert miss.compared(50.4).verdict == "agrees"
    assert miss.compared(61.8).verdict == (
        "change MISS_CYCLES in sabot_hil/emulation/flash_cache.py from 50 to 62"
    )
    erase = TABLE["an erase of a sector of the Pico's own flash"]
    assert "change Times.erase_ns" in erase.compared(60.3).verdict
    assert "from 45,000,000 to 60,000,000" in erase.compared(60.3).verdict
    heap = TABLE["heap of MicroPython"]
    assert "not a constant" in heap.compared(100_000).verdict


def test_every_constant_is_where_the_table_says(project: Path) -> None:
    for each in TABLE.values():
        text = (project / "hil_tests" / each.file).read_text()
        assert each.constant.rpartition(".")[2] in text, each.name


@pytest.fixture
def project() -> Path:
    return Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("target", "bench", "why"),
    [
        ("pico", None, "no target has the name"),
        ("pico:", None, "needs its serial number"),
        ("pico:E660", "E661", "no bench"),
    ],
)
def test_a_target_that_is_no_bare_pico_is_refused(target: str, bench: str | None, why: str) -> None:
    with pytest.raises(NoSuchTarget, match=why):
        choice_of(target, bench=bench)


def test_a_shoe_is_no_bare_pico() -> None:
    with pytest.raises(Unable, match="--target pico:SERIAL"):
        make_prompt(TargetChoice("sim"))


@pytest.mark.parametrize(
    "options",
    [["--target", "sim", "--suite", "bare"], ["--target", "pico:E660", "--suite", "smoke"]],
)
def test_only_a_bare_pico_has_the_suite_and_it_has_no_other(options: list[str]) -> None:
    ran = CliRunner().invoke(cli.app, options)
    assert ran.exit_code == 2
    assert "pico:SERIAL" in ran.output


def test_a_shoe_is_refused_before_its_port_gets_anything_for_a_prompt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_prompt(port: str, unit: str) -> None:
        raise AssertionError("a shoe got the characters that ask for a prompt")

    monkeypatch.setattr(flash, "runs_shoe", lambda port: True)
    monkeypatch.setattr(flash, "prompt", no_prompt)
    with pytest.raises(BoardUnfit, match="E660: Sabot runs there"):
        RealPrompt("E660")


# On an emulated Pico


@pytest.fixture(scope="module")
def pico(image: Image) -> Iterator[EmulatedPrompt]:
    prompt = EmulatedPrompt(image, {"main.py": b"print('mine')\n", "notes/a": b"b"})
    yield prompt
    prompt.close()  # also checks the files


@pytest.mark.slow
def test_on_the_emulator_every_figure_agrees(pico: EmulatedPrompt) -> None:
    """So the figures of the table that are no constants are right."""
    seen = Compared()
    test_flash.test_the_cost_of_a_word_that_the_cache_does_not_hold(pico, seen)
    test_flash.test_the_flash_is_read_as_the_arithmetic_says(pico, seen)
    test_flash.test_erase_and_program_and_what_stops_meanwhile(pico, seen, seen.measure)
    test_chip.test_how_long_garbage_is_collected(pico, seen)
    test_chip.test_state_machines_and_dma_keep_their_rates(pico, seen)
    test_chip.test_random_numbers_look_random_and_differ_after_each_start(pico, seen.measure)
    test_resets.test_a_reset_by_command(pico, seen)
    test_resets.test_a_watchdog_that_is_not_fed(pico, seen, seen.measure)
    test_usb.test_a_write_to_a_host_that_does_not_read(pico, seen, seen.measure)
    assert seen.changes == {}
    assert set(seen.by_name) == set(TABLE), "a figure that nothing measures"


@pytest.mark.slow
@pytest.mark.parametrize(("percent", "cycles"), [(100, 50), (110, 55)])
def test_the_measured_cost_of_a_miss_is_the_one_that_was_set(
    image: Image, percent: int, cycles: int
) -> None:
    seen = Compared()
    prompt = EmulatedPrompt(image, flash_percent=percent)
    test_flash.test_the_cost_of_a_word_that_the_cache_does_not_hold(prompt, seen)
    prompt.close()
    found = seen.by_name["a word that is not in the flash's cache"]
    assert found.measured == pytest.approx(cycles, rel=0.01)
    assert found.agrees == (percent == 100)


@pytest.mark.slow
def test_a_chip_that_erases_slower_is_noticed(image: Image) -> None:
    seen = Compared()
    prompt = EmulatedPrompt(image, flash_times=replace(TYPICAL, erase_ns=80_000_000))
    test_flash.test_erase_and_program_and_what_stops_meanwhile(prompt, seen, seen.measure)
    prompt.close()
    (change,) = seen.changes.values()
    assert change.startswith(
        "change Times.erase_ns in sabot_hil/emulation/nor_chip.py from 45,000,000 to 79,9"
    )


@pytest.mark.slow
def test_files_that_changed_are_reported_and_a_unit_that_does_not_answer_is_refused(
    image: Image,
) -> None:
    prompt = EmulatedPrompt(image)
    prompt.run("print(repr(open('left', 'w').close()))")
    with pytest.raises(BrokenRig, match="its files are not those"):
        prompt.close()
    with pytest.raises(BoardUnfit, match="Sabot is on it"):
        EmulatedPrompt(image, {"boot.mpy": b"", "state/boot": b""})
