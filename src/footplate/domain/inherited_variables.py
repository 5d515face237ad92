"""The variables of the server's environment that reach jobs and builds. A run declares everything else.

A server runs with the environment of whoever started it. Cloud keys, tokens, PYTHONPATH or MPLBACKEND of that person
must not reach other people's jobs, and results must not depend on who came first. A setting, which travels as
FOOTPLATE_PASS_ENVIRONMENT, names further variables.
"""

from __future__ import annotations

from typing import Dict, Mapping, Tuple

from footplate import environ

JOBS: Dict[str, Tuple[str, ...]] = {
    "the user and the machine's programs": ("HOME", "USER", "LOGNAME", "SHELL", "PATH", "LD_LIBRARY_PATH", "TMPDIR"),
    "language and time zone": ("LANG", "LANGUAGE", "LC_*", "TZ"),
    "folders of the user": ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"),
    "certificates": ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    "GPUs": (
        "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES",
        "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
    ),
}  # fmt: skip
"""The base environment of a job, by purpose. A `*` at the end stands for any characters."""

BUILDS: Dict[str, Tuple[str, ...]] = {
    "package indexes": ("UV_*", "PIP_*", "CONDARC", "CONDA_*", "RATTLER_*", "NETRC", "PYENV_ROOT"),
    "proxies": ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
                "NO_PROXY"),
    "client certificates": ("SSL_CLIENT_CERT", "GIT_SSL_CAINFO"),
    "compilers": ("CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "MAKEFLAGS", "CMAKE_*", "CUDA_HOME",
                  "MAX_JOBS", "CARGO_HOME", "RUSTUP_HOME"),
    "container engines": ("DOCKER_*", "CONTAINER_*", "CONTAINERS_*", "REGISTRY_AUTH_FILE", "STORAGE_*",
                          "DBUS_SESSION_BUS_ADDRESS"),
}  # fmt: skip
"""Variables that builds of environments have beyond those of jobs."""

_NEVER = (
    "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "CONDA_SHLVL", "CONDA_PROMPT_MODIFIER", "UV_PUBLISH_", environ.PREFIX,
    *environ.AZURE_PREFIXES,
)  # fmt: skip
"""Beginnings of names that are exceptions: they describe the starter's shell or a job, or grant a right to publish."""

_AGENTS = ("PYTHONPATH",)  # finds Footplate itself; no job and no build gets it


def job_variables(inherited: Mapping[str, str]) -> Dict[str, str]:
    """Return the base environment of a job."""
    return _select(inherited, *JOBS.values(), _extra(inherited))


def container_variables(inherited: Mapping[str, str]) -> Dict[str, str]:
    """Return the base environment of a job in a container, where the folders and programs are those of the image."""
    return _select(inherited, JOBS["GPUs"], JOBS["language and time zone"], _extra(inherited))


def engine_variables(inherited: Mapping[str, str]) -> Dict[str, str]:
    """Return the environment of a container engine that runs a job. Proxies are missing: podman passes them on."""
    return _select(inherited, *JOBS.values(), BUILDS["container engines"], _extra(inherited))


def build_variables(inherited: Mapping[str, str]) -> Dict[str, str]:
    """Return the environment of a build."""
    return _select(inherited, *JOBS.values(), *BUILDS.values(), _extra(inherited))


def agent_variables(inherited: Mapping[str, str]) -> Dict[str, str]:
    """Return the environment of an agent on the server's machine: that of its jobs and builds, and our settings."""
    ours = {n: v for n, v in inherited.items() if n.startswith(environ.PREFIX) and not environ.belongs_to_job(n)}
    return {**_select(inherited, *JOBS.values(), *BUILDS.values(), _extra(inherited), _AGENTS), **ours}


def _extra(inherited: Mapping[str, str]) -> Tuple[str, ...]:
    return tuple(inherited.get(environ.PASS_ENVIRONMENT, "").split())


def _select(inherited: Mapping[str, str], *patterns: Tuple[str, ...]) -> Dict[str, str]:
    all_patterns = [each for group in patterns for each in group]
    names = {each for each in all_patterns if not each.endswith("*")}
    prefixes = tuple(each[:-1] for each in all_patterns if each.endswith("*"))
    return {
        name: value
        for name, value in inherited.items()
        if (name in names or name.startswith(prefixes)) and not name.startswith(_NEVER)
    }
