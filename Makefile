# `make demo` and `make test` are all a newcomer needs; both set up what is missing first.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup demo demo-real test soak bench lint clean

PYTHON ?= python3
BIN := .venv/bin
APT_PACKAGES := gcc-mipsel-linux-gnu binutils-mipsel-linux-gnu
DEMO_ARGS ?=
TEST_ARGS ?=

help:
	@echo 'make demo       set up, then run the demo campaign end to end (about a minute)'
	@echo 'make test       set up, lint, then every behaviour once (under 12 minutes)'
	@echo 'make demo-real  the demo campaign on C code from a public source package'
	@echo 'make soak       the long tests: random kills, thousands of mutants'
	@echo 'make bench      all benchmarks; refreshes docs/performance.md'
	@echo 'make lint       ruff and mypy'

setup: .venv/ready toolchain

.venv/ready: pyproject.toml
	@begin=$$SECONDS; \
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo 'Python 3.11 or newer is needed; set PYTHON=/path/to/python3' >&2; exit 4; }; \
	$(PYTHON) -m venv .venv || { echo 'the venv module is missing; apt-get install python3-venv' >&2; exit 4; }; \
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[demo,dev]'; \
	touch $@; echo "set-up: Python packages in $$((SECONDS - begin)) s, downloads included"

.PHONY: toolchain
toolchain:
	@if command -v mipsel-linux-gnu-gcc >/dev/null && command -v mipsel-linux-gnu-ld >/dev/null; then exit 0; fi; \
	if ! command -v apt-get >/dev/null || ! { [ "$$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }; then \
	  echo 'the MIPS toolchain is missing; install the Debian packages $(APT_PACKAGES)' >&2; exit 4; fi; \
	begin=$$SECONDS; as_root=$$([ "$$(id -u)" = 0 ] || echo sudo); \
	DEBIAN_FRONTEND=noninteractive $$as_root apt-get update -qq; \
	DEBIAN_FRONTEND=noninteractive $$as_root apt-get install -y -qq --no-install-recommends $(APT_PACKAGES) >/dev/null; \
	echo "set-up: MIPS toolchain in $$((SECONDS - begin)) s, downloads included"

# The page of `campaign report` is looked at by a real browser; without one that test fails by name.
.PHONY: browser
browser:
	@if command -v chromium >/dev/null || ! command -v apt-get >/dev/null || [ "$$(id -u)" != 0 ]; then exit 0; fi; \
	apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null

demo: setup
	@$(BIN)/campaign demo $(DEMO_ARGS)

demo-real: setup
	@$(BIN)/campaign demo --real $(DEMO_ARGS)

test: setup browser lint
	@$(BIN)/python -m pytest -m 'not soak' $(TEST_ARGS)

soak: setup
	@$(BIN)/python -m pytest -m soak $(TEST_ARGS)

bench: setup
	@$(BIN)/python tests/benchmarks/run_all.py

lint: .venv/ready
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/mypy

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache *.egg-info
