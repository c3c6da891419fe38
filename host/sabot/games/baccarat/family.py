"""Baccarat as a family of games: what the commands ask of it.

What needs a log or a terminal is imported where it is used: listing games should not wait for it.
"""

from collections.abc import Mapping

from sabot.errors import GameDiffers, ImpossibleDeal, Misused
from sabot.games.baccarat import catalogue, wager_file
from sabot.games.baccarat.house_game import chosen_in
from sabot.games.baccarat.score import Score, score
from sabot.games.baccarat.settle import InShoe, settle
from sabot.games.baccarat.wager_file import GivenRound, WagerFile
from sabot.games.baccarat.wager_line import wagers_of
from sabot.games.baccarat.wagers import MARKS, outcome_of
from sabot.games.choices import value_text
from sabot.games.family import (
    Answer,
    Family,
    FoundRound,
    Settled,
    Steps,
    ToScore,
    ToSettle,
)
from sabot.games.json_fields import in_file
from sabot.log.rounds import Round
from sabot.text import card_names
from sabot_protocol import games
from sabot_protocol.baccarat import MINI_NAME, Game


def _game(name: str, chosen: Mapping[str, object]) -> Game:
    """Return the game with the house's choices. Raises UnknownGame, Forbidden."""
    return Game(catalogue.document(name, chosen))


def _card(name: str, chosen: Mapping[str, object]) -> Answer:
    """The deal, the wagers and the choices, each with its clause."""
    from sabot.games.baccarat import shown

    house_game = catalogue.find_game(name)
    game = _game(name, chosen)

    def as_json() -> dict[str, object]:
        card = house_game.as_json(game) | {"sha256": game.sha256.hex()}
        for choice in card["choices"]:
            choice["chosen"] = chosen_in(game, choice["name"])
        return card

    return Answer(as_json, lambda: shown.card_lines(house_game, game, chosen))


def _sign(name: str, chosen: Mapping[str, object]) -> str:
    from sabot.games.baccarat import sign

    return sign.render(_game(name, chosen))


def _check_settle(asked: ToSettle) -> None:
    if (asked.path is None) == (not asked.lines):
        raise Misused("name a file of wagers or give --wager '3 banker 100', not both")


def _settle(asked: ToSettle) -> Settled:
    """Settle wagers on a round that the file has, or a log with the game that dealt it."""
    from sabot.games.baccarat import shown, slip
    from sabot.log.dealt import game_of
    from sabot.log.reading.rounds import json_of
    from sabot.table_time import HostZone

    on_table = wagers_of(asked.lines) if asked.path is None else wager_file.read(asked.path)
    named = _named_game(asked, on_table)
    found: FoundRound | None = None
    in_shoe: InShoe | None = None
    given = on_table.round
    if given is None:
        with asked.find() as found:
            played, in_shoe = game_of(found.store, _round_of(found), named), _in_shoe(found)
        if named is None:
            _check_house(asked, on_table, played)
        dealt = _round_of(found)
        given = GivenRound(tuple(dealt.player), tuple(dealt.banker), dealt.void)
    else:
        assert named is not None
        played = _of_file(asked, named)
    with in_file(asked.path):
        scored: Score | str = given.void or score(played, given.player, given.banker)
        settled = settle(played, on_table, scored, in_shoe)
    on_slip, where = given, () if found is None else (_round_of(found), found.table)

    def as_json() -> dict[str, object]:
        shown_round = None
        if found is not None:
            shown_round = json_of(found.dealt, found.table, asked.zone)
        return {"round": shown_round} | settled.as_json()

    return Settled(
        as_json,
        lambda: shown.settled_lines(settled),
        lambda: slip.render(played, on_slip, settled, *where, zone=asked.zone or HostZone()),
        found,
        settled.notices,
        settled.left,
    )


def _named_game(asked: ToSettle, on_table: WagerFile) -> Game | None:
    """Return the game of --game, or for cards that are given the one of the Washington document;
    None for a round of a log, which has its game."""
    if asked.game is None and on_table.round is None:
        return None
    with in_file(asked.path):
        return _game(asked.game or MINI_NAME, on_table.house)


def _of_file(asked: ToSettle, named: Game) -> Game:
    """Return the game of a round that the file has. Raises Misused if one of a log is chosen."""
    if asked.picks_round:
        raise Misused(
            f"{asked.path} contains a round; remove it, or leave out --unit, --table, --shoe, "
            "--round"
        )
    return named


def _round_of(found: FoundRound) -> Round:
    assert isinstance(found.dealt, Round)
    return found.dealt


def _check_house(asked: ToSettle, on_table: WagerFile, played: Game) -> None:
    """Raise GameDiffers if the file states a choice of the house that the game does not have."""
    for name, value in on_table.house.items():
        dealt = chosen_in(played, name)
        if value != dealt or type(value) is not type(dealt):
            raise GameDiffers(
                f"{asked.path}: house.{name} is {_choice(value)}, the round was dealt by "
                f"{played.name} with {_choice(dealt)}; leave it out"
            )


def _choice(value: object) -> str:
    return "none" if value is None else value_text(value)  # type: ignore[arg-type]


def _in_shoe(found: FoundRound) -> InShoe:
    """Where a round is in its shoe of cards, and whether that ended after it."""
    from sabot.log.store import Filter

    ended = _round_of(found)
    of_shoe = Filter(ended.unit, ended.shoe, kinds=("betting_open", "shoe_ended"))
    # From its begin: a misdeal ends the last round after the shoe of cards has ended.
    later = [row for row in found.store.rows(of_shoe) if row.number > ended.first_event]
    followed = any(row.kind == "betting_open" for row in later)
    last = bool(later) and not followed
    return InShoe(ended.shoe, ended.round, last, followed, ended.ghost_hand)


def _score_cards(asked: ToScore) -> Answer | None:
    if asked.boxes or asked.dealer is not None:
        raise Misused("--box and --dealer are for --game blackjack")
    if (asked.player is None) != (asked.banker is None):
        raise Misused("give --player and --banker, or neither for a round of the log")
    if asked.player is not None and asked.picks_round:
        raise Misused("cards are given; leave out --unit, --table, --shoe and --round")
    if asked.player is None or asked.banker is None:
        if asked.game is None and asked.chooses:
            raise Misused("the log has the choices of the house; leave --choose out")
        if asked.game is not None:
            _game(asked.game, asked.chosen())
        return None
    played = _game(asked.game or MINI_NAME, asked.chosen())
    return _scored(played, _typed_cards(asked.player), _typed_cards(asked.banker))


def _score_round(found: FoundRound, asked: ToScore) -> Answer:
    from sabot.log.dealt import game_of

    dealt = _round_of(found)
    if dealt.void is not None:
        raise ImpossibleDeal(
            f"{dealt.unit} shoe {dealt.shoe} round {dealt.round}: void ({dealt.void}); "
            "its wagers are returned"
        )
    named = None if asked.game is None else _game(asked.game, asked.chosen())
    return _scored(game_of(found.store, dealt, named), [*dealt.player], [*dealt.banker])


def _scored(played: Game, player: list[str], banker: list[str]) -> Answer:
    from sabot.games.baccarat import shown

    scored = score(played, player, banker)
    verdicts = {wager: outcome_of(wager, scored, played) for wager in played.wagers}
    return Answer(
        lambda: scored.as_json() | {"wagers": {w: v.as_json() for w, v in verdicts.items()}},
        lambda: shown.scored_lines(scored, verdicts),
    )


def _typed_cards(hand: str) -> list[str]:
    try:
        return card_names(hand)
    except ValueError as error:
        raise ImpossibleDeal(str(error)) from None


def _odds(name: str, chosen: Mapping[str, object], decks: int | None, steps: Steps) -> Answer:
    from sabot.games.baccarat import shown
    from sabot.games.baccarat.odds import odds

    played = _game(name, chosen)
    tally = odds(played, decks or played.decks)
    return Answer(tally.as_json, lambda: shown.odds_lines(tally))


def _cards_after_cut(game: Game, usual: int) -> int:
    """More than one round after the cut card needs more cards than are usual after it."""
    return game.cut_from_end if game.rounds_after_cut > 1 else min(usual, game.cut_from_end)


FAMILY = Family(
    name=games.BACCARAT,
    rounds=Round,
    called="rounds",
    instead="a round of baccarat; use a game that `sabot games` lists",
    games=catalogue.GAMES,
    find_game=catalogue.find_game,
    file_key="positions",
    file_instead="it has wagers on baccarat; settle it with a game that `sabot games` lists",
    players=None,
    cards_after_cut=_cards_after_cut,
    marks=MARKS,
    card=_card,
    sign=_sign,
    check_settle=_check_settle,
    settle=_settle,
    score_cards=_score_cards,
    score_round=_score_round,
    odds=_odds,
)
