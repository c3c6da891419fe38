"""A release from a host into a shoe: sent, tried, and confirmed once it has shaken hands."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
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


@dataclass(frozen=True, slots=True)
class Progress:
    """What a shoe is doing, for people, and how much of it is done of how much, in bytes."""

    unit: str
    what: str
    done: int = 0
    whole: int = 0


def update(
    attached: Callable[[], AbstractContextManager[Client]],
    built: Release,
    tell: Callable[[Progress], None] = lambda progress: None,
    now_s: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> str:
    """Have a shoe run `built`; what was done, for people.

    `attached` gives a new session with the shoe, again and again: after its restart, and where the
    cable was pulled meanwhile, it goes on where it was. Raises CommandRefused or UpdateFailed with
    the reason: the shoe then runs what it ran. Raises NoShoe where it stays away.
    """
    attempt = _UpdateAttempt(built, tell)
    return over_sessions(attached, attempt.advance, attempt.wait, now_s=now_s, pause=pause)


class _UpdateAttempt:
    """One release on its way to one shoe."""

    def __init__(self, built: Release, tell: Callable[[Progress], None]) -> None:
        self.unit = ""
        self._built = built
        self._manifest = release.Manifest(built.manifest)
        self._head = built.signature + built.manifest
        self._code = b"".join(data for _, data in sorted(built.files.items()))
        self._build = build_of(built.files)
        self._digest = sha256(built.manifest).digest()
        self._tell = tell
        self._restarted = False

    def advance(self, client: Client) -> str:
        """All that can be done in this session; empty where another one must follow."""
        unit, manifest = client.unit, self._manifest
        self.unit = unit
        if client.welcome.board != manifest.board:
            raise UpdateFailed(
                f"{unit}: its board is {client.welcome.board}, the release is for "
                f"{manifest.board}; build one for its board"
            )
        report = client.ask(UpdateStatusCommand())
        if client.welcome.build == self._build:
            if report.stage != "on_trial":
                done = "updated" if self._restarted else "runs it already"
                return f"{unit}: Sabot {manifest.version}, {done}"
            client.ask(ConfirmCommand())
            return f"{unit}: Sabot {manifest.version}, updated"
        if self._restarted:
            raise UpdateFailed(
                f"{unit}: {manifest.version} was tried and given up, it runs "
                f"{client.welcome.firmware} again; `sabot events --unit {unit}` tells more"
            )
        if report.stage == "on_trial":
            raise UpdateFailed(
                f"{unit}: another release is on trial there; wait two minutes and try again"
            )
        if not self._stage(client, report):
            self._tell(Progress(unit, "restarting to take it"))
            return ""
        self._at_rest(client, "restart", RestartCommand())
        self._restarted = True
        self._tell(Progress(unit, "starting it on trial"))
        return ""

    def wait(self) -> None:
        """The shoe is away."""
        self._tell(Progress(self.unit, "waiting for the shoe"))

    def _stage(self, client: Client, report: UpdateReport) -> bool:
        """Have all of it in the idle slot. False where the shoe starts anew for that first."""
        if report.manifest != self._digest or report.stage in ("idle", "refused"):
            report = self._at_rest(client, "update", UpdateCommand(len(self._head)))
        if report.stage == "restarting":
            return False
        while report.stage != "staged":
            stage, offset = report.stage, report.offset
            if stage == "refused":
                raise UpdateFailed(f"{client.unit}: refused: {self._why(report)}")
            if stage in ("head", "code"):
                whole = self._head if stage == "head" else self._code
                part = whole[offset : offset + messages.MAX_UPDATE_PART]
                self._tell(Progress(client.unit, "sending", offset, len(self._code)))
                report = self._at_rest(client, "update", UpdatePartCommand(offset, part))
            else:
                self._tell(Progress(client.unit, "the shoe checks it"))
                client.receive(_PAUSE_S)
                report = client.ask(UpdateStatusCommand())
        return True

    def _why(self, report: UpdateReport) -> str:
        if report.refusal == "older":
            return (
                f"{self._manifest.version} is older than {report.detail}; if it must go back, "
                "build it with --may-go-back"
            )
        return refusals.text_of(report.refusal, report.detail)

    def _at_rest(self, client: Client, what: str, command: Command[AnswerT]) -> AnswerT:
        """Have a command carried out that waits until no round is in play."""
        while True:
            try:
                return client.ask(command)
            except CommandRefused as refused:
                if refused.refusal != "in_play":
                    raise
                self._tell(Progress(client.unit, f"{what}: waiting for the round to end"))
                client.receive(_PAUSE_S)
