"""Whether importing a module can change what other modules do, told by its syntax tree.

A package's own module runs before every module below it, whether they ask for it or not. While it
only declares (imports, functions, classes, names of its own for values) they can't tell, and an
edit of it need not build their nodes again. The one rule: what is not known to be harmless counts
as an effect, because one that is missed is an output that is stale.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

# Calls that make a value from values. None of them calls a function that it is handed.
MAKERS = frozenset(
    f"{module}.{name}"
    for module, names in {
        "abc": "abstractmethod",
        "builtins": "bool bytes classmethod dict dict.fromkeys enumerate float frozenset int len "
        "list property range reversed set staticmethod str sum tuple zip",
        "collections": "namedtuple",
        "dataclasses": "dataclass field",
        "enum": "auto unique",
        "functools": "cache cached_property lru_cache partial",
        "re": "compile",
        "struct": "Struct calcsize",
        "types": "MappingProxyType",
        "typing": "NewType ParamSpec TypeVar cast final overload",
    }.items()
    for name in names.split()
)
# The kit is pure: what it gives follows from what it is given, and nothing else is touched.
KIT = "encoders.kit."
# Classes that do not care who inherits from them.
PARENTS = ("abc.", "builtins.", "collections.", "enum.", "typing.", KIT)
VIEWS = ("items", "keys", "values")
WATCHES_OTHERS = ("__init_subclass__", "__set_name__")

Origins = Mapping[str, str]
Function = ast.FunctionDef | ast.AsyncFunctionDef


def origins_of(tree: ast.AST, absolute: Callable[[ast.ImportFrom], str]) -> dict[str, str]:
    """Say for each name that an import gives where it comes from, by its whole dotted name."""
    origins: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                first = one.name.partition(".")[0]
                origins[one.asname or first] = one.name if one.asname else first
        elif isinstance(node, ast.ImportFrom):
            base = absolute(node)
            origins |= {one.asname or one.name: f"{base}.{one.name}" for one in node.names}
    return origins


def dotted_name(node: ast.expr, origins: Origins) -> str:
    """Give the whole dotted name of what an expression names, or nothing where it names none."""
    if isinstance(node, ast.Name):
        return origins.get(node.id, "")
    if isinstance(node, ast.Attribute):
        owner = dotted_name(node.value, origins)
        return f"{owner}.{node.attr}" if owner else ""
    return ""


def has_effect(tree: ast.Module, origins: Origins) -> bool:
    """Tell whether running a module may do more than give the module its own names."""
    own = set(_own_names(tree.body))
    known = {name: f"builtins.{name}" for name in vars(builtins)} | dict(origins)
    known = {name: origin for name, origin in known.items() if name not in own}
    return not all(_declares(one, known) for one in tree.body)


def _own_names(body: Iterable[ast.AST]) -> Iterator[str]:
    """Name what a module binds while it runs, other than by importing."""
    for node in body:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        if isinstance(node, Function | ast.ClassDef):
            yield node.name
        if not isinstance(node, Function):
            yield from _own_names(ast.iter_child_nodes(node))


def _declares(node: ast.stmt, known: Origins) -> bool:
    judge = _JUDGES.get(type(node))
    return judge is not None and judge(node, known)


def _all_declare(body: Iterable[ast.stmt], known: Origins) -> bool:
    return all(_declares(one, known) for one in body)


def _imports_names(node: ast.Import | ast.ImportFrom, _: Origins) -> bool:
    return all(one.name != "*" for one in node.names)


def _defines(node: Function, known: Origins) -> bool:
    makers = all(_makes_a_value(one, known) for one in node.decorator_list)
    head = [node.args, *([node.returns] if node.returns else ())]
    return makers and node.name not in WATCHES_OTHERS and _all_quiet(head, known)


def _defines_class(node: ast.ClassDef, known: Origins) -> bool:
    makers = all(_makes_a_value(one, known) for one in node.decorator_list)
    parents = [*node.bases, *(one.value for one in node.keywords)]
    known_parents = all(_may_be_parent(one, known) for one in parents)
    return makers and known_parents and _all_declare(node.body, known)


def _chooses(node: ast.If, known: Origins) -> bool:
    return _is_quiet(node.test, known) and _all_declare([*node.body, *node.orelse], known)


def _tries(node: ast.Try, known: Origins) -> bool:
    caught = [one for handler in node.handlers for one in handler.body]
    return _all_declare([*node.body, *caught, *node.orelse, *node.finalbody], known)


def _may_be_parent(node: ast.expr, known: Origins) -> bool:
    if isinstance(node, ast.Constant):
        return True
    named = node.value if isinstance(node, ast.Subscript) else node
    return dotted_name(named, known).startswith(PARENTS)


def _names_a_value(node: ast.Assign | ast.AnnAssign, known: Origins) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return all(map(_is_own_name, targets)) and _all_quiet(ast.iter_child_nodes(node), known)


def _is_own_name(node: ast.expr) -> bool:
    """Tell whether an assignment gives a name of the module; `__path__` is more than a name."""
    if isinstance(node, ast.Tuple | ast.List):
        return all(map(_is_own_name, node.elts))
    return isinstance(node, ast.Name) and (not node.id.startswith("__") or node.id == "__all__")


def _all_quiet(nodes: Iterable[ast.AST], known: Origins) -> bool:
    return all(_is_quiet(one, known) for one in nodes)


def _is_quiet(node: ast.AST, known: Origins) -> bool:
    """Tell whether to work out an expression changes nothing."""
    if isinstance(node, ast.Lambda):
        return True
    if isinstance(node, ast.Await | ast.Yield | ast.YieldFrom):
        return False
    if isinstance(node, ast.Call) and not _makes_a_value(node.func, known):
        return False
    return _all_quiet(ast.iter_child_nodes(node), known)


def _makes_a_value(node: ast.expr, known: Origins) -> bool:
    """Tell whether what is called, perhaps as a decorator, only makes a value."""
    if isinstance(node, ast.Call):
        return _makes_a_value(node.func, known) and _is_quiet(node, known)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Constant):
        return True
    if isinstance(node, ast.Attribute) and node.attr in VIEWS:
        return _is_quiet(node.value, known)
    name = dotted_name(node, known)
    return name in MAKERS or name.startswith(KIT)


_JUDGES: Mapping[type[ast.stmt], Callable[[Any, Origins], bool]] = {
    ast.Pass: lambda *_: True,
    ast.Import: _imports_names,
    ast.ImportFrom: _imports_names,
    ast.FunctionDef: _defines,
    ast.AsyncFunctionDef: _defines,
    ast.ClassDef: _defines_class,
    ast.Assign: _names_a_value,
    ast.AnnAssign: _names_a_value,
    ast.Expr: lambda node, known: _is_quiet(node.value, known),
    ast.If: _chooses,
    ast.Try: _tries,
}
