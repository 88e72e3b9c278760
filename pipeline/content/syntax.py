"""A module's text as data: a digest of its syntax tree, and what it imports.

Comments, layout and docstrings do not count.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

import xxhash

from pipeline.content.module import Module, is_ours, packages_of


def digest_source(source: bytes, name: str, is_package: bool) -> Module:
    """Digest a module's source; comments, layout and docstrings do not count."""
    text = xxhash.xxh3_128_hexdigest(source)
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # who imports it says why
        return Module(text, text, ())
    package = name if is_package else name.rpartition(".")[0]
    nodes = list(ast.walk(tree))  # once: walking the tree takes longer than parsing it
    origins = _origins_of(nodes, package)
    imports = tuple(sorted({*_imported_names(nodes, package), *_used_names(nodes, origins)}))
    # After the imports were taken out of it: stripping changes the tree.
    for node in nodes:
        _strip_docstring(node)
    digest = xxhash.xxh3_128_hexdigest(ast.dump(tree).encode())
    return Module(digest, text, imports)


def _strip_docstring(node: ast.AST) -> None:
    if not isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return
    match node.body:
        # `pass` in place of a body that was only a docstring: the tree stays one that compiles.
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            node.body = rest or [ast.Pass()]


def _imported_names(nodes: Sequence[ast.AST], package: str) -> list[str]:
    names: list[str] = []
    for node in nodes:
        if isinstance(node, ast.Import):
            # `import a.b as c` takes `b` out of `a`, whatever `a` may have called so.
            names += [one for alias in node.names for one in (alias.name, *packages_of(alias.name))]
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, package)
            # `from a import b` may name a module or an attribute; only the files tell which.
            names += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return names


def _used_names(nodes: Sequence[ast.AST], origins: Mapping[str, str]) -> list[str]:
    """Return modules used as attributes: `encoders.kit.error` needs no import of its own."""
    chains = (node for node in nodes if isinstance(node, ast.Attribute))
    return [name for chain in chains if is_ours(name := _dotted_name(chain, origins))]


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    # One dot is the package itself, each further dot is one package up.
    above = package.split(".")[: len(package.split(".")) - node.level + 1]
    return ".".join([*above, node.module] if node.module else above)


def _origins_of(nodes: Sequence[ast.AST], package: str) -> dict[str, str]:
    """Return the full dotted name of everything that the module imports, by its local name."""
    origins: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for one in node.names:
                first = one.name.partition(".")[0]
                origins[one.asname or first] = one.name if one.asname else first
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, package)
            origins |= {one.asname or one.name: f"{base}.{one.name}" for one in node.names}
    return origins


def _dotted_name(node: ast.expr, origins: Mapping[str, str]) -> str:
    """Return the full dotted name that an expression refers to, or nothing."""
    if isinstance(node, ast.Name):
        return origins.get(node.id, "")
    if isinstance(node, ast.Attribute):
        owner = _dotted_name(node.value, origins)
        return f"{owner}.{node.attr}" if owner else ""
    return ""
