# `make` lists the targets. Each target installs what it needs into $(VENV).
PYTHON ?= python3
VENV ?= .venv
PROGRAMS ?= ../shared/conformance
JAX ?= ../jax
FILES ?=
QUICK ?=
SUITE_FLAGS ?=
JOBS ?= 2
ALL ?= .venv-all
BENCH ?= .venv-bench
MODELS ?= *
PART ?= 1/1
SIZES ?= small,usual,large
BENCH_FLAGS ?=
RESULTS ?= build
TARGET ?= tpu:v5e
BIN := $(VENV)/bin
SOURCES := toolchain passes tests scripts benchmarks examples lit_tests docs/site

.DEFAULT_GOAL := help
.PHONY: help demo test test-all lit pytest bytecode prove rules fuzz conformance jax-suite check types format docs bench regret survey fit dist dist-test clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(VENV)/.demo ## run MobileNetV2 under jxc and under plain jax.jit
	$(BIN)/python scripts/demo.py

test: lit pytest ## run all tests, on the newest jax that PYTHON supports

test-all: $(ALL)/.all ## the same with the TPU and GPU compilers; needs no TPU or GPU
	$(MAKE) lit pytest VENV=$(ALL)

lit: bytecode ## run the FileCheck tests
	$(BIN)/lit -v -j$(JOBS) lit_tests

pytest: bytecode ## run the Python tests
	$(BIN)/python -m pytest -n $(JOBS) --dist=loadfile $(PYTEST_FLAGS)

# Tests start about 1,500 processes. Compiling jxc to bytecode once halves the start of each, also
# where PYTHONDONTWRITEBYTECODE is set.
bytecode: $(VENV)/.dev
	$(BIN)/python -m compileall -q -j $(JOBS) toolchain passes

prove: $(VENV)/.dev ## prove elementwise rules for every input with z3
	$(BIN)/python scripts/prove.py --jobs $(JOBS)

rules: $(VENV)/.dev ## check every rule on many programs, and write passes/README.md
	mkdir -p build
	$(BIN)/python scripts/prove.py --jobs $(JOBS) --json build/proofs.json
	$(BIN)/python scripts/check_rules.py --jobs $(JOBS) --proofs build/proofs.json
	$(BIN)/python scripts/catalogue.py

fuzz: $(VENV)/.dev ## run random programs and corrupted inputs for three minutes, and tests on others
	$(BIN)/python scripts/fuzz.py programs --seconds 45
	$(BIN)/python scripts/fuzz.py sharded --seconds 45
	$(BIN)/python scripts/fuzz.py plans --seconds 45
	$(BIN)/python scripts/fuzz.py inputs --count 2500 --seconds 45
	$(BIN)/python -m pytest -n $(JOBS) -m hypothesis --hypothesis-profile=random

conformance: $(VENV)/.dev ## run programs with expected outputs at each level; PROGRAMS=DIR
	JAX_PLATFORMS=cpu $(BIN)/jxc verify --conformance $(PROGRAMS)

jax-suite: $(VENV)/.jax-suite ## run JAX's own tests under the levels; JAX=DIR FILES='a_test b_test' QUICK=1
	JAX_PLATFORMS=cpu $(BIN)/python scripts/jax_suite.py $(JAX) --files '$(FILES)' --jobs $(JOBS) \
	  $(if $(QUICK),--quick) $(SUITE_FLAGS)

check: $(VENV)/.dev types ## check format, lint, types, and that passes/README.md is up to date
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/python scripts/catalogue.py --check

types: $(VENV)/.dev
	$(BIN)/python scripts/check_types.py

format: $(VENV)/.dev ## format the code
	$(BIN)/ruff format $(SOURCES)
	$(BIN)/ruff check --fix $(SOURCES)

docs: $(VENV)/.dev ## build the documentation into build/site
	rm -rf build/site build/doctrees
	$(BIN)/python -m sphinx -q -W --keep-going -j auto -c docs/site . build/site -d build/doctrees

regret: $(VENV)/.dev ## measure what the prices of rewrites cost on random programs: two minutes
	JAX_PLATFORMS=cpu $(BIN)/python benchmarks/regret.py --results benchmarks/REGRET.md

bench: $(BENCH)/.bench ## run the benchmark, which takes three hours; MODELS='keras-*' RESULTS=DIR
	$(BENCH)/bin/python benchmarks/overhead.py
	$(BENCH)/bin/python benchmarks/passes.py
	mkdir -p build
	$(BENCH)/bin/python benchmarks/run.py --models '$(MODELS)' --sizes $(SIZES) $(BENCH_FLAGS) \
	  --history build/bench-history.jsonl --plot $(RESULTS)/ratios.svg --results $(RESULTS)/RESULTS.md
	$(BENCH)/bin/python benchmarks/keras_fit.py --results $(RESULTS)/RESULTS.md
	$(BENCH)/bin/python benchmarks/warm_start.py --results $(RESULTS)/RESULTS.md

survey: $(VENV)/.survey ## run every public function of JAX, which takes hours; QUICK=1 PART=1/20 RESULTS=DIR
	JAX_PLATFORMS=cpu PYTHONPATH=benchmarks $(BIN)/python -m survey.run $(if $(QUICK),--quick) \
	  --part $(PART) $(if $(AGAIN),--again $(AGAIN)) --out build/survey.jsonl
	JAX_PLATFORMS=cpu PYTHONPATH=benchmarks $(BIN)/python -m survey.report build/survey.jsonl \
	  --results $(RESULTS)/SURVEY.md

fit: $(ALL)/.all ## compile training steps that need much memory, in variants by hand; TARGET=tpu:v5e AGAIN=1
	JAX_PLATFORMS=cpu PYTHONPATH=benchmarks $(ALL)/bin/python -m fit.run --target $(TARGET) \
	  $(if $(AGAIN),--again)
	JAX_PLATFORMS=cpu PYTHONPATH=benchmarks $(ALL)/bin/python -m fit.report

dist: $(VENV)/.dev ## build the sdist and the wheel into dist/
	$(BIN)/python scripts/dist.py
	$(BIN)/python -m twine check --strict dist/jxc_compiler-*

dist-test: dist ## install and run the wheel on each Python found; PYTHONS='PATH ...' adds some
	$(BIN)/python scripts/check_dist.py

clean: ## remove environments and build files
	rm -rf .venv .venv-* build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache

$(VENV)/.python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "jxc needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.demo: $(VENV)/.python pyproject.toml
	$(BIN)/python -m pip install -q -e '.[demo]'
	touch $@

$(VENV)/.dev: $(VENV)/.python pyproject.toml
	$(BIN)/python -m pip install -q -e '.[dev]'
	touch $@

$(VENV)/.jax-suite: $(VENV)/.dev
	$(BIN)/python -m pip install -q -e '.[jax-suite]'
	touch $@

$(VENV)/.survey: $(VENV)/.dev
	$(BIN)/python -m pip install -q -e '.[survey]'
	-$(BIN)/python -m pip install -q -e '.[survey-torch]'
	touch $@

$(ALL)/.all: pyproject.toml
	$(MAKE) $(ALL)/.dev VENV=$(ALL)
	$(ALL)/bin/python -m pip install -q -e '.[tpu,gpu]'
	touch $@

$(BENCH)/.bench: pyproject.toml
	$(MAKE) $(BENCH)/.python VENV=$(BENCH)
	$(BENCH)/bin/python benchmarks/install.py
	touch $@
