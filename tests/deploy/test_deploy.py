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

import jsonschema
import pytest
import yaml

from app import healthcheck
from app.assembly import access
from app.cli import main
from app.core.edge.hosts import is_ours, named_in
from app.main import build_app
from app.settings import Settings
from tests.deploy.chart import render

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
KUBERNETES = ROOT / "deploy" / "kubernetes"
CHART = ROOT / "deploy" / "helm" / "quire"
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


def assignments(file: Path, comment: str = "") -> dict[str, str]:
    """Return what a file of settings sets, or what it names in comments."""
    found = re.findall(rf"^{comment}([A-Z_]+)=(.*)$", file.read_text("utf-8"), re.MULTILINE)
    return dict(found)


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
    own = {"quire-memory-client", "quire-memory-verify"}  # they are built from the same clone
    names = re.findall(r'^  "([\w.-]+)', wanted[1], re.MULTILINE)
    assert {name.replace(".", "-") for name in names} - own <= pinned


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
    values = {**assignments(ROOT / defaults), **own, **service["environment"]}
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


def test_compose_can_name_other_database_machines() -> None:
    (hosts,) = assignments(ROOT / "deploy" / "env.example", "# ").values()
    for name, url in (("api", "DATABASE_URL"), ("worker", "DATABASE_URL"), ("migrate", "MIGRATION_DATABASE_URL")):
        written = COMPOSE["services"][name]["environment"][url]
        place = written.partition("@")[2].replace("${QUIRE_DATABASE_HOSTS:-database}", hosts)
        assert place == "10.0.0.1:5432,10.0.0.2:5432/quire?target_session_attrs=read-write"


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


def kustomized() -> list[Json]:
    """Return the manifests as kustomize puts them together, or as they are written."""
    if shutil.which("kubectl"):
        done = subprocess.run(
            ["kubectl", "kustomize", str(KUBERNETES)], capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return list(yaml.safe_load_all(done.stdout))
    names = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())["resources"]
    return [found for name in names for found in yaml.safe_load_all((KUBERNETES / name).read_text())]


@pytest.fixture(scope="module", params=["kustomize", "chart"])
def manifests(request: pytest.FixtureRequest) -> list[Json]:
    return kustomized() if request.param == "kustomize" else render(CHART, "quire", {})


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
    written = assignments(KUBERNETES / "settings.env")
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


def test_the_settings_name_the_second_database_machine() -> None:
    named = assignments(KUBERNETES / "settings.env", "# ")
    assert named.keys() == {"DATABASE_URL"}
    checked = Settings.model_validate({name.lower(): value for name, value in named.items()})
    assert checked.database_url
    assert checked.database_url.endswith("@a,b/quire?target_session_attrs=read-write")


# --- Helm -------------------------------------------------------------------------------------------


def comparable(manifests: list[Json]) -> dict[tuple[str, str], Json]:
    """Return the objects by kind and name, without what one of the two adds: labels, hooks, images, hashes."""
    found = json.loads(re.sub(r"quire-settings-\w+", "quire-settings", json.dumps(manifests)))
    for each in found:
        each["metadata"] = {"name": each["metadata"]["name"]}
    for pod in pods(found):
        for container in pod["containers"]:
            del container["image"]
    for each in found:
        each.get("spec", {}).get("template", {}).get("metadata", {}).get("annotations", {}).pop("checksum/settings", "")
    return {(each["kind"], each["metadata"]["name"]): each for each in found if each["kind"] != "ConfigMap"}


def test_the_chart_makes_the_objects_of_kustomize() -> None:
    chart = render(CHART, "quire", {})
    assert comparable(chart) == comparable(kustomized())
    (settings,) = (found["data"] for found in chart if found["kind"] == "ConfigMap")
    assert settings == assignments(KUBERNETES / "settings.env")
    (image,) = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())["images"]
    images = {container["image"] for pod in pods(chart) for container in pod["containers"]}
    assert images == {f"{image['newName']}:{image['newTag']}"}


def test_migrations_run_before_each_version() -> None:
    (job,) = (found for found in render(CHART, "quire", {}) if found["kind"] == "Job")
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    assert job["metadata"]["annotations"]["helm.sh/hook-delete-policy"] == "before-hook-creation"


def test_releases_in_one_namespace_share_no_object_and_no_pod() -> None:
    one, other = (comparable(render(CHART, name, {})) for name in ("one", "other"))
    assert len(one) == len(other) == 5
    assert not one.keys() & other.keys()
    for (kind, name), found in one.items():
        if "selector" in found["spec"]:
            assert found["spec"]["selector"] != other[kind, name.replace("one", "other")]["spec"]["selector"]


def test_settings_of_every_kind_reach_the_pods_and_replace_them() -> None:
    own = {"QUIRE_POOL_SIZE": 10_000_000, "QUIRE_REQUIRE_KEYS": False, "QUIRE_LOG_FORMAT": None, "QUIRE_PORT": 9000}
    before, after = (render(CHART, "quire", {"settings": values}) for values in ({}, own))
    (settings,) = (found["data"] for found in after if found["kind"] == "ConfigMap")
    assert settings["QUIRE_POOL_SIZE"] == "10000000"
    assert settings["QUIRE_REQUIRE_KEYS"] == "false"
    assert "QUIRE_LOG_FORMAT" not in settings
    (port,) = comparable(after)["Deployment", "quire-api"]["spec"]["template"]["spec"]["containers"][0]["ports"]
    assert port["containerPort"] == 9000
    sums = [
        {found["spec"]["template"]["metadata"]["annotations"]["checksum/settings"]}
        for manifests in (before, after)
        for found in manifests
        if found["kind"] == "Deployment"
    ]
    assert sums[0] == sums[1] != sums[2] == sums[3]


def test_every_value_is_used() -> None:
    text = "".join(file.read_text("utf-8") for file in (CHART / "templates").iterdir())
    used = set(re.findall(r"\.Values\.([\w.]+)", text))
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert {f"{name}.{key}" for name in values if name != "settings" for key in values[name]} <= used
    assert {name.partition(".")[0] for name in used} == values.keys()


WRONG_VALUES: list[tuple[Json, str]] = [
    ({"replica": {"api": 3}}, "replica"),
    ({"replicas": {"api": -1, "worker": 1}}, "-1"),
    ({"image": {"repository": ""}}, "''"),
    ({"settings": {"QUIRE_PORT": "8000", "QUIRE_WORKER_PORT": "8001", "MEMORY_LLM_MODEL": ["m"]}}, "\\['m'\\]"),
]


@pytest.mark.parametrize(("wrong", "named"), WRONG_VALUES, ids=[next(iter(wrong)) for wrong, _ in WRONG_VALUES])
def test_helm_refuses_wrong_values(wrong: Json, named: str) -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    jsonschema.validate(values, schema)
    with pytest.raises(jsonschema.ValidationError, match=named):
        jsonschema.validate({**values, **wrong}, schema)


def test_helm_itself_renders_the_same() -> None:
    if not shutil.which("helm"):
        pytest.skip("helm is not installed: only the renderer of these tests has read the chart")
    _, rendered = (
        subprocess.run(["helm", *arguments, str(CHART)], capture_output=True, text=True, check=True, timeout=60).stdout
        for arguments in (["lint", "--strict"], ["template", "quire"])
    )
    assert comparable(list(yaml.safe_load_all(rendered))) == comparable(render(CHART, "quire", {}))
