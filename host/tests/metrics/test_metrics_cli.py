"""`--metrics` of all five commands as they run: each serves what docs/monitoring.md says."""

import signal
import urllib.request
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from host.tests.cli.test_centre_cli import centre, folder, forwarding, signing_at
from host.tests.support.brokers import free_port, until
from host.tests.support.commands import RunningCommand
from host.tests.support.site import Centre
from host.tests.support.webhook_receiver import receiving
from sabot.desk.desk import Desk
from sabot.log.store import open_store

pytestmark = pytest.mark.slow

__all__ = ["centre", "folder"]  # fixtures

_OF_A_LOG = {
    "sabot_info", "sabot_log_readable", "sabot_units", "sabot_shoes_attached",
    "sabot_unit_newest_event", "sabot_unit_event_timestamp_seconds",
    "sabot_unit_attached_timestamp_seconds", "sabot_unit_shoe_newest_event",
    "sabot_unit_held_events", "sabot_unit_held_seconds", "sabot_unit_damaged_frames",
    "sabot_shoe_never_came_seconds",
}  # fmt: skip
_OF_A_FILE = {"sabot_database_bytes", "sabot_disk_free_bytes", "sabot_disk_bytes"}
_OF_RECEIPTS = {
    "sabot_receipts", "sabot_receipt_event", "sabot_receipt_timestamp_seconds", "sabot_alarms",
    "sabot_alarms_open",
}  # fmt: skip
_WANTED = {
    "log": _OF_A_LOG | _OF_A_FILE | {"sabot_commit_seconds", "sabot_records_stored"},
    "serve": _OF_A_LOG | _OF_A_FILE | {
        "sabot_tables", "sabot_alerts_open", "sabot_picture_age_seconds",
    },
    "forward": _OF_A_LOG | _OF_A_FILE | _OF_RECEIPTS | {
        "sabot_forward_connected", "sabot_forward_backlog_events", "sabot_forward_records",
        "sabot_forward_batch_seconds", "sabot_forward_stuck_seconds",
    },
    "notary": _OF_A_LOG | _OF_RECEIPTS | {
        "sabot_notary_round_seconds", "sabot_database_bytes", "sabot_server_transaction_age",
    },
    "feed": _OF_A_LOG | _OF_A_FILE | {
        "sabot_feed_delivered", "sabot_feed_failures", "sabot_feed_waiting_units",
        "sabot_feed_refused_units", "sabot_feed_failing_since_timestamp_seconds",
        "sabot_feed_delivered_timestamp_seconds", "sabot_feed_stopped",
    },
}  # fmt: skip


def _receipts(port: int) -> list[bool]:
    """Whether there is a receipt, of each unit."""
    return [number > 0 for number in _scraped(port)["sabot_receipt_event"].values()]


def _scraped(port: int) -> dict[str, dict[str, float]]:
    """The samples of each family, by their labels."""
    found: dict[str, dict[str, float]] = {}
    with (
        suppress(OSError),
        urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=100) as answer,
    ):
        for family in text_string_to_metric_families(answer.read().decode()):
            samples = {",".join(sample.labels.values()): sample.value for sample in family.samples}
            found[family.name] = samples
    return found


def test_each_command_serves_its_metrics(folder: Path, centre: Centre) -> None:
    with open_store(folder / "site.sqlite") as store:
        Desk.make(store, folder / "sabot.keys", "ada", "a password of a test")
    (folder / "secret").write_text("whsec_" + "A" * 40)
    (folder / "secret").chmod(0o600)
    with ExitStack() as ends:
        receiver = ends.enter_context(receiving())
        (folder / "feeds.toml").write_text(
            f'[[feed]]\nname = "crm"\nkind = "webhook"\nsecret = "secret"\n'
            f'address = "{receiver.address}"\n'
        )
        commands: dict[str, Sequence[str]] = {
            "log": ["log", "NONE-1", "NONE-2", "--db", "site.sqlite"],
            "serve": ["serve", "--db", "site.sqlite", "--listen", "127.0.0.1:0"],
            "forward": forwarding(centre),
            "notary": signing_at(centre, "--every", "1"),
            "feed": ["feed", "--db", "site.sqlite"],
        }
        ports = {name: free_port() for name in commands}
        running = {
            name: RunningCommand(folder, *words, "--metrics", f"127.0.0.1:{ports[name]}")
            for name, words in commands.items()
        }
        try:
            for name, wanted in _WANTED.items():
                until(lambda name=name: _scraped(ports[name]), 60)
                assert {*_scraped(ports[name])} == wanted, name
            until(lambda: _receipts(ports["forward"]) == [True, True], 60)
            until(lambda: len(_scraped(ports["notary"])["sabot_receipt_event"]) == 2, 60)
            until(lambda: _scraped(ports["feed"])["sabot_feed_delivered"]["crm"] > 0, 60)
            figures = _scraped(ports["forward"])
            assert figures["sabot_forward_backlog_events"] == {"U1": 0, "U2": 0}
            assert figures["sabot_forward_connected"] == {"": 1}
            newest = figures["sabot_unit_newest_event"]
            assert _scraped(ports["notary"])["sabot_unit_newest_event"] == newest
            assert figures["sabot_receipt_event"] == newest
            assert not any(figures["sabot_alarms"].values())
            assert not any(figures["sabot_alarms_open"].values())
            assert figures["sabot_forward_stuck_seconds"] == {"": 0}
        finally:
            for each in running.values():
                each.process.send_signal(signal.SIGINT)
            assert {name: each.process.wait(30) for name, each in running.items()} == dict.fromkeys(
                commands, 0
            )
