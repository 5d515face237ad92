#!/bin/sh
# Install uv, in the version of uv.lock, into .uv/ with the first suitable Python of this machine.
set -eu
cd "$(dirname "$0")/.."

say() { printf '%s\n' "$*" >&2; }

# Try each name: a pyenv shim may exist for a version that is not activated. The versions that all tests run on come
# first, because some packages of the development group have no wheels for newer ones yet.
find_python() {
    for name in ${PYTHON:-python3.13 python3.12 python3.11 python3.10 python3.14 python3.15 python3 python}; do
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
            oldest_known=$name
            if "$name" -c 'import ensurepip, venv' 2>/dev/null; then
                printf '%s' "$name"
                return
            fi
        fi
    done
    if [ -n "${oldest_known:-}" ]; then
        say "error: $oldest_known cannot create virtual environments (no ensurepip)"
        say "hint: install venv, on Debian and Ubuntu with: apt-get install python3-venv"
    else
        say "error: no Python 3.10 or newer on this machine (looked for ${PYTHON:-python3.10 … python3.15, python3, python})"
        say "hint: install one, on Debian and Ubuntu with: apt-get install python3 python3-venv; or name one: make PYTHON=/path/to/python"
    fi
    exit 1
}

python=$(find_python)
version=$(awk '/^name = "uv"$/ {getline; gsub(/[^0-9.]/, ""); print; exit}' uv.lock)
say "installing uv $version into .uv/ with $python"
rm -rf .uv
"$python" -m venv .uv
.uv/bin/python -m pip install --quiet --disable-pip-version-check "uv==$version"
touch .uv/.installed
