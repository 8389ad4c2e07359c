"""What the files and the pages for deployment name exists: paths, settings, commands, ports and services."""

from __future__ import annotations

import re
from typing import Any

import pytest
import typer
import yaml  # type: ignore[import-untyped]  # it comes without types

from recollect.cli.app import app
from recollect.settings.fields import FIELDS
from tests.meta.source_tree import ROOT

DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = (ROOT / "compose.yaml").read_text(encoding="utf-8")
PAGES = {name: (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("deploy.md", "operations.md")}
TEXTS = {"Dockerfile": DOCKERFILE, "compose.yaml": COMPOSE, **PAGES}
VARIABLES = {field.variable for field in FIELDS.values()}


def composed() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(COMPOSE)
    return found


@pytest.mark.parametrize("name", TEXTS)
def test_every_variable_is_that_of_a_setting(name: str) -> None:
    named = set(re.findall(r"\bRECOLLECT_[A-Z_]+\b", TEXTS[name]))
    assert named <= VARIABLES
    assert named or name == "operations.md"


@pytest.mark.parametrize("name", PAGES)
def test_every_setting_that_a_page_names_exists(name: str) -> None:
    groups = {setting.partition(".")[0] for setting in FIELDS}
    named = set(re.findall(r"`([a-z]+\.[a-z_]+)[`\s]", PAGES[name]))
    assert {setting for setting in named if setting.partition(".")[0] in groups} <= set(FIELDS)


@pytest.mark.parametrize("name", TEXTS)
def test_every_command_exists(name: str) -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]  # a group has commands
    named = set(re.findall(r"\brecollect (serve|doctor|worker|keys|db|[a-z]+ (?=create|revoke|migrate))", TEXTS[name]))
    assert {one.strip() for one in named} <= set(commands)


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_to_a_page(name: str) -> None:
    for link in re.findall(r"\]\(([^)#]+)\)", PAGES[name]):
        assert (ROOT / "docs" / link).exists(), link


def test_the_image_is_built_from_what_is_there_and_runs_without_root() -> None:
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)
    sources = [source for line in copied for source in line.split()]
    assert sources
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8")
    for source in sources:
        assert (ROOT / source).exists(), source
        assert f"!{source.split('/')[0]}" in ignored
    assert re.search(r"^USER recollect$", DOCKERFILE, re.MULTILINE)
    stages = re.findall(r"^FROM \S+ AS (\S+)$", DOCKERFILE, re.MULTILINE)
    assert set(re.findall(r"--from=(\S+)", DOCKERFILE)) <= set(stages)
    assert "/readyz" in DOCKERFILE
    run = DOCKERFILE[DOCKERFILE.rindex("FROM ") :]
    assert "pip" not in run
    assert "npm" not in run
    assert "EXPOSE 8377" in DOCKERFILE
    assert FIELDS["server.port"].default == 8377


def test_two_servers_share_one_postgres_and_one_redis() -> None:
    services = composed()["services"]
    servers = [service for service in services.values() if service.get("build") == "."]
    assert len(servers) == 2
    assert len({service["environment"]["RECOLLECT_DATABASE"] for service in servers}) == 1
    for service in servers:
        environment = service["environment"]
        assert environment["RECOLLECT_DATABASE"].startswith("postgresql://recollect:${POSTGRES_PASSWORD:?")
        assert "@postgres:5432/recollect" in environment["RECOLLECT_DATABASE"]
        assert environment["RECOLLECT_REDIS"] == "redis://redis:6379/0"
        assert environment["RECOLLECT_AUTH_MODE"] == "token"
        assert set(service["depends_on"]) == {"postgres", "redis"} <= set(services)
        assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert services["postgres"]["image"].startswith("pgvector/")
    assert set(composed()["volumes"]) == {"postgres"}


def test_a_container_has_longer_to_end_than_a_server_takes() -> None:
    assert int(composed()["x-server"]["stop_grace_period"].removesuffix("s")) > 10
    assert int(re.findall(r"TimeoutStopSec=(\d+)", PAGES["deploy.md"])[0]) > 10
