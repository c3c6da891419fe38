"""Who knows every sample of the chip's sources, each in its order, and all that is on the line,
computes no challenge and no sealing secret without the hosts' random bytes.

The controls show that the attack works: raw numbers of the chip give the sealing secret away, and
with the hosts' bytes the same code computes each challenge and each key exactly.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from math import log, sqrt
from pathlib import Path

import pytest

from host.tests.adversary.generator.chip import (
    ADC,
    OSCILLATOR,
    SOURCES,
    SYSTEM,
    TIMER,
    Chip,
)
from host.tests.adversary.generator.known_unit import (
    HostSecrets,
    KnownUnit,
    no_wiping,
    secrets_of,
)
from host.tests.adversary.generator.published_pool import Follower, Guess, Seen
from host.tests.adversary.generator.raw_numbers import secret_of_unit, states_after
from host.tests.adversary.thief.settings import seed
from host.tests.adversary.whole_shoe import Memory, State, made
from host.tests.support.sealing import commitment_to, round_key, sealed_card

_ALL = (OSCILLATOR, ADC, TIMER, SYSTEM)
_STUCK = [((), 0)] + [(each, level) for each in (*((n,) for n in _ALL), _ALL) for level in (0, 1)]
_FALSE_ALARM = 1e-12
_CUTS = 40


def _name(stuck: tuple[tuple[int, ...], int]) -> str:
    which, level = stuck
    names = "all" if which == _ALL else "+".join(SOURCES[each] for each in which)
    return f"{names}-at-{level}" if which else "none"


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """The memory of a board that is not a unit yet."""
    with no_wiping():
        yield made(State("bare", unit=False), tmp_path_factory.mktemp("bare"))


def _lived(root: Path, bare: Memory, house: HostSecrets, chip: Chip) -> KnownUnit:
    """A unit after two rounds, five sessions and two losses of power."""
    unit = KnownUnit(root, bare, chip, house)
    for rounds in (1, 1, 0):
        unit.rest()
        unit.hello()
        unit.log_in()
        unit.hello()
        for _ in range(rounds):
            unit.play_round()
            unit.take_events()
            unit.hello()
            unit.log_in()
            unit.hello()
            unit.lose_power()
    unit.unit.stop()
    return unit


# ---- what the attacker computes


@dataclass
class _Result:
    """What came of the computed values: `truths` are the right ones, and of each attempt
    `computed` has one for each of them."""

    truths: list[bytes]
    computed: list[list[bytes]]

    def exact(self) -> int:
        """How many computed values are right."""
        each = zip(self.truths, zip(*self.computed, strict=True), strict=True)
        return sum(value == truth for truth, values in each for value in values)

    def bits(self) -> int:
        return sum(8 * len(truth) for truth in self.truths)

    def best(self) -> int:
        """How many bits are right in the best attempt."""
        return max(
            sum(
                8 * len(truth) - (int.from_bytes(truth) ^ int.from_bytes(value)).bit_count()
                for truth, value in zip(self.truths, values, strict=True)
            )
            for values in self.computed
        )

    def chance(self) -> float:
        """How many bits the best of so many attempts has right by chance, at most."""
        return self.bits() / 2 + sqrt(self.bits() / 2 * log(len(self.computed) / _FALSE_ALARM))


def _follow(seen: list[Seen], guess: Guess) -> tuple[list[bytes], list[bytes]]:
    """Compute each challenge before it comes, and the key of each round before it is published."""
    follower = Follower(guess)
    challenges, keys = [], []
    for what, data in seen:
        if what == "challenge":
            challenges.append(follower.next_challenge())
        elif what == "seal":
            keys.append(round_key(follower.part, int.from_bytes(data[:8], "big")))
        follower.take(what, data)
    return challenges, keys


def _attack(seen: list[Seen], guesses: list[Guess], more: bool = False) -> _Result:
    """Follow the unit with each guess; with `more` try what needs no knowledge of the pool too."""
    challenges = [data for what, data in seen if what == "challenge"]
    published = [data[8:] for what, data in seen if what == "unsealed"]
    seals = [data[8:] for what, data in seen if what == "seal"]
    assert [commitment_to(key) for key in published] == seals and published
    computed = []
    for guess in guesses:
        found, keys = _follow(seen, guess)
        computed.append(found + keys)
    if more:
        computed += list(_without_pool(seen))
    return _Result(challenges + published, computed)


def _without_pool(seen: list[Seen]) -> Iterator[list[bytes]]:
    """What could be right if samples or earlier challenges left the unit as they are, or hashed."""
    ways: list[Callable[[bytes], bytes]] = [
        lambda data: data,
        lambda data: data[::-1],
        lambda data: sha256(data).digest(),
        lambda data: sha256(sha256(data).digest()).digest(),
    ]
    for wanted in (*_ALL, "challenge", "session", "hidden", "mac"):
        for way in ways:
            challenges, keys, last = [], [], bytes(32)
            for what, data in seen:
                if what == "challenge":
                    challenges.append(way(last)[:16])
                elif what == "seal":
                    secret = way(last)[:32]
                    keys.append(round_key(secret, int.from_bytes(data[:8], "big")))
                if what == wanted:
                    last = (data + bytes(32))[:1024]
            yield challenges + keys


def _guesses_at_bytes(seen: list[Seen], house: HostSecrets) -> list[bytes]:
    """What the attacker may take for 32 bytes that he does not have."""
    known = [b"", bytes(32), b"\xff" * 32, bytes(range(32)), sha256(b"").digest()]
    known += [sha256(house.first_key).digest(), house.first_key[::-1]]
    known += [data[-32:] for what, data in seen if what == "hidden"]
    known += [data[:32] for what, data in seen if isinstance(what, int)][:8]
    known += [sha256(data).digest() for what, data in seen if what in ("session", "challenge")]
    return known


# ---- the control: raw numbers


def test_two_raw_challenges_and_a_published_key_give_the_sealing_secret() -> None:
    """The design of before: challenge and secret were os.urandom as it came."""
    drawn = random.Random(seed())
    tried_in_all = 0
    for _ in range(3):
        chip = Chip(drawn.getrandbits(64))
        chip.urandom(16)
        challenges = chip.urandom(16), chip.urandom(16)
        after, secret = chip.state, chip.urandom(32)
        at = chip.calls[1]

        assert after in [found for found, _ in states_after(*challenges, at)]
        found, tried = secret_of_unit(challenges, at, 15, round_key(secret, 15))
        assert found == secret
        tried_in_all += tried
        sealed = sealed_card(round_key(secret, 40), 2, 17)
        opened = [
            card for card in range(52) if sealed_card(round_key(found, 40), 2, card) == sealed
        ]
        assert opened == [17], "the next round, which is not published yet"
        wrong = challenges[0], bytes(each ^ 1 for each in challenges[1])
        assert secret_of_unit(wrong, at, 15, round_key(secret, 15)) == (None, 0)
    print(f"3 secrets after {tried_in_all} guesses")


# ---- a unit as it is


@pytest.mark.parametrize("stuck", _STUCK, ids=_name)
def test_who_knows_all_but_the_hosts_bytes_computes_nothing_and_with_them_everything(
    tmp_path: Path, bare: Memory, stuck: tuple[tuple[int, ...], int]
) -> None:
    number = seed()
    house = secrets_of(number)
    unit = _lived(tmp_path, bare, house, Chip(number + 1, *stuck))
    seen = unit.seen
    strangers = _guesses_at_bytes(seen, house)

    ways = {
        "without bytes and keys": [
            Guess(each, key, False) for each in strangers for key in strangers[:5]
        ],
        "with the unit's keys": [
            Guess(each, house.first_key, opens) for each in strangers for opens in (True, False)
        ],
        "with the first bytes, without keys": [
            Guess(house.provisioning, key, opens) for key in strangers for opens in (True, False)
        ],
    }  # fmt: skip
    for name, guesses in ways.items():
        result = _attack(seen, guesses, more=True)
        print(
            f"{name}: {len(result.computed)} attempts at {len(result.truths)} values,"
            f" {result.exact()} right; the best has {result.best()} of {result.bits()} bits,"
            f" chance {result.chance():.0f}"
        )
        assert result.exact() == 0
        assert result.best() <= result.chance()

    everything = _attack(seen, [Guess(house.provisioning, house.first_key)])
    assert everything.exact() == len(everything.truths) > 10
    assert everything.best() == everything.bits() > everything.chance()


@pytest.mark.parametrize("raw", [False, True], ids=["as-it-is", "raw-challenges"])
def test_only_raw_challenges_of_a_unit_fit_a_state_of_the_chip(
    tmp_path: Path, bare: Memory, raw: bool
) -> None:
    """The control is the same unit, if it sends os.urandom as it comes."""
    number = seed()
    chip = Chip(number)
    unit = KnownUnit(tmp_path, bare, chip, secrets_of(number))
    unit.rest()
    shoe = unit.unit.shoe
    assert shoe is not None
    if raw:
        shoe.guard._take = lambda label, size=32: chip.urandom(size)
    for _ in range(10):
        calls = len(chip.calls)
        challenges = unit.hello(), unit.hello()
        at = chip.calls[calls] if raw else chip.mixed
        states = [state for state, _ in states_after(*challenges, at)]
        assert (chip.state in states) == raw == bool(states)
    unit.unit.stop()


def test_who_misses_the_first_session_after_a_start_computes_nothing_ever_after(
    tmp_path: Path, bare: Memory
) -> None:
    """Who misses a later session computes nothing until the next loss of power."""
    number = seed()
    house = secrets_of(number)
    seen = _lived(tmp_path, bare, house, Chip(number + 2)).seen
    guess = Guess(house.provisioning, house.first_key)
    first_of_start, missed = True, 0
    for at, (what, _) in enumerate(seen):
        if what == "rest":
            first_of_start = True
        if what != "hidden":
            continue
        starts = [place for place, (name, _) in enumerate(seen) if name == "rest" and place > at]
        end = len(seen) if first_of_start or not starts else starts[0]
        before = sum(name == "challenge" for name, _ in seen[:at])
        heard = seen[:at] + seen[at + 1 : end]
        came = [data for name, data in heard if name == "challenge"]
        computed = _follow(heard, guess)[0]
        right = [one == other for one, other in zip(computed, came, strict=True)]
        assert all(right[:before]) and len(right) > before
        assert not any(right[before:]), f"session {missed} missed: {right}"
        first_of_start = False
        missed += 1
    assert missed == 5


@pytest.mark.parametrize("stuck", [_ALL, ()], ids=["all-stuck", "none-stuck"])
def test_no_challenge_and_no_secret_comes_twice_over_losses_of_power(
    tmp_path: Path, bare: Memory, stuck: tuple[int, ...]
) -> None:
    """Two units with the same keys, the same hardware and other bytes of a host."""
    number = seed()
    drawn = random.Random(number)
    house = secrets_of(number)
    challenges: list[bytes] = []
    parts: list[bytes] = []
    for at, first_bytes in enumerate((house.provisioning, house.provisioning[::-1])):
        own = replace(house, provisioning=first_bytes, later=random.Random(number))
        unit = KnownUnit(tmp_path / str(at), bare, Chip(number, stuck), own)
        for _ in range(_CUTS):
            for _ in range(drawn.randrange(3)):
                challenges.append(unit.hello())
            if drawn.random() < 0.3:
                unit.hello()
                unit.log_in()
            unit.unit.run(drawn.choice((1, 30, 400, 1500)))
            if drawn.random() < 0.5:
                unit.rest()
            unit.lose_power()
        unit.unit.stop()
        parts += dict.fromkeys(unit.parts)
    print(f"{len(challenges)} challenges and {len(parts)} secrets of 2 units, {2 * _CUTS} cuts")
    assert len(challenges) > _CUTS and len(parts) > _CUTS // 2
    assert len(set(challenges)) == len(challenges)
    assert len(set(parts)) == len(parts)
