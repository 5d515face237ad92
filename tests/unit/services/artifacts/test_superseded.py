from __future__ import annotations

from collections.abc import Callable

from footplate.content.manifest import FILE, PLAIN, ManifestEntry, to_manifest
from footplate.domain.records import FileView
from footplate.errors import Unavailable
from footplate.services.artifacts.superseded import GRACE_SECONDS, Collect, SupersededContents
from footplate.services.files import FileService

from ..conftest import House


class Clock:
    """A clock that moves only when a test lets it, and calls what is due."""

    def __init__(self) -> None:
        self.now = 0.0
        self.planned: list[tuple[float, Callable[[], None]]] = []

    def later(self, seconds: float, act: Callable[[], None]) -> None:
        self.planned.append((self.now + seconds, act))

    def advance(self, seconds: float) -> None:
        self.now += seconds
        due = [act for at, act in self.planned if at <= self.now]
        self.planned = [(at, act) for at, act in self.planned if at > self.now]
        for act in due:
            act()


def test_replaced_contents_are_collected_once_after_the_grace_period() -> None:
    clock, collected = Clock(), list[set[str]]()
    contents = SupersededContents(lambda digests, _grace: collected.append(digests), clock.later, lambda: clock.now)
    contents.add([])
    assert clock.planned == [], "nothing was replaced"
    contents.add(["a", "b"])
    clock.advance(GRACE_SECONDS / 2)
    contents.add(["c"])
    clock.advance(GRACE_SECONDS / 2)
    assert collected == [{"a", "b"}]
    clock.advance(GRACE_SECONDS / 2)
    assert collected == [{"a", "b"}, {"c"}] and clock.planned == []


def test_content_that_is_replaced_again_waits_again_and_errors_pass() -> None:
    clock, collected = Clock(), list[set[str]]()

    def collect(digests: set[str], _grace: float) -> None:
        collected.append(digests)
        raise Unavailable("the database is away", "wait")

    contents = SupersededContents(collect, clock.later, lambda: clock.now)
    contents.add(["a"])
    clock.advance(GRACE_SECONDS - 1)
    contents.add(["a"])
    clock.advance(1)
    assert collected == []
    clock.advance(GRACE_SECONDS)
    assert collected == [{"a"}] and clock.planned == []


def open_files(house: House, clock: Clock) -> FileService:
    """Return the service of the house with another clock; blobs count as old at once."""

    def superseded(collect: Collect) -> SupersededContents:
        return SupersededContents(lambda digests, _grace: collect(digests, -1.0), clock.later, lambda: clock.now)

    return FileService(house.store, lambda _topic: None, house.services.object_blobs, superseded)


def save(house: House, files: FileService, *contents: bytes) -> list[str]:
    digests = [house.store.blobs.put_bytes(content) for content in contents]
    views = [
        FileView(f"checkpoints/{number}", len(content), digest)
        for number, (content, digest) in enumerate(zip(contents, digests, strict=True))
    ]
    files.save_checkpoints("r1", 0, views, 1)
    return digests


def test_only_replaced_contents_without_another_use_are_removed(house: House) -> None:
    house.submit("r1")
    clock = Clock()
    files, blobs = open_files(house, clock), house.store.blobs
    first, kept, output, source = save(house, files, b"first", b"kept", b"also an output", b"import a")
    files.add("r1", [FileView("outputs/model", 14, output)], automatic=True)
    snapshot = blobs.put_bytes(to_manifest([ManifestEntry("a.py", FILE, PLAIN, 8, source)]))
    unrelated = blobs.put_bytes(b"somebody is about to submit this")
    save(house, files, b"second", b"kept")
    assert blobs.has(first), "replaced content goes after a while"
    clock.advance(GRACE_SECONDS)
    assert blobs.missing([first, kept, output, source, snapshot, unrelated]) == {first}
