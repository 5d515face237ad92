"""Runs a notebook as the script of a rank: `bootstrap.py NOTEBOOK.ipynb [--output-notebook PATH] [--NAME VALUE …]`.

The bootstrap executes this file in place of the notebook. nbclient, in the run's own environment, executes the cells in
a kernel of the same interpreter. Their output goes to the log as it appears, with a line before each cell, and the
executed notebook is saved after each cell. Parameters are assigned in a cell of their own, below the cell tagged
`parameters` or else at the top; a value is a Python literal if it can be read as one, and otherwise text.
"""

from __future__ import annotations

import ast
import importlib
import os
import re
import sys
import tempfile
from contextlib import contextmanager
from typing import Any, Dict, Generator, List, NoReturn, Optional, Sequence, Tuple

from footplate import environ

OUTPUT = "--output-notebook"
_COLORS = re.compile(r"\x1b\[[0-9;]*m")
_TITLE = 60
_SOCKET_PATH = 80


def main(notebook: str, arguments: Sequence[str]) -> None:
    nbformat, client = _libraries(notebook)
    options = _options(list(arguments))
    target = options.pop(OUTPUT[2:], None) or os.path.join("outputs", os.path.basename(notebook))
    document = nbformat.read(notebook, as_version=4)
    _check_language(notebook, document)
    add_parameters(document, {name: literal(value) for name, value in options.items()}, nbformat.v4.new_code_cell)
    folder = os.path.dirname(os.path.abspath(notebook))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))
    runner = _Execution(nbformat, document, target if os.environ.get(environ.RANK, "0") == "0" else None)
    try:
        runner.execute(client)
    finally:
        runner.save()


def _libraries(notebook: str) -> Tuple[Any, Any]:
    try:
        return importlib.import_module("nbformat"), importlib.import_module("nbclient")
    except ImportError as error:
        raise SystemExit(
            f"{notebook} cannot run: {error}\nhint: add nbclient and ipykernel to the environment of the run "
            f"(pip install nbclient ipykernel, for {sys.executable})"
        ) from None


def _options(arguments: List[str]) -> Dict[str, str]:
    """Return `--name value` and `--name=value` as a dictionary."""
    options: Dict[str, str] = {}
    while arguments:
        name, sign, value = arguments.pop(0).partition("=")
        if not name.startswith("-"):
            raise SystemExit(f"{name!r} is not a parameter of a notebook\nhint: pass pairs such as --rate 0.1")
        if not sign:
            value = arguments.pop(0) if arguments and not _is_name(arguments[0]) else "True"
        options[name.lstrip("-")] = value
    return options


def _is_name(word: str) -> bool:
    return word.startswith("-") and not re.fullmatch(r"-\.?\d.*", word)


def literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _check_language(notebook: str, document: Any) -> None:
    language = document.metadata.get("kernelspec", {}).get("language", "python")
    if language.lower() != "python":
        raise SystemExit(f"{notebook} is written in {language}\nhint: only notebooks in Python can run")


def add_parameters(document: Any, parameters: Dict[str, Any], new_cell: Any) -> None:
    """Insert a cell that assigns the parameters."""
    if not parameters:
        return
    for name in parameters:
        if not name.replace("-", "_").isidentifier():
            raise SystemExit(f"{name!r} cannot be a variable\nhint: use letters, digits and underscores")
    lines = [f"{name.replace('-', '_')} = {value!r}" for name, value in parameters.items()]
    tagged = [at for at, cell in enumerate(document.cells) if "parameters" in cell.metadata.get("tags", ())]
    cell = new_cell("\n".join(["# Parameters", *lines]), metadata={"tags": ["injected-parameters"]})
    document.cells.insert(tagged[0] + 1 if tagged else 0, cell)


@contextmanager
def _socket_folder() -> Generator[str, None, None]:
    """Provide a private folder for the kernel's sockets; the path of a Unix socket has at most 107 bytes."""
    parent = None if len(tempfile.gettempdir()) < _SOCKET_PATH else "/tmp"
    with tempfile.TemporaryDirectory(prefix="nb", dir=parent) as folder:
        os.environ["JUPYTER_RUNTIME_DIR"] = folder
        yield folder


class _Execution:
    """One pass over the cells of a notebook. Without a target, nothing is saved: only the first rank does."""

    def __init__(self, nbformat: Any, document: Any, target: Optional[str]) -> None:
        self._nbformat, self._document, self._target = nbformat, document, target
        self._numbers = {
            id(cell): at for at, cell in enumerate((c for c in document.cells if c.cell_type == "code"), 1)
        }

    def execute(self, nbclient: Any) -> None:
        base: Any = nbclient.NotebookClient

        class Client(base):
            def process_message(self, msg: Any, cell: Any, cell_index: int) -> Any:
                _print_output(msg)
                return base.process_message(self, msg, cell, cell_index)

        with _socket_folder() as folder:
            client = Client(
                self._document,
                timeout=None,
                kernel_name="python3",  # the kernel of this interpreter, whatever name the notebook was written with
                resources={"metadata": {"path": os.getcwd()}},
                on_cell_start=self._announce,
                on_cell_executed=self.save,
            )
            manager = client.create_kernel_manager()
            manager.transport = "ipc"
            manager.ip = os.path.join(folder, "kernel")
            try:
                client.execute()
            except nbclient.exceptions.CellExecutionError as error:
                self._fail(error)

    def _announce(self, cell: Any, cell_index: int) -> None:
        if cell.cell_type == "code":
            title = next((line for line in cell.source.splitlines() if line.strip()), "")
            print(f"[{self._numbers[id(cell)]}/{len(self._numbers)}] {title[:_TITLE]}", flush=True)

    def save(self, **_event: Any) -> None:
        if self._target is None:
            return
        os.makedirs(os.path.dirname(os.path.abspath(self._target)), exist_ok=True)
        aside = f"{self._target}.aside"
        self._nbformat.write(self._document, aside)
        os.replace(aside, self._target)

    def _fail(self, error: Any) -> NoReturn:
        """Raise the exception of the cell under its own name, after printing the kernel's traceback."""
        failed = [cell for cell in self._document.cells if any(o.output_type == "error" for o in _outputs(cell))]
        number = self._numbers[id(failed[-1])] if failed else 0
        print(_COLORS.sub("", str(getattr(error, "traceback", error))), file=sys.stderr, flush=True)
        kind = type(str(error.ename), (Exception,), {"__module__": "builtins"})
        raise kind(f"{error.evalue} (cell {number} of {len(self._numbers)})") from None


def _outputs(cell: Any) -> Sequence[Any]:
    return cell.get("outputs", ())


def _print_output(message: Any) -> None:
    content, kind = message["content"], message["msg_type"]
    if kind == "stream":
        stream = sys.stderr if content["name"] == "stderr" else sys.stdout
        stream.write(content["text"])
        stream.flush()
    elif kind in ("execute_result", "display_data"):
        print(content["data"].get("text/plain", ""), flush=True)


if __name__ == "__main__":
    main(sys.argv[0], sys.argv[1:])
