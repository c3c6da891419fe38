"""Who sees all that leaves a shoe guesses no sealed card better than chance.

The thief has the line (bytes, sizes and times of all frames: events, heartbeats, answers to all
that can be asked), the entries and operations of the journal's chip, lock, lamps, display and
buzzer, and the presses of the supervisor. The rounds are divided by what the lock did. The controls
show that the same test finds the lock, and what a shoe tells that leaks.
"""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from firmware.tests.support.scripted import BURN, KEY_TURNED, VOID
from firmware.tests.test_store import Folder
from host.tests.adversary.thief.guessing import Numbers, best_guess
from host.tests.adversary.thief.rounds import Midi, Played, document_of, played
from host.tests.adversary.thief.settings import rounds, seed
from host.tests.adversary.thief.tapped import TappedShoe

_ROUNDS = {"midi": (220, 10_000), "blackjack": (200, 12_000), "holdem": (52, 3_000)}
"""Of a family: in `make test`, and at most."""
_FEW = {"midi": 20, "blackjack": 80, "holdem": 24}
"""Rounds of a family in which more than 52 cards are sealed, and more than 50 come face up."""
_LEAKING = (280, 2_000)


@pytest.fixture(scope="module", params=_ROUNDS)
def honest(request: pytest.FixtureRequest) -> Iterator[Played]:
    """Rounds of each family at a shoe as it is."""
    family: str = request.param
    with played(family, seed(), rounds(*_ROUNDS[family])) as made:
        yield made


@pytest.fixture(scope="module", params=_FEW)
def few(request: pytest.FixtureRequest) -> Iterator[Played]:
    """A few rounds of each family at a shoe as it is."""
    family: str = request.param
    with played(family, seed(), _FEW[family]) as made:
        yield made


@pytest.mark.slow
def test_what_a_thief_sees_tells_no_sealed_card(honest: Played) -> None:
    found = best_guess(honest.features, honest.wanted(), honest.strata, together=True)
    print(
        f"{honest.family}: {len(honest.strata)} rounds, {len(honest.features)} features,"
        f" {len(honest.cards)} places, {len(np.unique(honest.strata))} strata: {found}"
    )
    assert not found.tells, found


@pytest.mark.slow
def test_a_thief_who_does_not_divide_the_rounds_finds_what_the_lock_and_the_look_tell(
    honest: Played,
) -> None:
    one = np.zeros_like(honest.strata)
    allowed, wanted = {"the lock": honest.strata}, honest.wanted()
    if honest.family == "midi":
        allowed["a third card"] = (honest.cards["player_3"] >= 0).astype(np.int64)
        total = wanted["player's two"]
        wanted = {"whether the Player draws": np.where(total < 0, -1, total <= 5)} | wanted
    found = best_guess(allowed, wanted, one)
    print(f"{honest.family}: {found}")
    if honest.family == "midi":
        assert found.tells and "Player draws" in found.name, found
    elif honest.family == "blackjack" and len(one) > 1000:
        assert found.tells and "hole" in found.name, found
    elif honest.family == "holdem":
        assert not found.tells, "the lock depends on no card"


def test_two_sealed_cards_are_never_the_same_bytes_although_cards_are_equal(few: Played) -> None:
    sealed = few.shoe.sealed
    commitments = [commitment for _, commitment, _ in few.shoe.seals]
    assert len(sealed) > 52, "some are of the same card"
    for at in (0, 1):  # the first byte has the card, the others would be zeros
        assert len({each[at:] for each in sealed}) == len(sealed)
    assert len(set(commitments)) == len(commitments)


def test_the_figures_of_a_sealed_pass_are_nowhere_on_the_line_and_on_the_chip(few: Played) -> None:
    """Each card has a margin and a skew that no other has: those of a card that came face up are
    found byte for byte."""
    assert all(found <= face_up for found, face_up in few.in_clear)
    found = sum(len(found) for found, _ in few.in_clear)
    assert (found > 50) == (few.family != "midi"), "no card of midi comes face up"


@pytest.mark.slow
def test_the_composition_of_a_shoe_has_no_card_that_is_never_to_be_known() -> None:
    random = np.random.default_rng(seed())
    with Folder() as folder:
        shoe = TappedShoe(folder, document_of("midi"), random)
        table = Midi(shoe, random, unreadable=0.1)
        for _ in range(20):
            table.round()
        shoe.forget_round()
        shoe.play(KEY_TURNED[0], VOID, BURN, KEY_TURNED[1])
        (composition,) = [own for kind, own in shoe.seen.events if kind == "composition"]
    came, unknown = Counter(table.came), Counter(table.unknown)
    counts, unread = composition[:2]
    assert unread == len(table.unknown) > 20
    assert list(counts) == [came[card] - unknown[card] for card in range(52)]


# ---- shoes that leak


def _leak_everywhere(shoe: TappedShoe) -> None:
    """Let the shoe tell the card that was sealed last: by the length of a field, by how long it
    takes, by a bit of the heartbeat, by a note in clear on the chip, by the figures of its pass,
    and by where the supervisor's choice begins."""
    firmware, board = shoe.shoe, shoe.board
    maintain, beat, last = firmware.maintain_seals, firmware.heartbeat, [0]
    begin = firmware.dealing.pending.begin

    def leak() -> None:
        seals = firmware.recorder.seals
        seal = seals.card

        def sealed(card: int, *more: object) -> bytes:
            last[0] = card
            board._now_ms += card % 13
            return bytes(seal(card, *more)) + bytes(card // 13)

        seals.card = sealed
        seals.note = lambda number, note: (bytes(note).ljust(28, b"\0"), b"")

    def maintained(*given: object) -> object:
        """A new secret has seals of its own."""
        before, done = firmware.recorder.seals, maintain(*given)
        if firmware.recorder.seals is not before:
            leak()
        return done

    def heartbeat(now_ms: int) -> list[object]:
        fields = list(beat(now_ms))
        fields[3] = int(last[0] % 13 > 6)
        return fields

    leak()
    firmware.maintain_seals = maintained
    firmware.heartbeat = heartbeat
    firmware.dealing.pending.begin = lambda why, position, column, sealed: begin(
        why, position, column
    )
    firmware.dealing._recorded_figures = lambda position, figures: figures


_CHANNELS = {
    "the length of a field": "sealed_card0.sealed.length",
    "the length of a frame": "frame",
    "a time": "status_report",
    "a bit of the heartbeat": "heartbeat",
    "a note on the chip": "entry 2",
    "a figure": "sealed_card0.margin_permille",
    "the presses of the supervisor": "presses",
}


@pytest.fixture(scope="module")
def leaking() -> Iterator[Played]:
    with played("blackjack", seed(), rounds(*_LEAKING), _leak_everywhere) as made:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("what", _CHANNELS)
def test_the_same_test_finds_a_shoe_that_leaks(leaking: Played, what: str) -> None:
    prefix = _CHANNELS[what]
    seen = {name: each for name, each in leaking.features.items() if name.startswith(prefix)}
    # The presses have nothing of the lock, and few rounds have them.
    strata = leaking.strata * (what != "the presses of the supervisor")
    found = best_guess(seen, leaking.wanted(), strata)
    print(f"{what}: {found}")
    assert found.tells, found


@pytest.mark.slow
def test_the_same_test_finds_a_leak_among_all_that_is_seen(leaking: Played) -> None:
    found = best_guess(leaking.features, leaking.wanted(), leaking.strata)
    assert found.tells, found


@pytest.mark.slow
def test_features_that_tell_only_together_are_found(honest: Played) -> None:
    """The rank is the sum of two numbers, each of which alone is drawn evenly."""
    random = np.random.default_rng(seed())
    card = next(card for card in honest.cards.values() if (card >= 0).sum() >= len(card) // 2)
    share = random.integers(-400, 400, len(card))
    few: dict[str, Numbers] = dict(list(honest.features.items())[:30])
    planted = few | {"one": share, "other": np.where(card < 0, 48, 8 * (card % 13)) - share}
    wanted = {"high": np.where(card < 0, -1, card % 13 // 7)}
    one = np.zeros_like(honest.strata)
    if len(card) < 100:
        return
    found = best_guess(planted, wanted, one, together=True)
    print(f"{honest.family}: {found}")
    assert found.tells and "together" in found.name, found
