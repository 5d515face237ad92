# All targets need only make and Python 3.10 or newer (with venv); everything else is downloaded into .uv/ and .venv/.
.DEFAULT_GOAL := help
SHELL := /bin/sh
BIN := .venv/bin
PYTEST_ARGS ?=
# Four workers for two cores, because tests with clusters, servers and agents mostly wait.
WORKERS ?= 4
BENCH_ARGS ?=
TORTURE_ARGS ?=
CURATED_ARGS ?=

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' Makefile

.PHONY: page
page: .venv/.core ## build the page that footplate ui opens
	@$(BIN)/python scripts/build_page.py

.PHONY: demo
demo: page ## walk through the whole loop in a temporary home
	@$(BIN)/python scripts/demo.py

.PHONY: test
test: .venv/.synced ## run all tests (PYTEST_ARGS='-k name' to select)
	@$(BIN)/python scripts/build_page.py
	@sh scripts/system_packages.sh
	@sh scripts/node_packages.sh
	$(BIN)/pytest -n $(WORKERS) --dist worksteal --durations 60 --durations-min 5 $(PYTEST_ARGS)

.PHONY: check
check: .venv/.synced ## check style, types, and tests without processes, in about two minutes
	@$(MAKE) --no-print-directory -j 2 _check-code _check-tests

.PHONY: _check-code _check-tests
_check-code:
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --check --quiet
	$(BIN)/lint-imports --no-logo
	$(BIN)/pyright src packages/azureml/src

_check-tests:
	$(BIN)/pytest -q -n 2 --dist worksteal tests/unit tests/docs/test_rules.py tests/docs/test_names.py tests/docs/test_imports.py

.PHONY: lint
lint: .venv/.synced ## check style, types and import contracts
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright
	$(BIN)/pyright --pythonversion 3.15 src packages/azureml/src
	$(BIN)/lint-imports

.PHONY: format
format: .venv/.synced ## format the code
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

.PHONY: docs
docs: .venv/.synced ## regenerate docs/reference and the map
	$(BIN)/python scripts/reference.py

.PHONY: bench
bench: .venv/.synced ## run the benchmarks beside peers (BENCH_ARGS='search' to select)
	@sh scripts/bench.sh $(BENCH_ARGS)

.PHONY: torture
torture: .venv/.synced ## break 200 runs in every way we know, as root (TORTURE_ARGS='--seed 7')
	@PYTHONPATH=$(CURDIR)/tests $(BIN)/python scripts/torture $(TORTURE_ARGS)

.PHONY: curated
curated: .venv/.synced ## build all curated environments and use them (CURATED_ARGS='NAME…')
	@$(BIN)/python scripts/curated.py $(CURATED_ARGS)

.PHONY: documents
documents: .venv/.synced ## run Azure's five documents as a reader would (PYTEST_ARGS='-k 2018')
	FOOTPLATE_TEST_DOCUMENTS=1 $(BIN)/pytest -n 0 tests/e2e/documents $(PYTEST_ARGS)

.PHONY: torture-services
torture-services: .venv/.synced ## fuzz a web service, and kill its workers under load
	@$(BIN)/python scripts/torture_services.py $(TORTURE_ARGS)

.PHONY: build
build: .venv/.synced ## build wheels and source archives into dist/
	@$(UV) build --all-packages --out-dir dist

.PHONY: release
release: .venv/.synced ## set a version, build, and try the wheels (VERSION=0.2.0); uploads nothing
	@$(BIN)/python scripts/release.py "$(VERSION)"

.PHONY: lock
lock: .uv/.installed ## update uv.lock from the public index, ignoring mirrors
	@env -u UV_INDEX -u UV_EXTRA_INDEX_URL -u UV_INDEX_URL -u UV_FIND_LINKS -u UV_DEFAULT_INDEX .uv/bin/uv lock

.PHONY: clean
clean: ## remove everything that was built here
	rm -rf .venv .uv .node .demo dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache

UV := .uv/bin/python scripts/uv_like_pip.py

.uv/.installed: scripts/install_uv.sh uv.lock
	@sh scripts/install_uv.sh

PROJECT := .uv/.installed scripts/uv_like_pip.py uv.lock pyproject.toml packages/azureml/pyproject.toml
SYNC := $(UV) sync --frozen --compile-bytecode --python $(or $(PYTHON),.uv/bin/python)

# Both packages alone, in 0.1 GB. --inexact keeps what a full set-up has installed before.
.venv/.core: $(PROJECT)
	@$(SYNC) --all-packages --no-dev --group page --inexact
	@touch $@

.venv/.synced: $(PROJECT)
	@$(SYNC)
	@touch $@ .venv/.core
