"""The settings and the keys of the environment choose a model, and no key goes where it does not belong."""

from __future__ import annotations

import logging
import pickle
from pathlib import Path

import pytest

from recollect.errors import SettingsError
from recollect.providers.choose import KNOWN, Choice, choose, open_model
from recollect.providers.transport import must_verify
from recollect.settings import ModelSettings, Secret, Settings
from recollect.testing.clock import FakeClock

OPENAI, ANTHROPIC, GEMINI = (known[0] for known in KNOWN.values())
ALL_KEYS = {"OPENAI_API_KEY": "key-o", "ANTHROPIC_API_KEY": "key-a", "GEMINI_API_KEY": "key-g"}


@pytest.fixture(autouse=True)
def _no_file_in_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def chosen(**environ: str) -> Choice | None:
    return choose(Settings.load({}, environ))


@pytest.mark.parametrize(
    ("environ", "kind", "url", "key"),
    [
        ({"OPENAI_API_KEY": "key-o"}, "openai", OPENAI, "key-o"),
        ({"ANTHROPIC_API_KEY": "key-a"}, "anthropic", ANTHROPIC, "key-a"),
        ({"GEMINI_API_KEY": " key-g\n"}, "gemini", GEMINI, "key-g"),
        (ALL_KEYS, "openai", OPENAI, "key-o"),
        (ALL_KEYS | {"RECOLLECT_MODEL_KIND": "gemini"}, "gemini", GEMINI, "key-g"),
        (ALL_KEYS | {"RECOLLECT_MODEL_URL": f"{ANTHROPIC}/v1/"}, "anthropic", ANTHROPIC, "key-a"),
        (ALL_KEYS | {"RECOLLECT_MODEL_URL": GEMINI}, "gemini", GEMINI, "key-g"),
        (ALL_KEYS | {"RECOLLECT_MODEL_URL": f"{GEMINI}/v1beta/openai"}, "openai", f"{GEMINI}/v1beta/openai", "key-g"),
        (ALL_KEYS | {"RECOLLECT_MODEL_URL": "http://localhost:11434"}, "openai", "http://localhost:11434/v1", None),
        ({"RECOLLECT_MODEL_URL": "http://gpu:8000/llm/v1/chat/completions"}, "openai", "http://gpu:8000/llm/v1", None),
        (
            {
                "RECOLLECT_MODEL_URL": "https://router/api/v1",
                "RECOLLECT_MODEL_KEY_VARIABLE": "MY_KEY",
                "MY_KEY": "key-m",
            },
            "openai",
            "https://router/api/v1",
            "key-m",
        ),
        (
            ALL_KEYS | {"RECOLLECT_MODEL_URL": "http://localhost:8080", "RECOLLECT_MODEL_KIND": "anthropic"},
            "anthropic",
            "http://localhost:8080",
            None,
        ),
    ],
)
def test_a_model_is_chosen(environ: dict[str, str], kind: str, url: str, key: str | None) -> None:
    choice = chosen(**environ)
    assert choice is not None
    assert (choice.kind, choice.url, choice.key.reveal() if choice.key else None) == (kind, url, key)


@pytest.mark.parametrize("environ", [{}, {"RECOLLECT_MODEL_KIND": "none"} | ALL_KEYS, {"OPENAI_API_KEY": " "}], ids=str)
def test_no_model_is_a_choice_too(environ: dict[str, str]) -> None:
    assert chosen(**environ) is None


@pytest.mark.parametrize(
    "environ",
    [
        {"RECOLLECT_MODEL_KIND": "anthropic", "OPENAI_API_KEY": "key-o"},
        {"RECOLLECT_MODEL_NAME": "large"},
        {"RECOLLECT_MODEL_KEY_VARIABLE": "MISSING", "RECOLLECT_MODEL_URL": "http://localhost:1"},
        {"OPENAI_API_KEY": "key\nwith a line"},
        {"OPENAI_API_KEY": "ключ"},
    ],
    ids=str,
)
def test_what_lacks_is_said_once_and_everything_else_works(
    environ: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(SettingsError):
        chosen(**environ)
    assert open_model(Settings.load({}, environ), FakeClock()) is None
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert not [value for value in environ.values() if "key" in value and value in caplog.text]


def test_the_name_is_that_of_the_settings_or_a_small_model_of_the_provider() -> None:
    named = [
        chosen(OPENAI_API_KEY="k", RECOLLECT_MODEL_NAME="large"),
        chosen(OPENAI_API_KEY="k"),
        chosen(RECOLLECT_MODEL_URL="http://localhost:1"),
    ]
    assert [choice and choice.name for choice in named] == ["large", KNOWN["openai"][2], "default"]


def test_a_model_is_opened_without_calling_anyone() -> None:
    for environ in [{"OPENAI_API_KEY": "k"}, {"ANTHROPIC_API_KEY": "k"}, {"GEMINI_API_KEY": "k"}]:
        model = open_model(Settings.load({"model.name": "small"}, environ), FakeClock())
        assert model is not None
        assert (model.name, model.is_available(), model.state.circuit) == ("small", True, "ready")


@pytest.mark.parametrize(
    "environ",
    [
        {"RECOLLECT_MODEL_URL": "localhost:11434"},
        {"RECOLLECT_MODEL_URL": "ftp://host"},
        {"RECOLLECT_MODEL_URL": "https://"},
        {"RECOLLECT_MODEL_URL": "https://me:sk-1@host/v1"},
        {"RECOLLECT_MODEL_URL": "https://host/v1?key=sk-1"},
        {"RECOLLECT_MODEL_KIND": "non"},
        {"RECOLLECT_MODEL_KEY_VARIABLE": "sk-1"},
    ],
    ids=str,
)
def test_a_wrong_setting_never_falls_back_to_another_provider(environ: dict[str, str]) -> None:
    with pytest.raises(SettingsError) as refused:
        Settings.load({}, environ | ALL_KEYS)
    assert "sk-1" not in str(refused.value)


def test_keys_are_printed_nowhere() -> None:
    settings = Settings.load({}, ALL_KEYS)
    choice = choose(settings)
    printed = f"{settings!r} {settings} {settings.__rich_repr__()} {choice!r} {choice}"
    assert "OPENAI_API_KEY" in printed
    assert not [key for key in ALL_KEYS.values() if key in printed]
    with pytest.raises(TypeError):
        pickle.dumps(settings.keys["OPENAI_API_KEY"])


def test_secrets_compare_by_what_they_hold() -> None:
    assert Secret("a") == Secret("a") != Secret("b")
    assert len({Secret("a"), Secret("a"), Secret("b")}) == 2
    assert Secret("a") != "a"


def test_limits_come_from_the_settings() -> None:
    given = ModelSettings(url="http://localhost:1", breaker_failures=1, max_retries=0, connect_timeout_seconds=1.0)
    assert open_model(Settings(model=given), FakeClock()) is not None


@pytest.mark.parametrize(
    ("url", "verified"),
    [("https://host", True), ("HTTPS://host", True), ("http://host", False), ("HTTP://host", False)],
)
def test_an_encrypted_server_must_prove_who_it_is(url: str, verified: bool) -> None:
    assert must_verify(url) == verified
