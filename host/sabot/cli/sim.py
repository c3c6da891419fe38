"""`sabot sim`: a simulated shoe. `sabot demo`: one whose cards are dealt, logged and verified."""

import re
import secrets
import time
from pathlib import Path
from typing import Annotated

import typer

from sabot.cli import options
from sabot.cli.demo import run_demo
from sabot.cli.log import ctrl_c_and_term
from sabot.cli.view import console, problems
from sabot.errors import SimulatorFailed
from sabot.games import catalogue
from sabot.keys import chain_keys
from sabot.sim import deck as decks
from sabot.sim.dealer import Dealer
from sabot.sim.disturbed import NOISE
from sabot.sim.process import SimulatedShoe
from sabot.sim.pulls import KINDS
from sabot_protocol import games

_DEMO_DB = Path("sabot-demo.sqlite")
_DEMO_PACE = 0.005
_POLL_S = 0.2
_UNIT_ID = r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}"

Game = Annotated[
    str | None,
    typer.Option(help="A game that `sabot games` lists; default: the unit's last one, or mini."),
]
Deck = Annotated[
    Path | None,
    typer.Option("--deck", help="File of cards in drawing order, one a line; CUT: the cut card."),
]
Short = Annotated[
    bool, typer.Option("--short", help="Allow a deck file with fewer cards than 8 decks.")
]
Seed = Annotated[
    int | None, typer.Option(help="The same seed gives the same order of cards.", min=0)
]
Pace = Annotated[
    float, typer.Option(help="1: a dealer's speed; 0: as fast as possible.", min=0, max=100)
]
Noise = Annotated[str, typer.Option(help=f"How disturbed the passes are: {', '.join(NOISE)}.")]
Pull = Annotated[str, typer.Option(help=f"How the cards are pulled: {', '.join(KINDS)}.")]
Set = Annotated[int, typer.Option("--set", help="Card set, 0 to 12.", min=0, max=12)]
Keys = Annotated[
    Path, typer.Option("--keys", help="The key file to which a new unit's first key is added.")
]
Name = Annotated[str | None, typer.Option("--unit", help="The unit's id.")]


def sim(
    game: Game = None,
    choose: options.Choose = None,
    deck: Deck = None,
    short: Short = False,
    seed: Seed = None,
    pace: Pace = 1.0,
    card_set: Set = 0,
    noise: Noise = "clean",
    pull: Pull = "stroke",
    unit: Name = None,
    state: Annotated[
        Path | None,
        typer.Option("--state", help="Folder for the unit's memory; keeps it for the next time."),
    ] = None,
    key_file: Keys = chain_keys.DEFAULT,
) -> None:
    """Start a simulated shoe, print its port, deal when a host is attached. Ctrl-C ends it."""
    document = chosen_document(game, choose)
    cards = deck_of(document, deck, short, seed)
    with ctrl_c_and_term(), shoe_of(document, card_set, unit, state, key_file) as shoe:
        try:
            shoe.power_on()
            console.print(shoe.port)
            problems.print(
                f"Simulated shoe {shoe.unit}; it deals when a host attaches: sabot log {shoe.unit}",
            )
            _attend(dealer_of(shoe, cards, card_set, pace, noise, pull, seed), shoe)
        except KeyboardInterrupt:
            memory = "forgotten" if state is None else f"in {state}"
            problems.print(f"{shoe.unit}: switched off; its memory is {memory}")


def demo(
    game: Game = None,
    choose: options.Choose = None,
    deck: Deck = None,
    short: Short = False,
    seed: Seed = None,
    pace: Pace = _DEMO_PACE,
    card_set: Set = 0,
    noise: Noise = "clean",
    pull: Pull = "stroke",
    unit: Name = None,
    db: options.Db = _DEMO_DB,
) -> None:
    """Deal one whole shoe of cards on a simulated shoe: log it, show it, verify the log.

    The first key of the simulated unit is added to a key file next to the database.
    """
    key_file = db.with_suffix(".keys")
    document = chosen_document(game, choose)
    cards = deck_of(document, deck, short, seed)
    with ctrl_c_and_term(), shoe_of(document, card_set, unit, None, key_file) as shoe:
        dealer = dealer_of(shoe, cards, card_set, pace, noise, pull, seed)
        code = run_demo(shoe, dealer, cards=len(cards), db=db)
    raise typer.Exit(code)


def chosen_document(game: str | None, chosen: list[str] | None) -> bytes | None:
    """Return the game's document with the house's choices; None to keep the unit's game.

    Raises UnknownGame, Forbidden.
    """
    if game is None and not chosen:
        return None
    return catalogue.document(game or games.MINI_NAME, options.choices_of(chosen))


def deck_of(document: bytes | None, path: Path | None, short: bool, seed: int | None) -> list[int]:
    """Return the cards to deal, as many decks as the game has: from the file, else shuffled."""
    game = games.Game(document or games.document_of(games.MINI_NAME))
    if path is not None:
        return decks.read(path, short=short, decks=game.decks)
    cut_from_end = min(decks.CUT_FROM_END, game.cut_from_end)
    return decks.shuffled(seed, decks=game.decks, cut_from_end=cut_from_end)


def shoe_of(
    document: bytes | None,
    card_set: int,
    unit: str | None,
    state: Path | None,
    key_file: Path | None,
) -> SimulatedShoe:
    """Return a simulated shoe that is not powered on yet."""
    name = f"SIM-{secrets.token_hex(3).upper()}" if unit is None else unit
    if not re.fullmatch(_UNIT_ID, name):
        raise typer.BadParameter(f"{name[:40]!r} is not a unit id; use letters, digits, - and _")
    try:
        return SimulatedShoe(name, card_set=card_set, game=document, state=state, keys=key_file)
    except OSError as error:
        raise SimulatorFailed(
            f"{state or name}: cannot store the unit's memory ({error.strerror}); "
            "name a writable folder with --state"
        ) from None


def dealer_of(
    shoe: SimulatedShoe,
    cards: list[int],
    card_set: int,
    pace: float,
    noise: str,
    pull: str,
    seed: int | None,
) -> Dealer:
    """Return a dealer for the shoe. An unknown `noise` or `pull` is wrong usage."""
    if noise not in NOISE:
        raise typer.BadParameter(f"unknown noise {noise!r}; there are: {', '.join(NOISE)}")
    if pull not in KINDS:
        raise typer.BadParameter(f"unknown pull {pull!r}; there are: {', '.join(KINDS)}")
    return Dealer(
        shoe.bench, cards, card_set=card_set, pace=pace, noise=noise, pull=pull, seed=seed
    )


def _attend(dealer: Dealer, shoe: SimulatedShoe) -> None:
    """Wait while the dealer deals, and after that until Ctrl-C: a host may still be reading."""
    dealer.start()
    try:
        while dealer.failure is None:
            time.sleep(_POLL_S)
            shoe.check()
        raise dealer.failure
    finally:
        dealer.stop()
