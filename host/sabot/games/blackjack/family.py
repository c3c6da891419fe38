"""Blackjack as a family of games: what the commands ask of it."""

from collections.abc import Mapping

from sabot.errors import GameDiffers, ImpossibleDeal, Misused, UnknownGame
from sabot.games.blackjack import score as scores
from sabot.games.blackjack import table_file
from sabot.games.blackjack.house import house_of
from sabot.games.blackjack.logged import with_cards
from sabot.games.blackjack.players import BlackjackPlayers
from sabot.games.blackjack.shoe_game import GAME, OF_THE_SHOE, house_in
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
from sabot.games.json_fields import in_file
from sabot.log.families.boxes import BlackjackRound
from sabot_protocol import games
from sabot_protocol.blackjack import BlackjackGame

_FORMAT = "format: host/sabot/games/blackjack/README"
_OF_THE_SHOE = {each.name for each in OF_THE_SHOE}
_BETWEEN_HANDS = "/"


def _find_game(name: str) -> DealtGame:
    if name != GAME.name:
        raise UnknownGame(f"unknown game {name!r}; did you mean {GAME.name}?")
    return GAME


def _card(name: str, chosen: Mapping[str, object]) -> Answer:
    """What a house chooses, and what the wagers pay."""
    from sabot.games.blackjack import shown

    listed = _find_game(name)
    card = listed.card_json(chosen)
    house = house_of({name: chosen[name] for name in chosen if name not in _OF_THE_SHOE})
    values = {each.name: chosen.get(each.name, each.default) for each in listed.choices}
    return Answer(lambda: card, lambda: shown.card_lines(house, values))


def _sign(name: str, chosen: Mapping[str, object]) -> str:
    raise Misused("--sign is for the games that `sabot games` lists")


def _check_settle(asked: ToSettle) -> None:
    from_log = asked.from_log and not asked.lines
    if asked.path is None:
        raise Misused(f"name a TABLE.json{' without cards' if from_log else ''}; {_FORMAT}")
    if asked.lines:
        raise Misused("a round of blackjack is in its file; leave out --wager")


def _settle(asked: ToSettle) -> Settled:
    """Settle the round in a TABLE.json; with the cards, the play and the choices of the house of a
    log."""
    from sabot.games.blackjack import shown, slip
    from sabot.games.blackjack.settle import settle

    assert asked.path is not None
    found: FoundRound | None = None
    dealt: BlackjackRound | None = None
    if asked.from_log:
        with asked.find() as found:
            dealt, house = _round_of(found), _house_of(found)
        logged = dealt
        given = table_file.read(asked.path, lambda fields: with_cards(fields, logged, house))
    else:
        given = table_file.read(asked.path)
    with in_file(asked.path):
        settled = settle(given)
    return Settled(
        settled.as_json,
        lambda: shown.settled_lines(settled),
        lambda: slip.render(settled, dealt),
        found,
    )


def _round_of(found: FoundRound) -> BlackjackRound:
    assert isinstance(found.dealt, BlackjackRound)
    return found.dealt


def _house_of(found: FoundRound) -> dict[str, object]:
    """Return the choices of the house that dealt a round; none are needed for a void one."""
    dealt = _round_of(found)
    document = None if dealt.game is None else found.store.game(dealt.game)
    game = None if document is None else games.game_of(document)
    if isinstance(game, BlackjackGame):
        return house_in(game)
    if dealt.void is None:
        raise GameDiffers(
            f"{found.store.place}: the log does not have the game that dealt the round; write the "
            "cards into the file"
        )
    return {}


def _score_cards(asked: ToScore) -> Answer | None:
    """Score hands that are given: each of the boxes has the cards of its hands, with a slash
    between hands after a split."""
    if asked.player is not None or asked.banker is not None:
        raise Misused("a round of blackjack is given with --box and --dealer")
    if asked.from_log:
        if asked.boxes or asked.dealer is not None or asked.chooses:
            raise Misused(
                "the log has the cards and the choices of the house; leave out --box, --dealer and "
                "--choose, or --db, --unit, --table, --shoe and --round"
            )
        return None
    if not asked.boxes or asked.dealer is None:
        raise Misused(
            "give --box '8S TD' for each box and --dealer '9H 7C'; after a split --box '8S TD / "
            "8H 3C'"
        )
    house = house_of(asked.chosen())
    hands = [
        [table_file.typed_cards(hand) for hand in box.split(_BETWEEN_HANDS)] for box in asked.boxes
    ]
    return _scored(scores.score(house, hands, table_file.typed_cards(asked.dealer)))


def _score_round(found: FoundRound, asked: ToScore) -> Answer:
    """Score a round of a log, with the game that dealt it. Raises ImpossibleDeal for a void one."""
    dealt = _round_of(found)
    if dealt.void is not None:
        raise ImpossibleDeal(
            f"{dealt.unit} shoe {dealt.shoe} round {dealt.round}: void ({dealt.void}); its wagers "
            "are returned"
        )
    # What was wagered is the cashier's, and does not matter here.
    any_wagers = [{"box": at, "wager_cents": 1} for at in range(1, len(dealt.boxes) + 1)]
    fields = with_cards({"boxes": any_wagers}, dealt, _house_of(found))
    return _scored(scores.score_table(table_file.table_of(fields)))


def _scored(scored: scores.Scored) -> Answer:
    from sabot.games.blackjack import shown

    return Answer(scored.as_json, lambda: shown.scored_lines(scored))


def _odds(name: str, chosen: Mapping[str, object], decks: int | None, steps: Steps) -> Answer:
    from sabot.games.blackjack import shown
    from sabot.games.blackjack.odds import all_odds

    house = house_of(chosen if decks is None else {**chosen, "decks": decks})
    with steps(all_odds.STEPS) as step:
        found = all_odds.odds(house, step)
    return Answer(found.as_json, lambda: shown.odds_lines(found))


FAMILY = Family(
    name=games.BLACKJACK,
    rounds=BlackjackRound,
    called="rounds of blackjack",
    instead="a round of blackjack; use --game blackjack (settle: with a TABLE.json)",
    games=(GAME,),
    find_game=_find_game,
    file_key="boxes",
    file_instead="it has a round of blackjack; settle it with --game blackjack",
    players=BlackjackPlayers,
    cards_after_cut=lambda game, usual: game.cut_from_end,  # a round needs many cards after it
    marks={},
    card=_card,
    sign=_sign,
    check_settle=_check_settle,
    settle=_settle,
    score_cards=_score_cards,
    score_round=_score_round,
    odds=_odds,
)
