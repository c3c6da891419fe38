"""The game documents that a log or a bundle has, for the checks of the play."""

from collections.abc import Callable, Iterator, Mapping

from sabot_protocol.games import FamilyGame, GameError, game_of

_SHA_DIGITS = 16


class KnownGames:
    """The games of documents. `document_of` returns the document with a SHA-256, None if there is
    none. Up to event number `optional_up_to` a result's document may be missing.
    """

    def __init__(
        self, document_of: Callable[[bytes], bytes | None], optional_up_to: int = 0
    ) -> None:
        self.optional_up_to = optional_up_to
        self._document_of = document_of
        self._known: dict[bytes, FamilyGame | str] = {}

    def game(self, sha256: bytes) -> FamilyGame | None:
        """The game with this SHA-256; None if its document is missing or cannot be used."""
        known = self._looked_up(sha256)
        return known if isinstance(known, FamilyGame) else None

    def missing(self, dealt_by: Mapping[bytes, int]) -> Iterator[tuple[int, str]]:
        """Yield the event number and what is missing, for each game in `dealt_by`, which has the
        number of the first result of each game by its SHA-256."""
        for sha256, number in dealt_by.items():
            known = self._looked_up(sha256)
            if isinstance(known, str):
                yield number, f"the game document {sha256.hex()[:_SHA_DIGITS]} {known}"

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
