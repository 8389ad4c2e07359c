"""Settings through a real socket: what a client needs to know, and nothing that is secret."""

from __future__ import annotations

from pathlib import Path

from recollect.testing.models.server import ScriptedModelServer
from tests.support.server_process import served


def test_a_client_learns_when_to_archive_what_is_accepted_and_who_answers(tmp_path: Path) -> None:
    environ = {
        "RECOLLECT_ARCHIVE_EVERY_MESSAGES": "7",
        "RECOLLECT_ARCHIVE_EVERY_MINUTES": "2.5",
        "RECOLLECT_STORAGE_WRITE_POLICY": "ahead",
        "RECOLLECT_MEMORY_ENABLED": "false",
        "RECOLLECT_SERVER_MAX_BODY_BYTES": "2000000",
        "RECOLLECT_SERVER_MAX_STREAMS": "5",
    }
    with served(f"sqlite:///{tmp_path / 'a.db'}", tmp_path, environ) as opened:
        answer = opened.client.get("/api/settings")
        version = opened.client.get("/openapi.json").json()["info"]["version"]
    told = answer.json()
    assert answer.status_code == 200
    assert told["version"] == version
    assert told["archive"] == {"every_messages": 7, "every_minutes": 2.5, "retention_days": None}
    assert (told["auth"], told["write_policy"]) == ("local", "ahead")
    assert told["memory"]["enabled"] is told["features"]["memory"] is False
    assert told["model"] == {"name": None, "circuit": None, "retry_at": None}
    assert told["features"] == {"memory": False, "model": False, "deletes_originals": False, "jobs_inside": True}
    assert (told["limits"]["body_bytes"], told["limits"]["streams"]) == (2_000_000, 5)
    assert (told["limits"]["message_characters"], told["limits"]["id_characters"]) == (1_000_000, 128)
    assert told["limits"]["instruction_characters"] == 4_000
    assert told["user"] == {"memory_enabled": True, "instructions": "", "version": 0}


async def test_the_model_is_named_and_its_key_and_address_are_not(tmp_path: Path) -> None:
    async with ScriptedModelServer() as model:
        environ = {
            "RECOLLECT_MODEL_URL": model.url,
            "RECOLLECT_MODEL_NAME": "small-one",
            "RECOLLECT_MODEL_KEY_VARIABLE": "RECOLLECT_TEST_KEY",
            "RECOLLECT_TEST_KEY": "sk-geheim",
        }
        with served(f"sqlite:///{tmp_path / 'a.db'}", tmp_path, environ) as opened:
            answer = opened.client.get("/api/settings")
    told = answer.json()
    assert told["model"] == {"name": "small-one", "circuit": "ready", "retry_at": None}
    assert told["features"]["model"] is True
    assert "sk-geheim" not in answer.text
    assert model.url not in answer.text
    assert str(tmp_path) not in answer.text
