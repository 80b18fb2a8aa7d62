"""The image, the compose file and the manifests name only what exists, and give containers no more than they need.

No container engine is needed: tests/deploy/test_image.py builds the image where there is one.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from app import healthcheck
from app.cli import main
from app.core.edge.hosts import is_ours, named_in
from app.main import access, build_app
from app.settings import Settings

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
KUBERNETES = ROOT / "deploy" / "kubernetes"
KNOWN = {name.upper() for name in Settings.model_fields}
Json = dict[str, Any]


def instructions(name: str) -> list[str]:
    joined = DOCKERFILE.replace("\\\n", " ")
    return [line.removeprefix(f"{name} ") for line in joined.splitlines() if line.startswith(f"{name} ")]


def check_command(arguments: list[str]) -> None:
    """It is a command of Quire's, with options that it has."""
    with main.make_context("quire", list(arguments), resilient_parsing=True) as context:
        command = main.get_command(context, arguments[0])
    assert command is not None
    options = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    assert {argument for argument in arguments[1:] if argument.startswith("-")} <= options


def check_health(command: list[str]) -> None:
    assert command[:3] == ["python", "-m", healthcheck.__name__]
    assert command[3:] in (["api"], ["worker"])


# --- The image --------------------------------------------------------------------------------------


def test_everything_that_the_image_copies_is_there_and_let_through() -> None:
    allowed = [line.lstrip("!") for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    copied = [line.split()[0] for line in instructions("COPY") if not line.startswith("--from=")]
    assert sorted(copied) == sorted(allowed)
    assert [name for name in copied if not (ROOT / name).exists()] == []


def test_the_image_runs_commands_that_exist_as_nobody_and_through_no_shell() -> None:
    (entry,), (command,), (user,), (health,) = map(instructions, ("ENTRYPOINT", "CMD", "USER", "HEALTHCHECK"))
    assert json.loads(entry) == ["python", "-m", "app"]
    check_command(json.loads(command))
    check_health(json.loads(health[health.index("[") :]))
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", user), "a number, so that a cluster can see that it is not root"


def test_the_image_sets_what_there_is() -> None:
    set_here = dict(pair.split("=", 1) for line in instructions("ENV") for pair in shlex.split(line))
    ours = {name: value for name, value in set_here.items() if name.startswith(("QUIRE_", "MEMORY_"))}
    assert ours.keys() <= KNOWN
    assert [f"VOLUME {ours['QUIRE_DATA_DIR']}"] == [f"VOLUME {folder}" for folder in instructions("VOLUME")]
    assert instructions("EXPOSE") == [ours["QUIRE_PORT"]]


def test_every_requirement_of_the_package_is_in_the_image() -> None:
    """By name; that they suffice is seen by running `python -m app` where nothing else is installed."""
    pinned = set(re.findall(r"^([\w-]+)==", (ROOT / "requirements.txt").read_text(), re.MULTILINE))
    wanted = re.search(r"^dependencies = \[(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.DOTALL | re.MULTILINE)
    assert wanted
    assert set(re.findall(r'^  "([\w-]+)', wanted[1], re.MULTILINE)) <= pinned


# --- Compose ----------------------------------------------------------------------------------------


def test_compose_runs_commands_that_exist_with_settings_that_exist() -> None:
    for name in ("migrate", "api", "worker"):
        service = COMPOSE["services"][name]
        check_command(service["command"])
        assert service["environment"].keys() <= KNOWN, name
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
    check_health(COMPOSE["services"]["worker"]["healthcheck"]["test"][1:])


def compose_settings(name: str, **own: str) -> Settings:
    """Return the settings of a compose service: its files in order, yours last, then what it fixes."""
    service = COMPOSE["services"][name]
    defaults, yours = service["env_file"]
    assert yours == {"path": "quire.env", "required": False}
    lines = [line for line in (ROOT / defaults).read_text().splitlines() if line and not line.startswith("#")]
    values = {**dict(line.split("=", 1) for line in lines), **own, **service["environment"]}
    assert values.keys() <= KNOWN
    return Settings.model_validate({key.lower(): value for key, value in values.items()})


def test_containers_of_one_network_reach_the_api() -> None:
    found = compose_settings("api")
    rules = access(found)
    assert is_ours(f"api:{found.quire_port}", named_in(rules.hosts, rules.host))
    assert not is_ours("evil.example:8000", named_in(rules.hosts, rules.host))
    assert rules.allows_unauthenticated


def test_compose_forwards_every_setting_but_those_that_it_fixes() -> None:
    fixed = {"DATABASE_URL", "QUIRE_DATA_DIR", "QUIRE_HOST"}
    for name, more in (("api", {"QUIRE_PORT", "QUIRE_WORKER"}), ("worker", {"QUIRE_WORKER_PORT"})):
        assert COMPOSE["services"][name]["environment"].keys() == fixed | more
        own = {"MEMORY_LLM_MODEL": "m", "QUIRE_PROXY_BASE_URL": "http://models/v1", "QUIRE_REQUIRE_KEYS": "true"}
        found = compose_settings(name, **own, QUIRE_HOSTS="api,memory.example")
        assert (found.memory_llm_model, found.quire_proxy_base_url) == ("m", "http://models/v1")
        assert access(found).requires_keys
        assert "memory.example" in access(found).hosts


def test_no_container_of_ours_gets_the_owners_password() -> None:
    for name in ("api", "worker"):
        service = COMPOSE["services"][name]
        assert ".env" not in service["env_file"]
        assert "OWNER" not in json.dumps(service)


def test_every_variable_that_compose_wants_is_in_the_example() -> None:
    wanted = set(re.findall(r"\$\{(\w+):\?", (ROOT / "docker-compose.yml").read_text()))
    example = (ROOT / "deploy" / "env.example").read_text()
    assert wanted == set(re.findall(r"^(\w+PASSWORD)=\w+$", example, re.MULTILINE))


def test_compose_reads_its_file() -> None:
    command = _compose()
    done = subprocess.run(
        [*command, "--env-file", "deploy/env.example", "config"],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=60,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    runtime = yaml.safe_load(done.stdout)["services"]
    assert set(runtime) == {"database", "migrate", "api", "worker"}
    published = json.dumps(runtime["api"]["ports"])
    assert "127.0.0.1" in published


def _compose() -> list[str]:
    for command in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(command[0]):
            done = subprocess.run([*command, "version"], capture_output=True, check=False, timeout=60)
            if done.returncode == 0:
                return command
    pytest.skip("no docker compose is installed to read the file")


# --- Kubernetes -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def manifests() -> list[Json]:
    """As kustomize puts them together, or as they are written."""
    if shutil.which("kubectl"):
        done = subprocess.run(
            ["kubectl", "kustomize", str(KUBERNETES)], capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return list(yaml.safe_load_all(done.stdout))
    names = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())["resources"]
    return [found for name in names for found in yaml.safe_load_all((KUBERNETES / name).read_text())]


def pods(manifests: list[Json]) -> list[Json]:
    return [found["spec"]["template"]["spec"] for found in manifests if found["kind"] in ("Deployment", "Job")]


def test_the_manifests_are_the_api_a_worker_and_the_migrations(manifests: list[Json]) -> None:
    kinds = sorted(found["kind"] for found in manifests if found["kind"] != "ConfigMap")
    assert kinds == ["Deployment", "Deployment", "Job", "PodDisruptionBudget", "Service"]
    commands = [container["args"] for pod in pods(manifests) for container in pod["containers"]]
    for command in commands:
        check_command(command)
    assert sorted(command[0] for command in commands) == ["migrate", "serve", "worker"]


def test_no_container_may_more_than_it_needs(manifests: list[Json]) -> None:
    for pod in pods(manifests):
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in pod["containers"]:
            context = container["securityContext"]
            assert context["readOnlyRootFilesystem"] is True
            assert context["allowPrivilegeEscalation"] is False
            assert context["capabilities"] == {"drop": ["ALL"]}
            assert container["resources"]["limits"]["memory"]
            assert {mount["mountPath"] for mount in container["volumeMounts"]} == {"/data", "/tmp"}


def test_probes_request_existing_paths(manifests: list[Json]) -> None:
    paths = build_app(Settings(), "").openapi()["paths"]
    asked = []
    for pod in pods(manifests):
        for container in pod["containers"]:
            for name in ("startupProbe", "livenessProbe", "readinessProbe"):
                probe = container.get(name, {})
                if "httpGet" in probe:
                    assert probe["httpGet"]["path"] in paths
                    asked.append(name)
                    names = {port["name"] for port in container["ports"]}
                    assert probe["httpGet"]["port"] in names
    assert asked == ["startupProbe", "livenessProbe", "readinessProbe", "startupProbe", "livenessProbe"]


def test_the_settings_exist_and_the_service_leads_to_the_api(manifests: list[Json]) -> None:
    written = dict(line.split("=", 1) for line in (KUBERNETES / "settings.env").read_text().splitlines())
    assert written.keys() <= KNOWN
    checked = Settings.model_validate({name.lower(): value for name, value in written.items()})
    assert checked.quire_worker is False
    service = next(found for found in manifests if found["kind"] == "Service")
    api = next(
        found for found in manifests if found["kind"] == "Deployment" and found["metadata"]["name"] == "quire-api"
    )
    labels = api["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()
    (port,) = api["spec"]["template"]["spec"]["containers"][0]["ports"]
    assert str(port["containerPort"]) == written["QUIRE_PORT"]
    assert service["spec"]["ports"][0]["targetPort"] == port["name"]
    worker = next(found for found in manifests if found["metadata"]["name"] == "quire-worker")
    (port,) = worker["spec"]["template"]["spec"]["containers"][0]["ports"]
    assert str(port["containerPort"]) == written["QUIRE_WORKER_PORT"]


def test_what_is_scraped_says_so_with_path_and_port(manifests: list[Json]) -> None:
    for found in manifests:
        if found["kind"] == "Deployment":
            annotations = found["spec"]["template"]["metadata"]["annotations"]
            assert annotations["prometheus.io/scrape"] == "true"
            assert annotations["prometheus.io/path"] == "/metrics"
            ports = [port["containerPort"] for c in pods([found])[0]["containers"] for port in c["ports"]]
            assert [str(port) for port in ports] == [annotations["prometheus.io/port"]]
