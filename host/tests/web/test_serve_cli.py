"""`sabot serve` and `sabot log --serve`: what they print, where they listen, how they end."""

import signal
import socket
import ssl
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2 as httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from host.tests.support.commands import (
    done_here,
    error_line_here,
    running,
    simulating,
)
from host.tests.support.helpers import FirmwareLog, new_log, stored
from sabot.desk.desk import Desk

pytestmark = pytest.mark.slow

_PASSWORD = "a password of the tests"
_HERE = "127.0.0.1:0"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a log of one unit and its desk."""
    with new_log(tmp_path / "log.sqlite") as store:
        store.append("U1", stored(FirmwareLog().load().draw("AC", "2H").records))
        Desk.make(store, tmp_path / "sabot.keys", "ada", _PASSWORD)
    return tmp_path


def _certify(folder: Path) -> None:
    """Write a certificate for 127.0.0.1 and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (folder / "c.pem").write_bytes(made.public_bytes(pem))
    private = serialization.PrivateFormat.PKCS8
    (folder / "k.pem").write_bytes(key.private_bytes(pem, private, serialization.NoEncryption()))


def _sign_in(url: str) -> httpx.Client:
    client = httpx.Client(base_url=url)
    answer = client.post("/api/session", json={"name": "ada", "password": _PASSWORD})
    client.headers["authorization"] = f"Bearer {answer.json()['token']}"
    return client


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_its_address_and_ends_at_once_with_a_page_open(
    folder: Path, by: signal.Signals
) -> None:
    with running(folder, "serve", "--db", "log.sqlite", "--listen", _HERE) as command:
        client = _sign_in(command.first_line())
        with client.stream("GET", "/api/live") as feed:
            assert next(feed.iter_lines()) == "retry: 1000"
            assert command.end(by=by) == 0
        assert "the screens are closed" in command.problems[-1]
    done_here(folder, "verify", "--db", "log.sqlite", code=1)


def test_pages_over_tls_have_cookies_for_tls_only(folder: Path) -> None:
    _certify(folder)
    pair = ("--certificate", "c.pem", "--private-key", "k.pem")
    with running(folder, "serve", "--db", "log.sqlite", "--listen", _HERE, *pair) as command:
        url = command.first_line()
        assert url.startswith("https://127.0.0.1:")
        trusted = ssl.create_default_context(cafile=str(folder / "c.pem"))
        trusted.check_hostname = False
        trusted.verify_mode = ssl.CERT_NONE
        with httpx.Client(base_url=url, verify=trusted) as client:
            (cookie,) = client.get("/sign-in").headers.get_list("set-cookie")
        assert cookie.startswith("__Host-sabot_form=")
        assert all(word in cookie for word in ("Secure", "HttpOnly", "SameSite=strict", "Path=/"))
        assert command.end() == 0


def test_an_address_that_another_program_has_is_refused(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        at = f"127.0.0.1:{taken.getsockname()[1]}"
        line = error_line_here(folder, "serve", "--db", "log.sqlite", "--listen", at, code=37)
    assert line.startswith(f"{at}: cannot listen there (Address already in use)")


def test_a_log_without_an_administrator_says_how_to_make_one(tmp_path: Path) -> None:
    new_log(tmp_path / "new.sqlite").close()
    line = error_line_here(tmp_path, "serve", "--db", "new.sqlite", "--listen", _HERE, code=35)
    assert "sabot users add NAME --role administrator" in line


@pytest.mark.parametrize("listen", ["0.0.0.0:0", "[::]:0", "192.0.2.7:8700", "example.org"])
def test_another_machine_is_not_served_without_tls_unless_told(folder: Path, listen: str) -> None:
    done = done_here(folder, "serve", "--db", "log.sqlite", "--listen", listen, code=2)
    assert "--plain-http" in done.stderr


@pytest.mark.parametrize("listen", ["127.0.0.1:x", "127.0.0.1:65536", "[::1", "[::1]x", "8700"])
def test_an_address_that_is_none_is_wrong_usage(folder: Path, listen: str) -> None:
    done = done_here(folder, "serve", "--db", "log.sqlite", "--listen", listen, code=2)
    assert "is not HOST:PORT" in done.stderr


def test_a_folder_of_captures_that_is_not_there_is_wrong_usage(folder: Path) -> None:
    done = done_here(folder, "serve", "--db", "log.sqlite", "--captures", "nowhere", code=2)
    assert "nowhere" in done.stderr


def _no_file(folder: Path) -> None:
    (folder / "c.pem").unlink()


def _no_pem(folder: Path) -> None:
    (folder / "c.pem").write_text("not PEM", encoding="ascii")


def _other_key(folder: Path) -> None:
    before = (folder / "c.pem").read_bytes()
    _certify(folder)
    (folder / "c.pem").write_bytes(before)


@pytest.mark.parametrize("spoil", [_no_file, _no_pem, _other_key])
def test_a_certificate_that_cannot_be_used_is_refused(
    folder: Path, spoil: Callable[[Path], None]
) -> None:
    _certify(folder)
    spoil(folder)
    pair = ("--certificate", "c.pem", "--private-key", "k.pem")
    line = error_line_here(folder, "serve", "--db", "log.sqlite", *pair, code=21)
    assert line.startswith("c.pem: ")


def test_a_log_serves_its_screens_in_the_same_process(folder: Path) -> None:
    more = ("--db", "log.sqlite", "--serve", "--listen", _HERE)
    with simulating(folder, "U2"), running(folder, "log", "U2", *more) as command:
        url = command.wait_for_line("screens at http").removeprefix("screens at ")
        command.wait_for_line("U2 shoe 1 round  6")
        tables = _sign_in(url).get("/api/tables").json()["tables"]
        units = [each["unit"] for each in tables]
        assert sorted(units) == ["U1", "U2"]
        assert command.end() == 0


def test_a_log_that_cannot_serve_its_screens_does_not_begin(tmp_path: Path) -> None:
    line = error_line_here(tmp_path, "log", "U2", "--db", "new.sqlite", "--serve", code=35)
    assert "sabot users add" in line
