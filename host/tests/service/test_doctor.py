"""`sabot doctor` on a shoe with no fault, and with each single fault."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import sabot_firmware
from host.tests.support.commands import (
    done_here,
    error_line_here,
)
from host.tests.support.helpers import framed
from host.tests.support.naive_shoe import KEY, KEYS, NaiveShoe, answering_shoe
from sabot.cli import app
from sabot.errors import CommandRefused
from sabot.link import wire
from sabot.link.client import Client
from sabot.link.command_keys import CommandKeyFile
from sabot.link.flow import Flow
from sabot.link.ports import Port
from sabot.log.logger import Logger, LogWatcher
from sabot.log.store import open_store
from sabot.service import doctor
from sabot.sim.dealer import Dealer
from sabot.sim.deck import shuffled
from sabot.sim.process import SimulatedShoe
from sabot_firmware.cards.health import LEAST_PERMILLE, MOST_PERMILLE
from sabot_protocol import enums, messages
from sabot_protocol.schema import Shape

NOW_MS = 1_795_000_000_000
DAY_MS = 86_400_000
GOOD_REPORTS: dict[Shape, dict[str, Any]] = {
    messages.STATUS_REPORT: {
        "unix_ms": NOW_MS + 900,
        "heap_used": 200_000,
        "heap_free": 21_000,
        "journal_room": 70_000,
    },
    messages.HEALTH_REPORT: {
        "cards": 400,
        "e_permille": 1003,
        "a_permille": 981,
        "b_permille": 1012,
        "x_permille": 999,
        "calibrated_e_permille": 1000,
        "calibrated_a_permille": 980,
        "calibrated_b_permille": 1010,
        "calibrated_x_permille": 1000,
        "calibrated_unix_ms": NOW_MS - 3 * DAY_MS,
    },
    messages.UPDATE_REPORT: {},
    messages.SELF_TEST_REPORT: {
        "temperature_c": 31,
        "sectors": 4092,
        "begun": 40_920,
        "host_bytes": True,
    },
}
REPORT_ON = {
    messages.STATUS: messages.STATUS_REPORT,
    messages.HEALTH: messages.HEALTH_REPORT,
    messages.UPDATE_STATUS: messages.UPDATE_REPORT,
    messages.SELF_TEST: messages.SELF_TEST_REPORT,
}


class ReportingShoe(NaiveShoe):
    """A shoe that sends the given reports; with a `refusal` it refuses to test itself, or the
    command `refused`."""

    def __init__(
        self,
        reports: dict[Shape, dict[str, Any]],
        refusal: str = "",
        refused: Shape = messages.SELF_TEST,
    ) -> None:
        super().__init__(1)
        self.key = b""
        self._reports = reports
        self._refusal = refusal
        self._refused = refused

    def answer(self, message: wire.Message) -> list[bytes]:
        own = {"id": message.fields["id"]}
        if message.shape is self._refused and self._refusal:
            refusal = enums.REFUSALS.index(self._refusal)
            return [framed(messages.REPLY, **own, refusal=refusal)]
        report = REPORT_ON[message.shape]
        return [framed(report, **own, **self._reports[report])]


def answers(
    spoilt: dict[Shape, dict[str, Any]] | None = None,
    refusal: str = "",
    refused: Shape = messages.SELF_TEST,
) -> doctor.ShoeAnswers:
    """The answers of a shoe without faults; `spoilt` replaces fields of its reports."""
    reports = {shape: GOOD_REPORTS[shape] | (spoilt or {}).get(shape, {}) for shape in GOOD_REPORTS}
    with answering_shoe(ReportingShoe(reports, refusal, refused)) as line, Port(line.path) as port:
        return doctor.examine(Client(port), now_ms=lambda: NOW_MS)


def found(spoilt: dict[Shape, dict[str, Any]], **expected: Any) -> list[str]:
    """The names of the checks that find something."""
    expectations = doctor.Expectations(**({"version": "9"} | expected))
    checks = doctor.checks_of(answers(spoilt), expectations)
    return [check.name for check in checks if check.to_do]


def test_in_a_good_shoe_every_check_is_done_and_finds_nothing() -> None:
    checks = doctor.checks_of(answers(), doctor.Expectations("9", b"", 1.5))
    assert [check.to_do for check in checks] == [""] * len(checks)
    names = {check.name for check in checks}
    assert {"sensor E", "sensor A", "sensor B", "sensor X", "temperature", "clock"} <= names
    assert {f"self-test: {test}" for test in enums.SELF_TESTS} <= names
    assert len(names) == len(checks)


def test_while_cards_are_sealed_the_sensors_are_not_reported_and_all_else_is_checked() -> None:
    of_shoe = answers(refusal="sealed", refused=messages.HEALTH)
    checks = doctor.checks_of(of_shoe, doctor.Expectations("9", b"", 1.5))
    (left_out,) = [check for check in checks if check.to_do]
    assert (left_out.name, left_out.found) == ("sensors", "not reported")
    assert "ask again when the round is over" in left_out.to_do
    assert {"clock", "heap", "journal wear"} <= {check.name for check in checks}
    with pytest.raises(CommandRefused):
        answers(refusal="updating", refused=messages.HEALTH)


@pytest.mark.parametrize("error", enums.ERRORS[1:])
def test_an_error_that_stops_play_is_found(error: str) -> None:
    assert found({messages.STATUS_REPORT: {"error": enums.ERRORS.index(error)}}) == ["state"]


@pytest.mark.parametrize("test", enums.SELF_TESTS)
def test_each_self_test_that_failed_is_found(test: str) -> None:
    failed = 1 << enums.SELF_TESTS.index(test)
    assert found({messages.SELF_TEST_REPORT: {"failed": failed}}) == [f"self-test: {test}"]


@pytest.mark.parametrize("channel", enums.CHANNELS)
def test_each_sensor_that_is_dirty_or_covered_is_found(channel: str) -> None:
    bit, name = 1 << enums.CHANNELS.index(channel), f"sensor {channel.upper()}"
    assert found({messages.HEALTH_REPORT: {"dirty": bit}}) == [name]
    assert found({messages.SELF_TEST_REPORT: {"seen": bit}}) == [name]


@pytest.mark.parametrize(
    ("shape", "field", "good", "bad", "name"),
    [
        (messages.STATUS_REPORT, "unix_ms", NOW_MS + 5000, NOW_MS + 5001, "clock"),
        (messages.STATUS_REPORT, "unix_ms", NOW_MS - 5000, NOW_MS - 5001, "clock"),
        (messages.STATUS_REPORT, "unix_ms", NOW_MS, None, "clock"),
        (messages.STATUS_REPORT, "heap_free", 8_000, 7_999, "heap"),
        (messages.STATUS_REPORT, "bad_sectors", 0, 1, "bad sectors"),
        (messages.STATUS_REPORT, "journal_room", 2_000, 1_999, "journal room"),
        (messages.STATUS_REPORT, "frames_dropped", 0, 1, "line"),
        (messages.HEALTH_REPORT, "overruns", 0, 1, "samples lost"),
        (messages.HEALTH_REPORT, "calibrated_unix_ms", None, NOW_MS - 181 * DAY_MS, "test card"),
        (messages.SELF_TEST_REPORT, "begun", 327_359_999, 327_360_000, "journal wear"),
        (messages.SELF_TEST_REPORT, "temperature_c", -20, -21, "temperature"),
        (messages.SELF_TEST_REPORT, "temperature_c", 85, 86, "temperature"),
        (messages.SELF_TEST_REPORT, "wrong_macs", 0, 1, "wrong MACs"),
        (messages.UPDATE_REPORT, "stage", 0, enums.UPDATE_STAGES.index("on_trial"), "update"),
        (messages.UPDATE_REPORT, "stage", 0, enums.UPDATE_STAGES.index("staged"), "update"),
    ],
)
def test_each_value_just_beyond_its_limit_is_found(
    shape: Shape, field: str, good: object, bad: object, name: str
) -> None:
    assert found({shape: {field: good}}) == []
    assert found({shape: {field: bad}}) == [name]


def test_a_shoe_that_hung_or_had_an_error_is_found_and_one_that_was_told_to_restart_is_not() -> (
    None
):
    well = answers()
    for cause in enums.RESET_CAUSES:
        started = replace(well, welcome=replace(well.welcome, reset_cause=cause))
        names = [
            each.name for each in doctor.checks_of(started, doctor.Expectations("9")) if each.to_do
        ]
        assert names == (["start"] if cause in ("watchdog", "error", "memory") else []), cause


def test_key_wear_is_one_slot_for_every_four_events() -> None:
    # 80,000 erases of 32 sectors with 64 slots each, a slot for four events.
    worn = 80_000 * 32 * 64 * 4
    well = answers()
    for last, expected in ((worn - 1, []), (worn, ["key wear"])):
        old = replace(well, welcome=replace(well.welcome, last_held=last))
        checks = doctor.checks_of(old, doctor.Expectations("9"))
        assert [check.name for check in checks if check.to_do] == expected


def test_a_test_card_that_was_never_pulled_is_found() -> None:
    never = {f"calibrated_{channel}_permille": None for channel in enums.CHANNELS}
    assert found({messages.HEALTH_REPORT: {**never, "calibrated_unix_ms": None}}) == ["test card"]


def test_another_version_and_another_build_than_those_expected_are_found() -> None:
    assert found({}, version="10") == ["version"]
    assert found({}, build=b"\1" * 32) == ["build"]
    assert found({}, build=b"") == []


def test_more_cards_unread_than_the_log_should_have_are_found() -> None:
    assert found({}, unread_per_10000=2.0) == []
    assert found({}, unread_per_10000=2.1) == ["cards not read"]


def test_values_that_the_shoe_does_not_have_are_not_invented() -> None:
    started = {"heap_used": 0, "heap_free": 0}
    assert found({messages.STATUS_REPORT: started}) == []
    without = doctor.checks_of(
        answers({messages.SELF_TEST_REPORT: {"temperature_c": None}}), doctor.Expectations("9")
    )
    assert "temperature" not in {check.name for check in without}
    fresh = doctor.checks_of(
        answers({messages.HEALTH_REPORT: {"cards": 0}}), doctor.Expectations("9")
    )
    assert [check.found for check in fresh if check.name == "sensor E"] == ["no card yet"]


def test_in_a_round_the_self_test_is_reported_as_not_done_and_the_rest_is_checked() -> None:
    checks = doctor.checks_of(answers(refusal="in_play"), doctor.Expectations("9"))
    not_done = [check for check in checks if check.to_do]
    assert [check.name for check in not_done] == ["self-test"]
    assert "a round is in play" in not_done[0].to_do
    assert {"clock", "heap", "sensor A"} <= {check.name for check in checks}


def test_the_limits_of_a_sensor_are_those_of_the_firmware() -> None:
    (check,) = [
        c for c in doctor.checks_of(answers(), doctor.Expectations("9")) if c.name == "sensor A"
    ]
    assert check.expected.startswith(f"{LEAST_PERMILLE / 10:.0f} to {MOST_PERMILLE / 10:.0f} %")


@pytest.mark.slow
def test_the_command_checks_a_simulated_shoe(tmp_path: Path) -> None:
    with SimulatedShoe("DOC-1") as shoe:
        shoe.power_on()
        done = done_here(tmp_path, "doctor", "DOC-1", code=1)
        lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
        assert f"version {sabot_firmware.VERSION} {sabot_firmware.VERSION} ok" in lines
        assert "clock not set since its start within 5 s of this machine's LOOK" in lines
        assert lines[-1].endswith("checks found something") and lines[-1].startswith("DOC-1: 2 of")
        as_json = json.loads(done_here(tmp_path, "doctor", "DOC-1", "--json", code=1).stdout)
        wrong = [check["check"] for check in as_json["checks"] if not check["ok"]]
        assert as_json["unit"] == "DOC-1" and wrong == ["test card", "clock"]


@pytest.mark.slow
def test_the_heap_of_an_idle_shoe_is_measured_without_what_dealing_has_left(tmp_path: Path) -> None:
    with SimulatedShoe("DOC-3") as shoe, open_store(tmp_path / "log.sqlite", create=True) as store:
        shoe.power_on()
        free = []
        for seed in (1, 4):
            logger = Logger(store, [shoe.port], LogWatcher(), once=True)
            logger.start()
            Dealer(shoe.bench, shuffled(seed, cut_from_end=330), card_set=0, pace=0).deal()
            logger.wait(200)
            with Port(shoe.port) as port:
                client = Client(port, keys=CommandKeyFile.load(None))
                free.append(doctor.examine(client).status.heap_free)
    assert min(free) > 2 * doctor.LEAST_HEAP_BYTES and max(free) - min(free) < 5_000, free


@pytest.mark.slow
def test_with_a_wrong_command_key_all_but_the_self_test_is_checked(tmp_path: Path) -> None:
    with SimulatedShoe("DOC-2") as shoe:
        shoe.power_on()
        commands = tmp_path / "other.commands"
        commands.write_text('{"unit": "DOC-2", "command": "' + "00" * 32 + '"}\n')
        commands.chmod(0o600)
        done = done_here(tmp_path, "doctor", "DOC-2", "--commands", str(commands), code=1)
        assert "self-test: DOC-2: it has another command key" in done.stdout
        assert "journal room" in done.stdout and "00" * 8 not in done.stdout + done.stderr


@pytest.mark.slow
def test_a_folder_without_a_release_is_refused_before_the_shoe_is_examined(tmp_path: Path) -> None:
    line = error_line_here(tmp_path, "doctor", "NOBODY", "--release", str(tmp_path), code=29)
    assert "name a folder that `sabot build` has made" in line


def test_a_unit_must_be_named() -> None:
    assert CliRunner().invoke(app(), ["doctor"]).exit_code == 2


@pytest.mark.parametrize(
    ("key", "next_step"),
    [(b"", "waits to be provisioned; `sabot provision` it"), (KEY, "takes an update; ")],
)
def test_a_board_that_does_not_deal_is_refused_with_what_it_waits_for(
    key: bytes, next_step: str
) -> None:
    shoe = NaiveShoe(1)
    shoe.game, shoe.key = messages.NO_GAME, key
    with (
        answering_shoe(shoe) as answering,
        Port(answering.path) as port,
        pytest.raises(CommandRefused, match=f"U1: {next_step}"),
    ):
        doctor.examine(Client(port, keys=KEYS))


def test_events_that_do_not_arrive_at_a_log_are_found_in_its_words() -> None:
    flow = Flow(unit="U1", newest_on_shoe=250, newest_stored=10, held_s=31, damaged_from_shoe=31)
    (check,) = [
        check
        for check in doctor.checks_of(answers(), doctor.Expectations("9", flow=flow))
        if check.to_do
    ]
    assert check.name == "line"
    assert check.to_do.startswith("U1 holds 240 events that do not arrive, 31 frames were damaged")
    assert found({}, flow=replace(flow, held_s=29)) == []
    through_log = replace(answers(), line="U1 holds 7 events that do not arrive: check the line")
    (check,) = [
        check for check in doctor.checks_of(through_log, doctor.Expectations("9")) if check.to_do
    ]
    assert (check.name, check.to_do) == ("line", through_log.line)
