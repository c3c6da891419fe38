"""The udev rules: what udev would take, and the documents that install them."""

import re

from host.tests.support.pages import DOCS

_RULES = DOCS / "udev" / "70-sabot.rules"
_PART = re.compile(
    r"(SUBSYSTEM|SUBSYSTEMS|ACTION|ENV\{\w+\}|ATTR\{\w+\}|ATTRS\{\w+\}|GROUP|MODE|SYMLINK|GOTO|LABEL)"
    r'(==|!=|\+=|=)"[^"]*"'
)


def _lines() -> list[str]:
    return [line for line in _RULES.read_text().splitlines() if line and not line.startswith("#")]


def test_every_line_is_a_rule_with_keys_of_udev() -> None:
    for line in _lines():
        for part in line.split(", "):
            assert _PART.fullmatch(part), part


def test_shoes_get_a_name_that_stays_and_modemmanager_leaves_them_alone() -> None:
    board, port = (line for line in _lines() if "2e8a" in line)
    for line in (board, port):
        assert 'ENV{ID_MM_DEVICE_IGNORE}="1"' in line
    assert 'ATTRS{serial}=="?*"' in port and 'SYMLINK+="sabot/$attr{serial}"' in port
    assert _RULES.name < "77-mm", "ModemManager's own rules come later"


def test_the_pages_install_the_file_that_there_is() -> None:
    command = f"install -m 0644 docs/udev/{_RULES.name} /etc/udev/rules.d/"
    for page in ("device-servers.md", "running-single.md"):
        assert command in (DOCS / page).read_text()
    assert "/dev/sabot/e6614104030abcde" in (DOCS / "device-servers.md").read_text()
