# A bare `make` lists the commands.
VENV ?= .venv
PYTHON ?= python3
BIN = $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo test lint types unit ray docs bench fuzz soak clean

help:  ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

INSTALL = $(BIN)/pip install --quiet --constraint constraints.txt

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.plain: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) torch
	$(INSTALL) --editable '.[plot]'
	@touch $@

$(VENV)/.dev: $(VENV)/.plain
	$(INSTALL) --editable '.[all,dev]'
	@touch $@

$(VENV)/.docs: $(VENV)/.plain
	$(INSTALL) --editable '.[docs]'
	@touch $@

$(VENV)/.ray: $(VENV)/.dev
	$(INSTALL) --editable '.[ray]'
	@touch $@

demo: $(VENV)/.plain  ## set up, then show two meanings of one word with the shipped model
	$(BIN)/elmokit demo

test: lint types unit  ## set up, then lint, type-check and test

lint: $(VENV)/.dev  ## ruff
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.dev  ## mypy --strict on src
	$(BIN)/mypy

unit: $(VENV)/.dev  ## pytest, one process per core, each with one thread
	OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses auto

RAY_TESTS = tests/integrations/test_ray_data.py tests/serve/test_on_ray.py tests/test_examples.py
ray: $(VENV)/.ray  ## install Ray (139 MB), then run the tests that need it
	OMP_NUM_THREADS=1 $(BIN)/pytest $(RAY_TESTS) -k ray

docs: $(VENV)/.docs  ## the documentation as a web site: build/site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "build/site/index.html (searching it needs a server: python -m http.server --directory build/site)"

bench: $(VENV)/.dev  ## the speed ratios of docs/reference/benchmarks.md
	$(BIN)/python benchmarks/speed/inference.py
	$(BIN)/python benchmarks/speed/train.py

MINUTES ?= 30
fuzz: $(VENV)/.dev  ## damage files of every kind for MINUTES, guided by coverage, and count
	-$(INSTALL) atheris
	OMP_NUM_THREADS=1 $(BIN)/python reliability/fuzz.py --minutes $(MINUTES)

KILLS ?= 200
soak: $(VENV)/.dev  ## kill -9 five commands KILLS times in all, and compare what they leave
	$(BIN)/python reliability/soak.py --kills $(KILLS)

clean:  ## remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build
