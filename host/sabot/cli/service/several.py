"""Reads several shoes: all at once, a result for each in their order, then what failed."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, TypeVar

import typer

from sabot.cli import options
from sabot.cli.view import problems
from sabot.errors import PortNotFound, SabotError
from sabot.link.client import ReadShoe
from sabot.link.command_keys import CommandKeyFile
from sabot.link.ports import lasting_names, through_log
from sabot.service.reading import everything_to_read, reading

T = TypeVar("T")

Shoes = Annotated[
    list[str] | None, typer.Argument(metavar="[UNIT|PORT...]", help=options.PORT_HELP)
]
Every = Annotated[bool, typer.Option("--all", help="Every shoe that `sabot ports` lists.")]

_MOST_AT_ONCE = 8


def shoes_of(names: list[str] | None, every: bool) -> list[str]:
    """The shoes that the command line names. Raises PortNotFound if there is none for --all."""
    if bool(names) == every:
        raise typer.BadParameter("name a unit or a port, or use --all for every attached shoe")
    chosen = list(dict.fromkeys(names or everything_to_read()))
    if not chosen:
        raise PortNotFound("no shoe is attached; plug one in, or name its port")
    return chosen


class Reading:
    """Reads shoes. `raise_failures`, at the end, raises the error with the highest exit code, and
    prints the others."""

    def __init__(self, names: Sequence[str], keys: CommandKeyFile) -> None:
        self._names = names
        self._keys = keys
        self._failed: list[SabotError] = []
        others = [name for name in names if through_log(name) is None] if len(names) > 1 else []
        self._lasting = lasting_names(others)

    def each(self, look: Callable[[ReadShoe], T], *, at_once: int = _MOST_AT_ONCE) -> Iterator[T]:
        """What `look` returns for each shoe that can be read. With `at_once` 1, a shoe is read only
        when the result of the one before it has been taken."""

        def look_at(name: str) -> T | SabotError:
            lasting = self._lasting.get(name, "")
            if isinstance(lasting, SabotError):
                return lasting
            try:
                with reading(name, self._keys, lasting) as shoe:
                    return look(shoe)
            except SabotError as error:
                return error

        if min(at_once, len(self._names)) == 1:
            yield from self._good(map(look_at, self._names))
            return
        pool = ThreadPoolExecutor(at_once)
        try:
            yield from self._good(pool.map(look_at, self._names))
        finally:
            pool.shutdown(cancel_futures=True)

    def _good(self, results: Iterable[T | SabotError]) -> Iterator[T]:
        for found in results:
            if isinstance(found, SabotError):
                self._failed.append(found)
            else:
                yield found

    def raise_failures(self) -> None:
        """Raise what failed."""
        self._failed.sort(key=lambda error: error.exit_code)
        for error in self._failed[:-1]:
            problems.print(f"sabot: {error}")
        if self._failed:
            raise self._failed[-1]
