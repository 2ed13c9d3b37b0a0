# Every target makes .venv itself and installs only what it needs. `make test PYTHON=python3.12` picks the Python,
# `make test ARGS="-k kress"` passes options to pytest.
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test test-slow check docs bench clean

py := .venv/bin/python
export MPLBACKEND = Agg

# One thread a worker: XLA sizes its pool by NPROC, the BLAS under its linear algebra by OMP_NUM_THREADS. A file stays with one
# worker, which then traces, compiles and trains once what its tests share; slow tests are too few for that.
WORKERS ?= 2
pytest := NPROC=1 OMP_NUM_THREADS=1 $(py) -m pytest -n $(WORKERS)

# Most of the time goes into compiling: code that XLA does not optimise is there in half of it. `make test-slow` has the other.
test check: export XLA_FLAGS ?= --xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s%s\n", $$1, $$2 }' Makefile

demo: ## Learn, solve and draw one problem into out/demo
	@tools/bootstrap plot
	$(py) -m edgewise demo --out out/demo

test: ## Run the quick tests
	@tools/bootstrap plot io test
	$(pytest) --dist loadfile -m "not slow" $(ARGS)

test-slow: ## Run the tests marked slow, within an hour
	@tools/bootstrap plot io test
	$(pytest) --dist loadgroup -m slow $(ARGS)

# What the tests have compiled, examples and documents need not compile again.
check: export JAX_COMPILATION_CACHE_DIR = $(CURDIR)/.pytest_cache/jax
check: export JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS = 0.1
check: ## Check style, imports, types, doctests, examples, documents, their site and the wheel
	@tools/bootstrap plot io test all dev docs
	$(py) -m ruff format --check .
	$(py) -m ruff check .
	.venv/bin/lint-imports --no-cache
	PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(py) -m pyright
	JAX_ENABLE_X64=1 $(pytest) --dist loadfile -q --doctest-modules edgewise
	$(py) tools/check_examples.py
	$(py) tools/check_readme.py
	$(py) tools/build_docs.py
	tools/check_wheel

docs: ## Build the documentation into site/
	@tools/bootstrap docs
	$(py) tools/build_docs.py

bench: ## Run the benchmarks
	@tools/bootstrap plot test
	$(py) -m benchmarks $(ARGS)

clean: ## Remove .venv, out/demo, site, built packages and caches; keep runs/ and the rest of out/
	rm -rf .venv out/demo site .cache build dist .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
