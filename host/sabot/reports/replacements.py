"""When another board took the place of the one that a unit had, as an incident of the new board."""

from sabot.log.store import Store
from sabot.reports.incident import Incident


def replacement_of(store: Store, name: str) -> list[Incident]:
    """Return the incident `replaced` of a board that has taken the place of another: at the time of
    its seam, by the clock of the host. None of a first board."""
    seam = store.seam_of(name)
    if seam is None:
        return []
    return [
        Incident(
            name, "replaced", None, None, None, None, None, seam.unix_ms, False, None, False,
            seam.text(),
        )
    ]  # fmt: skip
