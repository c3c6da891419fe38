"""Shortens the private names in the sources of a release.

MicroPython keeps each name once in its heap, and compares each name of a module that it loads with
all of them. A private name (one leading underscore) is used in few modules, so others may have the
same short name: `_0`, `_1`, ... in hexadecimal. On a Pico that is 11 KB of heap and 0.2 s of its
start (docs/decisions/short-names.md).
"""

import ast
from collections.abc import Iterator, Mapping


def shortened(sources: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the sources, by path, with short names for the private ones; they do the same.

    The same sources always give the same result. A name that is also in a string stays: it may be
    given to `getattr`. Raises ValueError for a source that does not compile.
    """
    trees = _parsed(sources)
    short = _short(trees)
    for tree in trees.values():
        _rename(tree, short)
    return {path: ast.unparse(tree).encode() for path, tree in trees.items()}


def table(sources: Mapping[str, bytes]) -> list[tuple[str, str, str]]:
    """Return for each module its path and each of its short names with the private name, sorted."""
    trees = _parsed(sources)
    short = _short(trees)
    return sorted(
        (path, short[name], name)
        for path, tree in trees.items()
        for name in _names(tree) & short.keys()
    )


def _parsed(sources: Mapping[str, bytes]) -> dict[str, ast.Module]:
    trees = {}
    for path, source in sources.items():
        try:
            trees[path] = ast.parse(source)
        except SyntaxError as error:
            raise ValueError(f"{path} does not compile: SyntaxError: {error}") from None
    return trees


def _short(trees: Mapping[str, ast.Module]) -> dict[str, str]:
    """Return the short name of each private name: two that occur in one module, or in modules whose
    classes inherit from one another, have different ones."""
    group_of = _groups(trees)
    groups: dict[str, set[str]] = {}
    strings: set[str] = set()
    for path, tree in trees.items():
        for name in filter(_is_private, _names(tree)):
            groups.setdefault(name, set()).add(group_of[path])
        strings.update(
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        )
    short: dict[str, str] = {}
    taken: dict[str, set[int]] = {group: set() for group in group_of.values()}
    # Names that occur in most groups first: they leave the fewest gaps.
    for name in sorted(groups.keys() - strings, key=lambda name: (-len(groups[name]), name)):
        number = 0
        while any(number in taken[group] for group in groups[name]):
            number += 1
        for group in groups[name]:
            taken[group].add(number)
        short[name] = f"_{number:x}"
    return short


def _groups(trees: Mapping[str, ast.Module]) -> dict[str, str]:
    """Return a group for each path: objects of a class have attributes from the modules of all its
    base classes, so these are one group."""
    classes = {
        path: [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        for path, tree in trees.items()
    }
    groups = {path: path for path in trees}
    for path, made in classes.items():
        bases = {ast.unparse(base).rpartition(".")[2] for each in made for base in each.bases}
        for other in trees:
            if bases & {each.name for each in classes[other]}:
                joined, group = groups[other], groups[path]
                groups = {at: group if of == joined else of for at, of in groups.items()}
    return groups


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"


_NAMED: tuple[tuple[type[ast.AST], str], ...] = (
    (ast.Attribute, "attr"),
    (ast.Name, "id"),
    (ast.FunctionDef, "name"),
    (ast.AsyncFunctionDef, "name"),
    (ast.ClassDef, "name"),
    (ast.arg, "arg"),
    (ast.keyword, "arg"),
    (ast.alias, "name"),
    (ast.alias, "asname"),
    (ast.ExceptHandler, "name"),
)
"""Where a syntax tree has names."""


def _fields(tree: ast.Module) -> Iterator[tuple[ast.AST, str, str]]:
    """Yield each name in a tree with its node and the field there."""
    for node in ast.walk(tree):
        for kind, field in _NAMED:
            if isinstance(node, kind) and (name := getattr(node, field)) is not None:
                yield node, field, name


def _names(tree: ast.Module) -> set[str]:
    return {name for _, _, name in _fields(tree)}


def _rename(tree: ast.Module, short: Mapping[str, str]) -> None:
    for node, field, name in _fields(tree):
        if name in short:
            setattr(node, field, short[name])
    for node in ast.walk(tree):
        if isinstance(node, ast.Global | ast.Nonlocal):
            node.names = [short.get(name, name) for name in node.names]


def main() -> None:
    """Print the table of this version's sources."""
    from sabot.release.modules import sources  # it imports this module

    for row in table(sources()):
        print(*row)


if __name__ == "__main__":
    main()
