#!/bin/sh
# Install system packages for the tests, as root on Debian: git, PostgreSQL's server programs, FUSE, npm (for Azurite),
# podman, a container registry, Slurm with its accounting, an ssh server and a browser.
set -eu

missing=""
command -v git >/dev/null || missing="$missing git"
if ! command -v initdb >/dev/null && ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then
    missing="$missing postgresql"
fi
command -v fusermount3 >/dev/null || missing="$missing fuse3"
command -v npm >/dev/null || missing="$missing npm"
# runc, because crun rejects machines with both kinds of control groups.
command -v podman >/dev/null || missing="$missing podman runc"
command -v docker-registry >/dev/null || missing="$missing docker-registry"
command -v slurmctld >/dev/null || missing="$missing slurm-wlm munge"
command -v slurmdbd >/dev/null || missing="$missing slurmdbd"
command -v mariadbd >/dev/null || missing="$missing mariadb-server-core"
command -v sshd >/dev/null || [ -x /usr/sbin/sshd ] || missing="$missing openssh-server"
command -v chromium >/dev/null || missing="$missing chromium"
[ -z "$missing" ] && exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing for the tests:$missing" >&2
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086  # a list of names
    apt-get install -y -qq --no-install-recommends $missing >/dev/null 2>&1 \
        || { apt-get update -qq && apt-get install -y -qq --no-install-recommends $missing; } >/dev/null \
        || echo "warning: could not install:$missing; tests that need them are skipped" >&2
else
    echo "warning: missing:$missing; tests that need them are skipped" >&2
    echo "hint: on Debian and Ubuntu: sudo apt-get install$missing" >&2
fi
