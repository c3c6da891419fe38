"""Carries out the host's commands.

The function `on_NAME` carries out the command of that name. It gets the shoe and the command's
values after its `id`; the definition has checked their types. It returns the fields of the report
after the `id`, or nothing if a `reply` is the answer. It may raise Refusal.
"""

import gc

from sabot_firmware import VERSION
from sabot_firmware.journal.randomness import drop
from sabot_firmware.link import stirring
from sabot_firmware.link.answers import Refusal, answer_command
from sabot_protocol import enums, events, games, messages

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.shoe import Shoe
    from sabot_protocol.schema import Shape

_RESTARTING = enums.UPDATE_STAGES.index("restarting")

_IDENTIFY_MS = 1500
_OLDEST_CLOCK_MS = 1735689600000  # 2025-01-01: the project is younger, so an earlier time is wrong
_NEWEST_CLOCK_MS = 4102444800000  # 2100-01-01: no shoe lasts that long


_WITH_FILES = ("load_game", "self_test", "update", "provision", "confirm", "debug")
"""The commands that open files or load modules."""


def run(shoe: "Shoe", shape: "Shape", values: "list[object]") -> "list[object]":
    """Carry out the command `shape` with its `values`; return the message that answers it."""
    carry_out = globals()["on_" + shape.name]
    if shape.name in _WITH_FILES and not shoe.dealing.lock_released():
        shoe.heap.give_spare()
        answer = answer_command(shape, values, lambda *given: carry_out(shoe, *given))
        shoe.heap.take_spare()
        return answer
    return answer_command(shape, values, lambda *given: carry_out(shoe, *given))


def _with_room(shoe: "Shoe") -> None:
    """Refuse a command that records an event while the journal has no room."""
    if shoe.journal.crowded():
        raise Refusal("full")


def _between_shoes(shoe: "Shoe") -> None:
    if not shoe.dealing.can_change_game():
        raise Refusal("mid_shoe")


def _in_service(shoe: "Shoe") -> None:
    if not shoe.dealing.service_on:
        raise Refusal("no_service")


def _nothing_sealed(shoe: "Shoe") -> None:
    if shoe.dealing.sealed:
        raise Refusal("sealed")


def _record(shoe: "Shoe", kind: "Shape", *values: object) -> None:
    shoe.recorder.record(kind, shoe.dealing.shoe, shoe.dealing.round, values)


def on_set_clock(shoe: "Shoe", unix_ms: int) -> None:
    """Set the clock. Like all functions here it is found by the command's name in messages.py."""
    if unix_ms < _OLDEST_CLOCK_MS:
        raise Refusal("clock_old")
    if unix_ms > _NEWEST_CLOCK_MS:
        raise Refusal("clock_far")
    _with_room(shoe)
    shoe.recorder.set_clock(unix_ms, shoe.dealing.shoe, shoe.dealing.round)


def on_identify(shoe: "Shoe") -> None:
    """Beep."""
    _with_room(shoe)
    shoe.board.buzz(_IDENTIFY_MS)
    _record(shoe, events.IDENTIFIED)


def on_read_events(shoe: "Shoe", first: int) -> None:
    """Send events again, from number `first` on."""
    if not shoe.outbox.seek(first):
        raise Refusal("not_held", str(first))


def on_load_game(shoe: "Shoe", offset: int, size: int, part: bytes) -> None:
    """Take one part of a game document. If a part is refused, the parts before it are dropped."""
    document, shoe.game_parts = shoe.game_parts, None
    _between_shoes(shoe)
    if not 0 < size <= games.MAX_DOCUMENT:
        raise Refusal("bad_size", str(games.MAX_DOCUMENT))
    if not 0 < len(part) <= messages.MAX_GAME_PART or offset + len(part) > size:
        raise Refusal("bad_part")
    if not offset:
        document = [bytearray(size), 0]
    if document is None or len(document[0]) != size or document[1] != offset:
        raise Refusal("bad_order")
    document[0][offset : offset + len(part)] = part
    document[1] = offset + len(part)
    if document[1] == size:
        _take_game(shoe, bytes(document.pop(0)))  # one copy at a time: the heap is small
    else:
        shoe.game_parts = document


def _checked(document: bytes) -> games.FamilyGame:
    """Return the game of a document. What checks it gives its heap back: what the game needs may be
    as large."""
    gc.collect()  # loading a module needs one piece of 1.6 KB
    from sabot_protocol import game_rules  # rarely needed: saves heap

    try:
        return game_rules.game_to_deal(document)
    except games.GameError as error:
        raise Refusal("invalid", str(error))
    finally:
        del game_rules
        drop("sabot_protocol", "game_rules")
        gc.collect()


def _take_game(shoe: "Shoe", document: bytes) -> None:
    game = _checked(document)
    _with_room(shoe)
    shoe.acting.keep_state()  # by the old game: its notes are not repeated under the new one
    shoe.journal.drain()  # events of the old game are on flash before the new game is
    shoe.prepare_for(game)  # before the game is stored: a start with it must not find the old one
    shoe.store.save("game", game.document)
    _record(shoe, events.GAME_LOADED, game.name, game.sha256)
    gc.collect()
    alike = game.family == shoe.dealing.game.family
    if not alike or not _dealt_at_once(shoe, game) or not shoe.heap.take_spare():
        # The heap has no room for the code of two families, or it is in pieces: a start has room.
        shoe.journal.drain()
        shoe.acting.stopped = True
        shoe.restart_due = True


def _dealt_at_once(shoe: "Shoe", game: games.FamilyGame) -> bool:
    """Deal a game from now on; return whether the heap has room."""
    try:
        if game.face_down:
            shoe.recorder.seals = shoe.open_seals()
        shoe.dealing.change_game(game)
        shoe.hold_rounds()
    except MemoryError:
        return False
    return True


def on_read_game(shoe: "Shoe", offset: int) -> "list[object]":
    """Return a part of the document of the game that is dealt."""
    game = shoe.dealing.game
    size = len(game.document)
    if offset >= size:
        raise Refusal("bad_part")
    part = game.document[offset : offset + messages.MAX_GAME_PART]
    return [game.sha256, size, offset, part]


def on_restart(shoe: "Shoe") -> None:
    """Restart once the answer is sent."""
    if not shoe.at_rest():
        raise Refusal("in_play")
    shoe.restart_due = True


def on_confirm(shoe: "Shoe") -> None:
    """Confirm the release on trial: it stays."""
    if not shoe.running.on_trial:
        raise Refusal("no_trial")
    _with_room(shoe)
    _record(shoe, events.UPDATED, VERSION, shoe.build)
    shoe.journal.drain()
    shoe.running.confirm()


def on_debug(shoe: "Shoe") -> None:
    """Restart with MicroPython's prompt at the port."""
    _in_service(shoe)
    _between_shoes(shoe)
    _with_room(shoe)
    _record(shoe, events.DEBUG_OPENED)
    shoe.journal.drain()
    if not shoe.running.ask_for_prompt():
        raise Refusal("no_slot")
    shoe.restart_due = True


def on_status(shoe: "Shoe") -> "list[object]":
    """Report the state of the shoe."""
    dealing = shoe.dealing
    return [
        shoe.board.ticks_ms(),
        shoe.recorder.unix_ms(),
        dealing.phase,
        dealing.error,
        dealing.lock_released(),
        dealing.shoe,
        dealing.round,
        dealing.cards,
        shoe.heap.used,
        shoe.heap.free,
        shoe.outbox.unacked(),
        shoe.link.dropped,
        shoe.journal.room(),
        shoe.journal.bad_sectors,
    ]


def on_health(shoe: "Shoe") -> "list[object]":
    """Report how well the sensor head sees."""
    _nothing_sealed(shoe)  # the difference of two means is one card's
    health = shoe.health
    means = [health.mean_permille(channel) for channel in range(len(enums.CHANNELS))]
    report: "list[object]" = [health.cards]
    return report + means + [health.dirty, shoe.board.overruns] + shoe.calibration


def on_next_pass(shoe: "Shoe", after: int) -> "list[object]":
    """Report the first kept pass after number `after`."""
    _nothing_sealed(shoe)
    kept = shoe.passes.first_after(after)
    if kept is None:
        return [0, 0, 0, None, None, 0, 0, 0, 0, 0, False]
    return [
        kept.number,
        kept.t_ms,
        kept.fault,
        kept.card,
        kept.card_set,
        kept.speed_mm_s,
        kept.margin_permille,
        kept.skew_um,
        kept.samples,
        kept.size,
        kept.cut,
    ]


def on_read_pass(shoe: "Shoe", number: int, offset: int) -> "list[object]":
    """Return a part of the samples of a pass."""
    _nothing_sealed(shoe)
    kept = shoe.passes.get(number)
    if kept is None:
        raise Refusal("not_kept", str(number))
    if offset >= kept.size:
        raise Refusal("past_end", str(number))
    return [number, offset, bytes(kept.runs[offset : offset + messages.MAX_RUN_BYTES])]


def on_self_test(shoe: "Shoe") -> "list[object]":
    """Test the shoe. It takes up to half a second."""
    # Not `at_rest`: a card in the head, or a fault of it, is what the test must find.
    if shoe.dealing.lock_released():
        raise Refusal("in_play")
    from sabot_firmware.link import (
        self_test,  # loaded when needed: saves heap
    )

    return self_test.report(shoe)


def on_stir(shoe: "Shoe", hidden: bytes) -> "list[object]":
    """Stir random bytes of the host into the pool."""
    return stirring.report(shoe, hidden)


def on_update(shoe: "Shoe", size: int) -> "list[object]":
    """Restart into the updater (updater.py), which needs the whole processor and heap."""
    if not shoe.running.has_slot:  # first, so that no one waits for a round's end in vain
        raise Refusal("no_slot")
    if shoe.running.on_trial:
        raise Refusal("on_trial")
    if not shoe.at_rest():
        raise Refusal("in_play")
    stirring.leave_for_update(shoe)
    shoe.running.ask_for_update()
    shoe.restart_due = True
    return _update_report(_RESTARTING)


def on_update_part(shoe: "Shoe", offset: int, part: bytes) -> "list[object]":
    """Refuse a part: only the updater takes one."""
    raise Refusal("no_update")


def on_update_status(shoe: "Shoe") -> "list[object]":
    """Report the stage of an update."""
    return _update_report(shoe.running.stage())


def on_provision(shoe: "Shoe", offset: int, size: int, part: bytes) -> "list[object]":
    """Restart into the updater, which takes this too."""
    _in_service(shoe)
    _between_shoes(shoe)
    return on_update(shoe, size)


def _update_report(stage: int) -> "list[object]":
    return [stage, b"", 0, 0, ""]
