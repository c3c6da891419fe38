"""Cards of a round are given only to roles that may see rounds, on every page and in every answer
and feed of the tables."""

import json
import re

import pytest

from host.tests.support.screens import BACCARAT, BOXES, HANDS, MIDI, Screens
from sabot.desk.roles import RIGHTS, ROLES
from sabot.web.api import tables

_CARD = re.compile(r'"[A2-9TJQK][SHDC]"|class="card(?: red| by-hand)*"')
_UNITS = (BACCARAT, MIDI, BOXES, HANDS)
_PATHS = ["/", "/api/tables", *(f"/tables/{unit}" for unit in _UNITS),
          *(f"/api/tables/{unit}" for unit in _UNITS)]  # fmt: skip


@pytest.mark.parametrize("role", ROLES)
def test_no_table_shows_cards_to_a_role_that_may_not_see_rounds(
    screens: Screens, role: str
) -> None:
    visitor = screens.visitor(role)
    answers = [visitor.get(path) for path in _PATHS]
    with_cards = [path for path, answer in zip(_PATHS, answers, strict=True)
                  if answer.status_code == 200 and _CARD.search(answer.text)]  # fmt: skip
    if role in RIGHTS["round"]:
        assert {"/", "/api/tables", f"/tables/{BOXES}", f"/api/tables/{HANDS}"} <= set(with_cards)
    else:
        assert with_cards == []
        assert all(each.status_code == 403 for each in answers) or role != "board"


def test_a_role_that_may_not_see_rounds_gets_the_results(screens: Screens) -> None:
    for role in ("technician", "surveillance"):
        answer = screens.visitor(role).get(f"/api/tables/{BACCARAT}").json()
        assert answer["rounds"] and all(each["winner"] for each in answer["rounds"])
        assert bool(answer["rounds"][0]["player"]) == (role == "surveillance")
        assert (answer["laid_open"] is None) == (role == "technician")
        assert answer["roads"]["bead_plate"]


def test_the_feeds_have_no_cards_for_them_either(screens: Screens) -> None:
    floor = screens.app.state.services.floor
    for cards in (False, True):
        _, changed = tables._Tables(floor, cards=cards).since(None)
        assert bool(_CARD.search(json.dumps(changed))) == cards
        pictures = screens.app.state.tiles
        tiles = [pictures.of(each, 0, linked=False, cards=cards) for each in floor.tiles()]
        assert bool(_CARD.search("".join(tiles))) == cards
