"""Output for notebooks: objects as HTML tables, and errors without the frames of libraries."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple

from footplate.lazy import Deferred

if TYPE_CHECKING:
    import html
    import linecache
else:
    html = Deferred("html")  # jobs import this module and never render anything
    linecache = Deferred("linecache")

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_LIBRARIES = (_OURS + os.sep, f"{os.sep}site-packages{os.sep}", os.path.dirname(os.__file__) + os.sep)


def row(columns: Mapping[str, Any]) -> str:
    """Return an HTML table with one row."""
    return table(list(columns), [list(columns.values())])


def table(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    head = "".join(f"<th>{html.escape(str(name))}</th>" for name in names)
    lines = ("".join(f"<td>{html.escape('' if cell is None else str(cell))}</td>" for cell in cells) for cells in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f'<table style="width:100%"><tr>{head}</tr>{body}</table>'


def short_traceback(error: BaseException, message: str) -> List[str]:
    """Return the text IPython prints for an error of the user: the user's own lines, then message and hint.

    It is one item, because IPython joins items with nothing between them in its mode `Plain`.
    """
    own = [frame for frame in _frames(error) if not any(part in frame[0] for part in _LIBRARIES)]
    lines = [f"{_display_name(file)}, line {number}\n    {source}" for file, number, source in own]
    return ["\n".join([*lines, f"{type(error).__name__}: {message}"])]


def _frames(error: BaseException) -> Iterator[Tuple[str, int, str]]:
    at: Optional[Any] = error.__traceback__
    while at is not None:
        file = at.tb_frame.f_code.co_filename
        yield file, at.tb_lineno, linecache.getline(file, at.tb_lineno, at.tb_frame.f_globals).strip()
        at = at.tb_next


def _display_name(file: str) -> str:
    """Return a name for a file: IPython keeps the source of a cell in a temporary file with a number as its name."""
    return "this cell" if "ipykernel_" in file or file.startswith("<ipython-input") else file
