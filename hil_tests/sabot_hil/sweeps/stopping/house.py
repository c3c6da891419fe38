"""A small house in real processes: a shoe that deals, its log, and its screens."""

import html
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import httpx2

from sabot.desk.desk import Desk
from sabot.log.store import open_store
from sabot.sim import deck
from sabot.sim.dealer import Dealer
from sabot.sim.process import SimulatedShoe
from sabot_hil.kit.centre import children
from sabot_hil.sweeps.stopping.prometheus import Prometheus, free_port, prometheus
from sabot_hil.sweeps.stopping.waiting import READY_S, wait_until

T = TypeVar("T")

SABOT = str(Path(sys.executable).with_name("sabot"))
HANGING = [sys.executable, "-m", "sabot_hil.sweeps.stopping.hanging"]
UNIT = "SHOE-7"
LOG = "log.sqlite"

_PASSWORD = "a password of the sweep"
_SHOES_OF_CARDS = 50  # more than are dealt while a scene lasts
_PACE = 0.02  # of a dealer's pauses: a round takes a second
_END_S = 15.0


class Program:
    """A command of Sabot as a child process, with all that it has printed."""

    def __init__(
        self,
        folder: Path,
        *words: object,
        env: dict[str, str] | None = None,
        start: Sequence[str] = (),
    ) -> None:
        self._printed = folder / f"{words[0]}-{time.monotonic_ns()}.out"
        with self._printed.open("wb") as out:
            self.process = children.start(
                [*(start or [SABOT]), *map(str, words)],
                cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            )  # fmt: skip

    def text(self) -> str:
        """Return all that it has printed."""
        return self._printed.read_text(errors="replace")

    def wait_for(self, pattern: str) -> str:
        """Wait until it has printed what matches; return that."""

        def found() -> str:
            match = re.search(pattern, self.text())
            return match[0] if match else ""

        return wait_until(found, lambda: f"{pattern!r} is not in: {self.text()}")

    def pause(self) -> None:
        """Stop it, as a program that hangs; it ends only by `end`."""
        self.process.send_signal(signal.SIGSTOP)

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.wait(_END_S)

    def end(self) -> None:
        """End it in order, whatever its state."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            try:
                self.process.wait(_END_S)
            except subprocess.TimeoutExpired:
                self.kill()


def run_sabot(folder: Path, *words: object) -> str:
    """Run a command of Sabot to its end; return all that it prints."""
    done = subprocess.run(
        [SABOT, *map(str, words)],
        cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=READY_S,
        check=False,
    )  # fmt: skip
    return done.stdout + done.stderr


@dataclass(slots=True)
class House:
    """What runs in `folder`; it ends with the `with` block."""

    folder: Path
    shoe: SimulatedShoe = field(init=False)
    _parts: ExitStack = field(default_factory=ExitStack)
    _metrics: dict[str, int] = field(default_factory=dict)

    def __enter__(self) -> "House":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._parts.close()

    @property
    def db(self) -> Path:
        """The log."""
        return self.folder / LOG

    def deal(self) -> SimulatedShoe:
        """Start a shoe, at which cards are dealt without end."""
        shoe = SimulatedShoe(UNIT, keys=self.folder / "sabot.keys", table="12")
        self.shoe = self._parts.enter_context(shoe)
        shoe.power_on()
        cards = deck.shuffled_shoes(_SHOES_OF_CARDS, 1)
        dealer = Dealer(shoe.bench, cards[0], card_set=0, pace=_PACE, seed=1, more=cards[1:])
        dealer.start()
        self._parts.callback(dealer.stop)
        return shoe

    def program(
        self, *words: object, env: dict[str, str] | None = None, start: Sequence[str] = ()
    ) -> Program:
        """Start a command of Sabot."""
        program = Program(self.folder, *words, env=env, start=start)
        self._parts.callback(program.end)
        return program

    def measured(
        self, *words: object, env: dict[str, str] | None = None, start: Sequence[str] = ()
    ) -> Program:
        """As `program`, with its metrics for `prometheus`."""
        at = free_port()
        program = self.program(*words, "--metrics", f"127.0.0.1:{at}", env=env, start=start)
        self._metrics[f"sabot-{words[0]}"] = at
        return program

    def prometheus(self, alarms_to: int | None = None) -> Prometheus:
        """Have Prometheus look at all that was started by `measured`, and send its alerts to the
        port `alarms_to`."""
        return self.enter(prometheus(self.folder, self._metrics, alarms_to))

    def log(self, port: str, env: dict[str, str] | None = None) -> Program:
        """Log the shoe at `port`, and wait until it has stored rounds."""
        log = self.measured("log", port, "--db", self.db, env=env)
        log.wait_for(r"round +3|[^0-9]3 +\S+ wins")
        return log

    def screens(self, *, can_hang: bool = False) -> "Screens":
        """Start the screens, with a user who has signed in. After SIGUSR1 they hang if they can."""
        if not self.db.exists():
            open_store(self.db, create=True).close()
        with open_store(self.db) as store:
            Desk.make(store, self.db.with_suffix(".keys"), "admin", _PASSWORD)
        words = "serve", "--db", self.db, "--listen", "127.0.0.1:0"
        server = self.measured(*words, start=HANGING if can_hang else ())
        url = server.wait_for(r"http://\S+/(?=\s)")
        with open_store(self.db) as store:
            desk = Desk(store)
            desk.add_user("officer", "surveillance", _PASSWORD, by="admin")
            token = desk.sign_in("officer", _PASSWORD, origin="")
        client = httpx2.Client(base_url=url, timeout=READY_S, cookies={"sabot_session": token})
        self._parts.enter_context(client)
        return Screens(server, url, token, client)

    def enter(self, context: AbstractContextManager[T]) -> T:
        """Enter what ends with the house."""
        return self._parts.enter_context(context)


@dataclass(frozen=True, slots=True)
class Screens:
    """`sabot serve`, and a user who looks at its pages."""

    server: Program
    url: str
    token: str
    """Of the user's session."""
    client: httpx2.Client

    def text(self, path: str) -> str:
        """Return the text of a page as the server makes it now, without its marks."""
        answer = self.client.get(path)
        assert answer.status_code == 200, f"{path}: {answer.status_code}"
        return html.unescape(re.sub(r"<[^>]*>", " ", answer.text))
