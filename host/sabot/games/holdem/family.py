"""Hold'em as a family of games: what the commands ask of it.

The modules that settle import PokerKit, which takes half a second: a settled hand waits for it, and
nothing else.
"""

from collections.abc import Mapping
from typing import NoReturn

from sabot.errors import BadWagers, Misused, UnknownGame
from sabot.games.dealt_game import DealtGame
from sabot.games.family import (
    Answer,
    Family,
    FoundRound,
    Settled,
    Steps,
    ToScore,
    ToSettle,
)
from sabot.games.holdem.hand_file import HandFile, read
from sabot.games.holdem.house import NAME
from sabot.games.holdem.logged import with_cards
from sabot.games.holdem.players import HoldemPlayers
from sabot.games.holdem.shoe_game import GAME, house_in
from sabot.games.json_fields import in_file
from sabot.log.families.hands import Hand
from sabot_protocol import games
from sabot_protocol.holdem import HoldemGame

_FORMAT = "format: host/sabot/games/holdem/README"


def _find_game(name: str) -> DealtGame:
    if name != GAME.name:
        raise UnknownGame(f"unknown game {name!r}; did you mean {GAME.name}?")
    return GAME


def _card(name: str, chosen: Mapping[str, object]) -> Answer:
    """What a house chooses, of the shoe and of the cashier."""
    from sabot.games.holdem.shown_as import rule_card

    listed = _find_game(name)
    card = listed.card_json(chosen)
    return Answer(lambda: card, lambda: rule_card.card_lines(listed, chosen))


def _sign(name: str, chosen: Mapping[str, object]) -> str:
    raise Misused("--sign is for the games of baccarat")


def _check_settle(asked: ToSettle) -> None:
    if asked.path is None:
        raise Misused(f"name a HAND.json; {_FORMAT}")
    if asked.lines or asked.round_named:
        raise Misused("a hand of poker is in its file; leave out --wager and --round")


def _settle(asked: ToSettle) -> Settled:
    """Settle the hand of a HAND.json; with the cards, and the choices of the house, of a log."""
    from sabot.games.holdem.settle import settle
    from sabot.games.holdem.shown_as import lines, slip
    from sabot.games.holdem.shown_as.phh import phh_of

    assert asked.path is not None
    path, hand = asked.path, read(asked.path)
    found: FoundRound | None = None
    if asked.from_log:
        with asked.find() as found:
            hand = _with_cards(asked, hand, found)
    dealt = found.dealt if found is not None and isinstance(found.dealt, Hand) else None
    with in_file(path):
        settled = settle(hand)

    def phh() -> str:
        with in_file(path):
            return phh_of(hand, settled)

    return Settled(
        settled.as_json,
        lambda: lines.settled_lines(settled),
        lambda: slip.render(hand, settled, dealt),
        found,
        phh=phh,
    )


def _with_cards(asked: ToSettle, hand: HandFile, found: FoundRound) -> HandFile:
    dealt = found.dealt
    assert isinstance(dealt, Hand)
    document = None if dealt.game is None else found.store.game(dealt.game)
    game = None if document is None else games.game_of(document)
    house = house_in(game) if isinstance(game, HoldemGame) else {}
    with in_file(asked.path):
        return with_cards(hand, dealt, house)


def _no_odds() -> NoReturn:
    raise UnknownGame(
        f"there are no odds and no scores of {NAME} here; `sabot settle --game {NAME} "
        "HAND.json` settles a hand"
    )


def _score_cards(asked: ToScore) -> Answer | None:
    if asked.boxes or asked.dealer is not None:
        raise Misused("--box and --dealer are for --game blackjack")
    if (asked.player is None) != (asked.banker is None):
        raise Misused("give --player and --banker, or neither for a round of the log")
    if asked.player is not None and asked.picks_round:
        raise Misused("cards are given; leave out --unit, --table, --shoe and --round")
    _no_odds()


def _score_round(found: FoundRound, asked: ToScore) -> Answer:
    dealt = found.dealt
    raise BadWagers(f"{dealt.unit} shoe {dealt.shoe} round {dealt.round}: {FAMILY.instead}")


def _odds(name: str, chosen: Mapping[str, object], decks: int | None, steps: Steps) -> Answer:
    _no_odds()


FAMILY = Family(
    name=games.HOLDEM,
    rounds=Hand,
    called="hands",
    instead="a hand of hold'em; `sabot settle --game holdem HAND.json` settles it",
    games=(GAME,),
    find_game=_find_game,
    file_key="seats",
    file_instead="it has a hand of hold'em; settle it with --game holdem",
    players=HoldemPlayers,
    cards_after_cut=lambda game, usual: None,
    marks={},
    card=_card,
    sign=_sign,
    check_settle=_check_settle,
    settle=_settle,
    score_cards=_score_cards,
    score_round=_score_round,
    odds=_odds,
    writes_phh=True,
)
