"""A worker as a process: it loads, answers batches over its socket, and ends when it is told to."""

from __future__ import annotations

import json
import pickle
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from footplate.serving.protocol import pack, read_frame, split
from footplate.testing.waiting import wait_until


def start(folder: Path, **config: Any) -> subprocess.Popen[bytes]:
    described = {"service": "s", "version": "1", "socket": str(folder / "worker.sock"), "models": [], **config}
    (folder / "config.json").write_text(json.dumps(described))
    command = [sys.executable, "-m", "footplate.serving.worker", str(folder / "config.json")]
    return subprocess.Popen(command, stderr=subprocess.PIPE)


@contextmanager
def connected(folder: Path, process: subprocess.Popen[bytes]) -> Iterator[Any]:
    with socket.socket(socket.AF_UNIX) as client:
        wait_until(lambda: is_connected(client, folder, process))
        yield client.makefile("rwb")


def is_connected(client: socket.socket, folder: Path, process: subprocess.Popen[bytes]) -> bool:
    assert process.poll() is None, process.stderr
    try:
        client.connect(str(folder / "worker.sock"))
    except OSError:
        return False
    return True


def send(stream: Any, meta: dict[str, Any], *parts: bytes) -> tuple[dict[str, Any], list[bytes]]:
    stream.writelines(pack(meta, parts))
    stream.flush()
    found = read_frame(stream)
    assert found is not None
    return found[0], [bytes(part) for part in split(found[1], found[0].get("items", []))]


def batch(*bodies: bytes) -> dict[str, Any]:
    return {"batch": 7, "items": [{"m": "POST", "p": "score", "n": len(body)} for body in bodies]}


def test_a_pickled_model_is_served_in_batches_until_sigterm(tmp_path: Path) -> None:
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(LinearRegression().fit([[0.0], [1.0]], [1.0, 3.0])))
    model = {"name": "line", "version": 2, "path": str(tmp_path / "model.pkl"), "framework": "ScikitLearn"}
    process = start(tmp_path, models=[model])
    try:
        with connected(tmp_path, process) as stream:
            hello = read_frame(stream)
            assert hello is not None
            assert (hello[0]["framework"], hello[0]["batches"], hello[0]["service"]) == ("ScikitLearn", True, "s")
            bodies = (b'{"data": [[2]]}', b"{}", b'{"data": [[3], [4]]}')
            meta, parts = send(stream, batch(*bodies), *bodies)
            assert [item["s"] for item in meta["items"]] == [200, 400, 200]
            assert json.loads(parts[2])["predict"] == pytest.approx([7.0, 9.0])
            assert send(stream, {"ping": 1})[0]["rss"] > 0
            process.send_signal(signal.SIGTERM)
            assert process.wait(120) == 0
    finally:
        process.kill()
        process.communicate()


class Newer:
    """An object with a random generator that this NumPy does not know, as those of NumPy 2 are for NumPy 1."""

    def __reduce__(self) -> Any:
        return getattr(np.random._pickle, "__bit_generator_ctor"), ("Newer",)  # type: ignore[attr-defined]


def test_a_model_of_a_newer_numpy_is_explained(tmp_path: Path) -> None:
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(Newer()))
    model = {"name": "line", "version": 2, "path": str(tmp_path / "model.pkl"), "framework": "ScikitLearn"}
    process = start(tmp_path, models=[model])
    _, messages = process.communicate(timeout=120)
    assert process.returncode == 3
    hint = messages.decode().splitlines()[-1]
    assert hint.startswith("hint: the file was saved with NumPy 2, and this environment has NumPy " + np.__version__)


def test_classifiers_answer_with_probabilities_unless_asked_otherwise(tmp_path: Path) -> None:
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(LogisticRegression().fit([[0.0], [1.0]], [0, 1])))
    process = start(tmp_path, models=[{"name": "m", "version": 1, "path": str(tmp_path / "model.pkl")}])
    try:
        with connected(tmp_path, process) as stream:
            read_frame(stream)
            bodies = (b'{"data": [[2]]}', b'{"data": [[2]], "method": "predict"}')
            _, parts = send(stream, batch(*bodies), *bodies)
            assert list(json.loads(parts[0])) == ["predict_proba"]
            assert json.loads(parts[1]) == {"predict": [1]}
    finally:
        process.kill()
        process.communicate()


def test_a_script_whose_init_fails_ends_the_worker_with_its_traceback(tmp_path: Path) -> None:
    (tmp_path / "score.py").write_text("def init():\n raise OSError('no weights')\ndef run(data):\n return 1\n")
    process = start(tmp_path, entry_script="score.py", source=str(tmp_path))
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 3
    assert b"OSError: no weights" in errors
    assert not (tmp_path / "worker.sock").exists()


def test_a_script_finds_its_model_where_azure_puts_it(tmp_path: Path) -> None:
    (tmp_path / "score.py").write_text("import os\ndef run(data):\n return os.environ['AZUREML_MODEL_DIR']\n")
    model = {"name": "m", "version": 4, "path": "unused"}
    process = start(tmp_path, entry_script="score.py", source=str(tmp_path), models=[model], model_root="/app")
    try:
        with connected(tmp_path, process) as stream:
            read_frame(stream)
            _, parts = send(stream, batch(b"{}"), b"{}")
            assert json.loads(parts[0]) == "/app/azureml-models/m/4"
    finally:
        process.kill()
        process.communicate()
