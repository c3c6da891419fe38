"""The attack on raw numbers: two challenges of os.urandom give the state of pico_rand, and the
sealing secret that is drawn after them follows.

What the attacker knows besides: about when each number was drawn (`BETWEEN`). A round key that was
published says which guess is right.
"""

from collections.abc import Iterator

from host.tests.adversary.generator.chip import (
    BETWEEN,
    WITHIN,
    Mixed,
    Rates,
    State,
    unhashed,
    word_of,
)
from host.tests.support.sealing import round_key

_WORD = (1 << 64) - 1
_DRAWS_OF_SECRET = 4


def _words(challenge: bytes) -> list[int]:
    """The first words of the states from which both halves were drawn."""
    return [word_of(int.from_bytes(challenge[at : at + 8], "little")) for at in (0, 8)]


def _unshifted(value: int) -> int:
    """Return x of `value` = x ^ x << 16."""
    found = value
    for _ in range(4):
        found = (value ^ found << 16) & _WORD
    return found


def _middle(low: int, after: int) -> int:
    """Return the second word within a call, from the first word in it and the one after it."""
    turned = (low << 24 | low >> 40) & _WORD
    return _unshifted(after ^ turned)


def states_after(first: bytes, second: bytes, at: Mixed) -> Iterator[tuple[State, Mixed]]:
    """Yield each state after two challenges that fits, with what the last call mixed in. `at` is
    what the first call mixed in; its bit is not needed.

    The words a, b, c and d are drawn. From a and b follows the second word of the state after a,
    from b and c that after b. Their difference is the hash of the register of the oscillator's
    bits, which is a bijection; then d must be what this state gives.
    """
    a, b = _words(first)
    c, d = _words(second)
    for in_b in WITHIN.after(at):
        middle = _middle(a, b ^ in_b.word())
        turned = (middle << 37 | middle >> 27) & _WORD
        for in_c in BETWEEN.after(in_b):
            before_c = c ^ in_c.word()
            bits = unhashed(turned ^ _middle(b, before_c) ^ b)
            state, _ = State(0, turned, 0).churned(b, bits)
            assert state.low == before_c
            for bit in (0, 1):
                last = bits << 1 & _WORD | bit
                after_c, _ = state.churned(c, last)
                for in_d in WITHIN.after(in_c):
                    if after_c.low ^ in_d.word() != d:
                        continue
                    for next_bit in (0, 1):
                        yield after_c.churned(d, last << 1 & _WORD | next_bit)[0], in_d


def secrets_after(state: State, mixed: Mixed) -> Iterator[bytes]:
    """Yield each 32 bytes that os.urandom may give next."""
    yield from _drawn(state, mixed, BETWEEN, _DRAWS_OF_SECRET)


def _drawn(state: State, mixed: Mixed, rates: Rates, left: int) -> Iterator[bytes]:
    for each in rates.after(mixed):
        low = state.low ^ each.word()
        for bit in (0, 1) if left > 1 else (0,):  # the last bit changes only what comes after it
            after, output = state.churned(low, state.bits << 1 & _WORD | bit)
            drawn = output.to_bytes(8, "little")
            if left == 1:
                yield drawn
            else:
                for rest in _drawn(after, each, WITHIN, left - 1):
                    yield drawn + rest


def secret_of_unit(
    challenges: "tuple[bytes, bytes]", at: Mixed, seal_number: int, published: bytes
) -> "tuple[bytes | None, int]":
    """Return the sealing secret that was drawn after both challenges, and how many were tried; None
    if no guess makes the round key that was published."""
    tried = 0
    for state, mixed in states_after(*challenges, at):
        for secret in secrets_after(state, mixed):
            tried += 1
            if round_key(secret, seal_number) == published:
                return secret, tried
    return None, tried
