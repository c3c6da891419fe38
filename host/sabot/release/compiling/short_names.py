"""Shortens the names in the sources of a release.

MicroPython keeps each name once in its heap, and compares each name of a module that it loads with
all of them. Most names are used in few modules, so others may have the same short name: `a0`,
`a1`, ..., and `_0`, `_1`, ... for private constants, which the compiler leaves out because of the
underscore (docs/decisions/short-names.md).
"""

import ast
import itertools
import keyword
import string
import sys
from collections.abc import Iterable, Iterator, Mapping

from sabot.release.compiling.micropython_names import MICROPYTHON_NAMES
from sabot.release.compiling.source_trees import Nodes, nodes_of, parsed, unparsed

_BOOT_LOADER = "sabot_firmware/release/boot.py"
"""It calls each release, and each release calls it: its names are the same in all of them."""


def shortened(sources: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the sources, by path, with short names; they do the same.

    The same sources always give the same result. Raises ValueError for a source that does not
    compile.
    """
    read = _read(sources)
    short = _short_names(read)
    for module in read.values():
        _rename(module, short)
    return unparsed({path: module.tree for path, module in read.items()})


def short_names(sources: Mapping[str, bytes]) -> dict[str, str]:
    """Return the short name of each name that has one in the sources, by path.

    These keep their names: what MicroPython has too, what the boot loader knows, modules, and what
    is also in a string, or begins with a string that ends in "_": it may be given to `getattr`. Two
    names that occur in one module, or in modules whose classes inherit from one another, have
    different short ones. Raises ValueError for a source that does not compile.
    """
    return _short_names(_read(sources))


class _Module:
    """A module of the sources, as it was read."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.nodes = nodes_of(tree)
        self.fields = list(_fields(self.nodes))
        """Each name in it, with its node and the field there."""
        self.used = {name for _, _, name in self.fields}
        self.defined = _defined(self.nodes)


def _read(sources: Mapping[str, bytes]) -> dict[str, _Module]:
    return {path: _Module(tree) for path, tree in parsed(sources).items()}


def _short_names(read: Mapping[str, _Module]) -> dict[str, str]:
    modules = read.values()
    used = set().union(*(module.used for module in modules))
    everywhere = used | {part for path in read for part in _parts(path)}
    wanted = set().union(*(module.defined for module in modules)) - _kept(read)
    constants = wanted & set().union(*(_private_constants(module.tree) for module in modules))
    group_of = _groups(read)
    groups: dict[str, set[str]] = {name: set() for name in wanted}
    for path, module in read.items():
        for name in module.used & wanted:
            groups[name].add(group_of[path])
    short = _coloured({name: groups[name] for name in constants}, (f"_{n:x}" for n in _numbers()))
    stay = everywhere - wanted
    return short | _coloured({name: groups[name] for name in wanted - constants}, _free(stay))


def defined_names(sources: Mapping[str, bytes]) -> set[str]:
    """Return the names that the sources give to what they make. Raises ValueError for a source that
    does not compile."""
    return set().union(*(module.defined for module in _read(sources).values()))


def table(sources: Mapping[str, bytes]) -> list[tuple[str, str, str]]:
    """Return for each module its path and each of its short names with the long one, sorted."""
    read = _read(sources)
    short = _short_names(read)
    return sorted(
        (path, short[name], name)
        for path, module in read.items()
        for name in module.used & short.keys()
    )


def _rename(module: _Module, short: Mapping[str, str]) -> None:
    for node, field, name in module.fields:
        if name in short:
            setattr(node, field, short[name])
    for node in module.nodes:
        if isinstance(node, ast.Global | ast.Nonlocal):
            node.names = [short.get(name, name) for name in node.names]


def _coloured(groups: Mapping[str, set[str]], palette: Iterable[str]) -> dict[str, str]:
    """Return a short name for each name: names that share a group have different ones."""
    short: dict[str, str] = {}
    names = iter(palette)
    made: list[str] = []
    taken: dict[str, set[int]] = {}
    # Names that occur in most groups first: they leave the fewest gaps.
    for name in sorted(groups, key=lambda name: (-len(groups[name]), name)):
        of_groups = [taken.setdefault(group, set()) for group in groups[name]]
        number = next(n for n in _numbers() if not any(n in numbers for numbers in of_groups))
        if number == len(made):
            made.append(next(names))
        for numbers in of_groups:
            numbers.add(number)
        short[name] = made[number]
    return short


def _numbers() -> Iterator[int]:
    return itertools.count()


def _free(stay: set[str]) -> Iterator[str]:
    """Yield `a0`, `a1`, ... without the names that stay."""
    for first in string.ascii_lowercase:
        for second in string.digits + string.ascii_lowercase:
            if (name := first + second) not in stay and not keyword.iskeyword(name):
                yield name


def _defined(nodes: Nodes) -> set[str]:
    found = set()
    for node in nodes:
        match node:
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
                found.add(name)
            case ast.arg(name) | ast.Name(name, ast.Store()) | ast.Attribute(_, name, ast.Store()):
                found.add(name)
            case ast.alias(_, str(name)) | ast.ExceptHandler(_, str(name)):
                found.add(name)
    return {name for name in found if not name.startswith("__") and name != "_"}


def _private_constants(tree: ast.Module) -> set[str]:
    """Return the names with a leading underscore that a module defines as `const(...)`."""
    found = set()
    for node in tree.body:
        match node:
            case ast.Assign([ast.Name(name)], ast.Call(ast.Name("const"))) if _is_private(name):
                found.add(name)
    return found


def _kept(read: Mapping[str, _Module]) -> set[str]:
    """Return the names that stay."""
    kept = set(MICROPYTHON_NAMES)
    beginnings: set[str] = set()
    for path, module in read.items():
        kept.update(_parts(path))
        if path == _BOOT_LOADER:
            kept.update(name for name in module.used if not _is_private(name))
        texts = _texts(module.tree)
        kept |= texts
        beginnings.update(text for text in texts if text.endswith("_") and text.strip("_"))
    named = {name for module in read.values() for name in module.defined}
    return kept | {name for name in named if name.startswith(tuple(beginnings))}


def _texts(tree: ast.Module) -> set[str]:
    """Return the strings of a module without those of annotations, which no board has."""
    found = set()
    nodes: list[ast.AST] = [tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
        nodes.extend(
            value
            for field, values in ast.iter_fields(node)
            if field not in ("annotation", "returns")
            for value in (values if isinstance(values, list) else [values])
            if isinstance(value, ast.AST)
        )
    return found


def _parts(path: str) -> list[str]:
    return path.removesuffix(".py").split("/")


def _groups(read: Mapping[str, _Module]) -> dict[str, str]:
    """Return a group for each path: objects of a class have attributes from the modules of all its
    base classes, so these are one group."""
    classes = {
        path: [node for node in module.nodes if isinstance(node, ast.ClassDef)]
        for path, module in read.items()
    }
    groups = {path: path for path in read}
    for path, made in classes.items():
        bases = {ast.unparse(base).rpartition(".")[2] for each in made for base in each.bases}
        for other in read:
            if bases & {each.name for each in classes[other]}:
                joined, group = groups[other], groups[path]
                groups = {at: group if of == joined else of for at, of in groups.items()}
    return groups


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"


_NAMED: Mapping[type[ast.AST], tuple[str, ...]] = {
    ast.Attribute: ("attr",),
    ast.Name: ("id",),
    ast.FunctionDef: ("name",),
    ast.AsyncFunctionDef: ("name",),
    ast.ClassDef: ("name",),
    ast.arg: ("arg",),
    ast.keyword: ("arg",),
    ast.alias: ("name", "asname"),
    ast.ExceptHandler: ("name",),
}
"""Where a syntax tree has names."""


def _fields(nodes: Nodes) -> Iterator[tuple[ast.AST, str, str]]:
    """Yield each name in a tree with its node and the field there."""
    for node in nodes:
        for field in _NAMED.get(type(node), ()):
            if (name := getattr(node, field)) is not None:
                yield node, field, name


def main() -> None:
    """Print the table of a shoe's release for the board that is named, or for a Pico."""
    from sabot.release.compiling.modules import before_short_names  # it imports this module

    board = sys.argv[1] if sys.argv[1:] else "pico"
    print("\n".join(" ".join(row) for row in table(before_short_names(board))))


if __name__ == "__main__":
    main()
