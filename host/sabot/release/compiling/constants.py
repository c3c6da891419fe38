"""Puts the integers that modules name where they are used, in a release.

mpy-cross does so for `_NAME = const(6)` in its own module, and leaves the name out. Here an integer
of another module is put in place of its name too, and one that only its module uses then is made
private: each takes some 20 bytes of a Pico's heap less, and a look-up less each time.
"""

import ast
import operator
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from sabot.release.compiling.source_trees import Nodes, nodes_of, parsed, unparsed

_LARGEST = 2**30 - 1
"""A larger integer would be an object on the heap at each place (firmware/README.md)."""

_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.BitOr: operator.or_,
    ast.LShift: operator.lshift,
}


def with_integers_in_place(sources: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the sources, by path, without the names of integers that the compiler can do without;
    they do the same. A name that is also in a string stays. Raises ValueError for a source that
    does not compile."""
    trees = parsed(sources)
    read = {path: _Module(tree) for path, tree in trees.items()}
    own = {path: module.integers for path, module in read.items()}
    values = _with_imported({_module(path): module for path, module in read.items()})
    for path, tree in trees.items():
        _Putting(read[path], values).visit(tree)
    nodes = {path: nodes_of(tree) for path, tree in trees.items()}
    modules_with = Counter(name for each in nodes.values() for name in _names(each))
    texts = {text for each in nodes.values() for text in _texts(each)}  # names for `getattr`
    for path in trees:
        private = {}
        for name in own[path]:
            private_name = name if name.startswith("_") else f"_{name}"
            free = private_name == name or not modules_with[private_name]
            if modules_with[name] == 1 and name not in texts and free:
                private[name] = private_name
        _make_private(nodes[path], private, own[path])
    return unparsed(trees)


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


class _Module:
    """What a module names, as it was read."""

    def __init__(self, tree: ast.Module) -> None:
        nodes = nodes_of(tree)
        bound = Counter(_bound(nodes))
        self.bound = bound.keys()
        """What it gives a value to, but for imports."""
        self.imported = list(_imported(nodes))
        self.integers = _values(tree, bound)


def _values(tree: ast.Module, bound: Mapping[str, int]) -> dict[str, int]:
    """Return the integers that a module gives a name to at its top, once."""
    values: dict[str, int] = {}
    for node in tree.body:
        match node:
            case ast.Assign([ast.Name(name)], value) if bound[name] == 1:
                number = _number(value, values)
                if number is not None and number <= _LARGEST:
                    values[name] = number
    return values


def _with_imported(
    modules: Mapping[str, _Module],
) -> dict[str, dict[str, int]]:
    """Return the integers of each module, by their names there: its own, and those that it has from
    others, which may import them from it."""
    values = {name: dict(module.integers) for name, module in modules.items()}
    found = True
    while found:
        found = False
        for module, own in zip(modules.values(), values.values(), strict=True):
            for place, alias in module.imported:
                name = alias.asname or alias.name
                number = values.get(place, {}).get(alias.name)
                if number is not None and name not in module.bound and name not in own:
                    own[name] = number
                    found = True
    return values


def _number(value: ast.expr, known: Mapping[str, int]) -> int | None:
    match value:
        case ast.Call(ast.Name("const"), [inner], []):
            return _number(inner, known)
        case ast.Constant(int(number)) if type(number) is int:
            return number
        case ast.Name(name):
            return known.get(name)
        case ast.BinOp(left, sign, right) if type(sign) in _OPERATORS:
            one, other = _number(left, known), _number(right, known)
            if one is not None and other is not None:
                return _OPERATORS[type(sign)](one, other)
    return None


class _Putting(ast.NodeTransformer):
    """Puts integers of other modules in place of their names, imported or after a module's name.
    What a module gives another value to stays."""

    def __init__(self, module: _Module, values: Mapping[str, Mapping[str, int]]) -> None:
        self._values = values
        self._numbers: dict[str, int] = {}
        self._modules: dict[str, Mapping[str, int]] = {}
        for place, alias in module.imported:
            name = alias.asname or alias.name
            if name in module.bound:
                continue
            if alias.name in values.get(place, {}):
                self._numbers[name] = values[place][alias.name]
            elif f"{place}.{alias.name}" in values:
                self._modules[name] = values[f"{place}.{alias.name}"]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        known = self._values.get(node.module or "", {})
        node.names = [
            alias
            for alias in node.names
            if alias.name not in known or (alias.asname or alias.name) not in self._numbers
        ]
        return node if node.names else None

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Constant(self._numbers[node.id]) if node.id in self._numbers else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        match node.value:
            case ast.Name(module) if node.attr in self._modules.get(module, {}):
                return ast.Constant(self._modules[module][node.attr])
        self.generic_visit(node)
        return node


def _imported(nodes: Nodes) -> Iterator[tuple[str, ast.alias]]:
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                yield node.module, alias


def _make_private(nodes: Nodes, private: Mapping[str, str], values: Mapping[str, int]) -> None:
    """Give the names of integers their private names, and `const` where they get their values."""
    for node in nodes:
        match node:
            case ast.Assign([ast.Name(bound)]) if bound in private:
                number = ast.Constant(values[bound])
                node.value = ast.Call(ast.Name("const", ast.Load()), [number], [])
            case ast.Name(used) if used in private:
                node.id = private[used]


def _names(nodes: Nodes) -> set[str]:
    found = set()
    for node in nodes:
        match node:
            case ast.Name(name) | ast.Attribute(_, name) | ast.arg(name) | ast.alias(name):
                found.add(name)
    return found


def _texts(nodes: Nodes) -> set[str]:
    return {
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def _bound(nodes: Nodes) -> list[str]:
    """Return a name for each place that gives it a value, but for imports."""
    found = []
    for node in nodes:
        match node:
            case ast.Name(name, ast.Store() | ast.Del()) | ast.arg(name):
                found.append(name)
            case ast.FunctionDef(name) | ast.ClassDef(name):
                found.append(name)
            case ast.Global(names):
                found.extend(names)
    return found
