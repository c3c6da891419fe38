"""In midi, and if the cards are dealt face down, nothing but the records shows cards, totals or the
winner before the dealer's reveal.

The firmware's own dealing makes the events. The cards of the secret round are sealed in the
records, or in plain there and nowhere else, as firmware before 0.2 recorded them.
"""

import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import sabot
from host.tests.log.test_logger import logging, wait_until
from host.tests.reports.test_report import report_of
from host.tests.service.test_capture import blank
from host.tests.support.chained import BUILD, FIRMWARE, FIRST_KEY, ChainedLog, chain_id
from host.tests.support.dealt_boxes import BoxLog
from host.tests.support.dealt_events import kept_games
from host.tests.support.hand_log import HandLog
from host.tests.support.helpers import (
    FirmwareLog,
    event_of,
    framed,
    new_log,
    shuffled_names,
    stored,
)
from host.tests.support.keeping_shoe import KeepingShoe
from host.tests.support.naive_shoe import NaiveShoe, answering_shoe
from sabot.cli import app
from sabot.errors import CommandRefused
from sabot.games.baccarat import catalogue
from sabot.keys import chain_keys, signing
from sabot.link import wire
from sabot.link.client import Client
from sabot.link.events import Event
from sabot.link.ports import Port
from sabot.link.seals import opened
from sabot.log.reveal import (
    NONE_KEPT,
    Reveal,
    ShownGames,
    all_shown,
    hidden_round,
    without_secret_card,
)
from sabot.log.rounds import Round
from sabot.log.store import open_store
from sabot.notable.incident_finder import incidents_of
from sabot.reports.report import render
from sabot.service.capture import kept_passes
from sabot.text import card_symbol
from sabot_firmware.table.dealing import Dealing
from sabot_protocol import baccarat as baccarat_game
from sabot_protocol import cards, enums, events, messages

_NEXT, _REVEAL, _VOID = (enums.BUTTONS.index(name) for name in ("next", "reveal", "void"))
_LID, _KEY = enums.SWITCHES.index("lid_open"), enums.SWITCHES.index("key_on")
_FIGURES = 800, 990, 20, 1875
_OPEN = "7C", "2C", "KC", "4C"
_SECRET = "9D", "5S", "TD", "3S"  # 9 to 8: a natural, for the Player


_DECIDED = events.DECISION, events.RESULT
_FACE_DOWN = {"shown": "after_reveal", "tie_pays": 9}
"""Choices of a house for `mini`."""


OLD = pytest.mark.parametrize("old", [False, True], ids=["sealed", "in plain"])


class _MidiLog(ChainedLog):
    """The log of a unit that deals the game of this name, event by event. An `old` one has the
    cards in plain, and the decisions and the result before the reveal."""

    def __init__(
        self, game: str = "ez-midi", choices: Mapping[str, object] = {}, *, old: bool = False
    ) -> None:
        super().__init__()
        self._old = old
        self.unix_ms = None
        self.document = catalogue.document(game, choices)
        document = baccarat_game.Game(self.document)
        self._boot = 1
        firmware = "0.1.0" if old else FIRMWARE
        self.record(events.BOOT, 0, firmware, BUILD, "sim", game, chain_id(FIRST_KEY))
        self._dealing = Dealing(document, 0, 0)
        self.switch(_LID, True)
        self.switch(_LID, False)
        self.pull("AC")  # the first burn, of one card
        self.pull("2H")

    def pull(self, *names: str) -> None:
        for name in names:
            self._act(self._dealing.card_passed(cards.number_of(name), _FIGURES))
            round_ = self._dealing.current_round
            if self._old and round_.hidden and not self.card_due() and not self._dealing.error:
                super()._act(
                    [
                        each
                        for each in deepcopy(self._dealing).pressed(_REVEAL)
                        if each[0] in _DECIDED
                    ]
                )

    def _act(self, actions: list[Any]) -> None:
        if self._old:
            plain = events.SEALED_CARD, events.CARD
            hidden = (*_DECIDED, events.SEAL, events.UNSEALED)
            actions = [
                (plain[1] if each[0] is plain[0] else each[0], *each[1:])
                for each in actions
                if each[0] not in hidden
            ]
        super()._act(actions)

    def press(self, *buttons: int) -> None:
        for button in buttons:
            self._act(self._dealing.pressed(button))

    def switch(self, switch: int, on: bool) -> None:
        self._act(self._dealing.switched(switch, on))

    def card_due(self) -> bool:
        return self._dealing.card_due()

    def number_of_last(self, kind: str) -> int:
        return max(each.event.number for each in self.stored() if each.event.kind == kind)

    def kept(self) -> ShownGames:
        """The games in a log that has this one."""
        return kept_games(self.document)

    def open_round(self) -> None:
        """Deal a round that is revealed, and open the betting of the next one."""
        self.press(_NEXT, _NEXT)
        self.pull(*_OPEN)
        self.press(_REVEAL, _NEXT)


def _stages(*, old: bool) -> Iterator[tuple[str, _MidiLog]]:
    """A log at each moment before the reveal."""
    log = _MidiLog(old=old)
    log.open_round()
    log.press(_NEXT)
    yield "no card", log
    for number, name in enumerate(_SECRET, 1):
        log.pull(name)
        yield f"{number} cards", log
    log.switch(_LID, True)
    log.press(_REVEAL)
    yield "reveal with the lid open", log
    log.switch(_LID, False)
    log.press(_REVEAL)
    yield "reveal with an error", log


def _commands(folder: Path) -> list[str]:
    export = f"export --unit U1 --shoe 1 -o {folder}/b.sabot --key {folder}/house.pem --open"
    return [
        "rounds", "rounds --json --with-void", "rounds --csv", "rounds --shoe 1 --round 2",
        "events", "events --json", "events --csv", "events --kind card --json",
        "events --shoe 1 --round 2", "events --kind result --kind decision --kind error",
        "incidents", "incidents --json --long-round-s 0 --long-reveal-s 0", "units --json",
        f"verify --json --keys {folder}/keys", "checkpoints", "retention --json",
        f"{export} --html {folder}/report.html",
    ]  # fmt: skip


def _shown_of(folder: Path, log: _MidiLog, *, keep: bool = True) -> str:
    """Everything that the commands and the library show of a log. With `keep` it has the game's
    document."""
    for path in ("log", "b.sabot", "report.html", "keys"):
        (folder / path).unlink(missing_ok=True)
    chain_keys.add(folder / "keys", "U1", FIRST_KEY)
    with open_store(folder / "log", create=True) as store:
        store.append("U1", log.stored())
        if keep:
            store.keep_game(log.document)
    out = ""
    for command in _commands(folder):
        done = CliRunner().invoke(app(), [*command.split(), "--db", str(folder / "log")])
        assert done.exit_code in (0, 1), (command, done.output, done.exception)
        out += done.output
    with sabot.open(folder / "log") as opened:
        out += repr(list(opened.rounds(with_void=True))) + repr(list(opened.events()))
    return out + (folder / "report.html").read_text()


def _given_away(shown: str, secret: Iterable[str] = _SECRET) -> list[str]:
    texts = [*secret, *(card_symbol(name) for name in secret), "total=9", "'total': 9"]
    # The report has curves such as "M2 4C2 ..." too.
    return [text for text in texts if re.search(rf"(?<!\w){re.escape(text)}(?!\w)", shown)]


@OLD
@pytest.mark.slow
def test_before_the_reveal_nothing_is_shown_and_after_it_everything(
    tmp_path: Path, old: bool
) -> None:
    signing.make_key_pair(tmp_path / "house")
    log = None
    for stage, log in _stages(old=old):
        shown = _shown_of(tmp_path, log)
        assert _given_away(shown) == [], stage
        assert "7C" in shown and "7♣" in shown, "the round before is shown"
    assert log is not None
    log.switch(_KEY, True)
    log.switch(_KEY, False)
    log.press(_REVEAL)
    shown = _shown_of(tmp_path, log)
    assert set(_SECRET) <= set(_given_away(shown))


@OLD
def test_a_round_is_shown_once_it_is_revealed_voided_or_the_next_one_begins(old: bool) -> None:
    for end in ("reveal", "void", "next"):
        log = _MidiLog(old=old)
        log.open_round()
        log.press(_NEXT)
        log.pull(*_SECRET[: 2 if end == "void" else 4])
        parsed = [record.event for record in log.stored()]
        assert not any(
            each.kind == "card" and each.round == 2 for each in all_shown(parsed, log.kept())
        )
        if end == "void":
            log.switch(_KEY, True)
            log.press(_VOID, _VOID)
            log.switch(_KEY, False)
        else:
            log.press(_REVEAL)
        if end == "next":
            log.press(_NEXT)
        parsed = [record.event for record in log.stored()]
        assert all_shown(parsed, log.kept()) == parsed, end


def test_incidents_name_no_card_of_a_round_that_is_not_revealed() -> None:
    def kinds(*more: Event) -> list[str]:
        parsed = [record.event for record in log.stored()]
        reveal = Reveal(log.kept())
        for each in [*parsed, *more]:
            reveal.add(each)
        shown = [without_secret_card(each, reveal.hidden) for each in [*parsed, *more]]
        found = incidents_of("U1", shown, ())
        assert len([each for each in found if each.kind == "not_due"]) == 1
        return [each.detail for each in found if "9" in each.detail or "♦" in each.detail]

    log = _MidiLog()
    log.open_round()
    log.press(_NEXT)
    number = len(log.records)
    own = {"shoe": 1, "round": 2}
    entered = event_of("card", number + 1, card="9D", position="player_1", by_hand=True, **own)
    error = event_of("error", number + 2, error="surplus_copy", card="9D", **own)
    cleared = event_of("error_cleared", number + 3, error="surplus_copy", **own)
    not_due = event_of("card", number + 4, card="9D", position="not_due", **own)
    void = event_of("round_void", number + 5, reason="supervisor", **own)
    assert kinds(entered, error, cleared, not_due) == []
    assert len(kinds(entered, error, cleared, not_due, void)) == 3


def test_a_game_that_shows_its_cards_at_once_is_shown_at_once() -> None:
    log = _MidiLog("ez-mini")
    log.open_round()
    log.press(_NEXT)
    log.pull(*_SECRET)
    parsed = [record.event for record in log.stored()]
    assert all_shown(parsed, log.kept()) == parsed


def test_in_a_game_that_is_not_known_the_last_round_of_old_firmware_is_held_back() -> None:
    log = _MidiLog("mini", {"tie_pays": 9}, old=True)
    log.open_round()
    reveal = Reveal(NONE_KEPT)
    for record in log.stored():
        reveal.add(record.event)
    assert reveal.hidden == (1, 2)


def test_the_last_round_of_a_shoe_that_ended_is_shown_when_the_next_is_loaded(
    tmp_path: Path,
) -> None:
    """Of a game that is not known too. What ended the round came after its result."""
    log = FirmwareLog(game=catalogue.document("mini", {"decks": 6}), firmware="0.1.0")
    log.deal_shoe(shuffled_names(1, cut_from_end=390)).load()
    with new_log(tmp_path / "log") as store:
        store.append("U1", stored(log.records))
        assert hidden_round(store, "U1") is None
        shown = CliRunner().invoke(app(), ["rounds", "--json", "--db", str(tmp_path / "log")])
    ended = [event for event in map(wire.parse_event, log.records) if event.kind == "result"]
    assert len(shown.stdout.splitlines()) == len(ended)


def test_firmware_that_seals_has_nothing_in_plain_to_hold_back() -> None:
    """From 0.2 on. Which game it deals is said by its first result only."""
    log = _MidiLog("mini", {"tie_pays": 9})
    log.open_round()
    log.press(_NEXT)
    log.pull(*_SECRET[:3])
    parsed = [record.event for record in log.stored()]
    assert all_shown(parsed, NONE_KEPT) == parsed
    gap = event_of("gap", len(parsed) + 1, shoe=0, round=0)
    opened = event_of("betting_open", len(parsed) + 2, shoe=1, round=3)
    reveal = Reveal(NONE_KEPT)
    for event in (*parsed, gap, opened):
        reveal.add(event)
    assert reveal.hidden == (1, 3), "after lost events another firmware may run"


@pytest.mark.parametrize("family", ["hold'em", "blackjack"])
def test_what_lies_face_up_shows_before_the_first_result_also_without_a_start(family: str) -> None:
    log = HandLog().seat(2) if family == "hold'em" else BoxLog().load()
    if isinstance(log, HandLog):
        log.play("2C 3C 4C 5C next 6C 7C 8C 9C")
    else:
        for text in ["6S", "9D", "5S", "TC"]:
            log.give(text)
    parsed = [wire.parse_event(record) for record in log.records]
    assert parsed[0].kind == "boot"
    assert all_shown(parsed[1:], NONE_KEPT) == parsed[1:]


def test_a_report_takes_no_event_that_must_not_show_for_a_missing_one() -> None:
    log = _face_down_log(_SECRET, old=True)
    parsed = [record.event for record in log.stored()]
    page = render(report_of(parsed, unit="U", games=log.kept()))
    assert "are missing" not in page and "9 of diamonds" not in page
    assert len(all_shown(parsed, log.kept())) < len(parsed)


_TIME_OR_SIZE = re.compile(r"T\d\d:\d\d:\d\d\.\d+|[\d,]+ bytes|\b[0-9a-f]{8}\b|\b[0-9a-f]{32}\b")
"""When the records were received, the size of a bundle, a MAC, and a sealed card."""


def _face_down_log(secret: Sequence[str], *, old: bool = False) -> _MidiLog:
    """A game of mini in which the house deals face down, up to the end of a round of `secret`
    cards, before its reveal."""
    log = _MidiLog("mini", _FACE_DOWN, old=old)
    log.open_round()
    log.press(_NEXT)
    log.pull(*secret)
    return log


def _two_rounds(rng: random.Random) -> tuple[list[str], list[str]]:
    """Cards of two rounds that differ in cards, totals and winner, and have as many cards and
    events."""
    seen: dict[Any, tuple[list[str], int]] = {}
    while True:
        # Not the cards that the log has before, so that one in what is shown is a secret one.
        names = [rank + suit for rank in "3456789TJQ" for suit in "HDS"]
        deck, log = rng.sample(names, 6), _MidiLog("mini", _FACE_DOWN)
        log.open_round()
        log.press(_NEXT)
        drawn = 0
        while log.card_due():
            log.pull(deck[drawn])
            drawn += 1
        # The lock shows who draws a third card: no shoe can hide that.
        kinds = tuple((each.event.kind, each.event.fields.get("position")) for each in log.stored())
        log.press(_REVEAL)
        (winner,) = (
            each.event.fields["winner"] for each in log.stored()[len(kinds) :]
            if each.event.kind == "result"
        )  # fmt: skip
        other = seen.setdefault(kinds, (deck[:drawn], winner))
        if other[1] != winner and not set(other[0]) & set(deck[:drawn]):
            return other[0], deck[:drawn]


@pytest.mark.slow
@pytest.mark.parametrize("keep", [True, False], ids=["kept", "not kept"])
def test_of_a_round_dealt_face_down_what_is_shown_depends_on_no_card_before_the_reveal(
    tmp_path: Path, rng: random.Random, keep: bool
) -> None:
    signing.make_key_pair(tmp_path / "house")
    one, two = _two_rounds(rng)
    cards_shown = rng.randint(1, len(one))
    for drawn in {cards_shown, len(one)}:
        logs = [_face_down_log(each[:drawn]) for each in (one, two)]
        shown = [_TIME_OR_SIZE.sub("", _shown_of(tmp_path, log, keep=keep)) for log in logs]
        assert shown[0] == shown[1], (one, two, drawn)
        assert _given_away(shown[0], [*one, *two]) == [], (one, two, drawn)
        assert "KC" in shown[0], "the round before is shown"
    log = _face_down_log(one)
    log.press(_REVEAL)
    if keep:
        assert {*one} <= {*_given_away(_shown_of(tmp_path, log), one)}


@OLD
def test_a_round_dealt_face_down_is_shown_at_no_event_before_its_reveal(old: bool) -> None:
    log, ends = _MidiLog("mini", _FACE_DOWN, old=old), {}
    for round_, secret in enumerate((_OPEN, _SECRET), 1):
        log.press(_NEXT, _NEXT)
        log.pull(*secret)
        log.switch(_LID, True)
        log.press(_REVEAL)  # shows nothing: the lid is open
        log.switch(_LID, False)
        log.switch(_KEY, True)
        log.switch(_KEY, False)
        log.press(_REVEAL)
        ends[round_] = log.number_of_last("button" if old else "unsealed")
    parsed = [record.event for record in log.stored()]
    for games_known in (log.kept(), NONE_KEPT):
        for cut in range(1, len(parsed) + 1):
            shown = opened(all_shown(parsed[:cut], games_known))
            seen = {each.round for each in shown if each.kind == "card"}
            assert seen - {0} == {each for each, end in ends.items() if end <= cut}, cut


@OLD
def test_the_key_clears_every_error_that_came_while_play_was_stopped(old: bool) -> None:
    log = _face_down_log(_SECRET, old=old)
    log.switch(_LID, True)
    log.pull("8C")  # a second error, which is not named when the first is cleared
    log.switch(_LID, False)
    log.switch(_KEY, True)
    log.switch(_KEY, False)
    parsed = [record.event for record in log.stored()]
    assert not any(
        each.kind == "card" and each.round == 2 for each in all_shown(parsed, log.kept())
    )
    log.press(_REVEAL)
    parsed = [record.event for record in log.stored()]
    assert all_shown(parsed, log.kept()) == parsed


def test_cards_are_loaded_with_the_lid_shut_also_if_the_event_that_says_so_is_missing() -> None:
    log = _face_down_log(_SECRET, old=True)
    log.press(_REVEAL)
    parsed = [record.event for record in log.stored()]
    loaded = next(at for at, each in enumerate(parsed) if each.kind == "shoe_loaded")
    opened_lid = event_of("lid", parsed[loaded].number - 1, open=True)
    reveal = Reveal(log.kept())
    for each in [opened_lid, *parsed[loaded:]]:
        reveal.add(each)
    assert reveal.hidden is None


def test_after_another_firmware_or_lost_events_it_is_not_known_what_may_be_shown() -> None:
    log = _MidiLog("mini")
    log.open_round()
    own = {"shoe": 1, "round": 2}
    number = len(log.records)
    opened = event_of("betting_open", number + 2, **own)
    for between, hidden in (
        (event_of("key", number + 1, on=True), None),
        (event_of("boot", number + 1, build=bytes(32), game="mini"), (1, 2)),
        (event_of("gap", number + 1), (1, 2)),
    ):
        reveal = Reveal(log.kept())
        for event in (*(record.event for record in log.stored()), between, opened):
            reveal.add(event)
        assert reveal.hidden == hidden, between.kind


class _SendingShoe(NaiveShoe):
    """A shoe that sends the events of a log."""

    def send(self, log: ChainedLog) -> None:
        for number, data, _ in log.records:
            self.held[number] = data
        self.next_number = len(log.records) + 1


@OLD
@pytest.mark.slow
@pytest.mark.parametrize("restarted", [False, True])
def test_the_log_reports_a_round_at_its_reveal_also_if_it_was_started_again(
    tmp_path: Path, restarted: bool, old: bool
) -> None:
    log, shoe, path = _MidiLog(old=old), _SendingShoe(1), tmp_path / "log"
    reported: list[Round] = []
    log.open_round()
    log.press(_NEXT)
    log.pull(*_SECRET)
    shoe.send(log)
    with answering_shoe(shoe) as port:
        with logging(path, port.path, round_ended=reported.append) as running:
            running.wait_for(len(log.records))
            wait_until(lambda: len(reported) == 1)
            if not restarted:
                log.press(_REVEAL)
                shoe.send(log)
                wait_until(lambda: len(reported) == 2)
        if restarted:
            assert [each.round for each in reported] == [1]
            log.press(_REVEAL)
            shoe.send(log)
            with logging(path, port.path, round_ended=reported.append):
                wait_until(lambda: len(reported) == 2)
    assert [each.round for each in reported] == [1, 2] and reported[1].winner == "player"
    assert json.loads(json.dumps(reported[1].as_json()))["player"] == ["9D", "TD"]


def _gap(log: _MidiLog) -> None:
    """Record, as a shoe does that caught up, which events were overwritten."""
    reason = enums.GAP_REASONS.index("queue_full")
    log.record(events.GAP, 1, 1, reason, bytes(16), shoe=0, round_=0)


@OLD
@pytest.mark.slow
@pytest.mark.parametrize("lost", [None, "betting_open", "error"])
def test_a_secret_round_is_hidden_although_events_are_lost(
    tmp_path: Path, lost: str | None, old: bool
) -> None:
    signing.make_key_pair(tmp_path / "house")
    log = _face_down_log(_SECRET, old=old)
    if lost is None:  # the newest event is a gap, which is in no shoe of cards
        _gap(log)
    elif lost == "error":
        log.switch(_LID, True)
        log.switch(_LID, False)
        log.press(_REVEAL)
    kinds = [record.event.kind for record in log.stored()]
    at = len(kinds) - 1 - kinds[::-1].index(lost or "gap")
    for revealed in (False, True):
        if revealed:
            log.switch(_KEY, True)
            log.switch(_KEY, False)
            log.press(_REVEAL)
        whole = list(log.records)
        if lost is not None:
            del log.records[at]
        given_away = _given_away(_shown_of(tmp_path, log))
        assert set(_SECRET) <= set(given_away) if revealed else given_away == []
        log.records = whole


@pytest.mark.slow
def test_a_log_that_goes_on_at_a_gap_reports_the_round_at_its_reveal(tmp_path: Path) -> None:
    log, shoe, path = _MidiLog(), _SendingShoe(1), tmp_path / "log"
    reported: list[Round] = []
    log.open_round()
    log.press(_NEXT)
    for some in (_SECRET[:1], _SECRET[1:]):
        log.pull(*some)
        shoe.send(log)
        with (
            answering_shoe(shoe) as port,
            logging(path, port.path, round_ended=reported.append) as running,
        ):
            running.wait_for(len(log.records))
        assert [each.round for each in reported] == [1]
        _gap(log)
    log.press(_REVEAL)
    shoe.send(log)
    with answering_shoe(shoe) as port, logging(path, port.path, round_ended=reported.append):
        wait_until(lambda: len(reported) == 2)
    assert [str(card) for card in reported[1].player] == ["9D", "TD"]


class _MidiShoe(KeepingShoe):
    """A shoe with passes that deals midi and is in a phase."""

    phase = "dealing"

    def answer(self, message: wire.Message) -> list[bytes]:
        if message.shape is messages.STATUS:
            phase = enums.PHASES.index(self.phase)
            return [framed(messages.STATUS_REPORT, id=message.fields["id"], phase=phase)]
        return super().answer(message)


@pytest.mark.slow
@pytest.mark.parametrize(("game", "choices"), [("ez-midi", {}), ("mini", _FACE_DOWN)])
def test_no_pass_is_captured_before_the_reveal(game: str, choices: dict[str, object]) -> None:
    shoe = _MidiShoe({1: blank()})
    shoe.game, shoe.document = game, catalogue.document(game, choices)
    with answering_shoe(shoe) as there, Port(there.path) as port:
        client = Client(port)
        with pytest.raises(CommandRefused, match="before the dealer's reveal"):
            list(kept_passes(client))
        shoe.phase = "between"
        assert list(kept_passes(client))


@pytest.mark.slow
def test_passes_of_a_game_that_shows_its_cards_at_once_are_captured_in_a_round() -> None:
    shoe = _MidiShoe({1: blank()})
    with answering_shoe(shoe) as there, Port(there.path) as port:
        assert list(kept_passes(Client(port)))
        shoe.document = catalogue.document("mini", _FACE_DOWN)
        with pytest.raises(CommandRefused, match="before the dealer's reveal"):
            list(kept_passes(Client(port)))
