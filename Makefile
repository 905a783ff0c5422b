# The same commands for a person and for CI. `make demo` and `make test` install what they need.
# Numerical code runs BLAS on one thread; so do the plain twins in the tests, which are slower on several.
export OPENBLAS_NUM_THREADS := 1

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
LOWEST := .venv-lowest
DOCS   := .venv-docs
PYTHONS ?= python3.11 python3.12 python3.13

.PHONY: setup setup-lowest docs demo test test-bench test-lowest slow lint check release-check format bench reproduction lock clean

setup: $(READY)

$(READY): pyproject.toml laboratory/pyproject.toml requirements-dev.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements-dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable . --editable ./laboratory
	@touch $@

# The documentation site, in build/site; any warning is an error.
$(DOCS)/.ready: pyproject.toml requirements-docs.txt
	@test -x $(DOCS)/bin/python || $(PYTHON) -m venv $(DOCS)
	@$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements-docs.txt
	@$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

docs: $(DOCS)/.ready
	@$(DOCS)/bin/python -m tools.docs_pages build/pages
	@$(DOCS)/bin/python -m sphinx -q -W --keep-going build/pages build/site
	@echo "Open build/site/index.html."

demo: setup
	@$(BIN)/deconfound demo

test: setup
	$(BIN)/python -m pytest -n 2 tests

test-bench: setup
	$(BIN)/python -m pytest -n 2 laboratory/tests

# The oldest versions that pyproject.toml allows: the parts of the package that use the libraries most.
$(LOWEST)/.ready: pyproject.toml requirements-lowest.txt
	@test -x $(LOWEST)/bin/python || $(PYTHON) -m venv $(LOWEST)
	@$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements-lowest.txt
	@$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

setup-lowest: $(LOWEST)/.ready

test-lowest: $(LOWEST)/.ready
	$(LOWEST)/bin/python -m pytest -n 2 tests/data tests/design tests/linalg tests/loading/test_convert.py \
		tests/loading/test_formats.py tests/loading/test_load_study.py tests/features tests/reward/test_families.py

# Needs a package index and these interpreters on the path.
release-check: setup
	$(BIN)/python -m tools.release_check $(PYTHONS)

slow: setup
	$(BIN)/python -m pytest -n 2 -m slow tests laboratory/tests

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

check: lint
	$(BIN)/python -m pytest tests/test_layering.py tests/test_language.py laboratory/tests/test_layering.py

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup
	$(BIN)/python -m benchmarks.tuning
	$(BIN)/python -m benchmarks.evaluation
	$(BIN)/python -m benchmarks.sweep

reproduction: setup
	$(BIN)/deconfound bench reproduction docs/reproduction/*.parquet -o docs/reproduction.md --overwrite

# Needs uv on the path; everything else needs only Python and make.
lock:
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
		--group dev pyproject.toml requirements-build.in --output-file requirements-dev.txt
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
		--group docs pyproject.toml requirements-build.in --output-file requirements-docs.txt
	uv pip compile --universal --python-version 3.11 --resolution lowest-direct --generate-hashes --no-annotate --no-header \
		--extra plots --extra run --extra yaml pyproject.toml requirements-lowest.in requirements-build.in --output-file requirements-lowest.txt

clean:
	rm -rf $(VENV) $(LOWEST) $(DOCS) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
