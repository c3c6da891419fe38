"""Real brokers for the tests of feeds: nats-server with JetStream, and rumqttd, which speaks MQTT
5. Each has a port and a folder of its own, and can be ended and started again."""

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, TypeVar

import nats
from iotcore import Broker
from nats.js import JetStreamContext
from paho.mqtt.client import Client, MQTTMessage, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion

_T = TypeVar("_T")
_PATIENCE_S = 20.0
_MQTT = """
id = 0
[router]
id = 0
max_connections = 50
max_outgoing_packet_count = 200
max_segment_size = 10485760
max_segment_count = 10
[v5.1]
name = "v5"
listen = "127.0.0.1:{port}"
next_connection_delay_ms = 1
[v5.1.connections]
connection_timeout_ms = 5000
max_payload_size = 100000
max_inflight_count = 100
{auth}
"""


def free_port() -> int:
    """A port that no one has."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def until(is_true: Any, patience_s: float = _PATIENCE_S) -> None:
    """Wait until something is true; fail if it takes too long."""
    end_s = time.monotonic() + patience_s
    while not is_true():
        assert time.monotonic() < end_s, "it did not become true"
        time.sleep(0.01)


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


class NatsServer:
    """A server with JetStream."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.port = free_port()
        self.address = f"nats://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *more: str) -> Self:
        """Start it, with what it has stored."""
        program = Path(sys.executable).with_name("nats-server")
        command = [program, "-a", "127.0.0.1", "-p", str(self.port), "-js", "-sd", self._folder]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen([*command, *more], **quiet)
        until(lambda: _listens(self.port))
        return self

    def kill(self) -> None:
        """End it without a moment for anything."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def make_stream(self, **more: Any) -> None:
        """Make the stream that takes all messages."""

        async def make(stream: JetStreamContext) -> None:
            await stream.add_stream(name="SABOT", subjects=["sabot.>"], **more)

        self.asked(make)

    def messages(self) -> list[tuple[str, dict[str, str], bytes]]:
        """Subject, headers and body of all that the stream has, in order."""

        async def read(stream: JetStreamContext) -> list[tuple[str, dict[str, str], bytes]]:
            info = await stream.stream_info("SABOT")
            found = []
            for number in range(info.state.first_seq, info.state.last_seq + 1):
                each = await stream.get_msg("SABOT", number)
                found.append((each.subject or "", dict(each.headers or {}), each.data or b""))
            return found

        return self.asked(read)

    def asked(self, question: Any) -> Any:
        """What a client is answered."""

        async def ask() -> Any:
            client = await nats.connect(self.address, allow_reconnect=False)
            try:
                return await question(client.jetstream())
            finally:
                await client.close()

        return _run(ask())


def _run(work: Coroutine[Any, Any, _T]) -> _T:
    return asyncio.run(work)


class MqttBroker:
    """A broker that speaks MQTT 5."""

    def __init__(self, folder: Path, users: dict[str, str] | None = None) -> None:
        self.port = free_port()
        self.address = f"mqtt://127.0.0.1:{self.port}"
        lines = [f'{user} = "{password}"' for user, password in (users or {}).items()]
        auth = "\n".join(["[v5.1.connections.auth]", *lines]) if lines else ""
        self._file = folder / "broker.toml"
        self._file.write_text(_MQTT.format(port=self.port, auth=auth))
        self._broker: Broker | None = None

    def start(self) -> Self:
        """Start it, empty."""
        self._broker = Broker(config_path=str(self._file))
        self._broker.start()
        return self

    def kill(self) -> None:
        """End it."""
        if self._broker is not None:
            self._broker.stop()
            self._broker = None

    @contextmanager
    def subscribed(self, topic: str = "sabot/#") -> Iterator[list[MQTTMessage]]:
        """What comes at a topic, in order."""
        came: list[MQTTMessage] = []
        ready: list[bool] = []
        client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTv5)
        client.on_connect = lambda *_: client.subscribe(topic, qos=1)
        client.on_subscribe = lambda *_: ready.append(True)
        client.on_message = lambda _, __, message: came.append(message)
        client.connect("127.0.0.1", self.port)
        client.loop_start()
        try:
            until(lambda: ready)
            yield came
        finally:
            client.disconnect()
            client.loop_stop()


os.environ.setdefault("IOTCORE_LOG_LEVEL", "CRITICAL")
