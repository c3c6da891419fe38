"""What the server of metrics says if something goes wrong: a line, and never a traceback."""

import socket
import struct
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from urllib.error import HTTPError
from urllib.parse import urlsplit

import pytest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from host.tests.support.brokers import until
from sabot.listening import Address
from sabot.metrics import serving as serving_module
from sabot.metrics.serving import serving

_HERE = Address("127.0.0.1", 0)


class _Figures:
    """A collector that can fail."""

    def __init__(self) -> None:
        self.fails = False

    def collect(self) -> Iterator[Metric]:
        if self.fails:
            raise OverflowError("Python int too large\nto convert")
        yield GaugeMetricFamily("sabot_figure", "A figure.", 1)


def test_of_a_collector_that_fails_there_is_a_line_and_status_500_and_the_next_answer_is_whole(
    capfd: pytest.CaptureFixture[str],
) -> None:
    figures, lines = _Figures(), list[str]()
    with serving(_HERE, figures, report=lines.append) as url:
        figures.fails = True
        with pytest.raises(HTTPError) as refused:
            urllib.request.urlopen(url)
        said = refused.value.read().decode()
        figures.fails = False
        with urllib.request.urlopen(url) as answer:
            assert b"sabot_figure 1.0" in answer.read()
    assert refused.value.code == 500 and "terminal" in said and "int" not in said
    (line,) = lines
    assert line.startswith("metrics could not be answered: a fault of Sabot itself (OverflowError")
    assert "details are in" in line and line.isprintable()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("request_", [b"", b"GET /metrics HTTP/1.1\r\n", b"\0\xff" * 70_000])
def test_a_client_that_goes_away_or_makes_no_sense_is_no_fault(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, request_: bytes
) -> None:
    ended = list[object]()
    inner = serving_module._Server.shutdown_request
    monkeypatch.setattr(
        serving_module._Server,
        "shutdown_request",
        lambda server, request: (inner(server, request), ended.append(request)),
    )
    lines = list[str]()
    with serving(_HERE, _Figures(), report=lines.append) as url:
        there = urlsplit(url)
        with socket.create_connection((there.hostname, there.port)) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # reset
            with suppress(OSError):  # the server may have had enough before all is sent
                client.sendall(request_)
        until(lambda: bool(ended))
        with urllib.request.urlopen(url) as answer:
            assert b"sabot_figure 1.0" in answer.read()
    assert lines == [] and capfd.readouterr() == ("", "")
