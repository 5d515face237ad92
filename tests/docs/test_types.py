"""Pyright and mypy accept every example and every Python block of the docs: our type hints fit documented code."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from python_api import public

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference" / "python"
BIN = Path(sys.executable).parent
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# ([\w./-]+\.py)\n")


def python_files(page: Path) -> Iterator[tuple[str, str]]:
    """Yield the files a page names, and the rest of its blocks as one file whose line numbers are the page's."""
    text = page.read_text(encoding="utf-8")
    session = ""
    for block in _BLOCK.finditer(text):
        body = block[1]
        named = _FILE.match(body)
        line = text.count("\n", 0, block.start(1))
        if named:
            yield Path(named[1]).name, "\n" * line + body
        else:
            session += "\n" * (line - session.count("\n")) + body
    if session:
        yield "page.py", session


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Collect all documented code in one directory, in folders that are valid package names."""
    folder = tmp_path_factory.mktemp("documented")
    for example in (ROOT / "examples").glob("*/*.py"):
        _write(folder / f"example_{example.parent.name}" / example.name, example.read_text(encoding="utf-8"))
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        if page.parent != REFERENCE or page.name == "README.md":
            for name, text in python_files(page):
                _write(folder / f"{page.parent.name}_{page.stem}" / name, text)
    for module in public():
        _write(folder / f"reference_{module}" / "page.py", _examples(REFERENCE / f"{module}.md"))
    return folder


def _examples(page: Path) -> str:
    """Return the examples of a page of the reference as functions, whose parameters are the names that they assume."""
    text = page.read_text(encoding="utf-8")
    imports = [f"from {module} import {found.__name__}" for module, names in public().items() for found in names]
    functions = [
        f"def example_{number}(ws: Workspace, experiment: Experiment, run: Run) -> None:\n"
        + textwrap.indent(block[1], "    ")
        for number, block in enumerate(_BLOCK.finditer(text))
    ]
    return "\n".join([*imports, *functions])


def _write(file: Path, text: str) -> None:
    folder = file.parent.with_name(re.sub(r"\W", "_", file.parent.name))
    folder.mkdir(exist_ok=True)
    (folder / file.name).write_text(text, encoding="utf-8")


def test_pyright_accepts_documented_code(code: Path) -> None:
    settings = {
        "include": ["."],
        "pythonVersion": "3.11",
        "reportMissingImports": False,  # scripts import frameworks that only their environments have
        "reportMissingModuleSource": False,
    }
    (code / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    argv = [BIN / "pyright", "-p", ".", "--pythonpath", sys.executable, "--outputjson"]
    done = subprocess.run(argv, cwd=code, capture_output=True, text=True, timeout=280)
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] > 30
    found = [
        f"{Path(one['file']).relative_to(code)}:{one['range']['start']['line'] + 1}: {one['message']}"
        for one in report["generalDiagnostics"]
        if one["severity"] == "error"
    ]
    assert not found, "\n".join(found)


def test_mypy_accepts_documented_code(code: Path) -> None:
    files = sorted(str(path.relative_to(code)) for path in code.rglob("*.py"))
    argv = [BIN / "mypy", "--explicit-package-bases", "--cache-dir", code / ".mypy_cache", *files]
    done = subprocess.run(argv, cwd=code, capture_output=True, text=True, timeout=280)
    assert re.search(r"checked \d\d+ source files|no issues found", done.stdout), done.stdout + done.stderr
    found = [line for line in done.stdout.splitlines() if ": error:" in line and not _about_another_package(line)]
    assert not found, "\n".join(found)


def _about_another_package(line: str) -> bool:
    """Return whether mypy misses or cannot type a package that is not ours."""
    return "[import" in line and "azureml" not in line and "footplate" not in line
