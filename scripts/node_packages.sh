#!/bin/sh
# Install Azurite, Azure's emulator of blob storage, from npm into .node/ for the tests.
set -eu
cd "$(dirname "$0")/.."

azurite=3.35.0
[ "$(cat .node/.installed 2>/dev/null || true)" = "$azurite" ] && exit 0
if ! command -v npm >/dev/null; then
    echo "warning: npm is missing, so tests that need Azurite are skipped" >&2
    echo "hint: on Debian and Ubuntu: sudo apt-get install npm" >&2
    exit 0
fi
echo "installing for the tests: azurite $azurite" >&2
rm -rf .node
mkdir .node
if npm install --prefix .node --no-audit --no-fund --no-save --loglevel=error "azurite@$azurite" >/dev/null; then
    echo "$azurite" > .node/.installed
else
    echo "warning: npm could not install azurite; tests that need it are skipped" >&2
fi
