"""What the pages show, and do."""

import html
import random
import re
import time

import pytest
from starlette.testclient import TestClient

from host.tests.support.hand_log import HandLog
from host.tests.support.helpers import FirmwareLog, stored
from host.tests.support.screens import BACCARAT, BOXES, HANDS, MIDI, ORIGIN, PASSWORD, Screens
from sabot.desk.alerts import Alert
from sabot.notable.kinds import KINDS, LATER, SEARCHED, Kind
from sabot_protocol import events

_PATIENCE_S = 20


def _post(client: TestClient, path: str, **fields: str) -> int:
    found = re.findall(r'name="form_token" value="(\w+)"', client.get("/boards").text)
    answer = client.post(path, data=fields | {"form_token": found[0]}, headers={"origin": ORIGIN})
    return answer.status_code


def _raise_alert(screens: Screens, unit: str) -> str:
    """Have an unread card stop play at a new unit; return the alert's id."""
    log = FirmwareLog().load().draw("AC", "2H", "next", "blank")
    screens.store.append(unit, stored(log.records))
    end_s = time.monotonic() + _PATIENCE_S
    while time.monotonic() < end_s:
        for raised in screens.floor.alerts.open:
            if raised.alert.unit == unit and raised.alert.kind == "error":
                return raised.alert.id
        time.sleep(0.01)
    raise AssertionError(f"no alert of {unit}")


@pytest.mark.slow
def test_an_alert_stays_open_until_it_is_acknowledged_with_a_remark(screens: Screens) -> None:
    client = screens.visitor("floor")
    alert = _raise_alert(screens, "LOUD-1")
    assert alert in client.get("/alerts").text
    assert re.search(r"<title>\(\d+\)", client.get("/").text)
    assert _post(client, "/alerts/acknowledge", id=alert, remark=" ") == 400
    assert _post(client, "/alerts/acknowledge", id="nothing", remark="seen") == 400
    assert _post(client, "/alerts/acknowledge", id=alert, remark="<b>seen</b>") == 303
    page = client.get("/alerts").text
    done = page.partition('id="part-done"')[2]
    assert alert not in page.partition('id="part-done"')[0]
    assert "&lt;b&gt;seen&lt;/b&gt;" in done and "floor" in done
    assert _post(client, "/alerts/acknowledge", id=alert, remark="and again") == 303
    done = client.get("/alerts").text.partition('id="part-done"')[2]
    assert "&lt;b&gt;seen&lt;/b&gt;" in done and "and again" in done


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_an_open_alert_says_what_happened_and_what_to_do(screens: Screens, kind: Kind) -> None:
    alert = _raise_at_desk(screens, kind.name)
    shown, to_do = _said_of(screens, alert), f"{kind.do[1:]}."
    assert kind.words in shown and to_do in shown and kind.name.replace("_", " ") in shown
    screens.desk.acknowledge(alert, "seen", by="floor")
    while alert in (raised.alert.id for raised in screens.floor.alerts.open):
        time.sleep(0.01)
    shown = _said_of(screens, alert)
    assert kind.words in shown and to_do not in shown


def test_an_alert_that_a_later_version_raised_says_so(screens: Screens) -> None:
    shown = _said_of(screens, _raise_at_desk(screens, "surplus_copy"))
    assert LATER.words in shown and "surplus copy" in shown and f"{LATER.do[1:]}." in shown


def _raise_at_desk(screens: Screens, kind: str) -> str:
    """Have the desk note an alert of this kind; return its id."""
    id_ = f"WORDS-1/{kind}/7"
    screens.desk.raise_alert(Alert(id_, "WORDS-1", kind, 7, 1, 2, 5, "a detail"))
    while screens.floor.alerts.of(id_) is None:
        time.sleep(0.01)
    return id_


def _said_of(screens: Screens, alert: str) -> str:
    """What the page of alerts says of one, as people read it."""
    raised = screens.floor.alerts.of(alert)
    assert raised is not None
    page = screens.visitor("floor").get("/alerts").text
    return html.unescape(
        page.partition(f'id="alert-{raised.number}"')[2].partition("</article>")[0]
    )


def test_a_search_offers_each_kind_of_incident_with_its_words(screens: Screens) -> None:
    page = html.unescape(screens.visitor("surveillance").get("/search").text)
    for kind in SEARCHED.values():
        assert f">{kind.name.replace('_', ' ')}: {kind.words}</option>" in page


def test_several_alerts_of_a_kind_are_acknowledged_together_with_one_remark(
    screens: Screens,
) -> None:
    client = screens.visitor("surveillance")
    alerts = [_raise_alert(screens, f"MANY-{number}") for number in range(3)]
    page = client.get("/alerts").text
    (newest,) = re.findall(r'id="many-error".*?name="newest" value="(\d+)"', page, re.DOTALL)
    send = {"kind": "error", "newest": newest}
    assert _post(client, "/alerts/acknowledge-kind", **send, remark=" ") == 400
    assert _post(client, "/alerts/acknowledge-kind", **send | {"newest": "-1"}, remark="x") == 400
    assert _post(client, "/alerts/acknowledge-kind", **send, remark="the lamp failed") == 303
    still_open, _, done = client.get("/alerts").text.partition('id="part-done"')
    assert not any(alert in still_open for alert in alerts)
    assert done.count("the lamp failed") >= 3


def test_a_technician_sees_alerts_and_cannot_acknowledge_them(screens: Screens) -> None:
    client = screens.visitor("technician")
    alert = _raise_alert(screens, "LOUD-2")
    assert "LOUD-2" in client.get("/alerts").text
    assert "/alerts/acknowledge" not in client.get("/alerts").text
    assert _post(client, "/alerts/acknowledge", id=alert, remark="seen") == 403


def test_a_table_shows_its_boxes_and_its_seats(screens: Screens) -> None:
    client = screens.visitor("floor")
    boxes = client.get(f"/tables/{BOXES}").text
    assert boxes.count('<p class="side">Box ') == 3
    hands = client.get(f"/tables/{HANDS}").text
    assert hands.count('<p class="side">Seat ') == 4
    assert hands.count("card back") == 8 and "9 cards face down" in hands


def test_before_its_first_card_a_hand_of_holdem_looks_like_no_round_of_baccarat(
    screens: Screens,
) -> None:
    log = HandLog()
    log.record(events.PROVISIONED, 0, 0, ("40", 0))
    log.deal_random(random.Random(1))
    screens.store.append("HANDS-40", stored(log.seat(4).records))  # its betting is open
    client = screens.visitor("surveillance")
    end_s = time.monotonic() + _PATIENCE_S
    while (shown := client.get("/board/40")).status_code != 200:
        assert time.monotonic() < end_s
        time.sleep(0.01)
    assert "Next hand" in shown.text
    tile = client.get("/").text.partition('id="tile-HANDS-40"')[2].partition("</article>")[0]
    page = client.get("/tables/HANDS-40").text
    assert "Betting" in tile and "Betting" in page
    assert "/search?unit=HANDS-40" in page
    assert client.get(f"/search?unit={HANDS}").status_code == 200
    for each in (shown.text, tile, page):
        assert not re.search('class="(roads|plate|side player)"', each)


def test_a_long_name_of_a_table_is_written_small_on_its_tile_and_board(screens: Screens) -> None:
    log, name = FirmwareLog(), "Salon Maximilian, at the window"
    log.record(events.PROVISIONED, 0, 0, (name, 0))
    screens.store.append("LONG-1", stored(log.records))
    client = screens.visitor("surveillance")
    end_s = time.monotonic() + _PATIENCE_S
    while (board := client.get(f"/board/{name}")).status_code != 200:
        assert time.monotonic() < end_s
        time.sleep(0.01)
    assert f'<h1 class="long">{name}</h1>' in board.text
    assert f'<h2 class="long"><a href="/tables/LONG-1">{name}</a></h2>' in client.get("/").text
    assert "<h1>1</h1>" in client.get("/board/1").text


def test_all_that_lay_face_up_in_a_shoe_of_cards_in_play_is_for_surveillance(
    screens: Screens,
) -> None:
    for role, seen in (("surveillance", True), ("floor", False), ("technician", False)):
        page = screens.visitor(role).get(f"/tables/{BACCARAT}").text
        assert ('class="laid-open"' in page) == seen, role
        assert 'class="counts"' not in page


def test_the_health_of_the_sensors_is_for_those_who_care_for_them(screens: Screens) -> None:
    for role, seen in (("surveillance", True), ("technician", True), ("floor", False)):
        assert ("Cards read" in screens.visitor(role).get(f"/tables/{BACCARAT}").text) == seen, role


def test_a_table_that_is_none_says_so(screens: Screens) -> None:
    answer = screens.visitor("floor").get("/tables/<b>none")
    assert answer.status_code == 404 and "&lt;b&gt;none" in answer.text


def test_a_board_shows_no_unit_and_links_to_nothing(screens: Screens) -> None:
    board = screens.visitor().get("/board/3")
    assert board.status_code == 200
    assert MIDI not in board.text and "href" not in re.sub(r"<link [^>]*>", "", board.text)
    assert set(re.findall(r'(?:src|href)="/static/\w+/([\w.]+)"', board.text)) == {
        "board.css", "board.js", "icon.svg", "roads.css",
    }  # fmt: skip
    assert screens.visitor().get("/board/77").status_code == 404
    assert screens.visitor().get("/board/").status_code == 404


def test_an_administrator_adds_changes_and_closes_a_user(screens: Screens) -> None:
    client = screens.visitor("administrator")
    assert _post(client, "/users/add", name="bob", role="floor", password="too short") == 400
    assert _post(client, "/users/add", name="bob", role="floor", password=PASSWORD) == 303
    session = screens.desk.sign_in("bob", PASSWORD, origin="test")
    assert _post(client, "/users/role", name="bob", role="technician") == 303
    assert _post(client, "/users/password", name="bob", password="another password") == 303
    assert screens.desk.user_of(session) is None
    page = client.get("/users").text
    assert "<summary" in page.partition('action="/users/close"')[0], "one click closes no one"
    assert "a round&#39;s printed page and signed bundle" in page
    assert _post(client, "/users/close", name="bob") == 303
    assert "closed" in client.get("/users").text
    views = client.get("/views").text
    for words in ("added bob, floor", "gave bob the role technician", "closed bob"):
        assert words in views


@pytest.mark.parametrize(("before", "status"), [("2", 200), ("9" * 18, 200), ("x", 400)])
def test_the_notes_are_listed_from_where_one_asks(
    screens: Screens, before: str, status: int
) -> None:
    answer = screens.visitor("surveillance").get("/views", params={"before": before})
    assert answer.status_code == status
