"""What every test may ask for: real servers, the size of the run and its seed.

Servers start when a test first needs one; `tests/support/guard.py` ends them whatever happens to the run.
"""

from __future__ import annotations

import os
import random
import signal
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support.run_folder import OwnedRunFolder, RunFolder
from tests.support.servers import (
    UNSAFE_BUT_FAST,
    PostgresAddress,
    PostgresServer,
    RedisServer,
    join_shared_postgres,
)

RUN = pytest.StashKey[RunFolder]()
SEED = pytest.StashKey[int]()

# Real stores vary in speed, and one example may drive a whole database.
settings.register_profile(
    "test", max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.register_profile("torture", settings.get_profile("test"), max_examples=1_000)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--torture", action="store_true", help="run with the full counts of the scorecard")
    parser.addoption("--seed", type=int, help="repeat a run that printed this seed")


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A run that a shell put into the background ignores interrupts, and so would all that the tests start.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    worker: dict[str, Any] | None = getattr(config, "workerinput", None)
    if worker is None:
        owned = OwnedRunFolder()
        config.add_cleanup(owned.close)
        config.stash[RUN] = owned
        given = config.getoption("--seed")
        config.stash[SEED] = random.SystemRandom().randrange(2**32) if given is None else given
    else:
        config.stash[RUN] = RunFolder(Path(worker["run_folder"]))
        config.stash[SEED] = worker["seed"]
    settings.load_profile("torture" if config.getoption("--torture") else "test")
    # A developer's own settings must not reach a test.
    keys = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
    for name in [name for name in os.environ if name.startswith("RECOLLECT_") or name in keys]:
        del os.environ[name]


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["run_folder"] = str(node.config.stash[RUN].path)
    node.workerinput["seed"] = node.config.stash[SEED]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--torture"):
        items[:] = [item for item in items if item.get_closest_marker("torture") is None]


def pytest_report_header(config: pytest.Config) -> str:
    return f"seed: {config.stash[SEED]} (repeat with --seed)"


@pytest.fixture(scope="session")
def run_folder(pytestconfig: pytest.Config) -> RunFolder:
    """Give the folder in which anything may be started, since it never outlives the run."""
    return pytestconfig.stash[RUN]


@pytest.fixture(scope="session")
def seed(pytestconfig: pytest.Config) -> int:
    """Give the seed that the run printed, for tests that draw their own random numbers."""
    return pytestconfig.stash[SEED]


@pytest.fixture(scope="session")
def count(pytestconfig: pytest.Config) -> Callable[[int, int], int]:
    """Choose how often to repeat: `count(in_every_run, in_torture)`."""
    torture = bool(pytestconfig.getoption("--torture"))
    return lambda usual, full: full if torture else usual


@pytest.fixture(scope="session")
def shared_postgres(run_folder: RunFolder) -> PostgresAddress:
    """Give the Postgres that all workers share; it is fast and would not survive a power cut."""
    return join_shared_postgres(run_folder)


@pytest.fixture
def postgres_url(shared_postgres: PostgresAddress) -> Iterator[str]:
    """Give the address of a fresh empty database."""
    name = f"test_{uuid.uuid4().hex}"
    yield shared_postgres.create_database(name)
    shared_postgres.drop_database(name)


@pytest.fixture
def start_postgres(run_folder: RunFolder) -> Iterator[Callable[..., PostgresServer]]:
    """Start a Postgres of the test's own, to be killed or stopped: `start_postgres(durable=True, **settings)`."""
    started: list[PostgresServer] = []

    def start(*, durable: bool = True, **options: str) -> PostgresServer:
        server = PostgresServer(run_folder, options if durable else UNSAFE_BUT_FAST | options)
        started.append(server)
        return server

    yield start
    for server in started:
        server.remove()


@pytest.fixture(scope="session")
def worker_redis(run_folder: RunFolder) -> Iterator[RedisServer]:
    """Give the Redis of this worker: channels know no database index, so workers cannot share one."""
    server = RedisServer(run_folder)
    yield server
    server.remove()


@pytest.fixture
def redis_url(worker_redis: RedisServer) -> str:
    """Give the address of an empty Redis."""
    worker_redis.empty()
    return worker_redis.url


@pytest.fixture
def start_redis(run_folder: RunFolder) -> Iterator[Callable[[], RedisServer]]:
    """Start a Redis of the test's own, to be killed, stopped or paused."""
    started: list[RedisServer] = []

    def start() -> RedisServer:
        server = RedisServer(run_folder)
        started.append(server)
        return server

    yield start
    for server in started:
        server.remove()
