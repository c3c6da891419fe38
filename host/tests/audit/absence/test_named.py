"""The rule for absence alone, without a log."""

from collections.abc import Sequence

from sabot.audit.absence.elsewhere import NOWHERE, Elsewhere
from sabot.audit.absence.named import Here, Named, missing
from sabot.audit.checks.findings import Finding, Note

KEYS = "the key file has a key"


def found(
    names: Sequence[Named],
    *here: str,
    chains: dict[str, list[bytes]] | None = None,
    elsewhere: Elsewhere = NOWHERE,
) -> list[Finding | Note]:
    """What is missing of a log with these boards, each with 9 events and the chain of its name."""
    log = Here(
        last=dict.fromkeys(here, 9),
        chain_of=str.encode,
        had_round=lambda name, shoe, round_: (shoe, round_) <= (2, 3),
        desk="@desk" in here,
    )
    return list(missing(names, chains or {}, log, elsewhere))


def keyed(*units: str) -> list[Named]:
    return [Named(unit, KEYS) for unit in units]


def test_everything_that_is_named_and_there_is_no_finding() -> None:
    names = [*keyed("A", "B", "@desk"), Named("A~2", "x", 9), Named("B", "x", 0, 2, 3)]
    assert found(names, "A", "A~2", "B", "@desk") == []


def test_one_unit_is_named_with_the_option_that_excuses_it() -> None:
    (each,) = found([*keyed("A", "B"), Named("B", "notes of the desk speak")], "A")
    assert each == Finding(
        "B", 0, "absent",
        "the log has no event of it, and the key file has a key and notes of the desk speak of it; "
        "if it is known to be in another log: --elsewhere B",
    )  # fmt: skip


def test_many_units_are_one_finding_that_names_them_all() -> None:
    """A key file with 200 units and a log of 20 of them."""
    units = [f"SHOE-{n}" for n in range(1, 201)]
    (each,) = found(keyed(*units), *units[:20])
    assert isinstance(each, Finding) and (each.unit, each.kind) == ("", "absent")
    assert each.detail == (
        "the key file has a key of 180 units that the log lacks: SHOE-21 to SHOE-200; name those "
        "that are known to be in other logs with --elsewhere, as here"
    )
    (note,) = found(keyed(*units), *units[:20], elsewhere=Elsewhere(["SHOE-21 to SHOE-200"]))
    assert isinstance(note, Note) and note.kind == "known_elsewhere"
    (each, note) = found(keyed(*units), *units[:20], elsewhere=Elsewhere(["SHOE-22 to SHOE-200"]))
    assert (each.unit, each.kind, note.kind) == ("SHOE-21", "absent", "known_elsewhere")


def test_a_board_that_is_gone_is_found_by_the_key_of_its_chain() -> None:
    chains = {"A": [b"A", b"A~2"]}
    assert found([], "A", "A~2", chains=chains) == []
    (each,) = found([], "A", chains=chains)
    assert each.kind == "absent" and b"A~2".hex() in each.detail
    assert found([], "A", chains={"A": [b"another"]}) == []  # that is `wrong_key`
    (note,) = found([], "A", chains=chains, elsewhere=Elsewhere(["A~2"]))
    assert note.kind == "known_elsewhere"


def test_an_event_or_a_round_after_the_end_of_the_log_is_found() -> None:
    (each,) = found([Named("A", "x speaks", 9), Named("A", "x speaks", 10)], "A")
    assert (each.event, each.kind) == (10, "truncated")
    assert each.detail == "x speaks of event 10, the log ends before it"
    (each,) = found([Named("A", "x speaks", 0, 2, 4), Named("A", "x speaks", 0, 1, 9)], "A")
    assert (each.event, each.kind) == (10, "absent") and "shoe 2 round 4" in each.detail
