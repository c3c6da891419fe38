"""The demonstration: deals one shoe of cards, logs it, shows it on the screen, verifies the log."""

import os
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from sabot.audit.checks.findings import Summary
from sabot.audit.verify import VerifyOptions, verify
from sabot.cli.records.rounds_table import rounds_table
from sabot.cli.view import console
from sabot.errors import FINDINGS, INTERRUPTED
from sabot.keys.chain_keys import Keys
from sabot.link.session import Record
from sabot.log.families.boxes import BlackjackRound
from sabot.log.logger import Logger, LogWatcher
from sabot.log.rounds import Dealt, Round
from sabot.log.store import open_store
from sabot.reports.terminal.roads import bead_plate_text
from sabot.reports.terminal.rounds import round_line
from sabot.sim.dealer import Dealer
from sabot.sim.process import SimulatedShoe
from sabot.terminal import plain
from sabot.text import counted

_LAST_ROUNDS = 8
_DRAWN = ("card", "sealed_card", "cut_card")
"""The kinds of events of which each is a card out of the shoe."""
_POLL_S = 0.1
_LOG_TIMEOUT_S = 30.0


def run_demo(shoe: SimulatedShoe, dealer: Dealer, *, cards: int, db: Path) -> int:
    """Let `dealer` deal `cards` cards on `shoe`, log to `db`, verify the log; return the exit code.

    Ctrl-C stops the dealing; what was logged until then is still verified.
    """
    screen = _Screen(shoe, cards)
    watcher = LogWatcher(stored=screen.stored, round_ended=screen.round_ended)
    interrupted = False
    with open_store(db, create=True) as store:
        shoe.power_on()
        logger = Logger(store, [shoe.port], watcher, once=True)
        with Live(screen, console=console, transient=True, auto_refresh=console.is_terminal):
            try:
                _deal_and_log(dealer, logger)
            except KeyboardInterrupt:
                interrupted = True
        dealer.stop()
        logger.stop()
        logger.wait(_LOG_TIMEOUT_S)
        for failure in logger.failures.values():
            raise failure
        summary = Summary()
        findings = list(verify(store, summary, VerifyOptions(keys=Keys.load(shoe.keys))))
    screen.print_summary(db, interrupted)
    for finding in findings:
        console.print(f"event {finding.event}: {finding.kind}: {finding.detail}")
    checked = f"{counted(summary.events, 'event')} and {counted(summary.rounds, 'round')} checked"
    console.print(f"Verified: {checked}, and the audit chain; {counted(len(findings), 'finding')}.")
    console.print(f"The unit's first key: {shoe.keys}", soft_wrap=True)
    _print_next(db, shoe.keys)
    if interrupted:
        return INTERRUPTED
    return FINDINGS if findings else 0


def _deal_and_log(dealer: Dealer, logger: Logger) -> None:
    logger.start()
    dealer.start()
    while not logger.wait(_POLL_S):
        if dealer.failure is not None:
            raise dealer.failure


class _Screen:
    """The display while the demonstration runs. Its methods are called from the logger's thread."""

    def __init__(self, shoe: SimulatedShoe, cards: int) -> None:
        self._shoe = shoe
        self._cards = cards
        self._rounds: list[Dealt] = []
        self._drawn = 0
        self._progress = Progress(
            TextColumn("cards"), BarColumn(None), MofNCompleteColumn(), TimeElapsedColumn()
        )
        self._task = self._progress.add_task("cards", total=cards)

    def stored(self, unit: str, records: Sequence[Record]) -> None:
        """Count the drawn cards among records that have been stored."""
        self._drawn += sum(record.event.kind in _DRAWN for record in records)
        self._progress.update(self._task, completed=self._drawn)

    def round_ended(self, ended: Dealt) -> None:
        """Add a round whose last event has been stored."""
        if self._rounds and self._rounds[-1].first_event == ended.first_event:
            self._rounds.pop()  # a misdeal
        self._rounds.append(ended)
        if not console.is_terminal:
            console.print(round_line(ended))

    def __rich__(self) -> RenderableType:
        lines = [plain(line.ljust(16)) for line in self._shoe.bench.outputs.display]
        return Group(
            Panel(Group(*lines), title=f"{self._shoe.unit} at {self._shoe.port}", expand=False),
            self._progress,
            rounds_table(self._rounds[-_LAST_ROUNDS:]),
            self._plate(),
        )

    def print_summary(self, db: Path, interrupted: bool) -> None:
        """Print the results of the whole run."""
        rounds = [ended for ended in self._rounds if isinstance(ended, Round)]
        hands = len(self._rounds) - len(rounds)
        of_boxes = sum(isinstance(ended, BlackjackRound) for ended in self._rounds)
        what = counted(len(rounds) + of_boxes, "round")
        if hands > of_boxes:
            what = counted(hands, "hand")
        cut = hands == of_boxes
        drawn = f"{self._drawn} of {counted(self._cards, 'card')} drawn"
        if not hands:
            console.print(self._plate())
            counts = Counter(ended.winner or "void" for ended in rounds)
            what += f": Player {counts['player']}, Banker {counts['banker']}, Tie {counts['tie']}"
            what += f", void {counts['void']}" if counts["void"] else ""
        if cut:
            drawn += ", including the cut card"
        console.print(f"{'Stopped after' if interrupted else 'Dealt'} {what}; {drawn}.")
        console.print(f"Database: {db}", soft_wrap=True)

    def _plate(self) -> Panel:
        rounds = (ended for ended in self._rounds if isinstance(ended, Round))
        winners = [ended.winner for ended in rounds if ended.winner is not None]
        columns = (console.width - 4) // 2
        return Panel(bead_plate_text(winners, columns), title="bead plate", expand=False)


def _print_next(db: Path, keys: Path) -> None:
    beside = Path(sys.executable).with_name("sabot")
    sabot = "sabot" if shutil.which("sabot") else os.path.relpath(beside)
    console.print("Next:")
    for command, what in (
        (f"rounds --db {db}", "every round"),
        (f"events --db {db} --round 1", "what the shoe recorded of round 1"),
        (f"verify --db {db} --keys {keys}", "is the log whole and unchanged?"),
        ("demo --serve", "several tables in your browser, as surveillance sees them"),
        ("sim --pace 0.01", "your own simulated shoe; log it from another terminal"),
    ):
        line = plain(f"  {sabot} {command}  ").append(f"# {what}", "dim")
        console.print(line, soft_wrap=True)
