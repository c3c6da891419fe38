"""Who may do what at the screens: the one place that decides."""

ROLES = ("board", "floor", "surveillance", "technician", "administrator")
"""Every user has one of these roles."""

RIGHTS: dict[str, frozenset[str]] = {
    "boards": frozenset(ROLES),
    "wall": frozenset(ROLES) - {"board"},
    "table": frozenset({"floor", "surveillance", "technician"}),
    "round": frozenset({"floor", "surveillance"}),
    "search": frozenset({"floor", "surveillance"}),
    # Raw bytes and MACs.
    "records": frozenset({"surveillance"}),
    # Of a shoe of cards in play: what is left in it helps a cheat.
    "counts": frozenset({"surveillance"}),
    "alerts": frozenset({"floor", "surveillance", "technician"}),
    "acknowledge": frozenset({"floor", "surveillance"}),
    "health": frozenset({"technician", "surveillance"}),
    "export": frozenset({"surveillance"}),
    # What the cards of shoes that have ended give away, of people too.
    "integrity": frozenset({"surveillance"}),
    "users": frozenset({"administrator"}),
    # Who opened which round.
    "views": frozenset({"administrator", "surveillance"}),
}
"""The roles that have each right."""


def may(role: str, right: str) -> bool:
    """Whether a role has a right. An unknown role has none; an unknown right is a KeyError."""
    return role in RIGHTS[right]
