"""Finds the next messages of a unit for a feed: in the outbox, or made of the log again if they are
older than what that has."""

from itertools import islice

from sabot.feeds.config import Feed
from sabot.feeds.message import INCIDENTS, Position
from sabot.feeds.outbox import END, Outbox, Span
from sabot.feeds.plan import Page
from sabot.feeds.unit_messages import Context, messages_between

_MOST = 50  # messages in memory for one unit of one feed


class Pages:
    """The pages of one feed."""

    def __init__(self, feed: Feed, context: Context, outbox: Outbox) -> None:
        self._feed, self._context, self._outbox = feed, context, outbox

    def after(self, unit: str, cursor: Position) -> Page:
        """The next messages of a unit after a position that the feed wants, at most some; it has
        none of those only if there are none in what was looked through, up to the page's end."""
        span = self._outbox.span(unit)
        if span is None:
            return Page((), cursor)
        if not self._feed.wants_unit(unit):
            return Page((), max(cursor, Position(span.up_to, END)))
        if cursor < Position(span.begins, END):
            return self._made_again(unit, cursor, span)
        found = self._outbox.after(unit, cursor, _MOST)
        whole = len(found) < _MOST
        end = Position(span.up_to, END) if whole else found[-1].position
        newest = found[-1].position if found else cursor
        return Page([each for each in found if self._feed.wants(each)], max(end, newest))

    def _made_again(self, unit: str, cursor: Position, span: Span) -> Page:
        with_incidents = INCIDENTS in self._feed.what
        made = messages_between(
            self._context, unit, cursor, span.begins,
            with_incidents=with_incidents, with_held=True,
        )  # fmt: skip
        found = [*islice(made, _MOST)]
        end = found[-1].position if len(found) == _MOST else Position(span.begins, END)
        return Page([each for each in found if self._feed.wants(each)], end)
