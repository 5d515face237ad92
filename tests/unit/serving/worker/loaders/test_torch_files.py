"""Files of `torch.save`, written by hand as torch writes them."""

from __future__ import annotations

import pickle
import zipfile
from pathlib import Path

import pytest

from footplate.serving.worker.loaders.torch_files import class_of_module

WEIGHTS = (
    b"\x80\x02ccollections\nOrderedDict\n)RX\x06\x00\x00\x00weightctorch._utils\n_rebuild_tensor_v2\n"
    b"ctorch\nFloatStorage\n0Ns."
)
MODULE = b"\x80\x02ccollections\nOrderedDict\n0c__main__\nNet\n)\x81."
LAYERS = b"\x80\x02ctorch.nn.modules.linear\nLinear\n)\x81."
CONTENTS = {"weights": (WEIGHTS, None), "module": (MODULE, "__main__.Net"),
            "layers": (LAYERS, "torch.nn.modules.linear.Linear")}  # fmt: skip


def newer(path: Path, content: bytes) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model/version", "3\n")
        archive.writestr("model/data.pkl", content)


def older(path: Path, content: bytes) -> None:
    header = [pickle.dumps(value, 2) for value in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})]
    path.write_bytes(b"".join(header) + content + pickle.dumps(["0"], 2) + b"storage")


@pytest.mark.parametrize("write", [newer, older])
@pytest.mark.parametrize("content, expected", CONTENTS.values(), ids=CONTENTS)
def test_modules_are_told_from_weights(write: object, content: bytes, expected: str | None, tmp_path: Path) -> None:
    assert callable(write)
    write(tmp_path / "model.pt", content)
    assert class_of_module(str(tmp_path / "model.pt")) == expected


@pytest.mark.parametrize("content", [b"", b"no pickle", b"\x80\x02", b"PK\x03\x04 no archive"])
def test_other_files_hold_no_module(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.pt").write_bytes(content)
    assert class_of_module(str(tmp_path / "model.pt")) is None
