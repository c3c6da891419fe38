"""The sources of a release as syntax trees, for the steps that change them before compiling."""

import ast
from collections.abc import Mapping


def parsed(sources: Mapping[str, bytes]) -> dict[str, ast.Module]:
    """Return the tree of each source, by path. Raises ValueError for a source that does not
    compile."""
    trees = {}
    for path, source in sources.items():
        try:
            trees[path] = ast.parse(source)
        except SyntaxError as error:
            raise ValueError(f"{path} does not compile: SyntaxError: {error}") from None
    return trees


def unparsed(trees: Mapping[str, ast.Module]) -> dict[str, bytes]:
    """Return the source of each tree, by path."""
    return {path: ast.unparse(tree).encode() for path, tree in trees.items()}
