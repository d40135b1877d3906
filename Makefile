# Everything that one does here, by name. `make` alone lists it.
# The environment lives in .venv; stamps in it make a second call quick.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMPS := $(VENV)/stamps
PROMPT ?= The capital of France is
TOKENS ?= 48
N      ?= 1000
SEED   ?= 0
JOBS   ?= 2

# Bytecode is written even if the shell says otherwise: tests and commands start Python many times.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run test fast fuzz fuzz-files test-gpu golden lint types bench bench-gpu clean

help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile

run: $(STAMPS)/llama build/llama/model.safetensors ## compile the language model and let it answer (PROMPT="..." TOKENS=48)
	$(BIN)/python -m tempoc compile examples/llama/model.rt -o build/llama/out
	$(BIN)/python examples/llama/chat.py --tokens $(TOKENS) "$(PROMPT)"

test: lint types $(STAMPS)/test build/llama/model.safetensors ## everything: lint, types, all tests
	$(BIN)/python -m pytest -q -n 2 --dist worksteal --durations=30

fast: $(STAMPS)/test ## unit tests only
	$(BIN)/python -m pytest -q -m "not slow" --ignore=tests/whole --ignore=tests/bench

fuzz: $(STAMPS)/test ## random programs against the reference evaluator (N=1000 SEED=0 JOBS=2); failures in build/fuzz
	$(BIN)/python -m tests.fuzz --count $(N) --seed $(SEED) --jobs $(JOBS)

fuzz-files: $(STAMPS)/test ## commands killed at any operation, two writers, changed programs and checkpoints (N=1000 SEED=0)
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
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

build/llama/model.safetensors: examples/llama/fetch.py | $(STAMPS)/llama
	$(BIN)/python examples/llama/fetch.py

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "tempoc needs Python 3.11 or later; say make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(STAMPS)/test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,examples]'
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/gpu: $(STAMPS)/test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'jax[cuda12]'
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/cuda: $(STAMPS)/test
	version=$$($(BIN)/python -c 'import jax; print(jax.__version__)'); \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target build/cuda \
	  jax-cuda13-plugin==$$version jax-cuda13-pjrt==$$version
	@touch $@

$(STAMPS)/llama: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[llama]'
	@mkdir -p $(STAMPS) && touch $@
