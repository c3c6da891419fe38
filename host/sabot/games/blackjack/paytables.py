"""What the side wagers pay: the paytables that the document has or that were published elsewhere.

The document gives amounts for the Lucky Ladies only (13 A(4)). For the others the amounts are the
house's choice; the published ones have letters, which are Sabot's own. Where they were published is
in SOURCES. No definition of the Hit and Run Progressive was found: it is not offered.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sabot.errors import Forbidden, did_you_mean
from sabot.games.blackjack.clauses import SILENT, cited
from sabot.games.choices import Choice

NOT_OFFERED = "none"
_DEFAULT = "A"
_MOST_TO_ONE = 10_000
"""The largest amount to one: Sabot's own limit."""

_ONE = re.compile(r"(\w{1,40}):(\d{1,5})(?:/([1-9]\d?))?", re.ASCII)

Pays = Mapping[str, Fraction]
"""What is won for each unit wagered, by prize; a prize that is not in it is not paid."""


@dataclass(frozen=True, slots=True)
class Paytable:
    """What a side wager pays at this table."""

    letter: str
    """Of a published paytable; empty for amounts of the house's own."""
    pays: Pays


@dataclass(frozen=True, slots=True)
class Published:
    """A published paytable."""

    source: str
    """Where it was published: a clause of the document, or a key of SOURCES."""
    by_decks: Mapping[int, Pays]


def _pays(**prizes: int | str) -> Pays:
    return {prize: Fraction(to_one) for prize, to_one in prizes.items()}


def _for(pays: Pays, decks: Sequence[int] = range(1, 9)) -> dict[int, Pays]:
    return dict.fromkeys(decks, pays)


SOURCES = {
    "wizard-match": "Wizard of Odds, Match the Dealer, Blackjack Pay Table",
    "wizard-between": "Wizard of Odds, In BETween",
    "wizard-royal": "Wizard of Odds, Royal Match, Versions 1 and 2",
    "jacobson-between": "Eliot Jacobson, Card Counting the In Between Blackjack Side Bet, 2013",
    "wizard-set": "Wizard of Odds, Pair Square, which also goes by the name Bet the Set",
    "jacobson-bounty": "Eliot Jacobson, Card Counting the King's Bounty Side Bet: 6 Decks, 2013",
    "jacobson-bounty-2": "Eliot Jacobson, Card Counting the King's Bounty Side Bet: 2 Decks, 2022",
    "pennsylvania": "58 Pa. Code 633a.1, Crown Treasure bonus, Royal Match, Suited Match",
    "jacobson-poker": "Eliot Jacobson, Beating the 21+3 Blackjack Side Bet; Wizard of Odds, 21+3",
    "evolution": "Evolution, Blackjack, 21+3",
    "jackson": "Jackson Rancheria Casino, House Money Side Bet",
}
"""Where paytables were published, by the short names that this module uses."""

_SIX_UP = range(3, 9)

PUBLISHED: Mapping[str, Mapping[str, Published]] = {
    "lucky_ladies": {
        "A": Published(
            "13 A(4)(a)",
            _for(_pays(queens_of_hearts_and_dealer_blackjack=1000, queens_of_hearts=200,
                       matched_20=25, suited_20=10, any_20=4)),
        ),
        "B": Published(
            "13 A(4)(b)",
            _for(_pays(queens_of_hearts_and_dealer_blackjack=1000, queens_of_hearts=125,
                       matched_20=19, suited_20=9, any_20=4)),
        ),
    },
    "match_the_dealer": {
        "A": Published(
            "wizard-match",
            {
                2: _pays(suited_match=19, match=4),
                4: _pays(suited_match=12, match=4),
                5: _pays(suited_match=15, match=3),
                6: _pays(suited_match=11, match=4),
                8: _pays(suited_match=14, match=3),
            },
        ),
    },
    "in_between": {
        "A": Published(
            "wizard-between",
            _for(_pays(three_of_a_kind=30, one_between=10, two_between=6, three_between=4,
                       more_between=1)),
        ),
        "B": Published(
            "jacobson-between",
            _for(_pays(three_of_a_kind=30, one_between=12, two_between=6, three_between=4,
                       more_between=1)),
        ),
    },
    "royal_match_21": {
        "A": Published("wizard-royal", _for(_pays(royal_match=25, suited_match="5/2"))),
        "B": Published("wizard-royal", _for(_pays(royal_match=10, suited_match=3), [1])),
        "C": Published(
            "pennsylvania", _for(_pays(crown_treasure=1000, royal_match=25, suited_match="5/2"))
        ),
    },
    "bet_the_set_21": {
        "A": Published(
            "wizard-set",
            {1: _pays(pair=15), 2: _pays(suited_pair=25, pair=10)}
            | _for(_pays(suited_pair=15, pair=10), _SIX_UP),
        ),
        "B": Published("wizard-set", _for(_pays(suited_pair=20, pair=10), _SIX_UP)),
    },
    "kings_bounty": {
        "A": Published(
            "jacobson-bounty",
            _for(_pays(kings_of_spades_and_dealer_blackjack=1000, kings_of_spades=100,
                       suited_kings=30, matched_20=20, suited_20=9, kings=6, any_20=4), _SIX_UP),
        ),
        "B": Published(
            "jacobson-bounty-2",
            _for(_pays(kings_of_spades_and_dealer_blackjack=1000, kings_of_spades=200,
                       suited_kings=50, matched_20=25, suited_20=9, kings=6, any_20=4), [2]),
        ),
    },
    "three_card_poker": {
        "A": Published(
            "jacobson-poker",
            _for(_pays(straight_flush=9, three_of_a_kind=9, straight=9, flush=9)),
        ),
        "B": Published(
            "evolution",
            _for(_pays(suited_three_of_a_kind=100, straight_flush=40, three_of_a_kind=30,
                       straight=10, flush=5)),
        ),
    },
    "house_money": {
        "A": Published(
            "jackson", _for(_pays(ace_king_suited=9, straight_flush=4, pair=3, straight=1))
        ),
    },
}  # fmt: skip
"""By side wager and letter. The prizes, the highest first, are explained in `side_wagers`."""

SIDE_WAGERS = (*PUBLISHED, "hit_and_run_progressive")
"""Every side wager that the document has an area for: 2 B(4)(a) to (i)."""

_CLAUSES = {
    "lucky_ladies": "2 B(4)(a), 13 A(4)",
    "match_the_dealer": "2 B(4)(b), 13 A(5), amounts",
    "in_between": "2 B(4)(c), amounts",
    "royal_match_21": "2 B(4)(d), amounts",
    "bet_the_set_21": "2 B(4)(e), amounts",
    "kings_bounty": "2 B(4)(f), amounts",
    "three_card_poker": "2 B(4)(g), amounts",
    "house_money": "2 B(4)(i), amounts",
    "hit_and_run_progressive": "2 B(4)(h), definition",
}


def prizes_of(wager: str) -> tuple[str, ...]:
    """Return the names of all prizes that a published paytable of a side wager has, in order."""
    of_decks = (pays for each in PUBLISHED[wager].values() for pays in each.by_decks.values())
    return max(map(tuple, of_decks), key=len)


def _choice(wager: str) -> Choice:
    clause = _CLAUSES[wager]
    if wager == "lucky_ladies":
        return Choice(wager, _DEFAULT, (NOT_OFFERED, *PUBLISHED[wager]), clause)
    if wager not in PUBLISHED:
        return Choice(wager, NOT_OFFERED, (NOT_OFFERED,), f"{clause} {SILENT} and not found")
    letters = (NOT_OFFERED, *PUBLISHED[wager])
    form = f"{', '.join(letters)} or PRIZE:AMOUNT,..."
    return Choice(wager, _DEFAULT, letters, f"{clause} {SILENT}", form=form)


CHOICES = tuple(map(_choice, SIDE_WAGERS))


def clause_of(wager: str) -> str:
    """Return the clause of the document that has a side wager."""
    return _CLAUSES[wager].removesuffix(", amounts").removesuffix(", definition")


def paytable_of(wager: str, chosen: str, decks: int) -> Paytable | None:
    """Return what a side wager pays; None if it is not offered.

    `chosen` is the house's choice: a letter, amounts, or NOT_OFFERED. A side wager whose choice is
    the default is not offered with a number of decks for which that paytable was not published.
    Raises Forbidden for another letter that has no paytable for this number of decks, and amounts
    that cannot be read.
    """
    if chosen == NOT_OFFERED:
        return None
    published = PUBLISHED[wager].get(chosen)
    if published is None:
        return Paytable("", _read(wager, chosen))
    if decks in published.by_decks:
        return Paytable(chosen, published.by_decks[decks])
    if chosen == _DEFAULT:
        return None
    listed = ", ".join(map(str, published.by_decks))
    raise Forbidden(
        f"blackjack: {wager} {chosen} was published for decks: {listed}, not {decks}; choose "
        f"the amounts, as PRIZE:AMOUNT,... ({cited(_CLAUSES[wager])} {SILENT})"
    )


def _read(wager: str, chosen: str) -> Pays:
    known = prizes_of(wager)
    pays: dict[str, Fraction] = {}
    for part in chosen.split(","):
        found = _ONE.fullmatch(part)
        if found is None:
            letters = ", ".join((NOT_OFFERED, *PUBLISHED[wager]))
            raise Forbidden(
                f"blackjack: {wager} {chosen} cannot be read; write {letters} or amounts, as in "
                f"{known[-1]}:4"
            )
        prize, numerator, denominator = found.groups()
        if prize not in known:
            raise Forbidden(
                f"blackjack: {wager} has no prize {prize!r}; {did_you_mean(prize, known)}"
            )
        if prize in pays:
            raise Forbidden(f"blackjack: {wager}: {prize} has two amounts; write one")
        pays[prize] = Fraction(int(numerator), int(denominator or 1))
        if not 0 < pays[prize] <= _MOST_TO_ONE:
            raise Forbidden(
                f"blackjack: {wager}: {prize} {part.partition(':')[2]} is not an amount to one; "
                f"allowed: up to {_MOST_TO_ONE}, Sabot's own limit; leave out a prize that is not "
                "paid"
            )
    return {prize: pays[prize] for prize in known if prize in pays}


def odds_text(to_one: Fraction) -> str:
    """Return an amount to one as text: "5 to 2" for a fraction, "25 to 1"."""
    return f"{to_one.numerator} to {to_one.denominator}"
