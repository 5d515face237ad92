"""Endpoints whose versions have names and stay beside each other, each with a percentage of the requests."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any, Dict, Mapping, Optional, Sequence, Type

from footplate.domain.serving.endpoints import FAILED, READY, STARTING, ServiceSettings, VersionSpec, VersionView
from footplate.sdk.exceptions import WebserviceException
from footplate.sdk.models import deploying, webservice_kinds
from footplate.sdk.models.deployment_configuration import AksEndpointDeploymentConfiguration
from footplate.sdk.models.inference_config import InferenceConfig
from footplate.sdk.models.model import Model
from footplate.sdk.models.webservice import Webservice
from footplate.sdk.values.labels import texts
from footplate.sdk.values.wrong_types import explained


class EndpointVersion:
    """One version of an endpoint, as `endpoint.versions` lists it."""

    def __init__(self, view: VersionView, settings: ServiceSettings) -> None:
        spec = view.spec
        definition = spec.definition
        self.name = str(spec.name)
        self.number = view.number
        self.state = view.state
        self.is_default = settings.default_version == spec.name
        self.is_control_version_type = bool(definition.get("is_control"))
        self.version_type = "Control" if self.is_control_version_type else "Treatment"
        self.traffic_percentile = view.goal
        self.actual_percentile = view.weight
        self.description = spec.description
        self.tags: Dict[str, Optional[str]] = dict(definition.get("tags") or {})
        self.models = list(spec.models)
        self.cpu_cores = spec.cpu_cores
        self.memory_gb = spec.memory_gb
        self.spec = spec

    def serialize(self) -> Dict[str, Any]:
        return {
            "name": self.name, "state": self.state, "isDefault": self.is_default, "type": self.version_type,
            "trafficPercentile": self.traffic_percentile, "description": self.description, "tags": self.tags,
            "models": self.models,
            "containerResourceRequirements": {"cpu": self.cpu_cores, "memoryInGB": self.memory_gb},
        }  # fmt: skip


@explained
class AksEndpoint(Webservice):
    """A service with several versions behind one address. Each has a name and a percentage of the requests.

    The first version is the default one, until another is made so: it gets the requests that the others leave.

    Example:
        settings = AksEndpoint.deploy_configuration(version_name="blue", traffic_percentile=20, auth_enabled=False)


        def serve(old: Model, new: Model) -> None:
            Model.deploy(ws, "scoring", [old], deployment_config=settings).wait_for_deployment()
            endpoint = AksEndpoint(ws, "scoring")
            endpoint.create_version("green", models=[new], traffic_percentile=10)
            endpoint.wait_for_deployment()
    """

    kind = "AKSENDPOINT"
    deploy_configuration = AksEndpointDeploymentConfiguration

    @property
    def versions(self) -> Dict[str, EndpointVersion]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The versions by name: those that start, serve or have failed.

        `traffic_percentile` is the share that was asked for, `actual_percentile` the one that it has now.
        """
        view = self._refresh()
        by_name: Dict[str, EndpointVersion] = {}
        for state in ((FAILED,), (STARTING, READY)):  # of one name, a version that lives counts
            by_name.update(
                {str(v.spec.name): EndpointVersion(v, view.settings) for v in view.versions if v.state in state}
            )
        return by_name

    def create_version(
        self, version_name: str, models: Optional[Sequence[Model]] = None,
        inference_config: Optional[InferenceConfig] = None, traffic_percentile: Optional[float] = None,
        is_default: Optional[bool] = None, is_control_version_type: Optional[bool] = None,
        tags: Optional[Mapping[str, Any]] = None, description: Optional[str] = None, **options: Any,
    ) -> None:  # fmt: skip
        """Add a version. It takes its share of the requests when it is healthy; wait with `wait_for_deployment`.

        Args:
            version_name: Its name, which no other version has.
            models: Its models.
            inference_config: Its script; without one, the one model is served without code.
            traffic_percentile: Its percentage of all requests; 0 by default.
            is_default: Whether it gets the requests that the shares of the others leave.
            is_control_version_type: Whether the others are compared with it: a label.
            tags: Its tags.
            description: Its description.
            **options: Other options of `deploy_configuration`, such as `cpu_cores` and `num_replicas`.

        Raises:
            WebserviceException: The name exists, the percentages are over 100, or a value is not valid.

        Example:
            def try_out(endpoint: AksEndpoint, model: Model) -> None:
                endpoint.create_version("green", models=[model], traffic_percentile=10)
        """
        if version_name in self.versions:
            raise WebserviceException(
                f"endpoint {self.name} has a version {version_name!r}", hint="change it with update_version"
            )
        config = AksEndpointDeploymentConfiguration(version_name, traffic_percentile, **options)
        target = options.get("compute_target_name") or self.view.versions[-1].spec.target
        spec = deploying.version_spec(self.workspace, list(models or ()), inference_config, config, target=target)
        spec = _label(spec, is_control_version_type, tags, description)
        self._begin(spec, config, traffic_percentile or 0.0, is_default)

    def update_version(
        self, version_name: str, models: Optional[Sequence[Model]] = None,
        inference_config: Optional[InferenceConfig] = None, traffic_percentile: Optional[float] = None,
        is_default: Optional[bool] = None, is_control_version_type: Optional[bool] = None,
        tags: Optional[Mapping[str, Any]] = None, description: Optional[str] = None, **options: Any,
    ) -> None:  # fmt: skip
        """Change a version. Its share changes at once; new models, code or resources do when they are healthy.

        Args:
            version_name: The version.
            models: Its new models.
            inference_config: Its new script.
            traffic_percentile: Its new percentage of all requests.
            is_default: True to give it the requests that the shares of the others leave.
            is_control_version_type: Whether the others are compared with it: a label.
            tags: Its new tags.
            description: Its new description.
            **options: Other options of `deploy_configuration`, such as `cpu_cores` and `num_replicas`.

        Raises:
            WebserviceException: There is no such version, or the percentages are over 100.

        Example:
            def promote(endpoint: AksEndpoint) -> None:
                endpoint.update_version("green", traffic_percentile=40, is_default=True)
        """
        old = self._find(version_name)
        if is_default is False and old.is_default:
            raise WebserviceException(
                f"version {version_name!r} is the default one", hint="make another one the default: is_default=True"
            )
        config = AksEndpointDeploymentConfiguration(version_name, traffic_percentile, **options)
        changed = self._next_version(config, models, inference_config, old.spec)
        base = replace(changed or old.spec, description=old.spec.description)
        base = replace(base, definition={**old.spec.definition, **base.definition})
        spec = _label(base, is_control_version_type, tags, description)
        goal = old.traffic_percentile if traffic_percentile is None else traffic_percentile
        if changed is not None:
            self._begin(spec, config, goal, is_default)
            return
        self.view = self._api.change_version(
            self.workspace.id, self.name, old.number, goal=goal, description=spec.description,
            definition=spec.definition,
        )  # fmt: skip
        self._begin(None, config, goal, is_default, version_name)

    def delete_version(self, version_name: str) -> None:
        """Stop a version when its requests are answered. The default version gets its share.

        Args:
            version_name: The version. If it is the default one, the oldest of the others becomes that.

        Raises:
            WebserviceException: There is no such version, or no other one is ready.

        Example:
            def clean_up(endpoint: AksEndpoint) -> None:
                endpoint.delete_version("blue")
        """
        self.view = self._api.delete_version(self.workspace.id, self.name, self._find(version_name).number)

    def update(
        self, auth_enabled: Optional[bool] = None, token_auth_enabled: Optional[bool] = None,
        enable_app_insights: Optional[bool] = None, description: Optional[str] = None,
        tags: Optional[Mapping[str, Any]] = None, properties: Optional[Mapping[str, Any]] = None,
    ) -> None:  # fmt: skip
        """Change settings of the endpoint, which apply to all of its versions.

        Args:
            auth_enabled: Whether requests need a key.
            token_auth_enabled: Whether requests need a token.
            enable_app_insights: Accepted and ignored.
            description: The new description.
            tags: The new tags.
            properties: Properties to add.

        Raises:
            WebserviceException: A value is not valid.

        Example:
            def protect(endpoint: AksEndpoint) -> None:
                endpoint.update(auth_enabled=True, tags={"stage": "production"})
        """
        config = AksEndpointDeploymentConfiguration(
            auth_enabled=auth_enabled, token_auth_enabled=token_auth_enabled, enable_app_insights=enable_app_insights,
            description=description, tags=tags, properties=properties,
        )  # fmt: skip
        self._begin(None, config, 0.0, None)

    def change(self, *args: Any, **kwargs: Any) -> None:
        """Raise an error: the versions of an endpoint are changed by name.

        Args:
            *args, **kwargs: Ignored.

        Raises:
            WebserviceException: Always.

        Example:
            def replace(endpoint: AksEndpoint, model: Model) -> None:
                endpoint.update_version("blue", models=[model])
        """
        raise WebserviceException(
            f"the versions of endpoint {self.name} have names", hint="use create_version or update_version"
        )

    def serialize(self) -> Dict[str, Any]:
        """Return the endpoint as Azure writes it.

        Returns:
            A dict, with the versions by name.

        Example:
            def print_versions(endpoint: AksEndpoint) -> None:
                print(endpoint.serialize()["versions"])
        """
        return {**super().serialize(), "versions": {name: each.serialize() for name, each in self.versions.items()}}

    def _find(self, version_name: str) -> EndpointVersion:
        versions = self.versions
        if version_name not in versions:
            raise WebserviceException(
                f"endpoint {self.name} has no version {version_name!r}", hint=f"its versions are: {', '.join(versions)}"
            )
        return versions[version_name]

    def _begin(
        self,
        spec: Optional[VersionSpec],
        config: AksEndpointDeploymentConfiguration,
        goal: float,
        is_default: Optional[bool],
        name: Optional[str] = None,
    ) -> None:
        """Change the settings, and begin a version if one is given."""
        before = self._refresh().settings
        settings = config.to_settings(before)
        if is_default:
            settings = replace(settings, default_version=name if spec is None else spec.name)
        if spec is None and settings == before:
            return
        self.view = self._api.change(
            self.workspace.id, self.name, uuid.uuid4().hex, settings=None if settings == before else settings,
            version=spec, goal=goal,
        )  # fmt: skip


def _label(
    spec: VersionSpec, control: Optional[bool], tags: Optional[Mapping[str, Any]], description: Optional[str]
) -> VersionSpec:
    """Return the version with the labels that were given; others stay."""
    labels: Dict[str, Any] = {}
    if control is not None:
        labels["is_control"] = control
    if tags is not None:
        labels["tags"] = texts(tags)
    return replace(
        spec,
        description=spec.description if description is None else description,
        definition={**spec.definition, **labels},
    )


CLASSES: Dict[str, Type[Webservice]] = {**webservice_kinds.CLASSES, AksEndpoint.kind: AksEndpoint}
