# The whole set-up is here: a virtual environment inside the checkout, and couplax installed in it.
# `make help` lists the targets. PYTHON=python3.13 picks the interpreter; ARGS="-k newton" goes to pytest.

PYTHON ?= python3
ARGS ?=
PYENV_ROOT ?= $(HOME)/.pyenv

export PIP_DISABLE_PIP_VERSION_CHECK = 1

# pyenv's commands for versions that are not switched on exist and fail: then its folders are looked at.
PYENV = $(if $(filter python3.%,$(PYTHON)),$(wildcard $(PYENV_ROOT)/versions/$(PYTHON:python%=%)*/bin/$(PYTHON)))
ASK := import os, sys; print(os.path.realpath(sys.executable), "%d.%d" % sys.version_info[:2])
FOUND := $(shell for it in $(PYTHON) $(PYENV); do "$$it" -c '$(ASK)' 2>/dev/null && break; done)
INTERPRETER := $(word 1,$(FOUND))
VERSION := $(word 2,$(FOUND))
PINS := $(wildcard constraints/py$(VERSION).txt)

# One environment for `python3`, and one beside it for each version that PYTHON names.
VENV := $(if $(filter python3,$(PYTHON)),.venv,.venv-$(VERSION))
BIN := $(VENV)/bin

# A stamp's name holds all that it stands for, so a stamp that is there is a stamp that holds.
PLACE := $(shell echo "$(CURDIR) $(FOUND)" | cksum | cut -d ' ' -f 1)
CONTENT := $(shell cat pyproject.toml setup.py $(wildcard src/couplax/foreign/_native/*) $(PINS) | cksum | cut -d ' ' -f 1)
ENVIRONMENT := $(VENV)/made-$(PLACE)
INSTALLED_DEMO := $(VENV)/demo-$(PLACE)-$(CONTENT)
INSTALLED_TEST := $(VENV)/test-$(PLACE)-$(CONTENT)
INSTALLED_LINT := $(VENV)/lint-$(PLACE)-$(CONTENT)

SUPPORTED := $(patsubst constraints/py%.txt,%,$(wildcard constraints/py*.txt))
REFUSED = $(if $(FOUND),`$(PYTHON)` is Python $(VERSION),no command `$(PYTHON)` runs here)
REFUSAL = couplax is made with Python $(SUPPORTED), and $(REFUSED): name one, as in `PYTHON=python3.12 make test`
NO_COMPILER = No C compiler here: none is needed, the pure-Python route to foreign code serves.
INSTALL = $(BIN)/python -m pip install -qq --no-build-isolation --constraint $(PINS)

# Two goals install into one environment.
.NOTPARALLEL:
.PHONY: help demo test sweep lint format types layers pages check clean interpreter compiler

help:
	@echo "make demo         install couplax and run \`couplax demo\`; its files are left in demo/"
	@echo "make test         install what the tests need and run them, of the longest a part"
	@echo "make sweep        all tests, with every row of the long tables, to every target; takes hours"
	@echo "make lint         ruff: rules and format"
	@echo "make types        pyright, strict"
	@echo "make layers       who imports whom"
	@echo "make pages        write docs/primitives.md anew from the tables of rules and cases"
	@echo "make check        lint, types and tests"
	@echo "make format       write the code in its format"
	@echo "make interpreter  print the interpreter that PYTHON ($(PYTHON)) names"
	@echo "make clean        remove what make made"

demo: $(INSTALLED_DEMO) compiler
	@$(BIN)/couplax demo

test: $(INSTALLED_TEST) compiler
	$(BIN)/python -m pytest -n 2 --dist worksteal $(ARGS)

sweep: $(INSTALLED_TEST) compiler
	$(BIN)/python -m pytest -n 2 --dist worksteal --whole-table $(ARGS)

lint: $(INSTALLED_LINT)
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(INSTALLED_LINT)
	$(BIN)/pyright --pythonpath $(BIN)/python

layers: $(INSTALLED_TEST)
	$(BIN)/python -m pytest -q tests/test_layers.py

pages: $(INSTALLED_TEST)
	PYTHONPATH=tests $(BIN)/python tests/primitives_page.py

check: lint types test

format: $(INSTALLED_LINT)
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

interpreter:
	$(if $(PINS),,$(error $(REFUSAL)))
	@echo $(INTERPRETER)

compiler:
	@command -v cc >/dev/null || command -v gcc >/dev/null || command -v clang >/dev/null || echo "$(NO_COMPILER)"

clean:
	rm -rf .venv .venv-3.* demo build dist src/*.egg-info .pytest_cache .ruff_cache
	find src tests examples -name __pycache__ -prune -exec rm -rf {} +

# Dependency groups need a newer pip than Python brings, and the compiled route is built against the headers of jaxlib and numpy.
$(ENVIRONMENT):
	$(if $(PINS),,$(error $(REFUSAL)))
	@echo "Making $(VENV) with Python $(VERSION) ($(INTERPRETER))"
	@$(INTERPRETER) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install -qq --upgrade --constraint $(PINS) pip setuptools numpy jaxlib
	@touch $@

$(INSTALLED_DEMO): | $(ENVIRONMENT)
	@echo "Installing couplax into $(VENV), as pinned in $(PINS)"
	@$(INSTALL) --editable '.[onnx]'
	@touch $@

$(INSTALLED_TEST): | $(ENVIRONMENT)
	@echo "Installing couplax and what its tests need into $(VENV), as pinned in $(PINS)"
	@$(INSTALL) --editable '.[onnx]' --group test
	@touch $@

$(INSTALLED_LINT): | $(ENVIRONMENT)
	@echo "Installing couplax and what lint and types need into $(VENV), as pinned in $(PINS)"
	@$(INSTALL) --editable '.[onnx]' --group test --group lint
	@touch $@
