"""Files for systemd, Kubernetes, Prometheus and Grafana: read by the real tools where they are installed."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from patience import PATIENCE_S

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").iterdir())
SOURCES = "".join(path.read_text("utf-8") for path in (ROOT / "evalq").rglob("*.py"))
METRICS = set(re.findall(r'"(evalq_\w+)"', (ROOT / "evalq" / "web" / "metrics_page.py").read_text("utf-8")))
SCRIPTS = Path(sys.executable).parent


def verify(units: list[Path]) -> str:
    """What systemd has to say about some units."""
    argv = ["systemd-analyze", "verify", "--man=no", *map(str, units)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    return done.stderr + done.stdout


def place_units(folder: Path) -> list[Path]:
    """The units with our own program in the place where they expect it."""
    for unit in UNITS:
        (folder / unit.name).write_text(unit.read_text("utf-8").replace("/opt/evalq/bin", str(SCRIPTS)))
    return [folder / unit.name.replace("@.", "@1.") for unit in UNITS]


needs_systemd = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
needs_kubectl = pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not installed")


@needs_systemd
def test_systemd_takes_every_unit(tmp_path: Path) -> None:
    assert verify(place_units(tmp_path)) == ""


@needs_systemd
def test_systemd_would_name_a_wrong_line(tmp_path: Path) -> None:
    units = place_units(tmp_path)
    beat = tmp_path / "evalq-beat.service"
    beat.write_text(beat.read_text("utf-8").replace("Restart=always", "Restart=sometimes"))
    assert "sometimes" in verify(units)


@pytest.mark.parametrize(
    "unit", [unit for unit in UNITS if unit.suffix == ".service"], ids=lambda unit: unit.name
)
def test_a_unit_runs_a_command_that_evalq_takes(unit: Path) -> None:
    text = unit.read_text("utf-8")
    [words] = re.findall(r"^ExecStart=/opt/evalq/bin/evalq (.+)$", text, re.MULTILINE)
    argv = [sys.executable, "-m", "evalq", *words.split(), "--help"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout[:6]) == (0, "Usage:"), done.stderr
    assert [name for name in re.findall(r"EVALQ_\w+", text) if f'"{name}"' not in SOURCES] == []
    assert "NoNewPrivileges=yes" in text


def test_keys_reach_workers_and_beat_alone() -> None:
    holders = {unit.name for unit in UNITS if "keys.env" in unit.read_text("utf-8")}
    assert holders == {"evalq-worker@.service", "evalq-beat.service"}


def objects(folder: str) -> dict[tuple[str, str], dict[str, Any]]:
    """What kustomize makes of a folder, by kind and name."""
    argv = ["kubectl", "kustomize", str(DEPLOY / "kubernetes" / folder)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return {(one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(done.stdout)}


def pods(folder: str) -> dict[str, dict[str, Any]]:
    """The pods of the Deployments and Jobs."""
    made = objects(folder).items()
    return {
        name: one["spec"]["template"]["spec"] for (kind, name), one in made if kind in ("Deployment", "Job")
    }


@needs_kubectl
def test_the_base_has_every_part() -> None:
    parts = ("schema", "worker", "sandbox", "beat", "web", "flower")
    assert set(pods("base")) == {f"evalq-{name}" for name in parts}
    assert {one["metadata"]["namespace"] for one in objects("base").values()} == {"evalq"}


@needs_kubectl
def test_every_pod_may_do_little_and_has_limits() -> None:
    for name, pod in pods("base").items():
        [container] = pod["containers"]
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["automountServiceAccountToken"] is False
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["resources"]["limits"]["memory"]
        assert ("livenessProbe" in container) == (name != "evalq-schema")
        secrets = {source["secretRef"]["name"] for source in container["envFrom"]}
        assert ("evalq-keys" in secrets) == (name in ("evalq-worker", "evalq-beat"))


@needs_kubectl
def test_a_worker_gets_the_time_to_bring_its_calls_home() -> None:
    assert pods("base")["evalq-worker"]["terminationGracePeriodSeconds"] >= 120


@needs_kubectl
def test_workers_grow_with_the_jobs_that_wait() -> None:
    scaling = objects("keda")["ScaledObject", "evalq-worker"]["spec"]
    assert scaling["scaleTargetRef"]["name"] == "evalq-worker"
    assert "evalq_jobs" in scaling["triggers"][0]["metadata"]["query"]


def test_rules_and_dashboard_ask_for_figures_that_exist() -> None:
    rules = (DEPLOY / "prometheus" / "rules.yml").read_text("utf-8")
    board = json.loads((DEPLOY / "grafana" / "dashboards" / "evalq.json").read_text("utf-8"))
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    names = set(re.findall(r"\bevalq_\w+", rules + " ".join(asked)))
    assert names
    assert {name.removesuffix("_bucket") for name in names} <= METRICS
    assert {panel["datasource"]["uid"] for panel in board["panels"]} == {"evalq-prometheus"}
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


def test_prometheus_scrapes_the_pages_with_their_token() -> None:
    [job] = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text("utf-8"))["scrape_configs"]
    assert (job["metrics_path"], job["static_configs"]) == ("/metrics", [{"targets": ["web:8400"]}])
    assert job["authorization"]["credentials_file"] == "/run/secrets/web_token"
    rules = yaml.safe_load((DEPLOY / "prometheus" / "rules.yml").read_text("utf-8"))
    assert len(rules["groups"][0]["rules"]) == 4


def test_every_figure_is_documented() -> None:
    text = (ROOT / "docs" / "monitoring.md").read_text("utf-8")
    assert {name for name in METRICS if f"`{name}`" not in text} == set()
