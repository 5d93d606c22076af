# Every target makes its own environment in .venv first; nothing needs installing by hand.
PYTHON ?= python3
BIN := .venv/bin
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1

.PHONY: demo docs dist check test coverage test-torch torch fuzz mutants lint types test-oldest hooks bench speed quality reproduce \
	reproduction-page reproduce-quick figures clean

# Three short acts, in an environment of their own that holds what `pip install "ratewise[cli]"` brings, and no more.
demo: .venv-demo/made
	.venv-demo/bin/ratewise demo

# Small mistakes in the source, and whether the tests notice: make mutants ARGS="--number 100 measures solvers"
mutants: .venv/made
	$(ONE_THREAD) $(BIN)/python benchmarks/mutants.py $(ARGS)

# Damaged files, models and command lines, some minutes of them: make fuzz ARGS="--mutants 2000 --formats npz"
fuzz: .venv/made
	$(ONE_THREAD) $(BIN)/python tests/fuzz $(ARGS)

# The same examples everywhere; plain pytest draws new ones each time.
# A file of tests stays in one process: its fixtures are made once, and its loops are compiled once.
PYTEST := $(ONE_THREAD) $(BIN)/pytest -n 2 --dist loadfile --hypothesis-seed=0

# Two minutes on two cores: what to run before every commit.
check: lint types
	$(PYTEST) -m "not slow"

# Every test: what CI runs.
test: lint types
	$(PYTEST) -m "not slow"
	$(PYTEST) -m slow

# The lines of src that no quick test runs. Before Python 3.12 tracing costs a quarter of the time.
coverage: .venv/made
	$(PYTEST) -m "not slow" --cov --cov-report=term

lint: .venv/made
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: .venv/made
	$(BIN)/mypy

# The quick tests with the oldest dependencies that are supported. Old libraries use what Python and others have
# deprecated since, so such warnings are no errors here.
OLDEST_PYTHON ?= python3.11
test-oldest: .venv-oldest/made
	$(ONE_THREAD) .venv-oldest/bin/pytest -n 2 --dist loadfile --hypothesis-seed=0 -m "not slow" \
		-W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning $(ARGS)

# The tests that need PyTorch, which `make test` skips where it is missing. The version is one with a small CPU build.
TORCH ?= torch==2.13.0
torch: .venv/made
	$(BIN)/pip install --quiet --disable-pip-version-check "$(TORCH)"

test-torch: torch
	$(ONE_THREAD) $(BIN)/pytest tests/test_torch.py src/ratewise/torch.py tests/test_examples.py -k torch

# ruff, mypy and import-linter before every commit, from .venv and without a network.
hooks: .venv/made
	@command -v pre-commit > /dev/null || { echo "pre-commit is missing: pip install pre-commit"; exit 1; }
	pre-commit install

# Minutes, and a quiet machine; --data DIR is ../shared/data unless given in ARGS.
bench: .venv/made
	$(ONE_THREAD) $(BIN)/python benchmarks/core.py $(ARGS)
	$(ONE_THREAD) $(BIN)/python benchmarks/fit_time.py $(ARGS)
	$(ONE_THREAD) $(BIN)/python benchmarks/svmlight.py $(ARGS)
	$(ONE_THREAD) $(BIN)/python benchmarks/speed.py $(ARGS)
	$(ONE_THREAD) $(BIN)/python benchmarks/instructions.py

# Some sections of the speed benchmark: make speed ARGS="--only passes sgd"
speed: .venv/made
	$(ONE_THREAD) $(BIN)/python benchmarks/speed.py $(ARGS)

# An hour from nothing; what benchmarks/results/quality.json holds is not computed again.
quality: .venv/made
	$(ONE_THREAD) $(BIN)/python benchmarks/quality.py $(ARGS)

# The pictures of the docs on measures, drift and watching a model, of the README,
# and (with chromium) of docs/reports.md.
figures: .venv/made
	$(BIN)/python docs/figures/measures.py
	$(BIN)/python docs/figures/gains.py
	$(BIN)/python docs/figures/streams.py
	$(BIN)/python docs/figures/monitor.py
	$(BIN)/python examples/why_not_a_threshold.py docs/figures/plane.svg
	$(BIN)/python examples/shapes.py docs/figures/shapes.png
	$(BIN)/python docs/figures/report.py

# The site, in site/: open site/index.html. Warnings are errors. The examples of the gallery run if they have changed.
# With chromium the pages are looked at too: contrast, headings, links, search.
docs: .venv/docs-made
	NO_MKDOCS_2_WARNING=1 $(ONE_THREAD) $(BIN)/mkdocs build --strict
	$(BIN)/pytest tests/reports/test_site.py

# The paper's figures and a verdict on each of its claims; what the folder's results.csv holds is not run again.
DATA ?= ../shared/data
reproduce: .venv/made
	$(ONE_THREAD) $(BIN)/python benchmarks/paper --data $(DATA) $(ARGS)

# docs/reproduction.md and its figures, from what `make reproduce` left in reproduction/.
reproduction-page:
	mkdir -p docs/reproduction
	cp reproduction/*.png docs/reproduction/
	sed 's|](\([a-z0-9]*\.png\))|](reproduction/\1)|' reproduction/report.md > docs/reproduction.md

# Minutes: two data sets and two splits.
reproduce-quick: .venv/made
	$(ONE_THREAD) $(BIN)/python benchmarks/paper --quick --data $(DATA) $(ARGS)

.venv/made: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@

.venv-demo/made: pyproject.toml
	$(PYTHON) -m venv .venv-demo
	.venv-demo/bin/pip install --quiet --disable-pip-version-check --editable ".[cli]"
	touch $@

.venv/docs-made: .venv/made
	$(BIN)/pip install --quiet --disable-pip-version-check --editable ".[docs]"
	touch $@

# The files to publish, in dist/; the wheel is installed into clean environments and tried.
NEWEST_PYTHON ?= python3.13
dist: .venv/made
	$(BIN)/pip install --quiet --disable-pip-version-check "build>=1.0"
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	packaging/check_wheel.sh $(OLDEST_PYTHON) $(NEWEST_PYTHON)

# The pins are constraints: pip refuses one that lies below a bound of pyproject.toml.
.venv-oldest/made: pyproject.toml requirements/oldest.txt
	rm -rf .venv-oldest
	$(OLDEST_PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/pip install --quiet --disable-pip-version-check --constraint requirements/oldest.txt \
		--editable ".[test]"
	touch $@

clean:
	rm -rf .venv .venv-demo .venv-oldest site .gallery .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find src tests benchmarks examples -name __pycache__ -prune -exec rm -rf {} +
