"""Hands at a running simulated shoe, from another process of the same user: `sabot sim-do`.

The process that runs the shoe has a socket, named after the shoe's port, in a private folder of its
user; both ends check that the other one is of the same user. A question is one packet, the words of
an action as a list in JSON. The answer is one packet, an object: `done` and what the shoe shows, or
`error`.
"""

import json
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sabot.errors import PortNotFound, SabotError, SimulatorFailed
from sabot.link import log_socket, ports, runtime
from sabot.link.runtime_folder import existing, making, unusable_text
from sabot.sim.channel import SimHands
from sabot.sim.faulty import FAULTS
from sabot.text import card_names, printable
from sabot_protocol import enums

FOLDER = "sabot-hands"
_MOST_BYTES = 1 << 14
_ANSWER_S = 60.0
_HEARD_S = 2.0

_OFF = {"on": "off", "open": "shut"}
SWITCHES = {
    (name, word): (f"{name}_{on}", word == on)
    for name, _, on in (switch.partition("_") for switch in enums.SWITCHES)
    for word in (on, _OFF[on])
}
"""The switch of the shoe and its position, by the two words of an action: ("key", "on")."""

ACTIONS = {
    "card": "a card, such as 7H, CUT or TEST",
    "fault": ", ".join(FAULTS),
    "press": ", ".join(enums.BUTTONS),
    **{
        name: " or ".join(word for other, word in SWITCHES if other == name) for name, _ in SWITCHES
    },
}
"""What can be done, and with what, in the words of `sabot sim-do`."""


_WORDS = {"fault": FAULTS, "press": enums.BUTTONS}


class UnknownAction(ValueError):
    """No action has these words; the message lists those that there are."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What was done, and what the shoe shows then."""

    done: str
    display: tuple[str, ...]
    lamps: tuple[str, ...]
    lock_released: bool


def check_action(words: Sequence[str]) -> None:
    """Raise UnknownAction unless `words` are an action, or none: to look at the shoe only."""
    if not words:
        return
    what, *others = words
    if what not in ACTIONS:
        raise UnknownAction(f"there is no action {what!r}; there are: {', '.join(ACTIONS)}")
    if len(others) != 1:
        raise UnknownAction(f"{what} takes one word: {ACTIONS[what]}")
    word = others[0]
    if what == "card":
        with suppress(ValueError):
            if len(card_names(word)) == 1:
                return
    elif word in _WORDS.get(what, ()) or (what, word) in SWITCHES:
        return
    raise UnknownAction(f"{what} {word!r} is not known; there are: {ACTIONS[what]}")


Pull = Callable[[str, str], str]
"""Pulls a card or makes a fault: "card" or "fault", which, and returns what was done."""


class Hands:
    """Carries out at `bench` what `ask` asks of the shoe at `port`. A context manager.

    `pull` pulls cards. Raises SimulatorFailed if the folder of the sockets cannot be used.
    """

    def __init__(self, port: str, bench: SimHands, pull: Pull) -> None:
        self._bench = bench
        self._pull = pull
        self._name = _socket_name(port)
        try:
            with making(FOLDER) as folder:
                self._listening = log_socket.bound(folder, self._name)
        except OSError as error:
            raise SimulatorFailed(unusable_text(error, "simulated shoes")) from None

    def __enter__(self) -> "Hands":
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError), existing(FOLDER) as folder:
            log_socket.unlink(folder, self._name)
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)  # ends `accept`
        self._listening.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            with connection, suppress(OSError):
                if log_socket.is_of_this_user(connection):
                    connection.settimeout(_HEARD_S)
                    answer = self._answer(connection.recv(_MOST_BYTES))
                    connection.send(json.dumps(answer).encode())

    def _answer(self, question: bytes) -> dict[str, object]:
        try:
            words = json.loads(question)
            if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
                raise UnknownAction("not a list of words")
            check_action(words)
            done = self._do(words)
            outputs = self._bench.settle()
        except (UnknownAction, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
            return {"error": str(error)}
        except SabotError as error:
            return {"error": str(error)}
        return {
            "done": done,
            "display": outputs.display,
            "lamps": [lamp for lamp in enums.LAMPS if lamp in outputs.lamps],
            "lock_released": outputs.lock_released,
        }

    def _do(self, words: Sequence[str]) -> str:
        match words:
            case ["press", button]:
                self._bench.press(button)
            case ["card" | "fault" as what, which]:
                return self._pull(what, which)
            case [name, word]:
                self._bench.switch(*SWITCHES[name, word])
        return " ".join(words)


def ask(name: str, words: Sequence[str]) -> Shown:
    """Have the simulated shoe `name` (as of `ports.resolve`) do an action, or nothing but show.

    Raises PortNotFound with those that run, SimulatorFailed if the shoe cannot do it.
    """
    running = runtime.published()
    port = running.get(name) or _port_of_unit(name)
    try:
        with (
            existing(FOLDER) as folder,
            log_socket.connection(folder, _socket_name(port)) as hands,
        ):
            hands.settimeout(_ANSWER_S)
            hands.send(json.dumps(list(words)).encode())
            answer = _object_in(hands.recv(_MOST_BYTES))
    except TimeoutError:
        raise SimulatorFailed(f"{name}: it has not acted within {_ANSWER_S:g} s") from None
    except OSError:
        if port in running.values():
            raise SimulatorFailed(
                f"{name}: the program that runs it takes no actions; only `sabot sim` does"
            ) from None
        there = f"there are: {', '.join(running)}" if running else "start one with: sabot sim"
        raise PortNotFound(f"{name}: no simulated shoe of this name runs here; {there}") from None
    if "error" in answer:
        raise SimulatorFailed(f"{name}: {answer['error']}")
    return Shown(
        done=printable(str(answer.get("done", ""))),
        display=tuple(printable(str(line)) for line in answer.get("display", ())),
        lamps=tuple(printable(str(lamp)) for lamp in answer.get("lamps", ())),
        lock_released=bool(answer.get("lock_released")),
    )


def _port_of_unit(name: str) -> str:
    """The port of the unit `name`: a bare board runs by its serial number, and gets its id later.
    `name` itself if no unit has it. A log knows its units; else all boards are asked."""
    logged = log_socket.find(name)
    if logged is not None:
        return logged.url
    with suppress(SabotError):
        return ports.resolve(name)
    return name


def _object_in(data: bytes) -> dict[str, Any]:
    """The object in an answer. Raises OSError if the shoe has ended, or is of another version."""
    try:
        answer = json.loads(data)
    except ValueError:
        raise ConnectionResetError("no answer") from None
    if not isinstance(answer, dict):
        raise ConnectionResetError("no answer")
    return answer


def _socket_name(port: str) -> str:
    return port.strip("/").replace("/", "-").replace("\0", "-")
