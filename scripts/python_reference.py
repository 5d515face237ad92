"""The generated pages about the Python API: its classes, and the names of Azure's SDK that work."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator
from typing import Any

from python_api import Doc, Member, Public, members, owner, parameters, public

from footplate.cli.azureml.checker import DIFFERS, MISSING, WORKS
from footplate.cli.azureml.usage import judge, shares, symbols

WIDTH = 100
FOLDER = "docs/reference/python"
PYTHON_HEAD = """# Python

`make docs` generates these pages from the signatures and docstrings of the SDK. The names are those
of Azure ML SDK v1; [names of Azure ML](../azureml.md) lists the ones that public code uses.

In the examples, `ws` is a workspace, `experiment` one of its experiments and `run` a completed run
of a script:

```python
from azureml.core import Experiment, ScriptRunConfig, Workspace

ws = Workspace.from_config()
experiment = Experiment(ws, "demo")
run = experiment.submit(ScriptRunConfig(source_directory="src", script="train.py"))
run.wait_for_completion()
```

All errors are classes of [azureml.exceptions](azureml.exceptions.md). Besides those that a
method names, a call that needs the server raises `ServiceException` if the server cannot be reached
or does not have the object any more, and `AuthenticationException` if a token does not permit it.

"""
AZUREML_HEAD = """# Names of Azure ML

`make docs` generates this page. It lists the names of Azure ML SDK v1 that public code uses, with the
number of files that use each, from the most to the least used. {works:.1%} of all uses work as on
Azure, {differs:.1%} differ from it in the way that the table describes, and {missing:.1%} are missing,
with a hint in brackets. Pipelines and automated machine learning are counted; explanations, fairness,
data drift and FPGAs, which are missing, are not.
The [Python reference](python/README.md) has every class and method, used or not, and
`footplate azureml check PATH` reports about your own code, line by line.

| name | files | here |
|---|---|---|
"""


# ── Names of Azure ML ─────────────────────────────────────────────────────────────────────────────────────────────────


def azureml_page(_: str) -> str:
    judged = [(symbol, *judge(symbol)) for symbol in symbols()]
    rows = [f"| `{symbol.name}` | {symbol.files} | {_state(state, why)} |\n" for symbol, state, why in judged]
    parts = shares([(symbol, state) for symbol, state, _ in judged])
    head = AZUREML_HEAD.format(works=parts[WORKS], differs=parts[DIFFERS], missing=parts[MISSING])
    return head + "".join(rows)


def _state(state: str, why: str) -> str:
    text, _, hint = why.partition("\nhint: ")
    return state + (f": {text}" if text else "") + (f" ({hint})" if hint else "")


# ── Pages ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def python_pages() -> dict[str, str]:
    """Return the text of each page by its path: a list of all names, and one page for each module."""
    modules = public()
    homes = {found: module for module, names in modules.items() for found in names}
    pages = {f"{FOLDER}/README.md": PYTHON_HEAD + "".join(_listed(modules)).rstrip() + "\n"}
    for module, names in modules.items():
        parts = [f"# {module}\n\n", *(part for found in names for part in _described(found, homes))]
        pages[f"{FOLDER}/{module}.md"] = "".join(parts).rstrip() + "\n"
    return pages


def _listed(modules: dict[str, list[Public]]) -> Iterator[str]:
    for module, names in modules.items():
        yield f"## [{module}]({module}.md)\n\n"
        for found in names:
            link = f"{module}.md#{found.__name__.lower()}"
            yield f"- [{found.__name__}]({link}): {_first_sentence(Doc.of(found).text)}\n"
        yield "\n"


def _first_sentence(text: str) -> str:
    paragraph = " ".join(text.partition("\n\n")[0].split())
    return paragraph.partition(". ")[0].rstrip(".") + "."


def _described(found: Public, homes: dict[Public, str]) -> Iterator[str]:
    yield f"## {found.__name__}\n\n"
    yield from _entry(f"{found.__name__}{_signature(found)}", found)
    if not inspect.isclass(found):
        return
    listed = {each for each in homes if inspect.isclass(each)}
    own, inherited = _split(found, listed)
    properties = [each for each in own if each.is_property]
    if properties:
        yield "**Properties**\n\n"
        yield from (_item(each.name, _annotation(each), Doc.of(each.target).text) for each in properties)
        yield "\n"
    for base, names in inherited.items():
        link = f"{homes[base]}.md#{base.__name__.lower()}"
        yield _wrapped(f"Also has, from [{base.__name__}]({link}): {', '.join(f'`{name}`' for name in names)}.")
    for each in own:
        if not each.is_property:
            yield f"### {found.__name__}.{each.name}\n\n"
            yield from _entry(f"{each.name}{_signature(each.code)}", each.code)


def _split(found: type, listed: set[type]) -> tuple[list[Member], dict[type, list[str]]]:
    """Return the members that a class documents itself, and the names of those that its bases document."""
    own: list[Member] = []
    inherited: dict[type, list[str]] = {}
    for name, member in members(found).items():
        base = owner(found, name, listed)
        if base is found:
            own.append(member)
        else:
            inherited.setdefault(base, []).append(name)
    return own, inherited


def _entry(signature: str, found: Any) -> Iterator[str]:
    doc = Doc.of(found)
    yield f"```text\n{_broken(signature)}\n```\n\n"
    yield doc.text and "".join(_wrapped(each) for each in doc.text.split("\n\n"))
    stars = {each.name: _stars(each) for each in parameters(found)}
    yield from (_item(stars.get(name, "") + name, "", text) for name, text in doc.arguments.items())
    yield "\n" if doc.arguments else ""
    yield _wrapped(f"**Returns:** {' '.join(doc.returns.split())}") if doc.returns else ""
    for kind, text in doc.raises.items():
        yield _item(kind, "", text, "Raises ")
    yield "\n" if doc.raises else ""
    yield f"```python\n{doc.example}\n```\n\n" if doc.example else ""


def _item(name: str, kind: str, text: str, before: str = "") -> str:
    kind = f" (`{kind}`)" if kind else ""
    line = f"- {before}`{name}`{kind}: {' '.join(text.split())}"
    return textwrap.fill(line, WIDTH, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False) + "\n"


def _wrapped(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), WIDTH, break_on_hyphens=False, break_long_words=False) + "\n\n"


def _annotation(member: Member) -> str:
    return str(inspect.signature(member.code).return_annotation).strip("'\"")


# ── Signatures ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _signature(found: Any) -> str:
    names = ", ".join(_parameter(each) for each in parameters(found))
    returned = "" if inspect.isclass(found) else inspect.signature(found).return_annotation
    return f"({names})" + (f" -> {returned}" if isinstance(returned, str) and returned else "")


def _stars(parameter: inspect.Parameter) -> str:
    return {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")


def _parameter(parameter: inspect.Parameter) -> str:
    prefix = _stars(parameter)
    kind = parameter.annotation
    annotation = f": {kind}" if isinstance(kind, str) and kind != "Any" else ""
    if parameter.default is parameter.empty:
        return f"{prefix}{parameter.name}{annotation}"
    return f"{prefix}{parameter.name}{annotation} = {parameter.default!r}"


def _broken(signature: str) -> str:
    """Return the signature with one parameter per line if it is long."""
    if len(signature) <= WIDTH:
        return signature
    name, _, rest = signature.partition("(")
    inside, arrow, returned = rest.rpartition(") -> ") if ") -> " in rest else (rest.rstrip(")"), "", "")
    lines = "".join(f"    {each},\n" for each in _at_top_level(inside))
    return f"{name}(\n{lines}){arrow.lstrip(')')}{returned}"


def _at_top_level(text: str) -> list[str]:
    """Split at the commas that stand in no bracket."""
    depth, parts = 0, [""]
    for letter in text:
        depth += letter in "[({"
        depth -= letter in "])}"
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]
