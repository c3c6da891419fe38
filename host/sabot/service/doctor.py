"""Finds what is wrong with a shoe from its own reports, and says what to do about it."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sabot_firmware
from sabot.errors import BadAnswer, CommandRefused, KeysUnusable
from sabot.link.client import ReadShoe
from sabot.link.flow import Flow
from sabot.link.messages import (
    HealthCommand,
    HealthReport,
    SelfTestCommand,
    SelfTestReport,
    StatusCommand,
    StatusReport,
    UpdateStatusCommand,
    calibrated_means,
    health_means,
)
from sabot.link.session import Introduction
from sabot.link.words import UnknownWord, words_in
from sabot.text import counted, start_cause
from sabot_firmware.boards.nor import SECTOR
from sabot_firmware.cards.health import LEAST_PERMILLE, MOST_PERMILLE
from sabot_firmware.journal import keyring
from sabot_protocol import enums, messages
from sabot_protocol.chain import EPOCH_RECORDS

LEAST_HEAP_BYTES = 8_000
"""Less than half of what is free in a shoe in service (firmware/README.md, "Heap")."""

ERASES_A_SECTOR = 100_000
"""How often a sector of the journal's chip can be erased, by the data sheets of the W25Q class."""

WORN_PERCENT = 80
LEAST_ROOM_EVENTS = 2_000
"""About the events of two shoes of cards."""

MOST_CLOCK_ERROR_MS = 5_000
COLDEST_C, HOTTEST_C = -20, 85
"""RP2040 data sheet, 5.5: ambient temperature. The sensor on the chip is some degrees off."""

MOST_UNREAD_PER_10000 = 2.0
"""The limit that the help of `sabot units` names."""

_DAY_MS = 24 * 3600 * 1000
_RECALIBRATE_DAYS = 180


@dataclass(frozen=True, slots=True)
class ShoeAnswers:
    """Everything that a shoe reports about itself."""

    unit: str
    welcome: Introduction
    status: StatusReport
    health: HealthReport | None
    """None while cards lie face down that it would tell."""
    sealed: str
    """Why the shoe does not report `health`; empty if it does."""
    stage: str
    """The stage of an update, one of `enums.UPDATE_STAGES`."""
    self_test: SelfTestReport | None
    """None if it was not done."""
    untested: str
    """Why the self-test was not done; empty if it was."""
    unix_ms: int
    """This machine's clock when `status` came."""
    line: str = ""
    """What is wrong on the line from the shoe, for people; empty if nothing is."""


@dataclass(frozen=True, slots=True)
class Expectations:
    """What the shoe should run, and how it reads cards according to a log."""

    version: str = sabot_firmware.VERSION
    build: bytes | None = None
    """None: any build."""
    unread_per_10000: float | None = None
    """Cards not read in 10,000; None: no log."""
    flow: Flow | None = None
    """How its events come, by a log that has it; None if none has."""


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check."""

    name: str
    found: str
    expected: str
    to_do: str = ""
    """Empty if all is well."""

    def as_json(self) -> dict[str, Any]:
        """The check as `sabot doctor --json` prints it."""
        return {
            "check": self.name,
            "found": self.found,
            "expected": self.expected,
            "ok": not self.to_do,
            "to_do": self.to_do or None,
        }


def examine(
    client: ReadShoe, now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000
) -> ShoeAnswers:
    """Ask a shoe for all its reports, and have it test itself. Raises CommandRefused, NoShoe,
    BadAnswer.

    `now_ms` is this machine's clock, ms since 1970 UTC.
    """
    if client.welcome.game == messages.NO_GAME:
        raise CommandRefused(
            f"{client.unit}: takes an update; `sabot update` it, or wait a minute, then try again"
            if client.welcome.challenge
            else f"{client.unit}: waits to be provisioned; `sabot provision` it, then try again"
        )
    health, sealed = None, ""
    try:
        health = client.ask(HealthCommand())
    except CommandRefused as error:
        if error.refusal != "sealed":
            raise
        sealed = str(error)
    stage = client.ask(UpdateStatusCommand()).stage
    self_test, untested = None, ""
    try:
        self_test = client.ask(SelfTestCommand())
    except (CommandRefused, KeysUnusable) as error:
        untested = str(error)
    if self_test is not None and not self_test.sectors:
        raise BadAnswer(f"{client.unit}: it reports a journal without sectors; update its firmware")
    # After the self-test, which measures the heap: what dealing has left there is no lack of room.
    before_ms = now_ms()
    status = client.ask(StatusCommand())
    between_ms = (before_ms + now_ms()) // 2
    return ShoeAnswers(
        unit=client.unit,
        welcome=client.welcome,
        status=status,
        health=health,
        sealed=sealed,
        stage=stage,
        self_test=self_test,
        untested=untested,
        unix_ms=between_ms,
        line=client.line_text(),
    )


def checks_of(answers: ShoeAnswers, expected: Expectations) -> list[Check]:
    """All checks, in the order in which their findings should be fixed."""
    return [
        _state(answers),
        *_self_tests(answers),
        *_head(answers),
        *_journal(answers, expected),
        _clock(answers),
        _heap(answers),
        *_temperature(answers),
        _start(answers),
        *_versions(answers, expected),
        _update(answers),
        _line(answers, expected),
        *_wrong_macs(answers),
        *_random(answers),
    ]


_UPDATE_HOST = "this host does not know it: update the host, then look again"


def _spaced(name: str) -> str:
    return name.replace("_", " ")


def _check(name: str, found: str, expected: str, *, ok: bool, to_do: str) -> Check:
    return Check(name, found, expected, "" if ok else to_do)


_STOPPED = {
    "power_was_off": "the power was off with cards in play: the supervisor checks the cards, and "
    "turns the key",
    "lock_stuck": "the bolt of its exit does not follow: have it repaired before it deals on",
    "supply_low": "its supply falls: check plug, cable and supply, then the supervisor's key",
}


def _state(answers: ShoeAnswers) -> Check:
    error = answers.status.error
    return _check(
        "state",
        _spaced(answers.status.phase if error == "none" else error),
        "no error",
        ok=error == "none",
        to_do=_STOPPED.get(
            error, "play has stopped: the display says why; the supervisor's key clears it"
        ),
    )


def _start(answers: ShoeAnswers) -> Check:
    cause = answers.welcome.reset_cause
    return _check(
        "start",
        start_cause(cause),
        "power or command",
        ok=cause not in ("watchdog", "error", "memory"),
        to_do="`sabot incidents` lists its restarts: if there are several, `sabot update` it, and "
        "have its board examined if they go on",
    )


_TO_DO = {
    "journal": "its memory does not return what was written: log its events, then have the "
    "journal's chip replaced",
    "code": "the program on its flash is not the one that was signed, and may not start again: "
    "`sabot update` it, or `sabot flash --force`",
    "display": "it does not answer: check its cable",
    "samples": "none come from the sensor head: switch the shoe off and on; if none come then, "
    "have the board replaced",
}


def _self_tests(answers: ShoeAnswers) -> list[Check]:
    if answers.self_test is None:
        return [Check("self-test", "not done", "done", answers.untested)]
    failed = answers.self_test.failed
    later = [
        Check(f"self-test: {_spaced(name)}", "failed", "passed", _UPDATE_HOST)
        for name in words_in(enums.SELF_TESTS, failed)
        if isinstance(name, UnknownWord)
    ]
    return later + [
        _check(
            f"self-test: {name}",
            "failed" if failed >> bit & 1 else "passed",
            "passed",
            ok=not failed >> bit & 1,
            to_do=_TO_DO[name],
        )
        for bit, name in enumerate(enums.SELF_TESTS)
    ]


def _head(answers: ShoeAnswers) -> list[Check]:
    if answers.health is None:
        return [Check("sensors", "not reported", "reported", answers.sealed)]
    health = answers.health
    return [*_sensors(answers, health), _calibration(answers, health), _overruns(health)]


def _sensors(answers: ShoeAnswers, health: HealthReport) -> list[Check]:
    # Before the first card, the shoe's means are only the values that it expects.
    has_read = health.cards > 0
    seen = 0 if answers.self_test is None else answers.self_test.seen
    checks = []
    for bit, channel in enumerate(enums.CHANNELS):
        mean = f"{health_means(health)[bit] / 10:.1f} %" if has_read else "no card yet"
        to_do = ""
        if seen >> bit & 1:
            mean += ", covered"
            to_do = "it sees something: take out what lies in the head; if nothing is there, plug "
            to_do += "the head in, or clean it"
        elif health.dirty >> bit & 1:
            to_do = "clean the sensor, then pull the test card"
        bounds = f"{LEAST_PERMILLE / 10:.0f} to {MOST_PERMILLE / 10:.0f} %, clear"
        checks.append(Check(f"sensor {channel.upper()}", mean, bounds, to_do))
    for name in words_in(enums.CHANNELS, seen | health.dirty):
        if isinstance(name, UnknownWord):
            checks.append(Check(f"sensor {_spaced(name)}", "not clear", "clear", _UPDATE_HOST))
    return checks


def _calibration(answers: ShoeAnswers, health: HealthReport) -> Check:
    when = health.calibrated_unix_ms
    ever = any(permille is not None for permille in calibrated_means(health))
    days = None if when is None else (answers.unix_ms - when) // _DAY_MS
    found = (
        "never" if not ever else "no clock then" if days is None else f"{counted(days, 'day')} ago"
    )
    return _check(
        "test card",
        found,
        f"within {counted(_RECALIBRATE_DAYS, 'day')}",
        ok=ever and (days is None or days <= _RECALIBRATE_DAYS),
        to_do="pull the test card between two shoes of cards",
    )


def _overruns(health: HealthReport) -> Check:
    count = health.overruns
    return _check(
        "samples lost",
        f"{counted(count, 'time')} since its start",
        "never",
        ok=not count,
        to_do="a card may have passed unseen: count the cards of this shoe, and report it",
    )


def _journal(answers: ShoeAnswers, expected: Expectations) -> list[Check]:
    bad, room = answers.status.bad_sectors, answers.status.journal_room
    slots = keyring.SECTORS * SECTOR // keyring.SLOT_SIZE
    # A slot for each epoch, and a sector erased before its first.
    checks = [_wear("key wear", answers.welcome.last_held / EPOCH_RECORDS / slots)]
    if answers.self_test is not None:
        begun, sectors = answers.self_test.begun, answers.self_test.sectors
        checks.append(_wear("journal wear", begun / sectors))
    checks += [
        _check(
            "bad sectors",
            f"{bad} since its start",
            "none",
            ok=not bad,
            to_do="they are no longer used, and nothing was lost; if their number grows, have the "
            "journal's chip replaced (`sabot events --kind journal_fault`)",
        ),
        _check(
            "journal room",
            f"{counted(room, 'event')}, {answers.status.queue_events:,} not logged",
            f"{counted(LEAST_ROOM_EVENTS, 'event')} or more",
            ok=room >= LEAST_ROOM_EVENTS,
            to_do=f"let a log take its events: `sabot log {answers.unit}`",
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


def _clock(answers: ShoeAnswers) -> Check:
    shoe_ms = answers.status.unix_ms
    off_ms = None if shoe_ms is None else shoe_ms - answers.unix_ms
    return _check(
        "clock",
        "not set since its start" if off_ms is None else f"{off_ms / 1000:+,.1f} s",
        f"within {MOST_CLOCK_ERROR_MS // 1000} s of this machine's",
        ok=off_ms is not None and abs(off_ms) <= MOST_CLOCK_ERROR_MS,
        to_do=f"see that this machine's clock is right; `sabot log {answers.unit}` sets the shoe's",
    )


def _heap(answers: ShoeAnswers) -> Check:
    free, measured = answers.status.heap_free, answers.status.heap_used > 0
    return _check(
        "heap",
        f"{free:,} bytes free" if measured else "not measured since its start",
        f"{LEAST_HEAP_BYTES:,} or more",
        ok=free >= LEAST_HEAP_BYTES or not measured,
        to_do="switch the shoe off and on between rounds, and report it",
    )


def _temperature(answers: ShoeAnswers) -> list[Check]:
    degrees = None if answers.self_test is None else answers.self_test.temperature_c
    if degrees is None:
        return []
    return [
        _check(
            "temperature",
            f"{degrees} C",
            f"{COLDEST_C} to {HOTTEST_C} C",
            ok=COLDEST_C <= degrees <= HOTTEST_C,
            to_do="take it out of the heat or the cold, and check its power supply",
        )
    ]


def _versions(answers: ShoeAnswers, expected: Expectations) -> list[Check]:
    version, build = answers.welcome.firmware, answers.welcome.build
    to_do = f"`sabot update {answers.unit}` with the release that it should run"
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


def _update(answers: ShoeAnswers) -> Check:
    to_do = _UPDATE_TO_DO.get(answers.stage, "")
    if isinstance(answers.stage, UnknownWord):
        to_do = _UPDATE_HOST
    return Check("update", _spaced(answers.stage), "idle", to_do)


def _line(answers: ShoeAnswers, expected: Expectations) -> Check:
    dropped, text, flow = answers.status.frames_dropped, answers.line, expected.flow
    if not text and flow is not None and flow.stopped:
        text = flow.text(answers.unit)
    return _check(
        "line",
        "frames to the host damaged" if text else f"{dropped} frames from the host damaged",
        "none",
        ok=not dropped and not text,
        to_do=text or "nothing was lost; replace the cable, or keep it away from motors",
    )


def _wrong_macs(answers: ShoeAnswers) -> list[Check]:
    if answers.self_test is None:
        return []
    wrong = answers.self_test.wrong_macs
    return [
        _check(
            "wrong MACs",
            f"{wrong} since its start",
            "none",
            ok=not wrong,
            to_do="someone without its key sent it commands: `sabot incidents` shows when",
        )
    ]


def _random(answers: ShoeAnswers) -> list[Check]:
    if answers.self_test is None or answers.self_test.stuck is None:
        return []  # it has firmware without a pool
    stuck = [_spaced(name) for name in words_in(enums.RANDOM_SOURCES, answers.self_test.stuck)]
    has_bytes = answers.self_test.host_bytes
    return [
        _check(
            "random sources",
            f"{', '.join(stuck)} repeats itself" if stuck else "none repeats itself",
            "none repeats itself",
            ok=not stuck,
            to_do="its random numbers stay good; change the board when there is time",
        ),
        _check(
            "random bytes of a host",
            "it has some" if has_bytes else "it has none",
            "it has some",
            ok=bool(has_bytes),
            to_do="run `sabot log`: it deals no cards face down before",
        ),
    ]
