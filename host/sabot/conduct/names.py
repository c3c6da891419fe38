"""The names of people on duty, apart from the log: a file of its own, in which each can be erased.

The log has pseudonyms only, because nothing in it can ever be removed. A pseudonym that is made
here is random: once its line is erased, no one can say whose it was.
"""

import json
import secrets
from pathlib import Path

from sabot.errors import RosterUnusable
from sabot.files import TooLarge, check_is_file, read_bounded, replace_whole
from sabot.text import printable

DEFAULT = Path("roster.names")
_LETTERS = "ABCDEFGHJKMNPQRSTVWXYZ23456789"  # none that looks like another
_LENGTH = 6
_MOST_BYTES = 1 << 22
_LONGEST_NAME = 100
_PRIVATE = 0o600


class Names:
    """The names in a file, by pseudonym. Raises RosterUnusable if it cannot be read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._names = _read(path)
        self.changed = False
        """Whether a pseudonym was made since it was read."""

    def of(self, person: str) -> str:
        """The name of a person; the pseudonym itself if it is not known, or was erased."""
        return self._names.get(person, person)

    def __contains__(self, person: object) -> bool:
        return person in self._names

    def pseudonym_of(self, name: str) -> str:
        """The pseudonym of a name; a new one if it has none."""
        if not name or len(name) > _LONGEST_NAME or printable(name) != name:
            raise RosterUnusable(f"a name is one line of 1 to {_LONGEST_NAME} characters")
        for person, known in self._names.items():
            if known == name:
                return person
        while (made := "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))) in self._names:
            pass
        self._names[made] = name
        self.changed = True
        return made

    def forget(self, person: str) -> bool:
        """Erase a name; return whether it was there."""
        return self._names.pop(person, None) is not None

    def save(self) -> None:
        """Write the file, whole, for its user alone. Raises RosterUnusable."""
        data = json.dumps(self._names, ensure_ascii=False, indent=0, sort_keys=True).encode()
        try:
            check_is_file(self.path)
            replace_whole(self.path, data + b"\n", _PRIVATE)
        except OSError as error:
            raise RosterUnusable(f"{self.path}: cannot be written ({error.strerror})") from None


def _read(path: Path) -> dict[str, str]:
    try:
        found = json.loads(read_bounded(path, _MOST_BYTES))
    except FileNotFoundError:
        return {}
    except TooLarge:
        raise RosterUnusable(f"{path}: larger than a file of names can be") from None
    except OSError as error:
        raise RosterUnusable(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
        raise RosterUnusable(f"{path}: is not a file of names; name another one with --names")
    return found
