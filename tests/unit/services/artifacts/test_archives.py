from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator

from footplate.domain.records import FileView
from footplate.services.artifacts.archives import pack

CONTENTS = {"outputs/a.txt": b"a" * 10, "outputs/ä/empty": b"", "outputs/b.bin": bytes(range(256)) * 50}


def read(file: FileView) -> Iterator[bytes]:
    content = CONTENTS[file.path]
    for at in range(0, len(content), 1000):
        yield content[at : at + 1000]


def test_an_archive_holds_every_file_with_its_time() -> None:
    files = [FileView(path, len(content), modified=1_000_000_000.0) for path, content in CONTENTS.items()]
    with zipfile.ZipFile(io.BytesIO(b"".join(pack(files, read)))) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name) for name in archive.namelist()} == CONTENTS
        assert archive.infolist()[0].date_time == (2001, 9, 9, 1, 46, 40)


def test_an_archive_of_nothing_is_an_archive() -> None:
    assert zipfile.ZipFile(io.BytesIO(b"".join(pack([], read)))).namelist() == []


def test_a_file_without_a_time_has_the_earliest_of_the_format() -> None:
    archive = zipfile.ZipFile(io.BytesIO(b"".join(pack([FileView("outputs/a.txt", 10)], read))))
    assert archive.infolist()[0].date_time == (1980, 1, 1, 0, 0, 0)


def test_pieces_leave_before_the_archive_is_whole() -> None:
    pieces = pack([FileView("outputs/b.bin", 12_800)], read)
    assert len(next(pieces)) < 2_000
