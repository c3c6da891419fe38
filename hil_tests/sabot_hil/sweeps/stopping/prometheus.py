"""A real Prometheus with the rules of docs/monitoring, which looks every second."""

import json
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx2

from sabot_hil.kit.centre import children
from sabot_hil.sweeps.stopping.scenes import NotHere
from sabot_hil.sweeps.stopping.waiting import wait_until

_RULES = Path(__file__).resolve().parents[4] / "docs" / "monitoring" / "rules.yml"
_EVERY = "1s"
_TIMEOUT_S = 10.0


def free_port() -> int:
    """Return a port of this machine on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


class Prometheus:
    """Scrapes the metrics of some commands."""

    def __init__(self, url: str, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self._client = httpx2.Client(base_url=url, timeout=_TIMEOUT_S)

    def alerts(self) -> str:
        """Return the names of all rules that fire now."""
        found = self._client.get("/api/v1/alerts").json()["data"]["alerts"]
        return "\n".join(each["labels"]["alertname"] for each in found if each["state"] == "firing")

    def ready(self) -> str:
        """Return "ready" if it has scraped all its targets."""
        try:
            found = self._client.get("/api/v1/targets").json()["data"]["activeTargets"]
        except (httpx2.HTTPError, ValueError):
            return ""
        return "ready" if all(each["health"] == "up" for each in found) else ""


@contextmanager
def prometheus(
    folder: Path, targets: Mapping[str, int], alarms_to: int | None = None
) -> Iterator[Prometheus]:
    """Run Prometheus over the metrics at these ports, by the name of the job. It sends its alerts
    to the port `alarms_to`. Raises NotHere."""
    program = shutil.which("prometheus")
    if program is None:
        raise NotHere("no Prometheus: apt-get install prometheus")
    port = free_port()
    config = {
        "global": {"scrape_interval": _EVERY, "evaluation_interval": _EVERY},
        "rule_files": [str(_RULES)],
        "scrape_configs": [
            {"job_name": job, "static_configs": [{"targets": [f"127.0.0.1:{at}"]}]}
            for job, at in targets.items()
        ],
    }
    if alarms_to is not None:
        there = [{"targets": [f"127.0.0.1:{alarms_to}"]}]
        config["alerting"] = {"alertmanagers": [{"static_configs": there}]}
    path = folder / "prometheus.json"  # JSON is YAML
    path.write_text(json.dumps(config))
    with (folder / "prometheus.out").open("wb") as out:
        process = children.start(
            [
                program, f"--config.file={path}", f"--storage.tsdb.path={folder / 'prometheus'}",
                f"--web.listen-address=127.0.0.1:{port}", f"--rules.alert.resend-delay={_EVERY}",
            ],
            stdout=out, stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        server = Prometheus(f"http://127.0.0.1:{port}", process)
        wait_until(server.ready, (folder / "prometheus.out").read_text)
        yield server
    finally:
        process.send_signal(signal.SIGCONT)
        process.terminate()
        process.wait(_TIMEOUT_S)
