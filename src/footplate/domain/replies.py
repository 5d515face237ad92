"""Responses of the HTTP API that are not records of something the server keeps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple

from footplate.domain.records import RunView, StoryLine


@dataclass(frozen=True)
class ServerInfo:
    """The server's description of itself. `blobs` is the path of its blob store, null over TCP."""

    version: str
    pid: int
    started: float
    home: str
    blobs: Optional[str]
    database: str
    active_runs: int
    page: Optional[str] = None  # the address of the page; that of a laptop listens after `POST /server/page`


@dataclass(frozen=True)
class PageLink:
    """The address of the page, and a code that opens one session there."""

    address: str
    code: str


@dataclass(frozen=True)
class SessionView:
    """The session of a browser. `secret` is the header that each request must carry beside the cookie."""

    cookie: str  # its name
    secret: str
    expires: float


@dataclass(frozen=True)
class ServerStopping:
    stopping: bool


@dataclass(frozen=True)
class DeletedRuns:
    """The ids of runs that were deleted: a run and its descendants."""

    deleted: Tuple[str, ...]


@dataclass(frozen=True)
class RunCount:
    """The number of runs that match; with `more`, there are more than were counted."""

    count: int
    more: bool


@dataclass(frozen=True)
class SavedView:
    """A view of the table of runs under a name. `search` is what the page's address holds."""

    name: str
    search: Dict[str, Any]
    modified: float


@dataclass(frozen=True)
class FieldName:
    """The name of a metric, parameter, tag or property that runs of the workspace have."""

    name: str


@dataclass(frozen=True)
class FieldValue:
    """A value of a field, and how many of the newest runs have it."""

    value: str
    runs: int


@dataclass(frozen=True)
class MetricSpread:
    """The last values of a metric in a group of runs; `runs` counts those that are numbers."""

    runs: int
    min: float
    mean: float
    max: float


@dataclass(frozen=True)
class RunGroup:
    """Runs with the same value of a field, or without one. `newest` is when the newest was created."""

    value: Optional[str]
    runs: int
    newest: float
    metrics: Dict[str, MetricSpread] = field(default_factory=lambda: {})


@dataclass(frozen=True)
class AgentTool:
    """The archive of a package that an agent on another machine imports."""

    digest: str


@dataclass(frozen=True)
class CollectedGarbage:
    """The blobs that were removed, or would be, and those that nothing needs but that are too recent to go."""

    blobs: int
    bytes: int
    recent_blobs: int
    recent_bytes: int


@dataclass(frozen=True)
class NotificationTest:
    """The result of a test message by channel: an error, or None if it was delivered."""

    channels: Dict[str, Optional[str]]


@dataclass(frozen=True)
class RunProgress:
    """A run and the new part of its log: `text` ends at `offset` of the log named `log`."""

    run: RunView
    log: Optional[str]
    offset: int
    text: str


@dataclass(frozen=True)
class AddedFiles:
    """Names of files that a run now has; `skipped` names existed before."""

    stored: Tuple[str, ...]
    skipped: Tuple[str, ...]


@dataclass(frozen=True)
class AppendedBytes:
    """Size of a log or journal after an append."""

    size: int


@dataclass(frozen=True)
class LogOffset:
    """A place in a log, in bytes."""

    offset: int


@dataclass(frozen=True)
class LogPage:
    """Lines of a log, from number `first` (counted from 0): the bytes from `offset` to `end`.

    `lines` counts those of the whole log. A text is what a terminal shows of its line: what follows the last carriage
    return, at most 16,384 characters. `times` tells when the lines arrived, to the second, null if that is unknown.
    """

    path: str
    size: int
    lines: int
    first: int
    offset: int
    end: int
    texts: List[str]
    offsets: List[int]
    times: List[Optional[float]]


@dataclass(frozen=True)
class LogMatch:
    """A line that matches: characters `start` to `end` of `text`, which is the part of the line around the match."""

    line: int
    offset: int
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class LogMatches:
    """Matches in the order of the log. `next` is the offset to go on from; null at its end."""

    path: str
    size: int
    matches: Tuple[LogMatch, ...]
    next: Optional[int]


@dataclass(frozen=True)
class RankLog:
    """Lines of a log around a moment, and the rank that wrote it; null for a log of the system."""

    rank: Optional[int]
    page: LogPage


@dataclass(frozen=True)
class HardwareSample:
    """The sample of a machine that is nearest to a moment."""

    name: str
    time: float
    value: Optional[float]


@dataclass(frozen=True)
class CheckpointFile:
    """A file among the checkpoints of a run, and when it was saved."""

    path: str
    time: float


@dataclass(frozen=True)
class Moment:
    """A moment of a run: its logs, its machines, its events, and the newest checkpoint that was saved before it."""

    time: float
    logs: Tuple[RankLog, ...]
    hardware: Tuple[HardwareSample, ...]
    events: Tuple[StoryLine, ...]
    checkpoint: Optional[CheckpointFile] = None


@dataclass(frozen=True)
class MissingBlobs:
    missing: Tuple[str, ...]
    damage: bool = False  # blobs were found damaged and have not been sent again


@dataclass(frozen=True)
class MetricSeries:
    """A metric: `points` is a list of `[time, step, value]` in the order logged.

    `dropped` counts points whose kind differs from the kind of the first one. `attempts` tells where the points of each
    later attempt of the run begin: `[attempt, index of its first point]`. Points of earlier attempts at steps that a
    later one repeated are left out.
    """

    name: str
    kind: str
    points: Any  # not a tuple of points: the codec would visit each of millions
    dropped: int = 0
    attempts: Tuple[Tuple[int, int], ...] = ()


@dataclass(frozen=True)
class CurveBuckets:
    """Summaries of points, as columns of one length: bucket `i` begins at `x[i]`. Extremes are of finite values."""

    x: Any  # lists of numbers: the codec would visit each
    first: Any
    min: Any
    max: Any
    last: Any
    count: Any
    nan: Any
    inf: Any


@dataclass(frozen=True)
class CurveView:
    """A metric of a run on the grid of a picture: either its points (`x`, `value`) or `buckets`.

    `starts` has `[attempt, x]` for each later attempt. A value that is not finite is null. `rank` is set where each
    rank has a curve of its own.
    """

    run: str
    name: str
    total: int
    x: Any = None
    value: Any = None
    buckets: Optional[CurveBuckets] = None
    starts: Tuple[Tuple[int, float], ...] = ()
    rank: Optional[int] = None


@dataclass(frozen=True)
class SeriesGrid:
    """Curves on one grid. `width` is that of the buckets, null where all points are returned."""

    axis: str
    low: Optional[float]
    high: Optional[float]
    width: Optional[float]
    curves: Tuple[CurveView, ...]


@dataclass(frozen=True)
class MetricSummary:
    name: str
    kind: str
    system: bool
    count: int
    last: Any
    min: Optional[float]
    max: Optional[float]
    dropped: int = 0


@dataclass(frozen=True)
class LoggedPoint:
    """When a point of a metric was logged, and at which step."""

    time: float
    step: Optional[float]


@dataclass(frozen=True)
class NodeEventReply:
    """`stop` tells the node agent to stop its ranks."""

    stop: bool


@dataclass(frozen=True)
class ShipmentReply:
    """`stop` tells the node agent to stop its ranks; `stored` counts the pieces before the first that was refused."""

    stop: bool
    stored: int


@dataclass(frozen=True)
class SavedCheckpoints:
    """`skipped`: paths that the run has used for other files."""

    skipped: Tuple[str, ...] = ()


@dataclass(frozen=True)
class UploadPart:
    """A part of a file, and the URL at an object store to which it is to be sent with PUT."""

    url: str
    offset: int
    size: int


@dataclass(frozen=True)
class DirectUpload:
    """The parts of a blob that the object store lacks; there may be more.

    `stored`: the server has the blob. Neither stored nor parts: send it to the server. `headers`: for each request.
    """

    stored: bool
    parts: Tuple[UploadPart, ...] = ()
    headers: Dict[str, str] = field(default_factory=lambda: {})


@dataclass(frozen=True)
class Handover:
    """`taken`: the server has the file. Otherwise it does not see the directory, and the file is to be sent."""

    taken: bool


@dataclass(frozen=True)
class HeartbeatReply:
    """`stop` tells a node agent to stop its ranks, and a client that its run has ended.

    `stacks` holds the keys of open requests for stack traces.
    """

    stop: bool
    stacks: Tuple[str, ...] = ()


@dataclass(frozen=True)
class UnregisteredDataset:
    """`versions` counts the versions that lost their name."""

    versions: int


@dataclass(frozen=True)
class SecretName:
    name: str


@dataclass(frozen=True)
class Secret:
    name: str
    value: str


@dataclass(frozen=True)
class DatasetFile:
    """A file that a dataset version pins: its name in the dataset, and its path in its store where that differs."""

    name: str
    size: int
    etag: str = ""
    modified: float = 0.0
    digest: str = ""
    store: str = ""
    path: str = ""


EntryFields = Tuple[str, int, str, float]
"""A file of a datastore: path, size, etag, time of modification."""


@dataclass(frozen=True)
class FolderListing:
    """The direct children of a folder of a datastore."""

    folders: Tuple[str, ...]
    files: Tuple[EntryFields, ...]


@dataclass(frozen=True)
class StoredBytes:
    """How many bytes of a file the server has; `entry` is set when it has all of them."""

    size: int
    entry: Optional[EntryFields]
