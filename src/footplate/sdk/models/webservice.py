"""Web services: the handle of a deployed model, and Azure's three kinds of it."""

from __future__ import annotations

import time
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Type, TypeVar, Union, cast

from footplate.api import LONG_POLL
from footplate.domain.serving.endpoints import BROKEN, TRANSITIONING, EndpointView, VersionSpec
from footplate.lazy import Deferred
from footplate.sdk.exceptions import WebserviceException
from footplate.sdk.handles import WorkspaceHandle as Workspace
from footplate.sdk.models import deployed_service, deploying
from footplate.sdk.models.deployed_service import DeployedService, show
from footplate.sdk.models.deployment_configuration import WebserviceDeploymentConfiguration
from footplate.sdk.models.image import ContainerImageConfig, Image
from footplate.sdk.models.inference_config import InferenceConfig
from footplate.sdk.models.model import Model
from footplate.sdk.models.registration import KINDS
from footplate.sdk.values.labels import matches
from footplate.sdk.values.wrong_types import explained

if TYPE_CHECKING:
    from footplate.sdk.models import aks_endpoint
else:
    aks_endpoint = Deferred("footplate.sdk.models.aks_endpoint")  # its classes derive from the one here

S = TypeVar("S", bound="Webservice")


@explained
class Webservice(DeployedService):
    """A deployed model. `Webservice(workspace, name)` finds a service and returns an object of its kind.

    Args:
        workspace: The workspace.
        name: The name of the service.

    Raises:
        WebserviceException: There is no such service.

    Example:
        def use(service: Webservice) -> None:
            service.wait_for_deployment(show_output=True)
            print(service.scoring_uri, service.run('{"data": [1, 2]}'), service.get_logs(num_lines=20))
            service.add_tags({"owner": "ada"})
            service.remove_tags(["owner"])
            service.add_properties({"accuracy": 0.9})
            service.update_deployment_state()
            print(service.serialize(), [each.name for each in Webservice.list(ws)])
            service.delete()
    """

    kind = ""

    def __new__(cls: Type[S], workspace: Workspace, name: str, *_: Any) -> S:
        try:
            view = workspace.session.api_for(KINDS).endpoints.get(workspace.id, name)
        except WebserviceException as error:
            if error.status_code != 404:
                raise
            raise WebserviceException(
                f"WebserviceNotFound: {error.message}", error, status_code=404, hint=error.hint
            ) from None
        return cast("S", service_of(workspace, view))

    def __init__(self, workspace: Workspace, name: str, *_: Any) -> None:
        """Do nothing: `__new__` has made the object."""

    @classmethod
    def from_view(cls, workspace: Workspace, view: EndpointView) -> Webservice:
        """Return a service without a request."""
        service = object.__new__(cls)
        service.workspace, service.view = workspace, view
        return service

    # ── Finding and deploying ─────────────────────────────────────────────────────────────────────────────────────────

    @staticmethod
    def list(
        workspace: Workspace,
        compute_type: Optional[str] = None,
        image_name: Optional[str] = None,
        image_id: Optional[str] = None,
        model_name: Optional[str] = None,
        model_id: Optional[str] = None,
        tags: Optional[Sequence[Any]] = None,
        properties: Optional[Sequence[Any]] = None,
        image_digest: Optional[str] = None,
        location: Optional[str] = None,
    ) -> List[Webservice]:
        """Return the services of a workspace that match every filter.

        Args:
            workspace: The workspace.
            compute_type: `ACI`, `AKS`, `AKSENDPOINT` or `Local`.
            model_name: Only services of this model.
            model_id: Only services of this version, `name:version`.
            tags: A list of `key` or `[key, value]`.
            properties: A list in the same form.
            image_name, image_id, image_digest, location: Accepted and ignored.

        Returns:
            A list of services.
        """
        views = workspace.session.api_for(KINDS).endpoints.list(workspace.id)
        kind = (compute_type or "").lower()
        return [
            service
            for service in (service_of(workspace, view) for view in views)
            if kind in ("", service.compute_type.lower())
            and (model_name is None or any(model.rpartition(":")[0] == model_name for model in service._spec.models))
            and (model_id is None or model_id in service._spec.models)
            and matches(service.tags, tags)
            and matches(service.properties, properties)
        ]

    @staticmethod
    def deploy(
        workspace: Workspace, name: str, model_paths: Sequence[str], image_config: ContainerImageConfig,
        deployment_config: Optional[WebserviceDeploymentConfiguration] = None,
        deployment_target: Any = None, overwrite: bool = False,
    ) -> Webservice:  # fmt: skip
        """Register local files as models, and deploy them with the script of an image configuration.

        Args:
            workspace: The workspace.
            name: The name of the service.
            model_paths: The local files or directories.
            image_config: The script and its packages, from `ContainerImage.image_configuration`.
            deployment_config: The kind and the settings of the service.
            deployment_target: The compute target whose nodes hold the service, or its name. Without one, and for
                one of the server's machine, that machine does.
            overwrite: Whether to replace a service of this name.

        Returns:
            The service.

        Raises:
            WebserviceException: The name exists, or a value is not valid.

        Example:
            def serve() -> None:
                settings = ContainerImage.image_configuration("score.py", "python")
                Webservice.deploy(ws, "scoring", ["model.pkl"], settings).wait_for_deployment()
        """
        models = [Model.register(workspace, path, path.rstrip("/").rpartition("/")[2]) for path in model_paths]
        return Webservice.deploy_from_model(
            workspace, name, models, image_config, deployment_config, deployment_target, overwrite
        )

    @staticmethod
    def deploy_from_model(
        workspace: Workspace, name: str, models: Sequence[Model], image_config: ContainerImageConfig,
        deployment_config: Optional[WebserviceDeploymentConfiguration] = None,
        deployment_target: Any = None, overwrite: bool = False,
    ) -> Webservice:  # fmt: skip
        """Deploy models with the script of an image configuration, of which no image is built.

        Args:
            workspace: The workspace.
            name: The name of the service.
            models: Registered models.
            image_config: The script and its packages, from `ContainerImage.image_configuration`.
            deployment_config: The kind and the settings of the service.
            deployment_target: The compute target whose nodes hold the service, or its name. Without one, and for
                one of the server's machine, that machine does.
            overwrite: Whether to replace a service of this name.

        Returns:
            The service.

        Raises:
            WebserviceException: The name exists, or a value is not valid.

        Example:
            def serve(model: Model) -> None:
                settings = ContainerImage.image_configuration("score.py", "python")
                Webservice.deploy_from_model(ws, "scoring", [model], settings).wait_for_deployment()
        """
        config = image_config.to_inference_config()
        view = deploying.deploy(workspace, name, list(models), config, deployment_config, overwrite, deployment_target)
        return service_of(workspace, view)

    @staticmethod
    def deploy_from_image(
        workspace: Workspace, name: str, image: Image,
        deployment_config: Optional[WebserviceDeploymentConfiguration] = None,
        deployment_target: Any = None, overwrite: bool = False,
    ) -> Webservice:  # fmt: skip
        """Deploy the models and the script of an image.

        Args:
            workspace: The workspace.
            name: The name of the service.
            image: The image, from `Image.create`.
            deployment_config: The kind and the settings of the service.
            deployment_target: The compute target whose nodes hold the service, or its name. Without one, and for
                one of the server's machine, that machine does.
            overwrite: Whether to replace a service of this name.

        Returns:
            The service.

        Raises:
            WebserviceException: The name exists, or a value is not valid.

        Example:
            def serve(image: Image) -> None:
                Webservice.deploy_from_image(ws, "scoring", image).wait_for_deployment()
        """
        return Webservice.deploy_from_model(
            workspace, name, cast("List[Model]", image.models), image.image_config, deployment_config,
            deployment_target, overwrite,
        )  # fmt: skip

    # ── Waiting ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def wait_for_deployment(self, show_output: bool = False, timeout_sec: Optional[float] = None) -> None:
        """Wait until the newest version takes requests.

        Args:
            show_output: Whether to print progress.
            timeout_sec: The longest wait; without one there is no limit.

        Raises:
            WebserviceException: The version failed, or the time is over.
        """
        deadline = None if timeout_sec is None else time.monotonic() + timeout_sec
        last_reason: Optional[str] = None
        show(show_output, "Running", end="")
        while self._refresh().state == TRANSITIONING:
            seconds = LONG_POLL if deadline is None else deadline - time.monotonic()
            if seconds <= 0:
                raise WebserviceException(
                    f"service {self.name} was still {self.state} after {timeout_sec:g} s",
                    hint=f"wait longer, or {deployed_service.see_logs(self.name)}",
                )
            reason = next((version.waiting for version in self.view.versions if version.waiting), None)
            show(show_output, "." if reason in (None, last_reason) else f"\nWaiting: {reason}\n", end="")
            last_reason = reason
            self._refresh(wait=min(seconds, 5.0))
        problem = self.view.cause
        if problem is not None or self.view.state == BROKEN:
            show(show_output, "\nFailed")
            message = problem.message if problem is not None else f"service {self.name} has no version that works"
            last = [line for line in (problem.last_lines if problem is not None else ()) if line.strip()]
            text = "\n".join([f"service {self.name} failed: {message}", *last[-20:]])
            hint = problem.hint if problem is not None else deployed_service.see_logs(self.name)
            raise WebserviceException(text, status_code=None, hint=hint)
        show(show_output, "\nSucceeded")
        show(show_output, f'{self.compute_type} service creation operation finished, operation "Succeeded"')

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Change models, code or settings; each kind of service has its own parameters.

        Args:
            *args, **kwargs: See the classes of the three kinds.

        Raises:
            NotImplementedError: The object is of no kind.

        Example:
            def promote(service: Webservice, model: Model) -> None:
                service.update(models=[model])
        """
        raise NotImplementedError(f"{type(self).__name__} has no update")

    # ── Attributes ────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def scoring_uri(self) -> Optional[str]:
        """The address that takes requests; for TensorFlow models as TensorFlow Serving has it."""
        if self._spec.entry_script or self.models[0].model_framework not in ("TensorFlow", "TfKeras"):
            return self._address("score")
        return self._address(f"v1/models/{self._spec.models[0].rpartition(':')[0]}:predict")

    @property
    def models(self) -> List[Model]:
        """The models of the version that takes requests."""
        return [Model(self.workspace, id=each) for each in self._spec.models]

    # ── Using ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def run(self, input_data: Union[str, bytes]) -> Any:
        """Send a request with the service's key or token.

        Args:
            input_data: The body, usually JSON text.

        Returns:
            The decoded answer.

        Raises:
            WebserviceException: The service answered with an error, or does not answer.
        """
        seconds = self.view.settings.limits.timeout_seconds + 10
        tls = self.view.settings.tls
        trusted = None if tls is None else tls.certificate
        return deployed_service.send(
            self.name, str(self.scoring_uri), input_data, self._authorization(), seconds, trusted
        )

    # ── Changing ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def change(
        self,
        models: Optional[Sequence[Model]] = None,
        inference_config: Optional[InferenceConfig] = None,
        share: float = 100.0,
        shadow: bool = False,
        rollback_seconds: Optional[float] = None,
        idle_seconds: Optional[float] = None,
        cors: Optional[Sequence[str]] = None,
    ) -> None:
        """Change a service of any kind; what is not given stays. Azure has no such method.

        Other models, another script or other `idle_seconds` begin a new version.

        Args:
            models: The new models; the same by default.
            inference_config: The new script; the same by default.
            share: The percentage of requests that the new version gets.
            shadow: Whether it gets copies of requests instead, whose answers are dropped.
            rollback_seconds: How long the old version stays, to take the requests back if the new one has
                more errors or is much slower.
            idle_seconds: How long the last replica of a service that needs none stays without a request.
            cors: The origins of web pages that may call the service, such as `https://app.example.com`; `*` is
                any, and an empty list is none.

        Raises:
            WebserviceException: A change is in progress, or a value is not valid.

        Example:
            def try_out(service: Webservice, model: Model) -> None:
                service.change(models=[model], share=10, rollback_seconds=600)
                service.change(cors=["https://app.example.com"])
        """
        config = self._configuration()
        config.rollback_seconds, config.idle_seconds, config.cors = rollback_seconds, idle_seconds, cors
        self._update(config, models, inference_config, share, shadow)

    def _update(
        self,
        config: WebserviceDeploymentConfiguration,
        models: Optional[Sequence[Model]] = None,
        inference_config: Optional[InferenceConfig] = None,
        share: float = 100.0,
        shadow: bool = False,
    ) -> None:
        """Apply settings at once; begin a new version if models, code or resources change."""
        settings = config.to_settings(self._refresh().settings)
        version = self._next_version(config, models, inference_config)
        certificate = config.certificate(self.view.settings.tls)
        self.view = self._api.change(
            self.workspace.id, self.name, uuid.uuid4().hex,
            settings=settings if settings != self.view.settings else None, version=version, goal=share, shadow=shadow,
            certificate=certificate,
        )  # fmt: skip

    def _next_version(
        self,
        config: WebserviceDeploymentConfiguration,
        models: Optional[Sequence[Model]],
        inference_config: Optional[InferenceConfig],
        before: Optional[VersionSpec] = None,
    ) -> Optional[VersionSpec]:
        """Return the version after a change of `before`, by default the newest; None if nothing changes."""
        old = before or self.view.versions[-1].spec
        if models is not None or inference_config is not None:
            same = self.models if before is None else [Model(self.workspace, id=each) for each in before.models]
            chosen = list(models) if models is not None else same
            if inference_config is None and old.entry_script is not None:
                ids = tuple(model.id for model in chosen)
                return replace(self._resized(old, config), models=ids)
            return deploying.version_spec(self.workspace, chosen, inference_config, config, old)
        resized = self._resized(old, config)
        return None if resized == old else resized

    @staticmethod
    def _resized(old: VersionSpec, config: WebserviceDeploymentConfiguration) -> VersionSpec:
        return replace(
            old,
            cpu_cores=config.cpu_cores or old.cpu_cores,
            memory_gb=config.memory_gb or old.memory_gb,
            gpus=old.gpus if config.gpu_cores is None else config.gpu_cores,
            replicas=config.to_replicas(old.replicas),
        )

    def split(self, weights: Mapping[int, float]) -> None:
        """Set the percentage of the requests that versions get. Azure has no such method.

        Versions that are not given keep the rest, in proportion to the shares that they have.

        Args:
            weights: Percentages by version, such as `{1: 90, 2: 10}`.

        Raises:
            WebserviceException: A version does not exist, the percentages are over 100, or they leave a rest
                that no other version takes.

        Example:
            def balance(service: Webservice) -> None:
                service.split({1: 50, 2: 50})
        """
        self.view = self._api.split(self.workspace.id, self.name, dict(weights))

    def add_tags(self, tags: Mapping[str, Any]) -> None:
        """Add tags, or replace their values.

        Args:
            tags: Values by name.
        """
        self._update(self._configuration(tags={**self.tags, **tags}))

    def remove_tags(self, tags: Sequence[str]) -> None:
        """Remove tags. Names that do not exist are skipped.

        Args:
            tags: The names.
        """
        self._update(self._configuration(tags={name: value for name, value in self.tags.items() if name not in tags}))

    def add_properties(self, properties: Mapping[str, Any]) -> None:
        """Add properties.

        Args:
            properties: Values by name.
        """
        self._update(self._configuration(properties=properties))

    def _configuration(self, **given: Any) -> WebserviceDeploymentConfiguration:
        config = WebserviceDeploymentConfiguration(**given)
        config.kind = self.compute_type
        return config

    def delete(self) -> None:
        """Stop the service: requests in hand are answered. Return when it is gone.

        Raises:
            WebserviceException: The service cannot be stopped.
        """
        try:
            self._api.delete(self.workspace.id, self.name)
            while True:
                self._refresh(wait=5.0)
        except WebserviceException as error:
            if error.status_code != 404:
                raise

    def serialize(self) -> Dict[str, Any]:
        """Return the service as Azure writes it.

        Returns:
            A dict.
        """
        view = self.view
        return {
            "name": view.name, "description": view.settings.description, "tags": dict(view.settings.tags),
            "properties": dict(view.settings.properties), "state": view.state, "createdTime": str(self.created_time),
            "updatedTime": str(self.updated_time), "error": None if view.cause is None else view.cause.message,
            "computeType": view.settings.kind, "workspaceName": self.workspace.name, "imageId": None,
            "models": [model.serialize() for model in self.models], "scoringUri": self.scoring_uri,
            "swaggerUri": self.swagger_uri, "authEnabled": self.auth_enabled,
            "containerResourceRequirements": {"cpu": self.cpu_cores, "memoryInGB": self.memory_gb},
            "createdBy": view.created_by,
        }  # fmt: skip

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(workspace={self.workspace!r}, name={self.name}, compute_type={self.compute_type})"
        )


def service_of(workspace: Workspace, view: EndpointView) -> Webservice:
    """Return the service as an object of its kind."""
    return aks_endpoint.CLASSES[view.settings.kind].from_view(workspace, view)
