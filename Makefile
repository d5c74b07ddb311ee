# Each target does its own set-up: all it needs is Python 3.11 or newer and a package index.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN    := .venv/bin
STAMP  := .venv/.installed
SPARK_STAMP := .venv-spark/.installed
SCVERSE_STAMP := .venv-scverse/.installed
MINIMUM_STAMP := .venv-minimum/.installed
DOCS_STAMP := .venv-docs/.installed
# The first that runs: of pyenv's, a command may be there that does not.
PYTHON12 ?= $(shell for each in python3.12 python3.13 $(wildcard $(HOME)/.pyenv/versions/3.1[23].*/bin/python); do \
	$$each -c '' 2>/dev/null && echo $$each && break; done)
AXE    := build/browser/node_modules/axe-core/axe.min.js

.PHONY: demo docs dist test test-browser test-guides test-spark test-scverse test-minimum test-faults test-wheel lint format bench bench-bars bench-quick bench-full experiment experiments experiments-quick clean

demo: $(STAMP)
	$(BIN)/python -m omvfs.demo build/demo/report.html

# The same examples every time; pytest called by hand draws new ones.
test: lint
	$(BIN)/pytest -n 2 --dist worksteal --hypothesis-profile=ci --ignore=tests/browser

# Reports in a real browser: Debian's chromium, and axe-core by npm.
test-browser: $(STAMP) $(AXE)
	command -v chromium || { apt-get update && apt-get install -y --no-install-recommends chromium; }
	$(BIN)/pytest tests/browser

$(AXE):
	npm install --no-save --prefix build/browser axe-core@4

# The site, in build/docs: examples are run for their pictures, warnings are errors, links are checked. In a browser
# too, where there is one and axe-core.
docs: $(DOCS_STAMP)
	rm -rf build/docs docs/api/generated
	.venv-docs/bin/sphinx-build -b html -j 2 -W --keep-going -q -d build/doctrees docs build/docs
	.venv-docs/bin/pytest -q tests/site

# Wheel and sdist, in dist/.
dist: $(STAMP)
	rm -rf dist
	$(BIN)/python -m hatchling build

# Each guide as a new user would follow it: the wheel in an empty environment, in an empty folder. PAGES=docs/texts.md
# for one of them.
test-guides: dist
	$(BIN)/python tests/guides.py $(PAGES)

# The wheel in an empty environment of every Python that is here, from 3.11 on; by mypy and twine too.
test-wheel: dist
	$(BIN)/python tests/wheels.py

# Fits over Spark, on two cores of this machine; needs Java 17, ends by itself. Spark is large: it has an
# environment of its own.
test-spark: $(SPARK_STAMP)
	.venv-spark/bin/pytest tests/distributed/test_spark.py
	mkdir -p build/spark && cd build/spark && PATH="$(CURDIR)/.venv-spark/bin:$$PATH" python $(CURDIR)/tests/following.py $(CURDIR)/docs/spark.md --installed

# AnnData and MuData as newest versions and scanpy have them, which need Python 3.12: an environment of its own.
test-scverse: $(SCVERSE_STAMP)
	.venv-scverse/bin/pytest tests/integrations/test_scverse.py tests/data/test_containers.py
	mkdir -p build/single-cells && cd build/single-cells && PATH="$(CURDIR)/.venv-scverse/bin:$$PATH" python $(CURDIR)/tests/following.py $(CURDIR)/docs/single-cells.md --installed

# The oldest versions of all that is needed; what is newer is in `make test`.
test-minimum: $(MINIMUM_STAMP)
	.venv-minimum/bin/pytest -n 2 --hypothesis-profile=ci tests/contracts tests/estimator tests/data \
		--deselect tests/estimator/test_budget.py::test_the_command_line_selects_so_many_in_all # an old typer warns of itself

# All faults of docs/reliability.md, a few minutes on two cores; SHORT=--short for a look.
test-faults: $(STAMP)
	PYTHONPATH="$(CURDIR)/src:$(CURDIR)/tests" $(BIN)/python -m reliability $(if $(SHORT),$(SHORT),--write docs/reliability.md)

# An interrupted run continues; AGAIN=--again starts anew, and also forgets what only bench-full finds.
SPEED = $(BIN)/python benchmarks/speed.py --json docs/performance.json --write docs/performance.md

bench: $(STAMP)
	$(SPEED) $(AGAIN)

bench-full: $(STAMP)
	$(SPEED) --full $(AGAIN)

# Anew, whatever was found before: half-dense views, ranked passes, asking, predicting, starting, memory.
bench-bars: $(STAMP)
	$(SPEED) --again asked/ --only asked/

bench-quick: $(STAMP)
	$(BIN)/python benchmarks/speed.py --quick

# The paper's experiments, all or NAME=small, on real sets, where they are at hand; twins else. An interrupted run
# continues, as above. A quick run is a first look, and gives no verdicts.
DATA ?= ../shared/data
EXPERIMENT = $(BIN)/python benchmarks/paper $(or $(NAME),all) --jobs 2 $(if $(wildcard $(DATA)),--data $(DATA)) $(AGAIN)

experiments experiment: $(STAMP)
	$(EXPERIMENT) --out docs/results --page docs/results.md

experiments-quick: $(STAMP)
	$(EXPERIMENT) --quick --out build/experiments --page build/results.md

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv .venv-docs .venv-minimum .venv-scverse .venv-spark docs/api/generated docs/gallery .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist

# The build tool comes first and builds without isolation, so that it too is pinned.
$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "omvfs needs Python 3.11 or newer; set PYTHON=")'
	rm -rf .venv
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt hatchling editables
	$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt --no-build-isolation -e '.[dev]'
	touch $@

$(SPARK_STAMP): pyproject.toml constraints.txt constraints-spark.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "omvfs needs Python 3.11 or newer; set PYTHON=")'
	rm -rf .venv-spark
	$(PYTHON) -m venv .venv-spark
	.venv-spark/bin/python -m pip install -q --disable-pip-version-check -c constraints.txt -c constraints-spark.txt hatchling editables setuptools wheel
	.venv-spark/bin/python -m pip install -q --disable-pip-version-check -c constraints.txt -c constraints-spark.txt --no-build-isolation -e '.[spark,test]'
	touch $@

$(SCVERSE_STAMP): pyproject.toml constraints.txt constraints-scverse.txt
	$(or $(PYTHON12),python3) -c 'import sys; sys.exit(sys.version_info < (3, 12) and "The newest AnnData and scanpy need Python 3.12 or newer; set PYTHON12=")'
	rm -rf .venv-scverse
	$(PYTHON12) -m venv .venv-scverse
	.venv-scverse/bin/python -m pip install -q --disable-pip-version-check -c constraints.txt -c constraints-scverse.txt hatchling editables
	.venv-scverse/bin/python -m pip install -q --disable-pip-version-check -c constraints.txt -c constraints-scverse.txt --no-build-isolation -e '.[scverse,files,test]' scanpy scikit-misc xarray dask
	touch $@

$(MINIMUM_STAMP): pyproject.toml constraints.txt constraints-minimum.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11) and "The oldest versions are those of Python 3.11; set PYTHON=")'
	rm -rf .venv-minimum
	$(PYTHON) -m venv .venv-minimum
	.venv-minimum/bin/python -m pip install -q --disable-pip-version-check -c constraints.txt hatchling editables
	.venv-minimum/bin/python -m pip install -q --disable-pip-version-check -c constraints-minimum.txt --no-build-isolation -e '.[cli,files,remote,plots,report,test]'
	touch $@

$(DOCS_STAMP): pyproject.toml constraints.txt constraints-docs.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "omvfs needs Python 3.11 or newer; set PYTHON=")'
	rm -rf .venv-docs
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python -m pip install -q --disable-pip-version-check -c constraints.txt -c constraints-docs.txt hatchling editables
	.venv-docs/bin/python -m pip install -q --disable-pip-version-check -c constraints.txt -c constraints-docs.txt --no-build-isolation -e '.[docs,test]'
	touch $@
