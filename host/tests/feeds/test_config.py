"""feeds.toml: taken whole, or refused with every fault by file, feed and key; no secret is in an
error."""

import os
from pathlib import Path

import pytest

from sabot.errors import FeedsUnusable
from sabot.feeds.config import Config, read
from sabot.listening import Address

_SECRET = "whsec_" + "A" * 40
_TOKEN = "a token of the tests, long"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with secrets."""
    for name, text in (("secret", _SECRET), ("token", _TOKEN), ("password", "pass word")):
        (tmp_path / name).write_text(text + "\n")
        (tmp_path / name).chmod(0o600)
    (tmp_path / "ca.pem").write_text("")
    return tmp_path


def _read(folder: Path, text: str) -> Config:
    path = folder / "feeds.toml"
    path.write_text(text)
    return read(path)


def _fault(folder: Path, text: str) -> str:
    with pytest.raises(FeedsUnusable) as caught:
        _read(folder, text)
    assert caught.value.exit_code == 42
    said = str(caught.value)
    assert said.startswith(f"{folder / 'feeds.toml'}: ") and "\n" not in said
    for secret in (_SECRET, _TOKEN, "pass word", "A" * 40):
        assert secret not in said
    return said.removeprefix(f"{folder / 'feeds.toml'}: ")


_HOOK = """
[[feed]]
name = "crm"
kind = "webhook"
address = "https://crm.example/hook?a=b"
secret = "secret"
"""


def test_everything_that_a_configuration_says_is_read(folder: Path) -> None:
    config = _read(
        folder,
        _HOOK
        + """
token = "token"
what = ["rounds"]
units = ["SHOE-7", "SHOE-8"]
tables = ["T 1"]
since = 2024-11-21T20:00:00+01:00
ca = "ca.pem"
[[feed]]
name = "bus"
kind = "nats"
address = "tls://nats.example:4222"
subject = "house.one"
user = "u"
password = "password"
[[feed]]
name = "lamps"
kind = "mqtt"
address = "mqtt://[::1]:1883"
topic = "house/one"
[pull]
listen = "127.0.0.1:99"
""",
    )
    crm, bus, lamps = config.feeds
    assert (crm.name, crm.kind, crm.what) == ("crm", "webhook", {"rounds"})
    assert crm.units == {"SHOE-7", "SHOE-8"} and crm.tables == {"T 1"}
    assert crm.since_unix_ms == 1_732_215_600_000
    assert crm.secrets == (b"\0" * 30,) and crm.token == _TOKEN and crm.ca == folder / "ca.pem"
    assert (bus.prefix, bus.user, bus.password) == ("house.one", "u", "pass word")
    assert bus.what == {"rounds", "shoes", "incidents"} and bus.units is None
    assert lamps.prefix == "house/one"
    assert config.pull is not None and config.pull.listen == Address("127.0.0.1", 99)
    assert config.outbox == folder / "feeds.sqlite"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("https://crm", "http://crm"), "feed crm, address: http:// to another machine"),
        (("https://crm", "ftp://crm"), "feed crm, address: must begin with https://"),
        (("https://crm", "https://me:pass word@crm"), "address: has a user or password in it"),
        (("crm.example", "crm.example:99999"), "feed crm, address: is not an address"),
        (("?a=b", "\\u00e9"), "feed crm, address: has characters"),
        (("?a=b", "#here"), "feed crm, address: must begin"),
        (('name = "crm"', 'name = "c r m"'), "feed 1, name: must be 1 to 40"),
        (('name = "crm"', ""), "feed 1, name: is missing"),
        (('"webhook"', '"webhok"'), "feed crm, kind: webhok is not known; did you mean webhook"),
        (('"webhook"', "7"), "feed crm, kind: must be text"),
        (('"secret"', '"none"'), "feed crm, secret:"),
        (('secret = "secret"', ""), "feed crm, secret: is missing"),
        (("secret =", "what = ['round']\nsecret ="), "what: round is not known; did you mean"),
        (("secret =", "units = 'A'\nsecret ="), "feed crm, units: must be a list"),
        (("secret =", "since = 2026-11-21\nsecret ="), "feed crm, since: must be a time"),
        (("secret =", "since = 2026-11-21T20:00:00\nsecret ="), "feed crm, since: must be a time"),
        (("secret =", "since = 2999-11-21T20:00:00Z\nsecret ="), "since: lies in the future"),
        (("secret =", "topic = 'x'\nsecret ="), "feed crm, topic: is not known"),
        (("secret =", "scret = 'x'\nsecret ="), "feed crm, scret: is not known; did you mean sec"),
        (("secret =", "token = 'token'\nsecret ="), "pull: a feed has a token"),
        (("secret =", "ca = 'no.pem'\nsecret ="), "feed crm, ca:"),
        ((_HOOK, ""), "feed: there is none"),
        ((_HOOK, _HOOK * 2), "feed crm: there are several of this name"),
        ((_HOOK, _HOOK + "[pull]\nlisten='0.0.0.0:1'"), "pull, listen: 0.0.0.0 can be reached"),
        ((_HOOK, _HOOK + "[pull]"), "pull, listen: is missing"),
        ((_HOOK, "feed = 3"), "feed: write each feed as"),
        ((_HOOK, "[[feed]"), "is not TOML"),
    ],
)
def test_a_fault_is_named_by_feed_and_key(folder: Path, change: tuple[str, str], said: str) -> None:
    assert said in _fault(folder, _HOOK.replace(*change))


def test_all_faults_are_said_at_once(folder: Path) -> None:
    text = _HOOK.replace("https", "http").replace('"secret"', '"none"') + "[pull]\nlisten=':x'\n"
    said = _fault(folder, text)
    assert "feed crm, address" in said and "feed crm, secret" in said and "pull, listen" in said


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("whsec_shor", "line 1 has 3 bytes"),
        ("A" * 40, "line 1 is not whsec_"),
        ("whsec_*" + "A" * 40, "line 1 is not whsec_"),
        (f"{_SECRET}\nwhsec_" + "A" * 8, "line 2 has 6 bytes"),
        (f"{_SECRET}\n" * 6, "must have a secret on each line, at most 5"),
        ("", "must have a secret on each line, at most 5"),
        ("x" * 5000, "larger than a secret"),
    ],
)
def test_a_secret_that_is_none_is_named_by_its_line(folder: Path, content: str, said: str) -> None:
    (folder / "secret").write_text(content)
    assert said in _fault(folder, _HOOK)


def test_two_secrets_are_two_keys(folder: Path) -> None:
    (folder / "secret").write_text(f"whsec_{'B' * 40}\n\n{_SECRET}\n")
    (feed,) = _read(folder, _HOOK).feeds
    assert len(feed.secrets) == 2 and feed.secrets[1] == b"\0" * 30


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o622, 0o666])
def test_a_secret_that_others_may_read_is_refused(folder: Path, mode: int) -> None:
    (folder / "secret").chmod(mode)
    if os.geteuid() == 0:  # root's group may read what systemd gives a service
        os.chown(folder / "secret", 0, 65534)
    assert "others may read it; say chmod 600" in _fault(folder, _HOOK)


def test_neither_a_folder_nor_a_pipe_is_a_secret(folder: Path) -> None:
    (folder / "secret").unlink()
    os.mkfifo(folder / "secret", 0o600)
    assert "is not a file" in _fault(folder, _HOOK)
    assert "is not a file" in _fault(folder, _HOOK.replace('"secret"', '"/dev/null"'))


def test_a_file_that_is_no_configuration_is_said(tmp_path: Path) -> None:
    for content in (b"\xff\xfe", b"x = " + b"[" * 5000, b"#" * (2 << 20)):
        path = tmp_path / "feeds.toml"
        path.write_bytes(content)
        with pytest.raises(FeedsUnusable):
            read(path)
    with pytest.raises(FeedsUnusable, match="cannot be read"):
        read(tmp_path / "none.toml")
