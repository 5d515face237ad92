from __future__ import annotations

from typing import Any

import pytest

from footplate.domain.serving.endpoints import Replicas, ServiceSettings
from footplate.sdk.exceptions import WebserviceException
from footplate.sdk.models.aks_endpoint import AksEndpoint
from footplate.sdk.models.deployment_configuration import WebserviceDeploymentConfiguration
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
    with pytest.warns(UserWarning, match="namespace, failure_threshold have no effect here") as caught:
        AksWebservice.deploy_configuration(namespace="models", failure_threshold=3, auth_enabled=False)
    assert len(caught) == 1
    with pytest.warns(UserWarning, match="the gateway always has figures"):
        AciWebservice.deploy_configuration(enable_app_insights=True)


def test_options_that_are_given_by_their_default_warn_nobody(recwarn: pytest.WarningsRecorder) -> None:
    AksWebservice.deploy_configuration(enable_app_insights=False, num_replicas=2, cpu_cores=1, memory_gb=2)
    assert not list(recwarn)


def test_idle_seconds_are_for_services_that_need_no_replica() -> None:
    config = WebserviceDeploymentConfiguration()
    config.idle_seconds = 5.0
    assert config.to_replicas(Replicas(0, 3, 2.0)) == Replicas(0, 3, 2.0, 5.0)
    with pytest.raises(WebserviceException, match=r"is 5, and the service always has 1 replica\b") as caught:
        config.to_replicas(Replicas(1, 3))
    assert "autoscale_min_replicas=0" in str(caught.value.hint)


def test_other_numbers_of_replicas_keep_the_idle_seconds() -> None:
    before = Replicas(0, 2, 4.0, 5.0)
    options: list[dict[str, Any]] = [{"num_replicas": 3}, {"autoscale_max_replicas": 4}, {"autoscale_enabled": False}]
    for each in options:
        assert AksWebservice.deploy_configuration(**each).to_replicas(before).idle_seconds == 5.0


def test_origins_that_are_not_given_stay_and_an_empty_list_removes_them() -> None:
    config, before = WebserviceDeploymentConfiguration(), ServiceSettings(cors=("https://a.example",))
    assert config.to_settings(before).cors == before.cors
    config.cors = "https://b.example"
    assert config.to_settings(before).cors == ("https://b.example",)
    config.cors = []
    assert config.to_settings(before).cors == ()


def test_a_certificate_needs_both_files() -> None:
    with pytest.raises(WebserviceException, match="without a certificate"):
        AciWebservice.deploy_configuration(ssl_enabled=True).certificate()
    with pytest.raises(WebserviceException, match="ssl_enabled is False"):
        AciWebservice.deploy_configuration(ssl_enabled=False, ssl_cname="a.example.com")


@pytest.mark.parametrize("percentile", [-1, 100.5])
def test_a_share_outside_of_0_to_100_is_refused(percentile: float) -> None:
    with pytest.raises(WebserviceException, match="traffic_percentile is") as caught:
        AksEndpoint.deploy_configuration(version_name="a", traffic_percentile=percentile)
    assert caught.value.hint


def test_the_first_version_of_an_endpoint_is_always_the_default() -> None:
    with pytest.warns(UserWarning, match="the first version of an endpoint is the default one"):
        AksEndpoint.deploy_configuration(version_name="a", is_default=False)
    settings = AksEndpoint.deploy_configuration(version_name="a", auth_enabled=False).to_settings()
    assert (settings.kind, settings.auth) == ("AKSENDPOINT", "none")
