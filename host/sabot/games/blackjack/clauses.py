"""How a clause of the blackjack rules is cited."""

SILENT = "not in the document"


def cited(clause: str) -> str:
    """Return a clause with its document; one that is not in the document as it is."""
    return clause if clause.startswith(SILENT) else f"Maryland blackjack, {clause}"
