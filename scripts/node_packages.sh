#!/bin/sh
# What the tests need from npm: Azurite, Azure's emulator of blob storage, into .node/ where nothing else looks for it.
set -eu
cd "$(dirname "$0")/.."

azurite=3.35.0
[ "$(cat .node/.installed 2>/dev/null || true)" = "$azurite" ] && exit 0
if ! command -v npm >/dev/null; then
    echo "warning: no npm here, so no Azurite; the tests that need it are skipped" >&2
    echo "hint: on Debian and Ubuntu: sudo apt-get install npm" >&2
    exit 0
fi
echo "installing for the tests: azurite $azurite" >&2
rm -rf .node
mkdir .node
if npm install --prefix .node --no-audit --no-fund --no-save --loglevel=error "azurite@$azurite" >/dev/null; then
    echo "$azurite" > .node/.installed
else
    echo "warning: npm could not install azurite; the tests that need it are skipped" >&2
fi
