"""The files that an upload takes from this machine, under the names that they get in a datastore, run or model.

A link that leads out of the uploaded folder is treated as in snapshots: a modest file is copied with a warning; a
folder or a large file is an error. Links that stay in the folder are followed.
"""

from __future__ import annotations

import os
from typing import Any, Callable, List, Optional, Sequence, Tuple, Union

from footplate.content.walk import MOST_COPIED
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.values.warn import warn_caller

Wanted = Callable[[str], bool]
_NAMED_IN_WARNING = 5
_LINK_HINT = "upload its target separately, copy it into the folder, or remove the link"


def data_below(folder: str, wanted: Wanted = lambda name: True) -> List[Tuple[str, str]]:
    """Return `(path, name with slashes)` of every wanted file below `folder`, sorted by name."""
    gathering = _Gathering(folder, wanted)
    gathering.enter(folder, "", ())
    _warn("links lead out of the folder, and the upload copies their targets", gathering.copied)
    _warn("left out of the upload, because they are neither files nor folders", gathering.left_out)
    return sorted(gathering.found, key=lambda pair: pair[1])


def named_files(files: Sequence[Union[str, Any]], relative_root: Optional[str]) -> List[Tuple[str, str]]:
    """Return the same for files that the caller lists. All are followed, and links out of their folder are reported."""
    if isinstance(files, (str, os.PathLike)):
        raise UserErrorException(f"files is the path {files!r}", hint=f"give a list: files=[{files!r}]")
    paths = [os.path.abspath(os.fspath(path)) for path in files]
    missing = next((path for path in paths if not os.path.isfile(path)), None)
    if missing is not None:
        raise UserErrorException(f"the file {missing!r} does not exist", hint="upload a folder with upload")
    if not paths:
        raise UserErrorException("no files were given", hint="give at least one path")
    common = os.path.commonpath([os.path.dirname(path) for path in paths])
    root = common if relative_root is None else os.path.abspath(relative_root)
    for path in paths:
        if os.path.commonpath([root, path]) != root:
            raise UserErrorException(
                f"{path!r} is not below relative_root {relative_root!r}", hint="give a folder above all the files"
            )
    top = os.path.realpath(root)
    _warn("links lead out of the folder, and the upload copies their targets", [p for p in paths if _leaves(p, top)])
    return [(path, os.path.relpath(path, root).replace(os.sep, "/")) for path in paths]


class _Gathering:
    """A walk over a folder of data that follows the links that stay in it."""

    def __init__(self, folder: str, wanted: Wanted) -> None:
        self._top = os.path.realpath(folder)
        self._wanted = wanted
        self.found: List[Tuple[str, str]] = []
        self.copied: List[str] = []
        self.left_out: List[str] = []

    def enter(self, folder: str, prefix: str, above: Tuple[Tuple[int, int], ...]) -> None:
        info = os.stat(folder)
        this = (info.st_dev, info.st_ino)
        if this in above:  # a link to a folder above
            return
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            if os.path.isdir(path):
                if os.path.islink(path) and _leaves(path, self._top):
                    raise UserErrorException(f"{_link(prefix + name, path)}, which is a folder", hint=_LINK_HINT)
                self.enter(path, f"{prefix}{name}/", (*above, this))
            elif self._wanted(prefix + name):
                self._take(prefix + name, path)

    def _take(self, name: str, path: str) -> None:
        if not os.path.isfile(path):
            self.left_out.append(name)
            return
        if os.path.islink(path) and _leaves(path, self._top):
            size = os.stat(path).st_size
            if size > MOST_COPIED:
                most = f"files of up to {MOST_COPIED / 1e6:.0f} MB are copied"
                raise UserErrorException(f"{_link(name, path)}, a file of {size / 1e6:.0f} MB; {most}", hint=_LINK_HINT)
            self.copied.append(name)
        self.found.append((path, name))


def _leaves(path: str, top: str) -> bool:
    """Whether the path leads out of the folder `top`, which has no links."""
    return os.path.commonpath([os.path.realpath(path), top]) != top


def _link(name: str, path: str) -> str:
    return f"the link {name!r} leads out of the folder, to {os.readlink(path)!r}"


def _warn(what: str, names: Sequence[str]) -> None:
    if names:
        first_names = ", ".join(sorted(names)[:_NAMED_IN_WARNING])
        more = len(names) - _NAMED_IN_WARNING
        warn_caller(f"{what}: {first_names}{f' and {more} more' if more > 0 else ''}")
