"""Every fault of a card's pass, at every place in a round."""

from pathlib import Path

import numpy as np
import pytest

from sabot.sim import waveform
from sabot.sim.disturbed import NOISE
from sabot.sim.faulty import faulty_pass
from sabot_hil.capabilities import Bench, Target
from sabot_hil.kit import dealer
from sabot_hil.kit.logbook import check_taken
from sabot_protocol import enums

FAULTS = [fault for fault in enums.FAULTS if fault not in ("none", "power_lost")]
PLACES = ["first burn", "burn", *(f"card {n}" for n in range(1, 7))]
_CARDS = ["AC", "2C", "KS", "3H", "QS", "JH", "4D", "5D", "CUT"]  # six cards: the Banker draws to 4
_QUIET = bytes(2000)  # 0.2 s with nothing at the head


class _Clumsy(dealer.BenchDealer):
    """Lets one card pass so that it cannot be read; the supervisor resolves it."""

    _bench: Bench

    def __init__(self, bench: Bench, samples: bytes, place: str) -> None:
        super().__init__(bench, _CARDS)
        self._spoilt = samples
        self._place = place

    def _pull(self, where: str) -> str:
        if where != self._place:
            return super()._pull(where)
        assert self._bench.outputs.lock_released
        card = next(self._cards)
        self._bench.play(self._spoilt)
        shown = self._bench.settle()
        stopped = (shown.title, shown.lock_released, shown.lamps)
        assert stopped == ("STOP", False, frozenset({"error"})), shown
        if dealer.resolve_stop(self._bench, card):
            self._bench.pull(card)
        return card


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_stops_play_and_the_result_follows_from_the_cards(
    target: Target, tmp_path: Path, fault: str, place: str
) -> None:
    levels = faulty_pass(np.random.default_rng(1), NOISE["clean"], fault, 0, "stroke")
    samples = waveform.pack(levels) + _QUIET
    dealing = _Clumsy(target.bench, samples, place)
    dealing.load()
    hand = dealing.deal_round()
    assert len(hand.player + hand.banker) == 6
    (ended,) = [each for each in check_taken(target, tmp_path) if each.winner]
    assert dealer.logged(ended) == hand.as_logged()
