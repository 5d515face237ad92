"""The verbs of web services. Each changes the record of a service; the keeper carries it out."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from footplate.domain.orders import CUT_MARK
from footplate.domain.serving import rollouts
from footplate.domain.serving.endpoints import (
    READY,
    STARTING,
    CertificateFiles,
    EndpointRecord,
    EndpointView,
    ServiceKeys,
    ServiceLog,
    ServiceSettings,
    ServiceTls,
    ServiceToken,
    VersionRecord,
    VersionSpec,
    VersionView,
    check_default,
    check_goal,
    check_new_version,
    check_service_name,
    check_settings,
    check_version,
    find_version,
    model_id,
)
from footplate.domain.serving.frameworks import codeless_framework
from footplate.domain.serving.rollouts import VersionFigures, VersionReport
from footplate.errors import Conflict, InvalidInput, NotFound
from footplate.services.endpoints.certificates import Certificates
from footplate.services.endpoints.gateway_process import GatewayProcess
from footplate.services.endpoints.keeper import Keeper, token_secret
from footplate.services.endpoints.ports import choose_port
from footplate.services.endpoints.version_runs import RUN_TYPE, VersionRuns
from footplate.services.models import ModelService
from footplate.services.topics import EndpointChanged, Publish
from footplate.serving.gateway.authentication import TOKEN_SECONDS, make_token
from footplate.storage import Storage

LOGS = ("azureml-logs/20_image_build_log.txt", "user_logs/std_log.txt")


class EndpointService:
    def __init__(
        self,
        store: Storage,
        models: ModelService,
        runs: VersionRuns,
        gateway: GatewayProcess,
        keeper: Keeper,
        certificates: Certificates,
        publish: Publish,
    ) -> None:
        self._store = store
        self._models = models
        self._runs = runs
        self._gateway = gateway
        self._keeper = keeper
        self._certificates = certificates
        self._publish = publish

    # ── Deploy and change ─────────────────────────────────────────────────────────────────────────────────────────────

    def deploy(
        self,
        workspace: str,
        name: str,
        key: str,
        settings: ServiceSettings,
        version: VersionSpec,
        goal: float = 100.0,
        overwrite: bool = False,
        created_by: str = "",
        certificate: CertificateFiles | None = None,
        person: str | None = None,
    ) -> EndpointView:
        """Create a service with its first version. The same key again returns the same service."""
        check_service_name(name)
        self._store.workspaces.get(workspace)
        present = self._find(workspace, name)
        if present is not None and any(v.run == _run_id(name, key) for v in present.versions):
            return self.view(present)
        if present is not None and overwrite and not present.deleting:
            return self.update(workspace, name, key, settings, version, goal, certificate=certificate)
        check_settings(settings)
        check_goal(goal)
        version = self._check(workspace, version)
        now = time.time()
        route = self._free_route(workspace, name)
        settings = self._with_port(self._with_tls(route, settings, certificate, None), route)
        record = EndpointRecord(workspace, name, route, now, now, settings, created_by=created_by, person=person)
        first = replace(_new_version(record, key, version, now), goal=100.0 if version.name is None else goal)
        record = replace(record, versions=(first,))
        if present is not None and present.deleting:
            raise Conflict(f"service {name!r} is being deleted", "try again when it is gone")
        self._store.endpoints.create(record, ServiceKeys(_new_key(), _new_key()))
        self._announce(record)
        return self.view(record)

    def update(
        self,
        workspace: str,
        name: str,
        key: str,
        settings: ServiceSettings | None = None,
        version: VersionSpec | None = None,
        goal: float = 100.0,
        shadow: bool = False,
        certificate: CertificateFiles | None = None,
    ) -> EndpointView:
        """Change settings at once, or begin a new version that takes `goal` percent of the requests when it is ready.

        A shadow takes none: it gets copies, and its answers are only compared.
        """
        check_goal(goal)
        settings = self._new_settings(workspace, name, settings, certificate)
        checked = None if version is None else self._check(workspace, version)

        def change(record: EndpointRecord, now: float) -> EndpointRecord:
            after = replace(record, settings=settings or record.settings, modified=now)
            if checked is None or any(v.run == _run_id(name, key) for v in record.versions):
                check_default(after)
                return rollouts.rebalance(after)
            new = _new_version(after, key, checked, now)
            new = replace(new, goal=0.0 if shadow else goal, shadow=shadow)
            check_new_version(after, new)
            # A version that has not become ready before the new one that replaces it is given up.
            late = {v.number for v in after.versions if v.state == STARTING and v.spec.name == new.spec.name}
            others = [rollouts.drain(v, now) if v.number in late else v for v in after.versions]
            after = replace(after, versions=(*others, new), cause=None)
            check_default(after)
            return after

        return self._change(workspace, name, change)

    def split(self, workspace: str, name: str, weights: dict[int, float]) -> EndpointView:
        """Set the percentages of versions; those that are not named keep the rest in proportion."""
        return self._change(workspace, name, lambda record, now: rollouts.split_traffic(record, weights, now))

    def change_version(
        self,
        workspace: str,
        name: str,
        number: int,
        goal: float | None = None,
        description: str | None = None,
        definition: dict[str, Any] | None = None,
    ) -> EndpointView:
        """Change the share or the labels of one version; its workers stay."""

        def change(record: EndpointRecord, now: float) -> EndpointRecord:
            old = find_version(record, number)
            spec = replace(
                old.spec,
                description=old.spec.description if description is None else description,
                definition=old.spec.definition if definition is None else definition,
            )
            new = replace(old, spec=spec, goal=old.goal if goal is None else goal)
            if goal is not None and new.spec.name is None:
                raise InvalidInput(f"version {number} of {name!r} has no name", "set the shares of all versions: split")
            check_goal(new.goal)
            check_new_version(record, new)
            changed = tuple(new if v.number == number else v for v in record.versions)
            return rollouts.rebalance(replace(record, versions=changed, modified=now))

        return self._change(workspace, name, change)

    def delete_version(self, workspace: str, name: str, number: int) -> EndpointView:
        """Stop one version when its requests are answered; the others get its share."""

        def change(record: EndpointRecord, now: float) -> EndpointRecord:
            version = find_version(record, number)
            others = [v for v in record.versions if v.state == READY and v.number != number and not v.shadow]
            if not version.shadow and not others:
                called = version.spec.name or number
                raise InvalidInput(f"{name!r} has no version but {called} that is ready", "delete the service instead")
            return rollouts.remove_version(record, number, now)

        return self._change(workspace, name, change)

    def delete(self, workspace: str, name: str) -> EndpointView:
        """Stop the service: requests in hand are answered, then its replicas end and it is gone."""
        return self._change(workspace, name, lambda record, now: replace(record, deleting=True, modified=now))

    def _change(
        self, workspace: str, name: str, change: Callable[[EndpointRecord, float], EndpointRecord]
    ) -> EndpointView:
        while True:
            record = self._store.endpoints.get(workspace, name)
            saved = self._store.endpoints.save(change(record, time.time()))
            if saved is not None:
                self._announce(saved)
                return self.view(saved)

    def _announce(self, record: EndpointRecord) -> None:
        self._publish(EndpointChanged(record.workspace, record.name))
        self._keeper.wake()

    def _check(self, workspace: str, spec: VersionSpec) -> VersionSpec:
        """Return the spec with the models that exist, or raise what is wrong with it."""
        check_version(spec)
        models = [self._models.get(workspace, *model_id(each)) for each in spec.models]
        if spec.entry_script is None:
            model = models[0]
            if codeless_framework(model.framework, [file.path for file in model.files]) is None:
                raise InvalidInput(
                    f"model {model.name}:{model.version} cannot be served without code: its framework is "
                    f"{model.framework or 'not known'}, and its files do not tell it",
                    "register it with model_framework, or give an entry script: InferenceConfig(entry_script=…)",
                )
        self._runs.check_target(workspace, spec)
        if spec.snapshot is not None and not self._store.blobs.has(spec.snapshot):
            raise InvalidInput(f"snapshot {spec.snapshot} is not in the store", "send its files first")
        return spec

    def _new_settings(
        self, workspace: str, name: str, settings: ServiceSettings | None, certificate: CertificateFiles | None
    ) -> ServiceSettings | None:
        """Return the settings to change to; None if they stay."""
        if settings is None and certificate is None:
            return None
        record = self._store.endpoints.get(workspace, name)
        after = settings or record.settings
        check_settings(after)
        changed = self._with_tls(record.route, after, certificate, record.settings.tls)
        return self._with_port(changed, record.route, record.settings.port)

    def _with_tls(
        self, route: str, settings: ServiceSettings, files: CertificateFiles | None, before: ServiceTls | None
    ) -> ServiceSettings:
        """Store a certificate that was sent. Without one, that of the service stays, or it is removed."""
        if files is not None:
            return replace(settings, tls=self._certificates.keep(route, files))
        if settings.tls is not None and settings.tls != before:
            raise InvalidInput("the settings have a certificate that the service does not have", "send its files")
        return settings

    def _with_port(self, settings: ServiceSettings, route: str, before: int | None = None) -> ServiceSettings:
        """Choose a port for a service that has one of its own, which is a local one or one with a certificate."""
        if settings.kind != "Local" and settings.tls is None:
            return replace(settings, port=None)
        others = [record for record in self._store.endpoints.list() if record.route != route and not record.deleting]
        ports = {record.settings.port: record.name for record in others if record.settings.port is not None}
        return replace(settings, port=choose_port(settings.port, before, ports))

    def _free_route(self, workspace: str, name: str) -> str:
        """Return the name at the gateway: the service's own, or one with a suffix if another workspace has it."""
        foreign_routes = {record.route for record in self._store.endpoints.list() if record.workspace != workspace}
        return name if name not in foreign_routes else f"{name}-{hashlib.sha256(workspace.encode()).hexdigest()[:8]}"

    # ── Look ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def get(self, workspace: str, name: str) -> EndpointView:
        return self.view(self._store.endpoints.get(workspace, name))

    def list(self, workspace: str) -> list[EndpointView]:
        self._store.workspaces.get(workspace)
        return [self.view(record) for record in self._store.endpoints.list(workspace)]

    def view(self, record: EndpointRecord) -> EndpointView:
        status = self._gateway.status()
        figures = {
            v.number: (status and status.figures(record.route, v.number)) or VersionFigures() for v in record.versions
        }
        seen = {number: VersionReport(healthy=each.healthy) for number, each in figures.items()}
        versions = tuple(_version_view(v, figures[v.number], self._waiting(v)) for v in record.versions)
        return EndpointView(
            record.workspace, record.name, rollouts.state_of(record, seen), record.created, record.modified,
            record.revision, record.settings, versions, record.cause,
            self._url(record), record.created_by,
        )  # fmt: skip

    def _waiting(self, version: VersionRecord) -> str | None:
        return self._runs.waiting(self._runs.children(version)) if version.state == STARTING else None

    def _url(self, record: EndpointRecord) -> str | None:
        base = self._gateway.url()
        port, tls = record.settings.port, record.settings.tls
        if tls is not None:
            return f"https://{tls.cname or 'localhost'}:{port}/"
        if port is not None:
            return f"http://localhost:{port}/"
        return None if base is None else f"{base}/api/v1/service/{record.route}/"

    def logs(self, workspace: str, name: str, lines: int = 5000, version: int | None = None) -> ServiceLog:
        """Return the last lines that the replicas of a version wrote; by default of the newest version."""
        record = self._store.endpoints.get(workspace, name)
        matching = [v for v in record.versions if version in (None, v.number)]
        if not matching:
            numbers = ", ".join(str(v.number) for v in record.versions)
            raise NotFound(f"service {name!r} has no version {version}", f"its versions are {numbers}")
        children = [child.id for child in self._runs.children(matching[-1])]
        texts = [text for child in children if (text := self._log(child, lines))]
        return ServiceLog("\n".join(texts), tuple(line for child in children for line in self._cut_lines(child)))

    def _log(self, run: str, lines: int) -> str:
        log_lines: list[str] = []
        for path in LOGS:
            size = self._store.logs.size(run, path)
            data = self._store.logs.read(run, path, max(0, size - 400 * lines), 400 * lines)
            log_lines += data.decode("utf-8", "replace").splitlines()
        return "\n".join(log_lines[-lines:])

    def _cut_lines(self, run: str) -> list[str]:
        """Return the first lines of logs that were too large, which say what was cut."""
        heads = [self._store.logs.read(run, path, 0, 512).split(b"\n")[0] for path in LOGS]
        return [head.decode("utf-8", "replace") for head in heads if head.startswith(CUT_MARK)]

    # ── Workers on other machines ─────────────────────────────────────────────────────────────────────────────────────

    def check_tunnel(self, run: str, attempt: int | None = None) -> None:
        """Raise unless this is the current attempt of a run that is a replica of a service and has not ended."""
        record = self._store.runs.record(run)
        if record.spec.type != RUN_TYPE:
            raise InvalidInput(f"run {run} is not a replica of a web service", "deploy one with Model.deploy")
        if record.outcome is not None:
            raise Conflict(f"run {run} is to end", "end this worker")
        if attempt not in (None, record.attempt):  # its node was cut off, and another one replaces it
            raise Conflict(f"run {run} is at attempt {record.attempt}, not {attempt}", "end this worker")

    def hand_over(self, run: str, descriptor: int) -> None:
        """Give the connection of a replica to the gateway; raise Unavailable if it takes none now."""
        self._gateway.hand_over(run, descriptor)

    # ── Keys ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def keys(self, workspace: str, name: str, renew: str | None = None, value: str | None = None) -> ServiceKeys:
        """Return the keys; with `renew`, after one of them got a new value, chosen by the caller or by chance."""
        keys = self._store.endpoints.keys(workspace, name)
        if renew is None:
            return keys
        if renew not in ("primary", "secondary"):
            raise InvalidInput(f"there is no {renew!r} key", "use primary or secondary")
        keys = replace(keys, **{renew: value or _new_key()})
        self._store.endpoints.set_keys(workspace, name, keys)
        self._keeper.wake()
        return keys

    def token(self, workspace: str, name: str) -> ServiceToken:
        record = self._store.endpoints.get(workspace, name)
        if record.settings.auth != "token":
            raise InvalidInput(f"service {name!r} does not use tokens", "deploy it with token_auth_enabled=True")
        now = time.time()
        token = make_token(token_secret(self._store, record), record.route, now)
        return ServiceToken(token, now + TOKEN_SECONDS, now + TOKEN_SECONDS / 2)

    def _find(self, workspace: str, name: str) -> EndpointRecord | None:
        try:
            return self._store.endpoints.get(workspace, name)
        except NotFound:
            return None


def _new_version(record: EndpointRecord, key: str, spec: VersionSpec, now: float) -> VersionRecord:
    replicas = spec.replicas.minimum or 1
    return VersionRecord(
        record.next_number, _run_id(record.name, key), spec, now, replicas=replicas, since=now, busy=now
    )


def _run_id(name: str, key: str) -> str:
    return f"{name}_{hashlib.sha256(key.encode()).hexdigest()[:12]}"


def _new_key() -> str:
    return secrets.token_urlsafe(24)


def _version_view(version: VersionRecord, figures: VersionFigures, waiting: str | None) -> VersionView:
    return VersionView(
        version.number, version.run, version.state, version.weight, version.shadow, version.created, version.spec,
        replicas=version.replicas, cause=version.cause, goal=version.goal, waiting=waiting,
        healthy=figures.healthy, requests=figures.requests, errors=figures.errors, queue=figures.queue,
        retries=figures.retries, shadow_differences=figures.shadow_differences,
        p50_seconds=figures.p50_seconds, p99_seconds=figures.p99_seconds,
    )  # fmt: skip
