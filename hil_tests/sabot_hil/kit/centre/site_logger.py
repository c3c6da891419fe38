"""Logs at a site with Sabot's library, in a process of its own (`log_server.py`).

python -m sabot_hil.kit.centre.site_logger LOG SEED
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from sabot.link.session import Record
from sabot.link.wire import parse_event
from sabot.log.store import Store, open_store
from sabot_hil.kit.centre.chained import Chained
from sabot_hil.kit.centre.log_server import Append, serve


def store_in(store: Store) -> Append:
    """A function that appends to a log of Sabot."""

    def append(name: str, events: Sequence[Chained]) -> None:
        records = [Record(parse_event(each.record), each.record, each.mac) for each in events]
        store.append(name, records)

    return append


def main() -> None:
    """The program."""
    log, seed = Path(sys.argv[1]), int(sys.argv[2])
    with open_store(log, create=True) as store:
        serve(store_in(store), store.last_number, seed)


if __name__ == "__main__":
    main()
