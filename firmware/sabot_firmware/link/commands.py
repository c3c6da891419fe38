"""The host's commands: each acts on the shoe.

The function `on_NAME` carries out the command of that name: it gets the shoe and the command's
values after its `id`, whose types the definition has checked, and returns the fields of the
command's report after the `id`, or nothing where it is answered with a `reply`. It raises Refused.
"""

from sabot_firmware import VERSION
from sabot_firmware.link.answers import Refused, answered
from sabot_protocol import enums, events, games, messages

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.shoe import Shoe
    from sabot_protocol.schema import Shape

_RESTARTING = enums.UPDATE_STAGES.index("restarting")

_IDENTIFY_MS = 1500
_OLDEST_CLOCK_MS = 1735689600000  # 2025-01-01: before this project, no clock was right
_NEWEST_CLOCK_MS = 4102444800000  # 2100-01-01: no shoe lasts so long


def run(shoe: "Shoe", shape: "Shape", values: "list[object]") -> "list[object]":
    """Carry out the command `shape` with its `values`; the message that answers it."""
    carry_out = globals()["on_" + shape.name]
    return answered(shape, values, lambda *given: carry_out(shoe, *given))


def _with_room(shoe: "Shoe") -> None:
    """Refuse what is to be recorded while the journal has no room for it."""
    if shoe.journal.crowded():
        raise Refused("full")


def _between_shoes(shoe: "Shoe") -> None:
    if not shoe.dealing.can_change_game():
        raise Refused("mid_shoe")


def _in_service(shoe: "Shoe") -> None:
    if not shoe.dealing.service_on:
        raise Refused("no_service")


def _record(shoe: "Shoe", kind: "Shape", *values: object) -> None:
    shoe.recorder.record(kind, shoe.dealing.shoe, shoe.dealing.round, values)


def on_set_clock(shoe: "Shoe", unix_ms: int) -> None:
    """As all here: by its name in sabot_protocol/messages.py."""
    if unix_ms < _OLDEST_CLOCK_MS:
        raise Refused("clock_old")
    if unix_ms > _NEWEST_CLOCK_MS:
        raise Refused("clock_far")
    _with_room(shoe)
    shoe.recorder.set_clock(unix_ms, shoe.dealing.shoe, shoe.dealing.round)


def on_identify(shoe: "Shoe") -> None:
    """Beep."""
    _with_room(shoe)
    shoe.board.buzz(_IDENTIFY_MS)
    _record(shoe, events.IDENTIFIED)


def on_read_events(shoe: "Shoe", first: int) -> None:
    """Send them again."""
    if not shoe.outbox.seek(first):
        raise Refused("not_held", str(first))


def on_load_game(shoe: "Shoe", offset: int, size: int, part: bytes) -> None:
    """One part of a game document. A part that is refused takes the parts before it along."""
    document, shoe.game_parts = shoe.game_parts, None
    _between_shoes(shoe)
    if not 0 < size <= games.MAX_DOCUMENT:
        raise Refused("bad_size", str(games.MAX_DOCUMENT))
    if not 0 < len(part) <= messages.MAX_GAME_PART or offset + len(part) > size:
        raise Refused("bad_part")
    if not offset:
        document = [bytearray(size), 0]
    if document is None or len(document[0]) != size or document[1] != offset:
        raise Refused("bad_order")
    document[0][offset : offset + len(part)] = part
    document[1] = offset + len(part)
    if document[1] == size:
        _take_game(shoe, bytes(document[0]))
    else:
        shoe.game_parts = document


def _take_game(shoe: "Shoe", document: bytes) -> None:
    try:
        game = games.Game(document)
    except games.GameError as error:
        raise Refused("invalid", str(error))
    _with_room(shoe)
    shoe.journal.drain()  # what was dealt by the old game is on flash before the new one is
    shoe.store.save("game", game.document)
    shoe.dealing.change_game(game)
    _record(shoe, events.GAME_LOADED, game.name, game.sha256)


def on_restart(shoe: "Shoe") -> None:
    """As soon as the answer is sent."""
    if not shoe.at_rest():
        raise Refused("in_play")
    shoe.restart_due = True


def on_confirm(shoe: "Shoe") -> None:
    """What runs on trial stays."""
    if not shoe.running.on_trial:
        raise Refused("no_trial")
    _with_room(shoe)
    _record(shoe, events.UPDATED, VERSION, shoe.build)
    shoe.journal.drain()
    shoe.running.confirm()


def on_debug(shoe: "Shoe") -> None:
    """The prompt is there after the restart."""
    _in_service(shoe)
    _between_shoes(shoe)
    _with_room(shoe)
    _record(shoe, events.DEBUG_OPENED)
    shoe.journal.drain()
    if not shoe.running.ask_for_prompt():
        raise Refused("no_slot")
    shoe.restart_due = True


def on_status(shoe: "Shoe") -> "list[object]":
    """How things stand."""
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
    """How well the sensor head sees."""
    health = shoe.health
    means = [health.mean_permille(channel) for channel in range(len(enums.CHANNELS))]
    report: "list[object]" = [health.cards]
    return report + means + [health.dirty, shoe.board.overruns] + shoe.calibration


def on_next_pass(shoe: "Shoe", behind: int) -> "list[object]":
    """Which pass is kept."""
    kept = shoe.passes.behind(behind)
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
    """A part of its samples."""
    kept = shoe.passes.get(number)
    if kept is None:
        raise Refused("not_kept", str(number))
    if offset >= kept.size:
        raise Refused("past_end", str(number))
    return [number, offset, bytes(kept.runs[offset : offset + messages.MAX_RUN_BYTES])]


def on_self_test(shoe: "Shoe") -> "list[object]":
    """It takes up to half a second."""
    # Not `at_rest`: what lies in the head, or is wrong with it, is just what is asked for.
    if shoe.dealing.lock_released():
        raise Refused("in_play")
    from sabot_firmware.link import (
        self_test,  # a shoe in service does without it, and with more heap
    )

    return self_test.report(shoe)


def on_update(shoe: "Shoe", size: int) -> "list[object]":
    """The updater takes it (updater.py), and it has the processor and the heap to itself."""
    if shoe.running.on_trial:
        raise Refused("on_trial")
    if not shoe.at_rest():
        raise Refused("in_play")
    if not shoe.running.ask_for_update():
        raise Refused("no_slot")
    shoe.restart_due = True
    return _update_report(_RESTARTING)


def on_update_part(shoe: "Shoe", offset: int, part: bytes) -> "list[object]":
    """Only the updater takes one."""
    raise Refused("no_update")


def on_update_status(shoe: "Shoe") -> "list[object]":
    """How far a release has come."""
    return _update_report(shoe.running.stage())


def on_provision(shoe: "Shoe", offset: int, size: int, part: bytes) -> "list[object]":
    """The updater takes this too."""
    _in_service(shoe)
    _between_shoes(shoe)
    return on_update(shoe, size)


def _update_report(stage: int) -> "list[object]":
    return [stage, b"", 0, 0, ""]
