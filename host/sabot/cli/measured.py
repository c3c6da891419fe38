"""`--metrics HOST:PORT`: what several commands serve to Prometheus."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from sabot.cli.view import problems
from sabot.listening import address_of

if TYPE_CHECKING:
    from sabot.metrics.serving import Collector

Metrics = Annotated[
    str | None,
    typer.Option("--metrics", metavar="HOST:PORT", help="Serve metrics to Prometheus there."),
]


@contextmanager
def measured(at: str | None, *collectors: "Collector") -> Iterator[None]:
    """Serve the metrics of `collectors` within the block, at the address of --metrics; nothing
    without one. Raises what wrong usage does, and CannotServe."""
    if at is None:
        yield
        return
    from sabot.metrics.serving import DEFAULT_PORT, serving  # a command without it starts sooner

    try:
        address = address_of(at, DEFAULT_PORT)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--metrics") from None
    with serving(address, *collectors, report=problems.print) as url:
        problems.print(f"metrics at {url}")
        yield
