"""`sabot sim`: a simulated shoe, `sabot sim-do`: hands at one. `sabot demo`: one whose cards are
dealt, logged and verified."""

import re
import secrets
import time
from math import isnan
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from sabot.cli import options
from sabot.cli.log import ctrl_c_and_term
from sabot.cli.view import console, problems
from sabot.errors import SimulatorFailed
from sabot.games import families
from sabot.keys import chain_keys
from sabot.sim import deck as decks
from sabot.sim import hands
from sabot.sim.dealer import Dealer
from sabot.sim.disturbed import NOISE, noisy_pass
from sabot.sim.faulty import faulty_pass
from sabot.sim.process import SimulatedShoe
from sabot.sim.pulls import KINDS
from sabot.sim.waveform import pack
from sabot.terminal import plain
from sabot.text import card_names
from sabot_protocol import baccarat, games
from sabot_protocol import cards as card_codes

_DEMO_DB = Path("sabot-demo.sqlite")
_DEMO_PACE = 0.005
_POLL_S = 0.2
_MOST_SHOES = 100
_WEEK_S = 7 * 24 * 3600.0
"""How long a simulated shoe may wait for hands from elsewhere, such as a supervisor's key."""
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


def _number(pace: float | None) -> float | None:
    """Refuse what is not a number: no limit excludes it."""
    if pace is not None and isnan(pace):
        raise typer.BadParameter("nan is not a number")
    return pace


Pace = Annotated[
    float,
    typer.Option(
        help="1: a dealer's speed; 0: as fast as possible.", min=0, max=100, callback=_number
    ),
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
    shoes: Annotated[
        int,
        typer.Option(
            "--shoes", help="Shoes of cards to deal, one after the other.", min=1, max=_MOST_SHOES
        ),
    ] = 1,
    bare: Annotated[
        bool,
        typer.Option(
            "--bare",
            help="A board with MicroPython and nothing else, for `sabot flash`; no one deals.",
        ),
    ] = False,
) -> None:
    """Start a simulated shoe, print its port, deal when a host is attached. Ctrl-C ends it.

    `sabot sim-do` moves its switches, presses its buttons and makes faults meanwhile.
    """
    if bare:
        given = (game, choose, deck, seed) != (None, None, None, None)
        if given or short or pace != 1.0 or shoes != 1:
            raise typer.BadParameter(
                "--bare is a board that no one deals from; it goes with --unit, --state, --set, "
                "--noise and --pull only"
            )
        _check_noise(noise, pull)
        _run_bare(unit, state, card_set, noise, pull)
        return
    document = chosen_document(game, choose)
    dealt = decks_of(document, deck, short, seed, shoes)
    with ctrl_c_and_term(), shoe_of(document, card_set, unit, state, key_file) as shoe:
        dealer = dealer_of(shoe, dealt, card_set, pace, noise, pull, seed, _WEEK_S)
        pulling = _Pulling(shoe, card_set, noise, pull, dealer)
        try:
            shoe.power_on()
            with hands.Hands(shoe.port, shoe.bench, pulling.pull):
                console.print(shoe.port)
                problems.print(
                    f"Simulated shoe {shoe.unit}; it deals when a host attaches: "
                    f"sabot log {shoe.unit}",
                )
                _attend(dealer, shoe)
        except KeyboardInterrupt:
            _report_end(shoe, state)


def _run_bare(unit: str | None, state: Path | None, card_set: int, noise: str, pull: str) -> None:
    name = unit or f"BARE-{secrets.token_hex(3).upper()}"
    with ctrl_c_and_term(), shoe_of(None, card_set, name, state, None, bare=True) as board:
        try:
            board.power_on()
            pulling = _Pulling(board, card_set, noise, pull, None)
            with hands.Hands(board.port, board.bench, pulling.pull):
                console.print(board.port)
                problems.print(f"Simulated board {name}; put a release on it: sabot flash {name}")
                while True:
                    time.sleep(_POLL_S)
                    board.check()
        except KeyboardInterrupt:
            _report_end(board, state)


def _report_end(shoe: SimulatedShoe, state: Path | None) -> None:
    memory = "forgotten" if state is None else f"in {state}"
    problems.print(f"{shoe.unit}: switched off; its memory is {memory}")


def sim_do(
    unit: Annotated[
        str,
        typer.Argument(metavar="UNIT|PORT", help="A simulated shoe of this computer."),
    ],
    action: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ACTION]",
            help="; ".join(f"{name}: {words}" for name, words in hands.ACTIONS.items()),
        ),
    ] = None,
) -> None:
    """Use your hands at a simulated shoe: a switch, a button, a card, a fault. Show its display.

    For example: sabot sim-do SHOE-7 key on. Without an action it only shows what the shoe shows. A
    fault comes with the next card that is dealt.
    """
    words = action or []
    try:
        hands.check_action(words)
    except hands.UnknownAction as error:
        raise typer.BadParameter(str(error)) from None
    shown = hands.ask(unit, words)
    if shown.done:
        console.print(plain(f"{unit}: {shown.done}"))
    for line in shown.display:
        if line:
            console.print(plain(f"  {line}"))
    lamps = ", ".join(shown.lamps) or "none"
    lock = "released" if shown.lock_released else "shut"
    console.print(plain(f"lamps: {lamps}; lock: {lock}"))


class _Pulling:
    """Pulls cards by hand at a simulated shoe; a fault waits for the dealer's next card."""

    def __init__(
        self, shoe: SimulatedShoe, card_set: int, noise: str, pull: str, dealer: Dealer | None
    ) -> None:
        self._shoe = shoe
        self._card_set = card_set
        self._noise = NOISE[noise]
        self._kind = pull
        self._dealer = dealer
        self._random = np.random.default_rng()

    def pull(self, what: str, which: str) -> str:
        """Pull a card, or make a fault; return what was done."""
        if what == "card":
            (name,) = card_names(which)
            card = card_codes.number_of(name)
            levels = noisy_pass(self._random, self._noise, card, self._card_set, self._kind)
        elif self._dealer is not None and self._dealer.fault_next(which):
            return f"the next card comes with {which}"
        else:
            levels = faulty_pass(self._random, self._noise, which, self._card_set, self._kind)
        self._shoe.bench.play(pack(levels))
        return f"{what} {which}"


def demo(
    game: Game = None,
    choose: options.Choose = None,
    deck: Deck = None,
    short: Short = False,
    seed: Seed = None,
    pace: Annotated[
        float | None,
        typer.Option(
            help="1: a dealer's speed, as with --serve; 0: as fast as possible.",
            min=0,
            max=100,
            callback=_number,
        ),
    ] = None,
    card_set: Set = 0,
    noise: Noise = "clean",
    pull: Pull = "stroke",
    unit: Name = None,
    db: Annotated[
        Path | None,
        typer.Option(
            help="The log database; default: sabot-demo.sqlite, with --serve one that is removed."
        ),
    ] = None,
    serve: Annotated[
        bool,
        typer.Option("--serve", help="Deal at several tables, and show them in a browser."),
    ] = False,
    listen: Annotated[
        str,
        typer.Option(metavar="HOST:PORT", help="Where --serve listens, on this machine only."),
    ] = "127.0.0.1:8700",
) -> None:
    """Deal one whole shoe of cards on a simulated shoe: log it, show it, verify the log.

    The first key of the simulated unit is added to a key file next to the database. With --serve it
    deals at several tables, at a dealer's speed, until Ctrl-C, and shows the screens that
    surveillance has.
    """
    if serve:
        given = (game, choose, deck, unit) != (None,) * 4
        if given or short or card_set or (noise, pull) != ("clean", "stroke"):
            raise typer.BadParameter(
                "--serve deals games of its own; it goes with --db, --listen, --seed, --pace only"
            )
        _serve_floor(db, listen, seed, 1.0 if pace is None else pace)
        return
    from sabot.cli.demo import run_demo  # with all that checks a log: `sim` does not wait for it

    db = _DEMO_DB if db is None else db
    pace = _DEMO_PACE if pace is None else pace
    key_file = db.with_suffix(".keys")
    document = chosen_document(game, choose)
    dealt = decks_of(document, deck, short, seed)
    with ctrl_c_and_term(), shoe_of(document, card_set, unit, None, key_file) as shoe:
        dealer = dealer_of(shoe, dealt, card_set, pace, noise, pull, seed)
        code = run_demo(shoe, dealer, cards=len(dealt[0]), db=db)
    raise typer.Exit(code)


def _serve_floor(db: Path | None, listen: str, seed: int | None, pace: float) -> None:
    from sabot.cli.screens.demo_floor import (
        run_floor,  # a web server, which no other command here needs
    )
    from sabot.cli.screens.serve import where

    address, _ = where(listen, None, None, plain_http=False)
    with ctrl_c_and_term():
        run_floor(address, db, seed, pace)


def chosen_document(game: str | None, chosen: list[str] | None) -> bytes | None:
    """Return the game's document with the house's choices; None to keep the unit's game.

    Raises UnknownGame, Forbidden.
    """
    if game is None and not chosen:
        return None
    return families.document(game or baccarat.MINI_NAME, options.choices_of(chosen))


def decks_of(
    document: bytes | None, path: Path | None, short: bool, seed: int | None, shoes: int = 1
) -> list[list[int]]:
    """Return the cards of some shoes, as many decks as the game has: from the file, which is dealt
    again for each of them, else shuffled."""
    game = games.game_of(document or baccarat.document_of(baccarat.MINI_NAME))
    if path is not None:
        return [decks.read(path, short=short, decks=game.decks)] * shoes
    cut_from_end = families.named(game.family).cards_after_cut(game, decks.CUT_FROM_END)
    return decks.shuffled_shoes(shoes, seed, decks=game.decks, cut_from_end=cut_from_end)


def shoe_of(
    document: bytes | None,
    card_set: int,
    unit: str | None,
    state: Path | None,
    key_file: Path | None,
    *,
    bare: bool = False,
) -> SimulatedShoe:
    """Return a simulated shoe, or a bare board, that is not powered on yet."""
    name = f"SIM-{secrets.token_hex(3).upper()}" if unit is None else unit
    if not re.fullmatch(_UNIT_ID, name):
        raise typer.BadParameter(f"{name[:40]!r} is not a unit id; use letters, digits, - and _")
    try:
        if bare:
            return SimulatedShoe(name, state=state, files={})
        return SimulatedShoe(name, card_set=card_set, game=document, state=state, keys=key_file)
    except OSError as error:
        raise SimulatorFailed(
            f"{state or name}: cannot store the unit's memory ({error.strerror}); "
            "name a writable folder with --state"
        ) from None


def dealer_of(
    shoe: SimulatedShoe,
    dealt: list[list[int]],
    card_set: int,
    pace: float,
    noise: str,
    pull: str,
    seed: int | None,
    patience_s: float = 30.0,
) -> Dealer:
    """Return a dealer of these shoes of cards. An unknown `noise` or `pull` is wrong usage."""
    _check_noise(noise, pull)
    return Dealer(
        shoe.bench,
        dealt[0],
        card_set=card_set,
        pace=pace,
        noise=noise,
        pull=pull,
        seed=seed,
        more=dealt[1:],
        patience_s=patience_s,
        players=families.players(seed),
    )


def _check_noise(noise: str, pull: str) -> None:
    if noise not in NOISE:
        raise typer.BadParameter(f"unknown noise {noise!r}; there are: {', '.join(NOISE)}")
    if pull not in KINDS:
        raise typer.BadParameter(f"unknown pull {pull!r}; there are: {', '.join(KINDS)}")


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
