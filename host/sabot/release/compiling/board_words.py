"""Leaves out of a release the words that a board does not need.

A shoe makes events and messages to a host, and reads none. So it needs the numbers of their kinds,
and who makes an event, but not their names and fields: they take 5 KB of a Pico's heap. And a place
in an enumeration that the source gives as a word is a number here: to look 20 of them up takes a
Pico 15 ms of its start (docs/decisions/board-words.md).
"""

import ast
from collections.abc import Mapping

from sabot.release.compiling.source_trees import parsed, unparsed
from sabot_protocol import enums

_MADE_ONLY = {
    "sabot_protocol/events.py": "_kinds",
    "sabot_protocol/messages.py": "_to_host",
}
"""The list, in each module, of the shapes that a shoe makes and does not read."""
_NAME, _FIELDS = 1, 2


def without_unneeded_words(sources: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the sources, by path, without the words; on a board they do the same.

    Raises ValueError for a source that does not compile, or a word that is not in its enumeration.
    """
    trees = parsed(sources)
    return unparsed({path: _Places(_MADE_ONLY.get(path)).visit(trees[path]) for path in trees})


class _Places(ast.NodeTransformer):
    """Replaces `enums.FAULTS.index("jam")` by its value, and empties the words of shapes that are
    appended to the list `made`."""

    def __init__(self, made: str | None) -> None:
        self._made = made

    def visit_Call(self, call: ast.Call) -> ast.AST:
        self.generic_visit(call)
        match call:
            case ast.Call(
                func=ast.Attribute(ast.Attribute(ast.Name("enums"), words), "index"),
                args=[ast.Constant(str(word))],
            ):
                return ast.Constant(getattr(enums, words).index(word))
            case ast.Call(func=ast.Name("Shape"), args=[_, _, _, ast.Name(listed), *_]) if (
                listed == self._made
            ):
                call.args[_NAME] = call.args[_FIELDS] = ast.Constant("")
        return call
