"""Passwords: which are taken, and their hashes.

A hash takes memory and time to make, so that a stolen log is not soon a list of passwords.
"""

import base64
import threading
import unicodedata

from argon2 import PasswordHasher, profiles
from argon2.exceptions import InvalidHashError, VerificationError

from sabot.errors import DeskRefused

SHORTEST, LONGEST = 12, 200
"""Characters of a password."""

PARAMETERS = profiles.RFC_9106_LOW_MEMORY
"""Argon2id with 3 passes over 64 MiB in 4 lanes: the second recommended option of RFC 9106, section
4, for machines without 2 GiB to spare for each sign-in."""

_ONE_AT_A_TIME = threading.Lock()  # or many sign-ins at once would take all memory


def hash_of(password: str) -> str:
    """The hash of a new password, which is stored. Raises DeskRefused if it has another length."""
    plain = _composed(password)
    if not SHORTEST <= len(plain) <= LONGEST:
        raise DeskRefused(
            f"a password has {SHORTEST} to {LONGEST} characters; choose another, such as four words"
        )
    with _ONE_AT_A_TIME:
        return PasswordHasher.from_parameters(PARAMETERS).hash(
            plain.encode("utf-8", "surrogatepass")
        )


def unknown() -> str:
    """A hash that no password has. To compare with it takes as long as with another one."""
    salt, digest = bytes(PARAMETERS.salt_len), bytes(PARAMETERS.hash_len)
    costs = f"m={PARAMETERS.memory_cost},t={PARAMETERS.time_cost},p={PARAMETERS.parallelism}"
    return f"$argon2id$v={PARAMETERS.version}${costs}${_base64(salt)}${_base64(digest)}"


def fits(stored: str, password: str) -> bool:
    """Whether `stored` is the hash of the password."""
    data = _composed(password)[: LONGEST + 1].encode("utf-8", "surrogatepass")
    with _ONE_AT_A_TIME:
        try:
            return PasswordHasher.from_parameters(PARAMETERS).verify(stored, data)
        except (VerificationError, InvalidHashError):
            return False


def _composed(password: str) -> str:
    """The password in the same letters from every keyboard: they differ in how they make an é. A
    letter is made of four at most; of more than a password can have, composing takes seconds."""
    return unicodedata.normalize("NFC", password[: 4 * LONGEST + 1])


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode().rstrip("=")
