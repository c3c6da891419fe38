"""How a clause of Chapter 8 is cited."""

from sabot.errors import Forbidden

SILENT = "not in the document: common practice"


def cited(clause: str) -> str:
    """Return a clause with its document; one that is not in the document as it is."""
    return clause if clause.startswith(SILENT) else f"Maryland poker, 8 {clause}"


def forbidden(where: str, text: str, clause: str) -> Forbidden:
    """Return the error for what the chapter forbids. `text` says what it is and what to do."""
    return Forbidden(f"{where}: {text} ({cited(clause)})")
