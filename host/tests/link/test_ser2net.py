"""Shoes behind ser2net, the device server of Debian: right and wrong settings of it."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from host.tests.support.naive_shoe import KEYS, NaiveShoe, answering_shoe
from sabot.errors import SabotError
from sabot.link import damage
from sabot.link.client import Client
from sabot.link.ports import Port

_SER2NET = shutil.which("ser2net", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(_SER2NET is None, reason="ser2net is not installed"),
]

_SETTINGS = {
    "raw": ("tcp", "", ""),
    "rfc2217": ("telnet(rfc2217=true),tcp", "", ""),
    "telnet": ("telnet,tcp", "", ""),
    "xonxoff": ("tcp", ",xonxoff=true", ""),
    "banner": ("tcp", "", r"    banner: SHOE-7, call 4711\r\n"),
    "busy": ("tcp", "", ""),
    "ready": ("tcp", "", ""),  # the last one: then the others are there
}
"""By name: how it speaks to hosts, more settings of the serial port, and other options."""
_TIMEOUT_S = 30.0
_EVENTS = 200


@pytest.fixture(scope="module")
def urls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The address of a shoe for each setting."""
    assert _SER2NET is not None
    folder: Path = tmp_path_factory.mktemp("ser2net")
    lines, found = ["%YAML 1.1", "---"], {}
    with ExitStack() as stack:
        for name, (speaks, serial, options) in _SETTINGS.items():
            shoe = NaiveShoe(1)
            shoe.record(_EVENTS)
            port = stack.enter_context(answering_shoe(shoe)).path
            with socket.create_server(("127.0.0.1", 0)) as free:
                number = free.getsockname()[1]
            lines += [
                f"connection: &{name}",
                f"  accepter: {speaks},127.0.0.1,{number}",
                f"  connector: serialdev,{port},115200n81,local{serial}",
                *(["  options:", options] if options else []),
            ]
            scheme = "rfc2217" if name == "rfc2217" else "socket"
            found[name] = f"{scheme}://127.0.0.1:{number}"
        (folder / "ser2net.yaml").write_text("\n".join(lines) + "\n")
        command = [_SER2NET, "-n", "-c", str(folder / "ser2net.yaml"), "-P", str(folder / "pid")]
        with (folder / "output").open("wb") as output:
            server = subprocess.Popen(command, stdout=output, stderr=output)
        stack.callback(server.wait)
        stack.callback(server.terminate)
        until_s = time.monotonic() + _TIMEOUT_S
        last = ("127.0.0.1", int(found["ready"].rpartition(":")[2]))
        while time.monotonic() < until_s:
            with suppress(OSError), socket.create_connection(last, 1):
                break
            time.sleep(0.02)
        yield found


@pytest.mark.parametrize("name", ["raw", "rfc2217", "banner"])
def test_every_event_comes_with_a_right_setting(urls: dict[str, str], name: str) -> None:
    numbers: list[int] = []
    until_s = time.monotonic() + _TIMEOUT_S
    with Port(urls[name]) as port:
        client = Client(port, keys=KEYS)
        client.begin(1)
        while len(numbers) < _EVENTS and time.monotonic() < until_s:
            numbers += [record.event.number for record in client.receive(0.25).records]
            client.acknowledge()
    assert numbers == [*range(1, _EVENTS + 1)]
    assert client.damaged == (int(name == "banner"), 0)


@pytest.mark.parametrize(
    ("name", "cause"), [("telnet", damage.TELNET), ("xonxoff", damage.XON_XOFF)]
)
def test_a_wrong_setting_is_named(urls: dict[str, str], name: str, cause: damage.Cause) -> None:
    said = ""
    until_s = time.monotonic() + _TIMEOUT_S
    with Port(urls[name]) as port:
        try:
            client = Client(port, 0.2, keys=KEYS)
            client.begin(1)
            while client.damaged[0] < 20 and time.monotonic() < until_s:
                client.receive(0.05)
                client.acknowledge()
            said = client.damage_text()
        except SabotError as error:
            said = str(error)
    assert str(cause) in said


def test_a_second_host_reads_what_the_server_says(urls: dict[str, str]) -> None:
    with Port(urls["busy"]) as port:
        Client(port)
        with pytest.raises(SabotError) as raised, Port(urls["busy"]) as second:
            Client(second)
    assert "the device server says 'Port already in use' and closes" in str(raised.value)
