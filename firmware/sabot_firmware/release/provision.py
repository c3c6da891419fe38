"""A board becomes a unit: takes what it is to know of itself, and keeps all of it or nothing.

On a board that is none yet the document `unit` is written last: a loss of power before leaves a
board that is to be provisioned. A unit keeps its id and its keys; what else it is told is written
as one document first, and the next start goes on where the power went.
"""

from sabot_firmware.link.answers import Refused
from sabot_protocol import messages, provisioning

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.store import Store

UNIT = "unit"
"""The document that makes a board a unit."""
PENDING = "pending"
"""The document with what a unit was told, until all of it is where it belongs."""


class Provision:
    """Into `store`. What comes is forgotten whole with the first part that does not fit."""

    def __init__(self, store: "Store") -> None:
        self._store = store
        self._document: "bytearray | None" = None
        self._come = 0

    def take(self, offset: int, size: int, part: bytes) -> bool:
        """A part of the document; whether all of it has come and is kept. Raises Refused."""
        document, self._document = self._document, None
        if not 0 < size <= provisioning.MAX_DOCUMENT:
            raise Refused("bad_size", str(provisioning.MAX_DOCUMENT))
        if not 0 < len(part) <= messages.MAX_PROVISION_PART or offset + len(part) > size:
            raise Refused("bad_part")
        if not offset:
            document, self._come = bytearray(size), 0
        if document is None or len(document) != size or self._come != offset:
            raise Refused("bad_order")
        document[offset : offset + len(part)] = part
        self._come += len(part)
        if self._come < size:
            self._document = document
            return False
        try:
            told = provisioning.Provisioning(bytes(document))
        except provisioning.ProvisioningError as error:
            raise Refused("invalid", str(error))
        self._keep(told)
        return True

    def _keep(self, told: provisioning.Provisioning) -> None:
        store = self._store
        unit: "str | None" = store.load(UNIT)  # type: ignore[assignment]
        if unit is None and told.first_key is None:
            raise Refused("needs_key")
        if unit is not None and told.first_key is not None:
            raise Refused("has_keys", unit)
        if unit is not None and told.unit != unit:
            raise Refused("other_unit", unit)
        what = [told.table, told.card_set, told.when_full, told.release_key, told.game]
        if unit is None:
            _write(store, what)
            store.save("first_key", told.first_key)
            store.save(UNIT, told.unit)
        else:
            store.save(PENDING, what)
            finish(store)


def finish(store: "Store") -> None:
    """Bring to an end what a unit was told, if there is something."""
    what: list = store.load(PENDING)  # type: ignore[assignment]
    if what is not None:
        _write(store, what)
        store.remove(PENDING)


def _write(store: "Store", what: "list") -> None:
    table, card_set, when_full, release_key, game = what
    store.save("provisioned", [table, card_set])
    store.save("settings", {"set": card_set, "when_full": when_full})
    store.save("release_key", release_key)
    store.save("game", game)
