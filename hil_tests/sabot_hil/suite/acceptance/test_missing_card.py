"""A card that goes out under another one, so that no reader can know: it comes out at the end."""

import random
from pathlib import Path

import numpy as np

from sabot.games.baccarat import catalogue
from sabot.log.store import Filter
from sabot.notable.incident_finder import incidents_of
from sabot.sim import waveform
from sabot.sim.waveform import CARD_MM, SAMPLE_RATE_HZ, TRAVEL_MM, UV_MM, A, B
from sabot.text import card_symbol
from sabot_hil.capabilities import Bench, Target, session_with
from sabot_hil.kit import dealer
from sabot_hil.kit.logbook import Logbook
from sabot_protocol import cards

_DECKS = 1
_CUT_FROM_END = 16
_AT = 20  # in the deck: the card that hides the next one
_LAG_MM = 6.0
_SLOW_MM_S, _FASTER_MM_S2 = 100.0, 10_000.0
_PAST_MARKS_MM = 60.5


def _double_feed(first: str, second: str) -> bytes:
    """Return the samples of two cards, the second 6 mm after the first and under it. The hand is
    slow until the last mark has passed, and then pulls faster: the second card's 6 mm take no
    longer than the first one's end if the hand had stayed slow.
    """
    way_mm = TRAVEL_MM + _LAG_MM - _PAST_MARKS_MM
    slow = int(_PAST_MARKS_MM / _SLOW_MM_S * SAMPLE_RATE_HZ)
    begin_mm = np.arange(slow) * _SLOW_MM_S / SAMPLE_RATE_HZ
    end_mm = waveform.positions_at(_SLOW_MM_S, _FASTER_MM_S2, way_mm) + _PAST_MARKS_MM
    edge_mm = np.concatenate([begin_mm, end_mm])
    codes = [
        waveform.sensor_levels(
            at_mm, waveform.marks_as_printed(cards.marks_of(cards.number_of(card), 0))
        )
        for card, at_mm in ((first, edge_mm), (second, edge_mm - _LAG_MM))
    ]
    levels = waveform.covered(edge_mm, CARD_MM + _LAG_MM)
    levels |= np.where(edge_mm < UV_MM + CARD_MM, codes[0], codes[1]) & (A | B)
    return waveform.pack(waveform.with_rest(levels))


class _Careless(dealer.BenchDealer):
    """Pulls the card `under` out together with the one `over` it, and does not notice."""

    _bench: Bench

    def __init__(self, bench: Bench, deck: list[str], over: str, under: str, game: bytes) -> None:
        super().__init__(bench, deck, game=game)
        self._over, self._under = over, under

    def _pull(self, where: str) -> str:
        self._between_steps(where)
        self._wait_for_lock(where)
        card = next(self._cards)
        if card == self._over:
            self._bench.play(_double_feed(card, self._under))
            self._bench.settle()
        else:
            self._bench.pull(card)
        return card


def test_a_shoe_that_lacks_a_card_names_the_pass_that_hid_it(
    target: Target, tmp_path: Path, seed: int
) -> None:
    document = catalogue.document("md-mini", {"decks": _DECKS, "cut_from_end": _CUT_FROM_END})
    with session_with(target.shoe) as client:
        client.load_game(document)
    deck = [rank + suit for suit in cards.SUITS for rank in cards.RANKS]
    random.Random(seed).shuffle(deck)
    deck.insert(len(deck) - _CUT_FROM_END, "CUT")
    under = deck.pop(_AT + 1)
    with Logbook(tmp_path, [target.shoe.port], target.clock, once=True) as book:
        dealing = _Careless(target.bench, deck, deck[_AT], under, document)
        dealing.deal_shoe()
        book.wait(lambda: book.logger.wait(0), "done with the shoe of cards")
        book.check(target.shoe.unit, dealing.hands)
        events = [row.event() for row in book.store.rows(Filter(unit=target.shoe.unit))]
    (missing,) = [each for each in incidents_of(target.shoe.unit, events) if each.kind == "error"]
    assert missing.detail.startswith("cards missing; "), missing
    assert card_symbol(under) in missing.detail
    assert missing.nearest is not None
    (nearest,) = missing.nearest
    assert nearest.card == deck[_AT] and 1500 < nearest.longer_um < 6000, nearest
