"""`dataset.to_torchvision()`: the images and labels of a table as a dataset for PyTorch."""

from __future__ import annotations

import importlib
import io
import urllib.request
from typing import TYPE_CHECKING, Any, List, Optional, Tuple

from footplate.sdk.data.datastore import Datastore
from footplate.sdk.data.file_dataset import FileDataset
from footplate.sdk.data.paths import definition_of
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.handles import WorkspaceHandle as Workspace

if TYPE_CHECKING:
    from footplate.sdk.data.tabular_dataset import TabularDataset

IMAGE, LABEL = "image_url", "label"
_DATASTORE = "amldatastore://"


def open_labeled_images(table: TabularDataset, workspace: Optional[Workspace]) -> Any:
    """Return a torch Dataset of (image tensor, label) pairs; Azure's exports call the columns image_url and label.

    An image is the path of a file, an address, or AmlDatastore://<datastore>/<path>.
    """
    torch_data, to_tensor = _libraries()
    frame = table.to_pandas_dataframe().reset_index(drop=True)
    missing = [column for column in (IMAGE, LABEL) if column not in frame]
    if missing:
        raise UserErrorException(
            f"the table has no column {missing[0]!r}: {', '.join(map(str, frame.columns))}",
            hint="to_torchvision reads labeled images: the columns image_url and label",
        )
    pairs: List[Tuple[str, Any]] = list(zip(frame[IMAGE].tolist(), frame[LABEL].tolist()))
    base: Any = torch_data.Dataset

    class LabeledImages(base):
        def __len__(self) -> int:
            return len(pairs)

        def __getitem__(self, index: int) -> Tuple[Any, Any]:
            address, label = pairs[index]
            return to_tensor(_content(workspace, str(address))), label

    return LabeledImages()


def _libraries() -> Tuple[Any, Any]:
    try:
        torch, image = importlib.import_module("torch"), importlib.import_module("PIL.Image")
        data, numpy = importlib.import_module("torch.utils.data"), importlib.import_module("numpy")
    except ImportError as error:
        raise UserErrorException(
            f"to_torchvision needs a package that is not installed: {error}", hint="pip install torch pillow numpy"
        ) from error

    def to_tensor(content: bytes) -> Any:
        """Return the pixels as torchvision does: channels first, from 0 to 1."""
        pixels = numpy.asarray(image.open(io.BytesIO(content)).convert("RGB"), dtype=numpy.float32) / 255
        return torch.from_numpy(pixels.transpose(2, 0, 1).copy())

    return data, to_tensor


def _content(workspace: Optional[Workspace], address: str) -> bytes:
    if address.lower().startswith(("http://", "https://")):
        with urllib.request.urlopen(address) as reply:
            return reply.read()
    if address.lower().startswith(_DATASTORE):
        address = _download(workspace, address[len(_DATASTORE) :])
    with open(address, "rb") as file:
        return file.read()


def _download(workspace: Optional[Workspace], place: str) -> str:
    name, _, path = place.partition("/")
    if workspace is None:
        raise UserErrorException(f"the workspace of datastore {name!r} is not known", hint="register the dataset first")
    definition, _ = definition_of((Datastore.get(workspace, name), path))
    (file,) = FileDataset(definition, workspace).download()
    return file
