"""deploy/helm: Helm lints and renders the chart, Kubernetes' schemas check the result, and it runs as rendered."""

from __future__ import annotations

import base64
import os
import secrets
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

import executor
from tests.daemon.test_deployment import check_command, check_variables
from tests.support import postgres
from tests.support.cluster import is_ready
from tests.support.conditions import wait_for
from tests.support.daemon import Daemon
from tests.support.deployment_tools import find_errors, helm

CHART = Path(__file__).parents[2] / "deploy" / "helm" / "executor"
NEEDED: dict[str, Any] = {
    "existingSecret": "executor",
    "database": {"url": "postgresql://executor@db.example/executor?sslmode=verify-full"},
    "publicUrl": "https://executor.example",
}
SCALED = {"enabled": True, "minReplicas": 2, "maxReplicas": 4, "targetCPU": 60}
EVERYTHING: dict[str, Any] = {
    **NEEDED,
    "database": {**NEEDED["database"], "directUrl": "postgresql://executor@db.example/executor"},
    "settings": {"EXECUTOR_LEASE_SECONDS": "20"},
    "extraEnv": [{"name": "API_KEY", "valueFrom": {"secretKeyRef": {"name": "more", "key": "api"}}}],
    "imagePullSecrets": [{"name": "registry"}],
    "serve": {"autoscaling": SCALED, "nodeSelector": {"disk": "fast"}, "disruptionBudget": {"maxUnavailable": "25%"}},
    "worker": {"autoscaling": SCALED, "tolerations": [{"key": "agents", "operator": "Exists"}]},
    "ingress": {"enabled": True, "host": "executor.example", "tlsSecret": "tls", "annotations": {"a/b": "c"}},
    "networkPolicy": {"enabled": True, "from": [{"namespaceSelector": {"matchLabels": {"role": "ingress"}}}]},
    "seccompProfile": {"type": "Localhost", "localhostProfile": "profiles/executor.json"},
}
GIVEN = {"needed": NEEDED, "everything": EVERYTHING}
SECRET = {
    "operator.token": "exo_" + secrets.token_urlsafe(32),
    "agent.token": "exa_" + secrets.token_urlsafe(32),
    "keys": base64.b64encode(os.urandom(32)).decode(),
    "pgpass": "*:*:*:postgres:unused",
}


def run_helm(tmp_path: Path, values: dict[str, Any], *words: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "values.yaml").write_text(yaml.safe_dump(values))
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    command = [helm(), *words, str(CHART), "--values", str(tmp_path / "values.yaml")]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=120)


def render(tmp_path: Path, values: dict[str, Any], *words: str) -> dict[tuple[str, str], Any]:
    done = run_helm(tmp_path, values, "template", "demo", "--namespace", "agents", *words)
    assert done.returncode == 0, done.stderr
    documents = [one for one in yaml.safe_load_all(done.stdout) if one]
    return {(one["kind"], one["metadata"]["name"]): one for one in documents}


def pods(documents: dict[tuple[str, str], Any]) -> dict[str, Any]:
    found = [one["spec"]["template"] for (kind, _), one in documents.items() if kind in ("Deployment", "Job")]
    return {one["metadata"]["labels"]["app.kubernetes.io/component"]: one["spec"] for one in found}


@pytest.mark.parametrize("given", GIVEN)
def test_helm_lints_the_chart(tmp_path: Path, given: str) -> None:
    done = run_helm(tmp_path, GIVEN[given], "lint", "--strict")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("version", ["1.27", "1.32", "1.37"])
@pytest.mark.parametrize("given", GIVEN)
def test_kubernetes_knows_every_field_that_is_rendered(tmp_path: Path, given: str, version: str) -> None:
    documents = render(tmp_path, GIVEN[given], "--kube-version", version)
    assert {key: errors for key, one in documents.items() if (errors := find_errors(one, version))} == {}
    kinds = {kind for kind, _ in documents}
    assert {"Deployment", "Job", "Service", "PodDisruptionBudget", "NetworkPolicy"} <= kinds
    assert ({"Ingress", "HorizontalPodAutoscaler"} <= kinds) == (given == "everything")


@pytest.mark.parametrize("given", GIVEN)
def test_pods_are_confined_and_take_secrets_from_the_secret_only(tmp_path: Path, given: str) -> None:
    rendered = pods(render(tmp_path, GIVEN[given]))
    for role, pod in rendered.items():
        assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["seccompProfile"]["type"]
        assert pod["automountServiceAccountToken"] is False
        for container in (*pod["initContainers"], *pod["containers"]):
            allowed = container["securityContext"]
            assert allowed["readOnlyRootFilesystem"] and not allowed["allowPrivilegeEscalation"], role
            assert allowed["capabilities"] == {"drop": ["ALL"]}
    keys = {role: [one["key"] for one in pod["volumes"][0]["secret"]["items"]] for role, pod in rendered.items()}
    assert keys == {"serve": [*SECRET], "worker": ["keys", "pgpass"], "migrate": ["pgpass"]}


@pytest.mark.parametrize("given", GIVEN)
def test_containers_get_commands_variables_and_time_that_there_are(tmp_path: Path, given: str) -> None:
    rendered = pods(render(tmp_path, GIVEN[given]))
    image = {"EXECUTOR_DATA_DIR": "/var/lib/executor/data", "EXECUTOR_STATE_DIR": "/var/lib/executor/state"}
    for role, pod in rendered.items():
        [container] = pod["containers"]
        assert check_command(container["args"]) == ("db migrate" if role == "migrate" else role)
        assert container["image"] == f"executor:{executor.__version__}"
        settings = check_variables(image | variables(container))
        assert settings.secrets_key == "shared"
        if role != "migrate":
            assert settings.drain_seconds + 20 < pod["terminationGracePeriodSeconds"]
            assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
            assert [port["containerPort"] for port in container["ports"]] == [settings.port]


@pytest.mark.parametrize(
    "wrong",
    [
        {"database": {"url": "postgresql://executor:hunter2@db.example/executor"}},
        {"database": {"url": "postgresql://db.example/executor?password=hunter2"}},
        {"existingSecret": ""},
        {"publicUrl": "executor.example"},
        {"settings": {"EXECUTOR_MASTER_KEYS": "hunter2"}},
        {"settings": {"LD_PRELOAD": "x"}},
        {"ingress": {"enabled": True}},
        {"workers": {"replicas": 3}},
        {"seccompProfile": {"type": "none"}},
    ],
    ids=str,
)
def test_wrong_values_are_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    done = run_helm(tmp_path, NEEDED | wrong, "template", "demo")
    assert done.returncode != 0 and not done.stdout


def variables(container: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["value"] for one in container["env"] if "value" in one}


class Pod:
    """A container of the chart as a process: its paths are in a folder, its address is this machine's."""

    def __init__(self, root: Path, spec: dict[str, Any]) -> None:
        self.root = root
        [container] = spec["containers"]
        self.daemon = Daemon(root, **{name: self._place(value) for name, value in variables(container).items()})
        self.daemon.environ |= {"EXECUTOR_HOST": "127.0.0.1", "EXECUTOR_PORT": str(self.daemon.port)}
        self.daemon.command = [*self.daemon.command[:3], *container["args"]]
        self._provide(spec)

    def _provide(self, spec: dict[str, Any]) -> None:
        given = self.root / "secret"
        given.mkdir(parents=True)
        for item in spec["volumes"][0]["secret"]["items"]:
            (given / item["path"]).write_text(SECRET[item["key"]])
            (given / item["path"]).chmod(0o440)
        [setup] = spec["initContainers"]
        script = self._place(setup["args"][0])
        subprocess.run([*setup["command"], script], check=True, capture_output=True)

    def _place(self, text: str) -> str:
        return text.replace("/var/lib/executor", str(self.root)).replace("/etc/executor", str(self.root / "secret"))

    def run(self) -> subprocess.CompletedProcess[str]:
        command, environ = self.daemon.command, self.daemon.environ
        return subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=240)

    def start(self) -> Daemon:
        self.daemon.start()
        wait_for(lambda: is_ready(self.daemon), "it is ready")
        return self.daemon


@pytest.fixture
def daemons() -> Iterator[list[Daemon]]:
    made: list[Daemon] = []
    yield made
    for daemon in made:
        daemon.stop()


def test_what_is_rendered_installs_upgrades_and_refuses_a_database_that_was_emptied(
    tmp_path: Path, daemons: list[Daemon]
) -> None:
    server = postgres.server()
    values = NEEDED | {"database": {"url": server.url(server.create())}}
    first = pods(render(tmp_path, values))
    migrated = Pod(tmp_path / "migrate", first["migrate"]).run()
    assert migrated.returncode == 0, migrated.stderr
    roles = {"serve": "serve", "second": "serve", "worker": "worker"}
    made = [Pod(tmp_path / name, first[role]) for name, role in roles.items()]
    daemons += [pod.daemon for pod in made]
    with ThreadPoolExecutor(len(made)) as threads:  # as replicas of a first installation do
        list(threads.map(Pod.start, made))
    assert daemons[1].post("/v1/executions", {"code": "return 1 + 1", "wait": 120})["result"] == 2

    later = pods(render(tmp_path, values, "--is-upgrade"))
    daemons.append(Pod(tmp_path / "later", later["serve"]).start())
    assert len(daemons[-1].get("/v1/executions")["items"]) == 1

    emptied = values | {"database": {"url": server.url(server.create_migrated())}}
    refused = Pod(tmp_path / "emptied", pods(render(tmp_path, emptied, "--is-upgrade"))["serve"]).run()
    assert refused.returncode != 0 and "missing or empty" in refused.stderr
