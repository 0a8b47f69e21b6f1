"""The fleet for one host: nothing beyond loopback, no password in the file, engines that lose nothing."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
OURS = ("schema", "worker", "sandbox", "beat", "flower")
REQUIRED = re.compile(r"\$\{([A-Z_]+):\?[^}]+\}")

every_service = pytest.mark.parametrize("name", SERVICES)


def command(name: str) -> str:
    return " ".join(SERVICES[name]["command"])


def test_the_fleet_has_all_its_parts() -> None:
    assert {"postgres", "valkey", "worker", "beat", "flower"} <= set(SERVICES)
    assert SERVICES["worker"]["deploy"]["replicas"] >= 2


@every_service
def test_every_published_port_is_bound_to_loopback(name: str) -> None:
    assert all(re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port) for port in SERVICES[name].get("ports", []))


@every_service
def test_an_image_is_pinned_to_an_exact_version_or_our_own(name: str) -> None:
    image = SERVICES[name].get("image")
    assert SERVICES[name].get("build") == "." if image is None else re.search(r":\d+\.\d+[\w.-]*$", image)


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
    }
    assert not re.search(r"\$\{\w*(PASSWORD|AUTH)\w*(:-[^}]*)?\}", text)


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


def test_provider_keys_reach_the_workers_only() -> None:
    holders = {name for name in SERVICES for key in SERVICES[name]["environment"] if key.endswith("_API_KEY")}
    assert holders == {"worker"}


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
    for name in ("worker", "sandbox", "beat", "flower"):
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
    assert {".git", ".env", ".evalq"} <= ignored
