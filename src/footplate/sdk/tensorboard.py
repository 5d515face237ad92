"""Tensorboard(runs).start(): TensorBoard on the `./logs` of runs, which are followed while they grow."""

from __future__ import annotations

import atexit
import importlib.util
import os
import posixpath
import re
import subprocess
import sys
import tempfile
import time
import webbrowser
from typing import Any, Dict, List, Optional, Sequence, Union

from footplate.background import Loop
from footplate.domain.runs.run_status import TERMINAL
from footplate.sdk.exceptions import AzureMLException, UserErrorException
from footplate.sdk.run import Run
from footplate.sdk.values.wrong_types import explained

LOGS = "logs/"
START_SECONDS = 60.0
POLL_SECONDS = 2.0
INSTALL = f"install it into this interpreter: {sys.executable} -m pip install tensorboard 'setuptools<82'"
_URL = re.compile(r"https?://\S+")


@explained
class Tensorboard:
    """TensorBoard for one or several runs, while they run and afterwards.

    The event files below `./logs` of the runs are copied to `<local_root>/<run id>` as they grow.
    TensorBoard must be installed in this interpreter.

    Args:
        runs: A run, or several.
        local_root: The directory for the copies; a temporary one by default.
        port: The port that TensorBoard listens on; 0 chooses a free one.
        use_display_name: Whether to name directories after display names instead of ids.

    Raises:
        UserErrorException: An element of `runs` is not a run.

    Example:
        tensorboard = Tensorboard([run], port=0)
        print(tensorboard.start())
        tensorboard.stop()
    """

    def __init__(
        self,
        runs: Union[Run, Sequence[Run]],
        local_root: Optional[str] = None,
        port: int = 6006,
        use_display_name: bool = False,
    ) -> None:
        listed = [runs] if isinstance(runs, Run) else list(runs)
        for run in listed:
            if not isinstance(run, Run):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise UserErrorException(f"runs holds {run!r}", hint="pass a run, or a list of runs")
        self._root = local_root or tempfile.mkdtemp(prefix="tensorboard")
        self._followers = [_Follower(run, self._root, use_display_name) for run in listed]
        self._pending: List[_Follower] = []
        self._port = port
        self._process: Optional[subprocess.Popen[bytes]] = None
        self._url = ""
        self._loop = Loop("tensorboard-logs", self._follow, first=POLL_SECONDS)

    def start(self, start_browser: bool = False) -> str:
        """Start TensorBoard. A second call returns the same address.

        Args:
            start_browser: Whether to open the address in a browser.

        Returns:
            The address.

        Raises:
            AzureMLException: TensorBoard is not installed, or did not start.
        """
        if self._process is None:
            if importlib.util.find_spec("tensorboard") is None:
                raise AzureMLException("TensorBoard is not installed", hint=INSTALL)
            os.makedirs(self._root, exist_ok=True)
            for follower in self._followers:
                follower.copy()
            self._url = self._launch()
            self._pending = list(self._followers)
            self._loop.start()
            atexit.register(self.stop)
            print(self._url)
            if start_browser:
                webbrowser.open(self._url)
        return self._url

    def stop(self) -> None:
        """Stop TensorBoard. The copied files stay."""
        atexit.unregister(self.stop)
        self._loop.stop()
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
        self._process = None

    def _launch(self) -> str:
        command = [sys.executable, "-m", "tensorboard.main", "--logdir", self._root, "--port", str(self._port)]
        log = os.path.join(tempfile.mkdtemp(prefix="tensorboard-log"), "tensorboard.txt")
        with open(log, "wb") as output:  # a file: nobody reads a pipe after the first lines
            command += ["--reload_interval", str(int(POLL_SECONDS))]
            process = subprocess.Popen(command, stdout=output, stderr=output, stdin=subprocess.DEVNULL)
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            text = _text(log)
            match = _URL.search(text.partition("TensorBoard ")[2])
            if match:
                self._process = process
                return match.group()
            if process.poll() is not None:
                break
            time.sleep(0.1)
        process.kill()
        process.wait()
        hint = "choose another port: Tensorboard(runs, port=0)" if re.search(r"\bport\b", _text(log)) else INSTALL
        raise AzureMLException(f"TensorBoard did not start:\n{_text(log).strip()}", hint=hint)

    def _follow(self) -> Optional[float]:
        self._pending = [follower for follower in self._pending if not follower.copy()]
        return POLL_SECONDS if self._pending else None


def _text(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


class _Follower:
    """Copies the files below `logs/` of one run, from where the last copy ended."""

    def __init__(self, run: Run, root: str, use_display_name: bool) -> None:
        self._run = run
        name = run.display_name if use_display_name else None
        self._folder = os.path.join(root, _file_name(name or run.id))
        self._sizes: Dict[str, int] = {}

    def copy(self) -> bool:
        """Copy what is new; return whether the run has ended, so that there is nothing more to come."""
        ended = self._run.get_status() in TERMINAL
        session = self._run.experiment.workspace.session
        for file in session.api.files.list(self._run.id, LOGS):
            done = self._sizes.get(file.path, 0)
            if file.size != done and not file.path.startswith("logs/azureml/"):
                start = done if file.size > done else 0
                self._append(file.path, start, session.api.files.read(self._run.id, file.path, offset=start))
        return ended

    def _append(self, path: str, start: int, chunks: Any) -> None:
        target = os.path.join(self._folder, *posixpath.normpath(path[len(LOGS) :]).split("/"))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "r+b" if start else "wb") as file:
            file.seek(start)
            for chunk in chunks:
                file.write(chunk)
            file.truncate()
            self._sizes[path] = file.tell()


def _file_name(text: str) -> str:
    return re.sub(r"[^\w.-]+", "_", text) or "run"


def runs_of(data: Any) -> List[Run]:
    """Return the runs in an argument of `export_to_tensorboard`: a run, several runs, or an experiment."""
    if isinstance(data, Run):
        return [data]
    if hasattr(data, "get_runs"):
        return list(data.get_runs())
    return list(data)
