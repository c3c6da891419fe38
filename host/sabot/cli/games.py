"""`sabot games`, `load`, `score`, `odds`: rule cards, a shoe's game, scores and odds."""

from typing import Annotated

import typer
from rich.table import Table

from sabot import all_games
from sabot.blackjack import house as blackjack
from sabot.cli import blackjack as at_blackjack
from sabot.cli import options
from sabot.cli.key_files import load_command_keys
from sabot.cli.logged_round import baccarat, one_dealt
from sabot.cli.view import console, print_json, print_page
from sabot.errors import ImpossibleDeal
from sabot.games import odds as all_odds
from sabot.games import score as scores
from sabot.games.choices import value_text
from sabot.games.house_game import (
    ONLY_WITH,
    WAGERS_OF_CHOICE,
    HouseGame,
    chosen_in,
)
from sabot.games.wagers import WAGERS, outcome_of
from sabot.link.client import Client
from sabot.link.ports import Port
from sabot.log.dealt import game_of as dealt_game
from sabot.log.families.boxes import BlackjackRound
from sabot.log.store import open_store
from sabot.poker import shoe_game as holdem
from sabot.reports import sign
from sabot.reports.terminal.rounds import hand_text, plain
from sabot.text import card_names, counted
from sabot_protocol import games as games_of_shoes
from sabot_protocol.games import MINI_NAME, Game

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
        print_json([game.as_json() for game in all_games.GAMES])
        return
    table = _table("name", "title", "the house chooses")
    for game in all_games.GAMES:
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
    if name == holdem.GAME.name:
        _show_holdem(choose, as_sign=as_sign, as_json=as_json)
        return
    if name == blackjack.NAME:
        at_blackjack.show(choose, as_sign=as_sign, as_json=as_json)
        return
    house_game = all_games.baccarat(name)
    game = game_of(name, choose)
    if as_sign and as_json:
        raise typer.BadParameter("--sign and --json exclude each other")
    if as_sign:
        print_page(sign.render(game))
        return
    if as_json:
        shown = house_game.as_json(game) | {"sha256": game.sha256.hex()}
        for choice in shown["choices"]:
            choice["chosen"] = chosen_in(game, choice["name"])
        print_json(shown)
        return
    for line in (house_game.title, house_game.source, ""):
        console.print(line, soft_wrap=True)
    _show_deal(house_game, game)
    wagers = _table("wager", "", "pays to one", "pushes on", "clause")
    for wager in game.wagers:
        row = WAGERS[wager]
        pays = row.pays_to_one(game.house)
        by_prize = ", ".join(f"{prize} {amount}" for prize, amount in pays.items())
        wagers.add_row(
            wager,
            row.title,
            by_prize if len(pays) > 1 else str(*pays.values()),
            ", ".join(row.pushes_in(game)) or "-",
            row.clauses[house_game.rules],
        )
    console.print(wagers, "")
    choices = _table("the house chooses", "as shown", "allowed", "clause")
    fixed = _table("settled", "", "clause")
    chosen = options.choices_of(choose)
    for choice in house_game.choices:
        of_wagers = ONLY_WITH.get(choice.name)
        if of_wagers and not set(WAGERS_OF_CHOICE[of_wagers]) & set(game.wagers):
            continue
        default = value_text(chosen.get(choice.name, choice.default))  # type: ignore[arg-type]
        if choice.is_open():
            choices.add_row(choice.name, default, choice.allowed_text(), choice.source_text())
        else:
            fixed.add_row(choice.name, default, choice.source_text())
    console.print(choices, "")
    console.print(fixed)


def _show_holdem(choose: list[str] | None, *, as_sign: bool, as_json: bool) -> None:
    """Print what a house chooses in hold'em, of the shoe and of the cashier."""
    if as_sign:
        raise typer.BadParameter("--sign is for the games of baccarat")
    given = options.choices_of(choose)
    game = games_of_shoes.game_of(holdem.document(given))
    if as_json:
        choices = [
            each.as_json() | {"chosen": given.get(each.name, each.default)}
            for each in holdem.GAME.choices
        ]
        about = {key: getattr(holdem.GAME, key) for key in ("name", "title", "source")}
        print_json(about | {"choices": choices, "sha256": game.sha256.hex()})
        return
    for line in (holdem.GAME.title, holdem.GAME.source, ""):
        console.print(line, soft_wrap=True)
    table = _table("the house chooses", "as shown", "allowed", "clause")
    for each in holdem.GAME.choices:
        shown = value_text(given.get(each.name, each.default))  # type: ignore[arg-type]
        table.add_row(each.name, shown, each.allowed_text(), each.source_text())
    console.print(table)


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
    if game == blackjack.NAME:
        if player is not None or banker is not None:
            raise typer.BadParameter("a round of blackjack is given with --box and --dealer")
        in_log = at_blackjack.InLog(db, unit, table, shoe, round_, None)
        from_log = in_log != at_blackjack.InLog(options.DEFAULT_DB, *(None,) * 5)
        if from_log and (box or dealer is not None or choose):
            raise typer.BadParameter(
                "the log has the cards and the choices of the house; leave out --box, --dealer and "
                "--choose, or --db, --unit, --table, --shoe and --round"
            )
        if from_log:
            at_blackjack.score_logged(in_log, as_json=as_json)
        else:
            at_blackjack.score_round(box, dealer, choose, as_json=as_json)
        return
    if box or dealer is not None:
        raise typer.BadParameter("--box and --dealer are for --game blackjack")
    given = player is not None and banker is not None
    if (player is None) != (banker is None):
        raise typer.BadParameter("give --player and --banker, or neither for a round of the log")
    if given and (unit, table, shoe, round_) != (None,) * 4:
        raise typer.BadParameter("cards are given; leave out --unit, --table, --shoe and --round")
    if not given and game is None and choose:
        raise typer.BadParameter("the log has the choices of the house; leave --choose out")
    named = game_of(game or MINI_NAME, choose) if given or game is not None else None
    if player is not None and banker is not None:
        assert named is not None
        played, hands = named, (_names(player), _names(banker))
    else:
        with open_store(db) as store:
            found, _ = one_dealt(store, unit, table, shoe, round_)
            if game is None and isinstance(found, BlackjackRound):
                at_blackjack.score_dealt(store, found, as_json=as_json)
                return
            dealt = baccarat(found)
            if dealt.void is not None:
                raise ImpossibleDeal(
                    f"{dealt.unit} shoe {dealt.shoe} round {dealt.round}: void ({dealt.void}); "
                    "its wagers are returned"
                )
            played = dealt_game(store, dealt, named)
        hands = [*dealt.player], [*dealt.banker]
    scored = scores.score(played, *hands)
    verdicts = {wager: outcome_of(wager, scored, played) for wager in played.wagers}
    if as_json:
        shown = scored.as_json() | {"wagers": {w: v.as_json() for w, v in verdicts.items()}}
        print_json(shown)
        return
    for title, hand, total, natural in (
        ("Player", scored.player, scored.player_total, scored.player_natural),
        ("Banker", scored.banker, scored.banker_total, scored.banker_natural),
    ):
        line = plain(f"{title} ").append_text(hand_text(hand, total))
        console.print(line.append("  natural" if natural else ""))
    tied = scored.winner == "tie"
    console.print("tie" if tied else f"{scored.winner} wins by {scored.margin}")
    verdict_table = _table("wager", "outcome", "pays to one", "for")
    for wager, verdict in verdicts.items():
        pays = str(verdict.pays_to_one) if verdict.outcome == "win" else "-"
        verdict_table.add_row(wager, verdict.outcome, pays, verdict.prize or "-")
    console.print(verdict_table)


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
    if game == blackjack.NAME:
        at_blackjack.odds(choose, decks, as_json=as_json)
        return
    played = game_of(game, choose)
    tally = all_odds.odds(played, decks or played.decks)
    if as_json:
        print_json(tally.as_json())
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("wager", "pays to one", "win", "push", "lose", "house edge"):
        table.add_column(name, justify="left" if name == "wager" else "right")
    for wager, worth in tally.wagers.items():
        one, *more = worth.prizes.values()
        table.add_row(
            wager,
            "" if more else str(one.pays_to_one),
            *(f"{count:,}" for count in (worth.win, worth.push, worth.lose)),
            f"{100 * worth.edge:.4f} %",
        )
        for prize, each in worth.prizes.items() if more else ():
            table.add_row(f"  {prize}", str(each.pays_to_one), f"{each.combinations:,}")
    console.print(table)
    console.print(f"{counted(tally.total, 'combination')} of {counted(tally.decks, 'deck')}")


def load(
    port: options.Port,
    game: GameName = MINI_NAME,
    choose: options.Choose = None,
    commands: options.CommandKeyFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Load a game with the house's choices onto a shoe; it starts with the next shoe of cards."""
    loaded = games_of_shoes.game_of(all_games.document(game, options.choices_of(choose)))
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


def game_of(name: str, chosen: list[str] | None) -> Game:
    """Return the game of baccarat with this name and the house's choices. Raises UnknownGame,
    Forbidden."""
    return Game(all_games.baccarat(name).document(options.choices_of(chosen)))


def _show_deal(house_game: HouseGame, game: Game) -> None:
    table = _table("the deal", "", "clause")
    clauses = house_game.clauses
    table.add_row("cards 1 to 4", "Player, Banker, Player, Banker", clauses["order"])
    for name in ("turned_by", "shown", "betting_closed_by"):
        choice = house_game.choice(name)
        table.add_row(name.replace("_", " "), str(getattr(game, name)), choice.clause)
    table.add_row("a natural 8 or 9", "neither hand draws", clauses["draws"])
    table.add_row("Player draws on", _points(game.player_draws))
    stood = _points(game.banker_draws_if_player_stood)
    table.add_row("Banker draws on", f"{stood}, if the Player stood")
    for total, points in enumerate(game.banker_draws[:8]):
        table.add_row(
            f"Banker on {total} draws",
            f"to a third card of {_points(points)}" if points else "never",
        )
    console.print(table, "")


def _points(points: bytes) -> str:
    return " ".join(map(str, points))


def _names(hand: str) -> list[str]:
    try:
        return card_names(hand)
    except ValueError as error:
        raise ImpossibleDeal(str(error)) from None


def _table(*names: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in names:
        table.add_column(name)
    return table
