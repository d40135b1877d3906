# Everything that one does here, by name. `make` alone lists it.
# The environment lives in .venv; stamps in it make a second call quick. It gets the newest packages
# that pyproject.toml allows, or exactly those of a file, in an environment beside it: .venv-current
# for CONSTRAINTS=tests/constraints/current.txt.

PYTHON ?= python3
CONSTRAINTS ?=
LONG   ?=
VENV   := .venv$(patsubst %,-%,$(basename $(notdir $(CONSTRAINTS))))
BIN    := $(VENV)/bin
STAMPS := $(VENV)/stamps
PROMPT ?= The capital of France is
TOKENS ?= 48
N      ?= 1000
SEED   ?= 0
JOBS   ?= 2
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check $(addprefix --constraint ,$(CONSTRAINTS))

# Bytecode is written even if the shell says otherwise: tests and commands start Python many times.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run test test-long pytest test-oldest constraints fast fuzz fuzz-mutants fuzz-text fuzz-files test-gpu golden lint types bench bench-gpu clean

help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' Makefile

run: $(STAMPS)/llama build/llama/model.safetensors ## compile the language model and let it answer (PROMPT="..." TOKENS=48)
	$(BIN)/python -m tempoc compile examples/llama/model.rt -o build/llama/out
	$(BIN)/python examples/llama/chat.py --tokens $(TOKENS) "$(PROMPT)"

# Types are checked, in one process, while the tests run in two; the environment is made before.
test: $(STAMPS)/test build/llama/model.safetensors ## what every change needs: lint, types, tests (CONSTRAINTS=tests/constraints/current.txt: with these versions)
	$(MAKE) --no-print-directory -j 2 lint types pytest

test-long: ## the same, and tests marked long: real sizes, all members of families, many random programs
	$(MAKE) --no-print-directory test LONG=--long

pytest: $(STAMPS)/test build/llama/model.safetensors
	$(BIN)/python -m pytest -q -n 2 --dist worksteal --durations=30 $(LONG)

test-oldest: ## `make test` with the oldest Python and packages that are supported, in .venv-oldest
	$(MAKE) --no-print-directory pytest PYTHON=python3.11 CONSTRAINTS=tests/constraints/oldest.txt

constraints: ## record in tests/constraints/current.txt what .venv holds, after a `make test` without failures
	( sed '/^#/!d' tests/constraints/current.txt; $(BIN)/python -m pip freeze --exclude-editable ) > build/current.txt
	mv build/current.txt tests/constraints/current.txt

fast: $(STAMPS)/test ## unit tests only
	$(BIN)/python -m pytest -q -n 2 --dist worksteal --ignore=tests/whole --ignore=tests/bench

fuzz: $(STAMPS)/test ## random programs against the reference evaluator (N=1000 SEED=0 JOBS=2); failures in build/fuzz
	$(BIN)/python -m tests.fuzz --count $(N) --seed $(SEED) --jobs $(JOBS)

fuzz-mutants: $(STAMPS)/test ## programs of the repository with something changed, against the evaluator (N=1000 SEED=0 JOBS=2)
	$(BIN)/python -m tests.fuzz --mutants --count $(N) --seed $(SEED) --jobs $(JOBS)

fuzz-text: $(STAMPS)/test ## mutants of programs as texts: parsed, formatted twice (N=1000 SEED=0)
	$(BIN)/python -m tests.fuzz.texts --count $(N) --seed $(SEED)

fuzz-files: $(STAMPS)/test ## damaged data, sources, programs and checkpoints, commands killed at any operation (N=1000 SEED=0)
	$(BIN)/python -m tests.files.damage --count $(N) --seed $(SEED)
	$(BIN)/python -m tests.files.campaign --count $(N) --seed $(SEED)

test-gpu: $(STAMPS)/cuda ## what XLA makes of loops for a GPU, on a machine without one
	TEMPOC_CUDA=build/cuda $(BIN)/python -m pytest -q tests/whole/device/test_gpu.py

golden: $(STAMPS)/test ## bless what golden/ should hold; read the diff
	$(BIN)/python -m pytest -q --bless
	git --no-pager diff --stat -- golden

lint: $(STAMPS)/test ## ruff
	$(BIN)/ruff check tempoc tests examples
	$(BIN)/ruff format --check --quiet tempoc tests examples

types: $(STAMPS)/test ## mypy --strict
	$(BIN)/mypy

bench: $(STAMPS)/test $(STAMPS)/llama build/llama/model.safetensors ## ratios against plain JAX programs
	$(BIN)/python -m tests.bench

bench-gpu: $(STAMPS)/gpu $(STAMPS)/llama build/llama/model.safetensors ## the same on a GPU
	JAX_PLATFORMS=cuda,cpu $(BIN)/python -m tests.bench --output results-gpu.json

clean: ## remove what was built (not the environment)
	rm -rf build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './.venv*/*' -prune -exec rm -rf {} +

build/llama/model.safetensors: examples/llama/fetch.py | $(STAMPS)/llama
	$(BIN)/python examples/llama/fetch.py

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "tempoc needs Python 3.11 or later; say make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(STAMPS)/test: pyproject.toml $(CONSTRAINTS) | $(BIN)/python
	$(INSTALL) -e '.[test,examples]'
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/gpu: $(STAMPS)/test
	$(INSTALL) 'jax[cuda12]'
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/cuda: $(STAMPS)/test
	version=$$($(BIN)/python -c 'import jax; print(jax.__version__)'); \
	  $(INSTALL) --no-deps --upgrade --target build/cuda \
	  jax-cuda13-plugin==$$version jax-cuda13-pjrt==$$version
	@touch $@

$(STAMPS)/llama: pyproject.toml $(CONSTRAINTS) | $(BIN)/python
	$(INSTALL) -e '.[llama]'
	@mkdir -p $(STAMPS) && touch $@
