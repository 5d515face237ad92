"""MLflow's registered models: those of a workspace, without stages."""

from __future__ import annotations

from typing import Any, ClassVar, List

from mlflow.store.model_registry.rest_store import RestStore
from mlflow.utils import search_utils
from mlflow.utils.rest_utils import MlflowHostCreds

from footplate.sdk.exceptions import WebserviceException
from footplate.sdk.mlflow import addresses
from footplate.sdk.mlflow.rest import (
    Answers,
    Json,
    LocalAnswers,
    as_pairs,
    failure,
    filter_page,
    labels,
    milliseconds,
    without_nulls,
)
from footplate.sdk.models.model import Model, register_from_run
from footplate.sdk.models.registration import KINDS
from footplate.sdk.workspace import Workspace

_mlflow_search: Any = search_utils
_CAN_FILTER = hasattr(search_utils, "SearchModelVersionUtils")  # since MLflow 2

_MISSING = "RESOURCE_DOES_NOT_EXIST"


class RegistryStore(LocalAnswers, RestStore):
    """The registry of one workspace. A registered model exists as long as it has versions."""

    def __init__(self, address: str) -> None:
        rest: Any = super()
        rest.__init__(lambda: MlflowHostCreds(address))
        self.address = addresses.workspace_part(address)

    @property
    def workspace(self) -> Workspace:
        return addresses.open_workspace(self.address)

    def _versions(self, name: str) -> List[Model]:
        """Return the versions of a model, newest first."""
        models = Model.list(self.workspace, name)
        if not models:
            raise failure(f"there is no model {name!r}", _MISSING)
        return sorted(models, key=lambda model: -model.version)

    def _version(self, request: Json) -> Model:
        try:
            return Model(self.workspace, request["name"], version=int(request["version"]))
        except WebserviceException as error:
            raise failure(error.message, _MISSING) from error

    def _version_with_alias(self, request: Json) -> Model:
        name, alias = request["name"], request["alias"]
        models = [model for model in self._versions(name) if alias in model.view.aliases]
        if not models:
            raise failure(f"model {name!r} has no alias {alias!r}", _MISSING)
        return models[0]

    def _change(self, model: Model, **change: Any) -> None:
        self.workspace.session.api_for(KINDS).models.change(self.workspace.id, model.name, model.version, **change)

    def _version_json(self, model: Model) -> Json:
        return without_nulls(
            {
                "name": model.name,
                "version": str(model.version),
                "creation_timestamp": milliseconds(model.created_time.timestamp()),
                "last_updated_timestamp": milliseconds(model.created_time.timestamp()),
                "current_stage": "None",
                "description": model.description,
                "source": addresses.model_address(self.address, model.name, model.version),
                "run_id": model.run_id,
                "status": "READY",
                "tags": as_pairs(model.tags),
                "aliases": list(model.view.aliases),
            }
        )

    def _model_json(self, versions: List[Model]) -> Json:
        newest = self._version_json(versions[0])
        common = {key: newest[key] for key in ("name", "last_updated_timestamp")}
        common["creation_timestamp"] = milliseconds(versions[-1].created_time.timestamp())
        aliases = [
            {"alias": alias, "version": str(model.version)} for model in versions for alias in model.view.aliases
        ]
        return {**common, "latest_versions": [newest], "aliases": aliases}

    def _create_model(self, request: Json) -> Json:
        """Accept the name of a model; its first version creates it."""
        if Model.list(self.workspace, request["name"]):
            raise failure(f"model {request['name']!r} exists already", "RESOURCE_ALREADY_EXISTS")
        return {"registered_model": {"name": request["name"]}}

    def _get_model(self, request: Json) -> Json:
        return {"registered_model": self._model_json(self._versions(request["name"]))}

    def _list_models(self, request: Json) -> Json:
        names = sorted(self.workspace.models) if not request.get("filter") else [_name_in(request["filter"])]
        models = [(name, Model.list(self.workspace, name)) for name in names]
        return {"registered_models": [self._model_json(self._versions(name)) for name, versions in models if versions]}

    def search_registered_models(
        self, filter_string: Any = None, max_results: Any = None, order_by: Any = None, page_token: Any = None
    ) -> Any:
        rest: Any = super()
        if not _CAN_FILTER:
            return rest.search_registered_models(filter_string, max_results, order_by, page_token)
        return filter_page(_mlflow_search.SearchModelUtils, rest.search_registered_models(),
                      filter_string, max_results, order_by, page_token)  # fmt: skip

    def search_model_versions(
        self, filter_string: Any = None, max_results: Any = None, order_by: Any = None, page_token: Any = None
    ) -> Any:
        rest: Any = super()
        if not _CAN_FILTER:
            return rest.search_model_versions(filter_string)
        return filter_page(_mlflow_search.SearchModelVersionUtils, rest.search_model_versions(),
                      filter_string, max_results, order_by, page_token)  # fmt: skip

    def _create_version(self, request: Json) -> Json:
        source = request["source"]
        if source.startswith("models:/") and request.get("model_id"):
            run_id, _, name = request["model_id"].rpartition(".")
            place = addresses.RunFiles(run_id, name)
        elif source.startswith("azureml:"):
            place = addresses.files_at(source)
        else:
            place = None
        if not isinstance(place, addresses.RunFiles):
            raise failure(
                f"{source!r} is not a model of a run in this workspace\n"
                "hint: register 'runs:/RUN/PATH', or local files with azureml.core.Model.register",
                "INVALID_PARAMETER_VALUE",
            )
        model = register_from_run(
            self.workspace, place.run, request["name"], place.path, labels(request.get("tags")), None,
            request.get("description"), (None, None), (None, None, None), None,
        )  # fmt: skip
        return {"model_version": self._version_json(model)}

    def _get_version(self, request: Json) -> Json:
        return {"model_version": self._version_json(self._version(request))}

    def _list_versions(self, request: Json) -> Json:
        models = Model.list(self.workspace, _name_in(request["filter"]) if request.get("filter") else None)
        return {"model_versions": [self._version_json(model) for model in models]}

    def _get_latest(self, request: Json) -> Json:
        if [stage for stage in request.get("stages") or () if stage != "None"]:
            return {"model_versions": []}  # no version is in a stage
        return {"model_versions": [self._version_json(self._versions(request["name"])[0])]}

    def _get_address(self, request: Json) -> Json:
        model = self._version(request)
        return {"artifact_uri": addresses.model_address(self.address, model.name, model.version)}

    def _change_version(self, request: Json) -> Json:
        model = self._version(request)
        model.update(description=request.get("description"))
        return {"model_version": self._version_json(model)}

    def _delete_version(self, request: Json) -> Json:
        self._version(request).delete()
        return {}

    def _set_tag(self, request: Json) -> Json:
        self._version(request).add_tags({request["key"]: request.get("value")})
        return {}

    def _delete_tag(self, request: Json) -> Json:
        self._version(request).remove_tags([request["key"]])
        return {}

    def _set_alias(self, request: Json) -> Json:
        self._change(self._version(request), aliases=[request["alias"]])
        return {}

    def _delete_alias(self, request: Json) -> Json:
        alias = request["alias"]
        for model in self._versions(request["name"]):
            if alias in model.view.aliases:
                self._change(model, remove_aliases=[alias])
        return {}

    def _get_by_alias(self, request: Json) -> Json:
        return {"model_version": self._version_json(self._version_with_alias(request))}

    answers: ClassVar[Answers] = {
        "CreateRegisteredModel": _create_model, "GetRegisteredModel": _get_model,
        "SearchRegisteredModels": _list_models, "ListRegisteredModels": _list_models,
        "CreateModelVersion": _create_version, "GetModelVersion": _get_version, "SearchModelVersions": _list_versions,
        "GetLatestVersions": _get_latest, "GetModelVersionDownloadUri": _get_address,
        "UpdateModelVersion": _change_version, "DeleteModelVersion": _delete_version, "SetModelVersionTag": _set_tag,
        "DeleteModelVersionTag": _delete_tag, "SetRegisteredModelAlias": _set_alias,
        "DeleteRegisteredModelAlias": _delete_alias, "GetModelVersionByAlias": _get_by_alias,
    }  # fmt: skip


def _name_in(text: str) -> str:
    """Return the name in a filter such as `name = 'churn'`, the only kind that is answered for MLflow 1."""
    key, _, value = (part.strip() for part in text.partition("="))
    if key != "name" or value[:1] not in ("'", '"') or value[-1:] != value[:1] or value[1:-1].count(value[0]):
        raise failure(f"the filter {text!r} is not answered\nhint: use name = 'NAME', or no filter",
                      "INVALID_PARAMETER_VALUE")  # fmt: skip
    return value[1:-1]
