"""A shoe that deals takes another release, which stays or is undone by the shoe itself."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

import sabot_firmware
from sabot.errors import UpdateFailed
from sabot.keys import signing
from sabot.release.build import Release, load
from sabot.release.update import Progress, update
from sabot_hil.capabilities import Target, session_with
from sabot_hil.kit import releases
from sabot_hil.kit.dealer import end_shoe, load_cards
from sabot_hil.kit.logbook import check_taken, taken
from sabot_hil.kit.versions.old_host import GOLDEN, RELEASES, unpacked
from sabot_protocol.release import signed

_RELEASED = "0.2.0"
_S = 1_000_000
_LOST_BYTES = 24576  # 16 KB that are stored at once, and the head that is sent again


def _release(target: Target, changes: dict[str, tuple[bytes, bytes]] | None = None) -> Release:
    board, house = target.house()
    return releases.changed(board, house, releases.NEWER, changes)


def _released(target: Target) -> Release:
    """The released version's code for this board, signed by this shoe's house."""
    archive = GOLDEN / _RELEASED / RELEASES
    if not archive.exists():
        pytest.skip("the data of released versions are in a checkout only")
    board, house = target.house()
    built = load(unpacked(archive) / f"{board}-may-go-back")
    return replace(built, signature=signing.sign(house, signed(built.manifest)))


def _update(
    target: Target,
    release: Release,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> str:
    """Send the release as `sabot update` does."""
    return update(
        lambda: session_with(target.shoe),
        release,
        on_progress,
        now_s=lambda: target.clock.now_us() / _S,
        pause=lambda seconds: target.clock.pass_ms(1000 * seconds),
    )


def _deal(target: Target) -> None:
    """Deal a round and void the shoe of cards, so that another can begin."""
    target.bench.settle()
    load_cards(target.bench, "AC", "2C", "9C", "TD", "KH", "7S")
    assert target.bench.outputs.title == "NEXT ROUND?"
    end_shoe(target.bench)


def _kinds(target: Target) -> list[str]:
    kinds = [record.event.kind for record in taken(target)]
    assert "error" not in kinds
    return kinds


def _runs(target: Target) -> str:
    try:
        return target.shoe.attach().welcome.firmware
    finally:
        target.shoe.detach()


def test_a_shoe_deals_is_updated_and_deals(target: Target) -> None:
    release = _release(target)
    _deal(target)
    assert _update(target, release).endswith(f"Sabot {releases.NEWER}, updated")
    _deal(target)
    kinds = _kinds(target)
    assert kinds.count("result") == 2
    assert kinds.count("updated") == 1 and "update_undone" not in kinds
    target.power.off()
    target.power.on()
    assert _runs(target) == releases.NEWER


@pytest.mark.parametrize(
    ("changes", "times"),
    [(releases.DOES_NOT_START, 2), (releases.HANGS, 1)],
    ids=["does not start", "hangs"],
)
def test_a_release_that_does_not_run_is_given_up_and_the_shoe_deals_on(
    target: Target, changes: dict[str, tuple[bytes, bytes]], times: int
) -> None:
    release = _release(target, changes)
    _deal(target)
    for _ in range(times):  # the second time the shoe's heap is different
        with pytest.raises(UpdateFailed, match=rf"it runs {sabot_firmware.VERSION} again"):
            _update(target, release)
    _deal(target)
    kinds = _kinds(target)
    assert kinds.count("result") == 2
    assert kinds.count("update_undone") == times and "updated" not in kinds
    assert _runs(target) == sabot_firmware.VERSION


def test_an_update_continues_after_a_loss_of_power(target: Target) -> None:
    release = _release(target)
    offsets: list[int] = []
    cut_at = 0

    def cut_power_once(progress: Progress) -> None:
        nonlocal cut_at
        if progress.what != "sending":
            return
        offsets.append(progress.done)
        if not cut_at and progress.done > progress.whole // 2:
            cut_at = progress.done
            offsets.clear()
            target.power.off()
            target.power.on()

    assert _update(target, release, cut_power_once).endswith(f"Sabot {releases.NEWER}, updated")
    assert cut_at
    # The head comes first; then the shoe asks only for the code that was not on flash.
    skipped = max(after - before for before, after in pairwise(offsets))
    assert skipped > cut_at - _LOST_BYTES
    _deal(target)
    assert _kinds(target).count("result") == 1


def test_a_shoe_goes_back_to_a_released_version_and_forward_again_with_losses_of_power(
    target: Target, tmp_path: Path
) -> None:
    _deal(target)
    for release, version in ((_released(target), _RELEASED), (_release(target), releases.NEWER)):
        shares = [0.2, 0.8]  # that are sent when the power goes

        def cut_power(progress: Progress, shares: list[float] = shares) -> None:
            sent = progress.what == "sending"
            if sent and shares and progress.done >= shares[0] * progress.whole:
                shares.pop(0)
                target.power.off()
                target.power.on()

        assert _update(target, release, cut_power).endswith(f"Sabot {version}, updated")
        assert not shares
        assert _runs(target) == version
        _deal(target)
    assert len(check_taken(target, tmp_path)) == 3
    kinds = _kinds(target)
    assert kinds.count("updated") == 2 and "update_undone" not in kinds
