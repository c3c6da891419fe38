"""Words of enumerations, also of those that a later version has at their ends."""

from sabot_protocol import enums

UNKNOWN = "unknown_"
"""What the names of words and of kinds of events begin with that this version does not know. No
name in the protocol begins with it."""


class UnknownWord(str):
    """A word that this version does not know, by its number, such as "unknown_14".

    It is a string, so it can be shown and sent like one, and it is equal to no word that is known.
    """

    __slots__ = ()

    @classmethod
    def of(cls, number: int) -> "UnknownWord":
        """Return the word with this number on the wire."""
        return cls(f"{UNKNOWN}{number}")

    @property
    def number(self) -> int:
        """Its number on the wire."""
        return int(self.removeprefix(UNKNOWN))


def word_of(words: tuple[str, ...], number: int) -> str:
    """Return the word of an enumeration with this number on the wire."""
    return words[number] if number < len(words) else UnknownWord.of(number)


def number_of(words: tuple[str, ...], word: str) -> int:
    """Return the number on the wire of a word of an enumeration."""
    return word.number if isinstance(word, UnknownWord) else words.index(word)


def words_in(words: tuple[str, ...], bits: int) -> list[str]:
    """Return the words whose bits are set: bit n is the n-th of `words`."""
    return [word_of(words, place) for place in range(bits.bit_length()) if bits >> place & 1]


BIT_SETS = {"result": {"hits": enums.HITS}}
"""By the kind of an event: its fields of the type `uint` whose bits are words, with the words."""
