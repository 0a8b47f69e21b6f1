"""The fleet for one host: nothing beyond loopback, no password in the file, engines that lose nothing."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from patience import PATIENCE_S

from evalq import keys

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
OURS = ("schema", "worker", "sandbox", "beat", "web", "flower")
SOURCES = "".join(path.read_text("utf-8") for path in (ROOT / "evalq").rglob("*.py"))
PROVIDER_KEYS = set(keys.PROVIDER_KEYS.values())
REQUIRED = re.compile(r"\$\{([A-Z_]+):\?[^}]+\}")

every_service = pytest.mark.parametrize("name", SERVICES)


def command(name: str) -> str:
    return " ".join(SERVICES[name]["command"])


def test_the_fleet_has_all_its_parts() -> None:
    engines, watching = {"postgres", "valkey"}, {"flower", "prometheus", "grafana"}
    assert engines | {"schema", "roles", "worker", "sandbox", "beat", "web"} | watching == set(SERVICES)
    assert {name for name in SERVICES if "profiles" in SERVICES[name]} == {"prometheus", "grafana"}
    assert SERVICES["worker"]["deploy"]["replicas"] >= 2


@every_service
def test_every_published_port_is_bound_to_loopback(name: str) -> None:
    assert all(re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port) for port in SERVICES[name].get("ports", []))


@every_service
def test_an_image_is_pinned_to_an_exact_version_or_our_own(name: str) -> None:
    image = SERVICES[name].get("image")
    if name in OURS:
        assert (SERVICES[name]["build"], image) == (".", "evalq")
    else:
        assert re.search(r":v?\d+\.\d+[\w.-]*$", image)


@every_service
def test_what_keeps_running_has_a_health_check(name: str) -> None:
    if SERVICES[name]["restart"] == "no":
        assert name in ("schema", "roles")
    else:
        check = SERVICES[name]["healthcheck"]
        assert check["test"][0] in ("CMD", "CMD-SHELL")
        assert {"interval", "timeout", "retries"} <= set(check)


@every_service
def test_every_container_has_limits_an_init_and_logs_that_end(name: str) -> None:
    service = SERVICES[name]
    assert {"mem_limit", "cpus", "pids_limit"} <= set(service)
    assert service["init"] is True
    assert service["logging"] == {"driver": "json-file", "options": {"max-size": "20m", "max-file": "5"}}


@every_service
def test_every_setting_that_is_named_exists(name: str) -> None:
    named = [key for key in SERVICES[name].get("environment", {}) if key.startswith("EVALQ_")]
    assert [key for key in named if f'"{key}"' not in SOURCES] == []


@pytest.mark.parametrize("name", OURS)
def test_the_command_of_a_container_is_one_that_evalq_takes(name: str) -> None:
    program, *words = SERVICES[name]["command"]
    assert program == "evalq"
    check = SERVICES[name].get("healthcheck", {}).get("test", ["CMD"])[1:]
    commands = [words, check[1:]] if check[:1] == ["evalq"] else [words]
    for command in commands:
        argv = [sys.executable, "-m", "evalq", *command, "--help"]
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
        assert (done.returncode, done.stdout[:6]) == (0, "Usage:"), done.stderr


def test_the_project_and_its_keys_reach_those_who_need_them() -> None:
    homes = {name for name in SERVICES if SERVICES[name].get("working_dir") == "/project"}
    assert homes == {"worker", "beat", "web"}
    for name in homes:
        assert any(volume.endswith(":/project:ro") for volume in SERVICES[name]["volumes"])
    given = {name: SERVICES[name]["env_file"] for name in SERVICES if "env_file" in SERVICES[name]}
    assert given == {key: [{"path": "keys.env", "required": False}] for key in ("worker", "beat")}


def test_every_variable_of_the_file_is_in_the_example() -> None:
    example = (ROOT / ".env.example").read_text("utf-8")
    there = set(re.findall(r"^([A-Z_]+)=", example, re.MULTILINE))
    used = set(re.findall(r"\$\{([A-Z_]+)", (ROOT / "docker-compose.yml").read_text("utf-8")))
    assert there == used
    assert not re.search(r"PASSWORD=.|TOKEN=.|KEY=.|AUTH=user:.", example)


def test_files_that_are_mounted_exist() -> None:
    sources = [str(volume).split(":")[0] for name in SERVICES for volume in SERVICES[name].get("volumes", [])]
    files = [source for source in sources if source.startswith("./")]
    assert files
    assert [source for source in files if not (ROOT / source).exists()] == []


@every_service
def test_no_secret_stands_in_the_file(name: str) -> None:
    for variable, value in SERVICES[name].get("environment", {}).items():
        if re.search("PASSWORD|KEY|AUTH$|SECRET|TOKEN", variable):
            assert re.fullmatch(r"\$\{\w+(:[?-][^}]*)?\}", value), variable
        if variable.endswith("_URL"):
            assert REQUIRED.search(value), variable


def test_a_password_without_a_value_stops_the_start() -> None:
    text = (ROOT / "docker-compose.yml").read_text("utf-8")
    assert set(REQUIRED.findall(text)) == {
        "POSTGRES_PASSWORD",
        "SANDBOX_PASSWORD",
        "VALKEY_PASSWORD",
        "EVALQ_FLOWER_AUTH",
        "EVALQ_WEB_TOKEN",
        "EVALQ_PROJECT",
    }
    # Grafana is optional, and starts without a password of ours: it then asks for a new one.
    assert re.findall(r"\$\{(\w*(?:PASSWORD|AUTH|TOKEN)\w*)(?::-[^}]*)?\}", text) == ["GRAFANA_PASSWORD"]


def test_valkey_keeps_what_it_is_given_and_asks_for_a_password() -> None:
    assert "--appendonly yes" in command("valkey")
    assert "--maxmemory-policy noeviction" in command("valkey")
    assert "--requirepass" in command("valkey")
    assert SERVICES["valkey"]["volumes"]


def test_postgres_asks_for_a_password_by_scram() -> None:
    environment = SERVICES["postgres"]["environment"]
    assert "scram-sha-256" in environment["POSTGRES_INITDB_ARGS"]
    assert REQUIRED.fullmatch(environment["POSTGRES_PASSWORD"])
    assert SERVICES["postgres"]["volumes"]


def test_the_urls_of_the_fleet_carry_both_passwords() -> None:
    for name in OURS:
        environment = SERVICES[name]["environment"]
        if name not in ("sandbox", "flower"):
            assert "${POSTGRES_PASSWORD:?" in environment["EVALQ_DATABASE_URL"]
        assert "${VALKEY_PASSWORD:?" in environment["EVALQ_BROKER_URL"]


def test_flower_asks_for_a_password() -> None:
    assert REQUIRED.fullmatch(SERVICES["flower"]["environment"]["EVALQ_FLOWER_AUTH"])


def test_keys_of_providers_come_from_their_own_file_alone() -> None:
    for name in SERVICES:
        assert PROVIDER_KEYS.isdisjoint(SERVICES[name].get("environment", {}))


def test_code_is_run_by_a_worker_of_its_own() -> None:
    assert command("sandbox") == "evalq worker --sandbox"
    assert SERVICES["sandbox"]["init"] is True  # killed programs leave orphans, which somebody must bury
    lifted = [name for name in SERVICES if "seccomp:unconfined" in SERVICES[name].get("security_opt", [])]
    assert lifted == ["sandbox"]
    assert "bubblewrap" in DOCKERFILE


def test_the_sandbox_and_flower_do_not_own_the_database() -> None:
    assert "//evalq_sandbox:${SANDBOX_PASSWORD:?" in SERVICES["sandbox"]["environment"]["EVALQ_DATABASE_URL"]
    assert "EVALQ_DATABASE_URL" not in SERVICES["flower"]["environment"]


def test_the_sandbox_has_limits_and_no_way_out() -> None:
    assert SERVICES["sandbox"]["networks"] == ["engines"]
    assert COMPOSE["networks"]["engines"] == {"internal": True}
    assert {"mem_limit", "pids_limit"} <= set(SERVICES["sandbox"])


def test_a_worker_has_time_to_bring_its_calls_home() -> None:
    assert SERVICES["worker"]["stop_grace_period"] == "2m"
    assert SERVICES["worker"]["init"] is True


def test_nothing_of_ours_starts_before_the_schema_and_the_broker() -> None:
    for name in ("worker", "sandbox", "beat", "web", "flower"):
        waits = {service: how["condition"] for service, how in SERVICES[name]["depends_on"].items()}
        first = "roles" if name == "sandbox" else "schema"
        assert waits == {first: "service_completed_successfully", "valkey": "service_healthy"}
    assert SERVICES["roles"]["depends_on"] == {"schema": {"condition": "service_completed_successfully"}}
    assert SERVICES["schema"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}


@pytest.mark.parametrize("name", OURS)
def test_our_containers_may_do_little(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]


def test_the_image_is_pinned_and_runs_as_nobody_special() -> None:
    bases = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    assert bases
    assert all(re.search(r":\d+\.\d+", base) for base in bases)
    users = re.findall(r"^USER (\S+)", DOCKERFILE, re.MULTILINE)
    assert users
    assert users[-1] not in ("root", "0")


def test_the_image_holds_everything_that_is_shipped() -> None:
    copied = set(re.findall(r"^COPY (\w+) ", DOCKERFILE, re.MULTILINE))
    assert {"evalq", "workers", "schema", "tasks", "evalsets"} <= copied


def test_the_image_is_built_without_secrets_and_history() -> None:
    ignored = set((ROOT / ".dockerignore").read_text("utf-8").split())
    assert {".git", ".env", "keys.env", ".evalq"} <= ignored
    assert {".env", "keys.env"} <= set((ROOT / ".gitignore").read_text("utf-8").split())
