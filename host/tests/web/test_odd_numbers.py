"""Numbers in a request of the screens or the API that no one types: the answer is one of ours."""

from urllib.parse import quote

import pytest

from host.tests.support.screens import ORIGIN, Screens

_DIGITS = "9" * 5000
ODD = [
    "", "-1", "0", "1e9", "1.5", "٣", "²", "\0", "99999999999999999999", str((1 << 63) - 1),
    str(1 << 64), _DIGITS, "0" * 5000 + "1", "NaN", "[1]",
]  # fmt: skip
QUERIES = ["after", "before", "skip", "event", "q"]
PATHS = ["/search", "/views", "/alerts", "/api/search", "/api/views", "/api/alerts"]
PLACES = [
    "/rounds/SHOE-1/{}/1", "/rounds/SHOE-1/1/{}", "/api/rounds/SHOE-1/{}/1",
    "/api/rounds/SHOE-1/1/{}", "/rounds/SHOE-1~{}/1/1", "/tables/SHOE-1~{}",
    "/api/tables/SHOE-1~{}",
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_odd_numbers_in_a_query(screens: Screens, path: str) -> None:
    client = screens.visitor("surveillance")
    # A page reads what the API reads, and takes longer: half of the numbers of each name.
    every = 1 if path.startswith("/api/") else 2
    for n, name in enumerate(QUERIES):
        for value in ODD[n % every :: every]:
            response = client.get(path, params={name: value, "text": f"round {value}"})
            assert response.status_code < 500, (name, value[:30])


@pytest.mark.parametrize("path", PLACES)
def test_odd_numbers_in_a_path(screens: Screens, path: str) -> None:
    client = screens.visitor("surveillance")
    for value in ODD:
        assert client.get(path.format(quote(value))).status_code < 500, value[:30]


@pytest.mark.parametrize("path", ["/api/users", "/api/alerts/acknowledge", "/api/session"])
def test_odd_numbers_in_a_body(screens: Screens, path: str) -> None:
    client = screens.visitor("administrator")
    for body in (_DIGITS, f'{{"name": {_DIGITS}}}', '{"name": 1e999}', 3000 * "[", "-" + _DIGITS):
        headers = {"content-type": "application/json", "origin": ORIGIN}
        response = client.post(path, content=body, headers=headers)
        assert 400 <= response.status_code < 500, body[:30]
