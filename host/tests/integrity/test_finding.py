"""The correction for the number of tests, and which findings are listed."""

from random import Random

import pytest

from sabot.integrity import finding
from sabot.integrity.finding import Finding, Ledger, Listed, holm


def _finding(chance: float) -> Finding:
    return Finding("a", "t", str(chance), "s", 1, 0, chance, "It is strange.")


def _holm_by_definition(chances: list[float], limit: float) -> list[float]:
    """The chances that Holm rejects: step down while the k-th smallest is below limit / (m - k)."""
    rejected = []
    for place, chance in enumerate(sorted(chances)):
        if chance >= limit / (len(chances) - place):
            break
        rejected.append(chance)
    return rejected


@pytest.mark.parametrize("seed", range(20))
def test_listed_is_what_holm_rejects(seed: int) -> None:
    random = Random(seed)
    chances = [random.random() ** random.choice((1, 6, 20)) for _ in range(60)]
    ledger = Ledger(0.05)
    for chance in chances:
        ledger.add(chance, lambda chance=chance: _finding(chance))  # type: ignore[misc]
    listed = ledger.listed()
    assert [each.finding.chance for each in listed] == _holm_by_definition(chances, 0.05)
    assert all(each.tests == 60 for each in listed)


def test_of_more_findings_than_are_kept_the_weakest_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(finding, "MOST_KEPT", 5)
    random = Random(4)
    chances = [random.random() * 1e-6 for _ in range(50)]
    ledger = Ledger()
    for chance in chances:
        ledger.add(chance, lambda chance=chance: _finding(chance))  # type: ignore[misc]
    assert [each.finding.chance for each in ledger.listed()] == sorted(chances)[:5]


def test_what_holm_published_as_an_example() -> None:
    assert holm([0.01, 0.02, 0.04], 3) == pytest.approx([0.03, 0.04, 0.04])


def test_the_words_say_how_many_honest_reports_have_one() -> None:
    assert Listed(_finding(1e-6), 1 / 250, 4000).how_often == (
        "Of 250 reports about honest cards one would have this."
    )


def test_one_report_in_a_hundred_about_honest_cards_has_a_finding() -> None:
    random = Random(38)
    with_any = 0
    for _ in range(3000):
        ledger = Ledger(0.01)
        for _ in range(20):
            chance = random.random()
            ledger.add(chance, lambda chance=chance: _finding(chance))  # type: ignore[misc]
        with_any += bool(ledger.listed())
    assert 12 <= with_any <= 52  # 30, with four standard errors
