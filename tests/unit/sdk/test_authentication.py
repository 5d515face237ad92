from __future__ import annotations

import pytest

from azureml.core.authentication import (
    ArmTokenAuthentication,
    AzureCliAuthentication,
    InteractiveLoginAuthentication,
    MsiAuthentication,
    ServicePrincipalAuthentication,
)

ALL = [
    lambda: InteractiveLoginAuthentication(force=False, tenant_id="t"),
    lambda: ServicePrincipalAuthentication("tenant", "principal", service_principal_password="hidden"),
    lambda: ServicePrincipalAuthentication("tenant", "principal", "hidden"),
    AzureCliAuthentication,
    lambda: ArmTokenAuthentication("hidden"),
    lambda: MsiAuthentication({"client_id": "c"}),
]


@pytest.mark.parametrize("make", ALL)
def test_every_class_returns_the_header_for_a_team_server(make: object, monkeypatch: pytest.MonkeyPatch):
    made = make()  # type: ignore[operator]
    assert made.get_authentication_header() == {}, "on one machine the socket's mode is the authority"
    monkeypatch.setenv("FOOTPLATE_TOKEN", "a-token")
    assert made.get_authentication_header() == {"Authorization": "Bearer a-token"}
    assert "hidden" not in repr(vars(made))
