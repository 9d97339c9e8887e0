# Everything a person does with this project. `make` alone lists it.
VENV := .venv
PY := $(VENV)/bin/python
PYTEST := $(PY) -m pytest
WORKERS ?= 4
COMPILE := UV_CUSTOM_COMPILE_COMMAND="make lock" uv pip compile -q -p 3.11 --universal --generate-hashes
IN_IMAGE := image/requirements.txt pyproject.toml $(addprefix --extra ,all connect openlineage msk azure google)
export PYTHONPATH := include:.
# Where it is set, every command, Spark driver and Spark worker compiles the whole library again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install lint rules types docs format test test-unit test-release faults compat kerberos cutover-trial bench demo stop lock constraints wheel image compose-trial promtool

help: ## this list
	@echo "make <target>, with Python 3.11-3.13, Java 17+ (JDK) and Maven:"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: ## .venv with the locked packages, Kafka's jars, the tuned Spark start; what is up to date is left alone
	@python3 tools/install.py

demo: install ## two Kafka clusters, Airflow and a producer: watch a flow being mirrored; stays up until `make stop`
	@$(PY) -m services.demo

stop: ## stop what `make demo` left running
	@$(PY) -m services.demo stop

test: ## all tests, on real brokers and a real Airflow, four files at a time (WORKERS=…): they mostly wait
	@$(MAKE) --no-print-directory -j 2 docs lint
	$(PYTEST) tests -n $(WORKERS) --dist loadfile --durations=25

test-unit: install ## the tests that need no services
	$(PYTEST) tests/unit

test-release: install compose-trial ## before a release: the wheel in an Airflow of its own, the demo, applications that are moved under faults
	$(PYTEST) tests -m release --durations=10

faults: install ## every fault test, then a long series of random faults (SEED=…, ROUNDS=…); appends to lab/faults/RESULTS.md
	@$(PYTEST) tests/faults -m "faults or not faults" --durations=5; tested=$$?; \
	$(PY) -m lab.faults $(if $(SEED),--seed $(SEED)) $(if $(ROUNDS),--rounds $(ROUNDS)) && exit $$tested

kerberos: install ## logins by a real KDC (Debian: krb5-kdc, krb5-admin-server, krb5-user), with clients that were built for it in PYTHONPATH
	PYTHONPATH=$(if $(CLIENTS),$(CLIENTS):)$(PYTHONPATH) $(PYTEST) tests/integration/test_kerberos.py -m kerberos

cutover-trial: install ## applications on two clusters, moved forth and back under faults, or away from a lost one (WAVES=…, AIRFLOW_WAVES=…, FAILOVERS=…, ASSET_KILLS=… or REGISTRY_KILLS=…, SEED=…); appends to lab/trial/RESULTS.md
	@$(PY) -m lab.trial $(if $(WAVES),--waves $(WAVES)) $(if $(AIRFLOW_WAVES),--airflow-waves $(AIRFLOW_WAVES)) $(if $(FAILOVERS),--failovers $(FAILOVERS)) $(if $(ASSET_KILLS),--asset-kills $(ASSET_KILLS)) $(if $(REGISTRY_KILLS),--registry-kills $(REGISTRY_KILLS)) $(if $(SEED),--seed $(SEED))

compat: install ## many new cases, put to MirrorMaker 2's own classes and to the mirror
	MIRROR_COMPAT_TIMES=20 $(PYTEST) tests/compat -o timeout=3600

bench: install ## measure beside MirrorMaker 2 (two and a half hours; some of it: NAMES="…"), and append to lab/bench/RESULTS.md
	$(PY) -m lab.bench $(NAMES)

lint: types rules ## format, rules, types, who may import what, and whether the wheel fits Airflow's constraints

types: install
	$(PY) -m mypy

rules: install
	$(PY) -m ruff format --check --quiet .
	$(PY) -m ruff check --quiet .
	$(PYTEST) -q tests/unit/test_imports.py tests/unit/test_import_cycles.py tests/unit/config/test_support.py

docs: install ## the handbook as a site in .run/handbook; a link or an anchor that leads nowhere fails it
	@$(PY) tools/handbook/generate.py --check
	@$(PY) tools/handbook/build.py

format: install ## format the code and mend what can be mended without thought
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

image: ## the image of docker-compose.yaml, without a Docker daemon (root, Debian); AIRFLOW_VERSION=3.2.1 for that Airflow, BASES=pull for the real base images
	@tools/containers/enter.sh tools/containers/image.sh

compose-trial: install image ## start all of docker-compose.yaml from that image by podman, in a network of its own: it mirrors, is well, is stopped
	@tools/containers/enter.sh --alone $(PYTEST) -m containers tests/package/test_compose_trial.py

promtool: ## Prometheus' checker of rules into .run/bin, for the tests (Debian)
	@tools/fetch_promtool.sh

wheel: install ## build the package into dist/, with its bill of materials (CycloneDX) and SHA256SUMS
	rm -f dist/*
	$(PY) -m hatchling build -t wheel
	$(PY) tools/sbom.py dist/*.whl

lock: ## pin again, with hashes, what requirements.txt asks for and what the image holds (needs uv)
	$(COMPILE) requirements.txt -o requirements.lock
	$(COMPILE) $(IN_IMAGE) -c requirements.lock -o image/airflow-3.3.2.lock
	$(COMPILE) $(IN_IMAGE) -c tests/package/constraints/airflow-3.2.1-python3.12.txt -o image/airflow-3.2.1.lock

constraints: ## does the wheel, with what the image has of its extras, resolve under each of Airflow's official constraints? (needs uv)
	@for file in tests/package/constraints/*.txt; do \
	  python=$${file##*-python}; sed -n 's/^pyspark-client==/pyspark==/p' $$file \
	  | uv pip compile -q --python-version $${python%.txt} - $(filter-out image/requirements.txt,$(IN_IMAGE)) -c $$file -o /dev/null \
	  || exit 1; echo "$${file##*/}: resolved"; \
	done
