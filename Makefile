# Sabot: `make demo` and `make test` need Python 3.11 with venv, and nothing else of ours.

PYTHON ?= python3.11
BIN := .venv/bin
READY := .venv/ready
TYPINGS := build/typings
PIP := $(BIN)/pip install --quiet --disable-pip-version-check

# Modules are compiled once, even if the environment forbids bytecode: the tests start many
# processes, and pytest alone takes three times as long to collect its tests from sources.
export PYTHONDONTWRITEBYTECODE =

# A quarter of a test's time is waited for simulated shoes.
WORKERS = $(shell $(BIN)/python -c 'import os; print(3 * os.cpu_count() // 2)')

.PHONY: demo test check fast lint typecheck generated bench acceptance-emulator accuracy powercut lockphases memory updatecuts setupcuts \
	kills losses versions fleet silences adversary lock clean

demo: $(READY)
	$(BIN)/sabot demo

test: $(READY)
	$(BIN)/pytest -n $(WORKERS) --dist worksteal --durations 30

# The fast circle: lint, types, and the tests that start no simulated shoe. Types are checked beside
# the tests: alone they leave a core idle.
check: lint
	+$(MAKE) --no-print-directory --jobs 2 typecheck fast

fast: $(READY)
	$(BIN)/pytest -q -n $(shell nproc) --dist worksteal -m "not slow"

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

typecheck: $(READY) $(TYPINGS)
	$(BIN)/mypy
	$(BIN)/basedpyright --project firmware/pyrightconfig.json

# What follows from the definitions of messages and events, in protocol/sabot_definitions.
generated: $(READY)
	$(BIN)/python -m sabot_definitions.generate

bench: $(READY)
	$(BIN)/python -m sabot_hil.benchmarks

# The acceptance suite on emulated Picos, one on each core. Half an hour to an hour on two cores.
acceptance-emulator: $(READY)
	$(BIN)/sabot hil --target emulator --suite acceptance \
		--report build/acceptance-emulator-$(shell date +%Y-%m-%d-%H%M%S)
	SABOT_FLASH_PERCENT=110 $(BIN)/sabot hil --target emulator --suite acceptance \
		-k "test_timing or soon_after_power" \
		--report build/acceptance-emulator-110-$(shell date +%Y-%m-%d-%H%M%S)

# A million passes of each noise level, ten thousand of each fault at each kind of pull, and the sensor
# health: about 45 minutes on two cores.
accuracy: $(READY)
	$(BIN)/python -m sabot_hil.sweeps.accuracy --passes 1000000

# The power is cut at every operation on the journal chip of a shoe of cards: about half an hour
# on two cores.
powercut: $(READY)
	$(BIN)/python -m sabot_hil.sweeps.power_cut

# The same of the board's own flash while it takes a release: about five minutes.
updatecuts: $(READY)
	$(BIN)/python -m sabot_hil.sweeps.update_cuts

# The same while it is flashed and provisioned: a sample of 2,400 cuts, ten to twenty minutes. EVERY=1
# makes all 23,500, which takes hours.
EVERY ?= 12
setupcuts: $(READY)
	$(BIN)/python -m sabot_hil.sweeps.setup_cuts --every $(EVERY)

# Cards that are due, pulled in every phase of what an emulated shoe does: the lock must be right for each.
# About an hour on two cores; STEP=24 takes a quarter of it.
STEP ?= 6
lockphases: $(READY)
	$(BIN)/python -m sabot_hil.sweeps.locking.phases --step-ms $(STEP)

# What is free in the heap of an emulated shoe, in the states that a walk without a plan comes to: with each
# game, and as new, updated, undone, provisioned again and with a full journal. Hours; STEPS=10 takes less.
STEPS ?= 40
memory: $(READY)
	$(BIN)/python -m sabot_hil.sweeps.memory.worst --steps $(STEPS)

# The same tools as on the shoe. pip takes no file but those whose SHA-256 is in .lock.
$(READY): pyproject.toml .lock/dev.txt
	@echo "Installing Sabot and its tools into .venv (about a minute) ..."
	$(PYTHON) -m venv .venv
	$(PIP) --require-hashes -r .lock/dev.txt
	$(PIP) --no-deps --no-build-isolation -e .
	touch $@

$(TYPINGS): .lock/typings.txt
	$(PIP) --require-hashes --upgrade --target $@ -r .lock/typings.txt
	touch $@

# Writes .lock again after a change of pyproject.toml. Versions stay; UPGRADE=--upgrade takes the newest
# that pyproject.toml allows.
UPGRADE ?=
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
	--no-header
lock: $(READY)
	$(LOCK) $(UPGRADE) --extra dev --group build pyproject.toml -o .lock/dev.txt
	$(LOCK) $(UPGRADE) --group typings -o .lock/typings.txt
	$(LOCK) -c .lock/dev.txt --group build pyproject.toml -o .lock/sabot.txt
	for extra in feeds hil emulator; do \
		$(LOCK) -c .lock/dev.txt --extra $$extra --group build pyproject.toml -o .lock/$$extra.txt || exit; \
	done

# `sabot log` killed 500 times at any moment: nothing lost, nothing doubled. About 8 minutes.
kills: $(READY)
	$(BIN)/python -m sabot_hil.sweeps.kills --kills 500

# Sites forward to a centre while servers, programs, links, disks and clocks fail: nothing lost, nothing
# doubled, every receipt true. SEED=... makes the same faults again.
FAULTS ?= 600
SEED ?= 1
losses: $(READY)
	$(BIN)/python -m sabot_hil.sweeps.losses --faults $(FAULTS) --seed $(SEED)

# Hosts and shoes of the released version, of today and of a tomorrow meet: about a hundred meetings,
# a quarter of an hour on two cores.
versions: $(READY)
	$(BIN)/python -m sabot_hil.sweeps.versions

# 50 shoes of two versions are updated while they deal and are logged: a few minutes.
SHOES ?= 50
fleet: $(READY)
	$(BIN)/python -m sabot_hil.sweeps.fleet --shoes $(SHOES)

# Each part of a house is stopped in each way, and people must be told: a quarter of an hour. ONLY=... tries
# those that have this.
ONLY ?=
silences: $(READY)
	$(BIN)/python -m sabot_hil.sweeps.silences --only "$(ONLY)"

# Attacks made from a seed, CASES of each kind, of which `make test` runs a sample: over an hour on two
# cores; with CASES=500 about eight minutes.
# SABOT_SEED=... makes the same again.
CASES ?= 5000
adversary: $(READY)
	SABOT_ADVERSARY=$(CASES) $(BIN)/pytest -n $(shell nproc) --timeout 3600 host/tests/adversary

clean:
	rm -rf .venv build .pytest_cache .mypy_cache .ruff_cache
	rm -f sabot-demo.sqlite sabot-demo.sqlite-shm sabot-demo.sqlite-wal sabot-demo.keys
