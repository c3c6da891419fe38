"""The host's commands: each acts on the shoe and answers with a `reply` or a report."""

from sabot_firmware import VERSION
from sabot_protocol import enums, events, games, messages

_NO_SLOT = "this shoe does not run from a slot"
_SERVICE = "its service switch is off: open the lid and switch it on"
_RESTARTING = enums.UPDATE_STAGES.index("restarting")
_DONE = enums.OUTCOMES.index("done")
_REFUSED = enums.OUTCOMES.index("refused")

_IDENTIFY_MS = 1500
_OLDEST_CLOCK_MS = 1735689600000  # 2025-01-01: before this project, no clock was right
_NEWEST_CLOCK_MS = 4102444800000  # 2100-01-01: no shoe lasts so long


def run(shoe, shape, values: "list[object]") -> "list[object]":
    """Carry out the command `shape` with its `values` on a `sabot_firmware.shoe.Shoe`.

    Returns the message that answers it.
    """
    if shape.number in _REPORTS:
        return _REPORTS[shape.number](shoe, values)
    outcome, detail = _HANDLERS[shape.number](shoe, values)
    return _reply(values[0], outcome, detail)


def _reply(command_id: object, outcome: int, detail: str) -> "list[object]":
    return [messages.REPLY.number, command_id, outcome, detail]


_CROWDED = "the journal is full: take its events first"


def _set_clock(shoe, values):
    if values[1] < _OLDEST_CLOCK_MS:
        return _REFUSED, "that time is past: set the host's clock"
    if values[1] > _NEWEST_CLOCK_MS:
        return _REFUSED, "that time is far off: set the host's clock"
    if shoe.journal.crowded():
        return _REFUSED, _CROWDED
    shoe.recorder.set_clock(values[1], shoe.dealing.shoe, shoe.dealing.round)
    return _DONE, ""


def _identify(shoe, values):
    if shoe.journal.crowded():
        return _REFUSED, _CROWDED
    shoe.board.buzz(_IDENTIFY_MS)
    shoe.recorder.record(events.IDENTIFIED, shoe.dealing.shoe, shoe.dealing.round, ())
    return _DONE, ""


def _read_events(shoe, values):
    if shoe.outbox.seek(values[1]):
        return _DONE, ""
    return _REFUSED, "event %d is not held" % values[1]


def _load_game(shoe, values):
    """One part of a game document. What is refused takes the parts before it along."""
    _, offset, size, part = values
    document, shoe.game_parts = shoe.game_parts, None
    if not shoe.dealing.can_change_game():
        return _REFUSED, "a shoe of cards is in play: load a game between shoes"
    if not 0 < size <= games.MAX_DOCUMENT:
        return _REFUSED, "a game document has 1 to %d bytes" % games.MAX_DOCUMENT
    if not 0 < len(part) <= messages.MAX_GAME_PART or offset + len(part) > size:
        return _REFUSED, "game document: a part that is empty, too long or beyond the end"
    if not offset:
        document = [bytearray(size), 0]
    if document is None or len(document[0]) != size or document[1] != offset:
        return _REFUSED, "game document: its parts come in order, from offset 0 on"
    document[0][offset : offset + len(part)] = part
    document[1] = offset + len(part)
    if document[1] == size:
        return _take_game(shoe, bytes(document[0]))
    shoe.game_parts = document
    return _DONE, ""


def _take_game(shoe, document):
    try:
        game = games.Game(document)
    except games.GameError as error:
        return _REFUSED, str(error)
    if shoe.journal.crowded():
        return _REFUSED, _CROWDED
    shoe.journal.drain()  # what was dealt by the old game is on flash before the new one is
    shoe.store.save("game", game.document)
    shoe.dealing.change_game(game)
    shoe.recorder.record(
        events.GAME_LOADED, shoe.dealing.shoe, shoe.dealing.round, (game.name, game.sha256)
    )
    return _DONE, ""


_IN_PLAY = "a round is in play: try again between rounds"


def _restart(shoe, values):
    if not shoe.at_rest():
        return _REFUSED, _IN_PLAY
    shoe.restart_due = True
    return _DONE, ""


def _no_part(shoe, values):
    return _REFUSED, "no release is on its way: ask for an update"


def _confirm(shoe, values):
    if not shoe.running.on_trial:
        return _REFUSED, "no release is on trial"
    if shoe.journal.crowded():
        return _REFUSED, _CROWDED
    told = (VERSION, shoe.build)
    shoe.recorder.record(events.UPDATED, shoe.dealing.shoe, shoe.dealing.round, told)
    shoe.journal.drain()
    shoe.running.confirm()
    return _DONE, ""


def _debug(shoe, values):
    dealing = shoe.dealing
    if not dealing.service_on:
        return _REFUSED, _SERVICE
    if not dealing.can_change_game():
        return _REFUSED, "a shoe of cards is in play: end it first"
    if shoe.journal.crowded():
        return _REFUSED, _CROWDED
    shoe.recorder.record(events.DEBUG_OPENED, dealing.shoe, dealing.round, ())
    shoe.journal.drain()
    if not shoe.running.ask_for_prompt():
        return _REFUSED, _NO_SLOT
    shoe.restart_due = True
    return _DONE, ""


_HANDLERS = {
    messages.SET_CLOCK.number: _set_clock,
    messages.IDENTIFY.number: _identify,
    messages.READ_EVENTS.number: _read_events,
    messages.LOAD_GAME.number: _load_game,
    messages.RESTART.number: _restart,
    messages.CONFIRM.number: _confirm,
    messages.UPDATE_PART.number: _no_part,
    messages.DEBUG.number: _debug,
}


def _status(shoe, values: "list[object]") -> "list[object]":
    dealing = shoe.dealing
    return [
        messages.STATUS_REPORT.number,
        values[0],
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


def _health(shoe, values: "list[object]") -> "list[object]":
    health = shoe.health
    means = [health.mean_permille(channel) for channel in range(len(enums.CHANNELS))]
    head = [messages.HEALTH_REPORT.number, values[0], health.cards]
    return head + means + [health.dirty, shoe.board.overruns] + shoe.calibration


def _next_pass(shoe, values: "list[object]") -> "list[object]":
    kept = shoe.passes.behind(values[1])
    report = [messages.PASS_REPORT.number, values[0]]
    if kept is None:
        return report + [0, 0, 0, None, None, 0, 0, 0, 0, 0, False]
    return report + [
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


def _read_pass(shoe, values: "list[object]") -> "list[object]":
    command_id, number, offset = values[0], int(values[1]), int(values[2])  # type: ignore[arg-type]
    kept = shoe.passes.get(number)
    if kept is None:
        return _reply(command_id, _REFUSED, "pass " + str(number) + " is not kept any more")
    if offset >= kept.size:
        return _reply(command_id, _REFUSED, "pass " + str(number) + " has fewer bytes")
    runs = bytes(kept.runs[offset : offset + messages.MAX_RUN_BYTES])
    return [messages.PASS_SAMPLES.number, command_id, number, offset, runs]


def _self_test(shoe, values: "list[object]") -> "list[object]":
    # Not `at_rest`: what lies in the head, or is wrong with it, is just what is asked for.
    if shoe.dealing.lock_released():
        return _reply(values[0], _REFUSED, _IN_PLAY)
    from sabot_firmware.link import (
        self_test,  # a shoe in service does without it, and with more heap
    )

    return self_test.report(shoe, values[0])


def _update(shoe, values: "list[object]") -> "list[object]":
    """The updater takes it (updater.py), and it has the processor and the heap to itself."""
    if shoe.running.on_trial:
        return _reply(values[0], _REFUSED, "a release is on trial: confirm it first")
    if not shoe.at_rest():
        return _reply(values[0], _REFUSED, _IN_PLAY)
    if not shoe.running.ask_for_update():
        return _reply(values[0], _REFUSED, _NO_SLOT)
    shoe.restart_due = True
    return _update_report(values, _RESTARTING)


def _provision(shoe, values: "list[object]") -> "list[object]":
    """The updater takes this too."""
    if not shoe.dealing.service_on:
        return _reply(values[0], _REFUSED, _SERVICE)
    if not shoe.dealing.can_change_game():
        return _reply(values[0], _REFUSED, "a shoe of cards is in play: end it first")
    return _update(shoe, values)


def _update_status(shoe, values: "list[object]") -> "list[object]":
    return _update_report(values, shoe.running.stage())


def _update_report(values: "list[object]", stage: int) -> "list[object]":
    return [messages.UPDATE_REPORT.number, values[0], stage, b"", 0, ""]


_REPORTS = {
    messages.STATUS.number: _status,
    messages.HEALTH.number: _health,
    messages.NEXT_PASS.number: _next_pass,
    messages.READ_PASS.number: _read_pass,
    messages.SELF_TEST.number: _self_test,
    messages.UPDATE.number: _update,
    messages.PROVISION.number: _provision,
    messages.UPDATE_STATUS.number: _update_status,
}
