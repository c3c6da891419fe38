"""What was found in the order of cards, for people."""

from sabot.order.dealt_order import Found
from sabot.order.finder import Finding
from sabot.text import counted


def detail_of(found: Found, *, over: bool) -> str:
    """Return what was found in one line. As long as the shoe of cards is not `over`, the line does
    not name the one that it repeats: that has the cards to come."""
    finding = found.finding
    return (
        f"{what_of(finding, over)}; found at card {found.card} of {counted(found.decks, 'pack')}; "
        f"under honest shuffling fewer than one shoe in {rounded(finding.one_in)}"
    )


def rounded(number: float) -> str:
    """A large number with two digits that count: "6,300,000", or "10^21"."""
    if number >= 1e9:
        return f"10^{len(str(int(number))) - 1}"
    digits = len(str(int(number)))
    return f"{int(number) // 10 ** (digits - 2) * 10 ** (digits - 2):,}"


def what_of(finding: Finding, over: bool) -> str:
    """Return what was found, without how sure it is."""
    backwards = " backwards" if finding.reversed else ""
    if finding.what == "packs":
        if not finding.riffles:
            return "the cards come in the order of new packs"
        return f"the cards come as new packs after some {counted(finding.riffles, 'riffle')}"
    if finding.what == "riffled":
        of = _named(finding, "the last shoes of cards of this table", over)
        if not finding.riffles:
            return f"the cards follow the order of {of}{backwards}"
        return f"the cards come as {of}{backwards} after some {counted(finding.riffles, 'riffle')}"
    length = counted(len(finding.pairs), "card")
    if finding.what == "within":
        return f"{length} came in the same order before in this shoe of cards{backwards}"
    where = "table" if finding.what == "table" else "log"
    of = _named(finding, f"an earlier shoe of cards of this {where}", over)
    return f"{length} repeat the order of {of}{backwards}"


def _named(finding: Finding, instead: str, over: bool) -> str:
    of = finding.of
    if not over or of is None:
        return f"one of {instead}" if finding.what == "riffled" else instead
    return f"{of.unit} shoe {of.shoe}"
