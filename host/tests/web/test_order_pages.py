"""A shoe of cards that repeats another one is shown beside it, and never what comes next.

Two floors differ only in the cards of the earlier shoe that come after those dealt so far. Every
page and every answer about the table must be the same for both, to every role.
"""

import json
import random
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import pytest

from host.tests.support.helpers import FirmwareLog, stored
from host.tests.support.screens import Screens, screens_of
from host.tests.support.shuffles import dealt_shoes, honest
from host.tests.web.test_face_down_pages import _OF_THE_SERVER
from sabot.desk.roles import RIGHTS, ROLES
from sabot.web.api import tables
from sabot_firmware.table.shoe_of_cards import BETWEEN
from sabot_protocol import cards

pytestmark = pytest.mark.slow

UNIT = "SHOE-9"
_DICE = random.Random(9)
_EARLIER, _BETWEEN = honest(_DICE), honest(_DICE)
_ROUNDS = 4
_COMMON = 40
"""Cards that both earlier shoes have: more than those rounds need."""
_PATHS = (
    "/", "/alerts", "/board/9", "/api/tables", "/api/alerts", f"/tables/{UNIT}",
    f"/api/tables/{UNIT}",
)  # fmt: skip


def _other_suits(shoe: Sequence[int]) -> list[int]:
    """The same shoe of cards, but that the suits of cards of one rank have changed places after the
    first cards: play is the same."""
    made, rest = [*shoe], range(_COMMON, len(shoe))
    for rank in range(13):
        places = [at for at in rest if shoe[at] % 13 == rank]
        for at, there in zip(places, places[1:] + places[:1], strict=True):
            made[at] = shoe[there]
    return made


def _log(earlier: Sequence[int]) -> FirmwareLog:
    log = dealt_shoes(earlier, _BETWEEN).load()
    for card in earlier:
        while log.betting_due():
            if log.dealing.round == _ROUNDS and log.dealing.phase == BETWEEN:
                return log
            log.draw("next")
        log.draw(cards.name_of(card))
    raise AssertionError("the shoe has fewer rounds")


@pytest.fixture(scope="module")
def floors(
    tmp_path_factory: pytest.TempPathFactory, cheap_hashes: None
) -> Iterator[tuple[Screens, Screens]]:
    """Two floors whose earlier shoes go on with other cards."""
    with ExitStack() as opened:
        one, other = (
            opened.enter_context(
                screens_of(
                    tmp_path_factory.mktemp("floor") / "log.sqlite",
                    {UNIT: stored(_log(earlier).records)},
                )
            )
            for earlier in (_EARLIER, _other_suits(_EARLIER))
        )
        deadline_s = time.monotonic() + 100
        while not all(map(_is_shown, (one, other))):
            assert time.monotonic() < deadline_s
            time.sleep(0.01)
        yield one, other


def _is_shown(screens: Screens) -> bool:
    """Whether the alert is raised, and all that the log has is shown."""
    tile = screens.floor.tile(UNIT)
    return tile is not None and tile.order is not None and len(tile.open_alerts) == 1


def _pieces(text: str) -> list[str]:
    """The words of a page. Their order depends on which alert was raised first."""
    text = re.sub(r'(alert|remark)-\d+|"(note|number)": ?\d+', "", _OF_THE_SERVER.sub("", text))
    return sorted(re.findall(r"[^\s<>{}]+", text))


def test_the_two_floors_have_other_cards_to_come() -> None:
    other = _other_suits(_EARLIER)
    assert sorted(other) == sorted(_EARLIER) and other[:_COMMON] == _EARLIER[:_COMMON]
    assert sum(a != b for a, b in zip(other, _EARLIER, strict=True)) > 200


@pytest.mark.parametrize("role", ROLES)
def test_no_page_of_the_table_says_what_the_earlier_shoe_has_after_the_cards_dealt_so_far(
    floors: tuple[Screens, Screens], role: str
) -> None:
    one, other = (each.visitor(role) for each in floors)
    for path in _PATHS:
        shown, beside = one.get(path), other.get(path)
        assert shown.status_code == beside.status_code
        assert _pieces(shown.text) == _pieces(beside.text), path
        # Nor does it lead there: it does not name that shoe of cards.
        assert not re.search(rf"{UNIT}/1/|{UNIT} shoe 1\b|shoe=1\b", shown.text), path


def test_the_feed_of_the_tables_says_no_more(floors: tuple[Screens, Screens]) -> None:
    sent = [tables._Tables(each.floor, cards=True).since(None)[1] for each in floors]
    for each in sent:  # they come in the order in which they changed
        each["tables"].sort(key=lambda table: table["unit"])
    one, other = (_OF_THE_SERVER.sub("", json.dumps(each, sort_keys=True)) for each in sent)
    assert one == other and '"repeated"' in one


@pytest.mark.parametrize("role", ["floor", "surveillance", "technician"])
def test_the_table_shows_the_cards_beside_the_earlier_ones_to_those_who_may_see_rounds(
    floors: tuple[Screens, Screens], role: str
) -> None:
    visitor = floors[0].visitor(role)
    page, answer = visitor.get(f"/tables/{UNIT}").text, visitor.get(f"/api/tables/{UNIT}").json()
    assert "Dealt before" in page and "repeat the order of an earlier shoe" in page
    order = answer["order"]
    assert order["kind"] == "repeated"
    if role in RIGHTS["round"]:
        assert 'class="beside"' in page
        names = [cards.name_of(card) for card in _EARLIER]
        assert order["cards"] == order["before"] == names[: len(order["cards"])] != []
    else:
        assert 'class="beside"' not in page and order["cards"] == order["before"] == []


def test_the_tile_has_a_mark(floors: tuple[Screens, Screens]) -> None:
    wall = floors[0].visitor("floor").get("/").text
    (tile,) = re.findall(rf'<article[^>]*id="tile-{UNIT}".*?</article>', wall, re.DOTALL)
    assert '<span class="mark">dealt before</span>' in tile
