"""Walks through a program, follows Azure's objects from call to call, and reports each use of an Azure name.

It knows the types that our own annotations state; about everything else it reports nothing.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from footplate.cli.azureml import names
from footplate.cli.azureml.code_files import Place, Program
from footplate.cli.azureml.names import DIFFERENCES, IGNORED_KEYWORDS, Missing, Thing

WORKS, DIFFERS, MISSING, UNREADABLE = "works", "differs", "missing", "unreadable"
_IMPORT_ERRORS = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}


@dataclass(frozen=True)
class Finding:
    place: Place
    state: str
    name: str
    message: str = ""
    hint: str = ""


def check(program: Program) -> list[Finding]:
    """Return what became of each use of an Azure name, in the order of the lines."""
    unreadable = [Finding(place, UNREADABLE, program.name, reason) for place, reason in program.unreadable]
    try:
        tree = ast.parse(program.text)
    except SyntaxError as error:
        place = program.place(error.lineno or 1)
        return [*unreadable, Finding(place, UNREADABLE, program.name, f"not Python: {error.msg}")]
    walker = _Walker(program)
    walker.visit(tree)
    findings = {*unreadable, *walker.findings} - walker.overruled
    return sorted(findings, key=lambda one: (one.place.cell or 0, one.place.line, one.name))


class _Walker(ast.NodeVisitor):
    def __init__(self, program: Program) -> None:
        self._program = program
        self._known: dict[str, Thing] = {}
        self._optional = False  # inside a `try` that handles a failing import
        self.findings: list[Finding] = []
        self.overruled: set[Finding] = set()  # names that exist, in calls that do not work, or differ

    # ── imports ──

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name.split(".")[0] == names.ROOT and self._try_to_resolve(
                node, alias.name, names.module, alias.name
            ):
                root = names.ROOT if alias.asname is None else alias.name
                self._known[alias.asname or names.ROOT] = names.module(root)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level or (node.module or "").split(".")[0] != names.ROOT:
            return
        owner = self._try_to_resolve(node, str(node.module), names.module, str(node.module), quiet=True)
        if owner is None:
            return
        listed = [(alias.name, alias.asname or alias.name) for alias in node.names if alias.name != "*"]
        if len(listed) < len(node.names):
            listed += [(name, name) for name in getattr(owner.target, "__all__", ())]
        for name, own_name in listed:
            thing = self._try_to_resolve(node, f"{node.module}.{name}", names.member, owner, name)
            if thing is not None:
                self._known[own_name] = replace(thing, name=name)

    def _try_to_resolve(
        self, node: ast.AST, label: str, resolve: Callable[..., Thing | None], *arguments: object, quiet: bool = False
    ) -> Thing | None:
        """Return the result of `resolve`, and report it; None if the name is missing."""
        try:
            thing = resolve(*arguments)
        except Missing as missing:
            self._report(node, DIFFERS if self._optional else MISSING, label, str(missing), missing.hint)
            return None
        if not quiet:
            self._report(node, WORKS, label)
        return thing

    def _report(self, node: ast.AST, state: str, name: str, message: str = "", hint: str = "") -> None:
        place = self._program.place(getattr(node, "lineno", 1))
        self.findings.append(Finding(place, state, name, message, hint))

    # ── statements that give names to things ──

    def visit_Try(self, node: ast.Try) -> None:
        caught = {ast.unparse(part) for handler in node.handlers for part in _types(handler)}
        before, self._optional = self._optional, self._optional or bool(caught & _IMPORT_ERRORS) or "" in caught
        for statement in node.body:
            self.visit(statement)
        self._optional = before
        for part in (*node.handlers, *node.orelse, *node.finalbody):
            self.visit(part)

    def visit_Assign(self, node: ast.Assign) -> None:
        value = self._value(node.value)
        for target in node.targets:
            self._bind(target, value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        value = self._value(node.value) if node.value else None
        self._bind(node.target, value or self._read_annotation(node.annotation))

    def visit_For(self, node: ast.For) -> None:
        container = self._value(node.iter)
        self._bind(node.target, names.element(container, of_loop=True) if container else None)
        for statement in (*node.body, *node.orelse):
            self.visit(statement)

    def visit_With(self, node: ast.With) -> None:
        for item in node.items:
            value = self._value(item.context_expr)
            if item.optional_vars is not None:
                self._bind(item.optional_vars, value)
        for statement in node.body:
            self.visit(statement)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        with self._scope():
            arguments = node.args
            for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
                self._known.pop(each.arg, None)
                annotated = self._read_annotation(each.annotation) if each.annotation else None
                if annotated is not None:
                    self._known[each.arg] = annotated
            for statement in (*node.decorator_list, *node.body):
                self.visit(statement)

    visit_AsyncFunctionDef = visit_FunctionDef  # pyright: ignore

    @contextmanager
    def _scope(self) -> Generator[None]:
        before = dict(self._known)
        yield
        self._known = before

    def _bind(self, target: ast.expr, value: Thing | None) -> None:
        if isinstance(target, ast.Name):
            self._known.pop(target.id, None)
            if value is not None:
                self._known[target.id] = value
        elif isinstance(target, ast.Attribute):
            self._value(target)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for each in target.elts:
                self._bind(each, None)
        else:
            self._value(target)

    def _read_annotation(self, node: ast.expr) -> Thing | None:
        thing = self._value(node)
        return replace(thing, is_instance=True) if thing and isinstance(thing.target, type) else None

    # ── expressions ──

    def visit_Expr(self, node: ast.Expr) -> None:
        self._value(node.value)

    def generic_visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.expr):
            self._value(node)
        else:
            super().generic_visit(node)

    def _value(self, node: ast.expr | None) -> Thing | None:
        if isinstance(node, ast.Name):
            return self._known.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = self._value(node.value)
            return self._member(node, owner) if owner else None
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Subscript):
            container = self._value(node.value)
            self._value(node.slice)
            if isinstance(node.slice, ast.Slice):
                return container
            return names.element(container, of_loop=False) if container else None
        for child in ast.iter_child_nodes(node) if node is not None else ():
            self.visit(child)
        return None

    def _member(self, node: ast.Attribute, owner: Thing) -> Thing | None:
        label = f"{_short(owner)}.{node.attr}"
        try:
            attribute = names.member(owner, node.attr)
        except Missing as missing:
            self._report(node, MISSING, label, str(missing), missing.hint)
            return None
        if attribute is None:
            return None
        self._report(node, WORKS, label)
        return replace(attribute, name=label)

    def _call(self, node: ast.Call) -> Thing | None:
        function = self._value(node.func)
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            self._value(argument)
        if function is None:
            return None
        name = _short(function)
        before = len(self.findings)
        self._check_arguments(node, function, name)
        if name in DIFFERENCES:
            self._report(node, DIFFERS, name, DIFFERENCES[name])
        try:
            return names.call(function, name)
        except Missing as missing:
            self._report(node, MISSING, name, str(missing), missing.hint)
            return None
        finally:
            if any(one.state == MISSING or one.name == name for one in self.findings[before:]):
                self.overruled.add(Finding(self._program.place(node.lineno), WORKS, name))

    def _check_arguments(self, node: ast.Call, function: Thing, name: str) -> None:
        parameters = names.parameters(function)
        if parameters is None:
            return
        kinds = {each.kind for each in parameters.values()}
        ignored = IGNORED_KEYWORDS.get(name, {})
        for keyword in node.keywords:
            word = keyword.arg or ""
            wrong = names.unknown_parameter(name, word, parameters) if word else None
            if word in ignored:
                self._report(keyword, DIFFERS, f"{name}({word}=)", ignored[word])
            elif wrong:
                self._report(keyword, MISSING, f"{name}({word}=)", str(wrong), wrong.hint)
        positional = [each for each in parameters.values() if each.kind is each.POSITIONAL_OR_KEYWORD]
        starred = any(isinstance(each, ast.Starred) for each in node.args)
        if len(node.args) > len(positional) and not starred and inspect.Parameter.VAR_POSITIONAL not in kinds:
            message = f"{name} accepts {len(positional)} positional arguments, not {len(node.args)}"
            self._report(node, MISSING, name, message)


def _types(handler: ast.ExceptHandler) -> list[ast.expr]:
    if handler.type is None:
        return [ast.Name("")]
    return handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]


def _short(thing: Thing) -> str:
    """Return a name for people: the class of an object, not the expression that led to it."""
    if thing.is_instance:
        return getattr(thing.target, "__name__", thing.name)
    if isinstance(thing.target, type):
        return thing.target.__name__
    return thing.name
