"""docs/monitoring: every metric and label that a rule or a panel names is in a real scrape.

`promql-parser` reads the expressions, and Debian's `promtool` all of rules.yml where it is
installed.
"""

import json
import re
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any
from unittest.mock import patch

import promql_parser
import pytest
import yaml
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from host.tests.support.helpers import FirmwareLog, new_log, stored
from host.tests.support.postgres import Server
from host.tests.support.postgres import new_log as new_database
from sabot.centre import alarms
from sabot.centre.progress import Progress
from sabot.feeds.delivery import State
from sabot.floor.live import Floor
from sabot.link.flow import Flow
from sabot.listening import Address
from sabot.log.postgres.server import ServerFigures
from sabot.log.presence import ATTACHED, Span
from sabot.log.store import open_store
from sabot.metrics.commit_metrics import CommitMetrics
from sabot.metrics.feed_metrics import FeedMetrics
from sabot.metrics.floor_metrics import FloorMetrics
from sabot.metrics.forward_metrics import ForwardMetrics, NotaryMetrics, Receipts
from sabot.metrics.log_metrics import LogMetrics
from sabot.metrics.serving import registry_of, serving
from sabot.notable.kinds import KINDS, Severity
from sabot.silences import PICTURE

_DOCS = Path(__file__).resolve().parents[3] / "docs"
_RULES = _DOCS / "monitoring" / "rules.yml"
_DASHBOARD = _DOCS / "monitoring" / "grafana.json"
_OF_PROMETHEUS = {"up", "node_filesystem_avail_bytes", "node_filesystem_size_bytes"}
"""And of its node_exporter."""
_OF_A_TARGET = {"job", "instance", "mountpoint"}
"""Labels that Prometheus adds."""
_FUNCTIONS_OF_A_COUNTER = {"rate", "increase"}

_LABELS = ("unit", "feed", "kind", "port")


@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory, postgres: Server) -> dict[str, set[str]]:
    """The labels of each metric that the commands serve, over HTTP."""
    with ExitStack() as ends:
        store = ends.enter_context(new_log(tmp_path_factory.mktemp("scrape") / "log"))
        log = FirmwareLog().load().draw("AC", "2C", "next", "9C")
        store.append("SHOE-7", stored(log.records))
        flow = Flow(unit="SHOE-7", newest_on_shoe=9, newest_stored=4)
        now = time.time_ns() // 1_000_000
        never = Flow(
            unit="/dev/a", newest_on_shoe=0, newest_stored=0, waited_s=99, noted_unix_ms=now
        )
        store.keep_presence([Span("SHOE-7", 1, 2, ATTACHED)], [flow, never])
        floor = Floor(store)
        while floor.look() or not floor.tiles():
            pass
        store.append("SHOE-7", stored(log.draw("blank").records))  # an alert
        while floor.look() or not floor.alerts.open:
            pass
        commits, forward, notary = CommitMetrics(), ForwardMetrics(), NotaryMetrics()
        commits.committed(3, 0.01)
        forward.connected(True)
        forward.batch(10, 0.1)
        progress = ends.enter_context(closing(Progress(store)))
        progress.reached({"SHOE-7": 3})
        forward.progress = progress
        for each in (forward, notary):
            each.receipts.receipt("SHOE-7", 3, 1)
            each.alarms.alarm("hole")
        notary.looked(1)
        feeds = FeedMetrics(lambda: [("crm", State())])
        server = ends.enter_context(new_database(postgres))
        of_server = ends.enter_context(open_store(server.place("reader")))
        figures = ServerFigures(1, 1, True, 0.0, 0)
        ends.enter_context(patch("sabot.log.postgres.server.server_figures", lambda _: figures))
        by_command = {
            "centre": (LogMetrics(of_server),),
            "log": (LogMetrics(store), commits),
            "serve": (LogMetrics(store), FloorMetrics(floor)),
            "forward": (LogMetrics(store), forward),
            "notary": (LogMetrics(store), notary),
            "feed": (LogMetrics(store), feeds),
        }
        found: dict[str, set[str]] = {}
        for collectors in by_command.values():
            url = ends.enter_context(
                serving(Address("127.0.0.1", 0), *collectors, report=pytest.fail)
            )
            with urllib.request.urlopen(url) as answer:
                text = answer.read().decode()
            for family in text_string_to_metric_families(text):
                assert family.name.startswith("sabot_") and family.documentation.endswith(".")
                assert family.type in ("gauge", "counter", "histogram"), family.name
                for sample in family.samples:
                    found.setdefault(sample.name, set()).update(sample.labels)
        return found


def test_each_kind_of_alert_is_counted_from_the_first_moment_on(tmp_path: Path) -> None:
    """An alert in Prometheus can then see one more of a kind that was not open before."""
    with new_log(tmp_path / "log") as store:
        floor = Floor(store)
        log = FirmwareLog().load().draw("AC", "2C", "next", "9C")
        store.append("SHOE-7", stored(log.records))
        while floor.look() or not floor.tiles():
            pass
        store.append("SHOE-7", stored(log.draw("blank").records))
        while floor.look() or not floor.alerts.open:
            pass
        _, alerts, _ = FloorMetrics(floor).collect()
        counted = {sample.labels["kind"]: sample.value for sample in alerts.samples}
    raised = {kind.name for kind in KINDS.values() if kind.severity is Severity.ALERT}
    assert counted == dict.fromkeys(raised, 0) | {"error": 1}


def test_the_age_of_the_picture_grows_while_the_log_cannot_be_looked_at(tmp_path: Path) -> None:
    with new_log(tmp_path / "log") as store:
        now_s = 100.0
        floor = Floor(store, now_s=lambda: now_s)
        floor.look()
        now_s = 120.0
        *_, age = FloorMetrics(floor).collect()
        assert [sample.value for sample in age.samples] == [20.0]
    (rule,) = [each for each in _rules() if each["alert"] == "SabotNotLive"]
    assert rule["expr"] == f"{age.name} > {PICTURE.after_s:g}" and "for" not in rule


def _rules() -> list[dict[str, Any]]:
    document = yaml.safe_load(_RULES.read_text())
    return [rule for group in document["groups"] for rule in group["rules"]]


def _panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(_DASHBOARD.read_text())["panels"]
    return found


def _expressions() -> list[str]:
    of_panels = [target["expr"] for panel in _panels() for target in panel["targets"]]
    return [*(rule["expr"] for rule in _rules()), *of_panels]


def _parts(expression: Any) -> Iterator[Any]:
    """All parts of a parsed expression."""
    found: list[Any] = []
    promql_parser.walk(expression, lambda each: found.append(each) or True)
    return iter(found)


def _walked(text: str) -> list[Any]:
    return [*_parts(promql_parser.parse(text))]


def test_every_metric_and_label_is_in_a_scrape(scraped: dict[str, set[str]]) -> None:
    names = set()
    for text in _expressions():
        for part in _walked(text):
            if isinstance(part, promql_parser.VectorSelector):
                name = part.name
                names.add(name)
                assert name in scraped or name in _OF_PROMETHEUS, (text, name)
                labels = {each.name for each in part.matchers.matchers}
                assert labels <= scraped.get(name, set()) | _OF_A_TARGET, text
            grouped = _grouped(part)
            known = set().union(*scraped.values()) | _OF_A_TARGET
            assert grouped <= known, (text, grouped)
    assert len(names) > 20


def _grouped(part: Any) -> set[str]:
    modifier = getattr(part, "modifier", None)
    if modifier is None:
        return set()
    if isinstance(part, promql_parser.AggregateExpr):
        return set(modifier.labels)
    matching = getattr(modifier, "matching", None)
    return set(matching.labels) if matching is not None else set()


def test_counters_and_only_they_are_taken_as_rates(scraped: dict[str, set[str]]) -> None:
    for text in _expressions():
        for part in _walked(text):
            if isinstance(part, promql_parser.Call):
                inner = [*_parts(part)]
                for each in inner:
                    if isinstance(each, promql_parser.MatrixSelector):
                        name = each.vector_selector.name
                        is_counter = name.endswith(("_total", "_bucket", "_count", "_sum"))
                        by = part.func.name
                        if by in _FUNCTIONS_OF_A_COUNTER:
                            assert is_counter, text
                        elif by in ("deriv", "predict_linear", "max_over_time", "min_over_time"):
                            assert not is_counter, text


def test_every_metric_of_ours_is_watched_or_shown(scraped: dict[str, set[str]]) -> None:
    shown = "\n".join(_expressions()) + json.dumps(json.loads(_DASHBOARD.read_text())["templating"])
    for name in scraped:
        assert re.sub(r"_(bucket|sum|count)$", "", name) in shown, name


def test_a_unit_is_a_label_only_where_it_is_needed(scraped: dict[str, set[str]]) -> None:
    assert {name for name, labels in scraped.items() if "unit" in labels} == {
        "sabot_unit_newest_event",
        "sabot_unit_event_timestamp_seconds",
        "sabot_unit_attached_timestamp_seconds",
        "sabot_unit_shoe_newest_event",
        "sabot_unit_held_events",
        "sabot_unit_held_seconds",
        "sabot_unit_damaged_frames_total",
        "sabot_forward_backlog_events",
        "sabot_receipt_event",
        "sabot_receipt_timestamp_seconds",
    }
    assert set().union(*scraped.values()) == {
        "unit", "kind", "state", "feed", "version", "le", "direction", "port",
    }  # fmt: skip


def test_each_rule_says_what_and_how_urgent_and_is_on_the_page() -> None:
    page = (_DOCS / "monitoring.md").read_text()
    rules = _rules()
    assert len({rule["alert"] for rule in rules}) == len(rules) > 12
    for rule in rules:
        assert {*rule} <= {"alert", "expr", "for", "labels", "annotations"}
        watching = rule["alert"] == "SabotWatching"  # nobody has to come while it fires
        assert rule["labels"]["severity"] in (("none",) if watching else ("page", "ticket"))
        assert f"| `{rule['alert']}` |" in page, rule["alert"]
        for label in re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]):
            assert label in rule["expr"] or label in (*_OF_A_TARGET, *_LABELS)


def test_every_metric_is_on_the_page(scraped: dict[str, set[str]]) -> None:
    page = (_DOCS / "monitoring.md").read_text()
    for name in scraped:
        family = re.sub(r"_(bucket|sum|count)$", "", name)
        assert f"`{family}`" in page, family


def test_the_dashboard_is_one_that_grafana_takes() -> None:
    """The fields of a dashboard's JSON model that Grafana needs; no two panels overlap."""
    dashboard = json.loads(_DASHBOARD.read_text())
    assert {"title", "uid", "schemaVersion", "panels", "templating", "time"} <= {*dashboard}
    assert "id" not in dashboard, "the number of one Grafana's database"
    variables = {each["name"] for each in dashboard["templating"]["list"]}
    taken: set[tuple[int, int]] = set()
    for panel in _panels():
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert at["x"] + at["w"] <= 24 and not cells & taken, panel["title"]
        taken |= cells
        assert panel["datasource"]["uid"] == "${datasource}"
        for target in panel["targets"]:
            assert {*re.findall(r"\$(\w+)", target["expr"])} <= variables
    assert len({panel["id"] for panel in _panels()}) == len(_panels()) > 12


def test_each_kind_of_alarm_is_counted_from_the_first_moment_on() -> None:
    kinds = {
        value for name, value in vars(alarms).items() if name.isupper() and isinstance(value, str)
    }
    metrics = ForwardMetrics()
    text = generate_latest(registry_of(metrics)).decode()
    assert kinds and {*re.findall(r'sabot_alarms_open{kind="(\w+)"} 0\.0', text)} == kinds
    metrics.alarms.alarm("hole")
    assert 'sabot_alarms_open{kind="hole"} 1.0' in generate_latest(registry_of(metrics)).decode()
    metrics.alarms.open_now({"chain": 2})
    text = generate_latest(registry_of(metrics)).decode()
    assert 'sabot_alarms_open{kind="chain"} 2.0' in text
    assert 'sabot_alarms_open{kind="hole"} 0.0' in text


def test_a_unit_that_never_had_a_receipt_has_a_figure_that_grows_old() -> None:
    """Without one `SabotNoReceipt` would never fire at a centre whose notary never ran."""
    receipts = Receipts()
    receipts.receipt("SHOE-7", 40, 5000)
    for now_unix_ms in (60_000, 90_000):
        receipts.awaited(["SHOE-7", "SHOE-8"], now_unix_ms)
    found = {
        (sample.name, sample.labels["unit"]): sample.value
        for metric in receipts.collect()
        for sample in metric.samples
        if "unit" in sample.labels
    }
    assert found["sabot_receipt_event", "SHOE-8"] == 0
    assert found["sabot_receipt_timestamp_seconds", "SHOE-8"] == 60
    assert found["sabot_receipt_timestamp_seconds", "SHOE-7"] == 5


def test_promtool_takes_the_rules() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed (Debian's package prometheus)")
    done = subprocess.run(
        [promtool, "check", "rules", _RULES], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(_rules())} rules found" in done.stdout


@pytest.mark.slow
def test_alerts_fire_for_what_was_there_before_the_first_scrape(tmp_path: Path) -> None:
    """Prometheus' own evaluation, over an hour of scrapes that begin with what is wrong."""
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed (Debian's package prometheus)")
    from_the_start = {
        "SabotAlarm": ('sabot_alarms_open{kind="hole"}', "1+0x60"),
        "SabotForwardStuck": ("sabot_forward_stuck_seconds", "90+60x60"),
        "SabotAlertsOpen": ('sabot_alerts_open{kind="error"}', "1+0x60"),
        "SabotArchiveFailing": ("sabot_server_archive_failing_seconds", "600+60x60"),
        "SabotArchiveBehind": ("sabot_server_archive_waiting_segments", "40+0x60"),
        "SabotTransactionAge": ("sabot_server_transaction_age", "1100000000+0x60"),
        "SabotCentreUnreachable": ("sabot_forward_connected", "0+0x60"),
        "SabotLogUnreadable": ("sabot_log_readable", "0+0x60"),
    }
    assert {*from_the_start} <= {rule["alert"] for rule in _rules()}
    tests = [
        {
            "interval": "1m",
            "input_series": [{"series": _at(series), "values": values}],
            "promql_expr_test": [],
            "alert_rule_test": [
                {"eval_time": "30m", "alertname": alert, "exp_alerts": [_expected(alert, series)]}
            ],
        }
        for alert, (series, values) in from_the_start.items()
    ]
    for alert, (series, _) in from_the_start.items():  # and not without it
        tests.append(
            {
                "interval": "1m",
                "input_series": [{"series": _at(series), "values": f"{_QUIET.get(alert, 0)}+0x60"}],
                "alert_rule_test": [{"eval_time": "30m", "alertname": alert, "exp_alerts": []}],
            }
        )
    for test in tests:
        for each in test["alert_rule_test"]:  # type: ignore[attr-defined]
            for alert_ in each["exp_alerts"]:
                alert_.pop("exp_annotations", None)
    shutil.copy(_without_annotations(tmp_path), tmp_path / "rules.yml")
    (tmp_path / "tests.yml").write_text(
        yaml.safe_dump({"rule_files": ["rules.yml"], "evaluation_interval": "1m", "tests": tests})
    )
    done = subprocess.run(
        [promtool, "test", "rules", "tests.yml"], cwd=tmp_path, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


_QUIET = {"SabotCentreUnreachable": 1, "SabotLogUnreadable": 1}
"""What is right, where it is not 0."""


def _at(series: str) -> str:
    """A series as Prometheus has it of a target."""
    of_target = 'instance="here:8701",job="sabot-forward"'
    name, brace, labels = series.partition("{")
    return f"{name}{{{labels[:-1]},{of_target}}}" if brace else f"{name}{{{of_target}}}"


def _expected(alert: str, series: str) -> dict[str, Any]:
    rule = next(rule for rule in _rules() if rule["alert"] == alert)
    labels = {**rule["labels"], "instance": "here:8701", "job": "sabot-forward"}
    if "kind" in rule["expr"]:
        labels["kind"] = re.findall(r'kind="(\w+)"', series)[0]
    return {"exp_labels": labels}


def _without_annotations(folder: Path) -> Path:
    """The rules without their texts, which promtool would compare too."""
    document = yaml.safe_load(_RULES.read_text())
    for group in document["groups"]:
        for rule in group["rules"]:
            del rule["annotations"]
    path = folder / "plain.yml"
    path.write_text(yaml.safe_dump(document))
    return path


def test_what_promtool_tests_is_tested_by_the_expression_alone_where_it_is_missing() -> None:
    """A gauge that is compared with a number fires for whatever it is, at the first scrape; a rate
    or an increase would not."""
    for rule in _rules():
        if rule["alert"] in ("SabotAlarm", "SabotForwardStuck", "SabotAlertsOpen"):
            parts = _walked(rule["expr"])
            assert not [part for part in parts if isinstance(part, promql_parser.MatrixSelector)]
            assert isinstance(parts[0], promql_parser.BinaryExpr)
