"""Cards by their names."""

from sabot.text import card_symbol


class Card(str):
    """A card by its name: rank and suit, such as "7H", "TC" for the ten of clubs, "AS".

    It is a string and compares like one. The cards that are not for play are "CUT" and "TEST".
    """

    __slots__ = ()

    @property
    def rank(self) -> str:
        """One of "A23456789TJQK"; empty for the cut card and the test card."""
        return self[0] if len(self) == 2 else ""

    @property
    def suit(self) -> str:
        """One of "CDHS", for clubs, diamonds, hearts, and spades; empty for the other cards."""
        return self[1] if len(self) == 2 else ""

    @property
    def symbol(self) -> str:
        """As people write it, such as "10♣"."""
        return card_symbol(self)
