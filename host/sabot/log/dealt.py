"""By which game document a round in a log was dealt."""

from sabot.errors import GameDiffers
from sabot.link.events import DECIDED, DECIDED_KINDS, GameLoadedEvent
from sabot.log.rounds import Round
from sabot.log.store import Filter, Store
from sabot_protocol import games
from sabot_protocol.baccarat import Game
from sabot_protocol.games import GameError

_SHOWN = 16  # digits of a hash


def game_sha256_of(store: Store, dealt: Round) -> bytes | None:
    """Return the SHA-256 of the document of the game that dealt a round; None if no event says it.

    A round without a result was dealt by the game of the other rounds of its shoe of cards: a game
    changes only between two. If they have no result either, it is the game of the last result
    before them, or the one that was loaded since.
    """
    of_shoe: bytes | None = None
    for row in store.rows(Filter(dealt.unit, dealt.shoe, kinds=DECIDED_KINDS)):
        event = row.event()
        if not isinstance(event, DECIDED):  # only the lists, which no shoe signs, call it that
            continue
        of_shoe = event.game
        if event.round == dealt.round:
            break
    if of_shoe is not None:
        return of_shoe
    before: bytes | None = None
    for row in store.rows(Filter(dealt.unit, kinds=(*DECIDED_KINDS, "game_loaded"))):
        if row.number > dealt.first_event:
            break
        event = row.event()
        if isinstance(event, GameLoadedEvent):
            before = event.sha256
        elif isinstance(event, DECIDED):
            before = event.game
    return before


def game_of(store: Store, dealt: Round, named: Game | None = None) -> Game:
    """Return the game of baccarat that dealt a round, from its document in the log.

    `named` is the game that the user named: it must be that one. It takes the place of a document
    that the log does not have. Raises GameDiffers.
    """
    sha256 = game_sha256_of(store, dealt)
    which = f"{dealt.unit} shoe {dealt.shoe} round {dealt.round}"
    if named is not None and sha256 in (None, named.sha256):
        return named
    if sha256 is None:
        raise GameDiffers(f"{which}: no event says by which game; name it with --game")
    document = store.game(sha256)
    if named is not None:
        dealt_by = f"document {sha256.hex()[:_SHOWN]}"
        if document is not None:
            dealt_by = f"{_game(which, document).name}, {dealt_by}"
        raise GameDiffers(
            f"{which} was dealt by {dealt_by}, not by {named.name} with these choices "
            f"({named.sha256.hex()[:_SHOWN]}); leave --game and the choices out"
        )
    if document is None:
        raise GameDiffers(
            f"{which}: {store.place} does not have its game document {sha256.hex()[:_SHOWN]}; "
            "name the game with --game, and the house's choices, as they were loaded"
        )
    return _game(which, document)


def _game(which: str, document: bytes) -> Game:
    try:
        game = games.game_of(document)
    except GameError as error:
        raise GameDiffers(f"{which}: its game document cannot be used ({error})") from None
    if not isinstance(game, Game):
        raise GameDiffers(f"{which}: {game.name} is a game of {game.family}, not of baccarat")
    return game
