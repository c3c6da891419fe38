"""The words of a search: what a round can have as an outcome, how people say it, and a query said
back to them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import tzinfo

from sabot.floor.rounds.indexed_round import (
    BANKER_DREW,
    DEALER_BLACKJACK,
    DEALER_BUST,
    DOUBLED,
    NATURAL,
    PLAYER_DREW,
    RUN_TWICE,
    SPLIT,
)
from sabot.floor.rounds.search import ANY, Query
from sabot.games.baccarat.wagers import STANDARD, WAGERS
from sabot.games.blackjack.side_wagers import SIDE
from sabot.notable.kinds import SEARCHED
from sabot.table_time import text_of
from sabot.text import card_symbol, spaced
from sabot_protocol import enums

BACCARAT, OF_WAGERS, OF_BLACKJACK, OF_HOLDEM = "Baccarat", "Wagers", "Blackjack", "Hold'em"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a round can have, and under which heading it is listed."""

    title: str
    group: str


def _title(name: str) -> str:
    return spaced(name).capitalize()


def _all_outcomes() -> dict[str, Outcome]:
    found = {
        NATURAL: Outcome("Natural", BACCARAT),
        PLAYER_DREW: Outcome("Player drew a third card", BACCARAT),
        BANKER_DREW: Outcome("Banker drew a third card", BACCARAT),
    }
    found |= {hit: Outcome(_title(hit), BACCARAT) for hit in enums.HITS}
    for name, wager in WAGERS.items():
        if name not in (*STANDARD, *found):
            found[name] = Outcome(f"{wager.title} wins", OF_WAGERS)
    for wager in WAGERS.values():
        for prize in wager.prizes:
            if prize.name not in (*STANDARD, *found):
                found[prize.name] = Outcome(f"{wager.title}: {spaced(prize.name)}", OF_WAGERS)
    for name in enums.OUTCOMES:
        title = "a blackjack" if name == "blackjack" else spaced(name)
        found[name] = Outcome(f"A hand: {title}", OF_BLACKJACK)
    found[DOUBLED] = Outcome("A hand was doubled", OF_BLACKJACK)
    found[SPLIT] = Outcome("A box was split", OF_BLACKJACK)
    found[DEALER_BLACKJACK] = Outcome("Dealer blackjack", OF_BLACKJACK)
    found[DEALER_BUST] = Outcome("Dealer bust", OF_BLACKJACK)
    for name, side in SIDE.items():
        found[name] = Outcome(f"{side.title} wins", OF_BLACKJACK)
    found[RUN_TWICE] = Outcome("Run twice", OF_HOLDEM)
    return found


OUTCOMES: Mapping[str, Outcome] = _all_outcomes()
"""By the word that the index has in a round's outcomes. A wager is there if it won."""

_SAID = {
    "any incident": ("incident", "any"),
    "an incident": ("incident", "any"),
    "incidents": ("incident", "any"),
    "with incident": ("incident", "any"),
    "by hand": ("by_hand", ""),
    "entered by hand": ("by_hand", ""),
    "hand entered": ("by_hand", ""),
    "void": ("void", ""),
    "voided": ("void", ""),
    "misdeal": ("void", ""),
    "ghost": ("ghost", ""),
    "ghost hand": ("ghost", ""),
    "naturals": ("outcome", NATURAL),
    "surrender": ("outcome", "surrendered"),
    "blackjacks": ("outcome", "blackjack"),
    "double": ("outcome", DOUBLED),
    "splits": ("outcome", SPLIT),
    "dealer busts": ("outcome", DEALER_BUST),
    "doubled down": ("outcome", DOUBLED),
}


def _all_phrases() -> dict[str, tuple[str, str]]:
    found = {}
    for name in OUTCOMES:
        found[spaced(name)] = found[name] = ("outcome", name)
        if name in WAGERS or name in SIDE:
            title = WAGERS[name].title if name in WAGERS else SIDE[name].title
            found[title.lower()] = ("outcome", name)
    for kind in SEARCHED:
        found[f"incident {spaced(kind)}"] = ("incident", kind)
        found.setdefault(spaced(kind), ("incident", kind))
    for winner in enums.WINNERS:
        for said in (
            winner, f"{winner} wins", f"{winner} won", f"won by {winner}", f"winner {winner}",
            f"{winner} win",
        ):  # fmt: skip
            found[said] = ("winner", winner)
    for side, drew in (("player", PLAYER_DREW), ("banker", BANKER_DREW)):
        for said in ("draws", "drew a third card", "draws a third card", "third card"):
            found[f"{side} {said}"] = ("outcome", drew)
    return found | _SAID


PHRASES: Mapping[str, tuple[str, str]] = _all_phrases()
"""What people say, in small letters: which field of a query that is, and its value."""


def in_words(query: Query, zone: tzinfo) -> str:
    """Return a query for people, with its times in full: what was understood."""
    parts = []
    begin, end = query.begin_unix_ms, query.end_unix_ms
    if begin is not None and end is not None:
        parts.append(f"{text_of(begin, zone)} to {text_of(end, zone)}")
    elif begin is not None:
        parts.append(f"from {text_of(begin, zone)}")
    elif end is not None:
        parts.append(f"before {text_of(end, zone)}")
    for name in ("table", "unit", "shoe", "round"):
        value = getattr(query, name)
        parts += [f"{name} {value}"] * (value is not None)
    parts += [f"cards {' '.join(map(card_symbol, query.cards))}"] * bool(query.cards)
    parts += [f"won by {query.winner}" if query.winner != "tie" else "tie"] * bool(query.winner)
    parts += [OUTCOMES[each].title for each in query.outcomes]
    if query.incident is not None:
        is_any = query.incident == ANY
        parts.append("any incident" if is_any else f"incident: {spaced(query.incident)}")
    parts += ["a card entered by hand"] * query.by_hand
    parts += ["void"] * query.void + ["ghost hand"] * query.ghost
    return ", ".join(parts)
