"""What the report, the page of `sabot serve` and docs/integrity.md say in the same sentences."""

METHODS = {
    "order": (
        "The cards of each shoe are compared with the order of new packs, with the last two shoes "
        "of the unit after a few riffles, and with all shoes of the log that were looked at "
        "before: whether a run of cards, or of ranks, came there too, also backwards, and with "
        "cards that differ. Honest cards reach a bound of M with a chance of at most one in M."
    ),
    "shuffle": (
        "Each shoe of cards is compared with the one before it at the same unit, and with the one "
        "before that: how many cards come out right after the card that they followed before. "
        "Eight decks that were shuffled well share 57 such neighbours, give or take 6; after one "
        "riffle 225, after two 138, after three 97, after four 76, after five 66."
    ),
    "composition": (
        "The cards that came out are counted against those that were loaded: by card, by rank, by "
        "suit, and by their place in the shoe. A card that is missing shows after some shoes, "
        "because too many of its copies stay away."
    ),
    "favourable": (
        "Before every round the worth of each wager is computed exactly from the cards that lay "
        "face up until then. A wager is favourable if it pays back more than it takes. If the "
        "house says who wagered when, the people are named who met such rounds more often than "
        "the same wagers in the same rounds of other shoes would have."
    ),
}
"""What each analysis does."""

ENDED_ONLY = (
    "Only shoes of cards that have ended are looked at. What is left in a shoe in play is computed "
    "for no one."
)

CANNOT_KNOW = (
    "Marked cards: the log has what a card is, not what its back looks like.",
    "Edge sorting: if the backs are not alike and someone has the cards turned, the order of the "
    "cards does not change, and the code on a card reads the same.",
    "Payments that are wrong: the log has cards and results. Without the wagers it does not know "
    "what was paid.",
    "Cards that were exchanged on the table: the shoe reads a card when it comes out, not when it "
    "lies.",
    "Cards that never came out: at the cut card, those that are left are not known.",
)
"""What a log cannot know."""
