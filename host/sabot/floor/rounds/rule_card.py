"""The rule card of a game as it was in force: from the document by which a round was dealt."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sabot.errors import UnknownGame
from sabot.games.baccarat.catalogue import find_game
from sabot.games.baccarat.house_game import ONLY_WITH, WAGERS_OF_CHOICE, chosen_in
from sabot.games.baccarat.wagers import WAGERS
from sabot.games.blackjack.shoe_game import GAME as BLACKJACK
from sabot.games.blackjack.shoe_game import house_in as blackjack_house_in
from sabot.games.choices import Choice, value_text
from sabot.games.holdem.shoe_game import GAME as HOLDEM
from sabot.games.holdem.shoe_game import house_in as holdem_house_in
from sabot_protocol import games
from sabot_protocol.baccarat import Game
from sabot_protocol.blackjack import BlackjackGame
from sabot_protocol.games import FamilyGame, GameError, game_of
from sabot_protocol.holdem import HoldemGame


@dataclass(frozen=True, slots=True)
class Section:
    """A table of a rule card."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class RuleCard:
    """The rule card of a game with the house's choices."""

    name: str
    title: str
    source: str
    sha256: str
    """Of its document, in hexadecimal."""
    sections: tuple[Section, ...]


def rule_card(document: bytes) -> RuleCard | None:
    """The rule card of a game document; None for one that is not a game."""
    try:
        game = game_of(document)
    except GameError:
        return None
    source, sections = _CARDS[game.family](game)
    return RuleCard(game.name, game.title, source, game.sha256.hex(), tuple(sections))


def points(some: Sequence[int]) -> str:
    """Totals or points for people: "0 to 5", "2 to 7", "0 to 7 and 9"."""
    if not some:
        return "none"
    runs: list[list[int]] = []
    for each in sorted(some):
        if runs and each == runs[-1][-1] + 1:
            runs[-1].append(each)
        else:
            runs.append([each])
    parts = [str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    return " and ".join(([", ".join(parts[:-1])] if parts[:-1] else []) + parts[-1:])


def _of_baccarat(game: Game) -> tuple[str, list[Section]]:
    sections = [_deal(game)]
    try:
        house_game = find_game(game.name)
    except UnknownGame:  # of a later version
        return "", sections
    sections.append(_wagers(game, house_game.rules))
    wanted = [each for each in house_game.choices if _offered(each, game)]
    sections += _choices((each, chosen_in(game, each.name)) for each in wanted)
    return house_game.source, sections


def _of_blackjack(game: BlackjackGame) -> tuple[str, list[Section]]:
    house = blackjack_house_in(game)
    return BLACKJACK.source, [*_choices(_of_family(BLACKJACK.choices, game, house))]


def _of_holdem(game: HoldemGame) -> tuple[str, list[Section]]:
    house = holdem_house_in(game)
    return HOLDEM.source, [*_choices(_of_family(HOLDEM.choices, game, house))]


_CARDS: Mapping[str, Callable[[Any], tuple[str, list[Section]]]] = {
    games.BACCARAT: _of_baccarat,
    games.BLACKJACK: _of_blackjack,
    games.HOLDEM: _of_holdem,
}
"""The source of a game's rules and the tables of its rule card, by its family."""


def _deal(game: Game) -> Section:
    if_stood = points(list(game.banker_draws_if_player_stood))
    rows = [
        ("cards 1 to 4", "Player, Banker, Player, Banker"),
        ("turned by", game.turned_by),
        ("shown", game.shown.replace("_", " ")),
        ("betting closed by", game.betting_closed_by.replace("_", " ")),
        ("a natural 8 or 9", "neither hand draws"),
        ("Player draws on", points(list(game.player_draws))),
        ("Banker, if the Player stood", f"draws on {if_stood}"),
    ]  # fmt: skip
    for total, on in enumerate(game.banker_draws[:8]):
        draws = f"draws to a third card of {points(list(on))}" if on else "never draws"
        rows.append((f"Banker on {total}", draws))
    return Section("The deal", ("", ""), tuple(rows))


def _wagers(game: Game, rules: str) -> Section:
    rows = []
    for name in game.wagers:
        wager = WAGERS[name]
        pays = wager.pays_to_one(game.house)
        by_prize = ", ".join(
            f"{prize.replace('_', ' ')} {to_one}" for prize, to_one in pays.items()
        )
        rows.append((
            wager.title,
            by_prize.replace("_", " ") if len(pays) > 1 else "".join(map(str, pays.values())),
            ", ".join(wager.pushes_in(game)).replace("_", " ") or "never",
            wager.clauses.get(rules, ""),
        ))  # fmt: skip
    return Section("Wagers", ("wager", "pays to one", "pushes on", "clause"), tuple(rows))


def _offered(choice: Choice, game: Game) -> bool:
    of_wagers = ONLY_WITH.get(choice.name)
    return not of_wagers or bool(set(WAGERS_OF_CHOICE[of_wagers]) & set(game.wagers))


def _of_family(
    choices: Iterable[Choice], game: FamilyGame, house: dict[str, object]
) -> Iterator[tuple[Choice, object]]:
    for each in choices:
        own = house.get(each.name, game.house.get(each.name))
        yield each, getattr(game, each.name, each.default) if own is None else own


def _choices(chosen: Iterable[tuple[Choice, object]]) -> Iterator[Section]:
    house, settled = list[tuple[str, ...]](), list[tuple[str, ...]]()
    for choice, value in chosen:
        name = choice.name.replace("_", " ")
        shown = value if isinstance(value, bool | int | str) else choice.default
        # A choice of which the document says nothing has the default.
        text = value_text(shown).replace("_", " ")
        if choice.is_open():
            house.append((name, text, choice.allowed_text(), choice.source_text()))
        else:
            settled.append((name, text, choice.source_text()))
    if house:
        yield Section("The house chose", ("", "in force", "allowed", "clause"), tuple(house))
    if settled:
        yield Section("Settled by the rules", ("", "in force", "clause"), tuple(settled))
