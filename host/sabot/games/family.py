"""What a family of games answers: one interface for baccarat, blackjack and hold'em.

The commands `games`, `score`, `settle` and `odds` find the family of a game in
`sabot.games.families` and ask it; none of them knows a family.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from sabot.games.choices import Choice
from sabot.log.rounds import Dealt

if TYPE_CHECKING:  # listing games should wait neither for a log nor for a terminal's tables
    from sabot.games.lines import Line
    from sabot.log.store import Store


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command prints, in the form that is asked for. Each form is made only then."""

    as_json: Callable[[], dict[str, Any]]
    lines: "Callable[[], Iterable[Line]]"


@dataclass(frozen=True, slots=True)
class FoundRound:
    """A round of a log, the table at which its unit stood ("" if unknown), and the log."""

    dealt: Dealt
    table: str
    store: "Store"


@dataclass(frozen=True, slots=True)
class Settled(Answer):
    """A settled round."""

    slip: Callable[[], str]
    """The page to sign, as HTML."""
    found: FoundRound | None
    """The round of the log that had the cards; None if they were given."""
    notices: Sequence[str] = ()
    """What the floor must know."""
    left: Sequence[object] = ()
    """What the floor must decide on; its texts cite the clause. The rest is settled."""
    phh: Callable[[], str] | None = None
    """The hand in the open hand history format; None in a family that does not have it."""


Find = Callable[[], AbstractContextManager[FoundRound]]
"""Opens the log and finds the round in it that the options choose. Raises BadWagers if that is not
one round of the family, and DatabaseUnusable."""


@dataclass(frozen=True, slots=True)
class ToSettle:
    """What `sabot settle` is asked."""

    path: Path | None
    """The file of wagers."""
    lines: Sequence[str]
    """The wagers of --wager."""
    game: str | None
    """The game of --game."""
    find: Find
    from_log: bool
    """Whether an option names a log, or a round in it."""
    picks_round: bool
    """Whether an option chooses a unit, a table, a shoe of cards or a round."""
    round_named: bool
    """Whether an option gives the number of the round."""
    zone: tzinfo | None = None
    """Where times are shown; None for the clock of this machine."""


@dataclass(frozen=True, slots=True)
class ToScore:
    """What `sabot score` is asked. Cards are as they were typed."""

    player: str | None
    banker: str | None
    boxes: Sequence[str]
    dealer: str | None
    game: str | None
    chosen: Callable[[], Mapping[str, object]]
    """The choices of the house. Raises as an option that cannot be read."""
    chooses: bool
    """Whether there are any."""
    from_log: bool
    """As in `ToSettle`."""
    picks_round: bool
    """As in `ToSettle`."""


Steps = Callable[[int], AbstractContextManager[Callable[[], None]]]
"""Shows the progress of so many steps; its context is called after each."""


class Shown(Protocol):
    """What a shoe shows to the people at its table."""

    @property
    def title(self) -> str:
        """The first line of the display: the state of the game."""

    @property
    def display(self) -> tuple[str, ...]: ...
    @property
    def lock_released(self) -> bool: ...


class Players(Protocol):
    """The players at a simulated table, for whom its dealer presses buttons."""

    pause_s: float
    """How long it takes until the button is pressed that `button` has returned."""

    def button(self, shown: Shown) -> str | None:
        """Return the button that the dealer presses at what the shoe shows; None for none."""


class Game(Protocol):
    """A game that `sabot games` lists."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def choices(self) -> tuple[Choice, ...]: ...

    def document(self, choices: Mapping[str, object] = {}) -> bytes:
        """Return the game's document with the house's choices, for a shoe. Raises Forbidden."""

    def as_json(self) -> dict[str, Any]:
        """Return the game as `sabot games --json` prints it."""


@dataclass(frozen=True, slots=True)
class Family:
    """A family of games. It cannot be made without one of its answers.

    `game` is the name of a game, `chosen` has the choices of the house. All answers raise
    UnknownGame for a name that the family does not have, Forbidden for what the rules do not allow,
    ImpossibleDeal for cards that no round can have, and BadWagers for what cannot be read.
    """

    name: str
    """One of `sabot_protocol.games.FAMILIES`."""
    rounds: type[Dealt]
    """The class of its rounds in a log."""
    called: str
    """What its rounds are called, such as "hands"."""
    instead: str
    """What to do with a round that is one of this family where another was asked for."""
    games: tuple[Game, ...]
    """In the order in which they are listed."""
    find_game: Callable[[str], Game]
    file_key: str
    """The key that only its files of wagers have."""
    file_instead: str
    """What to do with such a file where one of another family was asked for."""
    players: Callable[[int | None], Players] | None
    """The players at a simulated table, whose decisions follow from a seed; None where no
    one decides anything while cards are dealt."""
    cards_after_cut: Callable[[Any, int], int | None]
    """How many cards the dealer of a simulated shoe leaves after the cut card, for the game of a
    document and the number that is usual; None for no cut card."""
    marks: Mapping[str, str]
    """How the roads mark a prize, by its name; empty in a family without roads."""
    card: Callable[[str, Mapping[str, object]], Answer]
    """The rule card of a game."""
    sign: Callable[[str, Mapping[str, object]], str]
    """The sign at the table, as HTML. Raises Misused in a family without one."""
    check_settle: Callable[[ToSettle], None]
    """Raises Misused for options with which the family cannot settle."""
    settle: Callable[[ToSettle], Settled]
    score_cards: Callable[[ToScore], Answer | None]
    """Scores the cards that are given; None if a log has them. Raises Misused."""
    score_round: Callable[[FoundRound, ToScore], Answer]
    odds: Callable[[str, Mapping[str, object], int | None, Steps], Answer]
    """Counts with new cards of so many decks, without a number with those of the game."""
    writes_phh: bool = False
    """Whether its hands can be written in the open hand history format."""

    def document(self, name: str, chosen: Mapping[str, object] = {}) -> bytes:
        """Return the document of a game with the house's choices, for a shoe."""
        return self.find_game(name).document(chosen)
