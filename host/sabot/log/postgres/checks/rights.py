"""Who may do what with a log in PostgreSQL, and what of that no log lets anyone.

What the functions check protects the records only from those who have to go through them. So every
right and every membership beyond those that a log is made with is named.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files

from sabot.log.postgres import migrations
from sabot.log.postgres.sessions import PostgresConnection
from sabot.text import printable

SITE, READER, LOGGER, NOTARY, DESK, KEEPER = (
    "sabot_site", "sabot_reader", "sabot_logger", "sabot_notary", "sabot_desk", "sabot_keeper",
)  # fmt: skip
_WORDS = {
    KEEPER: "keep the log", LOGGER: "log to it", NOTARY: "sign for it", DESK: "serve its screens",
    READER: "read it", SITE: "forward to it",
}  # fmt: skip
"""What the members of each of Sabot's roles may do, the most first."""
_WITHIN = {
    READER: set(),
    SITE: set(),
    LOGGER: {READER},
    NOTARY: {READER},
    DESK: {READER},
    KEEPER: {LOGGER, NOTARY, DESK, READER},
}
"""Which of Sabot's roles each of them is a member of, as they are made."""
_HARMLESS = frozenset(
    ("pg_monitor", "pg_read_all_settings", "pg_read_all_stats", "pg_stat_scan_tables")
)
"""PostgreSQL's own roles by which no record and no secret can be reached."""


@dataclass(frozen=True, slots=True)
class Role:
    """A role of the server."""

    name: str
    is_superuser: bool
    attributes: Sequence[str]
    """Of LOGIN, CREATEROLE, REPLICATION, BYPASSRLS."""
    groups: Sequence[str]
    """The roles that it is a member of, by whatever way."""
    gives: Sequence[str]
    """The roles that it may make others members of."""
    units: Sequence[str]
    """The units that it was given to forward."""

    @property
    def is_of_sabot(self) -> bool:
        """Whether it is one of the roles that a log makes, which no one signs in with."""
        return self.name in _WITHIN

    @property
    def may(self) -> list[str]:
        """What it may do with the log, for people; the most first."""
        if self.is_superuser:
            return ["do anything: it is a superuser of the server"]
        words = [word for group, word in _WORDS.items() if group in self.most and group != SITE]
        if SITE in self.groups:
            words.append(f"forward {', '.join(self.units) or 'nothing'}")
        return words + [f"do what {name} may" for name in self.beyond]

    @property
    def beyond(self) -> list[str]:
        """PostgreSQL's own roles that it is a member of, by which it reaches more."""
        return [each for each in self.groups if each.startswith("pg_") and each not in _HARMLESS]

    @property
    def most(self) -> set[str]:
        """Sabot's roles that it is a member of, without those which follow from another one."""
        here = set(self.groups) & _WORDS.keys()
        return here - {each for group in here for each in _WITHIN[group]}


def roles(connection: PostgresConnection) -> list[Role]:
    """Every role that has to do with the log, or is a superuser, by name."""
    return [Role(*row) for row in connection.execute(_query("roles.sql"))]


def grants(connection: PostgresConnection) -> frozenset[str]:
    """A line for each right to anything of the log."""
    return frozenset(line for (line,) in connection.execute(_query("grants.sql")))


def expected_grants() -> frozenset[str]:
    """The lines of a log as it is made."""
    name = f"{migrations.VERSION:04}.grants"
    text = files(migrations.__name__).joinpath(name).read_text(encoding="utf-8")
    return frozenset(text.splitlines())


def escalations(connection: PostgresConnection) -> list[str]:
    """Each right that is there and should not be, or should be and is not, as lines for people."""
    here, made = grants(connection), expected_grants()
    lines = [f"{line}, as in no log" for line in sorted(here - made)]
    lines += [f"no longer: {line}" for line in sorted(made - here)]
    return [printable(line) for line in (*lines, *of_roles(roles(connection)))]


def of_roles(known: Iterable[Role]) -> Iterator[str]:
    """Yield what roles may do that no log lets them."""
    for role in known:
        if role.is_of_sabot:
            yield from _of_group(role)
        else:
            yield from _of_role(role)


def _of_group(role: Role) -> Iterator[str]:
    """What is wrong with one of Sabot's own roles."""
    there = set(role.groups)
    for group in sorted(there - _WITHIN[role.name]):
        yield f"{role.name} is a member of {group}, as in no log"
    for group in sorted(_WITHIN[role.name] - there):
        yield f"{role.name} is no longer a member of {group}"
    for attribute in (["SUPERUSER"] if role.is_superuser else []) + list(role.attributes):
        yield f"{role.name} has {attribute}, as in no log"


def _of_role(role: Role) -> Iterator[str]:
    name, its = role.name, set(role.groups) & _WORDS.keys()
    is_site = SITE in its or bool(role.units)
    is_member = is_site or bool(its)
    what = "forwards to the log" if is_site else "is let into the log"
    if role.is_superuser and is_member:
        yield f"{name} {what}, and is a superuser"
    if is_site:
        for group in (each for each in _WORDS if each in role.most - {SITE}):
            yield f"{name} {what}, and may also {_WORDS[group]}"
    for group in role.beyond:
        yield f"{name} is a member of {group}, which reaches more than a log lets anyone"
    if KEEPER in its or role.is_superuser:
        return
    for attribute in role.attributes:
        if is_member and attribute != "LOGIN":
            yield f"{name} {what}, and has {attribute}"
    for group in role.gives:
        if group in _WITHIN:
            yield f"{name} may make others members of {group}, and is no keeper"


def _query(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
