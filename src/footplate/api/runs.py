"""Runs: submit, list, follow, change and end them."""

from __future__ import annotations

from typing import Iterator, Mapping, Optional, Sequence

from footplate.api.base import ApiNoun
from footplate.domain.codec import to_json
from footplate.domain.orders import Cause
from footplate.domain.records import RunView, StoryLine
from footplate.domain.replies import (
    DeletedRuns,
    FieldName,
    FieldValue,
    HeartbeatReply,
    RunCount,
    RunGroup,
    RunProgress,
)
from footplate.domain.specs import RunSpec
from footplate.domain.stacks import RunStacks
from footplate.domain.tuning.sweeps import SweepAnalysis, TrialView


class RunsApi(ApiNoun):
    def submit(self, workspace: str, run: str, spec: RunSpec, created_by: str = "") -> RunView:
        """Submit a run. The same id and spec again return the same run; another spec is a Conflict."""
        body = {"id": run, "spec": to_json(spec), "created_by": created_by}
        return self._post(RunView, "/workspaces/{workspace}/runs", body, workspace=workspace)

    def list(
        self,
        workspace: str,
        *,
        experiment: Optional[str] = None,
        prefix: Optional[str] = None,
        type: Optional[str] = None,
        status: Sequence[str] = (),
        tag: Sequence[str] = (),
        property: Sequence[str] = (),
        parent: Optional[str] = None,
        ancestor: Optional[str] = None,
        metric: Optional[str] = None,
        metric_min: Optional[float] = None,
        metric_max: Optional[float] = None,
        archived: Optional[bool] = None,
        where: Optional[str] = None,
        show: Sequence[str] = (),
        order: Optional[str] = None,
        ascending: bool = False,
        limit: Optional[int] = None,
    ) -> Iterator[RunView]:
        """Yield runs without their specs, newest first, page by page.

        `prefix`: the beginning of the id. `tag`, `property`: `key` or `key=value`, where `=` and `%` in a key are
        written `%3D` and `%25`. `parent`: an id, none or any. `where`: a filter (`domain.runs.run_filter`). `show`: the
        metrics whose last values to return; `*` for all. `order`: a field as in a filter. `limit`: size of a page.
        """
        query = {
            "experiment": experiment, "prefix": prefix, "type": type, "status": status, "tag": tag,
            "property": property, "parent": parent, "ancestor": ancestor, "metric": metric, "metric_min": metric_min,
            "metric_max": metric_max, "archived": archived, "where": where, "show": show, "order": order,
            "ascending": ascending or None, "limit": limit,
        }  # fmt: skip
        return self._items(RunView, "/workspaces/{workspace}/runs", query, workspace=workspace)

    def count(
        self,
        workspace: str,
        *,
        experiment: Optional[str] = None,
        prefix: Optional[str] = None,
        type: Optional[str] = None,
        status: Sequence[str] = (),
        tag: Sequence[str] = (),
        property: Sequence[str] = (),
        parent: Optional[str] = None,
        ancestor: Optional[str] = None,
        metric: Optional[str] = None,
        metric_min: Optional[float] = None,
        metric_max: Optional[float] = None,
        archived: Optional[bool] = None,
        where: Optional[str] = None,
        up_to: Optional[int] = None,
    ) -> RunCount:
        """Count the runs that `list` yields with the same filters, up to a limit, of 10,000 by default."""
        query = {
            "experiment": experiment, "prefix": prefix, "type": type, "status": status, "tag": tag,
            "property": property, "parent": parent, "ancestor": ancestor, "metric": metric, "metric_min": metric_min,
            "metric_max": metric_max, "archived": archived, "where": where, "up_to": up_to,
        }  # fmt: skip
        return self._get(RunCount, "/workspaces/{workspace}/runs/count", query, workspace=workspace)

    def names(
        self,
        workspace: str,
        kind: str,
        *,
        prefix: str = "",
        experiment: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> Iterator[FieldName]:
        """Yield names of `metrics`, `params`, `tags` or `properties` that runs have, in alphabetical order."""
        query = {"kind": kind, "prefix": prefix or None, "experiment": experiment, "limit": limit}
        return self._items(FieldName, "/workspaces/{workspace}/runs/names", query, workspace=workspace)

    def values(
        self,
        workspace: str,
        field: str,
        *,
        prefix: str = "",
        experiment: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> Iterator[FieldValue]:
        """Yield values of a field such as `tags.model`, most frequent first, among the newest runs."""
        query = {"field": field, "prefix": prefix or None, "experiment": experiment, "limit": limit}
        return self._items(FieldValue, "/workspaces/{workspace}/runs/values", query, workspace=workspace)

    def groups(
        self,
        workspace: str,
        by: str,
        *,
        show: Sequence[str] = (),
        limit: Optional[int] = None,
        experiment: Optional[str] = None,
        prefix: Optional[str] = None,
        type: Optional[str] = None,
        status: Sequence[str] = (),
        tag: Sequence[str] = (),
        property: Sequence[str] = (),
        parent: Optional[str] = None,
        ancestor: Optional[str] = None,
        metric: Optional[str] = None,
        metric_min: Optional[float] = None,
        metric_max: Optional[float] = None,
        archived: Optional[bool] = None,
        where: Optional[str] = None,
    ) -> Iterator[RunGroup]:
        """Yield groups of the runs that `list` yields with the same filters, by a field such as `params.lr`.

        `show`: the metrics whose last values are summarized for each group.
        """
        query = {
            "by": by, "show": show, "limit": limit, "experiment": experiment, "prefix": prefix, "type": type,
            "status": status, "tag": tag, "property": property, "parent": parent, "ancestor": ancestor,
            "metric": metric, "metric_min": metric_min, "metric_max": metric_max, "archived": archived, "where": where,
        }  # fmt: skip
        return self._items(RunGroup, "/workspaces/{workspace}/runs/groups", query, workspace=workspace)

    def get(
        self, run: str, *, version: Optional[int] = None, wait: Optional[float] = None, until: Optional[str] = None
    ) -> RunView:
        """Return a run. With `wait`, wait for a newer `version`, or with `until="ended"` for its end."""
        return self._get(RunView, "/runs/{run}", {"version": version, "wait": wait, "until": until}, run=run)

    def change(
        self,
        run: str,
        *,
        display_name: Optional[str] = None,
        description: Optional[str] = None,
        tags: Optional[Mapping[str, Optional[str]]] = None,
        remove_tags: Sequence[str] = (),
        properties: Optional[Mapping[str, str]] = None,
        parameters: Optional[Mapping[str, str]] = None,
        archived: Optional[bool] = None,
    ) -> RunView:
        """Change what is not None. Another value for an existing property is a Conflict."""
        body = {
            "display_name": display_name, "description": description, "tags": tags, "remove_tags": list(remove_tags),
            "properties": properties, "parameters": parameters, "archived": archived,
        }  # fmt: skip
        return self._patch(RunView, "/runs/{run}", body, run=run)

    def delete(self, run: str, force: bool = False) -> DeletedRuns:
        """Delete a run that has ended, and its descendants. `force`: even if models were made by them."""
        return self._delete(DeletedRuns, "/runs/{run}", {"force": force or None}, run=run)

    def cancel(self, run: str, by: str = "", reason: str = "") -> RunView:
        return self._post(RunView, "/runs/{run}/cancel", {"by": by, "reason": reason}, run=run)

    def restart(self, run: str, attempt: int, by: str = "", reason: str = "") -> RunView:
        """`attempt` is the number of the new attempt, so that a repeated request does not start another."""
        body = {"attempt": attempt, "by": by, "reason": reason}
        return self._post(RunView, "/runs/{run}/restart", body, run=run)

    def complete(self, run: str) -> RunView:
        return self._post(RunView, "/runs/{run}/complete", run=run)

    def fail(self, run: str, cause: Cause) -> RunView:
        return self._post(RunView, "/runs/{run}/fail", {"cause": to_json(cause)}, run=run)

    def heartbeat(self, run: str) -> HeartbeatReply:
        """Report that the process of an interactive run lives; `stop`: the run has ended."""
        return self._post(HeartbeatReply, "/runs/{run}/heartbeat", run=run)

    def set_snapshot(self, run: str, snapshot: str) -> RunView:
        """Set the snapshot of a run, which is possible once."""
        return self._post(RunView, "/runs/{run}/snapshot", {"snapshot": snapshot}, run=run)

    def warn(self, run: str, message: str) -> RunView:
        return self._post(RunView, "/runs/{run}/warnings", {"message": message}, run=run)

    def stacks(self, run: str, key: str, wait: float = 0.0) -> RunStacks:
        """Request the stack traces of a run's processes, or collect what its nodes have answered to this key."""
        return self._post(RunStacks, "/runs/{run}/stacks", {"key": key, "wait": wait}, run=run)

    def story(self, run: str) -> Iterator[StoryLine]:
        """Yield the events of a run in order."""
        return self._items(StoryLine, "/runs/{run}/story", run=run)

    def trials(self, run: str) -> Iterator[TrialView]:
        """Yield the trials of a sweep by number."""
        return self._items(TrialView, "/runs/{run}/trials", run=run)

    def sweep_analysis(self, run: str) -> SweepAnalysis:
        """Return the importance of a sweep's parameters, and its trials as parallel coordinates."""
        return self._get(SweepAnalysis, "/runs/{run}/sweep-analysis", run=run)

    def follow(
        self,
        run: str,
        *,
        version: int = -1,
        log: Optional[str] = None,
        offset: Optional[int] = None,
        wait: Optional[float] = None,
    ) -> RunProgress:
        """Return the run and its log from `offset`; wait for news in either. The default log is the first rank's."""
        query = {"version": version, "log": log, "offset": offset, "wait": wait}
        return self._get(RunProgress, "/runs/{run}/follow", query, run=run)
