"""Kinds of web service, as Azure names them. All of them run on the server's machine, behind one gateway."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple, Type, Union

from footplate.domain.serving.endpoints import BROKEN, HEALTHY, TRANSITIONING, UNHEALTHY
from footplate.sdk.exceptions import WebserviceException
from footplate.sdk.models import deploying
from footplate.sdk.models.deployed_service import show
from footplate.sdk.models.deployment_configuration import (
    AciServiceDeploymentConfiguration,
    AksServiceDeploymentConfiguration,
    LocalWebserviceDeploymentConfiguration,
    WebserviceDeploymentConfiguration,
)
from footplate.sdk.models.image import ContainerImage
from footplate.sdk.models.inference_config import InferenceConfig
from footplate.sdk.models.model import Model
from footplate.sdk.models.webservice import Webservice, service_of
from footplate.sdk.values.wrong_types import explained

_LOCAL_STATES = {TRANSITIONING: "deploying", HEALTHY: "running", BROKEN: "failed", UNHEALTHY: "failed"}


@explained
class AciWebservice(Webservice):
    """A service at the gateway's own port; `deploy_configuration` describes its settings.

    Example:
        settings = AciWebservice.deploy_configuration(cpu_cores=1, memory_gb=1, tags={"stage": "test"})


        def serve(model: Model) -> None:
            service = Model.deploy(ws, "scoring", [model], deployment_config=settings)
            service.wait_for_deployment()
    """

    kind = "ACI"
    deploy_configuration = AciServiceDeploymentConfiguration

    def update(
        self, image: Optional[ContainerImage] = None, tags: Optional[Mapping[str, Any]] = None,
        properties: Optional[Mapping[str, Any]] = None, description: Optional[str] = None,
        auth_enabled: Optional[bool] = None, ssl_enabled: Optional[bool] = None,
        ssl_cert_pem_file: Optional[str] = None, ssl_key_pem_file: Optional[str] = None,
        ssl_cname: Optional[str] = None, enable_app_insights: Optional[bool] = None,
        models: Optional[Sequence[Model]] = None, inference_config: Optional[InferenceConfig] = None,
        share: float = 100.0, shadow: bool = False,
    ) -> None:  # fmt: skip
        """Change the service. A new version takes over when it is healthy, without a failed request.

        Args:
            image: An image with the new models and script.
            tags: The new tags.
            properties: Properties to add.
            description: The new description.
            auth_enabled: Whether requests need a key.
            ssl_enabled, ssl_cert_pem_file, ssl_key_pem_file: The new certificate and its key, as PEM files.
            ssl_cname: The name in the certificate that clients use.
            enable_app_insights: Accepted and ignored.
            models: The new models.
            inference_config: The new script.
            share: The percentage of requests that the new version gets. Azure has no such argument.
            shadow: Whether it gets copies of requests instead. Azure has no such argument.

        Raises:
            WebserviceException: A change is in progress, or a value is not valid.

        Example:
            def promote(service: AciWebservice, model: Model) -> None:
                service.update(models=[model], auth_enabled=True)
        """
        config = AciServiceDeploymentConfiguration(
            tags=tags, properties=properties, description=description, auth_enabled=auth_enabled,
            ssl_enabled=ssl_enabled, ssl_cert_pem_file=ssl_cert_pem_file, ssl_key_pem_file=ssl_key_pem_file,
            ssl_cname=ssl_cname, enable_app_insights=enable_app_insights,
        )  # fmt: skip
        models, inference_config = _of_image(image, models, inference_config)
        self._update(config, models, inference_config, share, shadow)


@explained
class AksWebservice(Webservice):
    """A service with replicas, and with a key unless `auth_enabled` is False.

    Example:
        settings = AksWebservice.deploy_configuration(num_replicas=2, cpu_cores=1, memory_gb=1)


        def serve(model: Model) -> None:
            service = Model.deploy(ws, "scoring", [model], deployment_config=settings)
            service.wait_for_deployment()
    """

    kind = "AKS"
    deploy_configuration = AksServiceDeploymentConfiguration

    def update(
        self, image: Optional[ContainerImage] = None, models: Optional[Sequence[Model]] = None,
        inference_config: Optional[InferenceConfig] = None, share: float = 100.0, shadow: bool = False, **options: Any,
    ) -> None:  # fmt: skip
        """Change the service. A new version takes over when it is healthy, without a failed request.

        Args:
            image: An image with the new models and script.
            models: The new models.
            inference_config: The new script.
            share: The percentage of requests that the new version gets. Azure has no such argument.
            shadow: Whether it gets copies of requests instead. Azure has no such argument.
            **options: Options of `deploy_configuration`.

        Raises:
            WebserviceException: A change is in progress, or a value is not valid.

        Example:
            def scale(service: AksWebservice) -> None:
                service.update(num_replicas=4)
        """
        models, inference_config = _of_image(image, models, inference_config)
        self._update(AksServiceDeploymentConfiguration(**options), models, inference_config, share, shadow)


@explained
class LocalWebservice(Webservice):
    """A service with a port of its own on this machine.

    Example:
        settings = LocalWebservice.deploy_configuration(port=8890)


        def serve(model: Model) -> None:
            service = Model.deploy(ws, "local", [model], deployment_config=settings)
            service.wait_for_deployment(show_output=True)
            print(service.run('{"data": [1, 2]}'))
            service.delete()
    """

    kind = "Local"
    deploy_configuration = LocalWebserviceDeploymentConfiguration

    @property
    def port(self) -> Optional[int]:
        """The port."""
        return self.view.settings.port

    @property
    def state(self) -> str:
        """The state now: `deploying`, `running` or `failed`."""
        return _LOCAL_STATES.get(self._refresh().state, "unknown")

    def wait_for_deployment(self, show_output: bool = False, timeout_sec: Optional[float] = None) -> None:
        """Wait until the newest version takes requests.

        Args:
            show_output: Whether to print progress and the address.
            timeout_sec: The longest wait; without one there is no limit.

        Raises:
            WebserviceException: The version failed, or the time is over.
        """
        super().wait_for_deployment(show_output, timeout_sec)
        show(show_output, f"Local webservice is running at http://localhost:{self.port}")

    def run(self, input_data: Union[str, bytes]) -> Any:
        """Send a request. After `update` or `reload` it waits for the new version, as on Azure.

        Args:
            input_data: The body, usually JSON text.

        Returns:
            The decoded answer.

        Raises:
            WebserviceException: The new version failed, or the service answered with an error or not at all.
        """
        if self.view.state == TRANSITIONING:
            self.wait_for_deployment()
        return super().run(input_data)

    def delete(self, delete_cache: bool = True, delete_image: bool = False) -> None:
        """Stop the service: requests in hand are answered. Return when it is gone.

        Args:
            delete_cache, delete_image: Accepted and ignored: a service leaves no files or image of its own.

        Raises:
            WebserviceException: The service cannot be stopped.
        """
        super().delete()

    def update(
        self, models: Optional[Sequence[Model]] = None, inference_config: Optional[InferenceConfig] = None,
        deployment_config: Optional[LocalWebserviceDeploymentConfiguration] = None, wait: bool = False,
        share: float = 100.0, shadow: bool = False,
    ) -> None:  # fmt: skip
        """Change the service. A new version takes over when it is healthy, without a failed request.

        Args:
            models: The new models.
            inference_config: The new script.
            deployment_config: The new port.
            wait: Whether to wait until the new version takes requests.
            share: The percentage of requests that the new version gets. Azure has no such argument.
            shadow: Whether it gets copies of requests instead. Azure has no such argument.

        Raises:
            WebserviceException: A change is in progress, or a value is not valid.

        Example:
            def promote(service: LocalWebservice, model: Model) -> None:
                service.update(models=[model], wait=True)
        """
        self._update(
            deployment_config or LocalWebserviceDeploymentConfiguration(), models, inference_config, share, shadow
        )
        if wait:
            self.wait_for_deployment()

    def reload(self, wait: bool = False) -> None:
        """Begin a new version with the source directory as it is now.

        Args:
            wait: Whether to wait until the new version takes requests.

        Raises:
            WebserviceException: The service has no script.

        Example:
            def after_an_edit(service: LocalWebservice) -> None:
                service.reload(wait=True)
        """
        old = self.view.versions[-1].spec
        folder = old.definition.get("source_directory")
        if old.entry_script is None or folder is None:
            raise WebserviceException(f"service {self.name} has no script to reload", hint="use update(models=[…])")
        config = InferenceConfig(old.entry_script, source_directory=str(folder))
        reloaded = deploying.version_spec(self.workspace, self.models, config, None, old)
        version = replace(reloaded, environment=old.environment, lock=old.lock, definition=old.definition)
        self.view = self._api.change(self.workspace.id, self.name, uuid.uuid4().hex, version=version)
        if wait:
            self.wait_for_deployment()

    def get_keys(self) -> Tuple[str, str]:
        """Raise an error: a local service has no keys.

        Returns:
            Nothing.

        Raises:
            NotImplementedError: Always.

        Example:
            def keys(service: LocalWebservice) -> None:
                try:
                    service.get_keys()
                except NotImplementedError:
                    print("no keys")
        """
        raise NotImplementedError(
            "a local service has no keys\nhint: deploy it with AciWebservice.deploy_configuration"
        )

    def regen_key(self, key: str, set_key: Optional[str] = None) -> None:
        """Raise an error: a local service has no keys.

        Args:
            key, set_key: Ignored.

        Raises:
            NotImplementedError: Always.

        Example:
            def rotate(service: LocalWebservice) -> None:
                try:
                    service.regen_key("Primary")
                except NotImplementedError:
                    print("no keys")
        """
        raise NotImplementedError(
            "a local service has no keys\nhint: deploy it with AciWebservice.deploy_configuration"
        )

    def deploy_to_cloud(
        self, name: str, deployment_config: WebserviceDeploymentConfiguration, deployment_target: Any = None
    ) -> Webservice:
        """Deploy the same models, code and environment as another service.

        Args:
            name: The name of the other service.
            deployment_config: Its kind and settings.
            deployment_target: The compute target whose nodes hold the service, or its name. Without one, and for
                one of the server's machine, that machine does.

        Returns:
            The other service.

        Raises:
            WebserviceException: The name exists, or a value is not valid.

        Example:
            def promote(service: LocalWebservice) -> None:
                settings = AciWebservice.deploy_configuration(cpu_cores=1, memory_gb=1)
                service.deploy_to_cloud("scoring", settings).wait_for_deployment()
        """
        version = self._resized(self._spec, deployment_config)
        view = self._api.deploy(self.workspace.id, name, uuid.uuid4().hex, deployment_config.to_settings(), version)
        return service_of(self.workspace, view)


CLASSES: Dict[str, Type[Webservice]] = {"ACI": AciWebservice, "AKS": AksWebservice, "Local": LocalWebservice}


def _of_image(image: Any, models: Any, config: Any) -> Tuple[Any, Any]:
    """Return models and code of an image, if one was given instead of them."""
    return (models, config) if image is None else (image.models, image.image_config.to_inference_config())
