"""Leaves out of a release what only the reader of a message or an event needs: its name and fields.

A shoe makes events and messages to a host, and reads none. So it needs the numbers of their kinds,
and who makes an event. Names and fields of all take 5 KB of a Pico's heap.
"""

import ast
from collections.abc import Mapping

_MADE_ONLY = {
    "sabot_protocol/events.py": "_kinds",
    "sabot_protocol/messages.py": "_to_host",
}
"""The list, in each module, of the shapes that a shoe makes and does not read."""
_NAME, _FIELDS, _LIST = 1, 2, 3


def without_unread_words(sources: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the sources, by path, in which these shapes have neither name nor fields."""
    changed = dict(sources)
    for path, made in _MADE_ONLY.items():
        if path in changed:
            tree = ast.parse(changed[path])
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and _goes_to(node, made):
                    node.args[_NAME] = node.args[_FIELDS] = ast.Constant("")
            changed[path] = ast.unparse(tree).encode()
    return changed


def _goes_to(call: ast.Call, made: str) -> bool:
    """Whether a call makes a shape and appends it to the list `made`."""
    if len(call.args) <= _LIST or not isinstance(call.func, ast.Name):
        return False
    appended_to = call.args[_LIST]
    return call.func.id == "Shape" and isinstance(appended_to, ast.Name) and appended_to.id == made
