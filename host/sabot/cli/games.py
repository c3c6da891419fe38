"""`sabot games`, `load`, `score`, `odds`: rule cards, a shoe's game, scores and odds."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn

from sabot.cli import options
from sabot.cli.key_files import load_command_keys
from sabot.cli.view import console, print_json, print_lines, print_page, progress
from sabot.games import families
from sabot.games.family import Answer, ToScore
from sabot.games.lines import new_table
from sabot.link.client import Client
from sabot.link.ports import Port
from sabot.reports.selected.one_round import Chosen, round_chosen
from sabot.terminal import plain
from sabot_protocol import games as games_of_shoes
from sabot_protocol.baccarat import MINI_NAME

GameName = Annotated[str, typer.Option("--game", help="A game that `sabot games` lists.")]
OddsGame = Annotated[
    str, typer.Option("--game", help="A game that `sabot games` lists, or blackjack.")
]
Hand = Annotated[str | None, typer.Option(help="Its cards as dealt: 7S,KD,10H or '7♠ K♦ 10♥'.")]
Decks = Annotated[
    int | None, typer.Option(help="Number of decks; default: the game's.", min=1, max=8)
]

app = typer.Typer()


@app.callback(invoke_without_command=True)
def games(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print all as one JSON list.")] = False,
) -> None:
    """List the games and what the house chooses in each; print a rule card."""
    if context.invoked_subcommand is not None:
        return
    if as_json:
        print_json([game.as_json() for game in families.GAMES])
        return
    table = new_table("name", "title", "the house chooses")
    for game in families.GAMES:
        chosen = ", ".join(choice.name for choice in game.choices if choice.is_open())
        table.add_row(game.name, game.title, chosen)
    console.print(table)


@app.command()
def show(
    name: Annotated[
        str, typer.Argument(help="A game that `sabot games` lists, or holdem or blackjack.")
    ],
    choose: options.Choose = None,
    as_sign: Annotated[
        bool, typer.Option("--sign", help="Print the table's sign instead, as HTML for a printer.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Print one game as a rule card: the deal, the wagers, the choices, each with its clause.

    With --sign: the page for the table, with odds, limits and what players must be told.
    """
    family = families.of_game(name)
    with options.usage():
        if as_sign:
            page = family.sign(name, options.choices_of(choose))
            if as_json:
                raise typer.BadParameter("--sign and --json exclude each other")
            print_page(page)
            return
        _print(family.card(name, options.choices_of(choose)), as_json=as_json)


def score(
    player: Hand = None,
    banker: Hand = None,
    box: Annotated[
        list[str] | None,
        typer.Option(
            help="With --game blackjack: the cards of a box, such as '8S TD', after a split "
            "'8S TD / 8H 3C'; repeated for each box.",
        ),
    ] = None,
    dealer: Annotated[
        str | None,
        typer.Option(help="With --game blackjack: the dealer's cards, the up card first."),
    ] = None,
    game: options.LoggedGame = None,
    choose: options.Choose = None,
    db: options.Db = options.DEFAULT_DB,
    unit: options.UnitName = None,
    table: options.AtTable = None,
    shoe: options.Shoe = None,
    round_: options.RoundNumber = None,
    as_json: options.Json = False,
) -> None:
    """Score a round: totals, winner, outcome of each wager.

    The cards are given, or those of a round in a log, with the game that dealt it: the last one of
    the unit or the table, or that of --shoe and --round.

    With --game blackjack: the hands of --box against the dealer's, or those of a round in a log
    with --db, --unit, --table, --shoe or --round; and the side wagers.
    """
    family = families.of_game(game)
    chosen = Chosen(db, unit, table, shoe, round_)
    asked = ToScore(
        player=player,
        banker=banker,
        boxes=box or (),
        dealer=dealer,
        game=game,
        chosen=lambda: options.choices_of(choose),
        chooses=bool(choose),
        from_log=chosen != Chosen(options.DEFAULT_DB),
        picks_round=chosen != Chosen(db),
    )
    with options.usage():
        answer = family.score_cards(asked)
    if answer is None:
        with round_chosen(chosen, None if game is None else family) as found:
            answer = families.of_round(found.dealt).score_round(found, asked)
    _print(answer, as_json=as_json)


def odds(
    game: OddsGame = MINI_NAME,
    choose: options.Choose = None,
    decks: Decks = None,
    as_json: options.Json = False,
) -> None:
    """Count all combinations of a game: how often each wager wins, and the house edge.

    With --game blackjack also the dealer's final hands, and what the blackjack wager is worth with
    a strategy; that takes from some seconds to half a minute.
    """
    in_choice = options.choices_of(choose).get("decks", decks)
    if decks is not None and in_choice != decks:
        raise typer.BadParameter(
            f"--decks {decks} and --choose decks={in_choice} contradict each other; leave one out"
        )
    family = families.of_game(game)
    answer = family.odds(game, options.choices_of(choose), decks, _steps)
    _print(answer, as_json=as_json)


@contextmanager
def _steps(total: int) -> Iterator[Callable[[], None]]:
    """Show the progress of so many steps."""
    with progress(TextColumn("odds"), BarColumn(), MofNCompleteColumn()) as bar:
        task = bar.add_task("odds", total=total)
        yield lambda: bar.advance(task)


def _print(answer: Answer, *, as_json: bool) -> None:
    if as_json:
        print_json(answer.as_json())
    else:
        print_lines(answer.lines())


def load(
    port: options.Port,
    game: GameName = MINI_NAME,
    choose: options.Choose = None,
    commands: options.CommandKeyFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Load a game with the house's choices onto a shoe; it starts with the next shoe of cards."""
    loaded = games_of_shoes.game_of(families.document(game, options.choices_of(choose)))
    with Port(port) as opened:
        client = Client(opened, keys=load_command_keys(commands))
        client.load_game(loaded.document)
    if as_json:
        print_json({"unit": client.unit, "game": loaded.name, "sha256": loaded.sha256.hex()})
        return
    console.print(
        plain(f"{client.unit} now deals {loaded.name}, SHA-256 {loaded.sha256.hex()}"),
        soft_wrap=True,
    )
