"""Generated records against a second chain and Sabot's own verifier."""

from itertools import pairwise

from host.tests.support.helpers import NaiveChain
from sabot.audit.chain import Ratchet
from sabot.audit.checks.findings import Summary
from sabot.audit.checks.unit_checks import UnitChecks
from sabot.link.wire import parse_event
from sabot_hil.kit.centre.chained import ChainedUnit


def test_the_verifier_finds_nothing_but_the_gaps_that_the_shoe_itself_names() -> None:
    unit = ChainedUnit("U-1", 7)
    made = unit.take(5000)
    checks = UnitChecks("U-1", macs=Ratchet(unit.first_key))
    found = checks.verify(list(made), Summary())
    gaps = [each for each in made if parse_event(each.record).kind == "gap"]
    assert {each.kind for each in found} == {"gap"}
    assert len(found) == len(gaps) > 5


def test_the_macs_are_those_of_a_second_chain() -> None:
    unit = ChainedUnit("U-1", 7, loses=False)
    chain, before = NaiveChain(unit.first_key), unit.chain
    assert chain.id == before
    for each in unit.take(300):
        before = chain.mac(each.number, before, each.record)
        assert each.mac == before


def test_a_unit_is_the_same_each_time_and_no_other() -> None:
    assert ChainedUnit("U-1", 7).take(500) == ChainedUnit("U-1", 7).take(500)
    assert ChainedUnit("U-1", 7).take(1) != ChainedUnit("U-2", 7).take(1)
    assert ChainedUnit("U-1", 7).take(1) != ChainedUnit("U-1", 8).take(1)


def test_numbers_ascend_and_some_are_lost() -> None:
    made = ChainedUnit("U-1", 7).take(3000)
    steps = [after.number - before.number for before, after in pairwise(made)]
    assert min(steps) == 1 < max(steps)
    unbroken = [each.number for each in ChainedUnit("U-1", loses=False).take(9)]
    assert unbroken == [*range(1, len(unbroken) + 1)]
