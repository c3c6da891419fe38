"""Wagers as people write them on one line: "3 banker 100", "line 2 Ann player 50 tie 5"."""

import re
from collections.abc import Sequence

from sabot.errors import BadWagers, did_you_mean
from sabot.games.baccarat.wager_file import Area, Position, WagerFile
from sabot.games.json_fields import MAX_CENTS, MAX_NAME, MAX_NUMBER
from sabot.text import amount, shortened
from sabot_protocol.baccarat import HITS_OF_WAGER

_FORM = "write SEAT [PLAYER] WAGER AMOUNT, as in 3 banker 100"
_AREA = re.compile(r"(?:(seat|line)\s+)?([0-9]{1,9})(?:\s+|$)", re.IGNORECASE)
_AMOUNT = re.compile(r"([0-9]{1,12}|[0-9]{1,3}(?:,[0-9]{3}){1,3})(?:\.([0-9]{2}))?")


def wagers_of(lines: Sequence[str]) -> WagerFile:
    """The wagers on the lines, as WAGERS.json would have them. Lines of one player in one area are
    one position. Raises BadWagers.
    """
    wagers: dict[tuple[Area, str], dict[str, int]] = {}
    for line in lines:
        try:
            area, player, placed = _parsed(line)
            of_player = wagers.setdefault((area, player), {})
            for name, cents in placed:
                if name in of_player:
                    raise BadWagers(f"{name} of {player} is given twice; add them up")
                of_player[name] = cents
        except BadWagers as error:
            raise BadWagers(f"--wager {shortened(line, MAX_NAME)!r}: {error}") from None
    positions = [Position(area, player, placed) for (area, player), placed in wagers.items()]
    return WagerFile(tuple(positions))


def _parsed(line: str) -> tuple[Area, str, list[tuple[str, int]]]:
    """The area, the player, and each wager with its cents. A player without a name is called as the
    area."""
    begin = _AREA.match(line.strip())
    if begin is None:
        raise BadWagers(f"it begins with no seat or line; {_FORM}")
    area = Area((begin[1] or "seat").lower(), int(begin[2]))
    if area.number > MAX_NUMBER:
        raise BadWagers(f"{area} is above {MAX_NUMBER}, the highest that there can be")
    words = line.strip()[begin.end() :].split()
    placed: list[tuple[str, int]] = []
    while len(words) > 1 and (words[-1][-1].isdecimal() or _is_wager(words[-2])):
        cents = _cents(words.pop())
        placed.insert(0, (_wager(words.pop()), cents))
    if not placed:
        raise BadWagers(f"no wager with its amount at the end; {_FORM}")
    player = " ".join(words) or str(area)
    if len(player) > MAX_NAME or not player.isprintable():
        raise BadWagers(f"the player's name must be 1 to {MAX_NAME} characters; shorten it")
    return area, player, placed


def _is_wager(word: str) -> bool:
    return _name_in(word) in HITS_OF_WAGER


def _name_in(word: str) -> str:
    return word.lower().replace("-", "_")


def _wager(word: str) -> str:
    name = _name_in(word)
    if name not in HITS_OF_WAGER:
        word = shortened(word, MAX_NAME)
        raise BadWagers(f"{word!r} is not a wager; {did_you_mean(name, tuple(HITS_OF_WAGER))}")
    return name


def _cents(word: str) -> int:
    found = _AMOUNT.fullmatch(word)
    cents = int(found[1].replace(",", "") + (found[2] or "00")) if found else 0
    if not 0 < cents <= MAX_CENTS:
        most = amount(MAX_CENTS)
        word = shortened(word, MAX_NAME)
        raise BadWagers(f"{word!r} is not an amount from 0.01 to {most}; write 100 or 12.50")
    return cents
