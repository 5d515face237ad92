"""The gateway's side of a deployed service: certificates, origins of browsers, and limits of requests."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from azureml.core import Model, Workspace
from azureml.core.model import InferenceConfig
from azureml.core.webservice import AciWebservice, Webservice
from azureml.exceptions import WebserviceException
from footplate.sdk.models.webservice import KINDS
from footplate.testing.waiting import wait_until
from support.indexes import self_sign

SCRIPT = """
import json, time
def run(data):
    time.sleep(json.loads(data).get("seconds", 0))
    return len(data)
"""


def deploy(ws: Workspace, folder: Path, name: str, **options: Any) -> Webservice:
    (folder / "model.txt").write_text("m")
    (folder / "score.py").write_text(SCRIPT)
    model = Model.register(ws, str(folder / "model.txt"), "model")
    config = InferenceConfig("score.py", source_directory=str(folder))
    service = Model.deploy(ws, name, [model], config, AciWebservice.deploy_configuration(**options))
    service.wait_for_deployment()
    return service


def ask(url: str, body: bytes = b"{}", trusted: Path | None = None, **headers: str) -> tuple[int, Any, dict[str, str]]:
    context = None if trusted is None else ssl.create_default_context(cafile=str(trusted))
    request = urllib.request.Request(url, body, {k.replace("_", "-"): v for k, v in headers.items()})
    try:
        with urllib.request.urlopen(request, context=context) as response:
            return response.status, json.load(response), {k.lower(): v for k, v in response.headers.items()}
    except urllib.error.HTTPError as error:
        return error.code, json.load(error), {}


def served(service: Webservice) -> str:
    """Return the certificate that the port of the service shows."""
    port = int(str(service.scoring_uri).split(":")[2].split("/")[0])
    return ssl.get_server_certificate(("localhost", port)).strip()


def test_a_service_with_a_certificate_speaks_only_tls(ws: Workspace, tmp_path: Path, home: Path) -> None:
    cert, key = self_sign(tmp_path / "first", "localhost")
    other, other_key = self_sign(tmp_path / "second", "localhost")
    for files, words in (((cert, other_key), "KEY_VALUES_MISMATCH"), ((cert, tmp_path / "none.pem"), "cannot be read")):
        with pytest.raises(WebserviceException, match=words):
            deploy(ws, tmp_path, "sealed", ssl_enabled=True, ssl_cert_pem_file=str(files[0]),
                   ssl_key_pem_file=str(files[1]))  # fmt: skip
    service = deploy(ws, tmp_path, "sealed", ssl_enabled=True, ssl_cert_pem_file=str(cert), ssl_key_pem_file=str(key),
                     ssl_cname="localhost", auth_enabled=True)  # fmt: skip
    assert isinstance(service, AciWebservice)
    url = str(service.scoring_uri)
    assert url.startswith("https://localhost:") and url.endswith("/score")
    assert service.run("{}") == 2
    bearer = f"Bearer {service.get_keys()[0]}"
    assert ask(url, trusted=cert, Authorization=bearer)[:2] == (200, 2)
    assert ask(url, trusted=cert)[0] == 401
    with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
        ask(url)
    gateway = json.loads((home / "serving" / "gateway.json").read_text())["url"]
    status, answer, _ = ask(f"{gateway}/api/v1/service/sealed/score", Authorization=bearer)
    assert (status, "over TLS" in answer["message"]) == (403, True)

    expired, expired_key = self_sign(tmp_path / "expired", "localhost", days=-1)
    with pytest.raises(WebserviceException, match="has expired"):
        service.update(ssl_cert_pem_file=str(expired), ssl_key_pem_file=str(expired_key))
    assert served(service) == cert.read_text().strip()
    service.update(ssl_cert_pem_file=str(other), ssl_key_pem_file=str(other_key))  # a renewal
    wait_until(lambda: served(service) == other.read_text().strip())
    assert (service.scoring_uri, service.run("{}")) == (url, 2)
    wait_until(lambda: len(list((home / "serving" / "tls").iterdir())) == 1)
    service.update(ssl_enabled=False)
    wait_until(lambda: ask(f"{gateway}/api/v1/service/sealed/score", Authorization=bearer)[0] == 200)
    assert service.run("{}") == 2 and str(service.scoring_uri).startswith(gateway)
    service.delete()
    assert not list((home / "serving" / "tls").iterdir())


def test_origins_and_limits_of_a_deployed_service(ws: Workspace, tmp_path: Path) -> None:
    service = deploy(ws, tmp_path, "limited")
    url, api = str(service.scoring_uri), ws.session.api_for(KINDS).endpoints
    settings = api.get(ws.id, "limited").settings
    limits = replace(settings.limits, body_bytes=1000, timeout_seconds=0.5)
    settings = replace(settings, limits=limits, cors=("https://app.example.com",))
    api.change(ws.id, "limited", "stricter", settings=settings)
    wait_until(lambda: ask(url, b"{}" + b" " * 1000)[0] == 413)
    status, answer, headers = ask(url, Origin="https://app.example.com")
    assert (status, answer, headers["access-control-allow-origin"]) == (200, 2, "https://app.example.com")
    assert "access-control-allow-origin" not in ask(url, Origin="https://evil.example.com")[2]
    status, answer, _ = ask(url, b'{"seconds": 5}')
    assert (status, answer["message"]) == (503, "no answer within 0.5 seconds")
