# Two commands do everything: `make demo` and `make test`. Both set up what they need.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
MITM := .mitm
DOCS := .docs
UV := $(shell command -v uv 2>/dev/null || echo .uv/bin/uv)
# A worker more than cores, for some tests wait; at most four: each imports everything, and may hold 2.5 GB.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(min(4, 1 + (os.cpu_count() or 1)))')
PARALLEL := -n $(WORKERS) --dist loadfile --no-loadscope-reorder
# One worker for each core where nothing is waited for: each imports everything.
QUICK := -n $(shell $(PYTHON) -c 'import os; print(min(4, os.cpu_count() or 1))') --dist loadfile
ALONE := $(BIN)/pytest -m alone tests/flood tests/api_server/engines
TIMED := TIMEFORMAT='%R s of wall time, and of processor time %U s in programs and %S s in the kernel'; time
PROJECTS := shared/pyproject.toml api_server/pyproject.toml client/pyproject.toml benchmarks/pyproject.toml

# Without bytecode every process compiles its imports anew: seconds, and tests start hundreds.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install demo demo-clinics test test-fast test-nightly leaks hostile boundary compose-test mutations trusted lint lock docs docs-options lock-docs bench-selectors bench-server bench-gpu soak clean

help:  ## Show what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 18

install: $(VENV)/.installed  ## Set up .venv with the commands pcevolve, pcevolve-server and pcevolve-bench

demo: install  ## Run the main job end to end and print a summary (about a minute on 2 quiet cores; smaller where the machine is slow)
	$(BIN)/pcevolve demo
	@command -v pcevolve >/dev/null || echo 'first     . .venv/bin/activate   (for the command pcevolve)'

demo-clinics: install  ## Three owners of blood cells at epsilon 1, by real processes, with a picture (minutes on 2 quiet cores; ARGS="--rounds 3")
	$(BIN)/python -m benchmarks.demo_clinics $(ARGS)

test: install $(MITM)/.installed  ## Run every test (10 to 15 minutes on 2 cores)
	@$(TIMED) { $(BIN)/pytest $(PARALLEL) -m "not alone" && $(ALONE); }

test-fast: install  ## Run what starts no process, runs no network and draws few numbers (90 seconds on 2 quiet cores)
	@$(TIMED) $(BIN)/pytest $(QUICK) --fast

test-nightly: install $(MITM)/.installed  ## Run every test, with many more examples of each property
	$(BIN)/pytest $(PARALLEL) --hypothesis-profile=nightly -m "not alone"
	$(ALONE)
	$(BIN)/python -m tests.mutations

leaks: install  ## Attack the pipe between keeper and runner from either side, and the record; all must be refused
	$(BIN)/pytest tests/leaks

hostile: install  ## Run the client against a provider that lies, stalls and floods
	$(BIN)/pytest tests/hostile

boundary: install $(MITM)/.installed  ## The topology of docker-compose.yml in network namespaces (needs root): who can reach whom
	PCEVOLVE_REQUIRE_NAMESPACES=1 $(BIN)/pytest tests/boundary

compose-test: install $(MITM)/.installed  ## Images, isolation and the main job on a real Docker engine (minutes to build)
	PCEVOLVE_DOCKER_TESTS=1 $(BIN)/pytest tests/compose

mutations: install  ## Change what decides, each as a slip would; a test must fail (half an hour; WORDS= names modules, or --random 25 and zones)
	$(BIN)/python -m tests.mutations $(WORDS)

lint: install  ## Style, types, import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

trusted: install  ## Count the code that holds private data: what keeper and judge of a small run have loaded at their end, and its runner
	PYTHONPATH=tests $(BIN)/python -m support.trusted

bench-selectors: install  ## Compare all selectors on real images (hours; resumes; JUDGE=cnn names judges) and write docs/results/selectors.*
	$(BIN)/python -m benchmarks.selectors $(if $(JUDGE),--judge $(JUDGE)) $(ARGS)

bench-server: install  ## The API server under load against the pipeline behind it (a quarter of an hour on 2 quiet cores; resumes) and write docs/results/server.*
	$(BIN)/python -m benchmarks.server --out docs/results

bench-gpu: install  ## The API server on one GPU against the pipeline behind it (8 minutes; ARGS="--device cuda:1"), and write docs/results/gpu.json and its table in speed.md
	$(BIN)/python -m benchmarks.gpu $(ARGS)

soak: install  ## Ten minutes of valid and hostile traffic against the API server; fails on any 500 and on memory that grows; docs/results/soak.json
	$(BIN)/python -m benchmarks.soak --out docs/results/soak.json

docs-options: install  ## Write docs/options.md, the keywords of pcevolve.evolve and the table of the command line from the declarations
	$(BIN)/python -m pcevolve.app.cli.reference

lock: $(UV)  ## Recompile requirements.lock from the four pyproject.toml files
	$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--no-emit-find-links --no-emit-package pcevolve-shared --no-emit-package pcevolve \
		--custom-compile-command "make lock" \
		$(PROJECTS) --group pyproject.toml:dev -o requirements.lock

docs: $(DOCS)/.installed  ## Build the documentation site, with an API reference, in site/
	NO_MKDOCS_2_WARNING=1 PATH=$(CURDIR)/$(DOCS)/bin:$$PATH $(DOCS)/bin/mkdocs build --quiet --strict

lock-docs: $(UV)  ## Recompile docs/requirements.txt from the dependency group docs
	(sed -n 1p docs/requirements.txt; $(UV) pip compile --quiet --universal --python-version 3.11 --no-build \
		--generate-hashes --no-emit-index-url --no-emit-find-links --no-header --no-annotate \
		--group pyproject.toml:docs) > docs/requirements.tmp
	mv docs/requirements.tmp docs/requirements.txt

clean:  ## Remove the environment and caches; runs/ stays
	rm -rf $(VENV) $(MITM) $(DOCS) site .uv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(VENV)/.installed: requirements.lock $(PROJECTS) | $(UV)
	test -x $(BIN)/python || $(UV) venv --quiet --python $(PYTHON) $(VENV)
	$(UV) pip sync --quiet --compile-bytecode --python $(BIN)/python --require-hashes requirements.lock
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation \
		-e shared -e api_server -e client -e benchmarks
	touch $@

# mitmproxy, the auditor between client and server, wants other versions of what the client uses.
$(MITM)/.installed: docker/auditor/requirements.txt | $(UV)
	test -x $(MITM)/bin/python || $(UV) venv --quiet --python $(PYTHON) $(MITM)
	$(UV) pip sync --quiet --python $(MITM)/bin/python --require-hashes --only-binary :all: $<
	touch $@

# The site's tools have an environment of their own, so that the one that runs and tests the code stays as it is.
$(DOCS)/.installed: docs/requirements.txt | $(UV)
	test -x $(DOCS)/bin/python || $(UV) venv --quiet --python $(PYTHON) $(DOCS)
	$(UV) pip sync --quiet --python $(DOCS)/bin/python --require-hashes --only-binary :all: $<
	touch $@

.uv/bin/uv:
	$(PYTHON) -m venv .uv
	.uv/bin/pip install --quiet uv
