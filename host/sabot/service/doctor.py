"""What is wrong with a shoe, and what to do about it, by what it tells of itself."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sabot_firmware
from sabot.errors import CommandRefused, KeysUnusable
from sabot.link.client import Client
from sabot.link.messages import (
    HealthCommand,
    HealthReport,
    SelfTestCommand,
    SelfTestReport,
    StatusCommand,
    StatusReport,
    UpdateStatusCommand,
)
from sabot.link.session import Introduction
from sabot_firmware.boards.nor import SECTOR
from sabot_firmware.cards.health import LEAST_PERMILLE, MOST_PERMILLE
from sabot_firmware.journal import keyring
from sabot_protocol import enums, messages
from sabot_protocol.chain import EPOCH_RECORDS

LEAST_HEAP_BYTES = 8_000
"""Less than half of what a shoe has left in service (firmware/README.md, "Heap")."""

ERASES_A_SECTOR = 100_000
"""That the journal's chip stands, by the data sheets of the W25Q class."""

WORN_PERCENT = 80
LEAST_ROOM_EVENTS = 2_000
"""What two shoes of cards leave behind."""

MOST_CLOCK_ERROR_MS = 5_000
COLDEST_C, HOTTEST_C = -20, 85
"""RP2040 data sheet, 5.5: ambient temperature. The sensor on the chip is some degrees off."""

MOST_UNREAD_PER_10000 = 2.0
"""The same as `sabot units` asks to be looked at."""

_DAY_MS = 24 * 3600 * 1000
_RECALIBRATE_DAYS = 180


@dataclass(frozen=True, slots=True)
class ShoeAnswers:
    """All that a shoe has said about itself."""

    unit: str
    welcome: Introduction
    status: StatusReport
    health: HealthReport
    stage: str
    """How far a release has come, one of `words.UPDATE_STAGES`."""
    self_test: SelfTestReport | None
    """None where it was not done;"""
    untested: str
    """why it was not."""
    unix_ms: int
    """This machine's clock when `status` came."""


@dataclass(frozen=True, slots=True)
class Expectations:
    """What the shoe should run, and what a log knows of it."""

    version: str = sabot_firmware.VERSION
    build: bytes | None = None
    """None: of any build."""
    unread_per_10000: float | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    name: str
    found: str
    expected: str
    to_do: str = ""
    """Empty where all is well."""

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "check": self.name,
            "found": self.found,
            "expected": self.expected,
            "ok": not self.to_do,
            "to_do": self.to_do or None,
        }


def ask(
    client: Client, now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000
) -> ShoeAnswers:
    """Have a shoe tell all that it can, and test itself. Raises CommandRefused, NoShoe.

    `now_ms` is this machine's clock, ms since 1970 UTC.
    """
    if client.welcome.game == messages.NO_GAME:
        raise CommandRefused(
            f"{client.unit}: is to be provisioned, or takes an update; `sabot provision` or "
            "`sabot update` it, then look again"
        )
    before_ms = now_ms()
    status = client.ask(StatusCommand())
    between_ms = (before_ms + now_ms()) // 2
    health = client.ask(HealthCommand())
    stage = client.ask(UpdateStatusCommand()).stage
    self_test, untested = None, ""
    try:
        self_test = client.ask(SelfTestCommand())
    except (CommandRefused, KeysUnusable) as error:
        untested = str(error)
    return ShoeAnswers(
        unit=client.unit,
        welcome=client.welcome,
        status=status,
        health=health,
        stage=stage,
        self_test=self_test,
        untested=untested,
        unix_ms=between_ms,
    )


def examine(told: ShoeAnswers, expected: Expectations) -> list[Check]:
    """Everything that was looked at, in the order in which to mend it."""
    return [
        _state(told),
        *_self_tests(told),
        *_sensors(told),
        _calibration(told),
        _overruns(told),
        *_journal(told, expected),
        _clock(told),
        _heap(told),
        *_temperature(told),
        *_versions(told, expected),
        _update(told),
        _line(told),
        *_wrong_macs(told),
    ]


def _check(name: str, found: str, expected: str, *, ok: bool, to_do: str) -> Check:
    return Check(name, found, expected, "" if ok else to_do)


def _state(told: ShoeAnswers) -> Check:
    error = told.status.error
    return _check(
        "state",
        (told.status.phase if error == "none" else error).replace("_", " "),
        "no error",
        ok=error == "none",
        to_do="play has stopped: the display says why; the supervisor's key clears it",
    )


_TO_DO = {
    "journal": "its memory does not give back what was written: log what it holds, then have the "
    "journal's chip replaced",
    "code": "what is on its flash is not what was signed, and it may not start again: `sabot "
    "update` it, or `sabot flash --force`",
    "display": "it does not answer: look at its cable",
    "samples": "none come from the sensor head: switch it off and on; if they still do not, have "
    "the board replaced",
}


def _self_tests(told: ShoeAnswers) -> list[Check]:
    if told.self_test is None:
        return [Check("self-test", "not done", "done", told.untested)]
    failed = told.self_test.failed
    return [
        _check(
            f"self-test: {name}",
            "failed" if failed >> bit & 1 else "passed",
            "passed",
            ok=not failed >> bit & 1,
            to_do=_TO_DO[name],
        )
        for bit, name in enumerate(enums.SELF_TESTS)
    ]


def _sensors(told: ShoeAnswers) -> list[Check]:
    # Before the first card the shoe has nothing but what it expects.
    has_read = told.health.cards > 0
    seen = 0 if told.self_test is None else told.self_test.seen
    checks = []
    for bit, channel in enumerate(enums.CHANNELS):
        mean = f"{told.health.means[bit] / 10:.1f} %" if has_read else "no card yet"
        to_do = ""
        if seen >> bit & 1:
            mean += ", covered"
            to_do = "it sees something: take out what lies in the head; if nothing does, plug the "
            to_do += "head in, or clean it"
        elif told.health.dirty >> bit & 1:
            to_do = "clean the sensor, then pull the test card"
        bounds = f"{LEAST_PERMILLE / 10:.0f} to {MOST_PERMILLE / 10:.0f} %, clear"
        checks.append(Check(f"sensor {channel.upper()}", mean, bounds, to_do))
    return checks


def _calibration(told: ShoeAnswers) -> Check:
    health = told.health
    when = health.calibrated_unix_ms
    ever = any(permille is not None for permille in health.calibrated)
    days = None if when is None else (told.unix_ms - when) // _DAY_MS
    found = "never" if not ever else "no clock then" if days is None else f"{days} days ago"
    return _check(
        "test card",
        found,
        f"within {_RECALIBRATE_DAYS} days",
        ok=ever and (days is None or days <= _RECALIBRATE_DAYS),
        to_do="pull the test card between two shoes of cards",
    )


def _overruns(told: ShoeAnswers) -> Check:
    count = told.health.overruns
    return _check(
        "samples lost",
        f"{count} times since its start",
        "never",
        ok=not count,
        to_do="a card may have gone by unseen: count the cards of this shoe, and report it",
    )


def _journal(told: ShoeAnswers, expected: Expectations) -> list[Check]:
    bad, room = told.status.bad_sectors, told.status.journal_room
    slots = keyring.SECTORS * SECTOR // keyring.SLOT_SIZE
    # A slot for each epoch, and a sector erased before its first.
    checks = [_wear("key wear", told.welcome.last_held / EPOCH_RECORDS / slots)]
    if told.self_test is not None:
        begun, sectors = told.self_test.begun, told.self_test.sectors
        checks.append(_wear("journal wear", begun / sectors))
    checks += [
        _check(
            "bad sectors",
            f"{bad} since its start",
            "none",
            ok=not bad,
            to_do="they are left out, and nothing was lost by that; if they become more, have the "
            "journal's chip replaced (`sabot events --kind journal_fault`)",
        ),
        _check(
            "journal room",
            f"{room:,} events, {told.status.queue_events:,} not logged",
            f"{LEAST_ROOM_EVENTS:,} events or more",
            ok=room >= LEAST_ROOM_EVENTS,
            to_do=f"let a log take its events: `sabot log {told.unit}`",
        ),
    ]
    rate = expected.unread_per_10000
    if rate is not None:
        checks.append(
            _check(
                "cards not read",
                f"{rate:.1f} in 10,000, by the log",
                f"{MOST_UNREAD_PER_10000:g} or fewer",
                ok=rate <= MOST_UNREAD_PER_10000,
                to_do="clean the sensors, and look at the cards: `sabot capture` shows the passes",
            )
        )
    return checks


def _wear(name: str, erases: float) -> Check:
    worn = 100 * erases / ERASES_A_SECTOR
    return _check(
        name,
        f"{erases:,.1f} erases a sector, {worn:.2f} %",
        f"under {WORN_PERCENT} % of {ERASES_A_SECTOR:,}",
        ok=worn < WORN_PERCENT,
        to_do="have the journal's chip replaced before it wears out",
    )


def _clock(told: ShoeAnswers) -> Check:
    said = told.status.unix_ms
    off_ms = None if said is None else said - told.unix_ms
    return _check(
        "clock",
        "not set since its start" if off_ms is None else f"{off_ms / 1000:+,.1f} s",
        f"within {MOST_CLOCK_ERROR_MS // 1000} s of this machine's",
        ok=off_ms is not None and abs(off_ms) <= MOST_CLOCK_ERROR_MS,
        to_do=f"see that this machine's clock is right; `sabot log {told.unit}` sets the shoe's",
    )


def _heap(told: ShoeAnswers) -> Check:
    free, looked = told.status.heap_free, told.status.heap_used > 0
    return _check(
        "heap",
        f"{free:,} bytes free" if looked else "not looked at since its start",
        f"{LEAST_HEAP_BYTES:,} or more",
        ok=free >= LEAST_HEAP_BYTES or not looked,
        to_do="switch the shoe off and on between rounds, and report it",
    )


def _temperature(told: ShoeAnswers) -> list[Check]:
    degrees = None if told.self_test is None else told.self_test.temperature_c
    if degrees is None:
        return []
    return [
        _check(
            "temperature",
            f"{degrees} C",
            f"{COLDEST_C} to {HOTTEST_C} C",
            ok=COLDEST_C <= degrees <= HOTTEST_C,
            to_do="take it out of the heat or the cold, and look at its supply",
        )
    ]


def _versions(told: ShoeAnswers, expected: Expectations) -> list[Check]:
    version, build = told.welcome.firmware, told.welcome.build
    to_do = f"`sabot update {told.unit}` with the release that it should run"
    checks = [
        _check("version", version, expected.version, ok=version == expected.version, to_do=to_do)
    ]
    if expected.build is not None:
        checks.append(
            _check(
                "build",
                build.hex()[:16],
                expected.build.hex()[:16],
                ok=build == expected.build,
                to_do=to_do,
            )
        )
    return checks


_UPDATE_TO_DO = {
    "on_trial": "it goes back by itself within two minutes unless it is confirmed: `sabot update` "
    "it again",
    "staged": "a release waits for its next start: switch it off and on, or `sabot update` it "
    "again",
}


def _update(told: ShoeAnswers) -> Check:
    return Check("update", told.stage.replace("_", " "), "idle", _UPDATE_TO_DO.get(told.stage, ""))


def _line(told: ShoeAnswers) -> Check:
    dropped = told.status.frames_dropped
    return _check(
        "line",
        f"{dropped} frames of the host damaged",
        "none",
        ok=not dropped,
        to_do="nothing was lost by it; replace the cable, or keep it away from motors",
    )


def _wrong_macs(told: ShoeAnswers) -> list[Check]:
    if told.self_test is None:
        return []
    wrong = told.self_test.wrong_macs
    return [
        _check(
            "wrong MACs",
            f"{wrong} since its start",
            "none",
            ok=not wrong,
            to_do="somebody without its key gave it commands: `sabot incidents` tells when",
        )
    ]
