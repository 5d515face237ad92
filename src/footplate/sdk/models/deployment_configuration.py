"""Deployment configurations: resources and settings of a service, in the words of Azure's targets.

All of them deploy to this server's machine. `cpu_cores` and `memory_gb` limit a replica only where they are given:
Azure's own defaults (0.1 cores and 0.5 GB) are a price, not a wish.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, Dict, Mapping, Optional, Sequence

from footplate.domain.serving.endpoints import (
    CertificateFiles,
    Replicas,
    ServiceSettings,
    ServiceTls,
)
from footplate.domain.text import counted
from footplate.sdk.exceptions import WebserviceException
from footplate.sdk.values.labels import texts
from footplate.sdk.values.warn import warn_caller, warn_without_effect, without_effect
from footplate.sdk.values.wrong_types import explained


@explained
class WebserviceDeploymentConfiguration:
    """The settings that all three kinds have."""

    kind = "ACI"
    cpu_cores: Optional[float] = None
    memory_gb: Optional[float] = None
    gpu_cores: Optional[int] = None
    port: Optional[int] = None
    version_name: Optional[str] = None
    traffic_percentile: Optional[float] = None
    collect_model_data: Optional[bool] = None
    scoring_timeout_ms: Optional[int] = None
    rollback_seconds: Optional[float] = None
    idle_seconds: Optional[float] = None
    cors: Optional[Sequence[str]] = None
    auth_enabled: Optional[bool] = None
    token_auth_enabled: Optional[bool] = None
    primary_key: Optional[str] = None
    secondary_key: Optional[str] = None
    ssl_enabled: Optional[bool] = None
    ssl_cert_pem_file: Optional[str] = None
    ssl_key_pem_file: Optional[str] = None
    ssl_cname: Optional[str] = None

    def __init__(
        self, description: Optional[str] = None, tags: Optional[Mapping[str, Any]] = None,
        properties: Optional[Mapping[str, Any]] = None,
    ) -> None:  # fmt: skip
        self.description = description
        self.tags = tags
        self.properties = properties

    def to_settings(self, before: Optional[ServiceSettings] = None) -> ServiceSettings:
        """Return the settings; values that were not given stay as they were."""
        old = before or ServiceSettings(kind=self.kind)
        changes: Dict[str, Any] = {"auth": self._auth(), "port": self.port or None, "description": self.description}
        if self.scoring_timeout_ms is not None:
            changes["limits"] = replace(old.limits, timeout_seconds=self.scoring_timeout_ms / 1000.0)
        if self.cors is not None:
            changes["cors"] = (self.cors,) if isinstance(self.cors, str) else tuple(self.cors)
        if self.collect_model_data is not None:
            changes["collect_share"] = float(self.collect_model_data)
        if self.rollback_seconds is not None:
            changes["rollback"] = replace(old.rollback, seconds=self.rollback_seconds)
        if self.tags is not None:
            changes["tags"] = texts(self.tags)
        return replace(
            old,
            kind=self.kind,
            tls=None if self.ssl_enabled is False else old.tls,
            properties={**old.properties, **{name: str(value) for name, value in (self.properties or {}).items()}},
            **{name: value for name, value in changes.items() if value is not None},
        )

    def to_replicas(self, before: Replicas = Replicas()) -> Replicas:
        if self.idle_seconds is None:
            return before
        if before.minimum > 0:
            raise WebserviceException(
                f"idle_seconds is {self.idle_seconds:g}, and the service always has "
                f"{counted(before.minimum, 'replica')}",
                hint="let it stop all of them: service.update(autoscale_enabled=True, autoscale_min_replicas=0)",
            )
        return replace(before, idle_seconds=self.idle_seconds)

    def certificate(self, before: Optional[ServiceTls] = None) -> Optional[CertificateFiles]:
        """Read the files of the certificate; None if none were given, and the service keeps what it has."""
        files = [self.ssl_cert_pem_file, self.ssl_key_pem_file]
        if self.ssl_enabled is False or not any(files):
            if self.ssl_enabled and before is None:
                raise WebserviceException(
                    "ssl_enabled is True without a certificate", hint="give ssl_cert_pem_file and ssl_key_pem_file"
                )
            return None
        cname = self.ssl_cname or (before.cname if before is not None else None)
        certificate, key = (_text(name, path) for name, path in zip(("ssl_cert_pem_file", "ssl_key_pem_file"), files))
        return CertificateFiles(certificate, key, cname)

    def _set_ssl(
        self, enabled: Optional[bool], cert_file: Optional[str], key_file: Optional[str], cname: Optional[str]
    ) -> None:
        self.ssl_enabled, self.ssl_cname = enabled, cname
        self.ssl_cert_pem_file, self.ssl_key_pem_file = cert_file, key_file
        if enabled is False and (cert_file or key_file or cname):
            raise WebserviceException("ssl_enabled is False, and a certificate was given", hint="leave one of them out")

    def _auth(self) -> Optional[str]:
        if self.token_auth_enabled:
            return "token"
        return None if self.auth_enabled is None else "key" if self.auth_enabled else "none"

    def chosen_keys(self) -> Dict[str, str]:
        """Return the keys that the configuration chooses."""
        keys = {"primary": self.primary_key, "secondary": self.secondary_key}
        return {which: str(key) for which, key in keys.items() if key is not None}

    def print_deploy_configuration(self) -> None:
        print({name: value for name, value in vars(self).items() if value is not None})


@explained
class AciServiceDeploymentConfiguration(WebserviceDeploymentConfiguration):
    """The options of `AciWebservice.deploy_configuration`."""

    kind = "ACI"

    def __init__(
        self, cpu_cores: Optional[float] = None, memory_gb: Optional[float] = None,
        tags: Optional[Mapping[str, Any]] = None, properties: Optional[Mapping[str, Any]] = None,
        description: Optional[str] = None, location: Optional[str] = None, auth_enabled: Optional[bool] = None,
        ssl_enabled: Optional[bool] = None, enable_app_insights: Optional[bool] = None,
        ssl_cert_pem_file: Optional[str] = None, ssl_key_pem_file: Optional[str] = None,
        ssl_cname: Optional[str] = None, dns_name_label: Optional[str] = None, primary_key: Optional[str] = None,
        secondary_key: Optional[str] = None, collect_model_data: Optional[bool] = None,
        cmk_vault_base_url: Optional[str] = None, cmk_key_name: Optional[str] = None,
        cmk_key_version: Optional[str] = None, vnet_name: Optional[str] = None, subnet_name: Optional[str] = None,
    ) -> None:  # fmt: skip
        super().__init__(description, tags, properties)
        _check_positive(cpu_cores=cpu_cores, memory_gb=memory_gb)
        self.cpu_cores = cpu_cores
        self.memory_gb = memory_gb
        self.location = location
        self.auth_enabled = auth_enabled
        self.enable_app_insights = enable_app_insights
        self.dns_name_label = dns_name_label
        self.primary_key = primary_key
        self.secondary_key = secondary_key
        self.collect_model_data = collect_model_data
        self._set_ssl(ssl_enabled, ssl_cert_pem_file, ssl_key_pem_file, ssl_cname)
        _warn_without_effect(
            location=location, dns_name_label=dns_name_label, enable_app_insights=enable_app_insights,
            cmk_vault_base_url=cmk_vault_base_url, cmk_key_name=cmk_key_name, cmk_key_version=cmk_key_version,
            vnet_name=vnet_name, subnet_name=subnet_name,
        )  # fmt: skip


@explained
class LocalWebserviceDeploymentConfiguration(WebserviceDeploymentConfiguration):
    """The options of `LocalWebservice.deploy_configuration`: a port of its own."""

    kind = "Local"

    def __init__(self, port: Optional[int] = None) -> None:
        super().__init__()
        self.port = port


@explained
class AksServiceDeploymentConfiguration(WebserviceDeploymentConfiguration):
    """The options of `AksWebservice.deploy_configuration`: replicas, autoscaling, limits of the requests."""

    kind = "AKS"

    def __init__(
        self, autoscale_enabled: Optional[bool] = None, autoscale_min_replicas: Optional[int] = None,
        autoscale_max_replicas: Optional[int] = None, autoscale_refresh_seconds: Optional[int] = None,
        autoscale_target_utilization: Optional[int] = None, collect_model_data: Optional[bool] = None,
        auth_enabled: Optional[bool] = None, cpu_cores: Optional[float] = None, memory_gb: Optional[float] = None,
        enable_app_insights: Optional[bool] = None, scoring_timeout_ms: Optional[int] = None,
        replica_max_concurrent_requests: Optional[int] = None, max_request_wait_time: Optional[int] = None,
        num_replicas: Optional[int] = None, primary_key: Optional[str] = None, secondary_key: Optional[str] = None,
        tags: Optional[Mapping[str, Any]] = None, properties: Optional[Mapping[str, Any]] = None,
        description: Optional[str] = None, gpu_cores: Optional[int] = None, period_seconds: Optional[int] = None,
        initial_delay_seconds: Optional[int] = None, timeout_seconds: Optional[int] = None,
        success_threshold: Optional[int] = None, failure_threshold: Optional[int] = None,
        namespace: Optional[str] = None, token_auth_enabled: Optional[bool] = None,
        compute_target_name: Optional[str] = None, cpu_cores_limit: Optional[float] = None,
        memory_gb_limit: Optional[float] = None, ssl_enabled: Optional[bool] = None,
        ssl_cert_pem_file: Optional[str] = None, ssl_key_pem_file: Optional[str] = None,
        ssl_cname: Optional[str] = None, **unknown: Any,
    ) -> None:  # fmt: skip
        if unknown:
            raise WebserviceException(
                f"AksWebservice has no option {', '.join(unknown)}",
                hint="to give a new version a part of the requests, use service.update(models=[…], share=10)",
            )
        super().__init__(description, tags, properties)
        _check_positive(
            cpu_cores=cpu_cores, memory_gb=memory_gb, num_replicas=num_replicas, scoring_timeout_ms=scoring_timeout_ms,
            cpu_cores_limit=cpu_cores_limit, memory_gb_limit=memory_gb_limit,
        )  # fmt: skip
        if autoscale_enabled and num_replicas is not None:
            raise WebserviceException(
                "num_replicas and autoscale_enabled were given", hint="use autoscale_min_replicas and _max_replicas"
            )
        self.autoscale_enabled = autoscale_enabled
        self.autoscale_min_replicas = autoscale_min_replicas
        self.autoscale_max_replicas = autoscale_max_replicas
        self.autoscale_refresh_seconds = autoscale_refresh_seconds
        self.autoscale_target_utilization = autoscale_target_utilization
        self.collect_model_data = collect_model_data
        # AKS authenticates by key unless told otherwise; a token is the other way.
        self.auth_enabled = auth_enabled
        self.token_auth_enabled = token_auth_enabled
        self.cpu_cores = cpu_cores_limit or cpu_cores
        self.memory_gb = memory_gb_limit or memory_gb
        self.gpu_cores = gpu_cores
        self.enable_app_insights = enable_app_insights
        self.scoring_timeout_ms = scoring_timeout_ms
        self.replica_max_concurrent_requests = replica_max_concurrent_requests
        self.max_request_wait_time = max_request_wait_time
        self.num_replicas = num_replicas
        self.primary_key = primary_key
        self.secondary_key = secondary_key
        self.period_seconds = period_seconds
        self.initial_delay_seconds = initial_delay_seconds
        self.timeout_seconds = timeout_seconds
        self.success_threshold = success_threshold
        self.failure_threshold = failure_threshold
        self.namespace = namespace
        self.compute_target_name = compute_target_name
        self._set_ssl(ssl_enabled, ssl_cert_pem_file, ssl_key_pem_file, ssl_cname)  # on Azure, of the cluster
        _warn_without_effect(
            namespace=namespace, period_seconds=period_seconds, initial_delay_seconds=initial_delay_seconds,
            timeout_seconds=timeout_seconds, success_threshold=success_threshold, failure_threshold=failure_threshold,
            autoscale_refresh_seconds=autoscale_refresh_seconds, max_request_wait_time=max_request_wait_time,
            enable_app_insights=enable_app_insights,
        )  # fmt: skip

    def to_settings(self, before: Optional[ServiceSettings] = None) -> ServiceSettings:
        if before is None and self.auth_enabled is None and not self.token_auth_enabled:
            return super().to_settings(ServiceSettings(kind=self.kind, auth="key"))
        return super().to_settings(before)

    def to_replicas(self, before: Replicas = Replicas()) -> Replicas:
        if self.num_replicas is not None:
            return replace(before, minimum=self.num_replicas, maximum=self.num_replicas)
        if self.autoscale_enabled is False:
            return replace(before, minimum=before.minimum or 1, maximum=before.minimum or 1)
        low, high = self.autoscale_min_replicas, self.autoscale_max_replicas
        if self.autoscale_enabled is None and low is None and high is None:
            return before
        concurrent = self.replica_max_concurrent_requests or 1
        share = (self.autoscale_target_utilization or 70) / 100.0
        minimum = before.minimum if low is None else low
        maximum = max(minimum, before.maximum if high is None else high, 1)
        queue = max(1.0, 4.0 * concurrent * share)
        return replace(before, minimum=minimum, maximum=maximum, queue_per_replica=queue)


@explained
class AksEndpointDeploymentConfiguration(AksServiceDeploymentConfiguration):
    """The options of `AksEndpoint.deploy_configuration`: those of `AksWebservice`, and the first version's name."""

    kind = "AKSENDPOINT"

    def __init__(
        self, version_name: Optional[str] = None, traffic_percentile: Optional[float] = None,
        is_default: Optional[bool] = None, is_control_version_type: Optional[bool] = None, **options: Any,
    ) -> None:  # fmt: skip
        super().__init__(**options)
        if traffic_percentile is not None and not 0 <= traffic_percentile <= 100:
            raise WebserviceException(
                f"traffic_percentile is {traffic_percentile!r}", hint="give a percentage from 0 to 100"
            )
        if is_default is False:
            warn_caller("is_default=False has no effect here: the first version of an endpoint is the default one")
        self.version_name = version_name
        self.traffic_percentile = traffic_percentile
        self.is_default = is_default
        self.is_control_version_type = is_control_version_type


_REASONS = {
    "enable_app_insights": "the gateway always has figures, at /metrics",
    "autoscale_refresh_seconds": "replicas follow the queue at once",
    "max_request_wait_time": "a request waits as long as scoring_timeout_ms says",
    **dict.fromkeys(
        ("period_seconds", "initial_delay_seconds", "timeout_seconds", "success_threshold", "failure_threshold"),
        "a worker is healthy as long as it is connected to the gateway",
    ),
}


def _warn_without_effect(**options: Any) -> None:
    """Warn once about options that only mean something on Azure."""
    reasons = without_effect("services run on the server's machine", **options)
    warn_without_effect({name: _REASONS.get(name, reason) for name, reason in reasons.items()})


def _text(name: str, path: Optional[str]) -> str:
    """Return the content of a file of the certificate."""
    if not path:
        raise WebserviceException(f"{name} is missing", hint="give ssl_cert_pem_file and ssl_key_pem_file")
    try:
        with open(os.fspath(path), encoding="ascii") as file:
            return file.read()
    except OSError as error:
        raise WebserviceException(f"{name} cannot be read: {error}", hint="give the path of a PEM file") from None
    except UnicodeDecodeError:
        raise WebserviceException(f"{name} {path!r} is not a PEM file", hint="convert it with openssl") from None


def _check_positive(**numbers: Optional[float]) -> None:
    for name, value in numbers.items():
        if value is not None and not value > 0:
            raise WebserviceException(f"{name} is {value!r}", hint="give a number above 0")
