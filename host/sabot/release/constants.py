"""Makes the integers that one module names for itself private constants of a release.

mpy-cross puts the value of `_NAME = const(6)` where the name is used, and leaves the name out: that
is some 20 bytes of a Pico's heap less for each.
"""

import ast
from collections import Counter
from collections.abc import Mapping

from sabot.release.source_trees import parsed, unparsed

_LARGEST = 2**30 - 1
"""A larger integer would be an object on the heap at each place (firmware/README.md)."""


def with_private_constants(sources: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the sources, by path, with `_NAME = const(6)` for each `NAME = 6` or `NAME = const(6)`
    that no other module uses; they do the same. Raises ValueError for a source that does not
    compile."""
    trees = parsed(sources)
    modules_with = Counter(name for tree in trees.values() for name in _names(tree))
    texts = {text for tree in trees.values() for text in _texts(tree)}  # names for `getattr`
    for tree in trees.values():
        bound = Counter(_bound(tree))
        for node in tree.body:
            match node:
                case ast.Assign([ast.Name(name) as target], value) if (
                    _is_integer(value)
                    and (modules_with[name], bound[name]) == (1, 1)
                    and name not in texts
                ):
                    private = name if name.startswith("_") else f"_{name}"
                    if private != name and modules_with[private]:
                        continue
                    _rename(tree, name, private)
                    target.id = private
                    if not isinstance(value, ast.Call):
                        node.value = ast.Call(ast.Name("const", ast.Load()), [value], [])
    return unparsed(trees)


def _is_integer(value: ast.expr) -> bool:
    match value:
        case ast.Call(ast.Name("const"), [ast.Constant(int()) | ast.BinOp()], []):
            return True
        case ast.Constant(int(number)):
            return type(number) is int and number <= _LARGEST
    return False


def _names(tree: ast.Module) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(name) | ast.Attribute(_, name) | ast.arg(name) | ast.alias(name):
                found.add(name)
    return found


def _texts(tree: ast.Module) -> set[str]:
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def _bound(tree: ast.Module) -> list[str]:
    """Return a name for each place that gives it a value."""
    found = []
    for node in ast.walk(tree):
        match node:
            case ast.Name(name, ast.Store() | ast.Del()) | ast.arg(name):
                found.append(name)
            case ast.Global(names):
                found.extend(names)
    return found


def _rename(tree: ast.Module, name: str, private: str) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == name:
            node.id = private
