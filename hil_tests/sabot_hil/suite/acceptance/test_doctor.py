"""The self-test of a shoe: its findings, and that it does not disturb the cards."""

import pytest

from sabot.errors import CommandRefused
from sabot.link.messages import HealthCommand, SelfTestCommand, SelfTestReport, SetClockCommand
from sabot.service import doctor
from sabot_hil.capabilities import Measure, ShoeLink, Target, session_with
from sabot_hil.kit import dealer
from sabot_protocol import enums

_E_COVERED = b"\x11" * 4  # four bytes of eight samples


def _self_test(shoe: ShoeLink) -> SelfTestReport:
    with session_with(shoe) as client:
        return client.ask(SelfTestCommand())


def test_a_good_shoe_finds_nothing_and_loses_no_sample(target: Target, measure: Measure) -> None:
    with session_with(target.shoe) as client:
        client.ask(SetClockCommand(1_795_000_000_000))
        answers = doctor.examine(client, now_ms=lambda: 1_795_000_000_000)
        begun_us = target.clock.now_us()
        report = client.ask(SelfTestCommand())
        taken_ms = (target.clock.now_us() - begun_us) / 1000
        lost = client.ask(HealthCommand()).overruns
    assert report.failed == report.seen == report.wrong_macs == 0
    assert report.begun >= 1 and report.sectors > 1000
    checks = doctor.checks_of(answers, doctor.Expectations())
    assert [check.name for check in checks if check.to_do] == ["test card"]
    if target.clock.emulated:
        assert report.temperature_c is not None and 25 <= report.temperature_c <= 29
        measure("self-test", taken_ms, "ms", at_most=600.0)
    measure("samples lost by a self-test", lost, "times", at_most=0)


def test_a_sensor_that_is_covered_with_no_card_is_reported(target: Target) -> None:
    target.bench.play(_E_COVERED)
    target.bench.settle()
    assert _self_test(target.shoe).seen == 1 << enums.CHANNELS.index("e")


def test_a_shoe_does_not_test_itself_while_a_card_may_come(target: Target) -> None:
    dealing = dealer.BenchDealer(target.bench, dealer.shuffled_shoe(1))
    dealing.load()
    with pytest.raises(CommandRefused, match="between rounds"):
        _self_test(target.shoe)
