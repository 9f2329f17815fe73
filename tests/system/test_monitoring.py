"""The monitoring example: every metric it asks for exists, its files are found, and the key is no part of it."""

import json
import re
from pathlib import Path

import pytest
import yaml

from pcevolve_server.metrics import Metrics

FOLDER = Path(__file__).parents[2] / "docker" / "monitoring"
COMPOSE = yaml.safe_load((FOLDER / "docker-compose.yml").read_text())
DASHBOARD = json.loads((FOLDER / "grafana" / "dashboards" / "pcevolve-server.json").read_text())
ALERTS = yaml.safe_load((FOLDER / "alerts.yml").read_text())
NAME = re.compile(r"\b(?:pcevolve|process)_[a-z_]+\b")
EXPRESSIONS = [
    *(target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]),
    *(rule["expr"] for group in ALERTS["groups"] for rule in group["rules"]),
]


@pytest.fixture(scope="module")
def metrics():
    """Names of all samples of a server that has done everything once."""
    found = Metrics()
    found.requests.labels("/v1/models", 200).inc()
    found.latency.labels("/v1/models").observe(1)
    for stage in ("wait", "encode", "denoise", "decode", "write"):
        found.stages.labels(stage).observe(1)
    return {sample.name for family in found.registry.collect() for sample in family.samples}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_every_metric_that_is_asked_for_exists(metrics, expression):
    asked = set(NAME.findall(expression)) - {"pcevolve_device_memory_bytes"}  # on GPUs
    assert asked <= metrics
    assert asked or "up{" in expression or "device_memory" in expression


def test_what_is_mounted_is_there_and_nothing_but_loopback_listens():
    for service in COMPOSE["services"].values():
        binds = [each for each in service["volumes"] if isinstance(each, dict) and "$" not in each["source"]]
        assert all((FOLDER / bind["source"]).exists() and bind["read_only"] for bind in binds)
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))


def test_the_scraper_has_the_servers_key_and_no_file_has_one():
    services = COMPOSE["services"]
    key = services["api"]["environment"]["PCEVOLVE_SERVER_API_KEY"]
    assert key.startswith("${PCEVOLVE_API_KEY:?")
    assert services["prometheus"]["environment"]["KEY"] == key
    job = yaml.safe_load((FOLDER / "prometheus.yml").read_text())["scrape_configs"][0]
    assert job["authorization"]["credentials_file"] in "".join(services["prometheus"]["command"])
    assert job["static_configs"][0]["targets"] == ["api:8000"]
