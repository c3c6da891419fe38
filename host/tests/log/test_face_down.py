"""Random rounds of mini dealt face down: before the dealer's `reveal` neither the shoe nor a
command shows a card, a total, a draw or the winner of the round; after it they are there.

The firmware's own dealing, lamps and display are the shoe. `sabot log` runs meanwhile, and what it
prints is looked at too. Each output is searched for the facts of the round, as text. What was there
before the round does not count: the decks have each card several times.
"""

import copy
import json
import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from host.tests.log.test_logger import Logging, logging
from host.tests.service.test_capture import blank
from host.tests.support.helpers import FirmwareLog, framed
from host.tests.support.keeping_shoe import KeepingShoe, KeptPass
from host.tests.support.naive_shoe import NaiveShoe, answering_shoe
from sabot.cli import app
from sabot.games.baccarat import catalogue
from sabot.link import wire
from sabot.log.rounds import Round
from sabot.reports.terminal.rounds import round_line
from sabot.text import card_symbol
from sabot_firmware import panel
from sabot_firmware.table.shoe_of_cards import BETTING, BETWEEN, NOT_DUE
from sabot_hil.kit.dealer import Hand, pips
from sabot_protocol import cards, enums, events, messages

_REVEAL = enums.BUTTONS.index("reveal")
_ROUNDS = 2
_FACE_DOWN = {"shown": "after_reveal"}
_GAMES: dict[str, list[dict[str, Any]]] = {
    "mini": [
        {"decks": 2, "ghost_hands": 9, "turned_by": turned_by}
        for turned_by in ("dealer", "players")
    ],
    "mini-pairs": [{}],
}
"""Choices of the house besides `shown`, by game."""

_ALL_CARDS = "all cards"
_TROUBLES = ("none", "entered", "drawn again", "power", "surplus copy", "lid", "misdeal")
_AFTER_THE_LAST = ("none", "lid", "card not due", "both", "power")


@dataclass
class _DealtRound:
    """What was dealt in a round, by the person who deals it."""

    hand: Hand = field(default_factory=Hand)
    out: list[str] = field(default_factory=list)
    """All cards that came out in it, also those of neither hand."""

    def facts(self) -> set[str]:
        """What no command may show before the reveal. After it, one of them must show each."""
        facts = {*self.out, *map(card_symbol, self.out)}
        player, banker = self.hand.player, self.hand.banker
        if len(banker) > 1:
            of_player, of_banker = pips(player), pips(banker)
            totals = {"player_total": of_player, "banker_total": of_banker}
            facts |= {
                json.dumps({"winner": self.hand.winner} | totals)[1:-1],
                json.dumps(totals | {"winner": self.hand.winner})[1:-1],
                f'"hand": "player", "action": "{_action(player, banker)}", '
                f'"total": {pips(player[:2])}',
                f"P {of_player}  {'  '.join(map(card_symbol, player))}",
            }
        return facts

    def on_display(self) -> set[str]:
        """The same of the display and the lamps."""
        facts = {*self.hand.player, *self.hand.banker}
        if len(self.hand.banker) > 1:
            facts |= {self.hand.announcement, f"lamps {self.hand.winner}"}
        return facts


def _action(player: list[str], banker: list[str]) -> str:
    if pips(player[:2]) > 7:
        return "natural"
    return "draws" if len(player) > 2 else "stands"


class _Table:
    """A shoe at a table. One line is to the log, another to the commands that ask a shoe."""

    def __init__(self, game: str, rng: random.Random) -> None:
        choices = rng.choice(_GAMES[game]) | _FACE_DOWN
        document = catalogue.document(game, choices)
        self.shoe = FirmwareLog(game=document).load()
        self.dealing = self.shoe.dealing
        self.to_log, self.to_commands = NaiveShoe(1), _AskedShoe(self)
        self.to_log.document = self.to_commands.document = document
        decks = self.dealing.game.decks
        self.surplus = rng.choice("A23456789TJQK") + rng.choice("CDHS")
        """A card of which all copies are burned."""
        self._deck = [rank + suit for rank in "A23456789TJQK" for suit in "CDHS"] * decks
        self._deck = [name for name in self._deck if name != self.surplus]
        rng.shuffle(self._deck)
        # The first card says how many are burned.
        first = next(name for name in self._deck if name[0] == str(decks))
        self._deck.remove(first)
        self.shoe.draw(first, *[self.surplus] * decks)
        assert self.dealing.phase == BETTING

    def next_card(self) -> str:
        return self._deck.pop()

    def pull(self, name: str) -> None:
        self.shoe.draw(name)
        self.to_commands.came_out(name)

    def press_reveal(self) -> None:
        self.shoe.act(self.dealing.pressed(_REVEAL))

    def move_lid(self, open_: bool) -> None:
        self.shoe.act(self.dealing.switched(enums.SWITCHES.index("lid_open"), open_))

    def shown(self) -> str:
        """The display, and the lamps by name."""
        lit = panel.lamps_of(self.dealing)
        lamps = [name for at, name in enumerate(enums.LAMPS) if lit >> at & 1]
        return panel.text_of(self.dealing, panel.HOST) + "\nlamps " + " ".join(lamps)

    def send(self) -> None:
        """Let the log have all events."""
        # A new dictionary: the shoe at the other end of the line reads it in a thread of its own.
        self.to_log.held = {at: bytes(data) for at, data in enumerate(self.shoe.records, 1)}
        self.to_log.next_number = len(self.shoe.records) + 1


class _AskedShoe(KeepingShoe):
    """The line for `capture` and `health`: it keeps passes of the cards that were read."""

    def __init__(self, table: _Table) -> None:
        self.passes: dict[int, KeptPass] = {}
        super().__init__(self.passes)
        self._table = table
        self._like = blank()

    def came_out(self, name: str) -> None:
        kept = copy.deepcopy(self._like)
        kept.passed.fault, kept.passed.card, kept.passed.card_set = 0, cards.number_of(name), 0
        self.passes[len(self.passes) + 1] = kept

    def answer(self, message: wire.Message) -> list[bytes]:
        if message.shape is messages.STATUS:
            phase = self._table.dealing.phase
            return [framed(messages.STATUS_REPORT, id=message.fields["id"], phase=phase)]
        return super().answer(message)


def _dealt(table: _Table, dealt: _DealtRound, rng: random.Random) -> Iterator[str]:
    """Deal a round whose betting is open, up to its reveal. Yields what has just happened."""
    shoe, dealing = table.shoe, table.dealing
    if rng.random() < 0.5:
        shoe.draw("next")
    while dealing.current_round.due != NOT_DUE:
        if dealt.hand.player:
            table.press_reveal()  # does nothing before the last card
        position = enums.POSITIONS[dealing.current_round.due]
        side = dealt.hand.player if position.startswith("player") else dealt.hand.banker
        trouble = rng.choice((*_TROUBLES[:1] * 12, *_TROUBLES))
        name = table.surplus if trouble == "surplus copy" else table.next_card()
        dealt.out.append(name)
        if trouble == "entered":
            shoe.draw("blank")
            yield "blank"
            shoe.draw("!" + name)
        elif trouble == "drawn again":
            shoe.draw("?jam")
            yield "jam"
            shoe.draw("!drawn_again")
            table.pull(name)
        elif trouble == "power":
            shoe.power_on(passing=True)
            yield "loss of power"
            shoe.draw("!drawn_again")
            table.pull(name)
        else:
            table.pull(name)
        if trouble == "surplus copy":
            yield trouble
            shoe.draw("!as_read")
        side.append(name)
        yield f"{name} as {position}"
        if trouble == "lid":
            yield from _stopped_by_lid(table, dealt, pulled=False)
        elif trouble == "misdeal":
            shoe.draw("misdeal")
            return
    trouble = rng.choice(_AFTER_THE_LAST)
    if trouble in ("lid", "both"):
        yield from _stopped_by_lid(table, dealt, pulled=trouble == "both")
    elif trouble == "card not due":
        dealt.out.append(table.next_card())
        table.pull(dealt.out[-1])
        table.press_reveal()  # means nothing while play is stopped
        yield trouble
        shoe.draw("key")
    elif trouble == "power":
        shoe.power_on()
    yield _ALL_CARDS


def _stopped_by_lid(table: _Table, dealt: _DealtRound, *, pulled: bool) -> Iterator[str]:
    table.move_lid(True)
    if pulled:
        dealt.out.append(table.next_card())
        table.pull(dealt.out[-1])
    table.press_reveal()
    table.move_lid(False)
    table.press_reveal()
    yield "lid"
    table.shoe.draw("key")


@dataclass
class _Observer:
    """Looks at what the running log and the commands show."""

    table: _Table
    log: Logging
    printed: list[str]
    """What `sabot log` has printed."""
    port: str
    folder: Path

    def all(self) -> str:
        return self.by_log() + self.by_commands()

    def by_log(self) -> str:
        self._send()
        # One event more: once it is stored, all before it was reported.
        table = self.table.dealing
        self.table.shoe.record(events.IDENTIFIED, table.shoe, table.round, ())
        self._send()
        return "\n".join(self.printed)

    def by_commands(self) -> str:
        shoe, round_ = self.table.dealing.shoe, self.table.dealing.round
        of_log, of_shoe = f"--db {self.folder / 'log'}", f"{self.port} --json"
        captures = self.folder / "captures"
        lines = [
            f"rounds {of_log}",
            f"rounds --json --with-void {of_log}",
            f"events {of_log}",
            f"events --json {of_log}",
            f"events --csv {of_log}",
            f"incidents --long-round-s 0 --long-reveal-s 0 {of_log}",
            f"incidents --json {of_log}",
            f"units --json {of_log}",
            f"score --unit U1 --shoe {shoe} --round {round_} {of_log}",
            f"capture {of_shoe} --no-pictures -o {captures}",
            f"health {of_shoe}",
        ]
        out = ""
        for line in lines:
            done = CliRunner().invoke(app(), line.split())
            assert done.exception is None or done.exit_code, (line, done.exception)
            out += f"{done.output}\n{done.exception}\n"
        index = captures / "captures.json"
        return out + (index.read_text() if index.exists() else "")

    def _send(self) -> None:
        self.table.send()
        self.log.wait_for(len(self.table.shoe.records))


@contextmanager
def _observed(game: str, folder: Path, rng: random.Random) -> Iterator[_Observer]:
    table, printed = _Table(game, rng), list[str]()

    def print_round(ended: Round) -> None:
        printed.extend((round_line(ended).plain, json.dumps(ended.as_json())))

    with (
        answering_shoe(table.to_log) as port,
        answering_shoe(table.to_commands) as asked,
        logging(folder / "log", port.path, round_ended=print_round) as log,
    ):
        yield _Observer(table, log, printed, asked.path, folder)


def _found(facts: set[str], shown: str, before: str = "") -> set[str]:
    """The facts that are shown, more often than before."""

    def count(fact: str, text: str) -> int:
        return len(re.findall(rf"(?<!\w){re.escape(fact)}(?!\w)", text))

    return {fact for fact in facts if count(fact, shown) > count(fact, before)}


def _deal_ghost_hand(seen: _Observer) -> None:
    """Deal a round without wagers: face up (Washington, Ghost hands)."""
    table, dealt = seen.table, _DealtRound()
    table.shoe.draw("ghost")
    for side in (dealt.hand.player, dealt.hand.banker) * 2:
        side.append(table.next_card())
        table.pull(side[-1])
        names = {*dealt.hand.player, *dealt.hand.banker}
        assert _found(names, table.shown()) == names
    while table.dealing.current_round.due != NOT_DUE:
        table.pull(table.next_card())
    table.shoe.draw("next")


def _deal_face_down(seen: _Observer, rng: random.Random) -> bool:
    """Deal a round, and look at it before and after its reveal. False if it was void before."""
    table, dealt = seen.table, _DealtRound()
    before, looked_at = seen.all(), rng.randrange(1, 6)
    for step, what in enumerate(_dealt(table, dealt, rng), 1):
        assert _found({*dealt.out} | dealt.on_display(), table.shown()) == set(), what
        if step == looked_at or what == _ALL_CARDS:
            assert _found(dealt.facts(), seen.all(), before) == set(), what
    if table.dealing.phase == BETWEEN:
        assert _found(dealt.on_display(), table.shown()) == set(), "void"
        return False
    table.press_reveal()
    assert _found(dealt.on_display(), table.shown()) == dealt.on_display()
    assert _found(dealt.facts(), seen.all(), before) == dealt.facts()
    return True


@pytest.mark.slow
@pytest.mark.parametrize("game", list(_GAMES))
def test_what_is_shown_of_a_round_is_nothing_before_its_reveal_and_then_everything(
    tmp_path: Path, rng: random.Random, game: str
) -> None:
    revealed = 0
    with _observed(game, tmp_path, rng) as seen:
        while revealed < _ROUNDS:
            if seen.table.dealing.can_be_ghost() and rng.random() < 0.4:
                _deal_ghost_hand(seen)
            if _deal_face_down(seen, rng):
                revealed += 1
                if rng.random() < 0.3:
                    seen.table.shoe.draw("misdeal")
            seen.table.shoe.draw("next")
