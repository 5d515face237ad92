"""Azure's three kinds of web service. All of them run on the server's machine, behind one gateway."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple, Type, cast

from footplate.domain.serving.endpoints import BROKEN, HEALTHY, TRANSITIONING, UNHEALTHY
from footplate.sdk.exceptions import WebserviceException
from footplate.sdk.models import deploying
from footplate.sdk.models.deployment_configuration import (
    AciServiceDeploymentConfiguration,
    AksServiceDeploymentConfiguration,
    LocalWebserviceDeploymentConfiguration,
    WebserviceDeploymentConfiguration,
)
from footplate.sdk.models.inference_config import InferenceConfig
from footplate.sdk.models.model import Model
from footplate.sdk.models.webservice import KINDS, Webservice, service_of, show

_LOCAL_STATES = {TRANSITIONING: "deploying", HEALTHY: "running", BROKEN: "failed", UNHEALTHY: "failed"}


class AciWebservice(Webservice):
    """A service at the gateway's own port."""

    kind = "ACI"
    deploy_configuration = AciServiceDeploymentConfiguration

    def update(
        self, image: Any = None, tags: Optional[Mapping[str, Any]] = None,
        properties: Optional[Mapping[str, Any]] = None, description: Optional[str] = None,
        auth_enabled: Optional[bool] = None, ssl_enabled: Optional[bool] = None,
        ssl_cert_pem_file: Optional[str] = None, ssl_key_pem_file: Optional[str] = None,
        ssl_cname: Optional[str] = None, enable_app_insights: Optional[bool] = None,
        models: Optional[Sequence[Model]] = None, inference_config: Optional[InferenceConfig] = None,
        share: float = 100.0, shadow: bool = False,
    ) -> None:  # fmt: skip
        """Change the service. A new version takes over when it is healthy, without a failed request.

        Beyond Azure: with `share`, the new version gets only that percentage of the requests; a `shadow` gets copies.
        """
        config = AciServiceDeploymentConfiguration(
            tags=tags, properties=properties, description=description, auth_enabled=auth_enabled,
            ssl_enabled=ssl_enabled, ssl_cert_pem_file=ssl_cert_pem_file, ssl_key_pem_file=ssl_key_pem_file,
            enable_app_insights=enable_app_insights,
        )  # fmt: skip
        models, inference_config = _of_image(image, models, inference_config)
        self._update(config, models, inference_config, share, shadow)


class AksWebservice(Webservice):
    """A service with replicas, and with a key unless told otherwise."""

    kind = "AKS"
    deploy_configuration = AksServiceDeploymentConfiguration

    def update(
        self, image: Any = None, models: Optional[Sequence[Model]] = None,
        inference_config: Optional[InferenceConfig] = None, share: float = 100.0, shadow: bool = False, **options: Any,
    ) -> None:  # fmt: skip
        """Change the service; the options are those of `deploy_configuration`. `share`, `shadow`: as for ACI."""
        models, inference_config = _of_image(image, models, inference_config)
        self._update(AksServiceDeploymentConfiguration(**options), models, inference_config, share, shadow)


class AksEndpoint(AksWebservice):
    """A service whose versions are managed by name; here its versions are numbers, and `split` sets their shares."""


class LocalWebservice(Webservice):
    """A service with a port of its own on this machine."""

    kind = "Local"
    deploy_configuration = LocalWebserviceDeploymentConfiguration

    @property
    def port(self) -> Optional[int]:
        return self._view.settings.port

    @property
    def state(self) -> str:
        """The state now: deploying, running or failed."""
        return _LOCAL_STATES.get(self._refresh().state, "unknown")

    def wait_for_deployment(self, show_output: bool = False, timeout_sec: Optional[float] = None) -> None:
        super().wait_for_deployment(show_output, timeout_sec)
        show(show_output, f"Local webservice is running at http://localhost:{self.port}")

    def update(
        self, models: Optional[Sequence[Model]] = None, inference_config: Optional[InferenceConfig] = None,
        deployment_config: Optional[LocalWebserviceDeploymentConfiguration] = None, wait: bool = False,
        share: float = 100.0, shadow: bool = False,
    ) -> None:  # fmt: skip
        self._update(
            deployment_config or LocalWebserviceDeploymentConfiguration(), models, inference_config, share, shadow
        )
        if wait:
            self.wait_for_deployment()

    def reload(self, wait: bool = False) -> None:
        """Begin a new version with the source folder as it is now."""
        old = self._view.versions[-1].spec
        folder = old.definition.get("source_directory")
        if old.entry_script is None or folder is None:
            raise WebserviceException(f"service {self.name} has no script to reload", hint="use update(models=[…])")
        config = InferenceConfig(old.entry_script, source_directory=str(folder))
        made = deploying.version_spec(self.workspace, self.models, config, None, old)
        version = replace(made, environment=old.environment, lock=old.lock)
        api = self.workspace.session.api_for(KINDS).endpoints
        self._view = api.change(self.workspace.id, self.name, uuid.uuid4().hex, version=version)
        if wait:
            self.wait_for_deployment()

    def get_keys(self) -> Tuple[str, str]:
        raise NotImplementedError("a local service has no keys")

    def regen_key(self, key: str, set_key: Optional[str] = None) -> None:
        raise NotImplementedError("a local service has no keys")

    def deploy_to_cloud(self, name: str, deployment_config: Any, deployment_target: Any = None) -> Webservice:
        """Deploy the same models, code and environment as another service."""
        api = self.workspace.session.api_for(KINDS).endpoints
        config = cast(WebserviceDeploymentConfiguration, deployment_config)
        version = self._resized(self._spec, config)
        view = api.deploy(self.workspace.id, name, uuid.uuid4().hex, config.to_settings(), version)
        return service_of(self.workspace, view)


CLASSES: Dict[str, Type[Webservice]] = {"ACI": AciWebservice, "AKS": AksWebservice, "Local": LocalWebservice}


def _of_image(image: Any, models: Any, config: Any) -> Tuple[Any, Any]:
    """Return models and code of an image, if one was given instead of them."""
    return (models, config) if image is None else (image.models, image.image_config.to_inference_config())
