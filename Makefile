# Each target does what it needs on a fresh machine. `make setup` is run by the others when something changed.
VENV := .venv
PYTHON := $(VENV)/bin/python
PELLUCID := $(VENV)/bin/pellucid
READY := $(VENV)/.ready

# The tests multiply small matrices, which threads that wait for each other would slow down.
test proofs: export OPENBLAS_NUM_THREADS := 1

.PHONY: setup chromium test lint proofs demo serve memory bench bench-quick clean

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	python3 -m venv $(VENV)
	$(PYTHON) -m pip install --quiet --constraint constraints.txt torch
	$(PYTHON) -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $(READY)

# The browser tests drive the system's Chromium.
chromium:
	test -x /usr/bin/chromium || (apt-get update -qq && apt-get install -y -qq chromium)

test: $(READY) chromium
	$(PYTHON) -m pytest -m "not proof" -n 2

lint: $(READY)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

# The long form of what `make test` samples: full products, all counts.
proofs: $(READY) chromium
	$(PYTHON) -m pytest -m proof -n 2

# The model that ships; then one from nothing in three minutes: train, measure on unseen dates, look inside.
DEMO := .cache/demo
demo: $(READY)
	rm -rf $(DEMO)
	$(PELLUCID) translate --to de "Where is the station?"
	$(PELLUCID) train --corpus dates --minutes 3 --out $(DEMO)/dates
	$(PELLUCID) evaluate --corpus dates --model $(DEMO)/dates
	$(PELLUCID) translate --model $(DEMO)/dates "Dienstag, 3. Mai 2022" "the twenty-first of July 1969"
	$(PELLUCID) explain --model $(DEMO)/dates --png $(DEMO)/attention "Dienstag, 3. Mai 2022"

serve: $(READY)
	$(PELLUCID) serve

# The memory of the service stays flat over ten thousand requests.
memory: $(READY)
	$(PYTHON) -m pytest -m proof tests/serve/test_process.py

# Side by side with peers: hours, on an otherwise idle machine. `make bench DATA=folder` takes real corpora,
# `make bench MODELS="en-de runs/mine"` translates with these models instead of training one for it, `make bench ROUNDS=1`
# measures each contender once, except in decoding the nearest peer, which gets 25 rounds.
bench: $(READY)
	$(PYTHON) -m benchmarks $(if $(DATA),--data $(DATA)) $(if $(ROUNDS),--rounds $(ROUNDS)) $(MODELS:%=--model %)

# Does every benchmark work? No peers, small counts: its figures mean nothing.
bench-quick: $(READY)
	$(PYTHON) -m benchmarks --quick

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
