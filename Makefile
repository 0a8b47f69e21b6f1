# `make demo` and `make test` do all the set-up they need on a machine with Python 3.11+ and make.
VENV ?= .venv
PY := $(VENV)/bin/python
PYTHON ?= python3
UV := $(or $(shell command -v uv 2>/dev/null),$(VENV)/bin/uv)
RUNS := $(VENV)/.runs
STAMP := $(VENV)/.installed
# The tests start evalq hundreds of times: it is compiled once.
export PYTHONDONTWRITEBYTECODE :=
# They write gigabytes of databases: in memory, if there is room.
ifeq ($(shell test "$$(df --output=avail /dev/shm 2>/dev/null | tail -1)" -gt 8000000 2>/dev/null && echo roomy),roomy)
export PYTEST_DEBUG_TEMPROOT := /dev/shm
endif

.PHONY: demo test check faults bench bench-web profile house map reference pictures docs wheel clean bubblewrap chromium node

# With uv, which takes seconds; with pip where uv cannot be had.
define install
	@$(PYTHON) -c 'import sys; sys.exit("evalq needs Python 3.11 or newer, this is %d.%d" % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@test -x $(UV) || $(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt uv || true
	$(UV) pip install --quiet --python $(PY) -c constraints.txt -e '$(1)' || \
	$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '$(1)'
endef

# What running needs.
$(RUNS): pyproject.toml constraints.txt
	$(call install,.)
	@touch $@

# What developing needs besides.
$(STAMP): pyproject.toml constraints.txt
	$(call install,.[dev])
	@touch $(RUNS) $@

# The demo ends with exit code 3, because one judge is broken on purpose and left out.
demo: $(RUNS)
	@$(VENV)/bin/evalq demo; code=$$?; \
	if [ $$code -eq 3 ]; then \
		echo; echo "Exit code 3, partial, as it should be: sim-gemini-2.5-flash answers nothing and is left out of the ranking."; \
		echo "Share it with $(VENV)/bin/evalq report last, open its pages with $(VENV)/bin/evalq web --open."; \
	else echo "the demo ended with exit code $$code instead of 3"; exit 1; fi

check: $(STAMP)
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(PY) -m pytest tests/unit tests/project -q -n auto

# Code is graded in a sandbox of bubblewrap. Where it cannot be installed, its tests are skipped; in CI they fail.
bubblewrap:
	@command -v bwrap >/dev/null || test "$$(id -u)" -ne 0 || ! command -v apt-get >/dev/null || \
	{ apt-get install -y bubblewrap || { apt-get update && apt-get install -y bubblewrap; }; } >/dev/null 2>&1 || true

# The pages and reports are looked at in Chromium. Where it cannot be installed, their tests are skipped; in CI they fail.
chromium:
	@command -v chromium >/dev/null || test "$$(id -u)" -ne 0 || ! command -v apt-get >/dev/null || \
	{ apt-get install -y chromium || { apt-get update && apt-get install -y chromium; }; } >/dev/null 2>&1 || true

# JavaScript is graded by Node.js in the sandbox. Where it cannot be installed, its tests are skipped; in CI they fail.
node:
	@command -v node >/dev/null || test "$$(id -u)" -ne 0 || ! command -v apt-get >/dev/null || \
	{ apt-get install -y nodejs || { apt-get update && apt-get install -y nodejs; }; } >/dev/null 2>&1 || true

# Both halves always run; the last line counts them together.
test: $(STAMP) bubblewrap chromium node
	@$(PY) tests/run.py

# The long form, a quarter of an hour: every fault, twenty random schedules, and 5,000 jobs under fire.
faults: $(STAMP)
	$(PY) -m pytest tests/faults -q --faults-long --timeout=3600

# Half an hour or more on a quiet machine. Peers are installed into the user's cache; one that cannot be is left out.
bench: $(STAMP)
	$(PY) -m benchmarks.startup
	$(PY) -m benchmarks.publishing
	$(PY) -m benchmarks.batches
	$(PY) -m benchmarks.simulator
	$(PY) -m benchmarks.wire
	$(PY) -m benchmarks.permits
	$(PY) -m benchmarks.workloads W1 W2 W3 W4 --growth --processes --results benchmarks/RESULTS.md --readme README.md
	$(PY) -m benchmarks.limits
	$(PY) -m benchmarks.statistics
	$(PY) -m benchmarks.intervals
	$(PY) -m benchmarks.coverage
	$(PY) -m benchmarks.sandbox
	$(PY) -m benchmarks.patterns
	$(PY) -m benchmarks.scrubbing
	$(PY) -m benchmarks.kills
	$(PY) -m benchmarks.caps

# The pages over 100,000 verdicts in Chromium, each figure with its budget; fails when one is missed. Two minutes.
bench-web: $(STAMP) chromium
	@$(PY) -m benchmarks.web_pages

# Where a job's CPU goes inside a worker, sampled by py-spy.
profile: $(STAMP)
	$(PY) -m benchmarks.worker_profile

# Entries, files, lines and layers of the tree, and the modules one job passes through.
house: $(STAMP)
	$(PY) -m benchmarks.house

# Every module with its one sentence.
map: $(STAMP)
	@$(PY) -m benchmarks.house --map

# The pages of docs/reference/, from the definitions, the commands and the Python API.
reference: $(STAMP)
	@$(PY) -m tools.reference

# The pictures of docs/pictures/, from a demo bake-off: its table, its frontier, and its page in Chromium.
pictures: $(STAMP) chromium
	@$(PY) -m tools.pictures

# The documentation as a site of plain files, in site/, which asks no other server for anything.
docs: reference
	@NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --quiet && echo "site/index.html"

wheel: $(STAMP)
	$(PY) -m pip wheel --quiet --no-deps -w dist .

clean:
	rm -rf build dist site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
