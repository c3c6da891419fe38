"""What a person may say is elsewhere, in the words in which it is reported as missing."""

import pytest

from sabot.audit.absence.elsewhere import Elsewhere, named


@pytest.mark.parametrize(
    ("text", "there", "not_there"),
    [
        ("SHOE-2", ["SHOE-2", "SHOE-2~2"], ["SHOE-20", "SHOE-1", "@desk"]),
        ("SHOE-2~2", ["SHOE-2~2"], ["SHOE-2", "SHOE-2~3"]),
        ("SHOE-2 to SHOE-12", ["SHOE-2", "SHOE-9", "SHOE-12~3"], ["SHOE-1", "SHOE-13", "X-3"]),
        ("S007 to S012", ["S007", "S010"], ["S7", "S0007", "S013"]),
        ("MACAU-*", ["MACAU-", "MACAU-7"], ["XMACAU-7", "macau-7"]),
        ("*", ["SHOE-1"], ["@desk"]),
        ("@desk", ["@desk"], ["SHOE-1"]),
        ("A, B\nC-1 to C-3 ,", ["A", "B", "C-2"], ["D", ""]),
        ("A.B", ["A.B"], ["AxB"]),
    ],
)
def test_units_are_named_one_by_one_in_ranges_and_by_patterns(
    text: str, there: list[str], not_there: list[str]
) -> None:
    known = Elsewhere([text])
    assert all(map(known.has_unit, there)) and not any(map(known.has_unit, not_there))


@pytest.mark.parametrize("text", ["A to B", "A-1 to B-2", "A-5 to A-4", "x" * (1 << 21)])
def test_what_names_nothing_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"both ends|larger|too long"):
        Elsewhere([text])


def test_a_hash_is_named_by_its_first_digits_eight_at_least() -> None:
    sha256 = bytes.fromhex("8879045E1D4A9F26" + 48 * "0")
    assert Elsewhere(["8879045e"]).has_hash(sha256) and Elsewhere([sha256.hex()]).has_hash(sha256)
    assert not Elsewhere(["8879045"]).has_hash(sha256)
    assert not Elsewhere(["*"]).has_hash(sha256) and not Elsewhere().has_hash(sha256)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([f"SHOE-{n}" for n in range(21, 201)], "SHOE-21 to SHOE-200"),
        (["B-2", "B-1", "A"], "A, B-1, B-2"),
        ([*(f"S{n:03}" for n in range(7, 13)), "T"], "S007 to S012, T"),
        (["S1", "S01", "S2", "S3"], "S01, S1 to S3"),
        (["X-1", "X-2", "X-3", "Y-5"], "X-1 to X-3, Y-5"),
    ],
)
def test_the_names_that_are_printed_can_be_given_back(names: list[str], text: str) -> None:
    assert named(names) == text
    assert all(map(Elsewhere([text]).has_unit, names))
