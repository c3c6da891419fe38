"""The game documents that a log or a bundle has, for the checks of the play."""

from collections.abc import Callable, Iterator, Mapping

from sabot.audit.absence.elsewhere import NOWHERE, Elsewhere
from sabot_protocol.games import FamilyGame, GameError, game_of


class KnownGames:
    """The games of documents. `document_of` returns the document with a SHA-256, None if there is
    none. `elsewhere` says which documents may be missing.
    """

    def __init__(
        self, document_of: Callable[[bytes], bytes | None], elsewhere: Elsewhere = NOWHERE
    ) -> None:
        self.elsewhere = elsewhere
        self._document_of = document_of
        self._known: dict[bytes, FamilyGame | str] = {}

    def game(self, sha256: bytes) -> FamilyGame | None:
        """The game with this SHA-256; None if its document is missing or cannot be used."""
        known = self._looked_up(sha256)
        return known if isinstance(known, FamilyGame) else None

    def missing(self, dealt_by: Mapping[bytes, int]) -> Iterator[tuple[int, bytes, str]]:
        """Yield the event number, the SHA-256 and what is wrong with its document, for each game in
        `dealt_by` without a usable one. `dealt_by` has the number of the first result of each game
        by its SHA-256."""
        for sha256, number in dealt_by.items():
            known = self._looked_up(sha256)
            if isinstance(known, str):
                yield number, sha256, known

    def _looked_up(self, sha256: bytes) -> FamilyGame | str:
        known = self._known.get(sha256)
        if known is None:
            document = self._document_of(sha256)
            try:
                known = "is missing" if document is None else game_of(document)
            except GameError as error:
                known = f"cannot be used: {error}"
            self._known[sha256] = known
        return known
