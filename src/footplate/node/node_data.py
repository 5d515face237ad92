"""The data of a run on this node: inputs made visible before the ranks start, outputs delivered after they have ended.

Inputs appear in the agent's own directory, or at `path_on_compute`; data on this machine is linked, not copied. An
output in a directory of this machine is written in place. Any other output is written here and uploaded to its store:
in mount mode while the run goes on, as files are closed, and the rest even after a failure; in upload mode if the run
succeeded. Each of several nodes uploads what its ranks wrote, and the first registers one dataset when all have ended.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shlex
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Callable, TypeVar

from footplate.content.blobs import BlobFolder
from footplate.content.listing import write_listing
from footplate.data import inputs
from footplate.data.cache import cache_of
from footplate.data.inputs import InputData, VisibleInput
from footplate.data.mounts.mount import Mount, adopt
from footplate.data.outputs import OutputUploader
from footplate.data.resolve import resolve
from footplate.data.stores.base import FileStore, Progress, Report
from footplate.data.stores.registry import open_store
from footplate.domain import azure_variables, store_names
from footplate.domain.data import OBJECT_STORES, SERVER
from footplate.domain.datasets import DatasetView, RunData, output_path, written_definition
from footplate.domain.orders import Cause, DataInput, DataOutput, NodeOrders
from footplate.domain.requests import NewDataset
from footplate.domain.text import counted
from footplate.errors import Conflict, FootplateError, NotAllowed, NotFound, Unavailable
from footplate.node import process_tree
from footplate.node.delivery.server_link import Link
from footplate.node.node_directory import NodeFolder, cache_home, see_installed_packages
from footplate.node.preparation import Failed, provide

_REPORT_SECONDS = 2.0
_PROBLEMS_REPORTED = 5
_WAIT_SECONDS = 25.0
_LOOK_SECONDS = 0.1
_OUTAGES = 10
"""How often the server may go away while one input or output is transferred."""

T = TypeVar("T")
Tell = Callable[[str], None]


class NodeData:
    """The inputs and outputs of one node. Made before the ranks start or, by the next agent, after they have ended."""

    def __init__(
        self,
        orders: NodeOrders,
        link: Link,
        home: str | None,
        folder: NodeFolder,
        tell: Tell,
        members: Callable[[], list[int]],
    ) -> None:
        """`members` returns the processes of this node: files that they have open are not uploaded."""
        see_installed_packages()  # object stores and FUSE need installed libraries
        self._orders, self._link, self._home, self._folder, self._tell = orders, link, home, folder, tell
        self._members = members
        self._workspace = orders.variables["AZUREML_WORKSPACE_ID"]
        with self._failure_as_cause("the data of the run could not be found"):
            self._run_data: RunData = link.retry(lambda: link.data(self._workspace))
            self._cache = cache_of(folder.home)
        with self._failure_as_cause("this node cannot read or write object stores"):
            self._fetch_libraries()
        self._scratch = os.path.join(folder.data, ".listings")
        self._records = os.path.join(folder.data, ".mounts")
        self._links = os.path.join(folder.data, ".links")
        self._visible: list[VisibleInput] = []
        self._mounted: dict[str, str] = {}  # mount point → name of the input
        self._uploaders: dict[str, OutputUploader] = {}
        self._warned: set[str] = set()
        self.waits_for_others = orders.node == 0 and orders.nodes > 1

    def _fetch_libraries(self) -> None:
        """Fetch what the agent and the data worker of scripts need, on a node that lacks it."""
        home = cache_home(self._folder.home)
        run_data = self._run_data
        if any(dataset.kind == "tabular" for dataset in run_data.datasets.values()):
            with contextlib.suppress(NotFound):  # only scripts read tables, and then they are told that it is missing
                provide("pyarrow", self._link, home)
        if any(spec.kind in OBJECT_STORES for spec in run_data.stores.values()):
            try:
                provide("obstore", self._link, home)
            except NotFound:
                if self._orders.outputs or any(each.mode != "direct" for each in self._orders.inputs):
                    raise

    # ── Before ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def bring(self) -> dict[str, str]:
        """Make inputs and outputs available; return the variables through which a script finds them."""
        places: dict[str, str] = {}
        os.makedirs(self._folder.data, exist_ok=True)
        for spec in self._orders.inputs:
            what = f"input {self._describe(spec)} could not be {_DONE[spec.mode]}"
            with self._failure_as_cause(what, self._hint_if_gone(spec)):
                places[spec.name] = self._patiently(functools.partial(self._show_input, spec))
        for output in self._orders.outputs:
            with self._failure_as_cause(f"output {output.name!r} could not be prepared"):
                places[output.name] = self._prepare_output(output)
        names_in_use = {*os.environ, *self._orders.variables}
        return azure_variables.data_variables(self._orders.inputs, self._orders.outputs, places, names_in_use)

    def _show_input(self, spec: DataInput) -> str:
        if spec.mode == "direct":
            return str(spec.dataset)
        at = self._place(spec.name, spec.path_on_compute)
        about = self._resolve_input(spec)
        self._refuse_inside_mount(at)
        report = self._report(f"input {spec.name!r}")
        if spec.mode == "download":
            # Only a directory of our own is certain not to belong to another node as well.
            cache = self._cache if spec.path_on_compute is None else None
            view = inputs.download_input(about, at, self._scratch, cache, spec.overwrite, report)
        else:
            view = inputs.mount_input(about, at, self._scratch, self._cache, report)
            self._mounted[str(view.root)] = spec.name
        self._visible.append(view)
        self._remember(view)
        return str(view.path)

    def _refuse_inside_mount(self, at: str) -> None:
        """Refuse a path inside a mounted input, which is read-only."""
        for place, name in self._mounted.items():
            if at.startswith(os.path.join(place, "")):
                raise Conflict(f"{at} is inside input {name!r}", "choose a path_on_compute outside all other inputs")

    def _remember(self, view: VisibleInput) -> None:
        """Record mounts and links for an agent that takes our place."""
        if view.record is not None:
            with open(self._records, "a", encoding="utf-8") as file:
                file.write(view.record + "\n")
        elif view.is_link:
            self._remember_link(str(view.root))

    def _remember_link(self, place: str) -> None:
        """Record that this link is ours: a link that somebody else created there is not removed."""
        with open(self._links, "a", encoding="ascii") as file:
            file.write(json.dumps(place) + "\n")

    def _resolve_input(self, spec: DataInput) -> InputData:
        if spec.dataset is None:
            definition = {"sources": [{"datastore": spec.datastore, "path": spec.path}]}
            return InputData(definition, {str(spec.datastore): self._run_data.stores[str(spec.datastore)]})
        dataset = self._run_data.datasets[spec.dataset]
        named = {source.get("datastore") for source in dataset.definition["sources"]}
        stores = {name: store for name, store in self._run_data.stores.items() if name in named}
        return InputData(dataset.definition, stores, self._listing(dataset), dataset.listing)

    def _listing(self, dataset: DatasetView) -> str | None:
        """Return the file listing of a pinned version, fetched into this machine's blobs if necessary."""
        digest = dataset.listing
        if digest is None:
            return None
        blobs = BlobFolder(os.path.join(self._folder.home, "blobs"))
        if not blobs.has(digest):
            self._link.retry(lambda: blobs.put_stream(digest, self._link.get_blob(digest)))
        return blobs.checked_path(digest)

    def _prepare_output(self, output: DataOutput) -> str:
        in_place = self._in_place(output)
        at = self._place(output.name, output.path_on_compute)
        if in_place is None:
            os.makedirs(at, exist_ok=True)
            return at
        os.makedirs(in_place, exist_ok=True)
        if output.path_on_compute is None:
            return in_place
        with contextlib.suppress(OSError):
            os.rmdir(at)
        os.makedirs(os.path.dirname(at), exist_ok=True)
        try:
            os.symlink(in_place, at)
        except FileExistsError:
            raise Conflict(f"{at} exists and is not an empty directory", "choose another path_on_compute") from None
        self._remember_link(at)
        return at

    def _in_place(self, output: DataOutput) -> str | None:
        """Return the directory of this machine that the output is written to, if it need not be uploaded."""
        folder = self._store(output).folder
        if folder is None or output.mode != "mount":
            return None
        return str(folder / store_names.clean_folder(output_path(output, self._orders.run)))

    def _place(self, name: str, path_on_compute: str | None) -> str:
        """Return the absolute path, relative to the working directory or, by default, in our own directory.

        A path in a working directory that nodes share is created by the node that owns it, and the others see it there.
        """
        own = os.path.join(self._folder.data, name)
        wd = os.path.join(self._folder.wd, "")
        if path_on_compute is None:
            return own
        place = os.path.abspath(os.path.join(wd, path_on_compute))
        return own if place.startswith(wd) and not self._folder.keeps_wd else place

    def _store(self, output: DataOutput) -> FileStore:
        return open_store(self._run_data.stores[output.datastore])

    # ── While ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def guard(self, pids: Iterable[int]) -> None:
        """Keep mounts until these ranks have ended, even if this agent is killed."""
        for view in self._visible:
            view.guard(pids)

    def send_as_written(self) -> None:
        """Start to upload outputs in mount mode, so that little is left at the end."""
        for output in self._orders.outputs:
            if output.mode == "mount":
                with contextlib.suppress(FootplateError):  # reported when it has to be done
                    uploader = self._uploader(output)
                    if uploader is not None:
                        uploader.start()

    def _uploader(self, output: DataOutput) -> OutputUploader | None:
        """Return the uploader of an output; None for an output that is written in place."""
        if output.name not in self._uploaders and self._in_place(output) is None:
            self._uploaders[output.name] = OutputUploader(
                self._place(output.name, output.path_on_compute),
                self._store(output),
                output_path(output, self._orders.run),
                os.path.join(self._folder.data, f".sent-{output.name}"),
                chosen=lambda name: not output.globs or any(store_names.matches(each, name) for each in output.globs),
                # A run owns what it writes: a file of an earlier attempt at the same path must not replace it.
                replaces=output.overwrite or "{run-id}" in output.path,
                being_written=lambda: process_tree.open_for_writing(self._members()),
            )
        return self._uploaders.get(output.name)

    # ── After ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def deliver(self, cause: Cause | None) -> None:
        """Upload the outputs and, if the run succeeded and this is its only node, register their datasets."""
        self._send_rest(cause is None)
        if cause is None and self._orders.nodes == 1:
            self._register_all()

    def conclude(self, say: Tell) -> None:
        """Register the datasets on the first of several nodes, when the others have uploaded theirs."""
        try:
            orders = self._wait_for_others()
            self._send_rest(orders.ended_well)  # other nodes may have written into a directory of this one
            if orders.ended_well:
                self._register_all()
        except (NotFound, Conflict, NotAllowed) as error:
            say(f"the run had already ended: {error.message}")
        except Failed as failed:  # the outcome has been reported already
            words = failed.cause.message
            say(words)
            self._link.retry(lambda: self._link.warn(words))
        finally:
            self.release()

    def _wait_for_others(self) -> NodeOrders:
        while True:
            orders = self._link.retry(lambda: self._link.orders(_WAIT_SECONDS, "ended"))
            if orders.others_ended and orders.stop:  # the server has also received our own end
                return orders
            time.sleep(_LOOK_SECONDS)

    def _send_rest(self, well: bool) -> None:
        for output in self._orders.outputs:
            if well or output.mode == "mount":
                with self._failure_as_cause(
                    f"output {output.name!r} could not be uploaded to datastore {output.datastore!r}"
                ):
                    uploader = self._uploader(output)
                    if uploader is not None:
                        self._patiently(functools.partial(self._finish, output, uploader))

    def _finish(self, output: DataOutput, uploader: OutputUploader) -> None:
        uploader.finish(self._report(f"output {output.name!r}"))
        if uploader.kept and output.name not in self._warned:
            self._warned.add(output.name)
            self._link.retry(lambda: self._link.warn(_describe_skipped(output, uploader.kept)))

    def _register_all(self) -> None:
        for output in self._orders.outputs:
            if output.is_dataset:
                with self._failure_as_cause(f"output {output.name!r} could not be registered"):
                    self._patiently(functools.partial(self._register, output))

    def _register(self, output: DataOutput) -> None:
        run = self._orders.run
        registration = output.register
        definition = written_definition(output, run)
        listing = self._store_listing({"sources": definition["sources"]})
        if listing is None:
            if registration is not None:
                words = (
                    f"output {output.name!r}: nothing was written, so there is no new version of {registration.name!r}"
                )
                self._link.retry(lambda: self._link.warn(words))
            return
        new = NewDataset(
            key=f"{run}/{output.name}/{self._orders.attempt}",
            kind="file" if output.table is None else "tabular",
            definition=definition,
            listing=listing,
            run=run,
            output=output.name,
        )
        if registration is not None:
            new = replace(
                new,
                name=registration.name,
                description=registration.description,
                tags=registration.tags,
                new_version=True,
            )
        self._link.retry(lambda: self._link.register_dataset(self._workspace, new))

    def _store_listing(self, definition: dict[str, Any]) -> str | None:
        """Return the digest of the listing of the written files; None if there are none."""
        path = os.path.join(self._scratch, f"written-{os.urandom(4).hex()}")
        os.makedirs(self._scratch, exist_ok=True)
        try:
            listing = write_listing(resolve(definition, self._run_data.stores), path)
        except NotFound:
            return None
        if self._home is not None:
            BlobFolder(os.path.join(self._home, "blobs")).put_file(path)
        elif self._link.retry(lambda: self._link.missing([listing.digest])):
            with open(path, "rb") as file:
                self._link.retry(lambda: self._link.put_blob(listing.digest, file))
        return listing.digest

    def release(self) -> None:
        """Remove mounts, and links that an earlier agent created outside of its directory."""
        for view in self._visible:
            self._report_unreadable(view)
            view.close()
        for mount in self._adopt_mounts():
            mount.close()
        with contextlib.suppress(FileNotFoundError), open(self._links, encoding="ascii") as file:
            for place in [json.loads(line) for line in file if line.endswith("\n")]:
                if os.path.islink(place):
                    os.unlink(place)

    def _report_unreadable(self, view: VisibleInput) -> None:
        """Report unreadable data: the script saw only "Input/output error", and perhaps died of it."""
        problems = list(dict.fromkeys(view.problems()))
        more = [f"… and {len(problems) - _PROBLEMS_REPORTED} more"] if len(problems) > _PROBLEMS_REPORTED else []
        for words in (*problems[:_PROBLEMS_REPORTED], *more):
            with contextlib.suppress(FootplateError):
                self._link.retry(lambda words=words: self._link.warn(f"data that could not be read: {words}"))

    def _adopt_mounts(self) -> Iterator[Mount]:
        """Yield mounts of a killed agent that nobody has removed since."""
        if self._visible or not os.path.exists(self._records):
            return
        with open(self._records, encoding="utf-8") as file:
            for line in file:
                view = adopt(line.strip())
                if view is not None:
                    yield view

    # ── Words ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _describe(self, spec: DataInput) -> str:
        if spec.dataset is None:
            return f"{spec.name!r} ({spec.datastore}/{spec.path})"
        dataset = self._run_data.datasets[spec.dataset]
        return f"{spec.name!r} (dataset {dataset.name}:{dataset.version})" if dataset.name else repr(spec.name)

    def _hint_if_gone(self, spec: DataInput) -> str | None:
        """Return a hint for data that has vanished since a version was registered, which records what there was."""
        dataset = self._run_data.datasets.get(spec.dataset or "")
        if dataset is None or dataset.name is None:
            return None
        command = shlex.join(["footplate", "data", "verify", f"{dataset.name}:{dataset.version}"])
        return f"see what changed with: {command}; bring it back, or register a new version"

    def _patiently(self, call: Callable[[], T]) -> T:
        """Repeat a call that failed while the server was away: it transfers the files of built-in datastores."""
        for _ in range(_OUTAGES if any(s.kind == SERVER for s in self._run_data.stores.values()) else 0):
            try:
                return call()
            except Unavailable:
                self._link.retry(self._link.beat)
        return call()

    @contextlib.contextmanager
    def _failure_as_cause(self, what: str, if_gone: str | None = None) -> Any:
        try:
            yield
        except (FootplateError, OSError) as error:
            message, hint = (error.message, error.hint) if isinstance(error, FootplateError) else (str(error), None)
            if isinstance(error, NotFound) and if_gone is not None:
                hint = if_gone
            raise Failed(Cause("data_failed", f"{what}: {message}", hint, self._orders.node)) from None

    def _report(self, what: str) -> Report:
        """Return a callback that reports the progress of a long transfer from time to time."""
        following = time.monotonic() + _REPORT_SECONDS

        def report(progress: Progress) -> None:
            nonlocal following
            if time.monotonic() >= following:
                following = time.monotonic() + _REPORT_SECONDS
                files = f"{progress.files} of {counted(progress.files_total, 'file')}"
                self._tell(f"{what}: {files}, {progress.bytes} bytes")

        return report


_DONE = {"mount": "mounted", "download": "downloaded", "direct": "handed over"}


def _describe_skipped(output: DataOutput, skipped: list[str]) -> str:
    there = f"in datastore {output.datastore!r} already and"
    if len(skipped) == 1:
        words = f"{skipped[0]!r} was {there} stays as it is (overwrite=True replaces it)"
    else:
        words = f"{len(skipped)} files were {there} stay, {skipped[0]!r} first (overwrite=True replaces them)"
    return f"output {output.name!r}: {words}"
