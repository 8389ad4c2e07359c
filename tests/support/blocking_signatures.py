"""Draw the blocking signatures from the asynchronous classes, so that editors and type checkers see them.

Reads source text only: the service is followed from `Recollect` to every asynchronous class that it hands out.
`python -m tests.support.blocking_signatures` writes the files anew, and a test fails while they are out of date.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

ROOT = ("recollect.service.recollect", "Recollect")
PACKAGE = "recollect.sync.signatures"
FOLDER = Path(__file__).parents[2] / "src" / Path(*PACKAGE.split("."))
COMMAND = "python -m tests.support.blocking_signatures"

Method = ast.FunctionDef | ast.AsyncFunctionDef
#: Where a name is defined: module and name.
Place = tuple[str, str]

_RENAMED = {"__aenter__": "__enter__", "__aexit__": "__exit__"}
_ITERATORS = {"AsyncIterator", "AsyncGenerator", "AsyncIterable"}


@dataclass(frozen=True)
class Module:
    """A source file, as far as signatures need it."""

    name: str
    classes: dict[str, ast.ClassDef]
    #: Where each name comes from.
    names: dict[str, Place]


@cache
def module(name: str) -> Module:
    """Parse a module of this package."""
    spec = find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    body = ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body
    names: dict[str, Place] = {}
    for node in _with_type_imports(body):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {alias.asname or alias.name: (node.module, alias.name) for alias in node.names}
        elif isinstance(node, ast.ClassDef):
            names[node.name] = (name, node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id: (name, target.id) for target in node.targets if isinstance(target, ast.Name)}
    return Module(name, {node.name: node for node in body if isinstance(node, ast.ClassDef)}, names)


def _with_type_imports(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Give the statements of a module, with those that only type checkers read."""
    for node in body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from node.body
        else:
            yield node


def lineage(place: Place) -> Iterator[tuple[Module, ast.ClassDef]]:
    """Give a class and the classes of ours that it inherits from, nearest first."""
    home = module(place[0])
    node = home.classes[place[1]]
    yield home, node
    for parent in node.bases:
        origin = home.names.get(parent.id) if isinstance(parent, ast.Name) else None
        if origin is not None and origin[0].startswith("recollect."):
            yield from lineage(origin)


@cache
def is_asynchronous(place: Place) -> bool:
    """Tell whether a class of ours has public methods that must be awaited."""
    if not place[0].startswith("recollect.") or place[1] not in module(place[0]).classes:
        return False
    methods = (node for _, owner in lineage(place) for node in owner.body)
    return any(isinstance(node, ast.AsyncFunctionDef) and not node.name.startswith("_") for node in methods)


class _Blocked(ast.NodeTransformer):
    """Rewrite an annotation for blocking callers and note what it needs."""

    def __init__(self, home: Module) -> None:
        self.home = home
        self.needed: set[Place] = set()
        self.followed: set[Place] = set()

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id in _ITERATORS:
            self.needed.add(("collections.abc", "Iterator"))
            item = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) else node.slice
            return ast.Subscript(ast.Name("Iterator"), self.visit(item), ast.Load())
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        place = self.home.names.get(node.id)
        if place is None:
            return node
        if is_asynchronous(place):
            self.followed.add(place)
            return ast.Name(f"Blocking{place[1]}")
        self.needed.add(place)
        return node


class Signatures:
    """The blocking signatures of one class, as a file."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.needed: set[Place] = {("typing", "Protocol")}
        self.followed: set[Place] = set()
        self._members: dict[str, str] = {}
        for home, node in lineage(place):
            self._add(home, node)

    @property
    def file(self) -> str:
        """Name the file."""
        return f"{self.place[1].lower()}.py"

    def text(self) -> str:
        """Write the file."""
        siblings = {(f"{PACKAGE}.{name.lower()}", f"Blocking{name}") for _, name in self.followed - {self.place}}
        imports = [f"from {origin} import {name}\n" for origin, name in self.needed | siblings]
        members = sorted(self._members.values(), key=lambda text: "def " in text)
        return _formatted(
            f'"""What `{self.place[1]}` looks like to blocking callers; written by `{COMMAND}`."""\n\n'
            f"from __future__ import annotations\n{''.join(imports)}\n"
            f"class Blocking{self.place[1]}(Protocol):\n"
            f"{_docstring(module(self.place[0]).classes[self.place[1]], '    ')}\n{''.join(members)}"
        )

    def _add(self, home: Module, node: ast.ClassDef) -> None:
        for member in node.body:
            if isinstance(member, Method) and member.name == "__init__":
                self._add_attributes(home, member)
            elif isinstance(member, Method):
                self._add_method(home, member)

    def _add_attributes(self, home: Module, maker: Method) -> None:
        given = {argument.arg: argument.annotation for argument in (*maker.args.args, *maker.args.kwonlyargs)}
        for node in ast.walk(maker):
            target: ast.expr | None = None
            annotation: ast.expr | None = None
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
                target, annotation = node.targets[0], given.get(node.value.id)
            elif isinstance(node, ast.AnnAssign):
                target, annotation = node.target, node.annotation
            if annotation and isinstance(target, ast.Attribute) and not target.attr.startswith("_"):
                self._members[target.attr] = f"    {target.attr}: {self._rewritten(home, annotation)}\n"

    def _add_method(self, home: Module, method: Method) -> None:
        name = _RENAMED.get(method.name, method.name)
        # What surrounds a block of asynchronous code has no blocking face.
        if "asynccontextmanager" in map(ast.unparse, method.decorator_list):
            return
        if name in self._members or (name.startswith("_") and method.name not in _RENAMED):
            return
        arguments = [self._argument(home, one) for one in _arguments(method.args)]
        returned = "None" if method.returns is None else self._rewritten(home, method.returns)
        # A decorator that is called changes what happens, not how it is asked for.
        plain = [mark for mark in method.decorator_list if not isinstance(mark, ast.Call)]
        marks = "".join(f"    @{ast.unparse(mark)}\n" for mark in plain)
        line = f"    def {name}({', '.join(arguments)}) -> {returned}:\n"
        self._members[name] = f"{marks}{line}{_docstring(method, '        ')}"

    def _argument(self, home: Module, one: tuple[str, ast.expr | None, ast.expr | None]) -> str:
        name, annotation, default = one
        typed = name if annotation is None else f"{name}: {self._rewritten(home, annotation)}"
        if default is None:
            return typed
        return f"{typed} = {ast.unparse(default)}" if annotation else f"{typed}={ast.unparse(default)}"

    def _rewritten(self, home: Module, annotation: ast.expr) -> str:
        blocked = _Blocked(home)
        text = ast.unparse(blocked.visit(ast.parse(ast.unparse(annotation), mode="eval")))
        self.needed |= blocked.needed
        self.followed |= blocked.followed
        return text


def _arguments(given: ast.arguments) -> Iterator[tuple[str, ast.expr | None, ast.expr | None]]:
    """Give each parameter as it is written, with its annotation and its default."""
    defaults: list[ast.expr | None] = [None] * (len(given.args) - len(given.defaults))
    for one, default in zip(given.args, [*defaults, *given.defaults], strict=True):
        yield one.arg, one.annotation, default
    if given.vararg:
        yield f"*{given.vararg.arg}", given.vararg.annotation, None
    elif given.kwonlyargs:
        yield "*", None, None
    for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        yield one.arg, one.annotation, default
    if given.kwarg:
        yield f"**{given.kwarg.arg}", given.kwarg.annotation, None


def _docstring(node: ast.ClassDef | Method, indent: str) -> str:
    """Return the first paragraph of a docstring; the contract stays where it is written."""
    text = ast.get_docstring(node)
    if text is None:
        return f"{indent}...\n"
    paragraph = text.partition("\n\n")[0]
    return "".join(f"{indent}{line}\n" for line in f'"""{paragraph}"""'.splitlines())


def _formatted(text: str) -> str:
    """Sort the imports and break the lines as the linter wants them."""
    for command in (["check", "--fix", "--select", "I"], ["format"]):
        tool = [sys.executable, "-m", "ruff", *command, "--quiet", "--stdin-filename", str(FOLDER / "any.py"), "-"]
        text = subprocess.run(tool, input=text, capture_output=True, text=True, check=True).stdout
    return text


def files() -> dict[str, str]:
    """Return the text of every file of signatures, by name."""
    drawn: dict[Place, Signatures] = {}
    waiting: set[Place] = {ROOT}
    while waiting:
        place = waiting.pop()
        drawn[place] = Signatures(place)
        waiting |= drawn[place].followed - set(drawn)
    texts = {one.file: one.text() for one in drawn.values()}
    names = sorted(name for _, name in drawn)
    imports = [f"from {PACKAGE}.{name.lower()} import Blocking{name}\n" for name in names]
    listed = [f"Blocking{name}" for name in names]
    texts["__init__.py"] = _formatted(
        f'"""The blocking signatures of the service; written by `{COMMAND}`."""\n{"".join(imports)}__all__ = {listed}'
    )
    return texts


def write() -> None:
    """Write the files anew, and remove those of classes that are gone."""
    drawn = files()
    for old in FOLDER.glob("*.py"):
        if old.name not in drawn:
            old.unlink()
    for file_name, text in drawn.items():
        (FOLDER / file_name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
    # The linter takes a module for ours, and sorts it so, only once its file is there.
    write()
