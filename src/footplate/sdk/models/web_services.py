"""Azure's web services, which Footplate does not have yet. Scripts may import them; using one raises an error."""

from __future__ import annotations

from typing import Any, List, NoReturn

from footplate.sdk.exceptions import WebserviceException


def refuse(what: str) -> NoReturn:
    raise WebserviceException(
        f"{what}: Footplate does not serve models yet",
        hint="download the model with model.download() or footplate models download, and serve it with another tool",
    )


class Webservice:
    """A web service. None exists, so looking one up raises an error; scripts do so before they delete one."""

    def __init__(self, workspace: Any, name: str) -> None:
        refuse(f"WebserviceNotFound: there is no {name!r}")

    @staticmethod
    def list(workspace: Any, *args: Any, **kwargs: Any) -> List[Any]:
        return []

    @classmethod
    def deploy_configuration(cls, *args: Any, **kwargs: Any) -> NoReturn:
        refuse(f"{cls.__name__} cannot be configured")

    @staticmethod
    def deploy(workspace: Any, name: str, *args: Any, **kwargs: Any) -> NoReturn:
        refuse(f"{name!r} cannot be deployed")

    deploy_from_image = deploy_from_model = deploy


class AciWebservice(Webservice):
    pass


class AksWebservice(Webservice):
    pass


class LocalWebservice(Webservice):
    pass


class InferenceConfig:
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        refuse("InferenceConfig cannot be used")
