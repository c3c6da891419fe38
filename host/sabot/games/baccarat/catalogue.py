"""The games of the rule documents: what each document lets a house choose, with its clauses.

The documents, by the names under which clauses are cited:

- "washington": Washington State Gambling Commission, Mini-Baccarat Game Rules, 4/12/2022; items;
- "pairs": "Mini Baccarat" with Player pair and Banker pair; paragraphs;
- "maryland": Maryland State Lottery and Gaming Control Agency, Standard Rules, Mini Baccarat and
  Midi Baccarat, which number their clauses alike; only chapters 1, 2, 7, 11 and 12 were available;
- "pennsylvania": "Mini & Midi Baccarat, Dragon Bonus, 5 Treasures", for the PGCB; paragraphs.
"""

from collections.abc import Mapping

from sabot.errors import UnknownGame, did_you_mean
from sabot.games.baccarat import limits
from sabot.games.baccarat.house_game import HouseGame
from sabot.games.baccarat.wagers import TREASURES_PAY
from sabot.games.choices import ALL, MOST_CENTS, OVER, Choice
from sabot_protocol import baccarat as baccarat_game
from sabot_protocol import games as documents

_SILENT = "not in the document"
_PRACTICE = f"{_SILENT}: common practice"


_ANY_FLAG = (True, False)
_DEALER, _PLAYERS = baccarat_game.TURNED_BY
_AT_ONCE, _AFTER_REVEAL = documents.SHOWN
_FIRST_CARD, _NO_MORE_BETS = documents.BETTING_CLOSED_BY
_RATE, _NO_RATE = 50, 0
"""Permille of the amount won."""

_ROUNDINGS = ("exact", "up_25")
_TIMES = ("at_once", "marked")
_AREAS = range(1, 10)
_MOST_GHOST_HANDS = 99
_CENTS = range(1, MOST_CENTS + 1)

_PRACTICES = (
    Choice("burn", "by_first", documents.BURNS, _PRACTICE, ALL),
    Choice("burn_ace", 1, range(1, 12), _PRACTICE, ALL),
    Choice("cut_from_end", 16, range(1, 105), _PRACTICE, ALL),
    Choice("rounds_after_cut", 1, range(3), _PRACTICE, ALL),
    Choice("minimum_cents", 1_000, _CENTS, _PRACTICE, ALL),
    Choice("maximum_cents", 500_000, _CENTS, _PRACTICE, ALL),
    Choice("limits_cents", "", ("",), f"{_PRACTICE}, for single wagers", ALL, limits.FORM),
)
"""Choices that no document covers. The bounds of the first four are the shoe's (sabot_protocol)."""

_TIE_PAYS = (8, 9)
"""At 10 to 1 the house would lose: a tie comes in 9.5 % of rounds."""

_WASHINGTON = (
    Choice("decks", 8, range(2, 9), "item 1: a multiple deck shoe using up to 8 decks"),
    Choice("announced", True, _ANY_FLAG, "item 5: internal controls determine announcing"),
    Choice(
        "betting_closed_by",
        _FIRST_CARD,
        (_FIRST_CARD,),
        "item 3: once the first card is dealt, bets may not be changed",
    ),
    Choice("tie_pays", 8, _TIE_PAYS, "item 8: tie bets pay at least 8 to 1", OVER),
    Choice("vigorish_permille", _RATE, range(_RATE + 1), "item 8: a commission of up to 5%"),
    Choice("vigorish_rounding", "exact", ("exact",), "item 8: up to 5%, which rounding exceeds"),
    Choice("vigorish_when", "at_once", _TIMES, _SILENT),
    Choice("pairs", False, (False,), "item 2: the positions are Player, Banker, and Tie"),
    Choice("dragon_bonus", "none", ("none",), "item 2: the positions are Player, Banker, and Tie"),
    Choice("treasures", False, (False,), "item 2: the positions are Player, Banker, and Tie"),
    Choice("areas", 9, _AREAS, "item 2: up to nine areas"),
    Choice("gallery", True, _ANY_FLAG, "items 2 and 4: licensees may permit gallery betting"),
    Choice(
        "ghost_hands",
        3,
        range(_MOST_GHOST_HANDS + 1),
        "Ghost hands: the house determines how many",
        OVER,
    ),
    *_PRACTICES,
)

_PAIRS = (
    Choice("decks", 8, (8,), "paragraph 1: played with eight decks dealt from a shoe"),
    Choice("announced", True, _ANY_FLAG, _SILENT),
    Choice(
        "betting_closed_by",
        _FIRST_CARD,
        (_FIRST_CARD,),
        "paragraph 2: before cards are dealt, a player may wager",
    ),
    Choice("tie_pays", 8, (8,), "paragraph 2: Tie wagers pay 8 to 1"),
    Choice("vigorish_permille", _RATE, (_RATE,), "paragraph 2: a 5% commission"),
    Choice("vigorish_rounding", "exact", ("exact",), "paragraph 2: a 5% commission"),
    Choice("vigorish_when", "at_once", _TIMES, _SILENT),
    Choice("pairs", True, _ANY_FLAG, "paragraph 2: an optional banker/player pair side bet"),
    Choice("dragon_bonus", "none", ("none",), "paragraph 2: no such wager among those named"),
    Choice("treasures", False, (False,), "paragraph 2: no such wager among those named"),
    Choice("areas", 9, _AREAS, _PRACTICE, ALL),
    Choice("gallery", False, (False,), f"{_SILENT}: no line wagers"),
    Choice("ghost_hands", 0, (0,), f"{_SILENT}: no ghost hands"),
    *_PRACTICES,
)

_NOT_IN_MARYLAND = "Chapter 7 A: not among the permissible wagers"

_MARYLAND_ANY = (
    Choice(
        "betting_closed_by",
        _NO_MORE_BETS,
        (_NO_MORE_BETS,),
        'Chapter 7 D: no wager after the dealer has announced "no more bets"',
    ),
    Choice("decks", 8, range(1, 9), _PRACTICE, ALL),
    Choice("announced", True, (True,), "Chapter 11 A: the dealer shall announce the Point Count"),
    Choice("tie_pays", 8, _TIE_PAYS, "Chapter 12 B: odds of at least 8 to 1", OVER),
    Choice("pairs", False, (False,), _NOT_IN_MARYLAND),
    Choice("dragon_bonus", "A", ("none", "A", "B", "C"), "Chapters 7 A(4), 12 F"),
    Choice("natural_tie", "push", ("push",), "Chapters 7 A(4)(c), 12 F(1)(h)"),
    Choice("treasures", False, (False,), _NOT_IN_MARYLAND),
    Choice("areas", 9, _AREAS, "Chapter 2 A(1): no more than nine seated players"),
    Choice("gallery", False, (False,), "Chapter 2 A(1): positions for seated players"),
    Choice("ghost_hands", 0, (0,), f"{_SILENT}: no ghost hands"),
    *_PRACTICES,
)

_EQUAL = ("highest_seat", "lowest_seat", "dealer")
_HANDLER = Choice(
    "equal_largest", "highest_seat", _EQUAL, f"{_SILENT}: who turns a hand if wagers are equal", ALL
)

_MARYLAND = (
    Choice("vigorish_permille", _RATE, (_RATE,), "Chapter 12 C: equal to 5 percent"),
    Choice("vigorish_rounding", "exact", _ROUNDINGS, "Chapter 12 D(1)"),
    Choice("vigorish_when", "at_once", _TIMES, "Chapter 12 D(2)"),
    *_MARYLAND_ANY,
)

_NO_VIGORISH = "Chapter 1 B(2): in EZ Baccarat vigorish is not collected"

_EZ = (
    Choice("vigorish_permille", _NO_RATE, (_NO_RATE,), _NO_VIGORISH),
    Choice("vigorish_rounding", "exact", ("exact",), _NO_VIGORISH),
    Choice("vigorish_when", "at_once", ("at_once",), _NO_VIGORISH),
    *_MARYLAND_ANY,
)

_MIXED = "blazing_7s_mixed"
_TREASURES = tuple(
    Choice(
        f"{prize}_pays",
        to_one,
        range(prize != _MIXED, 1001),
        f"5 Treasures Bonus: {'no mixed 7s among the wins' if prize == _MIXED else 'no amount'}",
        ALL,
    )
    for prize, to_one in TREASURES_PAY.items()
)
"""A prize that pays 0 would not be a prize."""

_PENNSYLVANIA = (
    Choice("decks", 8, (8,), "paragraph 1: eight decks of cards are used"),
    Choice(
        "betting_closed_by",
        _NO_MORE_BETS,
        (_NO_MORE_BETS,),
        'paragraph 2: after announcing "no more bets", the game starts',
    ),
    Choice("announced", True, _ANY_FLAG, _SILENT),
    Choice("tie_pays", 8, (8,), "paragraph 1: a winning tie bet pays 8 to 1"),
    Choice("vigorish_permille", _RATE, (_RATE,), "paragraph 1: a 5% commission"),
    Choice("vigorish_rounding", "exact", ("exact",), "paragraph 1: a 5% commission"),
    Choice("vigorish_when", "at_once", ("at_once",), "paragraph 1: as each wager is settled"),
    Choice("pairs", False, (False,), f"{_SILENT}: no pair wagers"),
    Choice("dragon_bonus", "A", ("none", "A"), "Dragon Bonus: its paytable is Maryland's A"),
    Choice(
        "natural_tie",
        "push",
        ("push", "lose"),
        f"{_SILENT}: as Maryland, Chapter 12 F(1)(h)",
    ),
    Choice("treasures", True, _ANY_FLAG, "5 Treasures Bonus"),
    *_TREASURES,
    Choice("areas", 9, _AREAS, _PRACTICE, ALL),
    Choice("gallery", False, (False,), f"{_SILENT}: no line wagers"),
    Choice("ghost_hands", 0, (0,), f"{_SILENT}: no ghost hands"),
    *_PRACTICES,
)

_BASE = ("player", "banker", "tie")
_EZ_WAGERS = (*_BASE, "dragon_7", "panda_8")

_MD_MINI = "Maryland State Lottery and Gaming Control Agency, Standard Rules - Mini Baccarat"
_MD_MIDI = "Maryland State Lottery and Gaming Control Agency, Standard Rules - Midi Baccarat"
_PGCB = "Mini & Midi Baccarat, Dragon Bonus, 5 Treasures, for the Pennsylvania Gaming Control Board"

_WASHINGTON_CLAUSES = {
    "order": "item 5",
    "draws": "items 9 and 10, Player Hand Rules, Banker Hand Rules",
}
_PAIRS_CLAUSES = {
    "order": _PRACTICE,
    "draws": "Natural, Player First Two Cards, The Third Card Rule",
}
_MARYLAND_CLAUSES = {
    "order": "Chapter 8, not at hand; as Washington, item 5",
    "draws": "Chapter 10, not at hand; as Washington, items 9 and 10",
}
_PENNSYLVANIA_CLAUSES = {
    "order": "paragraph 2",
    "draws": "paragraph 2, charts Player and Banker",
}


def _turned(by: str, shown: str, clause: str) -> tuple[Choice, ...]:
    """The choices of a document that leaves none about who turns the cards."""
    return (
        Choice("turned_by", by, (by,), clause),
        Choice("shown", shown, (shown,), clause),
        *((_VOIDED_CARDS,) if shown == _AFTER_REVEAL else ()),
    )


_VOIDED_CARDS = Choice(
    "voided_cards",
    "opened",
    ("opened", "never"),
    f"{_SILENT}: whether the cards of a void round, which lay face down, are ever to be known",
)

_WA_TURNED = (
    Choice(
        "turned_by",
        _DEALER,
        baccarat_game.TURNED_BY,
        'item 5: the dealer turns the cards up only "if applicable"',
    ),
    Choice("shown", _AT_ONCE, documents.SHOWN, "item 5: face down, face up, or any combination"),
    _VOIDED_CARDS,
)
_PAIRS_TURNED = (
    Choice("turned_by", _DEALER, (_DEALER,), "paragraph 1: all cards are dealt by the dealer"),
    Choice("shown", _AT_ONCE, documents.SHOWN, f"{_SILENT}: how the cards lie"),
    _VOIDED_CARDS,
)
_NOT_AT_HAND = "not at hand; as Pennsylvania, paragraph 2"
_MD_BY_DEALER = _turned(_DEALER, _AT_ONCE, _NOT_AT_HAND)
_MD_BY_PLAYERS = _turned(_PLAYERS, _AFTER_REVEAL, _NOT_AT_HAND)
_PA_BY_DEALER = _turned(
    _DEALER, _AT_ONCE, "paragraph 2: in Mini Baccarat the dealer handles and reveals all cards"
)
_PA_BY_PLAYERS = _turned(
    _PLAYERS, _AFTER_REVEAL, "paragraph 2: in Midi Baccarat a player handles and reveals the cards"
)

GAMES = (
    HouseGame(
        baccarat_game.MINI_NAME, "Mini baccarat", "washington", str(baccarat_game.MINI["source"]),
        _BASE, (*_WA_TURNED, *_WASHINGTON), _WASHINGTON_CLAUSES,
    ),
    HouseGame(
        "mini-pairs", "Mini baccarat with pairs", "pairs",
        "Mini Baccarat, rules with Player pair and Banker pair",
        _BASE, (*_PAIRS_TURNED, *_PAIRS), _PAIRS_CLAUSES,
    ),
    HouseGame(
        "md-mini", "Maryland mini baccarat", "maryland", _MD_MINI,
        _BASE, (*_MD_BY_DEALER, *_MARYLAND), _MARYLAND_CLAUSES,
    ),
    HouseGame(
        "md-midi", "Maryland midi baccarat", "maryland", _MD_MIDI,
        _BASE, (*_MD_BY_PLAYERS, *_MARYLAND, _HANDLER), _MARYLAND_CLAUSES,
    ),
    HouseGame(
        "ez-mini", "Maryland EZ mini baccarat", "maryland", _MD_MINI,
        _EZ_WAGERS, (*_MD_BY_DEALER, *_EZ), _MARYLAND_CLAUSES,
    ),
    HouseGame(
        "ez-midi", "Maryland EZ midi baccarat", "maryland", _MD_MIDI,
        _EZ_WAGERS, (*_MD_BY_PLAYERS, *_EZ, _HANDLER), _MARYLAND_CLAUSES,
    ),
    HouseGame(
        "pa-mini", "Pennsylvania mini baccarat", "pennsylvania", _PGCB,
        _BASE, (*_PA_BY_DEALER, *_PENNSYLVANIA), _PENNSYLVANIA_CLAUSES,
    ),
    HouseGame(
        "pa-midi", "Pennsylvania midi baccarat", "pennsylvania", _PGCB,
        _BASE, (*_PA_BY_PLAYERS, *_PENNSYLVANIA, _HANDLER), _PENNSYLVANIA_CLAUSES,
    ),
)  # fmt: skip
"""Every game, with the name that `sabot games` and a shoe use for it."""


def find_game(name: str) -> HouseGame:
    """Return the game with this name. Raises UnknownGame, which suggests the nearest name."""
    for game in GAMES:
        if game.name == name:
            return game
    names = [game.name for game in GAMES]
    hint = did_you_mean(name, names)
    of_houses = [each for each in names if each.endswith(f"-{name.lower()}")]
    if of_houses and name.lower() not in names:  # midi is md-midi and others
        hint = f"did you mean {' or '.join(of_houses)}?"
    raise UnknownGame(f"unknown game {name!r}; {hint}")


def document(name: str, choices: Mapping[str, object] = {}) -> bytes:
    """Return the document of a game with the house's choices: `HouseGame.document`.

    Raises UnknownGame, and Forbidden as that does.
    """
    return find_game(name).document(choices)
