"""Run the blocks of a Markdown page in the current directory, in order, exactly as they are printed.

`python` blocks that start with a comment `# name.py` are written to that file; all others run in one interpreter, like
the cells of a notebook. `bash` blocks are commands. Other blocks show output, files or commands that CI cannot run.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

END_OF_BLOCK = "\x1e\n"
_BLOCK = re.compile(r"^```(python|bash)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# ([\w./-]+\.py)\n")


def run_page(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    session: dict[str, Any] = {"__name__": "__main__"}
    for block in _BLOCK.finditer(text):
        language, body = block.groups()
        named = _FILE.match(body)
        if language == "python" and named:
            file = Path(named[1])
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(body, encoding="utf-8")
            continue
        if language == "bash":
            subprocess.run(["bash", "-eu", "-c", body], check=True)
        else:
            line = text.count("\n", 0, block.start(2))  # so that a traceback names the line of the page
            exec(compile("\n" * line + body, str(page), "exec"), session)
        print(end=END_OF_BLOCK, flush=True)


if __name__ == "__main__":
    run_page(Path(sys.argv[1]))
