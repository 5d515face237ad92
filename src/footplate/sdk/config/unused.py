"""Settings of a run configuration and of its environment that have no effect here."""

from __future__ import annotations

from typing import Any, Dict, Iterator, Mapping, Tuple

from footplate.sdk.config.run_configuration import MPI, RunConfiguration, target_name
from footplate.sdk.environments.unused import unused_settings
from footplate.sdk.values.checked_attributes import changed_attributes, reasons_for
from footplate.sdk.values.run_configuration_sections import BACKENDS, VM_SIZE_TARGET
from footplate.sdk.values.warn import warn_without_effect

NO_EFFECT = {
    "history.snapshot_project": "the source directory is always stored",
    "docker.shared_volumes": "a container always gets the run's own directories",
    "paralleltask": "Footplate has no parallel tasks",
    "spark": "Footplate does not run Spark",
    "hdi": "Footplate runs nothing on HDInsight",
    "kubernetescompute": "nodes are your own machines",
    "services": "Footplate opens no endpoints into a run",
    "datacaches": "downloaded data is always cached",
    "source_directory_data_store": "the server stores the source directory",
    "credential_passthrough": "data is read with the credentials of its datastore",
    "auto_prepare_environment": "environments are always prepared",
}
"""Name of an attribute or a whole section → the reason for the warning."""


def warn_unused(config: RunConfiguration) -> None:
    """Warn once about all settings of a run that have no effect; raise an error where the run would differ."""
    values = changed_attributes(config, RunConfiguration())
    own = {name: value for name, value in values.items() if not name.startswith("environment.")}
    inside = unused_settings(config.environment, config.docker)
    warn_without_effect({
        **reasons_for(NO_EFFECT, own),
        **dict(_unused_choices(config, own)),
        **{f"environment.{name}": reason for name, reason in inside.items()},
    })  # fmt: skip


def _unused_choices(config: RunConfiguration, own: Mapping[str, Any]) -> Iterator[Tuple[str, str]]:
    """Yield the settings that another setting leaves unused."""
    communicator = str(config.communicator).lower()
    target = target_name(config.target)
    used = {
        "mpi": communicator in MPI,
        "tensorflow": communicator == "parameterserver",
        "pytorch": communicator in BACKENDS,
        "amlcompute": target == VM_SIZE_TARGET,
    }
    reasons: Dict[str, str] = dict.fromkeys(("mpi", "tensorflow", "pytorch"), f"communicator is {communicator!r}")
    reasons["amlcompute"] = f"the run goes to the target {target!r}"
    yield from reasons_for({name: reasons[name] for name in used if not used[name]}, own).items()
    for name in (f"{section}.node_count" for section in ("mpi", "pytorch") if used[section]):
        if own.get(name, config.node_count) != config.node_count:
            yield name, f"node_count of the run configuration is {config.node_count}"
    if used["pytorch"] and str(own.get("pytorch.communication_backend", communicator)).lower() != communicator:
        yield "pytorch.communication_backend", reasons["pytorch"]
    if config.framework == "PySpark":
        yield "framework", "the script runs as plain Python"
