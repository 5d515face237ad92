"""Write the generated documentation: commands, HTTP API, rights, Python API, and a column of ARCHITECTURE.md.

`--check` writes nothing and fails if a page is out of date.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import click
from importlinter.api import read_configuration
from python_reference import FOLDER, azureml_page, python_pages

from footplate.cli.main import cli
from footplate.server.app import PREFIX, Backend, create_app
from footplate.server.hub import Hub
from footplate.server.rights import Right

ROOT = Path(__file__).parent.parent
WIDTH = 100


# ── Commands ──────────────────────────────────────────────────────────────────────────────────────────────────────────

CLI_HEAD = """# Commands

`make docs` generates this page from the help texts of the commands.

"""


def commands(command: click.Command, path: str, parent: click.Context | None = None) -> Iterator[click.Context]:
    """Yield the contexts of a command and its subcommands in the order of the help text."""
    settings = {**command.context_settings, "terminal_width": WIDTH, "max_content_width": WIDTH}
    ctx = click.Context(command, info_name=path.split()[-1], parent=parent, **settings)
    yield ctx
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            subcommand = command.get_command(ctx, name)
            assert subcommand is not None, f"{path} lists the command {name} but does not have it"
            yield from commands(subcommand, f"{path} {name}", ctx)


def cli_page(_: str) -> str:
    parts = [CLI_HEAD]
    for ctx in commands(cli, "footplate"):
        level = "##" if ctx.parent is None or ctx.parent.parent is None else "###"
        parts.append(f"{level} {ctx.command_path}\n\n```text\n{ctx.get_help().rstrip()}\n```\n\n")
    return "".join(parts).rstrip() + "\n"


# ── HTTP API ──────────────────────────────────────────────────────────────────────────────────────────────────────────

HTTP_HEAD = f"""# HTTP API

`make docs` generates this page from the OpenAPI document that a server returns at `/api/openapi.json`.
All paths start with `{PREFIX}`. [Conventions](../internals/http-conventions.md) explains errors, lists,
authentication, long polls and retries.

"""

Schema = dict[str, Any]


def http_page(_: str) -> str:
    document = create_app(cast(Backend, None), Hub(), None).openapi()
    by_tag: dict[str, list[str]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            by_tag.setdefault(operation["tags"][0], []).append(_operation(method, path, operation))
    parts = [HTTP_HEAD]
    for tag, sections in by_tag.items():
        parts += [f"## {tag.capitalize()}\n\n", *sections]
    parts.append("## Types\n\n")
    parts += _types(document["components"]["schemas"])
    return "".join(parts).rstrip() + "\n"


def _operation(method: str, path: str, operation: Schema) -> str:
    lines = [f"### {method.upper()} {path.removeprefix(PREFIX)}\n\n"]
    if operation.get("description"):
        lines.append(operation["description"].strip() + "\n\n")
    for place in ("query", "header"):
        fields = [p for p in operation.get("parameters", []) if p["in"] == place]
        if fields:
            lines.append(f"- {place}: {', '.join(_parameter(p) for p in fields)}\n")
    if "requestBody" in operation:
        lines.append(f"- body: {_content(operation['requestBody'])}\n")
    status, response = next((s, r) for s, r in operation["responses"].items() if s != "default")
    lines.append(f"- returns {status}: {_content(response)}\n")
    lines.append(f"- right: [{operation['x-right']}](rights.md)\n\n")
    return "".join(lines)


def _parameter(parameter: Schema) -> str:
    schema = parameter["schema"]
    default = f" = `{schema['default']}`" if schema.get("default") not in (None, "", []) else ""
    kind = _type(schema).replace(" or null", "")
    return f"`{parameter['name']}` ({kind}{', required' if parameter['required'] else ''}){default}"


def _content(body: Schema) -> str:
    kinds = body.get("content", {})
    if not kinds:
        return "nothing"
    return " or ".join(
        _type(media["schema"]) if kind == "application/json" else f"`{kind}`" for kind, media in kinds.items()
    )


def _types(schemas: dict[str, Schema]) -> Iterator[str]:
    seen: set[str] = set()
    for name, schema in sorted(schemas.items()):
        title = _type_name(name)
        if title in seen:
            continue
        seen.add(title)
        yield f"### {title}\n\n"
        if "properties" not in schema:
            yield f"{_type(schema)}\n\n"
            continue
        required = set(schema.get("required", ()))
        for field, kind in schema["properties"].items():
            yield f"- `{field}`: {_type(kind)}{'' if field in required else ', optional'}\n"
        yield "\n"


def _type_name(name: str) -> str:
    """Return the name of a type without the suffix that tells requests from responses."""
    return re.sub(r"-(Input|Output)$", "", name)


def _type(schema: Schema) -> str:
    if "$ref" in schema:
        name = _type_name(schema["$ref"].rpartition("/")[2])
        return f"[{name}](#{name.lower()})"
    if "enum" in schema or "const" in schema:
        return " or ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type(option) for option in schema["anyOf"]))
    kind = schema.get("type", "any")
    if isinstance(kind, list):
        return " or ".join(cast("list[str]", kind))
    if kind == "array":
        items = schema.get("prefixItems") or [schema.get("items", {})]
        return f"array of {', '.join(dict.fromkeys(_type(item) for item in items))}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"map of {_type(schema['additionalProperties'])}"
    return kind


# ── Rights ────────────────────────────────────────────────────────────────────────────────────────────────────────────

RIGHTS_HEAD = """# Rights

`make docs` generates this page from the table of rights in `server/rights.py`. Every route requires
one right; [HTTP API](http.md) names it. The owner of a server has all rights: with the server's
token, and on the server's own machine by being the user who owns the home folder.

People and service accounts have roles in workspaces: a reader, a contributor or an owner; each
includes the one before. A role counts in the workspace of the object that a request names. For what
belongs to no workspace, such as content, the highest role counts. An owner of all workspaces is an
owner of the server. A token can limit a person to a workspace or to reading.

A run has a token of its own, which works until the run has ended and its nodes have delivered
everything. Beyond itself, a run has a right only as long as its submitter has it.
[A server for the team](../guides/team-server.md) explains what this protects. The last column tells
which requests enter the audit log.

| right | permits to | people who have it | a run has it on | logged |
|---|---|---|---|---|
"""


def rights_page(_: str) -> str:
    rows = [
        f"| `{right.name}` | {right.meaning} | {right.need.value} | {right.reach.value} | {right.log.value} |\n"
        for right in Right
    ]
    return RIGHTS_HEAD + "".join(rows)


# ── The "may import" column of the map ────────────────────────────────────────────────────────────────────────────────

BASE = ("errors", "environ", "lazy", "disk", "background", "backoff", "pip_settings")
_ROW = re.compile(r"^(\| `(\w+)(?:/|\.py)` \| [^|]* \|)[^|]*\|$", re.MULTILINE)


def architecture_page(current: str) -> str:
    allowed = may_import()
    rows = {row[2] for row in _ROW.finditer(current)}
    assert rows == set(allowed), f"the packages of ARCHITECTURE.md and src/footplate differ: {rows ^ set(allowed)}"

    def rewrite(row: re.Match[str]) -> str:
        return f"{row[1]} {_summary(allowed[row[2]], len(allowed))} |"

    return _ROW.sub(rewrite, current)


def _summary(others: list[str], count: int) -> str:
    """Return the names as a cell, with `base` for the modules that nearly all packages may import."""
    if len(others) == count - 1:
        return "all"
    if set(BASE) <= set(others):
        others = [name for name in others if name not in BASE] + ["base"]
    return ", ".join(others) or "–"


def may_import() -> dict[str, list[str]]:
    """Return for each package the packages that the import-linter contracts let it import directly."""
    contracts = cast("list[dict[str, Any]]", read_configuration(str(ROOT / "pyproject.toml"))["contracts_options"])
    layers = next(
        [re.findall(r"\w+", layer) for layer in contract["layers"]]
        for contract in contracts
        if contract["type"] == "layers"
    )
    present = [[name for name in layer if _exists(name)] for layer in layers]
    forbidden = {
        (source, target)
        for contract in contracts
        if contract["type"] == "forbidden"
        for source in _short(contract["source_modules"])
        for target in _short(contract["forbidden_modules"])
    }
    return {
        name: [n for lower in present[depth + 1 :] for n in lower if (name, n) not in forbidden]
        for depth, layer in enumerate(present)
        for name in layer
    }


def _short(modules: Iterable[str]) -> list[str]:
    return [module.removeprefix("footplate.") for module in modules]


def _exists(name: str) -> bool:
    package = ROOT / "src" / "footplate" / name
    return package.is_dir() or package.with_suffix(".py").exists()


# ── Pages ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def openapi_document(_: str) -> str:
    """Return the document that the client of the page is generated from."""
    document = create_app(cast(Backend, None), Hub(), None).openapi()
    document["info"]["version"] = "1"  # a release changes no route
    return json.dumps(document, indent=1) + "\n"


PAGES: dict[str, Callable[[str], str]] = {
    "ui/openapi.json": openapi_document,
    "docs/reference/cli.md": cli_page,
    "docs/reference/http.md": http_page,
    "docs/reference/rights.md": rights_page,
    "docs/reference/azureml.md": azureml_page,
    "ARCHITECTURE.md": architecture_page,
}


def main() -> int:
    write = "--check" not in sys.argv
    python = python_pages()
    pages = {**PAGES, **{name: lambda _, text=text: text for name, text in python.items()}}
    stale = [name for name, render in pages.items() if not _update(ROOT / name, render, write)]
    stale += [str(page.relative_to(ROOT)) for page in _surplus(python) if not _remove(page, write)]
    for name in stale:
        print(f"{name} is out of date: run make docs", file=sys.stderr)
    return 1 if stale else 0


def _surplus(python: Iterable[str]) -> list[Path]:
    """Return the pages of modules that do not exist any more."""
    return [page for page in (ROOT / FOLDER).glob("*.md") if str(page.relative_to(ROOT)) not in python]


def _remove(page: Path, write: bool) -> bool:
    if write:
        page.unlink()
    return write


def _update(page: Path, render: Callable[[str], str], write: bool) -> bool:
    """Return whether the page is current, after writing it if `write` allows that."""
    current = page.read_text(encoding="utf-8") if page.exists() else ""
    rendered = render(current)
    if write:
        page.parent.mkdir(exist_ok=True)
        page.write_text(rendered, encoding="utf-8")
    return write or current == rendered


if __name__ == "__main__":
    sys.exit(main())
