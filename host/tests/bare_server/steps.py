"""What a page of documentation has a person do: its commands and files, in their sections."""

import re

from host.tests.support.pages import text_of


def section_of(page: str, title: str) -> str:
    """The text of a section of a page, by its title."""
    found = re.findall(rf"(?m)^## {title}$\n((?:(?!^## ).*\n?)*)", text_of(page))
    assert len(found) == 1, f"{page} has no section {title!r}"
    return str(found[0])


def commands_of(section: str) -> list[str]:
    """Each line that a person types into a shell, in order: the blocks marked `sh`."""
    blocks = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line]


def shown_commands_of(section: str) -> list[str]:
    """Each command whose output the section shows."""
    blocks = re.findall(r"```console\n(.*?)```", section, re.DOTALL)
    return [line[2:] for line in "".join(blocks).splitlines() if line.startswith("$ ")]


def files_of(section: str) -> list[tuple[str, str]]:
    """Each file that the section shows, as path and content: its first line is a comment with its
    path. The same path may come again, for another machine."""
    found = []
    for block in re.findall(r"```\n(# /.*?)```", section, re.DOTALL):
        for path, content in re.findall(r"(?m)^# (/[\w./-]+).*\n((?:(?!# /).*\n)*)", block):
            found.append((path, content))
    return found
