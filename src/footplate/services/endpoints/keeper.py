"""The thread that keeps services as they should be: it looks, lets `rollouts` decide, saves, and acts.

Everything that it does can be repeated, so a server that was killed continues with its first look. It looks ten times
a second while something changes and once a second otherwise; without services it sleeps.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace

from footplate.background import Loop
from footplate.domain.orders import Cause
from footplate.domain.serving import rollouts
from footplate.domain.serving.endpoints import FAILED, READY, STARTING, STOPPED, EndpointRecord, VersionRecord
from footplate.domain.serving.rollouts import VersionFigures, VersionReport
from footplate.domain.serving.routes import GatewayStatus, ServiceRoute, VersionRoute
from footplate.errors import Conflict, FootplateError, InvalidInput, NotFound
from footplate.services.endpoints.certificates import Certificates
from footplate.services.endpoints.gateway_process import GatewayProcess
from footplate.services.endpoints.version_files import VersionFiles
from footplate.services.endpoints.version_runs import VersionRuns
from footplate.services.topics import EndpointChanged, Publish
from footplate.serving.gateway.authentication import hash_key
from footplate.storage import Storage

log = logging.getLogger(__name__)

SOON, LATER = 0.1, 1.0
OVER = (STOPPED, FAILED)


class Keeper:
    def __init__(
        self,
        store: Storage,
        runs: VersionRuns,
        files: VersionFiles,
        gateway: GatewayProcess,
        certificates: Certificates,
        publish: Publish,
    ) -> None:
        self._store = store
        self._runs = runs
        self._files = files
        self._gateway = gateway
        self._certificates = certificates
        self._publish = publish
        self._ended: set[str] = set()
        self._refused: dict[str, Cause] = {}
        self._loop = Loop("services", self._keep, first=SOON)

    def start(self) -> None:
        self._loop.start()

    def stop(self) -> None:
        self._loop.stop(timeout=10)

    def wake(self) -> None:
        """Look at the services now."""
        self._loop.wake()

    def _keep(self) -> float | None:
        try:
            return self._look_at_all()
        except FootplateError as error:
            log.warning("services have to wait: %s", error.message)
            return LATER

    def _look_at_all(self) -> float | None:
        """Look at every service once; return the pause before the next look, None for as long as nobody calls."""
        records = self._store.endpoints.list()
        if not records and not self._gateway.is_running():
            return None
        status = self._gateway.status()
        remaining = [after for record in records if (after := self._look_at(record, status)) is not None]
        self._gateway.write_routes({record.route: self._route(record) for record in remaining})
        if remaining:
            self._gateway.ensure()
        if self._gateway.is_current(status):
            for record in remaining:
                self._certificates.forget(record.route, but=record.settings.tls)
        over = [version for record in remaining for version in record.versions if version.state in OVER]
        all_ended = all(version.run in self._ended for version in over)
        return LATER if all(rollouts.is_settled(record) for record in remaining) and all_ended else SOON

    def _look_at(self, record: EndpointRecord, status: GatewayStatus | None) -> EndpointRecord | None:
        """Look at one service; return it as it is now, or None when it is deleted."""
        seen = {version.number: self._observe(record, version, status) for version in record.versions}
        after = rollouts.advance(record, seen, time.time())
        if after is not record:
            after = self._store.endpoints.save(after)
            if after is None:
                self._loop.wake()  # somebody changed it meanwhile: look again
                return record
            self._announce(after)
        over = self._act(after)
        if after.deleting and over:
            self._files.forget(after)
            self._certificates.forget(after.route)
            self._store.endpoints.delete(after.workspace, after.name)
            self._announce(after)
            return None
        return after

    def _announce(self, record: EndpointRecord) -> None:
        self._publish(EndpointChanged(record.workspace, record.name))

    def _observe(self, record: EndpointRecord, version: VersionRecord, status: GatewayStatus | None) -> VersionReport:
        """Return what the runs and the gateway report about a version."""
        if version.state in OVER:
            return rollouts.NOTHING
        figures = None if status is None else status.figures(record.route, version.number)
        failures, cause, waits = 0, None, False
        if version.state == STARTING:
            children = self._runs.children(version)
            failures, cause = self._runs.failures(version, children)
            waits = self._runs.waiting(children) is not None
        followed = self._gateway.is_current(status)
        routed = figures is not None or (status is not None and not followed)
        ended = self._runs.has_ended(version)
        if version.run in self._refused:
            ended = True
            cause = self._refused.pop(version.run)
        return VersionReport(
            **vars(figures or VersionFigures()), failures=failures, cause=cause, ended=ended, routed=routed,
            followed=followed, waits=waits,
        )  # fmt: skip

    def _act(self, record: EndpointRecord) -> bool:
        """Carry out what the states of the versions say; return whether all of them are over."""
        over = True
        for version in record.versions:
            if version.state in (STARTING, READY) and not record.deleting:
                self._start(record, version)
            if version.state not in OVER:
                over = False
            elif version.run not in self._ended:
                if self._runs.end(version):
                    self._ended.add(version.run)
                    self._files.remove(version.run)
                else:
                    over = False
        return over

    def _start(self, record: EndpointRecord, version: VersionRecord) -> None:
        try:
            self._runs.ensure(record, version)
        except (NotFound, InvalidInput, Conflict) as error:  # its model or its target is gone, for example
            log.warning("service %s: %s", record.name, error.message)
            self._refused[version.run] = Cause("refused", error.message, error.hint)

    # ── Routes ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _route(self, record: EndpointRecord) -> ServiceRoute:
        """Describe a service to the gateway. Versions that start are in it without a share, to see their health."""
        settings = record.settings
        routed = [] if record.deleting else [v for v in record.versions if v.state in (STARTING, READY)]
        keys = self._store.endpoints.keys(record.workspace, record.name)
        return ServiceRoute(
            workspace=record.workspace,
            port=settings.port,
            auth=settings.auth,
            key_hashes=(hash_key(keys.primary), hash_key(keys.secondary)) if settings.auth == "key" else (),
            token_key=token_secret(self._store, record) if settings.auth == "token" else None,
            limits=settings.limits,
            cors=settings.cors,
            tls=None if settings.tls is None else str(self._certificates.path(record.route, settings.tls)),
            collect=str(self._files.samples_path(record)) if settings.collect_share else None,
            collect_share=settings.collect_share,
            versions={str(v.number): self._version_route(record, v) for v in routed},
        )

    def _version_route(self, record: EndpointRecord, version: VersionRecord) -> VersionRoute:
        return replace(
            self._runs.route(record.workspace, version),
            weight=version.weight,
            shadow=version.shadow and version.state == READY,
            rivals=tuple(map(str, rollouts.rivals_of(record, version))),
            slower_times=record.settings.rollback.slower_times,
        )


def token_secret(store: Storage, record: EndpointRecord) -> str:
    return store.secrets.derive(f"service:{record.workspace}:{record.name}:{record.created}")
