"""A shoe that deals is led back to a released version and forward again, with losses of power."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sabot.keys import signing
from sabot.release.build import Release, load
from sabot.release.update import Progress, update
from sabot_hil.capabilities import Target, session_with
from sabot_hil.kit import releases
from sabot_hil.kit.dealer import end_shoe, load_cards
from sabot_hil.kit.logbook import check_taken, taken
from sabot_hil.kit.old_host import GOLDEN, RELEASES, unpacked
from sabot_protocol.release import signed

_RELEASED = "0.2.0"
_S = 1_000_000


def _released(target: Target) -> Release:
    """The released version's code for this board, signed by this shoe's house."""
    archive = GOLDEN / _RELEASED / RELEASES
    if not archive.exists():
        pytest.skip("the data of released versions are in a checkout only")
    board, house = target.house()
    built = load(unpacked(archive) / f"{board}-may-go-back")
    return replace(built, signature=signing.sign(house, signed(built.manifest)))


def _cutting(target: Target, shares: list[float]) -> Callable[[Progress], None]:
    """A function that cuts the power when these shares of a release have been sent."""

    def look(progress: Progress) -> None:
        if progress.what == "sending" and shares and progress.done >= shares[0] * progress.whole:
            shares.pop(0)
            target.power.off()
            target.power.on()

    return look


def _update(target: Target, release: Release, version: str) -> None:
    """Send a release as `sabot update` does, and cut the power twice meanwhile."""
    shares = [0.2, 0.8]
    done = update(
        lambda: session_with(target.shoe),
        release,
        _cutting(target, shares),
        now_s=lambda: target.clock.now_us() / _S,
        pause=lambda seconds: target.clock.pass_ms(1000 * seconds),
    )
    assert not shares and done.endswith(f"Sabot {version}, updated"), done
    with session_with(target.shoe) as client:
        assert client.welcome.firmware == version


def _deal(target: Target) -> None:
    """Deal a round and void the shoe of cards, so that another can begin."""
    target.bench.settle()
    load_cards(target.bench, "AC", "2C", "9C", "TD", "KH", "7S")
    assert target.bench.outputs.title == "NEXT ROUND?"
    end_shoe(target.bench)


def test_a_shoe_goes_back_to_a_released_version_and_forward_again(
    target: Target, tmp_path: Path
) -> None:
    back = _released(target)
    board, house = target.house()
    forward = releases.changed(board, house, releases.NEWER)
    _deal(target)
    _update(target, back, _RELEASED)
    _deal(target)
    _update(target, forward, releases.NEWER)
    _deal(target)
    assert len(check_taken(target, tmp_path)) == 3
    kinds = [record.event.kind for record in taken(target)]
    assert kinds.count("updated") == 2 and "update_undone" not in kinds and "error" not in kinds
