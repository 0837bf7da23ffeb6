# What people and CI type. Everything runs in .venv, which the first command makes.
.PHONY: help rig test soak tempest clients lint samples doc packages clean environment

BIN = .venv/bin

help:  ## this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' Makefile

rig:  ## boot ten servers through two cells (KEEP=1: leave it; DRIVER=libvirt: real ones, as root)
	@$(if $(filter libvirt,$(DRIVER)),sh tools/packages.sh rig)
	@sh tools/environment.sh rig $(filter libvirt,$(DRIVER))
	@ROOST_RIG_CACHE=.services/outside $(BIN)/roost-rig demo $(if $(DRIVER),--driver $(DRIVER)) $(if $(KEEP),--keep)

test:  ## all that CI runs: linters, documentation, unit, functional and integration tests
	@sh tools/packages.sh
	@sh tools/environment.sh test lint doc libvirt
	@$(BIN)/python tools/run_tests.py

soak:  ## storms, outages, second modes, all guests and neighbours, for up to two hours (PART=name: one)
	@sh tools/packages.sh
	@sh tools/environment.sh test lint doc libvirt
	@$(BIN)/python tools/run_tests.py --soak $(PART)

tempest:  ## Tempest's tests of Compute, against a cloud made for them (REAL=1: Glance, Neutron, all daemons; TESTS=regex: others)
	@sh tools/environment.sh test lint doc
	@sh tools/outside.sh
	@$(BIN)/python -m tests.tempest $(if $(REAL),--real) $(if $(TESTS),'$(TESTS)')

clients:  ## functional tests of openstacksdk (CLIENT=osc: of the openstack command; TESTS=regex: fewer)
	@sh tools/environment.sh test lint doc
	@sh tools/outside.sh
	@$(BIN)/python -m tests.clients $(or $(CLIENT),sdk) $(if $(TESTS),'$(TESTS)')

lint:  ## ruff, mypy, the floors, spelling, the systemd units
	@sh tools/environment.sh test lint doc
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh tools/lint.sh

samples:  ## write etc/roost/*.sample anew from the options and policies
	@sh tools/environment.sh
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh tools/samples.sh

doc:  ## build the documentation into doc/build
	@sh tools/environment.sh test lint doc
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh tools/doc.sh

packages:  ## wheels of the scheduler and of its client, without the rest, into dist/
	@sh tools/environment.sh
	@$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist packages/scheduler-client packages/scheduler

clean:  ## remove what was made here: the environment, a rig, caches
	@if [ -x $(BIN)/roost-rig ]; then $(BIN)/roost-rig down --if-there; fi
	rm -rf .venv .tox .rig .services build dist doc/build *.egg-info packages/*/*.egg-info
	rm -rf .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find roost tests tools doc -name __pycache__ -type d -prune -exec rm -rf {} +
