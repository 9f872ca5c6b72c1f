# `make` alone says what there is. Nothing here needs root.

CAPTURE ?= datasets/busy-host/busy-host.csv
OUTPUT  ?= reports/busy-host.html
FUZZ_SECONDS ?= 600
# Processes that share the tests. Each reads and imports for itself, so that more of them cost more in all.
WORKERS ?= 2
FUZZ_FILES ?= 50000
MUTANT_MINUTES ?= 60

UV      := $(shell command -v uv 2>/dev/null || echo .tools/bin/uv)
SYNCED  := .venv/.synced
RUN     := $(UV) run --no-sync
# pytest rewrites the assertions of tests and of hypothesis, and keeps what it compiled: half of what a start costs.
# Each worker has a processor already: polars starts no more threads.
TEST    := PYTHONDONTWRITEBYTECODE= POLARS_MAX_THREADS=1 $(RUN) pytest -n $(WORKERS)
CARGO   := cargo --quiet
PROSE   := esxparse simulator tests docs templates README.md CONTRIBUTING.md CHANGELOG.md
SOURCES := $(wildcard native/src/*.rs) native/Cargo.toml native/Cargo.lock

.DEFAULT_GOAL := help
.PHONY: help setup report lab test search lint phrases format bench docs written golden licences audit sbom score fuzz mutants datasets notebook pictures gallery clean

help: ## Say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(SYNCED) ## Make the locked environment in .venv (every other command does it first)

# uv comes by pip, into a place of its own, where the machine has none.
.tools/bin/uv:
	python3 -m venv .tools
	.tools/bin/python -m pip install --quiet uv

# Byte code is compiled at once: the first report should not pay for it. A wheel brings the extension of JupyterLab along,
# an editable install does not (setuptools leaves data files out).
$(SYNCED): pyproject.toml simulator/pyproject.toml uv.lock $(SOURCES) | $(filter .tools/bin/uv,$(UV))
	$(UV) sync --locked --compile-bytecode
	@mkdir -p .venv/etc/jupyter/jupyter_server_config.d .venv/share/jupyter/labextensions
	@ln -sfn $(CURDIR)/labextension .venv/share/jupyter/labextensions/esxparse
	@ln -sf $(CURDIR)/labextension/esxparse.json .venv/etc/jupyter/jupyter_server_config.d/
	@$(RUN) python -m compileall -q esxparse simulator
	@touch $@

report: $(SYNCED) ## Bundled capture to HTML report (CAPTURE=file OUTPUT=file for another)
	@mkdir -p $(dir $(OUTPUT))
	$(RUN) esxparse report $(CAPTURE) -o $(OUTPUT)

lab: $(SYNCED) ## Open the notebooks in JupyterLab
	$(RUN) jupyter lab --notebook-dir=notebooks

test: $(SYNCED) ## The tests: Python, doctests, notebooks, and the Rust crate where cargo is there
	$(TEST) --dist loadgroup
	@if command -v cargo >/dev/null; then $(CARGO) test --manifest-path native/Cargo.toml; \
	else echo "skipped: tests of the native crate (no cargo)"; fi

search: $(SYNCED) ## What takes minutes: long searches for counter-examples, datasets made again, each notebook on its own
	ESXPARSE_SEARCH=1 $(TEST) --dist worksteal -m "search or hypothesis" tests simulator/tests
	$(TEST) --dist loadfile -m "search or not search" --nbval --nbval-current-env notebooks

phrases: ## Look for phrases that nobody says (tests/phrases.txt), such as "None where" for "None if"
	@if grep -rnE -f tests/phrases.txt --include='*.py' --include='*.md' --include='*.toml' $(PROSE); then \
	echo "reword these lines: tests/phrases.txt has the phrases"; exit 1; fi

lint: $(SYNCED) phrases ## Style, types, the one-way rule for imports; clippy and rustfmt where cargo is there
	$(RUN) ruff check
	$(RUN) ruff format --check
	$(RUN) mypy
	$(RUN) lint-imports
	@if command -v cargo >/dev/null; then \
	$(CARGO) fmt --manifest-path native/Cargo.toml --check && \
	$(CARGO) clippy --manifest-path native/Cargo.toml --all-targets -- --deny warnings; \
	else echo "skipped: clippy and rustfmt (no cargo)"; fi

format: $(SYNCED) ## Format Python and Rust
	$(RUN) ruff check --fix
	$(RUN) ruff format
	$(CARGO) fmt --manifest-path native/Cargo.toml

bench: $(SYNCED) ## Read the same captures with esxparse and its peers; writes benchmarks/RESULTS.md
	for part in read large gzip_input converting growth fio_json fio_logs packets study simulate coverage explore lake; do \
	$(UV) run --locked --group bench python benchmarks/$$part.py || exit 1; done

docs: written ## Build the documentation into site/, which reads without a network; a broken link fails
	$(UV) sync --locked --group docs --quiet
	NO_MKDOCS_2_WARNING=1 $(RUN) mkdocs build --strict
	@echo site/index.html

written: $(SYNCED) ## Write docs/formats.md and docs/planners.md anew from the code, quality suites from checks.toml
	$(RUN) python -c "from esxparse.quality import suites; suites.write()"
	$(RUN) esxparse formats --markdown > docs/formats.md.new && mv docs/formats.md.new docs/formats.md
	$(RUN) python -c "from esxparse.plans import page; from esxparse.audits import page as items; print(page.page(), items.page(), sep='\n', end='')" > docs/planners.md.new
	mv docs/planners.md.new docs/planners.md

golden: $(SYNCED) ## Write the golden texts anew: what recordings, studies and reports show; read git diff before you commit
	ESXPARSE_SEARCH=1 ESXPARSE_RENEW_GOLDEN=1 $(TEST) --dist worksteal -m "search or not search" tests/published/test_golden_*.py

licences: $(SYNCED) ## Write docs/licences.md anew from the lock files and the metadata of the packages
	UV_PROJECT_ENVIRONMENT=build/licences $(UV) sync --quiet --locked --all-groups --all-extras --no-install-workspace
	$(RUN) python supply/licences.py "$$(build/licences/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" \
	> docs/licences.md.new && mv docs/licences.md.new docs/licences.md

audit: $(SYNCED) ## Look up known vulnerabilities of dependencies (AUDIT=--required: fail without a database)
	$(RUN) python supply/audit.py $(AUDIT)

sbom: $(SYNCED) ## Write the bill of materials of a release, sbom.cdx.json (CycloneDX)
	$(RUN) python supply/sbom.py sbom.cdx.json

score: $(SYNCED) ## How right diagnosis and quality checks are: writes benchmarks/SCORE.md and QUALITY.md (minutes)
	$(RUN) python benchmarks/score.py --output benchmarks/SCORE.md
	$(RUN) python benchmarks/injected.py --output benchmarks/SCORE.md
	$(RUN) python benchmarks/corruptions.py --output benchmarks/QUALITY.md

fuzz: $(SYNCED) ## Fuzz scanner and reader, FUZZ_SECONDS each (600), and FUZZ_FILES mutated files (50,000; needs nightly Rust and cargo-fuzz)
	@mkdir -p native/fuzz/corpus/scan native/fuzz/corpus/number
	cd native && for target in scan number; do \
	cargo +nightly fuzz run $$target fuzz/corpus/$$target fuzz/seeds/$$target -- \
	-dict=fuzz/esxtop.dict -max_len=512 -timeout=5 -max_total_time=$(FUZZ_SECONDS) || exit 1; done
	$(RUN) python fuzz/reader.py --seconds $(FUZZ_SECONDS)
	$(RUN) python fuzz/files.py --cases $(FUZZ_FILES)
	$(RUN) python fuzz/growth.py

mutants: $(SYNCED) ## Small changes of the code: do tests notice? MUTANT_MINUTES each (60), goes on where it ended
	$(UV) sync --locked --group mutants
	$(RUN) python benchmarks/mutation.py --minutes $(MUTANT_MINUTES)
	$(RUN) python benchmarks/mutation_constants.py --minutes $(MUTANT_MINUTES)
	@if command -v cargo-mutants >/dev/null; then cargo mutants --dir native --output mutants \
	-f src/number.rs -f src/columns.rs -f src/cells.rs -f src/learnt.rs -f src/scan.rs -f src/integers.rs -- --lib; \
	else echo "skipped: mutants of the native crate (cargo install --locked cargo-mutants)"; fi

datasets: $(SYNCED) ## Make the bundled recordings again, bit for bit
	$(RUN) esxparse simulate busy-host -o datasets/busy-host --force
	for scenario in datasets/*/scenario.toml; do \
	$(RUN) esxparse simulate $$scenario -o $$(dirname $$scenario) --force || exit 1; done

notebook: $(SYNCED) ## Run the notebooks and keep their outputs
	POLARS_MAX_THREADS=1 $(RUN) jupyter nbconvert --to notebook --execute --inplace --ExecutePreprocessor.record_timing=False notebooks/*.ipynb notebooks/studies/*.ipynb

pictures: $(SYNCED) ## Take the pictures of the README again: the report and the explorer, light and dark (needs Chromium)
	$(RUN) python docs/site/pictures.py

gallery: $(SYNCED) ## Make each report on a bundled data set, with a picture, for the documentation (needs Chromium; minutes)
	$(RUN) python docs/site/gallery.py

clean: ## Remove what the other commands made
	rm -rf .venv .tools build reports site mutants sbom.cdx.json native/target benchmarks/data
