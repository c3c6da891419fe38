"""A shoe of cards that is changed while the power is off: the supervisor is asked, at the simulated
shoe, before another card comes out."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from sabot.link.client import Client
from sabot.link.events import BootEvent, ErrorEvent, Event
from sabot.link.ports import Port
from sabot.notable.incident_finder import incidents_of
from sabot.sim.channel import Outputs
from sabot.sim.process import SimulatedShoe
from sabot.sim.waveform import pass_samples
from sabot_hil.kit.logbook import received
from sabot_hil.kit.waiting import wait_until
from sabot_hil.targets.sim import RealClock
from sabot_protocol import cards

pytestmark = pytest.mark.slow

_ASKS = ("POWER WAS OFF", "CHECK CARDS, KEY")


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Callable[..., SimulatedShoe]]:
    """Makes a shoe, in the middle of a round."""
    shoes: list[SimulatedShoe] = []

    def make(**settings: object) -> SimulatedShoe:
        latches = settings.pop("latches", ())
        assert isinstance(latches, tuple)
        state = tmp_path / "state"
        shoe = SimulatedShoe(
            "SHOE-7", state=state, settings=settings, latches=latches, senses=not latches
        )
        shoes.append(shoe)
        shoe.power_on()
        shoe.bench.switch("lid_open", True)
        shoe.bench.switch("lid_open", False)
        for card in ("AC", "2C", "4C"):
            _pull(shoe, card)
        assert shoe.bench.outputs.lock_released
        return shoe

    yield make
    for shoe in shoes:
        shoe.close()


def _pull(shoe: SimulatedShoe, card: str) -> Outputs:
    shoe.bench.play(pass_samples(cards.number_of(card), 0))
    return shoe.bench.settle()


def _events(shoe: SimulatedShoe) -> Sequence[Event]:
    with Port(shoe.port) as port:
        client = Client(port)
        client.begin(1)
        return [record.event for record in received(client, RealClock())]


def _boot(shoe: SimulatedShoe) -> BootEvent:
    return [event for event in _events(shoe) if isinstance(event, BootEvent)][-1]


def _key(shoe: SimulatedShoe) -> Outputs:
    shoe.bench.switch("key_on", True)
    shoe.bench.switch("key_on", False)
    return shoe.bench.settle()


def _open_without_power(shoe: SimulatedShoe) -> Outputs:
    """Cut the power, open the lid, change what is left, shut the lid, restore the power."""
    shoe.power_off()
    shoe.bench.switch("lid_open", True)
    shoe.bench.switch("lid_open", False)
    shoe.power_on()
    return shoe.bench.outputs


def test_a_remainder_that_was_changed_without_power_is_not_dealt_before_the_key(
    made: Callable[..., SimulatedShoe],
) -> None:
    shoe = made()
    before = shoe.bench.outputs
    shown = _open_without_power(shoe)
    assert not shown.lock_released and shown.display[5:7] == _ASKS, shown
    for button in ("next", "void", "burn", "reveal"):
        shoe.bench.press(button)
        assert not shoe.bench.settle().lock_released, button
    shown = _key(shoe)
    assert (shown.lock_released, shown.display) == (True, before.display)
    assert _pull(shoe, "9S").display[3].split()[:2] == ["B", "9S"]
    kinds = [event.kind for event in _events(shoe)]
    assert kinds[-1] == "card" and kinds.count("error") == kinds.count("error_cleared") == 1
    found = [incident.kind for incident in incidents_of("SHOE-7", _events(shoe))]
    assert "error" in found and "restart" in found
    assert _boot(shoe).lid_opened is None


def test_a_latch_tells_an_opened_lid_from_a_cut_of_the_power(
    made: Callable[..., SimulatedShoe],
) -> None:
    shoe = made(check_cards="if_opened", latches=("lid", "compartment"))
    shoe.bench.wait_for(lambda _: not any("opened" in word for word in shoe.bench.latches()), "ok")
    shoe.power_off()
    shoe.power_on()
    assert shoe.bench.outputs.lock_released, "the lid stayed shut"
    assert (_boot(shoe).lid_opened, _boot(shoe).compartment_opened) == (False, False)
    shown = _open_without_power(shoe)
    assert not shown.lock_released and shown.display[5:7] == _ASKS, shown
    assert (_boot(shoe).lid_opened, _boot(shoe).compartment_opened) == (True, False)
    assert _key(shoe).lock_released
    shoe.power_off()
    shoe.bench.open("compartment")
    shoe.power_on()
    assert not shoe.bench.outputs.lock_released and _boot(shoe).compartment_opened
    details = [
        incident.detail
        for incident in incidents_of("SHOE-7", _events(shoe))
        if incident.kind == "opened_unwatched"
    ]
    assert details == [
        "lid opened, a shoe of cards in play",
        "compartment opened, a shoe of cards in play",
    ]


def test_a_house_cannot_do_without_the_question_on_a_board_without_a_latch(
    made: Callable[..., SimulatedShoe],
) -> None:
    assert _open_without_power(made(check_cards="if_opened")).display[5:7] == _ASKS


def _stuck(shoe: SimulatedShoe) -> int:
    return sum(
        isinstance(each, ErrorEvent) and each.error == "lock_stuck" for each in _events(shoe)
    )


def test_a_bolt_that_sticks_and_a_supply_that_falls_stop_play_by_name(
    made: Callable[..., SimulatedShoe],
) -> None:
    shoe = made()
    bench = shoe.bench
    bench.sense(bolt_stuck=True)
    _pull(shoe, "9S")
    bench.press("void")
    bench.switch("service_on", True)
    assert bench.settle().lock_released, "the bolt is where it must be"
    bench.sense(supply_low=True)
    shown = bench.wait_for(lambda outputs: "SUPPLY LOW" in outputs.display, "said so")
    assert not shown.lock_released
    bench.sense()
    assert _key(shoe).lock_released
    bench.sense(bolt_stuck=True)  # where it lets a card out
    bench.switch("lid_open", True)
    bench.settle()
    bench.switch("lid_open", False)
    bench.settle()
    wait_until(lambda: _stuck(shoe) == 1, 60)
    assert _stuck(shoe) == 1 and not bench.outputs.lock_released
