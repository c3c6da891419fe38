"""Each kind of event as a sentence for people, with all of its fields.

To add an event, add a function with its name, and its row in `_WORDS`. A test changes every field
of every kind, and fails where the sentence stays the same.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import tzinfo
from typing import Any

from sabot.link.words import UNKNOWN
from sabot.log.reading.events import SURPLUS
from sabot.log.rounds import hit_names
from sabot.table_time import iso_of
from sabot.text import card_symbol, counted, start_cause
from sabot_protocol import cards, enums

Fields = Mapping[str, Any]

_HASH_DIGITS = 8  # of a hash or MAC, in hexadecimal; --json has all
_ORDINALS = {"1": "first", "2": "second", "3": "third"}
_NAMES = [cards.name_of(card) for card in range(cards.DECK_SIZE)]


def words_of(kind: str, fields: Fields, zone: tzinfo) -> str:
    """An event as a sentence without its kind, such as "Banker wins 7 to 2, dragon 7" for `result`.

    `fields` are those of `LogEvent`: cards by name, bytes in hexadecimal. Hashes and MACs are cut
    to eight digits, and times are on the clock of `zone`.
    """
    if kind.startswith(UNKNOWN):
        return f"unknown to this version (kind {kind.removeprefix(UNKNOWN)}){_unknown(fields)}"
    words = _clock_set(fields, zone) if kind == "clock_set" else _WORDS[kind](fields)
    if SURPLUS in fields:
        words += f"; a field unknown to this version{_unknown(fields)}"
    return words


def _unknown(fields: Fields) -> str:
    """The values that this version does not know, for people."""
    values = fields[SURPLUS]
    if values is None:
        return ", not shown before the round may be"
    return f": {json.dumps(values, ensure_ascii=False)}" if values else ""


def _latch(it: Fields, what: str) -> str:
    opened = it[f"{what}_opened"]
    if opened is None:
        return ""
    return f"; {what} opened while no program watched" if opened else f"; {what} stayed shut"


def _boot(it: Fields) -> str:
    software = f"firmware {it['firmware']}, build {_short(it['build'])} for {it['board']}"
    return (
        f"started: {start_cause(it['reset_cause'])}; {software}, game {it['game']}, "
        f"audit chain {_short(it['chain'])}{_latch(it, 'lid')}{_latch(it, 'compartment')}"
    )


def _lid(it: Fields) -> str:
    return "opened" if it["open"] else "closed"


def _key(it: Fields) -> str:
    return "turned on" if it["on"] else "turned off"


def _service(it: Fields) -> str:
    return "switched on" if it["on"] else "switched off"


def _button(it: Fields) -> str:
    return f"{it['button']} pressed"


def _shoe_loaded(it: Fields) -> str:
    return f"{counted(it['decks'], 'deck')} of card set {it['set']} loaded, game {it['game']}"


def _burn(it: Fields) -> str:
    return f"{counted(it['count'], 'card')} to burn"


def _betting_open(it: Fields) -> str:
    return "place your bets"


def _betting_closed(it: Fields) -> str:
    return f"no more bets, by the {it['by']}"


def _card(it: Fields) -> str:
    text = f"{card_symbol(it['card'])}, {_position(it['position'])}"
    return (
        f"{text}, entered by hand{_pass(it, always=False)}" if it["by_hand"] else text + _pass(it)
    )


def _unreadable(it: Fields) -> str:
    return f"{_spaced(it['fault'])}, {_position(it['position'])}{_pass(it)}"


def _decision(it: Fields) -> str:
    if it["action"] == "natural":
        return f"{it['hand'].capitalize()} has a natural {it['total']}"
    return f"{it['hand'].capitalize()} {it['action']} on {it['total']}"


def _result(it: Fields) -> str:
    player, banker = it["player_total"], it["banker_total"]
    if it["winner"] == "tie":
        text = f"tie, {player} to {banker}"
    elif it["winner"] == "player":
        text = f"Player wins {player} to {banker}"
    elif it["winner"] == "banker":
        text = f"Banker wins {banker} to {player}"
    else:
        text = f"{_spaced(it['winner'])}, Player {player}, Banker {banker}"
    if it["margin"] != abs(player - banker):  # else it follows from the totals
        text += f", margin {it['margin']}"
    naturals = [hand for hand in enums.HANDS if it[f"{hand}_natural"]]
    if len(naturals) == len(enums.HANDS):
        text += ", both natural"
    elif naturals == [it["winner"]]:
        text += ", natural"
    elif naturals:
        text += f", {naturals[0].capitalize()}'s natural"
    names = [_spaced(name) for name in hit_names(it["hits"])]
    return "".join([text, *(f", {name}" for name in names), f"; game {_short(it['game'])}"])


def _round_void(it: Fields) -> str:
    return f"the round is void: {it['reason']}"


def _lock(it: Fields) -> str:
    return "released" if it["released"] else "closed"


def _error(it: Fields) -> str:
    card = "" if it["card"] is None else f" {card_symbol(it['card'])}"
    return f"play stops: {_spaced(it['error'])}{card}{_cause(it)}"


def _error_cleared(it: Fields) -> str:
    return f"cleared with the supervisor's key: {_spaced(it['error'])}"


def _cut_card(it: Fields) -> str:
    return f"the cut card came out, {counted(it['rounds_left'], 'round')} left"


def _shoe_ended(it: Fields) -> str:
    rounds = "rounds not known" if it["rounds"] is None else counted(it["rounds"], "round")
    drawn = "cards not known" if it["cards"] is None else f"{counted(it['cards'], 'card')} drawn"
    return f"by {_ENDED_BY.get(it['reason'], _spaced(it['reason']))}: {rounds}, {drawn}"


def _clock_set(it: Fields, zone: tzinfo) -> str:
    before = it["before_unix_ms"]
    if before is None:
        return "set by a host; it was not set before"
    return f"set by a host; it showed {iso_of(before, zone)}"


def _gap(it: Fields) -> str:
    return (
        f"{_numbers(it)} lost: {_spaced(it['reason'])}; the chain goes on from MAC "
        f"{_short(it['mac'])}"
    )


def _game_loaded(it: Fields) -> str:
    return f"{it['game']}, document {_short(it['sha256'])}"


def _identified(it: Fields) -> str:
    return "a host made the shoe beep"


def _resolved(it: Fields) -> str:
    how = _RESOLUTIONS.get(it["resolution"], _spaced(it["resolution"]))
    return f"{_spaced(it['error'])}{_cause(it)}, {_position(it['position'])}: {how}"


def _composition(it: Fields) -> str:
    counts = bytes.fromhex(it["counts"])
    came = f"{counted(sum(counts), 'card')} read"
    text = f"of {counted(it['expected'], 'card')}, {came}, {it['unread']} not known"
    if len(counts) != len(_NAMES):
        return f"{text}; counts {it['counts']}"
    usual = Counter(counts).most_common(1)[0][0]
    others = sorted({*counts} - {usual}, reverse=True)
    of = {n: " ".join(card_symbol(_NAMES[i]) for i in range(52) if counts[i] == n) for n in others}
    return f"{text}; {usual} of each card" + "".join(f", {n} of {of[n]}" for n in others)


def _clean_sensor(it: Fields) -> str:
    return f"clean sensor {it['channel'].upper()}: its mean is {_percent(it['mean_permille'])}"


def _calibrated(it: Fields) -> str:
    means = [f"{each.upper()} {_percent(it[f'{each}_permille'])}" for each in enums.CHANNELS]
    return f"test card: {', '.join(means)}{_pass(it)}"


def _checkpoint(it: Fields) -> str:
    return f"{counted(it['records'], 'record')} up to MAC {_short(it['mac'])}"


def _journal_fault(it: Fields) -> str:
    nothing = (it["first"], it["last"]) == (0, 0)
    lost = "no event in it is lost" if nothing else f"{_numbers(it)} cannot be read"
    return f"{_spaced(it['fault'])} in sector {it['sector']}; {lost}"


def _updated(it: Fields) -> str:
    return f"firmware {it['firmware']} confirmed, build {_short(it['build'])}"


def _update_undone(it: Fields) -> str:
    return f"build {_short(it['build'])} was tried and given up"


def _provisioned(it: Fields) -> str:
    return f"for table {it['table']}, card set {it['set']}"


def _wrong_macs(it: Fields) -> str:
    return f"{counted(it['count'], 'command')} with a wrong MAC since the start"


def _debug_opened(it: Fields) -> str:
    return "the unit restarts with MicroPython's prompt"


def _long_pass(it: Fields) -> str:
    card = "sealed card" if it["card"] is None else card_symbol(it["card"])
    return f"{card}, {it['longer_um'] / 1000:g} mm longer than one card"


def _ghost_hand(it: Fields) -> str:
    return f"dealt without wagers: ghost hand {it['count']} of this shoe of cards"


def _seal(it: Fields) -> str:
    return f"cards lie face down from here; commitment {_short(it['commitment'])}"


def _sealed_card(it: Fields) -> str:
    by_hand = ", entered by hand" if it["by_hand"] else ""
    card = "" if it.get("card") is None else f"{card_symbol(it['card'])}, "
    return (
        f"{card}sealed card {it['place'] + 1}, {_position(it['position'])}{by_hand}, "
        f"{_short(it['sealed'])}{_pass(it)}"
    )


def _unsealed(it: Fields) -> str:
    if it["seal_key"]:
        return f"by key {_short(it['seal_key'])}"
    return "never: the cards that no key has opened stay unknown"


def _seat_seal(it: Fields) -> str:
    if not it["seat"]:
        return f"the burned cards have a key of their own; commitment {_short(it['commitment'])}"
    return f"seat {it['seat']} has a key of its own; commitment {_short(it['commitment'])}"


def _seat_unsealed(it: Fields) -> str:
    return f"{_seat_name(it)}, which showed: by key {_short(it['seat_key'])}"


def _seal_escrow(it: Fields) -> str:
    return (
        f"the key of this round for both halves of the escrow: {_short(it['sealed_key'])}, "
        f"with {_short(it['public'])}"
    )


def _seat_name(it: Fields) -> str:
    return f"seat {it['seat']}" if it["seat"] else "the burned cards"


def _hand_of(it: Fields) -> str:
    return f"box {it['box']} hand {it['hand']}"


def _total_of(it: Fields, name: str = "total") -> str:
    return f"soft {it[name]}" if it["soft"] else f"{it[name]}"


def _play(it: Fields) -> str:
    return f"{_hand_of(it)} {it['action']} on {_total_of(it)}"


def _looked(it: Fields) -> str:
    return "dealer blackjack" if it["blackjack"] else "no blackjack"


def _hand_result(it: Fields) -> str:
    return f"{_hand_of(it)} {it['outcome']}, total {_total_of(it)}"


def _blackjack_result(it: Fields) -> str:
    total = _total_of(it, "dealer_total")
    dealer = f"the dealer has {total} with {counted(it['cards'], 'card')}"
    return f"{dealer}; game {_short(it['game'])}"


def _hand_begun(it: Fields) -> str:
    return f"of hold'em, {counted(it['seats'], 'seat')} dealt in"


def _betting_ended(it: Fields) -> str:
    return "before the flop" if it["street"] == "preflop" else f"on the {it['street']}"


def _run_twice(it: Fields) -> str:
    return f"from the {it['street']} on"


def _hand_ended(it: Fields) -> str:
    boards = " and ".join(map(_board, filter(None, (it["board"], it["second"]))))
    seats = counted(it["seats"], "seat")
    return f"{seats}, board {boards or 'not dealt'}, game {_short(it['game'])}"


def _board(board: str) -> str:
    numbers = bytes.fromhex(board)
    return " ".join(card_symbol(_NAMES[n]) if n < len(_NAMES) else str(n) for n in numbers)


_RESOLUTIONS = {
    "entered": "entered from its face",
    "as_read": "taken as it was read",
    "drawn_again": "put aside, the next card is drawn in its place",
    "unseen": "left face down, unseen",
    "void": "the round is voided",
}
_ENDED_BY = {
    "cut_card": "the cut card",
    "supervisor": "the supervisor",
    "restart": "a restart",
}
_WORDS: dict[str, Callable[[Fields], str]] = {
    "boot": _boot,
    "lid": _lid,
    "key": _key,
    "service": _service,
    "button": _button,
    "shoe_loaded": _shoe_loaded,
    "burn": _burn,
    "betting_open": _betting_open,
    "betting_closed": _betting_closed,
    "card": _card,
    "unreadable": _unreadable,
    "decision": _decision,
    "result": _result,
    "round_void": _round_void,
    "lock": _lock,
    "error": _error,
    "error_cleared": _error_cleared,
    "cut_card": _cut_card,
    "shoe_ended": _shoe_ended,
    "gap": _gap,
    "game_loaded": _game_loaded,
    "identified": _identified,
    "resolved": _resolved,
    "composition": _composition,
    "clean_sensor": _clean_sensor,
    "calibrated": _calibrated,
    "checkpoint": _checkpoint,
    "journal_fault": _journal_fault,
    "updated": _updated,
    "update_undone": _update_undone,
    "provisioned": _provisioned,
    "wrong_macs": _wrong_macs,
    "debug_opened": _debug_opened,
    "ghost_hand": _ghost_hand,
    "long_pass": _long_pass,
    "seal": _seal,
    "sealed_card": _sealed_card,
    "unsealed": _unsealed,
    "seat_seal": _seat_seal,
    "seat_unsealed": _seat_unsealed,
    "seal_escrow": _seal_escrow,
    "play": _play,
    "looked": _looked,
    "hand_result": _hand_result,
    "blackjack_result": _blackjack_result,
    "hand_begun": _hand_begun,
    "betting_ended": _betting_ended,
    "run_twice": _run_twice,
    "hand_ended": _hand_ended,
}


def _position(position: str) -> str:
    hand, _, number = position.partition("_")
    if hand in enums.HANDS:
        return f"{hand.capitalize()}'s {_ORDINALS[number]} card"
    return {"burn_first": "first card, face up", "burn": "burned"}.get(position, _spaced(position))


def _pass(it: Fields, *, always: bool = True) -> str:
    """The figures of a pass; nothing if it has none, unless `always`."""
    figures = it["speed_mm_s"], it["margin_permille"], it["skew_um"], it["samples"]
    if not (always or any(figures)):
        return ""
    speed, margin, skew, samples = figures
    if not margin:  # of a sealed card: it would depend on the card
        return f"; {speed} mm/s, {counted(samples, 'sample')}"
    return (
        f"; {speed} mm/s, margin {_percent(margin)}, skew {skew} µm, {counted(samples, 'sample')}"
    )


def _cause(it: Fields) -> str:
    return "" if it["fault"] == "none" else f" ({_spaced(it['fault'])})"


def _numbers(it: Fields) -> str:
    if it["first"] == it["last"]:
        return f"event {it['first']}"
    return f"events {it['first']} to {it['last']}"


def _spaced(name: str) -> str:
    return name.replace("_", " ")


def _percent(permille: int) -> str:
    return f"{permille / 10:.1f} %"


def _short(digits: str) -> str:
    return digits[:_HASH_DIGITS]
