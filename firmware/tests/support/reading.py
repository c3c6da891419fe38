"""Reads samples with the card reader, for tests on CPython and on MicroPython."""

from sabot_firmware.cards.reader import Reader
from sabot_protocol import cards, enums


def outcome(passed):
    """Return the card's name or the fault's."""
    if passed.fault:
        assert passed.card == -1, passed.card
        return enums.FAULTS[passed.fault]
    return cards.name_of(passed.card)


def read(reader, data, passes, at=0, end=None):
    """Read samples; append the outcome of each pass that ends in them."""
    end = len(data) if end is None else end
    while at < end:
        at = reader.read(data, at, end)
        if reader.ended:
            passes.append(outcome(reader.passed))
    assert at == end


def passes_of(data, card_set=0):
    """Return the outcomes of all passes in these samples, read by a new reader."""
    passes = []
    read(Reader(card_set), data, passes)
    return passes
