"""The dashboard that Compose loads: its queries name metrics and labels that a running service has."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from app.telemetry.metrics import Metrics

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "grafana"
DASHBOARD = json.loads((FOLDER / "quire.json").read_text("utf-8"))
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))
SUFFIXES = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count"), "gauge": ("",)}
PANELS: list[dict[str, Any]] = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]

LABELS = {
    metric._name: {*metric._labelnames, "le", "instance"}
    for metric in vars(Metrics()).values()
    if hasattr(metric, "describe")
}
"""Of each metric, with those that Prometheus and histograms add."""


def queries(panel: dict[str, Any]) -> list[str]:
    return [target["expr"] for target in panel["targets"]]


def metrics_of(expression: str) -> set[str]:
    return set(re.findall(r"\bquire_\w+", expression))


def shown(client: httpx.Client) -> set[str]:
    """Names of the samples that /metrics can have."""
    kinds = re.findall(r"^# TYPE (\w+) (counter|histogram|gauge)$", client.get("/metrics").text, re.MULTILINE)
    return {
        name.removesuffix("_total") + suffix if kind == "counter" else name + suffix
        for name, kind in kinds
        for suffix in SUFFIXES[kind]
    }


def test_every_panel_asks_for_metrics_of_a_running_service(client: httpx.Client) -> None:
    there = shown(client)
    for panel in PANELS:
        asked = {name for query in queries(panel) for name in metrics_of(query)}
        assert asked, panel["title"]
        assert asked <= there, panel["title"]


def test_every_metric_is_on_the_dashboard() -> None:
    asked = {name for panel in PANELS for query in queries(panel) for name in metrics_of(query)}
    assert {re.sub(r"_(total|bucket)$", "", name) for name in asked} == LABELS.keys()


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_a_panel_groups_by_labels_that_its_metrics_have(panel: dict[str, Any]) -> None:
    for query in queries(panel):
        names = {re.sub(r"_(total|bucket)$", "", name) for name in metrics_of(query)}
        for labels in re.findall(r"by \(([^)]*)\)", query):
            for name in names:
                assert {label.strip() for label in labels.split(",")} <= LABELS[name], query


def test_compose_loads_the_dashboard_on_demand_and_publishes_it_on_this_machine_only() -> None:
    prometheus, grafana = (COMPOSE["services"][name] for name in ("prometheus", "grafana"))
    assert prometheus["profiles"] == grafana["profiles"] == ["metrics"]
    assert all(port.startswith("127.0.0.1:") for port in grafana["ports"])
    assert "ports" not in prometheus
    mounts = dict(volume.split(":")[:2] for volume in grafana["volumes"])
    assert all((ROOT / path).exists() for path in mounts)
    [source] = yaml.safe_load((FOLDER / "provisioning/datasources/quire.yml").read_text())["datasources"]
    assert source["url"] == "http://prometheus:9090"
    assert {panel["datasource"]["uid"] for panel in PANELS} == {source["uid"]}
    [provider] = yaml.safe_load((FOLDER / "provisioning/dashboards/quire.yml").read_text())["providers"]
    assert mounts["./deploy/grafana/quire.json"].startswith(provider["options"]["path"])


def test_prometheus_scrapes_what_compose_runs() -> None:
    [job] = yaml.safe_load((FOLDER / "prometheus.yml").read_text())["scrape_configs"]
    targets = job["static_configs"][0]["targets"]
    api, worker = (COMPOSE["services"][name]["environment"] for name in ("api", "worker"))
    assert targets == [f"api:{api['QUIRE_PORT']}", f"worker:{worker['QUIRE_WORKER_PORT']}"]
    assert {api["QUIRE_HOST"], worker["QUIRE_HOST"]} == {"0.0.0.0"}
    hosts = re.search(r"^QUIRE_HOSTS=(.*)$", (ROOT / "deploy/compose.env").read_text(), re.MULTILINE)
    assert hosts is not None
    assert hosts[1].split(",") == ["api", "worker"]
