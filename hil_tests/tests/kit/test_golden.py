"""Journals that earlier versions wrote: this version's firmware must read all of their content."""

import json
import lzma
from pathlib import Path

import pytest

from hil_tests.golden.make import FOLDER, SCENES, UNIT, start_on, status_of
from sabot.audit.chain import Ratchet
from sabot.audit.checks.findings import Summary
from sabot.audit.checks.unit_checks import UnitChecks
from sabot.link.client import Client
from sabot.link.ports import Port
from sabot.sim.process import SimulatedShoe
from sabot_hil.kit.logbook import received
from sabot_hil.kit.used_unit import write_key_files
from sabot_hil.targets.sim import RealClock

pytestmark = pytest.mark.slow

_GOLDEN = {
    str(path.relative_to(FOLDER).with_suffix("")): path
    for path in sorted([*FOLDER.glob("*.json"), *FOLDER.glob("*/journals/*.json")])
}
"""The journals of 0.1.0, and those in the folders of later versions."""


@pytest.mark.parametrize("name", _GOLDEN)
def test_a_journal_of_an_earlier_version_is_read_and_continued(name: str, tmp_path: Path) -> None:
    golden = json.loads(_GOLDEN[name].read_text())
    first_key = bytes.fromhex(golden["first_key"])
    (tmp_path / "journal.nor").write_bytes(
        lzma.decompress(_GOLDEN[name].with_suffix(".nor.xz").read_bytes())
    )
    write_key_files(tmp_path, UNIT, first_key)
    with SimulatedShoe(UNIT, state=tmp_path, flash_speed_permille=0) as shoe:
        start_on(shoe, golden["switches_on"])
        assert status_of(shoe) == golden["says"]
        with Port(shoe.port) as port:
            client = Client(port)
            client.begin(1)
            records = received(client, RealClock())
    rows = [(record.event.number, record.data, record.mac) for record in records]
    held = [[record.hex(), mac.hex()] for _, record, mac in rows[: len(golden["events"])]]
    assert held == golden["events"]
    assert len(rows) > len(held), "it has recorded its start"
    findings = UnitChecks(UNIT, macs=Ratchet(first_key)).verify(rows, Summary())
    assert [finding for finding in findings if finding.kind != "incomplete"] == []


def test_every_scene_is_there() -> None:
    assert set(SCENES) <= set(_GOLDEN)
