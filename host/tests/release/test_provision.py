"""Provisioning of simulated boards, which run the real firmware from a slot."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import cbor2
import pytest

from sabot.errors import CommandRefused, KeysUnusable, NoShoe, UnitTaken
from sabot.games.baccarat import catalogue
from sabot.keys import chain_keys, signing
from sabot.keys.chain_keys import Keys
from sabot.link.client import Client
from sabot.link.command_keys import CommandKeyFile
from sabot.link.messages import (
    DebugCommand,
    IdentifyCommand,
    ProvisionCommand,
    ReadEventsCommand,
    SetClockCommand,
    StatusCommand,
    UpdateCommand,
)
from sabot.link.ports import Port
from sabot.release import layout
from sabot.release.provision import KeyFiles, UnitSettings, provision, provisioning_document
from sabot.sim.process import SimulatedShoe
from sabot_hil.kit import releases
from sabot_protocol import baccarat as baccarat_game
from sabot_protocol import provisioning
from sabot_protocol.chain import chain_id

pytestmark = pytest.mark.slow

_HOUSE = signing.public_of(releases.HOUSE)
_EZ = catalogue.document("ez-mini", {})


def _settings(
    unit: str = "SHOE-9", table: str = "12", card_set: int = 3, game: bytes = _EZ
) -> UnitSettings:
    return UnitSettings(unit, table, card_set, "go_on", game, _HOUSE)


class House:
    """The house's key files; it provisions boards with them."""

    def __init__(self, folder: Path) -> None:
        self.files = KeyFiles(folder / "keys", folder / "commands", CommandKeyFile())
        self.steps: list[str] = []

    def provision(
        self,
        board: SimulatedShoe,
        settings: UnitSettings,
        *,
        replaces: bool = False,
        line: Callable[[Port], object] = lambda port: port,
        unix_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> str:
        @contextmanager
        def attached() -> Iterator[Client]:
            with Port(board.port) as port:
                yield Client(line(port), keys=self.files.known)  # type: ignore[arg-type]

        return provision(
            attached,
            settings,
            self.files,
            replaces=replaces,
            on_progress=self.steps.append,
            unix_ms=unix_ms,
        )


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def _board(folder: Path | None = None) -> SimulatedShoe:
    files = layout.contents(releases.compiled("sim"), _HOUSE)
    del files["state/release_key.cbor"]
    return SimulatedShoe("BOARD-1", state=folder, files=files, provisioned=False)


@pytest.fixture
def board() -> Iterator[SimulatedShoe]:
    """A flashed board with power that is not a unit."""
    with _board() as flashed:
        flashed.power_on()
        yield flashed


def _events(board: SimulatedShoe, house: House) -> list[tuple[str, dict[str, object]]]:
    """All events that the board has."""
    with Port(board.port) as port:
        client = Client(port, keys=house.files.known)
        client.begin(1)
        records = []
        deadline = time.monotonic() + 100
        while len(records) < client.welcome.last_held and time.monotonic() < deadline:
            records += client.receive(0.1).records
    return [(record.event.kind, dict(record.event.fields)) for record in records]


def test_a_flashed_board_only_waits_to_be_provisioned(
    board: SimulatedShoe,
) -> None:
    assert board.bench.outputs.display == ("NOT PROVISIONED", "BOARD-1")
    assert not board.bench.outputs.lock_released and board.bench.outputs.lamps == {"error"}
    with Port(board.port) as port:
        client = Client(port)
        assert (client.unit, client.welcome.challenge) == ("BOARD-1", b"")
        assert client.welcome.build == layout.build_of(releases.compiled("sim"))
        for command in (
            SetClockCommand(1_800_000_000_000),
            IdentifyCommand(),
            DebugCommand(),
            ReadEventsCommand(1),
        ):
            with pytest.raises(CommandRefused) as refused:
                client.ask(command)
            assert refused.value.refusal == "not_a_unit"
        report = client.ask(UpdateCommand(1000))
        assert (report.stage, report.refusal) == ("refused", "no_key")


def test_a_board_becomes_the_unit_of_its_settings(board: SimulatedShoe, house: House) -> None:
    done = house.provision(board, _settings())
    assert done.startswith("SHOE-9: table 12, game ez-mini, card set 3; a unit now, chain ")
    (chain,) = Keys.load(house.files.chains).chains("SHOE-9")
    assert chain.hex() in done
    with Port(board.port) as port:
        client = Client(port, keys=CommandKeyFile.load(house.files.commands))
        assert (client.unit, client.welcome.game) == ("SHOE-9", "ez-mini")
        status = client.ask(StatusCommand())
        assert abs(status.unix_ms - time.time() * 1000) < 60_000
    events = _events(board, house)
    assert [kind for kind, _ in events] == ["boot", "provisioned", "clock_set"]
    assert events[0][1]["chain"] == chain and events[1][1] == {"table": "12", "set": 3}


@pytest.mark.parametrize(("year", "why"), [(1970, "past"), (2106, "far off")])
def test_if_the_hosts_clock_is_years_off_the_unit_is_made_without_a_clock(
    board: SimulatedShoe, house: House, year: int, why: str
) -> None:
    moment_ms = int(datetime(year, 1, 2, tzinfo=UTC).timestamp() * 1000)
    done = house.provision(board, _settings(), unix_ms=lambda: moment_ms)
    assert "; a unit now, chain " in done
    assert "; without a clock: " in done and done.endswith(f"{why}: set the host's clock")
    assert [kind for kind, _ in _events(board, house)] == ["boot", "provisioned"]


def test_no_key_is_shown(board: SimulatedShoe, house: House) -> None:
    shown = house.provision(board, _settings()) + "".join(house.steps)
    first_key = Keys.load(house.files.chains).first_key(
        "SHOE-9", Keys.load(house.files.chains).chains("SHOE-9")[0]
    )
    command = CommandKeyFile.load(house.files.commands).key_for("SHOE-9")
    assert first_key is not None
    for key in (first_key, command):
        assert key.hex()[:12] not in shown
    for path in (house.files.chains, house.files.commands):
        assert path.stat().st_mode & 0o077 == 0


def test_new_settings_need_the_service_switch_and_leave_id_and_keys(
    board: SimulatedShoe, house: House
) -> None:
    house.provision(board, _settings())
    chains = house.files.chains.read_bytes()
    again = _settings(table="High roller", card_set=7, game=baccarat_game.document_of("mini"))
    with pytest.raises(CommandRefused, match="is that unit already, and its service switch is off"):
        house.provision(board, again)
    board.bench.switch("lid_open", True)
    board.bench.switch("service_on", True)
    board.bench.settle()
    done = house.provision(board, again)
    assert done == "SHOE-9: table High roller, game mini, card set 7"
    assert house.files.chains.read_bytes() == chains
    provisioned = [fields for kind, fields in _events(board, house) if kind == "provisioned"]
    assert provisioned == [{"table": "12", "set": 3}, {"table": "High roller", "set": 7}]


def test_a_unit_does_not_become_another_one(board: SimulatedShoe, house: House) -> None:
    house.provision(board, _settings())
    board.bench.switch("service_on", True)
    with pytest.raises(UnitTaken, match="SHOE-9: this board is already that unit"):
        house.provision(board, _settings(unit="SHOE-10"))


def test_another_board_gets_an_id_that_has_keys_only_if_it_replaces_the_unit(
    board: SimulatedShoe, house: House
) -> None:
    house.provision(board, _settings())
    before = house.files.chains.read_bytes()
    with _board() as other:
        other.power_on()
        with pytest.raises(UnitTaken, match=r"SHOE-9: .* has keys of a unit with that id"):
            house.provision(other, _settings())
        assert house.files.chains.read_bytes() == before
        house.provision(other, _settings(), replaces=True)
    assert len(Keys.load(house.files.chains).chains("SHOE-9")) == 2


def test_a_key_that_only_one_file_has_is_never_sent_to_a_board(
    board: SimulatedShoe, house: House
) -> None:
    """Its command key may have been moved away: then another board may have it."""
    other = chain_keys.new_key()
    chain_keys.add(house.files.chains, "SHOE-9", other)
    with pytest.raises(UnitTaken, match=r"SHOE-9: .* has keys of a unit with that id"):
        house.provision(board, _settings())
    house.provision(board, _settings(), replaces=True)
    first, second = Keys.load(house.files.chains).chains("SHOE-9")
    assert first == chain_id(other) != second


def test_a_stranger_cannot_change_a_unit_even_with_its_service_switch_on(
    board: SimulatedShoe, house: House
) -> None:
    house.provision(board, _settings())
    board.bench.switch("service_on", True)
    board.bench.settle()
    stranger = House(house.files.chains.parent / "stranger")
    stranger.files.chains.parent.mkdir()
    stranger.files.known.put("SHOE-9", bytes(32))
    with pytest.raises(KeysUnusable, match="another command key"):
        stranger.provision(board, _settings(table="13"))
    assert not stranger.files.chains.exists()


class Cable:
    """A port whose cable comes off at the write number `every`."""

    name = "cable"

    def __init__(self, port: Port, every: int) -> None:
        self._port, self._every, self._writes = port, every, 0

    def read(self, timeout_s: float) -> bytes:
        return self._port.read(timeout_s)

    def write(self, data: bytes | bytearray) -> None:
        self._port.write(data)
        self._writes += 1
        if self._writes == self._every:
            raise NoShoe("cable: the connection broke")


@pytest.mark.parametrize("every", [2, 3, 4])
def test_a_unit_has_one_key_although_the_cable_came_off_after_any_part(
    board: SimulatedShoe, house: House, every: int
) -> None:
    cables = iter([every])
    done = house.provision(board, _settings(), line=lambda port: Cable(port, next(cables, 1 << 30)))
    assert done.startswith("SHOE-9: ")
    (chain,) = Keys.load(house.files.chains).chains("SHOE-9")
    assert _events(board, house)[0][1]["chain"] == chain


def test_a_board_that_lost_power_in_the_middle_can_be_provisioned(
    tmp_path: Path, house: House
) -> None:
    with _board(tmp_path / "board") as board:
        board.power_on()
        document = provisioning_document(_settings(), "SHOE-9", bytes(32))
        with Port(board.port) as port:
            Client(port).ask(ProvisionCommand(0, len(document), document[:400]))
        board.power_off()
        board.power_on()
        assert board.bench.outputs.title == "NOT PROVISIONED"
        assert house.provision(board, _settings()).startswith("SHOE-9: ")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("unit", ""),
        ("unit", "SHOE 9"),
        ("unit", "X" * 33),
        ("unit", "Sabot/9"),
        ("table", ""),
        ("table", "é" * 33),
        ("card_set", 13),
        ("card_set", -1),
        ("when_full", "ask"),
        ("game", b""),
        ("game", bytes(100)),
        ("release_key", bytes(31)),
    ],
)
def test_settings_that_no_unit_can_have_are_refused_by_host_and_board_alike(
    board: SimulatedShoe, field: str, value: object
) -> None:
    fields = {
        "version": 1, "unit": "SHOE-9", "table": "12", "card_set": 3, "when_full": "stop",
        "game": _EZ, "release_key": _HOUSE, "first_key": bytes(32),
    }  # fmt: skip
    fields[field] = value
    fields["set"] = fields.pop("card_set")
    document = cbor2.dumps(fields, canonical=True)
    with pytest.raises(provisioning.ProvisioningError):
        provisioning.Provisioning(document)
    with Port(board.port) as port:
        client = Client(port)
        with pytest.raises(CommandRefused):
            for offset in range(0, len(document), 400):
                part = document[offset : offset + 400]
                client.ask(ProvisionCommand(offset, len(document), part))
    board.power_off()
    board.power_on()
    assert board.bench.outputs.title == "NOT PROVISIONED"


def test_the_chain_of_a_unit_is_named_after_its_first_key(house: House) -> None:
    key = bytes(range(32))
    assert chain_id(key) != chain_id(bytes(32))
    document = cbor2.loads(provisioning_document(_settings(), "SHOE-9", key))
    assert document["first_key"] == key
    assert "first_key" not in cbor2.loads(provisioning_document(_settings(), "SHOE-9"))
