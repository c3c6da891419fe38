"""The desk: signs users in, and notes what people and the server do.

Thread-safe. Every change is a note in the same transaction (tables.py).
"""

import hashlib
import secrets
import threading
import time
import unicodedata
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from sabot.desk import passwords, roster, tables
from sabot.desk.alerts import Alert, AlertLog
from sabot.desk.notes import (
    CONSOLE,
    LONGEST_NAME,
    LONGEST_ORDER,
    LONGEST_TEXT,
    SERVER,
    UNIT,
    Note,
    fitted,
)
from sabot.desk.roles import ROLES
from sabot.desk.roster import Roster, Shift
from sabot.desk.tables import User
from sabot.desk.tries import Tries
from sabot.errors import DeskMissing, DeskRefused, TooManyTries, WrongPassword, did_you_mean
from sabot.keys import chain_keys
from sabot.log.place import Place
from sabot.log.sql import Connection
from sabot.log.store import Store
from sabot.text import printable, shortened

__all__ = ["Desk", "User"]

UNUSED_MS = 30 * 60_000
"""A session ends after so long without use."""
LONGEST_MS = 12 * 60 * 60_000
"""And after so long in all."""
_USE_STORED_MS = 60_000
_LONGEST_ORIGIN = 100  # characters
_NOTED_A_MINUTE = 10  # refused sign-ins; others are only counted, so that they fill no disk
_CLOCK_BACK_MS = 60_000  # a clock that was set back by more ends the sessions


def _now_unix_ms() -> int:
    return time.time_ns() // 1_000_000


class Desk:
    """The desk of a log. Raises DeskMissing if it was not made."""

    def __init__(
        self,
        store: Store,
        now_unix_ms: Callable[[], int] = _now_unix_ms,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        if not tables.is_made(store):
            raise DeskMissing(
                f"{store.place}: has no administrator; "
                "make one: sabot users add NAME --role administrator"
            )
        store.watch()
        self._store = store
        self._now_unix_ms = now_unix_ms
        self._lock = threading.Lock()  # of what follows
        self._now_s = now_s
        self._tries = Tries(now_s)
        self._noted_s: deque[float] = deque(maxlen=_NOTED_A_MINUTE)
        """When the last refused sign-ins were noted."""
        self._more = 0  # refused since then, and not noted
        self._alerts = AlertLog()
        self._seen = 0  # the last note in `_alerts`
        self._roster_lock = threading.Lock()  # of what follows
        self._roster = Roster()
        self._rostered = 0  # the last note in `_roster`

    @classmethod
    def make(
        cls,
        store: Store,
        keys_path: Path,
        name: str,
        password: str,
        now_unix_ms: Callable[[], int] = _now_unix_ms,
    ) -> "Desk":
        """Make the desk of a log with its first administrator; its first key goes into the key
        file. Raises DeskRefused if the log has a desk, or it cannot have the name or password."""
        _check_name(name)
        hash_ = passwords.hash_of(password)
        if tables.is_made(store):
            raise DeskRefused(f"{store.place}: has a desk already; see `sabot users list`")
        store.convert()
        first_key = chain_keys.new_key()
        chain_keys.add(keys_path, UNIT, first_key)  # before the notes: they need it for ever
        now = now_unix_ms()
        with store.writing() as connection:
            if tables.has_desk(connection):
                raise DeskRefused(f"{store.place}: has a desk already; see `sabot users list`")
            chain = tables.begin(connection, first_key)
            tables.write(store.place, connection, now, CONSOLE, "desk_opened", {"chain": chain})
            _add_user(store.place, connection, now, CONSOLE, name, "administrator", hash_)
        store.forget_replaced()
        return cls(store, now_unix_ms)

    def users(self) -> list[User]:
        """All users, by name."""
        with self._store.reading() as connection:
            return tables.users(connection)

    def add_user(self, name: str, role: str, password: str, *, by: str) -> None:
        """Add a user. Raises DeskRefused if there is or was one of this name, or it cannot be one,
        or the role or the password cannot."""
        _check_name(name)
        _check_role(role)
        hash_ = passwords.hash_of(password)
        with self._writing() as connection:
            _check_free(connection, name)
            _add_user(self._store.place, connection, self._now_unix_ms(), by, name, role, hash_)

    def check_new(self, name: str, role: str) -> None:
        """Raise DeskRefused, before a password is asked for, unless there can be such a user."""
        _check_name(name)
        _check_role(role)
        with self._store.reading() as connection:
            _check_free(connection, name)

    def check_open(self, name: str) -> None:
        """Raise DeskRefused, before a password is asked for, unless there is such a user."""
        with self._store.reading() as connection:
            _open_user(connection, name)

    def change_role(self, name: str, role: str, *, by: str) -> None:
        """Give a user another role. Raises DeskRefused; also if no administrator were left."""
        _check_role(role)
        with self._writing() as connection:
            before = _open_user(connection, name)
            if before.role == role:
                return
            _check_administrators(connection, before)
            connection.execute("UPDATE users SET role = ? WHERE name = ?", (role, name))
            self._write(connection, by, "role_changed", {"name": name, "role": role})

    def set_password(self, name: str, password: str, *, by: str) -> None:
        """Set a user's password, which ends the user's sessions. Raises DeskRefused."""
        hash_ = passwords.hash_of(password)
        with self._writing() as connection:
            _open_user(connection, name)
            connection.execute("UPDATE users SET hash = ? WHERE name = ?", (hash_, name))
            connection.execute("DELETE FROM sessions WHERE name = ?", (name,))
            fields = {"name": name, "password": _sha256(hash_)}
            self._write(connection, by, "password_set", fields)

    def close_user(self, name: str, *, by: str) -> None:
        """Let a user sign in no more, and end the user's sessions; the name stays taken. Raises
        DeskRefused; also if no administrator were left."""
        with self._writing() as connection:
            _check_administrators(connection, _open_user(connection, name))
            connection.execute("UPDATE users SET closed = 1 WHERE name = ?", (name,))
            connection.execute("DELETE FROM sessions WHERE name = ?", (name,))
            self._write(connection, by, "user_closed", {"name": name})

    def sign_in(self, name: str, password: str, *, origin: str) -> str:
        """Begin a session; return its token, which only the user may have. Raises WrongPassword,
        also for an unknown or closed user, and TooManyTries."""
        origin = printable(shortened(origin, _LONGEST_ORIGIN))
        name = name[: LONGEST_NAME + 1]  # no user has a longer one, and it is kept for an hour
        with self._lock:
            wait_s = self._tries.wait_s(name, origin)
            if wait_s:
                self._more += 1
                raise TooManyTries(wait_s)
            self._tries.failed(name, origin)  # until it has succeeded: others may try meanwhile
        with self._store.reading() as connection:
            user, stored = _row(connection, name) or (None, passwords.unknown())
        right = passwords.fits(stored, password)
        if not right or user is None or user.closed:
            self._refuse("" if user is None else name, origin)
        with self._lock:
            self._tries.succeeded(name, origin)
        token = secrets.token_urlsafe(32)
        now = self._now_unix_ms()
        with self._writing() as connection:
            if _row(connection, name) != (user, stored):  # it was changed meanwhile
                raise WrongPassword
            self._end_old(connection, now)
            session = (_sha256(token), name, now, now)
            connection.execute("INSERT INTO sessions VALUES (?, ?, ?, ?)", session)
            fields = {"session": session[0], "origin": origin}
            tables.write(self._store.place, connection, now, name, "signed_in", fields)
        return token

    def user_of(self, token: str) -> User | None:
        """The user whose session has this token; None if there is none, or it has ended."""
        now, session = self._now_unix_ms(), _sha256(token)
        with self._store.reading() as connection:
            query = "SELECT name, begun_unix_ms, used_unix_ms FROM sessions WHERE sha256 = ?"
            found = connection.execute(query, (session,)).fetchone()
            row = None if found is None else _row(connection, found[0])
        if row is None or row[0].closed or _ended(found[1], found[2], now):
            return None
        if now - found[2] >= _USE_STORED_MS:
            with self._writing() as connection:
                query = "UPDATE sessions SET used_unix_ms = ? WHERE sha256 = ? AND used_unix_ms < ?"
                connection.execute(query, (now, session, now))
        return row[0]

    def sign_out(self, token: str) -> None:
        """End a session; nothing happens if it has ended."""
        session = _sha256(token)
        with self._writing() as connection:
            query = "DELETE FROM sessions WHERE sha256 = ? RETURNING name"
            found = connection.execute(query, (session,)).fetchone()
            if found is not None:
                self._write(connection, found[0], "signed_out", {"session": session})

    def raise_alert(self, alert: Alert) -> bool:
        """Note an alert; return whether it is new: one with the same id is raised once only."""
        fields = fitted(alert.as_fields())
        with self._writing() as connection, self._lock:
            self._catch_up(connection)
            if self._alerts.of(fields["id"]) is not None:
                return False
            self._write(connection, SERVER, "alert", fields)
        return True

    def acknowledge(self, alert_id: str, remark: str, *, by: str) -> None:
        """Note that a user has looked at an alert. Raises DeskRefused without such an alert, or if
        the remark is empty, too long or not printable."""
        _check_remark(remark)
        with self._writing() as connection, self._lock:
            self._catch_up(connection)
            if self._alerts.of(alert_id) is None:
                raise DeskRefused(f"{alert_id}: there is no such alert")
            self._write(connection, by, "acknowledged", {"id": alert_id, "remark": remark})

    def acknowledge_kind(self, kind: str, newest: int, remark: str, *, by: str) -> str:
        """Note that a user has looked at all open alerts of a kind, up to the note `newest`, which
        is the last that the user saw; each has a note of its own. Return the id of one of them.
        Raises DeskRefused without any, and for a remark as `acknowledge` does."""
        _check_remark(remark)
        with self._writing() as connection, self._lock:
            self._catch_up(connection)
            seen = [each for each in self._alerts.open if each.number <= newest]
            ids = [each.alert.id for each in seen if each.alert.kind == kind]
            if not ids:
                raise DeskRefused("there is no such alert open any more")
            for id_ in ids:
                self._write(connection, by, "acknowledged", {"id": id_, "remark": remark})
        return ids[-1]

    def opened_round(self, unit: str, shoe: int, round: int, *, by: str) -> None:
        """Note that a user has opened a round."""
        with self._writing() as connection:
            fields = {"unit": unit, "shoe": shoe, "round": round}
            self._write(connection, by, "round_opened", fields)

    def exported(
        self, unit: str, shoe: int, round: int, *, what: str, sha256: bytes, by: str
    ) -> None:
        """Note that a user was given a file with a round; `what` is "bundle" or "page"."""
        with self._writing() as connection:
            fields = {"unit": unit, "shoe": shoe, "round": round, "what": what, "sha256": sha256}
            self._write(connection, by, "exported", fields)

    def opened_seats(
        self,
        unit: str,
        shoe: int,
        round: int,
        *,
        seats: Iterable[int],
        halves: Iterable[str],
        order: str,
    ) -> None:
        """Note that cards are opened which stay closed: by whose `order`, and with which halves of
        the escrow. Raises DeskRefused if the order is empty, too long or not printable."""
        if not order.strip() or len(order) > LONGEST_ORDER or printable(order) != order:
            raise DeskRefused(f"an order is one line of 1 to {LONGEST_ORDER} characters")
        fields = {
            "unit": unit, "shoe": shoe, "round": round, "seats": " ".join(map(str, seats)),
            "halves": " ".join(halves), "order": order,
        }  # fmt: skip
        with self._writing() as connection:
            self._write(connection, CONSOLE, "seats_opened", fields)

    def note_shifts(self, shifts: Sequence[Shift], *, by: str) -> None:
        """Note who is on duty where, all or none. Raises DeskRefused for one that cannot be."""
        for each in shifts:
            if problem := each.problem():
                raise DeskRefused(f"{each.person or each.table}: {problem}")
        with self._writing() as connection:
            for each in shifts:
                self._write(connection, by, roster.KIND, each.as_fields())

    def roster(self) -> Roster:
        """Who is on duty where, as noted so far."""
        with self._roster_lock:
            for note in self.notes(self._rostered):
                self._roster.add(note)
                self._rostered = note.number
            return self._roster

    def notes(self, after: int = 0) -> Iterator[Note]:
        """Yield the notes with a higher number than `after`."""
        return tables.notes(self._store, after)

    def newest_note(self) -> int:
        """The number of the newest note."""
        return tables.newest(self._store)

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """A transaction. After it the secret of an older note is in no file."""
        with self._store.writing() as connection:
            yield connection
        self._store.forget_replaced()

    def _refuse(self, name: str, origin: str) -> NoReturn:
        """Note a refused sign-in, or count it if there were many."""
        with self._lock:
            now_s, noted = self._now_s(), self._noted_s
            if len(noted) == _NOTED_A_MINUTE and now_s - noted[0] < 60:
                self._more += 1
                raise WrongPassword
            noted.append(now_s)
            fields = {"name": name, "origin": origin, "more": self._more}
            self._more = 0
        with self._writing() as connection:
            self._write(connection, SERVER, "sign_in_refused", fields)
        raise WrongPassword

    def _end_old(self, connection: Connection, now: int) -> None:
        query = "SELECT sha256, begun_unix_ms, used_unix_ms FROM sessions"
        for sha256, begun, used in connection.execute(query).fetchall():
            if _ended(begun, used, now):
                connection.execute("DELETE FROM sessions WHERE sha256 = ?", (sha256,))

    def _catch_up(self, connection: Connection) -> None:
        for note in tables.notes_in(connection, self._seen):
            self._alerts.add(note)
            self._seen = note.number

    def _write(self, connection: Connection, by: str, kind: str, fields: Mapping[str, Any]) -> None:
        now = self._now_unix_ms()
        tables.write(self._store.place, connection, now, by, kind, fitted(fields))


def _add_user(
    place: Place, connection: Connection, now: int, by: str, name: str, role: str, hash_: str
) -> None:
    connection.execute("INSERT INTO users VALUES (?, ?, ?, 0, ?)", (name, role, hash_, now))
    fields = {"name": name, "role": role, "password": _sha256(hash_)}
    tables.write(place, connection, now, by, "user_made", fields)


def _row(connection: Connection, name: str) -> tuple[User, str] | None:
    """A user and the hash of the password."""
    query = tables.USERS.replace(" FROM", ", hash FROM")
    found = connection.execute(f"{query} WHERE name = ?", (name,)).fetchone()
    return None if found is None else (tables.user_in(found), str(found[4]))


def _check_free(connection: Connection, name: str) -> None:
    for each in tables.users(connection):
        if _folded(each.name) == _folded(name):
            raise DeskRefused(f"{name}: there is or was a user {each.name}; choose another name")


def _open_user(connection: Connection, name: str) -> User:
    found = _row(connection, name)
    if found is None:
        known = [each.name for each in tables.users(connection)]
        raise DeskRefused(f"{name}: there is no such user; {did_you_mean(name, known)}")
    if found[0].closed:
        raise DeskRefused(f"{name}: this user was closed; add another")
    return found[0]


def _check_administrators(connection: Connection, losing: User) -> None:
    """Raise DeskRefused if the user is the last administrator."""
    query = "SELECT 1 FROM users WHERE role = 'administrator' AND closed = 0 AND name <> ?"
    if losing.role == "administrator" and not connection.execute(query, (losing.name,)).fetchone():
        raise DeskRefused(f"{losing.name}: is the last administrator; add another one first")


def _check_name(name: str) -> None:
    if (
        not 1 <= len(name) <= LONGEST_NAME
        or printable(name) != name
        or name != name.strip()
        or _folded(name).startswith("@")
    ):
        raise DeskRefused(
            f"a name has 1 to {LONGEST_NAME} printable characters, and does not begin with @; "
            "choose another"
        )


_ALIKE = (
    str.maketrans(
        "\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445", "abekmhopctyx"
    )
    | str.maketrans("\u0455\u0456\u0458\u04bb\u04cf\u0501\u051b\u051d", "sijhldqw")
    | str.maketrans(
        "\u03b1\u03b2\u03b5\u03b6\u03b7\u03b9\u03ba\u03bc\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7",
        "abezhikmvoptyx",
    )
    | str.maketrans("01|", "oll")
)
"""Letters, Cyrillic and Greek ones, and digits that look like a Latin letter, also as capitals."""


def _folded(name: str) -> str:
    """What names have in common that look alike: people read them in the notes."""
    folded = unicodedata.normalize("NFKC", name).casefold().translate(_ALIKE)
    return " ".join(folded.split())


def _check_remark(remark: str) -> None:
    if not remark.strip() or len(remark) > LONGEST_TEXT or printable(remark) != remark:
        raise DeskRefused(f"a remark is one line of 1 to {LONGEST_TEXT} characters")


def _check_role(role: str) -> None:
    if role not in ROLES:
        raise DeskRefused(f"{role}: there is no such role; {did_you_mean(role, ROLES)}")


def _ended(begun: object, used: object, now: int) -> bool:
    if type(begun) is not int or type(used) is not int:  # a forger put it there
        return True
    return not (begun - _CLOCK_BACK_MS <= now < begun + LONGEST_MS and now < used + UNUSED_MS)


def _sha256(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
