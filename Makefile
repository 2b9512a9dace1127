# Each target does what it needs on a fresh machine. `make setup` is run by the others when something changed.
VENV := .venv
PYTHON := $(VENV)/bin/python
READY := $(VENV)/.ready

.PHONY: setup test lint proofs demo bench clean

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	python3 -m venv $(VENV)
	$(PYTHON) -m pip install --quiet --constraint constraints.txt torch
	$(PYTHON) -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $(READY)

test: $(READY)
	$(PYTHON) -m pytest -m "not proof" -n 2

lint: $(READY)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

# The long form of what `make test` samples: full products, all counts.
proofs: $(READY)
	$(PYTHON) -m pytest -m proof -n 2

demo: $(READY)
	$(PYTHON) -m demo

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
