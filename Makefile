# Everything here needs only make and Python 3.10 or newer (with venv); the rest is fetched into .uv/ and .venv/.
.DEFAULT_GOAL := help
SHELL := /bin/sh
BIN := .venv/bin
PYTEST_ARGS ?=
BENCH_ARGS ?=

.PHONY: help
help: ## what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' Makefile

.PHONY: demo
demo: .venv/.synced ## the whole loop, as a user would do it, in a throw-away home
	@$(BIN)/python scripts/demo.py

.PHONY: test
test: .venv/.synced ## all tests (PYTEST_ARGS='-k name' to choose)
	@sh scripts/system_packages.sh
	@sh scripts/node_packages.sh
	$(BIN)/pytest -n 2 --dist worksteal $(PYTEST_ARGS)

.PHONY: lint
lint: .venv/.synced ## style, types and the layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright
	$(BIN)/lint-imports

.PHONY: format
format: .venv/.synced ## put the code into shape
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

.PHONY: docs
docs: .venv/.synced ## write the generated pages of docs/reference again
	$(BIN)/python scripts/reference.py

.PHONY: bench
bench: .venv/.synced ## measure, beside peers, in one run (BENCH_ARGS='metrics' to choose)
	@sh scripts/bench.sh $(BENCH_ARGS)

.PHONY: build
build: .venv/.synced ## wheels and source archives of both packages, in dist/
	@$(UV) build --all-packages --out-dir dist

.PHONY: lock
lock: .uv/.installed ## choose versions again, from the public index whatever mirror this machine uses
	@env -u UV_INDEX -u UV_EXTRA_INDEX_URL -u UV_INDEX_URL -u UV_FIND_LINKS -u UV_DEFAULT_INDEX .uv/bin/uv lock

.PHONY: clean
clean: ## remove what was built here
	rm -rf .venv .uv .node .demo dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache

UV := .uv/bin/python scripts/uv_like_pip.py

.uv/.installed: scripts/install_uv.sh uv.lock
	@sh scripts/install_uv.sh

.venv/.synced: .uv/.installed scripts/uv_like_pip.py uv.lock pyproject.toml packages/azureml/pyproject.toml
	@$(UV) sync --frozen --compile-bytecode $(if $(PYTHON),--python $(PYTHON))
	@touch $@
