"""Puts a release into a shoe: sends it, has it tried, and confirms it after a handshake with it."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from hashlib import sha256

from sabot.errors import CommandRefused, UpdateFailed
from sabot.link import refusals
from sabot.link.client import AnswerT, Client
from sabot.link.messages import (
    Command,
    ConfirmCommand,
    RestartCommand,
    UpdateCommand,
    UpdatePartCommand,
    UpdateReport,
    UpdateStatusCommand,
)
from sabot.release.build import Release
from sabot.release.layout import build_of
from sabot.retry import over_sessions
from sabot_protocol import messages, release

_PAUSE_S = 0.2
_MOST_ANSWERS = 1000
"""Answers that an update may take beside those for its parts: while the shoe checks it, and after
the cable was pulled."""
_ANSWERS_A_PART = 10  # on a line on which a session seldom brings more than one part


@dataclass(frozen=True, slots=True)
class Progress:
    """What a shoe is doing, for people; `done` of `whole` bytes are done."""

    unit: str
    what: str
    done: int = 0
    whole: int = 0
    left: str = ""
    """What Ctrl-C leaves, and what to do next."""


def update(
    attached: Callable[[], AbstractContextManager[Client]],
    built: Release,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    now_s: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> str:
    """Have a shoe run `built`; return what was done, for people.

    `attached` opens a session with the shoe. It is called again after each restart and whenever the
    cable was pulled; the update then continues where it stopped. Raises CommandRefused or
    UpdateFailed with the reason: the shoe then runs what it ran before. Raises NoShoe if the shoe
    stays away.
    """
    attempt = _UpdateAttempt(built, on_progress)
    return over_sessions(attached, attempt.advance, attempt.wait, now_s=now_s, pause=pause)


class _UpdateAttempt:
    """The update of one shoe, over as many sessions as it takes."""

    def __init__(self, built: Release, on_progress: Callable[[Progress], None]) -> None:
        self.unit = ""
        self._manifest = release.Manifest(built.manifest)
        self._head = built.signature + built.manifest
        self._code = b"".join(data for _, data in sorted(built.files.items()))
        self._build = build_of(built.files)
        self._digest = sha256(built.manifest).digest()
        self._on_progress = on_progress
        self._to_restart = self._restarted = self._ran_another = False
        parts = (len(self._head) + len(self._code)) // messages.MAX_UPDATE_PART
        self._answers_left = _MOST_ANSWERS + _ANSWERS_A_PART * parts

    def advance(self, client: Client) -> str:
        """Do all that can be done in this session; return "" if another one must follow."""
        unit, manifest = client.unit, self._manifest
        self.unit = unit
        if client.welcome.board != manifest.board:
            raise UpdateFailed(
                f"{unit}: its board is {client.welcome.board}, the release is for "
                f"{manifest.board}; build one for its board"
            )
        self._count_answer(unit)
        report = client.ask(UpdateStatusCommand())
        if client.welcome.build == self._build:
            if report.stage != "on_trial":
                done = "updated" if self._ran_another else "already running"
                return f"{unit}: Sabot {manifest.version}, {done}"
            with suppress(CommandRefused):  # `sabot log` gives them too
                client.stir()
            client.ask(ConfirmCommand())
            return f"{unit}: Sabot {manifest.version}, updated"
        self._ran_another = True
        if self._restarted:
            raise UpdateFailed(
                f"{unit}: {manifest.version} was tried and given up, it runs "
                f"{client.welcome.firmware} again; `sabot events --unit {unit}` shows more"
            )
        if report.stage == "on_trial":
            raise UpdateFailed(
                f"{unit}: another release is on trial on it; wait two minutes and try again"
            )
        if not self._stage(client, report):
            self._report(unit, "restarting to take it")
            return ""
        self._to_restart = True  # before it is asked to: Ctrl-C may come between
        self._report(unit, "starting it on trial")
        self._ask_at_rest(client, "restart", RestartCommand())
        self._restarted = True
        return ""

    def wait(self) -> None:
        """Report that the shoe is away."""
        self._report(self.unit, "waiting for the shoe")

    def _report(self, unit: str, what: str, done: int = 0, whole: int = 0) -> None:
        left = (
            "within a minute it deals again, with what it ran before; update it again: that "
            "continues"
        )
        if self._to_restart:
            left = (
                "it may have the release on trial, and then goes back in two minutes; update it "
                "again now: that confirms it"
            )
        self._on_progress(Progress(unit, what, done, whole, left))

    def _stage(self, client: Client, report: UpdateReport) -> bool:
        """Send the whole release to the idle slot; return False if the shoe must restart first."""
        if report.manifest != self._digest or report.stage in ("idle", "refused"):
            report = self._ask_at_rest(client, "update", UpdateCommand(len(self._head)))
        if report.stage == "restarting":
            return False
        while report.stage != "staged":
            self._count_answer(client.unit)
            stage, offset = report.stage, report.offset
            if stage == "refused":
                raise UpdateFailed(f"{client.unit}: refused: {self._why(report)}")
            if stage in ("head", "code"):
                whole = self._head if stage == "head" else self._code
                part = whole[offset : offset + messages.MAX_UPDATE_PART]
                self._report(client.unit, "sending", offset, len(self._code))
                report = self._ask_at_rest(client, "update", UpdatePartCommand(offset, part))
            else:
                self._report(client.unit, "the shoe is checking it")
                client.receive(_PAUSE_S)
                report = client.ask(UpdateStatusCommand())
        return True

    def _count_answer(self, unit: str) -> None:
        """Raise UpdateFailed if the shoe has answered so often that it will never have it all."""
        self._answers_left -= 1
        if self._answers_left < 0:
            raise UpdateFailed(
                f"{unit}: it answers, but never has the whole release; it runs what it ran before: "
                "switch it off and on, and try again"
            )

    def _why(self, report: UpdateReport) -> str:
        if report.refusal == "older":
            return (
                f"{self._manifest.version} is older than {report.detail}; if it must go back, "
                "build it with --may-go-back"
            )
        return refusals.text_of(report.refusal, report.detail)

    def _ask_at_rest(self, client: Client, what: str, command: Command[AnswerT]) -> AnswerT:
        """Send a command again and again until no round is in play and the shoe takes it."""
        while True:
            try:
                return client.ask(command)
            except CommandRefused as refused:
                if refused.refusal != "in_play":
                    raise
                self._report(client.unit, f"{what}: waiting for the round to end")
                client.receive(_PAUSE_S)
