"""Signing on and off at a table's page: noted with who did it, seen by floor and surveillance."""

import re

import pytest
from starlette.testclient import TestClient

from host.tests.support.screens import BACCARAT, ORIGIN, PASSWORD, Screens


def _sign(client: TestClient, task: str, person: str) -> int:
    path = f"/tables/{BACCARAT}"
    (token, *_) = re.findall(r'name="form_token" value="(\w+)"', client.get(path).text)
    fields = {"form_token": token, "task": task, "person": person}
    return client.post(f"{path}/duty", data=fields, headers={"origin": ORIGIN}).status_code


def _on_duty(client: TestClient) -> object:
    return client.get(f"/api/tables/{BACCARAT}").json()["on_duty"]


@pytest.mark.slow
def test_signing_on_and_off_is_noted_with_who_did_it(screens: Screens) -> None:
    floor = screens.visitor("floor")
    assert _on_duty(floor) == {"dealer": None, "supervisor": None}
    assert _sign(floor, "dealer", " K-1 ") == _sign(floor, "supervisor", "S-2") == 303
    assert _on_duty(screens.visitor("surveillance")) == {"dealer": "K-1", "supervisor": "S-2"}
    assert _on_duty(screens.visitor("technician")) is None
    assert "<strong>K-1</strong>" in floor.get(f"/tables/{BACCARAT}").text
    assert "On duty" not in screens.visitor("technician").get(f"/tables/{BACCARAT}").text
    assert _sign(floor, "dealer", "") == 303
    assert _on_duty(floor) == {"dealer": None, "supervisor": "S-2"}
    noted = [each for each in screens.desk.notes() if each.kind == "on_duty"][-3:]
    assert [(each.by, each.fields["given_by"], each.fields["person"]) for each in noted] == [
        ("floor", "floor", "K-1"), ("floor", "floor", "S-2"), ("floor", "floor", ""),
    ]  # fmt: skip


@pytest.mark.slow
def test_the_api_signs_on_and_refuses_what_cannot_be(screens: Screens) -> None:
    client = screens.visitor()
    answer = client.post("/api/session", json={"name": "floor", "password": PASSWORD})
    client.headers["authorization"] = f"Bearer {answer.json()['token']}"
    for body, status in (
        ({"unit": BACCARAT, "task": "dealer", "person": "K-9"}, 200),
        ({"unit": BACCARAT, "task": "cook", "person": "K-9"}, 400),
        ({"unit": BACCARAT, "task": "dealer", "person": "K" * 61}, 400),
        ({"unit": "NO-ONE", "task": "dealer", "person": "K-9"}, 404),
        ({}, 404),
    ):
        answer = client.post("/api/tables/duty", json=body)
        assert answer.status_code == status and ("error" in answer.json()) == (status != 200)
    found = client.get(f"/api/tables/{BACCARAT}").json()["on_duty"]
    assert found["dealer"] == "K-9"
