from __future__ import annotations

from typing import Any

import pytest

from footplate.sdk.exceptions import WebserviceException
from footplate.sdk.models.webservice_kinds import AciWebservice, AksWebservice


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"traffic_percentile": 20}, "no option traffic_percentile"),
        ({"num_replica": 2}, "no option num_replica"),
    ],
)
def test_options_that_would_be_ignored_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(WebserviceException, match=message) as caught:
        AksWebservice.deploy_configuration(**options)
    assert caught.value.hint


def test_options_that_only_azure_has_are_named_in_one_warning() -> None:
    with pytest.warns(UserWarning, match="namespace, failure_threshold has no effect here") as caught:
        AksWebservice.deploy_configuration(namespace="models", failure_threshold=3, auth_enabled=False)
    assert len(caught) == 1
    with pytest.warns(UserWarning, match="the gateway always has figures"):
        AciWebservice.deploy_configuration(enable_app_insights=True)


def test_options_that_are_given_by_their_default_warn_nobody(recwarn: pytest.WarningsRecorder) -> None:
    AksWebservice.deploy_configuration(enable_app_insights=False, num_replicas=2, cpu_cores=1, memory_gb=2)
    assert not list(recwarn)


def test_a_certificate_needs_both_files() -> None:
    with pytest.raises(WebserviceException, match="without a certificate"):
        AciWebservice.deploy_configuration(ssl_enabled=True).certificate()
    with pytest.raises(WebserviceException, match="ssl_enabled is False"):
        AciWebservice.deploy_configuration(ssl_enabled=False, ssl_cname="a.example.com")
