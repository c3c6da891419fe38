"""`verify` and boards that took the place of others: what an adversary, or a mistake, does to the
seam between them, to the end of the old board and to the beginning of the new one.

The logs are changed with SQL, without code of the project, in a file and in PostgreSQL.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from host.tests.support.boards import FIRST_KEYS, MALLORY, OPERATOR, Boards, sealed
from host.tests.support.helpers import FirmwareLog, mac_of, shuffled_names, stored
from host.tests.support.stored import sql_in
from sabot.audit import bundle_file, checkpoints, replacing
from sabot.audit import prune as pruning
from sabot.audit.absence.elsewhere import Elsewhere
from sabot.audit.bundle import verify_bundle
from sabot.audit.checks.findings import Finding, Summary
from sabot.audit.excerpt import collect
from sabot.audit.verify import VerifyOptions, verify, verify_log
from sabot.errors import DatabaseUnusable, SeamRefused
from sabot.keys.chain_keys import Keys
from sabot.keys.signing import open_sealed, pem_of, public_of
from sabot.log.place import Place
from sabot.log.store import open_store

_NOW = 1_800_000_000_000


@pytest.fixture(scope="module")
def three() -> Boards:
    """Three boards of U1, each with two short shoes of cards."""
    return Boards(3)


def keys_of(count: int = 3) -> Keys:
    keys = Keys()
    for first_key in FIRST_KEYS[:count]:
        keys.put("U1", first_key)
    return keys


def found(place: Place, keys: Keys | None = None, **given: Any) -> list[Finding]:
    """The findings, without those of games: these logs do not have their documents."""
    options = {
        "keys": keys or keys_of(), "operator": public_of(OPERATOR), "now_unix_ms": _NOW
    } | given  # fmt: skip
    with open_store(place) as store:
        every = list(verify(store, Summary(), VerifyOptions(**options)))
    return [each for each in every if each.kind != "game"]


def texts(findings: list[Finding]) -> list[tuple[str, int, str]]:
    assert {each.kind for each in findings} <= {"seam"}
    return [(each.unit, each.event, each.detail) for each in findings]


def reseal(place: Place, data: bytes, name: str = "U1~2") -> None:
    sql_in(place, "UPDATE seams SET seam = ? WHERE unit = ?", data, name)


@pytest.mark.slow
def test_a_log_of_three_boards_is_clean_and_its_seams_are_noted(
    log_place: Place, three: Boards
) -> None:
    three.write(log_place)
    assert found(log_place) == []
    findings, summary = verify_log(
        log_place, VerifyOptions(keys=keys_of(), operator=public_of(OPERATOR))
    )
    assert {each.kind for each in findings} <= {"game"} and summary.units == 1
    notes = [(note.unit, note.detail) for note in summary.notes if note.kind == "seam"]
    assert [name for name, _ in notes] == ["U1~2", "U1~3"]
    last = three.logs[0].last_number
    assert notes[0][1].startswith(f"board 2 since event {last} of U1, by ada, on ")


def test_a_seam_without_an_event_of_its_board_is_noted_and_its_events_are_absent(
    log_place: Place, three: Boards
) -> None:
    """They have not come yet, or were removed: only the person who verifies can know."""
    chain = three.logs[1].chain.id.hex()
    with open_store(log_place, create=True) as store:
        store.append("U1", three.records(1))
        store.keep_seam(three.seam(2))
        options = VerifyOptions(keys=keys_of(2), operator=public_of(OPERATOR))
        (absent,) = (each for each in verify(store, Summary(), options) if each.kind != "game")
        assert (absent.unit, absent.kind) == ("U1", "absent") and chain in absent.detail
        summary, options = Summary(), replace(options, elsewhere=Elsewhere([chain]))
        assert {each.kind for each in verify(store, summary, options)} <= {"game"}
    (note,) = [note for note in summary.notes if note.kind == "seam"]
    assert note.unit == "U1~2" and note.detail.endswith("; no event of it has come yet")


@pytest.mark.slow
def test_a_seam_of_someone_else_is_a_finding_and_so_is_one_that_is_not_checked(
    log_place: Place, three: Boards
) -> None:
    three.write(log_place)
    (one, two) = found(log_place, operator=None)
    assert (one.kind, two.kind) == ("operator", "operator")
    assert "which was not checked; name the operator's key with --operator" in one.detail
    reseal(log_place, three.seam(2, MALLORY).seam)
    (finding,) = found(log_place)
    assert (finding.unit, finding.kind) == ("U1~2", "operator")
    assert finding.detail.endswith("not by the operator")


def _changed(data: bytes) -> bytes:
    return data[:60] + bytes([data[60] ^ 1]) + data[61:]


CHANGES: dict[str, tuple[Callable[[Boards], bytes], str, str]] = {
    "changed": (lambda b: _changed(b.seam(2).seam), "U1~2", "a seam"),
    "empty": (lambda b: b"x", "U1~2", "not a seam"),
    "another board": (lambda b: b.seam(3).seam, "U1~2", "the seam in its row is of U1~3"),
    "another unit": (
        lambda b: sealed("U2~2", last=b.logs[0].last_number), "U1~2",
        "the seam in its row is of U2~2",
    ),
    "another chain": (
        lambda b: b.seam(2, chain=bytes(16)).seam, "U1~2", "its records are of the chain",
    ),
    "the first chain": (
        lambda b: b.seam(2, chain=b.logs[0].chain.id).seam, "U1~2", "for both boards",
    ),
    "a later chain": (
        lambda b: b.seam(2, chain=b.logs[2].chain.id).seam, "U1~2", "which is that of U1~3",
    ),
    "another old chain": (
        lambda b: b.seam(2, old_chain=bytes(16)).seam, "U1", "it is of the chain",
    ),
    "another MAC": (lambda b: b.seam(2, mac=bytes(16)).seam, "U1", "in the seam of U1~2"),
    "an earlier event": (
        lambda b: b.seam(2, last=10, mac=mac_of(b.logs[0].records[9])).seam, "U1",
        "the log goes on to event",
    ),
    "a later event": (
        lambda b: b.seam(2, last=5000).seam, "U1",
        "before event 5000 after which U1~2 has taken its place",
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", CHANGES)
def test_a_forged_or_altered_seam_is_a_finding(tmp_path: Path, three: Boards, how: str) -> None:
    place = tmp_path / "log"
    three.write(place)
    make, unit, said = CHANGES[how]
    reseal(place, make(three))
    details = [(name, detail) for name, _, detail in texts(found(place))]
    assert any(name == unit and said in detail for name, detail in details), details


def test_a_seam_whose_row_says_another_event_is_a_finding(log_place: Place, three: Boards) -> None:
    three.write(log_place)
    sql_in(log_place, "UPDATE seams SET last = last + 1 WHERE unit = 'U1~2'")
    ((unit, _, detail),) = texts(found(log_place))
    assert unit == "U1~2" and "the table says that it is after event" in detail


def _cut(place: Place, unit: str, after: int) -> None:
    for table in ("records", "events") if isinstance(place, Path) else ("records",):
        sql_in(
            place, f"DELETE FROM {table} WHERE number > ? AND unit ="
            " (SELECT id FROM units WHERE unit = ?)", after, unit,
        )  # fmt: skip
    if not isinstance(place, Path):
        sql_in(place, "UPDATE units SET newest = ? WHERE unit = ?", after, unit)


def test_a_tail_of_the_old_board_that_was_cut_off_is_a_finding(
    log_place: Place, three: Boards
) -> None:
    three.write(log_place)
    last = three.logs[0].last_number
    _cut(log_place, "U1", last - 7)
    said = [each for each in found(log_place) if each.kind == "seam"]
    assert texts(said) == [
        ("U1", last - 6, f"the log ends with event {last - 7}, before event {last} after which "
         "U1~2 has taken its place"),
    ]  # fmt: skip


@pytest.mark.slow
def test_an_old_board_that_goes_on_is_a_finding(tmp_path: Path, three: Boards) -> None:
    place = tmp_path / "log"
    log = FirmwareLog(FIRST_KEYS[0])
    for shoe in range(2):
        log.deal_shoe(shuffled_names(shoe, cut_from_end=380))
    last = log.last_number
    with open_store(place, create=True) as store:
        store.append("U1", stored(log.power_on().records))
    with open_store(place, create=True) as store:
        store.append("U1", stored(log.records))
    row = three.seam(2, last=last, mac=mac_of(log.records[last - 1]))
    sql_in(place, "INSERT INTO seams VALUES (?, ?, ?)", *row)
    sql_in(place, "INSERT INTO units VALUES (7, 'U1~2')")
    for each in three.records(2):
        sql_in(
            place, "INSERT INTO records VALUES (7, ?, 0, ?, ?)",
            each.event.number, each.data, each.mac,
        )  # fmt: skip
    with open_store(place, create=True) as store:
        store.derive()
    assert texts(found(place, keys_of(2))) == [
        ("U1", last + 1, f"the log goes on to event {log.last_number}, although U1~2 has taken "
         f"the place of this board after event {last}"),
    ]  # fmt: skip


def test_a_board_without_its_seam_is_a_finding(log_place: Place, three: Boards) -> None:
    three.write(log_place)
    sql_in(log_place, "DELETE FROM seams WHERE unit = 'U1~2'")
    assert texts(found(log_place)) == [
        ("U1~2", 0, "no seam says whose place this board has taken; U1 is before it"),
    ]


def test_a_board_number_that_is_left_out_is_a_finding(log_place: Place, three: Boards) -> None:
    """All of the second board is gone."""
    three.write(log_place)
    _cut(log_place, "U1~2", 0)
    sql_in(log_place, "DELETE FROM seams WHERE unit = 'U1~2'")
    if not isinstance(log_place, Path):
        sql_in(
            log_place, "DELETE FROM days WHERE unit = (SELECT id FROM units WHERE unit = 'U1~2')"
        )
    sql_in(log_place, "DELETE FROM units WHERE unit = 'U1~2'")
    seams = [each for each in found(log_place) if each.kind == "seam"]
    said = ("U1~3", 0, "the log has no board U1~2, whose place this one has taken")
    assert said in texts(seams)


def test_a_seam_twice_is_a_finding(log_place: Place, three: Boards) -> None:
    """The seam of the second board is put there as that of a fourth."""
    three.write(log_place)
    row = three.seam(2)
    sql_in(log_place, "INSERT INTO seams VALUES ('U1~4', ?, ?)", *row[1:])
    assert texts(found(log_place)) == [("U1~4", 0, "the seam in its row is of U1~2")]


def test_two_boards_of_one_chain_are_a_circle_and_a_finding(tmp_path: Path, three: Boards) -> None:
    """The records of the first board again, as those of a third, with a seam of the operator."""
    place = tmp_path / "log"
    with open_store(place, create=True) as store:
        store.append("U1", three.records(1))
        store.keep_seam(three.seam(2))
        store.append("U1~2", three.records(2))
        store.keep_seam(three.seam(3, chain=three.logs[0].chain.id))
        store.append("U1~3", three.records(1))
    said = texts(found(place, keys_of(2)))
    chain = three.logs[0].chain.id.hex()
    assert ("U1~3", 0, f"its seam names the chain {chain}, which is that of U1") in said


@pytest.mark.slow
def test_a_chain_of_which_the_key_file_has_no_key_is_a_finding(
    tmp_path: Path, three: Boards
) -> None:
    place = tmp_path / "log"
    three.write(place)
    said = [each for each in found(place, keys_of(2)) if each.kind == "seam"]
    chain = three.logs[2].chain.id.hex()
    assert texts(said) == [
        ("U1~3", 0, f"its seam names the chain {chain}, of which the key file has no key"),
    ]
    assert {each.unit for each in found(place, keys_of(2)) if each.kind == "wrong_key"} == {"U1~3"}


def test_records_of_one_board_under_the_name_of_another_are_findings(
    tmp_path: Path, three: Boards
) -> None:
    """The names of two boards are exchanged."""
    place = tmp_path / "log"
    three.write(place)
    for old, new in (("U1", "x"), ("U1~2", "U1"), ("x", "U1~2")):
        sql_in(place, "UPDATE units SET unit = ? WHERE unit = ?", new, old)
    said = [each for each in found(place) if each.kind == "seam"]
    assert {each.unit for each in said} == {"U1", "U1~2"}
    assert any("its records are of the chain" in each.detail for each in said)


def test_a_changed_record_is_found_in_the_board_that_has_it(tmp_path: Path, three: Boards) -> None:
    place = tmp_path / "log"
    three.write(place)
    query = "SELECT record FROM records WHERE number = 20 AND unit = 1"
    ((other,),) = sql_in(place, query)
    sql_in(place, "UPDATE records SET record = ? WHERE number = 20 AND unit = 2", other)
    changed = [each for each in found(place) if each.kind == "changed"]
    assert changed and {each.unit for each in changed} == {"U1~2"}


def test_each_board_is_pruned_by_itself_and_the_keys_of_its_chain_are_found(
    tmp_path: Path, three: Boards
) -> None:
    """The oldest shoe of cards of the first board goes: its key is not the newest one."""
    place = tmp_path / "log"
    three.write(place)
    sql_in(place, "UPDATE records SET received_unix_ms = 0")
    with open_store(place) as store:
        for name in ("U1", "U1~2"):
            plan = pruning.plan(store, name, keep_days=1, now_unix_ms=_NOW, keys=keys_of())
            assert plan.going and not plan.findings
            pruning.carry_out(store, [plan], OPERATOR, keep_days=1, now_unix_ms=_NOW)
    assert found(place) == []


@pytest.mark.slow
def test_checkpoints_of_both_boards_are_kept_and_a_cut_is_found_by_them(
    tmp_path: Path, three: Boards
) -> None:
    place = tmp_path / "log"
    three.write(place)
    with open_store(place) as store:
        kept = list(checkpoints.checkpoints_of(store))
    assert {each.unit for each in kept} == {"U1", "U1~2", "U1~3"}
    assert found(place, kept=kept) == []
    _cut(place, "U1~3", 30)
    cut = [each for each in found(place, kept=kept) if each.kind == "truncated"]
    assert [(each.unit, each.event) for each in cut] == [("U1~3", 31)]


# Bundles.


def bundle_of(place: Place, name: str, tmp_path: Path, **changed: Any) -> list[tuple[str, str]]:
    """Kind and detail of what is found in a bundle of a board's first shoe of cards."""
    with open_store(place) as store:
        bundle = collect(store, name, 1, keys=keys_of(), still_open=False, exported_unix_ms=_NOW)
    path, public = tmp_path / "bundle", tmp_path / "operator.pub.pem"
    public.write_bytes(pem_of(public_of(OPERATOR)))
    bundle_file.save(path, replace(bundle, **changed), OPERATOR)
    verdict = verify_bundle(path, keys_of(), public)
    return [(each.kind, each.detail) for each in verdict.findings if each.kind != "game"]


@pytest.mark.slow
def test_a_bundle_of_the_second_board_has_its_seam_and_is_held_to_it(
    tmp_path: Path, three: Boards
) -> None:
    place = tmp_path / "log"
    three.write(place)
    assert bundle_of(place, "U1", tmp_path) == bundle_of(place, "U1~2", tmp_path) == []
    ((kind, detail),) = bundle_of(place, "U1~2", tmp_path, seam=b"")
    assert (kind, detail) == ("seam", "no seam says whose place this board has taken")
    ((_, detail),) = bundle_of(place, "U1~2", tmp_path, seam=_changed(three.seam(2).seam))
    assert "a seam" in detail
    said = bundle_of(place, "U1~2", tmp_path, seam=three.seam(3).seam)
    assert [kind for kind, _ in said] == ["seam", "seam"] and "is of U1~3" in said[0][1]
    ((kind, detail),) = bundle_of(place, "U1~2", tmp_path, seam=three.seam(2, MALLORY).seam)
    assert kind == "operator" and "not by the signer" in detail
    ((_, detail),) = bundle_of(place, "U1", tmp_path, seam=three.seam(2).seam)
    assert detail == "it has a seam, and is of a first board"


def test_a_bundle_of_a_first_board_is_as_an_older_sabot_wrote_it(
    tmp_path: Path, three: Boards
) -> None:
    place = tmp_path / "log"
    three.write(place)
    bundle_of(place, "U1", tmp_path)
    document = open_sealed((tmp_path / "bundle").read_bytes()).document
    assert document["version"] == 2 and "seam" not in document
    bundle_of(place, "U1~2", tmp_path)
    assert open_sealed((tmp_path / "bundle").read_bytes()).document["version"] == 3


# What `sabot replaced` refuses.


def test_what_cannot_be_a_seam_is_refused_in_its_own_words(log_place: Place, three: Boards) -> None:
    chains = [log.chain.id for log in three.logs]

    def replaced(chain: bytes, unit: str = "U1") -> str:
        with open_store(log_place) as store:
            try:
                seam = replacing.replace(store, unit, chain, OPERATOR, by="", now_unix_ms=_NOW)
            except (SeamRefused, DatabaseUnusable) as error:
                return str(error)
            return seam.name

    with open_store(log_place, create=True) as store:
        store.append("U1", three.records(1))
        store.append("U2", three.records(3)[:20])
    assert "the newest board has the chain" in replaced(chains[0])
    assert "U2, another board, has the chain" in replaced(chains[2])
    assert "has no unit U3; there are: U1, U2" in replaced(chains[1], "U3")
    assert replaced(chains[1]) == replaced(chains[1]) == "U1~2"
    assert "is to be the board with the chain" in replaced(bytes(16))
    with open_store(log_place, create=True) as store:
        store.append("U1~2", three.records(2))
    assert "U1, another board, has the chain" in replaced(chains[0])
    assert "the newest board has the chain" in replaced(chains[1])
    assert replaced(bytes(16)) == "U1~3"
    with open_store(log_place) as store:
        with pytest.raises(SeamRefused, match="no board of U2 was replaced"):
            replacing.undo(store, "U2")
        assert replacing.undo(store, "U1") == "U1~3"
