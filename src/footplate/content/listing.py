"""A listing: the files of a dataset and the places of their bytes, as one file that is its own index.

    {"count":3,"format":1,"size":1234}
    ["a.txt",3,"etag",1699999999.5,"sha256:…","store","path in the store"]
    …

Each item is one line of JSON, without the empty fields at its end. Lines are sorted so that the files of a directory
are adjacent (by name, with `/` before every other character). The same items always give the same bytes, whose sha256
is the listing's digest. Directories and names are found by binary search, so opening a listing of a million items
costs as much as one of ten: nothing is read before it is needed.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import mmap
import os
from dataclasses import dataclass
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple, cast

from footplate.disk import atomic_file, space, write_all
from footplate.domain.data import Item
from footplate.domain.store_names import check_name
from footplate.errors import Broken, Conflict

FORMAT = 1
_BATCH = 4096
_EMPTY = Item("", 0)


@dataclass(frozen=True)
class ListingSummary:
    """The identity of a listing: its digest, and the `size` of all bytes in it (unknown sizes count as zero)."""

    digest: str
    count: int
    size: int


class Folder(NamedTuple):
    """Files and directories directly inside a directory of a listing."""

    folders: List[str]
    files: List[Item]


# ── Writing ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def write_listing(items: Iterable[Item], path: str) -> ListingSummary:
    """Check, sort and write the items to `path`, atomically. A name that occurs twice is a Conflict."""
    lines = sorted((_key(check_name(item.name)), _encode(item), item.size) for item in items)
    _check_tree(lines)
    size = sum(max(0, line[2]) for line in lines)
    digest = hashlib.sha256()
    with space(os.path.dirname(path)), atomic_file(path, durable=True, mode=0o644) as out:
        for block in _blocks(lines, size):
            digest.update(block)
            write_all(out, block)
    return ListingSummary(digest.hexdigest(), len(lines), size)


def _blocks(lines: List[Tuple[bytes, bytes, int]], size: int) -> Iterator[bytes]:
    yield _dump({"count": len(lines), "format": FORMAT, "size": size})
    for start in range(0, len(lines), _BATCH):
        yield b"".join(line[1] for line in lines[start : start + _BATCH])


def _key(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass").replace(b"/", b"\0")


def _encode(item: Item) -> bytes:
    end = len(item)
    while end > 2 and item[end - 1] == _EMPTY[end - 1]:
        end -= 1
    return _dump(item[:end])


def _dump(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode("ascii") + b"\n"


def _check_tree(lines: List[Tuple[bytes, bytes, int]]) -> None:
    for (before, _, _), (name, _, _) in zip(lines, lines[1:]):
        if name == before or name.startswith(before + b"\0"):
            path = name.replace(b"\0", b"/").decode("utf-8", "surrogatepass")
            what = "there twice" if name == before else "below a name that is a file"
            raise Conflict(f"{path!r} is {what}", "give each file a unique name, or remove one of them")


# ── Reading ───────────────────────────────────────────────────────────────────────────────────────────────────────────


class Listing:
    """A listing on this machine, open for reading by any number of threads."""

    def __init__(self, path: str) -> None:
        self.path = path
        with open(path, "rb") as file:
            if not os.fstat(file.fileno()).st_size:
                raise _damage_error(path)
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._start = self._bytes.find(b"\n") + 1
        self._end = len(self._bytes)
        header = _load(path, self._bytes[: self._start])
        if not isinstance(header, dict) or cast("Dict[str, Any]", header).get("format") != FORMAT:
            raise _damage_error(path)
        self.count: int = header["count"]
        self.size: int = header["size"]

    def __enter__(self) -> Listing:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._bytes.close()

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Item]:
        return self._items_from(self._start)

    def digest(self) -> str:
        return hashlib.sha256(self._bytes).hexdigest()

    def page(self, limit: int, after: str = "") -> List[Item]:
        """Return the first items, or those after a name, which need not exist."""
        start = self._find(_key(after) + b"\0") if after else self._start
        return list(itertools.islice(self._items_from(start), limit))

    def get(self, name: str) -> Optional[Item]:
        at = self._find(_key(name))
        if at >= self._end:
            return None
        item, _ = self._item(at)
        return item if item.name == name else None

    def has_folder(self, name: str) -> bool:
        if not name:
            return True
        inside = _key(name) + b"\0"
        at = self._find(inside)
        return at < self._end and _key(self._item(at)[0].name).startswith(inside)

    def folder(self, name: str = "") -> Folder:
        """Return the direct content of a directory, "" for the top. A directory that does not exist is empty.

        Lines below its subdirectories are skipped without reading them.
        """
        inside = _key(name) + b"\0" if name else b""
        content = Folder([], [])
        skip = len(name) + 1 if name else 0
        at = self._find(inside)
        while at < self._end:
            item, following = self._item(at)
            if not _key(item.name).startswith(inside):
                break
            child, _, deeper = item.name[skip:].partition("/")
            if deeper:
                content.folders.append(child)
                beyond = inside + child.encode("utf-8", "surrogatepass") + b"\1"
                at = following
                if at < self._end and _key(self._item(at)[0].name) < beyond:  # small directories are common
                    at = self._find(beyond, at)
            else:
                content.files.append(item)
                at = following
        return content

    def _items_from(self, at: int) -> Iterator[Item]:
        while at < self._end:
            item, at = self._item(at)
            yield item

    def _item(self, at: int) -> Tuple[Item, int]:
        """Return the item whose line starts at `at`, and the start of the next line."""
        following = self._bytes.find(b"\n", at) + 1 or self._end
        fields = _load(self.path, self._bytes[at:following])
        try:
            item = Item(*fields)
            check_name(item.name)
        except TypeError:
            raise _damage_error(self.path) from None
        return item, following

    def _find(self, key: bytes, low: Optional[int] = None) -> int:
        """Return the start of the first line whose name is not before `key`, by binary search."""
        low, high = self._start if low is None else low, self._end
        while low < high:
            middle = (low + high) // 2
            begin = self._bytes.rfind(b"\n", low, middle) + 1 or low
            item, following = self._item(begin)
            if _key(item.name) < key:
                low = following
            else:
                high = begin
        return low


def _load(path: str, line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        raise _damage_error(path) from None


def _damage_error(path: str) -> Broken:
    return Broken(f"{path} is not a complete listing", "remove it: it is fetched or created again when it is needed")
