"""`sabot users` and `sabot desk`."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from host.tests.support.helpers import FirmwareLog, new_log, stored
from sabot.cli import app
from sabot.desk.desk import Desk
from sabot.log.store import open_store

PASSWORD, OTHER = "four words of hers", "four other words"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a log."""
    monkeypatch.chdir(tmp_path)
    with new_log(tmp_path / "sabot.sqlite") as store:
        store.append("U1", stored(FirmwareLog().load().draw("AS", "2C", "9S", "KC").records))
    return tmp_path


def run(*words: str, typed: str = "") -> str:
    done = CliRunner().invoke(app(), words, input=typed)
    assert done.exit_code == 0, (words, done.output, done.exception)
    return done.stdout


def refused(*words: str, typed: str = "") -> tuple[int, str]:
    """Exit code and message of a command that fails."""
    done = CliRunner().invoke(app(), words, input=typed)
    assert done.stdout == ""
    return getattr(done.exception, "exit_code", done.exit_code), str(done.exception)


def test_a_whole_life_of_two_users(folder: Path) -> None:
    added = run("users", "add", "ada", "--role", "administrator", typed=PASSWORD + "\n")
    assert added.splitlines()[0].startswith("sabot.keys: has the desk's first key")
    run("users", "add", "bob", "--role", "floor", typed=PASSWORD + "\r\n")
    run("users", "role", "bob", "technician")
    run("users", "password", "bob", typed=OTHER)
    with open_store(folder / "sabot.sqlite") as store:
        desk = Desk(store)
        token = desk.sign_in("bob", OTHER, origin="10.0.0.7")
        run("users", "close", "bob")
        assert desk.user_of(token) is None
    users = [json.loads(line) for line in run("users", "list", "--json").splitlines()]
    assert [(each["name"], each["role"], each["closed"]) for each in users] == [
        ("ada", "administrator", False),
        ("bob", "technician", True),
    ]
    notes = [json.loads(line) for line in run("desk", "--json").splitlines()]
    assert [(each["kind"], each["by"]) for each in notes] == [
        ("desk_opened", "@console"),
        ("user_made", "@console"),
        ("user_made", "@console"),
        ("role_changed", "@console"),
        ("password_set", "@console"),
        ("signed_in", "bob"),
        ("user_closed", "@console"),
    ]
    assert [each["number"] for each in notes] == list(range(1, 8))
    listed = run("desk")
    assert "bob is technician now" in listed and "from 10.0.0.7" in listed


@pytest.mark.parametrize("typed", ["short\n", "x" * 201 + "\n", "\n", ""])
def test_a_password_of_another_length_is_refused(typed: str, folder: Path) -> None:
    how = ("users", "add", "ada", "--role", "administrator")
    code, message = refused(*how, typed=typed)
    assert code == 36 and "12 to 200 characters" in message
    assert not (folder / "sabot.keys").exists()
    assert refused("users", "list")[0] == 35


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("add", "ada", "--role", "floor"), "there is or was a user"),
        (("add", "Bob", "--role", "flor"), "did you mean floor?"),
        (("add", "@server", "--role", "floor"), "does not begin with @"),
        (("add", "b\x1bb", "--role", "floor"), "printable characters"),
        (("add", "x" * 41, "--role", "floor"), "1 to 40"),
        (("role", "ad", "floor"), "did you mean ada?"),
        (("role", "ada", "king"), "there is no such role"),
        (("close", "ada"), "last administrator"),
        (("password", "eve"), "there is no such user"),
    ],
)
def test_what_cannot_be_is_refused_with_a_hint(words: tuple[str, ...], hint: str) -> None:
    run("users", "add", "ada", "--role", "administrator", typed=PASSWORD)
    before = run("desk")
    code, message = refused("users", *words, typed=OTHER)
    assert code == 36 and hint in message and message.isprintable()
    assert run("desk") == before


def test_a_log_without_a_desk_names_the_command_that_makes_one() -> None:
    for words in (("users", "list"), ("desk",), ("users", "add", "bob", "--role", "floor")):
        code, message = refused(*words, typed=PASSWORD)
        assert code == 35 and "sabot users add NAME --role administrator" in message


def test_no_password_hash_or_secret_is_printed_or_in_a_note(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = run("users", "add", "ada", "--role", "administrator", typed=PASSWORD)
    with open_store(folder / "sabot.sqlite") as store:
        desk = Desk(store)
        token = desk.sign_in("ada", PASSWORD, origin="")
        with store.reading() as connection:
            ((secret, hash_),) = connection.execute("SELECT secret, hash FROM desk_key, users")
        printed += repr(desk) + repr(desk.users()) + "".join(map(repr, desk.notes()))
    printed += run("desk") + run("desk", "--json") + run("users", "list", "--json")
    printed += "".join(refused("users", "add", "ada", "--role", "floor", typed=PASSWORD)[1])
    for each in (PASSWORD, token, secret.hex(), hash_, hash_.rpartition("$")[2]):
        assert each not in printed
    assert capsys.readouterr().out == ""
