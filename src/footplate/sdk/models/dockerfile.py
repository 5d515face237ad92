"""The Dockerfile of a package: its text, its base image, and what its build needs of this machine."""

from __future__ import annotations

import os
import re
from typing import Any, Dict, List, Mapping, Optional

from footplate.pip_settings import pip_settings
from footplate.sdk.environments.conda_dependencies import CREATED_PYTHON, DEFAULT_PYTHON, own_python_version
from footplate.sdk.environments.spec import to_spec
from footplate.sdk.exceptions import WebserviceException
from footplate.sdk.models.inference_config import InferenceConfig

_CERTIFICATES = "/run/certificates.pem"
_RUN = f"RUN --mount=type=secret,id=pip,target=/etc/pip.conf --mount=type=secret,id=certificates,target={_CERTIFICATES}"
_DOCKERFILE = """\
# A web service that Footplate packaged. It answers at http://localhost:5001/score:
#   docker build -t {image} . && docker run -p 5001:5001 {image}
# With an index or certificates of your own, which do not become part of the image:
#   docker build --secret id=pip,src=pip.conf --secret id=certificates,src=CERTIFICATES.pem …
# where pip.conf has "cert = {certificates}" for such certificates.
FROM {base}
{run} \\
    python3 -m venv /opt/tools \\
 && /opt/tools/bin/python -m pip install --no-cache-dir uv "pip>=22.3" \\
 && /opt/tools/bin/uv venv --python ">=3.10" /opt/gateway \\
 && /opt/tools/bin/python -m pip --python /opt/gateway/bin/python install --no-cache-dir "httptools>=0.6"
WORKDIR /var/azureml-app
{environment}COPY . .
ENV PYTHONPATH=/var/azureml-app/runtime PYTHONUNBUFFERED=1
EXPOSE 5001
CMD ["/opt/gateway/bin/python", "-m", "footplate.serving.standalone", "/var/azureml-app", "--python", "{worker}"]
"""
_ENVIRONMENT = """\
COPY requirements.txt .
{run} \\
    /opt/tools/bin/uv venv --python "{python}" /opt/environment \\
 && /opt/tools/bin/python -m pip --python /opt/environment/bin/python install --no-cache-dir -r requirements.txt
"""
_REACHING = ("index-url", "extra-index-url", "find-links", "trusted-host", "proxy", "timeout", "default-timeout")
"""The settings of pip that tell how to reach packages; folders of this machine among them cannot be reached."""


def text(image: str, container: Mapping[str, Any], python: Optional[str], is_complete: bool) -> str:
    """Return the Dockerfile. `is_complete` means that the base image has the packages of the service.

    Where nobody asked for a version of Python, it is that of the base image, or this one if no image was named.
    """
    is_free = python in (None, DEFAULT_PYTHON, CREATED_PYTHON)
    version = own_python_version() if is_free else str(python)
    worker = str(container.get("interpreter") or "python")
    environment = ""
    if not is_complete:
        chosen = worker if is_free and container.get("base_image") else version
        worker = "/opt/environment/bin/python"
        environment = _ENVIRONMENT.format(run=_RUN, python=chosen)
    return _DOCKERFILE.format(
        image=image, base=base_image(container, version), run=_RUN, certificates=_CERTIFICATES,
        environment=environment, worker=worker,
    )  # fmt: skip


def container(config: Optional[InferenceConfig]) -> Dict[str, Any]:
    """Return what was asked for about the container; empty if nothing was."""
    if config is None:
        return {}
    environment = config.to_environment()
    options: Dict[str, Any] = to_spec(environment).options.get("docker") or {} if environment else {}
    if options.get("base_dockerfile") or options.get("build_context"):
        raise WebserviceException(
            f"environment {environment.name if environment else ''!r} has a Dockerfile, and a package has its own",
            hint="build an image from it, and set environment.docker.base_image to its name",
        )
    if config.base_image is not None:
        registry = config.base_image_registry
        options = {"base_image": config.base_image, "registry": {"address": registry.address} if registry else None}
    return options


def base_image(container: Mapping[str, Any], python: str) -> str:
    """Return the name of the image to start from, by default one with the Python of the environment."""
    name = container.get("base_image")
    if name is None:
        match = re.match(r"3\.\d+", python)
        return f"docker.io/library/python:{match[0] if match else '3.12'}-slim"
    registry: Mapping[str, Any] = container.get("registry") or {}
    address = str(registry.get("address") or "")
    host = address.split("://")[-1].split("@")[-1].rstrip("/")
    return str(name) if not host or str(name).startswith(f"{host}/") else f"{host}/{name}"


def secrets(place: str) -> List[str]:
    """Return the options that give a build the index and the certificates of this machine."""
    settings = pip_settings(os.environ)
    local = ("file:", "/", ".", "~")
    lines = {key: [each for each in settings.get(key, "").split() if not each.startswith(local)] for key in _REACHING}
    certificates = settings.get("cert") or os.environ.get("SSL_CERT_FILE") or ""
    options: List[str] = []
    if os.path.isfile(certificates):
        lines["cert"] = [_CERTIFICATES]
        options += ["--secret", f"id=certificates,src={certificates}"]
    path = os.path.join(place, "pip.conf")
    with open(path, "w", encoding="utf-8") as file:
        file.write("[global]\n" + "".join(f"{key} = {' '.join(words)}\n" for key, words in lines.items() if words))
    return [*options, "--secret", f"id=pip,src={path}"]
