"""MLflow's experiments and runs: those of a workspace.

A model of MLflow 3 belongs to a run, which keeps the description in a tag and the files under its name.
"""

from __future__ import annotations

import atexit
import inspect
import json
import os
import time
from typing import Any, ClassVar, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple

from mlflow.store.entities.paged_list import PagedList
from mlflow.store.tracking.rest_store import RestStore
from mlflow.tracking import fluent
from mlflow.utils import search_utils
from mlflow.utils.rest_utils import MlflowHostCreds

from footplate import environ
from footplate.domain.records import RunView
from footplate.domain.runs import run_kinds
from footplate.domain.runs.run_status import TERMINAL
from footplate.sdk.experiment import Experiment
from footplate.sdk.mlflow import addresses
from footplate.sdk.mlflow.rest import (
    DATASET,
    MODEL,
    NAME,
    NOTE,
    OUTPUT,
    PARENT,
    Answers,
    Json,
    LocalAnswers,
    as_pairs,
    experiment_json,
    failure,
    filter_page,
    history_json,
    info_json,
    labels,
    milliseconds,
    run_json,
)
from footplate.sdk.run import Run
from footplate.sdk.runs import shipping as shipping  # registers what it does at exit, before this module does
from footplate.sdk.workspace import Workspace


def _create(store: TrackingStore, request: Json) -> Json:
    run_id = request.get("source_run_id") or os.environ.get("AZUREML_RUN_ID")
    if not run_id:
        raise failure("a model belongs to a run, and no run is active\nhint: log it inside `with mlflow.start_run():`",
                      "INVALID_PARAMETER_VALUE")  # fmt: skip
    name = request.get("name") or "model"
    now = milliseconds(time.time())
    info: Json = {
        "model_id": f"{run_id}.{name}",
        "experiment_id": request["experiment_id"],
        "name": name,
        "artifact_uri": addresses.below(addresses.run_address(store.address, run_id), name),
        "creation_timestamp_ms": now,
        "last_updated_timestamp_ms": now,
        "source_run_id": run_id,
        "status": "LOGGED_MODEL_PENDING",
        "model_type": request.get("model_type", ""),
        "tags": request.get("tags") or [],
    }
    return _keep(store, {"info": info, "data": {"params": request.get("params") or []}})


def _get(store: TrackingStore, request: Json) -> Json:
    run_id, _, name = request["model_id"].rpartition(".")
    text = store.workspace.session.api.runs.get(run_id).tags.get(MODEL + name) if run_id else None
    if text is None:
        raise failure(f"there is no model {request['model_id']!r}", "RESOURCE_DOES_NOT_EXIST")
    return {"model": json.loads(text)}


def _list(store: TrackingStore, request: Json) -> Json:
    views = store.runs_of(request.get("experiment_ids") or ())
    texts = [text for view in views for key, text in view.tags.items() if key.startswith(MODEL) and text]
    return {"models": [json.loads(text) for text in texts]}


def _finalize(store: TrackingStore, request: Json) -> Json:
    return _change(store, request, status=request["status"])


def _set_tags(store: TrackingStore, request: Json) -> Json:
    tags = labels(_get(store, request)["model"]["info"]["tags"])
    return _change(store, request, tags=as_pairs({**tags, **labels(request.get("tags"))}))


def _add_parameters(store: TrackingStore, request: Json) -> Json:
    model = _get(store, request)["model"]
    model["data"]["params"] += request.get("params") or []
    return _keep(store, model)


def _change(store: TrackingStore, request: Json, **fields: Any) -> Json:
    model = _get(store, request)["model"]
    model["info"].update(fields, last_updated_timestamp_ms=milliseconds(time.time()))
    return _keep(store, model)


def _keep(store: TrackingStore, model: Dict[str, Any]) -> Json:
    info = model["info"]
    store.workspace.session.api.runs.change(info["source_run_id"], tags={MODEL + info["name"]: json.dumps(model)})
    return {"model": model}


ANSWERS = {
    "CreateLoggedModel": _create,
    "GetLoggedModel": _get,
    "SearchLoggedModels": _list,
    "FinalizeLoggedModel": _finalize,
    "SetLoggedModelTags": _set_tags,
    "LogLoggedModelParamsRequest": _add_parameters,
}


_QUIET = "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT"
"""MLflow prints links to its own web page, which does not exist here; versions before 3 cannot be stopped."""

_HOST = "footplate:"

_ALL = 50_000
_mlflow_search: Any = search_utils
_ARCHIVED = {"ACTIVE_ONLY": False, "DELETED_ONLY": True}
_HISTORY = "mlflow.log-model.history"


class TrackingStore(LocalAnswers, RestStore):
    """The tracking store for one workspace. Threads may share it."""

    def __init__(self, address: str) -> None:
        super().__init__(lambda: MlflowHostCreds(_HOST))
        os.environ.setdefault(_QUIET, "true")
        # MLflow ends its active run at exit, but after `runs.shipping`, which was imported later, has sent the metrics.
        atexit.register(fluent.end_run)
        self.address = addresses.workspace_part(address)
        self._runs: Dict[str, Run] = {}  # runs that this process has started
        self._adopted = False  # the job's own run has been started by MLflow
        self._logged: Dict[Tuple[str, str], int] = {}  # the last step of each series

    @property
    def workspace(self) -> Workspace:
        return addresses.open_workspace(self.address)

    # ── experiments ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _experiments(self, name: Optional[str] = None, archived: Optional[bool] = None) -> List[Experiment]:
        view = {None: "All", True: "ArchivedOnly", False: "ActiveOnly"}[archived]
        return Experiment.list(self.workspace, name, view)

    def _experiment(self, experiment_id: str) -> Experiment:
        for each in self._experiments():
            if each.id == experiment_id:
                return each
        raise failure(f"there is no experiment with the id {experiment_id!r}", "RESOURCE_DOES_NOT_EXIST")

    def _experiment_json(self, experiment: Experiment) -> Json:
        return experiment_json(experiment.view, self.address)

    def _create_experiment(self, request: Json) -> Json:
        if self._experiments(request["name"]):
            raise failure(f"experiment {request['name']!r} exists already", "RESOURCE_ALREADY_EXISTS")
        experiment = Experiment(self.workspace, request["name"])
        if request.get("tags"):
            experiment.set_tags(labels(request["tags"]))
        return {"experiment_id": experiment.id}

    def _get_experiment(self, request: Json) -> Json:
        return {"experiment": self._experiment_json(self._experiment(request["experiment_id"]))}

    def _get_experiment_by_name(self, request: Json) -> Json:
        experiments = self._experiments(request["experiment_name"])
        if not experiments:
            raise failure(f"there is no experiment {request['experiment_name']!r}", "RESOURCE_DOES_NOT_EXIST")
        return {"experiment": self._experiment_json(experiments[0])}

    def _list_experiments(self, request: Json) -> Json:
        archived = _ARCHIVED.get(request.get("view_type", "ACTIVE_ONLY"))
        return {"experiments": [self._experiment_json(each) for each in self._experiments(archived=archived)]}

    def _delete_experiment(self, request: Json) -> Json:
        self._experiment(request["experiment_id"]).archive()
        return {}

    def _restore_experiment(self, request: Json) -> Json:
        self._experiment(request["experiment_id"]).reactivate()
        return {}

    def _set_experiment_tag(self, request: Json) -> Json:
        self._experiment(request["experiment_id"]).tag(request["key"], request.get("value"))
        return {}

    def search_experiments(
        self,
        view_type: Any = 1,
        max_results: Any = None,
        filter_string: Any = None,
        order_by: Any = None,
        page_token: Any = None,
    ) -> Any:
        rest: Any = super()
        search: Any = _mlflow_search.SearchExperimentsUtils  # since MLflow 1.28, as this method
        experiments = rest.search_experiments(view_type, _ALL)
        return filter_page(search, experiments, filter_string, max_results, order_by, page_token)

    # ── runs ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _run(self, run_id: str) -> Run:
        if run_id == _job():
            return Run.get_context()
        return self._runs.get(run_id) or self.workspace.get_run(run_id)

    def _run_json(self, run: Run) -> Json:
        run.flush()
        api = self.workspace.session.api
        last = {each.name: each.last for each in api.metrics.summary(run.id) if not each.system}
        return run_json(api.runs.get(run.id), last, self.address)

    def _create_run(self, request: Json) -> Json:
        tags = labels(request.get("tags"))
        name = tags.pop(NAME, None)
        name = request.get("run_name") or name
        parent = tags.pop(PARENT, None)
        run = self._start(request["experiment_id"], name, parent)
        self._set_tags(run.id, {**tags, **({NAME: name} if name else {})})
        return {"run": self._run_json(run)}

    def _start(self, experiment_id: str, name: Optional[str], parent: Optional[str]) -> Run:
        """Start a run: the first one in a job is the job's own, as are those that a call such as log_metric starts.

        Other runs are children of the job.
        """
        job = _job()
        if job and not parent and (not self._adopted or _is_implicit()):
            self._adopted = True
            return self._run(job)
        if parent or job:
            run = self._run(parent or job or "").child_run(name)
        else:
            run = self._experiment(experiment_id).start_logging(outputs=False, snapshot_directory=None)
        self._runs[run.id] = run
        return run

    def _get_run(self, request: Json) -> Json:
        self._adopted = self._adopted or request["run_id"] == _job()
        return {"run": self._run_json(self._run(request["run_id"]))}

    def _update_run(self, request: Json) -> Json:
        run = self._run(request["run_id"])
        if request.get("run_name"):
            run.display_name = request["run_name"]
        view = self.workspace.session.api.runs.get(run.id)
        if view.status not in TERMINAL and not run_kinds.kind_of(view).has_nodes:  # a job ends with its script
            self._end(run, request.get("status"))
        return {"run_info": info_json(self.workspace.session.api.runs.get(run.id), self.address)}

    def _end(self, run: Run, status: Optional[str]) -> None:
        if status == "FINISHED":
            run.complete()
        elif status == "FAILED":
            run.fail("MLflow ended the run as FAILED")
        elif status == "KILLED":
            run.cancel()

    def _archive_run(self, request: Json, archived: bool = True) -> Json:
        self.workspace.session.api.runs.change(request["run_id"], archived=archived)
        return {}

    def _restore_run(self, request: Json) -> Json:
        return self._archive_run(request, archived=False)

    def _list_runs(self, request: Json) -> Json:
        archived = _ARCHIVED.get(request.get("run_view_type", "ACTIVE_ONLY"))
        views = self.runs_of(request.get("experiment_ids") or (), archived, show=("*",))
        return {"runs": [run_json(view, view.metrics, self.address) for view in views]}

    def runs_of(
        self, experiment_ids: Iterable[str], archived: Optional[bool] = False, show: Sequence[str] = ()
    ) -> Iterator[RunView]:
        """Yield the runs of these experiments, with the last values of the metrics in `show`."""
        workspace = self.workspace
        for each in map(self._experiment, experiment_ids):
            yield from workspace.session.api.runs.list(
                workspace.id, experiment=each.name, parent="any", archived=archived, show=show
            )

    def _search_runs(
        self, experiment_ids: Any, filter_string: Any, run_view_type: Any, max_results: Any, order_by: Any,
        page_token: Any,
    ) -> Any:  # fmt: skip
        rest: Any = super()
        search: Any = _mlflow_search.SearchUtils
        runs, _ = rest._search_runs(experiment_ids, None, run_view_type, _ALL, None, None)
        return search.paginate(search.sort(search.filter(runs, filter_string), order_by), page_token, max_results)

    def search_logged_models(
        self, experiment_ids: Any, filter_string: Any = None, datasets: Any = None, max_results: Any = None,
        order_by: Any = None, page_token: Any = None,
    ) -> Any:  # fmt: skip
        rest: Any = super()
        search: Any = _mlflow_search.SearchLoggedModelsUtils  # since MLflow 3, as this method
        models = search.filter_logged_models(rest.search_logged_models(experiment_ids), filter_string, datasets)
        page: Any = search.paginate(search.sort(models, order_by), page_token, max_results or _ALL)
        return PagedList(*page)

    # ── logging ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _log_metric(self, request: Json) -> Json:
        return self._log_batch({"run_id": request["run_id"], "metrics": [request]})

    def _log_param(self, request: Json) -> Json:
        return self._log_batch({"run_id": request["run_id"], "params": [request]})

    def _set_tag(self, request: Json) -> Json:
        return self._log_batch({"run_id": request["run_id"], "tags": [request]})

    def _log_batch(self, request: Json) -> Json:
        run_id = request["run_id"]
        metrics = [each for each in request.get("metrics") or () if not self._is_copy(run_id, each)]
        if metrics:
            run = self._run(run_id)
            for each in metrics:
                run.log(each["key"], float(each["value"]), step=self._step(run_id, each))
        parameters = labels(request.get("params"))
        if parameters:
            self.workspace.session.api.runs.change(run_id, parameters=parameters)
        self._set_tags(run_id, labels(request.get("tags")))
        return {}

    def _step(self, run_id: str, metric: Json) -> Optional[int]:
        """Return the step of a value, or None to count it: MLflow sends 0 for every value logged without a step."""
        key = (run_id, metric["key"])
        step = int(metric.get("step") or 0)
        repeated = step == 0 and self._logged.get(key) == 0
        self._logged[key] = step
        return None if repeated else step

    def _is_copy(self, run_id: str, metric: Json) -> bool:
        """Tell whether the run has this value: MLflow 3 logs values again for each model that the run saves."""
        if not metric.get("model_id"):
            return False
        history = self._get_metric_history({"run_id": run_id, "metric_key": metric["key"]})["metrics"]
        fields = ("timestamp", "step", "value")
        return [metric.get(field) for field in fields] in [[each[field] for field in fields] for each in history]

    def _set_tags(self, run_id: str, tags: Mapping[str, str]) -> None:
        if tags:
            own = {key: value for key, value in tags.items() if key not in (NAME, NOTE)}
            api = self.workspace.session.api.runs
            api.change(run_id, tags=own, display_name=tags.get(NAME), description=tags.get(NOTE))

    def _delete_tag(self, request: Json) -> Json:
        self.workspace.session.api.runs.change(request["run_id"], remove_tags=[request["key"]])
        return {}

    def _get_metric_history(self, request: Json) -> Json:
        name = request["metric_key"]
        self._run(request["run_id"]).flush()
        series = self.workspace.session.api.metrics.read(request["run_id"], name=name)
        return {"metrics": history_json(name, series.get(request["run_id"], ()))}

    def _log_inputs(self, request: Json) -> Json:
        datasets = {each["dataset"]["digest"]: json.dumps(each) for each in request.get("datasets") or ()}
        return self._add_properties(request["run_id"], DATASET, datasets)

    def _log_outputs(self, request: Json) -> Json:
        models = {each["model_id"]: json.dumps(each) for each in request.get("models") or ()}
        return self._add_properties(request["run_id"], OUTPUT, models)

    def _add_properties(self, run_id: str, prefix: str, values: Mapping[str, str]) -> Json:
        api = self.workspace.session.api.runs
        existing = api.get(run_id).properties if values else {}
        new = {prefix + key: value for key, value in values.items() if prefix + key not in existing}
        if new:
            api.change(run_id, properties=new)
        return {}

    def _log_model(self, request: Json) -> Json:
        """Note a model of MLflow 1 or 2 in the run's tag for it, as MLflow does."""
        api = self.workspace.session.api.runs
        history = json.loads(api.get(request["run_id"]).tags.get(_HISTORY) or "[]")
        history.append(json.loads(request["model_json"]))
        api.change(request["run_id"], tags={_HISTORY: json.dumps(history)})
        return {}

    answers: ClassVar[Answers] = {
        "CreateExperiment": _create_experiment, "GetExperiment": _get_experiment, "ListExperiments": _list_experiments,
        "GetExperimentByName": _get_experiment_by_name, "SearchExperiments": _list_experiments,
        "DeleteExperiment": _delete_experiment, "RestoreExperiment": _restore_experiment,
        "SetExperimentTag": _set_experiment_tag, "CreateRun": _create_run, "GetRun": _get_run,
        "UpdateRun": _update_run, "DeleteRun": _archive_run, "RestoreRun": _restore_run, "SearchRuns": _list_runs,
        "LogMetric": _log_metric, "LogParam": _log_param, "LogBatch": _log_batch, "SetTag": _set_tag,
        "DeleteTag": _delete_tag, "GetMetricHistory": _get_metric_history, "LogInputs": _log_inputs,
        "LogOutputs": _log_outputs, "LogModel": _log_model, **ANSWERS,
    }  # fmt: skip


def _job() -> Optional[str]:
    """Return the id of the run that this process belongs to."""
    return os.environ.get(environ.RUN_ID) and os.environ.get("AZUREML_RUN_ID")


def _is_implicit() -> bool:
    """Return whether a call such as `mlflow.log_metric` starts a run because none is active.

    MLflow sends the same request for `mlflow.start_run()`, and only the calling functions differ.
    """
    implicit = getattr(getattr(fluent, "_get_or_start_run", None), "__code__", None)
    frame = inspect.currentframe()
    while frame is not None and frame.f_code is not implicit:
        frame = frame.f_back
    return frame is not None
